"""Debian's Firefox without a display, driven by Marionette.

Marionette is Firefox's own end of WebDriver (W3C): commands of JSON over TCP, each behind its
length. So tests need neither geckodriver, which only hands these on, nor a client of it.
"""

from __future__ import annotations

import base64
import json
import shutil
import socket
import subprocess
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from browser_fixture import PATIENCE_S

from gameway import _core

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PREFERENCES = {
    "marionette.port": 0,
    # Loopback is the only interface of these tests' packets. A page that may hear the microphone
    # has all addresses of the machine, others the one towards the world.
    "media.peerconnection.ice.loopback": True,
    "permissions.default.microphone": 1,
    # Nothing is asked of others.
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "app.normandy.enabled": False,
    "app.update.enabled": False,
    "browser.safebrowsing.update.enabled": False,
    "browser.region.network.url": "",
    "datareporting.policy.dataSubmissionEnabled": False,
    "toolkit.telemetry.enabled": False,
    "services.settings.server": "data:,",
    "media.gmp-manager.url": "",
    "media.gmp-manager.updateEnabled": False,
    "media.gmp-provider.enabled": False,
    "extensions.update.enabled": False,
    "extensions.getAddons.cache.enabled": False,
    # No page of welcome.
    "browser.startup.page": 0,
    "browser.aboutwelcome.enabled": False,
    "datareporting.policy.firstRunURL": "",
    "trailhead.firstrun.didSeeAboutWelcome": True,
}
START_S = 60.0
AUTOPLAY = {"media.autoplay.default": 0}
"""Sound plays before a person has touched the page."""
KEYS = {"Space": " ", "Enter": "\ue007", "Escape": "\ue00c", "KeyW": "w", "KeyA": "a"}
"""What WebDriver calls keys, by their `code`."""


def why_not() -> str:
    if shutil.which("firefox-esr") is None:
        return "needs Debian's firefox-esr; Ubuntu's firefox is a snap, which tests cannot drive"
    if not any(name == "x264" for name, _ in _core.encoders()):
        return "needs a build with x264: make setup"
    return ""


NEEDS_FIREFOX = pytest.mark.skipif(bool(why_not()), reason=why_not() or "all is there")


@dataclass
class Firefox:
    """A window of Firefox."""

    connection: socket.socket
    profile: Path
    count: int = 0
    rest: bytes = b""

    def call(self, command: str, **parameters: Any) -> Any:
        """Give what a command of WebDriver answers."""
        self.count += 1
        text = json.dumps([0, self.count, command, parameters]).encode()
        self.connection.sendall(f"{len(text)}:".encode() + text)
        _, number, error, result = self.message()
        assert number == self.count
        assert error is None, (command, error["error"], error["message"])
        return result["value"] if set(result) == {"value"} else result

    def message(self) -> Any:
        while b":" not in self.rest:
            self._receive()
        length, self.rest = self.rest.split(b":", 1)
        while len(self.rest) < int(length):
            self._receive()
        text, self.rest = self.rest[: int(length)], self.rest[int(length) :]
        return json.loads(text)

    def _receive(self) -> None:
        found = self.connection.recv(65536)
        assert found, "the browser has ended"
        self.rest += found

    def evaluate(self, expression: str) -> Any:
        """Give what an expression of the page has, once that is fulfilled."""
        script = f"return (async () => ({expression}))();"
        return self.call("WebDriver:ExecuteScript", script=script, args=[], sandbox=None)

    def run(self, script: str) -> None:
        """Run statements."""
        self.call("WebDriver:ExecuteScript", script=script, args=[], sandbox=None)

    def open(self, url: str) -> None:
        self.call("WebDriver:Navigate", url=url)

    def until(self, expression: str, patience_s: float = PATIENCE_S) -> Any:
        """Give what an expression has, once that is something."""
        until = time.monotonic() + patience_s
        while not (found := self.evaluate(expression)):
            seen = (expression, self.evaluate("[document.body.innerText, window.gameway]"))
            assert time.monotonic() < until, seen
            time.sleep(0.05)
        return found

    def key(self, kind: str, code: str) -> None:
        """Press a key or release it: "keyDown", "keyUp"."""
        deed = {"type": kind, "value": KEYS[code]}
        self._do({"type": "key", "id": "keys", "actions": [deed]})

    def type(self, text: str) -> None:
        """Type into what has the focus."""
        deeds = [{"type": kind, "value": key} for key in text for kind in ("keyDown", "keyUp")]
        self._do({"type": "key", "id": "keys", "actions": deeds})

    def mouse(self, *deeds: dict[str, Any]) -> None:
        kind = {"parameters": {"pointerType": "mouse"}, "actions": list(deeds)}
        self._do({"type": "pointer", "id": "mouse", **kind})

    def _do(self, source: dict[str, Any]) -> None:
        self.call("WebDriver:PerformActions", actions=[source])

    def picture(self, file: Path) -> None:
        """Save what the window shows."""
        shown = self.call("WebDriver:TakeScreenshot", full=False, hash=False)
        file.write_bytes(base64.b64decode(shown))


def _preferences(more: dict[str, Any]) -> str:
    lines = (
        f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in more.items()
    )
    return "".join(lines)


def _port(profile: Path, process: subprocess.Popen[bytes]) -> int:
    """Give the port on which it listens; it writes that into its profile."""
    file = profile / "MarionetteActivePort"
    until = time.monotonic() + START_S
    while not file.exists() or not (text := file.read_text("utf-8")):
        assert process.poll() is None, "firefox-esr has ended"
        assert time.monotonic() < until, "firefox-esr does not listen"
        time.sleep(0.05)
    return int(text)


@contextmanager
def firefox(profile: Path, **more: Any) -> Iterator[Firefox]:
    """Firefox with a profile of its own; `more` are preferences."""
    profile.mkdir()
    (profile / "user.js").write_text(_preferences(PREFERENCES | more), "utf-8")
    line = [
        "firefox-esr",
        "--headless",
        "--marionette",
        "--remote-allow-system-access",
        "--no-remote",
        "--profile",
        str(profile),
    ]
    with subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            with socket.create_connection(("127.0.0.1", _port(profile, process))) as connection:
                made = Firefox(connection, profile)
                made.message()
                made.call("WebDriver:NewSession", acceptInsecureCerts=True)
                yield made
                made.call("Marionette:Quit", flags=["eForceQuit"])
        finally:
            try:
                process.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                process.kill()
