"""The report of a result folder: one HTML file that works offline, and files for papers beside it.

from gameway import Results, report

report.write(Results.open("results/mine"), "results/mine/report.html")
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2
import vl_convert

from gameway.figures import theme
from gameway.figures.conditions import CAPACITY
from gameway.metrics.summary import summary_table
from gameway.metrics.table import per_run_table
from gameway.reference import reference_of
from gameway.report import tables
from gameway.report.comparison import Comparison, compare
from gameway.report.export import chart_json, file_name, save_chart, save_table
from gameway.report.findings import findings
from gameway.report.head import head_of
from gameway.report.sections import Figure, figures_of

if TYPE_CHECKING:
    from gameway.metrics.source import ResultFolder
    from gameway.metrics.table import Progress
    from gameway.reference import Reference

__all__ = ["write"]

FILES = "report-files"


@dataclass(frozen=True)
class _Chart:
    """One chart as the page needs it."""

    label: str
    file: str
    description: str
    spec: str
    shown: bool
    saved: bool


def write(
    results: ResultFolder,
    out_html: str | Path,
    *,
    save_files: bool = True,
    progress: Progress | None = None,
) -> Path:
    """Write the report to `out_html`, and every figure and table to `report-files` next to it.

    `save_files=False` writes the page alone, which is quicker. `progress` is told of the runs that
    have to be evaluated first.
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
    text = _environment().get_template("page.html.j2").render(content)
    partial = page.with_suffix(".partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(page)
    return page


def _content(
    results: ResultFolder,
    reference: Reference | None,
    comparisons: list[Comparison],
    folder: Path | None,
) -> dict[str, Any]:
    table = summary_table(results)
    return {
        "head": head_of(results),
        "findings": findings(results, comparisons),
        "headline": tables.headline(table),
        "figures": [_figure(figure, folder) for figure in figures_of(results, reference)],
        "comparisons": [_comparison(c, reference) for c in comparisons if reference],
        "reference": reference,
        "summary": tables.summary(table, results.factors),
        "glossary": tables.glossary(),
        "files": FILES,
        "saved": folder is not None,
        "themes": json.dumps({mode: theme.config(mode) for mode in theme.MODES}),
        "bundle": _bundle(),
        "css": _asset("page.css"),
        "js": _asset("page.js"),
        "early": _asset("early.js"),
    }


def _figure(figure: Figure, folder: Path | None) -> dict[str, Any]:
    charts = []
    first = _first_shown(figure)
    for index, panel in enumerate(figure.panels):
        name = file_name(figure.id, panel.label)
        spec = panel.chart.to_dict(validate=False)
        spec.pop("config", None)
        if folder is not None:
            save_chart(spec, folder, name)
        charts.append(
            _Chart(
                label=panel.label,
                file=name,
                description=panel.description,
                spec=chart_json(spec),
                shown=index == first,
                saved=folder is not None,
            )
        )
    return {"id": figure.id, "title": figure.title, "caption": figure.caption, "panels": charts}


def _first_shown(figure: Figure) -> int:
    """Panels that differ in capacity open with the middle one, as the paper's Figure 2."""
    by_capacity = all(list(panel.where) == [CAPACITY] for panel in figure.panels)
    return len(figure.panels) // 2 if by_capacity else 0


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


@lru_cache(maxsize=1)
def _bundle() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script; making it takes seconds."""
    return str(vl_convert.javascript_bundle("window.gamewayEmbed = vegaEmbed;"))


def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FunctionLoader(_asset), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )


def _asset(name: str) -> str:
    return files(__package__).joinpath(name).read_text("utf-8")
