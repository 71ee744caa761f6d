"""The suite tests/chromium: its files load, and its page measures what it says."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import gameway as gw
from gameway.experiment.suite import load_suite
from gameway.live import limits
from gameway.report.suite import page_of

if TYPE_CHECKING:
    from types import ModuleType

FOLDER = Path(__file__).resolve().parents[2] / "tests" / "chromium"
OURS = ("stream.0.kind=gameway", "stream.0.video=steady", "runs=2")


@pytest.fixture(scope="module")
def page() -> ModuleType:
    """The module of the page, as the program imports it."""
    import sys  # noqa: PLC0415 (of this fixture)

    return sys.modules[page_of(FOLDER).__module__]


def test_every_part_can_run_live_and_has_five_runs_of_a_condition() -> None:
    parts = load_suite(FOLDER).parts
    assert set(parts) == {"alone", "cubic", "jitter", "loss", "shallow", "step"}
    conditions = {name: gw.expand(part) for name, part in parts.items()}
    assert sum(len(runs) for runs in conditions.values()) == 5 * 10
    for name, part in parts.items():
        limits.check(part)
        kinds = {stream["kind"] for run in conditions[name] for stream in run.spec["stream"]}
        assert kinds == {"chromium"}


def test_growth_is_the_median_rise_between_falls(page: ModuleType) -> None:
    second = page.SECOND_NS
    rising = [(at * second // 10, 1e6 + 3_000 * at) for at in range(200)]
    assert page.growth(rising, 0) == pytest.approx(30.0)
    # A fall each three seconds leaves no span of five; so does a rise of a fifth.
    falling = [(at, value - 50_000 * (at // (3 * second))) for at, value in rising]
    fast = [(at, value * 1.05 ** (at / second)) for at, value in rising]
    assert math.isnan(page.growth(falling, 0))
    assert math.isnan(page.growth(fast, 0))
    assert math.isnan(page.growth(rising, 18))


def test_figures_of_a_step_are_found_in_its_tables(page: ModuleType, tmp_path: Path) -> None:
    own = load_suite(FOLDER).parts["step"].with_overrides([*OURS, "runs=1"])
    results = gw.run(own, tmp_path / "out")
    (row,) = page.measured("step", results).to_dicts()
    # 4 and 2 Mb/s by turns, from 10 s on of 60.
    assert 1.5 < row["bitrate, Mb/s"] < 3.4
    assert 0.0 < row["queueing delay, ms"] < 150.0
    assert 0.0 <= row["after the fall, s"] < 10.0
    assert 1.0 < row["after the rise, s"] < 20.0
    assert 5.0 < row["growth, kb/s per s"] < 100.0
    assert 28.0 < row["shown, frames/s"] <= 30.0


def test_where_the_capacity_stays_there_is_no_recovery(page: ModuleType, tmp_path: Path) -> None:
    settings = [*OURS, "duration=20 s", "path.loss.probability=[2 %, 10 %]"]
    own = load_suite(FOLDER).parts["loss"].with_overrides(settings)
    table = page.measured("loss", gw.run(own, tmp_path / "out"))
    assert table["condition"].to_list() == ["4 bdp, 2 %", "4 bdp, 10 %"] * 2
    assert table["after the fall, s"].is_nan().all()
    lost = table.group_by("condition", maintain_order=True).agg(pl.col("loss, %").mean())
    assert lost["loss, %"].to_list() == pytest.approx([2.0, 10.0], rel=0.3)


@pytest.mark.parametrize(
    ("figure", "theirs", "ours", "verdict"),
    [
        ("BITRATE", 3.0, 3.29, True), ("BITRATE", 3.0, 3.31, False),
        ("QUEUE", 10.0, 14.9, True), ("QUEUE", 10.0, 15.1, False),
        ("QUEUE", 100.0, 119.0, True), ("QUEUE", 100.0, 79.0, False),
        ("RISE", 10.0, 12.9, True), ("RISE", 10.0, 13.1, False),
        ("RISE", None, 13.1, False), ("RISE", 10.0, None, None), ("LOST", 1.0, 9.0, None),
    ],
)  # fmt: skip
def test_a_verdict_has_a_bound_on_both_sides(
    page: ModuleType, figure: str, theirs: Any, ours: Any, verdict: bool | None
) -> None:
    sides = (pl.Series([theirs], dtype=pl.Float64), pl.Series([ours], dtype=pl.Float64))
    assert page.judged(getattr(page, figure), *sides) is verdict
