"""Debian's Firefox plays a host's scene, or says why it cannot.

It has no H.264 in WebRTC, since Debian turns off its plugin OpenH264: the host sends H.264 as
frames of VP8, and the page decodes them.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from browser_fixture import end, host
from firefox_fixture import AUTOPLAY, KEYS, NEEDS_FIREFOX, Firefox, firefox
from live_fixture import MIN_LIVE_FPS
from test_live_browser import check_sound
from test_live_gamepad import EMULATED
from test_live_pairing import FIELD, TRIES, gameway_host, wrong
from test_live_screen import RED, WATCH
from witness import of_times

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from subprocess import Popen

pytestmark = [NEEDS_FIREFOX, pytest.mark.timed]
LONG = pytest.mark.long(
    "test_live_firefox.py::test_a_firefox_is_paired_by_the_code_and_wrong_ones_lock"
)
"""Always: over HTTPS."""

SIZE = (640, 360)
RATES = {"min_bitrate": "500 kb/s", "start_bitrate": "1 Mb/s", "max_bitrate": "6 Mb/s"}
START_BPS = 1e6
SECONDS = 4.0
WAIT_S = 15.0
INBOUND = (
    "connection.getStats().then(all => [...all.values()].find("
    "it => it.type === 'inbound-rtp' && it.kind === '{kind}'))"
)
STATE = "document.getElementById('state').textContent"
ALERT = "document.querySelector('#pair [role=alert]')?.textContent"
MAY_PLAY = "!document.getElementById('lock').hidden && gameway.frames > 30"


def inbound(made: Firefox, kind: str) -> Any:
    return made.evaluate(INBOUND.replace("{kind}", kind))


def light(made: Firefox, code: str = "Space") -> None:
    """Hold a key until the marker is lit up, and release it until it is not."""
    made.key("keyDown", code)
    made.until(f"{RED} > 0.001", WAIT_S)
    made.key("keyUp", code)
    made.until(f"{RED} < 0.0001", WAIT_S)


@pytest.fixture(scope="module")
def at_host(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[Firefox, Path, Popen[str], str]]:
    """A page that plays, and its host."""
    folder = tmp_path_factory.mktemp("firefox")
    with (
        host(folder, "gcc", RATES, size=SIZE, input=True, audio=True) as (url, process),
        firefox(folder / "profile", **AUTOPLAY) as made,
    ):
        made.open(url)
        made.until(MAY_PLAY)
        yield made, folder, process, url
        if process.poll() is None:
            end(process)


@pytest.mark.alone
def test_the_scene_is_played_by_keys_and_mouse(at_host: Any) -> None:
    made, *_ = at_host
    assert made.evaluate("RTCRtpReceiver.getCapabilities('video').codecs.map(it => it.mimeType)")
    assert made.evaluate("gameway.connection") == "connected"
    light(made)
    made.key("keyDown", "KeyW")
    made.until(f"{RED} > 0.001", WAIT_S)
    # Who looks elsewhere holds nothing.
    made.evaluate("void dispatchEvent(new Event('blur'))")
    made.until(f"{RED} < 0.0001", WAIT_S)
    made.key("keyUp", "KeyW")
    made.evaluate("void dispatchEvent(new Event('focus'))")
    x, y = made.evaluate(
        "(({x, y, width, height}) => [x + width / 4, y + height / 4])(gameway.picture)"
    )
    made.mouse(
        {"type": "pointerMove", "x": round(x), "y": round(y)}, {"type": "pointerDown", "button": 0}
    )
    made.until(f"{RED} > 0.001", WAIT_S)
    made.mouse({"type": "pointerUp", "button": 0})
    made.until(f"{RED} < 0.0001", WAIT_S)
    assert made.evaluate("gameway.workerError ?? gameway.error ?? null") is None


@pytest.mark.alone
def test_it_shows_what_the_host_makes_with_sound(at_host: Any) -> None:
    made, *_ = at_host
    made.evaluate(
        "document.getElementById('figures').hidden && document.getElementById('show').click()"
    )
    said = made.until("document.getElementById('shown-by')?.textContent")
    assert said == "Pictures by canvas: this browser takes no H.264 by WebRTC"
    made.evaluate("document.getElementById('set').click()")
    made.until("document.querySelector('#settings #screen') !== null")
    there = (
        "(({ disabled, value }) => [disabled, value])(document.querySelector('#settings #screen'))"
    )
    assert made.evaluate(there) == [True, "canvas"]
    made.evaluate("document.getElementById('set').click()")
    made.run(WATCH)
    before, sound = inbound(made, "video"), inbound(made, "audio")
    time.sleep(SECONDS)
    seen = made.evaluate("drawn")
    after, more_sound = inbound(made, "video"), inbound(made, "audio")
    stamps = [stamp for _, stamp, *_ in seen]
    assert stamps == sorted(set(stamps)), "each picture once, in order"
    assert {name for name, *_ in seen} == {"canvas"}
    assert after["packetsReceived"] > before["packetsReceived"]
    assert after["framesDecoded"] == 0, "the browser itself decodes nothing"
    check_sound(sound, more_sound)
    figures = made.evaluate("gameway.figures")
    assert figures["height"] == SIZE[1]
    with of_times():
        assert len(seen) > 0.7 * MIN_LIVE_FPS * SECONDS, len(seen)
        assert 45 < figures["rate"] < 75
        assert figures["arrival"] < 100


@pytest.mark.alone
def test_a_gamepad_is_told_of(at_host: Any) -> None:
    made, *_ = at_host
    made.run(EMULATED + "Object.assign(window, { plug, unplug, press });")
    made.run("plug(0)")
    made.until("gameway.gamepads?.pads === 1", WAIT_S)
    before = made.evaluate("gameway.gamepads.messages")
    made.run("press(0, 0, 1)")
    made.until(f"gameway.gamepads.held && gameway.gamepads.messages > {before}", WAIT_S)
    made.run("press(0, 0, 0)")
    made.until("!gameway.gamepads.held && !gameway.gamepads.waiting", WAIT_S)
    made.run("unplug(0)")
    made.until("gameway.gamepads.pads === 0", WAIT_S)


@pytest.mark.alone
def test_no_key_sticks_when_the_page_is_gone(at_host: Any) -> None:
    made, _, _, url = at_host
    made.key("keyDown", "KeyA")
    made.until(f"{RED} > 0.001", WAIT_S)
    # It ends while the key is held: nothing says that it is up.
    made.open("about:blank")
    made.open(url)
    made.until(MAY_PLAY)
    made.until(f"{RED} < 0.0001", WAIT_S)
    assert made.evaluate("gameway.input.newest") == 0
    made.key("keyUp", "KeyA")
    light(made)


@pytest.mark.alone
def test_the_controller_hears_of_its_packets(at_host: Any) -> None:
    """What the host says of all of the above, once: another try of this finds what it said."""
    _, folder, process, _ = at_host
    said = folder / "report.json"
    if not said.exists():
        said.write_text(json.dumps(end(process)), encoding="utf-8")
    page = json.loads(said.read_text(encoding="utf-8"))["page"]
    frames = pl.read_parquet(folder / "host_frames.parquet").sort("frame")
    targets = frames["target_bps"]
    assert page["presented"] > 0
    assert targets[0] == START_BPS
    with of_times():
        # Without reports it stays where it began.
        assert targets.max() > 3 * START_BPS, targets.max()
        # One for each page, few more on a busy machine. A browser whose decoder gets nothing asks
        # for more.
        assert frames["key_frame"].sum() <= 10, (frames["key_frame"].sum(), page)


@pytest.mark.parametrize("scheme", [pytest.param("http", marks=LONG), "https"])
def test_a_firefox_is_paired_by_the_code_and_wrong_ones_lock(tmp_path: Path, scheme: str) -> None:
    with (
        gameway_host(tmp_path / "state", scheme) as there,
        firefox(tmp_path / "profile") as made,
    ):
        code = there.codes(1)
        made.open(there.link)
        made.until("document.activeElement.id === 'code'")
        assert made.evaluate("isSecureContext")
        for _ in range(TRIES):
            made.evaluate(f"{FIELD}.select()")
            made.type(wrong(code) + KEYS["Enter"])
            made.until(f"{ALERT} !== '' && !document.querySelector('#pair button').disabled")
        # That one is good no more, and there is another.
        made.evaluate(f"{FIELD}.select()")
        made.type(code + KEYS["Enter"])
        made.until(f"!document.querySelector('#pair button').disabled && {ALERT} !== ''")
        assert made.evaluate(FIELD), "it is not let in"
        made.evaluate(f"{FIELD}.select()")
        made.type(there.codes(2) + KEYS["Enter"])
        made.until("gameway.frames > 30")
        assert "Firefox on Linux" in there.devices().stdout


def test_a_firefox_that_cannot_decode_says_why(tmp_path: Path) -> None:
    with (
        host(tmp_path, "fixed", RATES, size=SIZE) as (url, process),
        firefox(tmp_path / "profile", **{"media.ffmpeg.enabled": False}) as made,
    ):
        made.open(url)
        said = made.until(f"{STATE}.includes('H.264') && {STATE}")
        end(process)
    assert "decodes no H.264 for pages" in said
    assert "OpenH264" in said
    assert "libavcodec" in said
