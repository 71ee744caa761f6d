"""A session that is being recorded, on the disk as it goes.

The parts of a session write pieces of their tables every two seconds, in its folder of temporary
files, which goes with the process. While the session is recorded, what is new there is copied each
second to where the session is kept, beside its account:

    OUT/session.partial/account.json, parts/PART/TABLE.NUMBER.parquet, raw/ping.out

A file gets its name when it is whole and on the disk (`gameway.durable`), and the result folder's
lock is held meanwhile. The last piece of a table is written anew until it is full, and is copied
anew then; what ping printed is appended. At the end in order the result folder is written from the
session's own files, then the copy is removed. After any other end `unfinished` makes the result
folder of the copy.
"""

from __future__ import annotations

import os
import shutil
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from threading import Event, Thread
from typing import TYPE_CHECKING

from gameway import durable
from gameway.caller import caller, owns
from gameway.errors import GamewayError
from gameway.lab.account import FILE, PARTS, RAW
from gameway.live import pings
from gameway.results import MANIFEST, RUNS
from gameway.sweep import folder

if TYPE_CHECKING:
    from pathlib import Path

WRITE_INTERVAL = "2 s"
"""How often parts write what they have."""
COPY_S = 1.0


@dataclass
class Copying:
    """The copy of a session; use as a context, which ends the copying and leaves the copy."""

    place: Path
    """Of the session's files."""
    out: Path
    """Where the session is kept."""
    problem: str | None = None
    """Why the last copying failed."""
    _account: str | None = None
    _written: str | None = None
    """The account that is on the disk."""
    _copied: dict[Path, tuple[int, int]] = field(default_factory=dict)
    """Time and size of each piece of a table, as it was copied."""
    _pinged: int = 0
    """Bytes of what ping printed that are copied."""
    _ending: Event = field(default_factory=Event)
    _held: ExitStack = field(default_factory=ExitStack)
    _thread: Thread | None = None

    def account(self, text: str) -> None:
        """Copy from now on, with this account; GamewayError if another process writes there."""
        self._account = text
        if self._thread is None:
            with owns(self.out):
                self._held.enter_context(folder.locked(self.out))
            self._ending.clear()
            self._thread = Thread(target=self._go, name="copying", daemon=True)
            self._thread.start()

    def end(self) -> None:
        """End the copying; the copy stays."""
        if self._thread is not None:
            self._ending.set()
            self._thread.join()
            self._thread = None
        self._held.close()

    def drop(self) -> None:
        """End the copying and remove the copy; what else is in the folder stays."""
        if self._thread is not None or self._copied:
            self.end()
            self._copied.clear()
            self._pinged, self._written = 0, None
            remove(self.out)
            with suppress(OSError):
                (self.out / RUNS).rmdir()
                (self.out / folder.LOCK).unlink()
                self.out.rmdir()

    def _go(self) -> None:
        while True:
            ends = self._ending.wait(COPY_S)
            try:
                self._copy()
                self.problem = None
            except OSError as error:
                self.problem = f"the session cannot be written to {self.out}: {error.strerror}"
            if ends:
                return

    def _copy(self) -> None:
        target = self.out / folder.SESSION
        text = self._account
        # Pieces of tables, and tables of parts that write them at once.
        for file in (self.place / PARTS).glob("*/*.parquet"):
            found = file.stat()
            state = (found.st_mtime_ns, found.st_size)
            if self._copied.get(file) != state:
                _put(target / file.relative_to(self.place), file.read_bytes())
                self._copied[file] = state
        self._copy_pings(target / RAW / pings.OUT)
        # It names no folder whose tables are not there.
        if text is not None and text is not self._written:
            _put(target / FILE, text.encode())
            self._written = text
        user = caller()
        if user is not None:
            user.give(target)

    def _copy_pings(self, copy: Path) -> None:
        """Append what ping has printed since."""
        file = self.place / RAW / pings.OUT
        if not file.is_file():
            return
        with file.open("rb") as printed:
            printed.seek(self._pinged)
            new = printed.read()
        if not new:
            return
        copy.parent.mkdir(parents=True, exist_ok=True)
        with copy.open("ab") as there:
            # What a full disk let in of the last try.
            there.truncate(self._pinged)
            there.write(new)
            there.flush()
            os.fsync(there.fileno())
        self._pinged += len(new)


def _put(target: Path, content: bytes) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    durable.write(target, content)


def remove(out: Path) -> None:
    """Remove the copy of a session."""
    shutil.rmtree(out / folder.SESSION, ignore_errors=True)


def is_there(out: Path) -> bool:
    """Whether a session that was not ended, or that still goes on, has a copy in a folder."""
    return (out / folder.SESSION / FILE).is_file()


def refuse_taken(out: Path) -> None:
    """Refuse a folder that holds a session: it would be lost, or that which begins."""
    if is_there(out):
        told = f"{out}: holds a session that was not ended in order"
        raise GamewayError(f"{told}; `gameway report {out}` completes it")
    if (out / MANIFEST).exists():
        raise GamewayError(f"{out}: holds results already; give another folder with --out")
