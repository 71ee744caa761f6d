"""Sound and picture in Chromium: how far apart they are, and that neither waits for the other."""

from __future__ import annotations

import time
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

import pytest
from browser_fixture import NEEDS_CHROMIUM, inbound
from live_fixture import needs_live
from stage_fixture import RATES, stage, watched
from witness import of_times

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.timed, NEEDS_CHROMIUM]

MAX_APART_MS = 45.0
SECONDS = 6
# For so long nothing comes, from 10 s of the run on, and then all at once.
STALL = {"kind": "periodic", "delay": "600 ms", "interval": "10 s"}
STALLED_S = 10.6
TAKES_ALL_SOUND = "delete window.RTCRtpScriptTransform;"

# Time stamps of both streams count from the run's begin, so that playing time less media time tells
# how old each is. A picture is displayed at the next refresh of the screen; sound is handed to the
# sound device, whose own delay no browser counts here.
PLAYED = """
new Promise(resolve => {
  const video = document.querySelector("video");
  const audio = connection.getReceivers().find(it => it.track.kind === "audio");
  const seen = [], heard = [];
  const onFrame = (now, frame) => {
    seen.push(performance.timeOrigin + frame.expectedDisplayTime - frame.rtpTimestamp / 90);
    video.requestVideoFrameCallback(onFrame);
  };
  video.requestVideoFrameCallback(onFrame);
  setInterval(() => {
    const [source] = audio.getSynchronizationSources();
    if (source) heard.push(source.timestamp - source.rtpTimestamp / 48);
  }, 7);
  setTimeout(() => resolve({ seen, heard }), MILLISECONDS);
})
"""


@dataclass
class Played:
    """What a browser played of a stream for a while."""

    ages: dict[str, list[float]]
    """When pictures were seen and sound was heard, less when they were made, in ms."""
    video: dict[str, Any]
    """Statistics, at the end."""
    left_out: int
    """Packets of sound that the page did not let be played, until then."""

    @property
    def apart_ms(self) -> float:
        """How much later sound is than its picture."""
        return median(self.ages["heard"]) - median(self.ages["seen"])


def played(folder: Path, *, since: float = 0.0, before: str = "", **path: Any) -> Played:
    """Let a browser play; look at it from this second of the run on, or once it plays evenly."""
    with stage(folder, "fixed", RATES, audio=True, **path) as there:
        with watched(there, folder, before) as (made, page):
            # Until the browser has learnt how evenly sound comes.
            time.sleep(3)
            there.wait_until(since)
            ages = made.evaluate(page, PLAYED.replace("MILLISECONDS", str(1000 * SECONDS)))
            video = inbound(made, page, "video")
            left_out = made.evaluate(page, "window.gameway.soundLeftOut ?? 0")
        there.host.result()
    return Played(ages, video, left_out)


@needs_live
def test_sound_and_picture_are_played_together(tmp_path: Path) -> None:
    found = played(tmp_path)
    assert found.ages["heard"]
    buffered_ms = 1e3 * found.video["jitterBufferDelay"] / found.video["jitterBufferEmittedCount"]
    with of_times():
        assert len(found.ages["heard"]) > 50 * SECONDS
        assert len(found.ages["seen"]) > 40 * SECONDS
        assert found.left_out == 0
        assert -MAX_APART_MS < found.apart_ms < MAX_APART_MS, found.apart_ms
        # A browser that holds pictures back for the sound adds to this what the sound is later.
        assert buffered_ms < 25, buffered_ms


@needs_live
def test_sound_is_with_the_picture_again_behind_a_stall(tmp_path: Path) -> None:
    found = played(tmp_path, since=STALLED_S + 0.4, jitter=STALL)
    with of_times():
        assert len(found.ages["seen"]) > 40 * SECONDS
        # What came more than 30 ms late of 600 ms, 10 ms each.
        assert 40 < found.left_out < 80, found.left_out
        assert -MAX_APART_MS < found.apart_ms < MAX_APART_MS, found.apart_ms


@pytest.mark.long("test_live_sync.py::test_sound_is_with_the_picture_again_behind_a_stall")
@needs_live
def test_a_page_that_takes_all_sound_plays_it_late_behind_a_stall(tmp_path: Path) -> None:
    found = played(tmp_path, since=STALLED_S + 0.4, before=TAKES_ALL_SOUND, jitter=STALL)
    assert found.left_out == 0
    with of_times():
        assert len(found.ages["seen"]) > 40 * SECONDS
        assert 100 < found.apart_ms < 700, found.apart_ms
