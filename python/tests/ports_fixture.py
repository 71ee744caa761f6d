"""Ports for what a test starts beside other tests."""

from __future__ import annotations

import contextlib
import random
import socket

BELOW_EPHEMERAL = range(20_000, 32_000)
"""Linux gives connections ports from 32768 on, so none of these becomes one's own."""


def free_port() -> int:
    """A port that nobody has, neither for TCP nor for UDP."""
    for port in random.SystemRandom().sample(BELOW_EPHEMERAL, len(BELOW_EPHEMERAL)):
        with contextlib.suppress(OSError), contextlib.ExitStack() as both:
            for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
                both.enter_context(socket.socket(socket.AF_INET, kind)).bind(("0.0.0.0", port))
            return port
    raise OSError("no port is free")
