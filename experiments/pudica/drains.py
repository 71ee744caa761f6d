"""How long a queue takes to empty after the capacity has fallen (Pudica, sections 4.3 and 5.4).

| Measure | Definition |
|---|---|
| empty | the first packet of a frame meets less than 1 ms of queue, after the queue's peak |
| cut | a frame is encoded at less than 80 % of the target before the fall; a fallback takes 15 % |
| drain | from the cut to empty; "typically 200 ms" in the paper |
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from gameway.metrics.quantities import megabits_per_second, seconds
from gameway.metrics.source import finished_runs

from .sessions import frames_of

if TYPE_CHECKING:
    from gameway.metrics.source import ResultFolder
    from gameway.results import Results

EMPTY_MS = 1.0
CUT = 0.8
BEFORE_S = 1.0
COLUMNS = {
    "run": pl.String, "controller": pl.String, "fall": pl.String, "peak_ms": pl.Float64,
    "cut_ms": pl.Float64, "empty_ms": pl.Float64, "drain_ms": pl.Float64,
}  # fmt: skip


def falls(results: ResultFolder) -> list[tuple[float, float, float, float]]:
    """When the capacity falls: time, next change, capacity before and after (s, s, Mb/s, Mb/s)."""
    spec = finished_runs(results)[0].spec
    capacity = spec["path"]["capacity"]
    steps = capacity["steps"] if isinstance(capacity, dict) else []
    times = [seconds(time) for time, _ in steps] + [seconds(spec["duration"])]
    rates = [megabits_per_second(rate) for _, rate in steps]
    return [
        (times[i], times[i + 1], rates[i - 1], rates[i])
        for i in range(1, len(steps))
        if rates[i] < rates[i - 1]
    ]


def drains(results: Results) -> pl.DataFrame:
    """One row per run and fall: peak of the queue, times to cut and to empty. Null: never."""
    frames = frames_of(results).sort("run", "captured_s").collect()
    rows: list[dict[str, Any]] = []
    for (run,), own in frames.group_by("run", maintain_order=True):
        for start, stop, before, after in falls(results):
            found = drain_of(own, start, stop)
            if found:
                keys = {"run": run, "controller": own["controller"][0]}
                rows.append(keys | {"fall": f"{before:g} to {after:g} Mb/s"} | found)
    return pl.DataFrame(rows, schema=COLUMNS)


def drain_of(frames: pl.DataFrame, start_s: float, stop_s: float) -> dict[str, float | None]:
    """Peak of the queue, times to cut and to empty, of the frames of one run after one fall."""
    inside = frames.filter((pl.col("captured_s") >= start_s) & (pl.col("captured_s") < stop_s))
    earlier = frames.filter(
        (pl.col("captured_s") >= start_s - BEFORE_S) & (pl.col("captured_s") < start_s)
    )
    if inside.is_empty() or earlier.is_empty():
        return {}
    times = inside["captured_s"].to_numpy()
    queue = inside["queue_ms"].fill_null(math.nan).to_numpy()
    if np.isnan(queue).all():
        return {}
    peak = int(np.nanargmax(queue))
    empty = np.flatnonzero(queue[peak:] < EMPTY_MS)
    before = float(earlier["target_mbps"].mean())  # type: ignore[arg-type]
    cuts = np.flatnonzero(inside["target_mbps"].to_numpy() < CUT * before)
    emptied = float(times[peak + empty[0]] - start_s) if len(empty) else None
    cut = float(times[cuts[0]] - start_s) if len(cuts) else None
    drain = emptied - cut if emptied is not None and cut is not None else None
    return {
        "peak_ms": float(queue[peak]),
        "cut_ms": None if cut is None else cut * 1e3,
        "empty_ms": None if emptied is None else emptied * 1e3,
        "drain_ms": None if drain is None else drain * 1e3,
    }
