"""What `gameway run`, `reproduce` and `report` do, and what they print of it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

import gameway
from gameway import experiments
from gameway.caller import owns
from gameway.cli import terminal
from gameway.experiment.suite import Suite, load_suite
from gameway.results import Results
from gameway.running import driver
from gameway.signals import exits_as_shells_do
from gameway.sweep import progress
from gameway.sweep import suite as suites
from gameway.sweep.drivers import LiveOptions, On

if TYPE_CHECKING:
    from gameway.experiment import Experiment
    from gameway.page import Page

REPORT = "report.html"
WIDTH_OF_FILES = 160
"""Columns of a table that is not written to a terminal."""

out = Console(emoji=False)
err = Console(stderr=True, emoji=False)
if not out.is_terminal and "COLUMNS" not in os.environ:
    out.width = WIDTH_OF_FILES


@dataclass(frozen=True)
class RunCommand:
    """What the command line asks for: an experiment's file or a suite's folder, and how."""

    found: Path
    on: On = On.sim
    runs: int | None = None
    settings: list[str] | None = None
    parts: list[str] | None = None
    jobs: int | None = None
    folder: Path | None = None
    report: bool = True
    live: LiveOptions | None = None

    @property
    def overrides(self) -> list[str]:
        """What is set anew."""
        return [*(self.settings or []), *([] if self.runs is None else [f"runs={self.runs}"])]

    def target(self, name: str) -> Path:
        """The folder of the results: live ones end in -live, whatever the experiment is called."""
        live = f"{name.removesuffix('-live')}-live"
        return self.folder or Path("results") / (live if self.on is On.live else name)

    def carry_out(self) -> None:
        """Run it, print what it says, and write its page."""
        with exits_as_shells_do():
            self._carry_out()

    def _carry_out(self) -> None:
        if experiments.is_suite(self.found):
            whole = load_suite(self.found)
            suite = (whole.only(self.parts) if self.parts else whole).with_overrides(self.overrides)
            target = self.target(suite.name)
            with owns(target):
                self._run_suite(suite, target)
        elif self.parts:
            problem = f"{self.found} is one experiment, it has no parts"
            raise gameway.InputError(problem, file="--part")
        else:
            experiment = gameway.load(self.found).with_overrides(self.overrides)
            target = self.target(experiment.name)
            with owns(target):
                self._run(experiment, target)

    def _run(self, experiment: Experiment, target: Path) -> None:
        shown = progress.for_console(err)
        results = gameway.run(
            experiment, target, jobs=self.jobs, progress=shown, on=self.on, live=self.live
        )
        if self.on is On.live:
            self._simulate(experiment, target)
        _print_summary(results)
        if self.on is On.live:
            _print_beside(results)
        if self.report:
            write_report(results)
        out.print(f"tables: {target}", highlight=False, soft_wrap=True)

    def _run_suite(self, suite: Suite, target: Path) -> None:
        shown = progress.for_console(err)
        suites.run(suite, target, driver(self.on, self.live), jobs=self.jobs, progress=shown)
        if self.on is On.live:
            for name, part in suite.parts.items():
                self._simulate(part, target / name)
        if self.report:
            write_suite_page(target, suite.folder)
        out.print(f"tables: {target}", highlight=False, soft_wrap=True)

    def _simulate(self, experiment: Experiment, target: Path) -> None:
        """Run the simulated twin of live results: seconds, where those took minutes."""
        from gameway.beside import twin  # noqa: PLC0415 (heavy; help must be quick)

        with err.status("simulating the same"):
            twin.simulate(experiment, target, jobs=self.jobs)


def write_suite_page(folder: Path, own: Path | None) -> None:
    """Write the page of a suite, whose own folder may have code for it; print its main tables."""
    from gameway.report.suite import write_page  # noqa: PLC0415 (heavy; help must be quick)

    page, place = write_page(folder, own)
    print_page(page)
    out.print(f"report: {place}", highlight=False, soft_wrap=True)


def print_page(page: Page) -> None:
    """Print a page's main tables and what it found."""
    for section in page.sections:
        for table in section.tables:
            if table.main:
                out.print(terminal.page_table(table, section.title))
                if section.text and len(section.tables) == 1:
                    out.print(section.text, style="dim", highlight=False, markup=False)
                    out.print()
    for sentence in page.statement:
        out.print(sentence, highlight=False, markup=False)
    if page.warning:
        err.print(page.warning, style="yellow", highlight=False, markup=False)


def _print_summary(results: Results) -> None:
    from gameway.metrics import (  # noqa: PLC0415 (heavy; help must be quick)
        summary_table,
        video_summary_table,
    )

    for rows, lay_out in (
        (summary_table(results), terminal.summary),
        (video_summary_table(results), terminal.videos),
    ):
        if rows.height:
            out.print(terminal.fitting(out, partial(lay_out, rows, results.factors)))


def _print_beside(results: Results, simulated: Results | None = None) -> None:
    """Print simulated and live means side by side, and whether a run was flagged."""
    from gameway.beside import (  # noqa: PLC0415 (heavy; help must be quick)
        compare,
        sections,
        twin,
        warnings,
    )

    other = simulated or twin.twin_of(results)
    if other is not None and (rows := compare(other, results)):
        runs = sections.runs_told(rows)
        told = f"Simulated and live: means ± half width of the 95 % interval over {runs}"
        out.print(told, highlight=False)
        for table in terminal.beside(rows):
            out.print(table)
        out.print(sections.statement(rows), highlight=False, markup=False)
    if warning := warnings.warning(results):
        err.print(warning, style="yellow", highlight=False, markup=False, soft_wrap=True)


def write_report(results: Results, simulated: Results | None = None) -> None:
    """Write the report of a result folder and say where it is."""
    from gameway import report as reports  # noqa: PLC0415 (heavy; help must be quick)

    page = results.path / REPORT
    reports.write(results, page, beside=simulated)
    out.print(f"report: {page}", highlight=False, soft_wrap=True)


def _simulated(results: Results, folder: Path | None) -> Results | None:
    """Open the results that live ones are to stand beside."""
    if folder is None:
        return None
    if results.manifest.get("driver") != On.live:
        hint = "only live results stand beside simulated ones; compare two folders with compare"
        raise gameway.InputError("are no live results", file=results.path, hint=hint)
    return Results.open(folder)


def _warn_of_missing(results: Results) -> None:
    if results.missing:
        text = f"{results.missing} of {results.runs.height} runs are not finished"
        err.print(text, style="yellow", highlight=False)


def outside(folder: Path, beside: Path | None = None) -> int:
    """Count the means of live results, or of a suite of them, that are outside their tolerance."""
    from gameway.beside import compare, twin  # noqa: PLC0415 (heavy; help must be quick)

    suite = suites.is_suite_folder(folder)
    parts = suites.open_parts(folder) if suite else {folder.name: Results.open(folder)}
    twins = [(results, _simulated(results, beside) or twin.twin_of(results))
             for results in parts.values()]  # fmt: skip
    compared = [compare(one, results) for results, one in twins if one is not None]
    if not any(compared):
        hint = "simulated results lie there after `gameway run --on live`; others with --beside"
        raise gameway.InputError("has nothing to check", file=folder, hint=hint)
    return sum(not row.within for rows in compared for row in rows)


def report_folder(folder: Path, beside: Path | None, own: Path | None) -> None:
    """Write the report of a result folder anew, or the page of a suite by the code in `own`."""
    if suites.is_suite_folder(folder):
        write_suite_page(folder, own)
        return
    if own is not None:
        raise gameway.InputError(f"{folder} has the results of no suite", file="--page")
    _complete(folder)
    results = Results.open(folder)
    _warn_of_missing(results)
    other = _simulated(results, beside)
    if results.manifest.get("driver") == On.live:
        _print_beside(results, other)
    write_report(results, other)


def _complete(folder: Path) -> None:
    """Make a result folder of a session that was not ended in order."""
    from gameway.lab import unfinished  # noqa: PLC0415 (heavy; help must be quick)

    seconds = unfinished.complete(folder)
    if seconds is not None:
        text = f"{folder}: the session was not ended in order; kept are its first {seconds:.1f} s"
        err.print(text, style="yellow", highlight=False, markup=False, soft_wrap=True)


def record_folder(file: Path, folder: Path) -> None:
    """Make a result folder of a gateway's record, and its report."""
    from gameway import gateway_record  # noqa: PLC0415 (heavy; help must be quick)

    made = gateway_record.convert(file, folder)
    if made.cut_lines:
        text = f"{file}: {made.cut_lines} lines were cut, and are left out"
        err.print(text, style="yellow", highlight=False, markup=False, soft_wrap=True)
    write_report(made.results)
    out.print(f"tables: {folder}", highlight=False, soft_wrap=True)
