"""Means with 95 % intervals over runs, and Jain's index."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from scipy import special

if TYPE_CHECKING:
    from collections.abc import Sequence

CONFIDENCE = 0.95
FEWEST_FOR_SPREAD = 2

Floats = npt.NDArray[np.float64]


@lru_cache(maxsize=4096)
def t_quantile(samples: int) -> float:
    """The two-sided 95 % quantile of Student's t for `samples` runs; NaN below two."""
    if samples < FEWEST_FOR_SPREAD:
        return math.nan
    return float(special.stdtrit(samples - 1, 0.5 + CONFIDENCE / 2.0))


def deviation(values: Floats) -> float:
    """The standard deviation of a population of which `values` are known; NaN below two values."""
    return float(np.std(values, ddof=1)) if len(values) >= FEWEST_FOR_SPREAD else math.nan


def half_width(values: Floats) -> float:
    """Half the width of the 95 % t-interval of the mean of `values`; NaN below two values."""
    if len(values) < FEWEST_FOR_SPREAD:
        return math.nan
    return t_quantile(len(values)) * deviation(values) / math.sqrt(len(values))


def difference_half_width(deviations: tuple[float, float], runs: tuple[int, int]) -> float:
    """Half the width of the 95 % interval of the difference of two independent means.

    `deviations` are the standard deviations over the `runs` of both. A single run has none, and is
    taken to scatter as the other side's do. NaN if both sides have one run, or one has none.

    Source: Welch 1947, "The generalization of 'Student's' problem when several different population
    variances are involved".
    """
    if min(runs) < 1 or max(runs) < FEWEST_FOR_SPREAD:
        return math.nan
    if 1 in runs:
        known = deviations[runs.index(max(runs))]
        return t_quantile(max(runs)) * known * math.sqrt(1.0 / runs[0] + 1.0 / runs[1])
    errors = [own * own / count for own, count in zip(deviations, runs, strict=True)]
    if sum(errors) == 0.0:
        return 0.0
    shares = [error * error / (count - 1) for error, count in zip(errors, runs, strict=True)]
    freedom = sum(errors) ** 2 / sum(shares)
    return float(special.stdtrit(freedom, 0.5 + CONFIDENCE / 2.0)) * math.sqrt(sum(errors))


def wilson_interval(count: int, of: int) -> tuple[float, float]:
    """The 95 % interval of a share of which `count` of `of` were seen; NaN of none.

    Source: Wilson 1927, "Probable inference, the law of succession, and statistical inference".
    """
    if of == 0:
        return math.nan, math.nan
    z = float(special.ndtri(0.5 + CONFIDENCE / 2.0))
    share, weight = count / of, z * z / of
    middle = (share + weight / 2.0) / (1.0 + weight)
    half = z * math.sqrt(share * (1.0 - share) / of + weight / of / 4.0) / (1.0 + weight)
    return max(0.0, middle - half), min(1.0, middle + half)


def jain_index(rates: Sequence[float]) -> float:
    """Jain's fairness index, (sum x)^2 / (n sum x^2): 1 for equal shares, 1/n for one taker.

    Source: Jain, Chiu and Hawe 1984, DEC TR-301. NaN below two flows or without any traffic.
    """
    squares = sum(rate * rate for rate in rates)
    if len(rates) <= 1 or squares == 0.0:
        return math.nan
    return sum(rates) ** 2 / (len(rates) * squares)


def rate_ratio(rates: Sequence[float]) -> float:
    """The largest over the smallest rate; infinite if one has none, NaN below two flows.

    Source: RFC 8868, section 3, where flows of equal priority and similar RTT should be within 3.
    """
    if len(rates) <= 1 or any(map(math.isnan, rates)) or max(rates) == 0.0:
        return math.nan
    return max(rates) / min(rates) if min(rates) > 0.0 else math.inf
