"""What was there for each flow: its max-min fair share of the links that it passes, bin by bin.

Source: max-min fairness by progressive filling, Bertsekas and Gallager, Data Networks (1992),
section 6.5.2. All flows grow together; one stops when it has what it wants, or when a link that it
passes is full.

| flow | wants |
|---|---|
| stream | its `max_bitrate` from `start` to `stop`, nothing in a pause |
| TCP download | everything, or its `rate_limit`, from `start` to `stop` |
| download of given `bytes`, short downloads | everything in the bins in which it sent |
| UDP | does not yield: what it sent is taken from the links first |

Pings are not counted: 60 bytes a second.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from gameway.metrics.presence import presence
from gameway.metrics.quantities import megabits_per_second
from gameway.metrics.source import competitors, streams, yields

if TYPE_CHECKING:
    import polars as pl

    from gameway.metrics.presence import Spans
    from gameway.metrics.source import Run
    from gameway.metrics.statistics import Floats
    from gameway.metrics.windows import Window

BIN_S = 0.5
NOTHING_LEFT = 1e-6
"""Bytes, below which a link is full and a wish fulfilled."""
PATH, BACK = "path", "back"


@dataclass(frozen=True)
class Shares:
    """Per flow and bin of a window: bytes that reached the client, and the fair share of them.

    A flow has a share of NaN in the bins in which it does not take part.
    """

    received: dict[str, Floats]
    fair: dict[str, Floats]
    steady: list[str]
    """Streams and endless downloads: those whose rates can be compared from second to second."""


Link = tuple[str, float]
Wish = tuple[str, float, tuple[str, ...]]
"""A flow, the bytes that it wants, and the links that it passes."""


def shares_in(run: Run, bins: pl.DataFrame, link: pl.DataFrame, window: Window) -> Shares:
    """The fair shares of all streams and downloads of a run in a window."""
    first, count = round(window.start_s / BIN_S), max(round(window.length_s / BIN_S), 0)
    found = _Bins(first, count)
    capacities = {
        name: found.series(rows, "capacity_bytes") for name, rows in _by_link(link).items()
    }
    hops = [name for name in capacities if name not in {PATH, BACK}]
    sent = {
        str(name): found.series(rows, "sent_bytes")
        for (name,), rows in bins.group_by("flow", maintain_order=True)
    }
    _take_unyielding(run, sent, capacities, hops)
    wishes = {
        str(flow["name"]): (_wish(flow, run, found, sent), _passed(flow, hops, capacities))
        for flow in _yielding(run.spec)
    }
    fair = {name: np.full(count, math.nan) for name in wishes}
    for index in range(count):
        here = tuple((name, float(series[index])) for name, series in capacities.items())
        wanting = tuple(
            (name, float(wish[index]), links)
            for name, (wish, links) in wishes.items()
            if wish[index] > 0.0
        )
        for name, share in max_min(here, wanting).items():
            fair[name][index] = share
    received = {
        str(name): found.series(rows, "received_bytes")
        for (name,), rows in bins.group_by("flow", maintain_order=True)
    }
    nothing = np.zeros(count)
    steady = [str(flow["name"]) for flow in _yielding(run.spec) if not _comes_and_goes(flow)]
    return Shares({name: received.get(name, nothing) for name in wishes}, fair, steady)


@lru_cache(maxsize=4096)
def max_min(capacities: tuple[Link, ...], wishes: tuple[Wish, ...]) -> dict[str, float]:
    """The max-min fair share of each flow."""
    left = dict(capacities)
    share = dict.fromkeys((name for name, _, _ in wishes), 0.0)
    growing = list(wishes)
    while growing:
        users = {name: sum(name in links for _, _, links in growing) for name in left}
        rooms = [left[name] / count for name, count in users.items() if count]
        step = min([*rooms, *(wish - share[name] for name, wish, _ in growing)])
        for name, _, links in growing:
            share[name] += step
            for link in links:
                left[link] -= step
        full = {name for name, room in left.items() if room <= NOTHING_LEFT}
        growing = [
            (name, wish, links)
            for name, wish, links in growing
            if wish - share[name] > NOTHING_LEFT and not full & set(links)
        ]
    return share


@dataclass(frozen=True)
class _Bins:
    first: int
    count: int

    def series(self, rows: pl.DataFrame, column: str) -> Floats:
        """A column as an array over the bins; zero where there is no row."""
        index = (rows["bin_start_ns"].to_numpy() / (BIN_S * 1e9)).round().astype(int) - self.first
        inside = (index >= 0) & (index < self.count)
        found = np.zeros(self.count)
        np.add.at(found, index[inside], rows[column].to_numpy()[inside].astype(float))
        return found

    def within(self, spans: Spans) -> np.typing.NDArray[np.bool_]:
        """The bins of which the greater part lies in one of the spans."""
        middle = (self.first + np.arange(self.count) + 0.5) * BIN_S
        inside = np.zeros(self.count, dtype=bool)
        for span in spans:
            inside |= (middle >= span.start_s) & (middle < span.stop_s)
        return inside


def _by_link(link: pl.DataFrame) -> dict[str, pl.DataFrame]:
    if "link" not in link.columns:
        return {PATH: link}
    return {str(name): rows for (name,), rows in link.group_by("link", maintain_order=True)}


def _yielding(spec: dict[str, Any]) -> list[dict[str, Any]]:
    return [*streams(spec), *(flow for flow in competitors(spec) if yields(flow))]


def _comes_and_goes(flow: dict[str, Any]) -> bool:
    ends = flow.get("bytes") is not None or flow.get("on_off") is not None
    return flow.get("kind") == "short-tcp" or ends


def _take_unyielding(
    run: Run, sent: dict[str, Floats], capacities: dict[str, Floats], hops: list[str]
) -> None:
    for flow in competitors(run.spec):
        taken = sent.get(str(flow["name"]))
        if not yields(flow) and taken is not None:
            for name in _passed(flow, hops, capacities):
                capacities[name] = np.maximum(capacities[name] - taken, 0.0)


def _passed(
    flow: dict[str, Any], hops: list[str], capacities: dict[str, Floats]
) -> tuple[str, ...]:
    """The links that a flow passes, of those that have a capacity."""
    if flow.get("direction") == "up":
        names = [BACK]
    else:
        via = flow.get("via", "all")
        names = [PATH, *hops] if via == "all" else [str(via)]
    return tuple(name for name in names if name in capacities)


def _wish(flow: dict[str, Any], run: Run, bins: _Bins, sent: dict[str, Floats]) -> Floats:
    """Bytes that a flow wants in each bin; zero where it does not take part."""
    if _comes_and_goes(flow):
        there = sent.get(str(flow["name"]), np.zeros(bins.count)) > 0.0
    else:
        there = bins.within(presence(flow, run.windows.run))
    rate = flow.get("max_bitrate") or flow.get("rate_limit")
    wanted = megabits_per_second(rate) * 1e6 / 8.0 * BIN_S if rate else math.inf
    return np.where(there, wanted, 0.0)
