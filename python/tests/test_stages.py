"""What the stages of `make test` rest on: who computes leaves the cores, and each test runs."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
IDLE, OF_CRATES = ROOT / "tools" / "idle", ROOT / "tools" / "of-crates"
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
TELL = "import os; print(os.sched_getscheduler(0), os.getsid(0) == os.getpid())"


def test_who_is_idle_has_a_session_of_least_weight() -> None:
    ours = subprocess.run([sys.executable, "-c", TELL], capture_output=True, text=True, check=True)
    idle = subprocess.run(
        [IDLE, sys.executable, "-c", TELL], capture_output=True, text=True, check=True
    )
    assert idle.stdout.split() == [str(os.SCHED_IDLE), "True"]
    assert ours.stdout.split()[1] == "False"
    group = Path("/proc/self/autogroup")
    if group.exists():
        weight = subprocess.check_output([IDLE, "cat", group], text=True)
        assert weight.endswith("nice 19\n")


@pytest.mark.parametrize("code", [0, 3])
def test_it_ends_as_its_command_does(code: int) -> None:
    assert subprocess.run([IDLE, "sh", "-c", f"exit {code}"], check=False).returncode == code


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_what_ends_it_ends_its_command(number: signal.Signals) -> None:
    waits = "import time; print('waits', flush=True); time.sleep(60)"
    words = [str(IDLE), sys.executable, "-c", waits]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as idle:
        assert idle.stdout is not None
        assert idle.stdout.readline() == b"waits\n"
        idle.send_signal(number)
        # The pipe ends when its last writer has.
        assert idle.stdout.read() == b""
        assert idle.wait(10) != 0


def runs(folder: Path, which: str) -> bool:
    """Whether the tests of the crate in a folder run, by the runner."""
    return subprocess.check_output([OF_CRATES, which, "echo", "ran"], cwd=folder) == b"ran\n"


def test_the_tests_of_each_crate_run_in_one_stage() -> None:
    (computing,) = re.findall(r"^COMPUTING := (.*)$", MAKEFILE, re.MULTILINE)
    crates = [file.parent for file in ROOT.glob("crates/**/Cargo.toml")]
    in_core = {crate for crate in crates if runs(crate, computing)}
    in_product = {crate for crate in crates if runs(crate, f"not {computing}")}
    assert in_core | in_product == set(crates)
    assert not in_core & in_product
    assert {crate.name for crate in in_core} >= {"units", "control", "tcp", "path", "sim"}
    assert {crate.name for crate in in_product} >= {"stream", "link", "router", "codec"}
    # A folder whose name begins alike is another one.
    assert not runs(ROOT / "crates" / "lab" / "sim", "crates/lab/si")


def would_run(target: str) -> list[str]:
    """Where a target has pytest look for tests."""
    told = subprocess.check_output(["make", "--dry-run", target], cwd=ROOT, text=True)
    (words,) = re.findall(r"--no-loadscope-reorder (.*) --numprocesses=", told)
    return shlex.split(words)


def test_the_tests_in_python_run_in_one_stage() -> None:
    waiting, computing = would_run("python-test"), would_run("suite-test")
    assert all((ROOT / path).exists() for path in computing)
    assert "experiments" in computing
    words = [sys.executable, "-m", "pytest", "--collect-only", "--quiet", *waiting]
    told = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    collected = {line.partition("::")[0] for line in told.splitlines() if "::" in line}
    files = {str(file.relative_to(ROOT)) for file in ROOT.glob("python/tests/test_*.py")}
    assert files <= collected | set(computing)
    assert not {file for file in collected if file.startswith("experiments") or file in computing}
