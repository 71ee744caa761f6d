"""What a line of a record has of the own queue, of games and of what told; older ones have none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gameway.gateway_record.lines import Line

MAX_GAMES = 1_000
MAX_LOOKS = 100
MAX_RATE_BPS = 10**13
MAX_WAIT_US = 600_000_000
MAX_FOR_S = 1e9
BEHAVIOUR, DSCP, RULE = "behaviour", "dscp", "rule"
TELLERS = ("tcp", "spin-bit", "pings")
CLASSES = ("games", "others")
COUNTED = ("sent_packets", "sent_bytes", "backlog_bytes", "drops", "marks")


@dataclass(frozen=True)
class Counted:
    """Of a class of the own queue; but for the backlog since the queue is there."""

    sent_packets: int
    sent_bytes: int
    backlog_bytes: int
    drops: int
    marks: int


@dataclass(frozen=True)
class OwnQueue:
    """The gateway's own queue in a second."""

    rate_bps: int
    renewals: int
    waits_ns: tuple[tuple[int, int], ...]
    """What games and others waited at looks of the second."""
    classes: tuple[Counted, Counted]
    """Of games and of others."""


@dataclass(frozen=True)
class Game:
    """A flow that is a game in a second."""

    number: int
    device: str
    server: str
    protocol: str
    by: str
    name: str | None
    """Of a rule or a DSCP."""
    for_ns: int
    rate_bps: int


def own_queue(line: Line) -> OwnQueue | None:
    """The own queue, if there is one."""
    if "own" not in line.content:
        return None
    found = _table(line, "own", ("rate", "renewals", "waits", "game", "others"))
    looks = line.items("own.waits", MAX_LOOKS, found["waits"])
    waits = []
    for at, both in enumerate(looks):
        name = f"own.waits.{at}"
        if not isinstance(both, list) or len(both) != len(CLASSES):
            line.wrong(name, "is no list of what games and others waited", both)
        of_games, of_others = (1000 * line.given_count(name, one, MAX_WAIT_US) for one in both)
        waits.append((of_games, of_others))
    first, second = (_counted(line, f"own.{name}", found[name]) for name in ("game", "others"))
    return OwnQueue(
        line.given_count("own.rate", found["rate"], MAX_RATE_BPS),
        line.given_count("own.renewals", found["renewals"]),
        tuple(waits),
        (first, second),
    )


def told_by(line: Line) -> str | None:
    """What told how long packets waited in front of the home, if it is said."""
    if "by" not in line.content:
        return None
    found = line.text("by")
    if found not in TELLERS:
        line.wrong("by", f"is none of {', '.join(TELLERS)}", found)
    return found


def games(line: Line) -> tuple[Game, ...]:
    """The games, if there are some."""
    if "games" not in line.content:
        return ()
    return tuple(_game(line, at, item) for at, item in enumerate(line.items("games", MAX_GAMES)))


def _table(line: Line, name: str, keys: tuple[str, ...]) -> dict[str, Any]:
    found = line.value(name)
    if not isinstance(found, dict):
        line.wrong(name, "is no JSON object", found)
    for key in keys:
        if found.get(key) is None:
            line.wrong(f"{name}.{key}", "is missing")
    return found


def _counted(line: Line, name: str, item: Any) -> Counted:
    if not isinstance(item, list) or len(item) != len(COUNTED):
        line.wrong(name, f"is no list of {', '.join(COUNTED)}", item)
    return Counted(*(line.given_count(f"{name}.{part}", one)
                     for part, one in zip(COUNTED, item, strict=True)))  # fmt: skip


def _game(line: Line, at: int, item: Any) -> Game:
    parts = ("number", "device", "server", "protocol", "by", "name", "for_s", "rate_bps")
    if not isinstance(item, list) or len(item) != len(parts):
        line.wrong(f"games.{at}", f"is no list of {', '.join(parts)}", item)
    value = dict(zip(parts, item, strict=True))
    name = {part: f"games.{at}.{part}" for part in parts}
    for part in parts:
        if value[part] is None and part != "name":
            line.wrong(name[part], "is missing")
    if value["by"] not in (BEHAVIOUR, DSCP, RULE):
        line.wrong(name["by"], f"is none of {BEHAVIOUR}, {DSCP} and {RULE}", value["by"])
    called = value["name"]
    if called is not None and not isinstance(called, str):
        line.wrong(name["name"], "is no text", called)
    return Game(
        line.given_count(name["number"], value["number"]),
        line.text(name["device"], value["device"]),
        line.text(name["server"], value["server"]),
        line.text(name["protocol"], value["protocol"]),
        value["by"],
        None if called is None else _shown(called),
        round(line.real(name["for_s"], MAX_FOR_S, value["for_s"]) * 1e9),
        line.given_count(name["rate_bps"], value["rate_bps"], MAX_RATE_BPS),
    )


def _shown(name: str) -> str:
    """A rule is called as its owner likes: what no terminal should get is left out."""
    return "".join(one if one.isprintable() else "?" for one in name)
