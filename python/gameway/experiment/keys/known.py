"""What this build of the simulator knows: controllers, queues and gateways with their options."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any

from gameway import _core
from gameway.catalogue import QUANTITY, entries, key_schema
from gameway.errors import nearest
from gameway.experiment.keys.checking import (
    Check,
    as_table,
    axis_of,
    inside,
    one_of,
    refuse,
    values,
)
from gameway.experiment.keys.classes import check_whole, classes_of
from gameway.experiment.keys.declared import QUANTITIES, quantity
from gameway.experiment.keys.files import existing_file
from gameway.experiment.keys.quantities import queue_size

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic import ValidationInfo

DEFAULT_QUEUE = key_schema("path.queue")["default"]["kind"]
QUEUE_QUANTITIES: dict[str, Check] = {
    "size": queue_size,
    "mark_above": quantity(entries("queues")[DEFAULT_QUEUE]["schema"]["properties"]["mark_above"]),
}
"""Options of queues whose values have a normal form."""
HTB = "htb"
"""The kind of queue that has classes."""
HTB_SCHEMA: dict[str, Any] = entries("queues")[HTB]["schema"]["properties"]
GATEWAY_QUANTITIES: dict[str, Check] = {
    name: quantity(option)
    for entry in entries("gateways").values()
    for name, option in entry.get("schema", {}).get("properties", {}).items()
    if option.get(QUANTITY) in QUANTITIES
}
"""Options of gateways whose values have a normal form."""
FORWARDS: dict[str, Any] = key_schema("path.gateway")["default"]
"""A gateway that does nothing."""
PYTHON = "python"
"""The kind of a controller that is a class of the user's."""


def with_options(kind: str, part: str, option: Callable[[list[str], str], Check]) -> Check:
    """Check a table { kind = ..., options of that kind }; each value may be an axis.

    `option` gives the check of an option (second) that all of some kinds (first) have.
    """
    check_kind = axis_of(one_of(kind, lambda: entries(part)))

    def check(value: object, info: ValidationInfo) -> dict[str, Any]:
        table = dict(as_table(value, "kind"))
        checked = {"kind": inside("kind", check_kind, table.pop("kind"), info)}
        kinds = values(checked["kind"])
        known = _options_of_all(part, kinds)
        for name, item in table.items():
            if name not in known:
                problem = f"is an unknown key of the {kind} {' and '.join(kinds)}"
                refuse(problem, item, nearest(name, known), (name,))
            checked[name] = inside(name, axis_of(option(kinds, name)), item, info)
        return checked

    return check


def _options_of_all(part: str, kinds: list[str]) -> set[str]:
    """Options that every one of `kinds` has."""
    found = [{option["name"] for option in entries(part)[kind]["options"]} for kind in kinds]
    return set.intersection(*found)


def _controller_option(kinds: list[str], name: str) -> Check:
    """Check one option by building the controllers with it."""

    def check(value: object, info: ValidationInfo) -> object:
        written = json.dumps(_option(value, info))
        for kind in kinds:
            try:
                _core.check_controller(kind, name, written)
            except ValueError as error:
                refuse(f"is not possible: {error}", value)
        return value

    return check


def _queue_option(kinds: list[str], name: str) -> Check:
    """Check one option by building the queues with it."""
    if name in QUEUE_QUANTITIES:
        return QUEUE_QUANTITIES[name]
    if HTB in kinds and name in HTB_OPTIONS:
        return HTB_OPTIONS[name]

    def check(value: object, info: ValidationInfo) -> object:
        written = json.dumps(_option(value, info))
        for kind in kinds:
            try:
                _core.check_queue(kind, name, written)
            except ValueError as error:
                refuse(f"is not possible: {error}", value)
        return value

    return check


def _option(value: object, _: ValidationInfo) -> object:
    if not isinstance(value, str | int | float):
        refuse("must be one value", value, "a text, a number, true or false")
    return value


def own_controller(value: dict[str, Any], info: ValidationInfo) -> dict[str, Any]:
    """Check a controller that is a class in a file of the user's."""
    table = as_table(value, "file")
    if not isinstance(table.get("class"), str):
        hint = 'write { kind = "python", file = "mine.py", class = "Mine" }'
        refuse("must be the name of a class", table.get("class"), hint, ("class",))
    rest = {name: item for name, item in table.items() if name not in {"kind", "file", "class"}}
    checked = {name: inside(name, axis_of(_option), item, info) for name, item in rest.items()}
    place = inside("file", existing_file, table["file"], info)
    return {"kind": PYTHON, "file": place, "class": table["class"], **checked}


def controller(value: object, info: ValidationInfo) -> object:
    """Check a controller: its name, or a table with options."""
    if isinstance(value, dict) and value.get("kind") == PYTHON:
        return own_controller(value, info)
    if isinstance(value, dict):
        return with_options("controller", "controllers", _controller_option)(value, info)
    return one_of("controller", lambda: entries("controllers"))(value, info)


def _congestion_control_option(kinds: list[str], name: str) -> Check:
    """Check one option by configuring the congestion controls with it."""

    def check(value: object, info: ValidationInfo) -> object:
        written = json.dumps({name: _option(value, info)})
        for kind in kinds:
            try:
                _core.check_congestion_control(kind, written)
            except ValueError as error:
                refuse(f"is not possible: {error}", value)
        return value

    return check


def congestion_control(value: object, info: ValidationInfo) -> object:
    """Check a congestion control of TCP: its name, or a table with options."""
    kind = "congestion control"
    if isinstance(value, dict):
        return with_options(kind, "competitors", _congestion_control_option)(value, info)
    return one_of(kind, lambda: entries("competitors"))(value, info)


def names_of(algorithms: object) -> list[str]:
    """Give the names of algorithms that stand alone, or in tables with their options."""
    kinds = (one["kind"] if isinstance(one, dict) else one for one in values(algorithms))
    return [name for kind in kinds for name in values(kind)]


def queue_of(default_size: str) -> Check:
    """Check a queue: its name, or a table with what is not as in the default."""
    check = with_options("queue", "queues", _queue_option)

    def checked(value: object, info: ValidationInfo) -> object:
        table = {"kind": value} if isinstance(value, str) else value
        if isinstance(table, dict):
            kind = table.get("kind", DEFAULT_QUEUE)
            size = _size_of(kind, default_size)
            table = {"kind": kind, **({} if size is None else {"size": size}), **table}
        found = check(table, info)
        if HTB in values(found["kind"]):
            _check_classes(found)
        return found

    return checked


def _check_classes(table: dict[str, Any]) -> None:
    """Check what no option says alone: how classes and rules go together."""
    for key, example in (("class", '{ rest = { rate = "20 Mb/s" } }'), ("default", '"rest"')):
        if key not in table:
            refuse("is missing", None, f"an htb needs {key} = {example}", (key,))
    check_whole(table)


def _class_name(value: object, _: ValidationInfo) -> str:
    """Check the name of a class."""
    if not isinstance(value, str):
        refuse("must be the name of a class", value, "write it in quotation marks")
    return value


def _leaf_queue(value: object, info: ValidationInfo) -> object:
    return queue_of(HTB_SCHEMA["size"]["default"])(value, info)


HTB_OPTIONS: dict[str, Check] = {
    "rate": quantity(HTB_SCHEMA["rate"]),
    "default": _class_name,
    "class": classes_of(_leaf_queue),
}
"""Options of an htb that the simulator checks only as a whole."""


def _size_of(kind: object, default_size: str) -> str | None:
    """Give the size of a queue of which none is given: an AQM has its own, CAKE reckons it."""
    known = entries("queues").get(kind) if isinstance(kind, str) else None
    if known is None or kind == DEFAULT_QUEUE:
        return default_size
    sizes = [option["default"] for option in known["options"] if option["name"] == "size"]
    return next((size for size in sizes if _is_size(size)), None)


def _is_size(text: str) -> bool:
    try:
        _core.check_queue_size(text)
    except ValueError:
        return False
    return True


def gateway(value: object, info: ValidationInfo) -> dict[str, Any]:
    """Check a gateway: its name, or a table with what is not as in the default."""
    table = {"kind": value} if isinstance(value, str) else value
    checked: dict[str, Any] = with_options("gateway", "gateways", _gateway_option)(table, info)
    axes = [[(name, item) for item in values(axis)] for name, axis in checked.items()]
    for combination in itertools.product(*axes):
        options = dict(combination)
        try:
            _core.check_gateway(options.pop("kind"), json.dumps(options))
        except ValueError as error:
            refuse(f"is not possible: {error}", value)
    return checked


def _gateway_option(_kinds: list[str], name: str) -> Check:
    """Check the form of one option; whether it is possible depends on the others."""
    return GATEWAY_QUANTITIES.get(name, _option)
