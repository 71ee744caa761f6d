"""Tables in the terminal."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

from rich import box
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import polars as pl
    from rich.console import Console, JustifyMethod

    from gameway.beside import Row
    from gameway.page import Table as PageTable

NOTHING = "-"
SHORT = 24
"""Names up to this length are not broken into lines."""
SHOWN = (
    ("bitrate_mbps", "stream\nMb/s", 1),
    ("competitor_mbps", "competitor\nMb/s", 1),
    ("rtt_mean_ms", "RTT\nms", 1),
    ("frame_delay_p95_ms", "frame delay\np95, ms", 1),
    ("displayed_fps", "shown\nframes/s", 1),
    ("loss_percent", "loss\n%", 2),
)
"""Metric, heading and decimals of the columns of the summary."""


VIDEOS_SHOWN = (
    ("quality_level", "level", 1),
    ("quality_switches", "switches", 1),
    ("interruptions", "inter-\nruptions", 1),
    ("interrupted_s", "interrupted\ns", 1),
    ("startup_s", "start-up\ns", 1),
)
"""The same of the summary of videos."""
WIDEST = 1000
"""Columns in which each table has room."""
ROOMY, NARROW, NARROWEST = range(3)
"""How a table of estimates is laid out: in full; intervals below means, and of the conditions only
what tells them apart; that below each other, too."""


def fitting(console: Console, lay_out: Callable[[int], Table]) -> Table:
    """Give a table of estimates as it fits the console; the narrowest if none does."""
    room = console.options.update(width=WIDEST)
    for layout in (ROOMY, NARROW):
        table = lay_out(layout)
        if console.measure(table, options=room).maximum <= console.width:
            return table
    return lay_out(NARROWEST)


def summary(rows: pl.DataFrame, factors: list[str], layout: int = ROOMY) -> Table:
    """Lay out `gameway.metrics.summary_table`: a row per combination of factors and stream."""
    note = "mean ± half width of the 95 % interval over runs, while a competitor is there if one is"
    return _estimates(rows, ["stream", *factors], SHOWN, note, layout)


def videos(rows: pl.DataFrame, factors: list[str], layout: int = ROOMY) -> Table:
    """Lay out `gameway.metrics.video_summary_table`: a row per combination of factors and video."""
    note = "mean ± half width of the 95 % interval over runs, of videos; level 1 is the lowest"
    return _estimates(rows, ["video", *factors], VIDEOS_SHOWN, note, layout)


def _estimates(
    rows: pl.DataFrame,
    keys: list[str],
    columns: Iterable[tuple[str, str, int]],
    note: str,
    layout: int,
) -> Table:
    """Lay out means and intervals of metrics by those keys that have more than one value."""
    varied = [name for name in keys if rows[name].n_unique() > 1]
    telling = varied if layout == ROOMY else _telling_apart(rows, varied)
    between = " " if layout == ROOMY else "\n"
    cells = {
        heading: [_cell(row, metric, decimals, between) for row in rows.iter_rows(named=True)]
        for metric, heading, decimals in columns
    }
    shown = {heading: column for heading, column in cells.items() if set(column) != {NOTHING}}
    table = Table(box=box.SIMPLE_HEAD, caption=note, caption_justify="left", pad_edge=False)
    table.collapse_padding = layout != ROOMY
    heads = [name.replace("_", "\n" if layout != NARROWEST else " ") for name in telling]
    for name in ["\n".join(heads)] if layout == NARROWEST else heads:
        table.add_column(name, no_wrap=True)
    for heading in ("runs", *shown):
        table.add_column(heading, justify="right", no_wrap=True)
    for index, row in enumerate(rows.iter_rows(named=True)):
        named = [str(row[name] or NOTHING) for name in telling]
        first = ["\n".join(named)] if layout == NARROWEST else named
        table.add_row(*first, str(row["runs"]), *(column[index] for column in shown.values()))
    return table


def _telling_apart(rows: pl.DataFrame, keys: list[str]) -> list[str]:
    """Choose few of the keys that tell the rows apart as well as all do, in their order."""

    def told(chosen: list[str]) -> int:
        return rows.select(chosen).n_unique()

    chosen: list[str] = []
    while keys and (not chosen or told(chosen) < told(keys)):
        chosen.append(max(keys, key=lambda name: told([*dict.fromkeys([*chosen, name])])))
    return [name for name in keys if name in chosen]


def _cell(row: dict[str, Any], metric: str, decimals: int, between: str) -> str:
    """Give mean and interval of a metric: while a competitor was there, else of the whole run."""
    for column in (metric, f"competing_{metric}", f"run_{metric}"):
        mean = row.get(column)
        if mean is None or math.isnan(mean):
            continue
        width = row.get(f"{column}_ci95")
        if width is None or math.isnan(width):
            return f"{mean:.{decimals}f}"
        return f"{mean:.{decimals}f}{between}± {width:.{decimals}f}"
    return NOTHING


def catalogue(entries: Iterable[dict[str, Any]], between: str | None = None) -> Table:
    """Lay out a part of the catalogue: a row per entry and one per option.

    `between` names a value of entries or options ("unit", "default") that gets its own column.
    """
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("name", no_wrap=True)
    if between is not None:
        table.add_column(between, no_wrap=True)
    table.add_column("what it is")
    for index, entry in enumerate(entries):
        if index:
            table.add_row()
        about = Text.assemble(entry["summary"], "\n", (f"source: {entry['source']}", "dim"))
        _catalogue_row(table, Text(entry["name"], "bold"), entry, between, about)
        for option in entry.get("options", []):
            name = Text(f"  {option['name']}")
            about = Text.assemble(option["summary"], (_allowed(option), "dim"))
            _catalogue_row(table, name, option, between, about)
    return table


def _allowed(option: dict[str, Any]) -> str:
    """Say which values an option may have, unless its sentence says it."""
    lowest, highest = option.get("min"), option.get("max")
    span = "" if lowest is None or highest is None else f"{lowest} to {highest}"
    words = option.get("kind", "").split(", ")
    is_told = len(words) == 1 or all(word in option["summary"] for word in words)
    told = "; ".join(filter(None, ["" if is_told else ", ".join(words), span]))
    return f" ({told})" if told else ""


def _catalogue_row(
    table: Table, name: Text, entry: dict[str, Any], between: str | None, about: Text
) -> None:
    middle = [] if between is None else [Text(entry.get(between, ""))]
    table.add_row(name, *middle, about)


def page_table(table: PageTable, heading: str) -> Table:
    """Lay out a table of a page; the best cells are bold."""
    from gameway.page import shown  # noqa: PLC0415 (heavy; other commands do without)

    title = f"{heading}: {table.caption}" if table.caption else heading
    laid = Table(title=Text(title), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for index, (name, kind) in enumerate(table.frame.schema.items()):
        justify: JustifyMethod = "right" if kind.is_numeric() else "left"
        longest = max((len(shown(value)) for value in table.frame[name]), default=0)
        whole = index == 0 and longest <= SHORT
        laid.add_column(name, justify=justify, no_wrap=whole, overflow="fold")
    for index, row in enumerate(table.frame.iter_rows(named=True)):
        laid.add_row(
            *(
                Text(shown(value), style="bold" if (index, name) in table.best else "")
                for name, value in row.items()
            )
        )
    return laid


def beside(rows: list[Row]) -> Iterator[Table]:
    """Lay out simulated and live means: a table for each condition, all with the same columns."""
    from gameway.beside.sections import OUTSIDE, estimate, varied, verdict  # noqa: PLC0415 (heavy)

    telling = varied(rows)
    heads = ("flow", "metric", "simulated", "live", "allowed", "verdict")
    every = {
        id(row): (
            row.flow,
            f"{row.tolerance.short}, {row.tolerance.unit}",
            estimate(row.simulated),
            estimate(row.live),
            f"± {row.tolerance.allowed(row.simulated.mean):.3g}",
            verdict(row),
        )
        for row in rows
    }
    widths = [max(map(len, column)) for column in zip(heads, *every.values(), strict=True)]
    groups = itertools.groupby(rows, lambda row: row.named(telling))
    for condition, own in groups:
        title = Text(condition, style="bold") if condition else None
        laid = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
        for name, width in zip(heads, widths, strict=True):
            laid.add_column(name, no_wrap=True, min_width=width)
        for row in own:
            *cells, told = every[id(row)]
            laid.add_row(*cells, Text(told, style="bold red" if told == OUTSIDE else ""))
        yield laid


def frame(rows: pl.DataFrame) -> Table:
    """Lay out a small frame as it is."""
    table = Table()
    for name in rows.columns:
        table.add_column(name.replace("_", " "), justify="right")
    for row in rows.iter_rows():
        cells = [f"{cell:.6g}" if isinstance(cell, float) else str(cell) for cell in row]
        table.add_row(*cells)
    return table
