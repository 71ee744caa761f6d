"""When the frames of a recording are sent: on an even grid of places, some of which may be empty.

A stream captures frames at an even rate, so a frame table has a place for each. The frames of a
video with a constant rate fill all places. Where a recorder dropped frames, or a screen did not
change, the video's times are kept: its frames lie at the places nearest to their times, in the
order in which they are sent, and the other places are empty.

| constant | value | origin |
|---|---|---|
| even | no two frames 1.5 mean intervals apart | a dropped frame makes two intervals of one; time stamps of whole milliseconds (Matroska) move a frame by 0.03 intervals at 60 frames/s |
| mean distance from a place | 0.15 intervals | frames that have nothing to do with a grid are 0.25 away; a jitter of 4 ms at 60 frames/s makes 0.12 |
| frames that do not fit | 1 % may be a place or more late | a recorder that catches up sends a few at once |
| snapped | 0.2 % | NTSC's rates are 0.1 % from whole ones |
"""  # noqa: E501 (a table)

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from gameway.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl

NANOSECONDS_PER_SECOND = 1_000_000_000

COMMON_FRAME_RATES = tuple(
    Fraction(rate, divisor)
    for rate, divisor in (
        (24000, 1001), (24, 1), (25, 1), (30000, 1001), (30, 1), (48, 1), (50, 1),
        (60000, 1001), (60, 1), (72, 1), (90, 1), (100, 1), (120, 1), (144, 1), (240, 1),
    )
)  # fmt: skip
_SNAP_RELATIVE = Fraction(2, 1000)
_EVEN = Fraction(3, 2)
_ON_GRID = 0.15
_MISPLACED = 0.01
_SAME_PLACE = 0.5
_SHORT = 1.5
"""Intervals up to so many times the tenth shortest of a hundred are those of frames in a row."""
_MAX_DENOMINATOR = 1001

Times = np.typing.NDArray[np.int64]


@dataclass(frozen=True)
class Places:
    """Where the frames of a recording lie, in the order in which they are sent."""

    rate: Fraction
    """Places per second."""
    of_frames: tuple[int, ...]
    """The place of each frame, from zero, ascending."""

    @property
    def count(self) -> int:
        """How many places there are, empty ones too."""
        return self.of_frames[-1] + 1

    @property
    def empty(self) -> int:
        """How many of them have no frame."""
        return self.count - len(self.of_frames)

    @property
    def seconds(self) -> Fraction:
        """How long all places last."""
        return self.count / self.rate

    def told(self) -> str:
        """Say in words what became of the frames' times."""
        frames = f"{len(self.of_frames)} frames at {float(self.rate):g} frames/s"
        if not self.empty:
            return f"{frames}, evenly spaced"
        return (
            f"{frames}, {self.empty} of {self.count} places without one: not evenly spaced in the "
            "video, they keep their times"
        )


def places_of(
    frames: pl.DataFrame, rate: Fraction | None = None, file: str | Path | None = None
) -> Places:
    """Find the places of the frames of a `frame_sizes` table, at `rate` if that is given.

    InputError if the frames do not fit a grid of that rate, or tell none.
    """
    count = frames.height
    if "pts_ns" not in frames.columns and rate is not None:
        return Places(rate, tuple(range(count)))
    times = np.sort(frames["pts_ns"].to_numpy())
    if rate is None and (even := _even_rate(times)):
        return Places(even, tuple(range(count)))
    grid = rate or _grid_rate(times)
    places = _nearest(times, grid)
    ideal = (times - times[0]) / NANOSECONDS_PER_SECOND * float(grid)
    misplaced = int((np.abs(places - ideal) >= 1.0).sum())
    if misplaced > _MISPLACED * count:
        problem = f"too low for {misplaced} of {count} frames, which follow one another faster"
        hint = f"give a higher one (--frame-rate {_higher(grid)})"
        raise InputError(problem, file=file, field="frame_rate", value=str(grid), hint=hint)
    return Places(grid, tuple(int(place) for place in places))


def mean_rate(times: Times) -> Fraction:
    """Compute the mean frame rate of sorted times, snapped to one in use."""
    span_ns = int(times[-1] - times[0])
    if span_ns <= 0:
        problem = "a frame rate needs two frames at different times"
        raise InputError(problem, field="pts_ns", value=span_ns, hint="give frame_rate")
    return _snapped(Fraction((len(times) - 1) * NANOSECONDS_PER_SECOND, span_ns))


def _snapped(measured: Fraction) -> Fraction:
    nearest = min(COMMON_FRAME_RATES, key=lambda rate: abs(rate - measured))
    if abs(nearest - measured) <= _SNAP_RELATIVE * nearest:
        return nearest
    return measured.limit_denominator(_MAX_DENOMINATOR)


def _even_rate(times: Times) -> Fraction | None:
    rate = mean_rate(times)
    max_ns = int(np.diff(times).max())
    return rate if max_ns * rate <= _EVEN * NANOSECONDS_PER_SECOND else None


def _grid_rate(times: Times) -> Fraction:
    """Find the lowest rate in use on whose grid all frames lie; else that of frames in a row."""
    fitting = [rate for rate in COMMON_FRAME_RATES if _distance(times, rate) <= _ON_GRID]
    if fitting:
        # NTSC's rate and the whole one next to it are told apart by long recordings.
        near = [rate for rate in fitting if rate - fitting[0] <= _SNAP_RELATIVE * rate]
        return min(near, key=lambda rate: _distance(times, rate))
    intervals_ns = np.diff(times)
    in_a_row = intervals_ns[intervals_ns <= _SHORT * np.quantile(intervals_ns, 0.1)]
    mean_ns = max(int(in_a_row.mean()), 1)
    return _snapped(Fraction(NANOSECONDS_PER_SECOND, mean_ns))


def _distance(times: Times, rate: Fraction) -> float:
    """Compute the mean distance of frames from places; infinite where they share places."""
    ideal = (times - times[0]) / NANOSECONDS_PER_SECOND * float(rate)
    if float((np.diff(ideal) < _SAME_PLACE).mean()) > _MISPLACED:
        return math.inf
    return float(np.abs(ideal - np.round(ideal)).mean())


def _nearest(times: Times, rate: Fraction) -> Times:
    """Give each frame the place nearest to its time, but none that is taken or before one."""
    ideal = (times - times[0]) / NANOSECONDS_PER_SECOND * float(rate)
    order = np.arange(len(times))
    # The place after that of the frame before, or its own: a running maximum.
    return np.maximum.accumulate(np.round(ideal).astype(np.int64) - order) + order


def _higher(rate: Fraction) -> Fraction:
    return next((common for common in COMMON_FRAME_RATES if common > rate), 2 * rate)
