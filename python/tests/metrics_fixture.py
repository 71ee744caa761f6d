"""Result folders made by formula, so that every metric of them is known in closed form."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

BIN_S = 0.5
FEEDBACK_SHARE = 0.02
UTILIZATION = {"path": 0.9, "back": 0.1}
NS = 1_000_000_000
# Bucket edges of the queue delay histograms, ns: 0 and (1 .. 8) x 10^k us.
STEPS = (1.0, 1.25, 1.6, 2.0, 2.5, 3.2, 4.0, 5.0, 6.3, 8.0)
EDGES_NS = [0, *(round(step * 10**k * 1000) for k in range(8) for step in STEPS)]


@dataclass(frozen=True)
class Behaviour:
    """How the stream of one run behaves; bitrates in Mb/s, times in seconds."""

    original: float = 20.0
    adjusted: float = 10.0
    response_s: float = 5.0
    """After the competitor's start the original bitrate is kept this long."""
    recovery_s: float = 12.5
    """After the competitor's stop the adjusted bitrate is kept this long."""
    ripple: float = 0.4
    """Bitrates alternate by plus and minus this much from bin to bin."""
    competitor: float = 13.0
    rtt_alone_ms: float = 17.0
    rtt_competing_ms: float = 40.0
    rtt_swing_ms: float = 2.0
    """Pings alternate by plus and minus this much."""
    frame_delay_ms: float = 12.0
    delay_steps_ms: tuple[float, ...] = (0.0, 1.0, 2.0, 3.0, 4.0)
    """Frame i is delayed by frame_delay_ms + delay_steps_ms[i % len]."""
    slow_every: int = 100
    """Every so many frames, one takes slow_ms (0 = none)."""
    slow_ms: float = 150.0
    skipped_every: int = 50
    """Every so many frames, one is never shown (0 = none)."""
    loss_per_mille: int = 2
    """Of 1000 packets of a bin, so many are dropped by the queue and as many lost on the path."""
    queue_ms: tuple[float, ...] = (2.0, 15.0, 30.0, 120.0)
    """Queueing delays, a quarter of the packets each."""
    sender_wait_ms: float = 1.0


@dataclass(frozen=True)
class Condition:
    """One cell of the matrix."""

    factors: Mapping[str, str]
    behaviour: Behaviour
    controller: str = "pudica"
    capacity_mbps: float = 25.0
    queue: str = "2 bdp"
    competitor: str | None = "cubic"


@dataclass(frozen=True)
class Timing:
    """Length of a run and of the competition in it, seconds."""

    duration: float = 540.0
    start: float = 185.0
    stop: float = 370.0


@dataclass(eq=False)
class FolderResults:
    """The part of `gameway.results.Results` that metrics use, without the compiled core."""

    path: Path
    manifest: dict[str, Any]
    factors: list[str] = field(init=False)
    runs: pl.DataFrame = field(init=False)

    def __post_init__(self) -> None:
        rows = self.manifest["runs"]
        self.factors = list(dict.fromkeys(name for row in rows for name in row["factors"]))
        self.runs = pl.DataFrame(
            [
                {
                    "id": row["id"],
                    "repeat": row["repeat"],
                    "seed": row["seed"],
                    "finished": (self.path / "runs" / row["id"]).is_dir(),
                    **{name: row["factors"].get(name) for name in self.factors},
                }
                for row in rows
            ]
        )


def make_results(  # noqa: PLR0913 (all but the folder have defaults)
    folder: Path,
    conditions: Sequence[Condition],
    *,
    runs: int = 3,
    timing: Timing | None = None,
    offset_mbps: float = 0.1,
    experiment: str = 'title = "Made by formula"\n',
) -> FolderResults:
    """Write a result folder; repeat r has `offset_mbps * (r - (runs - 1) / 2)` more bitrate."""
    timing = timing or Timing()
    listed = []
    for (index, condition), repeat in itertools.product(enumerate(conditions), range(runs)):
        run_id = f"run-{index:03}-{repeat:02}-{condition.controller}"
        offset = offset_mbps * (repeat - (runs - 1) / 2)
        _write_run(folder / "runs" / run_id, condition, timing, offset)
        listed.append(
            {"id": run_id, "factors": dict(condition.factors), "repeat": repeat, "seed": repeat + 1}
        )
    manifest = {
        "schema_version": 1,
        "gameway_version": "0.1.0",
        "commit": {"id": "0123456789abcdef", "dirty": False},
        "created": "2026-01-02T03:04:05Z",
        "completed": "2026-01-02T03:14:05Z",
        "machine": {"cpu": "a processor", "cores": 2, "os": "Linux"},
        "title": "Made by formula",
        "experiment_name": "made",
        "experiment_file": "made.toml",
        "experiment_text": experiment,
        "overrides": [],
        "runs": listed,
    }
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return FolderResults(folder, manifest)


def paper_matrix(
    behave: Callable[[str, float, str, str], Behaviour],
    controllers: Sequence[str] = ("pudica", "gcc", "scream"),
    capacities: Sequence[float] = (15.0, 25.0, 35.0),
    queues: Sequence[str] = ("0.5 bdp", "2 bdp", "7 bdp"),
    congestion: Sequence[str] = ("cubic", "bbr"),
) -> list[Condition]:
    """The conditions of Xu and Claypool's matrix, each with the behaviour that is asked for."""
    return [
        Condition(
            factors={
                "controller": controller,
                "capacity": f"{capacity:g} Mb/s",
                "queue_size": queue,
                "congestion_control": tcp,
            },
            behaviour=behave(controller, capacity, queue, tcp),
            controller=controller,
            capacity_mbps=capacity,
            queue=queue,
            competitor=tcp,
        )
        for controller, tcp, capacity, queue in itertools.product(
            controllers, congestion, capacities, queues
        )
    ]


def _write_run(folder: Path, condition: Condition, timing: Timing, offset: float) -> None:
    folder.mkdir(parents=True)
    (folder / "spec.json").write_text(json.dumps(_spec(condition, timing)))
    tables = {
        "frames": _frames(condition.behaviour, timing),
        "bins": _bins(condition, timing, offset),
        "link": _link(condition, timing),
        "queue_delay": _queue_delay(condition.behaviour, timing),
        "pings": _pings(condition, timing),
        "controller": _controller(condition.behaviour, timing),
        "events": _events(condition, timing),
    }
    for name, table in tables.items():
        table.write_parquet(folder / f"{name}.parquet")


def _spec(condition: Condition, timing: Timing) -> dict[str, Any]:
    spec: dict[str, Any] = {
        "seed": 1,
        "duration": f"{timing.duration:g} s",
        "path": {
            "capacity": f"{condition.capacity_mbps:g} Mb/s",
            "base_rtt": "16 ms",
            "queue": {"kind": "drop-tail", "size": condition.queue},
        },
        "stream": [{"name": "game", "controller": condition.controller, "frame_rate": 60}],
    }
    if condition.competitor is not None:
        times = {"start": f"{timing.start:g} s", "stop": f"{timing.stop:g} s"}
        flow = {"name": "download", "kind": "tcp", "congestion_control": condition.competitor}
        spec["competitor"] = [flow | times]
    return spec


def game_bitrates(behaviour: Behaviour, timing: Timing, *, competing: bool = True) -> Any:
    """Start of the bins (s) and the stream's bitrate in them (Mb/s), without the run's offset."""
    times = np.arange(round(timing.duration / BIN_S)) * BIN_S
    low = (times >= timing.start + behaviour.response_s) & (
        times < timing.stop + behaviour.recovery_s
    )
    levels = np.where(low & competing, behaviour.adjusted, behaviour.original)
    return times, levels + behaviour.ripple * np.where(np.arange(len(times)) % 2, -1.0, 1.0)


def _bins(condition: Condition, timing: Timing, offset: float) -> pl.DataFrame:
    behaviour, competing = condition.behaviour, condition.competitor is not None
    times, game = game_bitrates(behaviour, timing, competing=competing)
    flows = [_flow_bins("game", times, game + offset, behaviour.loss_per_mille)]
    if competing:
        during = times[(times >= timing.start) & (times < timing.stop)]
        flows.append(_flow_bins("download", during, np.full(len(during), behaviour.competitor), 0))
    return pl.concat(flows).with_columns(pl.col("flow").cast(pl.Categorical))


def _flow_bins(flow: str, times: Any, mbps: Any, loss_per_mille: int) -> pl.DataFrame:
    count = len(times)
    received = np.round(mbps * 1e6 / 8 * BIN_S).astype(np.uint64)
    return pl.DataFrame(
        {
            "bin_start_ns": np.round(times * NS).astype(np.int64),
            "flow": [flow] * count,
            "sent_bytes": received,
            "received_bytes": received,
            "received_payload_bytes": received,
            "sent_packets": np.full(count, 1000, np.uint32),
            "received_packets": np.full(count, 1000 - 2 * loss_per_mille, np.uint32),
            "dropped_packets": np.full(count, loss_per_mille, np.uint32),
            "lost_packets": np.full(count, loss_per_mille, np.uint32),
            "marked_packets": np.zeros(count, np.uint32),
            "frames_shown": np.full(count, 30, np.uint32),
            "feedback_bytes": np.round(received * FEEDBACK_SHARE).astype(np.uint64),
        }
    )


def _frames(behaviour: Behaviour, timing: Timing) -> pl.DataFrame:
    count = round(timing.duration * 60)
    number = np.arange(count)
    captured = number * NS // 60
    sent = captured + round(behaviour.sender_wait_ms * 1e6)
    steps = np.array(behaviour.delay_steps_ms)
    delay = behaviour.frame_delay_ms + steps[number % len(steps)]
    if behaviour.slow_every:
        delay = np.where(number % behaviour.slow_every == 1, behaviour.slow_ms, delay)
    complete = sent + np.round(delay * 1e6).astype(np.int64)
    shown = np.ones(count, bool)
    if behaviour.skipped_every:
        shown = number % behaviour.skipped_every != 0
    queue = np.array(behaviour.queue_ms)[number % len(behaviour.queue_ms)]
    payload = round(behaviour.original * 1e6 / 8 / 60)
    table = pl.DataFrame(
        {
            "frame": number.astype(np.uint32),
            "captured_ns": captured,
            "target_bps": np.full(count, round(behaviour.original * 1e6), np.uint64),
            "payload_bytes": np.full(count, payload, np.uint32),
            "wire_bytes": np.full(count, payload, np.uint32),
            "packets": np.full(count, 30, np.uint16),
            "key_frame": number == 0,
            "first_sent_ns": sent,
            "last_sent_ns": sent,
            "complete_ns": complete,
            "shown_ns": complete,
            "lost_packets": np.zeros(count, np.uint16),
            "first_packet_queue_delay_ns": np.round(queue * 1e6).astype(np.int64),
            "_shown": shown,
        }
    )
    hidden = [
        pl.when("_shown").then(pl.col(name)).alias(name) for name in ("complete_ns", "shown_ns")
    ]
    stream = pl.lit("game").cast(pl.Categorical).alias("stream")
    return table.with_columns(hidden).select(stream, pl.exclude("_shown"))


def _link(condition: Condition, timing: Timing) -> pl.DataFrame:
    """Two bottlenecks, row by row in turn, as the simulator writes them."""
    both = pl.concat([_one_link(name, condition, timing) for name in UTILIZATION])
    return both.sort("bin_start_ns", maintain_order=True)


def _one_link(name: str, condition: Condition, timing: Timing) -> pl.DataFrame:
    count = round(timing.duration / BIN_S)
    capacity = round(condition.capacity_mbps * 1e6 / 8 * BIN_S)
    carried = round(capacity * UTILIZATION[name])
    return pl.DataFrame(
        {
            "bin_start_ns": np.arange(count) * (NS // 2),
            "link": pl.Series([name] * count, dtype=pl.Categorical),
            "capacity_bytes": np.full(count, capacity, np.uint64),
            "transmitted_bytes": np.full(count, carried, np.uint64),
            "busy_ns": np.full(count, round(0.45 * NS)),
            "queue_max_bytes": np.full(count, 30000, np.uint64),
            "queue_mean_bytes": np.full(count, 10000.0),
        }
    )


def _queue_delay(behaviour: Behaviour, timing: Timing) -> pl.DataFrame:
    rows = []
    for window in range(round(timing.duration / 5)):
        for delay in behaviour.queue_ms:
            index = int(np.searchsorted(EDGES_NS, delay * 1e6, side="right"))
            rows.append(
                (window * 5 * NS, "game", EDGES_NS[index - 1], EDGES_NS[index], 250,
                 round(250 * delay * 1e6))
            )  # fmt: skip
    names = ["window_start_ns", "flow", "delay_low_ns", "delay_high_ns", "packets", "sum_ns"]
    table = pl.DataFrame(rows, schema=names, orient="row")
    return table.with_columns(pl.col("flow").cast(pl.Categorical))


def _pings(condition: Condition, timing: Timing) -> pl.DataFrame:
    behaviour = condition.behaviour
    sent = np.arange(round(timing.duration))
    during = (sent >= timing.start) & (sent < timing.stop) & (condition.competitor is not None)
    rtt = np.where(during, behaviour.rtt_competing_ms, behaviour.rtt_alone_ms)
    rtt = rtt + behaviour.rtt_swing_ms * np.where(sent % 2, 1.0, -1.0)
    return pl.DataFrame({"sent_ns": sent * NS, "rtt_ns": np.round(rtt * 1e6).astype(np.int64)})


def _controller(behaviour: Behaviour, timing: Timing) -> pl.DataFrame:
    times, game = game_bitrates(behaviour, timing)
    values = {"target_bps": game * 1e6, "bur": 0.8 + 0.1 * np.sin(times)}
    parts = [
        pl.DataFrame(
            {
                "stream": ["game"] * len(times),
                "time_ns": np.round(times * NS).astype(np.int64),
                "variable": [name] * len(times),
                "value": series,
            }
        )
        for name, series in values.items()
    ]
    texts = pl.col("stream", "variable").cast(pl.Categorical)
    return pl.concat(parts).with_columns(texts)


def _events(condition: Condition, timing: Timing) -> pl.DataFrame:
    rows = [(0, "game", "start", 0.0)]
    if condition.competitor is not None:
        rows.append((round(timing.start * NS), "download", "start", 0.0))
        rows.append((round(timing.stop * NS), "download", "stop", 0.0))
    table = pl.DataFrame(rows, schema=["time_ns", "flow", "event", "value"], orient="row")
    return table.with_columns(pl.col("flow", "event").cast(pl.Categorical))
