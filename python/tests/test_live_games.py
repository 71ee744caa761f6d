"""Games found in what passes a router; needs root, iperf3, tc and nft.

The game is `game_model.py`, which nothing tells from other UDP but what it does; beside it are a
download by the kernel's TCP and one by s2n-quic.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from game_model import FRAME_BYTES, FRAME_HZ
from home_fixture import LAN, Home, home, run, why_not
from live_fixture import needs_live
from nat_fixture import inside
from witness import of_times

import gameway as gw
from gameway.live import quic
from gameway.live.namespaces import DEVICE
from gameway.live.process import prepared

if TYPE_CHECKING:
    from collections.abc import Iterator

PATH = ("--capacity", "40 Mb/s", "--rtt", "30 ms", "--size", "500000 B")
"""A queue of 100 ms."""
PORT = 27_961
MODEL = Path(__file__).with_name("game_model.py")
SECONDS = 8
FOUND_S = 2.1
"""Three looks take 1.54 s from the first packet on; the rest is the status of once a second."""
SETTLE_S = 1.2
"""A status is of the last second."""
GAME_CLASS, OTHERS = "4757:4", "4757:20"
EF = 46
DOWNLOAD = """
title = "A download over QUIC"
duration = "30 s"
[path]
capacity = "40 Mb/s"
base_rtt = "30 ms"
[[competitor]]
name = "quic"
kind = "quic"
congestion_control = "cubic"
ack_packets = 10
"""

LONG = pytest.mark.long(
    "test_live_games.py::test_rules_by_hand_overrule_and_marks_are_for_games_alone"
)
"""Always: a rule for a game. Those against games are the twins."""
REASON = why_not()
pytestmark = [needs_live, pytest.mark.skipif(bool(REASON), reason=REASON)]


@pytest.fixture
def place() -> Iterator[Home]:
    with home(*PATH) as made:
        yield made


@contextmanager
def game(place: Home, seconds: int) -> Iterator[subprocess.Popen[str]]:
    """Give the end at home of a game that begins; it ends by itself."""
    words = [place.server, str(PORT), str(seconds)]
    pipe = subprocess.PIPE
    far = [sys.executable, str(MODEL), "far", *words]
    near = [*inside(place.space), sys.executable, str(MODEL), "near", *words]
    with subprocess.Popen(far, stdout=pipe, text=True) as server:
        try:
            assert server.stdout is not None
            assert server.stdout.readline() == "ready\n"
            with subprocess.Popen(near, stdout=pipe, text=True) as player:
                yield player
        finally:
            server.kill()


@contextmanager
def quic_download(place: Home, folder: Path) -> Iterator[None]:
    """Download over QUIC; the client is at home."""
    (competitor,) = gw.expand(gw.loads(DOWNLOAD))[0].spec["competitor"]
    config = {
        "epoch_ns": time.monotonic_ns(),
        "duration": "30 s",
        "competitor": competitor,
        "server": place.server,
        "port": quic.PORT,
        "client": "192.168.7.2",
        "certificate": str(folder / "quic-server" / quic.CERTIFICATE),
    }
    pipe, environment = subprocess.PIPE, quic.environment(competitor)
    with ExitStack() as stack:
        for kind, where in ((quic.SERVER_PART, []), (quic.CLIENT_PART, inside(place.space))):
            words = [*where, *prepared(folder, kind, kind, config)]
            part = subprocess.Popen(words, stdout=pipe, text=True, env=environment)
            stack.enter_context(part)
            stack.callback(part.kill)
            assert part.stdout is not None
            assert part.stdout.readline() == "ready\n"
        yield


def sent(space: str, interface: str) -> dict[str, int]:
    """Give the packets of each class."""
    told = run(*inside(space), "tc", "-s", "class", "show", "dev", interface)
    found = re.findall(r"^class htb (\S+) .*\n Sent \d+ bytes (\d+) pkt", told, re.MULTILINE)
    return {handle: int(count) for handle, count in found}


def ends(found: dict[str, Any]) -> tuple[str, str]:
    return found["sender"], found["receiver"].rpartition(":")[0]


@pytest.mark.timed
@pytest.mark.light
def test_a_game_is_found_by_what_it_does_and_downloads_are_none(
    place: Home, tmp_path: Path
) -> None:
    told = []
    config = tmp_path / "gateway.toml"
    # Both its queues have a class for games; at this rate nothing waits there.
    out = f'out = "{DEVICE}", out_rate = "1 Gb/s"'
    shape = f'shape = {{ queue = "htb", rate = "1 Gb/s", {out} }}'
    config.write_text(f'home = "{LAN}"\nmode = "shape"\n{shape}\n', "utf-8")
    with (
        place.gateway("--config", str(config)) as gateway,
        place.download(SECONDS + 4, "-P", "2"),
        quic_download(place, tmp_path),
    ):
        time.sleep(2)
        began = time.monotonic()
        with game(place, SECONDS) as player:
            while player.poll() is None:
                told.append((time.monotonic() - began, gateway.status()["games"]))
                time.sleep(0.25)
            came = json.loads(player.communicate()[0])
        time.sleep(SETTLE_S)
        status, packets = gateway.status(), sent(place.router, LAN)
        left = sent(place.router, DEVICE)
    games = [(at, one) for at, status in told for one in status["found"]]
    # Nothing but the game, at any time, and by its sizes and times alone.
    assert {ends(one) for _, one in games} == {(f"{place.server}:{PORT}", "192.168.7.2")}
    assert {(one["by"], one["protocol"], one["name"]) for _, one in games} == {
        ("behaviour", "udp", None)
    }
    last = games[-1][1]
    reasons = {one["what"]: one for one in last["reasons"]}
    assert set(reasons) == {"rate", "continuity", "frames", "answers", "asymmetry", "rhythm"}
    for one in reasons.values():
        holds = one["value"] >= one["threshold"]
        assert holds == (one["bound"] == "at least"), one
    with of_times():
        first = games[0][0] - games[0][1]["for_s"]
        assert 1.5 < first < FOUND_S
        mean_mbps = FRAME_BYTES * FRAME_HZ * 8e-6
        assert 0.6 * mean_mbps < last["rate_bps"] / 1e6 < 1.3 * mean_mbps
        assert last["confidence"] > 0.5
        # Until it was found, packets went with the others.
        share = packets[GAME_CLASS] / came["packets"]
        assert 0.6 < share < 1 - 1.5 / SECONDS + 0.05
    # The download over QUIC is known, and lacks what a picture has; TCP is not asked.
    assert status["games"]["others"] + status["games"]["quiet"] >= 1
    assert status["games"]["lacking"]["frames"] >= 1
    assert {one["protocol"] for one in status["connections"]} == {"tcp", "udp"}
    assert packets[OTHERS] > 5000
    assert packets[GAME_CLASS] == status["game_packets"]
    # Its inputs go first, too, under the address that the router has given them.
    assert left[GAME_CLASS] == status["games_out"] > 0
    assert left[OTHERS] > 1000
    with of_times():
        assert 0.6 < left[GAME_CLASS] / came["inputs"] < 1 - 1.5 / SECONDS + 0.05
    assert status["lost_datagrams"] == 0


@pytest.mark.timed
@pytest.mark.light
@pytest.mark.parametrize(
    "kind", ["game", pytest.param("no_game", marks=LONG), pytest.param("nothing", marks=LONG)]
)
def test_rules_by_hand_overrule_and_marks_are_for_games_alone(
    place: Home, tmp_path: Path, kind: str
) -> None:
    seconds = 4
    file = tmp_path / "gateway.toml"
    rules = f'[[{kind}]]\nname = "mine"\nport = {PORT}\n'
    rules = rules if kind != "nothing" else "games = false\n"
    file.write_text(f'home = "{LAN}"\nmark = "EF"\n{rules}', "utf-8")
    with place.gateway("--config", str(file)) as gateway, game(place, seconds) as player:
        came = json.loads(player.communicate(timeout=seconds + 20)[0])
        time.sleep(SETTLE_S)
        status = gateway.status()
    if kind == "game":
        (found,) = status["games"]["found"]
        assert (found["by"], found["name"], found["reasons"]) == ("rule", "mine", [])
        marked = came["classes"].get(str(EF << 2), 0)
        # All but the first, which the program had to see.
        assert 0.95 * came["packets"] < marked <= status["game_packets"]
        return
    assert status["games"]["found"] == []
    assert status["game_packets"] == 0
    assert list(came["classes"]) == ["0"]
    assert came["packets"] > 100
    if kind == "no_game":
        assert status["games"]["overruled"] == 1
        return
    # The sums that samples have are whole: the rate of what is not listened to.
    with of_times():
        rates = [one["rate_bps"] for one in status["connections"]]
        assert rates == [] or max(rates) < 20e6
