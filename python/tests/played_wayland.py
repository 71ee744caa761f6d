"""A desktop of Wayland on which a host is played, and what its devices do, in a machine."""

import os
import subprocess
import sys
from pathlib import Path


def main() -> None:
    """Start the desktop with the host in it, and the program that reads devices."""
    folder, here = Path(sys.argv[1]), Path(__file__).parent
    host = [sys.executable, "-m", "gameway.live.part", "host", str(folder / "host.json")]
    runtime = Path("/tmp/desktop")
    runtime.mkdir(mode=0o700)
    desktop = [sys.executable, str(here / "wayland_desktop.py"), str(runtime), "#3060c0", *host]
    user = ["unshare", "--user", "--map-user=1000", "--map-group=1000", "dbus-run-session", "--"]
    with (
        subprocess.Popen([*user, *desktop], env=os.environ | {"XDG_RUNTIME_DIR": str(runtime)}),
        subprocess.Popen([sys.executable, str(here / "evdev_program.py")]),
    ):
        pass


if __name__ == "__main__":
    main()
