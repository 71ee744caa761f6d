"""From opening the link to the first picture, as a browser that was paired opens it over HTTPS.

The page has its own times (`performance`): navigation, its requests, the first displayed picture.
`-s` shows them.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest
from browser_fixture import NEEDS_CHROMIUM, PATIENCE_S, Browser, browser, until_frames
from live_fixture import behind_link, needs_live
from test_live_pairing import gameway_host, pair
from witness import of_times

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.timed, pytest.mark.alone, NEEDS_CHROMIUM]

LONG = pytest.mark.long("test_live_first_picture.py::test_the_first_picture_comes_soon")
"""Always: at a distance."""
TIMES = int(os.environ.get("GAMEWAY_FIRST_PICTURES", "3"))
"""How often the link is opened."""
FEWEST_ROUND_TRIPS = 8
"""TCP, TLS, the page, who plays, the offer, a check of ICE, and DTLS 1.2 with two."""
STEPS = """(() => {
  const [page] = performance.getEntriesByType("navigation");
  const asked = performance.getEntriesByType("resource").map((it) =>
    [new URL(it.name).pathname, it.startTime, it.responseEnd, it.connectEnd - it.connectStart]);
  return { first: window.gameway?.first ?? 0, connected: page.connectEnd,
    page: page.responseEnd, bytes: page.transferSize, asked };
})()"""


def opened(made: Browser, link: str) -> Any:
    """Open the link in a new tab; give what happened when, in ms since."""
    page = made.open("about:blank")
    made.call("Security.setIgnoreCertificateErrors", {"ignore": True}, page)
    made.call("Page.navigate", {"url": link}, page)
    found: Any = {}
    for _ in range(int(PATIENCE_S / 0.1)):
        time.sleep(0.1)
        found = made.evaluate(page, STEPS)
        if found["first"]:
            break
    assert found["first"], made.evaluate(page, "document.body.innerText")
    sys.stdout.write(f"\n{found}")
    # The next one does not wait for this one's end.
    made.call("Page.navigate", {"url": "about:blank"}, page)
    time.sleep(0.5)
    return found


@pytest.mark.parametrize(
    ("rtt_ms", "bound_ms"),
    [pytest.param(0, 1000, marks=LONG), pytest.param(50, 2000, marks=needs_live)],
)
def test_the_first_picture_comes_soon(tmp_path: Path, rtt_ms: int, bound_ms: int) -> None:
    with ExitStack() as stack:
        address, inside = "127.0.0.1", []
        if rtt_ms:
            own = stack.enter_context(behind_link("--capacity", "50 Mb/s", "--rtt", f"{rtt_ms} ms"))
            address = f"10.77.{own.number}.1"
            inside = ["nsenter", f"--net=/run/netns/{own.space}", "--"]
        host = stack.enter_context(gameway_host(tmp_path / "state", "https", address))
        made = stack.enter_context(browser(tmp_path / "profile", *inside))
        until_frames(made, pair(made, host))
        found = [opened(made, host.link) for _ in range(TIMES)]
    for one in found:
        # The page came compressed, and its questions on the connection that it came by.
        assert one["bytes"] < 80_000
        assert [path for path, *_ in one["asked"][:2]] == ["/watch", "/whep"]
        assert one["asked"][1][3] == 0
        assert one["first"] > FEWEST_ROUND_TRIPS * rtt_ms
    # A browser whose connection is still busy opens one more, which is seldom.
    assert statistics.median(one["asked"][0][3] for one in found) == 0
    median = statistics.median(one["first"] for one in found)
    sys.stdout.write(f"\n{rtt_ms} ms: first picture after {median:.0f} ms (median of {TIMES})")
    with of_times():
        assert median < bound_ms
