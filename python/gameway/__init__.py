"""Gameway: a lab for streaming games over congested networks.

import gameway as gw

experiment = gw.load("experiment.toml")
results = gw.run(experiment, "results/mine")
results.frames().collect()
gw.figures.bitrate_over_time(results)
"""

from importlib import import_module
from types import ModuleType

from gameway import _core
from gameway.controller import ProbeCluster, RateController, Target
from gameway.errors import GamewayError, InputError
from gameway.expansion import Run, expand
from gameway.experiment import Experiment, load, loads
from gameway.experiment.tables import (
    Back,
    Competitor,
    Duplicate,
    Hop,
    Jitter,
    Loss,
    Path,
    Ping,
    Record,
    Reorder,
    Stream,
)
from gameway.results import Results
from gameway.running import run
from gameway.sweep import Interrupted
from gameway.sweep.drivers import LiveOptions

SCHEMA_VERSION = _core.SCHEMA_VERSION
__version__ = _core.VERSION

_LATER = ("compare", "figures", "metrics", "report")
"""Modules that take a second to load: only when they are asked for."""


def __getattr__(name: str) -> ModuleType:
    if name not in _LATER:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    return import_module(f"gameway.{name}")


__all__ = [
    "SCHEMA_VERSION",
    "Back",
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
