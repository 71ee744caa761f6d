"""Gameway: a lab for streaming games over congested networks.

import gameway as gw

experiment = gw.load("experiment.toml")
results = gw.run(experiment, "results/mine")
results.frames().collect()
gw.figures.bitrate_over_time(results)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gameway import _core
from gameway.on_demand import loader

if TYPE_CHECKING:
    from gameway.controller import ProbeCluster, RateController, Target
    from gameway.errors import GamewayError, InputError, Interrupted
    from gameway.expansion import Run, expand
    from gameway.experiment import Experiment, load, loads
    from gameway.experiment.path import Back, Change, Duplicate, Hop, Jitter, Loss, Path, Reorder
    from gameway.experiment.tables import Competitor, Ping, Record, Stream
    from gameway.on import LiveOptions
    from gameway.results import Results
    from gameway.running import run

SCHEMA_VERSION = _core.SCHEMA_VERSION
__version__ = _core.VERSION

_MODULES = ("compare", "figures", "metrics", "report")
_HOMES = {
    "controller": ("ProbeCluster", "RateController", "Target"),
    "errors": ("GamewayError", "InputError", "Interrupted"),
    "expansion": ("Run", "expand"),
    "experiment": ("Experiment", "load", "loads"),
    "experiment.path": (
        "Back",
        "Change",
        "Duplicate",
        "Hop",
        "Jitter",
        "Loss",
        "Path",
        "Reorder",
    ),
    "experiment.tables": ("Competitor", "Ping", "Record", "Stream"),
    "on": ("LiveOptions",),
    "results": ("Results",),
    "running": ("run",),
}
_load = loader(__name__, _HOMES)


def __getattr__(name: str) -> Any:
    """Load what is asked for: all takes half a second, and parts of a live run need none."""
    return import_module(f"gameway.{name}") if name in _MODULES else _load(name)


def __dir__() -> list[str]:
    """Name what is loaded on demand, too: an interpreter completes by this."""
    return sorted({*globals(), *__all__})


__all__ = [
    "SCHEMA_VERSION",
    "Back",
    "Change",
    "Competitor",
    "Duplicate",
    "Experiment",
    "GamewayError",
    "Hop",
    "InputError",
    "Interrupted",
    "Jitter",
    "LiveOptions",
    "Loss",
    "Path",
    "Ping",
    "ProbeCluster",
    "RateController",
    "Record",
    "Reorder",
    "Results",
    "Run",
    "Stream",
    "Target",
    "__version__",
    "expand",
    "load",
    "loads",
    "run",
]
