"""Heat maps over capacity and queue size: fairness, response and recovery times.

As Figures 3 and 4 of Xu and Claypool 2022: capacity in rows from high to low, queue sizes in
columns, one map per controller and competitor.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from gameway.figures import theme
from gameway.figures.conditions import (
    CAPACITY,
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
from gameway.figures.facets import Panel, faceted, field, joined, panel_charts
from gameway.metrics.summary import summary_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from gameway.metrics.source import ResultFolder

PLACES = {"x": QUEUE, "y": CAPACITY, "column": CONTROLLER, "row": COMPETITOR}
FREE = ("x", "y", "column", "row")
CELL_WIDTH, CELL_HEIGHT = 62, 40
# Room for the heading of a row of panels, which is turned by a quarter.
MIN_HEIGHT = 90
# Beyond this share of a scale its colours are dark and text on them is white.
DARK_SHARE = 0.62
ONLY = "all"
EDGE = "#8d95a5"


def fairness(results: ResultFolder, where: Where | None = None) -> alt.TopLevelMixin:
    """Bitrate difference ratio, (stream - competing flow) / capacity, per condition (Figure 3)."""
    return joined(fairness_panels(results, where))


def response_times(results: ResultFolder, where: Where | None = None) -> alt.TopLevelMixin:
    """Response times in seconds per condition, "never" in black (Figure 4)."""
    return joined(duration_panels(results, "response_s", where))


def recovery_times(results: ResultFolder, where: Where | None = None) -> alt.TopLevelMixin:
    """Recovery times in seconds per condition, "never" in black (Figure 4)."""
    return joined(duration_panels(results, "recovery_s", where))


def fairness_panels(results: ResultFolder, where: Where | None = None) -> list[Panel]:
    """Charts of the bitrate difference ratio."""
    scale = alt.Scale(domain=[-1, 1], range=theme.DIVERGING, interpolate="lab")
    dark = f"abs(datum.value) > {DARK_SHARE}"
    style = _Style("(stream - competitor) / capacity", scale, dark, signed)
    return _panels(results, "bitrate_difference_ratio", style, where)


def duration_panels(results: ResultFolder, column: str, where: Where | None = None) -> list[Panel]:
    """Charts of `response_s` or `recovery_s`."""
    longest = summary_table(results)[column].fill_nan(None).max()
    top = max(float(longest), 1.0) if isinstance(longest, (int, float)) else 1.0
    scale = alt.Scale(domain=[0, top], range=theme.DURATION, interpolate="lab")
    dark = f"datum.value === null || datum.value > {DARK_SHARE * top}"
    title = "Response time (s)" if column == "response_s" else "Recovery time (s)"
    return _panels(results, column, _Style(title, scale, dark, "{:.1f}".format), where)


def signed(value: float) -> str:
    """A ratio with its sign and two decimals; what rounds to zero is "+0.00"."""
    return f"{round(value, 2) + 0.0:+.2f}"


@dataclass(frozen=True)
class _Style:
    """How a value becomes a colour and a text."""

    title: str
    scale: alt.Scale
    dark: str
    """Vega expression: is the colour of `datum.value` so dark that text on it must be white?"""
    number: Callable[[float], str]
    """A value as text; a null is "never"."""

    def text(self, values: pl.Series) -> list[str]:
        """The texts in the cells."""
        return ["never" if value is None else self.number(value) for value in values]


def _panels(results: ResultFolder, column: str, style: _Style, where: Where | None) -> list[Panel]:
    table = summary_table(results).filter(matches(where or {}))
    table = table.filter(~pl.col(column).is_nan().fill_null(value=False))
    layout = arrange(dimensions(table, results.factors), PLACES, FREE)

    def draw(panel: Where) -> tuple[alt.TopLevelMixin, str] | None:
        rows = table.filter(matches(panel))
        if rows.is_empty():
            return None
        return _chart(_cells(rows, column, layout, style), layout, style), _describe(
            rows, column, style.title, panel
        )

    return panel_charts(layout, draw)


def _cells(rows: pl.DataFrame, column: str, layout: Layout, style: _Style) -> pl.DataFrame:
    per_run = f"{column}_per_run_ci95"
    width = pl.col(per_run if per_run in rows.columns else f"{column}_ci95")
    cells = rows.select(*layout.columns, pl.col(column).alias("value"), width.alias("ci95"), "runs")
    for place in ("x", "y"):
        if layout.at(place) is None:
            cells = cells.with_columns(pl.lit(ONLY).alias(f"_{place}"))
    text = pl.Series("text", style.text(cells["value"]), dtype=pl.String)
    return cells.with_columns(text, pl.col("value", "ci95").round(4))


def _chart(cells: pl.DataFrame, layout: Layout, style: _Style) -> Any:
    x, y = layout.at("x"), layout.at("y")
    base = alt.Chart().encode(_axis(alt.X, x, "_x", descending=False), _axis(alt.Y, y, "_y"))
    base = base.properties(
        width=CELL_WIDTH * (len(x.values) if x else 1),
        height=max(CELL_HEIGHT * (len(y.values) if y else 1), MIN_HEIGHT),
    )
    legend = alt.Legend(orient="bottom", gradientLength=260, titleLimit=320)
    tooltip = _tooltip(layout, style)
    hue = alt.Color("value:Q", title=style.title, scale=style.scale, legend=legend)
    boxes = base.mark_rect(stroke=EDGE, strokeWidth=1).encode(color=hue, tooltip=tooltip)
    never = base.transform_filter("!isValid(datum.value)").mark_rect(
        stroke=EDGE, strokeWidth=1, color=theme.NEVER
    )
    ink = alt.condition(style.dark, alt.value("white"), alt.value("#1c2230"))
    labels = base.mark_text(fontSize=12, fontWeight=500).encode(text="text:N", color=ink)
    return faceted(alt.layer(boxes, never.encode(tooltip=tooltip), labels), cells, layout)


def _axis(
    channel: Any, dimension: Dimension | None, column: str, *, descending: bool = True
) -> Any:
    if dimension is None:
        return channel(f"{column}:N", title=None, axis=None)
    order = dimension.values[::-1] if descending else dimension.values
    axis = alt.Axis(labelAngle=0, grid=False, domain=False, ticks=False)
    return channel(field(dimension), type="nominal", sort=order, title=dimension.title, axis=axis)


def _tooltip(layout: Layout, style: _Style) -> list[alt.Tooltip]:
    shown = [alt.Tooltip(field(d), type="nominal", title=d.title) for d in layout.places.values()]
    return [
        *shown,
        alt.Tooltip("text:N", title=style.title),
        alt.Tooltip("ci95:Q", title="95 % half width"),
        alt.Tooltip("runs:Q", title="Runs"),
    ]


def _describe(rows: pl.DataFrame, column: str, title: str, panel: Where) -> str:
    values = rows[column].drop_nulls()
    never = rows[column].null_count()
    low, high = values.min(), values.max()
    text = f"Heat map of {title}" + (f", {label_of(panel)}" if panel else "")
    if isinstance(low, float) and isinstance(high, float):
        text += f": from {low:.2f} to {high:.2f} over {rows.height} conditions"
    return text + (f"; never in {never}." if never else ".")
