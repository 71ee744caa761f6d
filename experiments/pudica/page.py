"""The page of `gameway reproduce pudica`: published beside ours.

Source: Wang et al., "Pudica", NSDI 2024, sections 4.1, 5.3 to 5.5, appendices A, C, D, F, G, H.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import polars as pl

from gameway.page import Page, Section

from . import claims, published, sections, tables
from .drains import drains
from .sessions import convergence, sessions

if TYPE_CHECKING:
    from gameway.results import Results

TOGETHER_S = 40.0
"""From here on, three staggered flows are there together."""
LEAD = (
    f"{published.CITATION}. Its tables and figures, published beside ours: what was measured on "
    "production users there is measured on a drawn population of forty simulated paths here, so "
    "that the order and the direction of differences count, not the values."
)
ONE, THREE, JITTER = "One flow", "Three flows", "Figure 17's jitter"
SETTLED_S = 10.0


def page(parts: dict[str, Results]) -> Page:
    """The page, of the parts that are there."""
    made = _Parts(parts)
    found = [made.claims(), *made.figures(), *made.tables(), made.white_jitter()]
    told = [section for section in found if section is not None]
    return Page("Pudica's evaluation", LEAD, told, statement=[str(c) for c in made.all_claims()])


class _Parts:
    """The parts that are there, each read once."""

    def __init__(self, parts: dict[str, Results]) -> None:
        self.parts = parts
        self.one = cache(lambda: _whole(parts["one-flow"]))
        self.three = cache(lambda: _whole(parts["three-flows"], TOGETHER_S))
        self.drained = cache(lambda: drains(parts["figure-12"]))

    def all_claims(self) -> list[claims.Claim]:
        """Every claim that can be judged."""
        found: list[claims.Claim | None] = []
        if "one-flow" in self.parts:
            found += claims.min_delay(ONE, _plain(self.one()))
        if "three-flows" in self.parts:
            found += claims.min_delay(THREE, _plain(self.three()))
        if "figure-17" in self.parts:
            found += claims.min_delay(JITTER, _whole(self.parts["figure-17"], SETTLED_S))
        if "figure-12" in self.parts:
            found.append(claims.drains_in_time(self.drained()))
        if "figure-13" in self.parts:
            found.append(claims.is_fair("On 30 Mb/s", convergence(self.parts["figure-13"])))
        if "three-flows" in self.parts:
            found.append(claims.is_fair("Over the paths", self.three()))
        return [claim for claim in found if claim is not None]

    def claims(self) -> Section | None:
        """The tables behind the claims."""
        found = []
        for part, name, rows in (("one-flow", ONE, self.one), ("three-flows", THREE, self.three)):
            if part in self.parts:
                found.append(claims.compared_with_all(name, rows()))
                found.append(claims.by_kind(name, _plain(rows())))
        if "one-flow" in self.parts:
            found.append(claims.by_capacity(ONE, self.one()))
        return Section("Claims", sections.CLAIMS, found) if found else None

    def figures(self) -> list[Section | None]:
        """Figures 7, 10, 12, 13, 15, 16, 17, 18."""
        own = self.parts.get
        one = _plain(self.one()) if "one-flow" in self.parts else None
        three = _plain(self.three()) if "three-flows" in self.parts else None
        drained = self.drained() if "figure-12" in self.parts else None
        return [
            sections.figure_7(own("figure-07")),
            sections.figure_10(one, three),
            sections.figure_12(own("figure-12"), drained),
            sections.figure_13(own("figure-13")),
            sections.figure_15(own("figure-15")),
            sections.figure_16(own("figure-16")),
            sections.figure_17(own("figure-17")),
            sections.figure_18(own("figure-18")),
        ]

    def tables(self) -> list[Section | None]:
        """Tables 3 to 6."""
        found: list[Section | None] = []
        if "one-flow" in self.parts:
            one = self.one()
            found += [
                _table("3", "variants, one flow", one, sections.TABLE_3),
                _table("5", "short-term reactions", one, sections.TABLE_5),
                _table("6", "sensitivity to constants", one, sections.TABLE_6),
            ]
        if "three-at-once" in self.parts:
            rows = _whole(self.parts["three-at-once"])
            found.insert(1, _table("4", "variants, three flows", rows, sections.TABLE_4))
        return found

    def white_jitter(self) -> Section | None:
        """What jitter of each packet does."""
        return sections.white_jitter(self.parts.get("white-jitter"))


def _whole(results: Results, from_s: float = 0.0) -> pl.DataFrame:
    """Sessions with what concerns convergence beside."""
    own = convergence(results).drop("controller")
    return sessions(results, from_s).join(own, on="run", maintain_order="left")


def _plain(rows: pl.DataFrame) -> pl.DataFrame:
    """Without the variants of a controller."""
    return rows.filter(~pl.col("controller").str.contains("="))


def _table(number: str, title: str, rows: pl.DataFrame, text: str) -> Section | None:
    found = tables.tables(number, rows)
    if not found:
        return None
    counts = tables.agreement(number, rows)
    told = ", ".join(f"{count} {name}" for name, count in counts.items())
    return Section(f"Table {number}: {title}", text, found, points=[f"Directions: {told}."])
