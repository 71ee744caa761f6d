"""A disk in a file whose power can be cut, for what a program must not lose: ext4 on a loop device.

Needs root, loop devices and mke2fs. What the file system has not flushed when the power is cut is
lost, as by a machine that stops: the ioctl is what xfstests use for it.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import struct
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

SIZE_MB = 256
SHUTDOWN = 0x8004587D
"""EXT4_IOC_SHUTDOWN of Linux's include/uapi/linux/ext4.h."""
NO_LOG_FLUSH = 2
"""EXT4_GOING_FLAGS_NOLOGFLUSH: not even the journal is written any more."""


@dataclass
class Disk:
    """A file system, and where it is mounted."""

    image: Path
    place: Path

    def cut(self) -> None:
        """Cut the power: whatever was not flushed is lost, and nothing can be written any more."""
        opened = os.open(self.place, os.O_RDONLY)
        try:
            fcntl.ioctl(opened, SHUTDOWN, struct.pack("I", NO_LOG_FLUSH))
        finally:
            os.close(opened)

    def start_again(self) -> None:
        """Mount what is on the disk as the machine's next start does: the journal is replayed.

        It is a copy, since a namespace of mounts that another test has made meanwhile still has the
        file system without power, which the kernel would give again for the same device.
        """
        self.unmount()
        image = self.image.with_name(f"again-{self.image.name}")
        _run("cp", "--sparse=always", str(self.image), str(image))
        self.image = image
        self.mount()

    def unmount(self) -> None:
        """Unmount it, though a program may have something open there."""
        _run("umount", "--lazy", str(self.place))

    def mount(self) -> None:
        _run("mount", "-o", "loop", str(self.image), str(self.place))


@contextmanager
def disk(folder: Path) -> Iterator[Disk]:
    """Give a disk that is mounted at `folder`."""
    folder.mkdir()
    image = folder.with_name(folder.name + ".ext4")
    with image.open("wb") as file:
        file.truncate(SIZE_MB * 1024 * 1024)
    _run("mke2fs", "-q", "-t", "ext4", str(image))
    made = Disk(image, folder)
    made.mount()
    try:
        yield made
    finally:
        made.unmount()


def _run(*words: str) -> None:
    subprocess.run(words, check=True)


def why_no_disk() -> str:
    """Tell what this machine lacks for it; empty if nothing."""
    if os.geteuid() != 0:
        return "a disk of its own needs root"
    if shutil.which("mke2fs") is None:
        return "a disk of its own needs mke2fs: apt install e2fsprogs"
    return "" if Path("/dev/loop-control").exists() else "a disk of its own needs loop devices"


needs_disk = pytest.mark.skipif(bool(why_no_disk()), reason=why_no_disk())
