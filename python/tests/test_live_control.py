"""A link whose path is changed while packets are in it, as docs/link.md says; needs root, ping."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from doc_commands import ROOT
from live_fixture import Behind, behind_link, needs_live
from witness import of_times

if TYPE_CHECKING:
    from pathlib import Path

PAGE = (ROOT / "docs" / "link.md").read_text("utf-8")
(SCRIPT,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
PATH = ("--capacity", "20 Mb/s", "--rtt", "20 ms", "--size", "60 kB")


def min_rtt(behind: Behind) -> float:
    """The least round-trip time from behind a link, ms."""
    words = ["ping", "-q", "-i", "0.1", "-c", "10", f"10.77.{behind.number}.1"]
    spoken = ["ip", "netns", "exec", behind.space, *words]
    done = subprocess.run(spoken, check=True, text=True, capture_output=True, timeout=60)
    found = re.search(r"min/avg/max/mdev = ([\d.]+)/", done.stdout)
    assert found is not None, done.stdout
    return float(found[1])


@needs_live
@pytest.mark.timed
@pytest.mark.light
def test_the_script_of_the_page_changes_a_link_that_runs(tmp_path: Path) -> None:
    (tmp_path / "steer.py").write_text(SCRIPT, "utf-8")
    there, out = tmp_path / "link.socket", tmp_path / "out"

    def steer(request: str) -> Any:
        words = [sys.executable, "steer.py", there.name, request]
        told = subprocess.check_output(words, cwd=tmp_path, text=True, timeout=20)
        return json.loads(told)

    requests = re.findall(r"^    python steer\.py link\.socket '(.*)'$", PAGE, re.MULTILINE)
    change, tell = requests
    answers, times = [], []
    with behind_link(*PATH, "--control", str(there), "--out", str(out)) as behind:
        for request in (change, '{"set": {"path.base_rtt": "20 ms"}}'):
            times.append(min_rtt(behind))
            answers.append(steer(request))
        refused = steer(
            '{"set": {"path.base_rtt": "90 ms", "path.hop": [{"name": "a", "capacity": "1 Mb/s"}]}}'
        )
        times.append(min_rtt(behind))
        told = steer(tell)
    assert not there.exists()
    assert refused["error"].startswith('path.hop: "a" cannot take the place of no hop')
    # Replies of 10 pings of 84 B, thrice, go down.
    assert told["flows"][0]["name"] == "traffic"
    assert told["flows"][0]["arrived_bytes"] >= 3 * 10 * 84
    assert told["capacity_bps"] == 20_000_000
    for least, found in zip((20, 60, 20), times, strict=True):
        assert least <= found
        with of_times():
            assert found < least + 5
    listed = [json.loads(line) for line in (out / "changes.jsonl").read_text("utf-8").splitlines()]
    assert [one["set"] for one in listed] == [
        {"path.base_rtt": "60 ms"},
        {"path.base_rtt": "20 ms"},
    ]
    events = pl.read_parquet(out / "events.parquet").filter(pl.col("event") == "path-changed")
    assert events["flow"].to_list() == ["link", "link"]
    assert events["value"].to_list() == [1.0, 2.0]
    at = [answer["at_ns"] for answer in answers]
    assert at == events["time_ns"].to_list() == [one["at_ns"] for one in listed]


@needs_live
def test_a_link_without_a_change_has_an_empty_list(tmp_path: Path) -> None:
    there, out = tmp_path / "link.socket", tmp_path / "out"
    client = socket.socket(socket.AF_UNIX)
    with behind_link(*PATH, "--control", str(there), "--out", str(out)), client:
        client.connect(str(there))
        client.sendall(b"GET / HTTP/1.1\r\n\r\n")
        answer = client.makefile().readline()
    assert json.loads(answer)["error"].startswith("is no request: ")
    assert (out / "changes.jsonl").read_bytes() == b""
    events = pl.read_parquet(out / "events.parquet")
    assert events.filter(pl.col("event") == "path-changed").is_empty()
