"""The gateway's own queue for what the home sends: a game beside an upload; that nothing stays.

Needs root, iperf3, ping, nft and tc. What marks games is a rule of nftables here.
"""

from __future__ import annotations

import json
import signal
import subprocess
from typing import TYPE_CHECKING

import pytest
from home_fixture import LAN, Home, gateway, home, lan, program, run, why_not
from live_fixture import needs_live
from nat_fixture import inside
from router_fixture import filled
from test_live_own_queue import guardians, until
from witness import of_times

from gameway.live.namespaces import DEVICE

if TYPE_CHECKING:
    from pathlib import Path

RTT_MS = 30
DOWN_MBPS, UP_MBPS = 20, 5
QUEUE_MS = 200
START_S, SECONDS = 4, 14
"""From the fourth second on the link is known."""
MAX_WAIT_MS = 40
"""Two packets take 5 ms here, and the law tries now and then whether the link carries more."""
GAMES = """
table ip games {
  chain out {
    type filter hook postrouting priority 0
    meta l4proto icmp meta priority set 4757:4
  }
}
"""
OTHER_END = "end"
"""Of the pair of which `lan` is one, and the provider's side where nobody sends."""

REASON = why_not()
pytestmark = [needs_live, pytest.mark.skipif(bool(REASON), reason=REASON)]


def config(folder: Path, name: str, shape: str) -> tuple[str, str]:
    """Give the options of a gateway that has this of `shape`."""
    file = folder / f"{name}.toml"
    file.write_text(f'home = "{LAN}"\nmode = "shape"\n[shape]\nqueue = "htb"\n{shape}\n', "utf-8")
    return "--config", str(file)


def uploaded(made: Home) -> tuple[float, float]:
    """Give what 99 of 100 pings wait beside an upload, in ms, and what that has, in Mb/s."""
    with made.download(SECONDS, "-C", "cubic", way="up"):
        pass
    return made.wait(0.99, START_S, SECONDS) - RTT_MS, made.share(START_S, SECONDS)


@pytest.mark.timed
@pytest.mark.light
def test_a_game_does_not_wait_beside_an_upload_and_without_it_does(tmp_path: Path) -> None:
    """Nobody has told it the link's rate. The twin has a queue for what comes alone."""
    path = ("--capacity", f"{DOWN_MBPS} Mb/s", "--rtt", f"{RTT_MS} ms",
            "--up-capacity", f"{UP_MBPS} Mb/s",
            "--set", f'path.back.queue.size="{UP_MBPS * QUEUE_MS * 125} B"')  # fmt: skip
    with home(*path) as made:
        filled(made.router, GAMES)
        ping = f'ping = "{made.server}"'
        with made.gateway(*config(tmp_path, "twin", ping)) as running:
            alone, had = uploaded(made)
            running.end()
        with made.gateway(*config(tmp_path, "both", f'{ping}\nout = "{DEVICE}"')) as running:
            waited, share = uploaded(made)
            told = running.status()
            running.end()
    with of_times():
        assert alone > QUEUE_MS / 2
        assert -1 < waited < MAX_WAIT_MS
        assert 0.9 * had < share <= UP_MBPS
        assert 0.8 * UP_MBPS < told["own_queue_out"]["rate_bps"] / 1e6 < 1.2 * UP_MBPS
    assert told["own_queue_out"]["game"]["sent_packets"] > 100


def roots(space: str) -> list[object]:
    """Give the kinds of queue at the roots of both interfaces."""
    found = []
    for interface in (LAN, OTHER_END):
        told = run(*inside(space), "tc", "-j", "qdisc", "show", "dev", interface, "root")
        found.append(json.loads(told)[0]["kind"])
    return found


def test_both_queues_go_however_the_gateway_ends(tmp_path: Path) -> None:
    program()
    options = config(tmp_path, "both", f'out = "{OTHER_END}"\nout_rate = "5 Mb/s"')
    with lan("out") as space:
        before = roots(space)
        with gateway(space, *options) as running:
            assert roots(space) == ["htb", "htb"]
            assert len(guardians(running.process.pid)) == 2
            running.end()
        assert roots(space) == before
        with gateway(space, *options) as running:
            running.signal(signal.SIGKILL)
            running.process.wait(10)
        until(lambda: roots(space) == before)
        with gateway(space, *options) as running:
            running.signal(signal.SIGSTOP)
            until(lambda: roots(space) == before)
            running.signal(signal.SIGCONT)
            until(lambda: roots(space) == ["htb", "htb"])
            running.end()
        # Somebody else's is left alone, and the first one does not stay.
        other = ("root", "handle", "5:", "tbf", "rate", "20mbit", "burst", "9kb", "latency", "50ms")
        run(*inside(space), "tc", "qdisc", "add", "dev", OTHER_END, *other)
        words = [*inside(space), program(), "up", *options,
                 "--control", str(tmp_path / "a.sock")]  # fmt: skip
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=30)
        assert done.returncode == 1
        assert done.stderr.startswith(f"gameway-gateway: {OTHER_END} has a queue of somebody else")
        assert roots(space) == [before[0], "tbf"]
