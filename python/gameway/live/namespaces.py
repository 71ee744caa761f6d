"""Network namespaces of a live run: made, wired, and removed whatever happens.

A run has namespaces `gw-PID-TIME-server`, `-router` and `-client`: PID is the process that owns
them, TIME the tick at which it started, so that a number that was given again is told from its
first bearer. They are removed when the context ends: after an exception, Ctrl-C, SIGTERM or SIGHUP
too. What a killed owner leaves, its warden removes (`gameway.live.warden`); what is left where that
was killed, too, is found by its owner being gone, and removed at the next start.

iproute2 does the work, called as a program: its words are those that a reader of `ip(8)` knows and
can type to look inside, it is on every machine that has namespaces, and it says what it refuses.
(A netlink library would save some milliseconds a call, and add a dependency.)
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from gameway.errors import GamewayError
from gameway.live.warden import Warden, start_of

RUN = Path("/run/netns")
"""Where `ip netns` keeps namespaces."""
DEVICE = "gw0"
"""The TUN device in the server's and in the client's namespace."""
MTU = 1500
QUEUE_LENGTH = 10_000
"""Packets that may wait in the kernel for the link to read them: no drop but in our queues."""
SERVER_NETWORK = "10.77.0"
CLIENT_ADDRESS = "10.78.0.1"
MAX_FLOWS = 250
"""Addresses of the servers: 10.77.0.1 to 10.77.0.250."""
NAME = re.compile(r"gw-(\d+)-(\d+)-(server|router|client)")
SECONDS = 20
"""Longer no call of `ip` may take."""
KILLS = 100
KILL_INTERVAL_S = 0.01
"""How often the processes of a namespace are ended: one that forks can have a child meanwhile."""
NEEDED = (
    "live runs need root (or CAP_NET_ADMIN and CAP_SYS_ADMIN): sudo {program}; "
    "in a container also --cap-add NET_ADMIN --cap-add SYS_ADMIN --device /dev/net/tun"
)


class LiveError(GamewayError):
    """A live run that cannot be done on this machine, and what to do."""


def require() -> None:
    """Refuse, with what to do, where namespaces cannot be made."""
    for program, package in {"ip": "iproute2"}.items():
        if shutil.which(program) is None:
            raise LiveError(f"live runs need the program {program}: install {package}")
    if not Path("/dev/net/tun").exists():
        raise LiveError("live runs need /dev/net/tun: load the kernel's module tun")
    if not _may():
        raise LiveError(NEEDED.format(program="gameway ..."))


def _may() -> bool:
    """Whether this process has CAP_NET_ADMIN (12) and CAP_SYS_ADMIN (21)."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    found = re.search(r"^CapEff:\s*([0-9a-f]+)$", status, re.MULTILINE)
    own = int(found[1], 16) if found else 0
    wanted = 1 << 12 | 1 << 21
    return own & wanted == wanted


def server_address(flow: int) -> str:
    """Give the address of the server of a flow, by its number from zero."""
    if not 0 <= flow < MAX_FLOWS:
        raise LiveError(f"a live run has at most {MAX_FLOWS} flows")
    return f"{SERVER_NETWORK}.{flow + 1}"


def ip(*words: str, check: bool = True) -> str:
    """Call iproute2's `ip`; LiveError with its own words if it refuses."""
    return call("ip", *words, check=check)


def call(*command: str, check: bool = True) -> str:
    """Call a program; LiveError with its own words if it refuses."""
    try:
        done = subprocess.run(  # noqa: S603 (fixed programs)
            command, capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LiveError(f"{' '.join(command)}: {error}") from None
    if check and done.returncode != 0:
        raise LiveError(f"{' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def leftovers() -> list[str]:
    """Name the namespaces of owners that are gone."""
    if not RUN.is_dir():
        return []
    found = []
    for place in sorted(RUN.iterdir()):
        owner = NAME.fullmatch(place.name)
        if owner and start_of(int(owner[1])) != int(owner[2]):
            found.append(place.name)
    return found


def clean() -> list[str]:
    """Remove what crashed runs have left; give the names."""
    removed = leftovers()
    for name in removed:
        _remove(name)
    return removed


def _remove(name: str) -> None:
    """Remove a namespace with what runs in it; its devices go with it."""
    for _ in range(KILLS):
        inside = {int(line) for line in ip("netns", "pids", name, check=False).split()}
        if not inside - {os.getpid()}:
            break
        for process in inside - {os.getpid()}:
            _end(process)
        time.sleep(KILL_INTERVAL_S)
    ip("netns", "delete", name, check=False)


def _end(process: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)


@dataclass
class Namespaces:
    """The namespaces of this process; use as a context."""

    parts: tuple[str, ...] = ("server", "router", "client")
    """Which are made."""
    made: list[str] = field(default_factory=list)
    _warden: Warden = field(default_factory=Warden, repr=False)

    def name(self, part: str) -> str:
        """Give the name of the namespace of a part: server, router or client."""
        process = os.getpid()
        return f"gw-{process}-{start_of(process)}-{part}"

    def path(self, part: str) -> Path:
        """Give the file of the namespace of a part."""
        return RUN / self.name(part)

    def __enter__(self) -> Self:
        require()
        clean()
        self._warden.watch()
        try:
            self._make()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()
        self._warden.dismiss()

    def _make(self) -> None:
        for part in self.parts:
            self.add(part)

    def connect(self, flows: int) -> None:
        """Make the TUN devices of server and client; the server has an address for each flow."""
        self.tun("server", [f"{server_address(flow)}/32" for flow in range(max(flows, 1))])
        self.tun("client", [f"{CLIENT_ADDRESS}/32"])

    def add(self, part: str) -> None:
        """Make the namespace of a part, with its loopback up."""
        name = self.name(part)
        self.made.append(name)
        ip("netns", "add", name)
        ip("-n", name, "link", "set", "lo", "up")

    def tun(self, part: str, addresses: list[str]) -> None:
        """Make the TUN device of a part, with these addresses, and send everything through it."""
        name = self.name(part)
        device = ("dev", DEVICE)
        ip("-n", name, "tuntap", "add", "mode", "tun", *device)
        # No router solicitations of a host that has no router to ask.
        ip("-n", name, "link", "set", *device, "addrgenmode", "none")
        length = str(QUEUE_LENGTH)
        ip("-n", name, "link", "set", *device, "mtu", str(MTU), "txqueuelen", length, "up")
        for address in addresses:
            ip("-n", name, "address", "add", address, *device)
        ip("-n", name, "route", "add", "default", *device)

    def remove(self) -> None:
        """Remove all that was made."""
        for name in reversed(self.made):
            _remove(name)
        self.made.clear()
