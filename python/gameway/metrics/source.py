"""What metrics need of a result folder: its runs, each with its spec and its tables."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import polars as pl

from gameway.metrics.windows import Windows, windows_of

if TYPE_CHECKING:
    from pathlib import Path


class ResultFolder(Protocol):
    """The part of `gameway.results.Results` that metrics use."""

    path: Path
    manifest: dict[str, Any]
    factors: list[str]
    runs: pl.DataFrame
    """Columns `id`, `repeat`, `finished` and one text column per factor."""


@dataclass(frozen=True)
class Run:
    """One finished run of a result folder."""

    id: str
    repeat: int
    folder: Path
    factors: dict[str, str | None]

    @cached_property
    def spec(self) -> dict[str, Any]:
        """The run's `spec.json`."""
        loaded: dict[str, Any] = json.loads((self.folder / "spec.json").read_text("utf-8"))
        return loaded

    @cached_property
    def windows(self) -> Windows:
        """The windows of time in which the metrics of this run are taken."""
        return windows_of(self.spec)

    def table(self, name: str, columns: list[str] | None = None) -> pl.DataFrame:
        """One of the run's tables; names as text, which older results have as dictionaries."""
        frame = pl.read_parquet(self.folder / f"{name}.parquet", columns=columns)
        return frame.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))

    def link(self, name: str = "path") -> pl.DataFrame:
        """The rows of one bottleneck of the table `link`; of the path's own if not named."""
        return rows_of_link(self.table("link"), name)


def rows_of_link(link: pl.DataFrame, name: str) -> pl.DataFrame:
    """The rows of one bottleneck."""
    return link.filter(pl.col("link") == name)


def link_of(flow: dict[str, Any]) -> str:
    """The bottleneck that tells of a flow of a spec: its own hop, the way back, or the path's."""
    if flow.get("direction") == "up":
        return "back"
    via = str(flow.get("via", "all"))
    return "path" if via == "all" else via


def finished_runs(results: ResultFolder) -> list[Run]:
    """The finished runs in the order of the manifest."""
    rows = results.runs.filter(pl.col("finished")).iter_rows(named=True)
    return [
        Run(
            id=row["id"],
            repeat=row["repeat"],
            folder=results.path / "runs" / row["id"],
            factors={name: row[name] for name in results.factors},
        )
        for row in rows
    ]


def runs_by_condition(results: ResultFolder) -> list[list[Run]]:
    """The finished runs of each combination of factors, in the order of the manifest."""
    found: dict[tuple[str | None, ...], list[Run]] = {}
    for run in finished_runs(results):
        found.setdefault(tuple(run.factors.values()), []).append(run)
    return list(found.values())


def competitors(spec: dict[str, Any]) -> list[dict[str, Any]]:
    """The competing flows of a spec, with their names filled in."""
    flows = spec.get("competitor") or []
    return [{"name": "download", **flow} for flow in flows]


def yields(competitor: dict[str, Any]) -> bool:
    """Whether a competitor makes room for others: TCP and QUIC do, packets by the clock do not."""
    return competitor.get("kind", "tcp") in {"tcp", "short-tcp", "dash", "quic"}


def streams(spec: dict[str, Any]) -> list[dict[str, Any]]:
    """The game streams of a spec, with their names filled in."""
    return [{"name": "game", **stream} for stream in spec.get("stream") or []]
