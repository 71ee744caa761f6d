"""Compare the kernel's TCP with Gameway's: the same path, once live and once simulated.

Needs root, iproute2 and iperf3:

    sudo .venv/bin/python tools/compare-tcp/compare_tcp.py            # all; 8 minutes
    sudo .venv/bin/python tools/compare-tcp/compare_tcp.py cubic 2    # one of them, one size
    sudo .venv/bin/python tools/compare-tcp/compare_tcp.py cubic 1 --capacity "60 Mb/s" \
        --rtt "1.2 s" --skip 0 --seconds 60                           # another path, from the start

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
from gameway.live import namespaces, offers
from gameway.live.competitors import TCP_OPENING_ROUND_TRIPS
from gameway.live.namespaces import DEVICE, Namespaces
from gameway.live.process import PartProcess

if TYPE_CHECKING:
    from collections.abc import Iterator

DEFAULT_PATH = ("25 Mb/s", "20 ms")
ALGORITHMS = {"cubic": "cubic", "bbr": "bbr", "reno": "newreno"}
"""Names in the kernel and in Gameway."""
SIZES = (0.5, 2.0, 7.0)
STEP = 5
"""Seconds of each of the rates that are printed of a path that the caller chose."""
PING_ROUND_TRIPS = 2
"""Of the path's RTT, and a second more: time for the pings."""
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


@dataclass(frozen=True)
class Case:
    """A transfer over a path."""

    algorithm: str
    bdp: float
    """Size of the drop-tail queue."""
    capacity: str
    rtt: str
    skip: int
    """Seconds left out on both sides: slow start, and the connection's first segments."""
    seconds: int

    def path(self) -> dict[str, Any]:
        """Give the path."""
        queue = {"kind": "drop-tail", "size": f"{self.bdp:g} bdp"}
        return {"capacity": self.capacity, "base_rtt": self.rtt, "queue": queue}


def measured(folder: Path, case: Case) -> Measured:
    """Read the tables of a run of either kind."""
    first, last = case.skip * MONOTONIC_SECOND, case.seconds * MONOTONIC_SECOND
    bins = pl.read_parquet(folder / "bins.parquet").filter(
        pl.col("bin_start_ns").is_between(first, last, closed="left")
    )
    delays = pl.read_parquet(folder / "queue_delay.parquet").filter(
        pl.col("window_start_ns").is_between(first, last, closed="left")
    )
    rate = int(bins["received_bytes"].sum()) * 8 / (case.seconds - case.skip) / 1e6
    delay = int(delays["sum_ns"].sum()) / max(int(delays["packets"].sum()), 1) / 1e6
    return Measured(rate, delay, int(bins["dropped_packets"].sum()))


def over_time(folder: Path, case: Case) -> list[float]:
    """Give the rates of a run from its start on, Mb/s."""
    bins = pl.read_parquet(folder / "bins.parquet")
    step = (pl.col("bin_start_ns") // (STEP * MONOTONIC_SECOND)).alias("step")
    sums = bins.group_by(step).agg(pl.col("received_bytes").sum()).sort("step")
    return [bits * 8 / STEP / 1e6 for bits in sums["received_bytes"]][: case.seconds // STEP]


def live(case: Case, folder: Path) -> Measured:
    """Send by the kernel through our link, with the buffers of live runs."""
    seconds = case.seconds
    with ExitStack() as stack:
        spaces = stack.enter_context(Namespaces())
        spaces.connect(flows=1)
        for part in ("server", "client"):
            settings = [f"{name}={value}" for name, value in offers.SYSCTLS.items()]
            namespaces.call(
                "ip", "netns", "exec", spaces.name(part), "sysctl", "-q", "-w", *settings
            )
        client = ["ip", "netns", "exec", spaces.name("client")]
        listening = [*client, "iperf3", "--server", "--one-off", "--port", str(PORT)]
        stack.enter_context(running(listening))
        before_ns = MONOTONIC_SECOND + PING_ROUND_TRIPS * _core.parse_duration(case.rtt)
        epoch_ns = time.monotonic_ns() + before_ns
        config = {
            "epoch_ns": epoch_ns,
            "seed": 1,
            "duration": f"{seconds} s",
            "path": case.path(),
            "flows": [{"name": "tcp", "address": namespaces.server_address(0)}],
            "server": {"namespace": str(spaces.path("server")), "device": DEVICE},
            "client": {"namespace": str(spaces.path("client")), "device": DEVICE},
            "folder": str(folder),
        }
        link = stack.enter_context(PartProcess("link", config, spaces.name("router"), folder))
        # Ahead of time zero: the transfer begins with it, as the simulated one does.
        fastest_ns = _fastest_ping_ns(client)
        time.sleep(max(epoch_ns / MONOTONIC_SECOND - time.monotonic(), 0))
        sending = ["ip", "netns", "exec", spaces.name("server"), "iperf3", "--client",
                   namespaces.CLIENT_ADDRESS, "--port", str(PORT), "--time", str(seconds + 2),
                   "--congestion", case.algorithm, "--interval", "0"]  # fmt: skip
        stack.enter_context(running(sending))
        time.sleep(seconds)
        link.result()
    pings = pl.DataFrame({"sent_ns": [0], "rtt_ns": [fastest_ns]})
    pings.write_parquet(folder / "pings.parquet")
    return measured(folder, case)


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


def simulated(case: Case, folder: Path, real: Path) -> Measured:
    """Send by the simulator; `real` has the tables of the live transfer."""
    opening_ns = TCP_OPENING_ROUND_TRIPS * _core.parse_duration(case.rtt)
    flow = gw.Competitor(
        name="tcp",
        kind="tcp",
        congestion_control=ALGORITHMS[case.algorithm],
        start=_core.format_duration(opening_ns),
    )
    experiment = gw.Experiment(
        duration=f"{case.seconds} s", path=gw.Path(**case.path()), competitor=[flow], ping=False
    )
    (run,) = gw.expand(experiment)
    added = testbed.added_to_path(run.spec, real)
    _core.run(json.dumps(run.spec | {"path": run.spec["path"] | added}), str(folder))
    return measured(folder, case)


def compared(case: Case, keep: Path | None, *, steps: bool) -> bool:
    """Print a line, and the rates over time if `steps`; whether the two agree."""
    with _folder(keep) as name:
        label = f"{case.algorithm}-{case.bdp:g}"
        real, ours = name / f"{label}-live", name / f"{label}-simulated"
        for folder in (real, ours):
            folder.mkdir(parents=True, exist_ok=True)
        kernel = live(case, real)
        model = simulated(case, ours, real)
        rates = {"kernel": over_time(real, case), "ours": over_time(ours, case)}
    rate = model.rate / kernel.rate - 1
    delay = model.delay / kernel.delay - 1 if kernel.delay else 0.0
    fits = abs(rate) <= RATE_TOLERANCE and abs(delay) <= DELAY_TOLERANCE
    print(
        f"| {case.algorithm} | {case.bdp:g} | {kernel.rate:.2f} | {model.rate:.2f} | {rate:+.1%} "
        f"| {kernel.delay:.2f} | {model.delay:.2f} | {delay:+.1%} "
        f"| {kernel.drops} | {model.drops} | {'' if fits else 'differs'} |",
        flush=True,
    )
    for side, found in rates.items() if steps else ():
        print(f"{side}, each {STEP} s: {' '.join(f'{rate:.1f}' for rate in found)}", flush=True)
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
    parser.add_argument("--capacity", default=DEFAULT_PATH[0])
    parser.add_argument("--rtt", default=DEFAULT_PATH[1])
    parser.add_argument("--skip", type=int, default=5, help="seconds at the start left out")
    parser.add_argument("--seconds", type=int, default=35)
    parser.add_argument("--keep", type=Path, help="a folder in which the tables stay")
    chosen = parser.parse_args()
    algorithms = [chosen.algorithm] if chosen.algorithm else ALGORITHMS
    sizes = [chosen.size] if chosen.size else SIZES
    path = (chosen.capacity, chosen.rtt, chosen.skip, chosen.seconds)
    print("{}, {}, drop-tail, alone, {} to {} s; ms and Mb/s".format(*path))
    print("| tcp | BDP | kernel | ours | rate | kernel delay | ours | delay | drops | ours | |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|", flush=True)
    lines = [
        compared(Case(one, size, *path), chosen.keep, steps=path[:2] != DEFAULT_PATH)
        for one in algorithms
        for size in sizes
    ]
    return 0 if all(lines) else 1


if __name__ == "__main__":
    sys.exit(main())
