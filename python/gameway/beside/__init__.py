"""Simulated and live results of the same experiment side by side, with a verdict for each mean.

from gameway import Results, beside

live = Results.open("results/mine-live")
beside.compare(beside.twin.twin_of(live), live)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from gameway.beside import twin
from gameway.beside.measures import measured
from gameway.beside.tolerances import BY_METRIC, TOLERANCES, Tolerance
from gameway.metrics.statistics import deviation, difference_half_width, half_width

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gameway.metrics.source import ResultFolder

__all__ = ["TOLERANCES", "Row", "Side", "Tolerance", "compare", "frame", "twin"]


@dataclass(frozen=True)
class Side:
    """A mean over runs with the half width of its 95 % interval."""

    mean: float
    half_width: float
    runs: int
    deviation: float = math.nan
    """Of single runs; NaN of one alone."""


@dataclass(frozen=True)
class Row:
    """One metric of one flow in one condition, on both sides."""

    condition: dict[str, str]
    flow: str
    tolerance: Tolerance
    simulated: Side
    live: Side

    def named(self, factors: Iterable[str]) -> str:
        """The condition in words, of these factors; those that it does not have are left out."""
        return ", ".join(self.condition[name] for name in factors if name in self.condition)

    @property
    def difference(self) -> float:
        """Live less simulated."""
        return self.live.mean - self.simulated.mean

    @property
    def difference_half_width(self) -> float:
        """Half the width of the difference's 95 % interval; NaN if both have one run."""
        sides = (self.simulated, self.live)
        return difference_half_width(
            (sides[0].deviation, sides[1].deviation), (sides[0].runs, sides[1].runs)
        )

    @property
    def undecided(self) -> bool:
        """Whether the means are outside, but more runs might have them within.

        The interval of their difference reaches into the tolerance, or there is none.
        """
        if self.within or math.isnan(self.difference):
            return False
        nearest = abs(self.difference) - self.difference_half_width
        return not nearest > self.tolerance.allowed(self.simulated.mean)

    @property
    def within(self) -> bool:
        """Whether the means are within the tolerance."""
        return self.tolerance.within(self.simulated.mean, self.live.mean)

    @property
    def known(self) -> bool:
        """Whether there is a mean on either side."""
        return not (math.isnan(self.simulated.mean) and math.isnan(self.live.mean))


def compare(simulated: ResultFolder, live: ResultFolder) -> list[Row]:
    """Compare what both folders have: same factors, same flow, same metric."""
    factors = [name for name in live.factors if name in simulated.factors]
    keys = [*factors, "flow", "metric"]
    sides = [_means(measured(results), keys) for results in (simulated, live)]
    joined = sides[0].join(
        sides[1], on=keys, how="inner", nulls_equal=True, suffix="_live", maintain_order="left"
    )
    rows = [_row(found, factors) for found in joined.iter_rows(named=True)]
    return _by_condition([row for row in rows if row.known])


def _by_condition(rows: list[Row]) -> list[Row]:
    """Put what belongs to one condition together, in the order of the experiment."""
    order: dict[tuple[tuple[str, str], ...], int] = {}
    for row in rows:
        order.setdefault(tuple(row.condition.items()), len(order))
    return sorted(rows, key=lambda row: order[tuple(row.condition.items())])


def frame(rows: list[Row]) -> pl.DataFrame:
    """The comparison with its numbers, for files."""
    return pl.DataFrame(
        [
            row.condition
            | {
                "flow": row.flow,
                "metric": row.tolerance.metric,
                "simulated": row.simulated.mean,
                "simulated_ci95": row.simulated.half_width,
                "simulated_runs": row.simulated.runs,
                "live": row.live.mean,
                "live_ci95": row.live.half_width,
                "live_runs": row.live.runs,
                "difference": row.difference,
                "difference_ci95": row.difference_half_width,
                "allowed": row.tolerance.allowed(row.simulated.mean),
                "within": row.within,
                "undecided": row.undecided,
            }
            for row in rows
        ],
        infer_schema_length=None,
    )


def _means(table: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    return table.group_by(keys, maintain_order=True).agg(pl.col("value"))


def _row(found: dict[str, object], factors: list[str]) -> Row:
    return Row(
        condition={name: str(found[name]) for name in factors if found[name] is not None},
        flow=str(found["flow"]),
        tolerance=BY_METRIC[str(found["metric"])],
        simulated=_side(found["value"]),
        live=_side(found["value_live"]),
    )


def _side(values: object) -> Side:
    column = pl.Series(values, dtype=pl.Float64).drop_nulls().drop_nans().to_numpy()  # type: ignore[arg-type]
    if len(column) == 0:
        return Side(math.nan, math.nan, 0)
    return Side(float(column.mean()), half_width(column), len(column), deviation(column))
