"""Paired differences with bootstrap intervals, and what they say beside a published difference.

Source: Efron and Tibshirani, "An Introduction to the Bootstrap", 1993, chapter 13 (percentile
intervals). Pairs are sessions over the same path with the same random numbers; what is drawn anew
is the paths, so an interval says how far another population of such paths could have differed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from gameway.report.tables import UNKNOWN

if TYPE_CHECKING:
    from gameway.metrics.statistics import Floats

RESAMPLES = 4000
SEED = 13
FEWEST = 5
"""Pairs below which no interval is told."""
FULL_FROM = (99.95, 9.995, 0.9995)
"""From these sizes on, no, one and two decimals are enough."""
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
        return int(self.low > 0.0) - int(self.high < 0.0)

    def __str__(self) -> str:
        """Mean and interval with three digits."""
        if math.isnan(self.low):
            return _signed(self.mean)
        return f"{_signed(self.mean)} [{_signed(self.low)}, {_signed(self.high)}]"


def bootstrap(values: Floats) -> Change:
    """The mean of values with its 95 % percentile interval; NaN values are left out."""
    known = values[~np.isnan(values)]
    if len(known) == 0:
        return Change(math.nan, math.nan, math.nan)
    mean = float(known.mean())
    if len(known) < FEWEST:
        return Change(mean, math.nan, math.nan)
    draws = np.random.default_rng(SEED).integers(0, len(known), (RESAMPLES, len(known)))
    low, high = np.quantile(known[draws].mean(axis=1), (0.025, 0.975))
    return Change(mean, float(low), float(high))


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
    places = next((n for n, limit in enumerate(FULL_FROM) if abs(value) >= limit), len(FULL_FROM))
    return f"{value:+.{places}f}"
