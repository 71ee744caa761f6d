"""Compare the kernel's TCP with Gameway's: the same path, once live and once simulated.

Needs root, iproute2 and iperf3:

    sudo .venv/bin/python tools/compare-tcp/compare_tcp.py            # all; 8 minutes
    sudo .venv/bin/python tools/compare-tcp/compare_tcp.py cubic 2    # one of them, one size

Kernel TCP (`iperf3 -C`) sends through `gameway link`; the simulator's sends through the same path
in virtual time, with the lateness that was measured of the live link as jitter and stalls. Both
write the same tables, and the same bins and windows of them are compared: a transfer's rate, its
mean queueing delay, and its losses and their share.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

import gameway as gw
from gameway import _core
from gameway.beside import testbed
from gameway.live import namespaces
from gameway.live.namespaces import DEVICE, Namespaces
from gameway.live.process import PartProcess

if TYPE_CHECKING:
    from collections.abc import Iterator

CAPACITY = "25 Mb/s"
RTT = "20 ms"
ALGORITHMS = {"cubic": "cubic", "bbr": "bbr", "reno": "newreno"}
"""Names in the kernel and in Gameway."""
SIZES = (0.5, 2.0, 7.0)
SKIP = 5
"""Seconds left out on both sides: slow start, and the connection's first segments."""
PORT = 5201
MONOTONIC_SECOND = 1_000_000_000
RATE_TOLERANCE = 0.05
DELAY_TOLERANCE = 0.15


@dataclass(frozen=True)
class Measured:
    """What a transfer did after the first seconds."""

    rate: float
    """Mb/s on the wire at the receiver."""
    delay: float
    """Mean queueing delay, ms."""
    drops: int


def path(bdp: float) -> dict[str, Any]:
    """Give the path with a drop-tail queue of so many BDPs."""
    return {
        "capacity": CAPACITY,
        "base_rtt": RTT,
        "queue": {"kind": "drop-tail", "size": f"{bdp:g} bdp"},
    }


def measured(folder: Path, seconds: int) -> Measured:
    """Read the tables of a run of either kind."""
    first, last = SKIP * MONOTONIC_SECOND, seconds * MONOTONIC_SECOND
    bins = pl.read_parquet(folder / "bins.parquet").filter(
        pl.col("bin_start_ns").is_between(first, last, closed="left")
    )
    delays = pl.read_parquet(folder / "queue_delay.parquet").filter(
        pl.col("window_start_ns").is_between(first, last, closed="left")
    )
    rate = int(bins["received_bytes"].sum()) * 8 / (seconds - SKIP) / 1e6
    delay = int(delays["sum_ns"].sum()) / max(int(delays["packets"].sum()), 1) / 1e6
    return Measured(rate, delay, int(bins["dropped_packets"].sum()))


def live(algorithm: str, bdp: float, seconds: int, folder: Path) -> Measured:
    """Send by the kernel through our link."""
    with ExitStack() as stack:
        spaces = stack.enter_context(Namespaces())
        spaces.connect(flows=1)
        client = ["ip", "netns", "exec", spaces.name("client")]
        listening = [*client, "iperf3", "--server", "--one-off", "--port", str(PORT)]
        stack.enter_context(running(listening))
        epoch_ns = time.monotonic_ns() + MONOTONIC_SECOND
        config = {
            "epoch_ns": epoch_ns,
            "seed": 1,
            "duration": f"{seconds} s",
            "path": path(bdp),
            "flows": [{"name": "tcp", "address": namespaces.server_address(0)}],
            "server": {"namespace": str(spaces.path("server")), "device": DEVICE},
            "client": {"namespace": str(spaces.path("client")), "device": DEVICE},
            "folder": str(folder),
        }
        link = stack.enter_context(PartProcess("link", config, spaces.name("router"), folder))
        time.sleep(max(epoch_ns / MONOTONIC_SECOND - time.monotonic(), 0))
        fastest_ns = _fastest_ping_ns(client)
        sending = ["ip", "netns", "exec", spaces.name("server"), "iperf3", "--client",
                   namespaces.CLIENT_ADDRESS, "--port", str(PORT), "--time", str(seconds + 2),
                   "--congestion", algorithm, "--interval", "0"]  # fmt: skip
        stack.enter_context(running(sending))
        time.sleep(seconds)
        link.result()
    pings = pl.DataFrame({"sent_ns": [0], "rtt_ns": [fastest_ns]})
    pings.write_parquet(folder / "pings.parquet")
    return measured(folder, seconds)


def _fastest_ping_ns(client: list[str]) -> int:
    """Of five through the empty link."""
    command = [*client, "ping", "-q", "-c", "5", "-i", "0.1", namespaces.server_address(0)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: S603
    return int(float(said.split("=")[-1].split("/")[0]) * 1e6)


class running:  # noqa: N801 (a context like those of contextlib)
    """A program that is ended with its context."""

    def __init__(self, command: list[str]) -> None:
        self.command = command

    def __enter__(self) -> None:
        quiet = subprocess.DEVNULL
        self.process = subprocess.Popen(self.command, stdout=quiet, stderr=quiet)  # noqa: S603

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait()


def simulated(algorithm: str, bdp: float, seconds: int, folder: Path, real: Path) -> Measured:
    """Send by the simulator; `real` has the tables of the live transfer."""
    flow = gw.Competitor(name="tcp", kind="tcp", congestion_control=ALGORITHMS[algorithm])
    experiment = gw.Experiment(
        duration=f"{seconds} s", path=gw.Path(**path(bdp)), competitor=[flow], ping=False
    )
    (run,) = gw.expand(experiment)
    added = testbed.added_to_path(run.spec, real)
    _core.run(json.dumps(run.spec | {"path": run.spec["path"] | added}), str(folder))
    return measured(folder, seconds)


def compared(algorithm: str, bdp: float, seconds: int, keep: Path | None) -> bool:
    """Print a line; whether the two agree."""
    with _folder(keep) as name:
        case = f"{algorithm}-{bdp:g}"
        real, ours = name / f"{case}-live", name / f"{case}-simulated"
        for folder in (real, ours):
            folder.mkdir(parents=True, exist_ok=True)
        kernel = live(algorithm, bdp, seconds, real)
        model = simulated(algorithm, bdp, seconds, ours, real)
    rate = model.rate / kernel.rate - 1
    delay = model.delay / kernel.delay - 1 if kernel.delay else 0.0
    fits = abs(rate) <= RATE_TOLERANCE and abs(delay) <= DELAY_TOLERANCE
    print(
        f"| {algorithm} | {bdp:g} | {kernel.rate:.2f} | {model.rate:.2f} | {rate:+.1%} "
        f"| {kernel.delay:.2f} | {model.delay:.2f} | {delay:+.1%} "
        f"| {kernel.drops} | {model.drops} | {'' if fits else 'differs'} |",
        flush=True,
    )
    return fits


@contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    if keep is not None:
        yield keep
        return
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def main() -> int:
    """Print a table; 1 if a line is out of tolerance."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("algorithm", nargs="?", choices=ALGORITHMS)
    parser.add_argument("size", nargs="?", type=float, help="of the queue, BDPs")
    parser.add_argument("--seconds", type=int, default=35)
    parser.add_argument("--keep", type=Path, help="a folder in which the tables stay")
    chosen = parser.parse_args()
    algorithms = [chosen.algorithm] if chosen.algorithm else ALGORITHMS
    sizes = [chosen.size] if chosen.size else SIZES
    print(f"{CAPACITY}, {RTT}, drop-tail, alone, {SKIP} to {chosen.seconds} s; ms and Mb/s")
    print("| tcp | BDP | kernel | ours | rate | kernel delay | ours | delay | drops | ours | |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|", flush=True)
    lines = [
        compared(one, size, chosen.seconds, chosen.keep) for one in algorithms for size in sizes
    ]
    return 0 if all(lines) else 1


if __name__ == "__main__":
    sys.exit(main())
