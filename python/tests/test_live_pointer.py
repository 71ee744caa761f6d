"""The pointer that a program shapes, as Chromium shows it over the picture."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browser_fixture import NEEDS_CHROMIUM, browser, until_frames
from shaping_program import HOTSPOT, SIDE
from test_play import eventually, play

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [NEEDS_CHROMIUM, pytest.mark.timed, pytest.mark.light]
WIDTH, HEIGHT = 320, 180
CURSOR = "getComputedStyle(video).cursor"
IMAGE = """(async () => {
  const image = new Image();
  image.src = getComputedStyle(video).cursor.match(/url\\("(.*)"\\)/)[1];
  await image.decode();
  const context = new OffscreenCanvas(image.width, image.height).getContext("2d");
  context.drawImage(image, 0, 0);
  return [image.width, image.height, ...context.getImageData(image.width / 2, 3, 1, 1).data];
})()"""
"""The size of the pointer's image, and a pixel of it."""


@pytest.mark.skipif(shutil.which("Xvfb") is None, reason="needs Xvfb")
def test_the_pointer_has_the_shape_that_the_program_gives_it(tmp_path: Path) -> None:
    program = [sys.executable, str(Path(__file__).with_name("shaping_program.py")), str(tmp_path)]
    with (
        play(tmp_path / "run", "--size", f"{WIDTH}x{HEIGHT}", *program) as playing,
        browser(tmp_path / "profile") as made,
    ):
        page = made.open(playing.link)
        until_frames(made, page)

        def shows(fits: Callable[[str], bool]) -> bool:
            return eventually(lambda: fits(made.evaluate(page, CURSOR)))

        assert made.evaluate(page, CURSOR) == "auto", "the program has set none"
        (tmp_path / "shape").touch()
        assert shows(lambda cursor: cursor.startswith('url("data:image/png')), "a shape"
        scale = made.evaluate(page, "gameway.picture.width") / WIDTH
        side = round(SIDE * scale)
        assert made.evaluate(page, IMAGE) == [side, side, 0, 255, 0, 255]
        x, y = ((pixel + 0.5) * side // SIDE for pixel in HOTSPOT)
        assert made.evaluate(page, CURSOR).endswith(f" {x:.0f} {y:.0f}, default")
        # The picture becomes smaller, and the pointer with it.
        made.evaluate(page, f"void (video.style.width = '{WIDTH}px')")
        assert shows(lambda cursor: cursor.endswith(f" {HOTSPOT[0]} {HOTSPOT[1]}, default"))
        assert made.evaluate(page, IMAGE)[:2] == [SIDE, SIDE]
        (tmp_path / "hidden").touch()
        assert shows(lambda cursor: cursor == "none"), "hidden"
