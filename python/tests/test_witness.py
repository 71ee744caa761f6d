"""Timed tests are tried again, and skipped on a machine that was too busy, and on no other."""

from __future__ import annotations

import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from witness import BOUND_MS, INTERVAL_NS, TRIES, Witness, too_busy

if TYPE_CHECKING:
    from collections.abc import Iterator

pytest_plugins = ["pytester"]

HERE = Path(__file__).parent
BUSY_MS = 2 * BOUND_MS
TEST = """
import pytest
from witness import of_times
tries = []
def test_of_times():
    tries.append(1)
    {body}
"""
LATE = "with of_times(): assert False"
LATE_AT_FIRST = "with of_times(): assert len(tries) == 3"
SHARED = """
import pytest
runs = []
pytestmark = pytest.mark.timed
@pytest.fixture(scope="module")
def lent():
    runs.append("lent")
    yield runs
@pytest.fixture(scope="module")
def result(lent):
    lent.append("run")
    return lent.count("run")
@pytest.fixture
def shown(result):
    return result
def test_before(shown):
    assert shown == 1
def test_of_times(shown):
    assert shown == {passes_at}
def test_behind(shown):
    assert shown == {seen_behind}
    assert runs == ["lent"] + shown * ["run"]
"""
INI = """
[pytest]
markers = timed
"""


def outcomes(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, body: str, where: str
) -> dict[str, int]:
    """Run a test with this body by this folder's conftest: timed or not, busy machine or not."""
    lateness = BUSY_MS if "busy" in where else 0.0
    monkeypatch.setattr(Witness, "lateness_ms", lambda *_: lateness)
    text = TEST.format(body=body)
    if not where.startswith("untimed"):
        text = text.replace("def ", "@pytest.mark.timed\ndef ")
    return outcomes_of(pytester, text)


def outcomes_of(pytester: pytest.Pytester, file: str) -> dict[str, int]:
    """Run a file of tests by this folder's conftest."""
    pytester.syspathinsert(HERE)
    pytester.makeconftest((HERE / "conftest.py").read_text(encoding="utf-8"))
    pytester.makeini(INI)
    pytester.makepyfile(file)
    found: dict[str, int] = pytester.runpytest_inprocess().parseoutcomes()
    return found


@pytest.mark.parametrize(
    ("body", "where", "expected"),
    [
        (LATE, "timed, quiet", {"failed": 1, "rerun": TRIES - 1}),
        (LATE, "timed, busy", {"skipped": 1, "rerun": TRIES - 1}),
        ("assert False", "timed, quiet", {"failed": 1, "rerun": TRIES - 1}),
        # What else is wrong fails on a busy machine, too, in whichever try.
        ("assert False", "timed, busy", {"failed": 1, "rerun": TRIES - 1}),
        ("pytest.fail('no pictures')", "timed, busy", {"failed": 1, "rerun": TRIES - 1}),
        (f"assert len(tries) > 1\n    {LATE}", "timed, busy", {"failed": 1, "rerun": TRIES - 1}),
        (f"{LATE_AT_FIRST}\n    assert False", "timed, busy", {"failed": 1, "rerun": TRIES - 1}),
        ("assert len(tries) == 3", "timed, quiet", {"passed": 1, "rerun": TRIES - 1}),
        (LATE_AT_FIRST, "timed, quiet", {"passed": 1, "rerun": TRIES - 1}),
        ("assert True", "timed, busy", {"passed": 1}),
        ("raise KeyError", "timed, busy", {"failed": 1}),
        ("with of_times(): raise KeyError", "timed, busy", {"failed": 1}),
        (LATE, "untimed, busy", {"failed": 1}),
    ],
)
def test_what_fails_three_times_counts_where_the_machine_was_quiet(
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
    body: str,
    where: str,
    expected: dict[str, int],
) -> None:
    assert outcomes(pytester, monkeypatch, body, where) == expected


@pytest.mark.parametrize(
    ("passes_at", "expected"),
    [
        (1, {"passed": 3}),
        (TRIES, {"passed": 3, "rerun": TRIES - 1}),
        # The twin: no try has the run of the one before.
        (TRIES + 1, {"passed": 2, "failed": 1, "rerun": TRIES - 1}),
    ],
)
def test_a_result_that_tests_share_is_made_anew_for_each_try(
    pytester: pytest.Pytester, passes_at: int, expected: dict[str, int]
) -> None:
    file = SHARED.format(passes_at=passes_at, seen_behind=min(passes_at, TRIES))
    assert outcomes_of(pytester, file) == expected


@pytest.fixture
def witness() -> Iterator[Witness]:
    started = Witness()
    yield started
    started.end()
    assert not started.noted.exists()


def test_the_witness_tells_the_late_hundredth(witness: Witness) -> None:
    woken = [number * INTERVAL_NS for number in range(300)]
    late = [50_000_000] * 100 + [1_000_000] * 190 + [30_000_000] * 10
    witness._process.kill()
    witness._process.wait()
    # The last record is still being written.
    witness.noted.write_bytes(np.array([woken, late]).T.tobytes() + b"\0" * 8)
    assert witness.lateness_ms(0) == 50.0
    assert witness.lateness_ms(100 * INTERVAL_NS) == 30.0
    assert witness.lateness_ms(300 * INTERVAL_NS) == 0.0


def test_the_witness_notes_every_wake_up_and_a_stop(witness: Witness) -> None:
    def noted() -> int:
        return witness.noted.stat().st_size // 16

    end = time.monotonic() + 20
    while noted() < 20 and time.monotonic() < end:
        time.sleep(0.05)
    before, stopped_ns = noted(), time.monotonic_ns()
    witness._process.send_signal(signal.SIGSTOP)
    time.sleep(0.5)
    witness._process.send_signal(signal.SIGCONT)
    while noted() < before + 100 and time.monotonic() < end:
        time.sleep(0.05)
    # The stop's wake-ups, evenly late.
    assert noted() >= before + 100
    assert 400.0 <= witness.lateness_ms(stopped_ns) <= 20_000.0


@pytest.mark.parametrize(
    ("lateness_ms", "busy"), [(0.0, False), (BOUND_MS, False), (BOUND_MS + 0.1, True)]
)
def test_the_bound_is_said(lateness_ms: float, busy: bool) -> None:
    assert bool(too_busy(lateness_ms)) == busy
