"""What several test files need."""

from __future__ import annotations

import inspect
import re
import signal
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
import undrawn
from witness import TRIES, LateError, Witness, too_busy
from xdist.scheduler import LoadScopeScheduling

import gameway as gw
from gameway.page import export, render

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

WITNESS = pytest.StashKey[Witness]()
BEGAN = pytest.StashKey[int]()
"""When the first test of a file began: what its fixtures saw counts for all of its tests."""
FAULTY = pytest.StashKey[str]()
"""What failed first in a test's tries that is no bound on times."""

LARGE = 10
"""How many tests a large file has at least."""
LONGEST = (
    "test_doc_commands",
    "test_live_video",
    "test_live_runs",
    "test_live_stream",
    "test_live_ladder",
    "test_conformance",
)
"""Files that take longest: begun last, one of them would go on while cores are idle."""
SHARING = (
    "test_live_chromium.py",
    "test_live_devices.py",
    "test_live_gamepad.py",
    "test_live_runs.py",
    "test_live_stream.py",
)
"""Files whose timed tests look at one live run or page, or use one machine: each process that has
one of them makes it anew."""
PAINTING = (
    "test_live_input.py",
    "test_live_mouse.py",
    "test_live_page.py",
    "test_live_pairing.py",
    "test_live_pointer.py",
    "test_live_text.py",
    "test_nat.py",
)
"""Files whose browsers take a whole core, though their tests are light otherwise: one process has
all of them, and begins first. Several browsers at once make pictures late, which then take more."""

SMALL = """
title = "Small"
duration = "3 s"
runs = 2

[path]
capacity = ["10 Mb/s", "20 Mb/s"]
base_rtt = "16 ms"

[[stream]]
controller = ["fixed", "pudica"]
video = "steady"

[[competitor]]
congestion_control = "cubic"
start = "1 s"
stop = "2 s"
"""


def pytest_configure() -> None:
    """Let programs that tests start end by SIGHUP, also where the tests run under nohup."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture
def small(tmp_path: Path) -> gw.Experiment:
    """An experiment of eight runs of three seconds."""
    file = tmp_path / "small.toml"
    file.write_text(SMALL, encoding="utf-8")
    return gw.load(file)


def fake_run_one(spec: dict[str, Any], recorded: dict[str, Any], target: Path) -> None:
    """Write two tiny tables that depend on the spec alone, without a simulator."""
    target.mkdir()
    shown = pl.Series("stream", ["game"] * 3, dtype=pl.Categorical)
    seeds = [spec["seed"], spec["seed"] + 1, spec["seed"] + 2]
    pl.DataFrame({"stream": shown, "frame": seeds}).write_parquet(target / "frames.parquet")
    rows = {"time_ns": [0], "flow": [recorded["path"]["capacity"]]}
    pl.DataFrame(rows).write_parquet(target / "events.parquet")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Where tests of a mark alone are asked for, read only files that have the mark.

    Each process that runs tests reads all of them, in 3.9 processor seconds in place of 2.2.
    """
    asked = re.match("timed|long", config.option.markexpr)
    if asked is None or not collection_path.is_file():
        return None
    return f"mark.{asked[0]}" not in collection_path.read_text("utf-8") or None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with browsers, long tests and large files that mostly wait, and try timed tests again.

    Where several files run at once, those that compute then have the cores of those that wait.
    The small ones come last: test_live_game.py starts a screen, as test_live_sources.py does, and
    two that start at once may both be told that they are the first.
    Others' work on the machine can make packets late: hence the tries.
    """
    tests = Counter(item.path for item in items)

    def place(item: pytest.Item) -> tuple[bool, int, bool, int, Path]:
        name = item.path.stem
        waits = "live" in name and tests[item.path] >= LARGE
        long = LONGEST.index(name) if name in LONGEST else len(LONGEST)
        is_painted = item.path.name in PAINTING
        return not is_painted, long, not waits, -tests[item.path], item.path

    items.sort(key=place)
    for item in items:
        if not _has_short_form(item):
            raise pytest.UsageError(f"{item.nodeid}: the marker `long` names no test as short form")
        if item.get_closest_marker("timed"):
            again = pytest.mark.flaky(
                reruns=TRIES - 1, only_rerun=["AssertionError", "Failed", "LateError"]
            )
            item.add_marker(again)


def _has_short_form(item: pytest.Item) -> bool:
    """Tell whether a test that is run rarely names one that is run always, if it is such a test."""
    long = item.get_closest_marker("long")
    if long is None:
        return True
    file, _, name = "".join(long.args).partition("::")
    path = item.path.parent / file
    return path.is_file() and f"def {name}(" in path.read_text("utf-8")


class _SharedRuns(LoadScopeScheduling):  # type: ignore[misc]
    """Gives each process a test, or all tests that look at the same live run, or at browsers."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        if file.endswith(PAINTING):
            return "browsers"
        return file if file.endswith(SHARING) else nodeid


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> _SharedRuns | None:
    """With --dist=loadscope, files are not kept together but for the live runs they share."""
    return _SharedRuns(config, log) if config.getvalue("dist") == "loadscope" else None


def pytest_collection_finish(session: pytest.Session) -> None:
    """Begin to watch how busy the machine is, for those tests that ask."""
    if any(item.get_closest_marker("timed") for item in session.items):
        session.config.stash[WITNESS] = Witness()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Watch no more."""
    if WITNESS in session.config.stash:
        session.config.stash[WITNESS].end()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say why tests were tried again: one that is each time has a fault of its own."""
    for report in terminalreporter.stats.get("rerun", []):
        crash = getattr(report.longrepr, "reprcrash", None)
        reason = crash.message.splitlines()[0] if crash is not None else "unknown"
        terminalreporter.write_line(f"tried again: {report.nodeid}: {reason}")


def _file_of(item: pytest.Item) -> pytest.Module:
    file = item.getparent(pytest.Module)
    assert file is not None
    return file


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Note when a file's first test begins, and have figures drawn for those who look at them."""
    _file_of(item).stash.setdefault(BEGAN, time.monotonic_ns())
    if getattr(item, "execution_count", 1) > 1:
        _forget_results(item)
    is_drawn = item.path.name in undrawn.DRAWN
    render.save_chart = export.save_chart if is_drawn else undrawn.compiled


def _forget_results(item: pytest.Item) -> None:
    """Have results anew that the file's tests share: a run that was late is late at each try.

    A page or machine that is lent, by `yield`, is still there and can be asked again.
    """
    assert isinstance(item, pytest.Function)
    for fixtures in item._fixtureinfo.name2fixturedefs.values():
        for fixture in fixtures:
            if fixture.scope == "module" and not inspect.isgeneratorfunction(fixture.func):
                fixture.finish(item._request)  # type: ignore[arg-type]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Skip a timed test whose tries failed on a busy machine for their times alone."""
    report = yield
    if not report.failed or not item.get_closest_marker("timed"):
        return report
    late = call.excinfo is not None and call.excinfo.errisinstance(LateError)
    if not late:
        item.stash.setdefault(FAULTY, report.longreprtext)
    if getattr(item, "execution_count", TRIES) < TRIES:
        return report
    if FAULTY in item.stash:
        report.sections.append(("First failure that is not of times", item.stash[FAULTY]))
    else:
        lateness_ms = item.config.stash[WITNESS].lateness_ms(_file_of(item).stash[BEGAN])
        reason = too_busy(lateness_ms)
        if reason:
            report.outcome = "skipped"
            path, line, _ = item.location
            report.longrepr = (path, line or 0, f"Skipped: {item.name}: {reason}")
    return report
