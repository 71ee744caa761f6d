"""Chromium plays the built-in scene: its marker is looked for in the decoded picture."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from browser_fixture import NEEDS_CHROMIUM, Browser, browser, end, host, until_frames
from witness import of_times

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = [NEEDS_CHROMIUM, pytest.mark.timed, pytest.mark.light]

SIZE = (1280, 720) if os.environ.get("GAMEWAY_INPUT_PRESSES") else (640, 360)
RATE = "20 Mb/s" if SIZE[0] == 1280 else "8 Mb/s"
RATES = {"min_bitrate": RATE, "start_bitrate": RATE, "max_bitrate": RATE}
WAIT_S = 15.0
SHORT_S = 0.5
LOOK = """(() => {
  const canvas = new OffscreenCanvas(video.videoWidth, video.videoHeight);
  const context = canvas.getContext("2d");
  context.drawImage(video, 0, 0);
  const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
  let count = 0, x = 0, y = 0;
  for (let at = 0; at < data.length; at += 4) {
    if (data[at] < 200 || data[at + 1] > 90 || data[at + 2] > 90) continue;
    count += 1;
    x += (at / 4) % canvas.width;
    y += Math.floor(at / 4 / canvas.width);
  }
  return { count, x: x / count / canvas.width, y: y / count / canvas.height };
})()"""
"""How many red samples there are, and where their middle is: the marker is red while something is
held."""
MEASURE = """(async (count) => {
  const canvas = new OffscreenCanvas(1, 1);
  const context = canvas.getContext("2d", { willReadFrequently: true });
  const pause = (span) => new Promise((resolve) => setTimeout(resolve, span));
  const isLit = (image) => {
    const { width, height } = gameway.screen.size.value;
    context.drawImage(image, width / 2, height / 2, 1, 1, 0, 0, 1, 1);
    const [red, green] = context.getImageData(0, 0, 1, 1).data;
    return red > 200 && green < 90;
  };
  const until = (lit) => new Promise((resolve) => {
    const stop = gameway.screen.onDrawn((image, timestamp, time) => {
      if (isLit(image) !== lit) return;
      stop();
      resolve(time);
    });
  });
  const key = (kind) => dispatchEvent(new KeyboardEvent(kind, { code: "Space" }));
  const delays = [];
  for (let index = 0; index < count; index += 1) {
    await pause(100 + (37 * index) % 100);
    const pressed = performance.now();
    key("keydown");
    delays.push(await until(true) - pressed);
    key("keyup");
    await until(false);
  }
  return delays.sort((a, b) => a - b);
})(COUNT)"""
"""From keys pressed in the page until pictures are displayed that show it, in ms: the whole way but
for the device's own delays of keyboard and display."""
PRESSES = int(os.environ.get("GAMEWAY_INPUT_PRESSES", "20"))
"""How often; with this many in the environment at 1280x720 and 20 Mb/s, on a quiet machine."""


class Held(NamedTuple):
    """The marker, lit up."""

    x: float
    y: float


class Page(NamedTuple):
    """A page that plays."""

    made: Browser
    session: str

    def marker(self) -> Held | None:
        """Where the marker is lit up, if it is."""
        seen = self.made.evaluate(self.session, LOOK)
        return Held(seen["x"], seen["y"]) if seen["count"] > 100 else None

    def wait(self, fits: Callable[[Held | None], bool]) -> Held | None:
        """Wait for a marker that fits."""
        until = time.monotonic() + WAIT_S
        while time.monotonic() < until:
            marker = self.marker()
            if fits(marker):
                return marker
            time.sleep(0.02)
        pytest.fail(f"the marker is {self.marker()}")

    def do(self, method: str, **params: Any) -> None:
        self.made.call(f"Input.{method}", params, self.session)

    def key(self, kind: str, code: str) -> None:
        self.do("dispatchKeyEvent", type=kind, code=code, key=code)

    def move(self, x: float, y: float) -> None:
        """Move the mouse to a place of the picture."""
        box = self.made.evaluate(
            self.session, "(({x, y, width, height}) => [x, y, width, height])(gameway.picture)"
        )
        self.do(
            "dispatchMouseEvent", type="mouseMoved", x=box[0] + x * box[2], y=box[1] + y * box[3]
        )

    def opened(self, url: str, before: str = "") -> Page:
        """Open the page anew, until it may play; a script may run before its own."""
        page = Page(self.made, self.made.open(url, before))
        page.until_it_plays()
        return page

    def until_it_plays(self) -> None:
        until_frames(self.made, self.session)
        # The host has said that it may play.
        self.until("!document.getElementById('lock').hidden")

    def until(self, expression: str) -> Any:
        """Give what an expression has, once that is something."""
        return self.made.until(self.session, expression, told="gameway")


@pytest.fixture(scope="module")
def at_host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Page, str]]:
    """A browser and the link of a host whose scene is played."""
    folder: Path = tmp_path_factory.mktemp("input")
    with (
        host(folder, "fixed", RATES, size=SIZE, input=True) as (url, process),
        browser(folder / "profile") as made,
    ):
        yield Page(made, ""), url
        end(process)


@pytest.fixture
def page(at_host: tuple[Page, str]) -> Iterator[Page]:
    """A page that has taken over; its settings are gone afterwards, for a second try, too."""
    anywhere, url = at_host
    opened = anywhere.opened(url)
    yield opened
    opened.made.evaluate(opened.session, "localStorage.removeItem('gameway-settings')")


def is_off(marker: Held | None) -> bool:
    return marker is None


def is_on(marker: Held | None) -> bool:
    return marker is not None


def test_the_marker_is_where_the_pointer_is(page: Page) -> None:
    page.move(0.5, 0.5)
    page.key("keyDown", "Space")
    for x, y in [(0.25, 0.25), (0.9, 0.5), (0.1, 0.8)]:
        page.move(x, y)

        def is_there(seen: Held | None, x: float = x, y: float = y) -> bool:
            return seen is not None and abs(seen.x - x) + abs(seen.y - y) < 0.02

        assert page.wait(is_there) is not None
    page.key("keyUp", "Space")
    page.wait(is_off)


def test_a_button_lights_it_up_and_an_arrow_moves_it(page: Page) -> None:
    page.move(0.5, 0.5)
    box = page.made.evaluate(
        page.session,
        "(({x, y, width, height}) => [x + width / 2, y + height / 2])(gameway.picture)",
    )
    place = {"x": box[0], "y": box[1], "button": "left", "clickCount": 1}
    page.wait(is_off)
    page.do("dispatchMouseEvent", type="mousePressed", **place)
    before = page.wait(is_on)
    assert before is not None
    page.key("keyDown", "ArrowRight")
    time.sleep(0.4)
    page.key("keyUp", "ArrowRight")
    after = page.wait(lambda seen: seen is not None and seen.x > before.x + 0.1)
    assert after is not None
    with of_times():
        # Half a picture in a second.
        assert 0.15 < after.x - before.x < 0.3
    page.do("dispatchMouseEvent", type="mouseReleased", **place)
    page.wait(is_off)


@pytest.mark.parametrize("way", ["video", "canvas"])
def test_a_key_is_seen_within_a_few_frames(page: Page, way: str) -> None:
    chosen = f"{{ way: '{way}', why: '', phase: 'decided', samples: [] }}"
    page.made.evaluate(page.session, f"gameway.screen.choose({chosen})")
    page.until(f"gameway.screen.way === '{way}'")
    page.move(0.5, 0.5)
    delays = page.made.evaluate(page.session, MEASURE.replace("COUNT", str(PRESSES)))
    assert len(delays) == PRESSES
    median, late = delays[len(delays) // 2], delays[int(0.95 * len(delays))]
    print(f"input to picture by {way}: median {median:.1f} ms, 95 % in {late:.1f} ms")  # noqa: T201
    # Encoding, sending, decoding and the display's next picture take 5 ms and more.
    assert median > 5
    with of_times():
        assert median < 100


def test_who_looks_elsewhere_holds_nothing(page: Page) -> None:
    page.key("keyDown", "KeyW")
    page.wait(is_on)
    page.made.evaluate(page.session, "dispatchEvent(new Event('blur'))")
    page.wait(is_off)
    assert page.made.evaluate(page.session, "gameway.input.held") is False


def test_no_key_sticks_when_the_page_is_gone(at_host: tuple[Page, str], page: Page) -> None:
    anywhere, url = at_host
    page.key("keyDown", "KeyW")
    page.wait(is_on)
    # Another page takes over: the first one is told, and what it held is released.
    second = anywhere.opened(url)
    second.wait(is_off)
    # The first still holds the key, and has closed its connection, too: nobody hears of it.
    time.sleep(SHORT_S)
    assert second.marker() is None
    assert page.made.evaluate(page.session, "connection.signalingState") == "closed"
    assert second.made.evaluate(second.session, "connection.signalingState") == "stable"
    # This one ends without a word.
    second.key("keyDown", "KeyA")
    second.wait(is_on)
    second.made.call("Page.navigate", {"url": "about:blank"}, second.session)
    third = anywhere.opened(url)
    third.wait(is_off)
    assert third.made.evaluate(third.session, "gameway.input") == {
        "held": False, "waiting": 0, "messages": 0, "newest": 0,
    }  # fmt: skip


def test_a_field_of_the_page_keeps_its_keys(page: Page) -> None:
    page.made.evaluate(page.session, "document.getElementById('fill').focus()")
    page.key("keyDown", "Tab")
    page.key("keyUp", "Tab")
    time.sleep(SHORT_S)
    assert page.made.evaluate(page.session, "gameway.input.newest") == 0


def test_figures_are_those_of_the_stream_and_cost_nothing_while_hidden(page: Page) -> None:
    def evaluate(expression: str) -> Any:
        return page.made.evaluate(page.session, expression)

    assert evaluate("document.getElementById('figures').hidden") is True
    assert evaluate("gameway.figures") is None
    evaluate("document.getElementById('show').click()")
    figures = page.until("gameway.figures")
    # 8 Mb/s at most are sent, with what belongs to packets and sound, and nothing is lost.
    assert 0 < figures["bitrate"] < 9
    assert (figures["height"], figures["lost"]) == (SIZE[1], 0)
    assert figures["decoding"] > 0
    assert figures["roundTrip"] >= 0
    with of_times():
        assert figures["freezes"] == 0
        assert figures["decoding"] < 50
        assert figures["roundTrip"] < 100
        assert 45 < figures["rate"] < 75
        assert 0 <= figures["buffer"] < 50
    shown = evaluate("document.getElementById('figures').textContent")
    assert "frames/s" in shown
    assert f"{SIZE[1]}lines" in shown
    # Keys that no game has hide them again, and nothing looks any more.
    for kind in ("keyDown", "keyUp"):
        page.do("dispatchKeyEvent", type=kind, code="KeyS", key="S", modifiers=1 | 2 | 8)
    assert evaluate("document.getElementById('figures').hidden") is True
    newest = evaluate("gameway.figures")
    time.sleep(1.5)
    assert evaluate("gameway.figures") == newest
