"""Who pays when a video comes to a game: what each side has of what it could have.

Of a run all phases with a video are taken (see `gameway.metrics.phases`), and all without one, in
which the other flows are the same; of several such sets of others the one that is there longest
with and without. Where a game is never without a video its loss is not known. Each figure is the
mean of its phases by their length; halts are summed.

| figure | of | definition | unit |
|---|---|---|---|
| has_mbps | game | its bitrate beside the videos | Mb/s |
| could_mbps | game | its bitrate without them | Mb/s |
| has_mbps | video | mean bitrate of the levels that came on the screen | Mb/s |
| could_mbps | video | highest level that the link's capacity carries; or the lowest | Mb/s |
| lost_percent | both | what it has less than it could, of what it could | % |
| fps, stall_percent | game | frames shown; over 100 ms or never shown; also `_without` | f/s, % |
| held_percent | both | bitrate on the wire, of the capacity over all flows that are there | % |
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from gameway.experiment.keys.ladders import levels_of
from gameway.metrics.phases import GAME, VIDEO, kind_of, phases_of, rows
from gameway.metrics.presence import length_s
from gameway.metrics.source import runs_by_condition
from gameway.metrics.statistics import half_width
from gameway.metrics.windows import Window

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gameway.metrics.phases import Phase
    from gameway.metrics.presence import Spans
    from gameway.metrics.source import ResultFolder, Run

NUMBERS = (
    "has_mbps", "could_mbps", "lost_percent", "held_percent", "level", "interruptions",
    "interrupted_s", "fps", "fps_without", "stall_percent", "stall_percent_without",
)  # fmt: skip
NAN = math.nan


@dataclass(frozen=True)
class Compared:
    """The phases of a condition's runs that have videos, and those without beside them."""

    beside: list[Phase]
    without: list[Phase]

    @property
    def flows(self) -> dict[str, dict[str, Any]]:
        """All flows that are there beside, by their names, as they come."""
        return {str(flow["name"]): flow for phase in self.beside for flow in phase.flows}


def compared(run: Run) -> Compared | None:
    """What is compared in a run; None if no phase has a video."""
    sets: dict[frozenset[str], Compared] = {}
    for phase in phases_of(run):
        others = frozenset(str(one["name"]) for one in phase.flows if kind_of(one) != VIDEO)
        pair = sets.setdefault(others, Compared([], []))
        (pair.without if len(others) == len(phase.flows) else pair.beside).append(phase)
    found = [pair for pair in sets.values() if pair.beside]
    return max(found, key=_weight) if found else None


def joined_spans(phases: Iterable[Phase]) -> Spans:
    """When phases are, those that follow on each other as one."""
    found: Spans = []
    for phase in phases:
        if found and found[-1].stop_s == phase.window.start_s:
            found[-1] = Window(found[-1].start_s, phase.window.stop_s)
        else:
            found.append(phase.window)
    return found


def paid_table(results: ResultFolder) -> pl.DataFrame:
    """One row per condition, game and video: factors, `flow`, `kind`, `runs`, means of `NUMBERS`.

    `_ci95` is the half width of a mean's 95 % interval.
    """
    found = [
        runs[0].factors | row
        for runs in runs_by_condition(results)
        for row in _of_condition(paid_by_run(results, runs))
    ]
    texts = dict.fromkeys([*results.factors, "flow", "kind"], pl.String)
    numbers = [column for name in NUMBERS for column in (name, f"{name}_ci95")]
    schema = texts | {"runs": pl.Int64} | dict.fromkeys(numbers, pl.Float64)
    return pl.DataFrame(found, schema=schema)


def paid_by_run(results: ResultFolder, runs: list[Run]) -> list[dict[str, dict[str, Any]]]:
    """Of each run of a condition its games and videos: `kind`, `NUMBERS`."""
    pair = compared(runs[0])
    if pair is None:
        return []
    measured = rows(results)
    return [_of_run(pair, measured.filter(pl.col("run") == run.id).to_dicts()) for run in runs]


def held_more(each: list[dict[str, dict[str, Any]]]) -> float:
    """What games hold more of an equal share than videos, percentage points, for sure.

    Zero if the interval of the runs' differences does not exclude it; NaN without a game. A single
    run has no interval: its difference is taken as it is.
    """
    differences = np.array([_held(flows, GAME) - _held(flows, VIDEO) for flows in each])
    if np.isnan(differences).any():
        return NAN
    half, mean = half_width(differences), float(differences.mean())
    return mean if math.isnan(half) or abs(mean) > half else 0.0


def _weight(pair: Compared) -> tuple[float, float]:
    """How much there is to compare, then how much there is of videos."""
    beside, without = (
        length_s([phase.window for phase in phases]) for phases in (pair.beside, pair.without)
    )
    return min(beside, without), beside


def _held(flows: dict[str, dict[str, Any]], kind: str) -> float:
    held = [row["held_percent"] for row in flows.values() if row["kind"] == kind]
    return sum(held) / len(held) if held else NAN


def _of_condition(each: list[dict[str, dict[str, Any]]]) -> list[dict[str, Any]]:
    """Means over runs of what each flow has and could have."""
    found = []
    for flow, first in (each[0] if each else {}).items():
        row: dict[str, Any] = {"flow": flow, "kind": first["kind"], "runs": len(each)}
        for name in NUMBERS:
            values = np.array([one[flow][name] for one in each])
            known = values[~np.isnan(values)]
            row[name] = float(known.mean()) if len(known) else NAN
            row[f"{name}_ci95"] = half_width(known)
        found.append(row)
    return found


def _of_run(pair: Compared, measured: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Each game and video of one run: `kind`, `NUMBERS`."""
    found: dict[str, dict[str, Any]] = {}
    for name, flow in pair.flows.items():
        own = {row["phase"]: row for row in measured if row["flow"] == name}
        beside, without = _Means(pair.beside, own), _Means(pair.without, own)
        if kind_of(flow) == GAME:
            sides = _of_game(beside, without)
        elif kind_of(flow) == VIDEO:
            sides = _of_video(beside, flow)
        else:
            continue
        for phase in pair.beside:
            if row := own.get(phase.number):
                row["held_percent"] = 100.0 * row["mbps"] * len(phase.flows) / row["capacity_mbps"]
        lost = 100.0 * (1.0 - sides["has_mbps"] / sides["could_mbps"])
        sides |= {"lost_percent": lost, "held_percent": beside.of("held_percent")}
        found[name] = dict.fromkeys(NUMBERS, NAN) | sides | {"kind": kind_of(flow)}
    return found


@dataclass(frozen=True)
class _Means:
    """Figures of one flow over several phases of one run."""

    phases: list[Phase]
    rows: dict[int, dict[str, Any]]
    """Its figures by the phase's number; of phases without it there are none."""

    def _known(self, name: str) -> list[tuple[float, float]]:
        there = [phase for phase in self.phases if phase.number in self.rows]
        found = [(self.rows[phase.number][name], phase.window.length_s) for phase in there]
        return [(value, length) for value, length in found if not math.isnan(value)]

    def of(self, name: str) -> float:
        """The mean of a figure, by the length of phases; NaN if no phase has it."""
        known = self._known(name)
        whole = sum(length for _, length in known)
        return sum(value * length for value, length in known) / whole if known else NAN

    def sum(self, name: str) -> float:
        """The sum of a figure."""
        return sum(value for value, _ in self._known(name))


def _of_game(beside: _Means, without: _Means) -> dict[str, float]:
    return {
        "has_mbps": beside.of("mbps"),
        "could_mbps": without.of("mbps") or NAN,
        "fps": beside.of("fps"),
        "fps_without": without.of("fps"),
        "stall_percent": beside.of("stall_percent"),
        "stall_percent_without": without.of("stall_percent"),
    }


def _of_video(beside: _Means, flow: dict[str, Any]) -> dict[str, float]:
    rates = [rate / 1e6 for _, _, rate in levels_of(flow)]
    capacity = beside.of("capacity_mbps")
    return {
        "has_mbps": beside.of("quality_mbps"),
        "could_mbps": max([rate for rate in rates if rate <= capacity] or rates[:1]),
        "level": beside.of("level"),
        "interruptions": beside.sum("interruptions"),
        "interrupted_s": beside.sum("interrupted_s"),
    }
