"""All metrics of one run, from its tables: one row per game stream."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from gameway.metrics import frames as frame_tables
from gameway.metrics import network
from gameway.metrics.adaptation import adaptation
from gameway.metrics.catalogue import SCOPES, metric_columns
from gameway.metrics.frames import Frames, delay_histogram, frame_metrics, frames_from
from gameway.metrics.mos import (
    GameClass,
    OpinionScore,
    StreamQuality,
    opinion_score,
    planned_frame_loss_percent,
)
from gameway.metrics.quantities import seconds
from gameway.metrics.series import Bitrates, bitrates_from
from gameway.metrics.source import Run, competitors, streams
from gameway.metrics.statistics import jain_index
from gameway.metrics.windows import Window

if TYPE_CHECKING:
    from collections.abc import Iterable

NAN = float("nan")


@dataclass(frozen=True)
class RunTables:
    """The tables of one run that metrics are taken from."""

    bins: pl.DataFrame
    link: pl.DataFrame
    queue_delay: pl.DataFrame
    pings: pl.DataFrame
    frames: pl.DataFrame
    bitrates: Bitrates


@dataclass(frozen=True)
class RunMetrics:
    """What is kept of one run: a row of metrics and a histogram of frame delays per stream."""

    rows: list[dict[str, Any]]
    frame_delays: list[pl.DataFrame]


def run_metrics(run: Run) -> RunMetrics:
    """All metrics of a run."""
    tables = _read(run)
    rows, histograms = [], []
    for stream in streams(run.spec):
        name = str(stream["name"])
        own = tables.frames.filter(pl.col("stream") == name)
        frames = frames_from(own, run.windows.run.stop_s)
        keys: dict[str, Any] = {"run": run.id, "stream": name}
        found: dict[str, Any] = dict.fromkeys(metric_columns(), NAN)
        found |= _competition(run, tables, name)
        for scope, window in run.windows.scopes().items():
            values = _in_scope(run, tables, frames, name, window)
            found |= {f"{scope}_{metric}": value for metric, value in values.items()}
            histograms.append(_keyed(delay_histogram(frames, window), keys | {"scope": scope}))
        rows.append(keys | found)
    return RunMetrics(rows, histograms)


def row_schema() -> dict[str, Any]:
    """Column types of the rows of `run_metrics`."""
    texts = ("run", "stream")
    return dict.fromkeys(texts, pl.String) | dict.fromkeys(metric_columns(), pl.Float64)


def histogram_schema() -> dict[str, Any]:
    """Column types of the frame delay histograms of `run_metrics`."""
    texts = {"run": pl.String, "stream": pl.String, "scope": pl.Enum(list(SCOPES))}
    return texts | {"delay_high_ms": pl.Float64, "frames": pl.Int64}


def _read(run: Run) -> RunTables:
    bins = run.table("bins")
    return RunTables(
        bins=bins,
        link=run.table("link", ["bin_start_ns", "capacity_bytes", "transmitted_bytes"]),
        queue_delay=run.table("queue_delay"),
        pings=run.table("pings"),
        frames=run.table("frames", frame_tables.COLUMNS),
        bitrates=bitrates_from(bins, run.windows.run.stop_s),
    )


def _in_scope(
    run: Run, tables: RunTables, frames: Frames, stream: str, window: Window
) -> dict[str, float]:
    found = {
        "bitrate_mbps": tables.bitrates.mean(stream, window),
        "loss_percent": network.loss_percent(tables.bins, stream, window),
        "link_utilization_percent": network.link_utilization_percent(tables.link, window),
    }
    found |= network.rtt_metrics(tables.pings, window)
    found |= network.queue_delay_metrics(tables.queue_delay, stream, window)
    found |= frame_metrics(frames, window)
    inside = frames.captured_in(window)
    judged = Window(window.start_s, min(window.stop_s, frames.judged_until_s))
    found["sender_wait_ms"] = frame_tables.mean(inside.sender_wait_ms)
    found["encoded_mbps"] = NAN
    if judged.length_s > 0.0:
        found["encoded_mbps"] = float(inside.payload_bytes.sum()) * 8e-6 / judged.length_s
        rate = len(inside.captured_s) / judged.length_s
        found |= _opinion(found, rate, run.spec)
    return found


def _opinion(found: dict[str, float], frame_rate: float, spec: dict[str, Any]) -> dict[str, float]:
    """Opinion scores; the delay is the ping's RTT plus the wait of a frame at the sender.

    The standard means the delay that a network adds between control and picture. A sender that
    holds frames back adds to it in the same way, so that a controller cannot hide its queue there.
    Without pings, the base RTT and the queue that the frames met stand for the RTT.
    """
    rtt = found["rtt_mean_ms"]
    if math.isnan(rtt):
        rtt = seconds(spec["path"]["base_rtt"]) * 1e3 + found["queue_delay_mean_ms"]
    delay = rtt + found["sender_wait_ms"]
    quality = StreamQuality(found["encoded_mbps"], frame_rate, delay, found["never_shown_percent"])
    if any(map(math.isnan, (delay, quality.frame_loss_percent, quality.bitrate_mbps))):
        return {}
    planned = planned_frame_loss_percent(
        found["loss_percent"], delay, frame_rate, quality.bitrate_mbps
    )
    at_plan = StreamQuality(quality.bitrate_mbps, frame_rate, delay, planned)
    scores = {kind: opinion_score(quality, kind, kind) for kind in GameClass}
    return _score_columns(scores, opinion_score(at_plan))


def _score_columns(
    scores: dict[GameClass, OpinionScore], planning: OpinionScore
) -> dict[str, float]:
    high = scores[GameClass.HIGH]
    return {
        "mos": high.overall,
        "mos_medium": scores[GameClass.MEDIUM].overall,
        "mos_low": scores[GameClass.LOW].overall,
        "mos_planning": planning.overall,
        "mos_coding": high.coding,
        "mos_transmission": high.transmission,
        "mos_temporal": high.temporal,
        "mos_frames": high.frames,
        "mos_delay": high.delay,
    }


def _competition(run: Run, tables: RunTables, stream: str) -> dict[str, float | None]:
    names = [str(flow["name"]) for flow in [*streams(run.spec), *competitors(run.spec)]]
    windows, bitrates = run.windows, tables.bitrates
    if windows.difference is None:
        return {"jain_index": jain_index(_means(bitrates, names, windows.run))}
    rivals = [str(flow["name"]) for flow in competitors(run.spec)]
    game = bitrates.mean(stream, windows.difference)
    rival = sum(_means(bitrates, rivals, windows.difference)) / len(rivals)
    followed = adaptation(bitrates.times_s, bitrates.by_flow[stream], windows)
    capacity = network.capacity_mbps(tables.link, windows.difference)
    return {
        "original_mbps": followed.original.mean if followed else NAN,
        "adjusted_mbps": followed.adjusted.mean if followed else NAN,
        "response_s": followed.response_s if followed else NAN,
        "recovery_s": followed.recovery_s if followed else NAN,
        "game_mbps": game,
        "competitor_mbps": rival,
        "bitrate_difference_ratio": (game - rival) / capacity if capacity else NAN,
        "jain_index": jain_index(_means(bitrates, names, windows.difference)),
    }


def _means(bitrates: Bitrates, flows: Iterable[str], window: Window) -> list[float]:
    return [bitrates.mean(flow, window) for flow in flows]


def _keyed(frame: pl.DataFrame, keys: dict[str, str]) -> pl.DataFrame:
    columns = [pl.lit(value).alias(name) for name, value in keys.items()]
    return frame.select(*columns, pl.all())
