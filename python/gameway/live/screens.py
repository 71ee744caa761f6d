"""Screens of a live run: for each stream a virtual X server (Xvfb) and a program that draws on it.

Both run in the namespace of the router, which has no way out: a program that looks for servers of
its own puts no packet among those that are measured, and what it leaves running is found by the
namespace. The program has a home of its own, so that no user's settings change what is shown, and
it is not root's: under sudo it runs as the user who called that.
"""

from __future__ import annotations

import os
import secrets
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from gameway import _core
from gameway.caller import caller
from gameway.errors import GamewayError
from gameway.live import schema
from gameway.live.lookup import search_path
from gameway.live.processes import Process, Supervisor, TooLate

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gameway.live.ends import Ends

SHOWN_WITHIN_S = 20.0
"""Longer no program may take to draw something: a game reads its data first."""
SERVER_WITHIN_S = 10.0
DEPTH = 24
SERVER = ("-displayfd", "1", "-noreset", "-nolisten", "tcp")
"""It says its display's number, and stays as it is when a first look at it ends."""
FIRST_DISPLAY, DISPLAYS = 1_000, 50_000
"""A server that finds a number itself takes the socket of a server in another namespace, which has
found the same (`crates/product/desktop/src/screen.rs`)."""
TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
ENVIRONMENT = {"SDL_AUDIODRIVER": "dummy", "SDL_VIDEO_WINDOW_POS": "0,0", "SDL_RENDER_VSYNC": "1"}
"""For games on SDL, as most are: no sound, the window in the corner, and no more pictures than a
display shows (60 a second), where a virtual screen would let a game draw all that a core can."""
OF_A_SESSION = ("XAUTHORITY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS")
"""Of the user's own desktop: not for a program on another screen."""


@dataclass
class Screen:
    """A screen and the program on it."""

    stream: str
    server: Process
    program: Process
    display: str
    folder: Path
    _spent_ns: dict[str, int]

    @classmethod
    def open(
        cls, supervisor: Supervisor, ends: Ends, stream: str, what: Wanted, folder: Path
    ) -> Screen:
        """Make a screen, start the program, and wait until it shows something.

        Its table goes to `folder`.
        """
        server = supervisor.start(
            f"screen-{stream}", ends.command("router", server_command(what.size))
        )
        display = display_of(supervisor, server)
        user, words = caller(), own_home(what.command)
        inside = ends.command("router", user.command(words) if user else words)
        environment = environment_of(display, what.home)
        program = supervisor.start(f"game-{stream}", inside, environment=environment)
        await_picture(supervisor, program, display)
        return cls(stream, server, program, display, folder, {})

    def begin(self) -> None:
        """Note the processor time that was spent before the run."""
        self._spent_ns = self._processor_ns()

    def end(self) -> None:
        """Write the table `cpu`: what the program and its screen spent in the run."""
        part = f"screen-{self.stream}"
        spent = self._processor_ns()
        rows = [(part, name, ns - self._spent_ns.get(name, 0)) for name, ns in spent.items()]
        table = pl.DataFrame(rows, schema=schema.CPU, orient="row")
        table.write_parquet(self.folder / "cpu.parquet")

    def _processor_ns(self) -> dict[str, int]:
        return {
            "Xvfb": processor_ns(self.server.popen.pid),
            "program": processor_ns(self.program.popen.pid),
        }


@dataclass(frozen=True)
class Wanted:
    """What is to be on a screen."""

    command: Sequence[str]
    size: tuple[int, int]
    home: Path
    """Where the program may write."""


@contextmanager
def home() -> Iterator[Path]:
    """Give a folder for the time of a run, which belongs to who called sudo, if anybody did."""
    with tempfile.TemporaryDirectory(prefix="gameway-home-") as made:
        user = caller()
        if user is not None:
            os.chown(made, user.user, user.group)
        yield Path(made)


def processor_ns(group: int) -> int:
    """Give the processor time of a group of processes, those that have ended included (proc(5))."""
    spent = 0
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = file.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        # Fields 5 (process group) and 14 to 17 (own time, that of children that were waited for).
        if int(fields[2]) == group:
            spent += sum(int(field) for field in fields[11:15])
    return spent * TICK_NS


def server_command(size: tuple[int, int]) -> list[str]:
    """Give the command of an X server with a screen of this size."""
    width, height = size
    display = f":{FIRST_DISPLAY + secrets.randbelow(DISPLAYS)}"
    return ["Xvfb", display, *SERVER, "-screen", "0", f"{width}x{height}x{DEPTH}"]


def own_home(command: Sequence[str]) -> list[str]:
    """Give a command without what belongs to the user's own desktop and home, by env(1)."""
    own = [name for name in os.environ if name.startswith("XDG_")]
    return ["env", *(word for name in (*OF_A_SESSION, *own) for word in ("-u", name)), *command]


def environment_of(display: str, home: Path) -> dict[str, str]:
    """Give the environment of a program on a screen, whose home is this folder."""
    path = search_path()
    return {**ENVIRONMENT, "DISPLAY": display, "HOME": str(home), "PATH": path}


def display_of(supervisor: Supervisor, server: Process) -> str:
    """Wait until the X server says which display it is."""

    def said() -> str:
        return server.out.read_text(encoding="ascii", errors="replace")

    until_ns = time.monotonic_ns() + round(SERVER_WITHIN_S * 1e9)
    supervisor.wait_for(lambda: said().endswith("\n"), until_ns, "Xvfb did not start in time")
    return f":{said().strip()}"


def await_picture(supervisor: Supervisor, program: Process, display: str) -> None:
    """Wait until the screen is not of one colour any more."""

    def shows() -> bool:
        try:
            return _core.screen_shows(display)
        except ValueError as error:
            raise GamewayError(str(error)) from None

    until_ns = time.monotonic_ns() + round(SHOWN_WITHIN_S * 1e9)
    try:
        supervisor.wait_for(shows, until_ns, "")
    except TooLate:
        told = f"{program.name} showed nothing within {SHOWN_WITHIN_S:.0f} s: it said: "
        raise GamewayError(told + program.last_words()) from None
