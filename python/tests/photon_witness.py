"""Presses a key on the X11 screen of the environment and looks at its pixels until the test card in
a browser's window shows another number: `photon_witness.py COUNT X Y WIDTH`, where the row of
the card's cells begins at that pixel and is so wide.

It prints a line a press: when the key was given to the server and when the answer was seen, in
nanoseconds of CLOCK_MONOTONIC. It knows nothing of the page: X Window System Protocol, appendix B,
GetImage; XTEST Extension Protocol, FakeInput."""

from __future__ import annotations

import random
import struct
import sys
import time

from shaping_program import Screen

KEY_PRESS, KEY_RELEASE, MOTION = 2, 3, 6
SPACE = 65
"""Its keycode, in both sets of keycodes that X servers have on Linux."""
CELLS = 16
PATIENCE_S = 2.0
Z_PIXMAP = 2


class Witness(Screen):
    """Somebody at the screen: hands and eyes."""

    def __init__(self) -> None:
        super().__init__()
        self.ask(98, 0, "HH8s", 5, 0, b"XTEST\0\0\0")
        head = self.answer()
        assert head[8], "the screen has no XTEST"
        self.xtest = head[9]

    def answer(self) -> bytes:
        """Give the head of an answer; that the keyboard has changed is told to everybody."""
        while (head := self.take(32))[0] > 1:
            pass
        assert head[0] == 1, f"the screen refuses: error {head[1]}"
        return head

    def fake(self, kind: int, detail: int, x: int = 0, y: int = 0) -> None:
        self.ask(
            self.xtest, 2, "BBHIIIIhhIHBB", kind, detail, 0, 0, self.root, 0, 0, x, y, 0, 0, 0, 0
        )

    def bits(self, x: int, y: int, width: int) -> tuple[bool, ...]:
        """Whether each cell is bright, at its middle."""
        self.ask(73, Z_PIXMAP, "IhhHHI", self.root, x, y, width, 1, 0xFFFFFFFF)
        head = self.answer()
        row = self.take(4 * struct.unpack_from("<I", head, 4)[0])
        middles = (4 * int((cell + 0.5) * width / CELLS) for cell in range(CELLS))
        return tuple(row[at + 1] > 128 for at in middles)


def main() -> None:
    count, x, y, width = map(int, sys.argv[1:])
    witness = Witness()
    witness.fake(MOTION, 0, x + width // 2, y + 5)
    for _ in range(count):
        time.sleep(random.uniform(0.2, 0.35))
        before = witness.bits(x, y, width)
        pressed = time.monotonic_ns()
        witness.fake(KEY_PRESS, SPACE)
        while witness.bits(x, y, width) == before:
            assert time.monotonic_ns() - pressed < PATIENCE_S * 1e9, "no answer is seen"
        seen = time.monotonic_ns()
        witness.fake(KEY_RELEASE, SPACE)
        print(pressed, seen, flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
