"""A screen that somebody else has started, such as a desktop's."""

from __future__ import annotations

import os
import struct
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def screen(size: tuple[int, int], *words: str | Path) -> Iterator[str]:
    """Give the name of a screen of this size, whose server has these further words."""
    sides = "x".join(map(str, (*size, 24)))
    line = ["Xvfb", "-displayfd", "1", "-nolisten", "tcp", "-screen", "0", sides, *words]
    with subprocess.Popen(
        line, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        try:
            assert server.stdout is not None
            yield f":{int(server.stdout.readline())}"
        finally:
            server.terminate()


@contextmanager
def screen_with_key(folder: Path, size: tuple[int, int] = (1300, 900)) -> Iterator[dict[str, str]]:
    """Give the environment of a screen's programs, which need the key that it asks for."""
    authority = folder / "authority"
    fields = [b"", b"", b"MIT-MAGIC-COOKIE-1", os.urandom(16)]
    content = b"".join(struct.pack(">H", len(field)) + field for field in fields)
    authority.write_bytes(b"\xff\xff" + content)
    with screen(size, "-auth", authority) as name:
        yield {"DISPLAY": name, "XAUTHORITY": str(authority)}
