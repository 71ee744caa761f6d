"""Lines over time show a value from the time on at which it was measured, and never before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from metrics_fixture import Behaviour, Condition, FolderResults, Timing, make_results

from gameway import figures
from gameway.figures.series import bitrate_table, rtt_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

# The competition begins in the middle of a window of 5 s.
TIMING = Timing(duration=54.0, start=18.5, stop=37.0)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> FolderResults:
    folder: Path = tmp_path_factory.mktemp("times")
    conditions = [Condition({"controller": "gcc"}, Behaviour(), "gcc")]
    return make_results(folder, conditions, timing=TIMING)


def test_round_trips_rise_when_the_download_has_begun(results: FolderResults) -> None:
    table = rtt_table(results)
    before = table.filter(pl.col("time_s") < TIMING.start)
    during = table.filter(pl.col("time_s").is_between(TIMING.start, TIMING.stop, closed="left"))
    assert before["mean"].max() == pytest.approx(17.0, abs=2.0)
    assert during["mean"].min() == pytest.approx(40.0, abs=2.0)
    # No window holds pings of both: the first of the competition is at most one ping late.
    assert during["time_s"].min() - TIMING.start <= 1.0  # type: ignore[operator]


def test_wide_bins_are_means_of_all_their_bins(results: FolderResults) -> None:
    # Bitrates alternate by 0.4 Mb/s: every second bin alone would be 0.4 off.
    narrow, wide = bitrate_table(results), bitrate_table(results, each=4)
    first = narrow.head(4)["mean"].mean()
    assert wide["mean"][0] == pytest.approx(first)
    assert narrow["mean"][0] != pytest.approx(first, abs=0.1)
    assert wide["time_s"].to_list()[:3] == [0.0, 2.0, 4.0]


@pytest.mark.parametrize("draw", [figures.bitrate_over_time, figures.rtt_over_time])
def test_no_line_joins_what_was_measured_apart(
    draw: Callable[[FolderResults], Any], results: FolderResults
) -> None:
    lines = list(_lines(draw(results).to_dict(validate=False)))
    assert lines
    assert {line.get("interpolate") for line in lines} == {"step-after"}


def _lines(node: Any) -> Iterator[dict[str, Any]]:
    """Every line and band of a chart."""
    if isinstance(node, dict):
        mark = node.get("mark")
        if isinstance(mark, dict) and mark.get("type") in {"line", "area"}:
            yield mark
        for value in node.values():
            yield from _lines(value)
    elif isinstance(node, list):
        for value in node:
            yield from _lines(value)
