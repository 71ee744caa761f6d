"""Who wins where: intervals that hold what they promise, fair shares, verdicts, and the page."""

from __future__ import annotations

import math
import shutil
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

import gameway as gw
from gameway import compare
from gameway.cli import app
from gameway.compare import words
from gameway.compare.bootstrap import interval
from gameway.compare.measures import (
    DELAY_95,
    LOSS,
    MEASURES,
    MOS,
    RATED,
    UTILIZATION,
    picture_delays_ms,
)
from gameway.compare.page import marks
from gameway.compare.scenarios import SCHEMA, Scenario
from gameway.compare.shares import max_min, shares_in
from gameway.compare.verdict import Verdict
from gameway.experiment.suite import load_suite
from gameway.figures import theme
from gameway.figures.labels import LINE, Label, place
from gameway.figures.tradeoff import colours, within_reach
from gameway.metrics.source import Run
from gameway.metrics.windows import Window
from gameway.sweep import suite

if TYPE_CHECKING:
    from pathlib import Path

INFINITE = math.inf

# Intervals.


def test_the_interval_is_that_of_scipy_at_the_same_level() -> None:
    values = np.random.Generator(np.random.PCG64(5)).lognormal(0.0, 0.6, size=12)
    outer = math.sqrt(12 / 11) * stats.t.ppf(0.975, 11)
    level = 1.0 - 2.0 * stats.norm.cdf(-outer)
    assert level > 0.95
    theirs = stats.bootstrap(
        (values,), np.mean, confidence_level=level, n_resamples=20_000, method="BCa", rng=3
    ).confidence_interval
    ours = interval(values)
    width = theirs.high - theirs.low
    assert ours.low == pytest.approx(theirs.low, abs=0.05 * width)
    assert ours.high == pytest.approx(theirs.high, abs=0.05 * width)
    assert ours.mean == pytest.approx(values.mean())


def coverage(draw: Any, mean: float) -> float:
    found = [interval(draw()) for _ in range(400)]
    return float(np.mean([one.low <= mean <= one.high for one in found]))


def test_intervals_hold_what_they_promise() -> None:
    generator = np.random.Generator(np.random.PCG64(1))
    normal = coverage(lambda: generator.normal(size=10), 0.0)
    assert 0.92 < normal < 0.98
    # The mean of skewed data is harder to hold: the plain percentile interval has 0.80 here.
    skewed = coverage(lambda: generator.lognormal(size=10), math.exp(0.5))
    assert 0.83 < skewed < 0.95


def test_intervals_of_little() -> None:
    assert not interval(np.array([3.0])).known
    assert interval(np.array([3.0, math.nan])).runs == 1
    assert interval(np.array([])).runs == 0
    same = interval(np.array([2.0, 2.0, 2.0]))
    assert (same.low, same.mean, same.high) == (2.0, 2.0, 2.0)
    share = interval(np.array([0.0, 0.0, 0.0, 0.4, 0.1]))
    assert 0.0 <= share.low < share.mean < share.high <= 0.4
    assert interval(np.array([1.0, 4.0, 2.0])) == interval(np.array([1.0, 4.0, 2.0]))


# Fair shares.


@pytest.mark.parametrize(
    ("links", "wishes", "shares"),
    [
        ({"path": 30.0}, {"a": (INFINITE, "path"), "b": (INFINITE, "path")}, [15.0, 15.0]),
        # One wants less than its share: the other has the rest.
        ({"path": 30.0}, {"a": (5.0, "path"), "b": (INFINITE, "path")}, [5.0, 25.0]),
        # The parking lot: the long flow has a half of the narrower link.
        (
            {"path": 30.0, "hop": 10.0},
            {"long": (INFINITE, "path hop"), "a": (INFINITE, "path"), "b": (INFINITE, "hop")},
            [5.0, 25.0, 5.0],
        ),
        ({"path": 0.0}, {"a": (INFINITE, "path")}, [0.0]),
        ({}, {"a": (7.0, "")}, [7.0]),
    ],
)
def test_fair_shares_are_max_min(
    links: dict[str, float], wishes: dict[str, tuple[float, str]], shares: list[float]
) -> None:
    wanting = tuple((name, wish, tuple(way.split())) for name, (wish, way) in wishes.items())
    assert list(max_min(tuple(links.items()), wanting).values()) == pytest.approx(shares)


def run_of(tmp_path: Path, spec: dict[str, Any]) -> Run:
    run = Run("x", 0, tmp_path, {})
    object.__setattr__(run, "__dict__", {**run.__dict__, "spec": spec})
    return run


def test_shares_follow_who_is_there(tmp_path: Path) -> None:
    spec = {
        "duration": "4 s",
        "path": {"capacity": "16 Mb/s", "base_rtt": "20 ms"},
        "stream": [{"name": "game", "max_bitrate": "50 Mb/s"}],
        "competitor": [
            {"name": "download", "start": "1 s", "stop": "2 s"},
            {"name": "noise", "kind": "udp", "start": "3 s"},
        ],
    }
    starts = [index * 500_000_000 for index in range(8)]
    link = pl.DataFrame({"bin_start_ns": starts, "capacity_bytes": [1_000_000] * 8})
    rows = [("game", start, 500_000, 400_000) for start in starts]
    rows += [("noise", start, 200_000, 200_000) for start in starts[6:]]
    bins = pl.DataFrame(
        rows, schema=["flow", "bin_start_ns", "sent_bytes", "received_bytes"], orient="row"
    )
    found = shares_in(run_of(tmp_path, spec), bins, link, Window(0.0, 4.0))
    whole, half, rest = 1_000_000.0, 500_000.0, 800_000.0
    assert found.fair["game"].tolist() == [whole, whole, half, half, whole, whole, rest, rest]
    assert found.fair["download"][2:4].tolist() == [half, half]
    assert np.isnan(found.fair["download"][[0, 1, 4, 5, 6, 7]]).all()
    assert found.received["game"].sum() == 8 * 400_000
    assert found.steady == ["game", "download"]
    assert "noise" not in found.fair


def test_a_lost_frame_waits_for_the_next_picture() -> None:
    ms = 1_000_000
    rows = [
        ("a", 0, 1, 15, 16),
        # Complete, but what it builds on was lost.
        ("a", 10, 11, 25, None),
        # Never sent.
        ("a", 20, None, None, None),
        ("a", 30, 31, 50, 51),
        # Nothing is shown after it: it waits for the end of the stream.
        ("a", 40, 41, None, None),
        ("a", 1540, None, None, None),
        ("b", 5, 6, 9, 9),
        # In the last second of its stream, which stops before that of the other.
        ("b", 400, 401, None, None),
        ("b", 1200, 1201, 1209, 1210),
    ]
    names = ["stream", "captured_ns", "first_sent_ns", "complete_ns", "shown_ns"]
    frames = pl.DataFrame(rows, names, orient="row").with_columns(pl.col(names[1:]) * ms)
    found = picture_delays_ms(frames, Window(0.0, 2.0))
    assert found.tolist() == [14.0, 39.0, 30.0, 19.0, 1499.0, 3.0]
    assert picture_delays_ms(frames, Window(0.015, 0.035)).tolist() == [30.0, 19.0]


# Verdicts.


def scenario(values: dict[str, list[tuple[float, float]]], **more: Any) -> Scenario:
    """Controllers with utilization and frame delay of each seed; all else is the same."""
    rows = [
        {
            "controller": name,
            "seed": seed,
            **dict.fromkeys((one.name for one in MEASURES), 1.0),
            UTILIZATION.name: used,
            RATED: min(used, 100.0),
            DELAY_95.name: delay,
        }
        for name, runs in values.items()
        for seed, (used, delay) in enumerate(runs)
    ]
    told: dict[str, Any] = {"name": "It", "part": "It", "competes": False, "several": False}
    return Scenario(runs=pl.DataFrame(rows, schema=SCHEMA), **{**told, **more})


NOISE = (0.0, 3.0, -3.0, 5.0, -5.0, 1.0, -1.0, 2.0, -2.0, 4.0)
"""What the paths do to everybody: large beside the differences between controllers."""


def test_pairs_tell_apart_what_separate_intervals_do_not() -> None:
    runs = {
        "quick": [(90.0, 20.0 + n) for n in NOISE],
        "slow": [(90.0, 22.0 + n + 0.1 * (i % 2)) for i, n in enumerate(NOISE)],
    }
    verdict = Verdict(scenario(runs))
    quick, slow = (verdict.mean(name, DELAY_95) for name in ("quick", "slow"))
    assert quick.high > slow.low
    gap = verdict.worse_by("slow", "quick", DELAY_95)
    assert gap.mean == pytest.approx(2.05)
    assert 1.95 < gap.low < gap.mean < gap.high < 2.15
    ranking = verdict.ranking(DELAY_95)
    assert ranking is not None
    assert (ranking.best, ranking.shared) == ("quick", ["quick"])
    assert verdict.front == ["quick"]
    # Unpaired, the same numbers cannot be told apart.
    mixed = {"quick": runs["quick"], "slow": runs["slow"][5:] + runs["slow"][:5]}
    ranking = Verdict(scenario(mixed)).ranking(DELAY_95)
    assert ranking is not None
    assert ranking.shared == ["quick", "slow"]


def test_a_sure_difference_that_means_nothing_is_none() -> None:
    runs = {"a": [(90.0, 20.0 + n) for n in NOISE], "b": [(90.0, 20.5 + n) for n in NOISE]}
    verdict = Verdict(scenario(runs))
    assert verdict.worse_by("b", "a", DELAY_95).low > 0.0
    assert not verdict.is_worse("b", "a", DELAY_95)
    assert verdict.front == ["a", "b"]


def test_the_front_is_of_those_that_nobody_beats() -> None:
    runs = {
        "full": [(99.0, 60.0)] * 5,
        "quick": [(80.0, 20.0)] * 5,
        "between": [(90.0, 30.0)] * 5,
        "beaten": [(85.0, 40.0)] * 5,
        "fixed bitrate=1 Mb/s": [(5.0, 1.0)] * 5,
        "oracle": [(100.0, 15.0)] * 5,
    }
    verdict = Verdict(scenario(runs))
    assert verdict.front == ["quick", "between", "full"]
    assert verdict.judged == ["full", "quick", "between", "beaten"]
    assert verdict.limits == ["oracle"]
    assert marks(verdict, "beaten") == "TSJML"
    assert marks(verdict, "full") == "◆ UTSJML"
    assert marks(verdict, "oracle") == ""


def test_what_is_taken_beyond_the_share_is_no_merit() -> None:
    runs = {"greedy": [(180.0, 20.0)] * 5, "fair": [(100.0, 20.0)] * 5, "meek": [(60.0, 20.0)] * 5}
    ranking = Verdict(scenario(runs, competes=True)).ranking(UTILIZATION)
    assert ranking is not None
    assert ranking.shared == ["greedy", "fair"]
    assert ranking.behind["meek"].mean == pytest.approx(40.0)


def test_fixed_rates_are_judged_where_there_is_nothing_else() -> None:
    runs = {"fixed bitrate=1 Mb/s": [(5.0, 1.0)] * 3, "fixed bitrate=2 Mb/s": [(10.0, 3.0)] * 3}
    verdict = Verdict(scenario(runs))
    assert len(verdict.judged) == 2
    assert verdict.front == list(runs)


# Words.


def test_sentences_can_be_quoted() -> None:
    runs = {
        "quick": [(90.0, 20.0 + n) for n in NOISE],
        "next": [(91.0, 22.0 + n) for n in NOISE],
        "oracle": [(99.0, 15.0)] * 10,
    }
    first, second, *_, front = words.sentences(Verdict(scenario(runs)))
    assert first.startswith('In "It", quick has the least 95th percentile frame delay (20.4 [')
    assert "], before next with 2.00 [2.00, 2.00] ms more." in first.replace(" ms)", "]")
    assert first.endswith("The limit (oracle): 15.0 [15.0, 15.0] ms.")
    assert "next has the most utilization (91.0 [91.0, 91.0] % of the capacity)" in second
    assert "quick (90.0 [90.0, 90.0] % at 20.4 [" in front
    assert "ms) or next (91.0 [91.0, 91.0] % at 22.4 [" in front


def test_one_run_has_no_interval_and_says_so() -> None:
    verdict = Verdict(scenario({"a": [(90.0, 20.0)], "b": [(90.0, 25.0)]}))
    assert words.estimate(verdict.mean("a", DELAY_95), "ms") == "20.0 ms"
    assert "no interval can be given" in words.caution(verdict)
    assert verdict.front == ["a"]
    few = Verdict(scenario({"a": [(90.0, 20.0)] * 3, "b": [(90.0, 25.0)] * 3}))
    assert "too narrow" in words.caution(few)
    enough = Verdict(scenario({"a": [(90.0, 20.0)] * 10, "b": [(90.0, 25.0)] * 10}))
    assert words.caution(enough) == ""


def test_wins_are_counted_by_what_is_on_the_link() -> None:
    runs = {"a": [(90.0, 20.0)] * 5, "b": [(95.0, 30.0)] * 5}
    kinds: list[dict[str, Any]] = [{}, {"several": True}, {"competes": True}, {"competes": True}]
    alone, several, beside = words.overall([Verdict(scenario(runs, **kind)) for kind in kinds])
    assert alone.startswith("One stream alone (one scenario), wins alone or shared: frame delay")
    assert several.startswith("Several streams of a kind (one scenario)")
    assert "Beside other traffic (2 scenarios)" in beside
    assert "frame delay p95: a 2; utilization: b 2;" in beside
    assert "Pareto front: a 2, b 2." in beside
    nothing = Verdict(scenario({"a": [(90.0, 20.0), (90.0, 20.001)], "b": [(90.0, 20.0)] * 2}))
    assert "-0.00" not in words.estimate(nothing.difference("b", "a", DELAY_95))


def test_a_baseline_far_away_does_not_squeeze_the_others() -> None:
    def points(used: float) -> pl.DataFrame:
        rows = [
            ("a", "judged", 90.0, 20.0),
            ("b", "limit", 98.0, 30.0),
            ("f", "baseline", used, 25.0),
        ]
        return pl.DataFrame(rows, ["controller", "role", "utilization", "p95"], orient="row")

    near, none = within_reach(points(86.0), ["p95"])
    assert (near.height, none.height) == (3, 0)
    near, far = within_reach(points(20.0), ["p95"])
    assert near["controller"].to_list() == ["a", "b"]
    assert far["controller"].to_list() == ["f"]


# The figure.


def overlaps(boxes: list[tuple[float, float, float, float]]) -> int:
    return sum(
        min(a[2], b[2]) - max(a[0], b[0]) > 0.5 and min(a[3], b[3]) - max(a[1], b[1]) > 0.5
        for a, b in combinations(boxes, 2)
    )


def test_nine_names_find_their_places_in_a_crowd() -> None:
    generator = np.random.Generator(np.random.PCG64(2))
    names = [*theme.CONTROLLERS, "fixed", "oracle"]
    for _ in range(20):
        points = generator.normal((200.0, 160.0), 25.0, size=(9, 2))
        labels = [Label(n, x, y) for n, (x, y) in zip(names, points, strict=True)]
        placed = [one.box for one in place(labels, 400.0, 320.0)]
        assert overlaps(placed) == 0
        assert all(box[0] >= 0 and box[2] <= 400 and 0 <= box[1] <= 320 - LINE for box in placed)
    # On the same point they would all cover each other at the nearest place.
    assert overlaps([Label(n, 0, 0).covered[0] for n in names]) == 36


def test_controllers_keep_their_colours_and_share_none() -> None:
    def domain(*names: str) -> list[str]:
        found: list[str] = colours(names).to_dict()["domain"]
        assert set(names) <= set(found)
        assert len(set(found)) == len(found)
        return found

    assert domain("copa", "pudica").index("copa") == domain(*theme.CONTROLLERS).index("copa")
    mine = domain("Mine gain=0.2", "Mine gain=0.1", "pudica", "scream ecn=off", "scream")
    assert mine.index("pudica") == 0
    assert mine.index("scream") == theme.CONTROLLERS.index("scream")
    assert len(mine) == len(theme.CONTROLLERS)
    assert domain("scream ecn=off").index("scream ecn=off") == mine.index("scream")
    assert len(domain(*theme.CONTROLLERS, "a", "b", "c")) == len(theme.CATEGORIES["light"])


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255.0 for at in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("mode", theme.MODES)
def test_every_controller_has_a_colour_that_can_be_read(mode: theme.Mode) -> None:
    colours = theme.CATEGORIES[mode]
    assert len(set(colours)) >= len(theme.CONTROLLERS)
    ground = luminance(theme.BACKGROUND[mode])
    for colour in colours:
        light, dark = sorted((luminance(colour), ground), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 2.6


# Folders.

LINKS = """
title = "Links"
duration = "6 s"
runs = 3
controller = ["pudica", "gcc", "oracle"]
[path]
capacity = ["10 Mb/s", "20 Mb/s"]
base_rtt = "16 ms"
[[stream]]
"""


def write(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    file = folder / f"{name}.toml"
    file.write_text(text, encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def links(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("links")
    gw.run(gw.load(write(folder, "links", LINKS)), folder / "out")
    return folder


def test_a_folder_is_compared_condition_by_condition(links: Path) -> None:
    found = compare.compare([links / "out"])
    names = [verdict.scenario.name for verdict in found.verdicts]
    assert names == ["Links, capacity 10 Mb/s", "Links, capacity 20 Mb/s"]
    table = found.table
    assert table.height == 6
    assert table["frame_delay_p95_ms_runs"].to_list() == [3] * 6
    assert (table[f"{LOSS.name}_low"] >= 0.0).all()
    assert (table[f"{UTILIZATION.name}"] < 101.0).all()
    # Controllers pass through the same link as the metrics say.
    runs = gw.metrics.per_run_table(gw.Results.open(links / "out"))
    mean = runs.filter(controller="gcc", capacity="10 Mb/s")["run_bitrate_mbps"].mean()
    ours = table.filter(controller="gcc", scenario=names[0])[UTILIZATION.name].item()
    assert ours == pytest.approx(10.0 * float(str(mean)), rel=0.02)
    scores = runs.filter(controller="gcc", capacity="10 Mb/s")["run_mos"].mean()
    assert table.filter(controller="gcc", scenario=names[0])[MOS.name].item() == scores


def test_folders_with_the_same_work_stand_beside_each_other(links: Path, tmp_path: Path) -> None:
    other = LINKS.replace('["pudica", "gcc", "oracle"]', '["sqp", "gcc"]').replace("Links", "Mine")
    gw.run(gw.load(write(tmp_path, "mine", other)), tmp_path / "mine")
    found = compare.compare([links / "out", tmp_path / "mine"])
    assert len(found.verdicts) == 2
    wanted = ["pudica", "gcc (out)", "oracle", "sqp", "gcc (mine)"]
    for verdict in found.verdicts:
        assert sorted(verdict.scenario.controllers) == sorted(wanted)
        assert verdict.difference("gcc (out)", "gcc (mine)", DELAY_95).mean == 0.0
        assert verdict.difference("gcc (out)", "sqp", DELAY_95).runs == 3
    # Another path is another scenario.
    far = write(tmp_path, "far", LINKS.replace("16 ms", "40 ms"))
    gw.run(gw.load(far), tmp_path / "far-out")
    assert len(compare.compare([links / "out", tmp_path / "far-out"]).verdicts) == 4


def test_repeats_over_a_spread_of_base_rtts_are_one_scenario(tmp_path: Path) -> None:
    text = LINKS.replace('"16 ms"', '"16 ms"\nbase_rtt_spread = ["5 %", "10 %"]')
    text = text.replace('["10 Mb/s", "20 Mb/s"]', '"20 Mb/s"').replace('"6 s"', '"2 s"')
    text += 'name = "near"\n[[stream]]\nname = "far"\nbase_rtt = "25 ms"\n'
    gw.run(gw.load(write(tmp_path, "spread", text)), tmp_path / "out")
    found = compare.compare([tmp_path / "out"])
    names = [verdict.scenario.name for verdict in found.verdicts]
    assert names == ["Links, base RTT spread 5 %", "Links, base RTT spread 10 %"]
    assert found.table["frame_delay_p95_ms_runs"].to_list() == [3] * 6
    paired = [verdict.difference("gcc", "pudica", DELAY_95).runs for verdict in found.verdicts]
    assert paired == [3, 3]
    # One base RTT, or another one of a stream, is another scenario.
    plain = text.replace('\nbase_rtt_spread = ["5 %", "10 %"]', "")
    for name, changed in (("plain", plain), ("farther", text.replace("25 ms", "26 ms"))):
        gw.run(gw.load(write(tmp_path, name, changed)), tmp_path / name)
        both = compare.compare([tmp_path / "out", tmp_path / name]).verdicts
        assert len(both) == {"plain": 3, "farther": 4}[name]


def test_a_scenario_is_named_by_what_tells_it_from_the_others(tmp_path: Path) -> None:
    text = LINKS.replace(
        'base_rtt = "16 ms"',
        """base_rtt = "16 ms"
jitter = [{ deviation = "1 ms" }, { kind = "periodic", delay = "9 ms", interval = "90 ms" }]
queue = { kind = "drop-tail", size = ["20 ms", "40 ms"] }""",
    )
    text = text.replace('["10 Mb/s", "20 Mb/s"]', '"20 Mb/s"').replace('"6 s"', '"2 s"')
    gw.run(gw.load(write(tmp_path, "names", text)), tmp_path / "out")
    names = [verdict.scenario.name for verdict in compare.compare([tmp_path / "out"]).verdicts]
    assert len(names) == 4
    assert "Links, queue size 20 ms, jitter kind normal" in names
    assert "Links, queue size 40 ms, jitter kind periodic" in names


def test_a_suite_is_compared_part_by_part(tmp_path: Path) -> None:
    flows = LINKS.replace("Links", "Two").replace('["10 Mb/s", "20 Mb/s"]', '"20 Mb/s"')
    flows += 'name = "first"\n[[stream]]\nname = "late"\nstart = "2 s"\n'
    write(tmp_path / "s", "flows", flows)
    beside = LINKS.replace("Links", "Beside").replace('["10 Mb/s", "20 Mb/s"]', '"20 Mb/s"')
    write(tmp_path / "s", "beside", beside + '[[competitor]]\nstart = "2 s"\n')
    suite.run(load_suite(tmp_path / "s"), tmp_path / "out")
    found = {v.scenario.name: v for v in compare.compare([tmp_path / "out"]).verdicts}
    assert list(found) == ["Beside", "Two"]
    assert (found["Two"].scenario.several, found["Beside"].scenario.competes) == (True, True)
    for verdict in found.values():
        fair = verdict.scenario.runs["jain_index"]
        assert (fair > 0.5).all()
        assert (fair <= 1.0).all()
    assert found["Beside"].mean("oracle", UTILIZATION).mean == pytest.approx(97.0, abs=6.0)
    assert found["Two"].mean("oracle", UTILIZATION).mean == pytest.approx(97.0, abs=6.0)


def test_the_command_writes_page_figures_and_tables(
    links: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    app.compare([links / "out"], tmp_path / "page", no_report=False)
    told = capsys.readouterr().out
    assert "Who wins where" in told
    assert "Pareto front" in told
    assert "page/report.html" in told.replace("\n", "")
    files = {file.name for file in (tmp_path / "page" / "report-files").iterdir()}
    for scenario_name in ("links-capacity-10-mb-s", "links-capacity-20-mb-s"):
        assert {f"{scenario_name}.svg", f"{scenario_name}.pdf", f"{scenario_name}.csv"} <= files
        assert f"{scenario_name}-table.csv" in files
    differences = pl.read_csv(tmp_path / "page" / "report-files" / "differences.csv")
    measures = differences["measure"].n_unique()
    assert differences.height == 2 * 3 * measures
    assert measures >= 6
    known = differences.filter(pl.col("pairs") == 3)
    assert ((known["low"] <= known["difference"]) & (known["difference"] <= known["high"])).all()
    svg = (tmp_path / "page" / "report-files" / "links-capacity-10-mb-s.svg").read_text("utf-8")
    assert all(name in svg for name in ("pudica", "gcc", "oracle"))


def test_a_page_says_what_was_run_and_what_is_missing(links: Path, tmp_path: Path) -> None:
    folder = tmp_path / "half"
    gw.run(gw.load(links / "links.toml"), folder)
    made = compare.compare([folder]).page
    assert (dict(made.facts)["Runs"], made.warning) == ("half 18 of 18", "")
    assert {"Seeds", "Gameway", "Machine"} <= set(dict(made.facts))
    shutil.rmtree(next((folder / "runs").glob("gcc*r01*")))
    made = compare.compare([folder]).page
    assert (dict(made.facts)["Runs"], made.warning) == (
        "half 17 of 18",
        "1 of 18 runs are not finished.",
    )


def test_what_is_no_result_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(gw.InputError, match="not a result folder"):
        compare.compare([tmp_path])
