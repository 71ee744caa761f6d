"""The tables of a report as HTML: headline, comparison with publications, all conditions."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

import polars as pl

from gameway.figures.conditions import CONTROLLER, dimensions, title_of
from gameway.metrics.catalogue import (
    CONDITION_METRICS,
    METRICS,
    VIDEO_METRICS,
    metric_of_column,
)
from gameway.metrics.quantities import natural_key
from gameway.page.words import UNKNOWN, number, spread
from gameway.report.findings import scope_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gameway.published import Reference
    from gameway.report.comparison import Cell, Comparison, Estimate

HEADLINE = (
    "bitrate_mbps", "rtt_mean_ms", "loss_percent", "displayed_fps", "frame_delay_mean_ms",
    "frame_delay_p95_ms", "stall_100ms_percent", "link_utilization_percent", "mos",
)  # fmt: skip
COMPETITION = ("bitrate_difference_ratio", "jain_index", "response_s", "recovery_s", "adaptiveness")


def headline(table: pl.DataFrame) -> str:
    """Means over all conditions, one row per controller; the best of each column is bold."""
    columns = _headline_columns(table)
    group = CONTROLLER if CONTROLLER in table.columns else "stream"
    means = table.group_by(group, maintain_order=True).agg(
        pl.len().alias("conditions"), *(pl.col(c).fill_nan(None).mean() for c in columns)
    )
    best = {column: _best(means, column) for column in columns}
    heads = [_head(title_of(group), text=True), _head("conditions")]
    heads += [_head(metric_of_column(column).label) for column in columns]
    rows = []
    for row in means.iter_rows(named=True):
        cells = [f'<th scope="row">{escape(str(row[group]))}</th>', _cell(str(row["conditions"]))]
        for column in columns:
            css = "best" if row[column] == best[column] and _differs(means[column]) else ""
            cells.append(_cell(number(row[column]), css=css))
        rows.append("".join(cells))
    caption = "Means over all conditions" + _while(table)
    return _table(heads, rows, caption)


def comparison_table(comparison: Comparison, reference: Reference) -> str:
    """A published table beside ours: every system, their mean, ours, and the difference."""
    cells = comparison.cells
    systems = list(dict.fromkeys(name for cell in cells for name in cell.published))
    controllers = list(dict.fromkeys(name for cell in cells for name in cell.ours))
    several = len({cell.competitor for cell in cells}) > 1
    heads = [_head("capacity", text=True), _head("queue", text=True)]
    heads += [_head("against", text=True)] if several else []
    heads += [_head(reference.systems.get(name, name), css="group" * (name == systems[0]))
              for name in systems]  # fmt: skip
    heads += [_head("published mean"), *(_head(n, css="group" * (n == controllers[0]))
              for n in controllers), _head("our mean"), _head("difference", css="group"),
              _head("in %")]  # fmt: skip
    digits = comparison.table.digits
    rows = [_comparison_row(c, systems, controllers, digits, several=several) for c in cells]
    caption = f"{comparison.table.title} in {comparison.table.unit}: published and ours"
    return _table(heads, rows, caption)


def summary(table: pl.DataFrame, factors: list[str]) -> str:
    """All conditions with their main metrics; headings sort."""
    keys = [d.column for d in dimensions(table, factors)] or [factors[0] if factors else "stream"]
    columns = [c for c in (*COMPETITION, *_headline_columns(table)) if _known(table, c)]
    heads = [_head(title_of(key), text=True, sortable=True) for key in keys]
    heads += [_head("runs", sortable=True)]
    heads += [_head(metric_of_column(column).label, sortable=True) for column in columns]
    order = {text: index for index, text in enumerate(_sorted_values(table, keys))}
    rows = []
    for row in table.iter_rows(named=True):
        cells = [_cell(escape(str(row[k])), sort=str(order[str(row[k])]), css="text") for k in keys]
        cells.append(_cell(str(row["runs"]), sort=str(row["runs"])))
        for column in columns:
            half = row.get(f"{column}_ci95")
            sort = "" if row[column] is None or math.isnan(row[column]) else str(row[column])
            cells.append(_cell(estimate(row[column], half), sort=sort))
        rows.append("".join(cells))
    return _table(heads, rows, "All conditions, means over runs with 95 % half widths")


def glossary() -> str:
    """Every metric with its unit, definition and source."""
    heads = [_head(name, text=True) for name in ("metric", "unit", "definition", "source")]
    rows = [
        f'<th scope="row">{escape(m.name)}</th>'
        + "".join(
            f'<td class="text wrap">{escape(t)}</td>' for t in (m.unit, m.definition, m.source)
        )
        for m in [*METRICS, *CONDITION_METRICS, *VIDEO_METRICS]
    ]
    return _table(heads, rows, "Metrics")


def estimate(value: float | None, half: float | None) -> str:
    """A mean with the half width of its interval."""
    text, half_width = number(value), spread(value, half)
    return f"{text} <small>{half_width}</small>" if half_width else text


def _comparison_row(
    cell: Cell, systems: list[str], controllers: list[str], digits: int, *, several: bool
) -> str:
    parts = [_cell(f"{cell.capacity_mbps:g} Mb/s", css="text"),
             _cell(f"{cell.queue_bdp:g} BDP", css="text")]  # fmt: skip
    parts += [_cell(escape(cell.competitor), css="text")] if several else []
    for name in systems:
        css = "group" * (name == systems[0])
        parts.append(_cell(_published(cell.published.get(name), digits), css=css))
    parts.append(_cell(_or_unknown(cell.published_mean, digits)))
    for name in controllers:
        css = "group" * (name == controllers[0])
        parts.append(_cell(_ours(cell.ours.get(name), digits), css=css))
    parts.append(_cell(_or_unknown(cell.our_mean, digits)))
    difference, percent = cell.difference, cell.difference_percent
    signed = UNKNOWN if difference is None else f"{difference:+.{digits}f}"
    share = UNKNOWN if percent is None else f"{percent:+.0f} %"
    return "".join(
        [*parts, _cell(signed, css="group"), _cell(share, css="mark" if cell.marked else "")]
    )


def _published(found: Estimate | None, digits: int) -> str:
    if found is None:
        return UNKNOWN
    text = f"{found.mean:.{digits}f}"
    return text if found.spread is None else f"{text} <small>({found.spread:g})</small>"


def _ours(found: Estimate | None, digits: int) -> str:
    if found is None:
        return UNKNOWN
    text = f"{found.mean:.{digits}f}"
    if found.spread is None or math.isnan(found.spread):
        return text
    return f"{text} <small>± {found.spread:.{digits}f}</small>"


def _or_unknown(value: float | None, digits: int) -> str:
    return UNKNOWN if value is None else f"{value:.{digits}f}"


def _headline_columns(table: pl.DataFrame) -> list[str]:
    scope = scope_of(table)
    return [f"{scope}_{name}" for name in HEADLINE if _known(table, f"{scope}_{name}")]


def _known(table: pl.DataFrame, column: str) -> bool:
    """Whether a column has a value, or a "never", in any row."""
    return not (table[column].is_nan().fill_null(value=False)).all()


def _best(means: pl.DataFrame, column: str) -> object:
    better = metric_of_column(column).higher_is_better
    return means[column].max() if better else means[column].min()


def _differs(values: pl.Series) -> bool:
    """Whether the values differ as they are shown."""
    return len({number(value) for value in values}) > 1


def _sorted_values(table: pl.DataFrame, keys: Iterable[str]) -> list[str]:
    values = {str(value) for key in keys for value in table[key].unique()}
    return sorted(values, key=natural_key)


def _while(table: pl.DataFrame) -> str:
    return ", while the competitor is there" if scope_of(table) == "competing" else ""


def _head(title: str, *, css: str = "", text: bool = False, sortable: bool = False) -> str:
    name = escape(title)
    classes = " ".join(part for part in (css, "text" if text else "") if part)
    shown = f'<button type="button">{name}</button>' if sortable else name
    return f'<th scope="col"{_class(classes)}>{shown}</th>'


def _cell(text: str, *, css: str = "", sort: str | None = None) -> str:
    order = "" if sort is None else f' data-sort="{escape(sort)}"'
    return f"<td{_class(css)}{order}>{text}</td>"


def _class(css: str) -> str:
    return f' class="{css}"' if css else ""


def _table(heads: list[str], rows: list[str], caption: str) -> str:
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(caption)}"><table>'
        f'<caption class="hidden">{escape(caption)}</caption>'
        f"<thead><tr>{''.join(heads)}</tr></thead><tbody>{body}</tbody></table></div>"
    )
