"""What the results say, in plain words, computed from the tables.

Two controllers are compared run by run: repeat r of a condition has the same seed for each of them,
so a difference counts as clear if the 95 % interval of the paired differences excludes zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from gameway.figures.conditions import COMPETITOR, CONTROLLER
from gameway.metrics.catalogue import metric_of_column
from gameway.metrics.statistics import half_width
from gameway.metrics.summary import condition_keys, summary_table
from gameway.metrics.table import per_run_table

if TYPE_CHECKING:
    from gameway.metrics.source import ResultFolder
    from gameway.report.comparison import Comparison

RANKED = (
    "mos",
    "rtt_mean_ms",
    "frame_delay_p95_ms",
    "stall_100ms_percent",
    "displayed_fps",
    "bitrate_mbps",
)


@dataclass(frozen=True)
class Duel:
    """How often one controller is clearly better or worse than another, over all conditions."""

    better: int
    worse: int
    undecided: int

    @property
    def conditions(self) -> int:
        """All conditions that both have."""
        return self.better + self.worse + self.undecided


def findings(results: ResultFolder, comparisons: list[Comparison]) -> list[str]:
    """Sentences for the top of a report."""
    table = summary_table(results)
    found = [_ranking(results, table, column) for column in ranked_columns(table)]
    found += _fairness(table)
    found += _never(table)
    found += _published(comparisons)
    return [sentence for sentence in found if sentence]


def ranked_columns(table: pl.DataFrame) -> list[str]:
    """The columns that controllers are ranked by: under competition where there is one."""
    scope = scope_of(table)
    return [f"{scope}_{name}" for name in RANKED if not _empty(table, f"{scope}_{name}")]


def scope_of(table: pl.DataFrame) -> str:
    """The scope that matters most: the competition, or the whole run without one."""
    return "run" if _empty(table, "competing_bitrate_mbps") else "competing"


def duel(results: ResultFolder, column: str, first: str, second: str) -> Duel:
    """Compare two controllers by a metric, condition by condition, pairing their repeats."""
    runs = per_run_table(results)
    keys = [key for key in condition_keys(results) if key != CONTROLLER]
    sides = [
        runs.filter(pl.col(CONTROLLER) == name).select(*keys, "repeat", column)
        for name in (first, second)
    ]
    pairs = sides[0].join(sides[1], on=[*keys, "repeat"], nulls_equal=True, suffix="_second")
    sign = 1.0 if metric_of_column(column).higher_is_better else -1.0
    signs = [
        _sign(sign * (rows[column] - rows[f"{column}_second"]).to_numpy())
        for _, rows in pairs.group_by(keys, maintain_order=True)
    ]
    return Duel(signs.count(1), signs.count(-1), signs.count(0))


def _sign(differences: np.typing.NDArray[np.float64]) -> int:
    """1 or -1 if the mean difference is surely above or below zero, else 0."""
    known = differences[~np.isnan(differences)]
    if len(known) <= 1:
        return 0
    mean = float(known.mean())
    return int(np.sign(mean)) if abs(mean) > half_width(known) else 0


def _ranking(results: ResultFolder, table: pl.DataFrame, column: str) -> str:
    if CONTROLLER not in table.columns or table[CONTROLLER].n_unique() <= 1:
        return ""
    better_first = bool(metric_of_column(column).higher_is_better)
    means = (
        table.group_by(CONTROLLER, maintain_order=True)
        .agg(pl.col(column).fill_nan(None).mean())
        .drop_nulls()
        .sort(column, descending=better_first)
    )
    if means.height <= 1:
        return ""
    names, values = means[CONTROLLER].to_list(), means[column].to_list()
    order = ", ".join(f"{name} {_short(value)}" for name, value in zip(names, values, strict=True))
    against = duel(results, column, names[0], names[1])
    return (
        f"<b>{_capital(metric_of_column(column).label)}</b>{_scope_words(column)}, mean over conditions: "
        f"{order}. {names[0]} is clearly better than {names[1]} in {against.better} of "
        f"{against.conditions} conditions and clearly worse in {against.worse}."
    )


def _fairness(table: pl.DataFrame) -> list[str]:
    name = "bitrate_difference_ratio"
    if _empty(table, name) or not {CONTROLLER, COMPETITOR} <= set(table.columns):
        return []
    shares = table.group_by(COMPETITOR, CONTROLLER, maintain_order=True).agg(
        pl.col(name).mean().alias("mean"), pl.col(name).min().alias("low"),
        pl.col(name).max().alias("high"),
    )  # fmt: skip
    sentences = []
    for (competitor,), rows in shares.group_by(COMPETITOR, maintain_order=True):
        each = [
            f"{row[CONTROLLER]} {row['mean']:+.2f} ({row['low']:+.2f} to {row['high']:+.2f})"
            for row in rows.iter_rows(named=True)
        ]
        sentences.append(
            f"<b>Share against {competitor}</b>, (stream - competitor) / capacity where 0 is an "
            f"equal share: {'; '.join(each)}."
        )
    return sentences


def _never(table: pl.DataFrame) -> list[str]:
    sentences = []
    for column, words in (("response_s", "never respond"), ("recovery_s", "never recover")):
        rows = table.filter(pl.col(column).is_null())
        if rows.is_empty():
            continue
        names = [n for n in (CONTROLLER, COMPETITOR) if n in table.columns]
        counts = rows.group_by(names, maintain_order=True).len() if names else rows.select(pl.len())
        each = [" against ".join(map(str, row[:-1])) + f" ({row[-1]})" for row in counts.rows()]
        sentences.append(
            f"<b>Some {words}</b>, judged by the mean bitrate over runs: {rows.height} of "
            f"{table.height} conditions, namely "
            f"{', '.join(each)}."
        )
    return sentences


def _published(comparisons: list[Comparison]) -> list[str]:
    sentences = []
    for comparison in comparisons:
        known = [c for c in comparison.cells if c.difference_percent is not None]
        if not known:
            continue
        near = sum(not cell.marked for cell in known)
        mean = float(np.mean([cell.difference or 0.0 for cell in known]))
        unit = "percentage points" if comparison.table.unit == "%" else comparison.table.unit
        sentences.append(
            f"<b>Published Table {comparison.table.number}</b> "
            f"({comparison.table.title.lower()}): our mean over controllers is within 20 % of the "
            f"published mean in {near} of {len(known)} cells; on average it differs by {mean:+.2g} {unit}."
        )
    return sentences


def _empty(table: pl.DataFrame, column: str) -> bool:
    return column not in table.columns or table[column].fill_nan(None).is_null().all()


def _scope_words(column: str) -> str:
    return {"competing": " under competition", "alone": " without competitor"}.get(
        column.split("_", 1)[0], ""
    )


def _short(value: float) -> str:
    return f"{value:.3g}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
