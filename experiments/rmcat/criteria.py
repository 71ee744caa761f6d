"""What can be judged of a test case: a figure of a run, its limits, and where the limits come from.

RFC 8867 says in words what is expected and gives no numbers. RFC 8868, section 3, gives one: flows
of equal priority and similar round-trip times should have throughputs within a third and three
times of one another. All other limits are ours, and chosen before anything was measured:

| figure | limit | why |
|---|---|---|
| use | 75 % | Pudica and SQP aim at 85 and 90 %, and half of a phase must do for an increase |
| variation | 20 % | the band of the "steady" state of Wang et al. 2024; the video itself has 3 % |
| delay | 100 ms | with 50 ms of propagation 150 ms, which suits most uses (ITU-T G.114) |
| loss | 1 % | the least loss that RFC 8868, 4.4, asks to try |
| kept | 80 % | "little degradation": a fifth |
| floor | 90 % | the least bitrate, but for loss and the encoder's noise |
| below floor | 5 s | "not for long" |
| weight | 1.5 to 2.5 | "about twice": a quarter |
| starved | a third | RFC 8868's guideline, against the max-min fair share |
| not worse | a tenth | with marks against without: in use, delay and shares; in loss 0.1 points |
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gameway.page.words import UNKNOWN, number

if TYPE_CHECKING:
    from .observed import Observed

OURS, RFC_8868 = "ours", "RFC 8868, 3"
MAX_SHOWN = 5
INFINITE = "inf"

Measure = Callable[["Observed", "Observed | None"], Sequence[float]]
"""Figures of a run, and of its twin where the case has one."""


@dataclass(frozen=True)
class Criterion:
    """One part of what is expected; each of its figures must be within the limits, if any."""

    name: str
    unit: str
    words: str
    source: str
    measure: Measure
    min_value: float = -math.inf
    max_value: float = math.inf

    def judged(self, found: Sequence[float]) -> Judged:
        """What the figures of a run amount to."""
        return Judged(self, tuple(found))

    @property
    def judges(self) -> bool:
        """Whether it has a limit."""
        return not (math.isinf(self.max_value) and math.isinf(self.min_value))

    @property
    def limit(self) -> str:
        """The limits in words."""
        if not self.judges:
            return "told, not judged"
        unit = f" {self.unit}" if self.unit else ""
        if math.isinf(self.max_value):
            return f"at least {number(self.min_value)}{unit}"
        if math.isinf(self.min_value):
            return f"at most {number(self.max_value)}{unit}"
        return f"{number(self.min_value)} to {number(self.max_value)}{unit}"


@dataclass(frozen=True)
class Judged:
    """The figures of one criterion in one run, or their means over runs."""

    criterion: Criterion
    figures: tuple[float, ...]
    ranges: tuple[tuple[float, float], ...] = ()
    """Of means over runs: the least and the greatest of each figure."""

    @property
    def known(self) -> bool:
        """Whether there was anything to measure."""
        return bool(self.figures) and not any(map(math.isnan, self.figures))

    @property
    def met(self) -> bool:
        """Whether all figures are within the limits; False if there are none."""
        one = self.criterion
        return self.known and all(
            one.min_value <= figure <= one.max_value for figure in self.figures
        )

    @property
    def worst(self) -> float:
        """The figure that is the farthest outside, or the nearest to a limit."""
        one = self.criterion
        return min(
            self.figures, key=lambda x: min(x - one.min_value, one.max_value - x), default=math.nan
        )

    @property
    def text(self) -> str:
        """All figures if they are few, else the worst."""
        few = self.figures if len(self.figures) <= MAX_SHOWN else (self.worst,)
        return ", ".join(_shown(figure) for figure in few) or UNKNOWN


def mean_of(judged: Sequence[Judged]) -> Judged:
    """The mean of each figure over runs."""
    columns = list(zip(*(one.figures for one in judged), strict=True))
    means = tuple(sum(column) / len(column) for column in columns)
    return Judged(judged[0].criterion, means, tuple((min(c), max(c)) for c in columns))


def _shown(figure: float) -> str:
    if math.isinf(figure):
        return INFINITE
    return UNKNOWN if math.isnan(figure) else number(figure)
