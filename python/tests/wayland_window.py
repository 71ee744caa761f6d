"""A window of Wayland on all of an output, in shared memory. It speaks the protocol itself
(wayland.xml, xdg-shell.xml), since no library of it is there."""

from __future__ import annotations

import mmap
import os
import select
import socket
import struct
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

WIDTH, HEIGHT = 1280, 720
DISPLAY, REGISTRY, COMPOSITOR, SHM, BASE, SURFACE, XDG, TOP, POOL = range(1, 10)
BUFFERS = range(10, 14)
OTHERS = 14
"""Numbers of objects from here on are who has it's."""
SIZE = 4 * WIDTH * HEIGHT
WANTED = (b"wl_compositor", b"wl_shm", b"xdg_wm_base")


class Window:
    """A connection to the compositor, with one window."""

    def __init__(self, colours: Sequence[int], *more: bytes) -> None:
        """Of these colours in turn; it waits for interfaces that are bound later."""
        self.stream = socket.socket(socket.AF_UNIX)
        folder = Path(os.environ["XDG_RUNTIME_DIR"])
        self.stream.connect(str(folder / os.environ["WAYLAND_DISPLAY"]))
        self.said, self.is_configured = b"", False
        self.files: list[int] = []
        self.names: dict[bytes, int] = {}
        self.ask(DISPLAY, 1, "I", REGISTRY)
        while not self.names.keys() >= {*WANTED, *more}:
            for number, kind, body in self.listen():
                if (number, kind) == (REGISTRY, 0):
                    name, length = struct.unpack_from("=II", body)
                    self.names[body[8 : 8 + length - 1]] = name
        # Numbers of objects come one after the other.
        for own, interface in zip((COMPOSITOR, SHM, BASE), WANTED, strict=True):
            self.bind(own, interface)
        self.ask(COMPOSITOR, 0, "I", SURFACE)
        self.ask(BASE, 2, "II", XDG, SURFACE)
        self.ask(XDG, 1, "I", TOP)
        self.ask(TOP, 11, "I", 0)
        self.ask(SURFACE, 6, "")
        self.memory = self.share(colours)
        while not self.is_configured:
            list(self.follow())

    def bind(self, own: int, interface: bytes, version: int = 1) -> None:
        fields = struct.pack("=II", self.names[interface], len(interface) + 1)
        fields += interface + bytes(4 - len(interface) % 4)
        self.send(REGISTRY, 0, fields + struct.pack("=II", version, own))

    def share(self, colours: Sequence[int]) -> mmap.mmap:
        file = os.memfd_create("window")
        whole = SIZE * len(BUFFERS)
        os.ftruncate(file, whole)
        memory = mmap.mmap(file, whole)
        head = struct.pack("=IHHIi", SHM, 0, 16, POOL, whole)
        socket.send_fds(self.stream, [head], [file])
        for at, buffer in enumerate(BUFFERS):
            self.ask(POOL, 0, "Iiiiii", buffer, at * SIZE, WIDTH, HEIGHT, 4 * WIDTH, 1)
            colour = struct.pack("<I", colours[at % len(colours)])
            memory[at * SIZE : (at + 1) * SIZE] = colour * (WIDTH * HEIGHT)
        return memory

    def show(self, at: int) -> None:
        """Show this one of the buffers."""
        self.ask(SURFACE, 1, "Iii", BUFFERS[at], 0, 0)
        self.ask(SURFACE, 2, "iiii", 0, 0, WIDTH, HEIGHT)
        self.ask(SURFACE, 6, "")

    def ask(self, number: int, kind: int, layout: str, *fields: int) -> None:
        self.send(number, kind, struct.pack("=" + layout, *fields))

    def send(self, number: int, kind: int, body: bytes) -> None:
        self.stream.sendall(struct.pack("=IHH", number, kind, 8 + len(body)) + body)

    def listen(self, *, waits: bool = True) -> Iterator[tuple[int, int, bytes]]:
        """Give what the compositor has said: an object, which of its events, and its fields."""
        if not select.select([self.stream], [], [], None if waits else 0)[0]:
            return
        said, files, _, _ = socket.recv_fds(self.stream, 1 << 16, 16)
        assert said, "the compositor has ended"
        self.said += said
        self.files += files
        while len(self.said) >= 8:
            number, kind, size = struct.unpack_from("=IHH", self.said)
            if len(self.said) < size:
                break
            body, self.said = self.said[8:size], self.said[size:]
            assert (number, kind) != (DISPLAY, 0), f"the compositor refuses: {body!r}"
            yield number, kind, body

    def follow(self, *, waits: bool = True) -> Iterator[tuple[int, int, bytes]]:
        """Answer what wants to be, and give the rest."""
        for number, kind, body in self.listen(waits=waits):
            if (number, kind) == (BASE, 0):
                self.send(BASE, 3, body)
            elif (number, kind) == (XDG, 0):
                self.send(XDG, 4, body)
                self.is_configured = True
            else:
                yield number, kind, body
