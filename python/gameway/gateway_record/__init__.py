"""An evening at home as an ordinary result folder, which `gameway report` shows.

    convert(Path("evening.jsonl"), Path("results/evening"))

`gameway-gateway up --record` writes such files (docs/gateway.md). The folder has one run, whose
tables have what a gateway sees: docs/results.md.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from gameway import _core
from gameway.caller import owns
from gameway.gateway_record.lines import read
from gameway.gateway_record.tables import tables_of
from gameway.results import RUNS, Results
from gameway.sweep import folder, machine

if TYPE_CHECKING:
    from pathlib import Path

    from gameway.gateway_record.lines import Record

__all__ = ["DRIVER", "Converted", "convert"]

DRIVER = "gateway"
"""What the manifest names as driver: neither simulated nor run, but recorded."""
NAME = "recorded"


@dataclass(frozen=True)
class Converted:
    """A result folder, and what of the file was not whole."""

    results: Results
    cut_lines: int


def convert(file: Path, out: Path) -> Converted:
    """Make a result folder of a recording; InputError names the line and field that is wrong."""
    record = read(file)
    tables = tables_of(record)
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    run = f"{NAME}_r00_{digest[:10]}"
    with owns(out), folder.locked(out):
        manifest = _manifest(file, record, digest, run)
        folder.check_same(out, manifest)
        folder.remove_partial(out)
        folder.write_manifest(out, manifest)
        if run not in folder.finished(out):

            def compute(partial: Path) -> None:
                for name, table in tables.items():
                    table.write_parquet(partial / f"{name}.parquet")

            folder.whole(_spec(record, tables), out / RUNS / run, compute)
    return Converted(Results.open(out), record.cut_lines)


def _manifest(file: Path, record: Record, digest: str, run: str) -> dict[str, Any]:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    began = datetime.fromtimestamp(record.began_s, UTC)
    return {
        "schema_version": _core.SCHEMA_VERSION,
        "gameway_version": _core.VERSION,
        "commit": machine.commit(),
        "simulator_sha256": machine.simulator_digest(),
        "created": now,
        "completed": now,
        "machine": machine.describe(),
        "driver": DRIVER,
        "recorded": {
            "began": began.isoformat(timespec="seconds"),
            "home": record.home,
            "addresses": record.addresses,
            "sessions": record.sessions,
            "cut_lines": record.cut_lines,
        },
        "title": f"At home from {began:%Y-%m-%d %H:%M} UTC",
        "experiment_name": file.stem,
        "experiment_file": None,
        "experiment_text": None,
        "overrides": [],
        "experiment_sha256": digest,
        "files_sha256": {},
        "runs": [{"id": run, "factors": {}, "repeat": 0, "seed": 0}],
    }


def _spec(record: Record, tables: dict[str, Any]) -> dict[str, Any]:
    """Give what is known of the run; capacity, delays and congestion controls are not."""
    had = tables["bins"].drop_nulls("received_bytes")
    flows = had["flow"].unique(maintain_order=True).sort().to_list()
    return {
        "seed": 0,
        "duration": _core.format_duration(record.duration_ns),
        "path": {},
        "competitor": [{"name": flow, "kind": "tcp"} for flow in flows],
        "stream": [],
    }
