"""Which conditions an experiment varies, and where a figure puts each of them.

The usual conditions have their place in each figure, as in the publications; what else varies takes
the places that are free, and what finds none makes one panel per value.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Any

import polars as pl

from gameway.metrics.quantities import natural_key

if TYPE_CHECKING:
    from collections.abc import Mapping

CONTROLLER, COMPETITOR = "controller", "congestion_control"
CAPACITY, QUEUE = "capacity", "queue_size"
TITLES = {
    CONTROLLER: "Controller",
    COMPETITOR: "Competitor",
    CAPACITY: "Capacity",
    QUEUE: "Queue size",
    "stream": "Stream",
    "base_rtt": "Base RTT",
    "base_rtt_spread": "Base RTT spread",
    "fec": "FEC",
}
# Conditions whose values have no order of size: they stay in the order of the experiment file.
UNORDERED = (CONTROLLER, COMPETITOR, "stream")

Where = dict[str, str]


@dataclass(frozen=True)
class Dimension:
    """A condition that varies."""

    column: str
    values: list[str]

    @property
    def title(self) -> str:
        """Its name on axes and legends."""
        return title_of(self.column)


@dataclass(frozen=True)
class Layout:
    """The place of every dimension in a figure."""

    places: dict[str, Dimension] = field(default_factory=dict)
    """Dimension by the name of its place: "color", "row", "column", "x", "y"."""
    panels: list[Dimension] = field(default_factory=list)

    def at(self, place: str) -> Dimension | None:
        """The dimension of a place, or None if it is free."""
        return self.places.get(place)

    @property
    def columns(self) -> list[str]:
        """The columns of all places, without those of panels."""
        return [dimension.column for dimension in self.places.values()]

    def panel_filters(self) -> list[Where]:
        """One filter per panel: a value for each dimension that found no place."""
        names = [dimension.column for dimension in self.panels]
        values = product(*(dimension.values for dimension in self.panels))
        return [dict(zip(names, combination, strict=True)) for combination in values]


def title_of(column: str) -> str:
    """A condition's column in words."""
    return TITLES.get(column, column.replace("_", " ").capitalize())


def dimensions(table: pl.DataFrame, factors: list[str]) -> list[Dimension]:
    """The conditions of which a table has more than one value.

    A condition that only follows another one (a queue that is set with the capacity) is left out.
    """
    found: list[Dimension] = []
    for column in [*factors, "stream"]:
        values = table[column].drop_nulls().unique(maintain_order=True).to_list()
        if len(values) > 1 and not any(_follows(table, column, known.column) for known in found):
            ordered = values if column in UNORDERED else sorted(values, key=natural_key)
            found.append(Dimension(column, ordered))
    return found


def arrange(found: list[Dimension], wanted: Mapping[str, str], free: tuple[str, ...]) -> Layout:
    """Give each dimension a place: that in `wanted` (column by place), else the next of `free`."""
    by_column = {dimension.column: dimension for dimension in found}
    places = {place: by_column[name] for place, name in wanted.items() if name in by_column}
    panels = []
    for dimension in found:
        if dimension in places.values():
            continue
        open_places = [place for place in free if place not in places]
        if open_places and dimension.column not in wanted.values():
            places[open_places[0]] = dimension
        else:
            panels.append(dimension)
    return Layout(places, panels)


def matches(where: Mapping[str, str]) -> pl.Expr:
    """Whether a row is of the condition `where` (all rows for an empty one)."""
    return pl.all_horizontal(pl.lit(value=True), *(pl.col(k) == v for k, v in where.items()))


def label_of(where: Mapping[str, Any]) -> str:
    """A filter in words: "Capacity 25 Mb/s, Competitor cubic"."""
    return ", ".join(f"{title_of(column)} {value}" for column, value in where.items())


def _follows(table: pl.DataFrame, column: str, known: str) -> bool:
    pairs = table.select(column, known).unique().height
    return pairs == table[known].n_unique()
