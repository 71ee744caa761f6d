"""Headless Chromium on its debugging pipe, and a host of ours for it on loopback."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

import pytest
from live_fixture import one_stream
from ports_fixture import free_port

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
PATIENCE_S = 40.0
WAIT_S = 15.0
TEXT = "document.body.innerText"
INBOUND = (
    "connection.getStats().then(all => [...all.values()].find("
    "it => it.type === 'inbound-rtp' && it.kind === '{kind}') ?? null)"
)
SOUND_DIRECTION = (
    "connection.getTransceivers().find(it => it.receiver.track.kind === 'audio').currentDirection"
)


def why_not() -> str:
    if shutil.which("chromium") is None:
        return "needs chromium"
    if not any(name == "x264" for name, _ in _core.encoders()):
        return "needs a build with x264: make setup"
    return ""


NEEDS_CHROMIUM = pytest.mark.skipif(bool(why_not()), reason=why_not() or "all is there")


class RefusedError(AssertionError):
    """The browser did not do what it was asked, as where a page is left before it answers."""


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
                if "error" in answer:
                    raise RefusedError(f"{method}: {answer['error']}")
                return answer["result"]

    def _message(self) -> bytes:
        found = bytearray()
        while (byte := self.output.read(1)) != b"\0":
            assert byte, "the browser has ended"
            found += byte
        return bytes(found)

    def open(self, url: str, before: str = "") -> str:
        """Open a page, in which the script `before` runs ahead of its own.

        Where nothing else is set pictures come by the way that a page begins with, and stay there.
        """
        target = self.call("Target.createTarget", {"url": "about:blank"})["targetId"]
        attached = self.call("Target.attachToTarget", {"targetId": target, "flatten": True})
        page = str(attached["sessionId"])
        self.call("Page.enable", {}, page)
        self.call("Page.addScriptToEvaluateOnNewDocument", {"source": before + BY_VIDEO}, page)
        self.call("Page.navigate", {"url": url}, page)
        return page

    def evaluate(self, session: str, expression: str) -> Any:
        asked = {"expression": expression, "awaitPromise": True, "returnByValue": True}
        return self.call("Runtime.evaluate", asked, session)["result"].get("value")

    def click(self, session: str, button: str) -> None:
        """By a person's act, which the browser asks for before it shows the clipboard."""
        box = self.evaluate(
            session,
            f"(({{x, y, width, height}}) => [x + width / 2, y + height / 2])"
            f"(document.getElementById('{button}').getBoundingClientRect())",
        )
        place = {"x": box[0], "y": box[1], "button": "left", "clickCount": 1}
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", {"type": kind, **place}, session)

    def let_it_use_the_clipboard(self, url: str) -> None:
        allowed = ["clipboardReadWrite", "clipboardSanitizedWrite"]
        origin = url.split("#", maxsplit=1)[0].rstrip("/")
        self.call("Browser.grantPermissions", {"origin": origin, "permissions": allowed})

    def until(
        self, session: str, expression: str, patience_s: float = WAIT_S, told: str = TEXT
    ) -> Any:
        """Give what an expression has, once that is something; if not, fail with what is told."""
        deadline = time.monotonic() + patience_s
        while not (found := self.evaluate(session, expression)):
            assert time.monotonic() < deadline, (expression, self.evaluate(session, told))
            time.sleep(0.02)
        return found


BY_VIDEO = """;
try {
  const set = JSON.parse(localStorage.getItem("gameway-settings") ?? "{}");
  const kept = JSON.stringify({ screen: "video", ...set });
  localStorage.setItem("gameway-settings", kept);
} catch {}
"""
"""What a way of pictures is measured to take depends on who else works on the machine."""


@contextmanager
def browser(profile: Path, *before: str, flags: str = FLAGS) -> Iterator[Browser]:
    """Headless Chromium, unless its flags are others; its command line may have words before it."""
    line = f"exec {' '.join(before)} chromium {flags} --user-data-dir='{profile}'"
    line += " --remote-debugging-pipe about:blank"
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


def free_address() -> str:
    return f"127.0.0.1:{free_port()}"


@contextmanager
def part(name: str, config: dict[str, Any], file: Path) -> Iterator[subprocess.Popen[str]]:
    """A part of a live run, once it is ready; killed at the end if it still runs."""
    file.write_text(json.dumps(config), encoding="utf-8")
    words = [sys.executable, "-m", "gameway.live.part", name, str(file)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline().strip() == "ready"
            yield process
        finally:
            if process.poll() is None:
                process.kill()


@contextmanager
def host(
    folder: Path, controller: str | dict[str, Any], rates: dict[str, str], **more: Any
) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A host with one stream of these rates, by its link; `more` are further keys of it."""
    address = free_address()
    kind = controller if isinstance(controller, str) else controller["kind"]
    stream = {"name": "game", **one_stream(kind, **rates)["stream"][0], "controller": controller}
    config = {"stream": stream, "listen": address, "token": TOKEN, "audio": False}
    config |= {"folder": str(folder), **more}
    if "size" in more:
        config["size"] = "{}x{}".format(*more["size"])
    with part("host", config, folder / "host.json") as process:
        yield f"http://{address}/#{TOKEN}", process


def end(process: subprocess.Popen[str]) -> Any:
    """Ask a part to end, and give its report."""
    process.terminate()
    said, _ = process.communicate(timeout=15)
    assert process.returncode == 0
    return json.loads(said)


def inbound(made: Browser, page: str, kind: str) -> Any:
    """Give the browser's statistics of what it receives of a kind, once there is a connection."""
    statistics = INBOUND.replace("{kind}", kind)
    try:
        return made.evaluate(page, f"typeof connection === 'undefined' ? null : {statistics}")
    except RefusedError:
        # The page opens itself anew, for another role of who looks at it.
        return None


def until_frames(made: Browser, page: str) -> Any:
    """Give the video's statistics once pictures are shown."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        found = inbound(made, page, "video")
        if found and found.get("framesDecoded", 0) > 30:
            return found
        time.sleep(0.2)
    pytest.fail(f"no pictures: {made.evaluate(page, 'window.gameway')}")
