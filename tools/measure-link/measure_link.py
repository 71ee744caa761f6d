"""Measure `gameway link`: how much it forwards, how late it is, and the kernel's HTB beside it.

Needs root, iproute2, ethtool, iperf3 and ping:

    sudo .venv/bin/python tools/measure-link/measure_link.py       # about a minute and a half

All of it is of this machine while it does what else it does: state its load with the figures.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gameway import _core
from gameway.live import namespaces
from gameway.live.namespaces import DEVICE, Namespaces
from gameway.live.process import PartProcess

if TYPE_CHECKING:
    from collections.abc import Iterator

SECONDS = 10
SKIP = 3
PORT = 5201
PAYLOAD_SHARE = 1448 / 1500
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Bed:
    """Two namespaces with a path between them."""

    server: str | None
    """None: that of the caller."""
    client: str
    server_address: str
    client_address: str
    part: PartProcess | None = None

    def cpu(self) -> float:
        """Give the processor time of the link so far, in seconds."""
        if self.part is None or self.part.process is None:
            return 0.0
        stat = Path(f"/proc/{self.part.process.pid}/stat").read_text(encoding="utf-8")
        user, system = stat.rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / TICKS


def path(capacity: str, rtt: str, size: str) -> dict[str, Any]:
    """Give a path with a drop-tail queue."""
    return {"capacity": capacity, "base_rtt": rtt, "queue": {"kind": "drop-tail", "size": size}}


@contextmanager
def ours(wanted: dict[str, Any]) -> Iterator[Bed]:
    """Set up our path."""
    with tempfile.TemporaryDirectory() as folder, Namespaces() as spaces:
        spaces.connect(flows=1)
        config = {
            "seed": 1,
            "path": wanted,
            "flows": [{"name": "all", "address": None}],
            "server": {"namespace": str(spaces.path("server")), "device": DEVICE},
            "client": {"namespace": str(spaces.path("client")), "device": DEVICE},
            "folder": folder,
        }
        with PartProcess("link", config, spaces.name("router"), Path(folder)) as part:
            server, client = spaces.name("server"), spaces.name("client")
            address = namespaces.server_address(0)
            yield Bed(server, client, address, namespaces.CLIENT_ADDRESS, part)


@contextmanager
def kernels(wanted: dict[str, Any]) -> Iterator[Bed]:
    """Set up the kernel's."""
    path = ("--capacity", wanted["capacity"], "--rtt", wanted["base_rtt"])
    queue = ("--size", wanted["queue"]["size"], "--backend", "tc")
    waiting = ("sh", "-c", "echo $GAMEWAY_OUTSIDE; read -r end")
    words = [sys.executable, "-m", "gameway", "link", *path, *queue, "--", *waiting]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True) as link:  # noqa: S603 (our own)
        assert link.stdout is not None  # noqa: S101 (it was asked for)
        address = link.stdout.readline().strip()
        client = f"gw-{link.pid}-{_core.start_of_process(link.pid)}-client"
        yield Bed(None, client, address, address.replace("10.77.", "10.78."))


def inside(space: str | None) -> list[str]:
    """Give what runs a command in a namespace."""
    return [] if space is None else ["ip", "netns", "exec", space]


def iperf(bed: Bed, *words: str) -> dict[str, Any]:
    """Send down for a while; what the receiver got after the first seconds."""
    listening = ["ip", "netns", "exec", bed.client, "iperf3", "-s", "-1", "-p", str(PORT)]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(listening, stdout=quiet) as receiver:  # noqa: S603 (our own)
        time.sleep(0.5)
        sending = [*inside(bed.server), "iperf3", "--json", "--get-server-output",
                   "-c", bed.client_address, "-p", str(PORT), "-t", str(SECONDS),
                   *words]  # fmt: skip
        done = subprocess.run(  # noqa: S603 (our own)
            sending, capture_output=True, text=True, timeout=60, check=False
        )
        receiver.wait(10)
    found: dict[str, Any] = json.loads(done.stdout)
    if "end" not in found or not found["end"]:
        raise SystemExit(f"iperf3: {found.get('error')}")
    return dict(found["end"])


@contextmanager
def pinging(bed: Bed, found: list[float]) -> Iterator[None]:
    """Ping the server beside, after the first seconds; the mean goes to `found`, ms."""
    command = ["ip", "netns", "exec", bed.client, "ping", "-q", "-i", "0.05", bed.server_address]
    time.sleep(0.2)
    with subprocess.Popen(  # noqa: S603 (our own)
        command, stdout=subprocess.PIPE, text=True
    ) as ping:
        yield
        ping.send_signal(2)
        out = ping.communicate()[0]
    mean = re.search(r"= [\d.]+/([\d.]+)/", out)
    found.append(float(mean[1]) if mean else float("nan"))


def tcp_rate(end: dict[str, Any]) -> float:
    """Mb/s of payload at the receiver."""
    return float(end["sum_received"]["bits_per_second"] / 1e6)


def forwarding(capacity: float) -> None:
    """Tell what a Cubic download gets, the link's lateness and its processor time."""
    wanted = path(f"{capacity:g} Mb/s", "20 ms", "1 bdp")
    with ours(wanted) as bed:
        before, begin = bed.cpu(), time.monotonic()
        rate = tcp_rate(iperf(bed, "-C", "cubic", "-O", str(SKIP)))
        busy = (bed.cpu() - before) / (time.monotonic() - begin)
        assert bed.part is not None  # noqa: S101 (ours has one)
        late = bed.part.result()["lateness"]
    share = rate / (capacity * PAYLOAD_SHARE)
    print(f"{capacity:g} Mb/s, 20 ms: {rate:.1f} Mb/s of payload, {share:.1%} of what fits; "
          f"lateness p50 {late['p50_ns'] / 1e3:.0f} us, p99 {late['p99_ns'] / 1e3:.0f} us, "
          f"max {late['max_ns'] / 1e3:.0f} us; {busy:.0%} of a core", flush=True)  # fmt: skip


def beside_the_kernel() -> None:
    """Tell rate and ping of the same traffic through HTB with bfifo and through ours."""
    wanted = path("25 Mb/s", "10 us", "125 kB")
    print("25 Mb/s, no delay, 125 kB: Mb/s of payload received, mean ping under load in ms")
    print("| traffic | HTB + bfifo | ours |\n|---|---:|---:|")
    cases = {
        "cubic": ("-C", "cubic", "-O", str(SKIP)),
        "udp, 30 Mb/s": ("-u", "-b", "30M", "-l", "1448"),
    }
    for name, words in cases.items():
        cells = []
        for bed_of in (kernels, ours):
            pings: list[float] = []
            with bed_of(wanted) as bed, pinging(bed, pings):
                end = iperf(bed, *words)
            got = tcp_rate(end) if "sum_received" in end and "-u" not in words else udp_rate(end)
            cells.append(f"{got:.2f}, {pings[0]:.1f}")
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def udp_rate(end: dict[str, Any]) -> float:
    """Mb/s of payload at the receiver: what was sent less what was lost."""
    total = end["sum"]
    sent, lost = float(total["bits_per_second"]), float(total["lost_percent"])
    return sent * (1 - lost / 100) / 1e6


def main() -> int:
    """Print all."""
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    print(f"{os.cpu_count()} cores, load {load} before", flush=True)
    forwarding(500)
    forwarding(25)
    beside_the_kernel()
    return 0


if __name__ == "__main__":
    sys.exit(main())
