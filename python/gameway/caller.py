"""Who asked for what root does: by sudo, what a command makes and starts should be the caller's."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

ROOT = 0


@dataclass(frozen=True)
class Caller:
    """A user who is not root, and the user's group."""

    user: int
    group: int

    def command(self, words: Sequence[str]) -> list[str]:
        """Give the command that runs another as this user; it ends with the process that starts it.

        A change of the user takes back what ends a process with its parent, so it is said anew.
        """
        own = [f"--reuid={self.user}", f"--regid={self.group}", "--init-groups"]
        return ["setpriv", *own, "--pdeathsig", "KILL", "--", *words]

    def give(self, place: Path) -> None:
        """Make this user the owner of what is root's in a folder, and of the folder."""
        for found in (place, *place.rglob("*")):
            if found.lstat().st_uid == ROOT:
                os.chown(found, self.user, self.group, follow_symlinks=False)


def caller() -> Caller | None:
    """Give the user who called sudo; None for root's own commands and for those of others."""
    try:
        found = Caller(int(os.environ["SUDO_UID"]), int(os.environ["SUDO_GID"]))
    except (KeyError, ValueError):
        return None
    return found if os.geteuid() == ROOT and found.user != ROOT else None


@contextmanager
def owns(*places: Path | None) -> Iterator[None]:
    """Give what is made in these folders meanwhile to the caller, and folders made above them."""
    first = [_first_to_be_made(place.absolute()) for place in places if place is not None]
    try:
        yield
    finally:
        user = caller()
        for place in first:
            if user is not None and place.exists():
                user.give(place)


def _first_to_be_made(place: Path) -> Path:
    """Give the topmost of a folder and those above it that is not there; the folder if all are."""
    missing = [above for above in (place, *place.parents) if not above.exists()]
    return missing[-1] if missing else place
