"""Network metrics of one flow in one window: loss, RTT, queueing delay, utilization.

Sources: loss and RTT, Xu and Claypool 2022, Tables 2 to 5 (loss as the receiver sees it: in the
queue and on the path); shares of queueing delay above a limit, Graff et al. 2025; feedback
overhead, RFC 8868, section 3.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import polars as pl

from gameway.metrics import limits

if TYPE_CHECKING:
    from gameway.metrics.presence import Spans
    from gameway.metrics.windows import Window

DELAY_LIMITS_MS = limits.DELAY_MS
NAN = float("nan")


def loss_percent(bins: pl.DataFrame, flow: str, window: Window) -> float:
    """Packets of a flow dropped by the queue or lost on the path, percent of those sent."""
    rows = in_window(bins, "bin_start_ns", window).filter(pl.col("flow") == flow)
    sent = total(rows, "sent_packets")
    lost = total(rows, "dropped_packets") + total(rows, "lost_packets")
    return 100.0 * lost / sent if sent else NAN


def feedback_overhead_percent(bins: pl.DataFrame, flow: str, window: Window) -> float:
    """Bytes that the receiver of a stream sent back, percent of those that the stream sent."""
    rows = in_window(bins, "bin_start_ns", window).filter(pl.col("flow") == flow)
    sent = total(rows, "sent_bytes")
    return 100.0 * total(rows, "feedback_bytes") / sent if sent else NAN


def rtt_metrics(pings: pl.DataFrame, window: Window) -> dict[str, float]:
    """Mean and standard deviation of the ping RTTs of a window, ms."""
    rtt = in_window(pings, "sent_ns", window)["rtt_ns"].drop_nulls().cast(pl.Float64) / 1e6
    return {
        "rtt_mean_ms": _float(rtt.mean()),
        "rtt_sd_ms": _float(rtt.std()),
    }


def queue_delay_metrics(histogram: pl.DataFrame, flow: str, window: Window) -> dict[str, float]:
    """Mean queueing delay of a flow's packets (ms) and shares above limits (percent).

    From histograms of 5 s, unless a run says otherwise; one belongs to the window in which it
    starts. The limits are edges of its buckets, so the shares are exact.
    """
    rows = in_window(histogram, "window_start_ns", window).filter(pl.col("flow") == flow)
    packets = total(rows, "packets")
    found = {"queue_delay_mean_ms": total(rows, "sum_ns") / packets / 1e6 if packets else NAN}
    for limit in DELAY_LIMITS_MS:
        above = total(rows.filter(pl.col("delay_low_ns") >= limit * 1_000_000), "packets")
        found[f"queue_over_{limit}ms_percent"] = 100.0 * above / packets if packets else NAN
    return found


def link_utilization_percent(link: pl.DataFrame, window: Window) -> float:
    """Bytes that the bottleneck carried, percent of those that it could have carried."""
    rows = in_window(link, "bin_start_ns", window)
    possible = total(rows, "capacity_bytes")
    return 100.0 * total(rows, "transmitted_bytes") / possible if possible else NAN


def capacity_mbps(link: pl.DataFrame, window: Window) -> float:
    """Mean capacity of the bottleneck over a window, Mb/s."""
    rows = in_window(link, "bin_start_ns", window)
    if rows.is_empty():
        return NAN
    return total(rows, "capacity_bytes") * 8.0 / (rows.height * 0.5) / 1e6


def capacity_over(link: pl.DataFrame, spans: Spans) -> float:
    """The same over several spans of time."""
    rates = [(capacity_mbps(link, span), span.length_s) for span in spans]
    known = [(rate, length) for rate, length in rates if not math.isnan(rate)]
    whole = sum(length for _, length in known)
    return sum(rate * length for rate, length in known) / whole if whole else NAN


def in_window(table: pl.DataFrame, time_column: str, window: Window) -> pl.DataFrame:
    """The rows whose time is in the window."""
    start, stop = window.nanoseconds
    return table.filter(pl.col(time_column).is_between(start, stop, closed="left"))


def total(rows: pl.DataFrame, column: str) -> float:
    """Sum of a column of counts or bytes."""
    return float(rows[column].sum())


def _float(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) else NAN
