"""The classes of a queue, the rules that lead to them, and the headers that rules ask for."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any

from gameway import _core
from gameway.catalogue import entries, forms_of, tables_of, words_of
from gameway.errors import nearest
from gameway.experiment.keys.checking import (
    At,
    Check,
    axis_of,
    inside,
    one_of,
    refuse,
)
from gameway.experiment.keys.declared import Declaration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import ValidationInfo

MAX_CHECKED = 10_000
"""Combinations of a queue's axes that are checked before a run; the rest when the runs are."""
NO_CLASS = ("trace", "file", "steps", "kind")
"""Names that mean something else to tables of an experiment."""


def _word(kind: str) -> Check:
    """Check a word, or a number, of headers by the simulator, which gives its normal form."""

    def check(value: object, _: ValidationInfo) -> str:
        is_number = isinstance(value, int) and not isinstance(value, bool)
        if not isinstance(value, str) and not is_number:
            refuse(f"is no {kind}", value, "write it in quotation marks")
        try:
            return _core.parse_word(kind, str(value))
        except ValueError as error:
            refuse(str(error), value)

    return check


CLASS = Declaration(
    [entries("queues")["htb"]["schema"]["properties"]["class"]["additionalProperties"]]
)
ECN = words_of(next(forms_of(CLASS.schema("match")))["properties"]["ecn"])
RULE: dict[str, Check] = {
    "protocol": _word("protocol"),
    "port": _word("ports"),
    "source_port": _word("ports"),
    "destination_port": _word("ports"),
    "address": _word("prefix"),
    "source": _word("prefix"),
    "destination": _word("prefix"),
    "dscp": _word("dscp"),
    "ecn": one_of("ECN field", lambda: ECN),
    "traffic": _word("traffic"),
}
"""What a rule can ask of a packet."""
HEADER: dict[str, Check] = {
    **Declaration(tables_of("stream.header")).checks(),
    "client": _word("address"),
    "server": _word("address"),
    "dscp": _word("dscp"),
}
"""What can be said of a flow's headers."""


def _keys(
    table: dict[str, Any], known: dict[str, Check], info: ValidationInfo, what: str = ""
) -> dict[str, Any]:
    """Check a table of which each value may be an axis."""
    for key, item in table.items():
        if key not in known:
            refuse(f"is an unknown key{what}", item, nearest(key, known), (key,))
    return {key: inside(key, axis_of(known[key]), item, info) for key, item in table.items()}


def _as_table(value: object, example: str) -> dict[str, Any]:
    if not isinstance(value, dict) or not value:
        refuse("must be a table", value, f"write {example}")
    return value


def header(value: object, info: ValidationInfo) -> dict[str, Any]:
    """Check the headers of a flow's packets."""
    table = _as_table(value, '{ client = "192.168.0.20", port = 47998 }')
    return _keys(table, HEADER, info)


def match(value: object, info: ValidationInfo) -> dict[str, Any]:
    """Check the rule of a class, or several by name."""
    table = _as_table(value, '{ protocol = "udp", port = 5004 }')
    if all(isinstance(item, dict) for item in table.values()):
        return {_name(name): inside(name, _rule, item, info) for name, item in table.items()}
    return _rule(table, info)


def _rule(value: object, info: ValidationInfo) -> dict[str, Any]:
    table = _as_table(value, '{ protocol = "udp", port = 5004 }')
    return _keys(table, RULE, info)


def _name(name: str) -> str:
    plain = name.replace("-", "").replace("_", "")
    if not plain.isalnum() or name.isdigit() or name in NO_CLASS:
        refuse("is not free as a name", name, "letters, digits, - and _", (name,))
    return name


def class_of(queue: Check) -> Check:
    """Check a class whose queue passes the check `queue`."""
    known: dict[str, Check] = {
        **CLASS.checks(),
        "parent": _text,
        "queue": queue,
        "match": match,
    }

    def check(value: object, info: ValidationInfo) -> dict[str, Any]:
        table = _as_table(value, '{ rate = "30 Mb/s", match = { port = 5004 } }')
        found = _keys(table, known, info, " of a class")
        if "rate" not in table:
            refuse("is missing", None, 'add rate = "30 Mb/s"', ("rate",))
        return found

    return check


def classes_of(queue: Check) -> Check:
    """Check a table of classes by name; each keeps its place among them."""
    check_class = class_of(queue)

    def check(value: object, info: ValidationInfo) -> dict[str, Any]:
        table = _as_table(value, '{ game = { rate = "30 Mb/s" }, rest = { rate = "20 Mb/s" } }')
        found = {_name(name): inside(name, check_class, item, info) for name, item in table.items()}
        return {name: {"order": order, **item} for order, (name, item) in enumerate(found.items())}

    return check


def _text(value: object, _: ValidationInfo) -> str:
    if not isinstance(value, str) or not value:
        refuse("must be the name of a class", value, "write it in quotation marks")
    return value


def check_whole(table: dict[str, Any]) -> None:
    """Refuse a queue of which some combination of its axes cannot be, where it stands."""
    for one, chosen in itertools.islice(_alternatives(table), MAX_CHECKED):
        try:
            problem = _core.check_queue_table(json.dumps(one))
        except ValueError as error:
            refuse(f"is not possible: {error}", None)
        if problem is not None:
            field, why = problem
            at, value = _place(one, chosen, field.split("."))
            refuse(f"is not possible: {why}", value, None, at)


def _alternatives(node: Any, path: At = ()) -> Iterator[tuple[Any, dict[At, int]]]:
    """Give each combination of a table's axes, with what was chosen of which."""
    if isinstance(node, list):
        for index, item in enumerate(node):
            for one, chosen in _alternatives(item, path):
                yield one, {path: index, **chosen}
    elif isinstance(node, dict):
        parts = [list(_alternatives(item, (*path, name))) for name, item in node.items()]
        for combination in itertools.product(*parts):
            chosen = {key: index for _, part in combination for key, index in part.items()}
            yield dict(zip(node, (one for one, _ in combination), strict=True)), chosen
    else:
        yield node, {}


def _place(one: Any, chosen: dict[At, int], parts: list[str]) -> tuple[At, Any]:
    """Give where a field stands in the table with its axes, and its value."""
    at: list[str | int] = [chosen[()]] if () in chosen else []
    for length, part in enumerate(parts, start=1):
        at.append(part)
        one = one.get(part) if isinstance(one, dict) else None
        if tuple(parts[:length]) in chosen:
            at.append(chosen[tuple(parts[:length])])
    return tuple(at), None if isinstance(one, dict) else one
