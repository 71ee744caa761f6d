"""What a soak's samples say: whether something grows, creeps or is lost, by stated bounds.

Of a series, what came after the first tenth is judged. Its level is the median. What it changed by
is the larger of two: the slope by Theil and Sen (the median of the slopes of all pairs: Sen,
"Estimates of the regression coefficient based on Kendall's tau", 1968) over the time judged, and
the median of the last tenth less that of the second. The slope finds what creeps, below the noise
of single samples; the tenths find a step, which is no slope. What a busy machine disturbs is not
judged by its change in less than five minutes, of which a tenth is a few noisy samples.

A kept table is judged again by `python soak_judge.py FILE`.
"""

from __future__ import annotations

import csv
import math
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

HOUR_S = 3600.0
TENTH = 10
BLOCKS = 40
MAX_PAIRED = 400
"""Samples whose pairs are looked at; of more, every second one, third one, and so on."""
FEWEST = 2 * TENTH
MOSTLY = 0.9
LONG_S = 300.0


@dataclass(frozen=True)
class Bound:
    """What a series must keep."""

    column: str
    unit: str
    min_value: float
    max_value: float
    change: float = 0.0
    """It may change by so much either way, however short the time."""
    an_hour: float = 0.0
    """And by so much more for each hour."""
    of: str = "median"
    """`median`; `floor`, of what collections of garbage leave: the least of each of forty blocks is
    taken for the series; `last`, of what is counted: the newest value alone, of which there may be
    `an_hour` more for each hour."""
    timed: bool = True
    """Whether a busy machine can break it."""
    gives_back: bool = False
    """Whether it may fall by any amount, as the memory of a browser that empties a cache does. What
    it changed by is then the last tenth less the lowest one."""


@dataclass(frozen=True)
class Verdict:
    """What a series kept."""

    bound: Bound
    level: float
    change: float
    allowed: float
    max_value: float

    @property
    def is_kept(self) -> bool:
        """Whether it did; not a number is none."""
        return (
            self.bound.min_value <= self.level <= self.max_value
            and -self.allowed <= self.change <= self.allowed
        )

    def __str__(self) -> str:
        """Give a row of the table."""
        bound = self.bound
        judged = math.isfinite(self.allowed)
        change = f"{self.change:+12.3f}{self.allowed:11.3f}" if judged else ""
        return (
            f"{bound.column:24}{bound.unit:10}{self.level:12.3f}{bound.min_value:10g}{self.max_value:10g}"
            f"{change:23}{'' if self.is_kept else '   not kept'}"
        )


HEAD = f"{'':24}{'':10}{'level':>12}{'least':>10}{'most':>10}{'change':>12}{'at most':>11}"


def judged(table: Sequence[dict[str, float]], bounds: Sequence[Bound]) -> list[Verdict]:
    """Judge each series; a table of fewer than twenty samples says nothing."""
    assert len(table) >= FEWEST, f"{len(table)} samples are too few"
    return [_verdict(table, bound) for bound in bounds]


def told(verdicts: Sequence[Verdict]) -> str:
    """Give the table that people read."""
    return "\n".join([HEAD, *map(str, verdicts)])


def _verdict(table: Sequence[dict[str, float]], bound: Bound) -> Verdict:
    points = [(row["seconds"], row[bound.column]) for row in table]
    if bound.of == "last":
        seconds, level = points[-1]
        return Verdict(
            bound, level, 0.0, math.inf, bound.max_value + bound.an_hour * seconds / HOUR_S
        )
    points = points[len(points) // TENTH :]
    finite = [point for point in points if math.isfinite(point[1])]
    # In a short interval nothing may have been counted.
    if len(finite) < MOSTLY * len(points):
        return Verdict(bound, math.nan, 0.0, math.inf, bound.max_value)
    points = finite
    if bound.of == "floor":
        points = _floor(points)
    spans = points[-1][0] - points[0][0]
    tenth = max(1, len(points) // (TENTH - 1))
    tenths = [_middle(points[at : at + tenth]) for at in range(0, len(points) - tenth + 1, tenth)]
    last = _middle(points[-tenth:])
    if bound.gives_back:
        change = last - min(*tenths, last)
    else:
        change = max(last - tenths[0], slope(points) * spans, key=abs)
    allowed = bound.change + bound.an_hour * spans / HOUR_S
    if bound.timed and spans < LONG_S * (1 - 2 / TENTH):
        allowed = math.inf
    return Verdict(bound, _middle(points), change, allowed, bound.max_value)


def slope(points: Sequence[tuple[float, float]]) -> float:
    """The slope by Theil and Sen, a second."""
    times, values = np.array(points[:: -(-len(points) // MAX_PAIRED)]).T
    first, second = np.triu_indices(len(times), 1)
    return float(np.median((values[second] - values[first]) / (times[second] - times[first])))


def _middle(points: Sequence[tuple[float, float]]) -> float:
    return median(value for _, value in points)


def _floor(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    length = max(1, len(points) // BLOCKS)
    blocks = (points[at : at + length] for at in range(0, len(points), length))
    return [min(block, key=lambda point: point[1]) for block in blocks]


def read(file: Path) -> list[dict[str, float]]:
    """Read a kept table."""
    with file.open(encoding="utf-8", newline="") as text:
        return [{name: float(value) for name, value in row.items()} for row in csv.DictReader(text)]


if __name__ == "__main__":
    from soak_bounds import BOUNDS

    print(told(judged(read(Path(sys.argv[1])), BOUNDS)))  # noqa: T201
