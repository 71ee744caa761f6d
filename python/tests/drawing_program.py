"""Draws on the whole screen of the environment while a command runs, and says what that cost:
`drawing_program.py x11|wayland COMMAND...`.

Each picture is drawn at once, in memory before, 60 times a second at uneven times; its first row
has sixteen cells with the time, CLOCK_MONOTONIC in tenths of a millisecond. On X11 it speaks the
core protocol (X Window System Protocol, appendix B). A line of JSON tells the command's own line,
the number of drawings, and the processor time of the processes that have the screen.
"""

from __future__ import annotations

import json
import os
import random
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

from shaping_program import Screen
from wayland_window import BUFFERS, HEIGHT, SIZE, WIDTH, Window

CELLS, ROW = 16, 40
INTERVAL_S = 1 / 60
COLOURS = (0x305080, 0x805030)
TICK = os.sysconf("SC_CLK_TCK")


def stamp() -> list[bool]:
    """The cells of now."""
    now = time.monotonic_ns() // 100_000
    return [bool(now >> (CELLS - 1 - cell) & 1) for cell in range(CELLS)]


class X11:
    """The root window, drawn on by way of a pixmap."""

    def __init__(self) -> None:
        self.screen = Screen()
        self.pixmap, self.context = self.screen.base + 1, self.screen.base + 2
        self.screen.ask(53, 24, "IIHH", self.pixmap, self.screen.root, WIDTH, HEIGHT)
        self.screen.ask(55, 0, "III", self.context, self.screen.root, 0)
        credentials = self.screen.stream.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        self.server = struct.unpack("iII", credentials)[0]
        self.turn = 0

    def fill(self, colour: int, *rectangles: tuple[int, int, int, int]) -> None:
        fields = [field for one in rectangles for field in one]
        self.screen.ask(56, 0, "III", self.context, 4, colour)
        self.screen.ask(70, 0, f"II{'hhHH' * len(rectangles)}", self.pixmap, self.context, *fields)

    def draw(self) -> None:
        self.turn ^= 1
        self.fill(COLOURS[self.turn], (0, ROW, WIDTH, HEIGHT - ROW))
        side = WIDTH // CELLS
        for cell, is_bright in enumerate(stamp()):
            self.fill(0xFFFFFF * is_bright, (cell * side, 0, side, ROW))
        copy = (self.pixmap, self.screen.root, self.context, 0, 0, 0, 0, WIDTH, HEIGHT)
        self.screen.ask(62, 0, "IIIhhhhHH", *copy)

    def processes(self) -> list[int]:
        return [self.server]


class Wayland:
    """A window on all of the output."""

    def __init__(self) -> None:
        self.window, self.turn = Window(COLOURS), 0

    def draw(self) -> None:
        list(self.window.follow(waits=False))
        at = self.turn = (self.turn + 1) % len(BUFFERS)
        side = 4 * WIDTH // CELLS
        row = b"".join((b"\xff" if is_bright else b"\0") * side for is_bright in stamp())
        self.window.memory[at * SIZE : at * SIZE + ROW * len(row)] = row * ROW
        self.window.show(at)

    def processes(self) -> list[int]:
        """All of the desktop's, its session's, but for what stands before it in tests."""
        own, found = os.getsid(0), []
        for path in Path("/proc").glob("[0-9]*"):
            try:
                is_test = (path / "comm").read_text().startswith("python")
                if os.getsid(int(path.name)) == own and not is_test:
                    found.append(int(path.name))
            except (ProcessLookupError, FileNotFoundError):
                pass
        return found


def cost(processes: list[int]) -> dict[str, float]:
    """Their processor time in seconds, by names."""
    sums: dict[str, float] = {}
    for process in processes:
        try:
            said = Path(f"/proc/{process}/stat").read_text()
        except FileNotFoundError:
            continue
        name, fields = said[said.index("(") + 1 : said.rindex(")")], said.rpartition(")")[2].split()
        sums[name] = sums.get(name, 0) + (int(fields[11]) + int(fields[12])) / TICK
    return sums


def main() -> None:
    kind, *command = sys.argv[1:]
    screen = X11() if kind == "x11" else Wayland()
    screen.draw()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        own = {os.getpid(), process.pid}
        before = cost([one for one in screen.processes() if one not in own])
        due, count, after = time.monotonic(), 0, before
        while process.poll() is None:
            due = max(due + random.uniform(0.5, 1.5) * INTERVAL_S, time.monotonic())
            time.sleep(max(0, due - time.monotonic()))
            screen.draw()
            count += 1
            if count % 30 == 0:
                after = cost([one for one in screen.processes() if one not in own])
        assert process.stdout is not None
        said = process.stdout.read()
    spent = {name: after[name] - before.get(name, 0) for name in after}
    print(json.dumps({"said": said, "drawn": count, "spent": spent}))  # noqa: T201


if __name__ == "__main__":
    main()
