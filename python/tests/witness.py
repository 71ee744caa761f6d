"""A witness of how busy the machine is while tests of packets' and frames' times run.

A process that wants to wake every 5 ms: what makes it late makes hosts, links and players late,
too. A test marked `timed` is tried three times. A bound that a late process can break stands in
`with of_times()`. A test in which such a bound and nothing else failed, each time and on a machine
that was too busy, says nothing of the code and is skipped with the reason. On a quiet machine it
fails (test_witness.py).
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

INTERVAL_NS = 5_000_000
TRIES = 3
"""Of a timed test; what is wrong fails each time."""
BOUND_MS = 2.0
"""99th percentile of lateness of a machine on which times say something of the code.

Measured on 2 cores: 0.5 ms beside our own stream at 1280x720, 4 ms beside four busy processes."""


class LateError(AssertionError):
    """A bound did not hold that does not hold either if the machine is late."""


@contextmanager
def of_times() -> Iterator[None]:
    """Assert here what a busy machine can break: an upper bound on delays, a lower one on rates.

    What holds however late a process wakes up is asserted outside.
    """
    try:
        yield
    except AssertionError as error:
        raise LateError(*error.args) from error


def watch() -> None:
    """Write when each wake-up came and how late it was, in ns, until the parent is gone."""
    parent, due = os.getppid(), time.monotonic_ns()
    while os.getppid() == parent:
        due += INTERVAL_NS
        time.sleep(max(0, due - time.monotonic_ns()) / 1e9)
        woken = time.monotonic_ns()
        # One long stop counts for all wake-ups that it took.
        took = np.arange(due, max(woken, due + 1), INTERVAL_NS, dtype=np.int64)
        due = int(took[-1])
        os.write(1, np.stack([np.full_like(took, woken), woken - took], axis=1).tobytes())


class Witness:
    """A process of its own that notes how late each of its wake-ups is, until it is told to end."""

    def __init__(self) -> None:
        """Start it."""
        self.noted = Path(tempfile.mkstemp(prefix="witness-")[1])
        with self.noted.open("wb") as noted:
            self._process = subprocess.Popen([sys.executable, __file__], stdout=noted)

    def end(self) -> None:
        """Stop noting, and forget what was noted."""
        self._process.terminate()
        self._process.wait()
        self.noted.unlink()

    def lateness_ms(self, since_ns: int) -> float:
        """99th percentile of the wake-ups since a time of the monotonic clock; zero without any."""
        written = self.noted.read_bytes()
        noted = np.frombuffer(written[: len(written) // 16 * 16], dtype=np.int64).reshape(-1, 2)
        late = noted[noted[:, 0] >= since_ns, 1]
        return float(np.percentile(late, 99)) / 1e6 if late.size else 0.0


def too_busy(lateness_ms: float) -> str:
    """Why a test that failed says nothing of the code; empty if it does."""
    if lateness_ms <= BOUND_MS:
        return ""
    return (
        f"failed {TRIES} times, but this machine was too busy for it: a process woke up to "
        f"{lateness_ms:.1f} ms late (99th percentile), where {BOUND_MS:g} ms is the bound"
    )


if __name__ == "__main__":
    watch()
