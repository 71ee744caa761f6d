"""A warning of conditions that show one phase of a resonance.

Where a frame does not fit the queue that it shares with TCP, and round trips are about as long as
the time from frame to frame, each frame meets the same part of the download's window. Which part
depends on a millisecond of base RTT: a download beside GCC at 25 Mb/s with 25 kB of queue has 6.9
Mb/s at 14 ms and 0.7 at 18.8 ms (experiments/xu-claypool-2022). Repeats of one RTT do not show it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gameway import _core
from gameway.expansion.base_rtt import NOMINAL
from gameway.metrics.quantities import seconds
from gameway.metrics.source import competitors, runs_by_condition, streams, yields
from gameway.metrics.table import per_run_table

if TYPE_CHECKING:
    from gameway.metrics.source import ResultFolder, Run

NEAR = 2.0
"""Round trips up to so many frame intervals, and down to as small a part of one, are as long."""
PACKET_BYTES = 1500
DEFAULT_FRAME_RATE = 60


def one_phase_warning(results: ResultFolder) -> str:
    """Say how many conditions were run at one base RTT where another may give other rates."""
    conditions = [runs[0] for runs in runs_by_condition(results)]
    shallow = [run for run in conditions if _may_lock(run.spec)]
    if not shallow:
        return ""
    rates = per_run_table(results)
    found = sum(_frame_exceeds_queue(run, rates) for run in shallow)
    if not found:
        return ""
    return (
        f"In {found} of {len(conditions)} conditions a frame is larger than the queue that it "
        "shares with TCP, and every repeat has the same base RTT, of about a frame interval: "
        "frames and round trips can lock, and another RTT may give other rates. "
        'path.base_rtt_spread = "10 %" runs the repeats over several.'
    )


def _may_lock(spec: dict[str, Any]) -> bool:
    path = spec["path"]
    if (
        not spec.get("stream")
        or NOMINAL in path
        or not any(yields(one) for one in competitors(spec))
    ):
        return False
    intervals = [1.0 / (one.get("frame_rate") or DEFAULT_FRAME_RATE) for one in streams(spec)]
    rtt = seconds(path["base_rtt"])
    return any(interval / NEAR <= rtt <= interval * NEAR for interval in intervals)


def _frame_exceeds_queue(run: Run, rates: Any) -> bool:
    room = _queue_bytes(run.spec["path"])
    if room is None:
        return False
    own = dict(rates.filter(run=run.id).select("stream", "competing_bitrate_mbps").iter_rows())
    return any(
        own.get(str(one["name"]), 0.0) * 1e6 / 8 / (one.get("frame_rate") or DEFAULT_FRAME_RATE)
        > room
        for one in streams(run.spec)
    )


def _queue_bytes(path: dict[str, Any]) -> int | None:
    """What a drop-tail queue at a constant capacity holds."""
    queue, capacity = path["queue"], path["capacity"]
    if not isinstance(capacity, str) or queue.get("kind") != "drop-tail" or "size" not in queue:
        return None
    size = str(queue["size"])
    byte = _core.queue_bytes(size, capacity, path["base_rtt"])
    return PACKET_BYTES * int(size.split(maxsplit=1)[0]) if byte is None else byte
