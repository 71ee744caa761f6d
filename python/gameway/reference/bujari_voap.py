"""Figures of Bujari, Massaro and Palazzi, "Vegas over Access Point", as their text gives them."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files

import polars as pl

CITATION = (
    "A. Bujari, M. Massaro and C. E. Palazzi, Vegas over Access Point: Making Room for Thin Client "
    "Game Systems in a Wireless Home, IEEE TCSVT"
)
DATA = "bujari_voap.csv"


@lru_cache(maxsize=1)
def values() -> pl.DataFrame:
    """The published values: gateway_or_tcp, metric, value (names as in the file)."""
    text = files(__package__).joinpath(DATA).read_text("utf-8")
    return pl.read_csv(text.encode(), schema_overrides={"value": pl.Float64})


def value(subject: str, metric: str) -> float | None:
    """One published value; None where the publication has none."""
    own = values().filter(gateway_or_tcp=subject, metric=metric)["value"]
    return float(own[0]) if len(own) else None
