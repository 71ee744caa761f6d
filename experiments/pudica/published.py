"""Tables 1 to 6 and the averages of Figure 10 of Wang et al., "Pudica", NSDI 2024."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gameway.published import value_of, values_of

if TYPE_CHECKING:
    import polars as pl

CITATION = (
    "S. Wang et al., Pudica: Toward Near-Zero Queuing Delay in Congestion Control for Cloud "
    "Gaming, NSDI 2024"
)
FOLDER = Path(__file__).parent


def values() -> pl.DataFrame:
    """The published values: table, setting, variant, metric, value (names as in the file)."""
    return values_of(FOLDER)


def value(table: str, variant: str, metric: str) -> float | None:
    """One published value; None where the publication has none."""
    return value_of(FOLDER, table=table, variant=variant, metric=metric)
