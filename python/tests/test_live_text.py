"""Text that is written in the page, and the clipboard, as programs on the screen have them."""

from __future__ import annotations

import random
import shutil
import subprocess
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from browser_fixture import NEEDS_CHROMIUM, Browser, browser, until_frames
from play_fixture import play
from test_play import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TEXT = "Grüße, žluťoučký кот 猫 🎮"
HAS_TOOLS = all(map(shutil.which, ("Xvfb", "xterm", "xclip", "setxkbmap")))
pytestmark = [
    NEEDS_CHROMIUM,
    pytest.mark.timed,
    pytest.mark.light,
    pytest.mark.skipif(not HAS_TOOLS, reason="needs Xvfb, xterm, xclip and setxkbmap"),
]
LONG = pytest.mark.long("test_live_text.py::test_text_is_what_was_written_whatever_the_layouts")
"""Always: on a German screen, which has letters elsewhere than the browser's keyboard."""
SIZE = "640x360"
PATIENCE_S = 20.0
LOSSES = 200
LOSSY = """
for (const ends of [RTCDataChannel.prototype]) {
  const send = ends.send;
  window.lost = 0;
  window.losing = false;
  ends.send = function (data) {
    if (window.losing && this.label === "input" && Math.random() < 0.5) window.lost += 1;
    else send.call(this, data);
  };
}
"""
"""Messages that the network would have lost, without a way to hear of it."""


class Typed(NamedTuple):
    """A page that plays a terminal, and what is typed into that."""

    made: Browser
    session: str
    folder: Path
    screen: dict[str, str]

    def written(self) -> str:
        return (self.folder / "paper").read_bytes().decode(errors="replace")

    def do(self, method: str, **params: Any) -> None:
        self.made.call(f"Input.{method}", params, self.session)

    def evaluate(self, expression: str) -> Any:
        return self.made.evaluate(self.session, expression)

    def click(self, button: str) -> None:
        self.made.click(self.session, button)

    def key(self, code: str, key: str, **more: Any) -> None:
        for kind in ("keyDown", "keyUp"):
            self.do("dispatchKeyEvent", type=kind, code=code, key=key, **more)

    def point(self) -> None:
        """Let the pointer be over the terminal, which then has the keys."""
        box = self.evaluate(
            "(({x, y, width, height}) => [x + width / 2, y + height * .8])(gameway.picture)"
        )
        self.do("dispatchMouseEvent", type="mouseMoved", x=box[0], y=box[1])

    def comes_to(self, text: str) -> None:
        assert eventually(lambda: self.written() == f"ready\n{text}"), repr(self.written())

    def clip(self, *words: str, **more: Any) -> subprocess.CompletedProcess[str]:
        line = ["xclip", "-selection", "clipboard", *words]
        return subprocess.run(line, env=self.screen, text=True, check=False, timeout=20, **more)


def script(folder: Path, layout: str) -> str:
    """Give a terminal whose `cat` writes what is typed, and keep what other programs need."""
    inner = f"stty raw -echo; echo ready > {folder}/paper; exec cat >> {folder}/paper"
    return (
        f"setxkbmap {layout}; env > {folder}/names; export LC_ALL=C.UTF-8; "
        f"exec xterm -u8 -geometry 120x40+0+0 -e sh -c '{inner}'"
    )


@pytest.fixture(scope="module", params=[pytest.param("us", marks=LONG), "de"])
def typed(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Typed]:
    folder: Path = tmp_path_factory.mktemp("text")
    words = ["--size", SIZE, "sh", "-c", script(folder, request.param)]
    with (
        play(folder / "run", "--no-audio", *words) as playing,
        browser(folder / "profile") as made,
    ):
        made.let_it_use_the_clipboard(playing.link)
        session = made.open(playing.link, LOSSY)
        until_frames(made, session)
        assert eventually((folder / "paper").exists)
        names = dict(
            line.split("=", 1)
            for line in (folder / "names").read_text().splitlines()
            if "=" in line
        )
        page = Typed(made, session, folder, names)
        assert eventually(lambda: page.evaluate("!document.getElementById('write').hidden"))
        page.point()
        yield page


@pytest.fixture
def page(typed: Typed) -> Typed:
    """The same with nothing typed yet."""
    (typed.folder / "paper").write_text("ready\n")
    return typed


@pytest.fixture
def writing(page: Typed) -> Iterator[Typed]:
    """The same in text mode."""
    page.click("write")
    assert page.evaluate("document.activeElement.id") == "text"
    yield page
    if page.evaluate("document.getElementById('write').ariaPressed") == "true":
        page.click("write")


def test_text_is_what_was_written_whatever_the_layouts(writing: Typed) -> None:
    writing.do("insertText", text=TEXT)
    writing.comes_to(TEXT)


def test_a_composition_is_typed_when_it_ends(writing: Typed) -> None:
    for part in ("n", "ね", "ねこ"):
        writing.do("imeSetComposition", text=part, selectionStart=len(part), selectionEnd=len(part))
    time.sleep(0.3)
    assert writing.written() == "ready\n"
    writing.do("insertText", text="猫")
    writing.comes_to("猫")
    assert writing.evaluate("document.getElementById('text').value") == " "


def test_keys_that_write_nothing_go_by_their_place(writing: Typed) -> None:
    writing.do("insertText", text="ž")
    writing.key("Backspace", "Backspace")
    writing.key("Enter", "Enter")
    writing.key("Tab", "Tab")
    writing.key("KeyA", "a", text="a")
    # A command, by its place.
    writing.do("dispatchKeyEvent", type="keyDown", code="ControlLeft", key="Control", modifiers=2)
    writing.key("KeyD", "d", modifiers=2)
    writing.do("dispatchKeyEvent", type="keyUp", code="ControlLeft", key="Control")
    # What a terminal makes of them.
    writing.comes_to("ž\x7f\r\ta\x04")
    assert writing.evaluate("gameway.input.held") is False


def test_without_text_mode_keys_go_by_their_place(page: Typed) -> None:
    """The twin: the key of a letter writes what the screen's layout has there."""
    layout = "de" if "setxkbmap de" in script_of(page) else "us"
    page.key("KeyY", "y", text="y")
    page.comes_to("z" if layout == "de" else "y")


def script_of(page: Typed) -> str:
    said = subprocess.run(
        ["setxkbmap", "-query"], env=page.screen, text=True, capture_output=True, check=True
    )
    return "setxkbmap de" if "de" in said.stdout.split("layout:")[1].split()[0] else ""


def test_200_losses_cost_no_character(writing: Typed) -> None:
    alphabet = "abcžšč кот猫é"
    drawn = random.Random(1)
    text = "".join(drawn.choice(alphabet) for _ in range(400))
    writing.evaluate("void (losing = true)")
    for start in range(0, len(text), 4):
        writing.do("insertText", text=text[start : start + 4])
        time.sleep(0.01)
    assert eventually(
        lambda: writing.evaluate("lost") >= LOSSES or writing.evaluate("gameway.input.waiting") == 0
    )
    while writing.evaluate("lost") < LOSSES:
        text += "x"
        writing.do("insertText", text="x")
        time.sleep(0.02)
    writing.evaluate("void (losing = false)")
    writing.comes_to(text)


def test_text_that_waits_is_forgotten_with_its_page(writing: Typed) -> None:
    """Nothing of a text that was told is typed after the page has gone."""
    writing.evaluate("void (losing = true, RTCDataChannel.prototype.send = () => {})")
    writing.do("insertText", text="never")
    assert writing.evaluate("gameway.input.waiting") == 5
    writing.made.call("Page.reload", {}, writing.session)
    until_frames(writing.made, writing.session)
    assert eventually(lambda: writing.evaluate("!document.getElementById('write').hidden"))
    writing.point()
    writing.click("write")
    writing.do("insertText", text="now")
    writing.comes_to("now")


@pytest.mark.parametrize("text", [TEXT, "zeile\n" * 170_000], ids=["short", "a megabyte"])
def test_the_clipboard_goes_both_ways_when_it_is_asked_for(page: Typed, text: str) -> None:
    page.evaluate(f"navigator.clipboard.writeText({text!r})")
    page.click("paste")
    assert eventually(lambda: page.clip("-o", capture_output=True).stdout == text)
    with subprocess.Popen(
        ["xclip", "-selection", "clipboard", "-i"],
        env=page.screen,
        text=True,
        stdin=subprocess.PIPE,
    ) as owner:
        assert owner.stdin is not None
        owner.stdin.write(f"{text}!")
        owner.stdin.close()
        owner.wait(10)
    page.click("copy")
    assert eventually(lambda: page.evaluate("navigator.clipboard.readText()") == f"{text}!")


def test_nothing_goes_by_itself(page: Typed) -> None:
    page.evaluate("navigator.clipboard.writeText('of the browser')")
    page.clip("-i", input="of the game", stdout=subprocess.DEVNULL)
    time.sleep(1)
    assert page.clip("-o", capture_output=True).stdout == "of the game"
    assert page.evaluate("navigator.clipboard.readText()") == "of the browser"


def test_what_is_too_long_is_said_with_the_limit(page: Typed) -> None:
    page.clip("-i", input="a" * (1 << 20) + "b", stdout=subprocess.DEVNULL)
    page.click("copy")
    assert eventually(
        lambda: "1 MiB" in page.evaluate("document.getElementById('complaint').textContent")
    )
    page.evaluate("navigator.clipboard.writeText('a'.repeat((1 << 20) + 1))")
    page.click("paste")
    assert eventually(
        lambda: "1 MiB" in page.evaluate("document.getElementById('complaint').textContent")
    )
    assert len(page.clip("-o", capture_output=True).stdout) == (1 << 20) + 1, "it was not replaced"


def test_without_the_option_there_is_no_clipboard(tmp_path: Path) -> None:
    words = ["--no-clipboard", "--no-audio", "--size", SIZE, "sh", "-c", script(tmp_path, "us")]
    with play(tmp_path / "run", *words) as playing, browser(tmp_path / "profile") as made:
        session = made.open(playing.link)
        until_frames(made, session)
        assert eventually(
            lambda: made.evaluate(session, "!document.getElementById('write').hidden")
        )
        time.sleep(0.5)
        assert made.evaluate(session, "document.getElementById('copy').hidden")
        assert made.evaluate(session, "document.getElementById('paste').hidden")
