"""The results of the parts, judged: a row for each case, rate, condition and controller."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from gameway.figures.theme import CONTROLLERS
from gameway.metrics.source import Run, finished_runs
from gameway.page.words import number

from .cases import CASES, NOT_WORSE, Case
from .criteria import Judged, mean_of
from .observed import Observed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gameway.results import Results

SCALES = {"rfc": "RFC's rates", "gaming": "a game's rates"}
CONDITIONS = {
    "base_rtt": "RTT ", "jitter_deviation": "jitter ", "queue_size": "queue ",
    "congestion_control": "", "capacity": "", "queue_mark_above": "marks above ",
}  # fmt: skip
"""Factors that make a condition, and how they are called."""
NAMES = {"newreno": "NewReno", "cubic": "CUBIC", "bbr": "BBR"}
MARKED = "queue_mark_above"
PART = re.compile(r"(?:(?P<ecn>6\.2)-)?(?P<case>.+)-(?P<scale>rfc|gaming)$")
ORDER = [*CONTROLLERS, "oracle"]


@dataclass(frozen=True)
class Row:
    """What one controller does in one condition of a case: means over runs."""

    case: Case
    scale: str
    condition: str
    controller: str
    runs: int
    judged: tuple[Judged, ...]
    shares: tuple[float, ...]
    """Rates of the streams while all of them are there, Mb/s."""
    jain: float
    tcp_mbps: float
    first: Run
    """The run of the first repeat."""
    runs_met: int
    """Runs that meet every criterion by themselves."""

    @property
    def failed(self) -> list[Judged]:
        """The criteria that are not met."""
        return [one for one in self.judged if not one.met]

    @property
    def verdict(self) -> str:
        """Met, or what is not with its worst figure."""
        missed = "; ".join(f"{one.criterion.name} {number(one.worst)}" for one in self.failed)
        return self.worded(missed)

    def worded(self, missed: str) -> str:
        """What is missed, or "met"; and in how many runs, where they do not agree with the mean."""
        if self.runs_met == (0 if missed else self.runs):
            return missed or "met"
        met = f"met in {self.runs_met} of {self.runs}"
        return f"{missed} ({met})" if missed else met


def rows_of(parts: dict[str, Results]) -> list[Row]:
    """The rows of the cases, in the order of the cases."""
    found = [
        row
        for name, results in parts.items()
        if (part := PART.match(name)) and not part["ecn"] and part["case"] in _known()
        for row in _rows(_known()[part["case"]], part["scale"], results)
    ]
    return _in_order(found)


def marked_rows(parts: dict[str, Results]) -> list[Row]:
    """The rows of 6.2: each basic case with marks, compared with the same without."""
    found = []
    for name, results in parts.items():
        part = PART.match(name)
        if part and part["ecn"] and part["case"] in _known():
            base = _known()[part["case"]]
            case = Case(base.id, base.title, "", NOT_WORSE, twin=MARKED)
            found += _rows(case, part["scale"], results)
    return _in_order(found)


def _known() -> dict[str, Case]:
    return {case.id: case for case in CASES}


def _in_order(rows: Iterable[Row]) -> list[Row]:
    order = list(_known())
    scales = list(SCALES)
    return sorted(rows, key=lambda row: (order.index(row.case.id), scales.index(row.scale)))


def _rows(case: Case, scale: str, results: Results) -> list[Row]:
    runs = finished_runs(results)
    varying = [name for name in CONDITIONS if len({run.factors.get(name) for run in runs}) > 1]
    groups: dict[tuple[str, str], list[tuple[Run, Run | None]]] = {}
    for run, twin in _with_twins(case, runs):
        condition = ", ".join(_label(name, run.factors.get(name)) for name in varying)
        groups.setdefault((condition, _controller(run)), []).append((run, twin))
    rows = [
        _row(case, scale, condition, controller, pairs)
        for (condition, controller), pairs in groups.items()
    ]
    conditions = list(dict.fromkeys(row.condition for row in rows))
    return sorted(rows, key=lambda row: (conditions.index(row.condition), _rank(row.controller)))


def _row(
    case: Case, scale: str, condition: str, controller: str, pairs: list[tuple[Run, Run | None]]
) -> Row:
    seen = [(Observed.of(run), Observed.of(twin) if twin else None) for run, twin in pairs]
    each = [[one.judged(one.measure(*run)) for one in case.criteria] for run in seen]
    judged = tuple(mean_of(own) for own in zip(*each, strict=True))
    shares = [one.shares() for one, _ in seen]
    return Row(
        case, scale, condition, controller, len(pairs), judged,
        tuple(_mean(column) for column in zip(*shares, strict=True)),
        _mean([one.jain() for one, _ in seen]),
        _mean([one.tcp_mbps() for one, _ in seen]),
        pairs[0][0],
        sum(all(one.met for one in own) for own in each),
    )  # fmt: skip


def _with_twins(case: Case, runs: list[Run]) -> list[tuple[Run, Run | None]]:
    """The runs that are judged, each with its twin: like it but for the case's factor."""
    if not case.twin:
        return [(run, None) for run in runs]

    def is_twin(run: Run) -> bool:
        return run.factors.get(case.twin) == case.twin_value

    def key(run: Run) -> tuple[object, ...]:
        same = (name for name in ("controller", *CONDITIONS) if name != case.twin)
        factors = [run.factors.get(name) for name in same if not (
            name == "controller" and case.twin.endswith("controller"))]  # fmt: skip
        return (run.repeat, *factors)

    twins = {key(run): run for run in runs if is_twin(run)}
    return [(run, twins.get(key(run))) for run in runs if not is_twin(run)]


def _controller(run: Run) -> str:
    """The controller's name; of a run with weights without its options."""
    name = str(run.factors["controller"])
    return re.split(r"\+| priority", name, maxsplit=1)[0]


def _rank(controller: str) -> tuple[int, str]:
    kind = controller.partition(" ")[0]
    return (ORDER.index(kind) if kind in ORDER else len(ORDER), controller)


def _label(name: str, value: str | None) -> str:
    return f"{CONDITIONS[name]}{NAMES.get(str(value), value)}"


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def by_case(rows: Iterable[Row]) -> list[tuple[Case, list[Row]]]:
    """The rows of each case."""
    groups = groupby(rows, key=lambda row: row.case.id)
    found = [list(group) for _, group in groups]
    return [(group[0].case, group) for group in found]
