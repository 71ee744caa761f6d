"""Tables of metrics: one row per run and stream, and one per condition and stream.

The metrics of runs are kept in the result folder (`metrics.parquet`, `frame-delays.parquet`), so
that a second report is quick; a run is evaluated again when its tables or the definitions changed.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import polars as pl

from gameway import durable
from gameway.metrics.run import RunMetrics, histogram_schema, row_schema, run_metrics
from gameway.metrics.source import ResultFolder, Run, finished_runs

if TYPE_CHECKING:
    from pathlib import Path

# Raise with every change of a definition: it makes stored metrics stale.
METRICS_VERSION = 5

METRICS_FILE = "metrics.parquet"
DELAYS_FILE = "frame-delays.parquet"

Progress = Callable[[int, int], None]
"""Called with the number of runs evaluated and of all runs."""


@dataclass(frozen=True)
class Evaluated:
    """What all finished runs yield."""

    metrics: pl.DataFrame
    frame_delays: pl.DataFrame


_evaluated: WeakKeyDictionary[ResultFolder, Evaluated] = WeakKeyDictionary()


def per_run_table(results: ResultFolder, progress: Progress | None = None) -> pl.DataFrame:
    """One row per finished run and stream: factors and every metric.

    Columns: `run`, `repeat`, `stream`, one per factor (text), then those of `METRICS`.
    """
    metrics = evaluate(results, progress).metrics
    keys = _run_keys(results)
    joined = metrics.join(keys, on="run", how="left", maintain_order="left")
    head = ["run", "repeat", "stream", *results.factors]
    return joined.select(*head, pl.exclude(*head, "metrics_version", "stamp"))


def frame_delay_table(results: ResultFolder) -> pl.DataFrame:
    """Histograms of frame delay per run, stream and scope; delay null = never complete."""
    delays = evaluate(results).frame_delays
    joined = delays.join(_run_keys(results), on="run", how="left", maintain_order="left")
    return joined.drop("metrics_version", "stamp")


def evaluate(results: ResultFolder, progress: Progress | None = None) -> Evaluated:
    """The metrics of all finished runs, from the store where they are up to date."""
    if results not in _evaluated:
        _evaluated[results] = _evaluate(results, progress)
    return _evaluated[results]


def _evaluate(results: ResultFolder, progress: Progress | None) -> Evaluated:
    runs = finished_runs(results)
    stamps = {run.id: _stamp(run) for run in runs}
    stored = _stored(results.path, stamps)
    known = set(stored.metrics["run"])
    fresh = [run for run in runs if run.id not in known]
    if not fresh:
        return stored
    found = _evaluate_all(fresh, stamps, progress)
    order = {run.id: index for index, run in enumerate(runs)}
    merged = Evaluated(
        _in_order(pl.concat([stored.metrics, found.metrics]), order),
        _in_order(pl.concat([stored.frame_delays, found.frame_delays]), order),
    )
    _store(results.path, merged)
    return merged


def _evaluate_all(runs: list[Run], stamps: dict[str, int], progress: Progress | None) -> Evaluated:
    done: list[RunMetrics] = []
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        for result in pool.map(run_metrics, runs):
            done.append(result)
            if progress is not None:
                progress(len(done), len(runs))
    rows = pl.DataFrame([row for result in done for row in result.rows], schema=row_schema())
    delays = [frame for result in done for frame in result.frame_delays]
    schema = histogram_schema()
    histograms = (
        pl.concat(delays).cast(pl.Schema(schema)) if delays else pl.DataFrame(schema=schema)
    )
    return Evaluated(_stamped(rows, stamps), _stamped(histograms, stamps))


def _stamped(frame: pl.DataFrame, stamps: dict[str, int]) -> pl.DataFrame:
    stamp = pl.col("run").replace_strict(stamps, return_dtype=pl.Int64)
    return frame.with_columns(metrics_version=pl.lit(METRICS_VERSION, pl.Int64), stamp=stamp)


def _stamp(run: Run) -> int:
    """Changes when the run was made again, even under the same id (by a newer simulator)."""
    return run.folder.stat().st_mtime_ns


def _stored(folder: Path, stamps: dict[str, int]) -> Evaluated:
    empty = Evaluated(
        pl.DataFrame(schema=row_schema() | {"metrics_version": pl.Int64, "stamp": pl.Int64}),
        pl.DataFrame(schema=histogram_schema() | {"metrics_version": pl.Int64, "stamp": pl.Int64}),
    )
    try:
        metrics = pl.read_parquet(folder / METRICS_FILE)
        delays = pl.read_parquet(folder / DELAYS_FILE)
    except (OSError, pl.exceptions.PolarsError):
        return empty
    if metrics.schema != empty.metrics.schema or delays.schema != empty.frame_delays.schema:
        return empty
    return Evaluated(_current(metrics, stamps), _current(delays, stamps))


def _current(frame: pl.DataFrame, stamps: dict[str, int]) -> pl.DataFrame:
    stamp = pl.col("run").replace_strict(stamps, default=None, return_dtype=pl.Int64)
    kept = (pl.col("metrics_version") == METRICS_VERSION) & (pl.col("stamp") == stamp)
    return frame.filter(kept)


def _store(folder: Path, evaluated: Evaluated) -> None:
    """Keep the metrics beside the runs; a folder that cannot be written is evaluated each time."""
    for name, frame in (
        (DELAYS_FILE, evaluated.frame_delays),
        (METRICS_FILE, evaluated.metrics),
    ):
        partial = folder / f"{name}.{os.getpid()}.partial"
        try:
            frame.write_parquet(partial)
            durable.rename(partial, folder / name)
        except OSError:
            return


def _in_order(frame: pl.DataFrame, order: dict[str, int]) -> pl.DataFrame:
    position = pl.col("run").replace_strict(order, return_dtype=pl.Int64)
    return frame.sort(position, maintain_order=True)


def _run_keys(results: ResultFolder) -> pl.DataFrame:
    return results.runs.select("id", "repeat", *results.factors).rename({"id": "run"})
