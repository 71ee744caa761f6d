"""Each knob of `gameway play --lab`, turned by the page's own controls while a browser plays.

What it does is measured on the path: pings from the path's far end, whose replies wait in the
path's queue; bytes that the far end's device has received; rates of the flows as the link counts
them. Each knob is turned back, and what it did is gone. One session serves all tests of this file;
each prints what it measured.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from browser_fixture import NEEDS_CHROMIUM, TOKEN, browser
from film_fixture import encoded, give
from live_fixture import needs_live
from test_live_lab import Page, eventually, house, inside, play
from witness import of_times

from gameway.live.namespaces import DEVICE, server_address
from gameway.live.video import player

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = [
    NEEDS_CHROMIUM, needs_live, pytest.mark.timed, pytest.mark.alone,
    pytest.mark.long("test_live_lab.py::test_what_is_kept_runs_again_in_the_simulator"),
]  # fmt: skip
SLIDERS = ("capacity", "rtt", "loss", "jitter", "size")
"""Knobs of which a slider has the choices in order; the others are lists, and boxes."""
BASE_RTT_MS = 20.0
CAPACITY_MBPS = 25.0
"""What a session begins with."""
SECONDS = 2.0
"""How long a rate or a round trip is measured."""
MANY = 400
"""So many pings tell the share that is lost."""
WAIT_S = 15.0
"""Longest time that a knob takes to act."""
GATEWAY_S = 45.0
"""As published, VoAP needs half a minute to empty a queue that slow start has filled."""
VIDEO_S = 45.0
"""Within this time a second browser loads, and has fetched a segment."""
REPLY = re.compile(r"time=([\d.]+) ms")
MIN_DOWNLOAD_MBPS = 5.0
"""Of 25 that it shares with the game."""
MIN_BEHIND_MBPS = 0.3
"""Behind a gateway, of 10 of which the game takes what it wants: 6 to 8."""
MIN_VIDEO_MBPS = 3.0
"""While a player fills its buffer at the beginning, of levels up to 5."""
MIN_FRAMES = 50.0
"""Each second, of 60 that the stream has."""


@dataclass
class Session:
    """A session that is played, with the panel of its lab open."""

    page: Page
    space: str
    """The namespace of the path's far end."""

    def control(self, script: str) -> None:
        self.page.made.evaluate(self.page.page, script)

    def turn(self, name: str, value: str) -> None:
        """Turn a knob by its slider or its list, until the lab and the page have the value."""
        state = self.page.ask()[1]
        assert state["knobs"][name] != value, "nothing would be turned"
        place = state["choices"][name].index(value) if name in SLIDERS else value
        self.control(
            f"(() => {{ const knob = document.getElementById('knob-{name}');"
            f"knob.value = {json.dumps(str(place))};"
            "for (const kind of ['input', 'change'])"
            "  knob.dispatchEvent(new Event(kind, { bubbles: true })); })()"
        )
        self.until_turned(name, value)
        assert eventually(lambda: self.shown(name) == value)

    def shown(self, name: str) -> str:
        """Give the value that the page shows of a knob."""
        of = (
            f"document.querySelector('.knob:has(#knob-{name}) output').textContent"
            if name in SLIDERS
            else f"document.getElementById('knob-{name}').value"
        )
        return str(self.page.made.evaluate(self.page.page, of))

    def tick(self, download: str, *, on: bool) -> None:
        """Tick the box of a download, or untick it, until the lab has done so."""
        box = f"document.querySelector('[aria-describedby=remark-{download}]')"
        assert self.page.made.evaluate(self.page.page, f"{box}.checked") is not on
        self.control(f"{box}.click()")
        self.until_turned("downloads", [download] if on else [])

    def until_turned(self, name: str, value: object) -> None:
        assert eventually(lambda: self.page.ask()[1]["knobs"][name] == value), self.page.ask()

    def pings(self, seconds: float = SECONDS, interval_s: float = 0.02) -> tuple[np.ndarray, float]:
        """Give round trips to the host by the path, ms, and the share of pings without a reply."""
        count = round(seconds / interval_s)
        words = ["ping", "-n", "-W", "1", "-i", str(interval_s), "-c", str(count)]
        said = subprocess.run(
            [*inside(self.space), *words, server_address(0)],
            capture_output=True, text=True, check=False,
        ).stdout  # fmt: skip
        found = np.array([float(one) for one in REPLY.findall(said)])
        return found, 1 - found.size / count

    def round_trip(self) -> float:
        """Give the median round trip of the path, ms."""
        return float(np.median(self.pings()[0]))

    def wait(self) -> float:
        """Give the median time that pings wait in the path's queue, ms."""
        return self.round_trip() - BASE_RTT_MS

    def spread(self) -> float:
        """Give between which round trips eight of ten pings are, ms."""
        low, high = np.quantile(self.pings()[0], (0.1, 0.9))
        return float(high - low)

    def received(self) -> float:
        """Give the rate that the path's far end receives, Mb/s."""
        begin, before = time.monotonic(), self._bytes()
        time.sleep(SECONDS)
        return (self._bytes() - before) * 8e-6 / (time.monotonic() - begin)

    def frames(self) -> float:
        """Give the frames that the browser decodes each second."""
        begin, before = time.monotonic(), self.page.frames()
        time.sleep(SECONDS)
        return (self.page.frames() - before) / (time.monotonic() - begin)

    def controller(self) -> str:
        """Give the controller that the host names."""
        ask = f"fetch('/controller', {{ headers: {{ Authorization: 'Bearer {TOKEN}' }} }})"
        answer = self.page.made.evaluate(self.page.page, f"{ask}.then(one => one.text())")
        return str(json.loads(answer)["controller"])

    def _bytes(self) -> int:
        words = ["ip", "-statistics", "-json", "link", "show", DEVICE]
        said = subprocess.run([*inside(self.space), *words], capture_output=True, check=True).stdout
        return int(json.loads(said)[0]["stats64"]["rx"]["bytes"])


@pytest.fixture(scope="module")
def session(
    tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config
) -> Iterator[Session]:
    """Play a session of which the tests of this file turn the knobs."""
    folder = tmp_path_factory.mktemp("knobs")
    if not without_video():
        assert pytestconfig.cache is not None
        give(encoded(pytestconfig.cache, folder / "film"), folder / "cache", 1, 2, 3)
    with (
        house() as (home, _),
        play(home, folder / "run", "--here") as playing,
        browser(folder / "profile", *inside(home)) as made,
    ):
        page = Page(made, playing.links[0])
        made.evaluate(page.page, "document.getElementById('show-lab').click()")
        shown = "document.getElementById('knob-controller') !== null"
        assert eventually(lambda: made.evaluate(page.page, shown))
        (space,) = Path("/run/netns").glob(f"gw-{playing.process.pid}-*-client")
        yield Session(page, space.name)


@pytest.fixture
def lab(session: Session) -> Iterator[Session]:
    """Lend the session; what a test that failed has not turned back is turned back."""
    state = session.page.ask()[1]
    yield session
    before = session.page.frames()
    session.page.turn(**state["knobs"])
    assert eventually(lambda: session.page.ask()[1]["knobs"] == state["knobs"])
    assert eventually(lambda: session.page.frames() > before + 20), "the picture goes on"


@pytest.fixture
def tell(capsys: pytest.CaptureFixture[str]) -> Callable[[str], None]:
    """Print a line that stays."""

    def write(line: str) -> None:
        with capsys.disabled():
            print(f"\n{line}", end="")  # noqa: T201 (what it is for)

    return write


def without_video() -> str:
    """Why no video can be played here; empty if one can."""
    return "; ".join(
        player.why_not() + [one for one in ("nginx", "ffmpeg") if not shutil.which(one)]
    )


def settled(
    measure: Callable[[], float], low: float, high: float, seconds: float = WAIT_S
) -> float:
    """Measure until the value is between the bounds, or the time is over; give the last value."""
    end = time.monotonic() + seconds
    while not low < (value := measure()) < high and time.monotonic() < end:
        pass
    return value


def delay(measure: Callable[[], float], low: float, high: float, seconds: float = WAIT_S) -> float:
    """Give a delay that comes to be between the bounds. A busy machine makes it longer."""
    value = settled(measure, low, high, seconds)
    assert value > low
    with of_times():
        assert value < high
    return value


def below(measure: Callable[[], float], high: float) -> float:
    """Give what comes to be below a bound. A busy machine makes more of it."""
    value = settled(measure, float("-inf"), high)
    with of_times():
        assert value < high
    return value


def rate(measure: Callable[[], float], low: float, high: float, seconds: float = WAIT_S) -> float:
    """Give a rate that comes to be between the bounds. A busy machine makes it lower."""
    value = settled(measure, low, high, seconds)
    assert value < high
    with of_times():
        assert value > low
    return value


def gone(lab: Session, download: str) -> bool:
    """Whether the link comes to count nothing of a download."""
    return eventually(lambda: lab.page.flow(download) == 0)


def test_the_rate_received_follows_the_capacity(lab: Session, tell: Callable[[str], None]) -> None:
    lab.tick("cubic", on=True)
    full = rate(lab.received, 0.8 * CAPACITY_MBPS, 1.03 * CAPACITY_MBPS)
    lab.turn("capacity", "5 Mb/s")
    narrow = rate(lab.received, 0.8 * 5, 1.03 * 5)
    lab.turn("capacity", "25 Mb/s")
    again = rate(lab.received, 0.8 * CAPACITY_MBPS, 1.03 * CAPACITY_MBPS)
    lab.tick("cubic", on=False)
    tell(f"capacity 25, 5, 25 Mb/s: received {full:.1f}, {narrow:.1f}, {again:.1f} Mb/s")


def test_round_trips_follow_the_knob(lab: Session, tell: Callable[[str], None]) -> None:
    short = delay(lab.round_trip, BASE_RTT_MS - 1, BASE_RTT_MS + 15)
    lab.turn("rtt", "100 ms")
    long = delay(lab.round_trip, 99, 115)
    lab.turn("rtt", "20 ms")
    again = delay(lab.round_trip, BASE_RTT_MS - 1, BASE_RTT_MS + 15)
    tell(f"round trip 20, 100, 20 ms: pings {short:.1f}, {long:.1f}, {again:.1f} ms")


def test_the_share_that_is_lost_follows_the_knob(lab: Session, tell: Callable[[str], None]) -> None:
    def lost() -> float:
        return lab.pings(SECONDS, SECONDS / MANY)[1]

    before = below(lost, 0.01)
    lab.turn("loss", "10 %")
    # The standard deviation of the share is 1.5 %.
    during = lost()
    assert 0.045 < during < 0.16
    lab.turn("loss", "0 %")
    after = below(lost, 0.01)
    shares = ", ".join(f"{100 * one:.1f}" for one in (before, during, after))
    tell(f"loss 0, 10, 0 %: pings lost {shares} %")


def test_round_trips_spread_by_jitter(lab: Session, tell: Callable[[str], None]) -> None:
    even = below(lab.spread, 10)
    lab.turn("jitter", "20 ms")
    spread = delay(lab.spread, 15, 80)
    lab.turn("jitter", "0 ms")
    again = below(lab.spread, 10)
    tell(f"jitter 0, 20, 0 ms: 10 to 90 % of pings within {even:.1f}, {spread:.1f}, {again:.1f} ms")


@pytest.fixture
def filled(lab: Session) -> Iterator[Session]:
    """Have a CUBIC download fill a large drop-tail queue of 10 Mb/s: 160 ms."""
    lab.turn("capacity", "10 Mb/s")
    lab.turn("size", "8 bdp")
    lab.tick("cubic", on=True)
    yield lab
    lab.tick("cubic", on=False)
    lab.turn("size", "2 bdp")
    lab.turn("capacity", "25 Mb/s")


def test_a_smaller_queue_and_other_disciplines_lower_the_wait(
    filled: Session, tell: Callable[[str], None]
) -> None:
    state = filled.page.ask()[1]
    told = [f"8 bdp {delay(filled.wait, 50, 165):.1f} ms"]
    filled.turn("size", "0.25 bdp")
    told.append(f"0.25 bdp {delay(filled.wait, 0, 15):.1f} ms")
    filled.turn("size", "8 bdp")
    told.append(f"8 bdp {delay(filled.wait, 50, 165):.1f} ms")
    for kind in state["choices"]["queue"]:
        if kind != "drop-tail":
            filled.turn("queue", kind)
            told.append(f"{kind} {delay(filled.wait, 0, 35):.1f} ms")
    filled.turn("queue", "drop-tail")
    told.append(f"drop-tail {delay(filled.wait, 50, 165):.1f} ms")
    tell(f"queue beside CUBIC at 10 Mb/s: pings wait {', '.join(told)}")


@pytest.mark.parametrize("gateway", ["voap", "sap-law"])
def test_a_gateway_lowers_the_wait(
    filled: Session, tell: Callable[[str], None], gateway: str
) -> None:
    without = delay(filled.wait, 50, 165)
    filled.turn("gateway", gateway)
    begin = time.monotonic()
    behind = delay(filled.wait, 0, 35, GATEWAY_S)
    took = time.monotonic() - begin
    goes_on = rate(lambda: filled.page.flow("cubic"), MIN_BEHIND_MBPS, 10)
    filled.turn("gateway", "none")
    again = delay(filled.wait, 50, 165, GATEWAY_S)
    tell(f"gateway none, {gateway}, none beside CUBIC ({goes_on:.1f} Mb/s behind it): pings wait "
         f"{without:.1f}, {behind:.1f} (after {took:.0f} s), {again:.1f} ms")  # fmt: skip


@pytest.mark.parametrize("download", ["cubic", "bbr", "quic"])
def test_a_download_comes_and_goes(
    lab: Session, tell: Callable[[str], None], download: str
) -> None:
    known = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text("ascii").split()
    if download == "bbr" and "bbr" not in known:
        pytest.skip("this kernel has no tcp_bbr")
    alone = lab.received()
    assert gone(lab, download)
    lab.tick(download, on=True)
    rate(lambda: lab.page.flow(download), MIN_DOWNLOAD_MBPS, 1.1 * CAPACITY_MBPS)
    both = rate(lab.received, 0.8 * CAPACITY_MBPS, 1.03 * CAPACITY_MBPS)
    came = lab.page.flow(download)
    lab.tick(download, on=False)
    assert gone(lab, download)
    tell(f"download {download} on: {came:.1f} Mb/s, received in all {both:.1f} Mb/s; "
         f"off: 0 Mb/s, received in all {alone:.1f} Mb/s")  # fmt: skip


def test_each_controller_is_chosen_and_frames_go_on(
    lab: Session, tell: Callable[[str], None]
) -> None:
    state = lab.page.ask()[1]
    first = state["knobs"]["controller"]
    assert lab.controller() == first
    others = [one for one in state["choices"]["controller"] if one != first]
    assert len(others) >= 5
    told = []
    for one in [*others, first]:
        lab.turn("controller", one)
        assert lab.controller() == one
        told.append(f"{one} {rate(lab.frames, MIN_FRAMES, 70):.1f}")
    tell(f"controllers, frames/s: {', '.join(told)}")


@pytest.mark.skipif(bool(without_video()), reason=without_video() or "all is there")
def test_a_video_is_fetched_by_the_path(lab: Session, tell: Callable[[str], None]) -> None:
    assert gone(lab, "video")
    lab.tick("video", on=True)
    begin = time.monotonic()
    came = rate(lambda: lab.page.flow("video"), MIN_VIDEO_MBPS, 1.1 * CAPACITY_MBPS, VIDEO_S)
    took = time.monotonic() - begin
    lab.tick("video", on=False)
    assert gone(lab, "video")
    tell(f"video on: {came:.1f} Mb/s after {took:.0f} s; off: 0 Mb/s")
