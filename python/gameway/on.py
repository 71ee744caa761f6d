"""Where an experiment runs, and how it does so on this machine.

What the command line offers is declared here, beside nothing heavy: it asks before anything runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class On(StrEnum):
    """Where an experiment runs."""

    sim = "sim"
    live = "live"


@dataclass(frozen=True)
class LiveOptions:
    """How a live run is done: what an experiment does not say, as it is the same on all drivers."""

    source: str = "scene"
    """What is streamed: `scene`, `x11:COMMAND` or `file:PATH`."""
    pcap: bool = False
    """Whether the headers of all packets are kept, as the link saw them."""
    film: str = "scenes"
    """What competitors of kind "dash" show: `scenes` or `file:PATH`."""
