"""Runs in real time on this machine: real packets, the kernel's TCP, the simulator's path code.

import gameway as gw

gw.run(gw.load("experiment.toml"), "results/mine-live", on="live")

docs/live.md says what is measured where, and what such runs need.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gameway.live.driver import LIVE, live_driver

__all__ = ["LIVE", "live_driver"]


def __getattr__(name: str) -> Any:
    """Load the driver when it is asked for: the parts of a run are processes that do without."""
    if name not in __all__:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    from gameway.live import driver  # noqa: PLC0415

    return getattr(driver, name)
