"""Lists and numbers as tables and sentences have them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import polars as pl

from gameway.metrics.statistics import half_width

if TYPE_CHECKING:
    from collections.abc import Sequence

WHOLE_FROM = 9.95
NEVER = "never"
UNKNOWN = "\N{EN DASH}"
# From these sizes on, zero and one decimals make three significant digits.
FULL_FROM = (99.95, 9.995)


def listed(texts: Sequence[str], last: str = "and") -> str:
    """`a`, `a and b`, `a, b and c`."""
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} {last} {texts[-1]}"


def rounded(value: float) -> str:
    """A number as one says it: whole from ten on, else with one decimal."""
    return f"{value:.0f}" if abs(value) >= WHOLE_FROM else f"{value:.1f}"


def number(value: float | None, digits: int | None = None) -> str:
    """A value as text: three significant digits, or `digits` decimals."""
    if value is None:
        return NEVER
    if math.isnan(value):
        return UNKNOWN
    if digits is not None:
        return f"{value:.{digits}f}"
    places = next((n for n, limit in enumerate(FULL_FROM) if abs(value) >= limit), len(FULL_FROM))
    return f"{value:.{places}f}"


def estimate_text(value: float | None, half: float | None) -> str:
    """A mean with the half width of its interval."""
    return f"{number(value)} {spread(value, half)}".rstrip()


def estimate_of(values: pl.Series) -> str:
    """Mean and half width of the 95 % interval of what runs have, as text."""
    known = values.cast(pl.Float64).drop_nulls().drop_nans().to_numpy()
    if not len(known):
        return UNKNOWN
    half = half_width(known)
    return number(float(known.mean())) + (f" ± {number(half)}" if half > 0.0 else "")


def spread(value: float | None, half: float | None) -> str:
    """Half the width of a mean's interval, where it is known."""
    if value is None or half is None or math.isnan(half) or math.isnan(value):
        return ""
    return f"± {number(half)}"
