"""What is known of a session beside the tables of its parts, as it goes and when it has ended.

An account is one JSON file, so that a session whose process is killed can be completed from what is
on the disk (`unfinished`). A session that ends in order is kept by the same account.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from gameway.errors import InputError
from gameway.lab import keeping
from gameway.live import pings, schema
from gameway.live.competitors import Interval
from gameway.live.merge import BIN_NS, Competition, Parts
from gameway.live.plan import LINK

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import polars as pl

    from gameway.lab.knobs import Traces

FILE = "account.json"
PARTS, RAW = "parts", "raw"
"""Folders of a session: tables of its parts, and what its tools printed."""
TCP_HEADERS = 52
"""Bytes of a segment that are no payload: IPv4 (RFC 791), TCP (RFC 9293), timestamps (RFC 7323)."""
QUIC_HEADERS = 45
"""The same of a datagram, at least: IPv4, UDP (RFC 768), first byte, tag (RFC 9001, 5.3)."""


@dataclass
class Account:
    """See the module's head; times are since the session's start."""

    title: str
    first: dict[str, str]
    """The knobs of the path at the beginning."""
    controller: str
    """At the beginning."""
    traces: Traces
    epoch_wall_ns: int
    """The wall clock's time of the session's start."""
    ping_interval_ns: int | None
    folders: list[str]
    """Of the parts that have tables, the link first."""
    turns: list[tuple[int, dict[str, str]]]
    log: list[tuple[int, str, str]]
    answers: list[tuple[str, str, int, int, str]]
    competitions: dict[str, Competition] = field(default_factory=dict)
    """What came of each download."""
    stays: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    """When each was there."""
    there: dict[str, int] = field(default_factory=dict)
    """Downloads that are there, and since when: what came of them is not known yet."""

    def text(self) -> str:
        """Write it as JSON."""
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def read(cls, file: Path) -> Account:
        """Read what `text` wrote; InputError if that is not there."""
        try:
            found = json.loads(file.read_text(encoding="utf-8"))
            found["competitions"] = {
                name: Competition(one["start_ns"], *(_intervals(one[way]) for way in WAYS))
                for name, one in found["competitions"].items()
            }
            for key in ("turns", "log", "answers"):
                found[key] = [tuple(one) for one in found[key]]
            found["stays"] = {
                name: [(begin, end) for begin, end in spans]
                for name, spans in found["stays"].items()
            }
            return cls(**found)
        except (OSError, ValueError, KeyError, TypeError) as error:
            hint = "nothing of this session can be shown; delete its folder"
            raise InputError(
                f"is no account of a session ({error})", file=file, hint=hint
            ) from None

    def session(self, place: Path, duration_ns: int) -> keeping.Session:
        """Give what there is to keep of a session that has ended, whose folders are in a place."""
        folders = [place / PARTS / name for name in self.folders]
        pongs = self._pongs(place / RAW, duration_ns)
        parts = Parts(duration_ns, folders, self.competitions, pongs)
        # Of several stays the tables have one flow.
        whole = {name: [(all_[0][0], all_[-1][1])] for name, all_ in self.stays.items() if all_}
        played, again = (
            keeping.played(
                self.first, self.controller, duration_ns, self.title,
                keeping.Course(stays, dict(self.turns), self.traces),
            )
            for stays in (whole, self.stays)
        )  # fmt: skip
        return keeping.Session(played, again, parts, self.log, self.answers)

    def cut(self, place: Path) -> int:
        """End the session where the tables do that are in a place; give when that is, ns.

        It was not ended in order.
        """
        link = [place / PARTS / LINK]
        end_ns = _end_ns(place, self.folders)
        bins = schema.read(link, "bins", schema.BINS)
        for name, since_ns in self.there.items():
            if since_ns >= end_ns:
                continue
            before = self.competitions.get(name, Competition(0, []))
            carried = [*before.received, *_carried(bins, name, since_ns)]
            self.competitions[name] = Competition(before.start_ns, carried, before.sent)
            self.stays[name] = [*self.stays.get(name, []), (since_ns, end_ns)]
        self.there = {}
        self.turns = [turn for turn in self.turns if turn[0] < end_ns]
        self.stays = {
            name: found
            for name, spans in self.stays.items()
            if (found := [(a, min(b, end_ns)) for a, b in spans if a < end_ns])
        }
        return end_ns

    def _pongs(self, raw: Path, duration_ns: int) -> list[pings.Pong]:
        file = raw / pings.OUT
        if self.ping_interval_ns is None or not file.is_file():
            return []
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
        return pings.read(lines, self.epoch_wall_ns, self.ping_interval_ns, duration_ns)


WAYS = ("received", "sent")


def _intervals(rows: list[dict[str, Any]]) -> list[Interval]:
    return [Interval(**one) for one in rows]


def _end_ns(place: Path, folders: list[str]) -> int:
    """Until when there are tables: the link's, and the host's if a client was there to the end."""
    link = schema.read([place / PARTS / LINK], "summary", schema.SUMMARY)
    end: int = (link["duration_ns"].tail(1).to_list() or [0])[0]
    parts = [place / PARTS / name for name in folders]
    sent = schema.read(parts, "host_frames", schema.HOST_FRAMES)["captured_ns"].max()
    if isinstance(sent, int) and end - NEAR_NS < sent < end:
        return sent
    return end


NEAR_NS = 5_000_000_000
"""Parts write at times of their own: what ends so near to another ends with it."""


def _carried(bins: pl.DataFrame, name: str, since_ns: int) -> Iterator[Interval]:
    """Payload of a flow, by what the link carried: its own end could not tell any more."""
    headers = QUIC_HEADERS if name.startswith("quic") else TCP_HEADERS
    columns = ("bin_start_ns", "received_bytes", "received_packets")
    for start, size, packets in bins.select(columns, flow="flow").rows_by_key("flow").get(name, []):
        if start + BIN_NS > since_ns and size:
            begin, end = max(start, since_ns) / 1e9, (start + BIN_NS) / 1e9
            yield Interval(begin, end, max(size - headers * packets, 0))
