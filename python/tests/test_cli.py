"""The command line as a user meets it: in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
import undrawn
from conftest import SMALL

import gameway as gw

if TYPE_CHECKING:
    from pathlib import Path


GAMEWAY = ("-m", "gameway")
UNDRAWN = (undrawn.__file__,)
"""The same, but figures of reports are compiled and not drawn."""


def gameway(
    *arguments: str, cwd: Path | None = None, program: tuple[str, ...] = GAMEWAY, **env: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *program, *arguments],
        capture_output=True, text=True, check=False, cwd=cwd,
        env={**os.environ, "COLUMNS": "200", **env},
    )  # fmt: skip


@pytest.mark.parametrize("command", ["run", "report", "reproduce", "compare", "list", "frames"])
def test_every_command_teaches(command: str) -> None:
    done = gameway(command, "--help")
    assert done.returncode == 0
    assert "Example:" in done.stdout
    assert "Next:" in done.stdout


def test_version() -> None:
    assert gameway("--version").stdout == f"gameway {gw.__version__} (result schema 4)\n"


@pytest.mark.parametrize(
    ("what", "text"),
    [
        ("controllers", ["pudica", "(20 ms to 5 s)"]),
        ("queues", ["drop-tail", "(512 b/s to", "(none, atm, ptm)"]),
        ("competitors", ["cubic"]),
        ("metrics", ["displayed_fps"]),
    ],
)
def test_lists(what: str, text: list[str]) -> None:
    done = gameway("list", what)
    assert done.returncode == 0, done.stderr
    assert [one for one in text if one not in done.stdout] == []


def test_an_error_is_one_message_without_traceback(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text('duration = "5"', encoding="utf-8")
    done = gameway("run", "x.toml", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error: x.toml, line 1: duration: ")
    assert done.stderr.count("\n") == 1
    assert "Traceback" in gameway("run", "x.toml", cwd=tmp_path, GAMEWAY_DEBUG="1").stderr


def test_an_unknown_experiment_lists_the_known() -> None:
    done = gameway("reproduce", "nothing-like-it")
    assert done.returncode == 2
    assert '"nothing-like-it" is no experiment' in done.stderr


def test_run_prints_a_summary_and_where_things_are(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL, encoding="utf-8")
    run = ("run", "small.toml", "--runs", "2", "--set", "path.capacity=10 Mb/s", "--no-report")
    done = gameway(*run, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "pudica" in done.stdout
    assert "±" in done.stdout
    assert "tables: results/small" in done.stdout
    assert "4 of 4 runs" in done.stderr
    again = gameway(*run, cwd=tmp_path)
    assert "4 of them finished before" in again.stderr
    manifest = gw.Results.open(tmp_path / "results" / "small").manifest
    assert manifest["overrides"] == ["path.capacity=10 Mb/s", "runs=2"]


def test_a_suite_is_reproduced_as_one_and_compared(tmp_path: Path) -> None:
    settings = ("--set", "duration=6 s", "--set", "controller=[pudica, gcc]", "--runs", "2",
                "--set", "constant:path.capacity=20 Mb/s")  # fmt: skip
    parts = ("--part", "constant", "--part", "deep-buffer", "--jobs", "2")
    suite = ("reproduce", "scoreboard", *settings, *parts, "--out", "out")
    done = gameway(*suite, cwd=tmp_path, program=UNDRAWN)
    assert done.returncode == 0, done.stderr
    assert "8 of 8 runs" in done.stderr
    assert "Who wins where" in done.stdout
    assert "Deep buffer" in done.stdout
    assert (tmp_path / "out" / "constant" / "manifest.json").is_file()
    again = gameway("report", "out", cwd=tmp_path, program=UNDRAWN)
    assert "report: out/report.html" in again.stdout
    beside = gameway("compare", "out/deep-buffer", cwd=tmp_path, program=UNDRAWN)
    assert "report: out/deep-buffer/compare/report.html" in beside.stdout
    assert "has the least 95th percentile frame delay" in beside.stdout


def test_what_does_not_fit_a_suite_is_told(tmp_path: Path) -> None:
    steps = ("--set", "stream.far.base_rtt=90 ms")
    wrong = gameway("reproduce", "scoreboard", *steps, cwd=tmp_path)
    assert wrong.returncode == 2
    assert "part against-bbr" in wrong.stderr
    part = gameway("reproduce", "scoreboard", "--part", "constnt", cwd=tmp_path)
    assert 'did you mean "constant"?' in part.stderr
    single = gameway("reproduce", "demo", "--part", "constant", cwd=tmp_path)
    assert "has no parts" in single.stderr
    assert not (tmp_path / "results").exists()


def test_report_is_written_anew(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL, encoding="utf-8")
    # Of a single path: each figure is drawn once.
    run = ("run", "small.toml", "--set", "path.capacity=10 Mb/s", "--runs", "1", "--out", "out")
    first = gameway(*run, cwd=tmp_path, program=UNDRAWN)
    assert first.returncode == 0, first.stderr
    page = tmp_path / "out" / "report.html"
    page.unlink()
    done = gameway("report", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert page.stat().st_size > 1000
