"""Tables 3 to 6 of Pudica: variants of the controller, published beside ours."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from gameway.page import Table
from gameway.page.words import UNKNOWN, number

from . import published
from .statistics import Change, bootstrap, paired_change, verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from gameway.metrics.statistics import Floats

BASE = "pudica"
# Names of the variants in the paper's tables, and ours: several where it can be read so or so.
VARIANTS = {
    "pudica": (BASE,),
    "bur-of-sqp": ("pudica bur=sqp", "pudica bur=sqp trigger=own"),
    "bur-of-salsify": ("pudica bur=salsify", "pudica bur=salsify trigger=own"),
    "ai/md": ("pudica additive_only=on", "pudica additive_only=on additive_step=1 Mb/s"),
    "no-fallback": ("pudica fallback=off",),
    "no-queue-draining": ("pudica draining=off",),
    "alpha=0.8": ("pudica alpha=0.8",),
    "alpha=0.9": ("pudica alpha=0.9",),
    "gamma_mi=0.20": ("pudica gamma_mi=0.2",),
    "gamma_mi=0.25": ("pudica gamma_mi=0.25",),
    "zeta=10%": ("pudica zeta=0.1",),
    "zeta=20%": ("pudica zeta=0.2",),
    "t_wd=150": ("pudica window=150 ms",),
    "t_wd=250": ("pudica window=250 ms",),
}
METRICS = {
    "frame_delay_avg_ms": ("delay_mean_ms", "mean delay, ms"),
    "frame_delay_p95_ms": ("delay_p95_ms", "95 % delay, ms"),
    "frame_delay_p99_ms": ("delay_p99_ms", "99 % delay, ms"),
    "stall_50ms_percent": ("stall_50ms_percent", "stalls > 50 ms, %"),
    "stall_100ms_percent": ("stall_100ms_percent", "stalls > 100 ms, %"),
    "stall_200ms_percent": ("stall_200ms_percent", "stalls > 200 ms, %"),
    "bitrate_avg_mbps": ("bitrate_mbps", "bitrate, Mb/s"),
    "jain_fairness": ("jain_index", "Jain's index"),
}


@dataclass(frozen=True)
class Compared:
    """A metric of a variant: means, and its change from plain Pudica, published and ours."""

    variant: str
    metric: str
    published: float
    published_base: float
    ours: float
    change: Change

    @property
    def verdict(self) -> str:
        """Whether our change has the direction of the published one."""
        return verdict(self.change, self.published, self.published_base)


def compared(number_of_table: str, sessions: pl.DataFrame) -> list[Compared]:
    """Every cell of a published table whose variant has sessions of ours."""
    rows = published.values().filter(pl.col("table") == number_of_table)
    ran = set(sessions["controller"].unique())
    return [
        _compared(number_of_table, row, ours, sessions)
        for row in rows.iter_rows(named=True)
        for ours in VARIANTS[row["variant"]]
        if ours in ran and METRICS[row["metric"]][0] in sessions.columns
    ]


def _compared(
    number_of_table: str, row: dict[str, Any], ours: str, sessions: pl.DataFrame
) -> Compared:
    column = METRICS[row["metric"]][0]
    base = published.value(number_of_table, "pudica", row["metric"])
    mean = bootstrap(_values(sessions, ours, column)).mean
    change = (
        Change(0.0, math.nan, math.nan)
        if ours == BASE
        else paired_change(sessions, column, ours, BASE)
    )
    value = float(row["value"])
    return Compared(ours, row["metric"], value, value if base is None else base, mean, change)


def tables(number_of_table: str, sessions: pl.DataFrame) -> list[Table]:
    """The table's values, and the changes from plain Pudica; nothing without sessions."""
    cells = compared(number_of_table, sessions)
    if all(cell.variant == BASE for cell in cells):
        return []
    pairs = sessions.filter(pl.col("controller") == BASE).height
    values = _wide(cells, lambda cell: f"{_plain(cell.ours)} ({_plain(cell.published)})")
    changes = _wide([c for c in cells if c.variant != BASE], _change_text)
    marked = frozenset(
        (index, name)
        for index, row in enumerate(changes.iter_rows(named=True))
        for name, text in row.items()
        if str(text).endswith("differs")
    )
    name = f"table-{number_of_table}"
    return [
        Table(f"Ours (published), means over {pairs} sessions", values, name=name,
              file_frame=_long(cells), main=True),
        Table("Change from plain Pudica, ours [95 % interval over paths] (published)", changes,
              name=f"{name}-changes", file_frame=_long(cells), marked=marked),
    ]  # fmt: skip


def agreement(number_of_table: str, sessions: pl.DataFrame) -> dict[str, int]:
    """How many changes agree in direction, differ, and are not clear."""
    counts = {"agree": 0, "differ": 0, "not clear": 0}
    for cell in compared(number_of_table, sessions):
        if cell.variant == BASE:
            continue
        text = cell.verdict
        key = "agree" if text.startswith("agrees") else "differ" if text == "differs" else text
        counts[key if key in counts else "not clear"] += 1
    return counts


def _values(sessions: pl.DataFrame, controller: str, column: str) -> Floats:
    rows = sessions.filter(pl.col("controller") == controller)[column]
    return rows.cast(pl.Float64).drop_nulls().to_numpy()


def _change_text(cell: Compared) -> str:
    gap = cell.published - cell.published_base
    return f"{cell.change} ({_plain(gap, signed=True)}): {cell.verdict}"


def _wide(cells: list[Compared], text: Callable[[Compared], str]) -> pl.DataFrame:
    """A row per variant, a column per metric."""
    rows: dict[str, dict[str, str]] = {}
    for cell in cells:
        row = rows.setdefault(cell.variant, {"variant": cell.variant})
        row[METRICS[cell.metric][1]] = text(cell)
    return pl.DataFrame(list(rows.values()))


def _long(cells: list[Compared]) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {
                "variant": cell.variant,
                "metric": cell.metric,
                "published": cell.published,
                "ours": cell.ours,
                "published_change": cell.published - cell.published_base,
                "change": cell.change.mean,
                "change_low": cell.change.low,
                "change_high": cell.change.high,
                "verdict": "" if cell.variant == BASE else cell.verdict,
            }
            for cell in cells
        ]
    )


def _plain(value: float, *, signed: bool = False) -> str:
    if math.isnan(value):
        return UNKNOWN
    text = f"{value:.3f}" if abs(value) < 1.0 and value else number(value)
    return f"+{text}" if signed and value > 0.0 else text
