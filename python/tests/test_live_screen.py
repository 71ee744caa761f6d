"""Pictures that the page decodes and draws itself, and the way back to the browser's own."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

import polars as pl
import pytest
from browser_fixture import FLAGS, NEEDS_CHROMIUM, Browser, browser, end, host
from live_fixture import MIN_LIVE_FPS, needs_live
from stage_fixture import HOST, PORT, TOKEN, stage
from witness import of_times

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from subprocess import Popen

pytestmark = [NEEDS_CHROMIUM, pytest.mark.timed, pytest.mark.alone]

SIZE = (640, 360)
RATES = {"min_bitrate": "300 kb/s", "start_bitrate": "500 kb/s", "max_bitrate": "8 Mb/s"}
LADDER = {"ladder": "both", "content": "high"}
PATIENCE_S = 40.0
WAIT_S = 15.0
SECONDS = 4.0

RED = """(() => {
  const own = document.getElementById("canvas");
  const picture = own.hidden ? video : own;
  const { width, height } = gameway.screen.size.value;
  const canvas = new OffscreenCanvas(width, height);
  const context = canvas.getContext("2d");
  context.drawImage(picture, 0, 0, width, height);
  const { data } = context.getImageData(0, 0, width, height);
  let count = 0;
  for (let at = 0; at < data.length; at += 4)
    count += data[at] > 200 && data[at + 1] < 90 && data[at + 2] < 90;
  return count / (width * height);
})()"""
"""How much of what is shown is red: the marker is, while a key is held."""
WATCH = """
// A further try looks at the same page.
window.watchNoMore?.();
window.drawn = [];
window.watchNoMore = gameway.screen.onDrawn((image, timestamp, time) =>
  drawn.push([image.id, timestamp, time, gameway.screen.size.value.width]));
"""


def choice(way: str) -> str:
    """Give the script that chooses in the settings how pictures come."""
    changed = "screen_.dispatchEvent(new Event('change', { bubbles: true }));"
    return f"screen_.value = '{way}'; {changed}"


class Page(NamedTuple):
    """A page that plays."""

    made: Browser
    session: str

    def evaluate(self, expression: str) -> Any:
        return self.made.evaluate(self.session, expression)

    def until(self, expression: str, patience_s: float = WAIT_S) -> Any:
        """Give what an expression has, once that is something."""
        return self.made.until(self.session, expression, patience_s, "gameway")

    def set(self, way: str) -> None:
        """Choose in the settings how pictures come, and wait for one that comes so."""
        self.evaluate(choice(way))
        self.until(f"gameway.screen.way === '{way}'")

    def light(self) -> None:
        """Hold a key until the marker is lit up, and release it until it is not."""
        for kind, seen in (("keyDown", f"{RED} > 0.001"), ("keyUp", f"{RED} < 0.0001")):
            key = {"type": kind, "code": "Space", "key": " "}
            self.made.call("Input.dispatchKeyEvent", key, self.session)
            self.until(seen)


def opened(made: Browser, url: str, way: str, before: str = "") -> Page:
    settings = json.dumps(json.dumps({"screen": way, "figures": True}))
    kept = f"localStorage.setItem('gameway-settings', {settings});"
    page = Page(made, made.open(url, kept + before))
    page.until("window.gameway && gameway.frames > 30", PATIENCE_S)
    page.evaluate(WATCH)
    return page


def shown(page: Page, seconds: float = SECONDS) -> list[Any]:
    """What was displayed in a while: element, RTP timestamp, time, width."""
    page.evaluate("drawn.length = 0")
    time.sleep(seconds)
    return list(page.evaluate("drawn"))


@pytest.fixture(scope="module")
def at_host(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[Page, Path, Popen[str], str]]:
    """A page that began with a canvas, and its host, whose picture grows with the bitrate."""
    folder = tmp_path_factory.mktemp("screen")
    with (
        host(folder, "gcc", RATES | LADDER, size=SIZE, input=True) as (url, process),
        browser(folder / "profile") as made,
    ):
        yield opened(made, url, "canvas"), folder, process, url
        if process.poll() is None:
            end(process)


def test_a_canvas_shows_the_scene_while_its_size_changes(at_host: Any) -> None:
    page, *_ = at_host
    assert page.evaluate("[gameway.screen.way, document.getElementById('canvas').hidden]") == [
        "canvas", False,
    ]  # fmt: skip
    page.until("!document.getElementById('lock').hidden")
    page.light()
    page.until(f"gameway.screen.size.value.width === {SIZE[0]}", PATIENCE_S)
    widths = {width for _, _, _, width in page.evaluate("drawn")}
    assert min(widths) < SIZE[0], widths
    page.light()
    box = page.evaluate("(({width, height}) => width / height)(gameway.picture)")
    assert abs(box - SIZE[0] / SIZE[1]) < 0.01
    assert page.evaluate("gameway.workerError") is None


def test_its_figures_are_true(at_host: Any) -> None:
    page, *_ = at_host
    # A small bitrate has half of the frames, until it has grown.
    page.until("gameway.figures.rate > 45", PATIENCE_S)
    seen = shown(page)
    assert {name for name, *_ in seen} == {"canvas"}
    stamps = [stamp for _, stamp, *_ in seen]
    assert stamps == sorted(set(stamps)), "each picture once, in order"
    figures = page.evaluate("gameway.figures")
    assert figures["height"] == SIZE[1]
    assert figures["decoding"] > 0
    assert figures["buffer"] >= 0
    said = page.evaluate("document.getElementById('shown-by').textContent")
    assert said == "Pictures by canvas: it is set so"
    with of_times():
        assert 45 < figures["rate"] < 75
        assert 0.7 * figures["rate"] * SECONDS < len(seen) < 1.2 * figures["rate"] * SECONDS
        assert figures["decoding"] + figures["buffer"] < figures["arrival"] < 60


def test_it_goes_over_and_back_while_one_plays(at_host: Any) -> None:
    page, *_ = at_host
    page.evaluate("document.querySelector('#settings') ?? document.getElementById('set').click()")
    page.until("window.screen_ = document.querySelector('#settings #screen')")
    for way in ("video", "canvas", "video"):
        # Who thinks better of it while a change is on its way is not left without a picture.
        page.evaluate(choice(way) + choice(page.evaluate("gameway.screen.way")))
        page.set(way)
        assert page.evaluate("document.getElementById('canvas').hidden") is (way == "video")
        page.light()
        seen = shown(page, 1.0)
        assert {name for name, *_ in seen} == {way}
        with of_times():
            assert len(seen) > 30, len(seen)
        inbound = page.evaluate(
            "connection.getStats().then((all) => [...all.values()]"
            ".filter((it) => it.type === 'inbound-rtp' && it.kind === 'video').length)"
        )
        assert inbound == 1, "the stream is taken once"


def test_who_began_with_a_video_goes_over_and_back(at_host: Any) -> None:
    """What carries all else must outlive the first receiver of pictures."""
    former, _, _, url = at_host
    page = opened(former.made, url, "video")
    page.evaluate("document.getElementById('set').click()")
    page.until("window.screen_ = document.querySelector('#settings #screen')")
    for way in ("canvas", "video", "canvas"):
        page.set(way)
        before = page.evaluate("gameway.frames")
        page.until(f"gameway.frames > {before} + 10")
        assert page.evaluate("connection.connectionState") == "connected"
    page.made.call("Page.close", {}, page.session)


def test_a_browser_that_lacks_something_shows_by_video_and_says_why(at_host: Any) -> None:
    page, _, _, url = at_host
    second = opened(page.made, url, "canvas", "delete window.VideoDecoder;")
    assert second.evaluate("gameway.screen.way") == "video"
    said = second.until("document.getElementById('shown-by')?.textContent")
    assert "decodes no pictures" in said
    assert {name for name, *_ in shown(second, 0.5)} == {"video"}


def test_the_host_is_asked_for_few_key_frames(at_host: Any) -> None:
    """What it has to say of all of the above, once: another try of this finds what it said."""
    _, folder, process, _ = at_host
    said = folder / "report.json"
    if not said.exists():
        said.write_text(json.dumps(end(process)), encoding="utf-8")
    report = json.loads(said.read_text(encoding="utf-8"))
    events = pl.read_parquet(folder / "events.parquet")
    keys = pl.read_parquet(folder / "host_frames.parquet")["key_frame"].sum()
    sizes = events.filter(pl.col("event") == "picture-size").height
    # A browser whose decoder gets nothing asks up to five times a second.
    assert report["page"]["unheeded_requests"] > 5, report["page"]
    # One for each page, for each size, three for each change of way.
    assert keys >= 2, (keys, sizes, report["page"])
    with of_times():
        # A page that falls behind begins anew with one.
        assert keys <= 2 * (2 + sizes) + 3 * 4, (keys, sizes, report["page"])


@needs_live
@pytest.mark.long("test_live_play.py::test_what_a_browser_asks_for_is_sent_again")
def test_a_canvas_survives_losses(tmp_path: Path) -> None:
    rates = {"start_bitrate": "6 Mb/s", "max_bitrate": "6 Mb/s", "repair": "nack"}
    loss = {"kind": "random", "probability": "3 %"}
    with stage(tmp_path, "fixed", rates, SIZE, loss=loss) as there:
        inside = ("ip", "netns", "exec", there.spaces.name("client"))
        # Without HTTPS a page decodes only on loopback, unless the browser is told.
        origin = f"http://{HOST}:{PORT}"
        flags = f"{FLAGS} --unsafely-treat-insecure-origin-as-secure={origin}"
        with browser(tmp_path / "profile", *inside, flags=flags) as made:
            page = opened(made, f"{origin}/#{quote(TOKEN)}", "canvas")
            seen = shown(page)
            way = page.evaluate("gameway.screen.way")
        report = there.host.result()
    assert way == "canvas"
    keys = pl.read_parquet(tmp_path / "host" / "host_frames.parquet")["key_frame"].sum()
    assert report["page"]["unheeded_requests"] > 5
    with of_times():
        assert len(seen) > 0.7 * MIN_LIVE_FPS * SECONDS, len(seen)
        assert keys < 20, keys


HOLDING = """
const look = RTCPeerConnection.prototype.getStats;
RTCPeerConnection.prototype.getStats = async function () {
  const found = [...(await look.call(this)).values()].map((one) =>
    one.type === "inbound-rtp" && one.kind === "video"
      ? { ...one, totalDecodeTime: one.totalDecodeTime - QUICKER / 1000 * one.framesDecoded }
      : one);
  return new Map(found.map((one) => [one.id, one]));
};
const call = HTMLVideoElement.prototype.requestVideoFrameCallback;
HTMLVideoElement.prototype.requestVideoFrameCallback = function (tell) {
  return call.call(this, (now, metadata) =>
    tell(now, { ...metadata, receiveTime: metadata.receiveTime - WAITED }));
};
"""
"""A browser that shows each picture so much later, or decodes it so much more quickly."""


@pytest.mark.long("test_live_screen.py::test_it_goes_over_and_back_while_one_plays")
@pytest.mark.parametrize(("waited_ms", "quicker_ms", "way"), [(60, 0, "canvas"), (0, 60, "video")])
def test_by_measurement_the_shorter_way_is_tried_and_kept(
    at_host: Any, waited_ms: int, quicker_ms: int, way: str
) -> None:
    """Where pictures are held `canvas` is tried, and kept only if it is the shorter way."""
    page, _, _, url = at_host
    browsers = HOLDING.replace("WAITED", str(waited_ms)).replace("QUICKER", str(quicker_ms))
    page = opened(page.made, url, "auto", browsers)
    assert page.evaluate("gameway.screen.choice.value.phase") == "first"
    page.until("gameway.screen.choice.value.phase === 'trial'", PATIENCE_S)
    page.until("gameway.screen.way === 'canvas'")
    page.until("gameway.screen.choice.value.phase === 'decided'", PATIENCE_S)
    page.until(f"gameway.screen.way === '{way}'")
    assert "from arrival to display" in page.evaluate("gameway.screen.choice.value.why")
