"""A result folder as polars frames.

    RESULT/manifest.json        experiment, version, machine, and the list of runs
    RESULT/runs/<id>/*.parquet  the tables of each finished run

Each table of `Results` is a lazy scan over all finished runs, with the columns `run` (id), `repeat`
and one per factor (text, as in the manifest) put in front, so that a figure is one `group_by` away.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl

from gameway._core import SCHEMA_VERSION
from gameway.errors import InputError

MANIFEST = "manifest.json"
RUNS = "runs"


class Results:
    """The runs of one result folder.

    Attributes:
        path: the folder.
        manifest: `manifest.json` as it is.
        factors: names of the factor columns, in the order of the experiment file.
        runs: one row per run of the matrix: `id`, `repeat` (from 0), `seed`, `finished`, and one
            text column per factor (null where a factor does not apply to a run).
    """

    def __init__(self, path: Path, manifest: dict[str, Any]) -> None:
        self.path = path
        self.manifest = manifest
        self.factors = list(
            dict.fromkeys(name for run in manifest["runs"] for name in run["factors"])
        )
        self.runs = self._read_runs()

    @classmethod
    def open(cls, path: str | Path) -> Results:
        """Open a result folder; InputError if it is none, or of another schema version."""
        folder = Path(path)
        manifest = read_manifest(folder)
        check_schema(folder, manifest)
        return cls(folder, manifest)

    @property
    def missing(self) -> int:
        """How many runs of the matrix are not finished."""
        return self.runs.height - int(self.runs["finished"].sum())

    def factor_values(self, name: str) -> list[str]:
        """The values of a factor, in the order of the experiment file."""
        return self.runs[name].drop_nulls().unique(maintain_order=True).to_list()

    def frames(self) -> pl.LazyFrame:
        """One row per video frame of each stream."""
        return self._scan("frames")

    def bins(self) -> pl.LazyFrame:
        """One row per flow and 0.5 s bin: bytes and packets sent, received, lost, fed back."""
        return self._scan("bins")

    def link(self) -> pl.LazyFrame:
        """One row per bottleneck (`link`: path, back, or a hop) and 0.5 s bin: use, queue."""
        return self._scan("link")

    def queue_delay(self) -> pl.LazyFrame:
        """Histograms of the queueing delay at the bottleneck, per flow and 5 s window."""
        return self._scan("queue_delay")

    def pings(self) -> pl.LazyFrame:
        """One row per ping; `rtt_ns` is null where it was lost."""
        return self._scan("pings")

    def controller(self) -> pl.LazyFrame:
        """State of the controllers: stream, time, variable, value."""
        return self._scan("controller")

    def events(self) -> pl.LazyFrame:
        """Rare events: key-frame request, skipped frame, stall, RTO, fast recovery."""
        return self._scan("events")

    def packets(self) -> pl.LazyFrame:
        """One row per packet at the bottleneck; InputError where `record.packets` is not true."""
        for run in self.finished_ids():
            if not (self.path / RUNS / run / "packets.parquet").is_file():
                hint = "set record.packets = true and run it into another folder"
                raise InputError("has no log of packets", file=self.path, hint=hint)
        return self._scan("packets")

    def segments(self) -> pl.LazyFrame:
        """One row per request for a segment of a video; InputError where no run has a video."""
        runs = self.finished_ids()
        having = [run for run in runs if (self.path / RUNS / run / "segments.parquet").is_file()]
        if runs and not having:
            hint = 'give the experiment a competitor of kind = "dash"'
            raise InputError("has no video", file=self.path, hint=hint)
        return self._scan("segments", having)

    def summary(self) -> pl.LazyFrame:
        """One row per run: packet counts for conservation, events processed."""
        return self._scan("summary")

    def finished_ids(self) -> list[str]:
        """Ids of the finished runs, in the order of the manifest."""
        return self.runs.filter(pl.col("finished"))["id"].to_list()

    def _read_runs(self) -> pl.DataFrame:
        runs = self.manifest["runs"]
        columns: dict[str, Any] = {
            "id": [run["id"] for run in runs],
            "repeat": [run["repeat"] for run in runs],
            "seed": [run["seed"] for run in runs],
            "finished": [(self.path / RUNS / run["id"]).is_dir() for run in runs],
        }
        schema: dict[str, Any] = {
            "id": pl.String,
            "repeat": pl.Int64,
            "seed": pl.UInt64,
            "finished": pl.Boolean,
        }
        for name in self.factors:
            columns[name] = [run["factors"].get(name) for run in runs]
            schema[name] = pl.String
        return pl.DataFrame(columns, schema=schema)

    def _scan(self, table: str, runs: list[str] | None = None) -> pl.LazyFrame:
        found = self.finished_ids() if runs is None else runs
        files = [self.path / RUNS / run / f"{table}.parquet" for run in found]
        if not files:
            raise InputError(
                "no run has finished yet", file=self.path, hint="wait, or run it again"
            )
        rows = pl.scan_parquet(files, include_file_paths="run", glob=False)
        names = dict.fromkeys(_dictionary_columns(rows), pl.String)
        rows = rows.with_columns(
            pl.col("run").str.extract(r"([^/\\]+)[/\\][^/\\]+$"),
            *(pl.col(name).cast(kind) for name, kind in names.items()),
        )
        keys = self.runs.lazy().select("id", "repeat", *self.factors).rename({"id": "run"})
        joined = rows.join(keys, on="run", how="left", maintain_order="left")
        return joined.select(
            "run", "repeat", *self.factors, pl.exclude("run", "repeat", *self.factors)
        )


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read RESULT/manifest.json; InputError if it is missing or broken."""
    file = folder / MANIFEST
    hint = "give the folder that `gameway run --out FOLDER` wrote"
    try:
        manifest = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(
            "not a result folder, it has no manifest.json", file=folder, hint=hint
        ) from None
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read ({error})", file=file, hint=hint) from error
    if not isinstance(manifest, dict) or not isinstance(manifest.get("runs"), list):
        raise InputError("not a manifest of Gameway", file=file, hint=hint)
    return manifest


def check_schema(folder: Path, manifest: dict[str, Any]) -> None:
    """Refuse a result folder of another schema version."""
    found = manifest.get("schema_version")
    if found != SCHEMA_VERSION:
        raise InputError(
            f"written in result schema {found}, this version of Gameway reads {SCHEMA_VERSION}",
            file=folder / MANIFEST,
            field="schema_version",
            hint="read it with the version named in its manifest, or run the experiment again",
        )


def _dictionary_columns(rows: pl.LazyFrame) -> list[str]:
    schema = rows.collect_schema()
    return [name for name, kind in schema.items() if isinstance(kind, (pl.Categorical, pl.Enum))]
