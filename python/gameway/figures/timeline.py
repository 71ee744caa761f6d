"""One run in detail, over time: bitrates, queue, what viewers of videos saw, controllers' state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from gameway.figures.decisions import decisions
from gameway.figures.facets import FIGURE_WIDTH, STEPS, plain, with_theme, zoom
from gameway.figures.viewers import axis_of
from gameway.metrics.both_sides import over_time
from gameway.metrics.series import BIN_S
from gameway.metrics.source import Run, competitors, finished_runs, streams
from gameway.metrics.videos import videos

if TYPE_CHECKING:
    from gameway.metrics.source import ResultFolder

PING = "ping"


def run_timeline(results: ResultFolder, run_id: str) -> alt.TopLevelMixin:
    """Bitrates, queue, videos and controllers of one run; raises KeyError for an unknown run."""
    runs = {run.id: run for run in finished_runs(results)}
    return with_theme(timeline(runs[run_id]))


def timeline(run: Run) -> Any:
    """The chart of `run_timeline`, without our look."""
    drag = zoom()
    parts = [_bitrates(run, drag), _queue(run), *_videos(run), *decisions(run)]
    return alt.vconcat(*parts, spacing=14).resolve_scale(x="shared", color="independent")


def _bitrates(run: Run, drag: alt.Parameter) -> Any:
    bins = run.table("bins", ["bin_start_ns", "flow", "received_bytes"])
    rows = bins.filter(pl.col("flow") != PING).select(
        "flow",
        (pl.col("bin_start_ns") / 1e9).alias("time_s"),
        (pl.col("received_bytes") * 8e-6 / BIN_S).round(3).alias("mbps"),
    )
    link = run.link().select(
        (pl.col("bin_start_ns") / 1e9).alias("time_s"),
        (pl.col("capacity_bytes") * 8e-6 / BIN_S).round(3).alias("mbps"),
    )
    capacity = _base(_changes(link)).mark_line(
        interpolate=STEPS, strokeDash=[5, 4], color="#888888", strokeWidth=1.2
    )
    flows = _base(rows).mark_line(interpolate=STEPS).encode(color=_hue(run))
    encoding = {"x": _time(), "y": alt.Y("mbps:Q", title="Bitrate (Mb/s)")}
    layers = [capacity.encode(**encoding), flows.encode(**encoding).add_params(drag)]
    return alt.layer(*layers).properties(width=FIGURE_WIDTH - 80, height=170)


def _queue(run: Run) -> Any:
    link = run.link()
    rows = link.select(
        (pl.col("bin_start_ns") / 1e9).alias("time_s"),
        (pl.col("queue_mean_bytes") / 1e3).round(2).alias("mean"),
        (pl.col("queue_max_bytes") / 1e3).round(2).alias("largest"),
    )
    long = rows.unpivot(["mean", "largest"], index="time_s", variable_name="queue")
    encoding = {
        "x": _time(),
        "y": alt.Y("value:Q", title="Queue (kB)"),
        "color": alt.Color("queue:N", title="Queue"),
    }
    chart = _base(long).mark_line(interpolate=STEPS).encode(**encoding)
    return chart.properties(width=FIGURE_WIDTH - 80, height=110)


def _videos(run: Run) -> list[Any]:
    """Level on the screen and buffer of the run's videos, if it has some."""
    if not videos(run.spec):
        return []
    seen = over_time([run])
    charts = []
    for series in ("level", "buffer"):
        rows = seen.filter(pl.col("series") == series).select("flow", "time_s", "mean")
        if rows.is_empty():
            continue
        y = alt.Y("mean:Q", **axis_of(series, run))
        hue = _hue(run, legend=None)
        line = _base(rows).mark_line(interpolate=STEPS).encode(_time(), y, color=hue)
        charts.append(line.properties(width=FIGURE_WIDTH - 80, height=80))
    return charts


def _hue(run: Run, **options: Any) -> alt.Color:
    """The same colour for a flow in each row."""
    names = [str(flow["name"]) for flow in [*streams(run.spec), *competitors(run.spec)]]
    return alt.Color("flow:N", title="Flow", scale=alt.Scale(domain=names), **options)


def _changes(link: pl.DataFrame) -> pl.DataFrame:
    """The rows where the capacity changes, and the first and the last."""
    changed = (pl.col("mbps") != pl.col("mbps").shift(1)).fill_null(value=True)
    last = pl.int_range(pl.len()) == pl.len() - 1
    return link.filter(changed | last)


def _base(rows: pl.DataFrame) -> alt.Chart:
    return alt.Chart(plain(rows))


def _time() -> alt.X:
    return alt.X("time_s:Q", title="Time (s)", scale=alt.Scale(nice=False))
