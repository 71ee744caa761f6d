"""Chromium goes on after lost frames without a key frame: the next refers to what is shown."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING
from urllib.parse import quote

import polars as pl
import pytest
from browser_fixture import NEEDS_CHROMIUM, browser, inbound, until_frames
from live_fixture import needs_live
from stage_fixture import HOST, PORT, RATES, SECOND, TOKEN, stage
from witness import of_times

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.timed, NEEDS_CHROMIUM, needs_live]

SECONDS = 12.0
# Of some 700 packets a second; none is sent again, so that each breaks a frame.
LOSS = {"kind": "random", "probability": "0.3 %"}
SETTINGS = json.dumps(json.dumps({"screen": "canvas"}))
BY_CANVAS = f"localStorage.setItem('gameway-settings', {SETTINGS});"


@dataclass
class Watched:
    """A while of a stream that loses packets."""

    lost: float
    """Packets a second."""
    key_frames: float
    """Of the host, a second."""
    longest_ms: float
    """The longest time from one picture that is shown to the next."""
    asked: int
    """Key frames that the browser asked for by RTCP."""
    agreed: bool
    """Whether the browser is told to which frame one refers."""


SHOWN = """
new Promise(resolve => {
  const times = [];
  const stop = gameway.screen.onDrawn((_image, _timestamp, time) => times.push(time));
  setTimeout(() => { stop(); resolve(times); }, MILLISECONDS);
})
"""


def watched(folder: Path, recovery: str, before: str = "") -> Watched:
    """Watch a stream over a path that loses."""
    rates = {**RATES, "repair": "none", "recovery": recovery}
    with stage(folder, "fixed", rates, loss=LOSS) as there:
        inside = ("ip", "netns", "exec", there.spaces.name("client"))
        with browser(folder / "profile", *inside) as made:
            page = made.open(f"http://{HOST}:{PORT}/#{quote(TOKEN)}", before)
            made.evaluate(page, "gameway.frames") if before else until_frames(made, page)
            time.sleep(2)
            began_ns, first = there.now_ns(), inbound(made, page, "video")
            times = made.evaluate(page, SHOWN.replace("MILLISECONDS", str(int(1e3 * SECONDS))))
            ended_ns, last = there.now_ns(), inbound(made, page, "video")
            agreed = made.evaluate(
                page, "connection.remoteDescription.sdp.includes('dependency-descriptor')"
            )
        there.host.result()
    frames = there.frames("host").filter(pl.col("captured_ns").is_between(began_ns, ended_ns))
    took_s = (ended_ns - began_ns) / SECOND
    return Watched(
        lost=(last["packetsLost"] - first["packetsLost"]) / took_s,
        key_frames=frames["key_frame"].sum() / took_s,
        longest_ms=max(b - a for a, b in pairwise(times)),
        asked=last.get("pliCount", 0) - first.get("pliCount", 0),
        agreed=agreed,
    )


LONG = pytest.mark.long(
    "test_live_references.py::test_a_lost_frame_is_answered_by_one_that_refers_to_what_is_shown"
)
"""Always: by video."""


@pytest.mark.parametrize(
    "before", ["", pytest.param(BY_CANVAS, marks=LONG)], ids=["video", "canvas"]
)
def test_a_lost_frame_is_answered_by_one_that_refers_to_what_is_shown(
    tmp_path: Path, before: str
) -> None:
    found = watched(tmp_path, "reference", before)
    assert found.agreed
    with of_times():
        assert found.lost > 1, found
        # One in eight losses is at the wrap of the frames' numbers.
        assert found.key_frames < 0.35 * found.lost, found
        assert found.longest_ms < 200, found


def test_who_is_not_to_refer_to_older_frames_answers_each_by_a_key_frame(tmp_path: Path) -> None:
    found = watched(tmp_path, "key-frame")
    assert not found.agreed
    with of_times():
        assert found.lost > 1, found
        assert found.key_frames > 0.5 * found.lost, found
