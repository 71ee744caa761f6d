"""Headless Chromium plays our own host by WHEP at its frame rate, and its feedback is used.

Needs chromium and a build with x264; no root: all is on loopback.
"""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

import polars as pl
import pytest
from live_fixture import LEAST_FPS, one_stream

from gameway import _core

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run "
    "--disable-background-networking --disable-component-update --disable-sync "
    "--allow-loopback-in-peer-connection --autoplay-policy=no-user-gesture-required"
)
TOKEN = "letters-and-digits-only"
START_BPS = 3e6
SECONDS = 5.0
WINDOWS = 3
"""A busy machine gets as many chances to decode all frames for five seconds."""
PATIENCE_S = 20.0
INBOUND = (
    "connection.getStats().then(all => [...all.values()].find("
    "it => it.type === 'inbound-rtp' && it.kind === '{kind}') ?? null)"
)


def why_not() -> str:
    if shutil.which("chromium") is None:
        return "needs chromium"
    if not any(name == "x264" for name, _ in _core.encoders()):
        return "needs a build with x264: make setup"
    return ""


pytestmark = [
    pytest.mark.timed,
    pytest.mark.skipif(bool(why_not()), reason=why_not() or "all is there"),
]


@dataclass
class Browser:
    """Chromium on its debugging pipe: messages of JSON that end with a zero byte."""

    process: subprocess.Popen[bytes]
    input: IO[bytes]
    output: IO[bytes]
    count: int = 0

    def call(self, method: str, params: dict[str, Any], session: str | None = None) -> Any:
        self.count += 1
        message = {"id": self.count, "method": method, "params": params}
        message |= {} if session is None else {"sessionId": session}
        self.input.write(json.dumps(message).encode() + b"\0")
        self.input.flush()
        while True:
            answer = json.loads(self._message())
            if answer.get("id") == self.count:
                return answer["result"]

    def _message(self) -> bytes:
        found = bytearray()
        while (byte := self.output.read(1)) != b"\0":
            assert byte, "the browser has ended"
            found += byte
        return bytes(found)

    def open(self, url: str) -> str:
        target = self.call("Target.createTarget", {"url": url})["targetId"]
        attached = self.call("Target.attachToTarget", {"targetId": target, "flatten": True})
        return str(attached["sessionId"])

    def evaluate(self, session: str, expression: str) -> Any:
        asked = {"expression": expression, "awaitPromise": True, "returnByValue": True}
        return self.call("Runtime.evaluate", asked, session)["result"].get("value")


@contextmanager
def browser(profile: Path) -> Iterator[Browser]:
    line = f"exec chromium {FLAGS} --user-data-dir='{profile}' --remote-debugging-pipe about:blank"
    line += " 3<&0 4>&1 0</dev/null 1>/dev/null 2>/dev/null"
    with subprocess.Popen(
        ["sh", "-c", line], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        made = Browser(process, process.stdin, process.stdout)
        try:
            yield made
            made.call("Browser.close", {})
        finally:
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()


@contextmanager
def host(
    folder: Path, controller: str, *, audio: bool
) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    with socket.socket() as chosen:
        chosen.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{chosen.getsockname()[1]}"
    spec = one_stream(controller, start_bitrate="3 Mb/s", max_bitrate="10 Mb/s")
    stream = {"name": "game", **spec["stream"][0]}
    config = {"stream": stream, "listen": address, "token": TOKEN, "folder": str(folder)}
    config |= {"audio": audio}
    file = folder / "host.json"
    file.write_text(json.dumps(config), encoding="utf-8")
    words = [sys.executable, "-m", "gameway.live.part", "host", str(file)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline().strip() == "ready"
            yield f"http://{address}/?token={TOKEN}", process
        finally:
            if process.poll() is None:
                process.kill()


def inbound(made: Browser, page: str, kind: str) -> Any:
    """Give the browser's statistics of what it receives of a kind."""
    return made.evaluate(page, INBOUND.replace("{kind}", kind))


def until_frames(made: Browser, page: str) -> Any:
    """Give the video's statistics once pictures are shown."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        found = inbound(made, page, "video")
        if found and found.get("framesDecoded", 0) > 30:
            return found
        time.sleep(0.2)
    pytest.fail(f"no pictures: {made.evaluate(page, 'window.gameway')}")


def rate_of(before: dict[str, Any], after: dict[str, Any]) -> float:
    """Decoded frames a second between two times of the browser."""
    seconds = (after["timestamp"] - before["timestamp"]) / 1e3
    return float((after["framesDecoded"] - before["framesDecoded"]) / seconds)


def made_a_second(frames: pl.DataFrame) -> float:
    """Frames a second that the host made from its first to its last."""
    made = (frames.height - 1) * 1e9 / (frames["captured_ns"][-1] - frames["captured_ns"][0])
    assert LEAST_FPS <= made <= 62.0, made
    return float(made)


def check_sound(before: dict[str, Any], after: dict[str, Any]) -> None:
    """Between two times a hundred packets a second came, and were played: beeps, not noise."""
    seconds = (after["timestamp"] - before["timestamp"]) / 1e3

    def a_second(name: str) -> float:
        return float(after[name] - before[name]) / seconds

    assert after["packetsLost"] == 0
    assert 95 <= a_second("packetsReceived") <= 105
    assert 0.9 * 48_000 <= a_second("totalSamplesReceived") <= 1.1 * 48_000
    # Made up because a packet was late for its time, on a machine that is busy.
    assert a_second("concealedSamples") <= 0.2 * 48_000
    # A tenth of each second at a quarter of full scale: 0.006, and up to thrice that since
    # Chromium's level falls slowly. All of each second would be 0.063, silence nothing.
    assert 0.004 <= a_second("totalAudioEnergy") <= 0.03


@pytest.mark.parametrize(("controller", "audio"), [("gcc", True), ("pudica", False)])
def test_chromium_plays_our_host_at_sixty_frames_a_second(
    tmp_path: Path, controller: str, *, audio: bool
) -> None:
    with host(tmp_path, controller, audio=audio) as (url, process):
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
        process.terminate()
        said, _ = process.communicate(timeout=15)
    assert process.returncode == 0
    assert told["connection"] == "connected"
    assert told["size"] == "1280x720"
    assert max(rates) <= 63.0, rates
    # All that the host made of 60: a shared machine encodes fewer, a quiet one does not.
    frames = pl.read_parquet(tmp_path / "host_frames.parquet").sort("frame")
    assert max(rates) >= 0.95 * made_a_second(frames), rates
    assert after["packetsLost"] == 0
    report = json.loads(said)
    assert report["sessions"] == 1
    if audio:
        check_sound(sound, more_sound)
    else:
        assert (more_sound or {"packetsReceived": 0})["packetsReceived"] == 0

    targets = frames["target_bps"]
    # Without transport-wide feedback a controller has nothing to go by and stays where it began.
    assert targets[0] == START_BPS
    assert 1.5 * START_BPS < targets[-1] <= 10e6, targets[-1]
    events = pl.read_parquet(tmp_path / "events.parquet")
    counts = dict(events.group_by("event").len().iter_rows())
    received, presented = counts.get("page-received", 0), counts.get("page-presented", 0)
    assert 0.9 * frames.height - 60 <= received <= frames.height
    assert 0.6 * frames.height - 60 <= presented <= frames.height
    # Ahead of the browser's report, once the clocks are compared; a busy page is later.
    page_told = report["page"]
    assert page_told["received"] == received
    assert page_told["strange"] <= 0.02 * received + 5
    assert 0.6 * received - 60 <= page_told["used"] < received
