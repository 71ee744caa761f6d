"""A stream that a browser sends, live: its tables hold what those of any stream hold."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from chromium_fixture import ALONE, altered
from live_fixture import needs_live
from witness import of_times

import gameway as gw
from gameway.live import browser, namespaces
from gameway.live.chromium import streams

if TYPE_CHECKING:
    from collections.abc import Iterator

BEGINS_S = 4
"""Until then the estimate grows, and the first frame, which is a large one, is sent."""
LACKING = "; ".join(browser.why_not(streams.WHO))
NEEDS_CHROMIUM = pytest.mark.skipif(bool(LACKING), reason=LACKING or "all is there")
pytestmark = [pytest.mark.timed, NEEDS_CHROMIUM, needs_live]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> gw.Results:
    folder = tmp_path_factory.mktemp("live") / "out"
    return gw.run(altered(), folder, on="live")


@pytest.fixture
def frames(results: gw.Results) -> pl.DataFrame:
    return results.frames().collect()


def test_the_link_carries_what_the_browser_sends(results: gw.Results) -> None:
    bins = results.bins().filter(flow="game").collect()
    later = bins.filter(pl.col("bin_start_ns") >= BEGINS_S * 1_000_000_000)
    rate = 8e-6 * later["received_bytes"].sum() / (10 - BEGINS_S)
    assert 1.0 < rate <= 2.0
    assert bins["feedback_bytes"].sum() > 5_000
    assert bins["lost_packets"].sum() == 0
    delays = results.queue_delay().filter(flow="game").collect()
    assert 0.0 < delays["sum_ns"].sum() / delays["packets"].sum() / 1e6 < 150.0


def test_packets_of_frames_are_those_of_the_link(results: gw.Results, frames: pl.DataFrame) -> None:
    sent = results.bins().filter(flow="game").collect()["sent_bytes"].sum()
    # Connectivity checks, sender reports and what is sent ahead as probes have no frame.
    assert 0.85 * sent < frames["wire_bytes"].sum() <= sent
    known = frames.drop_nulls("packets")
    # What waits in the browser's pacer when the stream ends never leaves: up to two seconds of it.
    early = frames.filter(pl.col("captured_ns") < 8e9)
    assert early.drop_nulls("packets").height > 0.95 * early.height
    assert known.filter(pl.col("wire_bytes") < pl.col("payload_bytes")).is_empty()
    left = known["first_sent_ns"] - known["captured_ns"]
    assert 0 < left.min() < left.median() < 100_000_000


def test_frames_are_captured_encoded_and_shown(results: gw.Results, frames: pl.DataFrame) -> None:
    skipped = results.events().filter(event="frame-skipped").collect().height
    assert frames.height + skipped <= 301
    # A browser that wakes up too late for a picture draws the next one.
    with of_times():
        assert frames.height > 200
        assert frames.height + skipped > 290
    assert frames["key_frame"][0]
    assert 1 <= frames["key_frame"].sum() <= 5
    whole = frames.drop_nulls(["complete_ns", "shown_ns"])
    assert whole.height > 0.6 * frames.height
    way = (whole["complete_ns"] - whole["first_sent_ns"]) / 1e6
    assert 20.0 < way.min() < 40.0
    assert way.median() < 250.0
    assert (whole["shown_ns"] >= whole["complete_ns"]).all()


def test_the_browsers_estimate_is_the_target(results: gw.Results, frames: pl.DataFrame) -> None:
    states = results.controller().filter(stream="game").collect()
    targets = states.filter(variable="target_bps")["value"]
    assert 50 < targets.len() <= 101
    assert 200_000 <= targets.min() <= targets.max() <= 6_500_000
    assert frames["target_bps"].null_count() == 0
    assert {"encoder_target_bps", "jitter_buffer_ms", "encode_ms", "round_trip_ms"} <= set(
        states["variable"].unique()
    )


def test_nothing_is_left_and_the_version_is_told(results: gw.Results) -> None:
    assert results.manifest["live"]["tools"]["chromium"].split(".")[0].isdigit()
    assert not list(results.path.rglob("*.pcapng"))
    left = subprocess.run(
        ["pgrep", "-f", str(results.path)], capture_output=True, text=True, check=False
    ).stdout.split()
    assert not [pid for pid in left if int(pid) != os.getpid()]


def test_browsers_end_with_whoever_started_them(tmp_path: Path) -> None:
    file = tmp_path / "alone.toml"
    file.write_text(ALONE.replace('"10 s"', '"60 s"'), encoding="utf-8")
    out = tmp_path / "out"
    command = [sys.executable, "-m", "gameway", "run", str(file), "--on", "live", "--out", str(out)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run:
        try:
            assert comes(lambda: len(browsers(out)) > 2)
            run.send_signal(signal.SIGKILL)
        finally:
            run.kill()
    assert comes(lambda: not browsers(out))
    namespaces.clean()


def comes(what: Any, within_s: float = 30.0) -> bool:
    end = time.monotonic() + within_s
    while not what() and time.monotonic() < end:
        time.sleep(0.1)
    return bool(what())


def browsers(out: Path) -> list[int]:
    """Processes whose command line names a profile in this folder."""
    return list(_named(f"{out}/"))


def _named(folder: str) -> Iterator[int]:
    for place in Path("/proc").glob("[0-9]*"):
        try:
            line = (place / "cmdline").read_bytes()
        except OSError:
            continue
        if b"profile-" in line and folder.encode() in line:
            yield int(place.name)
