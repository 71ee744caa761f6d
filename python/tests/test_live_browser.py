"""Headless Chromium plays our own host by WHEP at its frame rate, and its feedback is used.

Needs chromium and a build with x264; no root: all is on loopback.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from browser_fixture import (
    NEEDS_CHROMIUM,
    SOUND_DIRECTION,
    browser,
    end,
    host,
    inbound,
    until_frames,
)
from live_fixture import MIN_LIVE_FPS
from witness import of_times

if TYPE_CHECKING:
    from pathlib import Path

START_BPS = 3e6
RATES = {"start_bitrate": "3 Mb/s", "max_bitrate": "10 Mb/s"}
SECONDS = 5.0
WINDOWS = 3
"""A busy machine gets as many chances to decode all frames for five seconds."""

LATE_ANSWER = """
const set = RTCPeerConnection.prototype.setRemoteDescription;
RTCPeerConnection.prototype.setRemoteDescription = async function (description) {
  await set.call(this, description);
  await new Promise((resolve) => setTimeout(resolve, 1000));
};
const look = RTCRtpReceiver.prototype.getStats;
RTCRtpReceiver.prototype.getStats = function () {
  window.looks = (window.looks ?? 0) + 1;
  return look.call(this);
};
"""
"""The page hears that its answer is taken a second later, when its data channel is long open, and
counts how often it looks whether pictures are decoded."""

pytestmark = [pytest.mark.timed, pytest.mark.alone, NEEDS_CHROMIUM]
LONG = pytest.mark.long(
    "test_live_browser.py::test_chromium_plays_our_host_at_sixty_frames_a_second"
)
"""Always: with sound."""


def rate_of(before: dict[str, Any], after: dict[str, Any]) -> float:
    """Decoded frames a second between two times of the browser."""
    seconds = (after["timestamp"] - before["timestamp"]) / 1e3
    return float((after["framesDecoded"] - before["framesDecoded"]) / seconds)


def made_a_second(frames: pl.DataFrame) -> float:
    """Frames a second that the host made from its first to its last."""
    made = (frames.height - 1) * 1e9 / (frames["captured_ns"][-1] - frames["captured_ns"][0])
    assert made <= 62.0, made
    with of_times():
        assert made >= MIN_LIVE_FPS, made
    return float(made)


def check_sound(before: dict[str, Any], after: dict[str, Any]) -> None:
    """Between two times a hundred packets a second came, and were played: beeps, not noise."""
    seconds = (after["timestamp"] - before["timestamp"]) / 1e3

    def a_second(name: str) -> float:
        return float(after[name] - before[name]) / seconds

    assert after["packetsLost"] == 0
    assert after["packetsReceived"] > before["packetsReceived"]
    with of_times():
        assert 95 <= a_second("packetsReceived") <= 105
        assert 0.9 * 48_000 <= a_second("totalSamplesReceived") <= 1.1 * 48_000
        # Made up because a packet was late for its time, on a machine that is busy.
        assert a_second("concealedSamples") <= 0.2 * 48_000
    # A tenth of each second at a quarter of full scale: 0.006, and up to thrice that since
    # Chromium's level falls slowly. All of each second would be 0.063, silence nothing.
    assert 0.004 <= a_second("totalAudioEnergy") <= 0.03


@pytest.mark.parametrize(
    ("controller", "audio"), [("gcc", True), pytest.param("pudica", False, marks=LONG)]
)
def test_chromium_plays_our_host_at_sixty_frames_a_second(
    tmp_path: Path, controller: str, *, audio: bool
) -> None:
    with host(tmp_path, controller, RATES, audio=audio) as (url, process):
        with browser(tmp_path / "profile") as made:
            page = made.open(url)
            after = until_frames(made, page)
            sound = inbound(made, page, "audio")
            rates: list[float] = []
            while len(rates) < WINDOWS and not (rates and rates[-1] >= 57.0):
                before = after
                time.sleep(SECONDS)
                after = inbound(made, page, "video")
                rates.append(rate_of(before, after))
            told = made.evaluate(page, "window.gameway")
            more_sound = inbound(made, page, "audio")
            direction = made.evaluate(page, SOUND_DIRECTION)
        report = end(process)
    assert told["connection"] == "connected"
    assert told["size"] == "1280x720"
    assert max(rates) <= 63.0, rates
    # All that the host made of 60: a shared machine encodes fewer, a quiet one does not.
    frames = pl.read_parquet(tmp_path / "host_frames.parquet").sort("frame")
    made_fps = made_a_second(frames)
    with of_times():
        assert max(rates) >= 0.95 * made_fps, rates
    assert after["packetsLost"] == 0
    assert report["sessions"] == 1
    # A browser plays silence for a host that may send sound, and none for one that has said no.
    assert direction == ("recvonly" if audio else "inactive")
    if audio:
        check_sound(sound, more_sound)
    else:
        assert (more_sound or {"packetsReceived": 0})["packetsReceived"] == 0

    targets = frames["target_bps"]
    # Without transport-wide feedback a controller has nothing to go by and stays where it began.
    assert targets[0] == START_BPS
    assert START_BPS < targets.max() <= 10e6
    with of_times():
        assert targets[-1] > 1.5 * START_BPS, targets[-1]
    events = pl.read_parquet(tmp_path / "events.parquet")
    counts = dict(events.group_by("event").len().iter_rows())
    presented = counts.get("page-presented", 0)
    assert 0 < presented <= frames.height
    with of_times():
        assert presented >= 0.6 * frames.height - 60
    # The browser reports when it is asked, so that no transform has to tell of frames.
    assert (report["page"]["received"], counts.get("page-received", 0)) == (0, 0)


def test_a_channel_that_opens_early_is_watched(tmp_path: Path) -> None:
    """Else nobody asks for a key frame after a loss, before the browser does after 3 s."""
    with host(tmp_path, "gcc", RATES) as (url, process):
        with browser(tmp_path / "profile") as made:
            page = made.open(url, LATE_ANSWER)
            until_frames(made, page)
            time.sleep(2)
            looks = made.evaluate(page, "window.looks ?? 0")
        end(process)
    # One each 300 ms; a busy page is late.
    assert 1 <= looks <= 60, looks
    with of_times():
        assert looks >= 2, looks
