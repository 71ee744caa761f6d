"""Whether this machine can do live runs, for the tests that need them, and a stream for these."""

from __future__ import annotations

import shutil
from typing import Any

import pytest

import gameway as gw
from gameway.errors import GamewayError
from gameway.live import namespaces

MIN_LIVE_FPS = 30
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
