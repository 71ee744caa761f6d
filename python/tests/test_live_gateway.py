"""The gateway on a router whose provider has a long queue; needs root, iperf3, ping and nft.

The path is `gameway link` with the queue in front of the router, TCP is the kernel's on both ends,
and what a game would wait is read off pings.
"""

from __future__ import annotations

import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from home_fixture import LAN, Home, home, program, run, why_not
from live_fixture import needs_live
from nat_fixture import inside, ip
from witness import of_times

if TYPE_CHECKING:
    from collections.abc import Iterator

RTT_MS = 30
CAPACITY_MBPS = 20
QUEUE_MS = 100
FLOWS = ("-P", "4")
"""One alone may leave slow start early (HyStart) and take longer than a test to fill a queue."""
PATH = ("--capacity", f"{CAPACITY_MBPS} Mb/s", "--rtt", f"{RTT_MS} ms",
        "--size", f"{CAPACITY_MBPS * QUEUE_MS * 125} B")  # fmt: skip
PAYLOAD_MBPS = CAPACITY_MBPS * 1448 / 1500
"""What the download can have: IP and TCP take 52 bytes of 1500."""
MAX_WAIT_MS = 20
START_S = 1.5
"""Until a download that begins is under control."""

BY_TCX = Path(__file__).with_name("tcx_program.py")

REASON = why_not()
pytestmark = [needs_live, pytest.mark.skipif(bool(REASON), reason=REASON)]


def left(place: Home) -> bool:
    """Whether anything of a gateway is in the kernel."""
    at = (*inside(place.router), "tc")
    shown = [
        run(*at, "filter", "show", "dev", LAN, direction) for direction in ("ingress", "egress")
    ]
    by_tcx = int(run(*inside(place.router), sys.executable, str(BY_TCX), LAN))
    has_place = "clsact" in run(*at, "qdisc", "show", "dev", LAN)
    return has_place or by_tcx > 0 or any(shown)


@pytest.fixture
def place() -> Iterator[Home]:
    with home(*PATH) as made:
        yield made


@pytest.mark.timed
@pytest.mark.light
def test_what_fills_the_providers_queue_does_so_no_more(place: Home) -> None:
    seconds = 9
    with place.download(seconds, *FLOWS):
        pass
    # The twin: without the gateway.
    with of_times():
        assert place.wait(0.5, START_S, seconds) > RTT_MS + QUEUE_MS / 2
    alone = place.share(START_S, seconds)
    with place.gateway() as gateway:
        with place.download(seconds, *FLOWS):
            pass
        told = gateway.end()
    with of_times():
        assert 0.95 * PAYLOAD_MBPS < alone <= 1.01 * PAYLOAD_MBPS
        assert RTT_MS <= place.wait(0.99, START_S, seconds) < RTT_MS + MAX_WAIT_MS
        assert place.share(START_S, seconds) > 0.98 * alone
    assert told[-1]["lowered"] > 100
    assert told[-1]["lost_records"] == 0


@pytest.mark.timed
@pytest.mark.light
def test_traffic_goes_on_as_without_it_when_it_is_silent_or_killed(place: Home) -> None:
    # Silent from 4 s on, back at 8 s, killed at 12 s.
    phase, seconds = 4, 16
    with place.gateway() as gateway, place.download(seconds, *FLOWS):
        assert left(place)
        for what in (signal.SIGSTOP, signal.SIGCONT, signal.SIGKILL):
            time.sleep(phase)
            gateway.signal(what)
    spans = [(begin + START_S, begin + phase) for begin in range(0, seconds, phase)]
    steered, silent, back, killed = (place.wait(0.5, *span) for span in spans)
    with of_times():
        assert steered < RTT_MS + MAX_WAIT_MS < silent
        assert back < RTT_MS + MAX_WAIT_MS < killed
        assert place.share(START_S, seconds) > 0.95 * PAYLOAD_MBPS
    assert not left(place)


@pytest.mark.timed
@pytest.mark.light
@pytest.mark.long(
    "test_live_own_queue.py::test_it_stays_with_its_interface_and_says_when_that_is_gone"
)
def test_an_interface_may_have_another_name_and_go_down_and_up(place: Home) -> None:
    seconds = 9
    link = ("-n", place.router, "link", "set")
    with place.gateway() as gateway:
        ip(*link, LAN, "down")
        ip(*link, LAN, "name", "house")
        ip(*link, "house", "up")
        try:
            with place.download(seconds, *FLOWS):
                # A cable that is pulled and put back.
                time.sleep(3)
                ip(*link, "house", "down")
                time.sleep(0.5)
                ip(*link, "house", "up")
        finally:
            ip(*link, "house", "down")
            ip(*link, "house", "name", LAN)
            ip(*link, LAN, "up")
        told = gateway.end()
    with of_times():
        for span in ((START_S, 3), (6, seconds)):
            assert place.wait(0.99, *span) < RTT_MS + MAX_WAIT_MS
        assert place.share(6, seconds) > 0.95 * PAYLOAD_MBPS
    assert told[-1]["lowered"] > 100


FLOOD = """
import socket, struct, sys
outside = sys.argv[1]
own = socket.inet_aton("192.168.7.2")
far = socket.inet_aton(outside)
def total(data):
    words = sum(struct.unpack(f">{len(data) // 2}H", data))
    words = (words >> 16) + (words & 0xffff)
    return ~(words + (words >> 16)) & 0xffff
with (
    socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_TCP) as raw,
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams,
):
    for port in range(1024, 1024 + 20_000):
        datagrams.sendto(b"flood", (outside, port))
    for port in range(1024, 1024 + 2_000):
        head = struct.pack(">HHIIHHHH", port, 9, 1, 0, 0x5002, 65535, 0, 0)
        check = total(own + far + struct.pack(">HH", 6, 20) + head)
        raw.sendto(head[:16] + struct.pack(">H", check) + head[18:], (outside, 0))
"""
"""Begins 2,000 connections and 20,000 flows of UDP, more than any table has room for."""


@pytest.mark.timed
def test_traffic_goes_on_when_tables_are_full_and_when_there_is_no_memory(place: Home) -> None:
    seconds, flooded, again = 9, 2, 5
    with place.gateway() as gateway, place.download(seconds, *FLOWS):
        time.sleep(flooded)
        # From now on the kernel gives it nothing more.
        resource.prlimit(gateway.process.pid, resource.RLIMIT_AS, (0, 0))
        run(*inside(place.space), sys.executable, "-c", FLOOD, place.server)
        time.sleep(1)
        lives = gateway.process.poll() is None
        assert left(place) == lives
        if lives:
            now, until = gateway.status()["time_s"], time.monotonic() + 10
            while gateway.status()["time_s"] == now:
                assert time.monotonic() < until, "it does not go on"
                time.sleep(0.1)
    wait = place.wait(0.5, again, seconds)
    with of_times():
        assert place.wait(0.5, START_S, flooded) < RTT_MS + MAX_WAIT_MS
        assert place.share(again, seconds) > 0.95 * PAYLOAD_MBPS
        assert (RTT_MS <= wait < RTT_MS + MAX_WAIT_MS) == lives


def test_an_interface_that_is_not_there_is_named(place: Home) -> None:
    words = [*inside(place.router), program(), "up", "--home", "nowhere"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=20)
    assert done.returncode == 1
    assert done.stderr.startswith("gameway-gateway: the data path cannot be attached to nowhere: ")
