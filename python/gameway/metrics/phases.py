"""What each flow of a run got while the same flows were there: one row per run, phase and flow.

A phase is a span in which no flow comes or goes; one shorter than a twentieth of the run is left
out, and so is one in which nobody is there. Of a phase of 190 s or more the first 30 s and the last
10 s do not count for bitrates: that is the window from 220 s to 370 s of Xu and Claypool, "Game
Streaming vs DASH", for a video from 190 s to 380 s (IV-B). Shorter phases have these times
shortened in proportion.

| figure | of | definition | unit |
|---|---|---|---|
| mbps | all | wire bytes that arrived, in the window above | Mb/s |
| level_mbps | all | the same in the last 60 s of the phase | Mb/s |
| rtt_ms | game | mean round-trip time of the pings | ms |
| wait_ms | game | mean time that its packets waited at the bottleneck | ms |
| loss_percent | game | packets dropped or lost, of those sent | % |
| fps | game | frames shown | f/s |
| stall_percent | game | frames with a delay over 100 ms or never shown | % |
| level, quality_mbps | video | means over the segments that came on the screen | 1, Mb/s |
| switches | video | segments at another level than the one before, per minute | 1/min |
| interruptions, interrupted_s | video | halts that ended in the phase, and for how long | 1, s |
| loading_percent | video | time from a request to the end of its answer, of the phase | % |

Those of the game and of the viewer are of the whole phase. Only in a phase that begins with the run
the game's are from 30 s on: the publication's traces begin when the game is being played.
"""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import polars as pl

from gameway.metrics.frames import COLUMNS, frame_metrics, frames_from
from gameway.metrics.memo import once_per_results
from gameway.metrics.network import (
    capacity_mbps,
    loss_percent,
    queue_delay_metrics,
    rtt_metrics,
)
from gameway.metrics.presence import presence
from gameway.metrics.series import bitrates_from
from gameway.metrics.source import competitors, finished_runs, streams
from gameway.metrics.windows import Window

if TYPE_CHECKING:
    from gameway.metrics.frames import Frames
    from gameway.metrics.series import Bitrates
    from gameway.metrics.source import ResultFolder, Run

GAME, VIDEO = "game", "video"
KINDS = {"dash": VIDEO, "short-tcp": "web", "tcp": "download", "quic": "download"}
PHASE_S, SETTLING_S, LEAVING_S, LEVEL_S = 190.0, 30.0, 10.0, 60.0
SHORTEST = 0.05
NAN = float("nan")
OF_GAME = ("rtt_ms", "wait_ms", "loss_percent", "fps", "stall_percent")
OF_VIDEO = (
    "level", "quality_mbps", "switches", "interruptions", "interrupted_s", "startup_s",
    "loading_percent",
)  # fmt: skip
NUMBERS = ("mbps", "level_mbps", "capacity_mbps", *OF_GAME, *OF_VIDEO)


@dataclass(frozen=True)
class Phase:
    """A span of a run in which the same flows are there."""

    number: int
    window: Window
    flows: tuple[dict[str, Any], ...]

    @property
    def scale(self) -> float:
        """How much shorter than the publication's its settling times are."""
        return min(self.window.length_s / PHASE_S, 1.0)

    @property
    def settled(self) -> Window:
        """Where bitrates are taken."""
        start, stop = self.window.start_s, self.window.stop_s
        return Window(start + SETTLING_S * self.scale, stop - LEAVING_S * self.scale)

    @property
    def level(self) -> Window:
        """Its end, as the publication of 2022 has it."""
        return Window(self.window.stop_s - LEVEL_S * self.scale, self.window.stop_s)

    @property
    def played(self) -> Window:
        """The whole of it; without the start where it begins with the run."""
        start = self.window.start_s
        return Window(start + (0.0 if start else SETTLING_S * self.scale), self.window.stop_s)

    @property
    def present(self) -> str:
        """Who is there: "game + 2 videos"."""
        counts = Counter(kind_of(flow) for flow in self.flows)
        return " + ".join(f"{n} {kind}s" if n > 1 else kind for kind, n in counts.items())


def kind_of(flow: dict[str, Any]) -> str:
    """What a flow of a spec is, in a word."""
    if "controller" in flow:
        return GAME
    kind = str(flow.get("kind", "tcp"))
    return KINDS.get(kind, kind)


def phases_of(run: Run) -> list[Phase]:
    """The phases of a run in their order."""
    whole = run.windows.run
    flows = [*streams(run.spec), *competitors(run.spec)]
    spans = [(flow, span) for flow in flows for span in presence(flow, whole)]
    times = {time for _, span in spans for time in (span.start_s, span.stop_s)}
    found: list[Phase] = []
    for start, stop in itertools.pairwise(sorted(times | {whole.start_s, whole.stop_s})):
        there = tuple(flow for flow, span in spans if span.start_s <= start and stop <= span.stop_s)
        if there and stop - start >= SHORTEST * whole.length_s:
            found.append(Phase(len(found), Window(start, stop), there))
    return found


@once_per_results
def rows(results: ResultFolder) -> pl.DataFrame:
    """One row per finished run, phase and flow: condition, `NUMBERS`."""
    found = [row for run in finished_runs(results) for row in _rows(run, results.factors)]
    texts = ("run", "present", "flow", "kind", *results.factors)
    schema: dict[str, Any] = dict.fromkeys(texts, pl.String)
    schema |= {"repeat": pl.Int64, "phase": pl.Int64}
    return pl.DataFrame(found, schema=schema | dict.fromkeys(NUMBERS, pl.Float64))


def _rows(run: Run, factors: list[str]) -> list[dict[str, Any]]:
    bins, link = run.table("bins"), run.link()
    rates = bitrates_from(bins, run.windows.run.stop_s)
    condition = {"run": run.id} | {name: run.factors.get(name) for name in factors}
    players, viewers = Players(run, bins), Viewers.of(run)
    found = []
    for phase in phases_of(run):
        capacity = capacity_mbps(link, phase.settled)
        for flow in phase.flows:
            row: dict[str, Any] = dict.fromkeys(NUMBERS, NAN) | condition
            row |= {"repeat": run.repeat, "phase": phase.number, "present": phase.present}
            row |= {"flow": flow["name"], "kind": kind_of(flow), "capacity_mbps": capacity}
            row |= _bitrates(rates, str(flow["name"]), phase)
            if kind_of(flow) == GAME:
                row |= players.saw(str(flow["name"]), phase.played)
            if kind_of(flow) == VIDEO:
                row |= viewers.saw(str(flow["name"]), phase.window)
            found.append(row)
    return found


def _bitrates(rates: Bitrates, flow: str, phase: Phase) -> dict[str, float]:
    return {"mbps": rates.mean(flow, phase.settled), "level_mbps": rates.mean(flow, phase.level)}


@dataclass(frozen=True)
class Players:
    """What the players of a run's games saw and when."""

    run: Run
    bins: pl.DataFrame

    @cached_property
    def frames(self) -> dict[str, Frames]:
        """The frames of each game."""
        table, stop_s = self.run.table("frames", COLUMNS), self.run.windows.run.stop_s
        names = [str(stream["name"]) for stream in streams(self.run.spec)]
        return {name: frames_from(table.filter(pl.col("stream") == name), stop_s) for name in names}

    @cached_property
    def pings(self) -> pl.DataFrame:
        """The pings of the run."""
        return self.run.table("pings")

    @cached_property
    def delays(self) -> pl.DataFrame:
        """Histograms of the time in the queue."""
        return self.run.table("queue_delay")

    def saw(self, game: str, window: Window) -> dict[str, float]:
        """What the player of a game saw in a window."""
        shown = frame_metrics(self.frames[game], window, window.length_s)
        return {
            "rtt_ms": rtt_metrics(self.pings, window)["rtt_mean_ms"],
            "wait_ms": queue_delay_metrics(self.delays, game, window)["queue_delay_mean_ms"],
            "loss_percent": loss_percent(self.bins, game, window),
            "fps": shown["displayed_fps"],
            "stall_percent": shown["stall_100ms_percent"],
        }


@dataclass(frozen=True)
class Viewers:
    """What the viewers of a run's videos saw and when."""

    segments: pl.DataFrame
    events: pl.DataFrame

    @classmethod
    def of(cls, run: Run) -> Viewers:
        """Those of a run; without videos there are none."""
        if all(kind_of(flow) != VIDEO for flow in competitors(run.spec)):
            return cls(pl.DataFrame(), pl.DataFrame())
        return cls(run.table("segments").sort("displayed_ns"), run.table("events"))

    def saw(self, video: str, window: Window) -> dict[str, float]:
        """What the viewer of a video saw in a window."""
        start, stop = window.nanoseconds
        # A halt that the end of the video cuts off is told at that very time.
        inside = pl.col("flow") == video, pl.col("time_ns").is_between(start, stop)
        events = self.events.filter(*inside)
        own = self.segments.filter(pl.col("flow") == video)
        shown = own.filter(pl.col("displayed_ns").is_between(start, stop, closed="left"))
        halts = events.filter(pl.col("event") == "resumed")["value"]
        begun = events.filter(pl.col("event") == "playback-started")["value"]
        switched = (shown["level"].cast(pl.Int64).diff().drop_nulls() != 0).sum()
        return {
            "level": _mean(shown["level"]),
            "quality_mbps": _mean(shown["bitrate_bps"]) / 1e6,
            "switches": 60.0 * float(switched) / window.length_s,
            "interruptions": float(len(halts)),
            "interrupted_s": float(halts.sum()),
            "startup_s": float(begun[0]) if len(begun) else NAN,
            "loading_percent": 100.0 * _loading_s(own, window) / window.length_s,
        }


def _loading_s(segments: pl.DataFrame, window: Window) -> float:
    """For how long in a window a video was waiting for data that it had asked for.

    One request is under way at a time. Of one that was given up, it is not told when: not counted.
    """
    start, stop = window.nanoseconds
    last = pl.when(pl.col("fate") == "unfinished").then(stop).otherwise(pl.col("requested_ns"))
    begin = pl.col("requested_ns").clip(start, stop)
    end = pl.coalesce("complete_ns", last).clip(start, stop)
    return float(segments.select((end - begin).sum()).item()) / 1e9


def _mean(values: pl.Series) -> float:
    found = values.cast(pl.Float64).mean()
    return found if isinstance(found, float) else NAN
