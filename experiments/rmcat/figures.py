"""The charts of the page of RFC 8867: rates over time against capacity, delays with marks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np
import polars as pl

from gameway.figures.facets import STEPS, legend, plain
from gameway.metrics.presence import presence
from gameway.metrics.series import BIN_S, bitrates_of
from gameway.metrics.source import competitors, streams

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gameway.metrics.presence import Spans
    from gameway.metrics.source import Run
    from gameway.metrics.statistics import Floats

    from .rows import Row

COLUMNS, WIDTH, HEIGHT = 4, 205, 110
POINTS = 100
"""Most points of a line; more bins are averaged."""
NO_BOTTLENECK = "middle"
"""The hop of 6.3 that is four times as wide as the others."""
GREY = "#888888"
SHORT = "short TCPs"


def timelines(rows: Sequence[Row]) -> Any:
    """Rates of all flows but audio over time, a panel for each controller; dashed: capacity."""
    order = [row.controller for row in rows]
    data = pl.concat([_lines(row) for row in rows])
    flows = data.filter(pl.col("kind") == "rate")["flow"].unique(maintain_order=True).to_list()
    y = alt.Y("mbps:Q", title="Mb/s", axis=alt.Axis(tickCount=4))
    x = alt.X("time_s:Q", title="Time (s)", axis=alt.Axis(tickCount=5), scale=alt.Scale(nice=False))
    shown = legend() if len(flows) > 1 else None
    hue = alt.Color("flow:N", sort=flows, title=None, legend=shown)
    base = alt.Chart().properties(width=WIDTH, height=HEIGHT)
    capacity = (
        base.transform_filter("datum.kind == 'capacity'")
        .mark_line(interpolate=STEPS, strokeDash=[4, 3], color=GREY, strokeWidth=1.2)
        .encode(x, y, detail="flow:N")
    )
    rates = base.transform_filter("datum.kind == 'rate'").mark_line(
        interpolate=STEPS, strokeWidth=1.2
    )
    whole = alt.layer(capacity, rates.encode(x, y, hue), data=plain(data))
    header = alt.Header(title=None, labelAnchor="start", labelPadding=2)
    facet = alt.Facet("controller:N", sort=order, header=header)
    return whole.facet(facet, columns=COLUMNS, spacing=12)


def delays_with_marks(rows: Sequence[Row]) -> Any:
    """The delay with marks over that without, for each case and controller."""
    data = pl.DataFrame(
        [
            {
                "case": row.case.id,
                "controller": row.controller,
                "figure": f"{judged.criterion.name}, {row.condition}",
                "ratio": judged.figures[0],
            }
            for row in rows
            for judged in row.judged
            if judged.criterion.name in {"use", "delay"}
        ]
    )
    scale = alt.Scale(type="log", nice=False)
    points = (
        alt.Chart()
        .mark_point(filled=True, size=70, opacity=0.85)
        .encode(
            alt.X("case:N", title="Case", axis=alt.Axis(labelAngle=0)),
            alt.Y("ratio:Q", title="With marks / without", scale=scale),
            alt.Color("controller:N", title=None, legend=legend()),
            alt.Shape("controller:N", title=None),
            xOffset="controller:N",
        )
    )
    line = alt.Chart().mark_rule(strokeDash=[4, 3], color=GREY).encode(y=alt.datum(1.0))
    whole = alt.layer(line, points, data=plain(data)).properties(width=390, height=160)
    header = alt.Header(title=None, labelAnchor="start")
    return whole.facet(
        alt.Facet("figure:N", sort="ascending", header=header), columns=2, spacing=18
    )


def _lines(row: Row) -> pl.DataFrame:
    run = row.first
    bitrates = bitrates_of(run)
    names = [str(flow["name"]) for flow in streams(run.spec)]
    series = {name: bitrates.series(name) for name in names}
    short = []
    for flow in competitors(run.spec):
        name, kind = str(flow["name"]), flow.get("kind", "tcp")
        if kind == "short-tcp":
            short.append(bitrates.series(name))
        elif not name.startswith("audio"):
            series[name] = bitrates.series(name)
    if short:
        series[SHORT] = np.sum(short, axis=0)
    width = max(-(-len(bitrates.times_s) // POINTS), 1)
    there = {str(flow["name"]): presence(flow, run.windows.run) for flow in streams(run.spec)}
    frames = [_line(name, values, width, there.get(name)) for name, values in series.items()]
    frames += [_steps(name, values) for name, values in _capacities(run).items()]
    return pl.concat(frames).with_columns(controller=pl.lit(row.controller))


def _capacities(run: Run) -> dict[str, Floats]:
    found = {}
    for (name,), rows in run.table("link").group_by("link", maintain_order=True):
        if name != NO_BOTTLENECK:
            values = rows.sort("bin_start_ns")["capacity_bytes"].to_numpy() * 8e-6 / BIN_S
            found[f"capacity of {name}"] = values
    return found


def _line(name: str, values: Floats, width: int, there: Spans | None) -> pl.DataFrame:
    """Means over `width` bins; empty where the flow is not there."""
    count = len(values) // width
    times = np.arange(count, dtype=np.float64) * (width * BIN_S)
    means: Floats = values[: count * width].reshape(count, width).mean(axis=1)
    if there is not None:
        inside = np.zeros(count, dtype=np.bool_)
        for span in there:
            inside |= (times >= span.start_s) & (times + width * BIN_S <= span.stop_s)
        means = np.where(inside, means, np.nan)
    return _points(name, "rate", times, np.round(means, 3))


def _steps(name: str, values: Floats) -> pl.DataFrame:
    """Where a capacity changes, and its end."""
    last = len(values) - 1
    kept = [i for i in range(last + 1) if i in {0, last} or values[i] != values[i - 1]]
    return _points(
        name, "capacity", BIN_S * np.array(kept, dtype=np.float64), np.round(values[kept], 3)
    )


def _points(name: str, kind: str, times: Floats, mbps: Floats) -> pl.DataFrame:
    columns = {"flow": [name] * len(times), "kind": [kind] * len(times)}
    return pl.DataFrame(columns | {"time_s": times, "mbps": mbps})
