"""Feedback of every kind: the files, what is measured, a short form of the runs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import polars as pl
import pytest

import gameway as gw
from gameway import _core, experiments
from gameway.experiment.suite import load_suite
from gameway.experiments.feedback import page as feedback
from gameway.sweep import suite

if TYPE_CHECKING:
    from pathlib import Path

    from gameway.results import Results

SUITE = load_suite(experiments.folder() / "feedback")


@pytest.mark.parametrize("part", SUITE.parts)
def test_every_part_can_run_and_is_told(part: str) -> None:
    runs = gw.expand(SUITE.parts[part])
    for run in runs:
        _core.check_spec(json.dumps(run.spec))
    known = {name for run in runs for name in run.factors}
    assert set(feedback.AXES[part]) <= known


def test_each_controller_has_each_format() -> None:
    runs = gw.expand(SUITE.parts["formats"])
    kinds = {run.factors["feedback"] for run in runs}
    assert {feedback.NATIVE, feedback.BROWSER, "per-frame"} <= kinds
    assert {f"rfc8888 {ms} ms" for ms in (5, 10, 50)} <= kinds
    assert len({run.factors["controller"] for run in runs}) == 7


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Results]:
    out: Path = tmp_path_factory.mktemp("feedback")
    # The capacity falls to a tenth, and a stream that does not care stays above it.
    capacity = (
        'path.capacity={ steps = [["0 s", "20 Mb/s"], ["3 s", "2 Mb/s"], ["9 s", "20 Mb/s"]] }'
    )
    settings = ["runs=1", "duration=13 s", capacity]
    settings += ['controller=["gcc", { kind = "fixed", bitrate = "5 Mb/s" }]']
    short = SUITE.only(["formats", "loss", "drift"]).with_overrides(settings)
    return suite.run(short, out)


def test_frames_after_the_fall_are_late_for_a_stream_that_does_not_care(
    parts: dict[str, Results],
) -> None:
    rows = feedback.measured(parts["formats"], feedback.AXES["formats"])
    late = {name: own["late_s"].to_list() for (name,), own in rows.group_by("controller")}
    # It fills the queue at once and until 9 s: 6 s of 10 are late.
    assert min(late["fixed"]) > 5.0
    assert max(late["fixed"]) < 7.0
    # GCC cannot empty the queue either: its least rate is what the link has left.
    assert 5.0 < max(late["gcc"]) <= min(late["fixed"])
    assert rows.height == 2 * 6


def test_more_reports_cost_more(parts: dict[str, Results]) -> None:
    rows = feedback.measured(parts["formats"], feedback.AXES["formats"]).filter(controller="fixed")
    overhead = dict(zip(rows["feedback"], rows["run_feedback_overhead_percent"], strict=True))
    assert overhead["rfc8888 5 ms"] > overhead["rfc8888 10 ms"] > overhead["rfc8888 50 ms"] > 0.0


def test_the_page_tells_of_native_and_browser(parts: dict[str, Results]) -> None:
    made = feedback.page(parts)
    assert [section.title for section in made.sections] == [
        "Formats of feedback", "Loss of feedback", "Drift of the client's clock",
    ]  # fmt: skip
    assert len(made.statement) == 2
    assert all(section.figures and section.tables for section in made.sections)
    main = [table for section in made.sections for table in section.tables if table.main]
    assert [table.frame.height for table in main] == [2]
    loss = feedback.measured(parts["loss"], feedback.AXES["loss"])
    assert set(loss["back_loss_probability"]) == {"none", "10 %"}


def pairs(native: list[float], browser: list[float]) -> pl.DataFrame:
    """Runs of one controller whose figures are all these."""
    values, count = [*native, *browser], len(native)
    keys = {
        "controller": ["gcc"] * len(values),
        "feedback": [feedback.NATIVE] * count + [feedback.BROWSER] * len(browser),
        "repeat": [*range(count), *range(len(browser))],
    }
    return pl.DataFrame(keys | dict.fromkeys(feedback.FIGURES.values(), values))


def test_what_differs_clearly_by_pairs_is_told() -> None:
    # The pairs differ by one each, although the runs differ by more among themselves.
    (told,) = feedback.statements(pairs([5.0, 9.0, 14.0], [6.0, 10.1, 14.9]))
    assert "bitrate 9.33 to 10.3 Mb/s, p95 delay 9.33 to 10.3 ms, late frames 9.33" in told
    unclear = feedback.statements(pairs([5.0, 9.0, 14.0], [7.0, 8.0, 15.0]))
    assert unclear == ["gcc, from its own feedback to a browser's: no clear difference."]
    assert feedback.statements(pairs([5.0, 5.0], [5.0, 5.0]))[0].endswith("no clear difference.")


def test_without_one_of_the_two_nothing_is_said() -> None:
    assert feedback.statements(pairs([5.0, 9.0], [])) == []
    # A single pair has no interval.
    assert feedback.statements(pairs([5.0], [9.0]))[0].endswith("no clear difference.")
