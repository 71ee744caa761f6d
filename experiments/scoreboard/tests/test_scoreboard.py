"""The scoreboard in small: every controller in every scenario once, none beyond the limit.

Always: repair is a factor behind random loss alone, and 20 s are simulated where nothing comes or
goes. `make long` has repair in each part that has it, and whole runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl
import pytest

from gameway import experiments
from gameway.compare import compare_results
from gameway.compare.measures import DELAY_95, UTILIZATION
from gameway.experiment.suite import load_suite
from gameway.experiments.scoreboard import repair
from gameway.experiments.scoreboard.page import ORDER
from gameway.experiments.scoreboard.page import page as page_of
from gameway.sweep import suite

if TYPE_CHECKING:
    from gameway.compare import Comparison
    from gameway.results import Results

CONTROLLERS = {"pudica", "gcc", "copa", "nada", "salsify", "scream", "sqp", "fixed", "oracle"}
KINDS = ("none", "nack", "adaptive")
UNREPAIRED = ("against-bbr", "against-cubic", "cellular", "shallow-buffer", "steps")
"""Parts that have no repair in the short form."""
STEADY = ("cellular", "constant", "deep-buffer", "jitter", "random-loss", "shallow-buffer")
"""Parts in which nothing comes or goes: they last 20 s in the short form, in place of 60 s."""


class Form(NamedTuple):
    """What a form of the scoreboard has."""

    scenarios: int
    downloads: int
    """Of these, scenarios beside a download."""
    repaired: int
    """Of these, scenarios with repair as a factor."""


SHORT, WHOLE = Form(25, 6, 6), Form(45, 18, 36)
LONG = pytest.mark.long("test_scoreboard.py::test_every_controller_is_in_every_scenario")


@pytest.fixture(
    scope="module", params=[SHORT, pytest.param(WHOLE, marks=LONG)], ids=["short", "whole"]
)
def form(request: pytest.FixtureRequest) -> Form:
    found: Form = request.param
    return found


@pytest.fixture(scope="module")
def parts(form: Form, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Results]:
    less = [f"{name}:stream.0.repair=none" for name in UNREPAIRED]
    less += [f"{name}:duration=20 s" for name in STEADY]
    overrides = ["runs=1", *(less if form == SHORT else [])]
    small = load_suite(experiments.find("scoreboard")).with_overrides(overrides)
    return suite.run(small, tmp_path_factory.mktemp("scoreboard"))


@pytest.fixture(scope="module")
def comparison(parts: dict[str, Results]) -> Comparison:
    return compare_results(parts, "Scoreboard")


def test_every_controller_is_in_every_scenario(form: Form, comparison: Comparison) -> None:
    assert len(comparison.verdicts) == form.scenarios
    for verdict in comparison.verdicts:
        assert set(verdict.scenario.controllers) == CONTROLLERS
        assert len(verdict.judged) == len(CONTROLLERS) - 2


def test_streams_of_a_kind_have_the_same_controller(parts: dict[str, Results]) -> None:
    for part, streams in (("three-flows", 3), ("late-joiner", 2), ("rtt-unfairness", 2)):
        runs = load_suite(experiments.find("scoreboard")).parts[part]
        assert len(runs.stream) == streams
        assert parts[part].factor_values("controller")[0] == "pudica"
        assert parts[part].runs.height == len(CONTROLLERS)


def test_nobody_has_more_utilization_and_less_delay_than_the_oracle(
    form: Form, comparison: Comparison
) -> None:
    # Beside a download the oracle takes its fair share, but the download's queue and losses are
    # not for the oracle to avoid.
    alone = [verdict for verdict in comparison.verdicts if not verdict.scenario.competes]
    assert len(alone) == form.scenarios - form.downloads
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
    assert sum(beats) > form.scenarios


def test_what_repair_costs_is_told_of_every_controller(
    form: Form, parts: dict[str, Results]
) -> None:
    section = repair.section(parts)
    assert section is not None
    rows = section.tables[0].file_frame
    assert rows is not None
    assert rows.height == form.repaired * len(CONTROLLERS)
    assert section.tables[0].frame.height == form.repaired // len(KINDS) * len(CONTROLLERS)
    assert len(section.points) == len(KINDS)
    plain = rows.filter(repair="none")
    assert plain["more_bytes_percent"].to_list() == [0.0] * plain.height
    # A packet in a hundred is lost at random, and each is sent again once, some twice: of a fixed
    # rate that alters nothing else, and neither more nor less may be found.
    fixed = rows.filter(pl.col("controller").str.starts_with("fixed"), scenario="Random loss, 1 %")
    before, *repaired = (fixed.filter(repair=kind).row(0, named=True) for kind in KINDS)
    assert before["shown_fps"] < 50.0
    for after in repaired:
        assert 0.9 < after["loss_percent"] < 1.1
        assert 0.9 < after["more_bytes_percent"] < 1.2
        assert 59.5 < after["shown_fps"] <= 60.1
        assert after["frame_delay_p95_ms"] < before["frame_delay_p95_ms"]


def test_nothing_is_told_of_repair_where_it_is_no_factor(parts: dict[str, Results]) -> None:
    assert repair.section({"constant": parts["constant"]}) is None


def test_the_page_tells_all_scenarios_in_order(form: Form, parts: dict[str, Results]) -> None:
    page = page_of(parts)
    titles = [section.title for section in page.sections]
    assert titles[:2] == ["Who wins where", "What repair costs"]
    assert titles[-2:] == ["Behind the best", "Every pair"]
    assert len(titles) == form.scenarios + 4
    firsts = [str(parts[name].manifest["title"]) for name in ORDER]
    places = [next(i for i, t in enumerate(titles) if t.startswith(first)) for first in firsts]
    assert places == sorted(places)
    assert len(page.statement) == 3
