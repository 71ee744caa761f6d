"""A session that was not ended in order becomes a result folder: of what was on the disk.

`gameway report FOLDER` calls this, so that a session whose process was killed, or whose machine
went down, is shown like any other; its manifest and its report say that it ended early.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gameway.caller import owns
from gameway.lab import copying, keeping
from gameway.lab.account import FILE, Account
from gameway.sweep import folder

if TYPE_CHECKING:
    from pathlib import Path


def complete(out: Path) -> float | None:
    """Make the result folder; give how long the session was, s, None if there is none to complete.

    GamewayError if the session still goes on.
    """
    if not copying.is_there(out):
        return None
    with folder.locked(out):
        place = out / folder.SESSION
        account = Account.read(place / FILE)
        duration_ns = account.cut(place)
    with owns(out):
        keeping.keep(account.session(place, duration_ns), out, ended_early=True)
        copying.remove(out)
    return duration_ns / 1e9
