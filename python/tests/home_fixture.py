"""A home behind a router behind a provider's queue: namespaces, and the kernel's TCP."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from live_fixture import behind_link
from nat_fixture import inside, ip, link
from router_fixture import filled

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "target" / "release" / "gameway-gateway"
PINGER = Path(__file__).with_name("pinger.py")
PING_INTERVAL_S = 0.02
LAN = "lan"
WAYS = {"down": ("-R",), "up": (), "both": ("--bidir",)}
"""Which way data goes, as iperf3 is told."""
TRANSLATION = """
table ip home {
  chain out { type nat hook postrouting priority 100; oifname != "lan" masquerade; }
}
"""


def run(*words: str, **options: Any) -> str:
    """Run a command that must succeed; give what it printed."""
    done = subprocess.run(words, check=True, capture_output=True, text=True, timeout=60, **options)
    return done.stdout


def program() -> str:
    """Give the gateway's program, built if it is not there."""
    if not PROGRAM.is_file():
        run("cargo", "build", "--release", "--quiet", "--package", "gameway-router", cwd=ROOT)
    return str(PROGRAM)


@dataclass
class Gateway:
    """The gateway's program on the router."""

    process: subprocess.Popen[str]
    control: str

    def status(self) -> dict[str, Any]:
        """Give what it says of itself."""
        told: dict[str, Any] = json.loads(
            run(program(), "status", "--json", "--control", self.control)
        )
        return told

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def end(self) -> list[dict[str, Any]]:
        """Interrupt it; give what it told each second."""
        self.signal(signal.SIGTERM)
        told, _ = self.process.communicate(timeout=20)
        assert self.process.returncode == 0
        return [json.loads(line) for line in told.splitlines()]


@contextmanager
def gateway(space: str, *options: str) -> Iterator[Gateway]:
    """Give a gateway that runs at `lan` in a namespace."""
    with TemporaryDirectory() as folder:
        control = f"{folder}/control.sock"
        words = [*inside(space), program(), "up", "--home", LAN, "--control", control, *options]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout is not None
                # It is attached when it tells for the first time.
                assert process.stdout.readline()
                yield Gateway(process, control)
            finally:
                if process.poll() is None:
                    process.kill()


@contextmanager
def lan(name: str) -> Iterator[str]:
    """Give a namespace that has an interface `lan`, whose other end is there, too."""
    space = f"gwl-{name}-{os.getpid()}"
    ip("netns", "add", space)
    try:
        ip("-n", space, "link", "add", LAN, "type", "veth", "peer", "name", "end")
        for interface in (LAN, "end"):
            ip("-n", space, "link", "set", interface, "up")
        yield space
    finally:
        ip("netns", "delete", space)


def pinging(server: str, seconds: float, tos: int = 0) -> list[str]:
    """Give the command that pings; it ends three seconds later."""
    return [sys.executable, str(PINGER), server, str(PING_INTERVAL_S), str(seconds), str(tos)]


def answers(told: str, began: float) -> list[tuple[float, float]]:
    """Give what it told: when each was asked, in seconds since then, and milliseconds."""
    found = (line.split() for line in told.splitlines())
    return [(float(at) - began, float(value)) for at, value in found]


@dataclass
class Home:
    """A home, its router and the server outside."""

    space: str
    router: str
    server: str
    pings: list[tuple[float, float]] = field(default_factory=list)
    """Of the last download: when it was asked, in seconds since its start, and milliseconds."""
    shares: list[tuple[float, float]] = field(default_factory=list)
    """Of the last download: seconds since its start, and Mb/s of payload."""
    uploads: list[tuple[float, float]] = field(default_factory=list)
    """The same of an upload beside it."""

    @contextmanager
    def gateway(self, *options: str) -> Iterator[Gateway]:
        """Give a gateway that runs."""
        with gateway(self.router, *options) as made:
            yield made

    @contextmanager
    def download(
        self, seconds: int, *options: str, tos: int = 0, way: str = "down"
    ) -> Iterator[None]:
        """Download while something else is done; pings and shares are known afterwards."""
        echo = pinging(self.server, seconds, tos)
        fetch = ["iperf3", "-c", self.server, *WAYS[way], "-t", str(seconds)]
        fetch += ["-i", "0.5", "-J", *options]
        began = time.time()
        pipe = subprocess.PIPE
        with (
            subprocess.Popen([*inside(self.space), *echo], stdout=pipe, text=True) as pings,
            subprocess.Popen([*inside(self.space), *fetch], stdout=pipe, text=True) as fetched,
        ):
            try:
                yield
                told = json.loads(fetched.communicate(timeout=seconds + 20)[0])
                echoed = pings.communicate(timeout=20)[0]
            finally:
                for one in (pings, fetched):
                    one.kill()
        self.pings = answers(echoed, began)
        sums = [
            [(one[key]["start"], one[key]["bits_per_second"] / 1e6) for one in told["intervals"]]
            for key in ("sum", "sum_bidir_reverse")
            if key in told["intervals"][0]
        ]
        self.shares, self.uploads = sums[-1], sums[0] if way == "both" else []

    def wait(self, share: float, since: float, until: float) -> float:
        """Give a quantile of the pings of a span of the last download that came back, in ms."""
        within = sorted(value for at, value in self.pings if since <= at < until)
        return within[min(int(share * len(within)), len(within) - 1)]

    def share(self, since: float, until: float) -> float:
        """Give the mean of what the last download had within a span, in Mb/s of payload."""
        within = [value for at, value in self.shares if since <= at < until]
        return sum(within) / len(within)


@contextmanager
def home(*path: str) -> Iterator[Home]:
    """Give a home whose router is behind a path with these options."""
    program()
    space = f"gwr-{os.getpid()}"
    with behind_link(*path) as router:
        server = subprocess.Popen(
            ["iperf3", "-s", "-B", router.outside], stdout=subprocess.DEVNULL, text=True
        )
        try:
            ip("netns", "add", space)
            link(router.space, LAN, space, "eth0", (("192.168.7.1", "192.168.7.2"),))
            ip("-n", space, "route", "add", "default", "via", "192.168.7.1")
            run(*inside(router.space), "sysctl", "-q", "-w", "net.ipv4.ip_forward=1")
            filled(router.space, TRANSLATION)
            yield Home(space, router.space, router.outside)
        finally:
            server.terminate()
            server.wait(10)
            subprocess.run(["ip", "netns", "delete", space], check=False)


def why_not() -> str:
    """What this machine lacks; empty if nothing."""
    lacking = [name for name in ("nft", "cargo", "clang") if shutil.which(name) is None]
    return f"the gateway's tests need {', '.join(lacking)}" if lacking else ""
