"""A desktop of Wayland without a monitor, and a program in it: for tests, in a session bus of its own.

Called with a folder, the colour of the background and the program. The compositor is sway, its one
output HEADLESS-1; the portal shares it without a question. All ends with the program.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

OUTPUT = "HEADLESS-1"
SIZE = (640, 360)
PORTALS = Path("/usr/libexec")
PATIENCE_S = 20.0


def wait(is_there: Callable[[], object], what: str) -> None:
    """Wait for a part of the desktop."""
    until = time.monotonic() + PATIENCE_S
    while not is_there():
        if time.monotonic() > until:
            sys.exit(f"the desktop has no {what}")
        time.sleep(0.02)


def main() -> int:
    """Start all, in the order in which one needs the other, and end it in the other order."""
    folder, colour, *program = sys.argv[1:]
    runtime = Path(folder)
    (runtime / "sway.conf").write_text(
        f"xwayland disable\noutput {OUTPUT} mode {SIZE[0]}x{SIZE[1]}@60Hz "
        f"bg {colour} solid_color\n"
    )
    (runtime / "portal.conf").write_text(
        f"[screencast]\nchooser_type=none\noutput_name={OUTPUT}\n"
    )
    os.environ |= {
        "XDG_RUNTIME_DIR": folder,
        "XDG_CURRENT_DESKTOP": "sway",
        "WLR_BACKENDS": "headless",
        "WLR_LIBINPUT_NO_DEVICES": "1",
        "WLR_RENDERER": "pixman",
    }
    started: list[subprocess.Popen[bytes]] = []

    def start(*words: str) -> None:
        with (runtime / f"{Path(words[0]).name}.log").open("w") as log:
            started.append(subprocess.Popen(words, stdout=log, stderr=subprocess.STDOUT))

    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        start("sway", "-c", str(runtime / "sway.conf"))
        wait(lambda: [*runtime.glob("wayland-?")], "compositor: see sway.log")
        os.environ["WAYLAND_DISPLAY"] = next(runtime.glob("wayland-?")).name
        start("pipewire")
        wait((runtime / "pipewire-0").exists, "PipeWire: see pipewire.log")
        start("wireplumber")
        start(str(PORTALS / "xdg-desktop-portal-wlr"), "-c", str(runtime / "portal.conf"))
        start(str(PORTALS / "xdg-desktop-portal"))
        with subprocess.Popen(program) as own:
            for kind in (signal.SIGTERM, signal.SIGINT):
                signal.signal(kind, lambda number, _: own.send_signal(number))
            return own.wait()
    finally:
        for one in reversed(started):
            one.terminate()
        for one in started:
            try:
                one.wait(5)
            except subprocess.TimeoutExpired:
                one.kill()


if __name__ == "__main__":
    sys.exit(main())
