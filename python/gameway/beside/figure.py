"""Bitrates over time, simulated beside live: a figure for each condition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np
import polars as pl

from gameway.figures.facets import STEPS
from gameway.metrics.series import bitrates_of, mean_over_runs
from gameway.metrics.source import Run, competitors, finished_runs, streams
from gameway.page import Figure, figure

if TYPE_CHECKING:
    from gameway.metrics.source import ResultFolder

Condition = tuple[str | None, ...]

SIDES = ("simulated", "live")
WIDTH, HEIGHT = 430, 220
TOOLTIP_EVERY = 2.0
"""Seconds from tooltip to tooltip."""


def over_time(simulated: ResultFolder, live: ResultFolder) -> Figure | None:
    """Mean bitrate of every flow on both sides; None if they have no condition in common."""
    factors = [name for name in live.factors if name in simulated.factors]
    sides = [_by_condition(results, factors) for results in (simulated, live)]
    shared = [condition for condition in sides[1] if condition in sides[0]]
    charts = {
        _label(condition, shared): _chart([side[condition] for side in sides])
        for condition in shared
    }
    if not charts:
        return None
    return figure(
        "simulated-and-live",
        "Bitrates over time",
        charts if len(charts) > 1 else next(iter(charts.values())),
        caption="Wire bytes that reached the receiver in bins of 0.5 s: mean over the runs with "
        "its 95 % interval.",
        description="Bitrates of all flows over time, simulated on the left and live on the right.",
        chosen_by="condition",
    )


def _by_condition(results: ResultFolder, factors: list[str]) -> dict[Condition, list[Run]]:
    found: dict[Condition, list[Run]] = {}
    for run in finished_runs(results):
        found.setdefault(tuple(run.factors[name] for name in factors), []).append(run)
    return found


def _label(condition: Condition, shared: list[Condition]) -> str:
    """What tells a condition from the others."""
    varied = [len(set(values)) > 1 for values in zip(*shared, strict=True)]
    parts = [
        str(value) for value, varies in zip(condition, varied, strict=True) if varies and value
    ]
    return ", ".join(parts) or "all runs"


def _chart(sides: list[list[Run]]) -> alt.TopLevelMixin:
    table = pl.concat([_table(name, runs) for name, runs in zip(SIDES, sides, strict=True)])
    base = alt.Chart().properties(width=WIDTH, height=HEIGHT)
    time = alt.X("time_s:Q", title="Time (s)", scale=alt.Scale(nice=False))
    hue = alt.Color(
        "flow:N", title="Flow", sort=table["flow"].unique(maintain_order=True).to_list()
    )
    scale, title = alt.Scale(domainMin=0), "Bitrate (Mb/s)"
    layers: list[Any] = []
    if (table["high"] > table["low"]).any():
        band = base.mark_area(interpolate=STEPS, opacity=0.22, clip=True)
        limits = {"y": alt.Y("low:Q", title=title, scale=scale), "y2": "high:Q"}
        layers.append(band.encode(time, color=hue, **limits))
    layers.append(
        base.mark_line(interpolate=STEPS).encode(
            time, alt.Y("mean:Q", title=title, scale=scale), hue
        )
    )
    told = [alt.Tooltip(f"{name}:{kind}", title=words) for name, kind, words in (
        ("flow", "N", "Flow"), ("time_s", "Q", "Time (s)"), ("mean", "Q", title))]  # fmt: skip
    points = base.transform_filter(f"datum.time_s % {TOOLTIP_EVERY} == 0").mark_point(opacity=0)
    layers.append(points.encode(time, alt.Y("mean:Q"), tooltip=told))
    column = alt.Column("side:N", title=None, sort=list(SIDES))
    return alt.layer(*layers, data=table).facet(column=column)


def _table(side: str, runs: list[Run]) -> pl.DataFrame:
    series = [bitrates_of(run) for run in runs]
    parts = []
    for flow in (*streams(runs[0].spec), *competitors(runs[0].spec)):
        mean = mean_over_runs(series, str(flow["name"]))
        half = np.nan_to_num(mean.half_width)
        columns = {
            "time_s": mean.times_s,
            "mean": mean.mean.round(3),
            "low": np.maximum(mean.mean - half, 0.0).round(3),
            "high": (mean.mean + half).round(3),
        }
        names = {"side": pl.lit(side), "flow": pl.lit(str(flow["name"]))}
        parts.append(pl.DataFrame(columns).with_columns(**names))
    return pl.concat(parts)
