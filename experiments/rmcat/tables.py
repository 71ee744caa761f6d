"""The tables of the page of RFC 8867."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import polars as pl

from gameway.page import Table
from gameway.page.words import number

from .rows import SCALES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .cases import Case
    from .criteria import Criterion
    from .rows import Row


def overview(rows: Sequence[Row], scale: str, name: str = "overview") -> Table:
    """A row for each case and condition, a column for each controller."""
    own = [row for row in rows if row.scale == scale]
    controllers = list(dict.fromkeys(row.controller for row in own))
    keys = list(dict.fromkeys((row.case.id, row.condition) for row in own))
    cells = {(row.case.id, row.condition, row.controller): row for row in own}
    lines, marked = [], set()
    for index, (case, condition) in enumerate(keys):
        line = {"case": case, "condition": condition}
        for controller in controllers:
            row = cells.get((case, condition, controller))
            line[controller] = row.verdict if row else ""
            if row and row.failed:
                marked.add((index, controller))
        lines.append(line)
    caption = f"Met or not, at {SCALES[scale]}"
    return Table(caption, pl.DataFrame(lines), f"{name}-{scale}", marked=frozenset(marked),
                 main=True)  # fmt: skip


def expectations(cases: Sequence[Case]) -> Table:
    """What is expected of each case, and by which figures it is judged."""
    lines = [
        {
            "case": case.id,
            "RFC": str(case.rfc),
            "what": case.title,
            "expected": case.expected,
            "judged by": ", ".join(one.name for one in case.criteria),
        }
        for case in cases
    ]
    return Table("What is expected", pl.DataFrame(lines), "expectations", main=True)


def misses(rows: Sequence[Row]) -> Table:
    """How often each controller misses each figure, of those that it is judged by."""
    counts: dict[str, dict[str, list[bool]]] = {}
    for row in rows:
        for judged in row.judged:
            if judged.criterion.judges:
                own = counts.setdefault(row.controller, {})
                own.setdefault(judged.criterion.name, []).append(not judged.met)
    names = dict.fromkeys(name for own in counts.values() for name in own)
    lines = [
        {"controller": controller} | {name: _of(own.get(name)) for name in names}
        for controller, own in counts.items()
    ]
    return Table("How often a figure misses its limit", pl.DataFrame(lines), "misses", main=True)


def _of(missed: Sequence[bool] | None) -> str:
    return f"{sum(missed)} of {len(missed)}" if missed else ""


def limits(criteria: Sequence[Criterion], name: str = "limits") -> Table:
    """The figures with their limits and where these come from."""
    lines = [
        {"figure": one.name, "what": one.words, "limit": one.limit, "limit from": one.source}
        for one in criteria
    ]
    return Table("How it is judged", pl.DataFrame(lines), name)


def figures(rows: Sequence[Row], name: str) -> Table:
    """The figures of a case, a row for each condition and controller."""
    several = any(row.condition for row in rows)
    lines, marked = [], set()
    for index, row in enumerate(rows):
        line = {"rates": SCALES[row.scale]}
        line |= {"condition": row.condition} if several else {}
        line |= {"controller": row.controller, "runs": str(row.runs)}
        for judged in row.judged:
            heading = _heading(judged.criterion)
            line[heading] = judged.text
            if not judged.met:
                marked.add((index, heading))
        line |= _beside(row)
        missed = ", ".join(one.criterion.name for one in row.failed)
        line["expectation"] = row.worded(f"not met: {missed}" if missed else "")
        lines.append(line)
    return Table("Figures", pl.DataFrame(lines), f"figures-{name}", marked=frozenset(marked),
                 file_frame=_numbers(rows))  # fmt: skip


def _heading(criterion: Criterion) -> str:
    return criterion.name + (f", {criterion.unit}" if criterion.unit else "")


def _beside(row: Row) -> dict[str, str]:
    """Rates and Jain's index, which are told and not judged."""
    found = {"Mb/s": " + ".join(number(rate) for rate in row.shares)}
    if row.tcp_mbps > 0.0:
        found["TCP, Mb/s"] = number(row.tcp_mbps)
    if not math.isnan(row.jain):
        found["Jain"] = f"{row.jain:.2f}"
    return found


def _numbers(rows: Sequence[Row]) -> pl.DataFrame:
    """One row for each figure."""
    lines = [
        {
            "case": row.case.id, "rates": row.scale, "condition": row.condition,
            "controller": row.controller, "runs": row.runs, "figure": judged.criterion.name,
            "unit": judged.criterion.unit, "number": index, "value": value,
            "lowest": judged.ranges[index][0], "highest": judged.ranges[index][1],
            "min": judged.criterion.min_value, "max": judged.criterion.max_value, "met": judged.met,
        }
        for row in rows
        for judged in row.judged
        for index, value in enumerate(judged.figures)
    ]  # fmt: skip
    return pl.DataFrame(lines)
