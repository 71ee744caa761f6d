"""The film of a video, encoded when it is first wanted, beside the session that goes on.

A process of its own makes it, behind the game's: `python -m gameway.lab.filming NAME`. It ends with
the session and with this process, and the next one goes on with the levels that are whole
(`gameway.live.video.films`).
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gameway.errors import GamewayError
from gameway.lab.kinds import KINDS, film
from gameway.live.video import films

if TYPE_CHECKING:
    from gameway.live.processes import Process, Supervisor

BEING_PREPARED = "It is being prepared: its film is encoded once, and it begins by itself."
LATER = 5
"""The priority of encoding (nice(2)): of a core that another process takes it has a quarter."""


@dataclass
class Filming:
    """The films that are being encoded, and those that could not be."""

    supervisor: Supervisor
    processes: dict[str, Process] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)

    def is_there(self, name: str) -> bool:
        """Whether a download has its film; one that has none gets it from now on."""
        if films.is_kept(film(KINDS[name])):
            return True
        if name not in self.processes:
            self.failures.pop(name, None)
            command = [sys.executable, "-m", __name__, name]
            made = self.supervisor.start(f"film-{name}", command, may_end=True, at_death="TERM")
            # A session goes on without a film.
            self.supervisor.processes.remove(made)
            self.processes[name] = made
        return False

    def ended(self) -> list[str]:
        """Give those whose films are there since the last look, or failed."""
        names = [name for name, process in self.processes.items() if not process.alive]
        for name in names:
            process = self.processes.pop(name)
            if process.popen.returncode != 0:
                self.failures[name] = process.last_words().splitlines()[-1]
        return names

    def remarks(self) -> dict[str, str]:
        """Say of each what stands beside its box."""
        return self.failures | dict.fromkeys(self.processes, BEING_PREPARED)

    def finish(self) -> None:
        """End what is being encoded."""
        for process in self.processes.values():
            process.signal(signal.SIGTERM)
        for process in self.processes.values():
            process.popen.wait()
        self.processes.clear()


def main() -> int:
    """Make the film of the download that is named; give the exit code."""
    # An exception, so that what is half done is removed, and ffmpeg ends.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    with suppress(OSError):
        os.nice(LATER)
    try:
        films.make(film(KINDS[sys.argv[1]]), print)
    except (GamewayError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
