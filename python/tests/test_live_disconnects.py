"""No key sticks in the built-in scene through two hundred disconnects of Chromium."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from browser_fixture import NEEDS_CHROMIUM, browser, end, host
from test_live_input import RATES, Page, is_off, is_on

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = [
    NEEDS_CHROMIUM,
    pytest.mark.timed,
    pytest.mark.long("test_live_input.py::test_no_key_sticks_when_the_page_is_gone"),
]

ROUNDS = 200
CODES = ("KeyW", "KeyA", "KeyD", "Space", "ShiftLeft")
"""None of them moves the marker, which would leave the picture."""


@dataclass
class Player:
    """Who presses and releases keys at random times."""

    page: Page
    random: Random
    down: set[str] = field(default_factory=set)

    def plays(self) -> None:
        for code in self.random.choices(CODES, k=self.random.randint(1, 5)):
            is_down = code in self.down
            self.page.key("keyUp" if is_down else "keyDown", code)
            self.down ^= {code}
            time.sleep(self.random.uniform(0, 0.04))


def blurred(page: Page) -> None:
    page.made.evaluate(page.session, "dispatchEvent(new Event('blur'))")


def closed(page: Page) -> None:
    page.made.evaluate(page.session, "connection.close()")


def left(page: Page) -> None:
    page.made.call("Page.navigate", {"url": "about:blank"}, page.session)


def reloaded(page: Page) -> None:
    page.made.evaluate(page.session, "window.isBefore = true")
    page.made.call("Page.reload", {}, page.session)
    page.until("!window.isBefore && Boolean(window.gameway)")
    page.until_it_plays()


def gone(page: Page) -> None:
    page.made.call("Target.closeTarget", {"targetId": target(page)})


def taken_over(page: Page) -> None:
    """Do nothing: another page comes."""


ENDS: tuple[Callable[[Page], None], ...] = (blurred, closed, left, reloaded, gone, taken_over)


def target(page: Page) -> Any:
    return page.made.call("Target.getTargetInfo", {}, page.session)["targetInfo"]["targetId"]


def test_no_key_sticks_through_200_disconnects(tmp_path: Path) -> None:
    random = Random(5)
    held = dict.fromkeys((kind.__name__ for kind in ENDS), 0)
    with (
        host(tmp_path, "fixed", RATES, size=(640, 360), input=True) as (url, process),
        browser(tmp_path / "profile") as made,
    ):
        page = Page(made, "").opened(url)
        for _ in range(ROUNDS):
            player = Player(page, random)
            player.plays()
            if player.down:
                # The twin: what is held is seen.
                page.wait(is_on)
            how = random.choice(ENDS)
            held[how.__name__] += bool(player.down)
            before = target(page)
            how(page)
            if how not in (blurred, reloaded):
                page = page.opened(url)
            page.wait(is_off)
            assert page.made.evaluate(page.session, "gameway.input.held") is False
            if how in (closed, left, taken_over):
                made.call("Target.closeTarget", {"targetId": before})
        end(process)
    # Most disconnects of each kind came while something was held.
    assert all(15 <= count <= 60 for count in held.values()), held
