"""Pings of a live run: the client pings the server, and the reply meets the bottleneck's queue.

`ping -D` prints the wall clock's time of each reply, and the round-trip time with three digits: it
is exact to 0.1 ms from 10 ms on and to 1 ms from 100 ms on.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from gameway.live.plan import Plan

REPLY = re.compile(
    r"^\[(?P<seconds>\d+)\.(?P<micros>\d{6})\] \d+ bytes from .*"
    r"icmp_seq=(?P<number>\d+) .*time=(?P<ms>[\d.]+) ms(?P<duplicate> \(DUP!\))?"
)
OUT = "ping.out"
"""The file of what it printed."""
WRAP = 1 << 16
"""Sequence numbers of ICMP echo have 16 bits."""


@dataclass(frozen=True)
class Pong:
    """One ping: when its request left, and its round-trip time; None if it was lost."""

    sent_ns: int
    rtt_ns: int | None


def command(plan: Plan, address: str) -> list[str]:
    """The command that pings until it is interrupted; 84 bytes on the wire, as the simulator's."""
    interval_ns = plan.ping_interval_ns or 0
    return ["ping", "-n", "-D", "-i", f"{interval_ns / 1e9:g}", address]


def told(out: Path, epoch_ns: int, interval_ns: int, stop_ns: int) -> list[Pong]:
    """Read what ping printed into a file, of a run that began at `epoch_ns` of CLOCK_MONOTONIC."""
    epoch_wall_ns = time.time_ns() - time.monotonic_ns() + epoch_ns
    lines = out.read_text(encoding="utf-8", errors="replace").splitlines()
    return read(lines, epoch_wall_ns, interval_ns, stop_ns)


def read(lines: Iterable[str], epoch_wall_ns: int, interval_ns: int, stop_ns: int) -> list[Pong]:
    """Read what ping printed; `epoch_wall_ns` is the wall clock's time of the run's start.

    A request that no line answers left at its interval after the one before it. Requests that a
    reply could not have answered before `stop_ns` are not counted as lost.
    """
    found: dict[int, Pong] = {}
    last = 0
    for line in lines:
        reply = REPLY.match(line)
        if reply is None or reply["duplicate"]:
            continue
        number = _unwrapped(int(reply["number"]), last)
        last = max(last, number)
        rtt_ns = round(float(reply["ms"]) * 1e6)
        came_ns = int(reply["seconds"]) * 10**9 + int(reply["micros"]) * 1000 - epoch_wall_ns
        found[number] = Pong(came_ns - rtt_ns, rtt_ns)
    return _with_lost(found, interval_ns, stop_ns)


def _unwrapped(number: int, last: int) -> int:
    """The number whose last 16 bits came, after (or shortly before) the last one."""
    near = last - last % WRAP + number
    return near + WRAP if near < last - WRAP // 2 else near


def _with_lost(found: dict[int, Pong], interval_ns: int, stop_ns: int) -> list[Pong]:
    if not found:
        return [Pong(at, None) for at in range(0, stop_ns, interval_ns)]
    first, slowest = min(found), max(one.rtt_ns or 0 for one in found.values())
    pings: list[Pong] = []
    number, sent_ns = 1, found[first].sent_ns - (first - 1) * interval_ns
    while number <= max(found) or sent_ns + slowest < stop_ns:
        one = found.get(number, Pong(sent_ns, None))
        pings.append(one)
        number, sent_ns = number + 1, one.sent_ns + interval_ns
    return [one for one in pings if 0 <= one.sent_ns < stop_ns]
