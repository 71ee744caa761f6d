"""An hour of play: nothing leaks, nothing creeps, and the clocks stay together.

Always: three looks at all that plays, each within its bounds. `make long` takes 40 seconds.
`make soak-live` takes an hour at 1280x720, says each ten seconds how it goes, and keeps what it
measured in results/soak-live/samples.csv, also if it is ended by Ctrl-C.
"""

from __future__ import annotations

import math
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browser_fixture import NEEDS_CHROMIUM
from soak_bounds import BOUNDS
from soak_fixture import Played, Table, between
from soak_judge import FEWEST, judged, told
from test_live_input import LOOK
from witness import of_times

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SECONDS = float(os.environ.get("GAMEWAY_SOAK_SECONDS", "40"))
IN_FULL = SECONDS >= 300
INTERVAL_S = 10.0 if IN_FULL else SECONDS / 20
SIZE = os.environ.get("GAMEWAY_SOAK_SIZE", "1280x720" if IN_FULL else "640x360")
RATE = "10 Mb/s" if IN_FULL else "4 Mb/s"
KEPT = Path(__file__).resolve().parents[2] / "results" / "soak-live" / "samples.csv"
PRESSED_S = 0.1
WAIT_S = 10.0

LOOKS = 3
"""Of the form that always runs, one each second."""

# A run of an hour is not tried again, nor skipped where its bounds do not hold.
SHORT = [
    pytest.mark.timed,
    pytest.mark.alone,
    pytest.mark.long("test_live_soak.py::test_all_that_a_soak_looks_at_begins_within_its_bounds"),
]
pytestmark = NEEDS_CHROMIUM


def samples(played: Played, seconds: float, interval_s: float) -> Iterator[dict[str, float]]:
    """Look at everything each interval, with a key pressed in each."""
    begin = played.look()
    before, end = begin, begin["at"] + seconds
    while before["at"] < end - interval_s / 2:
        played.press("keyDown")
        time.sleep(PRESSED_S)
        played.press("keyUp")
        time.sleep(max(0.0, before["at"] + interval_s - time.monotonic()))
        now = played.look()
        yield between(begin, before, now) | {"lines": played.lines()}
        before = now


def line(row: dict[str, float]) -> str:
    """What people see while it runs."""
    return (
        f"{row['seconds']:7.0f} s  MB: host {row['host_mb']:.1f}, play {row['play_mb']:.1f}, "
        f"client {row['client_mb']:.1f}, browser {row['browser_all_mb']:.0f}, "
        f"its heap {row['heap_mb']:.1f}; {row['fps']:.1f} frames/s, "
        f"buffer {row['buffer_ms']:.1f} ms ({row['paced_ms']:.1f} paced), "
        f"sound {row['apart_ms']:+.0f} ms, clock {row['clock_ms']:+.3f} ms; "
        f"{row['host_cores'] + row['browser_cores']:.2f} cores"
    )


def is_lit(played: Played) -> bool:
    """Whether the scene shows that a key is held."""
    return int(played.browser.evaluate(played.page, LOOK)["count"]) > 100


def eventually(played: Played, *, lit: bool) -> None:
    until = time.monotonic() + WAIT_S
    while is_lit(played) != lit:
        assert time.monotonic() < until, f"the marker is not {'lit' if lit else 'dark'}"
        time.sleep(0.05)


def measured(played: Played, table: Table, seconds: float, say: Callable[[str], None]) -> None:
    """Fill the table; what a key does is seen at the end, too."""
    clock_ms = math.nan
    for row in samples(played, seconds, INTERVAL_S):
        # From the first on: the page's time counts from another begin than the host's.
        clock_ms = row["clock_ms"] if math.isnan(clock_ms) else clock_ms
        row["clock_ms"] -= clock_ms
        table.add(row)
        say(line(row))
    keys_act(played)


def keys_act(played: Played) -> None:
    for kind, lit in (("keyDown", True), ("keyUp", False)):
        played.press(kind)
        eventually(played, lit=lit)


@pytest.mark.parametrize("seconds", [pytest.param(SECONDS, marks=[] if IN_FULL else SHORT)])
def test_nothing_leaks_and_nothing_creeps(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], seconds: float
) -> None:
    def say(text: str) -> None:
        if IN_FULL:
            with capsys.disabled():
                print(text, flush=True)  # noqa: T201 (who waits for an hour wants to see it)

    table = Table(KEPT if IN_FULL else tmp_path / "samples.csv")
    with Played(tmp_path, SIZE, RATE) as played:
        try:
            measured(played, table, seconds, say)
        finally:
            if len(table.rows) >= FEWEST:
                say(told(judged(table.rows, BOUNDS)))
            for name, program in played.programs.items():
                say("\n".join(f"{name} said {n} x {it}" for it, n in program.kinds().items()))
        codes = [played.programs[name].end() for name in ("client", "host", "play")]
    assert codes == [0, 0, 0]
    broken = [one for one in judged(table.rows, BOUNDS) if not one.is_kept]
    fast = [one for one in broken if one.bound.timed]
    assert broken == fast, told(broken)
    with of_times():
        assert not fast, told(fast)


@pytest.mark.timed
@pytest.mark.skipif(IN_FULL, reason="the whole form runs")
def test_all_that_a_soak_looks_at_begins_within_its_bounds(tmp_path: Path) -> None:
    """What nobody else's work on the machine changes; how it goes on is for the longer forms."""
    with Played(tmp_path, SIZE, RATE) as played:
        rows = list(samples(played, LOOKS, 1.0))
        keys_act(played)
        codes = [played.programs[name].end() for name in ("client", "host", "play")]
    assert codes == [0, 0, 0]
    steady = [bound for bound in BOUNDS if not bound.timed]
    off = [
        (bound.column, row[bound.column])
        for bound in steady
        for row in rows
        if not bound.min_value <= row[bound.column] <= bound.max_value
    ]
    assert off == []
    # All that is judged is there, and pictures and sound come.
    assert {bound.column for bound in BOUNDS} <= rows[-1].keys()
    assert all(row["fps"] > 0 and row["audio_buffer_ms"] > 0 for row in rows)
