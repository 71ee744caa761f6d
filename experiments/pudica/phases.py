"""What flows do between the comings and goings of flows (Figures 13, 15 and 18)."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from gameway.metrics.quantities import seconds
from gameway.metrics.series import Bitrates, bitrates_from
from gameway.metrics.source import Run, competitors, finished_runs, streams
from gameway.metrics.statistics import jain_index
from gameway.metrics.windows import Window

from .sessions import frames_of, full_capacity_mbps, late
from .text import estimate, row_name

if TYPE_CHECKING:
    from gameway.results import Results

SETTLED = 0.25
"""Share of a phase that is left out at its beginning."""
FAIR_JAIN, FAIR_S = 0.95, 2.0
STALL_MS = 100


def phases(results: Results) -> pl.DataFrame:
    """One row per condition and phase: shares, Jain's index, utilization, delay."""
    frames = frames_of(results).select("run", "captured_s", "delay_ms", "shown").collect()
    delays = {str(run): own for (run,), own in frames.group_by("run")}
    runs = finished_runs(results)
    rows = [
        {"condition": row_name(run, runs)} | found
        for run in runs
        for found in _phases(run, delays.get(run.id, frames.clear()))
    ]
    table = pl.DataFrame(rows, infer_schema_length=None)
    keys = ["condition", "phase", "flows"]
    return pl.DataFrame(
        [
            dict(zip(keys, key, strict=True))
            | {"runs": own.height}
            | {
                "bitrates, Mb/s": " + ".join(
                    f"{np.mean(own[name].to_numpy()):.1f}" for name in _flows(own)
                ),
                "Jain's index": estimate(own["jain"], own.height, 3),
                "utilization, %": estimate(own["utilization"], own.height),
                "95 % delay, ms": estimate(own["delay_p95_ms"], own.height),
                "stalls > 100 ms, %": estimate(own["stall"], own.height),
            }
            for key, own in table.group_by(keys, maintain_order=True)
        ]
    )


def trajectories(results: Results) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Shares of two streams of the first run over time, and how long all runs take to be fair."""
    paths, times = [], []
    runs = finished_runs(results)
    for run in runs:
        bitrates = bitrates_from(run.table("bins"), run.windows.run.stop_s)
        first, second = (bitrates.by_flow[str(stream["name"])] for stream in streams(run.spec)[:2])
        panel = row_name(run, runs)
        capacity = full_capacity_mbps(run)
        times.append({"controller": panel} | _fairness(bitrates, first, second, capacity))
        if run.repeat == 0:
            paths.append(
                pl.DataFrame(
                    {
                        "panel": [panel] * len(first),
                        "first": (first / capacity).round(4),
                        "second": (second / capacity).round(4),
                        "step": np.arange(len(first)),
                    }
                )
            )
    table = pl.DataFrame(times)
    shown = [
        {"controller": key[0], "runs": own.height}
        | {
            title: estimate(own[title], own.height)
            for title in own.columns
            if title != "controller"
        }
        for key, own in table.group_by("controller", maintain_order=True)
    ]
    return pl.concat(paths), pl.DataFrame(shown)


def _fairness(
    bitrates: Bitrates, first: Any, second: Any, capacity: float
) -> dict[str, float | None]:
    """Seconds until the means over two seconds have a Jain index of 0.95; how it is then."""
    width = round(FAIR_S / 0.5)
    index = [
        jain_index([first[i - width : i].mean(), second[i - width : i].mean()])
        for i in range(width, len(first) + 1)
    ]
    fair = next((i for i, value in enumerate(index) if value >= FAIR_JAIN), None)
    used = 100.0 * (first + second) / capacity
    late = slice(len(first) // 2, None)
    settled = jain_index([first[late].mean(), second[late].mean()])
    return {
        "seconds to Jain 0.95": None if fair is None else float(bitrates.times_s[fair]) + FAIR_S,
        "Jain's index of the second half (%)": 100.0 * settled,
        "utilization of the second half (%)": float(used[late].mean()),
    }


def _phases(run: Run, frames: pl.DataFrame) -> list[dict[str, Any]]:
    end = run.windows.run.stop_s
    spans = {
        str(flow["name"]): (
            seconds(flow.get("start") or "0 s"),
            seconds(flow["stop"]) if flow.get("stop") else end,
        )
        for flow in [*streams(run.spec), *competitors(run.spec)]
    }
    bitrates = bitrates_from(run.table("bins"), end)
    moments = sorted({0.0, end, *(time for span in spans.values() for time in span if time <= end)})
    found = []
    for start, stop in pairwise(moments):
        there = [name for name, span in spans.items() if span[0] <= start and span[1] >= stop]
        window = Window(start + SETTLED * (stop - start), stop)
        inside = frames.filter(pl.col("captured_s").is_between(window.start_s, window.stop_s))
        means = {name: bitrates.mean(name, window) for name in there}
        capacity = full_capacity_mbps(run)
        found.append(
            {
                "phase": f"{start:g} to {stop:g} s",
                "flows": ", ".join(there),
                "jain": jain_index(list(means.values())),
                "utilization": 100.0 * sum(means.values()) / capacity,
                "delay_p95_ms": inside["delay_ms"].quantile(0.95, "linear"),
                "stall": inside.select(100.0 * late(STALL_MS).mean()).item(),
            }
            | {f"{name}_mbps": mean for name, mean in means.items()}
        )
    return [row for row in found if row["flows"]]


def _flows(rows: pl.DataFrame) -> list[str]:
    """Columns of the bitrates of the flows that are there."""
    return [f"{name}_mbps" for name in str(rows["flows"][0]).split(", ")]
