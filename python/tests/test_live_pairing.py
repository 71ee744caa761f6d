"""A person pairs a browser with `gameway host` by its code, and revokes it by `gameway devices`.

Needs chromium and a build with x264; no root: all is on loopback.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import IO, TYPE_CHECKING, Any

import pytest
from browser_fixture import NEEDS_CHROMIUM, PATIENCE_S, Browser, browser, until_frames
from ports_fixture import free_port
from test_live_input import is_off, is_on
from test_live_watching import ENDED, Tab, window
from witness import of_times

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

GAMEWAY = [sys.executable, "-m", "gameway"]
CODE = re.compile(r"code for a new device: (\d{3}) (\d{3}) \(good once")
FIELD = "document.getElementById('code')"
BUTTON = "document.querySelector('#pair button')"
ALERT = "document.querySelector('#pair [role=alert]')?.textContent ?? null"

pytestmark = [pytest.mark.timed, pytest.mark.light, NEEDS_CHROMIUM]
LONG = pytest.mark.long(
    "test_live_pairing.py::test_a_browser_is_paired_by_the_code_and_plays_until_it_is_revoked"
)
"""Always: over HTTPS; the other tests here are over HTTP."""


@dataclass
class Host:
    """`gameway host` with a list of devices of its own."""

    port: int
    state: Path
    scheme: str = "http"
    address: str = "127.0.0.1"
    told: list[str] = field(default_factory=list)

    @property
    def link(self) -> str:
        return f"{self.scheme}://{self.address}:{self.port}/"

    def codes(self, count: int) -> str:
        """Give the last code, once there are so many."""
        found: list[str] = []
        for _ in range(int(PATIENCE_S / 0.1)):
            found = ["".join(code) for code in CODE.findall("".join(self.told))]
            if len(found) >= count:
                break
            time.sleep(0.1)
        assert len(found) == count, self.told
        return found[-1]

    def devices(self, *words: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "XDG_STATE_HOME": str(self.state)}
        command = [*GAMEWAY, "devices", *words]
        return subprocess.run(
            command, capture_output=True, text=True, timeout=60, check=False, env=environment
        )

    def hear(self, stream: IO[str]) -> None:
        self.told.extend(stream)


@contextmanager
def gameway_host(
    state: Path,
    scheme: str = "http",
    address: str = "127.0.0.1",
    size: str = "320x180",
    more: Sequence[str] = (),
) -> Iterator[Host]:
    made = Host(free_port(), state, scheme, address)
    words = [*GAMEWAY, "host", "--no-audio", "--duration", "120 s", *more]
    words += ["--size", size, "--listen", f"{address}:{made.port}"]
    words += ["--https"] if scheme == "https" else []
    environment = {**os.environ, "XDG_STATE_HOME": str(state)}
    environment.pop("GAMEWAY_TOKEN", None)
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stderr is not None
        listener = threading.Thread(target=made.hear, args=(process.stderr,))
        listener.start()
        try:
            yield made
        finally:
            process.terminate()
            process.wait(20)
            listener.join()


def _until(made: Browser, page: str, expression: str) -> Any:
    """Give what an expression has, once that is something."""
    for _ in range(int(PATIENCE_S / 0.1)):
        if found := made.evaluate(page, expression):
            return found
        time.sleep(0.1)
    pytest.fail(f"{expression}: {made.evaluate(page, 'document.body.innerText')}")


def _type(made: Browser, page: str, text: str) -> None:
    """Type into what has the focus, by the keyboard alone, and press Enter."""
    made.call("Input.insertText", {"text": text}, page)
    enter = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "text": "\r"}
    made.call("Input.dispatchKeyEvent", {"type": "keyDown", **enter}, page)
    made.call("Input.dispatchKeyEvent", {"type": "keyUp", **enter}, page)


def pair(made: Browser, host: Host) -> str:
    """Pair a browser, as a person who goes on though it does not know the certificate."""
    page = made.open("about:blank")
    made.call("Security.setIgnoreCertificateErrors", {"ignore": True}, page)
    made.call("Page.navigate", {"url": host.link}, page)
    _until(made, page, "document.activeElement.id === 'code'")
    _type(made, page, host.codes(1))
    return page


TRIES = 5
"""Wrong ones that a code is good for."""


def wrong(code: str) -> str:
    return f"{(int(code) + 1) % 1_000_000:06}"


@pytest.mark.parametrize("scheme", [pytest.param("http", marks=LONG), "https"])
def test_a_browser_is_paired_by_the_code_and_plays_until_it_is_revoked(
    tmp_path: Path, scheme: str
) -> None:
    with gameway_host(tmp_path / "state", scheme) as host, browser(tmp_path / "profile") as made:
        code = host.codes(1)
        # As a person who goes on though the browser does not know the certificate.
        page = made.open("about:blank")
        made.call("Security.setIgnoreCertificateErrors", {"ignore": True}, page)
        made.call("Page.navigate", {"url": host.link}, page)
        _until(made, page, "document.activeElement.id === 'code'")
        assert made.evaluate(page, "isSecureContext")
        assert "six-digit code" in made.evaluate(page, f"{FIELD}.labels[0].textContent")
        assert made.evaluate(page, f"{FIELD}.inputMode") == "numeric"
        assert made.evaluate(page, f"{FIELD}.autocomplete") == "one-time-code"
        # Too short: nothing is sent.
        _type(made, page, "12")
        assert "6 digits" in _until(made, page, ALERT)
        made.evaluate(page, f"{FIELD}.select()")
        _type(made, page, wrong(code))
        _until(made, page, f"({ALERT}).includes('not the code')")
        _type(made, page, f"{code[:3]} {code[3:]}")
        until_frames(made, page)
        assert made.evaluate(page, "document.getElementById('pair')") is None
        assert made.evaluate(page, "location.href") == host.link
        # Loaded again, it needs no code.
        made.call("Page.reload", {}, page)
        until_frames(made, page)
        listed = host.devices()
        assert listed.returncode == 0, listed.stderr
        assert re.match(r" 1  Chrome on Linux  paired just now", listed.stdout), listed.stdout
        unknown = host.devices("--revoke", "Netscape")
        assert (unknown.returncode, "no device is" in unknown.stderr) == (2, True), unknown.stderr
        assert host.devices("--revoke", "1").stdout == "Chrome on Linux is revoked\n"
        made.call("Page.reload", {}, page)
        _until(made, page, f"({ALERT}).includes('not paired any more')")
        _type(made, page, host.codes(2))
        until_frames(made, page)


REVOKED = "this device was revoked by the host's owner"


def _revoked(host: Host, tab: Tab) -> float:
    """Revoke the device that this tab is of; give the seconds until it said so."""
    assert host.devices("--revoke", "1").returncode == 0
    begin = time.monotonic()
    assert tab.until(ENDED) == REVOKED
    passed = time.monotonic() - begin
    told = json.dumps(f"The stream has ended: {REVOKED}.")
    tab.until(f"document.body.innerText.includes({told})")
    return passed


def test_who_is_revoked_has_no_stream_any_more_and_others_have(tmp_path: Path) -> None:
    more = ["--input", "--watchers", "1"]
    with (
        gameway_host(tmp_path / "state", size="640x360", more=more) as host,
        browser(tmp_path / "profile") as made,
    ):
        player = Tab(made, pair(made, host))
        player.goes_on()
        token = re.search(r"/#([-\w]+)", "".join(host.told))
        assert token, host.told
        other = window(made, f"{host.link}#{token[1]}")
        other.press("Watch")
        other.goes_on()
        player.until("!document.getElementById('lock').hidden")
        player.key("keyDown", "Space")
        other.wait(is_on)
        took = [_revoked(host, player)]
        assert "note: a device was revoked: its stream to 127.0.0.1 ends" in "".join(host.told)
        # The other one is still there, and what was held is released.
        other.press("Play instead")
        other.goes_on()
        other.wait(is_off)
        # The page asks for nothing by itself.
        asked = "performance.getEntriesByType('resource').length"
        before = made.evaluate(player.session, asked)
        time.sleep(1.5)
        assert made.evaluate(player.session, asked) == before
        # Opened anew it asks for a code. One that watches loses its stream likewise.
        watcher = window(made, host.link)
        _until(made, watcher.session, f"({ALERT})?.includes('not paired any more')")
        _type(made, watcher.session, host.codes(2))
        watcher.press("Watch")
        watcher.goes_on()
        took.append(_revoked(host, watcher))
        other.goes_on()
    print(f"revoked until told, in s: {took}")  # noqa: T201
    with of_times():
        assert max(took) < 2


def test_wrong_codes_lock_the_right_one(tmp_path: Path) -> None:
    with gameway_host(tmp_path / "state") as host, browser(tmp_path / "profile") as made:
        page = made.open(host.link)
        ready = f"document.activeElement.id === 'code' && !{BUTTON}.disabled"
        code = host.codes(1)
        for _ in range(TRIES):
            _until(made, page, ready)
            made.evaluate(page, f"{FIELD}.select()")
            _type(made, page, wrong(code))
            _until(made, page, f"({ALERT}) && !{BUTTON}.disabled")
        # That one is good no more, and there is another.
        made.evaluate(page, f"{FIELD}.select()")
        _type(made, page, code)
        second = host.codes(2)
        assert second != code
        _until(made, page, f"({ALERT}) && !{BUTTON}.disabled")
        assert "no device is paired" in host.devices().stdout
        made.evaluate(page, f"{FIELD}.select()")
        _type(made, page, second)
        until_frames(made, page)
        assert "Chrome on Linux" in host.devices().stdout


ELSEWHERE = """<!doctype html><script>
const ask = (path, method, body, more) => fetch("LINK" + path, { method, body, ...more })
  .then((response) => response.status, () => "unanswered");
(async () => {
  const secret = { headers: { Authorization: "Bearer TOKEN", "Content-Type": "application/sdp" } };
  window.answers = [
    await ask("pair", "POST", "CODE", {}),
    await ask("pair", "POST", "CODE", { mode: "no-cors" }),
    await ask("pair", "POST", "", { mode: "no-cors", credentials: "include" }),
    await ask("whep", "POST", "v=0", secret),
    await ask("whep/x", "DELETE", undefined, secret),
    await ask("watch", "POST", "v=0", secret),
    await ask("watch", "POST", "v=0", { ...secret, mode: "no-cors" }),
    await ask("controller", "PUT", "gcc", secret),
    await ask("controller", "GET", undefined, secret),
    await ask("lab", "POST", "{}", secret),
    await ask("lab", "POST", "{}", { mode: "no-cors", credentials: "include" }),
    await ask("", "GET", undefined, {}),
  ];
})();
</script>"""


class _Page(BaseHTTPRequestHandler):
    text: str

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(self.text.encode())

    def log_message(self, *_words: object) -> None:
        pass


def test_a_page_from_elsewhere_pairs_starts_and_ends_nothing(tmp_path: Path) -> None:
    with gameway_host(tmp_path / "state") as host, browser(tmp_path / "profile") as made:
        code = host.codes(1)
        token = re.search(r"/#([-\w]+)", "".join(host.told))
        assert token, host.told
        text = ELSEWHERE.replace("LINK", host.link).replace("CODE", code)
        handler = type("Handler", (_Page,), {"text": text.replace("TOKEN", token[1])})
        with ThreadingHTTPServer(("127.0.0.1", 0), handler) as elsewhere:
            threading.Thread(target=elsewhere.serve_forever, daemon=True).start()
            page = made.open(f"http://127.0.0.1:{elsewhere.server_port}/")
            answers = _until(made, page, "window.answers ?? null")
            elsewhere.shutdown()
        # 0 is what a page is told of an answer that it may not read.
        assert answers == [
            "unanswered",
            0,
            0,
            *["unanswered"] * 3,
            0,
            *["unanswered"] * 3,
            0,
            "unanswered",
        ]
        assert "no device is paired" in host.devices().stdout
        assert "paired: " not in "".join(host.told)
        # The code is still good, for whoever reads it.
        page = made.open(f"{host.link}#%zz")
        # No text in escapes, and no token of this host: the person is asked.
        _until(made, page, f"({ALERT})?.includes('link is not valid')")
        _type(made, page, code)
        until_frames(made, page)
