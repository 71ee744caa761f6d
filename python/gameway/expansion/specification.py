"""From a combination of an experiment's values to the specification of a run.

In a matrix over kinds, a table may hold keys that mean something to another kind only: they are
left out. Keys that came later than the first results are left out where they have their default, so
that a run that does not use them keeps its id.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from gameway.experiment.keys.known import FORWARDS
from gameway.experiment.part import Part
from gameway.experiment.path import Back, Change, Jitter, Loss, Path
from gameway.experiment.tables import Competitor, Stream

QUIET: dict[type[Part], tuple[str, ...]] = {
    Path: ("classifier",),
    Jitter: ("kind",),
    Stream: ("kind", "via", "direction", "ecn", "clock_drift", "recovery", "ladder", "content"),
    Competitor: ("via", "direction", "connections", "spacing", "receive_window", "mss"),
}
"""Keys that are left out of a specification where they have their default."""
NOTHING = ("back", "hop", "change")
"""Keys of a path that mean nothing when they are empty."""

Rule = Callable[[type[Part], dict[str, Any]], dict[str, Any]]


def settled(combination: dict[str, Any]) -> dict[str, Any]:
    """Leave out of each table what its kind does not have."""
    return _rebuilt(combination, _without_idle)


def without_defaults(combination: dict[str, Any]) -> dict[str, Any]:
    """Leave out of each table the later keys that have their default."""
    found = _rebuilt(combination, _without_quiet)
    path = {key: value for key, value in found["path"].items() if value != FORWARDS}
    return {key: path if key == "path" else value for key, value in found.items()}


def _without_idle(model: type[Part], table: dict[str, Any]) -> dict[str, Any]:
    idle = model.model_construct(**table).idle()
    return {key: value for key, value in table.items() if key not in idle}


def _without_quiet(model: type[Part], table: dict[str, Any]) -> dict[str, Any]:
    quiet = {key: model.model_fields[key].default for key in QUIET.get(model, ())}
    return {key: value for key, value in table.items() if quiet.get(key, ...) != value}


def _rebuilt(combination: dict[str, Any], rule: Rule) -> dict[str, Any]:
    """Apply a rule to each table that has a model with such keys."""
    models: dict[str, type[Part]] = {"stream": Stream, "competitor": Competitor}
    return {
        key: rule(Path, _path(value, rule))
        if key == "path"
        else [rule(models[key], table) for table in value]
        if key in models
        else value
        for key, value in combination.items()
    }


def _path(path: dict[str, Any], rule: Rule) -> dict[str, Any]:
    models: dict[str, type[Part]] = {"jitter": Jitter, "loss": Loss}
    found: dict[str, Any] = {
        key: rule(models[key], value) if key in models else value for key, value in path.items()
    }
    if "back" in found:
        found["back"] = rule(Back, _path(found["back"], rule))
    if found.get("change"):
        found["change"] = [rule(Change, _path(one, rule)) for one in found["change"]]
    return {key: value for key, value in found.items() if key not in NOTHING or value}


def canonical(value: object) -> str:
    """Give JSON that is the same for equal values: sorted keys, no spaces."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
