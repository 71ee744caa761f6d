"""What carries out the runs of an experiment: the simulator, or this machine in real time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gameway.experiment.keys import places
from gameway.experiment.tables import CHROMIUM
from gameway.on import On
from gameway.sweep import folder

if TYPE_CHECKING:
    from gameway.expansion import Run
    from gameway.experiment import Experiment
    from gameway.experiment.keys import At

RunOne = Callable[[dict[str, Any], dict[str, Any], Path], None]
"""Computes one run: its spec, the spec to record, its folder."""


def _nothing_more(_experiment: Experiment, _runs: list[Run]) -> None:
    """Refuse nothing."""


@dataclass(frozen=True)
class Driver:
    """What carries out runs, and what is particular about it."""

    name: On
    run_one: RunOne
    check: Callable[[Experiment, list[Run]], None] = _nothing_more
    """Refuses what an experiment may contain but this driver cannot do."""
    facts: Callable[[], dict[str, Any]] = dict
    """What the manifest says of this driver. Results of other `same` must not be mixed."""
    max_jobs: int | None = None
    """Runs at a time, at most."""
    prepare: Callable[[list[Run], Callable[[str], None]], None] | None = None
    """Called before the first run with those to do: what an earlier call left behind is removed,
    what takes long is made once, and told of."""
    stop: Callable[[], None] | None = None
    """Ends the runs in flight, which are lost; without it they are finished."""
    expected: Callable[[list[Run]], str] | None = None
    """Says beforehand how long the runs will take."""


def _refuse_browsers(experiment: Experiment, _runs: list[Run]) -> None:
    """Refuse streams that a browser sends: nobody simulates a program."""
    for number, stream in enumerate(experiment.stream):
        for index, kind in places(stream.kind):
            if kind == CHROMIUM:
                hint = "it is a program, which only live runs have: give --on live, or leave it out"
                at: At = ("stream", number, "kind", *index)
                raise experiment.source.error(at, "cannot be simulated", kind, hint)


SIMULATOR = Driver(On.sim, folder.run_one, check=_refuse_browsers)
TWIN = Driver(On.sim, folder.run_one)
"""The simulator for the twin of live results, which has a model where they have a browser."""
