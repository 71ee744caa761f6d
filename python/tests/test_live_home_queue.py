"""The gateway where packets wait behind it: a port to the home that is slower than the link.

What waits is in a queue of the kernel's at the home's interface, which somebody else has put there.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from home_fixture import LAN, Home, gateway, home, lan, run, why_not
from live_fixture import needs_live
from nat_fixture import inside, ip
from witness import of_times

if TYPE_CHECKING:
    from collections.abc import Iterator

    from home_fixture import Gateway

RTT_MS = 30
PORT_MBPS = 20
QUEUE_MS = 100
SECONDS = 7
START_S = 1.5
"""Until a download that begins is under control."""
FLOWS = ("-P", "4")
PATH = ("--capacity", "100 Mb/s", "--rtt", f"{RTT_MS} ms", "--size", "1 MB")
"""The provider's link never is the bottleneck."""
PAYLOAD_MBPS = PORT_MBPS * 1448 / 1514
"""The port counts Ethernet's header."""
MAX_WAIT_MS = 20

REASON = why_not()
pytestmark = [needs_live, pytest.mark.skipif(bool(REASON), reason=REASON)]


def slow(space: str, interface: str, mbps: int = PORT_MBPS) -> None:
    """Make an interface slow, with a queue of 100 ms."""
    limit = ("limit", str(mbps * QUEUE_MS * 125))
    words = ("root", "tbf", "rate", f"{mbps}mbit", "burst", "5000", *limit)
    run(*inside(space), "tc", "qdisc", "add", "dev", interface, *words)


FLOOD = """
import socket, sys, time
seconds, mbps = map(float, sys.argv[1:])
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as flood:
    flood.setblocking(False)
    began = next = time.monotonic()
    while next < began + seconds:
        try:
            flood.sendto(bytes(1400), ("192.168.7.2", 9))
        except BlockingIOError:
            pass
        next += 1400 * 8 / 1e6 / mbps
        time.sleep(max(0, next - time.monotonic()))
"""
"""From the router itself, as machines of the home send to each other: past the gateway."""


def flood(space: str, seconds: int, mbps: int) -> subprocess.Popen[bytes]:
    words = [*inside(space), sys.executable, "-c", FLOOD, str(seconds), str(mbps)]
    return subprocess.Popen(words)


def waits_behind(gateway: Gateway) -> float | None:
    """What a status tells, which is of the last second: none before the first one is over."""
    until = time.monotonic() + 10
    while (found := gateway.status()["wait_behind_ms"]) is None and time.monotonic() < until:
        time.sleep(0.1)
    return None if found is None else float(found)


@pytest.fixture
def place() -> Iterator[Home]:
    with home(*PATH) as made:
        yield made


@pytest.fixture
def space() -> Iterator[str]:
    with lan("none") as name:
        yield name


@pytest.mark.timed
@pytest.mark.light
def test_what_fills_the_queue_of_a_slow_port_does_so_no_more(place: Home) -> None:
    slow(place.router, LAN)
    with place.download(SECONDS, *FLOWS):
        pass
    # The twin: without the gateway.
    with of_times():
        assert place.wait(0.5, START_S, SECONDS) > RTT_MS + QUEUE_MS / 2
    alone = place.share(START_S, SECONDS)
    with place.gateway() as gateway:
        with place.download(SECONDS, *FLOWS):
            pass
        assert waits_behind(gateway) is not None
        told = gateway.end()
    with of_times():
        assert 0.95 * PAYLOAD_MBPS < alone <= 1.01 * PAYLOAD_MBPS
        assert RTT_MS <= place.wait(0.99, START_S, SECONDS) < RTT_MS + MAX_WAIT_MS
        assert place.share(START_S, SECONDS) > 0.97 * alone
    assert told[-1]["lowered"] > 100


@pytest.fixture
def bridged() -> Iterator[str]:
    """Give a namespace whose `lan` is a bridge with a port of 2 Mb/s."""
    space = f"gwb-{os.getpid()}"
    ip("netns", "add", space)
    try:
        own = ("-n", space, "link")
        ip(*own, "add", LAN, "type", "bridge")
        ip(*own, "add", "port", "master", LAN, "type", "veth", "peer", "name", "end")
        for interface in (LAN, "port", "end"):
            ip(*own, "set", interface, "up")
        ip("-n", space, "address", "add", "192.168.7.1/24", "dev", LAN)
        # Nobody is there to answer.
        nobody = ("lladdr", "02:00:00:00:00:02", "nud", "permanent")
        ip("-n", space, "neighbour", "add", "192.168.7.2", *nobody, "dev", LAN)
        slow(space, "port", 2)
        yield space
    finally:
        ip("netns", "delete", space)


@pytest.mark.timed
@pytest.mark.light
@pytest.mark.long("test_live_home_queue.py::test_queues_of_a_bridges_ports_are_seen")
def test_a_queue_that_others_fill_costs_downloads_nothing(place: Home) -> None:
    slow(place.router, LAN)
    shares, waits = [], []

    def download() -> None:
        sending = flood(place.router, SECONDS, 15)
        with place.download(SECONDS, *FLOWS):
            pass
        assert sending.wait(5) == 0
        shares.append(place.share(START_S, SECONDS))
        waits.append(place.wait(0.5, START_S, SECONDS))

    download()
    with place.gateway() as gateway:
        download()
        gateway.end()
    with of_times():
        assert min(waits) > RTT_MS + QUEUE_MS / 2
        assert 0.8 * shares[0] < shares[1] < 1.25 * shares[0]


def test_queues_of_a_bridges_ports_are_seen(bridged: str) -> None:
    with gateway(bridged) as own:
        assert waits_behind(own) == 0
        sending = flood(bridged, 2, 6)
        waits = []
        while sending.poll() is None:
            waits.append(own.status()["wait_behind_ms"])
            time.sleep(0.1)
    assert sending.returncode == 0
    assert 0.6 * QUEUE_MS < max(waits) < 1.2 * QUEUE_MS


def test_where_no_queue_is_there_is_no_wait(space: str) -> None:
    with gateway(space) as own:
        # As of a second later.
        time.sleep(1.5)
        assert own.status()["wait_behind_ms"] is None
