"""Tables 1 to 6 and the averages of Figure 10 of Wang et al., "Pudica", NSDI 2024."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files

import polars as pl

CITATION = (
    "S. Wang et al., Pudica: Toward Near-Zero Queuing Delay in Congestion Control for Cloud "
    "Gaming, NSDI 2024"
)
DATA = "wang_2024_pudica.csv"


@lru_cache(maxsize=1)
def values() -> pl.DataFrame:
    """The published values: table, setting, variant, metric, value (names as in the file)."""
    text = files(__package__).joinpath(DATA).read_text("utf-8")
    return pl.read_csv(text.encode(), schema_overrides={"table": pl.String, "value": pl.Float64})


def value(table: str, variant: str, metric: str) -> float | None:
    """One published value; None where the publication has none."""
    own = (pl.col("table") == table) & (pl.col("variant") == variant) & (pl.col("metric") == metric)
    found = values().filter(own)["value"]
    return float(found[0]) if len(found) else None
