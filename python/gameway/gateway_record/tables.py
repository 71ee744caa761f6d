"""The tables of a run, as far as a gateway's record has them; what it does not see is null.

| table | what it has here |
|---|---|
| bins | TCP that passed: of each device at home what came to it; `other`: what is in no line of its own; `from the home` |
| link | `path`: what came to the home |
| queue_delay | flow `home`: readings of how long packets waited in front of the home, at most ten a second, in the place of packets |
| controller | stream `gateway`: the newest reading, connections limited, windows lowered; each limited connection's limit |
| events | limited (value: the limit in bytes), released; lost-records, skipped-seconds (value: how many); restarted; told-by-… where something else tells what packets wait: tcp, spin-bit, pings or nothing |

What is told of the gateway's own queue and of games: module `own`.

A second is put into the bins that it touches by the share of it that lies in each.
"""  # noqa: E501 (tables)

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import polars as pl

from gameway import _core
from gameway.gateway_record.own import FLOWS, OWN, changes, games_of, renewed
from gameway.live.schema import SIMULATED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gameway.gateway_record.lines import Flow, Record, Second

BIN_NS = _core.BIN_NS
WINDOW_NS = 5_000_000_000
TOLD_BY, NOTHING = "told-by-", "nothing"
HOME, OTHER, UPWARDS, LINK, GATEWAY = "home", "other", "from the home", "path", "gateway"
MAX_DEVICES = 20
"""Devices that are told apart, those with the most; what others had is `other`."""
EDGES_NS = [0] + [
    round(1000 * step * 10**power)
    for power in range(8)
    for step in (1, 1.25, 1.6, 2, 2.5, 3.2, 4, 5, 6.3, 8)
]
"""Of the histograms of queueing delay: docs/results.md."""


def tables_of(record: Record) -> dict[str, pl.DataFrame]:
    """Give all tables of the run."""
    bins = _bins(record)
    rows: dict[str, list[dict[str, Any]]] = {
        "frames": [],
        "pings": [],
        "bins": [
            {"bin_start_ns": at * BIN_NS, "flow": flow, "received_bytes": round(count)}
            for (at, flow), count in sorted(bins.items())
            if flow != LINK and round(count)
        ]
        + list(_losses(record)),
        "link": [
            {"bin_start_ns": at * BIN_NS, "link": LINK, "transmitted_bytes": round(count)}
            for (at, flow), count in sorted(bins.items())
            if flow == LINK
        ]
        + list(_own_link(record)),
        "queue_delay": list(_delays(record)),
        "controller": list(_states(record)),
        "events": sorted(_events(record), key=lambda one: one["time_ns"]),
        "summary": [{"duration_ns": record.duration_ns, "seed": 0}],
    }
    tables = {name: pl.DataFrame(rows[name], schema=schema) for name, schema in SIMULATED.items()}
    games = games_of(record)
    return tables | ({} if games.is_empty() else {"games": games})


def device_of(flow: Flow, record: Record) -> str:
    """Give a device's name: of an address, without the port of its connection."""
    return flow.device.rpartition(":")[0] if record.addresses else flow.device


def _devices(record: Record) -> set[str]:
    """Give those with the most."""
    had: dict[str, int] = defaultdict(int)
    for second in record.seconds:
        for flow in second.flows:
            had[device_of(flow, record)] += flow.rate_bps
    return set(sorted(had, key=lambda device: -had[device])[:MAX_DEVICES])


def _bins(record: Record) -> dict[tuple[int, str], float]:
    """Give bytes by bin and flow; the link's sum, too."""
    known = _devices(record)
    found: dict[tuple[int, str], float] = defaultdict(float)
    for second in record.seconds:
        rates: dict[str, int] = defaultdict(int)
        for flow in second.flows:
            device = device_of(flow, record)
            rates[device if device in known else OTHER] += flow.rate_bps
        rates[OTHER] += max(second.to_bps - sum(rates.values()), 0)
        rates |= {UPWARDS: second.from_bps, LINK: second.to_bps}
        for at, span_ns in _touched(second):
            for flow_name, rate in rates.items():
                found[at, flow_name] += rate * span_ns / 8e9
    return found


def _touched(second: Second) -> Iterator[tuple[int, int]]:
    """Give the bins that a second touches, and how much of each."""
    begin = second.begin_ns
    while begin < second.end_ns:
        at = begin // BIN_NS
        end = min((at + 1) * BIN_NS, second.end_ns)
        yield at, end - begin
        begin = end


def _own_link(record: Record) -> Iterator[dict[str, Any]]:
    """The own queue as a bottleneck: its rate, what went on from it, what waited."""
    sums: dict[int, list[float]] = defaultdict(lambda: [0.0, 0.0])
    waiting: dict[int, list[float]] = defaultdict(list)
    for second, grew in changes(_pairs(record)):
        if second.own is None:
            continue
        sent, length_ns = sum(count for count, _, _ in grew), second.end_ns - second.begin_ns
        looks = [sum(both) * second.own.rate_bps / 8e9 for both in second.own.waits_ns]
        for at, span_ns in _touched(second):
            sums[at][0] += second.own.rate_bps * span_ns / 8e9
            sums[at][1] += sent * span_ns / length_ns
            waiting[at] += looks
    for at, (capacity, sent_bytes) in sorted(sums.items()):
        looks = waiting[at]
        yield {
            "bin_start_ns": at * BIN_NS,
            "link": OWN,
            "capacity_bytes": round(capacity),
            "transmitted_bytes": round(sent_bytes),
            "queue_max_bytes": round(max(looks)) if looks else None,
            "queue_mean_bytes": sum(looks) / len(looks) if looks else None,
        }


def _losses(record: Record) -> Iterator[dict[str, Any]]:
    """What was dropped and marked in the own queue, in the last bin of each second."""
    found: dict[tuple[int, str], list[int]] = defaultdict(lambda: [0, 0])
    for second, grew in changes(_pairs(record)):
        at = max(second.end_ns - 1, 0) // BIN_NS
        for flow, (_, drops, marks) in zip(FLOWS, grew, strict=True):
            if drops or marks:
                found[at, flow][0] += drops
                found[at, flow][1] += marks
    for (at, flow), (drops, marks) in sorted(found.items()):
        yield {
            "bin_start_ns": at * BIN_NS, "flow": flow,
            "dropped_packets": drops, "marked_packets": marks,
        }  # fmt: skip


def _waits(second: Second) -> Iterable[tuple[str, int]]:
    """Flows and what waited of them."""
    yield from ((HOME, wait) for wait in second.waits_ns)
    for look in second.own.waits_ns if second.own is not None else ():
        yield from zip(FLOWS, look, strict=True)


def _delays(record: Record) -> Iterator[dict[str, Any]]:
    found: dict[tuple[int, str, int], list[int]] = defaultdict(list)
    for second in record.seconds:
        for flow, wait in _waits(second):
            # What is longer than the last bucket counts as the longest there.
            counted = min(wait, EDGES_NS[-1] - 1)
            bucket = bisect_right(EDGES_NS, counted) - 1
            found[second.end_ns // WINDOW_NS, flow, bucket].append(counted)
    for (window, flow, bucket), waits in sorted(found.items()):
        yield {
            "window_start_ns": window * WINDOW_NS,
            "flow": flow,
            "delay_low_ns": EDGES_NS[bucket],
            "delay_high_ns": EDGES_NS[bucket + 1],
            "packets": len(waits),
            "sum_ns": sum(waits),
        }


def _pairs(record: Record) -> Iterator[tuple[Second | None, Second]]:
    """Give each second with the one before, if that is of the same session."""
    before = None
    for second in record.seconds:
        is_same = before is not None and before.session == second.session
        yield (before if is_same else None), second
        before = second


def _states(record: Record) -> Iterator[dict[str, Any]]:
    for before, second in _pairs(record):
        limited = [one for one in second.flows if one.limit_bytes is not None]
        values: dict[str, float] = {"limited_connections": len(limited)}
        if second.waits_ns:
            values["wait_in_front_ms"] = second.waits_ns[-1] / 1e6
        if before is not None:
            values["lowered_windows"] = max(second.lowered - before.lowered, 0)
        states = [(GATEWAY, name, value) for name, value in values.items()]
        states += [(_name(one), "limit_bytes", float(one.limit_bytes or 0)) for one in limited]
        for stream, variable, value in states:
            yield {"stream": stream, "time_ns": second.end_ns, "variable": variable, "value": value}


def _name(flow: Flow) -> str:
    return f"{flow.device} from {flow.server} ({flow.number})"


def _events(record: Record) -> Iterator[dict[str, Any]]:
    for before, second in _pairs(record):
        for flow, event, value in _happened(before, second):
            yield {"time_ns": second.end_ns, "flow": flow, "event": event, "value": value}
    for time_ns, told_by in _tellers(record):
        event = f"{TOLD_BY}{told_by or NOTHING}"
        yield {"time_ns": time_ns, "flow": GATEWAY, "event": event, "value": 0.0}


def _tellers(record: Record) -> Iterator[tuple[int, str | None]]:
    """From when on what tells how long packets wait; nothing does between two sessions."""
    newest: str | None = None
    end_ns = 0
    for before, second in _pairs(record):
        if before is None and newest is not None:
            yield end_ns, None
            newest = None
        if second.told_by != newest:
            yield second.begin_ns, second.told_by
        newest, end_ns = second.told_by, second.end_ns


def _happened(before: Second | None, second: Second) -> Iterator[tuple[str, str, float]]:
    if before is None and second.session > 1:
        yield GATEWAY, "restarted", 0.0
    known = {} if before is None else {
        one.number: one for one in before.flows if one.limit_bytes is not None
    }  # fmt: skip
    limited = {one.number: one for one in second.flows if one.limit_bytes is not None}
    for number, one in limited.items():
        if number not in known:
            yield _name(one), "limited", float(one.limit_bytes or 0)
    for number, one in known.items():
        if number not in limited:
            yield _name(one), "released", 0.0
    lost = second.lost - (0 if before is None else before.lost)
    if lost > 0:
        yield GATEWAY, "lost-records", float(lost)
    if renewals := renewed(before, second):
        yield GATEWAY, "queue-renewed", float(renewals)
    if second.skipped:
        yield GATEWAY, "skipped-seconds", float(second.skipped)
