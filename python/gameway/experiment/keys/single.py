"""Checks of the values of single keys: names, capacities, files, feedback, pauses."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any, cast

from pydantic_core import PydanticCustomError

from gameway import _core, experiments
from gameway.catalogue import MAX, MIN, forms_of, key_schema, tables_of, words_of
from gameway.errors import nearest
from gameway.experiment.keys.checking import (
    Check,
    as_table,
    axis_of,
    inside,
    one_of,
    places,
    refuse,
    values,
)
from gameway.experiment.keys.declared import Declaration, quantity
from gameway.experiment.keys.files import existing_file, resolve
from gameway.experiment.keys.quantities import drift
from gameway.experiment.keys.wifi import wifi

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic import ValidationInfo

VIDEOS = words_of(key_schema("stream.video"))
FEEDBACK = words_of(key_schema("stream.feedback"))
REPORTS = Declaration(list(forms_of(key_schema("stream.feedback")))).kinds
"""Formats of reports, each with a clock as coarse as its own."""
INTERVALS = {kind: table["properties"]["interval"] for kind, table in REPORTS.items()}
interval = quantity(next(iter(INTERVALS.values())))
"""Check of an interval, whose bounds are the same in each format and without one."""
clock_drift = drift(key_schema("stream.clock_drift")[MIN], key_schema("stream.clock_drift")[MAX])
PAUSE = Declaration(tables_of("stream.pause")).checks()
RATE = quantity(key_schema("path.capacity")["anyOf"][0])
STEP = [quantity(one) for one in key_schema("path.capacity.steps")["prefixItems"]]
"""Checks of a capacity that stays, and of the time and the capacity of a step."""
FORWARD = ("all", "path")
"""What a flow may pass beside further bottlenecks."""
BOTTLENECKS = (*FORWARD, "back")
"""Names that no further bottleneck may have."""


def switch(value: object) -> bool:
    """Check true or false."""
    if not isinstance(value, bool):
        refuse("is neither true nor false", value, "write true or false, without quotation marks")
    return value


def reference(value: object) -> str:
    """Check the name of a publication."""
    if not isinstance(value, str) or value not in experiments.published():
        refuse("is no known publication", value, nearest(str(value), experiments.published()))
    return value


def text(value: object, _: ValidationInfo) -> str:
    """Check a text that says something."""
    if not isinstance(value, str) or not value.strip():
        refuse("must be a text", value, "write it in quotation marks")
    return value


def name(value: object, _: ValidationInfo) -> str:
    """Check the name of a flow or of a bottleneck."""
    if not isinstance(value, str) or not value.replace("-", "").replace("_", "").isalnum():
        refuse("must be a name", value, "letters, digits, - and _")
    if value == "ping" or value.isdigit():
        refuse("is not free as a name", value, 'use for example "game"; "ping" is the ping')
    return value


def capacity(value: object, info: ValidationInfo) -> object:
    """Check a capacity: a rate, steps, a trace, or a Wi-Fi medium."""
    if not isinstance(value, dict):
        return RATE(value, info)
    if "wifi" in value:
        return wifi(value, info)
    if "steps" in value:
        table = as_table(value, "steps", only=("steps",))
        return {"steps": inside("steps", _steps, table["steps"], info)}
    table = as_table(value, "trace", only=("trace", "steps", "wifi", *COLUMNS))
    columns = {key: inside(key, COLUMNS[key], table[key], info) for key in COLUMNS if key in table}
    file = inside("trace", axis_of(_recorded(columns)), table["trace"], info)
    return {"trace": file, **columns}


def _recorded(columns: dict[str, object]) -> Check:
    """Check the name of a file of recorded capacity, whose table has these columns."""

    def passes(path: str) -> object:
        return _core.check_trace(json.dumps({"trace": path, **columns}))

    hint = (
        "one time in whole milliseconds per line, never falling (Mahimahi's format), or a table of "
        "times and rates: see `trace` in docs/experiment-file.md"
    )
    return _file_that(passes, "trace", hint)


def _unit_of(parse: Callable[[str], int], example: str) -> Check:
    """Check the name of a unit."""

    def check(value: object, _: ValidationInfo) -> str:
        try:
            parse(f"1 {value}")
        except ValueError:
            refuse("is no unit", value, f'write for example "{example}"')
        return str(value)

    return check


COLUMNS: dict[str, Check] = {
    "time": text,
    "rate": text,
    "time_unit": _unit_of(_core.parse_duration, "ms"),
    "rate_unit": _unit_of(_core.parse_rate, "kb/s"),
}
"""What may be said of the columns of a table of recorded rates."""


def _steps(value: object, info: ValidationInfo) -> list[list[str]]:
    hint = 'write [["0 s", "20 Mb/s"], ["40 s", "10 Mb/s"]]'
    if not isinstance(value, (list, tuple)) or not value:
        refuse("must be a list of steps", value, hint)
    steps: list[list[str]] = []
    for index, step in enumerate(value):
        if not isinstance(step, (list, tuple)) or len(step) != 2:  # noqa: PLR2004 (time, rate)
            refuse("must be a time and a rate", step, hint, (index,))
        pair = zip((0, 1), STEP, step, strict=True)
        try:
            steps.append([inside(place, check, part, info) for place, check, part in pair])
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


def _file_that(passes: Callable[[str], object], kind: str, hint: str) -> Check:
    """Check the name of a file, and the file by what the simulator says of it."""

    def check(value: object, info: ValidationInfo) -> str:
        name = existing_file(value, info)
        path = resolve(name, (info.context or {}).get("base"))
        try:
            passes(str(path))
        except (ValueError, OSError) as error:
            refuse(f"is no usable {kind}: {path}: {error}", value, hint)
        return name

    return check


_frame_table = _file_that(
    _core.check_frame_table,
    "frame table",
    "make one of a video with `gameway frames VIDEO --table OUT.gwfr`",
)


_segment_sizes = _file_that(
    _core.check_segment_sizes,
    "table of segments' sizes",
    "CSV with the columns level,segment,bytes: levels from 1, segments from 0",
)


def segment_sizes(value: object, info: ValidationInfo) -> dict[str, Any]:
    """Check where the sizes of a video's segments are from."""
    table = as_table(value, "file", only=("file",))
    return {"file": inside("file", axis_of(_segment_sizes), table["file"], info)}


def video(value: object, info: ValidationInfo) -> object:
    """Check a video: its name, or the file of a frame table."""
    if isinstance(value, dict):
        table = as_table(value, "file", only=("file",))
        return {"file": inside("file", axis_of(_frame_table), table["file"], info)}
    hint_known = [*VIDEOS, '{ file = "x.gwfr" }']
    if value not in VIDEOS:
        refuse("is no video", value, nearest(str(value), hint_known))
    return value


def feedback(value: object, info: ValidationInfo) -> object:
    """Check when a client reports: a word, an interval, or a format of reports as a table."""
    if isinstance(value, dict):
        return _reports(value, info)
    if isinstance(value, str) and value in FEEDBACK:
        return value
    if not _is_duration(value):
        hint = (
            f'known are {", ".join(FEEDBACK)}, an interval like "50 ms", or a table like '
            f'{{ kind = "{next(iter(REPORTS))}", interval = "5 ms" }}'
        )
        refuse("is no feedback", value, hint)
    return interval(value, info)


def _is_duration(value: object) -> bool:
    try:
        _core.parse_duration(cast("str", value))
    except (ValueError, TypeError):
        return False
    return True


def _reports(value: object, info: ValidationInfo) -> dict[str, Any]:
    table = as_table(value, "kind", only=("kind", "interval"))
    kind = inside(
        "kind", axis_of(one_of("format of reports", lambda: REPORTS)), table["kind"], info
    )
    every = table["interval"] if "interval" in table else _interval_of(values(kind))
    return {"kind": kind, "interval": inside("interval", axis_of(interval), every, info)}


def _interval_of(kinds: list[str]) -> str:
    """Give the interval of reports that have none of their own; formats may differ in it."""
    defaults = {kind: INTERVALS[kind]["default"] for kind in kinds}
    if len(set(defaults.values())) > 1:
        told = ", ".join(f"{kind} has {default}" for kind, default in defaults.items())
        refuse("is missing", None, f"{told}: write one for all of them", ("interval",))
    return str(defaults[kinds[0]])


def repair(value: object, info: ValidationInfo) -> object:
    """Check what is done about losses: a word, or what is planned as a table with its goal."""
    declared = key_schema("stream.repair")
    if not isinstance(value, dict):
        return one_of("kind of repair", lambda: words_of(declared))(value, info)
    planned = Declaration(list(forms_of(declared)))
    of_kind = {kind: tuple(one["properties"]) for kind, one in planned.kinds.items()}
    table = as_table(value, "kind", only=tuple(dict.fromkeys(itertools.chain(*of_kind.values()))))
    kinds = axis_of(one_of("kind of planned repair", lambda: planned.kinds))
    checks = {key: axis_of(check) for key, check in planned.checks().items()} | {"kind": kinds}
    checked = {key: inside(key, checks[key], table[key], info) for key in table}
    for kind, key in itertools.product(values(checked["kind"]), checked):
        if key not in of_kind[kind]:
            known = ", ".join(of_kind[kind])
            refuse("has no meaning here", checked[key], f"{kind} has {known}", (key,))
    return checked


def pause(value: object, info: ValidationInfo) -> dict[str, Any]:
    """Check a span of time in which nothing is captured."""
    table = as_table(value, *PAUSE, only=tuple(PAUSE))
    checked = {key: inside(key, axis_of(check), table[key], info) for key, check in PAUSE.items()}
    for start, (index, stop) in itertools.product(values(checked["from"]), places(checked["to"])):
        if _core.parse_duration(stop) <= _core.parse_duration(start):
            refuse(f"must be after from = {start}", stop, None, ("to", *index))
    return checked


def bottleneck_name(value: object, info: ValidationInfo) -> str:
    """Check the name of a bottleneck behind the path's own."""
    found = name(value, info)
    if found in BOTTLENECKS:
        refuse("is not free as a name", value, f"{', '.join(BOTTLENECKS)} mean something else")
    return found
