"""What a report has of runs without a stream: what flows had, and what packets waited."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from gameway.figures.evening import OWN
from gameway.figures.flows import PING, flows_timeline, waits
from gameway.metrics.source import finished_runs
from gameway.page import Figure, Panel, Section, Table

if TYPE_CHECKING:
    from gameway.metrics.source import ResultFolder, Run

MAX_RUNS = 8
CAPTION = (
    "Bitrates of what was received, and what packets waited in the queue: half of them, and 99 %, "
    "no longer than that. Long runs have means over spans of time."
)
WITH_SHAPER = " Dashed: the rate of the gateway's own queue, once it knows the link."
FLOWS = "What was received in the whole run, and the most within a bin of 0.5 s."
WAITS = "Quantiles over the whole run: upper edges of the buckets of its histogram."


def figures(results: ResultFolder) -> list[Figure]:
    """One figure with the first runs."""
    charts = [(run, flows_timeline(run)) for run in finished_runs(results)[:MAX_RUNS]]
    panels = [
        Panel({"run": run.id}, chart, f"Time series of run {run.id}.")
        for run, chart in charts
        if chart is not None
    ]
    shapes = any(not run.link(OWN).is_empty() for run, _ in charts)
    caption = CAPTION + (WITH_SHAPER if shapes else "")
    return [Figure("runs", "Single runs", caption, panels)] if panels else []


def sections(results: ResultFolder) -> list[Section]:
    """Two tables."""
    runs = finished_runs(results)[:MAX_RUNS]
    flows = pl.concat([_flows(run) for run in runs]) if runs else pl.DataFrame()
    waited = pl.concat([_waits(run) for run in runs]) if runs else pl.DataFrame()
    if len(runs) == 1:
        flows, waited = flows.drop("run"), waited.drop("run")
    told = [
        Section("What flows had", FLOWS, [Table("", flows, "flows", main=True)]),
        Section("What packets waited", WAITS, [Table("", waited, "waits", main=True)]),
    ]
    return [section for section in told if section.tables[0].frame.height]


def _flows(run: Run) -> pl.DataFrame:
    bins = run.table("bins").filter(pl.col("flow") != PING).drop_nulls("received_bytes")
    length_s = max(run.windows.run.length_s, 1e-9)
    received = pl.col("received_bytes")
    return (
        bins.group_by("flow", maintain_order=True)
        .agg(
            (received.sum() / 1e6).alias("received, MB"),
            (received.sum() * 8e-6 / length_s).alias("mean, Mb/s"),
            (received.max() * 16e-6).alias("most, Mb/s"),
        )
        .sort("received, MB", descending=True)
        .select(pl.lit(run.id).alias("run"), pl.all())
    )


def _waits(run: Run) -> pl.DataFrame:
    histogram = run.table("queue_delay")
    whole = waits(histogram.with_columns(pl.lit(0, pl.Int64).alias("window_start_ns")), 1.0)
    totals = histogram.group_by("flow").agg(
        (pl.col("sum_ns").sum() / pl.col("packets").sum().cast(pl.Int64) / 1e6).alias("mean, ms"),
    )
    half, longest = (
        whole.filter(pl.col("share") == share).select("flow", pl.col("ms").alias(f"{share}, ms"))
        for share in ("half", "99 %")
    )
    joined = totals.join(half, on="flow").join(longest, on="flow").sort("flow")
    return joined.select(pl.lit(run.id).alias("run"), pl.all())
