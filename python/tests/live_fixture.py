"""Whether this machine can do live runs, for the tests that need them, and a stream for these."""

from __future__ import annotations

import shutil
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import gameway as gw
from gameway import _core
from gameway.errors import GamewayError
from gameway.live import namespaces

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MIN_LIVE_FPS = 30
"""Of the 60 that a stream has: what a machine shared with others encodes at 720p at the very least.

That it is 60 on a quiet one is measured (docs/live.md), not tested."""

TOOLS = ("ip", "iperf3", "ping", "setpriv", "nsenter", "sysctl")


def why_not() -> str:
    """What this machine lacks for live runs; empty if nothing."""
    try:
        namespaces.require()
    except GamewayError as error:
        return str(error)
    missing = [name for name in TOOLS if shutil.which(name) is None]
    return f"live runs need {', '.join(missing)}" if missing else ""


REASON = why_not()
needs_live = pytest.mark.skipif(bool(REASON), reason=REASON or "live runs are possible")


ONE_STREAM = """
title = "A stream"
duration = "1 s"
[path]
capacity = "25 Mb/s"
base_rtt = "20 ms"
[[stream]]
controller = "{controller}"
"""


def one_stream(controller: str, **rates: str) -> dict[str, Any]:
    """Give the specification of a run with one stream; `rates` are further keys of the stream."""
    keys = "".join(f'{name} = "{rate}"\n' for name, rate in rates.items())
    (run,) = gw.expand(gw.loads(ONE_STREAM.format(controller=controller) + keys))
    return run.spec


LINK = [sys.executable, "-m", "gameway", "link"]


@dataclass(frozen=True)
class Behind:
    """What is behind a link whose command waits."""

    space: str
    """The namespace."""
    number: int
    """Of the link's addresses."""

    @property
    def address(self) -> str:
        return f"10.78.{self.number}.1"

    @property
    def outside(self) -> str:
        """Of this machine, as it is seen from there."""
        return f"10.77.{self.number}.1"

    @property
    def address6(self) -> str:
        return f"fd5c:9e3a:b147:{self.number:x}::2"


@contextmanager
def behind_link(*options: str) -> Iterator[Behind]:
    """Give what is behind a link with these options; it ends with the context."""
    words = [*LINK, *options, "--", "sh", "-c", "echo $GAMEWAY_OUTSIDE; read -r end; exit 0"]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True) as link:
        assert link.stdin is not None
        assert link.stdout is not None
        outside = link.stdout.readline().split(".")
        start = _core.start_of_process(link.pid)
        yield Behind(f"gw-{link.pid}-{start}-client", int(outside[2]))
        link.stdin.close()
        assert link.wait(30) == 0


def report_of(folder: Path) -> dict[str, Any]:
    """Give what a link says of itself in its tables: the totals, and what stands in its events."""
    (found,) = pl.read_parquet(folder / "summary.parquet").to_dicts()
    events = pl.read_parquet(folder / "events.parquet").filter(pl.col("flow") == "link")
    return found | dict(events.select("event", "value").rows())
