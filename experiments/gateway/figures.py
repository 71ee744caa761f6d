"""The charts of the page: what each variant trades, and what the game waits over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from gameway.figures.facets import STEPS, legend, plain
from gameway.metrics.source import finished_runs

from .measures import (
    AIRTIME,
    AIRTIME_FRAMES,
    AIRTIME_VOAP,
    BOTH,
    GAME,
    LINKS_MBPS,
    NOTHING,
    WINDOWS,
    downloads_of,
    in_order,
    link_of,
    variant_of,
)

if TYPE_CHECKING:
    from gameway.metrics.source import Run
    from gameway.results import Results

WIDTH, HEIGHT = 300, 220
WAITS_MS = (0.3, 3000.0)
"""The axis of waits, which is logarithmic; what is beyond it is drawn at its end."""
OVER_TIME = (
    NOTHING, WINDOWS, BOTH, AIRTIME, AIRTIME_VOAP, AIRTIME_FRAMES,
    "CAKE at 95 %", "CAKE at 150 %",
)  # fmt: skip
"""Variants whose waits are drawn over time."""


def trade(own: pl.DataFrame) -> Any:
    """The game's wait, from median to 99 %, against the use of the link, by downloads."""
    means = own.group_by("downloads", "variant", maintain_order=True).agg(
        pl.col("wait_median_ms").mean().clip(WAITS_MS[0]).round(2),
        pl.col("wait_p99_ms").mean().clip(WAITS_MS[0]).round(2),
        pl.col("link_percent").mean().round(2),
    )
    kinds = means["downloads"].unique(maintain_order=True).to_list()
    order = in_order(means["variant"])
    base = alt.Chart().encode(
        alt.X(
            "link_percent:Q",
            title="Link used (%)",
            scale=alt.Scale(zero=False, padding=8),
            axis=alt.Axis(tickCount=5),
        ),
        alt.Y(
            "wait_median_ms:Q",
            title="Game's wait (ms)",
            scale=alt.Scale(type="log", domain=list(WAITS_MS), clamp=True),
            axis=alt.Axis(values=[1, 10, 100, 1000]),
        ),
        alt.Color("variant:N", title=None, sort=order, legend=legend()),
    )
    line = base.mark_rule(strokeWidth=1.6).encode(y2="wait_p99_ms:Q")
    point = base.mark_point(filled=True, size=60, opacity=0.85).encode(
        tooltip=["variant", "downloads", "wait_median_ms", "wait_p99_ms", "link_percent"],
    )
    header = alt.Header(title=None, labelAnchor="start", labelPadding=2)
    return (
        alt.layer(line, point, data=plain(means))
        .properties(width=WIDTH, height=HEIGHT)
        .facet(alt.Facet("downloads:N", sort=kinds, header=header), columns=2, spacing=16)
    )


def over_time(parts: dict[str, Results]) -> dict[str, Any]:
    """The longest wait of the game in each half second, of first runs: by sets of downloads."""
    found: dict[str, list[pl.DataFrame]] = {}
    for part, results in parts.items():
        for run in finished_runs(results):
            variant = variant_of(run.spec["path"], LINKS_MBPS[link_of(part)])
            if run.repeat == 0 and variant in OVER_TIME:
                line = _longest(run).with_columns(variant=pl.lit(variant))
                found.setdefault(downloads_of(run), []).append(line)
    return {kind: _lines(pl.concat(lines)) for kind, lines in found.items()}


def _lines(data: pl.DataFrame) -> Any:
    return (
        alt.Chart(plain(data))
        .mark_line(interpolate=STEPS, strokeWidth=1.3)
        .encode(
            alt.X("time_s:Q", title="Time (s)", scale=alt.Scale(nice=False)),
            alt.Y("wait_ms:Q", title="Game's longest wait (ms)"),
            alt.Color("variant:N", title=None, sort=list(OVER_TIME), legend=legend()),
        )
        .properties(width=2.2 * WIDTH, height=HEIGHT)
    )


def _longest(run: Run) -> pl.DataFrame:
    table = run.table("queue_delay").filter(pl.col("flow") == GAME)
    return (
        table.sort("delay_low_ns")
        .group_by("window_start_ns", maintain_order=True)
        .agg(wait_ms=(pl.col("sum_ns").last() / pl.col("packets").last() / 1e6).round(2))
        .sort("window_start_ns")
        .select(time_s=pl.col("window_start_ns") / 1e9, wait_ms="wait_ms")
    )
