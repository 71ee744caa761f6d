"""The charts of the page: bitrates over time, who has the link, what game and viewer keep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np
import polars as pl

from gameway.figures import theme
from gameway.figures.facets import STEPS, legend, plain
from gameway.figures.heatmaps import CELL_HEIGHT, CELL_WIDTH, DARK_SHARE, EDGE, signed
from gameway.figures.series import changes
from gameway.metrics.memo import once_per_results
from gameway.metrics.phases import GAME
from gameway.metrics.quantities import natural_key
from gameway.metrics.series import BIN_S, bitrates_of
from gameway.metrics.source import competitors, finished_runs, streams
from gameway.metrics.statistics import t_quantile

from .measures import queue_of

if TYPE_CHECKING:
    from gameway.metrics.source import ResultFolder, Run
    from gameway.metrics.statistics import Floats

WIDTH, HEIGHT = 240, 120
SHOWN_S = 4.0
"""Each point of a line is the mean of one segment's length: lines show levels, not requests."""
UNUSED = "unused"
ORDER = (GAME, "video", "web", "download", UNUSED)


def ordered(values: pl.Series) -> list[str]:
    """The different values: quantities by size, the rest as they come, behind them."""
    found = values.drop_nulls().unique(maintain_order=True).to_list()
    return sorted(found, key=lambda text: natural_key(text)[:2])


@once_per_results
def series(results: ResultFolder) -> pl.DataFrame:
    """Mean bitrate over runs of each flow of each condition, with its 95 % interval."""
    groups: dict[tuple[str, str, str], list[Run]] = {}
    for run in finished_runs(results):
        key = (str(run.factors["controller"]), str(run.factors["capacity"]), queue_of(run))
        groups.setdefault(key, []).append(run)
    parts = []
    for (controller, capacity, queue), runs in groups.items():
        first = runs[0]
        bitrates = [bitrates_of(run) for run in runs]
        for flow in [*streams(first.spec), *competitors(first.spec)]:
            name = str(flow["name"])
            stacked = np.stack([_thin(one.series(name)) for one in bitrates])
            mean = stacked.mean(axis=0)
            half = np.zeros_like(mean)
            if len(runs) > 1:
                half = t_quantile(len(runs)) * stacked.std(axis=0, ddof=1) / np.sqrt(len(runs))
            columns = {
                "time_s": np.arange(len(mean)) * SHOWN_S,
                "mean": mean.round(2),
                "low": np.maximum(mean - half, 0.0).round(2),
                "high": (mean + half).round(2),
            }
            keys = {"controller": controller, "capacity": capacity, "queue": queue, "flow": name}
            literals = {key: pl.lit(value) for key, value in keys.items()}
            parts.append(pl.DataFrame(columns).with_columns(**literals))
    return pl.concat(parts)


def _thin(values: Floats) -> Floats:
    """Means of `SHOWN_S`; what is left at the end is not shown."""
    count = round(SHOWN_S / BIN_S)
    whole = len(values) // count * count
    means: Floats = values[:whole].reshape(-1, count).mean(axis=1)
    return means


def over_time(results: ResultFolder, controller: str) -> Any:
    """Figure 2 with one controller: a row for each flow, a column for each capacity."""
    data = series(results).filter(controller=controller)
    flows = data["flow"].unique(maintain_order=True).to_list()
    capacities = ordered(data["capacity"])[::-1]
    hue = alt.Color("queue:N", sort=ordered(data["queue"]), title="Queue", legend=legend())
    base = alt.Chart().properties(width=WIDTH, height=HEIGHT)
    time = alt.X("time_s:Q", title="Time (s)", scale=alt.Scale(nice=False))
    band = base.mark_area(interpolate=STEPS, opacity=0.22, clip=True).encode(
        time, alt.Y("low:Q", title="Mb/s"), alt.Y2("high:Q"), color=hue
    )
    line = base.mark_line(interpolate=STEPS, strokeWidth=1.2).encode(
        time, alt.Y("mean:Q", title="Mb/s"), color=hue
    )
    layers = [band, line, *changes(finished_runs(results)[0])]
    header = alt.Header(title=None, labelAnchor="start", labelPadding=2)
    return alt.layer(*layers, data=plain(data.drop("controller"))).facet(
        row=alt.Row("flow:N", sort=flows, header=alt.Header(title=None)),
        column=alt.Column("capacity:N", sort=capacities, header=header),
        spacing=12,
    )


def ratios(means: pl.DataFrame) -> Any:
    """Figure 3: capacity in rows, queues in columns, a panel for each controller.

    `means` has controller, capacity, queue, ratio and ci95.
    """
    cells = means.with_columns(
        text=pl.Series([signed(value) for value in means["ratio"]], dtype=pl.String),
        ratio=pl.col("ratio").round(4),
        ci95=pl.col("ci95").round(4),
    )
    queues, capacities = ordered(cells["queue"]), ordered(cells["capacity"])[::-1]
    axis = alt.Axis(labelAngle=0, grid=False, domain=False, ticks=False)
    # A gateway beside the queue gets a line of its own.
    lines = alt.Axis(
        labelAngle=0, grid=False, domain=False, ticks=False, labelExpr="split(datum.label, ', ')"
    )
    base = alt.Chart().encode(
        alt.X("queue:N", sort=queues, title="Queue", axis=lines),
        alt.Y("capacity:N", sort=capacities, title=None, axis=axis),
    )
    base = base.properties(width=CELL_WIDTH * len(queues), height=CELL_HEIGHT * len(capacities))
    hue = alt.Color(
        "ratio:Q",
        title="(game - competitor) / capacity",
        scale=alt.Scale(domain=[-1, 1], range=theme.DIVERGING, interpolate="lab"),
        legend=alt.Legend(orient="bottom", gradientLength=260, titleLimit=320),
    )
    tooltip = ["controller:N", "capacity:N", "queue:N", "text:N", "ci95:Q"]
    boxes = base.mark_rect(stroke=EDGE, strokeWidth=1).encode(color=hue, tooltip=tooltip)
    dark = f"abs(datum.ratio) > {DARK_SHARE}"
    ink = alt.condition(dark, alt.value("white"), alt.value("#1c2230"))
    labels = base.mark_text(fontSize=12, fontWeight=500).encode(text="text:N", color=ink)
    panels = cells["controller"].unique(maintain_order=True).to_list()
    columns = 4 if len(queues) <= 3 else 2  # noqa: PLR2004 (as many as fit the page)
    return alt.layer(boxes, labels, data=plain(cells)).facet(
        _facet("controller", panels), columns=columns, spacing=14
    )


def kept(means: pl.DataFrame, panel: str, shape: str) -> Any:
    """What the game and the viewer keep of what they have alone: above the line, the game paid.

    `means` has controller, game, video (both in percent), `panel` and `shape`.
    """
    most = float(np.nanmax([100.0, *means["game"], *means["video"]]))
    scale = alt.Scale(domain=[0.0, 10.0 * np.ceil(most / 10.0)], nice=False)
    axis = alt.Axis(tickCount=5)
    shapes, panels = ordered(means[shape]), means[panel].unique(maintain_order=True).to_list()
    controllers = means["controller"].unique(maintain_order=True).to_list()
    told = _wrapped(8) if len(shapes) > 1 else None
    base = alt.Chart().properties(width=WIDTH, height=WIDTH)
    points = base.mark_point(filled=True, size=80, opacity=0.9, clip=True).encode(
        alt.X("game:Q", title="Game keeps (%)", scale=scale, axis=axis),
        alt.Y("video:Q", title="Viewer keeps (%)", scale=scale, axis=axis),
        alt.Color("controller:N", sort=controllers, title=None, legend=_wrapped(8)),
        alt.Shape(f"{shape}:N", sort=shapes, title=shape.capitalize(), legend=told),
        tooltip=["controller:N", f"{panel}:N", f"{shape}:N", "game:Q", "video:Q"],
    )
    diagonal = pl.DataFrame({"game": [0.0, most], "video": [0.0, most]})
    line = alt.Chart(diagonal).mark_line(strokeDash=[5, 4], strokeWidth=1.2, style="faint")
    alike = line.encode(alt.X("game:Q", scale=scale), alt.Y("video:Q", scale=scale))
    return alt.layer(points, alike, data=plain(means.with_columns(
        pl.col("game", "video").round(1)
    ))).facet(_facet(panel, panels), columns=3, spacing=12)  # fmt: skip


def shares(means: pl.DataFrame, panel: str) -> Any:
    """Who has the link: a bar for each controller, a panel for each condition.

    `means` has controller, kind, share (percent of the capacity) and `panel`.
    """
    panels = means[panel].unique(maintain_order=True).to_list()
    controllers = means["controller"].unique(maintain_order=True).to_list()
    kinds = [kind for kind in ORDER if kind in means["kind"].to_list()]
    colours = [*theme.CATEGORIES["light"][: len(kinds) - 1], "#d5d9e2"]
    ranks = {kind: rank for rank, kind in enumerate(kinds)}
    data = means.with_columns(
        share=pl.col("share").round(2),
        rank=pl.col("kind").replace_strict(ranks, return_dtype=pl.Int64),
    )
    chart = (
        alt.Chart(plain(data))
        .mark_bar()
        .encode(
            alt.X("share:Q", title="Share of the capacity (%)", stack="zero",
                  scale=alt.Scale(domain=[0, 100], clamp=True)),
            alt.Y("controller:N", sort=controllers, title=None),
            alt.Color("kind:N", sort=kinds, title=None, legend=legend(),
                      scale=alt.Scale(domain=kinds, range=colours)),
            alt.Order("rank:Q"),
            tooltip=["controller:N", f"{panel}:N", "kind:N", "share:Q"],
        )
        .properties(width=WIDTH - 20, height=HEIGHT)
    )  # fmt: skip
    return chart.facet(_facet(panel, panels), columns=3, spacing=12)


def with_unused(means: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """With what nobody uses of the capacity as one more kind."""
    left = means.group_by(keys, maintain_order=True).agg(share=100.0 - pl.col("share").sum())
    left = left.with_columns(kind=pl.lit(UNUSED), share=pl.col("share").clip(lower_bound=0.0))
    return pl.concat([means.select(*keys, "kind", "share"), left.select(*keys, "kind", "share")])


def _facet(name: str, panels: list[str]) -> alt.Facet:
    header = alt.Header(title=None, labelAnchor="start", labelPadding=2)
    return alt.Facet(f"{name}:N", sort=panels, header=header)


def _wrapped(columns: int) -> alt.Legend:
    return alt.Legend(orient="top", columns=columns, symbolOpacity=1, symbolSize=90)
