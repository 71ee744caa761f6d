"""Checks of single values of an experiment, and the types that carry them.

A check takes a value as it stands in the file and returns it in normal form ("25Mb/s" becomes
"25 Mb/s"), or refuses it with what is wrong and what is allowed. `Axis` fields take one value or a
list of values: a list is an axis of the matrix.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Annotated, Any, NoReturn, cast

from pydantic import BaseModel, PlainValidator, ValidationError, ValidationInfo
from pydantic_core import PydanticCustomError

from gameway import _core
from gameway.reference import REFERENCES

REFUSED = "gameway"
"""Error type, in pydantic's sense, of a value that a check of this module refused."""

VIDEOS = ("doom", "steady")
FEEDBACK = ("native", "per-frame")
DEFAULT_QUEUE_SIZE = "2 bdp"

Check = Callable[[object, ValidationInfo], Any]
At = tuple[str | int, ...]


def refuse(problem: str, value: object, hint: str | None = None, at: At = ()) -> NoReturn:
    """Refuse `value`; `at` leads from the field being checked to the part that is wrong."""
    context = {"problem": problem, "value": value, "hint": hint, "at": at}
    raise PydanticCustomError(REFUSED, "{problem}", context)


def nearest(word: str, known: Iterable[str]) -> str:
    """Give a hint that names the nearest known word, and all of them."""
    names = sorted(known)
    close = difflib.get_close_matches(word, names, n=1, cutoff=0.5)
    guess = f'did you mean "{close[0]}"? ' if close else ""
    return f"{guess}known are {', '.join(names)}"


def values(axis: object) -> list[Any]:
    """Give the values of a field that may be one value or an axis."""
    return list(axis) if isinstance(axis, (list, tuple)) else [axis]


def _axis_of(check: Check) -> Check:
    """Check one value, or a list of different values, by `check`."""

    def validate(value: object, info: ValidationInfo) -> object:
        if not isinstance(value, (list, tuple)):
            return check(value, info)
        if not value:
            refuse("is an empty list", value, "a list is an axis of the matrix: name a value")
        checked = [_inside(index, check, item, info) for index, item in enumerate(value)]
        for index, item in enumerate(checked):
            if item in checked[:index]:
                refuse("is in the list twice", value[index], "name each value once", (index,))
        return checked

    return validate


def _axis(check: Check) -> PlainValidator:
    return PlainValidator(_axis_of(check))


def _inside(key: str | int, check: Check, value: object, info: ValidationInfo) -> Any:
    """Check a part of a value; a refusal tells where the part is."""
    try:
        return check(value, info)
    except PydanticCustomError as error:
        context = cast("dict[str, Any]", error.context)
        refuse(context["problem"], context["value"], context["hint"], (key, *context["at"]))


def _unit(
    parse: Callable[[str], int],
    show: Callable[[int], str],
    example: str,
    lowest: int = 1,
    highest: int | None = None,
) -> Check:
    """Check a text with a unit, between two bounds in base units."""

    def check(value: object, _: ValidationInfo) -> str:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            refuse("has no unit", value, f'write it as text with a unit, for example "{example}"')
        if not isinstance(value, str):
            refuse("is not a text with a unit", value, f'write for example "{example}"')
        try:
            amount = parse(value)
        except ValueError as error:
            refuse(str(error), value, f'write for example "{example}"')
        if amount < lowest:
            least = (
                f"at least {show(lowest)}" if lowest > 1 else ("not negative", "above zero")[lowest]
            )
            refuse(f"must be {least}", value, f'write for example "{example}"')
        if highest is not None and amount > highest:
            refuse(f"must be at most {show(highest)}", value, f'write for example "{example}"')
        return show(amount)

    return check


def _show_duration(nanos: int) -> str:
    return _core.format_duration(nanos) if nanos else "0 s"


def _show_ratio(parts_per_million: int) -> str:
    percent = (Decimal(parts_per_million) / 10_000).normalize()
    return f"{percent:f} %"


_rate = _unit(_core.parse_rate, _core.format_rate, "25 Mb/s")
_rate_or_none = _unit(_core.parse_rate, _core.format_rate, "25 Mb/s", lowest=0)
_span = _unit(_core.parse_duration, _show_duration, "16 ms")
_moment = _unit(_core.parse_duration, _show_duration, "30 s", lowest=0)
_amount = _unit(_core.parse_bytes, _core.format_bytes, "10 MB")
_share = _unit(_core.parse_ratio, _show_ratio, "2 %", lowest=0, highest=1_000_000)


def _queue_size(value: object, _: ValidationInfo) -> str:
    hint = 'write for example "2 bdp", "64 KiB", "100 packets" or "300 ms"'
    if not isinstance(value, str):
        refuse("has no unit", value, hint)
    try:
        return _core.check_queue_size(value)
    except ValueError as error:
        refuse(str(error), value, hint)


def _switch(value: object) -> bool:
    if not isinstance(value, bool):
        refuse("is neither true nor false", value, "write true or false, without quotation marks")
    return value


def _reference(value: object) -> str:
    if not isinstance(value, str) or value not in REFERENCES:
        refuse("is no known publication", value, nearest(str(value), REFERENCES))
    return value


def _text(value: object, _: ValidationInfo) -> str:
    if not isinstance(value, str) or not value.strip():
        refuse("must be a text", value, "write it in quotation marks")
    return value


def _name(value: object, _: ValidationInfo) -> str:
    if not isinstance(value, str) or not value.replace("-", "").replace("_", "").isalnum():
        refuse("must be a name", value, "letters, digits, - and _")
    if value == "ping" or value.isdigit():
        refuse("is not free as a name", value, 'use for example "game"; "ping" is the ping')
    return value


def _whole(lowest: int, highest: int) -> Check:
    def check(value: object, _: ValidationInfo) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            refuse("must be a whole number", value, f"from {lowest} to {highest}")
        if not lowest <= value <= highest:
            refuse("is out of range", value, f"from {lowest} to {highest}")
        return value

    return check


def _packets(value: object, _: ValidationInfo) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        refuse("must be a number of packets", value, "for example 3.0")
    if not 1 <= value <= 1_000_000:  # noqa: PLR2004 (a burst is at least one packet)
        refuse("is out of range", value, "a burst has from 1 to 1000000 packets on average")
    return float(value)


def _one_of(kind: str, known: Callable[[], Iterable[str]]) -> Check:
    def check(value: object, _: ValidationInfo) -> str:
        if not isinstance(value, str) or value not in known():
            refuse(f"is no {kind}", value, nearest(str(value), known()))
        return value

    return check


@cache
def catalogue() -> dict[str, Any]:
    """Give the controllers, queues and competitors that this build of the simulator knows."""
    return cast("dict[str, Any]", json.loads(_core.catalogue()))


def entries(part: str) -> dict[str, dict[str, Any]]:
    """Give one part of the catalogue by name."""
    return {entry["name"]: entry for entry in catalogue()[part]}


def _with_options(kind: str, part: str, option: Callable[[list[str], str], Check]) -> Check:
    """Check a table { kind = ..., options of that kind }; each value may be an axis.

    `option` gives the check of an option (second) that all of some kinds (first) have.
    """
    check_kind = _axis_of(_one_of(kind, lambda: entries(part)))

    def check(value: object, info: ValidationInfo) -> dict[str, Any]:
        table = dict(_table(value, "kind"))
        checked = {"kind": _inside("kind", check_kind, table.pop("kind"), info)}
        kinds = values(checked["kind"])
        known = _options_of_all(part, kinds)
        for name, item in table.items():
            if name not in known:
                problem = f"is an unknown key of the {kind} {' and '.join(kinds)}"
                refuse(problem, item, nearest(name, known), (name,))
            checked[name] = _inside(name, _axis_of(option(kinds, name)), item, info)
        return checked

    return check


def _options_of_all(part: str, kinds: list[str]) -> set[str]:
    """Options that every one of `kinds` has."""
    found = [{option["name"] for option in entries(part)[kind]["options"]} for kind in kinds]
    return set.intersection(*found)


def _controller_option(kinds: list[str], name: str) -> Check:
    """Check one option by building the controllers with it."""

    def check(value: object, info: ValidationInfo) -> object:
        text = value if isinstance(value, str) else json.dumps(_option(value, info))
        for kind in kinds:
            try:
                _core.check_controller(kind, [(name, text)])
            except ValueError as error:
                refuse(f"is not possible: {error}", value)
        return value

    return check


def _queue_option(_: list[str], name: str) -> Check:
    return _queue_size if name == "size" else _option


def _option(value: object, _: ValidationInfo) -> object:
    if not isinstance(value, str | int | float):
        refuse("must be one value", value, "a text, a number, true or false")
    return value


def _table(value: object, *required: str, only: Sequence[str] | None = None) -> dict[str, Any]:
    """Check that `value` is a table with the keys `required`, and none but `only` if given."""
    if not isinstance(value, dict):
        refuse("must be a table", value, f"{{ {required[0]} = ... }}")
    for name in required:
        if name not in value:
            refuse(f"has no {name}", value, f"{{ {name} = ... }}")
    unknown = [name for name in value if only is not None and name not in only]
    if unknown:
        refuse(
            "is an unknown key", value[unknown[0]], nearest(unknown[0], only or ()), (unknown[0],)
        )
    return value


def _controller(value: object, info: ValidationInfo) -> object:
    if isinstance(value, dict):
        return _with_options("controller", "controllers", _controller_option)(value, info)
    return _one_of("controller", lambda: entries("controllers"))(value, info)


def _queue(value: object, info: ValidationInfo) -> object:
    table = {"kind": value} if isinstance(value, str) else value
    if isinstance(table, dict):
        table = {"size": DEFAULT_QUEUE_SIZE, **table}
    return _with_options("queue", "queues", _queue_option)(table, info)


def _capacity(value: object, info: ValidationInfo) -> object:
    if not isinstance(value, dict):
        return _rate(value, info)
    if "steps" in value:
        table = _table(value, "steps", only=("steps",))
        return {"steps": _inside("steps", _steps, table["steps"], info)}
    table = _table(value, "trace", only=("trace", "steps"))
    return {"trace": _inside("trace", _axis_of(_trace), table["trace"], info)}


def _steps(value: object, info: ValidationInfo) -> list[list[str]]:
    hint = 'write [["0 s", "20 Mb/s"], ["40 s", "10 Mb/s"]]'
    if not isinstance(value, (list, tuple)) or not value:
        refuse("must be a list of steps", value, hint)
    steps: list[list[str]] = []
    for index, step in enumerate(value):
        if not isinstance(step, (list, tuple)) or len(step) != 2:  # noqa: PLR2004 (time, rate)
            refuse("must be a time and a rate", step, hint, (index,))
        pair = zip((0, 1), (_moment, _rate_or_none), step, strict=True)
        try:
            steps.append([_inside(place, check, part, info) for place, check, part in pair])
        except PydanticCustomError as error:
            context = cast("dict[str, Any]", error.context)
            refuse(context["problem"], context["value"], context["hint"], (index, *context["at"]))
    _check_step_times([_core.parse_duration(time) for time, _ in steps], steps)
    return steps


def _check_step_times(times: list[int], steps: list[list[str]]) -> None:
    if times[0] != 0:
        refuse("is the first step, which must be at 0 s", steps[0][0], 'write "0 s"', (0, 0))
    for index in range(1, len(times)):
        if times[index] <= times[index - 1]:
            hint = f"must be after {steps[index - 1][0]}"
            refuse("is not after the step before it", steps[index][0], hint, (index, 0))


def resolve(name: str, base: Path | None) -> Path:
    """Give the place of a file that an experiment in the folder `base` names."""
    return (base or Path.cwd()) / Path(name).expanduser()


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name that is too long, a folder that may not be entered
        return False


def _file(value: object, info: ValidationInfo) -> str:
    if not isinstance(value, str) or not value:
        refuse("must be the name of a file", value, "relative to the experiment file")
    base = (info.context or {}).get("base")
    path = resolve(value, base)
    if not _is_file(path):
        refuse(
            f"names no file: {path} does not exist",
            value,
            "a path is relative to the experiment file",
        )
    return value


def _file_that(passes: Callable[[str], object], kind: str, hint: str) -> Check:
    """Check the name of a file, and the file by what the simulator says of it."""

    def check(value: object, info: ValidationInfo) -> str:
        name = _file(value, info)
        path = resolve(name, (info.context or {}).get("base"))
        try:
            passes(str(path))
        except (ValueError, OSError) as error:
            refuse(f"is no usable {kind}: {path}: {error}", value, hint)
        return name

    return check


_trace = _file_that(
    _core.check_trace,
    "trace",
    "one time in whole milliseconds per line, never falling (Mahimahi's format)",
)
_frame_table = _file_that(
    _core.check_frame_table,
    "frame table",
    "make one of a video with `gameway frames VIDEO --table OUT.gwfr`",
)


def _video(value: object, info: ValidationInfo) -> object:
    if isinstance(value, dict):
        table = _table(value, "file", only=("file",))
        return {"file": _inside("file", _axis_of(_frame_table), table["file"], info)}
    hint_known = [*VIDEOS, '{ file = "x.gwfr" }']
    if value not in VIDEOS:
        refuse("is no video", value, nearest(str(value), hint_known))
    return value


def _feedback(value: object, info: ValidationInfo) -> str:
    if isinstance(value, str) and value in FEEDBACK:
        return value
    try:
        return cast("str", _span(value, info))
    except PydanticCustomError:
        refuse("is no feedback", value, 'known are native, per-frame, or an interval like "50 ms"')


def table_of(model: type[BaseModel]) -> Check:
    """Check a table by a model of its own, with its errors told as ours."""

    def check(value: object, info: ValidationInfo) -> BaseModel:
        if isinstance(value, model):
            return value
        if not isinstance(value, dict):
            refuse("must be a table", value, f"known keys are {', '.join(model.model_fields)}")
        try:
            return model.model_validate(value, context=info.context)
        except ValidationError as error:
            refuse_first(error, model)

    return check


def refuse_first(error: ValidationError, model: type[BaseModel]) -> NoReturn:
    """Tell the first error of a model as a refusal; a misspelt key before the key it should be."""
    first = min(error.errors(), key=lambda found: found["type"] != "extra_forbidden")
    at: At = tuple(first["loc"])
    value = first.get("input")
    if first["type"] == REFUSED:
        context = first["ctx"]
        refuse(context["problem"], context["value"], context["hint"], (*at, *context["at"]))
    if first["type"] == "extra_forbidden":
        refuse("is an unknown key", value, nearest(str(at[-1]), model.model_fields), at)
    if first["type"] == "missing":
        field = model.model_fields[str(at[-1])]
        example = json.dumps((field.examples or ["..."])[0], ensure_ascii=False)
        refuse("is missing", None, f"add {at[-1]} = {example}", at)
    refuse(first["msg"], value, None, at)


def table_axis(model: type[BaseModel]) -> PlainValidator:
    """Validate one table, or a list of tables that is an axis."""
    return _axis(table_of(model))


def table_list(model: type[BaseModel]) -> PlainValidator:
    """Validate a list of tables, each of which is one more part of the experiment."""
    check = table_of(model)

    def validate(value: object, info: ValidationInfo) -> list[Any]:
        if not isinstance(value, (list, tuple)):
            refuse("must be a list of tables", value, f"write [[{info.field_name}]]")
        return [_inside(index, check, item, info) for index, item in enumerate(value)]

    return PlainValidator(validate)


Rates = Annotated[str | Sequence[str], _axis(_rate)]
"""A rate above zero: "25 Mb/s"."""
Spans = Annotated[str | Sequence[str], _axis(_span)]
"""A span of time above zero: "16 ms"."""
Moments = Annotated[str | Sequence[str], _axis(_moment)]
"""A point in time or a span, zero allowed: "30 s"."""
Amounts = Annotated[str | Sequence[str], _axis(_amount)]
"""An amount of data above zero: "10 MB"."""
Shares = Annotated[str | Sequence[str], _axis(_share)]
"""A share from 0 to 1: "2 %"."""
FrameRates = Annotated[int | Sequence[int], _axis(_whole(1, 1000))]
"""Frames per second."""
BurstLengths = Annotated[float | Sequence[float], _axis(_packets)]
"""Mean number of packets lost in a row."""
Table = dict[str, Any]
Capacities = Annotated[str | Table | Sequence[str | Table], _axis(_capacity)]
"""A rate, { steps = [...] } or { trace = "file" }."""
Queues = Annotated[str | Table | Sequence[str | Table], _axis(_queue)]
"""{ kind = "drop-tail", size = "2 bdp" } and the options of that kind."""
Controllers = Annotated[str | Table | Sequence[str | Table], _axis(_controller)]
"""A controller by name, or { kind = name, options of that controller }."""
Videos = Annotated[str | Table | Sequence[str | Table], _axis(_video)]
"""A built-in video or { file = "x.gwfr" }."""
Feedbacks = Annotated[str | Sequence[str], _axis(_feedback)]
"""native, per-frame, or an interval."""
CongestionControls = Annotated[
    str | Sequence[str], _axis(_one_of("congestion control", lambda: entries("competitors")))
]
"""The congestion control of a TCP download."""
LossKinds = Annotated[
    str | Sequence[str], _axis(_one_of("kind of loss", lambda: ("random", "bursty")))
]
CompetitorKinds = Annotated[
    str | Sequence[str], _axis(_one_of("kind of competitor", lambda: ("tcp",)))
]
Name = Annotated[str, PlainValidator(_name)]
Title = Annotated[str, PlainValidator(_text)]
Switch = Annotated[bool, PlainValidator(_switch)]
ReferenceName = Annotated[str, PlainValidator(_reference)]
Runs = Annotated[int, PlainValidator(_whole(1, 100_000))]
Seed = Annotated[int, PlainValidator(_whole(0, 2**63 - 1))]
