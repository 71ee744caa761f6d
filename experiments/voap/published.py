"""Figures of Bujari, Massaro and Palazzi, "Vegas over Access Point", as their text gives them."""

from __future__ import annotations

from pathlib import Path

from gameway.published import value_of

CITATION = (
    "A. Bujari, M. Massaro and C. E. Palazzi, Vegas over Access Point: Making Room for Thin Client "
    "Game Systems in a Wireless Home, IEEE TCSVT"
)
FOLDER = Path(__file__).parent


def value(subject: str, metric: str) -> float | None:
    """One published value; None where the publication has none."""
    return value_of(FOLDER, gateway_or_tcp=subject, metric=metric)
