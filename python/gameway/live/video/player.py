"""The player of a video as a part of a live run: dash.js in headless Chromium, by Playwright.

The page and its scripts are given to the browser from this package's files, before the run and past
the link; what travels is the manifest and the video. The browser is a new one for each run: dash.js
remembers from one video to the next how fast the network was.
"""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

from gameway.errors import GamewayError
from gameway.live import browser

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from playwright.sync_api import BrowserContext, Page, Playwright, Route

PAGE = "player.html"
FILES = {"player.html": "text/html", "player.js": "text/javascript", "dash.js": "text/javascript"}
DASH_JS = Path(__file__).parent / "dash.js"
SIZE = (1920, 1080)
# The page comes from no address, the video from a private one.
FLAGS = ("--disable-features=LocalNetworkAccessChecks",)
PREFERENCES = {"net": {"network_prediction_options": 2}}
"""No connection before a request needs one. Chromium opens two for a page that it loads. Here that
is before the run begins, when a packet passes the link at once: the server's TCP took their 65 us
for the shortest round trip of the path, and so retransmitted too early."""
WHO = "live videos"
LOOK_MS = 100
"""How often it is looked whether the player is asked to end."""


def why_not() -> list[str]:
    """What this machine lacks to play videos, each with how to install it."""
    lacking = browser.why_not(WHO)
    if not DASH_JS.is_file():
        lacking.append(browser.MISSING.format(who=WHO, what="dash.js", how="make setup"))
    return lacking


def check() -> None:
    """Refuse a machine that lacks something; one error names all of it."""
    browser.refuse(why_not())


def play(config_json: str, ready: Callable[[list[str]], None]) -> str:
    """Run the part: open the video at its start, close it at its stop, write the tables."""
    check()
    from playwright.sync_api import Error, sync_playwright  # noqa: PLC0415 (an extra)

    from gameway.live.video import tables  # noqa: PLC0415 (polars is heavy)

    config = json.loads(config_json)
    asked = Event()
    signal.signal(signal.SIGTERM, lambda *_: asked.set())
    try:
        with sync_playwright() as playwright:
            told = _show(playwright, config, ready, asked)
    except Error as error:
        raise GamewayError(f"the browser failed: {error}") from None
    clock = tables.Clock(_epoch_wall_ms(config["epoch_ns"]))
    return json.dumps(tables.write(told, clock, config))


def _show(
    playwright: Playwright,
    config: dict[str, Any],
    ready: Callable[[list[str]], None],
    asked: Event,
) -> list[dict[str, Any]]:
    """Open a browser, load the page, let the video be played; give what the page told."""
    opened = open_browser(playwright, Path(config["folder"]), config.get("size", SIZE))
    page = opened.pages[0]
    failures: list[str] = []
    page.on("pageerror", lambda error: failures.append(str(error)))
    load(page, config["address"])
    ready([])
    told = _watch(page, config, asked)
    opened.close()
    if failures:
        raise GamewayError(f"the player's page failed: {failures[0]}")
    return told


def open_browser(
    playwright: Playwright, folder: Path, size: Sequence[int] = SIZE
) -> BrowserContext:
    """Open a browser as a viewer has it, in a window of this size."""
    return browser.open_browser(
        playwright,
        folder / "profile",
        flags=FLAGS,
        size=(size[0], size[1]),
        preferences=PREFERENCES,
    )


def load(page: Page, address: str) -> None:
    """Load the page as if the server had it; then let requests go their way untouched."""

    def give(route: Route) -> None:
        name = route.request.url.rpartition("/")[2]
        if name in FILES:
            file = Path(__file__).parent / name
            route.fulfill(path=file, content_type=FILES[name])
        else:
            route.fulfill(status=204)

    page.route("**/*", give)
    page.goto(f"http://{address}/{PAGE}")
    page.wait_for_function("window.dashjs !== undefined && typeof gameway === 'object'")
    page.unroute_all()


def _watch(page: Page, config: dict[str, Any], asked: Event) -> list[dict[str, Any]]:
    """Let the video be played from its start to its stop, or until it is asked to end.

    Give what the page told.
    """
    _wait_until(page, config["epoch_ns"] + config["start_ns"], asked)
    url = f"http://{config['address']}/{config['manifest']}"
    words = [url, config["settings"], config["segment_ns"] / 1e9, config["interval_ns"] / 1e6]
    page.evaluate("words => gameway.open(...words)", words)
    _wait_until(page, config["epoch_ns"] + config["stop_ns"], asked)
    page.evaluate("gameway.close()")
    told: list[dict[str, Any]] = page.evaluate("gameway.take()")
    return told


def _wait_until(page: Page, moment_ns: int, asked: Event) -> None:
    while (left_ns := moment_ns - time.monotonic_ns()) > 0 and not asked.is_set():
        page.wait_for_timeout(min(left_ns / 1e6, LOOK_MS))


def _epoch_wall_ms(epoch_ns: int) -> float:
    """When the run began, in milliseconds since 1970."""
    return (time.time_ns() - time.monotonic_ns() + epoch_ns) / 1e6
