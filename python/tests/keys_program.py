"""Presses and releases a key of the X11 screen of the environment for each line of standard input,
a keycode, and says so. It has XTEST of `photon_witness`."""

from __future__ import annotations

import sys

from photon_witness import KEY_PRESS, KEY_RELEASE, MOTION, Witness

MIDDLE = (640, 440)


def main() -> None:
    witness = Witness()
    witness.fake(MOTION, 0, *MIDDLE)
    for line in sys.stdin:
        for kind in (KEY_PRESS, KEY_RELEASE):
            witness.fake(kind, int(line))
        print(line.strip(), flush=True)  # noqa: T201 (what it is for)


if __name__ == "__main__":
    main()
