"""A session as an ordinary result folder: one live run, which `gameway report` shows.

The run is that of an experiment with the path as it was at the beginning. What was turned
afterwards is in the table `changes`, what was answered in `answers` (docs/results.md).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from gameway import _core, experiment
from gameway.lab import downloads, knobs
from gameway.live import lateness, offers
from gameway.live.merge import Parts, merge
from gameway.sweep import folder, run
from gameway.sweep.drivers import Driver, On

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from gameway.experiment import Experiment
    from gameway.lab.desk import Desk
    from gameway.results import Results

STREAM = "game"
CHANGES = {"time_ns": pl.Int64, "knob": pl.String, "value": pl.String}
ANSWERS = {"question": pl.String, "text": pl.String, "answer": pl.Int64, "of": pl.Int64,
           "word": pl.String}  # fmt: skip
LEAST_NS = 1_000_000_000
"""A run lasts a second or longer."""


def played(
    values: Mapping[str, str],
    controller: str,
    duration_ns: int,
    title: str,
    spans: Mapping[str, tuple[int, int] | None],
) -> Experiment:
    """Give the experiment of a session with these knobs at its beginning.

    `spans` are the downloads, each with its first beginning and its last end, if it is over.
    """
    lines = [
        f"title = {json.dumps(title)}",
        f"duration = {_time(max(duration_ns, LEAST_NS))}",
        f"path = {_inline(knobs.path_of(values))}",
        "[[stream]]",
        f'name = "{STREAM}"',
        f"controller = {json.dumps(controller)}",
    ]
    for name, span in spans.items():
        lines += ["[[competitor]]", f'name = "{name}"']
        lines += [f"{key} = {json.dumps(value)}" for key, value in downloads.KINDS[name].items()]
        if span is not None:
            lines += [
                f"{key} = {_time(at)}" for key, at in zip(("start", "stop"), span, strict=True)
            ]
    return experiment.loads("\n".join(lines) + "\n")


def _time(nanos: int) -> str:
    return json.dumps(_core.format_duration(nanos))


def _inline(value: object) -> str:
    """Write a value as TOML does in one line."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_inline(one)}" for key, one in value.items()) + " }"
    return json.dumps(value)


@dataclass(frozen=True)
class Session:
    """What there is to keep of a session."""

    played: Experiment
    parts: Parts
    desk: Desk
    link: Path
    """The folder of the link."""


def keep(session: Session, out: Path) -> Results:
    """Write the result folder; it must not hold another session."""

    def run_one(_spec: dict[str, Any], recorded: dict[str, Any], target: Path) -> None:
        folder.whole(recorded, target, lambda partial: _write(session, partial))

    facts = offers.facts() | {"lateness_bound_ns": lateness.BOUND_NS, "source": "played"}
    driver = Driver(On.live, run_one, facts=lambda: {"live": facts}, most_jobs=1)
    return run(session.played, out, driver, jobs=1)


def _write(session: Session, target: Path) -> None:
    tables = merge(session.parts)
    tables["changes"] = pl.DataFrame(session.desk.log, schema=CHANGES, orient="row")
    answers = _answers(session.desk)
    if not answers.is_empty():
        tables["answers"] = answers
    for name, table in tables.items():
        table.write_parquet(target / f"{name}.parquet")


def _answers(desk: Desk) -> pl.DataFrame:
    asked = desk.scenario.questions if desk.scenario is not None else []
    rows = [
        (one.name, one.text, desk.answers[one.name], len(one.answers),
         one.answers[desk.answers[one.name] - 1])
        for one in asked if one.name in desk.answers
    ]  # fmt: skip
    return pl.DataFrame(rows, schema=ANSWERS, orient="row")
