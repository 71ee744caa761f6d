"""The page around the picture: settings, keyboard, screen readers, touch, the panel of a lab."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from browser_fixture import (
    NEEDS_CHROMIUM,
    SOUND_DIRECTION,
    Browser,
    browser,
    end,
    host,
    until_frames,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [NEEDS_CHROMIUM, pytest.mark.timed, pytest.mark.light]

ROOT = Path(__file__).resolve().parents[2]
RATES = {"min_bitrate": "4 Mb/s", "start_bitrate": "4 Mb/s", "max_bitrate": "4 Mb/s"}
WAIT_S = 15.0
SPAN_S = float(os.environ.get("GAMEWAY_FIGURES_SECONDS", "0"))
"""How long the cost of figures is measured, each time."""
SIZE = (1280, 720) if SPAN_S else (320, 180)
LAB = (Path(__file__).parent / "lab_fixture.js").read_text("utf-8")
AXE = ROOT / "web/page/node_modules/axe-core/axe.min.js"
NEEDS_AXE = pytest.mark.skipif(not AXE.exists(), reason="needs axe-core: make ready")
CONTROL_ALT_SHIFT = 1 | 2 | 8
KEYS = {"Tab": 9, "Enter": 13, "Escape": 27, "Space": 32, "ArrowLeft": 37, "ArrowRight": 39}
KEYS |= {"ArrowDown": 40}
QUESTIONS = [
    {"name": name, "text": f"How was the {name}?", "answers": ["Bad", "Fair", "Good"]}
    for name in ("picture", "delay")
]


class Page(NamedTuple):
    """A page that plays."""

    made: Browser
    session: str

    def evaluate(self, expression: str) -> Any:
        return self.made.evaluate(self.session, expression)

    def until(self, expression: str) -> Any:
        """Give what an expression has, once that is something."""
        return self.made.until(self.session, expression)

    def do(self, method: str, **params: Any) -> None:
        self.made.call(f"Input.{method}", params, self.session)

    def key(self, code: str, modifiers: int = 0, text: str = "") -> None:
        """Press and release a key."""
        number = KEYS.get(code)
        key = {"code": code, "key": " " if code == "Space" else code, "modifiers": modifiers}
        key |= {"windowsVirtualKeyCode": number} if number else {}
        self.do("dispatchKeyEvent", type="keyDown", **key, **({"text": text} if text else {}))
        self.do("dispatchKeyEvent", type="keyUp", **key)

    def touch(self, kind: str, *places: tuple[float, float]) -> None:
        points = [{"x": x, "y": y, "id": at} for at, (x, y) in enumerate(places)]
        self.do("dispatchTouchEvent", type=kind, touchPoints=points)

    def place(self, selector: str, x: float = 0.5, y: float = 0.5) -> tuple[float, float]:
        """Where a part of an element is."""
        box = self.evaluate(
            f"(({{x, y, width, height}}) => [x + {x} * width, y + {y} * height])"
            f"(document.querySelector('{selector}').getBoundingClientRect())"
        )
        return box[0], box[1]


class Opener(NamedTuple):
    """A browser and the link of a host whose scene is played."""

    made: Browser
    url: str

    def open(self, before: str = "") -> Page:
        page = Page(self.made, self.made.open(self.url, before))
        until_frames(self.made, page.session)
        page.until("!document.getElementById('lock').hidden")
        return page

    def with_settings(self, before: str = "", **settings: Any) -> Page:
        kept = f"localStorage.setItem('gameway-settings', {json.dumps(json.dumps(settings))});"
        return self.open(kept + before)


@pytest.fixture(scope="module")
def opener(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opener]:
    folder: Path = tmp_path_factory.mktemp("page")
    with (
        host(folder, "fixed", RATES, size=SIZE, input=True) as (url, process),
        browser(folder / "profile") as made,
    ):
        yield Opener(made, url)
        end(process)


def test_settings_are_remembered(opener: Opener) -> None:
    page = opener.open()
    assert page.evaluate("[document.getElementById('figures').hidden, video.volume]") == [True, 1]
    page.evaluate("document.getElementById('show').click()")
    page.evaluate("document.getElementById('set').click()")
    page.until("document.getElementById('volume') !== null")
    # This host has no sound, and a browser plays no silence for it.
    assert page.evaluate(SOUND_DIRECTION) == "inactive"
    # A host without a test card offers no measurement.
    assert page.evaluate("document.getElementById('show-photon')") is None
    page.evaluate("volume.value = 30; volume.dispatchEvent(new Event('input', { bubbles: true }))")
    page.until("video.volume === 0.3")
    again = opener.open()
    assert again.evaluate("[document.getElementById('figures').hidden, video.volume]") == [
        False, 0.3,
    ]  # fmt: skip
    again.evaluate("localStorage.clear()")


def test_who_has_set_nothing_has_the_way_of_pictures_that_is_measured(opener: Opener) -> None:
    # What a test's browser sets by itself is taken away again.
    page = opener.open("Storage.prototype.setItem = () => {};")
    assert page.evaluate("localStorage.getItem('gameway-settings')") is None
    assert page.evaluate("['first', 'watch', 'trial'].includes(gameway.screen.choice.value.phase)")
    twin = opener.open()
    assert twin.evaluate("gameway.screen.choice.value.why") == "it is set so"


def cpu_seconds(made: Browser) -> float:
    """What the processes that draw pages and put them on the screen have taken."""
    processes = made.call("SystemInfo.getProcessInfo", {})["processInfo"]
    return float(sum(it["cpuTime"] for it in processes if it["type"] in {"renderer", "GPU"}))


@pytest.mark.skipif(SPAN_S == 0, reason="GAMEWAY_FIGURES_SECONDS=30 on a quiet machine")
def test_figures_take_less_than_two_hundredths_of_a_core(opener: Opener) -> None:
    page = opener.with_settings()
    shares: list[float] = []
    for _ in range(6):
        before = cpu_seconds(opener.made)
        time.sleep(SPAN_S)
        shares.append((cpu_seconds(opener.made) - before) / SPAN_S)
        page.evaluate("document.getElementById('show').click()")
        time.sleep(2)
    print("shares of a core, hidden and shown by turns:", [f"{share:.3f}" for share in shares])  # noqa: T201
    assert (sum(shares[1::2]) - sum(shares[::2])) / 3 < 0.02


def test_what_cannot_be_read_is_as_if_never_set(opener: Opener) -> None:
    page = opener.open("localStorage.setItem('gameway-settings', '{no JSON');")
    assert page.evaluate("[document.getElementById('figures').hidden, video.volume]") == [True, 1]


def test_all_is_done_by_keys_and_escape_gives_them_back(opener: Opener) -> None:
    page = opener.with_settings()
    focused = "document.activeElement.id"
    page.key("KeyM", CONTROL_ALT_SHIFT)
    assert page.evaluate(focused) == "lock"
    for _ in range(3):
        page.key("ArrowRight")
    assert page.evaluate(focused) == "show"
    page.key("Enter", text="\r")
    page.until("!document.getElementById('figures').hidden")
    assert page.evaluate("document.getElementById('show').ariaPressed") == "true"
    assert page.evaluate("gameway.input.newest") == 0, "the program was told nothing of all that"
    page.key("Escape")
    assert page.evaluate("document.activeElement === document.body")
    page.key("Space")
    assert page.until("gameway.input.newest") == 2
    # The settings stand in the toolbar, too.
    page.key("KeyM", CONTROL_ALT_SHIFT)
    for _ in range(4):
        page.key("ArrowRight")
    page.key("Enter", text="\r")
    page.until("document.getElementById('settings') !== null")
    page.key("Tab")
    page.until(f"{focused} === 'volume'")


def test_who_clicks_a_button_goes_on_to_play(opener: Opener) -> None:
    page = opener.with_settings()
    x, y = page.place("#show")
    for kind in ("mousePressed", "mouseReleased"):
        page.do("dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
    page.until("!document.getElementById('figures').hidden")
    page.key("Space")
    assert page.until("gameway.input.newest") == 2


def test_the_connection_is_told_in_words(opener: Opener) -> None:
    page = opener.with_settings(figures=True)
    said = "document.getElementById('state')"
    figure = "document.querySelector('#figures td').textContent"
    page.until(f"{said}.textContent === 'Connected.'")
    assert page.evaluate(f"{said}.getAttribute('role')") == "status"
    page.until(figure)
    opener.with_settings()
    page.until(f"{said}.textContent.startsWith('The stream has ended: ')")
    page.until(f"{said}.getBoundingClientRect().height > 10")
    # Figures of the end are none of what is so now.
    page.until(f"{figure} === ''")


def violations(page: Page) -> Any:
    """Give what axe-core finds wrong, with the first place of each."""
    page.evaluate(AXE.read_text("utf-8") + ";0")
    return page.evaluate(
        "axe.run().then((all) => all.violations.map(({ id, nodes }) => [id, nodes[0].html]))"
    )


@NEEDS_AXE
def test_a_screen_reader_understands_the_pairing(opener: Opener) -> None:
    before = "localStorage.clear(); window.fetch = async () => new Response(null, { status: 204 });"
    page = Page(opener.made, opener.made.open(opener.url.partition("#")[0], before))
    page.until("document.activeElement.id === 'code'")
    page.evaluate("document.querySelector('#pair button').click()")
    page.until("document.getElementById('why').textContent.includes('6 digits')")
    assert violations(page) == []


@NEEDS_AXE
def test_a_screen_reader_understands_it(opener: Opener) -> None:
    page = opener.with_settings(LAB, figures=True, touch="on")
    for button in ("set", "show-lab"):
        page.until(f"!document.getElementById('{button}').hidden")
        page.evaluate(f"document.getElementById('{button}').click()")
    page.until("document.querySelector('#figures td').textContent")
    page.until("document.querySelector('#lab') !== null")
    for scheme in ("dark", "light"):
        media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        page.made.call("Emulation.setEmulatedMedia", media, page.session)
        assert violations(page) == [], scheme
    page.evaluate(f"lab.state.questions = {json.dumps(QUESTIONS)}; lab.state.note = 'Two minutes.'")
    page.until("document.querySelector('dialog[open]') !== null")
    assert violations(page) == []


def test_fingers_hold_keys_and_move_the_mouse(opener: Opener) -> None:
    page = opener.with_settings(touch="on")
    page.until("document.querySelector('.pad') !== null")
    # The right of the pad, then the upper right, and fire beside it.
    page.touch("touchStart", page.place(".pad", 0.95, 0.5))
    assert page.until("document.querySelector('.pad').dataset.held") == "ArrowRight"
    page.touch("touchMove", page.place(".pad", 0.9, 0.1))
    page.until("document.querySelector('.pad').dataset.held === 'ArrowRight ArrowUp'")
    page.touch("touchStart", page.place(".pad", 0.9, 0.1), page.place("[data-code=ControlLeft]"))
    page.until("gameway.input.newest === 3")
    page.touch("touchEnd")
    page.until("gameway.input.newest === 6 && !gameway.input.held")
    # A drag on the picture moves the mouse and presses nothing; a tap is a click.
    messages = page.evaluate("gameway.input.messages")
    page.touch("touchStart", page.place("video", 0.4, 0.3))
    page.touch("touchMove", page.place("video", 0.6, 0.4))
    page.until(f"gameway.input.messages > {messages}")
    time.sleep(0.3)
    page.touch("touchEnd")
    assert page.evaluate("gameway.input.newest") == 6
    page.touch("touchStart", page.place("video", 0.5, 0.3))
    page.touch("touchEnd")
    page.until("gameway.input.newest === 8 && !gameway.input.held")


def test_an_upright_phone_shows_picture_buttons_and_figures_without_scrolling_aside(
    opener: Opener,
) -> None:
    page = opener.with_settings(figures=True, touch="on")
    phone = {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True}
    page.made.call("Emulation.setDeviceMetricsOverride", phone, page.session)
    page.until("innerWidth === 390")
    page.until("document.querySelector('#figures td').textContent")
    boxes = page.evaluate(
        "Object.fromEntries(['video', '.bar', '#figures', '.pad'].map((one) => {"
        "  const { x, y, width, height } = document.querySelector(one).getBoundingClientRect();"
        "  return [one, { x, y, width, height }];"
        "}))"
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= 390, boxes
    for name, box in boxes.items():
        assert box["x"] >= -0.5, (name, box)
        assert box["x"] + box["width"] <= 390.5, (name, box)
        assert box["height"] > 0, (name, box)
    # The picture is above all that is not to cover it.
    video, figures = boxes["video"], boxes["#figures"]
    assert figures["y"] >= video["y"] + video["width"] * SIZE[1] / SIZE[0] - 0.5, boxes


def test_the_host_tells_how_late_frames_are_and_how_much_is_repair(opener: Opener) -> None:
    page = opener.with_settings(figures=True)
    page.until("gameway.figures && gameway.figures.delay !== null")
    figures = page.evaluate("gameway.figures")
    # From capture to display on one machine, of frames each 16.7 ms; nothing is lost on loopback.
    assert 3 < figures["delay"] < 500
    assert 0 <= figures["repair"] < 1
    assert figures["photon"] is None
    shown = page.evaluate("document.getElementById('figures').textContent")
    assert "ms from capture to display" in shown
    assert "% repair" in shown


def test_without_touch_there_are_no_touch_controls(opener: Opener) -> None:
    page = opener.with_settings()
    assert page.evaluate("document.getElementById('touch-controls')") is None


def test_a_host_without_a_lab_has_no_panel_and_is_not_asked_again(opener: Opener) -> None:
    page = opener.with_settings(
        "window.asked = 0; const elsewhere = fetch; window.fetch = (path, options) => {"
        " asked += path === '/lab'; return elsewhere(path, options); };"
    )
    page.until("asked === 1")
    time.sleep(1.5)
    assert page.evaluate("[asked, document.getElementById('show-lab').hidden]") == [1, True]


def in_lab(opener: Opener, before: str = "") -> Page:
    """Open a page with the lab's panel."""
    page = opener.with_settings(LAB + before)
    page.until("!document.getElementById('show-lab').hidden")
    page.evaluate("document.getElementById('show-lab').click()")
    page.until("document.getElementById('lab') !== null")
    return page


def test_knobs_tell_the_lab_and_go_back_when_it_refuses(opener: Opener) -> None:
    page = in_lab(opener)
    written = "document.querySelector('.knob:has(#knob-capacity) output').textContent"
    assert page.evaluate(written) == "25 Mb/s"
    page.evaluate("document.getElementById('knob-capacity').focus()")
    page.key("ArrowRight")
    page.until("lab.told.length === 1")
    page.evaluate(
        "const queue = document.getElementById('knob-queue'); queue.value = 'codel';"
        "queue.dispatchEvent(new Event('change', { bubbles: true }))"
    )
    page.until("lab.told.length === 2")
    page.evaluate("document.querySelectorAll('[name=downloads]')[1].click()")
    page.until("lab.told.length === 3")
    page.evaluate("document.getElementById('record').click()")
    page.until("lab.told.length === 4")
    assert page.evaluate("lab.told") == [
        {"knobs": {"capacity": "50 Mb/s"}},
        {"knobs": {"queue": "codel"}},
        {"knobs": {"downloads": ["cubic", "bbr"]}},
        {"keep": True},
    ]
    page.evaluate("lab.refusal = 'The link is no faster.'")
    page.evaluate("document.getElementById('knob-capacity').focus()")
    page.key("ArrowLeft")
    knob = "document.querySelector('.knob:has(#knob-capacity)')"
    page.until(f"{knob}.textContent.includes('The link is no faster.')")
    page.until(f"{written} === '50 Mb/s'")
    assert page.evaluate("document.getElementById('knob-capacity').value") == "3"
    assert page.evaluate("gameway.input.newest") == 0, "keys of the panel are its own"


def test_a_lab_that_is_looked_at_is_asked_each_second(opener: Opener) -> None:
    page = in_lab(opener)
    page.until("document.querySelectorAll('#lab canvas').length === 2")
    before = page.evaluate("lab.looks")
    time.sleep(3)
    assert 2 <= page.evaluate("lab.looks") - before <= 4
    page.evaluate("document.getElementById('show-lab').click()")
    time.sleep(1.5)
    before = page.evaluate("lab.looks")
    time.sleep(3)
    assert page.evaluate("lab.looks") - before <= 1


def test_what_stands_beside_a_box_fits_into_the_panel(opener: Opener) -> None:
    why = f"ffmpeg made no video: {'/a-folder-that-has-a-long-name' * 4}: No space left on device"
    remarks, lacking = json.dumps({"video": why}), json.dumps({"ftp": why})
    page = in_lab(opener, f"lab.state.remarks = {remarks}; lab.state.lacking = {lacking};")
    for name in ("remark-video", "lacking-ftp"):
        page.until(f"document.getElementById('{name}').textContent.includes('No space left')")
    boxes = "[...document.querySelectorAll('#lab input[type=checkbox]')]"
    beside = f"{boxes}.filter(it => !it.disabled && it.ariaDescribedByElements?.[0]?.textContent)"
    assert page.evaluate(f"{beside}.map(it => it.parentElement.textContent)") == ["video"]
    for width in (390, 1280):
        size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False}
        page.made.call("Emulation.setDeviceMetricsOverride", size, page.session)
        # The panel is laid out anew some frames after the window has its size.
        wider = "(it => it.scrollWidth - it.clientWidth)(document.getElementById('lab'))"
        page.until(f"innerWidth === {width} && {wider} === 0")


def test_a_blind_test_shows_neither_knobs_nor_figures(opener: Opener) -> None:
    page = in_lab(opener, "lab.state.blind = true; lab.state.note = 'Play until it ends.';")
    page.evaluate("document.getElementById('show').click()")
    time.sleep(2)
    assert page.evaluate("document.getElementById('figures').hidden"), "they tell of the path"
    shown = page.evaluate("document.getElementById('app').textContent")
    assert "Play until it ends." in shown
    for hidden in ("Capacity", "25", "drop-tail", "queue at the link"):
        assert hidden not in page.evaluate("document.getElementById('lab').textContent"), hidden
    assert "queue at the link" not in shown
    assert page.evaluate("document.querySelectorAll('#lab canvas, #lab select').length") == 0
    page.evaluate("lab.state.blind = false")
    page.until("document.querySelector('#figures').textContent.includes('queue at the link')")


def test_questions_are_answered_by_keys_while_the_game_is_told_nothing(opener: Opener) -> None:
    page = in_lab(opener)
    page.evaluate(f"lab.state.questions = {json.dumps(QUESTIONS)}")
    page.until("document.querySelector('dialog[open]') !== null")
    page.key("Escape")
    assert page.evaluate("document.querySelector('dialog').open"), "it waits for an answer"
    page.until("document.activeElement.name === 'picture'")
    page.key("Space", text=" ")
    page.key("Enter", text="\r")
    assert page.evaluate("lab.told") == [], "one question is not answered yet"
    page.key("ArrowDown")
    page.key("ArrowDown")
    page.until("document.querySelector('[name=delay]:checked') !== null")
    page.key("Enter", text="\r")
    page.until("document.querySelector('dialog') === null")
    (told,) = page.evaluate("lab.told")
    assert told["answers"].keys() == {"picture", "delay"}
    assert told["answers"]["picture"] == 1
    assert told["answers"]["delay"] in {1, 2, 3}
    assert page.evaluate("gameway.input.newest") == 0
