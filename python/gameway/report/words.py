"""Lists and numbers as sentences have them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

WHOLE_FROM = 9.95


def listed(texts: Sequence[str], last: str = "and") -> str:
    """`a`, `a and b`, `a, b and c`."""
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} {last} {texts[-1]}"


def rounded(value: float) -> str:
    """A number as one says it: whole from ten on, else with one decimal."""
    return f"{value:.0f}" if abs(value) >= WHOLE_FROM else f"{value:.1f}"
