"""What Pudica's evaluation measures, from the tables of runs.

Source: Wang et al., "Pudica", NSDI 2024, sections 2.3, 5.1 and 5.3.

| Measure | Definition | Origin |
|---|---|---|
| frame delay | capture to last needed packet at the client, and half a base RTT back | 5.1 |
| stall rate | frames with a larger delay, or never shown | 2.3 |
| bitrate | bytes of frames on the wire | 5.1 |
| utilization | received from 30 s on, of what could have been | 5.3 |
| steady state | mean of the last second within 2 % of that of the second before | 5.3 |
| fair state | means over 2 s of any two flows within 20 %, or all flows steady | 5.3 |
| fairness index | Jain's index of the mean bitrates from 45 s to 60 s | 5.3 |

The paper's frame delay is a round trip. The time that a sender holds a frame back counts: a
controller must not hide its queue there. A session's numbers are means over its flows, a table's
are means over sessions. What could have been received is the capacity, or the greatest bitrates
where they are less.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from gameway.metrics.frames import GRACE_S
from gameway.metrics.quantities import megabits_per_second, seconds
from gameway.metrics.series import BIN_S, Bitrates, bitrates_from
from gameway.metrics.source import Run, finished_runs, streams
from gameway.metrics.statistics import jain_index
from gameway.metrics.windows import Window

if TYPE_CHECKING:
    from gameway.metrics.source import ResultFolder
    from gameway.metrics.statistics import Floats
    from gameway.results import Results

STALLS_MS = (50, 100, 200)
STEADY_CHANGE = 0.02
STEADY_S = 1.0
FAIR_DIFFERENCE = 0.2
FAIR_S = 2.0
UTILIZED_FROM_S = 30.0
JAIN = Window(45.0, 60.0)
DELAYS = ("delay_mean_ms", "delay_p95_ms", "delay_p99_ms")
STALL_COLUMNS = tuple(f"stall_{limit}ms_percent" for limit in STALLS_MS)


def about_runs(results: ResultFolder) -> pl.DataFrame:
    """One row per run: controller, path (as a key to pair runs), what is known of the path."""
    rows = []
    for run in finished_runs(results):
        path = run.spec["path"]
        rows.append(
            {
                "run": run.id,
                "controller": run.factors.get("controller"),
                "pair": json.dumps([path, run.repeat], sort_keys=True),
                "base_rtt_ms": seconds(path["base_rtt"]) * 1e3,
                "duration_s": seconds(run.spec["duration"]),
                "capacity_mbps": full_capacity_mbps(run),
                "kind": path_kind(path),
            }
        )
    return pl.DataFrame(rows)


def full_capacity_mbps(run: Run) -> float:
    """The capacity of a run's path at its beginning; NaN for a trace."""
    capacity = run.spec["path"]["capacity"]
    if isinstance(capacity, dict):
        capacity = capacity["steps"][0][1] if "steps" in capacity else "nan b/s"
    return megabits_per_second(capacity) if not capacity.startswith("nan") else math.nan


def path_kind(path: dict[str, Any]) -> str:
    """Which kind of path of the population it is."""
    if isinstance(path["capacity"], dict):
        return "unsteady"
    return "WiFi" if (path.get("jitter") or {}).get("kind") == "periodic" else "Ethernet"


def frames_of(results: Results) -> pl.LazyFrame:
    """One row per judged frame: capture, delay (null: never complete), size, queue that it met."""
    columns = (
        "run", "stream", "repeat", "captured_ns", "complete_ns", "shown_ns", "wire_bytes",
        "target_bps", "first_packet_queue_delay_ns", "last_sent_ns",
    )  # fmt: skip
    keys = about_runs(results).lazy().drop("pair", "capacity_mbps", "kind")
    rows = results.frames().select(columns).join(keys, on="run", maintain_order="left")
    captured_s = pl.col("captured_ns") / 1e9
    delay = (pl.col("complete_ns") - pl.col("captured_ns")) / 1e6 + pl.col("base_rtt_ms") / 2.0
    return rows.filter(captured_s < pl.col("duration_s") - GRACE_S).select(
        "run",
        "stream",
        "repeat",
        "controller",
        captured_s=captured_s,
        delay_ms=delay,
        shown=pl.col("shown_ns").is_not_null(),
        wire_bytes="wire_bytes",
        target_mbps=pl.col("target_bps") / 1e6,
        queue_ms=pl.col("first_packet_queue_delay_ns") / 1e6,
        spread_ms=(pl.col("last_sent_ns") - pl.col("captured_ns")) / 1e6,
    )


def sessions(results: Results, from_s: float = 0.0) -> pl.DataFrame:
    """One row per run: frame delays, stall rates and bitrate of the frames captured from a time on.

    Columns: run, controller, pair, capacity_mbps, kind, DELAYS, STALL_COLUMNS, queue_p95_ms,
    spread_ms (from capture to the last packet sent), bitrate_mbps.
    """
    stalls = {f"stall_{limit}ms_percent": 100.0 * late(limit).mean() for limit in STALLS_MS}
    inside = frames_of(results).filter(pl.col("captured_s") >= from_s)
    span_s = pl.col("captured_s").max() - pl.col("captured_s").min()
    flows = inside.group_by("run", "stream").agg(
        delay_mean_ms=pl.col("delay_ms").mean(),
        delay_p95_ms=pl.col("delay_ms").quantile(0.95, "linear"),
        delay_p99_ms=pl.col("delay_ms").quantile(0.99, "linear"),
        **stalls,
        queue_p95_ms=pl.col("queue_ms").quantile(0.95, "linear"),
        spread_ms=pl.col("spread_ms").mean(),
        bitrate_mbps=pl.col("wire_bytes").sum() * 8e-6 / span_s,
    )
    means = flows.drop("stream").group_by("run").mean().collect()
    keys = about_runs(results).select("run", "controller", "pair", "capacity_mbps", "kind")
    return keys.join(means, on="run", how="inner", maintain_order="left")


def late(limit_ms: float) -> pl.Expr:
    """Whether a frame of `frames_of` stalls: delayed by more than the limit, or never shown."""
    return ~pl.col("shown") | (pl.col("delay_ms") > limit_ms).fill_null(value=True)


def convergence(results: Results) -> pl.DataFrame:
    """One row per run: utilization, Jain's index, time to steady state and to fair state.

    Columns: run, controller, utilization_percent, jain_index, steady_s (of the first flow),
    fair_s (from the last flow's start). Null: never; NaN: nothing to measure.
    """
    rows = []
    for run in finished_runs(results):
        bitrates = bitrates_from(run.table("bins"), run.windows.run.stop_s)
        starts = {str(s["name"]): seconds(s.get("start") or "0 s") for s in streams(run.spec)}
        first, last = min(starts, key=starts.__getitem__), max(starts.values())
        alone = Bitrates(bitrates.times_s, {name: bitrates.by_flow[name] for name in starts})
        until = min((start for start in starts.values() if start > 0.0), default=math.inf)
        rows.append(
            {
                "run": run.id,
                "utilization_percent": utilization_percent(run, alone),
                "jain_index": jain_index([alone.mean(name, JAIN) for name in starts]),
                "steady_s": steady_after(alone, first, starts[first], until),
                "fair_s": fair_after(alone, last) if len(starts) > 1 else math.nan,
            }
        )
    schema = {"run": pl.String} | dict.fromkeys(
        ("utilization_percent", "jain_index", "steady_s", "fair_s"), pl.Float64
    )
    keys = about_runs(results).select("run", "controller")
    return keys.join(pl.DataFrame(rows, schema=schema), on="run", maintain_order="left")


def utilization_percent(run: Run, bitrates: Bitrates) -> float:
    """Share that the streams carried of what they could have carried, from 30 s on."""
    link = run.table("link")
    if "link" in link.columns:
        link = link.filter(pl.col("link") == "path")
    times = link["bin_start_ns"].to_numpy() / 1e9
    capacity = link["capacity_bytes"].to_numpy() * 8e-6 / BIN_S
    most = sum(megabits_per_second(s.get("max_bitrate") or "50 Mb/s") for s in streams(run.spec))
    inside = (times >= UTILIZED_FROM_S) & (times < run.windows.run.stop_s)
    could = np.minimum(capacity[inside], most)
    window = Window(UTILIZED_FROM_S, run.windows.run.stop_s)
    carried = sum(bitrates.mean(name, window) for name in bitrates.by_flow)
    return 100.0 * carried / float(could.mean()) if len(could) else math.nan


def steady(times_s: Floats, mbps: Floats, at_s: float) -> bool:
    """Whether a flow is in a steady state: the last second within 2 % of the one before."""
    now = mbps[(times_s >= at_s - STEADY_S) & (times_s < at_s)]
    before = mbps[(times_s >= at_s - 2.0 * STEADY_S) & (times_s < at_s - STEADY_S)]
    if len(now) == 0 or len(before) == 0 or before.mean() == 0.0:
        return False
    return abs(float(now.mean() / before.mean()) - 1.0) <= STEADY_CHANGE


def steady_after(
    bitrates: Bitrates, flow: str, start_s: float, until_s: float = math.inf
) -> float | None:
    """Seconds from a flow's start to its first steady state; None: never (before `until_s`)."""
    times = bitrates.times_s
    for at in _instants(times, start_s + 2.0 * STEADY_S, until_s):
        if steady(times, bitrates.by_flow[flow], at):
            return at - start_s
    return None


def fair_after(bitrates: Bitrates, start_s: float, until_s: float = math.inf) -> float | None:
    """Seconds from a time, when all flows run, to the first fair state; None: never."""
    for at in _instants(bitrates.times_s, start_s + FAIR_S, until_s):
        window = Window(at - FAIR_S, at)
        means = [bitrates.mean(flow, window) for flow in bitrates.by_flow]
        close = min(means) > 0.0 and 1.0 - min(means) / max(means) <= FAIR_DIFFERENCE
        if close or all(steady(bitrates.times_s, own, at) for own in bitrates.by_flow.values()):
            return at - start_s
    return None


def _instants(times_s: Floats, from_s: float, until_s: float) -> list[float]:
    ends = times_s + BIN_S
    return [float(at) for at in ends if from_s <= at <= until_s]
