"""Pudica's evaluation: paths, measures, laws, and a small form of its runs."""

from __future__ import annotations

import json
import math
import statistics
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

import gameway as gw
from gameway import _core, experiments
from gameway.experiment.suite import load_suite
from gameway.experiments.pudica import laws, paths, published
from gameway.experiments.pudica import page as own
from gameway.experiments.pudica.claims import drains_in_time, is_fair, min_delay
from gameway.experiments.pudica.drains import drain_of, drains
from gameway.experiments.pudica.estimates import estimate_groups
from gameway.experiments.pudica.phases import trajectories
from gameway.experiments.pudica.sessions import convergence, fair_after, sessions, steady_after
from gameway.experiments.pudica.statistics import Change, bootstrap, paired_change, verdict
from gameway.experiments.pudica.tables import VARIANTS, agreement, tables
from gameway.metrics.series import Bitrates
from gameway.report import suite as suite_page
from gameway.sweep import suite

if TYPE_CHECKING:
    from pathlib import Path

    from gameway.page import Page
    from gameway.results import Results

SUITE = experiments.folder() / "pudica"
TWO_PATHS = """
duration = "3 s"
runs = 2

[[stream]]
controller = ["fixed", "pudica"]

[[path]]
capacity = "10 Mb/s"
base_rtt = "10 ms"
jitter = { deviation = "1 ms" }

[[path]]
capacity = "20 Mb/s"
base_rtt = "20 ms"
queue = { kind = "drop-tail", size = ["1 bdp", "2 bdp"] }
"""


def test_paths_are_an_axis() -> None:
    runs = gw.expand(gw.loads(TWO_PATHS))
    # Two controllers, (one path + one path with two queues), two repeats.
    assert len(runs) == 2 * 3 * 2
    found = {json.dumps(run.spec["path"], sort_keys=True) for run in runs}
    assert len(found) == 3
    assert {run.factors["capacity"] for run in runs} == {"10 Mb/s", "20 Mb/s"}
    assert sum("jitter" in run.spec["path"] for run in runs) == 4
    for run in runs:
        _core.check_spec(json.dumps(run.spec))


# The population.


def test_the_population_is_what_its_head_says() -> None:
    drawn = paths.population()
    rtts = [path.base_rtt_ms for path in drawn]
    assert 9.0 < statistics.median(rtts) < 11.0
    assert 0.85 <= sum(rtt < 20.0 for rtt in rtts) / len(rtts) <= 0.95
    capacities = [path.capacity_mbps for path in drawn]
    assert min(capacities) < 17.0
    assert max(capacities) > 140.0
    assert 43.0 < statistics.median(capacities) < 52.0
    unsteady = {access: sum(bool(p.reductions) for p in drawn if p.access == access)
                for access in ("ethernet", "wifi")}  # fmt: skip
    assert unsteady == {"ethernet": 1, "wifi": 7}
    for path in drawn:
        ends = [0.0]
        for start, stop, share in path.reductions:
            assert ends[-1] < start < stop < paths.DURATION_S
            assert 0.2 <= share <= 0.5
            ends.append(stop)


def test_a_seed_gives_one_population_and_another_seed_another() -> None:
    assert paths.population() == paths.population()
    assert paths.population() != paths.population(seed=1)


@pytest.mark.parametrize("part", ["one-flow", "three-flows", "three-at-once"])
def test_the_parts_hold_the_population(part: str) -> None:
    text = (SUITE / f"{part}.toml").read_text(encoding="utf-8")
    assert text.endswith(paths.toml(paths.population()))
    assert paths.toml(paths.population(seed=1)) not in text


# Measures.


def flat(*levels: tuple[float, float]) -> np.ndarray:
    """A bitrate in bins of 0.5 s: (seconds, Mb/s) one after the other."""
    return np.concatenate([np.full(round(seconds * 2), mbps) for seconds, mbps in levels])


def of(**flows: np.ndarray) -> Bitrates:
    return Bitrates(0.5 * np.arange(float(len(next(iter(flows.values()))))), flows)


def test_a_flow_is_steady_two_seconds_after_it_stops_changing() -> None:
    steps = of(a=flat((1.0, 5.0), (1.0, 10.0), (1.0, 15.0), (5.0, 20.0)))
    assert steady_after(steps, "a", 0.0) == pytest.approx(5.0)
    slow = of(a=10.0 * 1.025 ** np.arange(0.0, 20.0, 0.5))
    assert steady_after(slow, "a", 0.0) is None
    slower = of(a=10.0 * 1.015 ** np.arange(0.0, 20.0, 0.5))
    assert steady_after(slower, "a", 0.0) == pytest.approx(2.0)


def test_flows_are_fair_when_close_or_all_steady() -> None:
    apart = np.linspace(0.0, 12.0, 40)
    closing = of(a=20.0 - apart, b=10.0 + apart / 3.0)
    found = fair_after(closing, 0.0)
    assert found is not None
    # b is 80 % of a where 10 + x / 3 = 0.8 (20 - x): x = 5.3, after 8.7 s, as a mean over 2 s.
    assert 9.0 < found < 10.5
    assert fair_after(of(a=flat((9.0, 20.0)), b=flat((9.0, 5.0))), 0.0) == pytest.approx(2.0)
    growing = 1.03 ** np.arange(20.0)
    assert fair_after(of(a=20.0 * growing, b=5.0 * growing), 0.0) is None


def queue_of(*spans: tuple[float, float]) -> pl.DataFrame:
    """Frames 10 ms apart: (queue, target) each."""
    return pl.DataFrame(
        {
            "captured_s": [0.01 * number for number in range(len(spans))],
            "queue_ms": [queue for queue, _ in spans],
            "target_mbps": [target for _, target in spans],
        }
    )


def test_a_drain_is_from_the_cut_to_the_empty_queue() -> None:
    before = [(0.0, 30.0)] * 10
    rise = [(20.0 * number, 30.0 if number < 3 else 26.0) for number in range(6)]
    fall = [(80.0, 10.0), (40.0, 10.0), (1.5, 10.0), (0.5, 10.0), (0.0, 14.0)]
    found = drain_of(queue_of(*before, *rise, *fall), 0.1, 1.0)
    assert found["peak_ms"] == pytest.approx(100.0)
    assert found["cut_ms"] == pytest.approx(60.0)  # 26 of 30 is a fallback, 10 is a cut
    assert found["empty_ms"] == pytest.approx(90.0)
    assert found["drain_ms"] == pytest.approx(30.0)
    assert drain_of(queue_of(*before, *rise), 0.1, 1.0)["empty_ms"] is None


def test_intervals_tell_a_difference_from_none() -> None:
    rng = np.random.default_rng(3)
    noise = rng.normal(0.0, 1.0, 40)
    assert bootstrap(noise + 1.0).sign == 1
    assert bootstrap(noise - 1.0).sign == -1
    assert bootstrap(noise - noise.mean()).sign == 0
    width = bootstrap(noise).high - bootstrap(noise).low
    # A normal interval of the mean is 2 * 1.96 / sqrt(40) = 0.62 wide.
    assert 0.45 < width < 0.8
    assert math.isnan(bootstrap(noise[:3]).low)


def test_pairs_are_of_one_path() -> None:
    keys = {"pair": ["x", "y", "z"] * 2, "controller": ["a"] * 3 + ["b"] * 3}
    rows = pl.DataFrame(keys | {"value": [1.0, 2.0, 3.0, 30.0, 10.0, 20.0]})
    assert paired_change(rows, "value", "b", "a").mean == pytest.approx(18.0)
    without = rows.filter((pl.col("controller") == "a") | (pl.col("pair") != "x"))
    assert paired_change(without, "value", "b", "a").mean == pytest.approx(12.5)


def test_verdicts() -> None:
    more, less, unclear = Change(1, 0.5, 2), Change(-1, -2, -0.5), Change(0.1, -1, 1)
    assert verdict(more, 20.0, 18.0) == "agrees"
    assert verdict(less, 20.0, 18.0) == "differs"
    assert verdict(unclear, 20.0, 18.0) == "not clear"
    assert verdict(unclear, 18.01, 18.0) == "agrees (equal)"
    assert verdict(more, 18.01, 18.0) == "published: equal"


# What was published, and the laws.


def test_published_values_are_those_of_the_paper() -> None:
    assert published.value("3", "bur-of-sqp", "frame_delay_p99_ms") == 39.0
    assert published.value("4", "ai/md", "jain_fairness") == 0.944
    assert published.value("fig10", "copa", "utilization_percent") == 70.8
    assert published.value("3", "nobody", "frame_delay_p99_ms") is None
    variants = published.values().filter(pl.col("table").is_in(["3", "4", "5", "6"]))["variant"]
    assert set(variants) == set(VARIANTS)


def test_simultaneous_increase_and_decrease_is_fair_sooner() -> None:
    found = {law: laws.summary(law) for law in laws.LAWS}
    steps = {law: found[law]["steps to Jain 0.99"] for law in found}
    assert 200 <= steps["ai/md"] <= 280
    assert 30 <= steps["pudica"] < steps["linear"] <= 45
    over = {law: found[law]["of them above capacity"] for law in found}
    assert over["pudica"] <= over["linear"] < over["ai/md"]
    for law in laws.LAWS:
        used = found[law]["mean utilization then, %"]
        assert isinstance(used, float)
        assert 85.0 < used < 101.0


# A small form of the suite.

HOLD = 'kind = "pudica", hold = "10 Mb/s"'
SMALL = [
    "runs=1",
    "figure-07:duration=3 s",
    "figure-07:path.capacity=[33.333 Mb/s, 22.222 Mb/s]",
    f"figure-07:stream.probe.controller=[{{ {HOLD}, pace = 'burst', probes = 0 }}, {{ {HOLD} }}]",
    'figure-07:stream.rival.controller={ kind = "fixed", bitrate = "10 Mb/s" }',
    "figure-12:duration=18 s",
    'figure-12:controller=["pudica", "sqp"]',
    "figure-13:duration=60 s",
    'figure-13:controller=["pudica", { kind = "pudica", trigger = "corrected" }]',
    "figure-15:duration=12 s",
    "figure-16:duration=34 s",
    'figure-16:controller=["pudica", "nada"]',
    "figure-17:duration=34 s",
    'figure-17:controller=["pudica"]',
    'one-flow:controller=["pudica", "copa", { kind = "pudica", draining = "off" }]',
    'three-flows:controller=["pudica", "sqp"]',
    'three-at-once:controller=["pudica", { kind = "pudica", bur = "salsify" }]',
    "white-jitter:duration=34 s",
    'white-jitter:controller=["pudica"]',
    "white-jitter:path.jitter.deviation=[0 ms, 2 ms]",
]
FEW = (
    '[{ capacity = "20 Mb/s", base_rtt = "10 ms" }, '
    '{ capacity = "40 Mb/s", base_rtt = "20 ms", queue = { kind = "drop-tail", size = "100 ms" } }]'
)
POPULATIONS = ("one-flow", "three-flows", "three-at-once")


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of a small form of the suite, every part of it."""
    out: Path = tmp_path_factory.mktemp("pudica")
    whole = load_suite(SUITE).with_overrides(
        [*SMALL, *(f"{part}:path={FEW}" for part in POPULATIONS)]
    )
    suite.run(whole, out)
    return out


@pytest.fixture(scope="module")
def parts(small: Path) -> dict[str, Results]:
    return suite.open_parts(small)


@pytest.fixture(scope="module")
def page(small: Path) -> Page:
    return suite_page.page(small)


def test_every_part_is_on_the_page(page: Page, parts: dict[str, Results]) -> None:
    assert len(parts) == len(list(SUITE.glob("*.toml"))) == 11
    titles = [section.title.partition(":")[0] for section in page.sections]
    figures = [f"Figure {number}" for number in (7, 10, 12, 13, 15, 16, 17, 18)]
    assert titles == ["Claims", *figures, "Table 4", "Table 5", "Jitter of each packet"]
    assert not page.warning
    drawn = [figure.id for section in page.sections for figure in section.figures]
    assert len(drawn) == 9
    for section in page.sections:
        for figure in section.figures:
            for panel in figure.panels:
                rows = panel.chart.to_dict(validate=False)["datasets"].values()
                assert max(len(data) for data in rows) >= 4


def test_what_is_missing_leaves_the_rest(parts: dict[str, Results]) -> None:
    some = own.page({"figure-12": parts["figure-12"]})
    assert [section.title[:9] for section in some.sections] == ["Figure 12", "Figure 15"]
    assert len(some.statement) == 1


def test_a_run_that_ends_before_a_fall_claims_nothing(tmp_path: Path) -> None:
    settings = ["runs=1", "duration=4 s", 'controller=["pudica", "copa"]']
    part = load_suite(SUITE).only(["figure-12"]).with_overrides(settings)
    suite.run(part, tmp_path)
    made = suite_page.page(tmp_path)
    assert made.statement == []
    assert [section.title[:9] for section in made.sections] == ["Figure 12", "Figure 15"]


def test_probes_and_adaptive_paces_see_the_other_flow(parts: dict[str, Results]) -> None:
    means = dict(
        estimate_groups(parts["figure-07"])
        .filter(pl.col("truth") > 0.8)
        .group_by("estimator")
        .agg(pl.col("estimate").mean())
        .iter_rows()
    )
    assert 0.4 < means["burst"] < 0.5  # only its own half
    assert 0.75 < means["adaptive and probes"] < 1.05


def test_the_queue_is_drained_in_about_200_ms(parts: dict[str, Results]) -> None:
    rows = drains(parts["figure-12"])
    assert set(rows["fall"]) == {"30 to 15 Mb/s"}
    times = dict(rows.select("controller", "drain_ms").iter_rows())
    assert 100.0 < times["pudica"] < 230.0
    assert times["sqp"] > 350.0
    claim = drains_in_time(rows)
    assert claim is not None
    assert claim.holds
    slower = rows.with_columns(pl.col("drain_ms") * 2.0)
    assert not drains_in_time(slower).holds  # type: ignore[union-attr]


def test_three_staggered_flows_are_fair(parts: dict[str, Results]) -> None:
    rows = convergence(parts["figure-13"])
    index = dict(rows.select("controller", "jain_index").iter_rows())
    assert 0.95 < index["pudica"] <= 1.0
    assert index["pudica trigger=corrected"] < 0.9
    claim = is_fair("x", rows.with_columns(controller=pl.lit("pudica")).tail(1))
    assert claim is not None
    assert not claim.holds


def test_two_flows_approach_each_other(parts: dict[str, Results]) -> None:
    rows, times = trajectories(parts["figure-15"])
    own = rows.filter(pl.col("panel") == "pudica")
    gap = (own["first"] - own["second"]).abs()
    assert gap[1] > 0.4
    assert gap.tail(8).mean() < 0.35  # type: ignore[operator]
    assert 0.85 < (own["first"] + own["second"]).tail(8).mean() < 1.01  # type: ignore[operator]
    assert times.height == 2


def test_alone_pudica_keeps_the_queue_small(parts: dict[str, Results]) -> None:
    rows = sessions(parts["figure-16"], 10.0)
    delays = dict(rows.select("controller", "delay_p95_ms").iter_rows())
    # 20 ms round trip, and a frame's own 13 to 20 ms.
    assert 33.0 < delays["pudica"] < 45.0
    assert delays["nada"] > 55.0
    used = convergence(parts["figure-16"]).filter(pl.col("controller") == "pudica")
    assert 88.0 < used["utilization_percent"][0] < 96.0


def test_jitter_of_each_packet_costs_utilization(parts: dict[str, Results]) -> None:
    rows = convergence(parts["white-jitter"])
    factor = parts["white-jitter"].runs.select("jitter_deviation", run="id")
    used = dict(
        rows.join(factor, on="run").select("jitter_deviation", "utilization_percent").iter_rows()
    )
    assert 85.0 < used["0 s"] < 95.0
    assert 50.0 < used["2 ms"] < 75.0


def test_tables_put_published_beside_ours(parts: dict[str, Results]) -> None:
    rows = sessions(parts["three-at-once"])
    own = convergence(parts["three-at-once"]).drop("controller")
    found = tables("4", rows.join(own, on="run"))
    file = found[0].file_frame
    assert file is not None
    assert set(file["variant"]) == {"pudica", "pudica bur=salsify"}
    assert file.filter(pl.col("variant") == "pudica")["published"].to_list()[0] == 21.5
    blind = file.filter(pl.col("metric") == "frame_delay_p95_ms")
    assert 1.5 < blind["ours"][1] / blind["ours"][0] < 6.0
    assert sum(agreement("4", rows).values()) == 7
    assert tables("4", rows.filter(pl.col("controller") == "nobody")) == []


def test_claims_do_not_hold_by_themselves(parts: dict[str, Results]) -> None:
    rows = sessions(parts["one-flow"]).join(
        convergence(parts["one-flow"]).drop("controller"), on="run"
    )
    two = rows.filter(pl.col("controller").is_in(["pudica", "copa"]))
    # Two paths are too few for an interval: nothing is clear, so nothing may be claimed.
    assert not any(claim.holds for claim in min_delay("x", two)[:2])
    many = pl.concat([two.with_columns(pl.col("pair") + str(n)) for n in range(5)])
    assert [claim.holds for claim in min_delay("x", many)[:2]] == [True, True]
    swapped = many.with_columns(pl.col("controller").replace({"pudica": "copa", "copa": "pudica"}))
    assert not any(claim.holds for claim in min_delay("x", swapped)[:2])
