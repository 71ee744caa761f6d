"""What a reader of live results must know first: runs that this machine limited, not the path."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from gameway.live import lateness
from gameway.live.chromium.streams import CPU_LIMITED, ENCODER_SHORT
from gameway.metrics.source import finished_runs, streams

if TYPE_CHECKING:
    from gameway.metrics.source import ResultFolder, Run

SLOW_SHARE = 0.02
"""Of the frames: as far as a live displayed frame rate may differ from the simulated one."""
NS_PER_S = 1e9
LIMITED = (CPU_LIMITED, ENCODER_SHORT)


def warning(live: ResultFolder) -> str:
    """Runs in which packets left too late, or encoding was slower than the frames came; or ""."""
    runs = finished_runs(live)
    told = (_of_packets(runs), _of_encoding(runs), _of_browsers(runs))
    if not any(told):
        return ""
    advice = "This machine was too busy: repeat these runs on a quiet one before you rely on them."
    return " ".join([*(text for text in told if text), advice])


def _of_packets(runs: list[Run]) -> str:
    late = [parts for run in runs if (parts := lateness.too_late(run.table("lateness")))]
    if not late:
        return ""
    worst = max(max(parts.values()) for parts in late)
    return (
        f"In {len(late)} of {len(runs)} runs packets left too late: at the 99th percentile by up "
        f"to {worst:.3g} ms, where {lateness.BOUND_NS / 1e6:g} ms is the bound."
    )


def _of_encoding(runs: list[Run]) -> str:
    slow = [share for run in runs if (share := slow_encoding(run)) > SLOW_SHARE]
    if not slow:
        return ""
    return (
        f"In {len(slow)} of {len(runs)} runs encoding took longer than the time from frame to "
        f"frame, for up to {100 * max(slow):.3g} % of a stream's frames: frames that are missing "
        "there were never captured."
    )


def _of_browsers(runs: list[Run]) -> str:
    """Streams that a browser sends, where its encoder and not its controller was the limit."""
    events = [run.table("events").filter(pl.col("event").cast(pl.String).is_in(LIMITED))
              for run in runs]  # fmt: skip
    limited = sum(one.height > 0 for one in events)
    if not limited:
        return ""
    return (
        f"In {limited} of {len(runs)} runs a browser's encoder gave less than it was asked for, or "
        "the browser found the processor too slow: its controller was not the limit there."
    )


def slow_encoding(run: Run) -> float:
    """The share of frames whose encoding took longer than a frame's interval: the worst stream's.

    A capture that comes due meanwhile is late, or left out.
    """
    pictures = run.table("pictures").drop_nulls("encode_ns")
    shares = [0.0]
    for stream in streams(run.spec):
        interval_ns = NS_PER_S / stream["frame_rate"]
        own = pictures.filter(pl.col("stream").cast(pl.String) == stream["name"])["encode_ns"]
        if own.len():
            shares.append((own > interval_ns).sum() / own.len())
    return max(shares)
