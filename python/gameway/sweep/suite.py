"""Suites: several experiments under one name, run one after the other.

OUT/suite.json              the suite's name and its parts
OUT/<part>/                 the result folder of each part
OUT/report.html             the page (`gameway.report.suite`)
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gameway import durable, sweep
from gameway.errors import GamewayError, InputError, Interrupted
from gameway.results import MANIFEST, RUNS, Results
from gameway.sweep.drivers import SIMULATOR
from gameway.sweep.progress import Silent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gameway.expansion import Run
    from gameway.experiment.suite import Suite
    from gameway.sweep.drivers import Driver
    from gameway.sweep.progress import Progress

FILE = "suite.json"


def run(
    suite: Suite,
    out: str | Path,
    driver: Driver = SIMULATOR,
    *,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> dict[str, Results]:
    """Run all of a suite that `out` does not hold yet, and open the results of its parts.

    Raises:
        InputError: a part or its folder cannot be used; nothing was run.
        Interrupted: Ctrl-C.
        GamewayError: some runs failed; the others are finished and kept.
    """
    path = Path(out)
    checked = {name: sweep.check(part, driver, path / name) for name, part in suite.parts.items()}
    runs = {name: whole.runs for name, whole in checked.items()}
    _write_file(suite, path)
    total = sum(len(own) for own in runs.values())
    told = _Whole(progress or Silent())
    told.begin(total, _finished(path, runs))
    failures: list[str] = []
    try:
        for name, part in suite.parts.items():
            try:
                whole = checked[name]
                sweep.run_checked(part, whole, path / name, driver, jobs=jobs, progress=told)
            except (InputError, Interrupted):
                raise
            except GamewayError as error:
                failures.append(f"{name}: {error}")
    except Interrupted as interruption:
        raise Interrupted(
            f"stopped: {_finished(path, runs)} of {total} runs are finished and kept in {path}; "
            "the same command runs the rest",
            interruption.code,
        ) from None
    finally:
        told.end()
    if failures:
        raise GamewayError("\n".join(failures))
    return open_parts(path)


def is_suite_folder(out: str | Path) -> bool:
    """Whether a folder holds the results of a suite."""
    return (Path(out) / FILE).is_file()


def open_parts(out: str | Path) -> dict[str, Results]:
    """Open the results of the parts of a suite that have been begun."""
    path = Path(out)
    names = read_file(path)["parts"]
    return {name: Results.open(path / name) for name in names if (path / name / MANIFEST).is_file()}


def _finished(out: Path, runs: Mapping[str, list[Run]]) -> int:
    return sum((out / name / RUNS / run.id).is_dir() for name, own in runs.items() for run in own)


def _write_file(suite: Suite, out: Path) -> None:
    """Note the parts; those of an earlier call with other parts stay."""
    out.mkdir(parents=True, exist_ok=True)
    before = read_file(out)["parts"] if is_suite_folder(out) else []
    parts = sorted({*before, *suite.parts})
    content = {"suite": suite.name, "title": suite.title, "parts": parts}
    if suite.own_page:
        content["page"] = str(suite.folder)
    durable.write(out / FILE, json.dumps(content, indent=1) + "\n")


def read_file(out: Path) -> dict[str, Any]:
    """Read the name, the title and the parts of a suite whose results a folder holds."""
    file = out / FILE
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        hint = "give the folder that `gameway reproduce --out FOLDER` wrote"
        raise InputError(f"cannot be read ({error})", file=file, hint=hint) from None
    if not isinstance(found, dict) or not {"suite", "parts"} <= set(found):
        raise InputError("is not the list of a suite's parts", file=file)
    return found


class _Whole:
    """One progress over all parts: what each part begins and ends is not told."""

    def __init__(self, whole: Progress) -> None:
        self._whole = whole

    def begin(self, total: int, finished: int) -> None:
        self._whole.start(total, finished)

    def end(self) -> None:
        self._whole.stop()

    def start(self, total: int, finished: int) -> None:
        """Begin a part."""

    def advance(self, run: str) -> None:
        """Note a run."""
        self._whole.advance(run)

    def note(self, text: str) -> None:
        """Tell."""
        self._whole.note(text)

    def stop(self) -> None:
        """End a part."""
