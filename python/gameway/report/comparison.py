"""Published values beside ours, cell by cell, with the difference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from gameway.figures.conditions import CAPACITY, COMPETITOR, CONTROLLER, QUEUE
from gameway.metrics.quantities import megabits_per_second, split_quantity
from gameway.metrics.statistics import half_width
from gameway.metrics.table import per_run_table

if TYPE_CHECKING:
    from gameway.metrics.source import ResultFolder
    from gameway.published import PublishedTable, Reference

# Differences beyond this are marked.
MARK_PERCENT = 20.0
# A published mean below this (in its unit) is too close to zero for a difference in percent.
MIN_FOR_PERCENT = 0.05
CELL = ["capacity_mbps", "queue_bdp", "competitor"]


@dataclass(frozen=True)
class Estimate:
    """A mean with the half width of its 95 % interval, or with a published deviation."""

    mean: float
    spread: float | None


@dataclass(frozen=True)
class Cell:
    """One condition of a published table."""

    capacity_mbps: float
    queue_bdp: float
    competitor: str
    published: dict[str, Estimate]
    ours: dict[str, Estimate]

    @property
    def published_mean(self) -> float | None:
        """The mean over the published systems."""
        return _mean(self.published)

    @property
    def our_mean(self) -> float | None:
        """The mean over our controllers."""
        return _mean(self.ours)

    @property
    def difference(self) -> float | None:
        """Ours less published, in the unit of the table."""
        ours, published = self.our_mean, self.published_mean
        return None if ours is None or published is None else ours - published

    @property
    def difference_percent(self) -> float | None:
        """The difference in percent of the published mean; None near zero."""
        published, difference = self.published_mean, self.difference
        if difference is None or published is None or published < MIN_FOR_PERCENT:
            return None
        return 100.0 * difference / published

    @property
    def marked(self) -> bool:
        """Whether the difference is beyond 20 %."""
        percent = self.difference_percent
        return percent is not None and abs(percent) > MARK_PERCENT


@dataclass(frozen=True)
class Comparison:
    """One published table beside ours."""

    table: PublishedTable
    cells: list[Cell]

    def frame(self) -> pl.DataFrame:
        """The comparison as a table for files, one row per cell."""
        return pl.DataFrame([_flat(cell) for cell in self.cells], infer_schema_length=None)


def compare(results: ResultFolder, reference: Reference) -> list[Comparison]:
    """Every published table that this experiment has a condition of."""
    runs = _numeric_conditions(per_run_table(results))
    values = reference.values()
    found = [_compare(runs, values, table) for table in reference.tables]
    return [comparison for comparison in found if any(cell.ours for cell in comparison.cells)]


def _compare(runs: pl.DataFrame, values: pl.DataFrame, table: PublishedTable) -> Comparison:
    own = values.filter(pl.col("table") == table.number)
    cells = []
    for (capacity, queue, competitor), rows in own.group_by(CELL, maintain_order=True):
        here = runs.filter((pl.col("_capacity") == capacity) & (pl.col("_queue") == queue))
        if competitor != "none":
            here = here.filter(pl.col(COMPETITOR) == competitor)
        published = {
            row["system"]: Estimate(row["mean"], row["sd"]) for row in rows.iter_rows(named=True)
        }
        ours = _ours(here, table.column)
        cells.append(Cell(_number(capacity), _number(queue), str(competitor), published, ours))
    return Comparison(table, cells)


def _ours(runs: pl.DataFrame, column: str) -> dict[str, Estimate]:
    found = {}
    for (controller,), rows in runs.group_by(CONTROLLER, maintain_order=True):
        values = rows[column].fill_nan(None).drop_nulls().to_numpy()
        if len(values):
            found[str(controller)] = Estimate(float(values.mean()), half_width(values))
    return found


def _numeric_conditions(runs: pl.DataFrame) -> pl.DataFrame:
    """Add capacity (Mb/s) and queue (BDP) as numbers; null where they are something else."""
    missing = [
        name for name in (CONTROLLER, COMPETITOR, CAPACITY, QUEUE) if name not in runs.columns
    ]
    if missing:
        return runs.clear().with_columns(
            *(pl.lit(None, pl.String).alias(name) for name in missing),
            _capacity=pl.lit(None, pl.Float64),
            _queue=pl.lit(None, pl.Float64),
        )
    capacities = {text: _capacity(text) for text in runs[CAPACITY].unique()}
    queues = {text: _queue(text) for text in runs[QUEUE].unique()}
    return runs.with_columns(
        _capacity=pl.col(CAPACITY).replace_strict(capacities, return_dtype=pl.Float64),
        _queue=pl.col(QUEUE).replace_strict(queues, return_dtype=pl.Float64),
    )


def _capacity(text: str | None) -> float | None:
    try:
        return megabits_per_second(text or "")
    except ValueError:
        return None


def _queue(text: str | None) -> float | None:
    parts = split_quantity(text or "")
    return parts[0] if parts and parts[1].lower() == "bdp" else None


def _mean(estimates: dict[str, Estimate]) -> float | None:
    return float(np.mean([e.mean for e in estimates.values()])) if estimates else None


def _number(value: object) -> float:
    return float(str(value))


def _flat(cell: Cell) -> dict[str, Any]:
    row: dict[str, Any] = {
        "capacity_mbps": cell.capacity_mbps,
        "queue_bdp": cell.queue_bdp,
        "competitor": cell.competitor,
    }
    for system, estimate in cell.published.items():
        row |= {f"published_{system}": estimate.mean, f"published_{system}_sd": estimate.spread}
    row["published_mean"] = cell.published_mean
    for controller, estimate in cell.ours.items():
        row |= {controller: estimate.mean, f"{controller}_ci95": estimate.spread}
    return row | {
        "our_mean": cell.our_mean,
        "difference": cell.difference,
        "difference_percent": cell.difference_percent,
        "beyond_20_percent": cell.marked,
    }
