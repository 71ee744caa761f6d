"""What the tables of one run say about the flows of a test case.

Sources: RFC 8868, section 3 (what is measured); RFC 8867, section 4 (media, capacities). RFC 8868
takes rates in 200 ms; here they are those of the 0.5 s bins that every result folder has.

A *phase* is a time in which the capacities and the flows stay the same; its *settled* part is its
second half. What media *could* carry in a phase is what the bottleneck leaves beside UDP, at most
the sum of their greatest bitrates. These three are ours.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from gameway.metrics import network
from gameway.metrics.presence import common, presence, within
from gameway.metrics.quantities import megabits_per_second, seconds
from gameway.metrics.series import Bitrates, bitrates_from
from gameway.metrics.source import competitors, link_of, rows_of_link, streams, yields
from gameway.metrics.statistics import jain_index
from gameway.metrics.windows import Window

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt

    from gameway.metrics.source import Run

MIN_PHASE_S = 10.0
SETTLED = 0.5
FULL = 100.0
PERCENTILE = 0.95
FLOOR_WINDOW_S = 2.0
FLOOR_SHARE = 0.9
"""A stream is at its floor, and not below, down to this share of its least bitrate."""

Flow = dict[str, Any]


@dataclass(frozen=True)
class Observed:
    """One run of a test case."""

    spec: dict[str, Any]
    bins: pl.DataFrame
    link: pl.DataFrame
    queue_delay: pl.DataFrame

    @classmethod
    def of(cls, run: Run) -> Observed:
        """Read a run."""
        return cls(run.spec, run.table("bins"), run.table("link"), run.table("queue_delay"))

    @cached_property
    def whole(self) -> Window:
        """From begin to end."""
        return Window(0.0, seconds(self.spec["duration"]))

    @cached_property
    def media(self) -> list[Flow]:
        """The streams."""
        return streams(self.spec)

    @cached_property
    def rivals(self) -> list[Flow]:
        """The TCPs."""
        return [flow for flow in competitors(self.spec) if yields(flow)]

    @cached_property
    def bitrates(self) -> Bitrates:
        """Received bitrates of all flows."""
        return bitrates_from(self.bins, self.whole.stop_s)

    def rate(self, flow: Flow, window: Window) -> float:
        """Mean received bitrate of a flow in the part of a window in which it is there, Mb/s."""
        return self.bitrates.mean_over(
            str(flow["name"]), within(presence(flow, self.whole), window)
        )

    def together(self) -> Window:
        """The settled part of the last time in which all streams are there."""
        return settled(common(presence(flow, self.whole) for flow in self.media)[-1])

    def phases(self) -> list[Window]:
        """The phases that are not too short."""
        flows = [*self.media, *competitors(self.spec)]
        moments = {0.0, self.whole.stop_s, *_capacity_changes(self.spec["path"])}
        # Short TCPs and audio come with the media.
        for flow in flows:
            moments |= {edge for span in presence(flow, self.whole) for edge in _edges(span)}
        times = sorted(moment for moment in moments if moment <= self.whole.stop_s)
        spans = (Window(a, b) for a, b in itertools.pairwise(times))
        return [span for span in spans if span.length_s >= MIN_PHASE_S]

    def there(self, window: Window, link: str) -> list[Flow]:
        """The streams of a bottleneck that are there in a whole window."""
        return [flow for flow in self.media if link_of(flow) == link and self._lasts(flow, window)]

    def _lasts(self, flow: Flow, window: Window) -> bool:
        inside = within(presence(flow, self.whole), window)
        return len(inside) == 1 and inside[0] == window

    def could_mbps(self, link: str, media: Sequence[Flow], window: Window) -> float:
        """What media could carry over a bottleneck: what UDP and TCP leave, up to their maximum."""
        max_mbps = sum(megabits_per_second(flow["max_bitrate"]) for flow in media)
        rows = rows_of_link(self.link, link) if link in set(self.link["link"]) else None
        if rows is None:
            return max_mbps
        others = sum(
            _or_zero(self.bitrates.mean(str(flow["name"]), window))
            for flow in competitors(self.spec)
            if link_of(flow) == link or (link != "back" and flow.get("via", "all") == "all"
                                         and flow.get("direction", "down") == "down")
        )  # fmt: skip
        return min(max_mbps, network.capacity_mbps(rows, window) - others)

    def used_percent(self, link: str, media: Sequence[Flow], window: Window) -> float:
        """What media carry of what they could, percent."""
        could = self.could_mbps(link, media, window)
        carried = sum(self.rate(flow, window) for flow in media)
        return FULL * carried / could if could > 0.0 else math.nan

    def used_by_phase(self) -> list[float]:
        """The same in the settled part of each phase, of each direction that has media."""
        return [self.used_percent(link, media, part) for link, media, part in self._parts()]

    def used_together(self) -> list[float]:
        """The same while all streams are there, of each direction that has media."""
        part = self.together()
        links = dict.fromkeys(link_of(flow) for flow in self.media)
        return [self.used_percent(link, self.there(part, link), part) for link in links]

    def variations_percent(self) -> list[float]:
        """The greatest coefficient of variation of a stream in each settled part, percent."""
        return [
            max(self._variation(flow, part) for flow in media) for _, media, part in self._parts()
        ]

    def _variation(self, flow: Flow, part: Window) -> float:
        _, rates = self.bitrates.while_there(str(flow["name"]), [part])
        return FULL * float(rates.std(ddof=1) / rates.mean()) if rates.mean() > 0.0 else math.inf

    def _parts(self) -> Iterator[tuple[str, list[Flow], Window]]:
        links = dict.fromkeys(link_of(flow) for flow in self.media)
        for phase in self.phases():
            for link in links:
                media = self.there(phase, link)
                if media:
                    yield link, media, settled(phase)

    def delay_p95_ms(self, flows: Sequence[Flow] | None = None) -> float:
        """95th percentile of the queueing delay of media packets, linear within its bucket."""
        names = [str(flow["name"]) for flow in (self.media if flows is None else flows)]
        rows = self.queue_delay.filter(pl.col("flow").is_in(names))
        edges = ["delay_low_ns", "delay_high_ns"]
        buckets = rows.group_by(edges).agg(pl.col("packets").sum()).sort(edges)
        packets = buckets["packets"].to_numpy().astype(np.float64)
        if not len(packets):
            return math.nan
        wanted = PERCENTILE * packets.sum()
        index = int(np.searchsorted(packets.cumsum(), wanted))
        low, high = (float(buckets[name][index]) for name in edges)
        inside = (wanted - packets[:index].sum()) / packets[index]
        return low / 1e6 + float(inside) * (high - low) / 1e6

    def loss_percent(self) -> float:
        """Lost packets of all media, percent of those sent."""
        names = [str(flow["name"]) for flow in self.media]
        rows = self.bins.filter(pl.col("flow").is_in(names))
        lost = network.total(rows, "dropped_packets") + network.total(rows, "lost_packets")
        sent = network.total(rows, "sent_packets")
        return FULL * lost / sent if sent else math.nan

    def shares(self) -> list[float]:
        """Rates of the streams while all of them are there, Mb/s."""
        part = self.together()
        return [self.rate(flow, part) for flow in self.media]

    def jain(self) -> float:
        """Jain's index of these."""
        return jain_index(self.shares())

    def tcp_mbps(self) -> float:
        """What the TCPs carry together while all streams are there, Mb/s."""
        part = self.together()
        return sum(_or_zero(self.bitrates.mean(str(flow["name"]), part)) for flow in self.rivals)

    def floor_percent(self) -> float:
        """Rate of the least stream while all are there, percent of its least bitrate."""
        part = self.together()
        return min(FULL * self.rate(flow, part) / megabits_per_second(flow["min_bitrate"])
                   for flow in self.media)  # fmt: skip

    def below_floor_s(self) -> float:
        """The longest time for which a stream's mean over 2 s is below its least bitrate."""
        return max(self._below_floor_s(flow) for flow in self.media)

    def _below_floor_s(self, flow: Flow) -> float:
        width = round(FLOOR_WINDOW_S / 0.5)
        floor = FLOOR_SHARE * megabits_per_second(flow["min_bitrate"])
        _, rates = self.bitrates.while_there(str(flow["name"]), presence(flow, self.whole))
        # A stream that has just started has nothing on the way yet.
        means = np.convolve(rates[2:], np.ones(width) / width, mode="valid")
        longest = _longest_run(means < floor)
        return 0.5 * (longest + width - 1) if longest else 0.0


def settled(phase: Window) -> Window:
    """The settled part of a phase."""
    return Window(phase.start_s + SETTLED * phase.length_s, phase.stop_s)


def _edges(span: Window) -> tuple[float, float]:
    return span.start_s, span.stop_s


def _capacity_changes(path: dict[str, Any]) -> set[float]:
    tables = [path, *path.get("hop", ()), path.get("back", {})]
    steps = (table["capacity"] for table in tables if isinstance(table.get("capacity"), dict))
    return {seconds(time) for table in steps for time, _ in table.get("steps", ())}


def _or_zero(value: float) -> float:
    return 0.0 if math.isnan(value) else value


def _longest_run(flags: npt.NDArray[np.bool_]) -> int:
    longest = length = 0
    for flag in flags:
        length = length + 1 if flag else 0
        longest = max(longest, length)
    return longest
