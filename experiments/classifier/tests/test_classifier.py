"""Recognition of games: the suite's files, what is counted, a short form of the runs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import gameway as gw
from gameway import _core, experiments
from gameway.experiment.suite import load_suite
from gameway.experiments.classifier import page as classifier
from gameway.metrics.statistics import wilson_interval
from gameway.metrics.windows import Window
from gameway.sweep import suite

if TYPE_CHECKING:
    from gameway.results import Results

SUITE = load_suite(experiments.folder() / "classifier")


@pytest.mark.parametrize("part", SUITE.parts)
def test_every_part_can_run_and_is_told(part: str) -> None:
    for run in gw.expand(SUITE.parts[part]):
        _core.check_spec(json.dumps(run.spec))
        assert run.spec["path"]["classifier"] == "behaviour"
    assert part in classifier.TEXTS
    assert part in classifier.ORDER


def test_what_is_held_out_shares_no_condition_with_the_development() -> None:
    developed = gw.expand(SUITE.parts["development"])
    for name in classifier.HELD_OUT:
        held_out = gw.expand(SUITE.parts[name])
        for key in ("capacity", "base_rtt"):
            seen = {run.spec["path"][key] for run in developed}
            assert seen.isdisjoint({run.spec["path"][key] for run in held_out})
        seeds = {run.seed for run in developed}
        assert seeds.isdisjoint({run.seed for run in held_out})


def test_intervals_are_wilsons() -> None:
    # Wilson 1927 by hand: z = 1.96, (p + z²/2n ± z sqrt(p(1-p)/n + z²/4n²)) / (1 + z²/n).
    assert wilson_interval(0, 10) == pytest.approx((0.0, 0.2775), abs=1e-4)
    assert wilson_interval(10, 10) == pytest.approx((0.7225, 1.0), abs=1e-4)
    assert wilson_interval(5, 10) == pytest.approx((0.2366, 0.7634), abs=1e-4)
    assert all(value != value for value in wilson_interval(0, 0))  # noqa: PLR0124 (NaN)


def test_the_share_of_time_counts_from_two_seconds_on_and_leaves_out_pauses() -> None:
    flow = {"name": "game", "start": "1 s", "pause": {"from": "5 s", "to": "7 s"}}
    whole = Window(0.0, 11.0)
    # There from 3 to 5 s and from 7 to 11 s; a game from 2.5 to 8 s and from 10 s on.
    changes = [(2.5, True), (8.0, False), (10.0, True)]
    assert classifier._time_share(flow, whole, changes) == pytest.approx((2.0 + 1.0 + 1.0) / 6.0)
    assert classifier._time_share(flow, whole, []) == 0.0


def test_kinds_of_flows() -> None:
    assert classifier.kind_of({"controller": "gcc"}) == "game stream"
    assert classifier.kind_of({"kind": "onlive-ut"}) == "OnLive"
    assert classifier.kind_of({}) == "download"
    assert classifier.kind_of({"direction": "up"}) == "upload"
    assert classifier.kind_of({"on_off": {"segment": "4 s"}}) == "video in segments"
    assert classifier.kind_of({"rate_limit": "1 Mb/s"}) == "limited download"
    games = {kind for kind in classifier.KINDS.values() if classifier.is_game(kind)}
    assert games == {"game stream", "OnLive"}


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Results]:
    settings = ["runs=1", "duration=8 s", "path.base_rtt=20 ms", "path.queue=drop-tail"]
    own = ["controller=gcc", "path.capacity=30 Mb/s", "stream.game.frame_rate=60"]
    games = SUITE.only(["alone"]).with_overrides([*settings, *own])
    others = SUITE.only(["others"]).with_overrides([*settings, "path.capacity=60 Mb/s"])
    out = tmp_path_factory.mktemp("classifier")
    found = suite.run(games, out / "games") | suite.run(others, out / "others")
    settings = ["runs=1", "duration=8 s", "stream.pausing.pause.to=9 s"]
    settings += ["stream.pausing.pause.from=7 s"]
    adversaries = SUITE.only(["adversarial"]).with_overrides(settings)
    return found | suite.run(adversaries, out / "adversaries")


def test_games_are_found_and_others_are_not(parts: dict[str, Results]) -> None:
    (game,) = classifier.cases_of(parts["alone"]).iter_rows(named=True)
    assert game["game"]
    assert 1.5 < game["after_s"] < 2.0
    assert game["time_share"] == 1.0
    cases = classifier.cases_of(parts["others"])
    assert cases.filter(game=False).height == 2 * 11
    assert cases.filter(game=False)["after_s"].null_count() == 2 * 11
    assert cases.filter(game=True)["after_s"].max() < 2.1


def test_the_page_tells_precision_and_recall(parts: dict[str, Results]) -> None:
    made = classifier.page(parts)
    titles = [section.title for section in made.sections]
    assert titles == ["Held out", "Games alone", "Other traffic, and OnLive", "Adversaries"]
    assert len(made.statement) == 3
    assert "of 5 flows that were taken for games, 5 (100.0 %" in made.statement[0]
    (table,) = (table for table in made.sections[0].tables if table.main)
    assert {"game", "other"} == set(table.frame["truth"])
    adversaries = made.sections[-1].tables[0].frame
    assert set(adversaries.columns) >= {"flow", "recognised", "in 2 s", "time, %"}


def test_a_page_of_one_part_can_be_made(parts: dict[str, Results]) -> None:
    made = classifier.page({"adversarial": parts["adversarial"]})
    assert [section.title for section in made.sections] == ["Adversaries"]
    assert made.statement == []
