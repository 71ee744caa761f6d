"""The lines that a gateway records, checked: crates/product/router/src/recording.rs writes them.

A line that is no JSON is one that was cut if the file ends with it or a gateway began anew behind
it: it is left out, and counted. Anything else that is wrong is an error that names line and field.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from gameway.errors import InputError
from gameway.gateway_record import parts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gameway.gateway_record.parts import Game, OwnQueue

VERSION = 1
MAX_LINE = 65_536
"""Bytes of a line; fifty connections have 5 kB."""
MAX_FLOWS = 1_000
MAX_WAITS = 100
MAX_NAME = 100
MAX_WAIT_MS = 600_000.0
MAX_RATE_BPS = 10**13
MAX_COUNT = 2**53
MAX_LIMIT = 2**64 - 1
MAX_T_S = 1e9
MAX_PAUSE_S = 86_400.0
"""Between two seconds that have a line."""
MAX_DURATION_S = 7 * 86_400.0
HINT = "give a file that `gameway-gateway up --record FILE` wrote"
FIRST = "gateway_record"
NANOS = 1_000_000_000


@dataclass(frozen=True)
class Flow:
    """A connection in a second."""

    number: int
    device: str
    server: str
    rate_bps: int
    limit_bytes: int | None


@dataclass(frozen=True)
class Second:
    """What was so in a second; times are nanoseconds since the record's beginning."""

    begin_ns: int
    end_ns: int
    waits_ns: tuple[int, ...]
    told_by: str | None
    """What told the last of these; None if nothing did."""
    to_bps: int
    from_bps: int
    segments: int
    lowered: int
    lost: int
    skipped: int
    flows: tuple[Flow, ...]
    own: OwnQueue | None
    games: tuple[Game, ...]
    session: int
    """How often the gateway had begun anew before."""


@dataclass
class Record:
    """A whole file."""

    home: str
    addresses: bool
    began_s: float
    """Seconds since 1970."""
    seconds: list[Second] = field(default_factory=list)
    sessions: int = 0
    cut_lines: int = 0

    @property
    def duration_ns(self) -> int:
        """From the beginning to the last second."""
        return self.seconds[-1].end_ns


class Line:
    """A line with its place, for errors."""

    def __init__(self, file: Path, number: int, bytes_: bytes) -> None:
        self.file = file
        self.number = number
        self.is_whole = bytes_.endswith(b"\n")
        self.content = _parsed(bytes_)
        if len(bytes_) > MAX_LINE:
            self.wrong(None, f"is longer than {MAX_LINE} bytes")

    @property
    def is_first(self) -> bool:
        """Whether a gateway begins with it."""
        return isinstance(self.content, dict) and FIRST in self.content

    def wrong(self, name: str | None, problem: str, value: object = None) -> NoReturn:
        """Refuse the line."""
        raise InputError(
            problem, file=self.file, line=self.number, field=name, value=value, hint=HINT
        )

    def value(self, name: str) -> Any:
        """Give what it has under a name."""
        if name not in self.content:
            self.wrong(name, "is missing")
        return self.content[name]

    def real(self, name: str, max_value: float, value: Any = None) -> float:
        """Give a number from 0 on: that of the name, or this one."""
        found = self.value(name) if value is None else value
        is_number = isinstance(found, (int, float)) and not isinstance(found, bool)
        if not is_number or not math.isfinite(found) or not 0 <= found <= max_value:
            self.wrong(name, f"is no number between 0 and {max_value:g}", found)
        return float(found)

    def count(self, name: str, max_value: int = MAX_COUNT, value: Any = None) -> int:
        """Give a whole number from 0 on: that of the name, or this one."""
        found = self.value(name) if value is None else value
        if not isinstance(found, int) or isinstance(found, bool) or not 0 <= found <= max_value:
            self.wrong(name, f"is no whole number between 0 and {max_value}", found)
        return found

    def given_count(self, name: str, value: Any, max_value: int = MAX_COUNT) -> int:
        """Give this one, which a name in a list or table stands for."""
        if value is None:
            self.wrong(name, "is missing")
        return self.count(name, max_value, value)

    def text(self, name: str, value: Any = None) -> str:
        """Give a text that a terminal may show."""
        found = self.value(name) if value is None else value
        if not isinstance(found, str) or not 0 < len(found) <= MAX_NAME or not found.isprintable():
            self.wrong(name, f"is no text of 1 to {MAX_NAME} characters", found)
        return found

    def items(self, name: str, max_length: int, value: Any = None) -> list[Any]:
        """Give a list."""
        found = self.value(name) if value is None else value
        if not isinstance(found, list) or len(found) > max_length:
            self.wrong(name, f"is no list of at most {max_length}", found)
        return found

    def flow(self, at: int, item: Any) -> Flow:
        """Give a connection."""
        of_flow = ("number", "device", "server", "rate_bps", "limit_bytes")
        if not isinstance(item, list) or len(item) != len(of_flow):
            self.wrong(f"flows.{at}", f"is no list of {', '.join(of_flow)}", item)
        names = [f"flows.{at}.{part}" for part in of_flow]
        for name, one in zip(names[:-1], item, strict=False):
            if one is None:
                self.wrong(name, "is missing")
        limit = None if item[4] is None else self.count(names[4], MAX_LIMIT, item[4])
        return Flow(
            self.count(names[0], value=item[0]),
            self.text(names[1], item[1]),
            self.text(names[2], item[2]),
            self.count(names[3], MAX_RATE_BPS, item[3]),
            limit,
        )


def _parsed(line: bytes) -> Any:
    """Give a line's content; None if it is no JSON."""

    def refuse(_constant: str) -> NoReturn:
        raise ValueError

    try:
        return json.loads(line, parse_constant=refuse)
    except (ValueError, RecursionError):
        return None


def read(file: Path) -> Record:
    """Read a whole file."""
    reader = _Reader(file)
    for line, following in _pairs(file):
        if line.content is None:
            is_cut = following.is_first if following is not None else not line.is_whole
            if not is_cut or reader.record is None:
                line.wrong(None, "is no JSON")
            reader.record.cut_lines += 1
        elif not isinstance(line.content, dict):
            line.wrong(None, "is no JSON object")
        elif line.is_first:
            reader.begin(line)
        else:
            reader.go_on(line)
    if reader.record is None or not reader.record.seconds:
        raise InputError("has no second in it", file=file, hint=HINT)
    return reader.record


def _pairs(file: Path) -> Iterator[tuple[Line, Line | None]]:
    """Give each line with the one behind it; one that a gateway ended by a new line is none."""
    try:
        with file.open("rb") as lines:
            before, number = None, 0
            while found := lines.readline(MAX_LINE + 1):
                number += 1
                line = Line(file, number, found)
                if before is not None:
                    yield before, line
                before = line
            if before is not None:
                yield before, None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=file, hint=HINT) from None


class _Reader:
    """Puts the sessions of a file one behind the other."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.record: Record | None = None
        self.begin_ns = 0
        """Of the session, since the record's beginning."""
        self.newest_ns = 0

    def begin(self, line: Line) -> None:
        version = line.count(FIRST)
        if version != VERSION:
            line.wrong(FIRST, f"is a version that is not known here, which is {VERSION}", version)
        began_s = line.real("began_s", 1e11)
        home, addresses = line.text("home"), line.value("addresses")
        if not isinstance(addresses, bool):
            line.wrong("addresses", "is neither true nor false", addresses)
        if self.record is None:
            self.record = Record(home, addresses, began_s)
        # A clock that was set back puts a session right behind the one before.
        self.begin_ns = max(round((began_s - self.record.began_s) * NANOS), self.newest_ns)
        if self.begin_ns - self.newest_ns > MAX_PAUSE_S * NANOS:
            problem = "is more than a day behind the line before; give each evening its own file"
            line.wrong("began_s", problem, began_s)
        self.newest_ns = self.begin_ns
        self.record.sessions += 1

    def go_on(self, line: Line) -> None:
        if self.record is None:
            line.wrong(FIRST, "is missing in the first line")
        end_ns = self.begin_ns + round(line.real("t", MAX_T_S) * NANOS)
        known = self.record.seconds
        is_first = not known or known[-1].session != self.record.sessions
        if end_ns < self.newest_ns or (end_ns == self.newest_ns and not is_first):
            line.wrong("t", "is not later than in the line before", line.value("t"))
        if end_ns - self.newest_ns > MAX_PAUSE_S * NANOS or end_ns > MAX_DURATION_S * NANOS:
            line.wrong("t", "is more than a day later, or beyond a week", line.value("t"))
        waits = [line.real(f"waits.{at}", MAX_WAIT_MS, one) if one is not None
                 else line.wrong(f"waits.{at}", "is missing")
                 for at, one in enumerate(line.items("waits", MAX_WAITS))]  # fmt: skip
        flows = [line.flow(at, one) for at, one in enumerate(line.items("flows", MAX_FLOWS))]
        known.append(
            Second(
                self.newest_ns,
                end_ns,
                tuple(round(wait * 1e6) for wait in waits),
                parts.told_by(line) if waits else None,
                line.count("to", MAX_RATE_BPS),
                line.count("from", MAX_RATE_BPS),
                line.count("segments"),
                line.count("lowered"),
                line.count("lost"),
                line.count("skipped") if "skipped" in line.content else 0,
                tuple(flows),
                parts.own_queue(line),
                parts.games(line),
                self.record.sessions,
            )
        )
        self.newest_ns = end_ns
