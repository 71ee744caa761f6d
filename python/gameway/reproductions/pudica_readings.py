"""The page of `gameway reproduce pudica-readings`: what each reading of Pudica's paper does.

Source: Wang et al., "Pudica", NSDI 2024, leaves open what options such as `ai_term` and `trigger`
choose; the head of `crates/control/src/pudica` tells where. Here each has its other value alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from gameway.report.page import Page, Section, Table
from gameway.reproductions.pudica_drains import drains
from gameway.reproductions.pudica_sessions import convergence, sessions
from gameway.reproductions.pudica_statistics import bootstrap, paired_change

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gameway.results import Results

BASE = "pudica"
TOGETHER_S = 37.0
"""All three flows are there from here on."""
SETTLED_S = 10.0
FALL_S = 8.0
LEAD = (
    "Pudica with each open question of the paper answered the other way, one at a time: alone on "
    "20 Mb/s and on 45 Mb/s, three staggered flows on 30 Mb/s, and a capacity that halves. In "
    "brackets the change from the recommended reading with its 95 % interval, where it excludes "
    "zero (paired by repeat, bootstrap)."
)
ALONE = {"utilization_percent": "utilization, %", "delay_p95_ms": "95 % delay, ms"}
THREE = {"jain_index": "Jain's index"} | ALONE
HALVING = {
    "peak_ms": "queue's peak, ms",
    "drain_ms": "cut to empty, ms",
    "empty_ms": "fall to empty, ms",
    "stall_100ms_percent": "stalls > 100 ms from the fall on, %",
}


def page(parts: dict[str, Results]) -> Page:
    """A section for each scenario."""
    found = []
    if "alone" in parts:
        rows = _joined(parts["alone"], SETTLED_S)
        tables = [
            readings_table(f"Alone on {capacity:g} Mb/s", own, ALONE)
            for (capacity,), own in rows.group_by("capacity_mbps", maintain_order=True)
        ]
        found.append(Section("Alone", "From 10 s on.", tables))
    if "three-flows" in parts:
        table = readings_table(
            "Three staggered flows", _joined(parts["three-flows"], TOGETHER_S), THREE
        )
        found.append(Section("Three staggered flows", "From 37 s on, index from 45 s on.", [table]))
    if "halving" in parts:
        table = readings_table("30 to 15 Mb/s", _halving(parts["halving"]), HALVING)
        found.append(Section("The capacity halves", "", [table]))
    return Page("Readings of Pudica", LEAD, found)


def readings_table(title: str, rows: pl.DataFrame, columns: Mapping[str, str]) -> Table:
    """A row for each reading; cells that clearly differ from the base are marked."""
    shown, numbers, marked = [], [], set()
    for index, reading in enumerate(rows["controller"].unique(maintain_order=True)):
        own = rows.filter(pl.col("controller") == reading)
        row = {"reading": "(recommended)" if reading == BASE else reading.removeprefix("pudica ")}
        figures: dict[str, object] = dict(row)
        for column, name in columns.items():
            mean = bootstrap(own[column].cast(pl.Float64).drop_nulls().to_numpy()).mean
            places = 3 if column == "jain_index" else 1
            row[name] = f"{mean:.{places}f}"
            figures[column] = mean
            change = paired_change(rows, column, str(reading), BASE)
            if reading != BASE:
                figures |= {f"{column}_change": change.mean, f"{column}_low": change.low,
                            f"{column}_high": change.high}  # fmt: skip
            if reading != BASE and change.sign:
                row[name] += f" ({change})"
                marked.add((index, name))
        shown.append(row)
        numbers.append(figures)
    file = pl.DataFrame(numbers, infer_schema_length=None)
    return Table(title, pl.DataFrame(shown), file_frame=file, marked=frozenset(marked), main=True)


def _joined(results: Results, from_s: float) -> pl.DataFrame:
    own = convergence(results).drop("controller")
    return sessions(results, from_s).join(own, on="run", maintain_order="left")


def _halving(results: Results) -> pl.DataFrame:
    own = drains(results).drop("controller", "fall")
    return sessions(results, FALL_S).join(own, on="run", maintain_order="left")
