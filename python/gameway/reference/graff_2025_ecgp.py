"""The tables of Graff et al., eCGP: drop-tail, HTB and L4S for cloud gaming (ICCRG, March 2025)."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files

import polars as pl

CITATION = (
    "P. Graff, X. Marchal, T. Cholez, B. Mathieu and O. Festor, Improving Cloud Gaming traffic "
    "QoS: a comparison between HTB and L4S, ICCRG at IETF 122, March 2025"
)
DATA = "graff_2025_ecgp.csv"


@lru_cache(maxsize=1)
def values() -> pl.DataFrame:
    """The published values: traffic, queueing, competitor, metric, value (names as in the file)."""
    text = files(__package__).joinpath(DATA).read_text("utf-8")
    return pl.read_csv(text.encode(), schema_overrides={"value": pl.Float64})


def value(traffic: str, queueing: str, competitor: str, metric: str) -> float | None:
    """One published value; None where the publication has none."""
    own = values().filter(traffic=traffic, queueing=queueing, competitor=competitor, metric=metric)[
        "value"
    ]
    return float(own[0]) if len(own) else None
