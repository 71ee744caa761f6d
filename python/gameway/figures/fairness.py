"""Adaptiveness against fairness, one point per condition (Figure 5 of Xu and Claypool 2022)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from gameway.figures import theme
from gameway.figures.conditions import (
    COMPETITOR,
    CONTROLLER,
    Layout,
    Where,
    arrange,
    dimensions,
    label_of,
    matches,
    title_of,
)
from gameway.figures.facets import Panel, colour, faceted, field, joined, panel_charts, zoom
from gameway.metrics.summary import summary_table

if TYPE_CHECKING:
    from gameway.metrics.source import ResultFolder

PLACES = {"color": CONTROLLER, "column": COMPETITOR}
SIZE = 360


def adaptiveness_and_fairness(
    results: ResultFolder, where: Where | None = None
) -> alt.TopLevelMixin:
    """Scatter plot: right means the stream takes more, up means that it adapts more quickly."""
    return joined(adaptiveness_panels(results, where))


def adaptiveness_panels(results: ResultFolder, where: Where | None = None) -> list[Panel]:
    """Charts of the scatter plot; conditions other than controller and competitor are points."""
    table = summary_table(results).filter(matches(where or {}))
    table = table.filter(pl.col("adaptiveness").is_not_nan())
    found = dimensions(table, results.factors)
    placed = [dimension for dimension in found if dimension.column in PLACES.values()]
    layout = arrange(placed, PLACES, ())
    others = [dimension.column for dimension in found if dimension not in placed]

    def draw(panel: Where) -> tuple[alt.TopLevelMixin, str] | None:
        rows = table.filter(matches(panel))
        return None if rows.is_empty() else (_chart(rows, layout, others), _describe(rows, panel))

    return panel_charts(layout, draw)


def _chart(rows: pl.DataFrame, layout: Layout, others: list[str]) -> Any:
    columns = [*layout.columns, *others, "bitrate_difference_ratio", "adaptiveness"]
    times = [
        pl.col(c).round(1).cast(pl.String).fill_null("never") for c in ("response_s", "recovery_s")
    ]
    values = pl.col("bitrate_difference_ratio", "adaptiveness").round(3)
    data = rows.select(*columns, *times).with_columns(values)
    x = alt.X(
        "bitrate_difference_ratio:Q",
        title="Bitrate difference ratio, (stream - competitor) / capacity",
        scale=alt.Scale(domain=[-1.04, 1.04], nice=False),
        axis=alt.Axis(values=[-1, -0.5, 0, 0.5, 1]),
    )
    y = alt.Y(
        "adaptiveness:Q",
        title="Adaptiveness (0 to 1)",
        scale=alt.Scale(domain=[-0.04, 1.04], nice=False),
        axis=alt.Axis(values=[0, 0.2, 0.4, 0.6, 0.8, 1]),
    )
    base = alt.Chart().properties(width=SIZE, height=SIZE * 3 // 4)
    controller = layout.at("color")
    hue = colour(controller)
    shape: Any = alt.Undefined
    if controller is not None:
        shape = alt.Shape(field(controller), type="nominal", sort=controller.values,
                          legend=None)  # fmt: skip
    points = base.mark_point(opacity=0.85, filled=True, size=75).encode(
        x, y, color=hue, shape=shape, tooltip=_tooltip(layout, others)
    )
    even = alt.Chart(pl.DataFrame({"at": [0]})).mark_rule(strokeDash=[5, 4]).encode(x="at:Q")
    ring: Any = alt.value(theme.CATEGORIES["light"][0])
    if controller is not None:
        names = controller.values
        ring = alt.Stroke(field(controller), type="nominal", sort=names, legend=None)
    centre = base.mark_point(filled=False, size=700, strokeWidth=2, shape="circle").encode(
        alt.X("mean(bitrate_difference_ratio):Q"), alt.Y("mean(adaptiveness):Q"), stroke=ring
    )
    return faceted(alt.layer(even, centre, points.add_params(zoom(x_only=False))), data, layout)


def _tooltip(layout: Layout, others: list[str]) -> list[alt.Tooltip]:
    conditions = [*layout.columns, *others]
    return [
        *(alt.Tooltip(name, type="nominal", title=title_of(name)) for name in conditions),
        alt.Tooltip("bitrate_difference_ratio:Q", title="Bitrate difference ratio"),
        alt.Tooltip("adaptiveness:Q", title="Adaptiveness"),
        alt.Tooltip("response_s:N", title="Response (s)"),
        alt.Tooltip("recovery_s:N", title="Recovery (s)"),
    ]


def _describe(rows: pl.DataFrame, panel: Where) -> str:
    where = f" ({label_of(panel)})" if panel else ""
    text = f"Adaptiveness against fairness{where}, {rows.height} conditions"
    if CONTROLLER not in rows.columns:
        return text + "."
    means = rows.group_by(CONTROLLER, maintain_order=True).agg(
        pl.col("bitrate_difference_ratio", "adaptiveness").mean()
    )
    each = [
        f"{name} on average {ratio:+.2f} and {adaptive:.2f}"
        for name, ratio, adaptive in means.iter_rows()
    ]
    return f"{text}; bitrate difference ratio and adaptiveness: {'; '.join(each)}."
