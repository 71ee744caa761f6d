"""Figures of delay: distribution of frame delays, shares of long queueing delays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from gameway.figures.conditions import (
    CAPACITY,
    CONTROLLER,
    QUEUE,
    Layout,
    Where,
    arrange,
    dimensions,
    label_of,
    matches,
)
from gameway.figures.facets import (
    Panel,
    colour,
    faceted,
    field,
    joined,
    panel_charts,
    width,
    zoom,
)
from gameway.metrics.network import DELAY_LIMITS_MS
from gameway.metrics.summary import condition_keys, summary_table
from gameway.metrics.table import frame_delay_table

if TYPE_CHECKING:
    from gameway.metrics.source import ResultFolder

PLACES = {"color": CONTROLLER, "column": QUEUE, "row": CAPACITY}
FREE = ("color", "column", "row")
HEIGHT = 150
LOG = alt.Scale(type="log", nice=False)
TICKS = [step * 10**power for power in range(-1, 5) for step in (1, 2, 5)]


def frame_delay_distribution(
    results: ResultFolder, where: Where | None = None
) -> alt.TopLevelMixin:
    """Cumulative distribution of frame delays while a competitor is there (or of the whole run).

    Frames that never became complete keep a curve below 100 %.
    """
    return joined(frame_delay_panels(results, where))


def queue_delay_shares(results: ResultFolder, where: Where | None = None) -> alt.TopLevelMixin:
    """Shares of the stream's packets with a queueing delay of 10, 20, 50 and 100 ms or more."""
    return joined(queue_delay_panels(results, where))


def frame_delay_panels(results: ResultFolder, where: Where | None = None) -> list[Panel]:
    """Charts of the distribution, pooled over the runs of a condition."""
    keys = condition_keys(results)
    scope = _scope(results)
    counts = frame_delay_table(results).filter(matches(where or {}) & (pl.col("scope") == scope))
    layout = arrange(dimensions(counts, results.factors), PLACES, FREE)
    pooled = counts.group_by(*keys, "delay_high_ms").agg(pl.col("frames").sum())
    share = 100 * pl.col("frames").cum_sum() / pl.col("frames").sum()
    table = pooled.sort("delay_high_ms", nulls_last=True).with_columns(percent=share.over(keys))
    table = _to_the_end(table.filter(pl.col("delay_high_ms").is_not_null()), keys)

    def draw(panel: Where) -> tuple[alt.TopLevelMixin, str] | None:
        rows = table.filter(matches(panel))
        if rows.is_empty():
            return None
        note = f"Share of frames by frame delay, {_when(scope)}" + _in(panel)
        return _distribution(rows, layout), note + "."

    return panel_charts(layout, draw)


def queue_delay_panels(results: ResultFolder, where: Where | None = None) -> list[Panel]:
    """Charts of the shares, means over the runs of a condition."""
    table = summary_table(results).filter(matches(where or {}))
    layout = arrange(dimensions(table, results.factors), PLACES, FREE)
    scope = _scope(results)
    names = {f"{scope}_queue_over_{ms}ms_percent": f"{ms} ms" for ms in DELAY_LIMITS_MS}
    keys = condition_keys(results)
    long = table.unpivot(list(names), index=keys, variable_name="limit", value_name="percent")
    long = long.with_columns(pl.col("limit").replace(names), pl.col("percent").round(2))

    def draw(panel: Where) -> tuple[alt.TopLevelMixin, str] | None:
        rows = long.filter(matches(panel))
        if rows.is_empty():
            return None
        note = f"Share of packets with long queueing delays, {_when(scope)}" + _in(panel)
        return _bars(rows.fill_nan(None), layout), note + "."

    return panel_charts(layout, draw)


def _distribution(rows: pl.DataFrame, layout: Layout) -> Any:
    columns = ["delay_high_ms", "percent", *layout.columns]
    data = rows.select(columns).with_columns(
        pl.col("delay_high_ms").round_sig_figs(3), pl.col("percent").round(2)
    )
    x = alt.X(
        "delay_high_ms:Q",
        title="Frame delay (ms)",
        scale=LOG,
        axis=alt.Axis(values=TICKS, format="~g"),
    )
    y = alt.Y("percent:Q", title="Frames (%)", scale=alt.Scale(domain=[0, 100]))
    shown = [alt.Tooltip(field(d), type="nominal", title=d.title) for d in layout.places.values()]
    shown += [
        alt.Tooltip("delay_high_ms:Q", title="Frame delay at most (ms)"),
        alt.Tooltip("percent:Q", title="Frames (%)"),
    ]
    base = alt.Chart().properties(width=width(layout), height=HEIGHT)
    hue = colour(layout.at("color"))
    line = base.mark_line(interpolate="step-after", clip=True).encode(x, y, color=hue)
    points = base.mark_point(opacity=0, size=60, clip=True).encode(x, y, tooltip=shown)
    return faceted(alt.layer(line.add_params(zoom()), points), data, layout)


def _to_the_end(table: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """Lead every curve from zero to the longest delay of all, so that none seems to break off."""
    longest = pl.lit(table["delay_high_ms"].max(), pl.Float64)
    last = table.group_by(keys, maintain_order=True).last().with_columns(delay_high_ms=longest)
    first = (
        table.group_by(keys, maintain_order=True)
        .first()
        .with_columns(pl.col("delay_high_ms") * 0.97, percent=pl.lit(0.0))
    )
    return pl.concat([first, table, last])


def _bars(rows: pl.DataFrame, layout: Layout) -> Any:
    data = rows.select("limit", "percent", *layout.columns)
    controller = layout.at("color")
    limits = [f"{ms} ms" for ms in DELAY_LIMITS_MS]
    x = alt.X("limit:N", sort=limits, title="Queueing delay at least", axis=alt.Axis(labelAngle=0))
    y = alt.Y("percent:Q", title="Packets (%)", scale=alt.Scale(domain=[0, 100]))
    shown = [alt.Tooltip(field(d), type="nominal", title=d.title) for d in layout.places.values()]
    shown += [
        alt.Tooltip("limit:N", title="Queueing delay at least"),
        alt.Tooltip("percent:Q", title="Packets (%)"),
    ]
    offset: Any = alt.Undefined
    if controller is not None:
        offset = alt.XOffset(field(controller), type="nominal", sort=controller.values)
    base = alt.Chart().properties(width=width(layout), height=HEIGHT)
    bars = base.mark_bar().encode(x, y, color=colour(controller), xOffset=offset, tooltip=shown)
    return faceted(bars, data, layout)


def _scope(results: ResultFolder) -> str:
    """Look at the time of competition where there is one, else at the whole run."""
    table = summary_table(results)
    return "competing" if table["competing_bitrate_mbps"].is_not_nan().any() else "run"


def _when(scope: str) -> str:
    return "while the competitor is there" if scope == "competing" else "over the whole run"


def _in(panel: Where) -> str:
    return f", {label_of(panel)}" if panel else ""
