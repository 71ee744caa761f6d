"""The mouse of a browser, as a program on the screen is told of it.

The program is xterm, which reports each event of its mouse in the words of ctlseqs (modes 1003 and
1006): button, column and row, and whether it is pressed.
"""

from __future__ import annotations

import re
import shutil
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from browser_fixture import NEEDS_CHROMIUM, Browser, browser, until_frames
from play_fixture import play
from test_play import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HAS_TOOLS = all(map(shutil.which, ("Xvfb", "xterm")))
pytestmark = [
    NEEDS_CHROMIUM,
    pytest.mark.timed,
    pytest.mark.light,
    pytest.mark.skipif(not HAS_TOOLS, reason="needs Xvfb and xterm"),
]
WIDTH, HEIGHT = 640, 360
CELL = (6, 13)
"""Pixels of a character in xterm's default font, "fixed"."""
REPORT = re.compile(r"\x1b\[<(\d+);(\d+);(\d+)([Mm])")
MOTION = 32
STILL_S = 0.5
BUTTONS = {"left": 0, "middle": 1, "right": 2, "back": 128, "forward": 129}
"""As xterm numbers them; the last two are buttons 8 and 9 of X."""
WHEEL = {(0, -120): 64, (0, 120): 65, (-120, 0): 66, (120, 0): 67}
LOOK = "localStorage.setItem('gameway-settings', JSON.stringify({ mouseLook: true }));"
HIDE = """(() => {
  Object.defineProperty(document, "hidden", { get: () => true, configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
})()"""
LOCKED = "document.pointerLockElement === document.querySelector('video')"


class Report(NamedTuple):
    """What xterm says of an event."""

    button: int
    column: int
    row: int
    is_pressed: bool


class Page(NamedTuple):
    """A page that plays the terminal."""

    made: Browser
    session: str
    heard: Path

    def evaluate(self, expression: str) -> Any:
        return self.made.evaluate(self.session, expression)

    def place(self, x: float, y: float) -> tuple[float, float]:
        """Where on the page a part of the picture is."""
        box = self.evaluate("(({x, y, width, height}) => [x, y, width, height])(gameway.picture)")
        return box[0] + x * box[2], box[1] + y * box[3]

    def mouse(self, kind: str, place: tuple[float, float], **more: Any) -> None:
        params = {"type": kind, "x": place[0], "y": place[1], **more}
        self.made.call("Input.dispatchMouseEvent", params, self.session)

    def reports(self) -> list[Report]:
        text = self.heard.read_bytes().decode("latin-1")
        return [
            Report(int(button), int(column), int(row), end == "M")
            for button, column, row, end in REPORT.findall(text)
        ]

    def forget(self) -> None:
        self.heard.write_bytes(b"")

    def clicks(self) -> list[tuple[int, bool]]:
        """All but motion, with and without a button held."""
        found = self.reports()
        return [(one.button, one.is_pressed) for one in found if not one.button & MOTION]


@pytest.fixture(scope="module")
def terminal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Browser, str, Path]]:
    folder: Path = tmp_path_factory.mktemp("mouse")
    heard = folder / "heard"
    inner = f"stty raw -echo; printf '\\033[?1003h\\033[?1006h'; exec cat >> {heard}"
    script = f'exec xterm -fn fixed -b 0 -geometry 106x27+0+0 -e sh -c "{inner}"'
    words = ["--size", f"{WIDTH}x{HEIGHT}", "sh", "-c", script]
    with (
        play(folder / "run", "--no-audio", *words) as playing,
        browser(folder / "profile") as made,
    ):
        assert eventually(heard.exists)
        yield made, playing.link, heard


def opened(terminal: tuple[Browser, str, Path], before: str = "") -> Page:
    made, link, heard = terminal
    page = Page(made, made.open(link, before), heard)
    until_frames(made, page.session)
    assert eventually(lambda: page.evaluate("!document.getElementById('lock').hidden"))

    def reports_motion() -> bool:
        page.mouse("mouseMoved", page.place(0.5, 0.5))
        page.mouse("mouseMoved", page.place(0.6, 0.6))
        return len(page.reports()) > 0

    def is_still() -> bool:
        """Whether all of it has come."""
        before = len(page.reports())
        time.sleep(STILL_S)
        return len(page.reports()) == before

    assert eventually(reports_motion)
    assert eventually(is_still)
    page.forget()
    return page


@pytest.fixture
def page(terminal: tuple[Browser, str, Path]) -> Page:
    """A page without the settings of the test before."""
    return opened(terminal, "localStorage.removeItem('gameway-settings');")


def test_the_pointer_is_in_the_cell_below_it(page: Page) -> None:
    for x, y in ((0.25, 0.4), (0.9, 0.5), (0.1, 0.9)):
        page.forget()
        page.mouse("mouseMoved", page.place(x, y))
        wanted = (x * WIDTH / CELL[0] + 1, y * HEIGHT / CELL[1] + 1)

        def is_there(wanted: tuple[float, float] = wanted) -> bool:
            newest = page.reports()[-1:]
            return any(
                abs(one.column - wanted[0]) <= 1 and abs(one.row - wanted[1]) <= 1 for one in newest
            )

        assert eventually(is_there), (wanted, page.reports())


@pytest.mark.parametrize("button", BUTTONS)
def test_each_button_is_pressed_and_released(page: Page, button: str) -> None:
    place = page.place(0.5, 0.5)
    page.mouse("mousePressed", place, button=button, clickCount=1)
    assert eventually(lambda: page.clicks() == [(BUTTONS[button], True)]), page.reports()
    page.mouse("mouseReleased", place, button=button, clickCount=1)
    wanted = [(BUTTONS[button], True), (BUTTONS[button], False)]
    assert eventually(lambda: page.clicks() == wanted), page.reports()


@pytest.mark.parametrize(("turn", "button"), WHEEL.items())
def test_the_wheel_turns_each_way(page: Page, turn: tuple[int, int], button: int) -> None:
    page.mouse("mouseWheel", page.place(0.5, 0.5), deltaX=turn[0], deltaY=turn[1])
    assert eventually(lambda: (button, True) in page.clicks()), page.reports()
    assert {number for number, _ in page.clicks()} == {button}


def test_a_locked_pointer_moves_by_what_the_mouse_moves(
    terminal: tuple[Browser, str, Path],
) -> None:
    """Also beyond the edge of the picture, where a pointer that is not locked stands still."""
    page = opened(terminal, LOOK)
    middle = page.place(0.5, 0.5)
    page.mouse("mousePressed", middle, button="left", clickCount=1)
    page.mouse("mouseReleased", middle, button="left", clickCount=1)
    assert eventually(lambda: page.evaluate(LOCKED))
    # What the press moved, if the lock left it time to.
    time.sleep(STILL_S)
    page.forget()

    def move(cells: int) -> None:
        """From where it was locked to a cell beside that: six pixels of the screen each."""
        page.mouse("mouseMoved", (middle[0] + 6 * cells, middle[1]))

    move(1)
    assert eventually(lambda: len(page.reports()) > 0)
    first = page.reports()[-1]
    for cells in range(2, 7):
        move(cells)
    wanted = first.column + 5
    assert eventually(lambda: page.reports()[-1].column == wanted), (first, page.reports())
    for cells in range(5, 0, -1):
        move(cells)
    assert eventually(lambda: page.reports()[-1].column == first.column), page.reports()
    assert {one.row for one in page.reports()} == {first.row}
    page.evaluate("document.exitPointerLock(); localStorage.removeItem('gameway-settings')")
    assert eventually(lambda: not page.evaluate(LOCKED))


def test_a_page_that_is_hidden_holds_no_button(page: Page) -> None:
    page.mouse("mousePressed", page.place(0.5, 0.5), button="right", clickCount=1)
    assert eventually(lambda: page.clicks() == [(2, True)]), page.reports()
    page.evaluate(HIDE)
    assert eventually(lambda: page.clicks() == [(2, True), (2, False)]), page.reports()
