"""The page of a suite: made by the suite's own code, or a table of conditions for each part.

A suite's folder may hold `page.py` with one function: `page` gets the results of the parts that
have a finished run, by name, and gives the `Page` (`gameway.page`). Other modules of that
folder are imported relative to it: `from . import figures`.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import polars as pl

from gameway import experiments
from gameway.beside import twin
from gameway.beside.sections import of_suite
from gameway.errors import InputError
from gameway.experiment.suite import PAGE_CODE
from gameway.metrics.catalogue import metric_of_column
from gameway.metrics.summary import summary_table
from gameway.page import Page, Section, Table, write
from gameway.page.head import common_facts
from gameway.page.words import estimate_text
from gameway.results import Results
from gameway.sweep.suite import FILE, open_parts, read_file

if TYPE_CHECKING:
    from collections.abc import Mapping

PAGE = "report.html"
MakePage = Callable[[dict[str, Results]], Page]

SHOWN = (
    "run_bitrate_mbps", "run_link_utilization_percent", "run_frame_delay_p95_ms",
    "run_frame_delay_p99_ms", "run_stall_100ms_percent", "run_loss_percent", "jain_index",
    "run_mos",
)  # fmt: skip


def write_page(out: str | Path, folder: str | Path | None = None) -> tuple[Page, Path]:
    """Write the page of a suite; give it and its place."""
    made = page(out, folder)
    return made, write(made, Path(out) / PAGE)


def page(out: str | Path, folder: str | Path | None = None) -> Page:
    """Make the page of a suite out of what is there; it says what is missing.

    `folder` is the suite's own. That of an experiment of this installation is found by its name;
    no other code is run because results name it.
    """
    found = read_file(Path(out))
    parts = open_parts(out)
    ready = {name: results for name, results in parts.items() if results.finished_ids()}
    if not ready:
        raise InputError("no run has finished yet", file=out, hint="wait, or run it again")
    made = page_of(_folder_of(found, None if folder is None else Path(folder)))(ready)
    live = {name: results for name, results in ready.items() if twin.is_live(results)}
    if live:
        made = of_suite(made, live)
    missing = _missing(found["parts"], parts)
    title = made.title or str(found.get("title") or found["suite"])
    warning = " ".join([made.warning, *missing]).strip()
    return replace(made, title=title, warning=warning, facts=made.facts or common_facts(ready))


def _folder_of(found: Mapping[str, Any], folder: Path | None) -> Path:
    """Give the folder with the code of a suite's page."""
    if folder is not None and (folder / PAGE_CODE).is_file():
        return folder
    if "page" in found:
        problem = f"is of a suite whose page is made by {Path(found['page']) / PAGE_CODE}"
        raise InputError(problem, file=FILE, hint="give its folder with --page")
    return experiments.folder() / str(found["suite"])


def page_of(folder: Path) -> MakePage:
    """Give the function that makes the page of the suite in a folder."""
    if not (folder / PAGE_CODE).is_file():
        return plain_page
    made = getattr(import_module(f"{_package(folder.resolve())}.page"), "page", None)
    if not callable(made):
        raise InputError("has no function `page`", file=folder / PAGE_CODE)
    make: MakePage = made
    return make


def _package(folder: Path) -> str:
    """Give the name under which the modules of a suite's folder are imported."""
    if folder.parent == experiments.folder().resolve():
        return f"{experiments.__name__}.{folder.name}"
    name = f"gameway_suite_{hashlib.sha256(str(folder).encode()).hexdigest()[:12]}"
    if name not in sys.modules:
        package = ModuleType(name)
        package.__path__ = [str(folder)]
        sys.modules[name] = package
    return name


def plain_page(parts: dict[str, Results]) -> Page:
    """A section for each part; the title is the suite's."""
    sections = [_section(name, results) for name, results in parts.items()]
    lead = "Means over runs with the half width of the 95 % interval."
    return Page("", lead, sections)


def _section(name: str, results: Results) -> Section:
    rows = summary_table(results)
    keys = [key for key in ("stream", *results.factors) if rows[key].n_unique() > 1]
    columns = [name for name in SHOWN if not rows[name].is_nan().all()]
    shown = rows.select(
        *(pl.col(key).alias(key.replace("_", " ")) for key in keys or ["stream"]),
        "runs",
        *(_estimates(rows, column) for column in columns),
    )
    title = str(results.manifest.get("title") or name)
    table = Table(title, shown, name=name, file_frame=rows, main=True)
    return Section(name, "" if title == name else title, [table])


def _estimates(rows: pl.DataFrame, column: str) -> pl.Series:
    """Mean and half width of a metric as texts."""
    pairs = zip(rows[column], rows[f"{column}_ci95"], strict=True)
    texts = [estimate_text(mean, half) for mean, half in pairs]
    return pl.Series(metric_of_column(column).label, texts)


def _missing(names: list[str], parts: Mapping[str, Results]) -> list[str]:
    absent = [name for name in names if name not in parts]
    told = [f"Not run yet: {', '.join(absent)}."] if absent else []
    for name, results in parts.items():
        if results.missing:
            told.append(f"{name}: {results.missing} of {results.runs.height} runs are missing.")
    return told
