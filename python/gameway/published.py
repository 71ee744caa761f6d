"""Published figures that experiments are compared with; they lie in the experiments' own folders.

The folder of an experiment may hold `published.toml`, a publication whose tables stand beside ours
in a report, with their values in `published.csv`. An experiment asks for the comparison by
`reference = "<folder>"`; nothing is guessed.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import polars as pl

from gameway import experiments

if TYPE_CHECKING:
    from pathlib import Path

VALUES = "published.csv"


@dataclass(frozen=True)
class PublishedTable:
    """One table of a publication, and the metric of ours that it is compared with."""

    number: int
    title: str
    column: str
    """The column of `summary_table` that measures the same."""
    unit: str
    digits: int
    """Decimals that the publication gives."""


@dataclass(frozen=True)
class Reference:
    """A publication whose figures stand beside ours."""

    name: str
    citation: str
    data: Path
    """File with the published values."""
    tables: tuple[PublishedTable, ...]
    systems: dict[str, str]
    """Names of the systems that it measured, by their short names in the data."""
    notes: tuple[str, ...]

    @classmethod
    def read(cls, folder: Path) -> Reference:
        """Read the declaration of an experiment's folder."""
        declared = tomllib.loads((folder / experiments.PUBLISHED).read_text("utf-8"))
        tables = tuple(PublishedTable(**table) for table in declared["table"])
        return cls(
            folder.name, declared["citation"], folder / VALUES, tables, declared["systems"],
            tuple(declared["notes"]),
        )  # fmt: skip

    def values(self) -> pl.DataFrame:
        """The published values: table, metric, system, competitor, capacity, queue, mean, sd."""
        return pl.read_csv(self.data, schema_overrides={"mean": pl.Float64, "sd": pl.Float64})


@lru_cache(maxsize=1)
def references() -> dict[str, Reference]:
    """The publications that an experiment may name."""
    return {name: Reference.read(experiments.folder() / name) for name in experiments.published()}


def reference_of(manifest: dict[str, Any]) -> Reference | None:
    """The publication that an experiment names, or None if it names none that is known."""
    return references().get(_named(str(manifest.get("experiment_text") or "")))


@lru_cache(maxsize=8)
def _named(experiment: str) -> str:
    try:
        return str(tomllib.loads(experiment).get("reference", ""))
    except tomllib.TOMLDecodeError:
        return ""


@lru_cache(maxsize=8)
def values_of(folder: Path) -> pl.DataFrame:
    """The published values of an experiment's folder: columns of names, and `value`."""
    frame = pl.read_csv(folder / VALUES, infer_schema=False)
    return frame.with_columns(pl.col("value").cast(pl.Float64))


def value_of(folder: Path, **names: str) -> float | None:
    """One published value, by the names in its columns; None where the publication has none."""
    found = values_of(folder).filter(**names)["value"]
    return float(found[0]) if len(found) else None
