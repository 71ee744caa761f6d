"""Both sides of the link: what players and viewers saw over time, who paid, and how it is told."""

from __future__ import annotations

import itertools
import json
from io import StringIO
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from rich.console import Console

import gameway as gw
from gameway import figures, report
from gameway.cli import terminal
from gameway.figures.viewers import shown_conditions
from gameway.metrics import both_sides, video_summary_table, video_table
from gameway.metrics.paid import compared, joined_spans, paid_table
from gameway.metrics.source import finished_runs, runs_by_condition
from gameway.report import paid

if TYPE_CHECKING:
    from pathlib import Path

    from gameway.metrics.source import Run

HOME = """
duration = "60 s"
runs = 2
seed = 4
controller = "pudica"
[path]
capacity = "12 Mb/s"
base_rtt = "16 ms"
queue = { kind = "drop-tail", size = "2 bdp" }
[[stream]]
[[competitor]]
name = "film"
kind = "dash"
start = "10 s"
stop = "50 s"
[[competitor]]
name = "series"
kind = "dash"
start = "15 s"
stop = "50 s"
[[competitor]]
name = "download"
start = "20 s"
stop = "30 s"
"""
ALONE = """
duration = "40 s"
path = { capacity = ["1.5 Mb/s", "8 Mb/s"], base_rtt = "16 ms" }
competitor = [{ name = "film", kind = "dash", start = "1 s", stop = "39 s" }]
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> gw.Results:
    return gw.run(gw.loads(HOME), tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> gw.Results:
    return gw.run(gw.loads(ALONE), tmp_path_factory.mktemp("alone"))


def of(rows: pl.DataFrame, series: str, flow: str) -> pl.DataFrame:
    return rows.filter(pl.col("series") == series, pl.col("flow") == flow)


def test_series_are_of_the_time_in_which_a_flow_is_there(home: gw.Results) -> None:
    seen = both_sides.over_time(finished_runs(home))
    assert seen.select("series", "flow").n_unique() == 4 + 1 + 2 + 2
    for series, flow, first, last in (
        ("bitrate", "game", 0.0, 59.5), ("bitrate", "film", 10.0, 49.5),
        ("bitrate", "download", 20.0, 29.5), ("frame_delay", "game", 0.0, 59.5),
        ("buffer", "series", 15.0, 49.5),
    ):  # fmt: skip
        times = of(seen, series, flow)["time_s"]
        assert (times.min(), times.max()) == (first, last), (series, flow)
    assert seen.select((pl.col("low") <= pl.col("mean")).all()).item()
    assert seen.select((pl.col("high") > pl.col("mean")).any()).item()


def test_a_level_is_the_last_that_came_on_the_screen(home: gw.Results) -> None:
    run = finished_runs(home)[0]
    shown = run.table("segments").filter(pl.col("flow") == "film").drop_nulls("displayed_ns")
    level = of(both_sides.over_time([run]), "level", "film")
    begun = shown["displayed_ns"].min() / 1e9
    assert begun <= level["time_s"].min() < begun + 0.5
    for time, value in level.select("time_s", "mean").rows():
        before = shown.filter(pl.col("displayed_ns") <= time * 1e9).sort("displayed_ns")
        assert value == before["level"][-1]
    assert level["mean"].n_unique() > 1


def test_long_runs_have_longer_steps(home: gw.Results, monkeypatch: pytest.MonkeyPatch) -> None:
    run = finished_runs(home)[0]
    fine = of(both_sides.over_time([run]), "bitrate", "film")
    monkeypatch.setattr(both_sides, "MAX_STEPS", 30)
    coarse = of(both_sides.over_time([run]), "bitrate", "film")
    assert (fine.height, coarse.height) == (80, 20)
    assert coarse["mean"].mean() == pytest.approx(fine["mean"].mean())


def test_halts_are_those_of_the_metrics(alone: gw.Results) -> None:
    metrics = {row["capacity"]: row for row in video_table(alone).iter_rows(named=True)}
    for runs in runs_by_condition(alone):
        own = metrics[runs[0].factors["capacity"]]
        found = both_sides.halts(runs).with_columns(length=pl.col("to_s") - pl.col("from_s"))
        for kind, seconds in (
            (both_sides.STARTUP, own["startup_s"]), (both_sides.INTERRUPTED, own["interrupted_s"]),
        ):  # fmt: skip
            assert found.filter(kind=kind)["length"].sum() == pytest.approx(seconds, abs=1e-5)
    assert metrics["1.5 Mb/s"]["interruptions"] > 0
    assert metrics["8 Mb/s"]["interruptions"] == 0


def test_halts_of_several_runs_are_counted_where_they_overlap(
    alone: gw.Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = finished_runs(alone)
    spans = dict(
        zip((run.id for run in runs), ([(1.0, 4.0)], [(2.0, 3.0), (6.0, 7.0)]), strict=True)
    )

    def made_up(run: Run, _: Any) -> list[tuple[str, float, float]]:
        return [(both_sides.INTERRUPTED, *span) for span in spans[run.id]]

    monkeypatch.setattr(both_sides, "_halts", made_up)
    found = both_sides.halts(runs).select("from_s", "to_s", "runs").rows()
    assert found == [(1.0, 2.0, 1), (2.0, 3.0, 2), (3.0, 4.0, 1), (6.0, 7.0, 1)]


def test_phases_with_and_without_videos_have_the_same_other_flows(home: gw.Results) -> None:
    pair = compared(finished_runs(home)[0])
    assert pair is not None
    assert list(pair.flows) == ["game", "film", "series"]
    spans = [[(s.start_s, s.stop_s) for s in joined_spans(p)] for p in (pair.beside, pair.without)]
    assert spans == [[(10.0, 20.0), (30.0, 50.0)], [(0.0, 10.0), (50.0, 60.0)]]


def test_what_is_lost_is_what_the_tables_have(home: gw.Results) -> None:
    rows = {row["flow"]: row for row in paid_table(home).iter_rows(named=True)}
    assert list(rows) == ["game", "film", "series"]
    game, film = rows["game"], rows["film"]
    shares = [
        100.0 * (1.0 - beside / alone)
        for run in finished_runs(home)
        for beside, alone in [(rate(run, [(10, 20), (30, 50)]), rate(run, [(0, 10), (50, 60)]))]
    ]
    # Phases leave out their first sixth for bitrates.
    assert game["lost_percent"] == pytest.approx(sum(shares) / len(shares), abs=8.0)
    assert 20.0 < game["lost_percent"] < 90.0
    assert game["fps_without"] == pytest.approx(60.0, abs=1.0)
    assert game["fps"] <= game["fps_without"]
    assert film["could_mbps"] == 10.0, "12 Mb/s carry no 17.5"
    assert film["lost_percent"] == pytest.approx(100.0 * (1.0 - film["has_mbps"] / 10.0))
    assert 2.0 <= film["has_mbps"] <= 5.0
    held = sum(row["held_percent"] for row in rows.values())
    # Three flows at most of a full link, each over its own phases: not exactly 300.
    assert 150.0 < held < 310.0


def rate(run: Run, spans: list[tuple[int, int]]) -> float:
    """Mean bitrate of the game in spans, Mb/s."""
    time = pl.col("bin_start_ns") / 1e9
    inside = pl.any_horizontal((time >= start) & (time < stop) for start, stop in spans)
    bins = run.table("bins").filter(pl.col("flow") == "game").filter(inside)
    seconds = sum(stop - start for start, stop in spans)
    return float(bins["received_bytes"].sum()) * 8e-6 / seconds


def test_the_sentence_names_who_paid(home: gw.Results, tmp_path: Path) -> None:
    (said,) = paid.sentences(home)
    # Two runs have wide intervals; four are enough to tell.
    assert said.startswith("Player and viewer paid alike, as far as these runs tell. With film")
    four = gw.run(gw.loads(HOME).with_overrides(["runs=4"]), tmp_path / "four")
    assert paid.sentences(four)[0].startswith("Player and viewer paid, the player more. With film")
    for text in ("film or series (10 to 20 and 30 to 50 s)", "(0 to 10 and 50 to 60 s)", " ± "):
        assert text in said
    # One that is small beside its link loses nothing, and so only the viewer can have paid.
    settings = [
        "runs=1", "path.capacity=40 Mb/s", 'controller={ kind = "fixed", bitrate = "6 Mb/s" }',
        "competitor.series.start=10 s",
    ]  # fmt: skip
    small = gw.run(gw.loads(HOME).with_overrides(settings), tmp_path / "small")
    (said,) = paid.sentences(small)
    assert said.startswith("The viewer paid. With film")
    assert " ± " not in said


def test_what_is_not_measured_is_not_told(alone: gw.Results, tmp_path: Path) -> None:
    for said in paid.sentences(alone):
        assert "With film (1 to 39 s)" in said
        assert "paid" not in said
    settings = ["runs=1", "competitor.film.start=0 s", "competitor.film.stop=60 s"]
    always = gw.run(gw.loads(HOME).with_overrides(settings), tmp_path / "always")
    (said,) = paid.sentences(always)
    assert "never without a video" in said
    assert "paid" not in said


@pytest.mark.parametrize("name", ["home", "alone"])
def test_report_and_timeline_show_what_the_viewer_saw(
    name: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    results = request.getfixturevalue(name)
    html = report.write(results, tmp_path / "report.html", save_files=False).read_text("utf-8")
    assert "Both sides of the link over time" in html
    assert all(said.replace("&", "&amp;") in html for said in paid.sentences(results))
    chart = json.dumps(figures.both_sides(results).to_dict())
    single = json.dumps(figures.run_timeline(results, results.runs["id"][0]).to_dict())
    for title in ("Level on screen", "Buffer (s)"):
        assert title in chart
        assert title in single
    assert "start-up" in chart
    assert ("Frame delay" in chart) == (name == "home")
    if name == "alone":
        one = figures.both_sides(results, {"capacity": "8 Mb/s"})
        assert len(json.dumps(one.to_dict())) < len(chart)


def test_without_a_video_nothing_is_shown_of_one(home: gw.Results, tmp_path: Path) -> None:
    settings = ["runs=1", "duration=10 s", "competitor.film.kind=tcp", "competitor.series.kind=tcp"]
    times = [f"competitor.{n}.{k}=8 s" for n in ("film", "series", "download") for k in ("stop",)]
    times += [f"competitor.{n}.start=2 s" for n in ("film", "series", "download")]
    plain = gw.run(gw.loads(HOME).with_overrides([*settings, *times]), tmp_path / "plain")
    assert shown_conditions(plain) == []
    assert "Level on screen" not in json.dumps(
        figures.run_timeline(plain, plain.runs["id"][0]).to_dict()
    )
    with pytest.raises(ValueError, match="no finished run"):
        figures.both_sides(plain)
    assert len(shown_conditions(home)) == 1


def test_many_conditions_show_one_of_each_controller(tmp_path: Path) -> None:
    settings = [
        "runs=1", "duration=3 s", 'controller=["pudica", "gcc", "copa"]',
        'path.base_rtt=["10 ms", "20 ms", "30 ms"]',
    ]  # fmt: skip
    times = [f"competitor.{n}.{k}={v} s" for n in ("film", "series", "download")
             for k, v in (("stop", 3), ("start", 0))]  # fmt: skip
    many = gw.run(gw.loads(HOME).with_overrides([*settings, *times]), tmp_path / "many")
    found = [where for where, _ in shown_conditions(many)]
    assert found == [{"controller": name} for name in ("pudica", "gcc", "copa")]


@pytest.mark.parametrize(("columns", "factors"), [(80, 1), (80, 3), (200, 3)])
def test_the_table_of_videos_fits_a_terminal(columns: int, factors: int, home: gw.Results) -> None:
    printed = StringIO()
    console = Console(width=columns, file=printed)
    names = [f"factor_{number}" for number in range(factors)]
    own = video_summary_table(home)
    made_up = (
        {name: pl.lit(f"{name} {value}") for name, value in zip(names, values, strict=True)}
        for values in itertools.product("ab", repeat=factors)
    )
    rows = pl.concat([own.with_columns(**values) for values in made_up])
    console.print(terminal.fitting(console, lambda layout: terminal.videos(rows, names, layout)))
    text = printed.getvalue()
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= columns
    for told in (
        "film",
        "series",
        "level",
        "switches",
        "interrupted",
        "start-up",
        *rows[names[-1]],
    ):
        assert told in text
    mean, half = (rows[name][0] for name in ("quality_level", "quality_level_ci95"))
    assert f"{mean:.1f}" in text
    assert f"± {half:.1f}" in text


@pytest.mark.parametrize(("columns", "there"), [(80, False), (200, True)])
def test_a_narrow_table_leaves_out_what_follows_from_another_factor(
    columns: int, there: bool, home: gw.Results
) -> None:
    printed = StringIO()
    console = Console(width=columns, file=printed)
    kinds, rtts = ("codel", "htb", "pie"), ("10 ms", "20 ms")
    own = video_summary_table(home)
    rows = pl.concat(
        own.with_columns(
            rtt=pl.lit(rtt),
            size=pl.lit(f"{len(kind)} packets"),
            kind=pl.lit(kind),
            ceil_of_the_first_class=pl.lit("20 Mb/s" if kind == "htb" else None, pl.String),
        )
        for kind, rtt in itertools.product(kinds, rtts)
    )
    names = ["rtt", "size", "kind", "ceil_of_the_first_class"]
    console.print(terminal.fitting(console, lambda layout: terminal.videos(rows, names, layout)))
    text = printed.getvalue()
    assert max(map(len, text.splitlines())) <= columns
    for told in ("film", *kinds, *rtts):
        assert told in text
    # The kind of queue tells what else there is of it.
    for told in ("packets", "20 Mb/s"):
        assert (told in text) is there
