"""Comparing controllers over one or several result folders: who wins where, and how sure it is.

from gameway import compare

comparison = compare.compare(["results/mine", "results/scream"])
comparison.table                # polars: a row per scenario and controller
comparison.write("comparison.html")
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from gameway.compare import page as pages
from gameway.compare.scenarios import Scenario, scenarios_of
from gameway.compare.verdict import Verdict
from gameway.page import write
from gameway.page.head import common_facts
from gameway.results import Results
from gameway.sweep import suite

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gameway.page import Page

__all__ = ["Comparison", "Scenario", "Verdict", "compare", "compare_results", "write"]


@dataclass(frozen=True)
class Comparison:
    """What is found in all scenarios of some result folders."""

    verdicts: Sequence[Verdict]
    title: str
    lead: str = ""
    facts: Sequence[tuple[str, str]] = ()
    warning: str = ""

    @cached_property
    def table(self) -> pl.DataFrame:
        """One row per scenario and controller: means of all measures with their intervals."""
        tables = [pages.scenario_table(verdict) for verdict in self.verdicts]
        return pl.concat(tables, how="diagonal")

    @property
    def page(self) -> Page:
        """The page of the comparison."""
        made = pages.page(self.verdicts, title=self.title, lead=self.lead)
        return replace(made, facts=self.facts, warning=self.warning)

    def write(self, path: str | Path) -> Path:
        """Write the page, and its figures and tables beside it."""
        return write(self.page, path)


def compare(folders: Sequence[str | Path]) -> Comparison:
    """Compare the controllers of result folders, or of suites' folders."""
    parts: dict[str, Results] = {}
    for folder in folders:
        if suite.is_suite_folder(folder):
            opened = suite.open_parts(folder)
        else:
            opened = {Path(folder).name: Results.open(folder)}
        for name, results in opened.items():
            parts[_free(name, folder, parts)] = results
    names = ", ".join(Path(folder).name for folder in folders)
    missing = sum(results.missing for results in parts.values())
    total = sum(results.runs.height for results in parts.values())
    warning = f"{missing} of {total} runs are not finished." if missing else ""
    found = compare_results(parts, f"Comparison: {names}")
    return replace(found, facts=common_facts(parts), warning=warning)


def compare_results(parts: Mapping[str, Results], title: str, lead: str = "") -> Comparison:
    """Compare the controllers of opened result folders, by name."""
    return Comparison([Verdict(scenario) for scenario in scenarios_of(parts)], title, lead)


def _free(name: str, folder: str | Path, taken: Mapping[str, Results]) -> str:
    """A name that no other folder has."""
    return name if name not in taken else str(Path(folder) / name)
