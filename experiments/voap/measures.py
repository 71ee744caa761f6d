"""One row per run: the game's queueing delay and the downloads' throughput, with its condition.

Delays are from 50 s after the last download's beginning.

| figure | definition |
|---|---|
| peak | mean of the delays in the highest bucket of the histogram that holds any, ms |
| low, high | 5th and 95th percentile of the delays: the band in which they stay, ms |
| in hand | from the last download's beginning until no packet waits 20 ms for 5 s, s |
| throughput | wire bytes of all downloads that arrived, from 10 s after the last began, Mb/s |
| fairness | largest distance of a download's throughput from the mean of all, percent |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from gameway.metrics.flows import Delays
from gameway.metrics.network import link_utilization_percent, loss_percent
from gameway.metrics.quantities import seconds
from gameway.metrics.series import bitrates_of
from gameway.metrics.source import competitors, finished_runs
from gameway.metrics.statistics import half_width, jain_index
from gameway.metrics.windows import Window

if TYPE_CHECKING:
    from gameway.metrics.source import Run
    from gameway.results import Results

GAME = "game"
NONE = "none"
LEVEL_S = (5.0, 20.0)
"""What a flow has after a rival's end is its mean over this time."""
BEFORE_S = 10.0
START_S, SETTLING_S = 10.0, 50.0
"""Of the last download, the first ten seconds are its start; after fifty, a gateway has settled."""
LATE_MS, CALM_S = 20.0, 5.0
"""A gateway has the queue in hand when for five seconds no packet waits twenty milliseconds."""


@dataclass(frozen=True)
class Change:
    """A mean difference over pairs of runs and the half width of its 95 % interval, percent."""

    mean: float
    half: float
    pairs: int


def downloads(run: Run) -> list[dict[str, Any]]:
    """The transfers over TCP of a run."""
    return [flow for flow in competitors(run.spec) if flow.get("kind", "tcp") == "tcp"]


def begun(run: Run) -> float:
    """When the last download begins, seconds."""
    return max((seconds(flow.get("start", "0 s")) for flow in downloads(run)), default=0.0)


def settled(run: Run, after_s: float = SETTLING_S) -> Window:
    """From so long after the last download's beginning to the end."""
    stop = run.windows.run.stop_s
    return Window(min(begun(run) + after_s, stop), stop)


def gateway_of(run: Run) -> str:
    """The gateway's name, with what is not as published; "none" without."""
    gateway = run.spec["path"].get("gateway", NONE)
    if not isinstance(gateway, dict):
        return str(gateway)
    mended = gateway.get("step", "segment") != "segment"
    rates = ", rates" if gateway.get("fairness", "windows") == "rates" else ""
    return str(gateway["kind"]) + (f", mended{rates}" if mended else rates)


def in_hand_s(run: Run) -> float:
    """Seconds from the last download's beginning until the queue stays short; NaN if never."""
    table = run.table("queue_delay").filter(pl.col("flow") == GAME)
    longest = (
        table.group_by("window_start_ns")
        .agg(pl.col("delay_low_ns").max())
        .sort("window_start_ns")
        .filter(pl.col("window_start_ns") >= begun(run) * 1e9)
    )
    since = longest["window_start_ns"].to_numpy() / 1e9 - begun(run)
    calm = longest["delay_low_ns"].to_numpy() < LATE_MS * 1e6
    for index, start in enumerate(since):
        span = calm[(since >= start) & (since < start + CALM_S)]
        if calm[index] and span.all() and since[-1] >= start + CALM_S:
            return float(start)
    return float("nan")


def rows(results: Results) -> pl.DataFrame:
    """The figures of every run with its factors, its gateway and its congestion control."""
    return pl.DataFrame([_row(run) for run in finished_runs(results)], infer_schema_length=None)


def _row(run: Run) -> dict[str, Any]:
    window, with_start = settled(run), settled(run, START_S)
    delays = Delays.of(run.table("queue_delay"), GAME, window)
    rates = bitrates_of(run)
    own = [rates.mean(flow["name"], with_start) for flow in downloads(run)]
    mean = float(np.mean(own)) if own else float("nan")
    spread = max((abs(rate / mean - 1.0) for rate in own), default=0.0) if mean else float("nan")
    return {
        **run.factors,
        "run": run.id,
        "repeat": run.repeat,
        "game": game_of(run),
        "gateway": gateway_of(run),
        "tcp": str(downloads(run)[0].get("congestion_control", "cubic")) if own else NONE,
        "delay_mean_ms": delays.mean_ms,
        "delay_p98_ms": delays.percentile_ms(98.0),
        "delay_low_ms": delays.percentile_ms(5.0),
        "delay_high_ms": delays.percentile_ms(95.0),
        "delay_peak_ms": float(delays.mean_of_bucket_ms[-1]) if delays.count else float("nan"),
        "in_hand_s": in_hand_s(run),
        "game_loss_percent": loss_percent(run.table("bins"), GAME, with_start),
        "throughput_mbps": float(np.sum(own)),
        "jain": jain_index(own),
        "unfair_percent": 100.0 * spread,
        "utilization_percent": link_utilization_percent(run.link(), with_start),
    }


def game_of(run: Run) -> str:
    """The kind of the flow that is the game."""
    kinds = [flow.get("kind", "tcp") for flow in competitors(run.spec) if flow["name"] == GAME]
    return str(kinds[0]) if kinds else NONE


def change_percent(own: pl.DataFrame, column: str, gateway: str) -> Change:
    """What a gateway changes against none, over pairs of runs with the same seed."""
    sides = [
        own.filter(gateway=kind).select("repeat", pl.col(column).alias(kind))
        for kind in (NONE, gateway)
    ]
    pairs = sides[0].join(sides[1], on="repeat").drop_nulls()
    if pairs.is_empty():
        return Change(float("nan"), float("nan"), 0)
    change = 100.0 * (pairs[gateway] / pairs[NONE] - 1.0).to_numpy()
    return Change(float(change.mean()), half_width(change), pairs.height)


def taken_up_s(run: Run, flow: str, ended_s: float, share: float = 0.9) -> float:
    """Seconds from the end of a rival until a flow has what it leaves.

    That is when its bitrate, in bins of 0.5 s, first reaches `share` of the way from its mean of
    `BEFORE_S` before to that of `LEVEL_S` after; NaN if it never does.
    """
    rates = bitrates_of(run)
    series = rates.series(flow)
    since = rates.times_s - ended_s
    begin, end = LEVEL_S
    before = float(series[(since >= -BEFORE_S) & (since < 0.0)].mean())
    after = float(series[(since >= begin) & (since < end)].mean())
    wanted = before + share * (after - before)
    reached = since[(since >= 0.0) & (since < end) & (series >= wanted)]
    return float(reached[0]) if len(reached) else float("nan")


def used_percent(run: Run, first: dict[str, Any], limited: dict[str, Any]) -> float:
    """What two downloads have together while one is limited, percent of what one has alone."""
    rates = bitrates_of(run)
    start, stop = seconds(limited["start"]), seconds(limited["stop"])
    together = Window(start + START_S, stop)
    alone = Window(stop + START_S, run.windows.run.stop_s)
    both = rates.mean(first["name"], together) + rates.mean(limited["name"], together)
    return 100.0 * both / rates.mean(first["name"], alone)
