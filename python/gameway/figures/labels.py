"""Places for the names of points, so that no name covers a point or another name.

Greedy: names are placed one after the other, each at the nearest free place around its point.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

LETTER, LINE = 6.6, 14.0
"""Width of a letter and height of a line of 12 px text."""
POINT, ARM = 5.0, 1.0
"""Half the size of a point and half the thickness of an arm of its cross."""
DISTANCES = (9.0, 16.0, 26.0, 38.0, 52.0, 68.0, 86.0)
ANGLES = (0, 180, -35, 35, 145, -145, -90, 90, -60, 60, 120, -120)
"""Where a name may stand, in degrees from the point; right and left are read most easily."""
CLOSE = 12.0
"""A name at most this far from its point needs no line to it."""


Box = tuple[float, float, float, float]
"""Left, top, right, bottom."""


@dataclass(frozen=True)
class Label:
    """A name to be placed beside a point; all lengths in pixels, y downwards."""

    text: str
    x: float
    y: float
    cross: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)
    """How far the arms of its cross reach: left, up, right, down."""

    @property
    def covered(self) -> list[Box]:
        """What the point and its cross cover."""
        left, up, right, down = self.cross
        return [
            (self.x - POINT, self.y - POINT, self.x + POINT, self.y + POINT),
            (self.x - left, self.y - ARM, self.x + right, self.y + ARM),
            (self.x - ARM, self.y - up, self.x + ARM, self.y + down),
        ]

    @property
    def width(self) -> float:
        """Its width on the page."""
        return LETTER * len(self.text)


@dataclass(frozen=True)
class Placed:
    """A name with the middle of its left edge, and whether it needs a line to its point."""

    text: str
    left: float
    y: float
    far: bool

    @property
    def box(self) -> Box:
        """The area that it covers."""
        return (
            self.left,
            self.y - LINE / 2,
            self.left + LETTER * len(self.text),
            self.y + LINE / 2,
        )


def place(labels: Sequence[Label], width: float, height: float) -> list[Placed]:
    """A place for each name inside an area, the most crowded points first."""
    points = [box for one in labels for box in one.covered]
    order = sorted(range(len(labels)), key=lambda index: _room(labels, index))
    found: dict[int, Placed] = {}
    for index in order:
        taken = [*points, *(placed.box for placed in found.values())]
        found[index] = _nearest_free(labels[index], taken, width, height)
    return [found[index] for index in range(len(labels))]


def _room(labels: Sequence[Label], index: int) -> float:
    own = labels[index]
    others = [one for place, one in enumerate(labels) if place != index]
    return min((math.hypot(one.x - own.x, one.y - own.y) for one in others), default=math.inf)


def _nearest_free(label: Label, taken: Sequence[Box], width: float, height: float) -> Placed:
    best, min_cost = None, math.inf
    for distance in DISTANCES:
        for angle in ANGLES:
            placed = _at(label, distance, angle)
            cost = sum(_overlap(placed.box, box) for box in taken) + _outside(
                placed.box, width, height
            )
            if cost < min_cost - 1e-9:
                best, min_cost = placed, cost
        if min_cost <= 0.0:
            break
    return best or _at(label, DISTANCES[0], 0)


def _at(label: Label, distance: float, angle: int) -> Placed:
    x = label.x + distance * math.cos(math.radians(angle))
    y = label.y + distance * math.sin(math.radians(angle))
    upright = abs(angle) == 90  # noqa: PLR2004 (above or below: centred)
    share = 0.5 if upright else 0.0 if abs(angle) < 90 else 1.0  # noqa: PLR2004 (right or left)
    return Placed(label.text, x - share * label.width, y, distance > CLOSE)


def _overlap(first: Box, second: Box) -> float:
    wide = min(first[2], second[2]) - max(first[0], second[0])
    high = min(first[3], second[3]) - max(first[1], second[1])
    return wide * high if wide > 0.0 and high > 0.0 else 0.0


def _outside(box: Box, width: float, height: float) -> float:
    beyond = (-box[0], -box[1], box[2] - width, box[3] - height)
    return 100.0 * sum(max(side, 0.0) for side in beyond)
