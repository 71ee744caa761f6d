"""VoAP: the files, what is published, a short form of the runs, the claims."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

import gameway as gw
from gameway import _core, experiments
from gameway.experiment.suite import load_suite
from gameway.experiments.voap import claims, measures, page, published
from gameway.metrics.flows import Delays
from gameway.metrics.source import finished_runs
from gameway.sweep import suite

if TYPE_CHECKING:
    from pathlib import Path

    from gameway.results import Results

SUITE = load_suite(experiments.folder() / "voap")


@pytest.mark.parametrize("part", SUITE.parts)
def test_every_part_can_run(part: str) -> None:
    for run in gw.expand(SUITE.parts[part]):
        _core.check_spec(json.dumps(run.spec))


def test_the_scenario_is_the_paper_s() -> None:
    runs = gw.expand(SUITE.parts["delays"])
    assert {run.factors["download_congestion_control"] for run in runs} == {
        "newreno", "bic", "cubic",
    }  # fmt: skip
    path = runs[0].spec["path"]
    assert (path["base_rtt"], path["queue"]["size"]) == ("80 ms", "250 packets")
    starts = {flow["name"]: flow["start"] for flow in runs[0].spec["competitor"]}
    assert starts == {"game": "1 s", "chat": "50 s", "download": "100 s"}
    alphas = {
        run.spec["path"].get("gateway", {}).get("alpha") for run in gw.expand(SUITE.parts["alpha"])
    }
    assert len(alphas - {None}) == 11
    assert published.value("newreno", "game_queue_delay_peak_ms") == 121
    assert published.value("cubic", "nothing") is None


SHORT, WHOLE = 4, 8
"""Repeats of the delays."""
LONG = pytest.mark.long("test_voap.py::test_the_gateway_takes_the_queue_away_at_no_cost")


@pytest.fixture(
    scope="module", params=[SHORT, pytest.param(WHOLE, marks=LONG)], ids=["short", "whole"]
)
def repeats(request: pytest.FixtureRequest) -> int:
    found: int = request.param
    return found


@pytest.fixture(scope="module")
def parts(repeats: int, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Results]:
    out: Path = tmp_path_factory.mktemp("voap")
    short = SUITE.only(["delays", "fair", "redistribution"]).with_overrides(
        [
            "runs=1", f"delays:runs={repeats}", 'delays:competitor.game.kind="onlive-ut"',
            'delays:competitor.download.congestion_control="newreno"',
            'redistribution:competitor.limited.block="1448 B"',
        ]
    )  # fmt: skip
    return suite.run(short, out)


def test_the_gateway_takes_the_queue_away_at_no_cost(
    repeats: int, parts: dict[str, Results]
) -> None:
    rows = measures.rows(parts["delays"])
    late = dict(rows.group_by("gateway").agg(pl.col("delay_p98_ms").max()).iter_rows())
    assert late["voap"] < 20.0
    assert late["voap, mended"] < 20.0
    least = rows.filter(gateway="none")["delay_p98_ms"].min()
    assert 80.0 < least < late["none"] < 130.0, "the twin"
    for gateway in ("voap", "voap, mended"):
        change = measures.change_percent(rows, "throughput_mbps", gateway)
        assert change.pairs == repeats
        # Of several pairs: one alone can be 3 % apart.
        assert -1.0 < change.mean < 1.0
    found = claims.of_delays(rows, ("game", "tcp"))
    assert len(found) == 4
    assert all(claim.holds for claim in found)
    # The twin: what no gateway does under the gateway's name.
    wrong = rows.filter(gateway="none")
    both = pl.concat([wrong, wrong.with_columns(gateway=pl.lit("voap"))])
    assert not claims.of_delays(both, ("game", "tcp"))[0].holds


def test_downloads_share_and_take_up_what_is_left(parts: dict[str, Results]) -> None:
    rows = measures.rows(parts["fair"])
    unfair = dict(rows.select("gateway", "unfair_percent").iter_rows())
    assert unfair["voap"] < 5.0
    assert unfair["none"] > unfair["voap"]
    for run in finished_runs(parts["redistribution"]):
        if measures.gateway_of(run) == "voap":
            assert measures.taken_up_s(run, "first", 80.0) <= 2.0
            first, _, limited = measures.downloads(run)
            assert 95.0 < measures.used_percent(run, first, limited) < 105.0


def test_windows_are_told_and_only_lowered(parts: dict[str, Results]) -> None:
    run, *_ = [r for r in finished_runs(parts["delays"]) if measures.gateway_of(r) == "voap"]
    states = run.table("controller").filter(pl.col("stream") == "download")
    told = set(states["variable"].unique())
    assert {"cwnd_bytes", "advertised_window_bytes", "estimated_cwnd_bytes", "voap_active"} <= told


def test_the_page_has_the_figures_of_the_paper(parts: dict[str, Results]) -> None:
    made = page.page(parts)
    assert [section.title for section in made.sections] == [
        "Claims", "Delay and throughput", "Fair shares", "Left-over bandwidth",
    ]  # fmt: skip
    table = made.sections[1].tables[0].frame
    (none,) = table.filter(gateway="none")["peak, ms"].to_list()
    assert none.endswith("(121)")
    names = [one.id for one in made.sections[1].figures]
    assert names == ["delays", "throughput", "windows", "distributions"]


def test_percentiles_of_a_histogram_are_those_of_its_delays() -> None:
    low = np.array([0.0, 1.0, 2.0])
    delays = Delays(low, low + 1.0, np.array([50.0, 30.0, 20.0]), low + 0.5)
    assert delays.mean_ms == pytest.approx(0.5 * 0.5 + 1.5 * 0.3 + 2.5 * 0.2)
    assert delays.percentile_ms(50.0) == pytest.approx(1.0)
    assert delays.percentile_ms(65.0) == pytest.approx(1.5)
    assert delays.over_percent(2.0) == pytest.approx(20.0)
    # A queue that is full at 108 ms: evenly spread over its bucket the percentile would be 119.
    waits = np.random.default_rng(1).triangular(100.0, 100.0, 108.0, 4000)
    full = Delays(*np.array([[100.0], [125.0], [4000.0], [waits.mean()]]))
    assert full.percentile_ms(75.0) == pytest.approx(np.percentile(waits, 75.0), rel=0.02)
    assert np.isnan(Delays(low[:0], low[:0], low[:0], low[:0]).percentile_ms(98.0))
