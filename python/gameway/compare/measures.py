"""What controllers are compared by: one value per run, over all of the run's streams.

The window is the competition where something competes, else the time in which there is a stream.
`docs/compare.md` defines every measure.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from gameway.compare.shares import Shares, shares_in
from gameway.metrics.frames import COLUMNS, GRACE_S, frame_metrics, frames_from
from gameway.metrics.network import in_window, total
from gameway.metrics.presence import presence
from gameway.metrics.source import streams
from gameway.metrics.statistics import jain_index
from gameway.metrics.windows import Window

if TYPE_CHECKING:
    from gameway.metrics.source import Run
    from gameway.metrics.statistics import Floats

NAN = math.nan
BINS_PER_SECOND = 2


@dataclass(frozen=True)
class Measure:
    """One thing that controllers are compared by."""

    name: str
    """Column of the value in tables."""
    label: str
    unit: str
    letter: str
    """Its mark in the table of who wins where."""
    relevance: float
    """Differences below this mean nothing to a player, however sure they are."""
    superlative: str
    """How a sentence names the best of it."""
    higher_is_better: bool = False

    @property
    def worse(self) -> str:
        """How a sentence names a worse value."""
        return "less" if self.higher_is_better else "more"

    @property
    def heading(self) -> str:
        """Label with unit, for a column."""
        return f"{self.label} ({self.unit})" if self.unit else self.label


UTILIZATION = Measure(
    "utilization_percent", "utilization", "%", "U", 1.0, "the most utilization",
    higher_is_better=True,
)  # fmt: skip
DELAY_95 = Measure(
    "frame_delay_p95_ms", "frame delay p95", "ms", "D", 1.0,
    "the least 95th percentile frame delay",
)  # fmt: skip
DELAY_99 = Measure(
    "frame_delay_p99_ms", "frame delay p99", "ms", "T", 1.0,
    "the least 99th percentile frame delay",
)  # fmt: skip
STALLS = Measure("stall_100ms_percent", "stalls over 100 ms", "%", "S", 0.1, "the fewest stalls")
JAIN = Measure("jain_index", "Jain", "", "J", 0.01, "the fairest shares", higher_is_better=True)
MOS = Measure("mos", "MOS", "", "M", 0.05, "the best opinion score", higher_is_better=True)
LOSS = Measure("loss_percent", "loss", "%", "L", 0.1, "the least loss")

MEASURES = (UTILIZATION, DELAY_95, DELAY_99, STALLS, JAIN, MOS, LOSS)
RATED = "utilization_rated"
"""Utilization as it is judged: what a stream takes beyond its share is not to its credit."""


def measure(run: Run) -> dict[str, float]:
    """All measures of one run but the opinion score, which `gameway.metrics` has."""
    window = judged_window(run)
    bins = run.table("bins")
    shares = shares_in(run, bins, run.table("link"), window)
    names = [str(stream["name"]) for stream in streams(run.spec)]
    frames = run.table("frames", COLUMNS)
    pooled = frame_metrics(frames_from(frames, run.windows.run.stop_s), window, window.length_s)
    delays = picture_delays_ms(frames, window)
    p95, p99 = np.quantile(delays, (0.95, 0.99)) if len(delays) else (NAN, NAN)
    used = _utilization(shares, names)
    return {
        UTILIZATION.name: used,
        RATED: min(used, 100.0),
        DELAY_95.name: float(p95),
        DELAY_99.name: float(p99),
        STALLS.name: pooled[STALLS.name],
        JAIN.name: _fairness(shares),
        LOSS.name: _loss(bins, names, window),
    }


def judged_window(run: Run) -> Window:
    """The competition, or else the time in which there is a stream."""
    if run.windows.competing is not None:
        return run.windows.competing
    spans = [span for one in streams(run.spec) for span in presence(one, run.windows.run)]
    if not spans:
        return run.windows.run
    return Window(min(span.start_s for span in spans), max(span.stop_s for span in spans))


def picture_delays_ms(frames: pl.DataFrame, window: Window) -> Floats:
    """Frame delays in which a frame that was never shown waits for the next one that is.

    The frame delay of complete frames alone would reward a controller for the frames it loses. As
    in `gameway.metrics`, frames of a stream's last second are not judged: they may be on their way.
    """
    start, stop = window.nanoseconds
    last = pl.col("captured_ns").max().over("stream")
    complete = pl.when(pl.col("shown_ns").is_not_null()).then(pl.col("complete_ns"))
    arrived = complete.fill_null(strategy="backward").over("stream").fill_null(last)
    judged = pl.col("captured_ns").is_between(start, stop, closed="left")
    found = (
        frames.sort("stream", "captured_ns")
        .with_columns(delay=(arrived - pl.coalesce("first_sent_ns", "captured_ns")) / 1e6)
        .filter(judged & (pl.col("captured_ns") < last - round(GRACE_S * 1e9)))
    )
    return found["delay"].cast(pl.Float64).to_numpy()


def _utilization(shares: Shares, names: list[str]) -> float:
    """What the streams received, percent of their fair shares."""
    fair = sum(float(np.nansum(shares.fair[name])) for name in names)
    received = sum(float(shares.received[name].sum()) for name in names)
    return 100.0 * received / fair if fair > 0.0 else NAN


def _fairness(shares: Shares) -> float:
    """Mean over all seconds with several flows of Jain's index of received over fair share."""
    if len(shares.steady) <= 1:
        return NAN
    fair = np.array([_by_second(shares.fair[name]) for name in shares.steady])
    received = np.array([_by_second(shares.received[name]) for name in shares.steady])
    found = []
    for index in range(fair.shape[1]):
        there = fair[:, index] > 0.0
        if there.sum() > 1:
            found.append(jain_index(list(received[there, index] / fair[there, index])))
    known = [value for value in found if not math.isnan(value)]
    return float(np.mean(known)) if known else NAN


def _by_second(series: Floats) -> Floats:
    whole = len(series) // BINS_PER_SECOND * BINS_PER_SECOND
    found: Floats = series[:whole].reshape(-1, BINS_PER_SECOND).sum(axis=1)
    return found


def _loss(bins: pl.DataFrame, names: list[str], window: Window) -> float:
    rows = in_window(bins, "bin_start_ns", window).filter(pl.col("flow").is_in(names))
    sent = total(rows, "sent_packets")
    lost = total(rows, "dropped_packets") + total(rows, "lost_packets")
    return 100.0 * lost / sent if sent else NAN
