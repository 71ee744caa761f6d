"""Network namespaces of a live run: made, wired, and removed whatever happens.

A run has namespaces `gw-PID-TIME-server`, `-router` and `-client`: PID is the process that owns
them, TIME the tick at which it started. They are made and removed as those of `gameway link` are
(`crates/lab/link/src/command/owned.rs`), whose warden removes them where their owner is killed.
"""

from __future__ import annotations

import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Self

from gameway import _core
from gameway.errors import GamewayError

if TYPE_CHECKING:
    from collections.abc import Iterator

RUN = Path("/run/netns")
"""Where `ip netns` keeps namespaces."""
DEVICE = "gw0"
"""The TUN device in the server's and in the client's namespace."""
SERVER_NETWORK = "10.77.0"
CLIENT_ADDRESS = "10.78.0.1"
SECONDS = 20
"""Longer no call of a program may take."""


class LiveError(GamewayError):
    """A live run that cannot be done on this machine, and what to do."""


@contextmanager
def _told() -> Iterator[None]:
    """Tell what this machine refuses."""
    try:
        yield
    except OSError as error:
        raise LiveError(str(error)) from None


def require() -> None:
    """Refuse, with what to do, where namespaces cannot be made."""
    with _told():
        _core.require_namespaces()


def clean() -> None:
    """Remove what crashed runs have left."""
    with _told():
        _core.clean_namespaces()


def server_address(flow: int) -> str:
    """Give the address of the server of a flow, by its number from zero."""
    if not 0 <= flow < _core.MAX_LIVE_FLOWS:
        raise LiveError(f"a live run has at most {_core.MAX_LIVE_FLOWS} flows")
    return f"{SERVER_NETWORK}.{flow + 1}"


def call(*command: str) -> str:
    """Call a program; LiveError with its own words if it refuses."""
    try:
        done = subprocess.run(  # noqa: S603 (fixed programs)
            command, capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LiveError(f"{' '.join(command)}: {error}") from None
    if done.returncode != 0:
        raise LiveError(f"{' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


class Namespaces:
    """The namespaces of this process; use as a context.

    A folder of temporary files is removed with them, also where this process is killed.
    """

    _own: _core.Namespaces

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder

    def __enter__(self) -> Self:
        with _told():
            self._own = _core.Namespaces(self._folder)
        return self

    def __exit__(self, *_: object) -> None:
        self._own.remove()

    def name(self, part: str) -> str:
        """Give the name of the namespace of a part: server, router or client."""
        return self._own.name(part)

    def path(self, part: str) -> Path:
        """Give the file of the namespace of a part."""
        return RUN / self.name(part)

    def connect(self, flows: int) -> None:
        """Make the TUN devices of server and client; the server has an address for each flow."""
        with _told():
            servers = [server_address(flow) for flow in range(max(flows, 1))]
            self._own.connect("server", DEVICE, servers)
            self._own.connect("client", DEVICE, [CLIENT_ADDRESS])
