"""What commands import: those that only tell something start without what runs and measures."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from gameway import metrics

if TYPE_CHECKING:
    from pathlib import Path

HEAVY = {"polars", "numpy", "scipy", "altair", "vl_convert", "jinja2", "playwright"}
"""Packages of others that read, measure, draw or play."""
ROOMS = {
    f"gameway.{room}"
    for room in ("experiment", "results", "expansion", "sweep", "figures", "page", "report")
}
"""Parts of this package that need them, or check experiments."""
TELLING = [
    ["--version"],
    ["--help"],
    ["run", "--help"],
    ["list", "queues"],
    ["list", "controllers"],
    ["list", "metrics"],
    ["list", "experiments"],
]
COMPLETION = {"_GAMEWAY_COMPLETE": "complete_bash", "COMP_WORDS": "gameway re", "COMP_CWORD": "1"}
SCRIPT = """\
import atexit, json, sys
from gameway.cli import main
sys.argv[0] = "gameway"
atexit.register(lambda: print(json.dumps(sorted(sys.modules)), file=sys.stderr))
main()
"""


def imported(*words: str, **env: str) -> tuple[set[str], str]:
    """Give the modules that a command has imported at its end, and what it printed."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *words],
        capture_output=True, text=True, check=False, timeout=60, env={**os.environ, **env},
    )  # fmt: skip
    modules: list[str] = json.loads(done.stderr.splitlines()[-1])
    return set(modules), done.stdout


@pytest.mark.parametrize("words", TELLING, ids=" ".join)
def test_what_only_tells_something_starts_without_what_measures(words: list[str]) -> None:
    modules, printed = imported(*words)
    assert printed
    assert modules & (HEAVY | ROOMS) == set()


def test_a_shell_completes_commands_without_what_measures() -> None:
    modules, printed = imported(**COMPLETION)
    assert {"report", "reproduce"} <= set(printed.split())
    assert modules & (HEAVY | ROOMS) == set()


def test_what_checks_an_experiment_imports_what_checks() -> None:
    modules, printed = imported("schema")
    assert json.loads(printed)["title"] == "Gameway experiment"
    assert modules & (HEAVY | ROOMS) == {"gameway.experiment"}


def test_what_reads_results_imports_what_measures(tmp_path: Path) -> None:
    modules, _ = imported("report", str(tmp_path / "nothing"))
    assert {"polars", "gameway.experiment", "gameway.results", "gameway.sweep"} <= modules


def test_metrics_that_are_loaded_on_demand_are_named_and_there() -> None:
    assert set(metrics.__all__) <= set(dir(metrics))
    assert all(getattr(metrics, name) is not None for name in metrics.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = metrics.nothing
