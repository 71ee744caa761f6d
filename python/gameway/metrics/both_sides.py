"""Both sides of the link over time: what players saw of their games, and viewers of their videos.

Means over the runs of a condition with their 95 % intervals, in equal steps of time:

| series | of | in each step | unit |
|---|---|---|---|
| bitrate | streams, competitors | mean of the 0.5 s bins | Mb/s on the wire |
| frame_delay | streams | 95th percentile, of frames captured in it that became complete | ms |
| level | videos | what is on the screen as it begins; nothing before the start-up ends | 1 |
| buffer | videos | what was buffered when the player's state was last written | s |

Halts, start-up and interruptions, are exact: spans of time with the share of runs that halt.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from gameway.metrics.presence import presence
from gameway.metrics.series import BIN_S, ROUNDING_S, bitrates_of
from gameway.metrics.source import competitors, streams
from gameway.metrics.statistics import t_quantile
from gameway.metrics.videos import videos

if TYPE_CHECKING:
    from gameway.metrics.source import Run
    from gameway.metrics.statistics import Floats

MAX_STEPS = 360
"""A line has at most so many points: one for two or three pixels of a page."""
FRAME_DELAY = 0.95
STARTUP, INTERRUPTED = "start-up", "interrupted"
NAN = math.nan


def step_s(run: Run) -> float:
    """Length of a step: whole bins, as few as there is room for."""
    bins = run.windows.run.stop_s / BIN_S
    return BIN_S * max(1, math.ceil(bins / MAX_STEPS))


def over_time(runs: list[Run]) -> pl.DataFrame:
    """One row per series, flow and step: `series`, `flow`, `time_s`, `mean`, `low`, `high`.

    Steps in which no run has a value are left out.
    """
    found: dict[tuple[str, str], list[Floats]] = {}
    for run in runs:
        for key, values in _of_run(run).items():
            found.setdefault(key, []).append(values)
    parts = [
        _mean(values, step_s(runs[0])).with_columns(series=pl.lit(series), flow=pl.lit(flow))
        for (series, flow), values in found.items()
    ]
    return pl.concat(parts).select("series", "flow", "time_s", "mean", "low", "high")


def halts(runs: list[Run]) -> pl.DataFrame:
    """Spans in which runs show no moving picture: `flow`, `kind`, `from_s`, `to_s`, `runs`."""
    schema = {"flow": pl.String, "kind": pl.String, "from_s": pl.Float64, "to_s": pl.Float64}
    found = [
        (str(video["name"]), kind, start, stop)
        for run in runs
        for video in videos(run.spec)
        for kind, start, stop in _halts(run, video)
        if stop > start
    ]
    table = pl.DataFrame(found, schema=schema, orient="row")
    parts = [
        _shared(rows["from_s"].to_list(), rows["to_s"].to_list()).with_columns(
            flow=pl.lit(flow), kind=pl.lit(kind)
        )
        for (flow, kind), rows in table.group_by("flow", "kind", maintain_order=True)
    ]
    return pl.concat(parts) if parts else table.with_columns(runs=pl.lit(0, pl.Int64))


def _of_run(run: Run) -> dict[tuple[str, str], Floats]:
    """The values of all series and flows of a run in its steps; what is not there is NaN."""
    step = step_s(run)
    count = int(run.windows.run.stop_s / step + ROUNDING_S)
    times = np.arange(count, dtype=np.float64) * step
    games = [str(stream["name"]) for stream in streams(run.spec)]
    rates, each = bitrates_of(run), round(step / BIN_S)
    found: dict[tuple[str, str], Floats] = {}
    for flow in [*streams(run.spec), *competitors(run.spec)]:
        name = str(flow["name"])
        bins = rates.series(name)[: len(times) * each].reshape(-1, each)
        found["bitrate", name] = np.where(_there(run, flow, times), bins.mean(axis=1), NAN)
    if games:
        frames = run.table("frames", ["stream", "captured_ns", "first_sent_ns", "complete_ns"])
        for name in games:
            found["frame_delay", name] = _frame_delay(frames, name, step, len(times))
    for video in videos(run.spec):
        found |= _of_video(run, video, times)
    return found


def _frame_delay(frames: pl.DataFrame, name: str, step: float, steps: int) -> Floats:
    delay_ms = (pl.col("complete_ns") - pl.col("first_sent_ns")) / 1e6
    rows = (
        frames.filter(pl.col("stream") == name)
        .group_by((pl.col("captured_ns") // round(step * 1e9)).alias("step"))
        .agg(delay_ms.quantile(FRAME_DELAY, "linear").alias("ms"))
        .drop_nulls()
        .filter(pl.col("step") < steps)
    )
    values = np.full(steps, NAN)
    values[rows["step"].to_numpy()] = rows["ms"].to_numpy()
    return values


def _of_video(run: Run, video: dict[str, Any], times: Floats) -> dict[tuple[str, str], Floats]:
    name = str(video["name"])
    segments = run.table("segments").filter(pl.col("flow") == name).drop_nulls("displayed_ns")
    shown = segments.sort("displayed_ns")
    state = run.table("controller").filter(
        pl.col("stream") == name, pl.col("variable") == "buffer_level_s"
    )
    there = _there(run, video, times)
    last = {
        "level": _last(times, shown["displayed_ns"], shown["level"]),
        "buffer": _last(times, state["time_ns"], state["value"]),
    }
    return {(series, name): np.where(there, values, NAN) for series, values in last.items()}


def _there(run: Run, flow: dict[str, Any], times: Floats) -> np.typing.NDArray[np.bool_]:
    """Whether each time is between a flow's start and its stop."""
    spans = presence(flow, run.windows.run)
    if not spans:
        return np.zeros(len(times), dtype=np.bool_)
    return (times >= spans[0].start_s) & (times < spans[-1].stop_s)


def _last(times: Floats, at_ns: pl.Series, values: pl.Series) -> Floats:
    """The value at each time: the last one that was told until then; NaN before the first."""
    known = np.concatenate([[NAN], values.cast(pl.Float64).to_numpy()])
    found: Floats = known[np.searchsorted(at_ns.to_numpy() / 1e9, times, side="right")]
    return found


def _mean(runs: list[Floats], step: float) -> pl.DataFrame:
    stacked = np.stack(runs)
    known = ~np.isnan(stacked)
    count = known.sum(axis=0)
    some = count > 0
    mean = np.where(known, stacked, 0.0).sum(axis=0)[some] / count[some]
    squares = np.where(known, stacked, 0.0)[:, some] - np.where(known[:, some], mean, 0.0)
    spread = np.sqrt((squares**2).sum(axis=0) / np.maximum(count[some] - 1, 1))
    quantile = np.array([t_quantile(int(number)) for number in count[some]])
    half = np.nan_to_num(quantile * spread / np.sqrt(count[some]))
    times = np.flatnonzero(some) * step
    return pl.DataFrame({"time_s": times, "mean": mean, "low": mean - half, "high": mean + half})


def _halts(run: Run, video: dict[str, Any]) -> list[tuple[str, float, float]]:
    """Kind, start and stop of each halt of a video in one run, seconds."""
    events = run.table("events").filter(pl.col("flow") == str(video["name"])).sort("time_ns")
    spans = presence(video, run.windows.run)
    if not spans:
        return []
    begun = events.filter(pl.col("event") == "playback-started")["time_ns"]
    first = begun[0] / 1e9 if len(begun) else spans[-1].stop_s
    resumed = events.filter(pl.col("event") == "resumed").select("time_ns", "value").rows()
    return [
        (STARTUP, spans[0].start_s, first),
        *((INTERRUPTED, time / 1e9 - length, time / 1e9) for time, length in resumed),
    ]


def _shared(starts: list[float], stops: list[float]) -> pl.DataFrame:
    """Cut spans where one begins or ends, and count how many are there in each piece."""
    changes = sorted([*((time, 1) for time in starts), *((time, -1) for time in stops)])
    rows, count = [], 0
    for index, (time, change) in enumerate(changes[:-1]):
        count += change
        following = changes[index + 1][0]
        if count and following > time:
            rows.append((time, following, count))
    schema = {"from_s": pl.Float64, "to_s": pl.Float64, "runs": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")
