"""A packet that is lost and sent again, live: how late its frame is, and those behind it.

The client asks once the next packet has come, and the copy comes a round trip later. The simulator
has the same bound (`crates/lab/sim/tests/all/repair.rs`).
"""

from __future__ import annotations

import time
from statistics import median
from typing import TYPE_CHECKING

import polars as pl
import pytest
from browser_fixture import NEEDS_CHROMIUM, inbound
from live_fixture import needs_live
from stage_fixture import stage, watched
from witness import of_times

import gameway as gw

if TYPE_CHECKING:
    from pathlib import Path

RTT_MS = 20.0
LOSSY = """
title = "A packet is sent again"
duration = "20 s"
controller = { kind = "fixed", bitrate = "10 Mb/s" }

[path]
capacity = "25 Mb/s"
base_rtt = "20 ms"
loss = { kind = "random", probability = "0.2 %" }

[[stream]]
repair = "nack"
max_bitrate = "10 Mb/s"
"""
WITHIN = 3.0, 19.0
"""Of which second to which frames and losses count."""
REPAIRED_MS = 5.0
"""Later than most by so much: a packet was sent again. The path has no queue and no jitter."""
LATE_MS = 10.0
"""Beside a round trip: until the next packet comes, by which a loss is seen, and until the picture
is decoded."""
LOOK = """
window.seen = [];
const look = (_, picture) => {
  window.seen.push([picture.rtpTimestamp, picture.presentationTime, picture.presentedFrames]);
  document.querySelector("video").requestVideoFrameCallback(look);
};
document.querySelector("video").requestVideoFrameCallback(look);
"""
"""A page is not called for a picture that another replaces before it is displayed."""
RTP_CLOCK = 90
"""Per millisecond (RFC 6184)."""
LOOKED_S = 20


@pytest.mark.timed
@pytest.mark.alone
@pytest.mark.long("test_live_play.py::test_what_a_browser_asks_for_is_sent_again")
@needs_live
def test_a_frame_is_a_round_trip_late_and_none_behind_it_by_more(tmp_path: Path) -> None:
    results = gw.run(gw.loads(LOSSY), tmp_path / "out", on="live")
    since, until = (second * 1e9 for second in WITHIN)
    bins = results.bins().filter(pl.col("bin_start_ns").is_between(since, until, closed="left"))
    lost = int(bins.filter(pl.col("flow") != "ping").collect()["lost_packets"].sum())
    frames = results.frames().filter(pl.col("captured_ns").is_between(since, until)).collect()
    # All are shown, and none more than a round trip and 10 ms later than most.
    assert lost > 5, lost
    assert frames["shown_ns"].null_count() == 0
    took = (frames["shown_ns"] - frames["last_sent_ns"]) / 1e6
    late = took - took.median()
    repaired = late.filter(late > REPAIRED_MS)
    with of_times():
        # A frame may wait behind one that is repaired, and two losses may be of one frame.
        assert 0.5 * lost <= repaired.len() <= 3 * lost, (repaired.to_list(), lost)
        assert repaired.max() <= RTT_MS + LATE_MS, repaired.to_list()


@pytest.mark.timed
@pytest.mark.alone
@pytest.mark.long("test_live_play.py::test_what_a_browser_asks_for_is_sent_again")
@NEEDS_CHROMIUM
@needs_live
@pytest.mark.parametrize("rtt_ms", [20, 50, 100])
def test_chromium_shows_a_frame_a_round_trip_late_and_none_behind_it_by_more(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], rtt_ms: int
) -> None:
    keys = {"start_bitrate": "10 Mb/s", "max_bitrate": "10 Mb/s", "repair": "nack"}
    loss = {"kind": "random", "probability": "0.2 %"}
    with stage(tmp_path, "fixed", keys, loss=loss, base_rtt=f"{rtt_ms} ms") as there:
        with watched(there, tmp_path) as (made, page):
            # The controller of the rate and the browser's measure of the path have settled.
            time.sleep(2)
            first = inbound(made, page, "video")
            made.evaluate(page, LOOK)
            time.sleep(LOOKED_S)
            seen = made.evaluate(page, "window.seen")
            last = inbound(made, page, "video")
        there.host.result()
    took = [shown - rtp / RTP_CLOCK for rtp, shown, _ in seen]
    usual = median(took)
    late = sorted(one - usual for one in took)
    again = last["retransmittedPacketsReceived"] - first["retransmittedPacketsReceived"]
    presented = seen[-1][2] - seen[0][2]
    with capsys.disabled():
        told = f"{again} packets again, {presented} pictures, at most {late[-1]:.1f} ms late"
        print(f"\n{rtt_ms} ms: {told}")  # noqa: T201
    assert again > 10, again
    with of_times():
        # All are shown. The clock of sixty frames a second and that of the page may differ by one.
        assert presented >= 60 * LOOKED_S - 3, presented
        # Some were repaired, and most were not: else the median would be none of the path's.
        assert rtt_ms / 2 < late[-1] <= rtt_ms + LATE_MS, late[-20:]
        assert late[int(0.7 * len(late))] < REPAIRED_MS, late
