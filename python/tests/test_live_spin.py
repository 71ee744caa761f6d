"""What waits in front of a home, read off QUIC's spin bit alone: no TCP and no ping tells.

Downloads are by quinn, which turns the bit.

Needs root, ping, nft, tcpdump, and tshark, which reads the bit by code of its own.
"""

from __future__ import annotations

import shutil
import subprocess
import time
from collections import defaultdict
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from home_fixture import LAN, Gateway, Home, answers, home, pinging, run, why_not
from live_fixture import needs_live
from nat_fixture import inside
from router_fixture import filled
from test_live_own_queue import (
    AS_GAME,
    CAPACITY_MBPS,
    GAMES,
    MAX_WAIT_MS,
    PATH,
    RTT_MS,
)
from witness import of_times

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "target" / "release" / "examples" / "spinning"
PORT = 27_964
CONNECTIONS = 4
"""Each end of quinn leaves the bit alone in one of eight: all four do in one run of 350."""
SECONDS = 9
START_S = 3
REPORT_S = 0.5
RANDOM_PART = 0.3
"""Of the datagrams of an end whose values are random, half turn. An end that answers it repeats a
value until the next one comes: its own turns do not tell."""

LACKING = [name for name in ("tcpdump", "tshark") if shutil.which(name) is None]
REASON = why_not() or (f"the test needs {', '.join(LACKING)}" if LACKING else "")
pytestmark = [
    needs_live,
    pytest.mark.skipif(bool(REASON), reason=REASON),
    pytest.mark.skipif(not PROGRAM.exists(), reason="needs the example spinning: cargo test"),
]


@dataclass
class Seen:
    """What was measured of downloads."""

    wait_ms: float
    """Of the pings, the 99th percentile from `START_S` on, without the path."""
    mbps: float
    told_by: str | None
    """What told the gateway, two seconds before the end."""
    rate_mbps: float
    """Of its queue then."""
    games: int
    """Downloads that it took for games then."""
    turns: dict[str, tuple[int, float]]
    """By tshark, of each connection: turns of the server's bit; the share of the datagrams of
    either end that turn, the greater one."""


@contextmanager
def captured(space: str, file: Path) -> Iterator[None]:
    """Capture what passes at home."""
    words = ["tcpdump", "-i", "eth0", "-s", "200", "-w", str(file), f"udp port {PORT}"]
    with subprocess.Popen([*inside(space), *words], stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            assert "listening" in process.stderr.readline()
            yield
        finally:
            process.terminate()
            process.communicate(timeout=10)


def turns(file: Path) -> dict[str, tuple[int, float]]:
    """Give for each connection how often the server's bit turns, and the greater share of turns."""
    names = ("udp.srcport", "udp.dstport", "quic.spin_bit")
    fields = [word for name in names for word in ("-e", name)]
    told = run("tshark", "-r", str(file), "-d", f"udp.port=={PORT},quic",
               "-Y", "quic.short", "-T", "fields", *fields)  # fmt: skip
    bits: dict[str, tuple[list[str], list[str]]] = defaultdict(lambda: ([], []))
    for line in told.splitlines():
        source, target, bit = line.split("\t")
        by_server = source == str(PORT)
        bits[target if by_server else source][by_server].append(bit.split(",")[0])
    counted = {
        port: [(sum(a != b for a, b in pairwise(end)), len(end)) for end in ends]
        for port, ends in bits.items()
    }
    return {
        port: (ends[True][0], max(turned / max(all_, 1) for turned, all_ in ends))
        for port, ends in counted.items()
    }


def download(place: Home, running: Gateway, folder: Path, spin: str) -> Seen:
    """Download, and ping as a game."""
    certificate, file = folder / f"{spin}.der", folder / f"{spin}.pcap"
    ends = [place.server, str(PORT), str(certificate), spin]
    pipe = subprocess.PIPE
    words = [str(PROGRAM), "client", *ends, str(CONNECTIONS), str(SECONDS)]
    echo = pinging(place.server, SECONDS, AS_GAME)
    with subprocess.Popen([str(PROGRAM), "server", *ends], stdout=pipe, text=True) as server:
        try:
            assert server.stdout is not None
            assert server.stdout.readline() == "ready\n"
            with captured(place.space, file):
                began = time.time()
                with (
                    subprocess.Popen(
                        [*inside(place.space), *echo], stdout=pipe, text=True
                    ) as pings,
                    subprocess.Popen([*inside(place.space), *words], stdout=pipe, text=True) as got,
                ):
                    try:
                        time.sleep(SECONDS - 2)
                        status = running.status()
                        received = got.communicate(timeout=SECONDS + 20)[0].split()
                        echoed = pings.communicate(timeout=20)[0]
                    finally:
                        pings.kill()
                        got.kill()
        finally:
            server.kill()
    waits = sorted(ms for at, ms in answers(echoed, began) if at >= START_S)
    first, last = (int(received[at]) for at in (int(START_S / REPORT_S), -1))
    span = REPORT_S * (len(received) - 1) - START_S
    mbps = (last - first) * 8 / 1e6 / span
    wait_ms = waits[int(0.99 * len(waits))] - RTT_MS
    told_by, rate_mbps = status["wait_told_by"], status["own_queue"]["rate_bps"] / 1e6
    games = sum(one["protocol"] == "udp" for one in status["games"]["found"])
    return Seen(wait_ms, mbps, told_by, rate_mbps, games, turns(file))


@pytest.mark.timed
def test_downloads_that_spin_are_held_without_a_ping_and_others_are_not(tmp_path: Path) -> None:
    config = tmp_path / "gateway.toml"
    config.write_text(f'home = "{LAN}"\nmode = "both"\nshape = {{ queue = "htb" }}\n', "utf-8")
    with home(*PATH) as place:
        filled(place.router, GAMES)
        seen = {}
        for spin in ("on", "off"):
            with place.gateway("--config", str(config)) as running:
                seen[spin] = download(place, running, tmp_path, spin)
    spinning = [turned for turned, share in seen["on"].turns.values() if share < RANDOM_PART]
    assert len(seen["on"].turns) == len(seen["off"].turns) == CONNECTIONS
    # Closed form: no more than one turn in a base RTT, and one at least while the queue is full.
    assert spinning
    assert all(3 < turned <= (SECONDS + 1) * 1000 / RTT_MS for turned in spinning)
    assert all(share > RANDOM_PART for _, share in seen["off"].turns.values())
    assert seen["on"].games == seen["off"].games == 0
    assert seen["on"].told_by == "spin-bit"
    # The twin: nobody tells, and nothing is shaped.
    assert seen["off"].told_by is None
    assert seen["off"].rate_mbps > 100 * CAPACITY_MBPS
    with of_times():
        assert 0 <= seen["on"].wait_ms < MAX_WAIT_MS
        assert seen["off"].wait_ms > 3 * MAX_WAIT_MS
        assert 0.9 * seen["off"].mbps < seen["on"].mbps < 1.02 * seen["off"].mbps
        assert 0.85 * CAPACITY_MBPS < seen["on"].rate_mbps < 1.1 * CAPACITY_MBPS
