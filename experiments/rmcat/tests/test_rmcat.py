"""RFC 8867's cases: the files, the figures by which they are judged, a short form of the runs."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import gameway as gw
from gameway import _core, experiments
from gameway.experiment.suite import load_suite
from gameway.experiments.rmcat import cases, page
from gameway.experiments.rmcat.criteria import Criterion, mean_of
from gameway.experiments.rmcat.observed import Observed
from gameway.experiments.rmcat.rows import PART, marked_rows, rows_of
from gameway.metrics.quantities import megabits_per_second, seconds
from gameway.sweep import suite

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from gameway.results import Results

    Rates = Mapping[str, Callable[[float], float]]

SUITE = load_suite(experiments.folder() / "rmcat")
BASIC = {f"5.{number}" for number in range(1, 9)}
WIRED = {f"3.1-{letter}" for letter in "abcde"}
SCALE = 20.0


# The files.


def test_every_case_is_there_at_both_rates() -> None:
    wanted = {*BASIC, *WIRED, "6.1", "6.3", *(f"6.2-{case}" for case in BASIC)}
    assert set(SUITE.parts) == {f"{case}-{scale}" for case in wanted for scale in ("rfc", "gaming")}
    assert {case.id for case in cases.CASES} == {*BASIC, *WIRED, "6.1", "6.3"}


def specs(part: str) -> list[dict[str, Any]]:
    return [run.spec for run in gw.expand(SUITE.parts[part])]


@pytest.mark.parametrize("part", SUITE.parts)
def test_every_part_can_run(part: str) -> None:
    for spec in specs(part):
        _core.check_spec(json.dumps(spec))


def capacities(path: dict[str, Any]) -> list[float]:
    """Every capacity of a path, Mb/s."""
    tables = [path, *path.get("hop", []), path.get("back", {})]
    found = [table["capacity"] for table in tables if "capacity" in table]
    steps = (each["steps"] if isinstance(each, dict) else [["0 s", each]] for each in found)
    return [megabits_per_second(rate) for own in steps for _, rate in own]


def media_rates(spec: dict[str, Any]) -> list[float]:
    names = ("min_bitrate", "start_bitrate", "max_bitrate")
    return [megabits_per_second(stream[name]) for stream in spec["stream"] for name in names]


def times(spec: dict[str, Any]) -> list[tuple[Any, ...]]:
    return [
        (one["name"], one.get("start"), one.get("stop"), one.get("base_rtt"), str(one.get("pause")))
        for one in spec["stream"]
    ]


@pytest.mark.parametrize("part", [name for name in SUITE.parts if name.endswith("-rfc")])
def test_a_game_has_twenty_times_the_rates_and_the_same_times(part: str) -> None:
    first, game = (specs(name)[0] for name in (part, part.replace("-rfc", "-gaming")))
    for rates in (media_rates, lambda spec: capacities(spec["path"])):
        assert rates(game) == pytest.approx([SCALE * rate for rate in rates(first)])
    assert times(game) == times(first)
    assert game["duration"] == first["duration"]
    assert game["path"]["base_rtt"] == first["path"]["base_rtt"]


def test_rates_are_those_of_the_rfc() -> None:
    assert capacities(specs("5.1-rfc")[0]["path"]) == [1.0, 2.5, 0.6, 1.0]
    assert capacities(specs("5.2-rfc")[0]["path"]) == [4.0, 2.0, 3.5, 1.0, 2.0]
    assert capacities(specs("5.3-rfc")[0]["path"]) == [2.0, 1.0, 0.5, 2.0, 2.0, 0.8, 2.0]
    assert capacities(specs("6.3-rfc")[0]["path"]) == [2.0, 8.0, 1.5]
    assert media_rates(specs("5.1-rfc")[0]) == [0.15, 0.15, 1.5]
    rtts = [seconds(stream["base_rtt"]) for stream in specs("5.5-rfc")[0]["stream"]]
    assert rtts == [0.02, 0.05, 0.1, 0.2, 0.3]
    assert {seconds(spec["path"]["base_rtt"]) for spec in specs("5.1-rfc")} == {0.1, 0.2}
    assert {spec["path"]["queue"]["size"] for spec in specs("5.6-rfc")} == {"300 ms", "1 s"}


# The figures, on tables made by formula.


def observed(
    rates: Rates,
    *,
    capacity: Callable[[float], float] = lambda _: 1.0,
    duration_s: float = 100.0,
    waits_ms: tuple[float, ...] = (10.0,),
    dropped: int = 0,
    **spec: Any,
) -> Observed:
    """A run whose flows have the given rates over time, in Mb/s; of 1000 packets, some dropped."""
    bins = [
        {"bin_start_ns": round(t * 5e8), "flow": flow, "received_bytes": round(rate(t / 2) * 62500),
         "sent_packets": 1000, "dropped_packets": dropped, "lost_packets": 0}
        for t in range(round(2 * duration_s))
        for flow, rate in rates.items()
    ]  # fmt: skip
    link = [
        {"bin_start_ns": round(t * 5e8), "link": "path",
         "capacity_bytes": round(capacity(t / 2) * 62500),
         "transmitted_bytes": round(sum(rate(t / 2) for rate in rates.values()) * 62500)}
        for t in range(round(2 * duration_s))
    ]  # fmt: skip
    waits = [
        {"window_start_ns": 0, "flow": flow, "delay_low_ns": round(wait * 1e6),
         "delay_high_ns": round(wait * 1e6), "packets": 100, "sum_ns": 0}
        for flow in rates
        for wait in waits_ms
    ]  # fmt: skip
    names = spec.pop("media", list(rates))
    streams = [{"name": n, "max_bitrate": "1.5 Mb/s", "min_bitrate": "150 kb/s"} for n in names]
    whole = {"duration": f"{duration_s} s", "path": {"capacity": "1 Mb/s"}, "stream": streams}
    tables = (pl.DataFrame(rows) for rows in (bins, link, waits))
    return Observed(whole | spec, *tables)


def constant(rate: float) -> Callable[[float], float]:
    return lambda _: rate


def met(criterion: Criterion, run: Observed, twin: Observed | None = None) -> bool:
    return criterion.judged(criterion.measure(run, twin)).met


def alternating(mean: float, swing: float) -> Callable[[float], float]:
    return lambda t: mean * (1.0 + swing * (-1.0) ** round(2.0 * t))


STEPS = {"capacity": {"steps": [["0 s", "1 Mb/s"], ["40 s", "2.5 Mb/s"], ["60 s", "600 kb/s"]]}}


def step(t: float) -> float:
    return 1.0 if t < 40.0 else 2.5 if t < 60.0 else 0.6


@pytest.mark.parametrize(("share", "good"), [(0.9, True), (0.74, False)])
def test_use_is_of_what_media_can_have_in_each_phase(share: float, good: bool) -> None:
    # In the second phase the stream's own limit of 1.5 Mb/s counts, not the capacity.
    run = observed({"a": lambda t: share * min(step(t), 1.5)}, capacity=step, path=STEPS)
    assert run.used_by_phase() == pytest.approx([100.0 * share] * 3, abs=0.1)
    assert met(cases.USE, run) is good


def test_one_phase_that_is_not_used_is_enough_to_fail() -> None:
    run = observed({"a": lambda t: 0.9 if t < 40.0 else 0.59}, capacity=step, path=STEPS)
    assert run.used_by_phase() == pytest.approx([90.0, 59 / 1.5, 59 / 0.6], abs=0.1)
    assert not met(cases.USE, run)


def test_the_first_half_of_a_phase_is_not_judged() -> None:
    late = observed({"a": lambda t: 0.1 if t < 50.0 else 1.0})
    too_late = observed({"a": lambda t: 0.1 if t < 75.0 else 1.0})
    assert met(cases.USE, late)
    assert not met(cases.USE, too_late)


def test_udp_is_not_there_for_media() -> None:
    udp: dict[str, Any] = {
        "competitor": [{"name": "cbr", "kind": "udp", "rate": "500 kb/s"}],
        "media": ["a"],
    }
    rates = {"a": constant(0.45), "cbr": constant(0.5)}
    assert observed(rates, **udp).used_by_phase() == pytest.approx([90.0], abs=0.1)
    assert observed(rates | {"cbr": constant(0.0)}, **udp).used_by_phase() == pytest.approx([45.0])


@pytest.mark.parametrize(("swing", "good"), [(0.15, True), (0.25, False)])
def test_variation_is_deviation_over_mean(swing: float, good: bool) -> None:
    run = observed({"a": alternating(0.8, swing)})
    assert run.variations_percent() == pytest.approx([100.0 * swing], rel=0.02)
    assert met(cases.VARIATION, run) is good


@pytest.mark.parametrize(("worst", "good"), [(90.0, True), (110.0, False)])
def test_delay_is_the_95th_percentile(worst: float, good: bool) -> None:
    run = observed({"a": constant(1.0)}, waits_ms=(*(10.0,) * 18, worst, 900.0))
    assert run.delay_p95_ms() == pytest.approx(worst)
    assert met(cases.DELAY, run) is good


def test_within_a_bucket_the_percentile_is_linear() -> None:
    bucket = {"window_start_ns": [0], "flow": ["a"], "delay_low_ns": [100_000_000],
              "delay_high_ns": [125_000_000], "packets": [100], "sum_ns": [0]}  # fmt: skip
    run = replace(observed({"a": constant(1.0)}), queue_delay=pl.DataFrame(bucket))
    assert run.delay_p95_ms() == pytest.approx(100.0 + 0.95 * 25.0)


@pytest.mark.parametrize(("dropped", "good"), [(9, True), (11, False)])
def test_loss_is_of_the_packets_sent(dropped: int, good: bool) -> None:
    run = observed({"a": constant(1.0)}, dropped=dropped)
    assert run.loss_percent() == pytest.approx(dropped / 10.0)
    assert met(cases.LOSS, run) is good


@pytest.mark.parametrize(("least", "good"), [(0.2, True), (0.15, False)])
def test_shares_are_within_three_times(least: float, good: bool) -> None:
    # What was before the last half of their common time does not count.
    run = observed({"a": constant(0.5), "b": lambda t: 0.01 if t < 50.0 else least})
    assert met(cases.SHARE, run) is good
    assert run.jain() == pytest.approx((0.5 + least) ** 2 / 2 / (0.25 + least**2), rel=1e-3)


def test_a_flow_that_has_nothing_is_no_fair_share() -> None:
    run = observed({"a": constant(0.5), "b": constant(0.0)})
    assert cases.SHARE.judged(cases.SHARE.measure(run, None)).worst == math.inf
    assert not met(cases.SHARE, run)


@pytest.mark.parametrize(("rate", "good"), [(0.9, True), (0.7, False)])
def test_what_is_kept_is_of_the_twin(rate: float, good: bool) -> None:
    run, twin = observed({"forward": constant(rate)}), observed({"forward": constant(1.0)})
    assert met(cases.KEPT, run, twin) is good
    assert not met(cases.KEPT, run)


TCP: dict[str, Any] = {"competitor": [{"name": "tcp", "kind": "tcp"}], "media": ["a"]}


@pytest.mark.parametrize(
    ("media", "tcp", "floor"), [(0.6, 1.2, True), (0.14, 1.5, True), (0.12, 1.5, False)]
)  # fmt: skip
def test_beside_a_tcp(media: float, tcp: float, floor: bool) -> None:
    run = observed({"a": constant(media), "tcp": constant(tcp)}, **TCP)
    assert met(cases.FLOOR, run) is floor
    # Told, not judged.
    assert cases.TCP_RATIO.measure(run, None) == pytest.approx([media / tcp], rel=1e-3)
    assert met(cases.TCP_RATIO, run)
    assert cases.TCP_RATIO.limit == "told, not judged"


@pytest.mark.parametrize(("until", "good"), [(54.0, True), (58.0, False)])
def test_below_the_floor_not_for_long(until: float, good: bool) -> None:
    run = observed({"a": lambda t: 0.05 if 50.0 <= t < until else 0.5})
    # A window of 2 s is below while less than a fifth of it is outside.
    assert run.below_floor_s() == pytest.approx(until - 50.0, abs=0.5)
    assert met(cases.NOT_FOR_LONG, run) is good


@pytest.mark.parametrize(("first", "good"), [(1.0, True), (0.6, False), (1.4, False)])
def test_a_weight_of_two_is_twice_the_rate(first: float, good: bool) -> None:
    rates = {"a": constant(first), "b": constant(0.5), "c": constant(0.5)}
    assert met(cases.WEIGHT, observed(rates)) is good
    equal = observed(rates | {"a": constant(0.5)})
    assert met(cases.NO_WEIGHT, observed(rates), equal)
    assert not met(cases.NO_WEIGHT, equal, observed(rates | {"a": constant(1.0)}))


def two_bottlenecks(rates: tuple[float, float, float]) -> Observed:
    """Case 6.3 with a path of 2 and a last hop of 1.5 Mb/s."""
    names = ("a", "b", "c")
    run = observed({n: constant(r) for n, r in zip(names, rates, strict=True)},
                   capacity=constant(2.0))  # fmt: skip
    last = run.link.with_columns(
        link=pl.lit("last"), capacity_bytes=pl.lit(93750, pl.Int64),
        transmitted_bytes=pl.lit(round((rates[0] + rates[2]) * 62500), pl.Int64),
    )  # fmt: skip
    first = run.link.with_columns(
        transmitted_bytes=pl.lit(round((rates[0] + rates[1]) * 62500), pl.Int64)
    )
    streams = [dict(s) for s in run.spec["stream"]]
    streams[1]["via"], streams[2]["via"] = "path", "last"
    return replace(run, link=pl.concat([first, last]), spec=run.spec | {"stream": streams})


def test_two_bottlenecks() -> None:
    fair = two_bottlenecks((0.75, 1.25, 0.75))
    assert cases.NOT_STARVED.measure(fair, None) == pytest.approx([1.0, 1.0, 1.0], rel=1e-3)
    assert met(cases.NOT_STARVED, fair)
    assert met(cases.USE_OF_LINKS, fair)
    starved = two_bottlenecks((0.2, 1.5, 1.2))
    assert not met(cases.NOT_STARVED, starved)
    assert met(cases.USE_OF_LINKS, starved)
    assert not met(cases.USE_OF_LINKS, two_bottlenecks((0.75, 0.5, 0.75)))


@pytest.mark.parametrize(
    ("rate", "wait", "dropped", "worse"),
    [
        (0.95, 5.0, 0, set()),
        (0.8, 5.0, 0, {"use"}),
        (1.0, 12.0, 0, {"delay"}),
        (1.0, 5.0, 2, {"loss"}),
    ],
)  # fmt: skip
def test_marks_are_not_worse(rate: float, wait: float, dropped: int, worse: set[str]) -> None:
    twin = observed({"a": constant(1.0)})
    run = observed({"a": constant(rate)}, waits_ms=(wait,), dropped=dropped)
    assert {one.name for one in cases.NOT_WORSE if not met(one, run, twin)} == worse


def test_unfair_with_marks_is_worse_only_beyond_what_was() -> None:
    share = cases.NOT_WORSE[-1]
    fair = observed({"a": constant(0.5), "b": constant(0.5)})
    unfair = observed({"a": constant(0.8), "b": constant(0.2)})
    assert not met(share, unfair, fair)
    assert met(share, unfair, unfair)


def test_what_cannot_be_measured_is_not_met() -> None:
    judged = cases.USE.judged([math.nan])
    assert (judged.known, judged.met) == (False, False)
    assert not cases.USE.judged([]).met


def test_figures_are_means_over_runs() -> None:
    mean = mean_of([cases.USE.judged([70.0, 90.0]), cases.USE.judged([90.0, 90.0])])
    assert mean.figures == (80.0, 90.0)
    assert mean.ranges == ((70.0, 90.0), (90.0, 90.0))
    assert mean.met


def test_runs_that_do_not_agree_are_told(parts: dict[str, Results]) -> None:
    row = replace(rows_of(parts)[0], runs=3, judged=(cases.USE.judged([90.0]),), runs_met=2)
    assert row.verdict == "met in 2 of 3"
    assert replace(row, runs_met=3).verdict == "met"
    missed = replace(row, judged=(cases.USE.judged([50.0]),))
    assert missed.verdict == "use 50.0 (met in 2 of 3)"
    assert replace(missed, runs_met=0).verdict == "use 50.0"


# A short form.


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Results]:
    out: Path = tmp_path_factory.mktemp("rmcat")
    wanted = ["5.1-rfc", "5.3-rfc", "5.6-rfc", "6.1-rfc", "6.2-5.1-rfc", "3.1-a-gaming"]
    plain = [f"{part}:controller=[nada, oracle]" for part in wanted if part[0] in "35"]
    settings = ["runs=1", *plain, "5.6-rfc:competitor.tcp.congestion_control=cubic"]
    settings += ["duration=22 s", "6.1-rfc:duration=46 s"]
    short = SUITE.only(wanted).with_overrides(settings)
    return suite.run(short, out)


def test_the_page_tells_of_each_case_and_controller(parts: dict[str, Results]) -> None:
    made = page.page(parts)
    titles = [section.title.split(" ")[0] for section in made.sections]
    assert titles == ["All", "5.1", "5.3", "5.6", "6.1", "3.1-a", "6.2", "What"]
    assert all(section.figures for section in made.sections[1:-1])
    misses = next(table for table in made.sections[0].tables if table.name == "misses").frame
    # The oracle: 5.1 in four conditions and 5.3 with a loss, and one upwards.
    assert misses.filter(controller="oracle")["loss"].item() == "0 of 6"
    assert "media/TCP" not in misses.columns
    first, second = made.statement[:2]
    # 5.1 with 2 x 2 conditions, 5.3, 5.6 with two queues.
    assert "RFC's rates, of 7 cases and conditions" in first
    assert "game's rates, of 1 cases and conditions: oracle 1" in second


def test_runs_are_judged_beside_their_twins(parts: dict[str, Results]) -> None:
    rows = {(row.case.id, row.condition, row.controller): row for row in rows_of(parts)}
    assert len([key for key in rows if key[0] == "5.3"]) == 2
    kept = rows["5.3", "", "oracle"].judged[0]
    assert kept.criterion.name == "kept"
    assert kept.figures[0] == pytest.approx(100.0, abs=8.0)
    # The oracle fills what it is given; NADA cannot within so short a time.
    use = {
        name: rows["5.1", "RTT 100 ms, jitter 5 ms", name].judged[0] for name in ("oracle", "nada")
    }
    assert use["oracle"].met
    assert use["nada"].figures[0] < use["oracle"].figures[0]


def test_marks_are_compared_with_none(parts: dict[str, Results]) -> None:
    rows = marked_rows(parts)
    assert [(row.condition, row.controller) for row in rows] == [
        ("marks above 25 ms", name) for name in ("nada", "scream ecn=classic", "scream ecn=l4s")
    ]
    assert all(one.known for row in rows for one in row.judged)


def test_a_part_of_another_name_is_left_alone(parts: dict[str, Results]) -> None:
    assert rows_of({"mine": parts["5.1-rfc"]}) == []
    assert PART.match("6.2-5.1-rfc") is not None
    assert PART.match("5.1-other") is None
