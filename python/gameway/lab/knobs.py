"""What can be turned while one plays: each knob with its words, and what they are of a path.

A knob's value is a text, as in an experiment file; the page offers some, and any other that can be
read will do.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from gameway import _core
from gameway.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

CONTROLLER = "controller"
DOWNLOADS = "downloads"
CAPACITY = "capacity"
SAP_LAW = "sap-law"
TRACE = "trace "
"""In front of the name of a recorded capacity, as the knob has it."""
Traces = Mapping[str, Mapping[str, Any]]
"""Recorded capacities as an experiment file has them, by what the knob says."""


@dataclass(frozen=True)
class Knob:
    """One knob of the path."""

    told: str
    """A sentence for the command line."""
    default: str
    choices: Sequence[str]
    """What the page offers, in order."""
    parse: Callable[[str], object]
    """ValueError with the reason, if a value cannot be; of recorded capacities it knows nothing."""
    keys: Callable[[str], Mapping[str, Any]]
    """Keys of a path, as the link is told them."""

    def read(self, value: str, name: str) -> str:
        """Give the value; InputError if it cannot be."""
        try:
            self.parse(value)
        except ValueError as error:
            raise InputError(str(error), file=name) from None
        return value


@cache
def catalogue() -> Mapping[str, list[str]]:
    """Give the names of queues, gateways and controllers that a live path or host can have."""
    known = json.loads(_core.catalogue())
    return {kind: [one["name"] for one in known[kind]] for kind in ("queues", "gateways")}


def _word(kind: str) -> Callable[[str], None]:
    def parse(value: str) -> None:
        known = catalogue()[kind]
        if value not in known:
            raise ValueError(f'"{value}" is none of {", ".join(known)}')

    return parse


def _share(key: str) -> Callable[[str], Mapping[str, Any]]:
    return lambda value: {f"path.{key}": {"probability": value}}


KNOBS: Mapping[str, Knob] = {
    CAPACITY: Knob(
        "Capacity of the path", "25 Mb/s",
        ("1 Mb/s", "2 Mb/s", "3 Mb/s", "5 Mb/s", "8 Mb/s", "10 Mb/s", "15 Mb/s", "20 Mb/s",
         "25 Mb/s", "35 Mb/s", "50 Mb/s", "75 Mb/s", "100 Mb/s", "200 Mb/s"),
        _core.parse_rate, lambda value: {"path.capacity": value},
    ),
    "rtt": Knob(
        "Round-trip time of the empty path", "20 ms",
        ("1 ms", "5 ms", "10 ms", "20 ms", "30 ms", "40 ms", "60 ms", "80 ms", "100 ms",
         "150 ms", "200 ms", "300 ms"),
        _core.parse_duration, lambda value: {"path.base_rtt": value},
    ),
    "loss": Knob(
        "Packets that are lost behind the queue", "0 %",
        ("0 %", "0.1 %", "0.5 %", "1 %", "2 %", "3 %", "5 %", "10 %", "20 %"),
        _core.parse_ratio, _share("loss"),
    ),
    "jitter": Knob(
        "Deviation of the delay", "0 ms",
        ("0 ms", "1 ms", "2 ms", "5 ms", "10 ms", "20 ms"),
        _core.parse_duration, lambda value: {"path.jitter": {"deviation": value}},
    ),
    "queue": Knob(
        "Discipline of the queue", "drop-tail",
        ("drop-tail", "codel", "fq-codel", "pie", "dual-pi2", "cake"),
        _word("queues"), lambda value: {"path.queue.kind": value},
    ),
    "size": Knob(
        "Size of the queue", "2 bdp",
        ("0.25 bdp", "0.5 bdp", "1 bdp", "2 bdp", "4 bdp", "8 bdp"),
        _core.check_queue_size, lambda value: {"path.queue.size": value},
    ),
    "gateway": Knob(
        "Home gateway behind the queue", "none",
        ("none", "voap", SAP_LAW),
        _word("gateways"), lambda value: {"path.gateway": value},
    ),
}  # fmt: skip


def defaults() -> dict[str, str]:
    """Give the value of each knob before it is turned."""
    return {name: knob.default for name, knob in KNOBS.items()}


def trace_of(file: Path) -> tuple[str, dict[str, Any]]:
    """Give what the knob says of a file of recorded capacity, and the capacity."""
    return TRACE + file.name.split(".")[0], {"trace": str(file.absolute())}


def check_trace(capacity: Mapping[str, Any]) -> None:
    """Read a recorded capacity; ValueError with the reason, if it is none."""
    _core.check_trace(json.dumps(capacity))


def changes(turned: Mapping[str, str], others: Mapping[str, Any], traces: Traces) -> dict[str, Any]:
    """Give what these values are for the link, beside those of the other knobs."""
    found: dict[str, Any] = {}
    for name, value in turned.items():
        found |= KNOBS[name].keys(value)
    whole = {**others, **turned}
    if turned.get(CAPACITY) in traces:
        found["path.capacity"] = dict(traces[turned[CAPACITY]])
    if whole["gateway"] == SAP_LAW and not {"gateway", CAPACITY}.isdisjoint(turned):
        # It must be told the capacity that it shares out (its paper, section 3).
        if whole[CAPACITY] in traces:
            hint = "choose a capacity that stays, or another gateway"
            raise InputError("shares out a capacity that it is told, and a recorded one changes",
                             field="gateway", value=SAP_LAW, hint=hint)  # fmt: skip
        found["path.gateway"] = {"kind": SAP_LAW, "capacity": whole[CAPACITY]}
    return found


def change(turned: Mapping[str, str], values: Mapping[str, str], traces: Traces) -> dict[str, Any]:
    """Give what these knobs are as a change of an experiment's path; `values` are all, as then."""
    path = path_of(values, traces)
    names = (key.split(".")[1] for key in changes(turned, values, traces))
    return {name: path[name] for name in names}


def path_of(values: Mapping[str, str], traces: Traces) -> dict[str, Any]:
    """Give the whole path with these values, as an experiment file has it."""
    path: dict[str, Any] = {}
    for key, value in changes(values, {}, traces).items():
        *tables, last = key.split(".")[1:]
        place = path
        for table in tables:
            place = place.setdefault(table, {})
        place[last] = value
    return path
