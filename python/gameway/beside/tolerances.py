"""How far a live mean may lie from the simulated one: one table, with the reason of each.

A live mean is within its tolerance if it differs from the simulated mean by at most the larger of
a share of that mean and an absolute difference. The verdict is about the means alone: a wide
interval excuses nothing, and is shown beside it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Tolerance:
    """What is compared, and how far apart the two means may be."""

    metric: str
    label: str
    short: str
    """The label where there is little room: in a terminal."""
    unit: str
    relative: float
    """Of the simulated mean."""
    absolute: float
    """In the metric's unit: what the difference of small means may be."""
    reason: str

    def allowed(self, simulated: float) -> float:
        """The largest difference that is within the tolerance."""
        return max(self.relative * abs(simulated), self.absolute)

    def within(self, simulated: float, live: float) -> bool:
        """Whether a live mean is within the tolerance; what is known on one side only is not."""
        if math.isnan(simulated) or math.isnan(live):
            return math.isnan(simulated) and math.isnan(live)
        return abs(live - simulated) <= self.allowed(simulated)


_QUEUE = "the queue is the same code; its arrivals are the kernel's, and exact to the lateness"
_PLAYER = "the rules and the sizes of segments are the same; a browser takes time of its own"
_ENCODER = "frames of a real encoder scatter otherwise around the same target than recorded ones"

TOLERANCES: tuple[Tolerance, ...] = (
    Tolerance("throughput_mbps", "throughput", "throughput", "Mb/s", 0.05, 0.3,
              "a flow that fills the link must fill it here, too: both obey one capacity"),
    Tolerance("link_utilization_percent", "link utilization", "link in use", "%", 0.0, 3.0,
              "the sum of what the flows have; idle moments show at once"),
    Tolerance("rtt_mean_ms", "round-trip time of pings", "ping", "ms", 0.10, 1.5,
              "base RTT and queue, and less than 1 ms of the kernel's own; ping rounds to 1 ms "
              "from 100 ms on"),
    Tolerance("queue_delay_mean_ms", "mean queueing delay", "queueing delay", "ms", 0.15, 1.0,
              _QUEUE),
    Tolerance("loss_percent", "packet loss", "packet loss", "%", 0.50, 0.3,
              "losses come in few bursts, whose number in a run is a matter of luck"),
    Tolerance("bitrate_mbps", "bitrate of the stream", "bitrate", "Mb/s", 0.10, 0.5, _ENCODER),
    Tolerance("frame_delay_p50_ms", "frame delay, p50", "frame delay p50", "ms", 0.15, 3.0,
              f"{_ENCODER}; a large frame takes longer"),
    Tolerance("frame_delay_p95_ms", "frame delay, p95", "frame delay p95", "ms", 0.25, 6.0,
              "large frames and full queues: the tail is what differs first"),
    Tolerance("displayed_fps", "displayed frame rate", "frame rate", "f/s", 0.02, 1.0,
              "every frame that is complete is decoded in time, or the machine is too slow"),
    Tolerance("never_shown_percent", "frames never shown", "never shown", "%", 0.50, 1.0,
              "follows the losses, frame by frame"),
    Tolerance("quality_level", "quality of the video", "quality", "level", 0.0, 0.5, _PLAYER),
    Tolerance("quality_switches", "changes of quality", "switches", "1", 0.30, 1.0,
              "few in a run; one decision that falls otherwise makes two"),
    Tolerance("interruptions", "interruptions of the video", "interruptions", "1", 0.0, 0.5,
              "where the link carries the lowest level with room to spare there are none"),
    Tolerance("startup_s", "start-up of the video", "start-up", "s", 0.15, 0.3,
              "round trips, the first segment, and what the browser takes to decode it"),
)  # fmt: skip

BY_METRIC = {one.metric: one for one in TOLERANCES}
