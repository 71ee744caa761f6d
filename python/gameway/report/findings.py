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
from gameway.figures.heatmaps import signed
from gameway.metrics.catalogue import metric_of_column
from gameway.metrics.source import finished_runs, streams
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


@dataclass(frozen=True)
class Finding:
    """One sentence of plain text; the topic is its beginning, shown in bold."""

    topic: str
    text: str


def findings(results: ResultFolder, comparisons: list[Comparison]) -> list[Finding]:
    """Sentences for the top of a report."""
    table = summary_table(results)
    if table.is_empty() and any(not streams(run.spec) for run in finished_runs(results)):
        return [Finding("No game stream:", " the tables have what the other flows did.")]
    if table.is_empty():
        return [Finding("Nothing yet:", " no run with a game stream has finished.")]
    found = [_ranking(results, table, column) for column in ranked_columns(table)]
    found += _fairness(table)
    found += _never(table)
    found += _published(comparisons)
    return [finding for finding in found if finding is not None]


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


def clear_of(found: Duel) -> bool:
    """Whether the first one is clearly better in most conditions and clearly worse in none."""
    return 2 * found.better > found.conditions and found.worse == 0


def _sign(differences: np.typing.NDArray[np.float64]) -> int:
    """1 or -1 if the mean difference is surely above or below zero, else 0."""
    known = differences[~np.isnan(differences)]
    if len(known) <= 1:
        return 0
    mean = float(known.mean())
    return int(np.sign(mean)) if abs(mean) > half_width(known) else 0


def _ranking(results: ResultFolder, table: pl.DataFrame, column: str) -> Finding | None:
    if CONTROLLER not in table.columns or table[CONTROLLER].n_unique() <= 1:
        return None
    better_first = bool(metric_of_column(column).higher_is_better)
    means = (
        table.group_by(CONTROLLER, maintain_order=True)
        .agg(pl.col(column).fill_nan(None).mean())
        .drop_nulls()
        .sort(column, descending=better_first)
    )
    if means.height <= 1:
        return None
    names, values = means[CONTROLLER].to_list(), means[column].to_list()
    order = ", ".join(f"{name} {_short(value)}" for name, value in zip(names, values, strict=True))
    against = duel(results, column, names[0], names[1])
    text = (
        f"{_scope_words(column)}, mean over conditions: {order}. {names[0]} is clearly better than "
        f"{names[1]} in {against.better} of {against.conditions} conditions and clearly worse in "
        f"{against.worse}."
    )
    return Finding(_capital(metric_of_column(column).label), text)


def _fairness(table: pl.DataFrame) -> list[Finding]:
    name = "bitrate_difference_ratio"
    if _empty(table, name) or not {CONTROLLER, COMPETITOR} <= set(table.columns):
        return []
    shares = table.group_by(COMPETITOR, CONTROLLER, maintain_order=True).agg(
        mean=pl.col(name).mean(), low=pl.col(name).min(), high=pl.col(name).max()
    )
    found = []
    for (competitor,), rows in shares.group_by(COMPETITOR, maintain_order=True):
        each = [
            f"{row[CONTROLLER]} {signed(row['mean'])} ({signed(row['low'])} to "
            f"{signed(row['high'])})"
            for row in rows.iter_rows(named=True)
        ]
        text = ", (stream - competitor) / capacity where 0 is an equal share: "
        found.append(Finding(f"Share against {competitor}", f"{text}{'; '.join(each)}."))
    return found


def _never(table: pl.DataFrame) -> list[Finding]:
    found = []
    for column, words in (("response_s", "never respond"), ("recovery_s", "never recover")):
        rows = table.filter(pl.col(column).is_null())
        if rows.is_empty():
            continue
        names = [n for n in (CONTROLLER, COMPETITOR) if n in table.columns]
        counts = rows.group_by(names, maintain_order=True).len() if names else rows.select(pl.len())
        each = [" against ".join(map(str, row[:-1])) + f" ({row[-1]})" for row in counts.rows()]
        text = f", judged by the mean bitrate over runs: {rows.height} of {table.height} conditions"
        found.append(Finding(f"Some {words}", f"{text}, namely {', '.join(each)}."))
    return found


def _published(comparisons: list[Comparison]) -> list[Finding]:
    found = []
    for comparison in comparisons:
        known = [c for c in comparison.cells if c.difference_percent is not None]
        if not known:
            continue
        near = sum(not cell.marked for cell in known)
        mean = float(np.mean([cell.difference or 0.0 for cell in known]))
        unit = "percentage points" if comparison.table.unit == "%" else comparison.table.unit
        text = (
            f" ({comparison.table.title.lower()}): our mean over controllers is within 20 % of "
            f"the published mean in {near} of {len(known)} cells; on average it differs by "
            f"{mean:+.2g} {unit}."
        )
        found.append(Finding(f"Published Table {comparison.table.number}", text))
    return found


def _empty(table: pl.DataFrame, column: str) -> bool:
    return column not in table.columns or table[column].fill_nan(None).is_null().all()


def _scope_words(column: str) -> str:
    words = {"competing": " under competition", "alone": " without competitor"}
    return words.get(column.split("_", 1)[0], "")


def _short(value: float) -> str:
    return f"{value:.3g}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
