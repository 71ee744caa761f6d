"""Paired differences with bootstrap intervals, and what they say beside a published difference.

Pairs are sessions over the same path with the same random numbers; what is drawn anew is the
paths (or the repeats, where there is one path), so an interval says how far another population of
such paths could have differed. The interval is that of `gameway.compare.bootstrap`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from gameway.compare.bootstrap import interval
from gameway.page.words import UNKNOWN

if TYPE_CHECKING:
    from gameway.metrics.statistics import Floats

FEWEST = 5
"""Pairs below which no interval is told."""
ROUNDING = 1e-9
"""What is closer to zero than this is zero."""
FULL_FROM = (9.95, 0.995, 0.0995, 0.0005)
"""From these sizes on, no, one, two and three decimals are enough; below is zero."""
SAME_PERCENT = 0.5
"""Published means closer than this are no published difference."""


@dataclass(frozen=True)
class Change:
    """A mean with its 95 % interval; the interval is NaN for too few pairs."""

    mean: float
    low: float
    high: float

    @property
    def sign(self) -> int:
        """1 or -1 where the interval excludes zero, else 0."""
        return int(self.low > ROUNDING) - int(self.high < -ROUNDING)

    def __str__(self) -> str:
        """Mean and interval with two digits."""
        if math.isnan(self.low):
            return _signed(self.mean)
        return f"{_signed(self.mean)} [{_signed(self.low)}, {_signed(self.high)}]"


def bootstrap(values: Floats) -> Change:
    """The mean of values with its 95 % bootstrap interval; NaN values are left out."""
    found = interval(values)
    if found.runs < FEWEST:
        return Change(found.mean, math.nan, math.nan)
    return Change(found.mean, found.low, found.high)


def paired_change(table: pl.DataFrame, column: str, variant: str, base: str) -> Change:
    """How a variant differs from the base in a column: mean over pairs, with interval."""
    sides = [
        table.filter(pl.col("controller") == name).select("pair", pl.col(column).alias(side))
        for name, side in ((variant, "variant"), (base, "base"))
    ]
    both = sides[0].join(sides[1], on="pair")
    return bootstrap((both["variant"] - both["base"]).cast(pl.Float64).drop_nulls().to_numpy())


def verdict(change: Change, published: float, published_base: float) -> str:
    """Whether our difference has the direction of the published one."""
    if abs(published - published_base) * 100.0 <= SAME_PERCENT * abs(published_base):
        return "published: equal" if change.sign else "agrees (equal)"
    if change.sign == 0:
        return "not clear"
    return "agrees" if (published > published_base) == (change.sign > 0) else "differs"


def _signed(value: float) -> str:
    if math.isnan(value):
        return UNKNOWN
    places = next((n for n, limit in enumerate(FULL_FROM) if abs(value) >= limit), None)
    return "0" if places is None else f"{value:+.{places}f}"
