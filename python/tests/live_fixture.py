"""Whether this machine can do live runs, for the tests that need them, and a stream for these."""

from __future__ import annotations

import shutil
from functools import wraps
from typing import TYPE_CHECKING, Any

import pytest

import gameway as gw
from gameway.errors import GamewayError
from gameway.live import namespaces

if TYPE_CHECKING:
    from collections.abc import Callable

TRIES = 3
"""Of a test that others' work on a shared machine can make fail; what is wrong fails each time."""

LEAST_FPS = 30
"""Of the 60 that a stream has: what a machine shared with others encodes at 720p at the very least.

That it is 60 on a quiet one is measured (docs/live.md), not tested."""

TOOLS = ("iperf3", "ping", "setpriv", "nsenter", "sysctl")


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


def again_where_busy(test: Callable[..., None]) -> Callable[..., None]:
    """Try a test of packets' times again: others' work on the machine can make packets late."""

    @wraps(test)
    def tried(*args: Any, **fixtures: Any) -> None:
        folder = fixtures.get("tmp_path")
        for attempt in range(1, TRIES + 1):
            if folder is not None:
                fixtures["tmp_path"] = folder / f"try-{attempt}"
                fixtures["tmp_path"].mkdir()
            try:
                return test(*args, **fixtures)
            except AssertionError:
                if attempt == TRIES:
                    raise
        return None

    return tried


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
