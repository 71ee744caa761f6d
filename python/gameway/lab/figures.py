"""What the panel shows of the path: rates of the last second and the queue, as the link tells."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

from gameway.live.plan import PING

SPAN_NS = 1_000_000_000
"""Rates are of so long."""
MBPS = 1e6
MS = 1e6
KB = 1e3


@dataclass
class Figures:
    """Totals of the last second."""

    told: deque[dict[str, Any]] = field(default_factory=deque)

    def add(self, told: dict[str, Any]) -> None:
        """Note what the link tells."""
        self.told.append(told)
        while len(self.told) > 2 and told["now_ns"] - self.told[1]["now_ns"] >= SPAN_NS:  # noqa: PLR2004
            self.told.popleft()

    def now(self) -> dict[str, Any] | None:
        """Give the figures; None before there are any."""
        if not self.told:
            return None
        old, new = self.told[0], self.told[-1]
        seconds = max(new["now_ns"] - old["now_ns"], 1) / 1e9
        before = {flow["name"]: flow for flow in old["flows"]}
        # Who never sent anything is not there.
        flows = [flow for flow in new["flows"] if flow["arrived_bytes"] and flow["name"] != PING]
        queue = new["queue"]
        return {
            "seconds": round(new["now_ns"] / 1e9, 1),
            "capacity_mbps": round(new["capacity_bps"] / MBPS, 3),
            "queue_ms": round(queue["delay_ns"] / MS, 2),
            "queue_kb": round(queue["bytes"] / KB, 1),
            "flows": [_flow(before.get(flow["name"], flow), flow, seconds) for flow in flows],
        }


def _flow(old: dict[str, Any], new: dict[str, Any], seconds: float) -> dict[str, Any]:
    arrived = new["arrived_bytes"] - old["arrived_bytes"]
    gone = sum(new[key] - old[key] for key in ("dropped_packets", "lost_packets"))
    return {"name": new["name"], "mbps": round(arrived * 8 / seconds / MBPS, 2), "dropped": gone}
