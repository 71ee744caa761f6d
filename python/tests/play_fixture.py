"""`gameway play` as a process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from browser_fixture import TOKEN, free_address
from said_fixture import said_until

if TYPE_CHECKING:
    from collections.abc import Iterator

WAIT_S = 15.0


class Play:
    """A `gameway play` that runs."""

    def __init__(self, process: subprocess.Popen[str], link: str, runtime: Path) -> None:
        self.process, self.link, self.said = process, link, ""
        self.runtime = runtime
        """The folder for what it needs while it runs."""

    def end(self) -> int:
        """Send Ctrl-C; give the exit code."""
        self.process.send_signal(signal.SIGINT)
        _, said = self.process.communicate(timeout=WAIT_S)
        self.said += said
        return self.process.returncode


@contextmanager
def play(folder: Path, *words: str) -> Iterator[Play]:
    """Start it; at the end it is killed if it still runs."""
    # A socket's path has at most 107 bytes, which a folder of a test alone can have.
    with tempfile.TemporaryDirectory(prefix="gw-") as runtime:
        yield from _play(folder, Path(runtime), *words)


def _play(folder: Path, runtime: Path, *words: str) -> Iterator[Play]:
    folder.mkdir(exist_ok=True)
    line = [sys.executable, "-m", "gameway", "play", "--listen", free_address()]
    surroundings = {**os.environ, "GAMEWAY_TOKEN": TOKEN, "XDG_RUNTIME_DIR": str(runtime)}
    surroundings |= {"HOME": str(folder)}
    with subprocess.Popen(
        [*line, *words],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        env=surroundings,
    ) as process:
        try:
            found, _ = said_until(process.stderr, r"(http://\S+)")
            yield Play(process, f"{found[1]}#{TOKEN}", runtime)
        finally:
            process.kill()
