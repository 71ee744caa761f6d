"""Figures over time: bitrate with its 95 % band, round-trip time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np
import polars as pl

from gameway.figures.conditions import (
    COMPETITOR,
    CONTROLLER,
    QUEUE,
    Dimension,
    Layout,
    Where,
    arrange,
    dimensions,
    label_of,
    matches,
)
from gameway.figures.facets import (
    STEPS,
    Panel,
    colour,
    faceted,
    field,
    joined,
    panel_charts,
    width,
    zoom,
)
from gameway.metrics.network import capacity_over
from gameway.metrics.presence import either, length_s, presence
from gameway.metrics.quantities import seconds
from gameway.metrics.series import BIN_S, MeanSeries, bitrates_of, mean_over_runs, wider
from gameway.metrics.source import competitors, streams
from gameway.metrics.summary import Condition, conditions
from gameway.metrics.table import per_run_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gameway.metrics.presence import Spans
    from gameway.metrics.source import ResultFolder, Run
    from gameway.metrics.windows import Window

# Points of one figure that a browser draws fluently and that keep a report small.
MAX_POINTS = 30_000
# Of these points, those of the first bin in so many seconds carry a tooltip.
TOOLTIP_EVERY = 6
PLACES = {"column": CONTROLLER, "row": COMPETITOR, "color": QUEUE}
FREE = ("color", "column", "row")
HEIGHT = 200


def bitrate_over_time(results: ResultFolder, where: Where | None = None) -> alt.TopLevelMixin:
    """Mean bitrate of the stream over time with its 95 % band, one line per queue size.

    As Figure 2 of Xu and Claypool 2022. `where` picks conditions: {"capacity": "25 Mb/s"}.
    """
    return joined(bitrate_panels(results, where))


def rtt_over_time(results: ResultFolder, where: Where | None = None) -> alt.TopLevelMixin:
    """Mean RTT of the pings that were sent together over time, one line per queue size."""
    return joined(rtt_panels(results, where))


def bitrate_panels(results: ResultFolder, where: Where | None = None) -> list[Panel]:
    """One chart per condition that has no place in a single one."""
    table = bitrate_table(results, where)
    each = -(-table.height // MAX_POINTS)
    if each > 1:
        table = bitrate_table(results, where, each)
    lines = _markers(results, where)
    titles = ("Bitrate (Mb/s)", "Bitrate of the stream over time")
    return _panels(_layout(results, where), table, lines, *titles)


def rtt_panels(results: ResultFolder, where: Where | None = None) -> list[Panel]:
    """One chart per condition that has no place in a single one."""
    lines = _markers(results, where).with_columns(fair_mbps=pl.lit(None, pl.Float64))
    titles = ("Round-trip time (ms)", "Round-trip time over time")
    return _panels(_layout(results, where), rtt_table(results, where), lines, *titles)


def _panels(
    layout: Layout, table: pl.DataFrame, lines: pl.DataFrame, title: str, description: str
) -> list[Panel]:
    def draw(panel: Where) -> tuple[alt.TopLevelMixin, str] | None:
        rows = table.filter(matches(panel))
        if rows.is_empty():
            return None
        chart = _time_chart(rows, layout, lines.filter(matches(panel)), title)
        return chart, _describe(description, layout, panel)

    return panel_charts(layout, draw)


def bitrate_table(results: ResultFolder, where: Where | None = None, each: int = 1) -> pl.DataFrame:
    """Mean bitrate of each condition, Mb/s, with its 95 % interval over runs.

    One row for `each` bins of 0.5 s together; `time_s` is the start of the first of them.
    """
    parts = []
    for condition in _conditions(results, where):
        series = condition.bitrates if each == 1 else _wide(condition, each)
        half = np.nan_to_num(series.half_width)
        columns = {"mean": series.mean, "low": series.mean - half, "high": series.mean + half}
        parts.append(_keyed(pl.DataFrame({"time_s": series.times_s, **columns}), condition))
    return pl.concat(parts) if parts else pl.DataFrame()


def rtt_table(results: ResultFolder, where: Where | None = None) -> pl.DataFrame:
    """Mean RTT, ms, over all runs of a condition, of the pings that were sent together.

    Together are those of one interval of the ping, at least 0.5 s; `time_s` is the mean of the
    times at which they were sent.
    """
    parts = []
    for condition in _conditions(results, where):
        pings = pl.concat([run.table("pings", ["sent_ns", "rtt_ns"]) for run in condition.runs])
        together = pl.col("sent_ns") // round(_together_s(condition) * 1e9)
        rows = (
            pings.drop_nulls()
            .group_by(together.alias("together"))
            .agg(time_s=(pl.col("sent_ns").mean() / 1e9).round(3), mean=_ms("rtt_ns").mean())
        )
        columns = {"low": pl.col("mean"), "high": pl.col("mean")}
        rows = rows.sort("time_s").drop("together").with_columns(**columns)
        parts.append(_keyed(rows, condition))
    return pl.concat(parts) if parts else pl.DataFrame()


def _wide(condition: Condition, each: int) -> MeanSeries:
    """The mean bitrate of a condition in wider bins."""
    runs = [wider(bitrates_of(run), each) for run in condition.runs]
    return mean_over_runs(runs, str(condition.keys["stream"]))


def _together_s(condition: Condition) -> float:
    """Pings sent within so many seconds have one mean: their interval, at least one bin."""
    ping = condition.runs[0].spec.get("ping") or {}
    return max(BIN_S, seconds(str(ping.get("interval", "1 s"))))


def _time_chart(rows: pl.DataFrame, layout: Layout, lines: pl.DataFrame, title: str) -> Any:
    columns = ["time_s", "mean", "low", "high", *layout.columns]
    data = rows.select(columns).with_columns(pl.col("mean", "low", "high").round(2))
    base = alt.Chart().properties(width=width(layout), height=HEIGHT)
    time = alt.X("time_s:Q", title="Time (s)", scale=alt.Scale(nice=False))
    hue = colour(layout.at("color"))
    # Neither bitrates nor round-trip times are negative: a band that reaches below zero is cut
    # there in the picture, not in its data.
    scale = alt.Scale(domainMin=0)
    layers: list[Any] = []
    if data.select((pl.col("high") > pl.col("low")).any()).item():
        limits = {"y": alt.Y("low:Q", title=title, scale=scale), "y2": "high:Q"}
        band = base.mark_area(interpolate=STEPS, opacity=0.22, clip=True)
        layers.append(band.encode(time, color=hue, **limits))
    line = base.mark_line(interpolate=STEPS).encode(
        time, alt.Y("mean:Q", title=title, scale=scale), color=hue
    )
    layers += [line, _tooltips(base, time, layout, title), *_rules(lines)]
    layers[0] = layers[0].add_params(zoom())
    return faceted(alt.layer(*layers), data, layout)


def _tooltips(base: alt.Chart, time: alt.X, layout: Layout, title: str) -> Any:
    """Invisible points on every few bins that tell what the line is."""
    shown = [alt.Tooltip(field(d), type="nominal", title=d.title) for d in layout.places.values()]
    shown += [alt.Tooltip("time_s:Q", title="Time (s)"), alt.Tooltip("mean:Q", title=title)]
    shown += [alt.Tooltip("low:Q", title="95 % from"), alt.Tooltip("high:Q", title="95 % to")]
    points = base.transform_filter(f"datum.time_s % {TOOLTIP_EVERY} < {BIN_S}")
    return points.mark_point(opacity=0, size=80).encode(time, alt.Y("mean:Q"), tooltip=shown)


def _rules(lines: pl.DataFrame) -> list[Any]:
    """Dashed lines where competition starts and stops, and at the fair share."""
    times = lines.select(pl.concat_list("start_s", "stop_s").explode()).to_series()
    return [
        *dashed("x", times.drop_nulls().to_list()),
        *dashed("y", lines["fair_mbps"].drop_nulls().to_list()),
    ]


def changes(run: Run) -> list[Any]:
    """Dashed lines where a flow of a run comes or goes."""
    whole = run.windows.run
    flows = [*streams(run.spec), *competitors(run.spec)]
    spans = [span for flow in flows for span in presence(flow, whole)]
    inside = {time for span in spans for time in (span.start_s, span.stop_s)}
    return dashed("x", inside - {whole.start_s, whole.stop_s})


def dashed(channel: str, values: Iterable[float]) -> list[Any]:
    """A layer of dashed lines, across the axis of a channel; none without values."""
    unique = sorted(set(values))
    if not unique:
        return []
    rule = alt.Chart(pl.DataFrame({"at": unique})).mark_rule(strokeDash=[5, 4], strokeWidth=1.2)
    return [rule.encode(**{channel: "at:Q"})]


def _markers(results: ResultFolder, where: Where | None) -> pl.DataFrame:
    """Starts and stops of the competition and the fair share (Mb/s) of every condition."""
    parts = []
    for condition in _conditions(results, where):
        first = condition.runs[0]
        spans: Sequence[Window | None] = _competition(first) or [None]
        columns = {
            "start_s": [span.start_s if span else None for span in spans],
            "stop_s": [span.stop_s if span else None for span in spans],
            "fair_mbps": [_fair_share(first)] * len(spans),
        }
        rows = pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.Float64))
        parts.append(_keyed(rows, condition))
    return pl.concat(parts)


def _fair_share(run: Run) -> float | None:
    rivals, whole = competitors(run.spec), run.windows.run
    if len(streams(run.spec)) + len(rivals) == 1:
        return None
    spans = _competition(run) or [whole]
    # Of those that come one after another, fewer are there at a time.
    there = sum(length_s(presence(flow, whole)) for flow in rivals) / length_s(spans)
    capacity = capacity_over(run.link(), spans)
    # A window shorter than a bin has no capacity that was measured.
    return None if math.isnan(capacity) else round(capacity / (len(streams(run.spec)) + there), 3)


def _competition(run: Run) -> Spans:
    """When at least one competitor is there."""
    return either(presence(flow, run.windows.run) for flow in competitors(run.spec))


def _conditions(results: ResultFolder, where: Where | None) -> list[Condition]:
    wanted = (where or {}).items()
    return [
        condition
        for condition in conditions(results)
        if all(condition.keys.get(column) == value for column, value in wanted)
    ]


def _layout(results: ResultFolder, where: Where | None) -> Layout:
    table = per_run_table(results).filter(matches(where or {}))
    return arrange(dimensions(table, results.factors), PLACES, FREE)


def _keyed(frame: pl.DataFrame, condition: Condition) -> pl.DataFrame:
    columns = [pl.lit(value, pl.String).alias(name) for name, value in condition.keys.items()]
    return frame.with_columns(columns)


def _ms(column: str) -> pl.Expr:
    return pl.col(column) / 1e6


def _describe(what: str, layout: Layout, panel: Where) -> str:
    parts = [what, *([label_of(panel)] if panel else [])]
    named: list[Dimension] = list(layout.places.values())
    parts += [f"by {d.title.lower()} ({', '.join(d.values)})" for d in named]
    return ", ".join(parts) + "."
