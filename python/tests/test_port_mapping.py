"""`--map-ports`: a router that is asked hands on the port, and takes that back at the end."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from browser_fixture import NEEDS_CHROMIUM, TOKEN, browser
from live_fixture import needs_live
from nat_fixture import BROWSER, HOST, INSIDE, SERVER, Internet, inside, internet, ip
from router_fixture import LIFETIME_S, NEEDS_ROUTER, OUTSIDE, mapped, move, opening, taken
from said_fixture import said_until

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [needs_live, NEEDS_ROUTER, pytest.mark.timed, pytest.mark.light]
GAMEWAY = [sys.executable, "-m", "gameway"]
PORT = 8443
BOTH = {("UDP", PORT), ("TCP", PORT)}
ROUTER = INSIDE[HOST][1]
NEIGHBOUR = "10.1.1.77"


@pytest.fixture(scope="module")
def between(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Internet]:
    with internet(tmp_path_factory.mktemp("internet")) as made:
        made.become(HOST, "cone")
        made.become(BROWSER, "cone")
        move(made)
        yield made


class Hosted(NamedTuple):
    """A host that runs, and what it said until clients could come."""

    process: subprocess.Popen[str]
    said: str


@contextmanager
def hosting(made: Internet, folder: Path) -> Iterator[Hosted]:
    """Run a host that asks its router."""
    line = [*GAMEWAY, "host", "--listen", str(PORT), "--no-https", "--no-audio", "--size",
            "320x240", "--frame-rate", "30", "--map-ports"]  # fmt: skip
    own = {**os.environ, "GAMEWAY_TOKEN": TOKEN, "HOME": str(folder)}
    with subprocess.Popen(
        [*inside(made.ends[HOST]), *line], stderr=subprocess.PIPE, text=True, env=own
    ) as process:
        try:
            _, said = said_until(process.stderr, "code for a new device")
            assert process.stderr is not None
            # What is said later must not fill the pipe.
            os.set_blocking(process.stderr.fileno(), False)
            yield Hosted(process, said)
        finally:
            process.terminate()
            process.wait(20)


def decoded(made: Internet, patience_s: float = 60) -> int:
    """How many frames our client outside sees in two seconds."""
    line = [*GAMEWAY, "client", f"http://{OUTSIDE}:{PORT}/#{TOKEN}", "--duration", "2 s"]
    try:
        done = subprocess.run(
            [*inside(made.ends[BROWSER]), *line],
            capture_output=True, text=True, check=False, timeout=patience_s,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        # It tries for ten seconds to reach a host.
        return 0
    found = re.search(r"(\d+) frames decoded", done.stderr)
    return int(found[1]) if found else 0


def doctor(made: Internet, folder: Path) -> dict[str, Any]:
    """What the doctor says of the router."""
    line = [*inside(made.ends[HOST]), *GAMEWAY, "doctor", "--json", "--listen", str(PORT),
            "--map-ports"]  # fmt: skip
    done = subprocess.run(
        line, capture_output=True, text=True, check=False,
        env={**os.environ, "HOME": str(folder)},
    )  # fmt: skip
    checks = {one["name"]: one for one in json.loads(done.stdout)["checks"]}
    found: dict[str, Any] = checks["port mapping"]
    return found


def until(end: float, what: set[tuple[str, int]], made: Internet) -> float:
    """Wait until the router hands on this; give when it did."""
    while (found := mapped(made)) != what:
        assert time.monotonic() < end, found
        time.sleep(0.05)
    return time.monotonic()


@NEEDS_CHROMIUM
def test_a_browser_outside_plays_through_a_mapping_that_ends_with_a_host_that_is_killed(
    between: Internet, tmp_path: Path
) -> None:
    with opening(between, tmp_path, "PCP"), hosting(between, tmp_path) as host:
        began = time.monotonic()
        assert f"TCP at {OUTSIDE}:{PORT} and UDP at {OUTSIDE}:{PORT}, by PCP, for" in host.said
        assert "note: who is on the way can read the token: the page is plain HTTP" in host.said
        assert f"or http://{OUTSIDE}:{PORT}/\n" in host.said
        assert mapped(between) == BOTH
        with browser(tmp_path / "profile", *inside(between.ends[BROWSER])) as made:
            page = made.open(f"http://{OUTSIDE}:{PORT}/#{TOKEN}")
            while not (
                pair := made.evaluate(page, "gameway.error || (gameway.frames > 5 && " + PAIR)
            ):
                assert time.monotonic() < began + 20
                time.sleep(0.1)
        assert pair == {"by": "udp", "at": [OUTSIDE, PORT]}
        # It was renewed: else it would be gone.
        time.sleep(max(0.0, began + LIFETIME_S + 1.5 - time.monotonic()))
        assert mapped(between) == BOTH
        os.kill(host.process.pid, signal.SIGKILL)
        killed = time.monotonic()
        gone = until(killed + LIFETIME_S + 3, set(), between)
        assert gone > killed + 0.5


PAIR = """(async () => {
  const all = await connection.getStats();
  const transport = [...all.values()].find((one) => one.type === "transport");
  const pair = all.get(transport?.selectedCandidatePairId);
  const other = all.get(pair?.remoteCandidateId);
  return { by: other.protocol, at: [other.address, other.port] };
})())"""


def test_a_client_outside_plays_by_upnp_at_another_port_where_that_is_taken(
    between: Internet, tmp_path: Path
) -> None:
    with (
        opening(between, tmp_path, "UPnP"),
        taken(between, PORT),
        hosting(between, tmp_path) as host,
    ):
        told = (
            rf"TCP at {OUTSIDE}:{PORT} and UDP at {OUTSIDE}:(\d+), by UPnP, for 600 s at a time\n"
        )
        found = re.search(told, host.said)
        assert found, host.said
        other = int(found[1])
        assert other != PORT
        assert mapped(between) == {("UDP", other), ("TCP", PORT)}
        assert decoded(between) > 10
        host.process.terminate()
        assert host.process.wait(10) == 0
        assert mapped(between) == set()


@pytest.mark.long(
    "test_port_mapping.py::test_a_client_outside_plays_by_upnp_at_another_port_where_that_is_taken"
)
def test_without_a_mapping_nobody_outside_comes_and_the_host_says_what_was_tried(
    between: Internet, tmp_path: Path
) -> None:
    with hosting(between, tmp_path) as host:
        # The kernel says seldom that nobody is there (icmp_ratelimit).
        silence = "(nobody is there|no answer)"
        why = (
            f"note: no port is mapped: the router {ROUTER} was asked by PCP: {silence}; by"
            f" NAT-PMP: {silence}; by UPnP: no answer; hand on port {PORT} by hand"
        )
        assert re.search(why, host.said), host.said
        assert OUTSIDE not in host.said
        assert mapped(between) == set()
        assert decoded(between, patience_s=5) == 0


def test_the_doctor_asks_once_and_takes_it_back(between: Internet, tmp_path: Path) -> None:
    with opening(between, tmp_path, "NAT-PMP"):
        found = doctor(between, tmp_path)
        assert found["state"] == "works"
        at = f"{OUTSIDE}:{PORT}"
        assert found["found"] == f"TCP at {at} and UDP at {at}, by NAT-PMP, for 600 s at a time"
        assert mapped(between) == set()


def test_a_neighbour_that_claims_to_be_the_router_is_not_believed(
    between: Internet, tmp_path: Path
) -> None:
    router = between.routers[HOST]
    ip("-n", router, "address", "add", f"{NEIGHBOUR}/24", "dev", "inner")
    program = Path(__file__).parent / "upnp_neighbour.py"
    line = [*inside(router), sys.executable, str(program), NEIGHBOUR, f"{SERVER}:8000"]
    listens = ["ip", "netns", "exec", between.between, sys.executable, "-c", ELSEWHERE]
    with (
        subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as neighbour,
        subprocess.Popen(listens, stdout=subprocess.PIPE, text=True) as elsewhere,
    ):
        try:
            said_until(neighbour.stdout, "ready")
            said_until(elsewhere.stdout, "ready")
            with hosting(between, tmp_path) as host:
                pass
        finally:
            neighbour.terminate()
            elsewhere.terminate()
            ip("-n", router, "address", "delete", f"{NEIGHBOUR}/24", "dev", "inner")
        asked, came = (one.stdout.read().split() for one in (neighbour, elsewhere) if one.stdout)
    told = f"by UPnP: {NEIGHBOUR} answered, which is not the router and is not believed; hand on"
    assert told in host.said
    # What it has itself was read, to a bound, nothing was asked of it, and nobody came elsewhere.
    assert set(asked) == {"/endless", "/device", "/actions"}
    assert came == []


ELSEWHERE = f"""
import socket
one = socket.create_server(({SERVER!r}, 8000))
print("ready", flush=True)
while True:
    one.accept()
    print("came", flush=True)
"""


def test_elsewhere_is_reached_by_who_goes_there(between: Internet) -> None:
    """What the test above looks for would be seen."""
    listens = ["ip", "netns", "exec", between.between, sys.executable, "-c", ELSEWHERE]
    goes = f"import socket; socket.create_connection(({SERVER!r}, 8000), 5)"
    with subprocess.Popen(listens, stdout=subprocess.PIPE, text=True) as elsewhere:
        try:
            said_until(elsewhere.stdout, "ready")
            subprocess.run([*inside(between.ends[HOST]), sys.executable, "-c", goes], check=True)
            said_until(elsewhere.stdout, "came")
        finally:
            elsewhere.terminate()
