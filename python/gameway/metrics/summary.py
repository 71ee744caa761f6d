"""The table of conditions: means with 95 % intervals over runs, and how streams adapt."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import polars as pl

from gameway.metrics.adaptation import adaptation, adaptiveness
from gameway.metrics.catalogue import metric_columns
from gameway.metrics.memo import once_per_results
from gameway.metrics.presence import presence
from gameway.metrics.series import MeanSeries, bitrates_of, mean_over_runs, whole_bins
from gameway.metrics.source import ResultFolder, Run, finished_runs, streams
from gameway.metrics.statistics import t_quantile
from gameway.metrics.table import Progress, evaluate, per_run_table

ADAPTATION_TIMES = ("response_s", "recovery_s")


def summary_table(results: ResultFolder, progress: Progress | None = None) -> pl.DataFrame:
    """One row per combination of factors and stream: mean and `<metric>_ci95` half width.

    `response_s` and `recovery_s` are those of the mean bitrate over runs, as the paper's Figure 4
    (null = never, NaN = no competitor); `<name>_per_run` with its interval is the mean over the
    runs in which it happened and `<name>_never_runs` counts those in which it did not.
    """
    evaluate(results, progress)
    return _summary(results)


@once_per_results
def _summary(results: ResultFolder) -> pl.DataFrame:
    runs = per_run_table(results)
    keys = condition_keys(results)
    table = runs.group_by(keys, maintain_order=True).agg(*_aggregates())
    table = _with_half_widths(table)
    followed = condition_adaptation(results)
    joined = table.join(followed, on=keys, how="left", nulls_equal=True, maintain_order="left")
    joined = _with_adaptiveness(joined, runs, keys)
    return joined.select(*keys, "runs", *_column_order(joined, keys))


def condition_keys(results: ResultFolder) -> list[str]:
    """The columns that tell the conditions of an experiment apart."""
    return ["stream", *results.factors]


def condition_adaptation(results: ResultFolder) -> pl.DataFrame:
    """Response and recovery of the mean bitrate over runs, and the length of their windows."""
    keys = condition_keys(results)
    rows = [
        condition.keys
        | _followed(condition.runs[0], str(condition.keys["stream"]), condition.bitrates)
        for condition in conditions(results)
    ]
    times = (*ADAPTATION_TIMES, "response_limit_s", "recovery_limit_s")
    schema = dict.fromkeys(keys, pl.String) | dict.fromkeys(times, pl.Float64)
    return pl.DataFrame(rows, schema=schema)


@dataclass(frozen=True)
class Condition:
    """One combination of factors and stream, its finished runs and their mean bitrate."""

    keys: dict[str, Any]
    runs: list[Run]
    bitrates: MeanSeries


@once_per_results
def conditions(results: ResultFolder) -> list[Condition]:
    """All conditions that have a finished run."""
    keys = condition_keys(results)
    by_id = {run.id: run for run in finished_runs(results)}
    groups = per_run_table(results).group_by(keys, maintain_order=True)
    found = []
    for values, rows in groups:
        named = dict(zip(keys, values, strict=True))
        runs = [by_id[name] for name in rows["run"]]
        mean = mean_over_runs([bitrates_of(run) for run in runs], str(named["stream"]))
        found.append(Condition(named, runs, mean))
    return found


def _followed(run: Run, name: str, series: MeanSeries) -> dict[str, float | None]:
    nothing = dict.fromkeys((*ADAPTATION_TIMES, "response_limit_s", "recovery_limit_s"), math.nan)
    windows = run.windows
    if windows.competing is None:
        return dict(nothing)
    stream = next(found for found in streams(run.spec) if found["name"] == name)
    inside = whole_bins(series.times_s, presence(stream, windows.run))
    found = adaptation(series.times_s[inside], series.mean[inside], windows)
    if found is None:
        return dict(nothing)
    return {
        "response_s": found.response_s,
        "recovery_s": found.recovery_s,
        "response_limit_s": windows.competing.length_s,
        "recovery_limit_s": windows.run.stop_s - windows.competing.stop_s,
    }


def _aggregates() -> list[pl.Expr]:
    found = [pl.len().alias("runs")]
    for column in metric_columns():
        name = f"{column}_per_run" if column in ADAPTATION_TIMES else column
        values = pl.col(column).fill_nan(None)
        found += [
            values.mean().fill_null(math.nan).alias(name),
            values.std().alias(f"{name}_ci95"),
            values.count().alias(f"{name}_n"),
        ]
    times = (*ADAPTATION_TIMES, "convergence_s")
    never = [pl.col(name).is_null().sum().alias(f"{name}_never_runs") for name in times]
    return found + never


def _with_half_widths(table: pl.DataFrame) -> pl.DataFrame:
    """Turn each standard deviation into the half width of the 95 % interval of its mean."""
    names = [name.removesuffix("_ci95") for name in table.columns if name.endswith("_ci95")]
    largest = int(table["runs"].to_numpy().max(initial=0))
    quantiles = {count: t_quantile(count) for count in range(largest + 1)}
    widths = []
    for name in names:
        count = pl.col(f"{name}_n")
        quantile = count.replace_strict(quantiles, return_dtype=pl.Float64)
        half = pl.col(f"{name}_ci95") * quantile / count.cast(pl.Float64).sqrt()
        widths.append(half.fill_null(math.nan).alias(f"{name}_ci95"))
    return table.with_columns(widths).drop(f"{name}_n" for name in names)


def _with_adaptiveness(table: pl.DataFrame, runs: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    limits = table.select(*keys, "response_limit_s", "recovery_limit_s")
    joined = runs.join(limits, on=keys, how="left", nulls_equal=True, maintain_order="left")
    each = joined.with_columns(_adaptiveness(joined))
    values = pl.col("adaptiveness").fill_nan(None)
    per_run = each.group_by(keys, maintain_order=True).agg(
        values.mean().fill_null(math.nan).alias("adaptiveness_per_run"),
        values.std().alias("adaptiveness_per_run_ci95"),
        values.count().alias("adaptiveness_per_run_n"),
        pl.len().alias("runs"),
    )
    per_run = _with_half_widths(per_run).drop("runs")
    whole = table.with_columns(_adaptiveness(table))
    whole = whole.join(per_run, on=keys, how="left", nulls_equal=True, maintain_order="left")
    return whole.drop("response_limit_s", "recovery_limit_s")


def _adaptiveness(table: pl.DataFrame) -> pl.Series:
    """Adaptiveness of every row against the longest times of the table; NaN without competition."""
    response = table["response_s"].fill_null(table["response_limit_s"])
    recovery = table["recovery_s"].fill_null(table["recovery_limit_s"])
    longest = [_longest(response), _longest(recovery)]
    values = [adaptiveness(c, e, *longest) for c, e in zip(response, recovery, strict=True)]
    return pl.Series("adaptiveness", values, dtype=pl.Float64)


def _longest(times: pl.Series) -> float:
    longest = times.fill_nan(None).max()
    return float(longest) if isinstance(longest, (int, float)) else math.nan


def _column_order(table: pl.DataFrame, keys: list[str]) -> list[str]:
    """Competition first, then the rest as in the catalogue."""
    others = [name for name in table.columns if name not in {*keys, "runs"}]
    front = [name for name in others if name.startswith(("response", "recovery", "adapt"))]
    return [*front, *(name for name in others if name not in front)]
