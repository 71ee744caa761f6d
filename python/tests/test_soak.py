"""The judge of a soak: what is steady is kept, and each leak, creep and loss is found."""

from __future__ import annotations

import random
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
import soak_judge
from soak_bounds import BOUNDS, REFRESH_MS
from soak_fixture import Program, Table, of_processes
from soak_judge import FEWEST, judged, read, slope, told

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

HOUR_S = 3600.0
MB = 1e6


def steady(seconds: float = HOUR_S, interval: float = 10.0) -> list[dict[str, float]]:
    """A table in which nothing grows, with noise and the saw teeth of collected garbage."""
    noise = random.Random(7)
    table = []
    for at in range(1, round(seconds / interval) + 1):
        row = {bound.column: min(bound.max_value, max(bound.min_value, 1.0)) for bound in BOUNDS}
        row |= {
            "seconds": at * interval,
            "fps": 60 + noise.gauss(0, 0.2),
            "host_mb": 120 + noise.gauss(0, 0.05),
            "browser_all_mb": 480 + noise.gauss(0, 8),
            "heap_mb": 2 + 0.2 * (at % 7),
            "buffer_ms": 4.5 + noise.gauss(0, 0.4),
            "waited_ms": noise.gauss(0, 0.2),
            "clock_ms": noise.gauss(0, 0.03),
            # Pictures wait for a refresh that comes 40 parts in a million more often.
            "apart_ms": 20 + (at * interval / 25) % REFRESH_MS + noise.gauss(0, 2),
            "round_trip_ms": 1.1 if at % 30 else float("nan"),
        }
        table.append(row)
    return table


def broken(table: list[dict[str, float]]) -> set[str]:
    return {one.bound.column for one in judged(table, BOUNDS) if not one.is_kept}


def altered(column: str, change: Callable[[float, float], float]) -> list[dict[str, float]]:
    """The steady hour, with one series as a function of time and of what it was."""
    return [row | {column: change(row["seconds"], row[column])} for row in steady()]


@pytest.mark.parametrize("seconds", [40.0, HOUR_S])
def test_what_is_steady_is_kept(seconds: float) -> None:
    table = steady(seconds, min(10.0, seconds / FEWEST))
    assert broken(table) == set(), told(judged(table, BOUNDS))


def test_a_browser_may_give_memory_back() -> None:
    table = altered("browser_all_mb", lambda at, was: was - 60 * (at > 1200))
    assert broken(table) == set(), told(judged(table, BOUNDS))


TWINS: dict[str, tuple[str, Callable[[float, float], float]]] = {
    "a leak of 1 kB/s": ("host_mb", lambda at, was: was + at * 1e3 / MB),
    "memory that vanishes": ("host_mb", lambda at, was: was - at * 1e3 / MB),
    "a step after three quarters": ("host_mb", lambda at, was: was + 4 * (at > 2700)),
    "a leak below the saw teeth": ("heap_mb", lambda at, was: was + at * 1e3 / MB),
    "a browser that leaks 20 kB/s": ("browser_all_mb", lambda at, was: was + at * 2e4 / MB),
    "a browser that gives 60 MB back and leaks 20 kB/s": (
        "browser_all_mb",
        lambda at, was: was + at * 2e4 / MB - 60 * (at > 1200),
    ),
    "a descriptor each ten minutes": ("host_fds", lambda at, was: was + at // 600),
    "a thread that stays": ("client_threads", lambda at, was: was + (at > 3000)),
    "a buffer that creeps": ("buffer_ms", lambda at, was: was - 1.5 + 3 * at / HOUR_S),
    "a buffer that holds pictures": ("waited_ms", lambda _, was: was + 5),
    "a clock that is followed 0.2 ppm wrongly": ("clock_ms", lambda at, was: was + 2e-4 * at),
    "sound that runs away": ("apart_ms", lambda at, was: was - 30 * at / HOUR_S),
    "frames that are left out": ("fps", lambda _, was: was - 1),
    "a second session": ("sessions", lambda at, was: was + (at > 3590)),
    "a line now and then": ("lines", lambda at, was: was + at // 300),
    "freezes": ("freezes", lambda at, _: at // 60),
    "what is often not known": (
        "round_trip_ms",
        lambda at, was: was if at % 70 else float("nan"),
    ),
    "what is not a number": ("clock_ms", lambda _at, _was: float("nan")),
}


@pytest.mark.parametrize("twin", TWINS)
def test_what_leaks_or_creeps_is_found_and_nothing_else(twin: str) -> None:
    column, change = TWINS[twin]
    assert broken(altered(column, change)) == {column}


def test_few_samples_say_nothing() -> None:
    with pytest.raises(AssertionError, match="too few"):
        judged(steady()[: FEWEST - 1], BOUNDS)


def test_a_third_of_wild_samples_do_not_turn_a_slope() -> None:
    points = [(float(at), 2.0 * at + (1e4 if at % 4 == 0 else 0.0)) for at in range(400)]
    assert slope(points) == pytest.approx(2.0, rel=0.02)


def test_a_table_is_kept_row_by_row(tmp_path: Path) -> None:
    table = Table(tmp_path / "kept" / "samples.csv")
    for row in steady(200):
        table.add(row)
        assert len(read(table.file)) == len(table.rows)
    assert read(table.file) == [
        {name: pytest.approx(value, rel=1e-8) for name, value in row.items()} for row in table.rows
    ]


def test_a_kept_table_is_judged_again(tmp_path: Path) -> None:
    table = Table(tmp_path / "samples.csv")
    for row in steady(400):
        table.add(row | {"fps": 57.0})
    line = [sys.executable, soak_judge.__file__, str(table.file)]
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    assert [text.split()[0] for text in done.stdout.splitlines() if "not kept" in text] == ["fps"]


LEAK = """
import threading, time
held = []
print("ready", flush=True)
while input():
    held.append((b"x" * 3_000_000, open("/dev/null")))
    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
    print("held", flush=True)
"""


def test_what_a_process_holds_is_seen() -> None:
    line = [sys.executable, "-c", LEAK]
    with subprocess.Popen(
        line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        program = Program(process)
        process.stdout.readline()
        before = of_processes(program)
        for _ in range(4):
            process.stdin.write("more\n")
            process.stdin.flush()
            process.stdout.readline()
        after = of_processes(program)
        process.kill()
    grown = {name: after[name] - before[name] for name in before}
    assert 12 <= grown["mb"] < 16
    assert (grown["fds"], grown["threads"], grown["processes"]) == (4, 4, 0)
    assert grown["all_mb"] == grown["mb"]
    assert grown["cpu_s"] >= 0
