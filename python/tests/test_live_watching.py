"""Chromium watches while another page plays: its keys do nothing, and who plays can change.

Needs chromium and a build with x264; no root: all is on loopback.
"""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from typing import TYPE_CHECKING

import polars as pl
import pytest
from browser_fixture import (
    NEEDS_CHROMIUM,
    PATIENCE_S,
    TOKEN,
    Browser,
    browser,
    end,
    host,
    inbound,
    until_frames,
)
from test_live_input import Page, is_off, is_on

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [NEEDS_CHROMIUM, pytest.mark.timed]

RATES = {"min_bitrate": "1 Mb/s", "start_bitrate": "4 Mb/s", "max_bitrate": "4 Mb/s"}
QUESTION = "document.querySelector('#role-question')"
ENDED = "gameway.ended ?? ''"


class Tab(Page):
    """A page that may be asked whether it plays or watches."""

    def until(self, expression: str) -> object:
        """Wait until something is so in the page, and give it."""
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            if found := self.made.evaluate(self.session, expression):
                return found
            time.sleep(0.05)
        text = self.made.evaluate(self.session, "document.body.innerText")
        pytest.fail(f"{expression} of {text}")

    def press(self, label: str) -> None:
        """Press the button of that label, which must be shown."""
        buttons = "[...document.querySelectorAll('button:not([hidden])')]"
        self.until(f"{buttons}.some(it => it.textContent === {json.dumps(label)})")
        pressed = f"{buttons}.find(it => it.textContent === {json.dumps(label)}).click()"
        self.made.evaluate(self.session, pressed)

    def decoded(self) -> int:
        return int(until_frames(self.made, self.session)["framesDecoded"])

    def goes_on(self) -> None:
        """See new pictures."""
        before = self.decoded()
        until = time.monotonic() + PATIENCE_S
        while (now := self.now_decoded()) < before + 30:
            # A new connection has no pictures at first, and counts anew.
            before = min(before, now)
            assert time.monotonic() < until, "no new pictures"
            time.sleep(0.05)

    def now_decoded(self) -> int:
        found = inbound(self.made, self.session, "video") or {}
        return int(found.get("framesDecoded", 0))


def window(made: Browser, url: str) -> Tab:
    """Open a page in a window of its own: one behind another may show nothing."""
    target = made.call("Target.createTarget", {"url": "about:blank", "newWindow": True})
    attached = made.call("Target.attachToTarget", {"targetId": target["targetId"], "flatten": True})
    tab = Tab(made, str(attached["sessionId"]))
    made.call("Page.enable", {}, tab.session)
    made.call("Page.navigate", {"url": url}, tab.session)
    return tab


def _ask(url: str, method: str = "GET", body: bytes | None = None) -> tuple[int, str]:
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/sdp"}
    address = url.partition("#")[0] + "watch"
    request = urllib.request.Request(address, body, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=10) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def _places(url: str) -> dict[str, object]:
    said = dict(json.loads(_ask(url)[1]))
    assert said.pop("iceServers") == []
    return said


def _until_places(url: str, **wanted: object) -> None:
    until = time.monotonic() + PATIENCE_S
    while (seen := _places(url)) != wanted:
        assert time.monotonic() < until, seen
        time.sleep(0.1)


def test_one_plays_and_another_watches_until_they_change(tmp_path: Path) -> None:
    settings = {"size": (640, 360), "input": True, "watchers": 1}
    with (
        host(tmp_path, "fixed", RATES, **settings) as (url, process),
        browser(tmp_path / "profile") as made,
    ):
        assert _places(url) == {"plays": False, "watchers": 0, "max_watchers": 1}
        # Nobody plays: who comes first is asked nothing.
        player = window(made, url)
        player.goes_on()
        watcher = window(made, url)
        watcher.until(f"{QUESTION} !== null")
        assert (
            watcher.made.evaluate(watcher.session, "document.activeElement.textContent") == "Watch"
        )
        watcher.press("Watch")
        watcher.goes_on()
        player.goes_on()
        assert _places(url) == {"plays": True, "watchers": 1, "max_watchers": 1}

        # What the player does is seen by both, what the watcher does by nobody.
        player.key("keyDown", "Space")
        player.wait(is_on)
        watcher.wait(is_on)
        player.key("keyUp", "Space")
        player.wait(is_off)
        watcher.wait(is_off)
        watcher.key("keyDown", "Space")
        watcher.goes_on()
        assert player.marker() is None
        assert watcher.marker() is None
        assert watcher.made.evaluate(watcher.session, "document.getElementById('lock').hidden")

        # One more may not watch, but play.
        code, why = _ask(url, "POST", b"v=0")
        assert (code, why.strip()) == (409, "somebody watches already, and one may")
        third = window(made, url)
        third.until(f"{QUESTION}?.innerText.includes('No more devices may watch.')")
        third.press("Play instead")
        third.goes_on()
        assert "taken over" in str(player.until(ENDED))
        watcher.goes_on()

        # The player leaves: the watcher is told, and plays.
        made.evaluate(third.session, "location.href = 'about:blank'")
        watcher.until("document.getElementById('alone').textContent.includes('Nobody plays')")
        _until_places(url, plays=False, watchers=1, max_watchers=1)
        watcher.press("Play instead")
        _until_places(url, plays=True, watchers=0, max_watchers=1)
        watcher.goes_on()
        watcher.until("!document.getElementById('lock').hidden")
        watcher.key("keyDown", "Space")
        watcher.wait(is_on)
        watcher.key("keyUp", "Space")
        report = end(process)
    assert report["encoder_failures"] == 0
    # The tables are of those who play: three in turn.
    assert report["sessions"] == 3
    frames = pl.read_parquet(tmp_path / "host_frames.parquet")
    assert frames["session"].unique().sort().to_list() == [0, 1, 2]


def test_nobody_watches_unless_the_host_says_so(tmp_path: Path) -> None:
    settings = {"size": (640, 360), "input": True}
    with (
        host(tmp_path, "fixed", RATES, **settings) as (url, process),
        browser(tmp_path / "profile") as made,
    ):
        code, why = _ask(url, "POST", b"v=0")
        assert code == 409
        assert "--watchers 1" in why
        first = window(made, url)
        first.goes_on()
        second = window(made, url)
        second.goes_on()
        assert "taken over" in str(first.until(ENDED))
        end(process)
