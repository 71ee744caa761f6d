"""What is measured alike of simulated and of live runs: of the path, of competitors, of streams.

Everything of a run with a competitor is taken while it is there, else of the whole run. Of a
competitor the first two seconds count, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from gameway.beside.tolerances import BY_METRIC
from gameway.metrics import network
from gameway.metrics.presence import presence, within
from gameway.metrics.series import bitrates_of
from gameway.metrics.source import competitors, finished_runs, link_of, rows_of_link
from gameway.metrics.table import per_run_table
from gameway.metrics.videos import video_metrics, videos
from gameway.metrics.windows import Window

if TYPE_CHECKING:
    from gameway.metrics.source import ResultFolder, Run

PATH = "path"
"""What stands for a flow where the path itself is measured."""
OF_STREAMS = (
    "bitrate_mbps", "queue_delay_mean_ms", "loss_percent", "frame_delay_p50_ms",
    "frame_delay_p95_ms", "displayed_fps", "never_shown_percent",
)  # fmt: skip
OF_VIDEOS = ("quality_level", "quality_switches", "interruptions", "startup_s")
SCHEMA = {"run": pl.String, "flow": pl.String, "metric": pl.String, "value": pl.Float64}


def measured(results: ResultFolder) -> pl.DataFrame:
    """One row per finished run, flow and metric, with the run's factors."""
    rows = [row for run in finished_runs(results) for row in _of_run(run)]
    table = pl.concat([pl.DataFrame(rows, schema=SCHEMA, orient="row"), _of_streams(results)])
    keys = results.runs.select("id", "repeat", *results.factors).rename({"id": "run"})
    known = table.filter(pl.col("metric").is_in(list(BY_METRIC)))
    return known.join(keys, on="run", how="left", maintain_order="left")


def _of_run(run: Run) -> list[tuple[str, str, str, float]]:
    window = run.windows.competing or run.windows.run
    link, bins, delays = run.link(), run.table("bins"), run.table("queue_delay")
    found: list[tuple[str, dict[str, float]]] = [(PATH, _of_path(run, link, window))]
    bitrates = bitrates_of(run)
    for flow in competitors(run.spec):
        name, there = str(flow["name"]), within(presence(flow, run.windows.run), window)
        own = Window(there[0].start_s, there[-1].stop_s) if there else window
        values = {
            "throughput_mbps": bitrates.mean_over(name, there),
            "queue_delay_mean_ms": network.queue_delay_metrics(delays, name, own)[
                "queue_delay_mean_ms"
            ],
            "loss_percent": network.loss_percent(bins, name, own),
        }
        found.append((name, values))
    found += [(str(one["name"]), _of_video(run, one)) for one in videos(run.spec)]
    return [
        (run.id, flow, metric, value) for flow, values in found for metric, value in values.items()
    ]


def _of_video(run: Run, video: dict[str, Any]) -> dict[str, float]:
    values = video_metrics(run, video)
    return {name: values[name] for name in OF_VIDEOS}


def _of_path(run: Run, link: pl.DataFrame, window: Window) -> dict[str, float]:
    own = rows_of_link(link, link_of({}))
    return {
        "link_utilization_percent": network.link_utilization_percent(own, window),
        "rtt_mean_ms": network.rtt_metrics(run.table("pings"), window)["rtt_mean_ms"],
    }


def _of_streams(results: ResultFolder) -> pl.DataFrame:
    """The metrics of the report, of the competition where there is one."""
    table = per_run_table(results)
    if table.is_empty():
        return pl.DataFrame(schema=SCHEMA)
    chosen: list[Any] = [
        pl.coalesce(
            pl.col(f"{scope}_{name}").fill_nan(None) for scope in ("competing", "run")
        ).alias(name)
        for name in OF_STREAMS
    ]
    rows = table.select("run", pl.col("stream").alias("flow"), *chosen)
    long = rows.unpivot(index=["run", "flow"], variable_name="metric", value_name="value")
    return long.with_columns(pl.col("value").fill_null(float("nan"))).select(list(SCHEMA))
