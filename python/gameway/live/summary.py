"""What a link did, in a few lines."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

NANOS = 1e9
MILLION = 1e6
BITS = 8


def quantile(buckets: Sequence[tuple[int, int, int]], share: float) -> float:
    """Give a quantile of a histogram of (low, high, count), evenly spread within a bucket.

    A bucket may come several times, as those of several windows do: it counts as one.
    """
    counts: Counter[tuple[int, int]] = Counter()
    for low, high, count in buckets:
        counts[low, high] += count
    wanted = share * counts.total()
    before = 0
    for (low, high), count in sorted(counts.items()):
        if before + count >= wanted:
            # The last bucket has no end.
            width = min(high, 2 * low or high) - low
            return low + width * (wanted - before) / count
        before += count
    return 0.0


def queueing_delay(folder: Path) -> dict[str, float]:
    """Give mean and quantiles of the queueing delay of all packets, ms."""
    table = pl.read_parquet(folder / "queue_delay.parquet")
    if table.is_empty():
        return {}
    rows: list[tuple[int, int, int]] = table.select(
        "delay_low_ns", "delay_high_ns", "packets"
    ).rows()
    mean = int(table["sum_ns"].sum()) / int(table["packets"].sum())
    found = {"mean": mean, "p95": quantile(rows, 0.95), "p99": quantile(rows, 0.99)}
    return {name: nanos / MILLION for name, nanos in found.items()}


def lines(folder: Path, report: dict[str, Any]) -> list[str]:
    """Tell what a link did."""
    bins = pl.read_parquet(folder / "bins.parquet").sum()
    seconds = report["duration_ns"] / NANOS

    def rate(column: str) -> float:
        return float(int(bins[column][0] or 0) * BITS / seconds / MILLION)

    packets = (
        f"{seconds:.1f} s: {report['arrived_packets']} packets came, "
        f"{report['delivered_packets']} arrived, {report['dropped_packets']} dropped by queues, "
        f"{report['lost_packets']} lost, {int(bins['marked_packets'][0] or 0)} marked"
    )
    rates = (
        f"down {rate('received_bytes'):.2f} Mb/s received of {rate('sent_bytes'):.2f} sent, "
        f"up {rate('feedback_bytes'):.2f} Mb/s sent"
    )
    told = [packets, rates]
    if delay := queueing_delay(folder):
        values = ", ".join(f"{name} {value:.2f}" for name, value in delay.items())
        told.append(f"queueing delay, ms: {values}")
    late = {name: nanos / 1000 for name, nanos in report["lateness"].items() if name != "packets"}
    told.append(
        f"lateness, us: median {late['p50_ns']:.0f}, p99 {late['p99_ns']:.0f}, "
        f"max {late['max_ns']:.0f}"
    )
    return told


WARNINGS = {
    "dropped_by_kernel": "packets were dropped by the kernel in front of the link",
    "refused_by_kernel": "packets were refused by the kernel behind the link",
    "malformed_packets": "packets were no whole IP packets (an MTU above 2048?)",
    "not_captured": "packets are not in the capture: the disk was too slow",
    "no_room": "times there was no memory for a packet",
}


def warnings(report: dict[str, Any]) -> list[str]:
    """Tell what puts a run's figures in doubt."""
    late = report["lateness"]
    found = [f"{report[name]} {text}" for name, text in WARNINGS.items() if report[name]]
    if late["p99_ns"] > late["bound_ns"]:
        found.append(
            f"the 99th percentile of lateness, {late['p99_ns'] / MILLION:.2f} ms, exceeds "
            f"{late['bound_ns'] / MILLION:.0f} ms: this machine is too busy for these figures"
        )
    return found
