"""Both ends of a stream as one part of a live run: two headless browsers, driven by Playwright.

The browser at the server draws, encodes and sends by its own libwebrtc; that at the client receives
and shows. Descriptions travel through this part, past the link; what travels over the link is the
stream. Pages and scripts are given to the browsers from this package's files, from no server.

Both browsers read CLOCK_MONOTONIC, as all parts do. A page's clock begins when the page is opened,
at a moment that the browser's own metrics have (NavigationStart, on that clock).
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gameway.errors import GamewayError
from gameway.live import browser
from gameway.live.chromium import signalling, streams

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import BrowserContext, Page, Playwright, Route

FOLDER = Path(__file__).parent
PAGE = "http://localhost/peer.html"
"""Of no server: pages from here may use everything, and the part answers their requests."""
FILES = {
    "peer.html": "text/html", "peer.js": "text/javascript", "scene.js": "text/javascript",
    "transform.js": "text/javascript",
}  # fmt: skip
ISOLATED = {
    "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp",
}  # fmt: skip
"""Such a page reads its clock to 5 us, others to 100."""
FLAGS = (
    # Addresses are told as they are; nothing is looked up, for the link would count the queries.
    "--disable-features=WebRtcHideLocalIpsWithMdns,LocalNetworkAccessChecks",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost",
    # An encoded frame tells of which picture it is.
    "--enable-blink-features=RTCEncodedVideoFrameAdditionalMetadata",
)
ALL_ADDRESSES = ["camera", "microphone"]
"""Who may use these is told of all addresses of a machine, others of that of the default route."""
SAMPLE_MS = 100
"""From one look at a browser's statistics to the next."""
HAND_OVER_MS = 300.0
"""What a page's worker has seen until the end has then reached the page."""
CONNECT_S = 30.0
POLL_MS = 20.0
CLOCKS_APART_MS = 20.0
"""What a page's clock may seem off by: the time of a call."""


@dataclass
class End:
    """A page at one end, and how its clock is read."""

    name: str
    opened: BrowserContext
    page: Page
    origin_ms: float
    """Milliseconds since 1970 by the page's clock, less those of CLOCK_MONOTONIC."""
    failures: list[str]

    def ask(self, expression: str, argument: Any = None) -> Any:
        """Evaluate in the page; GamewayError if the page has failed."""
        if self.failures:
            raise GamewayError(f"the {self.name} page failed: {self.failures[0]}")
        return self.page.evaluate(expression, argument)


def stream(config_json: str, ready: Callable[[list[str]], None]) -> str:
    """Run the part: connect the pages, stream from start to stop, write the tables."""
    streams.check()
    from playwright.sync_api import Error, sync_playwright  # noqa: PLC0415 (an extra)

    from gameway.live.chromium import tables, told  # noqa: PLC0415 (polars is heavy)

    config = json.loads(config_json)
    try:
        with sync_playwright() as playwright:
            said, facts, origins = _carry_out(playwright, config, ready)
    except Error as error:
        raise GamewayError(f"a browser failed: {error}") from None
    seen = told.read("sending", said["sending"])
    told.read("receiving", said["receiving"], seen)
    clocks = {name: tables.Clock(origin, config["epoch_ns"]) for name, origin in origins.items()}
    return json.dumps(facts | tables.write(seen, clocks, config))


def _carry_out(
    playwright: Playwright, config: dict[str, Any], ready: Callable[[list[str]], None]
) -> tuple[dict[str, Any], dict[str, Any], dict[str, float]]:
    sending = _open(playwright, config, "sending", "server")
    receiving = _open(playwright, config, "receiving", "client")
    _connect(sending, receiving, config)
    width, height = config["size"]
    scene = {"width": width, "height": height, "seed": config["seed"]}
    sending.ask("settings => gameway.prepare(settings)", scene)
    ready([])
    for end in (sending, receiving):
        end.ask("interval => gameway.observe(interval)", SAMPLE_MS)
    epoch_ns = config["epoch_ns"]
    _wait_until(sending.page, epoch_ns + config["start_ns"])
    sending.ask("rate => gameway.send(rate)", config["frame_rate"])
    _wait_until(sending.page, epoch_ns + config["stop_ns"])
    sending.ask("gameway.stop()")
    _wait_until(sending.page, epoch_ns + config["end_ns"])
    facts = _facts(sending, config)
    sending.page.wait_for_timeout(HAND_OVER_MS)
    said = {end.name: end.ask("gameway.take()") for end in (sending, receiving)}
    for end in (sending, receiving):
        end.opened.close()
    return said, facts, {end.name: end.origin_ms for end in (sending, receiving)}


def _open(playwright: Playwright, config: dict[str, Any], name: str, where: str) -> End:
    """Open a browser in the namespace of an end, with the page that the end needs."""
    trials = config["field_trials"]
    opened = browser.open_browser(
        playwright,
        Path(config["folder"]) / f"profile-{where}",
        flags=(*FLAGS, *([f"--force-fieldtrials={trials}"] if trials else [])),
        size=(config["size"][0], config["size"][1]),
        namespace=config["namespaces"][where],
    )
    # Before the page makes a connection: then it is decided which addresses it may know.
    opened.grant_permissions(ALL_ADDRESSES)
    page = opened.pages[0]
    failures: list[str] = []
    page.on("pageerror", lambda error: failures.append(str(error)))
    page.route("**/*", _give)
    page.goto(PAGE)
    return End(name, opened, page, _origin_ms(page), failures)


def _give(route: Route) -> None:
    name = route.request.url.rpartition("/")[2]
    if name in FILES:
        route.fulfill(path=FOLDER / name, content_type=FILES[name], headers=ISOLATED)
    else:
        route.fulfill(status=204)


def _origin_ms(page: Page) -> float:
    """How far a page's wall clock is from CLOCK_MONOTONIC."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    rows = session.send("Performance.getMetrics")["metrics"]
    session.detach()
    began_ms: float = 1e3 * next(row["value"] for row in rows if row["name"] == "NavigationStart")
    origin_ms = float(page.evaluate("gameway.origin()")) - began_ms
    before_ms = time.monotonic_ns() / 1e6
    at_ms = float(page.evaluate("performance.timeOrigin + performance.now()")) - origin_ms
    after_ms = time.monotonic_ns() / 1e6
    if not before_ms - CLOCKS_APART_MS < at_ms < after_ms + CLOCKS_APART_MS:
        told = f"a page's clock is off by {at_ms - after_ms:.1f} ms: its frames cannot be placed"
        raise GamewayError(told)
    return origin_ms


def _connect(sending: End, receiving: End, config: dict[str, Any]) -> None:
    """Carry descriptions between the pages until they are connected over the stream's address."""
    rates = config["rates"]
    offer = signalling.bounded(receiving.ask("gameway.offer()"), rates)
    settings = {"maxBitrate": rates["max"], "frameRate": config["frame_rate"]}
    words = [signalling.without_candidates(offer), settings]
    answer = sending.ask("([offer, settings]) => gameway.answer(offer, settings)", words)
    one_way = signalling.with_address(answer, config["address"])
    receiving.ask("answer => gameway.accept(answer)", one_way)
    until = time.monotonic() + CONNECT_S
    while any(end.ask("gameway.state()") != "connected" for end in (sending, receiving)):
        if time.monotonic() > until:
            raise GamewayError(f"the browsers did not connect within {CONNECT_S:g} s")
        sending.page.wait_for_timeout(POLL_MS)


def _facts(sending: End, config: dict[str, Any]) -> dict[str, Any]:
    """What the sending browser says of itself; GamewayError if it took another way."""
    facts: dict[str, Any] = sending.ask("gameway.facts()")
    if facts.get("local") != config["address"]:
        told = f"the browser sent from {facts.get('local')}, not from {config['address']}"
        raise GamewayError(f"{told}: the link's tables are not of this stream")
    return {"codec": facts.get("codec"), "encoder": facts.get("encoder")}


def _wait_until(page: Page, moment_ns: int) -> None:
    left_ns = moment_ns - time.monotonic_ns()
    if left_ns > 0:
        page.wait_for_timeout(left_ns / 1e6)
