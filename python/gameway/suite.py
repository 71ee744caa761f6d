"""Suites: several experiments under one name, run one after the other and told on one page.

OUT/suite.json              the suite's name and its parts
OUT/<part>/                 the result folder of each part
OUT/report.html             the page
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gameway import experiments, sweep
from gameway.errors import GamewayError, InputError
from gameway.experiment import Experiment, load
from gameway.experiment.keys import nearest
from gameway.results import MANIFEST, RUNS, Results
from gameway.sweep import Interrupted
from gameway.sweep.progress import Silent

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gameway.expansion import Run
    from gameway.report.page import Page
    from gameway.sweep.drivers import LiveOptions
    from gameway.sweep.progress import Progress

FILE = "suite.json"
PAGE = "report.html"


@dataclass(frozen=True)
class Suite:
    """Several experiments under one name."""

    name: str
    title: str
    parts: Mapping[str, Experiment]

    def with_overrides(self, settings: Sequence[str]) -> Suite:
        """Give this suite with some values set anew in each part.

        "PART:path.capacity=20 Mb/s" sets a value in one part only.
        """
        own: dict[str, list[str]] = {name: [] for name in self.parts}
        for text in settings:
            name, colon, rest = text.partition("=")[0].partition(":")
            if not colon:
                for setting in own.values():
                    setting.append(text)
                continue
            self._check(name.strip(), f"--set {text}")
            own[name.strip()].append(rest + text[text.index("=") :] if "=" in text else rest)
        parts = {name: _set(name, part, own[name]) for name, part in self.parts.items()}
        return replace(self, parts=parts)

    def only(self, names: Iterable[str]) -> Suite:
        """Give this suite with some of its parts."""
        for name in names:
            self._check(name, f"--part {name}")
        wanted = set(names)
        kept = {name: part for name, part in self.parts.items() if name in wanted}
        return replace(self, parts=kept)

    def _check(self, part: str, given: str) -> None:
        if part not in self.parts:
            problem = f'"{part}" is no part of {self.name}'
            raise InputError(problem, file=given, hint=nearest(part, self.parts))


def load_suite(folder: str | Path) -> Suite:
    """Read the parts of a suite: every `*.toml` of a folder, in the order of their names."""
    path = Path(folder)
    files = sorted(path.glob("*.toml"))
    if not files:
        raise InputError("has no experiment files (*.toml)", file=path)
    parts = {file.stem: load(file) for file in files}
    return Suite(path.resolve().name, experiments.suite_title(path), parts)


def run(  # noqa: PLR0913 (all but two are named)
    suite: Suite,
    out: str | Path,
    *,
    jobs: int | None = None,
    progress: Progress | None = None,
    on: str = "sim",
    live: LiveOptions | None = None,
) -> dict[str, Results]:
    """Run all of a suite that `out` does not hold yet, and open the results of its parts.

    Raises:
        InputError: a part or its folder cannot be used; nothing was run.
        Interrupted: Ctrl-C.
        GamewayError: some runs failed; the others are finished and kept.
    """
    path = Path(out)
    runs = {
        name: sweep.check(part, path / name, on=on, live=live) for name, part in suite.parts.items()
    }
    _write_file(suite, path)
    total = sum(len(own) for own in runs.values())
    told = _Whole(progress or Silent())
    told.begin(total, _finished(path, runs))
    failures: list[str] = []
    try:
        for name, part in suite.parts.items():
            try:
                sweep.run(part, path / name, jobs=jobs, progress=told, on=on, live=live)
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
    names = _read_file(path)["parts"]
    return {name: Results.open(path / name) for name in names if (path / name / MANIFEST).is_file()}


def page(out: str | Path) -> Page:
    """Make the page of a suite out of what is there; it says what is missing."""
    from gameway.beside import twin  # noqa: PLC0415 (heavy; help must be quick)
    from gameway.beside.sections import of_suite  # noqa: PLC0415 (as that)
    from gameway.report.head import common_facts  # noqa: PLC0415 (heavy; help must be quick)
    from gameway.reproductions import page_of  # noqa: PLC0415 (as that)

    found = _read_file(Path(out))
    parts = open_parts(out)
    ready = {name: results for name, results in parts.items() if results.finished_ids()}
    if not ready:
        raise InputError("no run has finished yet", file=out, hint="wait, or run it again")
    made = page_of(found["suite"])(ready)
    live = {name: results for name, results in ready.items() if twin.is_live(results)}
    if live:
        made = of_suite(made, live)
    missing = _missing(found["parts"], parts)
    title = made.title or str(found.get("title") or found["suite"])
    warning = " ".join([made.warning, *missing]).strip()
    return replace(made, title=title, warning=warning, facts=made.facts or common_facts(ready))


def write_page(out: str | Path) -> tuple[Page, Path]:
    """Write the page of a suite; give it and its place."""
    from gameway.report.page import write  # noqa: PLC0415 (heavy; help must be quick)

    made = page(out)
    return made, write(made, Path(out) / PAGE)


def _set(name: str, part: Experiment, settings: list[str]) -> Experiment:
    try:
        return part.with_overrides(settings)
    except InputError as error:
        hint = '"PART:FIELD=VALUE" sets it in one part only'
        raise InputError(
            error.problem,
            file=f"part {name}, {error.file}",
            line=error.line,
            field=error.field,
            value=error.value,
            hint="; ".join(text for text in (error.hint, hint) if text),
        ) from None


def _finished(out: Path, runs: Mapping[str, list[Run]]) -> int:
    return sum((out / name / RUNS / run.id).is_dir() for name, own in runs.items() for run in own)


def _missing(names: list[str], parts: Mapping[str, Results]) -> list[str]:
    absent = [name for name in names if name not in parts]
    told = [f"Not run yet: {', '.join(absent)}."] if absent else []
    for name, results in parts.items():
        if results.missing:
            told.append(f"{name}: {results.missing} of {results.runs.height} runs are missing.")
    return told


def _write_file(suite: Suite, out: Path) -> None:
    """Note the parts; those of an earlier call with other parts stay."""
    out.mkdir(parents=True, exist_ok=True)
    before = _read_file(out)["parts"] if is_suite_folder(out) else []
    parts = sorted({*before, *suite.parts})
    content = {"suite": suite.name, "title": suite.title, "parts": parts}
    partial = out / f"{FILE}.partial"
    partial.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    partial.replace(out / FILE)


def _read_file(out: Path) -> dict[str, Any]:
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
