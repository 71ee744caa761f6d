"""HTB and L4S on cellular links: a short form of the runs."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from gameway import experiments
from gameway.experiment.suite import load_suite
from gameway.sweep import suite

if TYPE_CHECKING:
    from pathlib import Path

ecgp_cellular = import_module("gameway.experiments.ecgp-cellular.page")
CELLULAR = load_suite(experiments.folder() / "ecgp-cellular")


def test_cellular_control_takes_long_waits_away(tmp_path: Path) -> None:
    short = CELLULAR.with_overrides(
        [
            "runs=1",
            "duration=40 s",
            'controller=[{ kind = "fixed", bitrate = "10 Mb/s" }, "scream"]',
        ]
    )
    made = ecgp_cellular.page(suite.run(short, tmp_path / "out"))
    assert len(made.statement) == 2
    assert all("more than with SCReAM at every bitrate" in text for text in made.statement)
    assert made.sections[0].tables[0].frame["mean, ms"].to_list() == ["47.9", "16.0", "\u2013"]
