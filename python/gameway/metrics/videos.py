"""Metrics of videos: what their viewers saw.

Source: Xu and Claypool, "Measurement of Cloud-based Game Streaming Systems Competing with DASH
Flows": media throughput, quality switches, interruptions; start-up and buffer as DASH players show
them. All of the time in which the player is open; a segment counts as displayed when it comes on
the screen.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import polars as pl

from gameway.metrics.catalogue import VIDEO_METRICS
from gameway.metrics.presence import length_s, presence
from gameway.metrics.source import ResultFolder, Run, competitors, finished_runs
from gameway.metrics.statistics import half_width

if TYPE_CHECKING:
    from collections.abc import Sequence

NAN = math.nan
KEPT = ("displayed", "buffered", "unfinished")
"""What became of segments whose bytes were not in vain, as far as the run tells."""


def videos(spec: dict[str, Any]) -> list[dict[str, Any]]:
    """The competitors of a spec that are videos."""
    return [flow for flow in competitors(spec) if flow.get("kind") == "dash"]


def video_table(results: ResultFolder) -> pl.DataFrame:
    """One row per finished run and video: `run`, `repeat`, `video`, factors, `VIDEO_METRICS`."""
    rows = [
        {"run": run.id, "repeat": run.repeat, "video": str(video["name"]), **run.factors}
        | video_metrics(run, video)
        for run in finished_runs(results)
        for video in videos(run.spec)
    ]
    texts = dict.fromkeys(("run", "video", *results.factors), pl.String)
    order = ("run", "repeat", "video", *results.factors, *_names())
    numbers = {"repeat": pl.Int64} | dict.fromkeys(_names(), pl.Float64)
    return pl.DataFrame(rows, schema={name: (texts | numbers)[name] for name in order})


def video_summary_table(results: ResultFolder) -> pl.DataFrame:
    """One row per condition and video: mean of each metric over runs, `_ci95` its half width."""
    keys = ["video", *results.factors]
    rows = []
    for values, group in video_table(results).group_by(keys, maintain_order=True):
        row: dict[str, Any] = dict(zip(keys, values, strict=True)) | {"runs": group.height}
        for name in _names():
            known = group[name].drop_nans().to_numpy()
            row[name] = float(known.mean()) if len(known) else NAN
            row[f"{name}_ci95"] = half_width(known)
        rows.append(row)
    columns = [column for name in _names() for column in (name, f"{name}_ci95")]
    schema = dict.fromkeys(keys, pl.String) | {"runs": pl.Int64}
    return pl.DataFrame(rows, schema=schema | dict.fromkeys(columns, pl.Float64))


def video_metrics(run: Run, video: dict[str, Any]) -> dict[str, float]:
    """All metrics of one video of one run."""
    name = str(video["name"])
    segments = run.table("segments").filter(pl.col("flow") == name)
    events = run.table("events").filter(pl.col("flow") == name)
    state = run.table("controller").filter(pl.col("stream") == name)
    open_s = length_s(presence(video, run.windows.run))
    came = float(segments["received_bytes"].sum())
    in_vain = float(segments.filter(~pl.col("fate").is_in(KEPT))["received_bytes"].sum())
    buffer = state.filter(pl.col("variable") == "buffer_level_s")["value"].to_list()
    begun = _values(events, "playback-started")
    halts = _values(events, "resumed")
    return {
        "media_throughput_mbps": came * 8e-6 / open_s if open_s else NAN,
        **_quality(segments),
        "interruptions": float(len(halts)),
        "interrupted_s": sum(halts),
        "startup_s": begun[0] if begun else NAN,
        "buffer_mean_s": _mean(buffer),
        "media_in_vain_percent": 100.0 * in_vain / came if came else NAN,
    }


def _quality(segments: pl.DataFrame) -> dict[str, float]:
    shown = segments.filter(pl.col("displayed_ns").is_not_null()).sort("displayed_ns")
    levels = shown["level"].to_list()
    return {
        "quality_level": _mean(levels),
        "quality_mbps": _mean(shown["bitrate_bps"].to_list()) / 1e6,
        "quality_switches": float(sum(a != b for a, b in itertools.pairwise(levels))),
    }


def _values(events: pl.DataFrame, event: str) -> list[float]:
    return events.filter(pl.col("event") == event)["value"].to_list()


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else NAN


def _names() -> list[str]:
    return [metric.name for metric in VIDEO_METRICS]
