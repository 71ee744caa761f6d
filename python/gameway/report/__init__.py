"""The report of a result folder: one HTML file that works offline, and files for papers beside it.

from gameway import Results, report

report.write(Results.open("results/mine"), "results/mine/report.html")
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from gameway.beside import sections as live_sections
from gameway.beside.twin import is_live, twin_of
from gameway.beside.warnings import warning
from gameway.metrics.summary import summary_table
from gameway.metrics.table import per_run_table
from gameway.page import laid_out
from gameway.page.export import save_table
from gameway.page.head import head_of
from gameway.page.render import FILES, drawn, write_page
from gameway.published import reference_of
from gameway.report import evening, flows, played, tables, videos
from gameway.report.comparison import Comparison, compare
from gameway.report.findings import findings
from gameway.report.phase import one_phase_warning
from gameway.report.sections import figures_of
from gameway.report.statement import statement

if TYPE_CHECKING:
    from gameway.metrics.source import ResultFolder
    from gameway.metrics.table import Progress
    from gameway.published import Reference

__all__ = ["write"]


def write(
    results: ResultFolder,
    out_html: str | Path,
    *,
    save_files: bool = True,
    progress: Progress | None = None,
    beside: ResultFolder | None = None,
) -> Path:
    """Write the report to `out_html`, and every figure and table to `report-files` next to it.

    `save_files=False` writes the page alone, which is quicker. `progress` is told of the runs that
    have to be evaluated first. `beside` are simulated results to put beside live ones; if not
    given, those that a live run has left in its own folder.
    """
    page = Path(out_html)
    page.parent.mkdir(parents=True, exist_ok=True)
    per_run_table(results, progress)
    reference = reference_of(results.manifest)
    comparisons = compare(results, reference) if reference else []
    folder = page.parent / FILES if save_files else None
    if folder is not None:
        folder.mkdir(exist_ok=True)
        _save_tables(results, comparisons, folder)
    content = _content(results, reference, comparisons, folder)
    if is_live(results):
        content |= _live(results, beside or twin_of(results), content, folder)
    write_page(page, "report.html.j2", content)
    return page


def _content(
    results: ResultFolder,
    reference: Reference | None,
    comparisons: list[Comparison],
    folder: Path | None,
) -> dict[str, Any]:
    table = summary_table(results)
    head = head_of(results)
    figures = [drawn(figure, folder) for figure in figures_of(results, reference)]
    ids = [figure["id"] for figure in figures]
    further = [*played.sections(results), *videos.sections(results)]
    if table.is_empty():
        further += [*evening.sections(results), *flows.sections(results)]
    return {
        "kind": "report",
        "title": head.title,
        "lead": [head.runs],
        "warning": " ".join(filter(None, (head.warning, one_phase_warning(results)))),
        "first": "statement" if evening.is_evening(results) else "findings",
        "head": head,
        "statement": statement(results, table) or evening.statement(results),
        "findings": [] if evening.is_evening(results) else findings(results, comparisons),
        "headline": tables.headline(table),
        "extra": laid_out(further, folder, {"summary", *ids}),
        "streamed": not table.is_empty(),
        "figures": figures,
        "comparisons": [_comparison(c, reference) for c in comparisons if reference],
        "reference": reference,
        "summary": tables.summary(table, results.factors),
        "glossary": tables.glossary(),
        "saved": folder is not None,
    }


def _live(
    results: ResultFolder,
    simulated: ResultFolder | None,
    content: dict[str, Any],
    folder: Path | None,
) -> dict[str, Any]:
    """What a page about live runs has beyond the others."""
    warnings = (content["warning"], warning(results))
    found = live_sections.sections(results, simulated)
    taken = [*content["figures"], *content["extra"]]
    anchors = {"summary", *(one["id"] for one in taken)}
    return {
        "kind": "live report",
        "warning": " ".join(text for text in warnings if text),
        "extra": [*content["extra"], *laid_out(found, folder, anchors)],
    }


def _comparison(comparison: Comparison, reference: Reference) -> dict[str, str]:
    table = comparison.table
    return {
        "id": f"table-{table.number}",
        "short": f"Table {table.number}",
        "title": f"Table {table.number}: {table.title} ({table.unit})",
        "caption": "Published values: mean (standard deviation). Ours: mean ± half width of the "
        "95 % interval over runs. Marked: our mean differs from the published mean by more than "
        "20 %.",
        "html": tables.comparison_table(comparison, reference),
    }


def _save_tables(results: ResultFolder, comparisons: list[Comparison], folder: Path) -> None:
    save_table(summary_table(results), folder, "summary")
    save_table(per_run_table(results), folder, "runs")
    for comparison in comparisons:
        save_table(comparison.frame(), folder, f"table-{comparison.table.number}")
