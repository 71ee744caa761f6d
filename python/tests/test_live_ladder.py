"""A stream's picture grows with its bitrate, live: a browser and our client show no stall.

The link is loopback: GCC begins with little and soon has enough for all of the picture. No root.
With `make play` a larger picture shrinks, too, as the capacity of a link falls, and grows again.
"""

from __future__ import annotations

import os
import time
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from browser_fixture import NEEDS_CHROMIUM, TOKEN, browser, end, host, part, until_frames
from live_fixture import needs_live
from stage_fixture import stage, watched
from witness import of_times

if TYPE_CHECKING:
    from pathlib import Path

RATES = {"min_bitrate": "300 kb/s", "start_bitrate": "500 kb/s", "max_bitrate": "8 Mb/s"}
SIZE = (640, 360)
"""Small, so that a busy machine encodes all frames."""
LADDER = {"ladder": "both", "content": "high"}
IN_FULL = float(os.environ.get("GAMEWAY_PLAY_SECONDS", "10")) >= 60
CAPACITY = {
    "steps": [
        ["0 s", "10 Mb/s"],
        ["18 s", "4 Mb/s"],
        ["21 s", "2 Mb/s"],
        ["24 s", "1.2 Mb/s"],
        ["36 s", "10 Mb/s"],
    ]
}
"""In steps that fill a queue of 1 s and do not overflow it: a loss is no stall of a change."""
ENDS_AT_S = 66
PATIENCE_S = 40.0
FRAME_MS = 1e3 / 60.0
AFTER_MS = 1_000.0
"""How long after a change its frames are looked at."""
MAX_MS = 2 * 2 * FRAME_MS
"""Two intervals of the lower frame rate, which is half of the source's."""

WATCH = """
window.shown = [];
addEventListener("DOMContentLoaded", () => {
  const video = document.getElementById("video");
  const look = (now, picture) => {
    window.shown.push([picture.presentationTime, picture.width, picture.rtpTimestamp]);
    video.requestVideoFrameCallback(look);
  };
  video.requestVideoFrameCallback(look);
});
"""
"""The page notes when each picture is shown, how wide it is, and when it was captured."""

pytestmark = pytest.mark.timed


def around_changes(shown: list[tuple[float, int]]) -> list[float]:
    """The longest time in ms between two pictures near each change of width."""
    changes = [after[0] for before, after in pairwise(shown) if before[1] != after[1]]

    def longest(change: float) -> float:
        near = [at for at, _ in shown if change - AFTER_MS / 4 <= at <= change + AFTER_MS]
        return max(after - before for before, after in pairwise(near))

    return [longest(change) for change in changes]


def check(shown: list[tuple[float, int]], captured: list[tuple[float, int]]) -> None:
    """Pictures became wider without a stall; `captured` has when each of them was captured."""
    widths = [width for _, width in shown]
    assert widths[0] < SIZE[0], widths[0]
    assert widths[-1] == SIZE[0], widths[-1]
    gaps, missing = around_changes(shown), around_changes(captured)
    # What a busy host skips is no stall of the picture's change: it skips frames elsewhere, too.
    with of_times():
        assert max(missing) <= MAX_MS + 1.0, missing
        assert max(gaps) <= MAX_MS + FRAME_MS / 2, gaps


@NEEDS_CHROMIUM
def test_chromium_shows_a_picture_that_grows(tmp_path: Path) -> None:
    shown: list[Any] = []
    with host(tmp_path, "gcc", RATES | LADDER, size=SIZE) as (url, process):
        with browser(tmp_path / "profile") as made:
            page = made.open(url, WATCH)
            until_frames(made, page)
            patience = time.monotonic() + PATIENCE_S
            while time.monotonic() < patience and not (shown and shown[-1][1] == SIZE[0]):
                time.sleep(1)
                shown = made.evaluate(page, "window.shown")
            time.sleep(2)
            shown = made.evaluate(page, "window.shown")
            box = made.evaluate(page, "video.getBoundingClientRect().width / innerWidth")
        end(process)
    check([(at, width) for at, width, _ in shown], [(at / 90, width) for _, width, at in shown])
    assert box > 0.9, "as wide as the page, whatever it is made of"
    events = pl.read_parquet(tmp_path / "events.parquet")
    sizes = events.filter(pl.col("event") == "picture-size")["value"].to_list()
    assert sizes[0] < 1.0
    assert sizes[-1] == 1.0


@pytest.mark.light
@pytest.mark.long("test_live_ladder.py::test_chromium_shows_a_picture_that_grows")
def test_our_client_shows_a_picture_that_grows(tmp_path: Path) -> None:
    (tmp_path / "client").mkdir()
    with host(tmp_path, "gcc", RATES | LADDER, size=SIZE) as (url, process):
        connect = url.partition("#")[0] + "whep"
        config = {"connect": connect, "token": TOKEN, "folder": str(tmp_path / "client")}
        with part("client", config, tmp_path / "client.json") as client:
            time.sleep(PATIENCE_S / 2)
            end(client)
        end(process)
    events = pl.read_parquet(tmp_path / "events.parquet")
    changes = events.filter(pl.col("event") == "picture-size").sort("time_ns")
    made = pl.read_parquet(tmp_path / "host_frames.parquet").select("frame", "captured_ns")
    seen = pl.read_parquet(tmp_path / "client" / "client_frames.parquet")
    both = made.join(seen.filter(pl.col("decoded_ns").is_not_null()), on="frame").sort("frame")
    # The change of a frame is told when it is captured.
    sized = both.join_asof(changes, left_on="captured_ns", right_on="time_ns")
    widths = [round(SIZE[0] * share) for share in sized["value"].fill_null(strategy="backward")]
    shown = list(zip((sized["decoded_ns"] / 1e6).to_list(), widths, strict=True))
    check(shown, list(zip((sized["captured_ns"] / 1e6).to_list(), widths, strict=True)))


@pytest.mark.alone
@needs_live
@NEEDS_CHROMIUM
@pytest.mark.skipif(not IN_FULL, reason="takes a minute: make play")
def test_chromium_shows_a_picture_that_shrinks_and_grows_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keys = RATES | LADDER | {"start_bitrate": "4 Mb/s"}
    path: dict[str, Any] = {"capacity": CAPACITY, "queue": {"kind": "drop-tail", "size": "1 s"}}
    with stage(tmp_path, "gcc", keys, (1280, 720), **path) as there:
        with watched(there, tmp_path, WATCH) as (made, page):
            time.sleep(ENDS_AT_S)
            shown = made.evaluate(page, "window.shown")
        there.host.result()
    pictures = [(at, width) for at, width, _ in shown]
    widths = [width for _, width in pictures]
    changes = [(before, after) for before, after in pairwise(widths) if before != after]
    gaps = around_changes(pictures)
    with capsys.disabled():
        told = ", ".join(
            f"{old} to {new} {gap:.0f}" for (old, new), gap in zip(changes, gaps, strict=True)
        )
        print(f"\nlongest gap in ms, widths {told}")  # noqa: T201
    assert widths[0] == widths[-1] == 1280
    assert min(widths) < 1280
    with of_times():
        assert max(gaps) <= MAX_MS + FRAME_MS / 2, gaps
