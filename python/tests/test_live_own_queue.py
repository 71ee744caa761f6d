"""The gateway's own queue on this machine's kernel: what a game waits, and that nothing stays.

Needs root, iperf3, ping, nft and tc. What marks games is a rule of nftables here.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from home_fixture import LAN, gateway, home, lan, program, run, why_not
from live_fixture import needs_live
from nat_fixture import inside, ip
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from router_fixture import filled
from witness import of_times

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

RTT_MS = 30
CAPACITY_MBPS = 20
QUEUE_MS = 200
FLOWS = ("-P", "4")
"""They may leave slow start early (HyStart) and take longer than a test to fill the queue."""
SHARE = 0.95
"""Of the link, for the gateway's queue."""
PATH = ("--capacity", f"{CAPACITY_MBPS} Mb/s", "--rtt", f"{RTT_MS} ms",
        "--size", f"{CAPACITY_MBPS * QUEUE_MS * 125} B")  # fmt: skip
PAYLOAD_MBPS = CAPACITY_MBPS * 1448 / 1500
MAX_WAIT_MS = 20
"""Of a game: in front of the home, bursts of the senders, as the queue leaves 5 % of the link."""
MAX_OTHERS_WAIT_MS = 50 + MAX_WAIT_MS
"""Of all others without FQ-CoDel, whose fifo has 50."""
GAMES = """
table ip games {
  chain out {
    type filter hook postrouting priority 0
    ip dscp ef meta priority set 4757:4
  }
}
"""
AS_GAME = 0xB8
"""Expedited forwarding, which echoes keep."""
START_S = 3
"""Until what the first round trips put in front of the home has left."""

REASON = why_not()
pytestmark = [needs_live, pytest.mark.skipif(bool(REASON), reason=REASON)]


@pytest.fixture
def config(tmp_path: Path) -> str:
    file = tmp_path / "gateway.toml"
    rate = f"{SHARE * CAPACITY_MBPS:g} Mb/s"
    shape = f'shape = {{ rate = "{rate}", queue = "htb" }}'
    file.write_text(f'home = "{LAN}"\nmode = "shape"\n{shape}\n', "utf-8")
    return str(file)


@pytest.fixture
def space() -> Iterator[str]:
    program()
    with lan("queue") as made:
        yield made


def queues(space: str) -> list[dict[str, object]]:
    told: list[dict[str, object]] = json.loads(
        run(*inside(space), "tc", "-j", "qdisc", "show", "dev", LAN)
    )
    return told


def kinds(space: str) -> list[object]:
    return [one["kind"] for one in queues(space)]


def guardians(process: int) -> list[int]:
    # Where there is none, ps fails.
    words = ["ps", "-o", "pid=,args=", "--ppid", str(process)]
    told = subprocess.run(words, capture_output=True, text=True, check=False).stdout
    return [int(line.split()[0]) for line in told.splitlines() if " guard " in line]


def until(condition: Callable[[], bool], seconds: float = 10) -> None:
    """Wait until a condition holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.timed
@pytest.mark.light
def test_a_queue_that_follows_the_link_keeps_the_providers_empty(tmp_path: Path) -> None:
    """Nobody has told it the link's rate."""
    file = tmp_path / "gateway.toml"
    file.write_text(f'home = "{LAN}"\nmode = "both"\nshape = {{ queue = "htb" }}\n', "utf-8")
    seconds = 12
    with home(*PATH) as place:
        filled(place.router, GAMES)
        with place.gateway("--config", str(file)) as running:
            with place.download(seconds, *FLOWS, tos=AS_GAME):
                time.sleep(seconds - 2)
                told = running.status()
                words = ["status", "--openmetrics", "--control", running.control]
                figures = run(program(), *words)
            game, share = place.wait(0.99, START_S, seconds), place.share(START_S, seconds)
        # The twin.
        with place.download(seconds, *FLOWS, tos=AS_GAME):
            pass
        alone, had = place.wait(0.5, START_S, seconds), place.share(START_S, seconds)
    with of_times():
        assert RTT_MS <= game < RTT_MS + MAX_WAIT_MS
        assert alone > RTT_MS + 2 * MAX_WAIT_MS
        assert 0.93 * had < share < had
        assert 0.9 * CAPACITY_MBPS < told["own_queue"]["rate_bps"] / 1e6 < 1.1 * CAPACITY_MBPS
    assert told["lowered"] > 100
    families = {one.name: one for one in text_string_to_metric_families(figures)}
    sent = families["gameway_gateway_own_queue_packets"].samples
    assert {one.labels["class"] for one in sent} == {"game", "others"}
    assert all(one.value > 100 for one in sent)


@pytest.mark.timed
@pytest.mark.long(
    "test_live_own_queue.py::test_a_queue_that_follows_the_link_keeps_the_providers_empty"
)
def test_a_game_does_not_wait_beside_downloads_and_without_it_does(config: str) -> None:
    seconds = 10
    with home(*PATH) as place:
        filled(place.router, GAMES)
        with place.download(seconds, *FLOWS, tos=AS_GAME):
            pass
        # The twin: without the queue, the mark helps nobody.
        with of_times():
            assert place.wait(0.5, START_S, seconds) > RTT_MS + 2 * MAX_WAIT_MS
        alone = place.share(START_S, seconds)
        with place.gateway("--config", config) as running:
            with place.download(seconds, *FLOWS, tos=AS_GAME):
                time.sleep(seconds - 2)
                told = running.status()
            game, share = place.wait(0.99, START_S, seconds), place.share(START_S, seconds)
            # The other twin: what is no game waits with the downloads.
            with place.download(seconds, *FLOWS):
                pass
            others = place.wait(0.5, START_S, seconds)
    with of_times():
        assert RTT_MS <= game < RTT_MS + MAX_WAIT_MS
        assert RTT_MS + 1.5 * MAX_WAIT_MS < others < RTT_MS + MAX_OTHERS_WAIT_MS
        assert alone > 0.95 * PAYLOAD_MBPS
        assert 0.93 * PAYLOAD_MBPS * SHARE < share < PAYLOAD_MBPS * SHARE
        assert told["own_queue"]["game"]["sent_packets"] > 200
        assert told["own_queue"]["others"]["backlog_bytes"] > 0
    queue = told["own_queue"]
    assert queue["game"]["drops"] == 0 < queue["others"]["drops"]
    assert queue["rate_bps"] == round(SHARE * CAPACITY_MBPS * 1e6)
    # In this mode no window is touched.
    assert (told["limited"], told["lowered"]) == (0, 0)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_it_goes_however_the_gateway_ends(space: str, config: str, number: signal.Signals) -> None:
    before = queues(space)
    with gateway(space, "--config", config) as running:
        assert kinds(space)[0] == "htb"
        (guardian,) = guardians(running.process.pid)
        # A terminal and a service manager send it to both.
        if number != signal.SIGKILL:
            os.kill(guardian, number)
        running.signal(number)
        running.process.wait(10)
    until(lambda: queues(space) == before)
    until(lambda: not Path(f"/proc/{guardian}").exists())


def test_down_takes_it_away_and_the_next_start_what_was_left(space: str, config: str) -> None:
    before = queues(space)
    with gateway(space, "--config", config) as running:
        done = run(*inside(space), program(), "down", "--control", running.control)
        assert done.endswith("nothing of it is left in the kernel\n")
        assert queues(space) == before
    with gateway(space, "--config", config) as running:
        # Both at once: nobody is there to take it away.
        (guardian,) = guardians(running.process.pid)
        os.kill(guardian, signal.SIGSTOP)
        running.signal(signal.SIGKILL)
        running.process.wait(10)
        os.kill(guardian, signal.SIGKILL)
    assert kinds(space)[0] == "htb"
    # In mode windows, too.
    with gateway(space) as running:
        assert queues(space) == before
        running.end()


def test_while_it_hangs_nothing_shapes_and_then_it_does_again(space: str, config: str) -> None:
    before = queues(space)
    with gateway(space, "--config", config) as running:
        running.signal(signal.SIGSTOP)
        until(lambda: queues(space) == before)
        running.signal(signal.SIGCONT)
        until(lambda: kinds(space)[0] == "htb")
        until(lambda: running.status()["own_queue"]["renewals"] >= 1)
        # A guardian that is killed is replaced.
        (first,) = guardians(running.process.pid)
        os.kill(first, signal.SIGKILL)
        until(lambda: guardians(running.process.pid) not in ([], [first]))
        running.end()
    assert queues(space) == before


def test_a_queue_of_somebody_else_is_left_alone(space: str, config: str, tmp_path: Path) -> None:
    tc = (*inside(space), "tc", "qdisc")
    other = ("root", "handle", "5:", "tbf", "rate", "20mbit", "burst", "9kb", "latency", "50ms")
    words = [*inside(space), program(), "up", "--config", config,
             "--control", str(tmp_path / "a.sock")]  # fmt: skip
    run(*tc, "add", "dev", LAN, *other)
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=30)
    assert done.returncode == 1
    assert done.stderr.startswith(f"gameway-gateway: {LAN} has a queue of somebody else, tbf 5:, ")
    assert kinds(space) == ["tbf"]
    run(*tc, "delete", "dev", LAN, "root")
    # One that comes later ends the gateway, and stays.
    with gateway(space, "--config", config) as running:
        run(*tc, "replace", "dev", LAN, *other)
        assert running.process.wait(10) == 1
    assert kinds(space) == ["tbf"]


def test_it_stays_with_its_interface_and_says_when_that_is_gone(space: str, config: str) -> None:
    link = ("-n", space, "link")
    classes = (*inside(space), "tc", "-d", "class", "show", "dev", "house")
    with gateway(space, "--config", config) as running:
        ip(*link, "set", LAN, "down")
        ip(*link, "set", LAN, "name", "house")
        ip(*link, "set", "house", "up")
        assert run(*classes).count("quantum 1514 ") == 2
        ip(*link, "delete", "house")
        assert running.process.wait(10) == 1


def test_a_kernel_without_the_queue_says_so(space: str, tmp_path: Path) -> None:
    file = tmp_path / "gateway.toml"
    file.write_text(
        f'home = "{LAN}"\nmode = "shape"\nshape = {{rate = "5 Mb/s", queue = "cake"}}\n'
    )
    tried = subprocess.run(
        [*inside(space), "tc", "qdisc", "add", "dev", LAN, "root", "cake"],
        capture_output=True, check=False,
    )  # fmt: skip
    if tried.returncode == 0:
        pytest.skip("this kernel has CAKE")
    before = queues(space)
    words = [*inside(space), program(), "up", "--config", str(file),
             "--control", str(tmp_path / "a.sock")]  # fmt: skip
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=30)
    assert done.returncode == 1
    assert done.stderr.startswith("gameway-gateway: the kernel has no CAKE ")
    assert queues(space) == before
