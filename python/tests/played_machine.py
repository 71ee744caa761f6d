"""A screen, a host on which it is played, and a program that looks at gamepads.

For a machine of its own. What they say goes to standard output. The file `kill` in the folder
kills the host by SIGKILL.
"""

import subprocess
import sys
import time
from pathlib import Path

DISPLAY = ":9"
SDL = {"SDL_VIDEODRIVER": "dummy", "SDL_JOYSTICK_DISABLE_UDEV": "1"}
"""There is no udev that would tell of devices."""


def say(line: str) -> None:
    print(line, flush=True)  # noqa: T201 (what it is for)


def devices() -> int:
    return Path("/proc/bus/input/devices").read_text().count("Gameway gamepad")


def main() -> None:
    """Start all, and kill the host when that is asked for."""
    folder, here = Path(sys.argv[1]), Path(__file__).parent
    screen = ["Xvfb", DISPLAY, "-screen", "0", "320x180x24", "-nolisten", "tcp"]
    part = [sys.executable, "-m", "gameway.live.part", "host", str(folder / "host.json")]
    program = ["env", *(f"{name}={value}" for name, value in SDL.items()), sys.executable]
    with subprocess.Popen(screen, stderr=subprocess.DEVNULL):
        while not Path(f"/tmp/.X11-unix/X{DISPLAY[1:]}").exists():
            time.sleep(0.05)
        with (
            subprocess.Popen(part) as host,
            subprocess.Popen([*program, str(here / "sdl_program.py")]),
        ):
            while not (folder / "kill").exists():
                time.sleep(0.05)
            say(f'{{"devices": {devices()}}}')
            host.kill()
            host.wait()
            say(f'{{"devices": {devices()}}}')
            # The others end with the machine.
            time.sleep(3_600)


if __name__ == "__main__":
    main()
