"""What the tables of a run have of the gateway's own queue and of games.

| table | what it has here |
|---|---|
| link | `own queue`: its rate as capacity, what went on to the home, what waited at looks |
| queue_delay | flows `own queue, games` and `own queue, others`: what waited at looks |
| bins | the same flows: packets dropped and marked; what was received is told of devices |
| events | of `gateway` queue-renewed (value: how often) |
| games | one row for each time in which a flow was a game |

What a game waited: each reading of what waited in front of the home while it was there, and the
longest wait of games in the own queue in that second. It is null where nothing could tell of the
queue in front.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import polars as pl

from gameway.gateway_record.parts import CLASSES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gameway.gateway_record.lines import Record, Second
    from gameway.gateway_record.parts import Counted, Game

OWN = "own queue"
FLOWS = tuple(f"{OWN}, {name}" for name in CLASSES)
GAMES_SCHEMA: dict[str, pl.DataType | type[pl.DataType]] = {
    "flow": pl.String, "protocol": pl.String, "by": pl.String, "name": pl.String,
    "begin_ns": pl.Int64, "end_ns": pl.Int64, "received_bytes": pl.UInt64,
    "wait_median_ms": pl.Float64, "wait_p99_ms": pl.Float64,
}  # fmt: skip


def grown(before: Counted | None, now: Counted) -> tuple[int, int, int]:
    """Bytes sent, drops and marks since a second; all of them if the queue was put anew."""
    if before is None or now.sent_bytes < before.sent_bytes:
        return now.sent_bytes, now.drops, now.marks
    drops, marks = now.drops - before.drops, now.marks - before.marks
    return now.sent_bytes - before.sent_bytes, max(drops, 0), max(marks, 0)


def changes(
    pairs: Iterable[tuple[Second | None, Second]],
) -> Iterator[tuple[Second, tuple[tuple[int, int, int], ...]]]:
    """Of each second with an own queue what its classes have more than in the one before."""
    for before, second in pairs:
        if second.own is None:
            continue
        is_same = before is not None and before.own is not None and not renewed(before, second)
        known = before.own.classes if is_same else (None,) * len(CLASSES)  # type: ignore[union-attr]
        grew = zip(known, second.own.classes, strict=True)
        yield second, tuple(grown(old, new) for old, new in grew)


def renewed(before: Second | None, second: Second) -> int:
    """How often the queue was put back within a second."""
    if second.own is None:
        return 0
    known = before.own.renewals if before is not None and before.own is not None else 0
    return max(second.own.renewals - known, 0)


@dataclass
class Span:
    """A time in which a flow was a game."""

    game: Game
    begin_ns: int
    end_ns: int = 0
    received_bytes: float = 0.0
    waits_ns: list[int] = field(default_factory=list)

    def go_on(self, game: Game, second: Second) -> None:
        """It is one in this second, too."""
        self.game, self.end_ns = game, second.end_ns
        since = max(second.begin_ns, second.end_ns - game.for_ns)
        self.received_bytes += game.rate_bps * (second.end_ns - since) / 8e9
        looks = second.own.waits_ns if second.own is not None else ()
        own_ns = max((of_games for of_games, _ in looks), default=0)
        self.waits_ns += [wait + own_ns for wait in second.waits_ns]

    def row(self) -> dict[str, Any]:
        """As a row of the table `games`."""
        game, waits = self.game, pl.Series(self.waits_ns, dtype=pl.Float64) / 1e6
        return {
            "flow": f"{game.device} from {game.server} ({game.number})",
            "protocol": game.protocol,
            "by": game.by,
            "name": game.name,
            "begin_ns": self.begin_ns,
            "end_ns": self.end_ns,
            "received_bytes": round(self.received_bytes),
            "wait_median_ms": waits.quantile(0.5, "higher"),
            "wait_p99_ms": waits.quantile(0.99, "higher"),
        }


def games_of(record: Record) -> pl.DataFrame:
    """The table `games`: when flows were games, in the order in which they began."""
    spans: list[Span] = []
    open_: dict[tuple[int, str], Span] = {}
    session = 0
    begin_ns = 0
    for second in record.seconds:
        if second.session != session:
            session, begin_ns, open_ = second.session, second.begin_ns, {}
        now: dict[tuple[int, str], Span] = {}
        for game in second.games:
            key = (game.number, game.by)
            span = open_.get(key)
            if span is None:
                span = Span(game, max(second.end_ns - game.for_ns, begin_ns))
                spans.append(span)
            span.go_on(game, second)
            now[key] = span
        open_ = now
    spans.sort(key=lambda span: span.begin_ns)
    return pl.DataFrame([span.row() for span in spans], schema=GAMES_SCHEMA)
