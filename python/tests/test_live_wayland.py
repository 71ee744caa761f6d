"""A screen of Wayland, shared by a portal and brought by PipeWire, as Chromium shows it.

Its clipboard is that of wl-copy and wl-paste, programs that are not ours.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from browser_fixture import NEEDS_CHROMIUM, TOKEN, Browser, browser, free_address
from said_fixture import said_until
from test_play import eventually as comes_true
from wayland_desktop import OUTPUT, PORTALS
from witness import of_times

from gameway import _core

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HERE = Path(__file__).parent
PATIENCE_S = 20.0
NEEDED = {
    "sway": "sway",
    "swaybg": "swaybg",
    "wl-copy": "wl-clipboard",
    "pipewire": "pipewire",
    "wireplumber": "wireplumber",
    "dbus-run-session": "dbus-daemon",
    str(PORTALS / "xdg-desktop-portal"): "xdg-desktop-portal",
    str(PORTALS / "xdg-desktop-portal-wlr"): "xdg-desktop-portal-wlr",
}
TEXT = "Grüße, žluťoučký кот 猫 🎮"
BLUE, ORANGE = (0x30, 0x60, 0xC0), (0xF0, 0x80, 0x10)
COLOUR = """(() => {
  const { width, height } = gameway.screen.size.value;
  if (!width) return null;
  const own = document.getElementById("canvas");
  const canvas = new OffscreenCanvas(width, height);
  const context = canvas.getContext("2d");
  context.drawImage(own.hidden ? video : own, 0, 0, width, height);
  const { data } = context.getImageData(0, 0, width, height);
  const corners = [[8, 8], [width - 9, 8], [8, height - 9], [width - 9, height - 9]];
  return [width, height, corners.map(([x, y]) => [...data.slice(4 * (y * width + x)).slice(0, 3)])];
})()"""
"""The picture's size, and the colours near its corners."""


def why_not() -> str:
    if not _core.has_wayland():
        return "needs a build with the feature wayland: make setup"
    missing = [package for name, package in NEEDED.items() if shutil.which(name) is None]
    return f"needs the packages {' '.join(missing)}" if missing else ""


pytestmark = [
    NEEDS_CHROMIUM,
    pytest.mark.skipif(bool(why_not()), reason=why_not() or "all is there"),
]


class Desktop:
    """A desktop with a program in it."""

    def __init__(self, process: subprocess.Popen[str], runtime: Path) -> None:
        self.process, self.runtime = process, runtime

    def tell(self, *words: str) -> None:
        """Tell sway."""
        (socket,) = self.runtime.glob("sway-ipc.*.sock")
        subprocess.run(["swaymsg", "-s", str(socket), *words], check=True, capture_output=True)

    def clip(self, *words: str, **more: Any) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(words, env=self.names(), check=False, timeout=PATIENCE_S, **more)

    def names(self) -> dict[str, str]:
        """The environment of its programs."""
        own = {"WAYLAND_DISPLAY": "wayland-1", "XDG_RUNTIME_DIR": str(self.runtime)}
        return os.environ | own

    @contextmanager
    def copied(self, text: str) -> Iterator[subprocess.Popen[bytes]]:
        """Let another program have this in the clipboard."""
        words = ["wl-copy", "--foreground", "--type", "text/plain"]
        with subprocess.Popen(words, env=self.names(), stdin=subprocess.PIPE) as owner:
            assert owner.stdin is not None
            owner.stdin.write(text.encode())
            owner.stdin.close()
            assert becomes(self.pasted, text)
            try:
                yield owner
            finally:
                owner.kill()

    def pasted(self) -> str:
        """What other programs paste."""
        done = self.clip("wl-paste", "--no-newline", stdout=subprocess.PIPE)
        return done.stdout.decode(errors="replace")

    def paint(self, colour: tuple[int, int, int]) -> None:
        self.tell("output", OUTPUT, "bg", named(colour), "solid_color")


def named(colour: tuple[int, int, int]) -> str:
    return f"#{bytes(colour).hex()}"


@contextmanager
def desktop(folder: Path, colour: tuple[int, int, int], *program: str) -> Iterator[Desktop]:
    """Start one; at the end all of it ends."""
    # As root sway does not start: it is another user to itself, and root to all others.
    own = ["unshare", "--user", "--map-user=1000", "--map-group=1000"] if os.getuid() == 0 else []
    script = [sys.executable, str(HERE / "wayland_desktop.py")]
    with tempfile.TemporaryDirectory(prefix="gw-") as runtime:
        words = [*own, "dbus-run-session", "--", *script, runtime, named(colour), *program]
        surroundings = os.environ | {
            "HOME": str(folder),
            "XDG_STATE_HOME": str(folder / "state"),
            "GAMEWAY_TOKEN": TOKEN,
        }
        with subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=surroundings,
            start_new_session=True,
        ) as process:
            try:
                yield Desktop(process, Path(runtime))
            finally:
                # The program ends by it, then the desktop, then the bus.
                os.killpg(process.pid, 15)
                process.communicate(timeout=PATIENCE_S)


def becomes(given: Callable[[], str], text: str) -> bool:
    return comes_true(lambda: given() == text)


def gameway(*words: str) -> list[str]:
    return [sys.executable, "-m", "gameway", *words]


def play(*words: str) -> list[str]:
    size = ["--size", "640x360", "--no-audio", "--start-bitrate", "4 Mb/s"]
    return gameway("play", "--screen", "wayland", "--listen", free_address(), *size, *words)


def shown(made: Browser, page: str) -> tuple[int, int, list[list[int]]] | None:
    found = made.evaluate(page, COLOUR)
    return None if found is None else (found[0], found[1], found[2])


def is_near(found: Any, colour: tuple[int, int, int]) -> bool:
    """The picture is of this colour, as far as its encoding and limited range let it be."""
    if found is None:
        return False
    return all(
        abs(own - wanted) <= 10
        for corner in found[2]
        for own, wanted in zip(corner, colour, strict=True)
    )


def eventually(made: Browser, page: str, colour: tuple[int, int, int]) -> None:
    """Wait for what was drawn.

    On a busy machine PipeWire may lose a picture that the portal has queued, so that nobody is told
    of it, and the next one comes when something is drawn.
    """
    until = time.monotonic() + PATIENCE_S
    with of_times():
        while not is_near(found := shown(made, page), colour):
            assert time.monotonic() < until, f"{found} is not {colour}"
            time.sleep(0.05)


@pytest.mark.timed
def test_what_is_drawn_is_what_the_browser_shows(tmp_path: Path) -> None:
    with desktop(tmp_path, BLUE, *play()) as own, browser(tmp_path / "profile") as made:
        found, said = said_until(own.process.stderr, r"(http://\S+)")
        # Where this machine's kernel has no uinput, one sentence says so.
        assert Path("/dev/uinput").exists() or "no input, one can watch" in said, said
        page = made.open(f"{found[1]}#{TOKEN}")
        # This compositor gives the first picture when something is drawn.
        own.paint(BLUE)
        eventually(made, page, BLUE)
        # What must not be, so that the comparison is one.
        assert not is_near(shown(made, page), ORANGE)
        for colour in (ORANGE, BLUE, ORANGE):
            own.paint(colour)
            eventually(made, page, colour)
        # Another size of the screen, while it runs: the stream keeps its own.
        own.tell("output", OUTPUT, "mode", "800x600@60Hz")
        own.paint(BLUE)
        eventually(made, page, BLUE)
        picture = shown(made, page)
        assert picture is not None
        assert picture[:2] == (640, 360)


def test_a_permission_is_kept_for_this_user_alone(tmp_path: Path) -> None:
    file = tmp_path / "state" / "gameway" / "screen.permission"
    words = []
    for _ in range(2):
        with desktop(tmp_path, BLUE, *play()) as own:
            said_until(own.process.stderr, r"(http://\S+)")
        assert file.stat().st_mode & 0o777 == 0o600
        words.append(file.read_text())
    assert all(words)


def test_who_has_no_desktop_is_told_what_to_do(tmp_path: Path) -> None:
    nowhere = f"unix:path={tmp_path / 'nowhere'}"
    done = subprocess.run(
        play(),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        env=os.environ | {"DBUS_SESSION_BUS_ADDRESS": nowhere, "HOME": str(tmp_path)},
    )
    assert done.returncode == 2
    told = "error: --screen: Wayland screen: the desktop's portal: no session bus: "
    assert done.stderr.startswith(told), done.stderr
    assert "set DBUS_SESSION_BUS_ADDRESS as it is there" in done.stderr


def test_the_doctor_finds_the_portal(tmp_path: Path) -> None:
    doctor = gameway("doctor", "--listen", "127.0.0.1:0", "--json")
    with desktop(tmp_path, BLUE, *doctor) as own:
        said, _ = own.process.communicate(timeout=3 * PATIENCE_S)
    (found,) = [one for one in json.loads(said)["checks"] if one["name"] == "Wayland screen"]
    assert found["state"] == "works", found
    assert "asks the user once" in found["found"]


class Player:
    """A page that plays a desktop, whose clipboard it may use."""

    def __init__(self, made: Browser, own: Desktop, url: str) -> None:
        made.let_it_use_the_clipboard(url)
        self.made, self.own, self.page = made, own, made.open(f"{url}#{TOKEN}")
        self.until("!document.getElementById('write').hidden")

    def until(self, expression: str) -> None:
        with of_times():
            self.made.until(self.page, expression, PATIENCE_S)

    def has(self, button: str) -> bool:
        hidden = self.made.evaluate(self.page, f"document.getElementById('{button}').hidden")
        return not hidden

    def device(self) -> str:
        """Give what the device has in its own clipboard."""
        return str(self.made.evaluate(self.page, "navigator.clipboard.readText()"))

    def puts(self, text: str) -> None:
        self.made.evaluate(self.page, f"navigator.clipboard.writeText({json.dumps(text)})")

    def click(self, button: str) -> None:
        self.made.click(self.page, button)

    def complains(self, button: str, words: str) -> None:
        self.click(button)
        told = "document.getElementById('complaint').textContent"
        self.until(f"{told}.includes({json.dumps(words)})")


@contextmanager
def player(tmp_path: Path, display: str, *words: str) -> Iterator[tuple[Player, str]]:
    """Let a page play the desktop of this socket, and give what its host has said."""
    host = ["env", f"WAYLAND_DISPLAY={display}", *play(*words)]
    with desktop(tmp_path, BLUE, *host) as own, browser(tmp_path / "profile") as made:
        found, said = said_until(own.process.stderr, r"(http://\S+)")
        yield Player(made, own, found[1]), said


LONG = pytest.mark.long(
    "test_live_wayland.py::test_the_clipboard_goes_both_ways_when_it_is_asked_for"
)
"""Always: by the standard's name. The other name, and why there is no text, have tests in Rust."""


@pytest.mark.timed
@pytest.mark.parametrize("display", [pytest.param("wayland-1", marks=LONG), "wayland-ext"])
def test_the_clipboard_goes_both_ways_when_it_is_asked_for(tmp_path: Path, display: str) -> None:
    with player(tmp_path, display) as (one, said):
        assert "no clipboard" not in said
        one.until("!document.getElementById('copy').hidden")
        one.complains("copy", "the game has copied no text")
        for text in (TEXT, "zeile\n" * 170_000):
            one.puts(text)
            assert one.own.pasted() != text, "nothing goes by itself"
            one.click("paste")
            assert becomes(one.own.pasted, text)
            with one.own.copied(f"{text}!"):
                # What is marked with the mouse is another thing.
                one.own.clip("wl-copy", "--primary", "marked")
                time.sleep(0.3)
                assert one.device() == text, "nothing goes by itself"
                one.click("copy")
                assert becomes(one.device, f"{text}!")


@pytest.mark.timed
@LONG
def test_why_there_is_no_text_is_said(tmp_path: Path) -> None:
    with player(tmp_path, "wayland-1") as (one, _):
        one.until("!document.getElementById('copy').hidden")
        with one.own.copied("a" * (1 << 20) + "b"):
            one.complains("copy", "1 MiB")
        with one.own.copied("nobody gets this") as owner:
            owner.send_signal(signal.SIGSTOP)
            one.complains("copy", "does not give it")
        with one.own.copied("as ever"):
            one.click("copy")
            assert becomes(one.device, "as ever")


@pytest.mark.timed
@pytest.mark.parametrize("option", [True, False], ids=["the option", "a compositor that has it"])
def test_without_it_there_is_no_clipboard(tmp_path: Path, option: bool) -> None:
    display, words = ("wayland-1", ["--no-clipboard"]) if option else ("wayland-none", [])
    with player(tmp_path, display, *words) as (one, said):
        if not option:
            assert "note: no clipboard: the desktop's clipboard: the compositor offers no" in said
            assert "to mend it, play on a desktop whose compositor offers it" in said
        time.sleep(0.5)
        assert not one.has("copy")
        assert not one.has("paste")
        with one.own.copied("of the game"):
            assert one.device() == ""
