"""The page of a suite that has none of its own: a table of conditions for each part."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from gameway.metrics.catalogue import metric_of_column
from gameway.metrics.summary import summary_table
from gameway.report.page import Page, Section, Table
from gameway.report.tables import estimate_text

if TYPE_CHECKING:
    from gameway.results import Results

SHOWN = (
    "run_bitrate_mbps", "run_link_utilization_percent", "run_frame_delay_p95_ms",
    "run_frame_delay_p99_ms", "run_stall_100ms_percent", "run_loss_percent", "jain_index",
    "run_mos",
)  # fmt: skip


def page(parts: dict[str, Results]) -> Page:
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
