"""Bitrates in 0.5 s bins: of one run, and the mean over the runs of a condition.

Source: Xu and Claypool 2022, section 4.1 and Figure 2 (bitrate every 0.5 s, mean with 95 %
confidence interval over the runs of a condition).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gameway import _core
from gameway.metrics.statistics import Floats, t_quantile

if TYPE_CHECKING:
    import polars as pl

    from gameway.metrics.presence import Spans
    from gameway.metrics.source import Run
    from gameway.metrics.windows import Window

BIN_S = _core.BIN_NS / 1e9
ROUNDING_S = 1e-9
_NS_PER_BIN = round(BIN_S * 1e9)
_MBPS_PER_BYTE = 8.0 / BIN_S / 1e6


@dataclass(frozen=True)
class Bitrates:
    """The bitrates of every flow of one run, on one grid of whole bins."""

    times_s: Floats
    """Start of each bin, seconds."""
    by_flow: dict[str, Floats]
    """Wire bytes that reached the client, Mb/s; zero in bins where a flow is not listed."""

    def series(self, flow: str) -> Floats:
        """The bitrates of a flow; zero for one that has no row."""
        return self.by_flow.get(flow, np.zeros_like(self.times_s))

    def while_there(self, flow: str, spans: Spans) -> tuple[Floats, Floats]:
        """Starts of the bins that lie in the spans, and a flow's bitrates in them."""
        inside = whole_bins(self.times_s, spans)
        return self.times_s[inside], self.series(flow)[inside]

    def mean(self, flow: str, window: Window) -> float:
        """Mean bitrate of a flow over the bins that start in the window, Mb/s; NaN if none."""
        series = self.series(flow)
        inside = series[(self.times_s >= window.start_s) & (self.times_s < window.stop_s)]
        return float(inside.mean()) if len(inside) else float("nan")

    def mean_over(self, flow: str, spans: Spans) -> float:
        """Mean bitrate of a flow over the bins that lie in the spans, Mb/s; NaN if none."""
        _, inside = self.while_there(flow, spans)
        return float(inside.mean()) if len(inside) else float("nan")

    def deviation_over(self, flow: str, spans: Spans) -> float:
        """Standard deviation of the bitrates of those bins, Mb/s; NaN below two bins."""
        _, inside = self.while_there(flow, spans)
        return float(inside.std(ddof=1)) if len(inside) > 1 else float("nan")


def whole_bins(times_s: Floats, spans: Spans) -> np.typing.NDArray[np.bool_]:
    """Which bins (by their starts) lie in one of the spans with their whole length."""
    found = np.zeros(len(times_s), dtype=np.bool_)
    for span in spans:
        found |= (times_s >= span.start_s) & (times_s + BIN_S <= span.stop_s + ROUNDING_S)
    return found


def bitrates_of(run: Run) -> Bitrates:
    """The bitrates of a run from its `bins` table."""
    bins = run.table("bins", ["bin_start_ns", "flow", "received_bytes"])
    return bitrates_from(bins, run.windows.run.stop_s)


def bitrates_from(bins: pl.DataFrame, duration_s: float) -> Bitrates:
    """The bitrates of all flows of a `bins` table; a last bin that the run cuts off is left out."""
    count = int(duration_s / BIN_S + ROUNDING_S)
    times = np.arange(count, dtype=np.float64) * BIN_S
    by_flow: dict[str, Floats] = {}
    for (flow,), rows in bins.group_by("flow", maintain_order=True):
        index = rows["bin_start_ns"].to_numpy() // _NS_PER_BIN
        whole = index < count
        series = np.zeros(count)
        series[index[whole]] = rows["received_bytes"].to_numpy()[whole] * _MBPS_PER_BYTE
        by_flow[str(flow)] = series
    return Bitrates(times, by_flow)


def wider(bitrates: Bitrates, each: int) -> Bitrates:
    """Means over `each` bins; what is left at the end is not among them."""
    count = len(bitrates.times_s) // each
    by_flow = {
        name: values[: count * each].reshape(count, each).mean(axis=1)
        for name, values in bitrates.by_flow.items()
    }
    return Bitrates(bitrates.times_s[: count * each : each], by_flow)


@dataclass(frozen=True)
class MeanSeries:
    """The mean over runs of a series, with the half width of its 95 % interval in each bin."""

    times_s: Floats
    mean: Floats
    half_width: Floats
    runs: int


def mean_over_runs(runs: list[Bitrates], flow: str) -> MeanSeries:
    """The mean bitrate of a flow over runs of equal length; half width NaN for a single run."""
    times = min((run.times_s for run in runs), key=len)
    nothing = np.zeros(len(times))
    stacked = np.stack([run.by_flow.get(flow, nothing)[: len(times)] for run in runs])
    count = len(runs)
    spread = stacked.std(axis=0, ddof=1) if count > 1 else np.full(len(times), np.nan)
    half = t_quantile(count) * spread / np.sqrt(count)
    return MeanSeries(times, stacked.mean(axis=0), half, count)
