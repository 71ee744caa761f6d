"""A session that is being recorded, on the disk as it goes.

The parts of a session write pieces of their tables every two seconds, in its folder of temporary
files, which goes with the process. While the session is recorded, what is new there is copied each
second to where the session is kept, beside its account:

    OUT/session.partial/account.json, parts/PART/TABLE.NUMBER.parquet, raw/ping.out

A file gets its name when it is whole and on the disk, as those of a result folder do
(`gameway.sweep.folder`), whose lock is held meanwhile; what ping printed is appended. A piece does
not change once it has its name, so each second costs what is new in it, not what there is. At the
end in order the result folder is written from the session's own files, then the copy is removed.
After any other end `unfinished` makes the result folder of the copy.
"""

from __future__ import annotations

import os
import re
import shutil
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from threading import Event, Thread
from typing import TYPE_CHECKING

from gameway.caller import caller, owns
from gameway.errors import GamewayError
from gameway.lab.account import FILE, PARTS, RAW
from gameway.live import pings
from gameway.results import MANIFEST, RUNS
from gameway.sweep import folder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WRITE_INTERVAL = "2 s"
"""How often parts write what they have."""
COPY_S = 1.0
TABLE = ".parquet"
PIECE = re.compile(r"\.\d+\.parquet$")


@dataclass
class Copying:
    """The copy of a session; use as a context, which ends the copying and leaves the copy."""

    place: Path
    """Of the session's files."""
    out: Path
    """Where the session is kept."""
    problem: str | None = None
    """Why the last copying failed."""
    rounds: int = 0
    """How often all was looked at."""
    _account: str | None = None
    _written: str | None = None
    """The account that is on the disk."""
    _pieces: dict[Path, set[str]] = field(default_factory=dict)
    """Names of the pieces that are copied, by the folder of their part."""
    _tables: dict[Path, tuple[int, int]] = field(default_factory=dict)
    """Tables that are copied and in no pieces, with time and size."""
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
        if self._thread is not None or self._pieces:
            self.end()
            self._pieces.clear()
            self._tables.clear()
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
            self.rounds += 1
            if ends:
                return

    def _copy(self) -> None:
        target = self.out / folder.SESSION
        text = self._account
        made: list[Path] = []
        try:
            made.extend(self._copy_pieces(target))
            made.extend(self._copy_pings(target))
            # It names no folder whose tables are not there.
            if text is not None and text is not self._written:
                _put(target / FILE, text.encode())
                self._written = text
                made += [target, target / FILE]
        finally:
            user = caller()
            if user is not None:
                for one in made:
                    user.give_one(one)

    def _copy_pieces(self, target: Path) -> Iterator[Path]:
        """Copy tables and pieces of tables that came; give them, and folders made for them."""
        for part in sorted((self.place / PARTS).iterdir()):
            if not part.is_dir():
                continue
            own = target / PARTS / part.name
            known = self._pieces.setdefault(part, set())
            for name in sorted(set(os.listdir(part)) - known):  # noqa: PTH208 (an hour has thousands)
                if not name.endswith(TABLE):
                    continue
                file = part / name
                if PIECE.search(name):
                    _put(own / name, file.read_bytes())
                    known.add(name)
                elif self._tables.get(file) != (state := _state(file)):
                    _put(own / name, file.read_bytes())
                    self._tables[file] = state
                else:
                    continue
                yield from (target, own.parent, own, own / name)

    def _copy_pings(self, target: Path) -> Iterator[Path]:
        """Append what ping has printed since."""
        file, copy = self.place / RAW / pings.OUT, target / RAW / pings.OUT
        if not file.is_file():
            return
        with file.open("rb") as printed:
            printed.seek(self._pinged)
            new = printed.read()
        if new:
            copy.parent.mkdir(parents=True, exist_ok=True)
            with copy.open("ab") as there:
                there.truncate(self._pinged)
                there.write(new)
                there.flush()
                os.fsync(there.fileno())
            self._pinged += len(new)
            yield from (target, copy.parent, copy)


def _state(file: Path) -> tuple[int, int]:
    found = file.stat()
    return found.st_mtime_ns, found.st_size


def _put(target: Path, content: bytes) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(target.name + folder.PARTIAL)
    with partial.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    partial.rename(target)


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
