"""Common parts of figures: facets, titles, panels, zoom."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import altair as alt
import polars.selectors as cs

from gameway.figures import theme
from gameway.figures.conditions import COMPETITOR, CONTROLLER, Where, label_of

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl

    from gameway.figures.conditions import Dimension, Layout

# Charts carry their data. Altair's limit of 5000 rows is for notebooks; figures here thin their
# data themselves.
alt.data_transformers.disable_max_rows()

FIGURE_WIDTH = 900
NARROWEST = 150


@dataclass(frozen=True)
class Panel:
    """One chart of a figure: the whole of it, or that of one condition."""

    where: Where
    chart: alt.TopLevelMixin
    description: str

    @property
    def label(self) -> str:
        """The condition in words; empty if the figure has only this chart."""
        return label_of(self.where)


def panel_charts(
    layout: Layout, draw: Callable[[Where], tuple[alt.TopLevelMixin, str] | None]
) -> list[Panel]:
    """The charts of all panels; `draw` gives a chart and its description, or None without data."""
    drawn = ((where, draw(where)) for where in layout.panel_filters())
    return [Panel(where, *found) for where, found in drawn if found is not None]


def joined(panels: list[Panel]) -> alt.TopLevelMixin:
    """All panels as one chart, one under the other, in the light theme."""
    if not panels:
        raise ValueError("no finished run of this result folder has data for this figure")
    charts: list[Any] = [
        panel.chart.properties(title=panel.label) if panel.label else panel.chart
        for panel in panels
    ]
    whole = charts[0] if len(charts) == 1 else alt.vconcat(*charts)
    return with_theme(whole)


STEPS: Any = "step-after"
"""How lines over time are drawn: what was measured from a time on stands from there to the next.

Means of bins have the bin's start as their time, samples the time at which they were taken. A line
that joins them would show a change before it was there.
"""


def with_theme(chart: alt.TopLevelMixin, mode: theme.Mode = "light") -> alt.TopLevelMixin:
    """The chart with our look."""
    copy: Any = chart.copy()  # type: ignore[attr-defined]
    copy.config = alt.Config.from_dict(theme.config(mode), validate=False)
    return copy  # type: ignore[no-any-return]


def faceted(chart: Any, data: pl.DataFrame, layout: Layout) -> Any:
    """The chart once per value of the layout's row and column."""
    channels: dict[str, Any] = {}
    labels: dict[str, str] = {}
    for place, channel in (("row", alt.Row), ("column", alt.Column)):
        dimension = layout.at(place)
        if dimension is not None:
            order = [facet_label(dimension, value) for value in dimension.values]
            labels[f"_{place}"] = label_expression(dimension)
            header = alt.Header(title=None)
            channels[place] = channel(f"_{place}", type="nominal", sort=order, header=header)
    whole = chart.properties(data=plain(data))
    if not channels:
        return whole
    return whole.facet(**channels).resolve_axis(x="shared").transform_calculate(**labels)


def plain(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows as charts take them: NaN, which JSON cannot say, becomes null."""
    return rows.with_columns(cs.float().fill_nan(None))


def facet_label(dimension: Dimension, value: str) -> str:
    """The heading of one facet: bare for names, with the condition for quantities."""
    return f"{_prefix(dimension)}{value}"


def label_expression(dimension: Dimension) -> str:
    """Vega expression of `facet_label`."""
    return f"{json.dumps(_prefix(dimension))} + datum[{json.dumps(dimension.column)}]"


def _prefix(dimension: Dimension) -> str:
    if dimension.column in {CONTROLLER, "stream"}:
        return ""
    return {COMPETITOR: "against "}.get(dimension.column, f"{dimension.title} ")


def field(dimension: Dimension) -> str:
    """The dimension's column as a Vega field (dots and brackets escaped)."""
    return dimension.column.replace(".", "\\.").replace("[", "\\[").replace("]", "\\]")


def colour(dimension: Dimension | None) -> Any:
    """Colour encoding of a dimension, or the first colour of the theme."""
    if dimension is None:
        return alt.value(theme.CATEGORIES["light"][0])
    return alt.Color(
        field(dimension), type="nominal", sort=dimension.values, title=dimension.title,
        legend=legend(),
    )  # fmt: skip


def legend() -> alt.Legend:
    """The legend of categories: one line above the figure."""
    return alt.Legend(orient="top", direction="horizontal", symbolOpacity=1, symbolSize=90)


def width(layout: Layout) -> int:
    """Width of one facet, so that all columns fit a page."""
    dimension = layout.at("column")
    count = len(dimension.values) if dimension else 1
    return max(min(FIGURE_WIDTH // count - 30, FIGURE_WIDTH), NARROWEST)


def zoom(*, x_only: bool = True, name: str | None = None) -> alt.Parameter:
    """Drag to pan; shift and wheel to zoom, so that the wheel alone still scrolls the page.

    Charts that may stand in one figure, each with its own, name it.
    """
    return alt.selection_interval(
        name=name,
        bind="scales",
        encodings=["x"] if x_only else ["x", "y"],
        zoom="wheel![event.shiftKey]",
    )
