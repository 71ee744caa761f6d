"""Who wins where: means and paired differences with intervals, the best, and the Pareto front.

Repeats are paired by seed: runs of one seed meet the same frames, losses, jitter and start times.
The interval of a difference is that of the differences run by run, which is narrower than what two
separate intervals would say.

A controller is worse than the best if the interval of its paired difference excludes zero and the
mean difference is at least the relevance of the measure. All others share the win. A controller is
on the Pareto front of utilization against 95th percentile frame delay unless another one is better
in one of the two, in this sense, and not worse in the other.

The oracle is a limit and "fixed" a baseline: neither is judged beside controllers that adapt.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from gameway.compare.bootstrap import NOTHING, Interval, interval
from gameway.compare.measures import DELAY_95, MEASURES, RATED, UTILIZATION, Measure

if TYPE_CHECKING:
    import polars as pl

    from gameway.compare.scenarios import Scenario

LIMIT, BASELINE = "oracle", "fixed"
FEWEST_JUDGED = 2


@dataclass(frozen=True)
class Ranking:
    """The controllers of a scenario by one measure, the best first."""

    measure: Measure
    order: list[str]
    shared: list[str]
    """The best and those that are not worse than it."""
    behind: dict[str, Interval]
    """How far each is behind the best: positive is worse."""

    @property
    def best(self) -> str:
        """The controller with the best mean."""
        return self.order[0]


class Verdict:
    """What can be said of one scenario."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self._values: dict[tuple[str, str], dict[int, float]] = {}
        self._differences: dict[tuple[str, str, str], Interval] = {}

    @cached_property
    def judged(self) -> list[str]:
        """The controllers that are ranked."""
        kept = [name for name in self.scenario.controllers if kind(name) not in {LIMIT, BASELINE}]
        return kept if len(kept) >= FEWEST_JUDGED else self.without_limit

    @property
    def without_limit(self) -> list[str]:
        """All but the oracle."""
        return [name for name in self.scenario.controllers if kind(name) != LIMIT]

    @cached_property
    def limits(self) -> list[str]:
        """The oracle, where there is one."""
        return [name for name in self.scenario.controllers if kind(name) == LIMIT]

    @cached_property
    def repeats(self) -> int:
        """Runs of the controller that has the fewest."""
        counts = self.scenario.runs.group_by("controller").len()["len"]
        return int(counts.to_numpy().min())

    @cached_property
    def measures(self) -> list[Measure]:
        """The measures that have a value here."""
        runs = self.scenario.runs
        return [one for one in MEASURES if not runs[one.name].fill_nan(None).is_null().all()]

    def mean(self, controller: str, one: Measure) -> Interval:
        """The mean of a controller over its runs."""
        return interval(np.array(list(self._column(controller, one.name).values())))

    def difference(self, controller: str, other: str, one: Measure) -> Interval:
        """The mean of a controller less that of another, paired by seed, as it is judged."""
        key = (controller, other, one.name)
        if key not in self._differences:
            column = RATED if one is UTILIZATION else one.name
            mine, theirs = self._column(controller, column), self._column(other, column)
            paired = [mine[seed] - theirs[seed] for seed in mine if seed in theirs]
            self._differences[key] = interval(np.array(paired)) if paired else NOTHING
        return self._differences[key]

    def worse_by(self, controller: str, other: str, one: Measure) -> Interval:
        """How much worse a controller is than another."""
        if one.higher_is_better:
            return self.difference(other, controller, one)
        return self.difference(controller, other, one)

    def is_worse(self, controller: str, other: str, one: Measure) -> bool:
        """Whether a controller is surely and relevantly worse than another.

        Of one run nothing is sure: then the relevance alone decides.
        """
        gap = self.worse_by(controller, other, one)
        sure = gap.low > 0.0 if gap.known else True
        return bool(sure and gap.mean >= one.relevance)

    def ranking(self, one: Measure) -> Ranking | None:
        """The judged controllers by a measure; None if it has no value here."""
        means = {name: self._judged_mean(name, one) for name in self.judged}
        known = [name for name, mean in means.items() if not np.isnan(mean)]
        if not known:
            return None
        order = sorted(known, key=means.__getitem__, reverse=one.higher_is_better)
        best = order[0]
        shared = [name for name in order if name == best or not self.is_worse(name, best, one)]
        return Ranking(one, order, shared, {n: self.worse_by(n, best, one) for n in order})

    @cached_property
    def front(self) -> list[str]:
        """The Pareto front of utilization against 95th percentile frame delay, quickest first."""
        known = [n for n in self.judged if not np.isnan(self._judged_mean(n, DELAY_95))]
        kept = [name for name in known if not any(self._beaten(name, by) for by in known)]
        return sorted(kept, key=lambda name: self._judged_mean(name, DELAY_95))

    def _beaten(self, controller: str, by: str) -> bool:
        axes = (UTILIZATION, DELAY_95)
        worse = [self.is_worse(controller, by, axis) for axis in axes]
        better = [self.is_worse(by, controller, axis) for axis in axes]
        return controller != by and any(worse) and not any(better)

    def _judged_mean(self, controller: str, one: Measure) -> float:
        column = RATED if one is UTILIZATION else one.name
        values = list(self._column(controller, column).values())
        return float(np.mean(values)) if values else float("nan")

    def _column(self, controller: str, column: str) -> dict[int, float]:
        """The known values of a controller by seed."""
        key = (controller, column)
        if key not in self._values:
            rows = _rows(self.scenario.runs, controller)
            pairs = zip(rows["seed"], rows[column], strict=True)
            self._values[key] = {
                seed: value for seed, value in pairs if value is not None and not np.isnan(value)
            }
        return self._values[key]


def kind(controller: str) -> str:
    """The kind of a controller by its label: "fixed bitrate=8 Mb/s" is "fixed"."""
    return controller.split(" ", 1)[0]


def _rows(runs: pl.DataFrame, controller: str) -> pl.DataFrame:
    return runs.filter(runs["controller"] == controller)
