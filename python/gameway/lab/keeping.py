"""A session as an ordinary result folder: one live run, which `gameway report` shows.

The run is that of an experiment whose path changes as its knobs were turned. All that was turned is
in the table `changes`, what was answered in `answers` (docs/results.md).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import polars as pl

from gameway import _core, experiment
from gameway.lab import knobs
from gameway.lab.kinds import KINDS, film
from gameway.lab.knobs import CONTROLLER
from gameway.live import lateness, offers
from gameway.live.merge import Parts, merge
from gameway.live.plan import VIDEO
from gameway.live.video import videos
from gameway.on import On
from gameway.sweep import folder, run
from gameway.sweep.drivers import Driver

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from gameway.experiment import Experiment
    from gameway.lab.desk import Desk
    from gameway.results import Results

STREAM = "game"
CHANGES = {"time_ns": pl.Int64, "knob": pl.String, "value": pl.String}
ANSWERS = {"question": pl.String, "text": pl.String, "answer": pl.Int64, "of": pl.Int64,
           "word": pl.String}  # fmt: skip
Answer = tuple[str, str, int, int, str]
"""A row of that table."""
ENDED_EARLY = "ended_early"
"""Of what the manifest says of a live run: it was not ended in order."""
AGAIN = "experiment.toml"
"""The experiment of the session, for `gameway run`."""
MIN_NS = 1_000_000_000
"""A run lasts a second or longer."""


@dataclass(frozen=True)
class Course:
    """What came and went in a session, and what was turned."""

    stays: Mapping[str, Sequence[tuple[int, int]]] = field(default_factory=dict)
    """Of each download beginning and end of each stay; one without stays is there all the time."""
    turns: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    """The knobs of the path that were turned, by the time when they were."""
    traces: knobs.Traces = field(default_factory=dict)
    """Recorded capacities that the knob has."""


def played(
    values: Mapping[str, str], controller: str, duration_ns: int, title: str, course: Course
) -> Experiment:
    """Give the experiment of a session with these knobs at its beginning."""
    path = knobs.path_of(values, course.traces)
    whole, changes = dict(values), []
    for at, turned in course.turns.items():
        whole |= turned
        changes.append(
            {"at": _core.format_duration(at)} | knobs.change(turned, whole, course.traces)
        )
    lines = [
        f"title = {json.dumps(title)}",
        f"duration = {_time(max(duration_ns, MIN_NS))}",
        f"path = {_inline(path | ({'change': changes} if changes else {}))}",
        "[[stream]]",
        f'name = "{STREAM}"',
        f"controller = {json.dumps(controller)}",
    ]
    for kind, spans in course.stays.items():
        for number, span in enumerate(spans or [()], start=1):
            own = kind if number == 1 else f"{kind}-{number}"
            lines += ["[[competitor]]", f'name = "{own}"']
            lines += [f"{key} = {_inline(one)}" for key, one in KINDS[kind].items()]
            # A download that is there all the time has neither.
            lines += [f"{key} = {_time(at)}" for key, at in zip(("start", "stop"), span)]  # noqa: B905
    return experiment.loads("\n".join(lines) + "\n")


def _time(nanos: int) -> str:
    return json.dumps(_core.format_duration(nanos))


def _inline(value: object) -> str:
    """Write a value as TOML does in one line."""
    if isinstance(value, list):
        return "[" + ", ".join(map(_inline, value)) + "]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_inline(one)}" for key, one in value.items()) + " }"
    return json.dumps(value)


@dataclass(frozen=True)
class Session:
    """What there is to keep of a session."""

    played: Experiment
    again: Experiment
    """The same for another run: a download that came several times is as many flows."""
    parts: Parts
    log: Sequence[tuple[int, str, str]]
    """When which knob was turned to what."""
    answers: Sequence[Answer]


def keep(session: Session, out: Path, *, ended_early: bool = False) -> Results:
    """Write the result folder; it must not hold another session."""

    def run_one(_spec: dict[str, Any], recorded: dict[str, Any], target: Path) -> None:
        folder.whole(recorded, target, lambda partial: _write(session, partial))

    facts = offers.facts() | {"lateness_bound_ns": lateness.BOUND_NS, "source": "played"}
    if ended_early:
        facts |= {ENDED_EARLY: True}
    driver = Driver(On.live, run_one, facts=lambda: {"live": facts}, max_jobs=1)
    results = run(session.played, out, driver, jobs=1)
    text = session.again.source.text + "".join(_other_controllers(session))
    (results.path / AGAIN).write_text(text, encoding="utf-8")
    return results


def _other_controllers(session: Session) -> Iterator[str]:
    """Say what no experiment can: that the stream had other controllers than the first."""
    had = session.again.stream[0].controller
    for at, knob, value in session.log:
        if knob == CONTROLLER and value != had:
            had = value
            yield f"# At {_core.format_duration(at)} {value} took over; no run does so.\n"


def _write(session: Session, target: Path) -> None:
    tables = _until(session.parts.duration_ns, merge(session.parts))
    tables["changes"] = pl.DataFrame(session.log, schema=CHANGES, orient="row")
    if session.answers:
        tables["answers"] = pl.DataFrame(session.answers, schema=ANSWERS, orient="row")
    for name, table in tables.items():
        table.write_parquet(target / f"{name}.parquet")
    for one in session.played.competitor:
        if one.kind == VIDEO:
            sizes = target / videos.sizes_name(str(one.name))
            videos.write_sizes(film(KINDS[str(one.name)]), sizes)


def _until(end_ns: int, tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Leave out what the link carried when the session was over: a host takes its time to end."""
    cut = {
        name: table.filter(pl.col(column) < end_ns)
        for name, table in tables.items()
        for column in ("bin_start_ns", "window_start_ns")
        if name in {"bins", "link", "queue_delay"} and column in table.columns
    }
    whole = pl.lit(end_ns, tables["summary"].schema["duration_ns"])
    return tables | cut | {"summary": tables["summary"].with_columns(duration_ns=whole)}


def answers(desk: Desk) -> list[Answer]:
    """Give what was answered: rows of the table."""
    asked = desk.scenario.questions if desk.scenario is not None else []
    return [
        (one.name, one.text, desk.answers[one.name], len(one.answers),
         one.answers[desk.answers[one.name] - 1])
        for one in asked if one.name in desk.answers
    ]  # fmt: skip
