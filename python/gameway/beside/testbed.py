"""What the machine of a live run added to its path, for the path of the simulated twin.

A simulated link sends each packet at its due time, a live one tens of microseconds later, now and
then some milliseconds, and its devices take some time themselves. To most that is nothing; BBR,
which keeps the highest of ten rounds' rates, makes a standing queue of it. So the twin is given

- jitter: the lateness of the link's wake-ups, drawn for each packet of both directions, and half of
  what the fastest ping took longer than the path. Packets that one late wake-up delayed together
  count once: drawn one by one they would be as many stalls.
- stalls: longer lateness is a processor that ran something else, or, of a virtual machine, did not
  run; the link waits for nothing of its own class (`SCHED_FIFO`). Then neither direction moves. If
  the timers of a connection run on that processor, it does not send either, and what it missed it
  does not catch up; Linux pins them to the processor that armed them, the link's or another, so
  each connection of the twin has an even chance.

Drawn for each packet, stalls were twice as many, and no sender stood still: with ten a second BBR's
simulated queue was 5 to 48 % longer than live (docs/live.md).
A path that has jitter of its own keeps that alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from gameway import _core

if TYPE_CHECKING:
    from pathlib import Path

WAKE_UPS = 2
"""Of the link, for a packet of a direction: when it arrives, and when it leaves."""
STALL_NS = 250_000
"""Lateness from which on it is a stall: longer than to wake up and to handle a batch (160 us at the
99th percentile); an edge of the histogram's buckets."""
CONNECTIONS = "50 %"
"""Chance that a connection's timers run on the link's processor."""
MAX_CONSTANT_NS = 500_000

Buckets = list[tuple[str, str, int]]


def added_to_path(spec: dict[str, Any], run: Path | None) -> dict[str, Any]:
    """Jitter of both directions and stalls, if the path of the spec never has jitter itself."""
    path = spec["path"]
    becomes = any({"jitter", "back"} & set(change) for change in path.get("change") or ())
    table = None if run is None else run / "lateness.parquet"
    if run is None or table is None or not table.is_file() or "jitter" in path or becomes:
        return {}
    link = pl.read_parquet(table).filter(pl.col("part").cast(pl.String) == "link")
    edges = ("lateness_low_ns", "lateness_high_ns")
    counted = link.group_by(edges).agg(pl.col("wake_ups").cast(pl.Int64).sum()).sort(edges)
    if not int(counted["wake_ups"].sum()):
        return {}
    constant = constant_ns(path, run, int(counted["lateness_low_ns"][0]))
    short = _buckets(counted.filter(pl.col("lateness_low_ns") < STALL_NS), constant)
    stalls = counted.filter(pl.col("lateness_low_ns") >= STALL_NS, pl.col("wake_ups") > 0)
    found: dict[str, Any] = {}
    if any(count for _, _, count in short):
        jitter = {"kind": "histogram", "buckets": short, "times": WAKE_UPS}
        found = {"jitter": jitter, "back": {"jitter": jitter} | (path.get("back") or {})}
    if stalls.height:
        found["stalls"] = _stalls(spec, stalls, int(counted["wake_ups"].sum()))
    return found


def _stalls(spec: dict[str, Any], late: pl.DataFrame, wake_ups: int) -> dict[str, Any]:
    """Of late wake-ups: how often they come, and how long.

    A stall began before the first packet that was due in it: by half the time between wake-ups.
    """
    duration_ns = _core.parse_duration(spec["duration"])
    count, before = int(late["wake_ups"].sum()), duration_ns // (2 * wake_ups)
    return {
        "interval": f"{duration_ns // count} ns",
        "lengths": _buckets(late, before),
        "connections": CONNECTIONS,
    }


def _buckets(counted: pl.DataFrame, more_ns: int) -> Buckets:
    """Edges, later by that much, and counts. The last bucket of a histogram has no high edge."""
    return [
        (f"{more_ns + low} ns", f"{more_ns + min(high, 2 * low or high)} ns", count)
        for low, high, count in counted.rows()
    ]


def constant_ns(path: dict[str, Any], run: Path, min_lateness_ns: int) -> int:
    """What comes on top of each wake-up: of what the fastest ping took longer than the path.

    A fastest ping that took half a millisecond longer met a queue, and says nothing; over Wi-Fi it
    took the time of its frames, too, which the twin's medium has itself.
    """
    if "wifi" in path["capacity"]:
        return 0
    file = run / "pings.parquet"
    fastest = pl.read_parquet(file)["rtt_ns"].min() if file.is_file() else None
    if not isinstance(fastest, int):
        return 0
    longer = fastest - _core.parse_duration(path["base_rtt"])
    return max(longer // (2 * WAKE_UPS) - min_lateness_ns, 0) if longer < MAX_CONSTANT_NS else 0
