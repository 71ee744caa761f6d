"""`gameway play`: a real game in Chromium, and what becomes of it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browser_fixture import NEEDS_CHROMIUM, Browser, browser, free_address, until_frames
from play_fixture import WAIT_S, play
from screen_fixture import screen
from witness import of_times

if TYPE_CHECKING:
    from collections.abc import Callable

DOOM = Path("/usr/games/crispy-doom")
pytestmark = [
    NEEDS_CHROMIUM,
    pytest.mark.timed,
    pytest.mark.skipif(not DOOM.exists(), reason="needs crispy-doom and freedoom"),
]
NEEDS_XTERM = pytest.mark.skipif(
    not all(map(shutil.which, ("Xvfb", "xterm"))), reason="needs Xvfb and xterm"
)
AMMO = """(() => {
  const canvas = new OffscreenCanvas(video.videoWidth, video.videoHeight);
  const context = canvas.getContext("2d");
  context.drawImage(video, 0, 0);
  const [left, top] = [Math.round(canvas.width * 0.15), Math.round(canvas.height * 0.85)];
  const [width, height] = [Math.round(canvas.width * 0.09), Math.round(canvas.height * 0.09)];
  const { data } = context.getImageData(left, top, width, height);
  return [...data].filter((_, at) => at % 4 === 0);
})()"""
"""The number of shots in the game's status bar, in its red samples."""
LIGHT = """(() => {
  const canvas = new OffscreenCanvas(16, 9);
  const context = canvas.getContext("2d");
  context.drawImage(video, 0, 0, 16, 9);
  return Math.max(...context.getImageData(0, 0, 16, 9).data.filter((_, at) => at % 4 !== 3));
})()"""
"""The brightest sample of the picture made small: a screen without a program is black."""


def left_over(folder: Path) -> list[str]:
    """Give the command lines of processes that know the folder."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            line, surroundings = (entry / "cmdline").read_bytes(), (entry / "environ").read_bytes()
        except OSError:
            continue
        if str(folder).encode() in line + surroundings and int(entry.name) != os.getpid():
            found.append(line.replace(b"\0", b" ").decode(errors="replace"))
    return found


def eventually(holds: Callable[[], bool]) -> bool:
    """Whether it holds within the waiting time."""
    until = time.monotonic() + WAIT_S
    while not holds():
        if time.monotonic() > until:
            return False
        time.sleep(0.1)
    return True


def difference(before: list[int], now: list[int]) -> float:
    """Give the mean difference of two pictures' samples."""
    return sum(abs(a - b) for a, b in zip(before, now, strict=True)) / len(now)


class Game:
    """The game in a page."""

    def __init__(self, made: Browser, link: str) -> None:
        self.made, self.page = made, made.open(link)
        until_frames(made, self.page)

    def key(self, code: str) -> None:
        """Press a key for as long as the game looks twice for it (35 times a second)."""
        for kind in ("keyDown", "keyUp"):
            asked = {"type": kind, "code": code, "key": code}
            self.made.call("Input.dispatchKeyEvent", asked, self.page)
            time.sleep(0.1)

    def click(self) -> None:
        """Press the mouse's first button in the middle of the picture, as long as a key."""
        box = self.made.evaluate(
            self.page,
            "(({x, y, width, height}) => [x + width / 2, y + height / 2])(gameway.picture)",
        )
        place = {"x": box[0], "y": box[1], "button": "left", "clickCount": 1}
        for kind in ("mousePressed", "mouseReleased"):
            self.made.call("Input.dispatchMouseEvent", {"type": kind, **place}, self.page)
            time.sleep(0.1)

    def is_there(self) -> bool:
        """Whether the game shows something."""
        return float(self.made.evaluate(self.page, LIGHT)) > 60

    def ammo(self) -> list[int]:
        """Give the samples of the number of shots."""
        samples: list[int] = self.made.evaluate(self.page, AMMO)
        return samples

    def changed(self, before: list[int]) -> float:
        """Tell how much the number's samples differ from what they were, on average."""
        return difference(before, self.ammo())


def test_a_game_is_played_by_keys_and_ctrl_c_ends_all(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with play(folder, "--size", "960x540") as playing:
        with browser(tmp_path / "profile") as made:
            game = Game(made, playing.link)
            with of_times():
                # Milliseconds from the page's beginning.
                assert made.evaluate(game.page, "gameway.first") < 1000
            # It takes a second to start, and hears no key before its title is there.
            assert eventually(game.is_there)
            time.sleep(1)
            # The menu, a new game, the first episode, the usual difficulty.
            for code in ("Escape", "Enter", "Enter", "Enter"):
                game.key(code)
                time.sleep(0.3)
            time.sleep(2)
            fifty = game.ammo()
            game.key("ArrowLeft")
            time.sleep(1)
            assert game.changed(fifty) < 4, "to turn costs no shot"
            game.key("ControlRight")
            assert eventually(lambda: game.changed(fifty) > 8), "50 became 49"
            time.sleep(1)
            forty_nine = game.ammo()
            game.click()
            assert eventually(lambda: game.changed(forty_nine) > 4), "49 became 48"
        assert left_over(folder)
        assert list(playing.runtime.glob("gameway-*"))
        assert playing.end() == 0
        assert not list(playing.runtime.glob("gameway-*"))
    assert eventually(lambda: left_over(folder) == [])


@pytest.mark.long("test_play.py::test_a_game_is_played_by_keys_and_ctrl_c_ends_all")
def test_a_program_that_ends_ends_the_play_and_the_page_says_so(tmp_path: Path) -> None:
    with (
        play(tmp_path / "run", "--size", "320x180", "sh", "-c", "sleep 6") as playing,
        browser(tmp_path / "profile") as made,
    ):
        game = Game(made, playing.link)
        assert playing.process.wait(WAIT_S) == 0
        assert eventually(lambda: "has ended" in str(made.evaluate(game.page, "gameway.ended")))


@NEEDS_XTERM
def test_a_program_that_crashes_is_started_again_and_shown(tmp_path: Path) -> None:
    """The page's picture goes on: bright with xterm, dark without, and bright again."""
    number = tmp_path / "number"
    # The second one comes later, so that there is a while without any.
    xterm = "exec xterm -bg white -geometry 200x60+0+0"
    script = f"[ -e {number} ] && sleep 2; echo $$ > {number}; {xterm}"
    with (
        play(tmp_path / "run", "--size", "320x180", "sh", "-c", script) as playing,
        browser(tmp_path / "profile") as made,
    ):
        game = Game(made, playing.link)
        assert eventually(game.is_there)
        first = int(number.read_text())
        os.kill(first, signal.SIGKILL)
        assert eventually(lambda: not game.is_there())
        assert eventually(lambda: int(number.read_text() or first) != first)
        assert eventually(game.is_there)
        assert made.evaluate(game.page, "gameway.ended") is None
        assert playing.end() == 0


@NEEDS_XTERM
def test_a_screen_that_is_there_is_played_and_stays(tmp_path: Path) -> None:
    paper = tmp_path / "paper"
    with screen((640, 360)) as name:
        inner = f"stty raw -echo; echo ready > {paper}; exec cat >> {paper}"
        words = ["xterm", "-display", name, "-geometry", "200x60+0+0", "-e", "sh", "-c", inner]
        with subprocess.Popen(words) as terminal, browser(tmp_path / "profile") as made:
            try:
                assert eventually(paper.exists)
                with play(tmp_path / "run", "--no-audio", "--screen", name) as playing:
                    game = Game(made, playing.link)
                    assert eventually(game.is_there)
                    # The pointer is over the terminal, which then has the keys.
                    game.click()
                    game.key("KeyW")
                    assert eventually(lambda: paper.read_text() == "ready\nw"), paper.read_text()
                    assert playing.end() == 0
                assert terminal.poll() is None, "it is nobody else's to end"
            finally:
                terminal.kill()


def test_a_play_that_is_killed_leaves_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with play(folder, "--size", "320x180", "sleep", "600") as playing:
        assert len(left_over(folder)) >= 3, "itself, a screen and the program"
        playing.process.kill()
    assert eventually(lambda: left_over(folder) == [])


def test_a_program_that_cannot_start_is_told(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "gameway", "play", "--listen", free_address(), "/no/such/game"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("error: command: /no/such/game"), done.stderr
    assert not list(tmp_path.iterdir())
