"""The page and the figures that a gateway shows to its home; needs root, clang and Chromium."""

from __future__ import annotations

import json
import re
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from browser_fixture import NEEDS_CHROMIUM, Browser, browser
from home_fixture import LAN, Home, gateway, home, lan, program, run, why_not
from live_fixture import needs_live
from nat_fixture import inside, ip
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from test_live_page import AXE, NEEDS_AXE
from witness import of_times

if TYPE_CHECKING:
    from collections.abc import Iterator

    from home_fixture import Gateway

PATH = ("--capacity", "20 Mb/s", "--rtt", "30 ms", "--size", "250000 B")
"""A queue of 100 ms."""
ROUTER = "192.168.7.1"
PORT = 9443
WAIT_S = 20.0

REASON = why_not()
pytestmark = [needs_live, pytest.mark.skipif(bool(REASON), reason=REASON)]


@contextmanager
def shown(space: str, folder: Path, *names: str) -> Iterator[Gateway]:
    """Give a gateway that shows itself to its home."""
    file = folder / "shown.toml"
    leases = folder / "dhcp.leases"
    leases.write_text("1795819236 02:00:00:00:00:02 192.168.7.2 living-room *\n", "utf-8")
    listen = f"[status]\nlisten = '{ROUTER}:{PORT}'\nnames = {json.dumps(names)}\n"
    listen += f"leases = '{leases}'\n"
    file.write_text(f"home = '{LAN}'\n{listen}", "utf-8")
    with gateway(space, "--config", str(file)) as running:
        yield running


def asked(space: str, path: str, *options: str, at: str = ROUTER) -> tuple[int, str]:
    """Ask from within a namespace; give the status, 0 if nobody answers, and the body."""
    words = [
        "curl",
        "-sS",
        "-m",
        "5",
        "-w",
        "\\n%{http_code}",
        *options,
        f"http://{at}:{PORT}{path}",
    ]
    done = subprocess.run(
        [*inside(space), *words], capture_output=True, text=True, check=False, timeout=20
    )
    body, _, status = done.stdout.rpartition("\n")
    return int(status), body


@pytest.fixture(scope="module")
def place() -> Iterator[Home]:
    with home(*PATH) as made:
        run(*inside(made.router), "tc", "qdisc", "add", "dev", LAN, "root", "pfifo")
        yield made


def test_a_monitor_at_home_reads_the_figures_over_http(place: Home, tmp_path: Path) -> None:
    with shown(place.router, tmp_path) as running:
        status, text = asked(place.space, "/metrics")
        told = running.status()
        _, same = asked(place.space, "/status.json")
    assert status == 200
    families = {one.name: one for one in text_string_to_metric_families(text)}
    samples = families["gameway_gateway_segments"].samples
    assert 0 <= samples[0].value <= told["segments"]
    assert json.loads(same).keys() == told.keys()
    with pytest.raises(ValueError, match="EOF"):
        list(text_string_to_metric_families(text.replace("# EOF\n", "")))


def test_who_is_not_at_home_or_asks_by_a_strangers_name_is_refused(
    place: Home, tmp_path: Path
) -> None:
    outside = f"gwo-{place.space}"
    ip("netns", "add", outside)
    try:
        # A neighbour on another wire of the router, who knows the way to the home's address.
        peer = ("type", "veth", "peer", "name", "eth0", "netns", outside)
        ip("-n", place.router, "link", "add", "wan2", *peer)
        for space, interface, address in (
            (place.router, "wan2", "198.51.100.1/24"),
            (outside, "eth0", "198.51.100.2/24"),
        ):
            ip("-n", space, "address", "add", address, "dev", interface)
            ip("-n", space, "link", "set", interface, "up")
        ip("-n", outside, "route", "add", "default", "via", "198.51.100.1")
        with shown(place.router, tmp_path, "router.lan"):
            for path in ("/", "/status.json", "/history.json", "/metrics"):
                assert asked(outside, path) == (403, "this page is for the home\n")
                assert asked(place.space, path, "-H", "Host: attacker.example")[0] == 403
                # The twins: at home by the address and by the name.
                assert asked(place.space, path)[0] == 200
                assert asked(place.space, path, "-H", f"Host: router.lan:{PORT}")[0] == 200
            # It listens at that address alone.
            assert asked(outside, "/", at="198.51.100.1")[0] == 0
            for method in ("POST", "PUT", "DELETE", "OPTIONS"):
                assert asked(place.space, "/status.json", "-X", method)[0] == 405
    finally:
        ip("netns", "delete", outside)
        subprocess.run(["ip", "-n", place.router, "link", "delete", "wan2"], check=False)


def test_an_address_that_is_not_the_homes_is_refused_with_those_that_are(tmp_path: Path) -> None:
    program()
    file = tmp_path / "a.toml"
    with lan("page") as space:
        ip("-n", space, "address", "add", "192.168.9.1/24", "dev", LAN)
        for listen in ("0.0.0.0:9443", "127.0.0.1:9443", "192.168.9.2:9443"):
            file.write_text(f"home = '{LAN}'\nstatus.listen = '{listen}'\n", "utf-8")
            words = [*inside(space), program(), "up", "--config", str(file)]
            words += ["--control", str(tmp_path / "a.sock")]
            done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=20)
            told = f"status.listen: {listen} is no address of {LAN}, the home's interface; it has "
            assert (done.returncode, done.stderr) == (
                1, f"gameway-gateway: {told}192.168.9.1:9443\n",
            )  # fmt: skip
        file.write_text(f"home = '{LAN}'\nstatus.listen = 'router:1'\n", "utf-8")
        done = subprocess.run(
            [program(), "check", str(file)], capture_output=True, text=True, check=False
        )
        assert done.returncode == 2
        assert done.stderr.startswith(f"gameway-gateway: {file}: status.listen: ")


def test_the_router_itself_may_ask(tmp_path: Path) -> None:
    program()
    with lan("itself") as space:
        ip("-n", space, "address", "add", f"{ROUTER}/24", "dev", LAN)
        ip("-n", space, "link", "set", "lo", "up")
        with shown(space, tmp_path):
            assert asked(space, "/metrics")[0] == 200


def test_who_holds_connections_does_not_hold_up_others(place: Home, tmp_path: Path) -> None:
    holding = (
        "import socket, sys, time\n"
        f"held = [socket.create_connection(('{ROUTER}', {PORT})) for _ in range(200)]\n"
        "print('held', flush=True)\nsys.stdin.read()"
    )
    with shown(place.router, tmp_path) as running:
        pipe = subprocess.PIPE
        words = [*inside(place.space), "python3", "-c", holding]
        with subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True) as held:
            assert held.stdout is not None
            assert held.stdout.readline() == "held\n"
            assert asked(place.space, "/status.json")[0] == 200
            descriptors = list(Path(f"/proc/{running.process.pid}/fd").iterdir())
            held.communicate("")
    assert len(descriptors) < 100


class Page:
    """The page in a browser of the home."""

    def __init__(self, made: Browser) -> None:
        self.made = made
        self.session = made.open(f"http://{ROUTER}:{PORT}/")

    def evaluate(self, expression: str) -> Any:
        return self.made.evaluate(self.session, expression)

    def text(self, selector: str) -> str:
        return str(self.evaluate(f"document.querySelector('{selector}')?.innerText ?? ''"))

    def until(self, expression: str) -> Any:
        return self.made.until(self.session, expression, WAIT_S)


@pytest.mark.timed
@pytest.mark.light
@NEEDS_CHROMIUM
def test_the_page_shows_who_fills_the_queue_and_what_was_done(place: Home, tmp_path: Path) -> None:
    with (
        shown(place.router, tmp_path) as running,
        browser(tmp_path / "profile", *inside(place.space)) as made,
    ):
        page = Page(made)
        page.until("document.querySelector('#devices')?.innerText.includes('Nobody downloads')")
        # The first status, of a gateway that has just begun, has none.
        page.until("document.querySelector('#tiles').innerText.includes('Wait behind the gateway')")
        with place.download(8, "-P", "2"):
            page.until("document.querySelectorAll('#devices .device').length === 1")
            page.until("document.querySelector('#devices').innerText.includes('limited to')")
            page.until("document.querySelector('#deeds').innerText.includes(': limited to')")
            page.until("document.querySelectorAll('canvas').length === 2")
            time.sleep(3)
            shown_now, told = page.text("#devices"), running.status()
        assert place.server in shown_now
        assert "living-room (192.168.7.2)" in shown_now
        # The page's own connection is no download.
        assert f"{ROUTER}:{PORT}" not in shown_now
        rates = [float(one) for one in re.findall(r"([\d.]+) Mb/s", shown_now)]
        with of_times():
            assert 15 < rates[0] < 22
            assert rates[0] == pytest.approx(sum(rates[1:]), abs=0.1)
            assert abs(rates[0] - told["to_home_bps"] / 1e6) < 4
        # A gateway that hangs is told of, and one that has gone.
        subprocess.run(["kill", "-STOP", str(running.process.pid)], check=True)
        page.until("document.querySelector('#trouble').innerText.includes('cannot be reached')")
        subprocess.run(["kill", "-CONT", str(running.process.pid)], check=True)
        page.until("document.querySelector('#trouble').innerText === ''")


@NEEDS_CHROMIUM
@NEEDS_AXE
def test_a_screen_reader_understands_the_page_and_it_fits_a_telephone(
    place: Home, tmp_path: Path
) -> None:
    with (
        shown(place.router, tmp_path),
        browser(tmp_path / "profile", *inside(place.space)) as made,
    ):
        page = Page(made)
        page.until("document.querySelector('#health td')?.innerText")
        # As the browser tells of what the policy refused.
        page.evaluate(
            "window.refused = []; addEventListener('securitypolicyviolation',"
            " (it) => refused.push(it.violatedDirective)); 0"
        )
        for width in (360, 1280):
            size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}
            made.call("Emulation.setDeviceMetricsOverride", size, page.session)
            wider = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            assert page.evaluate(wider) == 0, width
        assert page.evaluate(
            "performance.getEntriesByType('resource')"
            ".every((it) => it.name.startsWith(location.origin))"
        )
        time.sleep(1.5)
        assert page.evaluate("refused") == []
        page.evaluate(AXE.read_text("utf-8") + ";0")
        for scheme in ("dark", "light"):
            media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
            made.call("Emulation.setEmulatedMedia", media, page.session)
            found = page.evaluate(
                "axe.run().then("
                "(all) => all.violations.map(({ id, nodes }) => [id, nodes[0].html]))"
            )
            assert found == [], scheme


@NEEDS_CHROMIUM
def test_a_page_that_nobody_looks_at_asks_nothing(place: Home, tmp_path: Path) -> None:
    hidden = "Object.defineProperty(document, 'hidden', { get: () => window.away ?? false });"
    with (
        shown(place.router, tmp_path),
        browser(tmp_path / "profile", *inside(place.space)) as made,
    ):
        page = Page(made)
        page.until("document.querySelector('#health td')?.innerText")
        page.evaluate(hidden + "0")
        count = "performance.getEntriesByType('resource').length"
        before = page.evaluate(count)
        page.until(f"{count} > {before}")
        page.evaluate("window.away = true; 0")
        time.sleep(1.5)
        before = page.evaluate(count)
        time.sleep(2.5)
        assert page.evaluate(count) == before
        page.evaluate(
            "window.away = false; document.dispatchEvent(new Event('visibilitychange')); 0"
        )
        page.until(f"{count} > {before}")
