"""What several test files need."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import gameway as gw

if TYPE_CHECKING:
    from pathlib import Path

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
