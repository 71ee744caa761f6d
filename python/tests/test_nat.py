"""A browser and a host behind routers of every kind: they connect, or the page says why not.

`make nat` tries each kind with each, and prints the table that docs/live.md has.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl
import pytest
from browser_fixture import FLAGS, NEEDS_CHROMIUM, TOKEN, Browser, browser, until_frames
from live_fixture import needs_live
from nat_fixture import (
    BROWSER,
    HOST,
    KINDS,
    NEEDS_TURN,
    OUTSIDE,
    SECRET,
    SERVER,
    Internet,
    inside,
    internet,
)
from said_fixture import said_until
from witness import of_times

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

pytestmark = [NEEDS_CHROMIUM, needs_live, NEEDS_TURN, pytest.mark.timed, pytest.mark.light]
LONG = pytest.mark.long("test_nat.py::test_the_doctor_says_how_others_see_this_machine")
LONG_TCP = pytest.mark.long("test_nat.py::test_our_client_goes_over_tcp_where_no_udp_passes")
LIMIT_S = 5.0
"""A connection stands within this time."""
PATIENCE_S = 40.0
IN_FULL = "GAMEWAY_NAT" in os.environ
HELP = ("nothing", "STUN", "STUN and TURN")
CHOSEN = """(async () => {
  const now = { state: window.connection?.connectionState, words: gameway.obstacle,
                error: gameway.error, frames: gameway.frames, at: performance.now() };
  if (now.state !== "connected") return now;
  const all = await connection.getStats();
  const transport = [...all.values()].find((one) => one.type === "transport");
  const pair = all.get(transport?.selectedCandidatePairId);
  if (!pair) return now;
  const [own, other] = [all.get(pair.localCandidateId), all.get(pair.remoteCandidateId)];
  return { ...now, own: own.candidateType, by: own.protocol, other: other.candidateType };
})()"""


FLOW = """(async () => {
  const all = await connection.getStats();
  const transport = [...all.values()].find((one) => one.type === "transport");
  const pair = all.get(transport?.selectedCandidatePairId);
  return { frames: gameway.frames, bytes: pair?.bytesReceived, rtt: pair?.currentRoundTripTime,
           by: all.get(pair?.localCandidateId)?.protocol };
})()"""


class Cell(NamedTuple):
    """One host and one browser."""

    host: str
    browser: str
    helped: str


@contextmanager
def hosting(made: Internet, folder: Path, helped: str, *words: str) -> Iterator[str]:
    """Run a host; give where its page is."""
    secret = folder / "secret"
    secret.write_text(SECRET, encoding="utf-8")
    given = {
        "nothing": [],
        "STUN": ["--stun", SERVER],
        "STUN and TURN": ["--stun", SERVER, "--turn", f"turn:{SERVER}",
                          "--turn-credentials", str(secret)],
    }[helped]  # fmt: skip
    listen = f"[::]:{made.port}" if made.kinds[HOST] == "IPv6" else str(made.port)
    line = [sys.executable, "-m", "gameway", "host", "--listen", listen, "--no-https",
            "--no-audio", "--size", "320x240", "--frame-rate", "30", *given, *words]  # fmt: skip
    surroundings = {**os.environ, "GAMEWAY_TOKEN": TOKEN, "HOME": str(folder)}
    with subprocess.Popen(
        [*inside(made.ends[HOST]), *line], stderr=subprocess.PIPE, text=True, env=surroundings
    ) as process:
        try:
            said_until(process.stderr, "code for a new device")
            assert process.stderr is not None
            # What is said later must not fill the pipe.
            os.set_blocking(process.stderr.fileno(), False)
            yield f"http://{made.place()}/#{TOKEN}"
        finally:
            process.terminate()
            process.wait(20)


def browsing(made: Internet, profile: Path) -> AbstractContextManager[Browser]:
    """Run a browser on its side."""
    # In a namespace without IPv4 Chromium's multicast DNS does not come up: it would name none
    # of its addresses, not even hidden ones.
    plain = "--disable-features=WebRtcHideLocalIpsWithMdns"
    flags = f"{FLAGS} {plain}" if made.kinds[BROWSER] == "IPv6" else FLAGS
    return browser(profile, *inside(made.ends[BROWSER]), flags=flags)


def play(made: Browser, link: str, *, until: str = "connected") -> dict[str, Any]:
    """Open the page until it plays, or says why it cannot."""
    page = made.open(link)
    end = time.monotonic() + PATIENCE_S
    found: dict[str, Any] = {}
    try:
        while time.monotonic() < end:
            found = made.evaluate(page, CHOSEN) or {}
            if found.get("words") or found.get("error"):
                break
            if until == "connected" and found.get("by") and found["frames"] > 5:
                found["took"] = found["at"] / 1000
                # A better pair may come.
                time.sleep(0.7)
                found = {**found, **made.evaluate(page, CHOSEN)}
                break
            time.sleep(0.1)
        return found
    finally:
        targets = made.call("Target.getTargets", {})["targetInfos"]
        for one in targets:
            if one["type"] == "page" and one["url"].startswith("http"):
                made.call("Target.closeTarget", {"targetId": one["targetId"]})


def told(found: dict[str, Any]) -> str:
    """By what a connection came about, in a word."""
    if "by" not in found:
        return "no"
    if "relay" in (found["own"], found["other"]):
        return "relay"
    return "TCP" if found["by"] == "tcp" else "UDP"


@pytest.fixture(scope="module")
def between(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Internet]:
    with internet(tmp_path_factory.mktemp("internet")) as made:
        yield made


# By TCP one connects below, and in all other cells by `make nat`.
FAST = [
    (Cell("cone", "cone", "STUN"), "UDP"),
    (Cell("symmetric", "symmetric", "STUN and TURN"), "relay"),
    (Cell("IPv6", "IPv6", "nothing"), "UDP"),
]


@pytest.mark.parametrize(("cell", "way"), FAST)
def test_a_browser_and_a_host_connect(
    between: Internet, tmp_path: Path, cell: Cell, way: str
) -> None:
    between.become(HOST, cell.host)
    between.become(BROWSER, cell.browser)
    with (
        hosting(between, tmp_path, cell.helped) as link,
        browsing(between, tmp_path / "profile") as made,
    ):
        found = play(made, link)
        assert told(found) == way, found
        with of_times():
            assert found["took"] < LIMIT_S


@pytest.mark.parametrize("helped", ["nothing", "STUN"] if IN_FULL else ["STUN"])
def test_who_cannot_connect_is_told_why(between: Internet, tmp_path: Path, helped: str) -> None:
    between.become(HOST, "symmetric")
    between.become(BROWSER, "symmetric")
    with (
        hosting(between, tmp_path, helped, "--no-tcp") as link,
        browsing(between, tmp_path / "profile") as made,
    ):
        found = play(made, link)
        assert found["words"].startswith("No connection yet. Packets of UDP do not pass"), found
        assert "The host takes no media by TCP." in found["words"]
        missing = "no TURN server" if helped == "STUN" else "no STUN or TURN server"
        assert f"The host names {missing}" in found["words"]


NARROW_MBPS = 3


def test_over_tcp_the_controller_sees_the_queue_and_the_host_collects_nothing(
    between: Internet, tmp_path: Path
) -> None:
    between.become(HOST, "none")
    between.become(BROWSER, "no UDP")
    bucket = ["tbf", "rate", f"{NARROW_MBPS}mbit", "burst", "10kb", "latency", "150ms"]
    router = [*inside(between.routers[HOST]), "tc", "qdisc"]
    # The stream begins at four times of what passes.
    rates = ("--start-bitrate", "12 Mb/s")
    try:
        subprocess.run([*router, "add", "dev", "outer", "root", *bucket], check=True)
        with (
            hosting(between, tmp_path, "nothing", *rates) as link,
            browsing(between, tmp_path / "profile") as made,
        ):
            page = made.open(link)
            until_frames(made, page)
            time.sleep(3)
            before = made.evaluate(page, FLOW)
            time.sleep(2)
            after = made.evaluate(page, FLOW)
    finally:
        subprocess.run([*router, "del", "dev", "outer", "root"], check=True)
    assert after["by"] == "tcp"
    frames = (after["frames"] - before["frames"]) / 2
    mbps = 8e-6 * (after["bytes"] - before["bytes"]) / 2
    sys.stdout.write(f"\n{frames:.1f} frames/s, {mbps:.2f} Mb/s, {after['rtt']} s there and back")
    assert frames > 15
    assert 0.5 < mbps < NARROW_MBPS
    # The bucket holds 150 ms, and the host 48 KiB, which are 130 ms here.
    assert after["rtt"] < 0.5


@pytest.mark.parametrize(
    ("kind", "connections"), [pytest.param("cone", 0, marks=LONG_TCP), ("no UDP", 1)]
)
def test_our_client_goes_over_tcp_where_no_udp_passes(
    between: Internet, tmp_path: Path, kind: str, connections: int
) -> None:
    between.become(HOST, "none")
    between.become(BROWSER, kind)
    end = inside(between.ends[BROWSER])
    with hosting(between, tmp_path, "nothing") as link:
        line = [sys.executable, "-m", "gameway", "client", link, "--duration", "5 s",
                "--out", str(tmp_path / "client")]  # fmt: skip
        with subprocess.Popen([*end, *line], stderr=subprocess.PIPE, text=True) as client:
            time.sleep(3)
            # What the answer came by is closed by now.
            standing = ["ss", "-Htn", "state", "established", "dport", f"= :{between.port}"]
            shown = subprocess.run([*end, *standing], capture_output=True, text=True, check=True)
            assert client.stderr is not None
            assert client.wait(30) == 0, client.stderr.read()
    assert len(shown.stdout.splitlines()) == connections, shown.stdout
    frames = pl.read_parquet(tmp_path / "client" / "client_frames.parquet")
    with of_times():
        # It asks by UDP for a second before.
        assert frames["decoded_ns"].drop_nulls().len() > 30


@pytest.mark.parametrize(
    ("kind", "told"), [("cone", OUTSIDE[HOST][0]), pytest.param("no UDP", "", marks=LONG)]
)
def test_the_doctor_says_how_others_see_this_machine(
    between: Internet, tmp_path: Path, kind: str, told: str
) -> None:
    between.become(HOST, kind)
    line = [sys.executable, "-m", "gameway", "doctor", "--json", "--stun", SERVER]
    done = subprocess.run(
        [*inside(between.ends[HOST]), *line], capture_output=True, text=True, check=False,
        env={**os.environ, "HOME": str(tmp_path)},
    )  # fmt: skip
    checks = {one["name"]: one for one in json.loads(done.stdout)["checks"]}
    found = f"others see this machine as {told}:" if told else f"{SERVER} does not answer"
    assert checks["outside"]["found"].startswith(found)
    assert checks["outside"]["state"] == ("works" if told else "lacking")


def rows(between: Internet, folder: Path) -> Iterator[tuple[Cell, dict[str, Any]]]:
    """Try each kind with each."""
    for helped in HELP:
        for at_host in KINDS:
            between.become(HOST, at_host)
            with hosting(between, folder, helped) as link:
                for at_browser in KINDS:
                    if (at_host == "IPv6") != (at_browser == "IPv6"):
                        # The page itself cannot be loaded.
                        continue
                    between.become(BROWSER, at_browser)
                    where = folder / re.sub(r"\W", "-", f"{helped}-{at_host}-{at_browser}")
                    with browsing(between, where) as made:
                        yield Cell(at_host, at_browser, helped), play(made, link)


def table(all_found: dict[Cell, dict[str, Any]]) -> str:
    """Write it as docs/live.md has it."""
    kinds = list(KINDS)
    lines = ["| host's router | help | " + " | ".join(kinds) + " |", "|---" * 7 + "|"]
    for at_host in kinds:
        for helped in HELP:
            found = [all_found.get(Cell(at_host, one, helped)) for one in kinds]
            words = ["" if one is None else f"{told(one)}, {one.get('took', 0):.1f} s"
                     for one in found]  # fmt: skip
            lines.append(f"| {at_host} | {helped} | " + " | ".join(words) + " |")
    return "\n".join(lines)


@pytest.mark.skipif(not IN_FULL, reason="takes minutes: make nat")
def test_every_kind_connects_with_every_kind(between: Internet, tmp_path: Path) -> None:
    found = dict(rows(between, tmp_path))
    sys.stdout.write(f"\n{table(found)}\n")
    assert {cell: one for cell, one in found.items() if one.get("took", 99) > LIMIT_S} == {}
