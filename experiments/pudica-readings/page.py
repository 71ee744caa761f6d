"""The page of `gameway reproduce pudica-readings`: what each reading of Pudica's paper does.

Source: Wang et al., "Pudica", NSDI 2024, leaves open what options such as `ai_term` and `trigger`
choose; the head of `crates/core/control/src/pudica` tells where. Here each has its other value
alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from gameway.figures.facets import plain
from gameway.page import Page, Section, Table, figure

from ..pudica.drains import drains
from ..pudica.sessions import convergence, sessions
from ..pudica.statistics import bootstrap, paired_change

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gameway.results import Results

BASE = "pudica"
TOGETHER_S = 37.0
"""All three flows are there from here on."""
SETTLED_S = 10.0
FALL_S = 8.0
# Differences from the recommended reading from which on a point is named.
VISIBLE_MS, VISIBLE_INDEX = 1.0, 0.01
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
        shown = [
            figure(
                "three-flows",
                "Fairness and delay",
                fairness_chart(table),
                caption="Each point is one reading; those are named that differ visibly.",
                description="Jain's index over the 95 % frame delay, a point per reading.",
            )
        ]
        text = "From 37 s on, index from 45 s on."
        found.append(Section("Three staggered flows", text, [table], shown))
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


def fairness_chart(table: Table) -> Any:
    """Jain's index over frame delay, a point per reading, as a chart."""
    rows = table.frame if table.file_frame is None else table.file_frame
    base = rows.row(0, named=True)
    apart = ((pl.col("delay_p95_ms") - base["delay_p95_ms"]).abs() > VISIBLE_MS) | (
        (pl.col("jain_index") - base["jain_index"]).abs() > VISIBLE_INDEX
    )
    data = rows.select(
        "reading",
        pl.col("delay_p95_ms", "jain_index").round(4),
        pl.when(apart | (pl.col("reading") == base["reading"]))
        .then(pl.col("reading"))
        .otherwise(pl.lit(""))
        .alias("name"),
    )
    x = alt.X(
        "delay_p95_ms:Q", title="95 % frame delay (ms)", scale=alt.Scale(zero=False, padding=30)
    )
    y = alt.Y("jain_index:Q", title="Jain's index", scale=alt.Scale(zero=False, padding=20))
    points = alt.Chart(plain(data)).encode(x, y, tooltip=["reading:N", x.shorthand, y.shorthand])
    others = points.transform_filter("datum.reading != '(recommended)'")
    own = points.transform_filter("datum.reading == '(recommended)'")
    layers = [
        others.mark_point(filled=True, opacity=0.8).encode(color=alt.value("#D55E00")),
        own.mark_point(filled=True, size=110, opacity=1.0).encode(color=alt.value("#3FA7DB")),
        others.mark_text(align="left", dx=7, dy=1, fontSize=10).encode(text="name:N"),
        own.mark_text(dy=-24, fontSize=11, fontWeight="bold").encode(text="name:N"),
    ]
    return alt.layer(*layers).properties(width=720, height=400)


def _joined(results: Results, from_s: float) -> pl.DataFrame:
    own = convergence(results).drop("controller")
    return sessions(results, from_s).join(own, on="run", maintain_order="left")


def _halving(results: Results) -> pl.DataFrame:
    own = drains(results).drop("controller", "fall")
    return sessions(results, FALL_S).join(own, on="run", maintain_order="left")
