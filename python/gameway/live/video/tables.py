"""From what a player's page told to the tables of a run, as the simulator's player writes them.

A segment counts as displayed when its first picture is on the screen. Of answers for one segment
that is the last that had come by then at a level of the picture's height; another was replaced, or
too late to replace it.

An interruption is a picture that came later than its place in the video, or a wait that the end of
the run cut off. The events `waiting` and `playing` of a browser's video element are no such
measure: where one picture waited for 0.8 s there were eight, seven of them of 10 ms or less.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from gameway.errors import GamewayError
from gameway.live import schema

if TYPE_CHECKING:
    from collections.abc import Iterator

KBPS_PER_MBPS = 1000.0
FATES = {"abandoned": "abandoned", "failed": "timed out"}


@dataclass(frozen=True)
class Clock:
    """From the page's clock to the run's."""

    epoch_wall_ms: float

    def ns(self, wall_ms: float) -> int:
        """Nanoseconds since the run's start."""
        return round((wall_ms - self.epoch_wall_ms) * 1e6)


@dataclass
class Asked:
    """One request for a segment, and what became of it."""

    segment: int
    level: int
    requested_ns: int
    first_byte_ns: int | None = None
    complete_ns: int | None = None
    received: int = 0
    fate: str | None = None
    displayed_ns: int | None = None


@dataclass
class Story:
    """What a page told, in order."""

    asked: dict[int, Asked] = field(default_factory=dict)
    pictures: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Of each segment: when its first picture was on the screen, and its height."""
    events: list[tuple[int, str, float]] = field(default_factory=list)
    states: list[tuple[int, str, float]] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def write(told: list[dict[str, Any]], clock: Clock, config: dict[str, Any]) -> dict[str, Any]:
    """Write the tables of a player; give what happened in short."""
    story = read(told, clock, [height for _, height, _ in config["levels"]])
    if not story.asked:
        why = story.errors[0] if story.errors else "it asked for no segment"
        raise GamewayError(f"the player showed nothing: {why}")
    folder, flow = Path(config["folder"]), config["flow"]
    rows = [(flow, *row) for row in segments(story, config["sizes"], config["levels"])]
    _save(folder, "segments", schema.SEGMENTS, rows)
    events = [(at, flow, what, value) for at, what, value in story.events]
    _save(folder, "events", schema.EVENTS, events)
    states = [(flow, at, name, value) for at, name, value in story.states]
    _save(folder, "controller", schema.CONTROLLER, states)
    return {"requests": len(story.asked), "displayed": len(story.pictures), "errors": story.errors}


def _save(folder: Path, name: str, columns: schema.Schema, rows: list[Any]) -> None:
    pl.DataFrame(rows, schema=columns, orient="row").write_parquet(folder / f"{name}.parquet")


def read(told: list[dict[str, Any]], clock: Clock, heights: list[int]) -> Story:
    """Sort what a page told."""
    story = Story()
    playback = _Playback(story)
    for one in told:
        at, what = clock.ns(one["at"]), one["what"]
        if what == "request":
            story.asked[one["number"]] = Asked(one["segment"], one["level"], at)
        elif what == "answer":
            _answer(story.asked[one["number"]], one, at, clock)
        elif what == "picture":
            if one["height"] not in heights:
                problem = f"the player showed pictures {one['height']} high, and no level has such"
                raise GamewayError(problem)
            story.pictures.setdefault(one["segment"], (at, one["height"]))
        elif what == "stood":
            playback.on_stood(at, one["milliseconds"])
        elif what == "state":
            story.states.extend((at, name, value) for name, value in _state(one))
        elif what == "error":
            story.errors.append(str(one["words"]))
        else:
            playback.on(what, at)
    _find_fates(story, heights)
    return story


def _answer(asked: Asked, told: dict[str, Any], at: int, clock: Clock) -> None:
    asked.received = int(told["bytes"])
    first = told["first"]
    asked.first_byte_ns = None if first is None else clock.ns(first)
    if told["fate"] == "complete":
        asked.complete_ns = at
    else:
        asked.fate = FATES[told["fate"]]


def _state(told: dict[str, Any]) -> Iterator[tuple[str, float]]:
    values = {
        "buffer_level_s": told["buffer"],
        "throughput_estimate_mbps": (told["throughput"] or math.nan) / KBPS_PER_MBPS,
        "level": told["level"],
    }
    # Not everything is known from the first moment on.
    yield from ((name, float(value)) for name, value in values.items() if not math.isnan(value))


@dataclass
class _Playback:
    """When it played and when it waited."""

    story: Story
    opened_ns: int = 0
    started: bool = False
    waiting_ns: int | None = None
    over: bool = False

    def on(self, what: str, at: int) -> None:
        """The page was opened or closed, or the video element told something."""
        if what == "opened":
            self.opened_ns = at
        elif what == "waiting" and self.started and not self.over:
            self.waiting_ns = self.waiting_ns or at
        elif what == "playing" and not self.started:
            self.started = True
            waited_s = (at - self.opened_ns) / 1e9
            self.story.events.append((at, "playback-started", waited_s))
        elif what == "playing":
            self.waiting_ns = None
        elif what == "closed" and self.waiting_ns is not None:
            self._halted(self.waiting_ns, at)
        elif what == "ended":
            self.over = True
            self.story.events.append((at, "playback-ended", 0.0))

    def on_stood(self, at: int, milliseconds: float) -> None:
        """A picture came late; what was before the first one is the start-up."""
        self.waiting_ns = None
        if self.started and not self.over:
            self._halted(at - round(milliseconds * 1e6), at)

    def _halted(self, since: int, until: int) -> None:
        length_s = (until - since) / 1e9
        self.story.events += [(since, "interrupted", 0.0), (until, "resumed", length_s)]


def _find_fates(story: Story, heights: list[int]) -> None:
    for segment in {asked.segment for asked in story.asked.values()}:
        came = [one for one in story.asked.values()
                if one.segment == segment and one.complete_ns is not None]  # fmt: skip
        shown = story.pictures.get(segment)
        chosen = None if shown is None else _shown(came, heights, *shown)
        for one in came:
            one.fate = _fate(one, chosen, shown)
        if chosen is not None and shown is not None:
            chosen.displayed_ns = shown[0]
    for one in story.asked.values():
        one.fate = one.fate or "unfinished"


def _shown(came: list[Asked], heights: list[int], at: int, height: int) -> Asked | None:
    """Of answers for a segment, the one whose picture came on the screen."""
    fitting = [one for one in came
               if heights[one.level - 1] == height and (one.complete_ns or 0) <= at]  # fmt: skip
    return fitting[-1] if fitting else None


def _fate(one: Asked, chosen: Asked | None, shown: tuple[int, int] | None) -> str:
    if one is chosen:
        return "displayed"
    if shown is None:
        return "buffered"
    return "replaced" if (one.complete_ns or 0) <= shown[0] else "too late"


def segments(
    story: Story, sizes: list[list[int]], levels: list[list[int]]
) -> Iterator[tuple[object, ...]]:
    """One row per request, without the flow."""
    for one in story.asked.values():
        yield (
            one.segment, one.level, levels[one.level - 1][2], sizes[one.level - 1][one.segment],
            one.received, one.requested_ns, one.first_byte_ns, one.complete_ns, one.displayed_ns,
            one.fate,
        )  # fmt: skip
