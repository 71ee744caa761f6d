"""What `gameway report`, `compare` and `gateway-record` do: pages, and what is printed of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import gameway
from gameway.cli import terminal
from gameway.cli.console import err, out
from gameway.on import On
from gameway.results import Results
from gameway.sweep import suite as suites

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gameway.page import Page

REPORT = "report.html"


def write_suite_page(folder: Path, own: Path | None) -> None:
    """Write the page of a suite, whose own folder may have code for it; print its main tables."""
    from gameway.report.suite import write_page  # noqa: PLC0415 (heavy; other commands do without)

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


def print_beside(results: Results, simulated: Results | None = None) -> None:
    """Print simulated and live means side by side, and whether a run was flagged."""
    from gameway.beside import (  # noqa: PLC0415 (heavy; other commands do without)
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
    from gameway import report as reports  # noqa: PLC0415 (heavy; other commands do without)

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
    from gameway.beside import compare, twin  # noqa: PLC0415 (heavy; other commands do without)

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
        print_beside(results, other)
    write_report(results, other)


def _complete(folder: Path) -> None:
    """Make a result folder of a session that was not ended in order."""
    from gameway.lab import unfinished  # noqa: PLC0415 (heavy; other commands do without)

    seconds = unfinished.complete(folder)
    if seconds is not None:
        text = f"{folder}: the session was not ended in order; kept are its first {seconds:.1f} s"
        err.print(text, style="yellow", highlight=False, markup=False, soft_wrap=True)


def record_folder(file: Path, folder: Path) -> None:
    """Make a result folder of a gateway's record, and its report."""
    from gameway import gateway_record  # noqa: PLC0415 (heavy; other commands do without)

    made = gateway_record.convert(file, folder)
    if made.cut_lines:
        text = f"{file}: {made.cut_lines} lines were cut, and are left out"
        err.print(text, style="yellow", highlight=False, markup=False, soft_wrap=True)
    write_report(made.results)
    out.print(f"tables: {folder}", highlight=False, soft_wrap=True)


def compare_folders(folders: Sequence[Path], target: Path | None, *, report: bool) -> None:
    """Compare the controllers of some result folders, and write the page if it is wanted."""
    from gameway import compare  # noqa: PLC0415 (heavy; other commands do without)

    with err.status("measuring"):
        page = compare.compare(folders).page
    print_page(page)
    if report:
        own = folders[0] / "compare" if len(folders) == 1 else Path("results") / "compare"
        place = compare.write(page, (target or own) / REPORT)
        out.print(f"report: {place}", highlight=False, soft_wrap=True)
