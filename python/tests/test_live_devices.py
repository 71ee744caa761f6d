"""A player's keyboard and mouse by uinput as libinput sees them, in a machine that has uinput."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from browser_fixture import FLAGS, NEEDS_CHROMIUM, browser
from devices_machine import OWN, UDEV
from libinput_program import (
    ABSOLUTE,
    ADDED,
    BUTTON,
    KEY,
    LIBRARIES,
    MOTION,
    REMOVED,
    SCREEN,
    WHEEL,
)
from machine import NEEDS_MACHINE, run
from screen_fixture import screen_with_key

from gameway import _core

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PROGRAM = ROOT / "target" / "release" / "examples" / "devices"
DESKTOP = ROOT / "crates" / "product" / "desktop"
SOURCES = (*(DESKTOP / "src").glob("*.rs"), DESKTOP / "examples" / "devices.rs")
BUILD = "cargo build --release -p gameway-desktop --features wayland --example devices"
MODULES = ("uinput", "uhid", "hid_generic", "evdev")
HAS_SWAY = shutil.which("sway") is not None
LIMIT_S = 180.0
"""A busy machine takes that long."""
KEYBOARD, MOUSE, POINTER = OWN
LAST = 65_535
CORNERS = ((0, 0), (LAST, 0), (LAST, LAST), (0, LAST), (32_768, 32_768))
LEFT, RIGHT, MIDDLE, SIDE, EXTRA = range(0x110, 0x115)
"""BTN_LEFT and so on."""
BUTTONS = {"Left": LEFT, "Right": RIGHT, "Middle": MIDDLE, "Back": SIDE, "Forward": EXTRA}
CLICK = ("down Left", "up Left")
TRIES = 3
HELD = ("down KeyQ", "down ShiftLeft", "to 9 9", "down Left", "by 1 1", "down Back")
SCRIPT: dict[str, list[Sequence[str]]] = {
    "corners": [[f"to {x} {y}"] for x, y in CORNERS],
    "swapped": [[f"to {y} {x}"] for x, y in CORNERS],
    "again": [["to 32768 16384"], ["by 40 40"], ["to 32768 16384"]],
    "motion": [[f"by {x} {y}"] for x, y in ((1, 0), (0, -1), (-300, 200), (0, 0))],
    "flat": [["flat", "by 100 -50"]],
    "buttons": [[f"down {name}", "rest", f"up {name}", "rest"] for name in BUTTONS],
    "wheel": [[f"turn {x} {y}"] for x, y in ((0, 120), (0, -120), (120, 0), (-120, 0), (0, 360))],
    "fine": [["turn 0 30"] * 4 + ["turn 0 -30"] * 4],
    "at once": [["to 0 0\nto 16384 16384\ndown Left\nturn 0 120\nto 49152 49152\nup Left", "rest"]],
    "clicks": [[*CLICK, *CLICK, *CLICK, "rest"]] * TRIES,
    "shift": [["down ShiftLeft", *CLICK, "up ShiftLeft", "rest"]] * TRIES,
    "rushed": [["rush", "\n".join(CLICK * 2), "rest"]] * TRIES,
}
"""What the player does, by its names; the last rushes, and all behind it would."""
SHIFT = ("down ShiftLeft", "up ShiftLeft")
TYPED = "Hi there 1!"


def typed() -> Iterator[str]:
    """The keys of that text, on a keyboard of the United States."""
    names = {" ": "Space", "1": "Digit1", "!": "Digit1"}
    for character in TYPED:
        name = names.get(character, f"Key{character.upper()}")
        down, up = SHIFT if character.isupper() or character == "!" else ("", "")
        yield from filter(None, (down, f"down {name}", f"up {name}", up))


DESK: dict[str, list[Sequence[str]]] = {
    "corners": [[f"to {x} {y}"] for x, y in CORNERS],
    "typed": [[*typed()]],
    "buttons": [[line for step in SCRIPT["buttons"] for line in step]],
    "click": [["to 0 0\nto 16384 49152\ndown Left\nto 49152 16384\nup Left"]],
    "wheel": [[line for step in SCRIPT["wheel"] for line in step]],
    "held": [["down KeyQ", "down ShiftLeft", "down Left"]],
    "killed": [],
}
"""What the player does on a desktop; at last the program with the devices is killed."""


def why_not() -> str:
    if not _core.has_wayland():
        return "needs a build with the feature wayland: make setup"
    if not PROGRAM.exists() or PROGRAM.stat().st_mtime < max(
        one.stat().st_mtime for one in SOURCES
    ):
        return f"needs the example as the sources are: {BUILD}"
    if not any(Path(path).exists() for path in UDEV):
        return "needs the package udev"
    try:
        for name in LIBRARIES:
            ctypes.CDLL(name)
    except OSError:
        return "needs the package libinput10"
    return ""


NEEDS_DEVICES = pytest.mark.skipif(bool(why_not()), reason=why_not() or "all is there")


class Told(NamedTuple):
    """What libinput told of a device."""

    device: str
    kind: int
    what: Any


class Seen:
    """What libinput told in the machine, by what was done."""

    def __init__(self, said: dict[str, Any]) -> None:
        self.said = said
        steps = iter(said["steps"])
        self.steps = {name: [list_of(next(steps)) for _ in each] for name, each in SCRIPT.items()}
        told = iter(said.get("desk", []))
        desk = DESK if "desk" in said else {}
        self.desk = {name: [next(told) for _ in each or [[]]] for name, each in desk.items()}

    def of(self, name: str) -> list[Told]:
        """Give what was told in all steps of this name."""
        return [told for step in self.steps[name] for told in step]


def list_of(events: list[dict[str, Any]]) -> list[Told]:
    # A wheel is told a second time, in the way of programs of before its fine steps.
    told = [Told(**one) for one in events]
    return [
        one for one in told if one.kind in {ADDED, REMOVED, KEY, MOTION, ABSOLUTE, BUTTON, WHEEL}
    ]


def is_at(told: list[Told], place: tuple[int, int]) -> bool:
    """Whether the pointer is put there and nowhere else, within a pixel."""
    if [one[:2] for one in told] != [(POINTER, ABSOLUTE)]:
        return False
    wanted = [part * size / (LAST + 1) for part, size in zip(place, SCREEN, strict=True)]
    return all(abs(is_ - at) < 1 for is_, at in zip(told[0].what, wanted, strict=True))


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    folder: Path = tmp_path_factory.mktemp("devices")
    (folder / "shared").mkdir()
    steps = [step for each in SCRIPT.values() for step in each]
    desk = [step for each in DESK.values() for step in each] if HAS_SWAY else []
    (folder / "shared" / "script.json").write_text(json.dumps([steps, HELD, desk]))
    program = [sys.executable, str(HERE / "devices_machine.py"), "/shared", str(PROGRAM)]
    done = run(folder, program, modules=MODULES, limit_s=LIMIT_S)
    assert done.code == 0, done.output
    return Seen(json.loads(done.output.splitlines()[-1]))


@NEEDS_MACHINE
@NEEDS_DEVICES
@pytest.mark.timed
class TestInTheMachine:
    """All of it happens once, in one machine."""

    def test_all_devices_are_what_a_compositor_takes(self, seen: Seen) -> None:
        came = [one.device for one in list_of(seen.said["came"]) if one.kind == ADDED]
        assert sorted(came) == sorted(OWN)

    def test_each_key_is_that_of_its_usage_in_the_kernels_driver(self, seen: Seen) -> None:
        keys, kernels = seen.said["keys"], seen.said["hid"]
        assert len(keys) > 100
        codes = {}
        for name in keys:
            own, kernel = list_of(keys[name]), list_of(kernels[name])
            assert [one.what for one in own] == [one.what for one in kernel], name
            assert [one[:2] for one in own] == [(KEYBOARD, KEY)] * 2, name
            (codes[name], down), released = own[0].what, own[1].what
            assert (down, released) == (1, [codes[name], 0]), name
        # Each back to its name, too.
        assert len(set(codes.values())) == len(codes)
        # What must not be, so that the comparison is one.
        assert keys["KeyY"] != kernels["KeyZ"]

    def test_the_pointer_is_put_within_a_pixel(self, seen: Seen) -> None:
        for place, told in zip(CORNERS, seen.steps["corners"], strict=True):
            assert is_at(told, place), (place, told)
        # With its axes swapped it is seen to be elsewhere.
        for (x, y), told in zip(CORNERS, seen.steps["swapped"], strict=True):
            assert is_at(told, (y, x))
            assert is_at(told, (x, y)) == (x == y)

    def test_a_place_is_told_again_after_other_motion(self, seen: Seen) -> None:
        first, by, again = seen.steps["again"]
        place = (32_768, 16_384)
        assert is_at(first, place)
        assert [one[:2] for one in by] == [(MOUSE, MOTION)]
        assert is_at(again, place), again

    def test_motion_is_the_players_own(self, seen: Seen) -> None:
        told = seen.of("motion")
        assert [one[:2] for one in told] == [(MOUSE, MOTION)] * 3
        # The first two numbers are before acceleration, as who locks the pointer has them.
        assert [one.what[:2] for one in told] == [[1, 0], [0, -1], [-300, 200]]
        assert told[2].what[2:] != [-300, 200]
        # A desktop that is set so does not accelerate.
        (flat,) = seen.of("flat")
        assert flat.what == [100, -50, 100, -50]

    def test_buttons_are_told(self, seen: Seen) -> None:
        told = [(one.kind, one.what) for one in seen.of("buttons")]
        assert told == [(BUTTON, [code, held]) for code in BUTTONS.values() for held in (1, 0)]

    def test_the_wheel_turns_both_ways_and_finely(self, seen: Seen) -> None:
        told = [one.what for one in seen.of("wheel")]
        assert told == [[0, 120], [0, -120], [120, 0], [-120, 0], [0, 360]]
        fine = [one.what[1] for one in seen.of("fine")]
        # libinput may wait for half a notch in a direction, and tells it then.
        ways = [by > 0 for by in fine]
        assert ways == sorted(ways, reverse=True), fine
        assert [sum(by for by in fine if (by > 0) == way) for way in (True, False)] == [120, -120]
        assert max(map(abs, fine)) <= 60

    def test_what_comes_at_once_keeps_its_order(self, seen: Seen) -> None:
        told = [(one.device, one.kind) for one in seen.of("at once")]
        kinds = [ABSOLUTE, ABSOLUTE, BUTTON, WHEEL, ABSOLUTE, BUTTON]
        assert told == [(POINTER, kind) for kind in kinds]
        for step in seen.steps["shift"]:
            changes = [(one.kind, one.what[1]) for one in step]
            # libinput holds a button that is released within 25 ms for so long.
            assert changes[:2] == [(KEY, 1), (BUTTON, 1)]
            assert sorted(changes[2:]) == [(KEY, 0), (BUTTON, 0)]

    def test_no_click_is_taken_for_a_contact_that_bounces(self, seen: Seen) -> None:
        clicks = [[LEFT, 1], [LEFT, 0]]
        assert [[one.what for one in told] for told in seen.steps["clicks"]] == [3 * clicks] * TRIES
        # Without a rest the second is: else this would hold whatever is done.
        assert clicks in [[one.what for one in told] for told in seen.steps["rushed"]]

    @pytest.mark.parametrize(("name", "left"), [("end", "after_end"), ("killed", "after_kill")])
    def test_all_that_is_held_goes_up_in_the_end(self, seen: Seen, name: str, left: str) -> None:
        told = list_of(seen.said[name])
        held = [(KEYBOARD, 16), (KEYBOARD, 42), (POINTER, LEFT), (MOUSE, SIDE)]
        pressed = [one for one in list_of(seen.said["held"]) if one.kind in {KEY, BUTTON}]
        assert [(one.device, *one.what) for one in pressed] == [(*one, 1) for one in held]
        released = [one for one in told if one.kind in {KEY, BUTTON}]
        assert {(one.device, *one.what) for one in released} == {(*one, 0) for one in held}
        assert len(released) == len(held)
        gone = {one.device: at for at, one in enumerate(told) if one.kind == REMOVED}
        assert set(gone) == set(OWN)
        assert all(told.index(one) < gone[one.device] for one in released)
        assert (seen.said["there"], seen.said[left]) == (len(OWN), 0)

    @pytest.mark.skipif(not HAS_SWAY, reason="needs sway")
    def test_a_window_of_a_desktop_is_told_all_of_it(self, seen: Seen) -> None:
        for place, told in zip(CORNERS, seen.desk["corners"], strict=True):
            wanted = [part * size / (LAST + 1) for part, size in zip(place, SCREEN, strict=True)]
            found = told[-1]["place"]
            assert all(abs(is_ - at) < 1 for is_, at in zip(found, wanted, strict=True)), (
                place,
                told,
            )
        (told,) = seen.desk["typed"]
        assert "".join(one["key"][2] for one in told if one["key"][1]) == TYPED
        buttons = [
            one["button"] for told in seen.desk["buttons"] for one in told if "button" in one
        ]
        assert buttons == [[code, held] for code in BUTTONS.values() for held in (1, 0)]
        (told,) = seen.desk["click"]
        at = [one["place"] if "place" in one else one["button"] for one in told]
        assert [at[-4], at[-3]] == [[320, 540], [LEFT, 1]]
        assert [960, 180] in at[-2:]
        assert [LEFT, 0] in at[-2:]
        axes = [one["axis"] for told in seen.desk["wheel"] for one in told if "axis" in one]
        signs = [(axis, way > 0) for axis, way in axes]
        assert signs == [(0, True), (0, False), (1, True), (1, False), (0, True)]
        assert axes[4][1] == 3 * axes[0][1]

    @pytest.mark.skipif(not HAS_SWAY, reason="needs sway")
    def test_a_window_holds_nothing_when_the_player_is_killed(self, seen: Seen) -> None:
        (held,), (killed,) = seen.desk["held"], seen.desk["killed"]
        changes = [
            [what[0] for one in told for what in one.values() if what[1] == is_]
            for told, is_ in ((held, 1), (killed, 0))
        ]
        assert sorted(changes[0]) == sorted(changes[1]) == [16, 42, LEFT]

    @NEEDS_CHROMIUM
    @pytest.mark.skipif(shutil.which("Xvfb") is None, reason="needs Xvfb")
    def test_a_browser_calls_each_key_as_the_players_does(self, seen: Seen, tmp_path: Path) -> None:
        """From its name to Linux's code, and from there by a browser that has the key pressed."""
        flags = FLAGS.replace("--headless ", "--window-size=1290,880 --window-position=0,0 ")
        listen = """const keys = [];
        addEventListener("contextmenu", (event) => event.preventDefault());
        for (const kind of ["keydown", "keyup"]) addEventListener(kind, (event) => {
          event.preventDefault();
          keys.push(`${kind} ${event.code}`);
        }, true);"""
        with (
            screen_with_key(tmp_path) as own,
            browser(
                tmp_path / "profile", "env", *(f"{name}={own[name]}" for name in own), flags=flags
            ) as made,
            subprocess.Popen(
                [sys.executable, str(HERE / "keys_program.py")],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
                env=os.environ | own,
            ) as keys,
        ):  # fmt: skip
            assert keys.stdin is not None
            assert keys.stdout is not None
            page = made.open("data:text/html,<h1>keys</h1>", listen)
            made.call("Page.bringToFront", {}, page)
            time.sleep(1)
            named = {}
            for name, told in seen.said["keys"].items():
                # An X server counts from 8 on.
                keys.stdin.write(f"{told[0]['what'][0] + 8}\n")
                keys.stdout.readline()
                until = time.monotonic() + 2
                while len(made.evaluate(page, "keys")) < 2 and time.monotonic() < until:
                    time.sleep(0.005)
                named[name] = made.evaluate(page, "keys.splice(0)")
            keys.stdin.close()
        wrong = {
            name: found
            for name, found in named.items()
            if found != [f"keydown {name}", f"keyup {name}"]
        }
        assert not wrong
