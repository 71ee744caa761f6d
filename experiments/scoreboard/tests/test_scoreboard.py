"""The scoreboard in small: every controller in every scenario once, none beyond the limit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gameway import experiments
from gameway.compare import compare_results
from gameway.compare.measures import DELAY_95, UTILIZATION
from gameway.experiment.suite import load_suite
from gameway.experiments.scoreboard.page import ORDER
from gameway.experiments.scoreboard.page import page as page_of
from gameway.sweep import suite

if TYPE_CHECKING:
    from gameway.compare import Comparison
    from gameway.results import Results

CONTROLLERS = {"pudica", "gcc", "copa", "nada", "salsify", "scream", "sqp", "fixed", "oracle"}
SCENARIOS = 21


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Results]:
    small = load_suite(experiments.find("scoreboard")).with_overrides(["runs=1"])
    return suite.run(small, tmp_path_factory.mktemp("scoreboard"))


@pytest.fixture(scope="module")
def comparison(parts: dict[str, Results]) -> Comparison:
    return compare_results(parts, "Scoreboard")


def test_every_controller_is_in_every_scenario(comparison: Comparison) -> None:
    assert len(comparison.verdicts) == SCENARIOS
    for verdict in comparison.verdicts:
        assert set(verdict.scenario.controllers) == CONTROLLERS
        assert len(verdict.judged) == len(CONTROLLERS) - 2


def test_streams_of_a_kind_have_the_same_controller(parts: dict[str, Results]) -> None:
    for part, streams in (("three-flows", 3), ("late-joiner", 2), ("rtt-unfairness", 2)):
        runs = load_suite(experiments.find("scoreboard")).parts[part]
        assert len(runs.stream) == streams
        assert parts[part].factor_values("controller")[0] == "pudica"
        assert parts[part].runs.height == len(CONTROLLERS)


def test_nobody_has_more_utilization_and_less_delay_than_the_oracle(comparison: Comparison) -> None:
    # Beside a download the oracle takes its fair share, but the download's queue and losses are
    # not for the oracle to avoid.
    alone = [verdict for verdict in comparison.verdicts if not verdict.scenario.competes]
    assert len(alone) == SCENARIOS - 6
    for verdict in alone:
        for name in verdict.judged:
            beaten = [verdict.is_worse("oracle", name, one) for one in (UTILIZATION, DELAY_95)]
            assert not all(beaten), (verdict.scenario.name, name)
    # The oracle itself beats somebody on both, or this would say nothing.
    beats = [
        all(verdict.is_worse(name, "oracle", one) for one in (UTILIZATION, DELAY_95))
        for verdict in comparison.verdicts
        for name in verdict.judged
    ]
    assert sum(beats) > SCENARIOS


def test_the_page_tells_all_scenarios_in_order(parts: dict[str, Results]) -> None:
    page = page_of(parts)
    titles = [section.title for section in page.sections]
    assert titles[0] == "Who wins where"
    assert titles[-2:] == ["Behind the best", "Every pair"]
    assert len(titles) == SCENARIOS + 3
    firsts = [str(parts[name].manifest["title"]) for name in ORDER]
    places = [next(i for i, t in enumerate(titles) if t.startswith(first)) for first in firsts]
    assert places == sorted(places)
    assert len(page.statement) == 3
