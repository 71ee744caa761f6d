"""Recorded capacity as people have it: the same rates in every form carry the same bytes."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING

import pytest

import gameway as gw
from gameway import _core
from gameway.metrics.source import finished_runs

if TYPE_CHECKING:
    from pathlib import Path

EXPERIMENT = """
duration = "3 s"
ping = false
[path]
capacity = {capacity}
base_rtt = "20 ms"
[[competitor]]
kind = "udp"
rate = "20 Mb/s"
packet_size = "1500 B"
"""
# 12, 6 and 3 Mb/s, a second each; a packet each millisecond, each second one and each fourth one.
RATES = [(0, 12), (1, 6), (2, 3)]
OPPORTUNITIES = [*range(1, 1001), *range(1002, 2001, 2), *range(2004, 3001, 4)]
FORMS = {
    "plain.txt": ("".join(f"{at} {rate}\n" for at, rate in RATES), ""),
    "windows.csv": ("".join(f"{at},{rate}\r\n" for at, rate in RATES), ""),
    "named.csv": (
        "when [ms];cell;DL (kb/s)\n"
        + "".join(f"{1000 * at + 5};17;{1000 * rate}\n" for at, rate in RATES),
        ', time = "when [ms]", rate = "DL (kb/s)", time_unit = "ms", rate_unit = "kb/s"',
    ),
    "mahimahi.down": ("".join(f"{at}\n" for at in OPPORTUNITIES), ""),
    "mahimahi-windows.down": ("".join(f"{at}\r\n" for at in OPPORTUNITIES), ""),
}


def write(folder: Path, name: str, *, compressed: bool) -> str:
    """Write a form of the recording; give the capacity of an experiment file."""
    text, columns = FORMS[name]
    place = folder / (f"{name}.gz" if compressed else name)
    content = text.encode()
    place.write_bytes(gzip.compress(content) if compressed else content)
    return f'{{ trace = "{place.name}"{columns} }}'


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("name", FORMS)
def test_every_form_carries_the_same(name: str, tmp_path: Path, *, compressed: bool) -> None:
    file = tmp_path / "x.toml"
    file.write_text(EXPERIMENT.format(capacity=write(tmp_path, name, compressed=compressed)))
    (run,) = finished_runs(gw.run(gw.load(file), tmp_path / "out"))
    could = run.link()["capacity_bytes"].to_list()
    for at, rate in RATES:
        assert sum(could[2 * at : 2 * at + 2]) == pytest.approx(rate * 1e6 / 8, abs=1500)
    received = run.table("bins")["received_bytes"].sum()
    assert received == pytest.approx(21e6 / 8, rel=0.02)


def refused(folder: Path, text: str, columns: str = "") -> str:
    (folder / "x.csv").write_text(text)
    file = folder / "x.toml"
    file.write_text(EXPERIMENT.format(capacity=f'{{ trace = "x.csv"{columns} }}'))
    with pytest.raises(gw.GamewayError) as caught:
        gw.load(file)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "columns", "told"),
    [
        ("0 8\n1 fast\n", "", ["path.capacity.trace", "x.csv", "line 2", '"fast"']),
        ("a,b\n0,8\n1,4\n", ', rate = "c"', ['"c"', '"a", "b"']),
        ("0,8\n1,4\n", ', rate_unit = "MB"', ["path.capacity.rate_unit", '"MB"', "kb/s"]),
        ("0,8\n1,4\n", ", time = 3", ["path.capacity.time", "3", "text"]),
        ("0,8\n1,4\n", ', unit = "s"', ["path.capacity.unit", "unknown key"]),
        ("0,8\n1,0\n0.5,3\n", "", ["line 3", '"0.5"']),
    ],
)
def test_a_slip_is_told(text: str, columns: str, told: list[str], tmp_path: Path) -> None:
    message = refused(tmp_path, text, columns)
    assert all(words in message for words in told), message


def test_a_compressed_file_that_is_cut_is_refused(tmp_path: Path) -> None:
    capacity = write(tmp_path, "plain.txt", compressed=True)
    file = tmp_path / "plain.txt.gz"
    file.write_bytes(file.read_bytes()[:-9])
    (tmp_path / "x.toml").write_text(EXPERIMENT.format(capacity=capacity))
    with pytest.raises(gw.GamewayError, match=r"plain\.txt\.gz"):
        gw.load(tmp_path / "x.toml")


def test_a_table_says_how_long_it_is_and_what_it_carries(tmp_path: Path) -> None:
    write(tmp_path, "plain.txt", compressed=False)
    told = json.loads(_core.check_trace(json.dumps({"trace": str(tmp_path / "plain.txt")})))
    assert told == {"duration_ns": 3 * 10**9, "lines": 3, "mean_bps": 7_000_000}
