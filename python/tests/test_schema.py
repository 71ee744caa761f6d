"""The schema for editors takes every experiment of the repository, and refuses what is wrong."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator
from typer.testing import CliRunner

import gameway as gw
from gameway.cli.app import app
from gameway.experiment.reference import page
from gameway.experiment.schema import schema

ROOT = Path(__file__).resolve().parents[2]
FILES = [
    file
    for pattern in ("experiments/*/*.toml", "tests/*/*.toml")
    for file in sorted(ROOT.glob(pattern))
    if file.name != "published.toml"
]
GOOD = """
duration = "60 s"
ping = false
[path]
capacity = ["25 Mb/s", { steps = [["0 s", "20 Mb/s"], ["40 s", "10 Mb/s"]] }]
base_rtt = "16 ms"
queue = { kind = ["codel", "pie"], target = ["5 ms", "15 ms"] }
jitter = { deviation = "1 ms" }
[[stream]]
controller = ["gcc", { kind = "python", file = "mine.py", class = "Mine", gain = 2 }]
mtu = "1200 B"
[[competitor]]
congestion_control = { kind = "cubic", hystart = ["on", "off"] }
[[competitor]]
name = "film"
kind = "dash"
ladder = { 640x360 = ["3 Mb/s", "4 Mb/s"] }
"""


@pytest.fixture(scope="module")
def validator() -> Draft7Validator:
    made = schema()
    Draft7Validator.check_schema(made)
    return Draft7Validator(made)


def problems(validator: Draft7Validator, text: str) -> list[str]:
    return [error.json_path for error in validator.iter_errors(tomllib.loads(text))]


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_each_experiment_of_the_repository_is_valid(validator: Draft7Validator, file: Path) -> None:
    assert problems(validator, file.read_text(encoding="utf-8")) == []


def test_there_are_experiments() -> None:
    assert len(FILES) > 40


def test_each_example_of_the_page_is_valid(validator: Draft7Validator) -> None:
    text = (ROOT / "docs" / "experiment-file.md").read_text(encoding="utf-8")
    blocks = [part.split("```")[0] for part in text.split("```toml\n")[1:]]
    assert len(blocks) > 3
    for block in blocks:
        assert problems(validator, block) == [], block


def test_axes_and_options_are_valid(validator: Draft7Validator) -> None:
    assert problems(validator, GOOD) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"60 s"', '"60"'),
        ('"60 s"', "60"),
        ('duration = "60 s"\n', ""),
        ('base_rtt = "16 ms"', 'base_rtt = "16 meters"'),
        ('base_rtt = "16 ms"', 'base_rt = "16 ms"'),
        ('base_rtt = "16 ms"', "base_rtt = []"),
        ('["codel", "pie"]', '["codel", "pi"]'),
        ('["codel", "pie"]', '"drop-tail"'),
        ("target", "aim"),
        ('deviation = "1 ms"', 'deviation = "1 ms", delay = "1 ms"'),
        ('{ deviation = "1 ms" }', '{ kind = "periodic", delay = "1 ms" }'),
        ('["gcc", {', '["gc", {'),
        (', class = "Mine"', ""),
        ('mtu = "1200 B"', "mtu = 1200"),
        ('mtu = "1200 B"', "frame_rate = 0"),
        ('hystart = ["on", "off"]', 'hystart = "of"'),
        ('kind = "cubic", hystart', 'kind = "bbr", hystart'),
        ('kind = "dash"', 'kind = "udp"'),
        ('kind = "dash"', 'kind = "film"'),
        ("ping = false", "ping = 1"),
        ('["3 Mb/s", "4 Mb/s"]', '"3 ms"'),
        ('"20 Mb/s"], [', '"20 Mb/s", "1 s"], ['),
    ],
)
def test_what_is_wrong_is_refused(validator: Draft7Validator, old: str, new: str) -> None:
    assert old in GOOD
    assert problems(validator, GOOD.replace(old, new))


CLASSES = """
duration = "60 s"
[path]
capacity = "50 Mb/s"
base_rtt = "16 ms"
[path.queue]
kind = "htb"
default = "rest"
[path.queue.class.game]
rate = ["30 Mb/s", "20 Mb/s"]
queue = { kind = "codel", target = "5 ms" }
match = { ours = { port = 5004 }, others = { dscp = "ef" } }
[path.queue.class.rest]
rate = "20 Mb/s"
match = { traffic = "other" }
[[stream]]
"""


def test_classes_of_a_queue_are_completed_and_checked(validator: Draft7Validator) -> None:
    assert problems(validator, CLASSES) == []
    for old, new in [
        ('rate = "20 Mb/s"', 'ceil = "20 Mb/s"'),
        ('"30 Mb/s"', '"30"'),
        ('"codel"', '"codl"'),
        ("port", "prt"),
        ("dscp", "tos"),
        ("traffic", "trafic"),
        ("rate = [", 'burts = "1 kB"\nrate = ['),
    ]:
        assert old in CLASSES
        assert problems(validator, CLASSES.replace(old, new)), new


def test_sentences_and_defaults_reach_the_editor() -> None:
    made = schema()
    text = json.dumps(made)
    assert "the MSS that both ends announce" in text
    assert all(f'"const": "{name}"' in text for name in ("codel", "htb", "pudica", "cubic", "voap"))
    assert made["properties"]["runs"]["default"] == 1
    assert len(text) < 1_000_000


def test_the_command_writes_it(tmp_path: Path) -> None:
    file = tmp_path / "gameway.schema.json"
    done = CliRunner().invoke(app, ["schema", "--out", str(file)])
    assert done.exit_code == 0, done.output
    assert json.loads(file.read_text(encoding="utf-8")) == schema()
    shown: dict[str, Any] = json.loads(CliRunner().invoke(app, ["schema"]).output)
    assert shown == schema()


def test_the_page_of_options_is_that_of_the_program() -> None:
    written = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    assert written == page(), "gameway reference --out docs/reference.md"


def test_a_default_stands_once() -> None:
    """What Python takes for a key that a file leaves out is what is declared."""
    assert gw.Competitor().mss == "1460 B"
    assert "| `mss` | bytes | 88 B | 1460 B | 1460 B |" in page()
