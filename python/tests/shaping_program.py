"""A program on an X11 screen that gives the pointer a shape, and hides it, when files come into a
folder: `shaping_program.py FOLDER`. It speaks the core protocol (X Window System Protocol,
appendix B), since no library of it is there."""

from __future__ import annotations

import os
import socket
import struct
import sys
import time
from pathlib import Path

SIDE = 16
HOTSPOT = (11, 5)


def cookie(file: Path) -> bytes:
    """Give the newest cookie of an authority file, whose fields have their lengths before them."""
    content, fields = file.read_bytes(), []
    while content:
        content = content[2:]
        for _ in range(4):
            (length,) = struct.unpack_from(">H", content)
            fields.append(content[2 : 2 + length])
            content = content[2 + length :]
    return fields[-1]


class Screen:
    """A connection to the screen of the environment."""

    def __init__(self) -> None:
        self.stream = socket.socket(socket.AF_UNIX)
        number = os.environ["DISPLAY"].partition(":")[2].partition(".")[0]
        self.stream.connect(f"/tmp/.X11-unix/X{number}")
        name, secret = b"MIT-MAGIC-COOKIE-1", cookie(Path(os.environ["XAUTHORITY"]))
        head = struct.pack("<cxHHHHxx", b"l", 11, 0, len(name), len(secret))
        self.stream.sendall(head + name + bytes(-len(name) % 4) + secret)
        state, length = struct.unpack("<BxxxxxH", self.take(8))
        assert state == 1, "the screen refuses"
        setup = self.take(4 * length)
        (self.base,) = struct.unpack_from("<I", setup, 4)
        vendor, formats = struct.unpack_from("<H", setup, 16)[0], setup[21]
        (self.root,) = struct.unpack_from("<I", setup, 32 + vendor + -vendor % 4 + 8 * formats)

    def take(self, count: int) -> bytes:
        found = b""
        while len(found) < count:
            found += self.stream.recv(count - len(found))
        return found

    def ask(self, opcode: int, detail: int, layout: str, *fields: int | bytes) -> None:
        body = struct.pack("<" + layout, *fields)
        self.stream.sendall(struct.pack("<BBH", opcode, detail, 1 + len(body) // 4) + body)

    def bitmap(self, number: int, bit: int) -> int:
        """Make a pixmap of depth one that has this bit everywhere."""
        pixmap: int = self.base + number
        context = pixmap + 1
        self.ask(53, 1, "IIHH", pixmap, self.root, SIDE, SIDE)
        self.ask(55, 0, "IIII", context, pixmap, 1 << 2, bit)
        self.ask(70, 0, "IIhhHH", pixmap, context, 0, 0, SIDE, SIDE)
        return pixmap

    def shape(self, number: int, opacity: int) -> None:
        """Give the whole screen a green pointer, or one of which nothing is seen."""
        source, mask = self.bitmap(number, 1), self.bitmap(number + 2, opacity)
        green, black, cursor = (0, 0xFFFF, 0), (0, 0, 0), self.base + number + 4
        self.ask(93, 0, "IIIHHHHHHHH", cursor, source, mask, *green, *black, *HOTSPOT)
        self.ask(2, 0, "III", self.root, 1 << 14, cursor)


def main() -> None:
    screen, folder = Screen(), Path(sys.argv[1])
    for number, (name, opacity) in enumerate((("shape", 1), ("hidden", 0))):
        while not (folder / name).exists():
            time.sleep(0.05)
        screen.shape(8 * number + 1, opacity)
    time.sleep(600)


if __name__ == "__main__":
    main()
