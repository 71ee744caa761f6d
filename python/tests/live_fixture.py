"""Whether this machine can do live runs, for the tests that need them."""

from __future__ import annotations

import shutil

import pytest

from gameway.errors import GamewayError
from gameway.live import namespaces

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
