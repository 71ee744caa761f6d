"""The gateway on a router whose provider has a long queue; needs root, iperf3, ping and nft.

The path is `gameway link` with the queue in front of the router, TCP is the kernel's on both ends,
and what a game would wait is read off pings.
"""

from __future__ import annotations

import signal
import subprocess
import time
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

REASON = why_not()
pytestmark = [needs_live, pytest.mark.skipif(bool(REASON), reason=REASON)]


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
        for what in (signal.SIGSTOP, signal.SIGCONT, signal.SIGKILL):
            time.sleep(phase)
            gateway.signal(what)
    spans = [(begin + START_S, begin + phase) for begin in range(0, seconds, phase)]
    steered, silent, back, killed = (place.wait(0.5, *span) for span in spans)
    with of_times():
        assert steered < RTT_MS + MAX_WAIT_MS < silent
        assert back < RTT_MS + MAX_WAIT_MS < killed
        assert place.share(START_S, seconds) > 0.95 * PAYLOAD_MBPS
    # Nothing is left in the kernel.
    for direction in ("ingress", "egress"):
        assert run(*inside(place.router), "tc", "filter", "show", "dev", LAN, direction) == ""
    assert "clsact" not in run(*inside(place.router), "tc", "qdisc", "show", "dev", LAN)


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
                pass
        finally:
            ip(*link, "house", "down")
            ip(*link, "house", "name", LAN)
            ip(*link, LAN, "up")
        told = gateway.end()
    with of_times():
        assert place.wait(0.99, START_S, seconds) < RTT_MS + MAX_WAIT_MS
    assert told[-1]["lowered"] > 100


def test_an_interface_that_is_not_there_is_named(place: Home) -> None:
    words = [*inside(place.router), program(), "up", "--home", "nowhere"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=20)
    assert done.returncode == 1
    assert done.stderr.startswith("gameway-gateway: the data path cannot be attached to nowhere: ")
