"""What a flow of a run met and got, measured alike for streams and for competitors.

| figure | definition | unit |
|---|---|---|
| delay | queueing delay of forwarded packets, from histograms of 5 s | ms |
| over N | share of packets that waited N ms or more; exact, N is an edge of the histogram | % |
| bitrate | wire bytes that arrived, in bins of 0.5 s: mean and quartiles | Mb/s |
| loss | packets dropped by queues or lost on the path, of those sent | % |
| utilization | bytes that arrived, of those that the bottleneck could have carried | % |

Percentiles and the deviation come from the histogram: within a bucket (a tenth of a decade) a
percentile is interpolated so that the bucket keeps its mean; for the deviation each packet has that
mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from gameway.metrics.network import DELAY_LIMITS_MS, in_window, loss_percent, total
from gameway.metrics.series import bitrates_of

if TYPE_CHECKING:
    from gameway.metrics.source import Run
    from gameway.metrics.statistics import Floats
    from gameway.metrics.windows import Window

NAN = float("nan")
QUARTILES = {"q1": 25, "q2": 50, "q3": 75}


@dataclass(frozen=True)
class Delays:
    """The queueing delays of a flow's packets, as a histogram."""

    low_ms: Floats
    high_ms: Floats
    packets: Floats
    mean_of_bucket_ms: Floats

    @classmethod
    def of(cls, histogram: pl.DataFrame, flow: str, window: Window) -> Delays:
        """Those of a flow in a window, from the table `queue_delay`."""
        rows = (
            in_window(histogram, "window_start_ns", window)
            .filter(pl.col("flow") == flow)
            .group_by("delay_low_ns", "delay_high_ns")
            .agg(pl.col("packets").sum(), pl.col("sum_ns").sum())
            .sort("delay_low_ns")
        )
        packets = rows["packets"].to_numpy().astype(np.float64)
        return cls(
            rows["delay_low_ns"].to_numpy() / 1e6,
            rows["delay_high_ns"].to_numpy() / 1e6,
            packets,
            rows["sum_ns"].to_numpy() / np.maximum(packets, 1.0) / 1e6,
        )

    @property
    def count(self) -> float:
        """Packets."""
        return float(self.packets.sum())

    @property
    def mean_ms(self) -> float:
        """Their mean; NaN without packets."""
        if not self.count:
            return NAN
        return float((self.packets * self.mean_of_bucket_ms).sum() / self.count)

    @property
    def deviation_ms(self) -> float:
        """Their standard deviation; NaN without packets."""
        if not self.count:
            return NAN
        squares = (self.mean_of_bucket_ms - self.mean_ms) ** 2
        return float(np.sqrt((self.packets * squares).sum() / self.count))

    def percentile_ms(self, percent: float) -> float:
        """A percentile; NaN without packets."""
        if not self.count:
            return NAN
        wanted = self.count * percent / 100.0
        upto = np.cumsum(self.packets)
        bucket = int(np.searchsorted(upto, wanted))
        share = (wanted - (upto[bucket] - self.packets[bucket])) / self.packets[bucket]
        low, high = self.low_ms[bucket], self.high_ms[bucket]
        return float(low + (high - low) * share ** self._bend(bucket))

    def _bend(self, bucket: int) -> float:
        """The power of the share by which delays rise in a bucket, so that its mean is kept.

        1 where they are spread evenly; a queue that ends in the bucket leaves its upper part empty.
        """
        low, high = self.low_ms[bucket], self.high_ms[bucket]
        above = float(np.clip((self.mean_of_bucket_ms[bucket] - low) / (high - low), 0.001, 0.999))
        return 1.0 / above - 1.0

    def over_percent(self, limit_ms: float) -> float:
        """Share of packets that waited so long or longer; the limit is an edge of the buckets."""
        if not self.count:
            return NAN
        return float(100.0 * self.packets[self.low_ms >= limit_ms].sum() / self.count)


def measured(run: Run, flow: str, window: Window) -> dict[str, float]:
    """The figures of one flow in one window."""
    delays = Delays.of(run.table("queue_delay"), flow, window)
    found = {
        "delay_mean_ms": delays.mean_ms,
        "delay_sd_ms": delays.deviation_ms,
        "delay_p98_ms": delays.percentile_ms(98.0),
        "delay_max_ms": float(delays.high_ms[-1]) if delays.count else NAN,
    }
    for limit in DELAY_LIMITS_MS:
        found[f"over_{limit}ms_percent"] = delays.over_percent(limit)
    rates = bitrates_of(run)
    inside = (rates.times_s >= window.start_s) & (rates.times_s < window.stop_s)
    series = rates.series(flow)[inside]
    found["bitrate_mbps"] = float(series.mean()) if len(series) else NAN
    for name, percent in QUARTILES.items():
        found[f"bitrate_{name}_mbps"] = (
            float(np.percentile(series, percent)) if len(series) else NAN
        )
    found["loss_percent"] = loss_percent(run.table("bins"), flow, window)
    possible = total(in_window(run.link(), "bin_start_ns", window), "capacity_bytes")
    carried = found["bitrate_mbps"] * 1e6 / 8.0 * (window.stop_s - window.start_s)
    found["utilization_percent"] = 100.0 * carried / possible if possible else NAN
    return found
