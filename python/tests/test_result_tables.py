"""The tables of a run are those that docs/results.md describes."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl

import gameway as gw
from gameway.lab.keeping import ANSWERS, CHANGES
from gameway.live import schema

LIVE_ONLY = {**schema.LIVE_ONLY, "changes": CHANGES, "answers": ANSWERS}
DOCUMENT = (Path(__file__).resolve().parents[2] / "docs" / "results.md").read_text("utf-8")
TINY = """
duration = "1 s"
record = { packets = true }
path = { capacity = "10 Mb/s", base_rtt = "16 ms" }
stream = [{ controller = "fixed" }]
competitor = [{ kind = "dash" }]
"""


def documented_columns(text: str) -> dict[str, list[tuple[str, str]]]:
    """Columns and their types by table, as docs/results.md has them."""
    found: dict[str, list[tuple[str, str]]] = {}
    tables = text.split("\n## Tables\n", 1)[1].split("\n## ", 1)[0]
    for section in tables.split("\n### ")[1:]:
        heading, _, rest = section.partition("\n")
        for line in re.findall(r"^\|.*", rest, re.MULTILINE):
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            table = heading if "," not in heading else cells.pop(0)
            names = re.findall(r"`(\w+)`", cells[0])
            kinds = (cells[1].split(", ") * len(names))[: len(names)]
            if names:
                found.setdefault(table, []).extend(zip(names, kinds, strict=True))
    return found


KINDS = {
    "i64": pl.Int64, "u64": pl.UInt64, "u32": pl.UInt32, "u16": pl.UInt16, "f64": pl.Float64,
    "bool": pl.Boolean, "text": pl.String,
}  # fmt: skip


def test_the_tables_of_a_run_are_those_that_are_documented(tmp_path: Path) -> None:
    (run,) = gw.run(gw.loads(TINY), tmp_path / "out").finished_ids()
    every = documented_columns(DOCUMENT)
    found = {table: columns for table, columns in every.items() if table not in LIVE_ONLY}
    folder = tmp_path / "out" / "runs" / run
    assert {f"{table}.parquet" for table in found} == {
        file.name for file in folder.glob("*.parquet")
    }
    for table, columns in found.items():
        written = dict(pl.read_parquet_schema(folder / f"{table}.parquet"))
        assert {name: KINDS[kind.removesuffix("?")] for name, kind in columns} == written, table


def test_the_tables_that_only_live_runs_have_are_documented() -> None:
    found = documented_columns(DOCUMENT)
    for table, columns in LIVE_ONLY.items():
        documented = {name: KINDS[kind.removesuffix("?")] for name, kind in found[table]}
        assert documented == columns, table


def test_a_column_that_went_missing_is_found() -> None:
    row = next(line for line in DOCUMENT.splitlines() if line.startswith("| `link` |"))
    stale = documented_columns(DOCUMENT.replace(f"{row}\n", ""))["link"]
    assert ("link", "text") in documented_columns(DOCUMENT)["link"]
    assert ("link", "text") not in stale
