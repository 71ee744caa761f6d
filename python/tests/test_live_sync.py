"""Sound and picture in Chromium: how far apart they are, and that neither waits for the other."""

from __future__ import annotations

import time
from statistics import median
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
from browser_fixture import NEEDS_CHROMIUM, browser, inbound, until_frames
from live_fixture import needs_live
from stage_fixture import HOST, PORT, RATES, TOKEN, stage
from witness import of_times

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.timed, NEEDS_CHROMIUM]

MAX_APART_MS = 45.0
SECONDS = 6

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


def played(folder: Path) -> tuple[dict[str, list[float]], dict[str, Any]]:
    """When pictures and sound were played, less when they were made; and the video's statistics."""
    with stage(folder, "fixed", RATES, audio=True) as there:
        inside = ("ip", "netns", "exec", there.spaces.name("client"))
        with browser(folder / "profile", *inside) as made:
            page = made.open(f"http://{HOST}:{PORT}/#{quote(TOKEN)}")
            until_frames(made, page)
            # Until the browser has learnt how evenly sound comes.
            time.sleep(3)
            ages = made.evaluate(page, PLAYED.replace("MILLISECONDS", str(1000 * SECONDS)))
            video = inbound(made, page, "video")
        there.host.result()
    return ages, video


@needs_live
def test_sound_and_picture_are_played_together(tmp_path: Path) -> None:
    ages, video = played(tmp_path)
    assert len(ages["heard"]) > 50 * SECONDS
    buffered_ms = 1e3 * video["jitterBufferDelay"] / video["jitterBufferEmittedCount"]
    apart_ms = median(ages["heard"]) - median(ages["seen"])
    with of_times():
        assert len(ages["seen"]) > 40 * SECONDS
        assert -MAX_APART_MS < apart_ms < MAX_APART_MS, apart_ms
        # A browser that holds pictures back for the sound adds to this what the sound is later.
        assert buffered_ms < 25, buffered_ms
