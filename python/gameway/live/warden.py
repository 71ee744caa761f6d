"""What removes a run's namespaces when its owner is killed by a signal that nobody can catch.

    owner ── pipe ──► sh: read; then python -m gameway.live.remains OWNER START

The shell waits at the end of a pipe whose other end the owner alone holds. A word from the owner
dismisses it: all is removed. The end of the pipe without a word is the owner's end: the shell
becomes the program below, which ends what still runs in the owner's namespaces and removes them. It
is in a session of its own, so that what a terminal or a shell sends to the owner's group does not
reach it. A shell, because it costs a millisecond and a megabyte for each run, which Python would
not.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

WAIT = 'trap "" HUP INT TERM; read -r word && exit; exec "$@"'
REMOVES = "gameway.live.remains"
"""The program that the shell becomes."""


def start_of(process: int) -> int | None:
    """Give the tick at which a process started; None if there is none of that number."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    # Field 22 of proc_pid_stat(5), of which the first two are cut off; a zombie owns nothing.
    return None if fields[0] in "ZX" else int(fields[19])


@dataclass
class Warden:
    """The process that watches this one."""

    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    def watch(self) -> None:
        """Begin to watch this process."""
        own = os.getpid()
        remove = [sys.executable, "-m", REMOVES, str(own), str(start_of(own))]
        self.process = subprocess.Popen(  # noqa: S603 (our own program)
            ["/bin/sh", "-c", WAIT, "sh", *remove],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def dismiss(self) -> None:
        """Say that nothing is left to remove."""
        if self.process is None:
            return
        with suppress(OSError):
            self.process.communicate(b"done\n")
        self.process = None
