"""Files that are there whole or not at all, also after a machine's power has failed.

A file system may write a new name long before what the file holds: a file that is renamed when it
is whole would be empty after a power cut, and what is kept for good would be so for good. So what
a file holds is flushed to the disk first.
"""

from __future__ import annotations

import os
from threading import get_native_id
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def write(path: Path, content: str | bytes) -> None:
    """Write a file in place of the one before; OSError if it cannot be written."""
    # The number of a thread is unique among all processes.
    partial = path.with_name(f"{path.name}.{get_native_id()}.partial")
    try:
        partial.write_bytes(content.encode() if isinstance(content, str) else content)
        rename(partial, path)
    except OSError:
        partial.unlink(missing_ok=True)
        raise


def rename(partial: Path, path: Path) -> None:
    """Give a file, or a folder with all that is in it, its name when it is on the disk."""
    for place in (*sorted(partial.rglob("*")), partial):
        _flush(place)
    partial.replace(path)
    _flush(path.parent)


def _flush(path: Path) -> None:
    """Flush what a file holds, or which names a folder has."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
