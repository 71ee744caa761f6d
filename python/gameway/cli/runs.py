"""What `gameway run` and `reproduce` do, and what they print of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import gameway
from gameway import experiments
from gameway.caller import owns
from gameway.cli import terminal
from gameway.cli.console import err, out
from gameway.cli.reports import print_beside, write_report, write_suite_page
from gameway.experiment.suite import Suite, load_suite
from gameway.on import LiveOptions, On
from gameway.running import driver
from gameway.signals import exits_as_shells_do
from gameway.sweep import progress
from gameway.sweep import suite as suites

if TYPE_CHECKING:
    from gameway.experiment import Experiment
    from gameway.results import Results


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
            print_beside(results)
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
        from gameway.beside import twin  # noqa: PLC0415 (heavy; other commands do without)

        with err.status("simulating the same"):
            twin.simulate(experiment, target, jobs=self.jobs)


def _print_summary(results: Results) -> None:
    from gameway.metrics import (  # noqa: PLC0415 (heavy; other commands do without)
        summary_table,
        video_summary_table,
    )

    for rows, lay_out in (
        (summary_table(results), terminal.summary),
        (video_summary_table(results), terminal.videos),
    ):
        if rows.height:
            out.print(terminal.fitting(out, partial(lay_out, rows, results.factors)))
