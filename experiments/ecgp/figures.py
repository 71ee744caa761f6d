"""The charts of the page: delay and bitrate by the download's rate, and distributions of delay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np
import polars as pl

from gameway.figures.facets import legend, plain
from gameway.metrics.flows import Delays
from gameway.metrics.source import competitors, finished_runs, streams
from gameway.metrics.windows import Window

from .measures import GAME, QUEUES, SETTLED_S, TCP, condition
from .tables import TARGET

if TYPE_CHECKING:
    from gameway.metrics.source import Run
    from gameway.results import Results

WIDTH, HEIGHT = 200, 150
MIN_MS = 0.01
"""Shorter delays are drawn here: a logarithmic axis has no zero."""


def by_target(rows: pl.DataFrame, column: str, title: str, *, logarithmic: bool = False) -> Any:
    """A panel for each queue, a line for each controller, over the download's target rate."""
    means = (
        rows.with_columns(rate=pl.col("target").str.extract(r"([\d.]+)").cast(pl.Float64))
        .group_by("queue", "controller", "rate", maintain_order=True)
        .agg(value=pl.col(column).mean())
        .sort("rate", maintain_order=True)
    )
    if logarithmic:
        means = means.with_columns(pl.col("value").clip(lower_bound=MIN_MS))
    queues = rows["queue"].unique(maintain_order=True).to_list()
    controllers = rows["controller"].unique(maintain_order=True).to_list()
    scale = alt.Scale(type="log", nice=False) if logarithmic else alt.Scale(zero=True)
    chart = (
        alt.Chart(plain(means))
        .mark_line(point=alt.OverlayMarkDef(size=28), strokeWidth=1.5)
        .encode(
            alt.X("rate:Q", title="Download's target (Mb/s)", axis=alt.Axis(values=_rates(means))),
            alt.Y("value:Q", title=title, scale=scale),
            alt.Color("controller:N", sort=controllers, title=None, legend=legend()),
            tooltip=["controller:N", "queue:N", "rate:Q", alt.Tooltip("value:Q", format=".3")],
        )
        .properties(width=WIDTH, height=HEIGHT)
    )
    return chart.facet(_facet("queue", queues), columns=3, spacing=12)


def _rates(means: pl.DataFrame) -> list[float]:
    return means["rate"].unique().sort().to_list()


def distributions(results: Results, controller: str, competitor: str) -> Any:
    """Cumulative share of packets by queueing delay, game and TCP, at the published target."""
    runs = [
        run
        for run in finished_runs(results)
        if condition(run)["controller"] == controller
        and condition(run)["competitor"] == competitor
        and condition(run)["target"] == TARGET
    ]
    if not runs:
        return None
    found = dict.fromkeys(condition(run)["queue"] for run in runs)
    queues = [queue for queue in QUEUES if queue in found]
    parts = [
        _cumulative([run for run in runs if condition(run)["queue"] == queue], side).with_columns(
            queue=pl.lit(queue), side=pl.lit(side)
        )
        for queue in queues
        for side in (GAME, TCP)
    ]
    data = pl.concat(parts).with_columns(
        side=pl.col("side").replace({GAME: "the game's", TCP: "the download's"})
    )
    chart = (
        alt.Chart(plain(data))
        .mark_line(interpolate="step-after", strokeWidth=1.6)
        .encode(
            alt.X("ms:Q", title="Queueing delay (ms)",
                  scale=alt.Scale(type="log", nice=False, domain=[MIN_MS, 1000.0]),
                  axis=alt.Axis(values=[0.01, 0.1, 1, 10, 100, 1000], format="~g")),
            alt.Y("percent:Q", title="Packets (%)"),
            alt.Color("side:N", title=None, legend=legend()),
        )
        .properties(width=WIDTH, height=HEIGHT)
    )  # fmt: skip
    return chart.facet(_facet("queue", queues), columns=3, spacing=12)


def _cumulative(runs: list[Run], side: str) -> pl.DataFrame:
    counts: dict[float, float] = {}
    for run in runs:
        flows = streams(run.spec) if side == GAME else competitors(run.spec)
        window = Window(SETTLED_S, run.windows.run.stop_s)
        delays = Delays.of(run.table("queue_delay"), flows[0]["name"], window)
        for high, packets in zip(delays.high_ms, delays.packets, strict=True):
            counts[float(high)] = counts.get(float(high), 0.0) + float(packets)
    edges = np.array(sorted(counts))
    shares = np.cumsum([counts[edge] for edge in edges])
    shares = 100.0 * shares / shares[-1] if len(shares) else shares
    first = np.concatenate(([MIN_MS], np.maximum(edges, MIN_MS), [1000.0]))
    return pl.DataFrame(
        {"ms": first.round(4), "percent": np.concatenate(([0.0], shares, [100.0])).round(2)}
    )


def _facet(name: str, panels: list[str]) -> alt.Facet:
    header = alt.Header(title=None, labelAnchor="start", labelPadding=2)
    return alt.Facet(f"{name}:N", sort=panels, header=header)
