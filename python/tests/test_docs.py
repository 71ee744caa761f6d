"""The documents do what they say: code runs, examples load, tables are those of the models."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin

import pytest

import gameway as gw
from gameway import _core
from gameway.experiment import keys
from gameway.experiment.keys.wifi import KEYS as WIFI_KEYS
from gameway.experiment.tables import plain
from gameway.published import references

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic.fields import FieldInfo

DOCS = Path(__file__).resolve().parents[2] / "docs"
TABLES: dict[str, type[BaseModel]] = {
    "The experiment": gw.Experiment,
    "`[path]`": gw.Path,
    "`[path.jitter]`": gw.Jitter,
    "`[path.loss]`": gw.Loss,
    "`[path.duplicate]`": gw.Duplicate,
    "`[path.reorder]`": gw.Reorder,
    "`[path.back]`": gw.Back,
    "`[[path.hop]]`": gw.Hop,
    "`[[path.change]]`": gw.Change,
    "`[[stream]]`": gw.Stream,
    "`[[competitor]]`": gw.Competitor,
    "`[ping]`": gw.Ping,
    "`[record]`": gw.Record,
}
TINY = """
duration = "3 s"
[path]
capacity = "10 Mb/s"
base_rtt = "16 ms"
[[stream]]
controller = "fixed"
"""


def text_of(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def blocks(name: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text_of(name), re.DOTALL | re.MULTILINE)


def imported(block: str) -> set[str]:
    nodes = (node for node in ast.walk(ast.parse(block)) if isinstance(node, ast.Import))
    return {alias.name for node in nodes for alias in node.names}


def test_the_python_session_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "experiment.toml").write_text(TINY, encoding="utf-8")
    (tmp_path / "my-suite").mkdir()
    (tmp_path / "my-suite" / "alone.toml").write_text(TINY, encoding="utf-8")
    session: dict[str, Any] = {}
    found = blocks("python.md", "python")
    assert len(found) > 8
    for number, block in enumerate(found):
        # Tools that Gameway does not need may be absent; everything else must run.
        if {"duckdb", "pandas"} & {name for name in imported(block) if find_spec(name) is None}:
            continue
        exec(compile(block, f"python.md, block {number}", "exec"), session)
    assert len(gw.expand(session["experiment"])) == 12
    assert session["results"].missing == 0
    assert session["freezes"]["max_freeze_ms"].min() > 1000 / 60 - 1
    assert "<svg" in (tmp_path / "bitrate.svg").read_text(encoding="utf-8")
    for page in ("mine/report", "mine/compare/report", "mine/my-page", "my-suite/report"):
        assert (tmp_path / f"results/{page}.html").is_file()


def test_a_block_that_fails_is_named() -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        exec(compile("1 / 0", "python.md, block 0", "exec"), {})
    assert caught.traceback[-1].path == "python.md, block 0"


def test_the_example_has_the_runs_that_the_text_counts() -> None:
    example = blocks("experiment-file.md", "toml")[0]
    experiment = gw.loads(example)
    runs = len(gw.expand(experiment))
    assert f"= {runs} runs" in text_of("experiment-file.md")
    for run in gw.expand(experiment)[: runs // experiment.runs]:
        _core.check_spec(json.dumps(run.spec))


def test_the_example_of_every_key_can_run() -> None:
    example = blocks("experiment-file.md", "toml")[-1]
    runs = gw.expand(gw.loads(example))
    assert len(runs) == 4
    for run in runs:
        _core.check_spec(json.dumps(run.spec))


def test_the_example_of_each_section_can_run() -> None:
    for example in blocks("experiment-file.md", "toml"):
        for run in gw.expand(gw.loads(example)):
            _core.check_spec(json.dumps(run.spec))


def test_the_example_of_a_home_can_run_and_names_all_keys_of_wi_fi() -> None:
    example = next(b for b in blocks("experiment-file.md", "toml") if "wifi" in b)
    (run,) = gw.expand(gw.loads(example))
    _core.check_spec(json.dumps(run.spec))
    rows = documented(text_of("experiment-file.md"), "Wi-Fi")
    assert sorted(row[0].strip("`") for row in rows) == sorted(WIFI_KEYS)
    assert all(row[2] == "yes" and row[3] for row in rows)


def documented(text: str, heading: str) -> list[list[str]]:
    """The rows of the table under a heading."""
    section = text.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    table = next(part for part in section.strip().split("\n\n") if part.startswith("|"))
    lines = table.splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def modelled(model: type[BaseModel]) -> list[list[str]]:
    """Key, default and axis of each field."""
    return [
        [f"`{name}`", default_of(field), "yes" if is_axis(field) else "no"]
        for name, field in model.model_fields.items()
    ]


def default_of(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    default = plain(field.get_default(call_default_factory=True, validated_data={}))
    return "none" if default in (None, (), []) else f"`{toml(default)}`"


def toml(value: object) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{name} = {toml(item)}" for name, item in value.items()) + " }"
    return json.dumps(value)


def is_axis(field: FieldInfo) -> bool:
    # A list of tables that is one value, as `stream`, is a Sequence itself.
    return any(takes_a_list(kind) for kind in get_args(field.annotation))


def takes_a_list(kind: Any) -> bool:
    if get_origin(kind) is Annotated:
        return any(takes_a_list(part) for part in get_args(get_args(kind)[0]))
    return get_origin(kind) is Sequence


@pytest.mark.parametrize("heading", TABLES)
def test_tables_are_those_of_the_models(heading: str) -> None:
    rows = documented(text_of("experiment-file.md"), heading)
    assert [row[:3] for row in rows] == modelled(TABLES[heading])
    assert all(row[3] for row in rows)


def test_a_table_that_went_stale_is_found() -> None:
    text = text_of("experiment-file.md").replace('`"50 Mb/s"`', '`"40 Mb/s"`')
    rows = documented(text, "`[[stream]]`")
    assert [row[:3] for row in rows] != modelled(gw.Stream)


def test_every_name_that_may_be_written_is_documented() -> None:
    text = text_of("experiment-file.md")
    catalogue = keys.catalogue()
    names = [entry["name"] for part in catalogue.values() for entry in part]
    for name in [*names, *keys.VIDEOS, *keys.FEEDBACK, *keys.REPORTS, *references()]:
        assert f'"{name}"' in text, name


UNITS = {
    "rate": _core.parse_rate,
    "time": _core.parse_duration,
    "data": _core.parse_bytes,
    "share": _core.parse_ratio,
    "queue size": _core.check_queue_size,
}


@pytest.mark.parametrize("row", documented(text_of("experiment-file.md"), "Values"))
def test_units_are_understood(row: list[str]) -> None:
    value, example, units = row
    UNITS[value](example.strip('`"'))
    for unit in re.findall(r"`(.+?)`", units):
        if unit != "base_rtt":
            UNITS[value](f"3 {unit}")
