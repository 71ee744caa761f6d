"""Pudica's readings: a small form of the runs, and what is marked."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from gameway import experiments
from gameway.experiment.suite import load_suite
from gameway.report import suite as suite_page
from gameway.sweep import suite

if TYPE_CHECKING:
    from pathlib import Path

own = import_module("gameway.experiments.pudica-readings.page")


def test_readings_differ_where_their_page_says_so(tmp_path: Path) -> None:
    whole = load_suite(experiments.folder() / "pudica-readings").with_overrides(
        [
            "runs=1",
            'controller=["pudica", { kind = "pudica", above_one = "hold" }]',
            "alone:path.capacity=20 Mb/s",
            "alone:duration=34 s",
            "halving:duration=12 s",
        ]
    )
    suite.run(whole, tmp_path)
    made = suite_page.page(tmp_path)
    assert [section.title for section in made.sections] == [
        "Alone", "Three staggered flows", "The capacity halves",
    ]  # fmt: skip
    (three,) = made.sections[1].tables
    assert three.file_frame is not None
    index = dict(three.file_frame.select("reading", "jain_index").iter_rows())
    assert 0.95 < index["(recommended)"] <= 1.0
    assert 0.4 < index["above_one=hold"] < 0.9
    (halving,) = made.sections[2].tables
    assert halving.file_frame is not None
    assert 100.0 < halving.file_frame["drain_ms"][0] < 300.0
    # One run each: nothing is clear, so nothing is marked.
    assert not three.marked


def test_clear_differences_between_readings_are_marked() -> None:
    rng = np.random.default_rng(5)
    keys = {
        "controller": ["pudica"] * 8 + ["pudica scale=off"] * 8,
        "pair": [str(number) for number in range(8)] * 2,
    }
    base = rng.normal(40.0, 3.0, 8)
    same, more = base + rng.normal(0.0, 0.5, 8), base + 2.0 + rng.normal(0.0, 0.5, 8)
    columns = {"delay_p95_ms": "delay"}
    for values, marked in ((same - (same - base).mean(), False), (more, True)):
        rows = pl.DataFrame(keys | {"delay_p95_ms": [*base, *values]})
        table = own.readings_table("x", rows, columns)
        assert (((1, "delay") in table.marked), (0, "delay") in table.marked) == (marked, False)
