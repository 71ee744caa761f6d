"""Power that fails while a session is recorded: what was flushed is a result folder.

Needs root, loop devices, mke2fs and Chromium.
"""

from __future__ import annotations

import subprocess
import sys
import time
from typing import TYPE_CHECKING

import polars as pl
import pytest
from browser_fixture import NEEDS_CHROMIUM, browser
from disk_fixture import disk, needs_disk
from live_fixture import needs_live
from test_live_lab import LOST_S, Page, eventually, house, inside, play
from witness import of_times

if TYPE_CHECKING:
    from pathlib import Path

PLAYED_S = LOST_S + 1
"""Of a session that is no longer, all might be lost."""


@needs_disk
@needs_live
@NEEDS_CHROMIUM
@pytest.mark.timed
@pytest.mark.long("test_live_lab.py::test_a_lab_that_is_killed_leaves_nothing")
def test_a_recorded_session_outlives_a_power_cut(tmp_path: Path) -> None:
    with (
        disk(tmp_path / "run") as made,
        house() as (home, _),
        play(home, made.place, "--here", "--keep") as one,
        browser(tmp_path / "profile", *inside(home)) as shown,
    ):
        page = Page(shown, one.links[0])
        page.turn(downloads=["cubic"])
        assert eventually(lambda: page.flow("cubic") > 5)
        time.sleep(PLAYED_S)
        seconds = page.ask()[1]["now"]["seconds"]
        made.cut()
        one.process.kill()
        one.process.wait()
        made.start_again()
        out = made.place / "kept"
        words = [sys.executable, "-m", "gameway", "report", str(out)]
        told = subprocess.run(words, capture_output=True, text=True, check=True).stderr
        assert "not ended in order" in told
        (run,) = (out / "runs").iterdir()
        frames = pl.read_parquet(run / "frames.parquet")
        received = pl.read_parquet(run / "bins.parquet").filter(pl.col("flow") == "cubic")
        pings = pl.read_parquet(run / "pings.parquet").drop_nulls()
    assert received["received_payload_bytes"].sum() > 1e6
    ends = [frames["captured_ns"].max(), received["bin_start_ns"].max(), pings["sent_ns"].max()]
    with of_times():
        assert min(ends) / 1e9 > seconds - LOST_S, (ends, seconds)  # type: ignore[type-var,operator]
