"""A desktop of Wayland in a machine of its own: sway, whose screen is a picture in memory and whose
devices are the machine's, with a window on all of it."""

from __future__ import annotations

import grp
import json
import os
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

USER = 1000
"""Sway does not start as root."""
RUNTIME = Path("/tmp/desk")
CONFIG = "xwayland disable\noutput HEADLESS-1 mode 1280x720@60Hz\n"
BACKENDS = {
    "XDG_RUNTIME_DIR": str(RUNTIME),
    "WLR_BACKENDS": "libinput,headless",
    "WLR_RENDERER": "pixman",
    "WLR_LIBINPUT_NO_DEVICES": "1",
    "LIBSEAT_BACKEND": "builtin",
    "SEATD_VTBOUND": "0",
}
PATIENCE_S = 60.0
QUIET_S, LOOK_S = 0.3, 0.01


class Desk:
    """The desktop, and what its window is told."""

    def __init__(self, log: Path) -> None:
        RUNTIME.mkdir(mode=0o700)
        os.chown(RUNTIME, USER, USER)
        config = RUNTIME / "config"
        config.write_text(CONFIG)
        self._surroundings = os.environ | BACKENDS
        with log.open("w") as file:
            subprocess.Popen(
                ["sway", "-c", str(config)],
                user=USER,
                group=USER,
                extra_groups=[grp.getgrnam("input").gr_gid],
                env=self._surroundings,
                stdout=file,
                stderr=file,
            )
        end = time.monotonic() + PATIENCE_S
        while not (found := [path for path in RUNTIME.glob("wayland-?") if path.is_socket()]):
            assert time.monotonic() < end, f"no compositor: {log.read_text()[-2000:]}"
            time.sleep(0.05)
        self._surroundings["WAYLAND_DISPLAY"] = found[0].name

    def open(self, turn: Callable[[], object]) -> None:
        """Open the window. A turn is what else has to go on."""
        program = [sys.executable, str(Path(__file__).with_name("window_program.py"))]
        self._window = subprocess.Popen(
            program, env=self._surroundings, stdout=subprocess.PIPE, bufsize=0
        )
        end = time.monotonic() + PATIENCE_S
        while self._line() != {"ready": "window"}:
            assert time.monotonic() < end, "the window has no keyboard"
            turn()
        self.take(lambda: None)

    def take(self, turn: Callable[[], object]) -> list[dict[str, Any]]:
        """Give what the window is told until it is told no more."""
        told = []
        end = time.monotonic() + QUIET_S
        while time.monotonic() < end:
            turn()
            if line := self._line():
                told.append(line)
                end = time.monotonic() + QUIET_S
        return told

    def _line(self) -> dict[str, Any]:
        assert self._window.stdout is not None
        if not select.select([self._window.stdout], [], [], LOOK_S)[0]:
            return {}
        line = self._window.stdout.readline()
        assert line, "the window has ended"
        return dict(json.loads(line))
