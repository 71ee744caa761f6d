"""Pages: sections of text, tables and figures, all in one style.

from gameway.page import Page, Section, Table, figure, write

write(Page("Title", "A lead.", [Section("Loss", tables=[Table("By queue", frame)])]), "x.html")
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gameway.figures.facets import Panel
from gameway.page.export import file_name, save_table
from gameway.page.render import FILES, drawn, write_page
from gameway.page.words import UNKNOWN, number

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

__all__ = ["Figure", "Page", "Panel", "Section", "Table", "figure", "write"]

Cell = tuple[int, str]
"""A cell of a table: number of the row, name of the column."""


@dataclass(frozen=True)
class Figure:
    """One figure."""

    id: str
    """Its anchor, and the name of its files."""
    title: str
    caption: str
    panels: Sequence[Panel]


@dataclass(frozen=True)
class Table:
    """A table; its file is NAME.csv.

    Numbers are shown with three digits (null: a dash), texts as they are.
    """

    caption: str
    frame: pl.DataFrame
    name: str = ""
    """Name of its file; made of the caption if not given."""
    file_frame: pl.DataFrame | None = None
    """What the file has, if it is not what is shown: numbers where texts are shown."""
    best: frozenset[Cell] = frozenset()
    """Cells in bold."""
    marked: frozenset[Cell] = frozenset()
    """Cells that a reader must not miss: differences, failures."""
    main: bool = False
    """Shown in the terminal, too."""


@dataclass(frozen=True)
class Section:
    """One section: its text (a paragraph per line), points, figures, tables."""

    title: str
    text: str = ""
    tables: Sequence[Table] = ()
    figures: Sequence[Figure] = ()
    points: Sequence[str] = ()


@dataclass(frozen=True)
class Page:
    """A page: its lead says what was asked, its statement what was found."""

    title: str
    lead: str
    sections: Sequence[Section]
    statement: Sequence[str] = ()
    """Findings, one sentence each; shown in the terminal, too."""
    warning: str = ""
    facts: Sequence[tuple[str, str]] = ()
    kind: str = "report"


@dataclass
class _Names:
    """Names of anchors or of files, each given once."""

    taken: set[str] = field(default_factory=set)

    def of(self, *texts: str) -> str:
        """Make a name of texts that no other thing on the page has."""
        wanted = file_name(*texts)[:80].rstrip("-.") or "x"
        name, count = wanted, 1
        while name in self.taken:
            count += 1
            name = f"{wanted}-{count}"
        self.taken.add(name)
        return name


def figure(  # noqa: PLR0913 (all but three are named)
    name: str,
    title: str,
    charts: alt.TopLevelMixin | Mapping[str, alt.TopLevelMixin],
    *,
    caption: str = "",
    description: str = "",
    chosen_by: str = "part",
) -> Figure:
    """A figure of one chart, or of several of which the reader chooses one by its label.

    `name` is the name of its files, `description` is read to those who cannot see it.
    """
    told = description or caption or title
    if isinstance(charts, Mapping):
        panels = [
            Panel({chosen_by: label}, chart, f"{told} ({label})") for label, chart in charts.items()
        ]
    else:
        panels = [Panel({}, charts, told)]
    return Figure(name, title, caption, panels)


def write(page: Page, path: str | Path, *, save_files: bool = True) -> Path:
    """Write a page: one HTML file that works offline, and its figures and tables beside it."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    folder = target.parent / FILES if save_files else None
    if folder is not None:
        folder.mkdir(exist_ok=True)
    sections = laid_out(page.sections, folder)
    content = {
        "kind": page.kind,
        "title": page.title,
        "lead": _paragraphs(page.lead),
        "warning": page.warning,
        "statement": page.statement,
        "sections": sections,
        "facts": page.facts,
        "first": "findings" if page.statement else next((s["id"] for s in sections), "about"),
        "saved": folder is not None,
    }
    write_page(target, "sections.html.j2", content)
    return target


def laid_out(
    sections: Sequence[Section], folder: Path | None, taken: Iterable[str] = ()
) -> list[dict[str, Any]]:
    """Sections as a template needs them, their figures and tables saved in `folder`, if given.

    `taken` are anchors of other parts of the page.
    """
    anchors, names = _Names({"findings", "about", "themes", *taken}), _Names()
    return [_section(section, anchors.of(section.title), names, folder) for section in sections]


def shown(value: Any) -> str:
    """A cell as text, as pages and terminals show it."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return UNKNOWN
    return number(value) if isinstance(value, float) else str(value)


def _section(section: Section, anchor: str, names: _Names, folder: Path | None) -> dict[str, Any]:
    return {
        "id": anchor,
        "title": section.title,
        "text": _paragraphs(section.text),
        "points": section.points,
        "figures": [_figure(one, names, folder) for one in section.figures],
        "tables": [_table(one, anchor, names, folder) for one in section.tables],
    }


def _figure(one: Figure, names: _Names, folder: Path | None) -> dict[str, Any]:
    unique = Figure(names.of(one.id), one.title, one.caption, one.panels)
    return drawn(unique, folder)


def _table(table: Table, section: str, names: _Names, folder: Path | None) -> dict[str, str]:
    name = names.of(table.name or f"{section} {table.caption or 'table'}")
    if folder is not None:
        save_table(table.frame if table.file_frame is None else table.file_frame, folder, name)
    return {"caption": table.caption, "file": name, "html": _html(table)}


def _html(table: Table) -> str:
    frame = table.frame
    texts = [name for name, kind in frame.schema.items() if not kind.is_numeric()]
    heads = "".join(
        f'<th scope="col"{_css("text" * (name in texts))}>{escape(name)}</th>'
        for name in frame.columns
    )
    rows = "".join(
        _row(table, index, row, texts) for index, row in enumerate(frame.iter_rows(named=True))
    )
    label = escape(table.caption or table.name)
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{label}"><table>'
        f'<caption class="hidden">{label}</caption>'
        f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _row(table: Table, index: int, row: dict[str, Any], texts: list[str]) -> str:
    cells = []
    for name, value in row.items():
        classes = ["text"] if name in texts else []
        classes += ["best"] if (index, name) in table.best else []
        classes += ["mark"] if (index, name) in table.marked else []
        cells.append(f"<td{_css(' '.join(classes))}>{escape(shown(value))}</td>")
    return f"<tr>{''.join(cells)}</tr>"


def _css(classes: str) -> str:
    return f' class="{classes}"' if classes else ""


def _paragraphs(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]
