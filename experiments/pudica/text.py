"""Means with intervals, and names of conditions, as texts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import polars as pl

from gameway.metrics.statistics import half_width

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gameway.metrics.source import Run


def estimate(values: pl.Series, runs: int, places: int = 1) -> str:
    """Mean with the half width of its 95 % t-interval; how many are null ("never") is said."""
    known = values.cast(pl.Float64).fill_nan(None).drop_nulls().to_numpy()
    if len(known) == 0:
        return "never" if values.null_count() else "\N{EN DASH}"
    half = half_width(known)
    text = f"{known.mean():.{places}f}"
    text += "" if math.isnan(half) else f" ± {half:.{places}f}"
    never = values.null_count()
    return f"{text} ({never} of {runs} never)" if never else text


def means(rows: pl.DataFrame, keys: Sequence[str], columns: Mapping[str, str]) -> pl.DataFrame:
    """A row for each value of the keys: means of columns, under their titles, as texts."""
    found = []
    for key, own in rows.group_by(list(keys), maintain_order=True):
        row: dict[str, object] = dict(zip(keys, key, strict=True)) | {"runs": own.height}
        row |= {title: estimate(own[name], own.height) for name, title in columns.items()}
        found.append(row)
    return pl.DataFrame(found)


def row_name(run: Run, runs: Sequence[Run]) -> str:
    """The factors in which runs differ."""
    telling = [
        str(run.factors[name])
        for name in run.factors
        if run.factors.get(name) and len({other.factors.get(name) for other in runs}) > 1
    ]
    return ", ".join(dict.fromkeys(telling)) or str(run.factors.get("controller"))
