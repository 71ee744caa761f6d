"""What removes a run's namespaces when its owner is killed by a signal that nobody can catch.

    owner ── pipe ──► sh: read; then python -m gameway.live.warden OWNER START

The shell waits at the end of a pipe whose other end the owner alone holds. A word from the owner
dismisses it: all is removed. The end of the pipe without a word is the owner's end: the shell
becomes the program below, which ends what still runs in the owner's namespaces and removes them,
with the device outside and its NAT. It is in a session of its own, so that what a terminal or a
shell sends to the owner's group does not reach it. A shell, because it costs a millisecond and a
megabyte for each run, which Python would not.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field

WAIT = 'trap "" HUP INT TERM; read -r word && exit; exec "$@"'
OWNER_ENDS_S = 10.0
"""A process closes its descriptors before it counts as ended: by less than this."""
POLL_S = 0.01


@dataclass
class Warden:
    """The process that watches this one."""

    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    def watch(self) -> None:
        """Begin to watch this process."""
        from gameway.live.namespaces import start_of  # noqa: PLC0415 (which uses this module)

        own = os.getpid()
        remove = [sys.executable, "-m", __name__, str(own), str(start_of(own))]
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


def _await_end(owner: int, start: int) -> None:
    from gameway.live.namespaces import start_of  # noqa: PLC0415 (which uses this module)

    until = time.monotonic() + OWNER_ENDS_S
    while start_of(owner) == start and time.monotonic() < until:
        time.sleep(POLL_S)


def main(arguments: list[str]) -> None:
    """Remove what the owner of this number and start leaves, and others that are gone."""
    from gameway.live import namespaces, outside  # noqa: PLC0415 (which use this module)

    _await_end(int(arguments[0]), int(arguments[1]))
    namespaces.clean()
    outside.clean()


if __name__ == "__main__":
    main(sys.argv[1:])
