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
from gameway.metrics.convergence import convergence_s
from gameway.metrics.frames import Frames, delay_histogram, frame_metrics, frames_from
from gameway.metrics.mos import (
    FULL_HD_PIXELS,
    GameClass,
    OpinionScore,
    StreamQuality,
    opinion_score,
    planned_frame_loss_percent,
)
from gameway.metrics.picture import Picture, picture_of
from gameway.metrics.presence import Spans, common, either, length_s, presence, within
from gameway.metrics.quantities import seconds
from gameway.metrics.series import Bitrates, bitrates_from
from gameway.metrics.source import Run, competitors, link_of, rows_of_link, streams
from gameway.metrics.statistics import jain_index, rate_ratio
from gameway.metrics.windows import Window

if TYPE_CHECKING:
    from collections.abc import Sequence

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
        picture = picture_of(run, stream)
        keys: dict[str, Any] = {"run": run.id, "stream": name}
        found: dict[str, Any] = dict.fromkeys(metric_columns(), NAN)
        there = presence(stream, run.windows.run)
        found["base_rtt_ms"] = seconds(stream.get("base_rtt") or run.spec["path"]["base_rtt"]) * 1e3
        found |= _competition(run, tables, stream, there)
        found["convergence_s"] = convergence_s(*tables.bitrates.while_there(name, there), there)
        for scope, window in run.windows.scopes().items():
            values = _in_scope(run, tables, (frames, picture), stream, window)
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
        link=run.table("link"),
        queue_delay=run.table("queue_delay"),
        pings=run.table("pings"),
        frames=run.table("frames", frame_tables.COLUMNS),
        bitrates=bitrates_from(bins, run.windows.run.stop_s),
    )


def _in_scope(
    run: Run,
    tables: RunTables,
    seen: tuple[Frames, Picture],
    stream: dict[str, Any],
    window: Window,
) -> dict[str, float]:
    frames, picture = seen
    name = str(stream["name"])
    there = within(presence(stream, run.windows.run), window)
    link = rows_of_link(tables.link, link_of(stream))
    found = {
        "bitrate_mbps": tables.bitrates.mean_over(name, there),
        "bitrate_sd_mbps": tables.bitrates.deviation_over(name, there),
        "loss_percent": network.loss_percent(tables.bins, name, window),
        "feedback_overhead_percent": network.feedback_overhead_percent(tables.bins, name, window),
        "link_utilization_percent": network.link_utilization_percent(link, window),
    }
    found |= _between_streams(run, tables.bitrates, stream, window)
    found |= network.rtt_metrics(tables.pings, window)
    found |= network.queue_delay_metrics(tables.queue_delay, name, window)
    found |= frame_metrics(frames, window, length_s(there))
    inside = frames.captured_in(window)
    judged_s = length_s(within(there, Window(window.start_s, frames.judged_until_s)))
    found["sender_wait_ms"] = frame_tables.mean(inside.sender_wait_ms)
    found |= picture.metrics(inside.captured_s, window)
    found["encoded_mbps"] = NAN
    if judged_s > 0.0:
        found["encoded_mbps"] = float(inside.payload_bytes.sum()) * 8e-6 / judged_s
        found |= _opinion(found, len(inside.captured_s) / judged_s, run.spec, stream)
    return found


def _opinion(
    found: dict[str, float], frame_rate: float, spec: dict[str, Any], stream: dict[str, Any]
) -> dict[str, float]:
    """Opinion scores; the delay is the ping's RTT plus the wait of a frame at the sender.

    The standard means the delay that a network adds between control and picture. A sender that
    holds frames back adds to it in the same way, so that a controller cannot hide its queue there.
    Without pings, the base RTT and the queue that the frames met stand for the RTT. A stream with a
    base RTT of its own is as much farther away than the pings.
    """
    base_ms = seconds(spec["path"]["base_rtt"]) * 1e3
    own_ms = seconds(stream["base_rtt"]) * 1e3 if stream.get("base_rtt") else base_ms
    rtt = found["rtt_mean_ms"] + own_ms - base_ms
    if math.isnan(rtt):
        rtt = own_ms + found["queue_delay_mean_ms"]
    delay = rtt + found["sender_wait_ms"]
    encoded, lost = found["encoded_mbps"], found["never_shown_percent"]
    if any(map(math.isnan, (delay, lost, encoded))):
        return {}
    pixels = round(FULL_HD_PIXELS * found["picture_percent"] / 100.0)
    quality = StreamQuality(encoded, frame_rate, delay, lost, pixels=pixels)
    planned = planned_frame_loss_percent(
        found["loss_percent"], delay, frame_rate, quality.bitrate_mbps
    )
    at_plan = StreamQuality(quality.bitrate_mbps, frame_rate, delay, planned, pixels=pixels)
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


def _competition(
    run: Run, tables: RunTables, stream: dict[str, Any], there: Spans
) -> dict[str, float | None]:
    windows, bitrates = run.windows, tables.bitrates
    rivals = competitors(run.spec)
    if windows.difference is None:
        return {"jain_index": jain_index(_shares(streams(run.spec), run, bitrates, windows.run))}
    beside = within(either(presence(flow, windows.run) for flow in rivals), windows.difference)
    both = common([there, beside])
    game = bitrates.mean_over(str(stream["name"]), both)
    rival = _rate_of_each(run, bitrates, rivals, both)
    followed = adaptation(*bitrates.while_there(str(stream["name"]), there), windows)
    capacity = network.capacity_over(rows_of_link(tables.link, "path"), beside)
    return {
        "original_mbps": followed.original.mean if followed else NAN,
        "adjusted_mbps": followed.adjusted.mean if followed else NAN,
        "response_s": followed.response_s if followed else NAN,
        "recovery_s": followed.recovery_s if followed else NAN,
        "game_mbps": game,
        "competitor_mbps": rival,
        "bitrate_difference_ratio": (game - rival) / capacity if capacity else NAN,
        "jain_index": jain_index(
            _shares(streams(run.spec), run, bitrates, windows.difference, and_also=rivals)
        ),
    }


def _rate_of_each(run: Run, bitrates: Bitrates, flows: list[dict[str, Any]], spans: Spans) -> float:
    """What a flow has on average while it is there: all together, by how many there are."""
    own = [length_s(common([presence(flow, run.windows.run), spans])) for flow in flows]
    all_together = sum(bitrates.mean_over(str(flow["name"]), spans) for flow in flows)
    return all_together * length_s(spans) / sum(own) if sum(own) else NAN


def _between_streams(
    run: Run, bitrates: Bitrates, stream: dict[str, Any], window: Window
) -> dict[str, float]:
    """How the streams that go the same way share it."""
    way = stream.get("direction", "down")
    rivals = [flow for flow in streams(run.spec) if flow.get("direction", "down") == way]
    shares = _shares(rivals, run, bitrates, window)
    return {"streams_jain_index": jain_index(shares), "streams_rate_ratio": rate_ratio(shares)}


def _shares(
    flows: list[dict[str, Any]],
    run: Run,
    bitrates: Bitrates,
    window: Window,
    and_also: Sequence[dict[str, Any]] = (),
) -> list[float]:
    """Mean bitrates in the part of a window in which all `flows` are there, Mb/s.

    Others have theirs of the part in which they are there, too.
    """
    whole = run.windows.run
    spans = within(common(presence(flow, whole) for flow in flows), window)
    own = [common([presence(flow, whole), spans]) for flow in and_also]
    return [
        bitrates.mean_over(str(flow["name"]), there)
        for flow, there in zip([*flows, *and_also], [*[spans] * len(flows), *own], strict=True)
    ]


def _keyed(frame: pl.DataFrame, keys: dict[str, str]) -> pl.DataFrame:
    columns = [pl.lit(value).alias(name) for name, value in keys.items()]
    return frame.select(*columns, pl.all())
