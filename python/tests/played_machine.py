"""A screen, a host on which it is played, and a program that looks at gamepads.

For a machine of its own. What they say goes to standard output. The file `kill` in the folder
kills the host by SIGKILL. The file `game` there starts a game that takes the gamepad whose number
at SDL (its GUID) stands in the file.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

DISPLAY = ":9"
SDL = {"SDL_JOYSTICK_DISABLE_UDEV": "1"}
"""There is no udev that would tell of devices."""
GAME = (
    "/usr/games/crispy-doom -iwad /usr/share/games/doom/freedoom2.wad -config /tmp/common.cfg "
    "-extraconfig /tmp/own.cfg -nosound -nogui -window -geometry 320x180 -warp 1 -skill 1 "
    "-nomonsters"
)
COMMON = {"use_joystick": "1", "joyb_fire": "0"}
OWN = {
    "joystick_index": "0",
    # The left stick of an Xbox pad turns and walks; button A is the first one.
    "joystick_x_axis": "0",
    "joystick_y_axis": "1",
    "joystick_physical_button0": "0",
    "crispy_hires": "0",
    "crispy_widescreen": "0",
    "aspect_ratio_correct": "0",
    "window_position": '"0,0"',
    "show_endoom": "0",
}


def say(line: str) -> None:
    print(line, flush=True)  # noqa: T201 (what it is for)


def devices() -> int:
    return Path("/proc/bus/input/devices").read_text().count("Gameway gamepad")


def start_game(guid: str) -> subprocess.Popen[bytes]:
    """Start a game that walks and turns by this gamepad; it ends with the machine at last."""
    for file, settings in (("common", COMMON), ("own", OWN | {"joystick_guid": f'"{guid}"'})):
        lines = "".join(f"{name} {value}\n" for name, value in settings.items())
        Path(f"/tmp/{file}.cfg").write_text(lines)
    surroundings = {**os.environ, **SDL, "DISPLAY": DISPLAY}
    return subprocess.Popen(GAME.split(), stdout=subprocess.DEVNULL, env=surroundings)


def main() -> None:
    """Start all, and kill the host when that is asked for."""
    folder, here = Path(sys.argv[1]), Path(__file__).parent
    screen = ["Xvfb", DISPLAY, "-screen", "0", "320x180x24", "-nolisten", "tcp"]
    part = [sys.executable, "-m", "gameway.live.part", "host", str(folder / "host.json")]
    own = {**os.environ, **SDL, "SDL_VIDEODRIVER": "dummy"}
    with subprocess.Popen(screen, stderr=subprocess.DEVNULL):
        while not Path(f"/tmp/.X11-unix/X{DISPLAY[1:]}").exists():
            time.sleep(0.05)
        with (
            subprocess.Popen(part) as host,
            subprocess.Popen([sys.executable, str(here / "sdl_program.py")], env=own),
        ):
            asked, game = folder / "game", None
            while not (folder / "kill").exists():
                time.sleep(0.05)
                if asked.exists():
                    if game is not None:
                        game.kill()
                    game = start_game(asked.read_text())
                    asked.unlink()
            say(f'{{"devices": {devices()}}}')
            host.kill()
            host.wait()
            say(f'{{"devices": {devices()}}}')
            # The others end with the machine.
            time.sleep(3_600)


if __name__ == "__main__":
    main()
