"""What flows had over time, what packets waited, and a gateway's states: of a run without a stream.

A figure of hours has means over spans, so that a page stays small.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from gameway.figures import evening
from gameway.figures.evening import WIDTH, at, time_axis
from gameway.figures.facets import STEPS, legend, plain, zoom
from gameway.metrics.series import BIN_S

if TYPE_CHECKING:
    from gameway.metrics.source import Run

MAX_POINTS = 600
"""Of a line."""
PING, GATEWAY = "ping", "gateway"
SHARES = {"half": 0.5, "99 %": 0.99}
MAX_STATES = 8
"""Variables of a gateway that are drawn."""


def flows_timeline(run: Run) -> Any:
    """The chart of one run: bitrates, waits, states of a gateway; None without traffic."""
    span_s = _span_s(run)
    drag = zoom()
    parts = [
        _rates(run, span_s, drag),
        evening.games(run),
        _waits(run, span_s),
        evening.own_queue(run, span_s, waits),
        *_states(run, span_s),
    ]
    shown = [part for part in parts if part is not None]
    if not shown:
        return None
    return alt.vconcat(*shown, spacing=14).resolve_scale(
        x="shared", color="independent", strokeDash="independent"
    )


def _span_s(run: Run) -> float:
    """Seconds of a point: whole bins."""
    bins = run.windows.run.length_s / MAX_POINTS / BIN_S
    return BIN_S * max(round(bins + 0.5), 1)


def _rates(run: Run, span_s: float, drag: alt.Parameter) -> Any:
    bins = run.table("bins", ["bin_start_ns", "flow", "received_bytes"])
    rows = (
        bins.filter(pl.col("flow") != PING)
        .drop_nulls("received_bytes")
        .group_by("flow", at("bin_start_ns", span_s), maintain_order=True)
        .agg((pl.col("received_bytes").sum() * 8e-6 / span_s).round(3).alias("mbps"))
    )
    if rows.is_empty():
        return None
    times = rows.select(pl.col("time_s").unique()).sort("time_s")
    whole = times.join(rows.select(pl.col("flow").unique(maintain_order=True)), how="cross")
    rows = whole.join(rows, on=["time_s", "flow"], how="left").fill_null(0.0)
    hue = alt.Color("flow:N", title="Flow", legend=legend())
    lines = _base(rows).mark_line(interpolate=STEPS)
    y = alt.Y("mbps:Q", title="Bitrate (Mb/s)")
    chart = lines.encode(time_axis(), y, color=hue).add_params(drag)
    limit = evening.shaper(run, span_s, y)
    layered: Any = chart if limit is None else alt.layer(limit, chart)
    return layered.properties(width=WIDTH, height=170)


def waits(histogram: pl.DataFrame, span_s: float) -> pl.DataFrame:
    """Quantiles of queueing delay of each flow and span, in ms: upper edges of the buckets."""
    keys = ["flow", "time_s"]
    counted = (
        histogram.group_by("flow", at("window_start_ns", span_s), "delay_high_ns")
        .agg(pl.col("packets").cast(pl.Int64).sum())
        .sort(*keys, "delay_high_ns")
        .with_columns(pl.col("packets").sum().over(keys).alias("whole"))
        .with_columns(pl.col("packets").cum_sum().over(keys).alias("reached"))
    )
    found = [
        counted.filter(pl.col("reached") >= share * pl.col("whole"))
        .group_by(keys, maintain_order=True)
        .agg((pl.col("delay_high_ns").first() / 1e6).alias("ms"))
        .with_columns(share=pl.lit(name))
        for name, share in SHARES.items()
    ]
    return pl.concat(found)


def _waits(run: Run, span_s: float) -> Any:
    histogram = run.table("queue_delay").filter(~pl.col("flow").is_in(evening.FLOWS))
    if histogram.is_empty():
        return None
    window = histogram.select(pl.col("window_start_ns").unique().sort().diff().min()).item()
    rows = waits(histogram, max(span_s, (window or 0) / 1e9))
    encoding: dict[str, Any] = {
        "x": time_axis(),
        "y": alt.Y("ms:Q", title="Packets waited (ms)"),
        "color": alt.Color("share:N", title="No longer waited", sort=list(SHARES), legend=legend()),
    }
    if rows["flow"].n_unique() > 1:
        encoding["strokeDash"] = alt.StrokeDash("flow:N", title="Flow", legend=legend())
    chart = _base(rows).mark_line(interpolate=STEPS).encode(**encoding)
    return chart.properties(width=WIDTH, height=130)


def _states(run: Run, span_s: float) -> list[Any]:
    log = run.table("controller").filter(pl.col("stream") == GATEWAY)
    charts = []
    for variable in log["variable"].unique(maintain_order=True).sort().to_list()[:MAX_STATES]:
        rows = (
            log.filter(pl.col("variable") == variable)
            .group_by(at("time_ns", span_s), maintain_order=True)
            .agg(pl.col("value").mean().round_sig_figs(4))
        )
        y = alt.Y("value:Q", title=str(variable).replace("_", " "))
        line = _base(rows).mark_line(interpolate=STEPS).encode(time_axis(), y)
        charts.append(line.properties(width=WIDTH, height=80))
    return charts


def _base(rows: pl.DataFrame) -> alt.Chart:
    return alt.Chart(plain(rows))
