"""What a gateway's own queue did over time, and when flows were games: of a recorded evening."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from gameway.figures.facets import FIGURE_WIDTH, STEPS, legend, plain

if TYPE_CHECKING:
    from collections.abc import Callable

    from gameway.metrics.source import Run

WIDTH = FIGURE_WIDTH - 80
OWN = "own queue"
FLOWS = {"own queue, games": "games", "own queue, others": "others"}
"""Of the table queue_delay, and what they are called in a figure."""
GAMES = "games"
BASES = ["behaviour", "dscp", "rule"]
MAX_GAMES = 20
"""Flows that are drawn, those that were games longest."""
ROW_HEIGHT = 20
GREY = "#888888"


def games_of(run: Run) -> pl.DataFrame:
    """The table of games; empty where there was none."""
    file = run.folder / f"{GAMES}.parquet"
    return run.table(GAMES) if file.is_file() else pl.DataFrame()


def at(column: str, span_s: float) -> pl.Expr:
    """The beginning of the span in which a time lies, in seconds."""
    return ((pl.col(column) / 1e9 / span_s).floor() * span_s).alias("time_s")


def time_axis() -> alt.X:
    """Of all charts of a run."""
    return alt.X("time_s:Q", title="Time (s)", scale=alt.Scale(nice=False))


def shaper(run: Run, span_s: float, y: alt.Y) -> Any:
    """A dashed line: the rate of the own queue; None without one, or while it lets all pass."""
    rows = (
        run.link(OWN)
        .group_by(at("bin_start_ns", span_s), maintain_order=True)
        .agg((pl.col("capacity_bytes").mean() * 16e-6).round(3).alias("mbps"))
    )
    if rows.is_empty():
        return None
    # Before it knows the link it has 10 Gb/s, which would hide all else.
    max_bytes = run.table("link").filter(pl.col("link") != OWN)["transmitted_bytes"].max()
    limit = 3.0 * 16e-6 * float(max_bytes or 0)  # type: ignore[arg-type]
    shown = rows.with_columns(pl.when(pl.col("mbps") <= limit).then("mbps"))
    if shown["mbps"].null_count() == shown.height:
        return None
    line = alt.Chart(plain(shown)).mark_line(
        interpolate=STEPS, strokeDash=[5, 4], color=GREY, strokeWidth=1.4
    )
    return line.encode(time_axis(), y)


def own_queue(run: Run, span_s: float, waits: Callable[[pl.DataFrame, float], pl.DataFrame]) -> Any:
    """What waited there, of games and of others; None without one."""
    histogram = run.table("queue_delay").filter(pl.col("flow").is_in(list(FLOWS)))
    if histogram.is_empty():
        return None
    window = histogram.select(pl.col("window_start_ns").unique().sort().diff().min()).item()
    rows = waits(histogram, max(span_s, (window or 0) / 1e9)).with_columns(
        pl.col("flow").replace(FLOWS)
    )
    y = alt.Y("ms:Q", title="Own queue (ms)")
    hue = alt.Color("flow:N", title="In the own queue", legend=legend())
    dash = alt.StrokeDash("share:N", title="no longer", sort=["99 %", "half"], legend=legend())
    line = alt.Chart(plain(rows)).mark_line(interpolate=STEPS)
    chart = line.encode(time_axis(), y, color=hue, strokeDash=dash)
    return chart.properties(width=WIDTH, height=110)


def games(run: Run) -> Any:
    """A bar for each time in which a flow was a game; None without games."""
    table = games_of(run)
    if table.is_empty():
        return None
    rows = table.with_columns(
        (pl.col("begin_ns") / 1e9).alias("time_s"), (pl.col("end_ns") / 1e9).alias("until_s")
    )
    longest = (
        rows.group_by("flow")
        .agg((pl.col("until_s") - pl.col("time_s")).sum().alias("length_s"))
        .sort("length_s", descending=True)
        .head(MAX_GAMES)["flow"]
    )
    rows = rows.filter(pl.col("flow").is_in(longest.implode()))
    order = rows["flow"].unique(maintain_order=True).to_list()
    shown = rows.select("flow", "time_s", "until_s", "by", "wait_p99_ms")
    bar = alt.Chart(plain(shown)).mark_bar(height=10)
    chart = bar.encode(
        time_axis(),
        alt.X2("until_s:Q"),
        y=alt.Y("flow:N", title="Games", sort=order, axis=alt.Axis(labels=False, ticks=False)),
        color=alt.Color("by:N", title="Games, by", sort=BASES, legend=legend()),
        tooltip=["flow:N", "by:N", "time_s:Q", "until_s:Q", "wait_p99_ms:Q"],
    )
    return chart.properties(width=WIDTH, height=ROW_HEIGHT * len(order))
