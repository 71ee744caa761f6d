"""Means of a few metrics with their 95 % intervals, over whatever an experiment varies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from gameway.figures.conditions import (
    CAPACITY,
    COMPETITOR,
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
)
from gameway.metrics.catalogue import metric_of_column
from gameway.metrics.summary import summary_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gameway.metrics.source import ResultFolder

PLACES = {"color": CONTROLLER, "x": QUEUE, "column": CAPACITY, "row": COMPETITOR}
FREE = ("x", "color", "column", "row")
HEIGHT = 120
ONLY = "_x"


def metric_means(
    results: ResultFolder, columns: Sequence[str], where: Where | None = None
) -> alt.TopLevelMixin:
    """Mean and 95 % interval of each column of `summary_table`, one figure under the other."""
    return joined([p for column in columns for p in metric_panels(results, column, where)])


def metric_panels(results: ResultFolder, column: str, where: Where | None = None) -> list[Panel]:
    """Charts of one metric."""
    table = summary_table(results).filter(matches(where or {}) & pl.col(column).is_not_nan())
    layout = arrange(dimensions(table, results.factors), PLACES, FREE)
    title = metric_of_column(column).label

    def draw(panel: Where) -> tuple[alt.TopLevelMixin, str] | None:
        rows = table.filter(matches(panel))
        if rows.is_empty():
            return None
        note = f"{title}, mean with 95 % interval" + (f", {label_of(panel)}" if panel else "")
        return _chart(rows, column, layout), note + "."

    return panel_charts(layout, draw)


def _chart(rows: pl.DataFrame, column: str, layout: Layout) -> Any:
    half = pl.col(f"{column}_ci95").fill_nan(0.0)
    data = rows.select(
        *layout.columns,
        pl.col(column).alias("mean"),
        (pl.col(column) - half).alias("low"),
        (pl.col(column) + half).alias("high"),
        "runs",
        pl.lit("").alias(ONLY),
    ).with_columns(pl.col("mean", "low", "high").round_sig_figs(4))
    base = alt.Chart().properties(width=width(layout), height=HEIGHT).encode(**_places(layout))
    title = metric_of_column(column).label
    y = alt.Y("mean:Q", title=title, scale=alt.Scale(zero=False))
    bars = base.mark_rule(strokeWidth=2).encode(alt.Y("low:Q", title=title), y2="high:Q")
    shown = [alt.Tooltip(field(d), type="nominal", title=d.title) for d in layout.places.values()]
    shown += [alt.Tooltip(f"{name}:Q") for name in ("mean", "low", "high", "runs")]
    points = base.mark_point(filled=True, size=55).encode(y, tooltip=shown)
    return faceted(alt.layer(bars, points), data, layout)


def _places(layout: Layout) -> dict[str, Any]:
    across, hue = layout.at("x"), layout.at("color")
    places: dict[str, Any] = {"color": colour(hue), "x": alt.X(f"{ONLY}:N", title=None)}
    if across is not None:
        axis = alt.Axis(labelAngle=0, grid=False)
        places["x"] = alt.X(
            field(across), type="nominal", sort=across.values, title=across.title, axis=axis
        )
    if hue is not None:
        places["xOffset"] = alt.XOffset(field(hue), type="nominal", sort=hue.values)
    return places
