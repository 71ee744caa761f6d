"""From what two pages told to the tables of a stream's host and client (`gameway.live.schema`).

A frame is known by its RTP timestamp from the encoder on, and by its number when it is captured.
The encoder's side tells both its RTP timestamp and that of its picture, which the page has chosen.
What a browser does not tell is null.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from gameway.errors import GamewayError
from gameway.live import schema
from gameway.live.chromium.streams import CPU_LIMITED, ENCODER_SHORT
from gameway.live.chromium.told import Sent

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from gameway.live.chromium.told import Captured, Got, Passed, Told

UNTOLD = "this Chromium does not tell of which picture an encoded frame is"
RTP: schema.Schema = {"frame": pl.UInt32, "rtp": pl.UInt32, "source": pl.UInt32}
"""The table `rtp` of the part, by which the link's packets find their frames."""
MAX_LIMITED = 0.02
MIN_OF_TARGET = 0.9
SETTLED_S = 2.0
"""An encoder may need so long to follow its first targets."""


@dataclass(frozen=True)
class Clock:
    """From a page's clock to the run's."""

    origin_ms: float
    epoch_ns: int

    def ns(self, wall_ms: float) -> int:
        """Nanoseconds since the run's start."""
        return round((wall_ms - self.origin_ms) * 1e6) - self.epoch_ns


def write(told: Told, clocks: Mapping[str, Clock], config: dict[str, Any]) -> dict[str, Any]:
    """Write the tables; give what happened in short."""
    if not told.captured or not told.encoded:
        raise GamewayError("the browser encoded nothing: no frame left its page")
    folder, name = Path(config["folder"]), config["stream"]
    sender, receiver = clocks["sending"], clocks["receiving"]
    numbers = numbered(told.captured, told.encoded)
    hosts = [row for row in _host_rows(name, told, numbers, sender) if row[2] < config["stop_ns"]]
    clients = _client_rows(name, told, numbers, (receiver, config["end_ns"]))
    # There is one session.
    _save(folder, "host_frames", schema.HOST_FRAMES, [(one, 0, *row) for one, *row in hosts])
    _save(folder, "client_frames", schema.CLIENT_FRAMES, [(one, 0, *row) for one, *row in clients])
    rtp = [(number, one.rtp, one.source) for number, one in numbers.items()]
    _save(folder, "rtp", RTP, rtp)
    end_ns, interval_ns = config["end_ns"], config["interval_ns"]
    states = [*_sender_states(told.sent, sender), *_receiver_states(told.got, receiver)]
    spaced = _spaced((one for one in states if one[0] < end_ns), interval_ns)
    _save(folder, "controller", schema.CONTROLLER, [(name, *row) for row in spaced])
    found = [*_skipped(told, numbers, sender), *_asked(told.sent, sender),
             *_freezes(told.got, receiver), *limits(told, sender)]  # fmt: skip
    events = [(min(at, end_ns), name, what, value) for at, what, value in found]
    _save(folder, "events", schema.EVENTS, events)
    return {"captured": len(told.captured), "encoded": len(told.encoded), "shown": len(told.shown)}


def _save(folder: Path, name: str, columns: schema.Schema, rows: list[Any]) -> None:
    pl.DataFrame(rows, schema=columns, orient="row").write_parquet(folder / f"{name}.parquet")


def numbered(captured: Sequence[Captured], encoded: Sequence[Passed]) -> dict[int, Passed]:
    """Give the encoded frames by the numbers of their captures."""
    frames = {one.timestamp: one.frame for one in captured}
    found: dict[int, Passed] = {}
    for one in encoded:
        if one.timestamp is None:
            raise GamewayError(f"{UNTOLD}; version 156 does")
        if one.timestamp not in frames:
            told = f"the encoded frame at {one.rtp} (RTP) is of a picture at {one.timestamp} us"
            raise GamewayError(f"{told}, at which none was captured")
        found[frames[one.timestamp]] = one
    return found


NOTHING = Sent(what="sent", at=0.0)
"""What statistics say that were never read."""


def _host_rows(
    name: str, told: Told, numbers: Mapping[int, Passed], clock: Clock
) -> Iterator[tuple[Any, ...]]:
    """One row for each encoded frame. Its targets are those that were last told before it."""
    at = {one.frame: clock.ns(one.at) for one in told.captured}
    sampled = [one.at for one in told.sent]
    for number, one in sorted(numbers.items()):
        sample = told.sent[max(bisect_right(sampled, one.at) - 1, 0)] if sampled else NOTHING
        yield (
            name, number, at[number], _whole(sample.available),
            _whole(sample.target), one.bytes, None, None, None, one.key,
            clock.ns(one.at) - at[number], None, None,
        )  # fmt: skip


def _client_rows(
    name: str, told: Told, numbers: Mapping[int, Passed], until: tuple[Clock, int]
) -> Iterator[tuple[object, ...]]:
    """One row for each frame of which the receiver knew when the run ended."""
    clock, end_ns = until
    shown = _moments(((one.rtp, one.at) for one in told.shown), clock, end_ns)
    came = ((one.rtp, one.at if one.came is None else one.came) for one in told.received)
    whole = _moments(came, clock, end_ns)
    for number, one in sorted(numbers.items()):
        complete, decoded = whole.get(one.rtp), shown.get(one.rtp)
        if complete is not None or decoded is not None:
            yield name, number, None, None, complete, decoded, None, None


def _moments(told: Iterable[tuple[int, float]], clock: Clock, end_ns: int) -> dict[int, int]:
    """When each timestamp was first told of, before the end."""
    found: dict[int, int] = {}
    for rtp, wall_ms in told:
        at = clock.ns(wall_ms)
        if at < end_ns:
            found.setdefault(rtp, at)
    return found


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)


State = tuple[int, str, float]


def _sender_states(sent: Sequence[Sent], clock: Clock) -> Iterator[State]:
    before: Sent | None = None
    for one in sent:
        at = clock.ns(one.at)
        values = {
            "target_bps": one.available,
            "encoder_target_bps": one.target,
            "round_trip_ms": None if one.round_trip is None else 1e3 * one.round_trip,
            "picture_height": one.height,
        }
        if before is not None:
            frames = _rise(before.encoded, one.encoded)
            values["encode_ms"] = _over(_rise(before.encoding, one.encoding), frames, 1e3)
            values["quantizer"] = _over(_rise(before.quantizer, one.quantizer), frames)
        before = one
        yield from ((at, name, float(value)) for name, value in values.items() if value is not None)


def _receiver_states(got: Sequence[Got], clock: Clock) -> Iterator[State]:
    before: Got | None = None
    for one in got:
        if before is not None:
            at = clock.ns(one.at)
            waited = _over(
                _rise(before.waited, one.waited), _rise(before.emitted, one.emitted), 1e3
            )
            took = _over(
                _rise(before.decoding, one.decoding), _rise(before.decoded, one.decoded), 1e3
            )
            if waited is not None:
                yield at, "jitter_buffer_ms", waited
            if took is not None:
                yield at, "decode_ms", took
        before = one


def _spaced(states: Iterable[State], interval_ns: int) -> Iterator[State]:
    """At most one state of each variable in an interval, by time."""
    last: dict[str, int] = {}
    for at, name, value in sorted(states, key=lambda state: state[0]):
        if at >= 0 and at // interval_ns > last.get(name, -1):
            last[name] = at // interval_ns
            yield at, name, value


def _rise(before: float | None, now: float | None) -> float | None:
    return None if before is None or now is None or now < before else now - before


def _over(sum_: float | None, count: float | None, unit: float = 1.0) -> float | None:
    return None if sum_ is None or not count else unit * sum_ / count


def _skipped(told: Told, numbers: Mapping[int, Passed], clock: Clock) -> Iterator[State]:
    """Pictures that were captured and never encoded, but for the last, which may be under way."""
    last = max(numbers)
    for one in told.captured:
        if one.frame not in numbers and one.frame < last:
            yield clock.ns(one.at), "frame-skipped", 0.0


def _asked(sent: Sequence[Sent], clock: Clock) -> Iterator[State]:
    """Key frames that the receiver asked for, when it was first seen."""
    for before, one in pairwise(sent):
        for _ in range(round(_rise(before.asked, one.asked) or 0)):
            yield clock.ns(one.at), "key-frame-request", 0.0


def _freezes(got: Sequence[Got], clock: Clock) -> Iterator[State]:
    for before, one in pairwise(got):
        if _rise(before.freezes, one.freezes):
            frozen_ms = 1e3 * (_rise(before.frozen, one.frozen) or 0.0)
            yield clock.ns(one.at), "freeze", frozen_ms


def limits(told: Told, clock: Clock) -> Iterator[State]:
    """Whether the encoder was the limit, not the controller: said at the last look."""
    own = [one for one in told.sent if told.captured[0].at <= one.at <= told.captured[-1].at]
    if len(own) < 2:  # noqa: PLR2004 (a span has two ends)
        return
    at, seconds = clock.ns(own[-1].at), (own[-1].at - own[0].at) / 1e3
    limited = (_rise(own[0].cpu, own[-1].cpu) or 0.0) / seconds
    if limited > MAX_LIMITED:
        yield at, CPU_LIMITED, limited
    share = of_target(told, own)
    if share is not None and share < MIN_OF_TARGET:
        yield at, ENCODER_SHORT, share


def of_target(told: Told, own: Sequence[Sent]) -> float | None:
    """What the encoder gave of what it was asked for, once it had time to follow."""
    settled = [one for one in own if one.at >= own[0].at + 1e3 * SETTLED_S]
    pairs = list(pairwise(settled))
    asked = sum((one.target or 0.0) * (after.at - one.at) / 1e3 for one, after in pairs)
    if not asked:
        return None
    since, until = settled[0].at, settled[-1].at
    given = 8.0 * sum(one.bytes for one in told.encoded if since <= one.at < until)
    return given / asked
