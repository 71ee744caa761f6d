"""Gamepads of a page in Chromium as SDL sees them, in a machine whose kernel has uinput."""

from __future__ import annotations

import json
import os
import random
import shutil
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from browser_fixture import NEEDS_CHROMIUM, TOKEN, Browser, browser, end, host
from live_fixture import one_stream
from machine import ADDRESS, NEEDS_MACHINE, machine
from ports_fixture import free_port
from sdl_program import MILLIS, STRONG, WEAK
from test_live_input import Page
from test_play import difference, eventually
from test_play import play as play_program

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = [NEEDS_CHROMIUM, pytest.mark.timed]
HERE = Path(__file__).parent
ROUNDS = int(os.environ.get("GAMEWAY_GAMEPAD_ROUNDS", "3"))
"""How often a connection ends while something is held; with many in the environment."""
RATES = {"min_bitrate": "1 Mb/s", "start_bitrate": "1 Mb/s", "max_bitrate": "1 Mb/s"}
PATIENCE_S = 20.0
BOOT_S = 120.0
"""A busy machine takes that long."""
EMULATED = """
const pads = [null, null, null, null];
const effects = [];
navigator.getGamepads = () => pads.map((pad) => pad && { ...pad });
function plug(index, mapping = "standard") {
  const vibrationActuator = {
    playEffect: async (kind, effect) => { effects.push([index, kind, effect]); },
    reset: async () => { effects.push([index, "reset"]); },
  };
  const buttons = Array.from({ length: 17 }, () => ({ pressed: false, touched: false, value: 0 }));
  pads[index] = { index, mapping, buttons, axes: [0, 0, 0, 0], connected: true, vibrationActuator,
    id: `Pad ${index} (STANDARD GAMEPAD Vendor: 1 Product: 2)` };
  dispatchEvent(new Event("gamepadconnected"));
}
function unplug(index) {
  pads[index] = null;
  dispatchEvent(new Event("gamepaddisconnected"));
}
function press(index, button, value) {
  pads[index].buttons[button] = { pressed: value > 0.1, touched: value > 0, value };
}
"""
"""Gamepads in the place of the browser's own, which has none here."""
AT_SDL = {
    0: "a", 1: "b", 2: "x", 3: "y", 8: "back", 16: "guide", 9: "start", 10: "leftstick",
    11: "rightstick", 4: "leftshoulder", 5: "rightshoulder", 12: "up", 13: "down", 14: "left",
    15: "right",
}  # fmt: skip
"""SDL's names of the buttons of the standard mapping, in SDL's order."""
SDL_ORDER = (
    "a", "b", "x", "y", "back", "guide", "start", "leftstick", "rightstick", "leftshoulder",
    "rightshoulder", "up", "down", "left", "right",
)  # fmt: skip
AT_REST = {"buttons": [0] * 15, "axes": [0] * 6}
SAMPLES = """(() => {{
  const canvas = new OffscreenCanvas(80, 45);
  const context = canvas.getContext("2d");
  context.drawImage(video, 0, 0, 80, 45);
  return [...context.getImageData({}).data].filter((_, at) => at % 4 === 1);
}})()"""
"""Green samples of a part of the picture, of 80 by 45 in all."""
VIEW = SAMPLES.format("36, 0, 44, 30")
"""What the player sees, without the pistol and what the frame's number covers at the left."""
PISTOL = SAMPLES.format("34, 26, 14, 14")
STILL, MOVED = 3.0, 8.0
"""Mean difference of two views, of 255: of codecs, and of another place or direction."""
NEEDS_GAME = pytest.mark.skipif(
    not all(
        map(
            Path.exists,
            (Path("/usr/games/crispy-doom"), Path("/usr/share/games/doom/freedoom2.wad")),
        )
    ),
    reason="needs crispy-doom and freedoom",
)


class Seen:
    """What the machine says, line by line."""

    def __init__(self, output: Any) -> None:
        self.lines: list[Any] = []
        self.plain = ""
        self._changed = threading.Condition()
        threading.Thread(target=self._read, args=(output,), daemon=True).start()

    def _read(self, output: Any) -> None:
        for line in output:
            try:
                said = json.loads(line)
            except ValueError:
                said = line.strip()
            with self._changed:
                self.lines.append(said)
                self._changed.notify_all()

    def wait(self, fits: Callable[[Any], bool], since: int = 0, limit_s: float = PATIENCE_S) -> Any:
        """Wait for a line that fits, and give it."""
        until = time.monotonic() + limit_s
        with self._changed:
            while True:
                for line in self.lines[since:]:
                    if fits(line):
                        return line
                left = until - time.monotonic()
                if left <= 0:
                    pytest.fail(f"said: {self.lines[since:][-12:]}")
                self._changed.wait(left)

    def key(self, name: str, value: Any, since: int = 0) -> Any:
        return self.wait(lambda line: isinstance(line, dict) and line.get(name) == value, since)

    def state(self, pad: int, since: int, **wanted: Any) -> Any:
        """Wait until a gamepad is like this."""

        def fits(line: Any) -> bool:
            is_own = isinstance(line, dict) and line.get("pad") == pad
            return is_own and all(line[name] == value for name, value in wanted.items())

        return self.wait(fits, since)

    def there(self) -> int:
        told = [line["there"] for line in self.lines if isinstance(line, dict) and "there" in line]
        return told[-1] if told else 0


class Play:
    """A browser, the link of the host in the machine, and what a program there sees."""

    def __init__(self, made: Browser, url: str, seen: Seen, shared: Path) -> None:
        self.made, self.url, self.seen, self.shared = made, url, seen, shared
        self.session = ""

    def open(self) -> None:
        self.session = self.made.open(self.url, EMULATED)
        self.until("!document.getElementById('lock').hidden")

    def do(self, script: str) -> Any:
        return self.made.evaluate(self.session, script)

    def moved(self, before: list[int]) -> float:
        """Give the mean difference of what the player sees now."""
        return difference(before, self.do(VIEW))

    def view_at_rest(self) -> list[int]:
        """Wait until what the player sees stays for a second, and give it."""
        until = time.monotonic() + PATIENCE_S
        while True:
            before: list[int] = self.do(VIEW)
            time.sleep(1)
            if self.moved(before) < STILL:
                return before
            assert time.monotonic() < until, self.moved(before)

    def turn_away(self, before: list[int], script: str, what: str) -> None:
        """Do something by which the player is to see something else."""
        self.do(script)
        assert eventually(lambda: self.moved(before) > MOVED), what

    def until(self, expression: str, limit_s: float = PATIENCE_S) -> None:
        until = time.monotonic() + limit_s
        while not self.do(expression):
            assert time.monotonic() < until, expression
            time.sleep(0.02)


@pytest.fixture(scope="module")
def play(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Play]:
    folder: Path = tmp_path_factory.mktemp("gamepad")
    shared, port = folder / "shared", free_port()
    shared.mkdir()
    stream = {"name": "game", **one_stream("fixed", **RATES)["stream"][0], "controller": "fixed"}
    config = {"stream": stream, "listen": f"{ADDRESS}:{port}", "token": TOKEN, "audio": False}
    config |= {"media_addresses": ["127.0.0.1"], "size": "320x180", "source": "x11::9"}
    config |= {"input": True, "folder": "/tmp"}
    (shared / "host.json").write_text(json.dumps(config))
    command = [sys.executable, str(HERE / "played_machine.py"), "/shared"]
    with (
        machine(folder, command, modules=("uinput", "evdev", "joydev"), ports=(port,)) as process,
        browser(folder / "profile") as made,
    ):
        seen = Seen(process.stdout)
        seen.wait(lambda line: line == "ready", limit_s=BOOT_S)
        seen.key("ready", "sdl")
        yield Play(made, f"http://127.0.0.1:{port}/#{TOKEN}", seen, shared)


def test_the_built_in_scene_is_played_by_a_gamepad(tmp_path: Path) -> None:
    rates = dict.fromkeys(RATES, "8 Mb/s")
    with (
        host(tmp_path, "fixed", rates, size=(640, 360), input=True) as (url, process),
        browser(tmp_path / "profile") as made,
    ):
        page = Page(made, "").opened(url, EMULATED)
        made.evaluate(page.session, "plug(0); plug(2, '')")
        status = "document.getElementById('status').textContent"
        assert eventually(lambda: "Pad 2 is not understood" in made.evaluate(page.session, status))
        assert made.evaluate(page.session, "gameway.gamepads.pads") == 1
        made.evaluate(page.session, "press(0, 0, 1)")
        before = page.wait(lambda seen: seen is not None)
        assert before is not None
        made.evaluate(page.session, "void (pads[0].axes[0] = 1)")
        page.wait(lambda seen: seen is not None and seen.x > before.x + 0.1)
        # Who looks elsewhere holds nothing, until the page has the focus again.
        made.evaluate(page.session, "dispatchEvent(new Event('blur'))")
        page.wait(lambda seen: seen is None)
        made.evaluate(page.session, "dispatchEvent(new Event('focus'))")
        page.wait(lambda seen: seen is not None)
        made.evaluate(page.session, "unplug(0)")
        page.wait(lambda seen: seen is None)
        newest = made.evaluate(page.session, "gameway.gamepads.messages")
        assert made.evaluate(page.session, "gameway.gamepads.held") is False
        made.evaluate(page.session, "document.getElementById('set').click()")
        listed = made.evaluate(page.session, "document.getElementById('gamepads').textContent")
        assert listed.startswith("GamepadsPad 2 is not understood")
        assert made.evaluate(page.session, "gameway.gamepads.messages") <= newest + 1
        end(process)


@pytest.mark.skipif(shutil.which("Xvfb") is None, reason="needs Xvfb")
@pytest.mark.skipif(Path("/dev/uinput").exists(), reason="needs a machine without /dev/uinput")
def test_the_page_says_that_the_host_has_no_gamepads(tmp_path: Path) -> None:
    with (
        play_program(tmp_path / "run", "--size", "320x180", "sleep", "100") as playing,
        browser(tmp_path / "profile") as made,
    ):
        page = Page(made, "").opened(playing.link, EMULATED)
        complaint = "document.getElementById('complaint').textContent"
        assert made.evaluate(page.session, complaint) == ""
        made.evaluate(page.session, "plug(0)")
        told = "the host has no gamepads: gameway doctor there says why"
        assert eventually(lambda: made.evaluate(page.session, complaint) == told)


def place_at_sdl(button: int) -> int:
    return SDL_ORDER.index(AT_SDL[button])


@NEEDS_MACHINE
def test_a_program_sees_all_buttons_and_axes_of_two_gamepads(play: Play) -> None:
    play.open()
    # Those of the browser's numbers 1 and 3 are the first and the second.
    play.do("plug(1); plug(3);")
    named = play.seen.key("there", 2)
    assert named["name"].startswith(("Xbox 360", "X360", "Gameway")), named
    assert play.do("gameway.gamepads.pads") == 2
    for pad, index in ((0, 1), (1, 3)):
        for button in AT_SDL:
            since = len(play.seen.lines)
            play.do(f"press({index}, {button}, 1)")
            pressed = [int(place == place_at_sdl(button)) for place in range(15)]
            play.seen.state(pad, since, buttons=pressed, axes=[0] * 6)
            play.do(f"press({index}, {button}, 0)")
            play.seen.state(pad, since, **AT_REST)
        for axis in range(4):
            for value, told in ((-1, -32767), (0.5, 16384), (1, 32767), (0, 0)):
                since = len(play.seen.lines)
                play.do(f"void (pads[{index}].axes[{axis}] = {value})")
                play.seen.state(
                    pad, since, axes=[told if place == axis else 0 for place in range(6)]
                )
        for trigger in (0, 1):
            since = len(play.seen.lines)
            play.do(f"press({index}, {6 + trigger}, 1)")
            play.seen.state(
                pad, since, axes=[32767 if place == 4 + trigger else 0 for place in range(6)]
            )
            play.do(f"press({index}, {6 + trigger}, 0)")
            play.seen.state(pad, since, **AT_REST)
    play.do("unplug(1)")
    play.seen.key("there", 1, len(play.seen.lines) - 1)


@NEEDS_MACHINE
def test_a_program_lets_a_gamepad_of_the_page_rumble(play: Play) -> None:
    play.open()
    play.do("plug(0)")
    play.until("gameway.gamepads.pads === 1 && !gameway.gamepads.waiting")
    play.do("press(0, 8, 1)")
    play.until("effects.length > 0")
    index, kind, effect = play.do("effects[0]")
    assert (index, kind) == (0, "dual-rumble")
    assert effect["strongMagnitude"] == pytest.approx(STRONG / 65535, abs=0.001)
    assert effect["weakMagnitude"] == pytest.approx(WEAK / 65535, abs=0.001)
    # No message is for longer than a second: what goes on is said again.
    assert 0 < effect["duration"] <= 1_000 < MILLIS
    play.until("effects.length > 1")
    assert play.do("effects[1][1]") == "dual-rumble"
    # And the program stops it before its time is over.
    play.do("press(0, 9, 1)")
    play.until("effects.at(-1)[1] === 'reset'")


@NEEDS_MACHINE
def test_nothing_sticks_when_connections_end(play: Play) -> None:
    chance = random.Random(5)
    for _ in range(ROUNDS):
        play.open()
        # This page has taken over: those of the page before go.
        play.seen.wait(lambda _: play.seen.there() == 0)
        play.do("plug(0); plug(2);")
        play.seen.wait(lambda _: play.seen.there() == 2)
        since = len(play.seen.lines)
        play.do(f"press(0, {chance.choice(list(AT_SDL))}, 1); pads[2].axes[1] = 1; press(2, 7, 1)")
        play.seen.state(1, since, axes=[0, 32767, 0, 0, 0, 32767])
        ending = chance.choice(["blur", "leave", "close", "over"])
        if ending == "blur":
            play.do("dispatchEvent(new Event('blur'))")
            play.seen.state(0, since, **AT_REST)
            play.seen.state(1, since, **AT_REST)
            assert play.do("gameway.gamepads.held") is False
        if ending == "leave":
            play.made.call("Page.navigate", {"url": "about:blank"}, play.session)
        if ending == "close":
            play.do("connection.close()")
        if ending in {"leave", "close"}:
            play.seen.wait(lambda _: play.seen.there() == 0)
    play.open()
    play.seen.wait(lambda _: play.seen.there() == 0)
    # What comes then is at rest, and does what it is told.
    since = len(play.seen.lines)
    play.do("plug(0); press(0, 0, 1)")
    play.seen.state(0, since, buttons=[1] + [0] * 14, axes=[0] * 6)
    play.do("press(0, 0, 0)")
    play.seen.state(0, since, **AT_REST)


@pytest.mark.long("test_live_gamepad.py::test_a_program_sees_all_buttons_and_axes_of_two_gamepads")
@NEEDS_MACHINE
@NEEDS_GAME
def test_a_game_is_walked_through_by_a_gamepad(play: Play) -> None:
    """Freedoom's first level without monsters: the view moves with the player alone."""
    play.open()
    play.seen.wait(lambda _: play.seen.there() == 0)
    since = len(play.seen.lines)
    play.do("plug(0)")
    named = play.seen.key("there", 1, since)
    (play.shared / "game").write_text(named["guid"])
    play.until(f"Math.max(...{VIEW}) > 60", BOOT_S)
    still = play.view_at_rest()
    # What is pressed below the dead zone moves nobody.
    play.do("void (pads[0].axes[1] = -0.05)")
    time.sleep(1)
    assert play.moved(still) < STILL
    for axis, value, what in ((1, -1, "walks"), (0, 1, "turns")):
        play.turn_away(play.view_at_rest(), f"void (pads[0].axes[{axis}] = {value})", what)
        play.do(f"void (pads[0].axes[{axis}] = 0)")
    play.view_at_rest()
    # A shot: the pistol's flash, until it is ready again.
    ready = play.do(PISTOL)
    assert difference(ready, play.do(PISTOL)) < STILL
    play.do("press(0, 0, 1)")
    assert eventually(lambda: difference(ready, play.do(PISTOL)) > MOVED), "fires"
    play.do("press(0, 0, 0)")
    assert eventually(lambda: difference(ready, play.do(PISTOL)) < STILL), "fires no more"


@NEEDS_MACHINE
def test_devices_are_gone_when_the_host_is_killed(play: Play) -> None:
    play.open()
    play.do("plug(0); plug(1); press(1, 0, 1)")
    play.seen.wait(lambda _: play.seen.there() == 2)
    since = len(play.seen.lines)
    (play.shared / "kill").touch()
    play.seen.key("devices", 2, since)
    play.seen.key("devices", 0, since)
    play.seen.wait(lambda _: play.seen.there() == 0)
