"""A packet that is lost and sent again, live: how late its frame is, and those behind it.

The client asks once the next packet has come, and the copy comes a round trip later. The simulator
has the same bound (`crates/lab/sim/tests/all/repair.rs`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest
from live_fixture import needs_live
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
        assert repaired.max() <= RTT_MS + 10, repaired.to_list()
