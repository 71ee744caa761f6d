"""The charts of a controller's log: each variable that they name is logged and has a unit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest

import gameway as gw
from gameway.figures import decisions
from gameway.metrics.source import finished_runs

if TYPE_CHECKING:
    from pathlib import Path

    from gameway.results import Results

EXPERIMENT = """
title = "Logs"
duration = "2 s"
controller = [{kinds}]
[path]
capacity = "10 Mb/s"
base_rtt = "20 ms"
[[stream]]
name = "game"
[record]
controller_interval = "100 ms"
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    folder: Path = tmp_path_factory.mktemp("logs")
    kinds = ", ".join(f'"{kind}"' for kind in decisions.CHARTS)
    file = folder / "logs.toml"
    file.write_text(EXPERIMENT.format(kinds=kinds))
    return gw.run(gw.load(file), folder / "results")


def test_each_named_variable_is_logged(results: Results) -> None:
    runs = finished_runs(results)
    assert len(runs) == len(decisions.CHARTS)
    for run in runs:
        kind = decisions.kind_of_controller(run.spec["stream"][0])
        logged = set(run.table("controller")["variable"].to_list())
        named = {name for chart in decisions.CHARTS[kind] for name in chart.lines}
        assert named - logged == set(), kind
        assert len(decisions.decisions(run)) == len(decisions.CHARTS[kind]), kind


def test_no_axis_is_a_bare_unit(results: Results) -> None:
    units = {unit for _, unit in decisions.UNITS.values()}
    for run in finished_runs(results):
        for chart in decisions.decisions(run):
            drawn = chart.to_dict(validate=False)
            assert drawn["encoding"]["y"]["title"] not in {None, "", *units}


def test_what_is_no_quantity_over_time_is_not_drawn(results: Results) -> None:
    # The number of the frame that the newest ratio belongs to rises for ever.
    pudica = finished_runs(results)[list(decisions.CHARTS).index("pudica")]
    assert "bur_frame" in set(pudica.table("controller")["variable"].to_list())
    shown = {name for chart in decisions.CHARTS["pudica"] for name in chart.lines}
    assert "bur_frame" not in shown


def test_a_controller_that_is_not_known_has_all_its_variables(results: Results) -> None:
    run = finished_runs(results)[0]
    log = run.table("controller").with_columns(
        variable=pl.col("variable").replace({"target_bps": "own_window_bytes"})
    )
    found = {chart.title: chart.axis for chart in decisions._unknown(log)}
    assert found["Own window"] == "Own window (kB)"
