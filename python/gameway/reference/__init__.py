"""Published figures that experiments are compared with.

An experiment asks for a comparison by its key `reference = "<name>"`; nothing is guessed.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

import polars as pl


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
    data: str
    """File of this package with the published values."""
    tables: tuple[PublishedTable, ...]
    systems: dict[str, str]
    """Names of the systems that it measured, by their short names in the data."""
    notes: tuple[str, ...]

    def values(self) -> pl.DataFrame:
        """The published values: table, metric, system, competitor, capacity, queue, mean, sd."""
        text = files(__package__).joinpath(self.data).read_text("utf-8")
        return pl.read_csv(text.encode(), schema_overrides={"mean": pl.Float64, "sd": pl.Float64})


XU_CLAYPOOL_2022 = Reference(
    name="xu-claypool-2022",
    citation="X. Xu and M. Claypool, Measurement of Cloud-based Game Streaming System Response to "
    "Competing TCP Cubic or TCP BBR Flows, Technical Report 22-03, WPI, May 2022",
    data="xu_claypool_2022.csv",
    tables=(
        PublishedTable(2, "Round-trip time without a competitor", "alone_rtt_mean_ms", "ms", 1),
        PublishedTable(3, "Round-trip time with a competitor", "competing_rtt_mean_ms", "ms", 1),
        PublishedTable(4, "Packet loss without a competitor", "alone_loss_percent", "%", 2),
        PublishedTable(5, "Packet loss with a competitor", "competing_loss_percent", "%", 2),
        PublishedTable(6, "Frame rate with a competitor", "competing_displayed_fps", "f/s", 1),
    ),
    systems={"stadia": "Stadia", "geforce": "GeForce Now", "luna": "Luna"},
    notes=(
        (
            "Published systems are commercial services measured over the Internet in March 2022; "
            "ours are open controllers in a simulation of the same router. A difference is a "
            "finding, not an error: nothing is tuned to these tables."
        ),
        (
            "Table 3 has no values for 35 Mb/s with a queue of 0.5 BDP: that row cannot be read "
            "without doubt in the source."
        ),
        (
            "Figures 3 to 5 are published as pictures. In words: response times from 2 s to 25 s, "
            "recovery times from 3 s to 85 s, with conditions in which a system never responded "
            "or never recovered."
        ),
    ),
)

REFERENCES: dict[str, Reference] = {XU_CLAYPOOL_2022.name: XU_CLAYPOOL_2022}


def reference_of(manifest: dict[str, Any]) -> Reference | None:
    """The publication that an experiment names, or None if it names none that is known."""
    return REFERENCES.get(_named(str(manifest.get("experiment_text") or "")))


@lru_cache(maxsize=8)
def _named(experiment: str) -> str:
    try:
        return str(tomllib.loads(experiment).get("reference", ""))
    except tomllib.TOMLDecodeError:
        return ""
