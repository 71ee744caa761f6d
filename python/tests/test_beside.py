"""Simulated and live means side by side: the verdict has both sides, and a twin that must fail."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from typer.testing import CliRunner

import gameway as gw
from gameway import report
from gameway.beside import TOLERANCES, Row, Side, Tolerance, compare, sections, testbed, twin
from gameway.beside.measures import OF_VIDEOS
from gameway.beside.warnings import warning
from gameway.cli import app, reports
from gameway.live import schema

if TYPE_CHECKING:
    from pathlib import Path

TEXT = """
title = "Two sides"
duration = "12 s"
runs = 2
[path]
capacity = "25 Mb/s"
base_rtt = "20 ms"
[[stream]]
controller = ["pudica", "gcc"]
[[competitor]]
congestion_control = "cubic"
start = "2 s"
stop = "11 s"
[ping]
interval = "200 ms"
"""
LATE = {"window_start_ns": 0, "part": "link", "sum_ns": 0, "wake_ups": 0}


def made_live(folder: Path, capacity: str, late_ns: int = 50_000) -> gw.Results:
    """A folder as of a live run: in truth simulated, on a link of `capacity`."""
    experiment = gw.loads(TEXT)
    named = gw.run(experiment, folder / "simulated")
    gw.run(experiment.with_overrides([f"path.capacity={capacity}"]), folder / "other")
    manifest = named.manifest | {"driver": "live", "live": {"kernel": "6.1", "tools": {}}}
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    others = json.loads((folder / "other" / "manifest.json").read_text(encoding="utf-8"))
    for run, other in zip(manifest["runs"], others["runs"], strict=True):
        place = folder / "runs" / run["id"]
        shutil.copytree(folder / "other" / "runs" / other["id"], place)
        spec = folder / "simulated" / "runs" / run["id"] / "spec.json"
        shutil.copy(spec, place / "spec.json")
        for name, columns in schema.LIVE_ONLY.items():
            schema.empty(columns).write_parquet(place / f"{name}.parquet")
        late = LATE | {"lateness_low_ns": 0, "lateness_high_ns": late_ns, "packets": 100}
        rows = schema.shaped(pl.DataFrame([late]), schema.LATENESS)
        rows.write_parquet(place / "lateness.parquet")
    shutil.rmtree(folder / "other")
    return gw.Results.open(folder)


@pytest.fixture(scope="module")
def same(tmp_path_factory: pytest.TempPathFactory) -> gw.Results:
    return made_live(tmp_path_factory.mktemp("same"), "25 Mb/s")


@pytest.fixture(scope="module")
def slower(tmp_path_factory: pytest.TempPathFactory) -> gw.Results:
    return made_live(tmp_path_factory.mktemp("slower"), "20 Mb/s", late_ns=2_000_000)


def rows_of(results: gw.Results) -> list[Row]:
    simulated = twin.twin_of(results)
    assert simulated is not None
    return compare(simulated, results)


def test_the_same_is_within_in_every_metric(same: gw.Results) -> None:
    rows = rows_of(same)
    of_others = {one.metric for one in TOLERANCES} - set(OF_VIDEOS)
    assert {row.tolerance.metric for row in rows} == of_others
    assert {row.flow for row in rows} == {"game", "download", "path"}
    assert all(row.within and row.difference == 0.0 for row in rows)
    throughput = [row for row in rows if row.tolerance.metric == "throughput_mbps"]
    assert len(throughput) == 2
    assert all(1.0 < row.simulated.mean < 25.0 and row.simulated.runs == 2 for row in throughput)


def test_a_live_link_of_20_beside_a_simulated_one_of_25_is_outside(slower: gw.Results) -> None:
    rows = rows_of(slower)
    outside = {row.tolerance.metric for row in rows if not row.within}
    assert {"throughput_mbps", "bitrate_mbps"} <= outside
    assert re_statement(rows).startswith(f"{sum(row.within for row in rows)} of {len(rows)} means")


def re_statement(rows: list[Row]) -> str:
    told = sections.statement(rows)
    assert "Outside: " in told
    return told


@pytest.mark.parametrize("one", TOLERANCES, ids=lambda one: one.metric)
def test_a_tolerance_has_two_sides_and_a_reason(one: Tolerance) -> None:
    for mean in (0.0, 20.0, 200.0):
        allowed = one.allowed(mean)
        assert one.within(mean, mean + 0.99 * allowed)
        assert one.within(mean, mean - 0.99 * allowed)
        assert not one.within(mean, mean + 1.01 * allowed)
        assert not one.within(mean, mean - 1.01 * allowed)
    assert not one.within(20.0, math.nan)
    assert not one.within(math.nan, 20.0)
    assert len(one.reason) > 20


def test_the_page_has_both_sides_and_the_flags(slower: gw.Results, same: gw.Results) -> None:
    page = report.write(slower, slower.path / "report.html", save_files=False)
    text = page.read_text(encoding="utf-8")
    assert "Simulated and live" in text
    assert "OUTSIDE" in text
    assert "In 4 of 4 runs packets left too late" in text
    assert "TOO LATE" in text
    other = report.write(same, same.path / "report.html", save_files=False)
    clean = other.read_text(encoding="utf-8")
    assert "Simulated and live" in clean
    assert "OUTSIDE" not in clean
    assert "TOO LATE" not in clean
    assert "packets left too late" not in clean


@pytest.mark.parametrize(("slow", "told"), [(1, False), (3, True)])
def test_encoding_slower_than_the_frames_is_told(
    same: gw.Results, tmp_path: Path, slow: int, *, told: bool
) -> None:
    shutil.copytree(same.path, tmp_path / "live")
    live = gw.Results.open(tmp_path / "live")
    # A frame at 60 frames/s has 16.67 ms; 2 in 100 may be slower.
    times = [17_000_000] * slow + [16_000_000] * (100 - slow)
    columns = schema.LIVE_ONLY["pictures"]
    unknown = dict.fromkeys(columns)
    rows = [unknown | {"stream": "game", "encode_ns": ns} for ns in times]
    pictures = schema.shaped(pl.DataFrame(rows), columns)
    pictures.write_parquet(live.path / "runs" / live.finished_ids()[0] / "pictures.parquet")
    assert ("In 1 of 4 runs encoding took longer" in warning(live)) is told
    assert ("for up to 3 % of a stream's frames" in warning(live)) is told


def test_a_report_that_checks_fails_where_a_mean_is_outside(
    same: gw.Results, slower: gw.Results, tmp_path: Path
) -> None:
    def code(*arguments: str) -> int:
        return CliRunner().invoke(app.app, ["report", *arguments]).exit_code

    assert code(str(same.path), "--check") == 0
    assert code(str(slower.path)) == 0
    assert code(str(slower.path), "--check") == 1
    alone = tmp_path / "alone"
    shutil.copytree(same.path, alone, ignore=shutil.ignore_patterns(twin.FOLDER))
    with pytest.raises(gw.InputError, match="has nothing to check"):
        reports.outside(alone)


def test_a_report_can_stand_beside_results_of_another_folder(
    same: gw.Results, slower: gw.Results, tmp_path: Path
) -> None:
    # What the slower link had as its runs, taken as simulated: it lies beside the quicker one.
    for other, outside in ((same, False), (slower, True)):
        page = report.write(same, tmp_path / "x.html", save_files=False, beside=other)
        text = page.read_text(encoding="utf-8")
        assert ("OUTSIDE" in text) is outside
        assert "means over 2 simulated and 2 live runs of each condition" in text


def test_a_mean_of_one_run_has_no_interval() -> None:
    one = TOLERANCES[0]
    row = Row({}, "download", one, Side(20.0, math.nan, 1), Side(20.5, math.nan, 1))
    assert row.within
    assert row.difference == pytest.approx(0.5)


def side(mean: float, deviation: float, runs: int) -> Side:
    return Side(mean, math.nan, runs, deviation)


@pytest.mark.parametrize(
    ("simulated", "live", "verdict"),
    [
        # 5 % of 20 Mb/s are allowed, 1.0.
        (side(20.0, 0.1, 4), side(20.9, 0.1, 3), sections.WITHIN),
        (side(20.0, 0.1, 4), side(21.5, 0.1, 3), sections.OUTSIDE),
        # t has 3 degrees of freedom: 3.18 * 0.5 * sqrt(1/4 + 1) is 1.78, with 0.1 it is 0.36.
        (side(20.0, 0.5, 4), side(22.7, math.nan, 1), sections.UNDECIDED),
        (side(20.0, 0.5, 4), side(22.9, math.nan, 1), sections.OUTSIDE),
        (side(20.0, 0.1, 4), side(18.5, math.nan, 1), sections.OUTSIDE),
        # What scatters may be within by chance alone, too: the verdict is about the means.
        (side(20.0, 5.0, 4), side(20.9, 5.0, 3), sections.WITHIN),
        (side(20.0, math.nan, 1), side(21.5, math.nan, 1), sections.UNDECIDED),
        (side(20.0, 0.0, 4), side(21.5, 0.0, 3), sections.OUTSIDE),
        (side(20.0, 5.0, 4), side(math.nan, math.nan, 0), sections.OUTSIDE),
    ],
)
def test_outside_by_less_than_chance_is_undecided(
    simulated: Side, live: Side, verdict: str
) -> None:
    row = Row({}, "download", TOLERANCES[0], simulated, live)
    assert sections.verdict(row) == verdict
    told = sections.statement([row])
    assert ("Outside: " in told) is (verdict == sections.OUTSIDE)
    assert ("more runs" in told) is (verdict == sections.UNDECIDED)


def test_the_twin_has_the_lateness_of_its_live_run_as_jitter_and_stalls(
    same: gw.Results, tmp_path: Path
) -> None:
    live = tmp_path / "live"
    shutil.copytree(same.path, live)
    shutil.rmtree(live / twin.FOLDER)
    runs = sorted((live / "runs").iterdir())
    low, high = {"lateness_low_ns": 0}, {"lateness_low_ns": 40_000, "lateness_high_ns": 50_000}
    low |= {"lateness_high_ns": 10_000, "sum_ns": 0}
    high |= {"sum_ns": 0}
    stall = {"lateness_low_ns": 800_000, "lateness_high_ns": 1_000_000, "sum_ns": 0}
    for index, run in enumerate(runs):
        rows = [
            low | {"window_start_ns": 0, "part": "link", "packets": 80, "wake_ups": 75},
            low | {"window_start_ns": 1, "part": "link", "packets": 900, "wake_ups": 100},
            high | {"window_start_ns": 0, "part": "link", "packets": 50, "wake_ups": index},
            high | {"window_start_ns": 0, "part": "host", "packets": 9000, "wake_ups": 8000},
            stall | {"window_start_ns": 1, "part": "link", "packets": 99, "wake_ups": 5 * index},
            stall | {"window_start_ns": 0, "part": "host", "packets": 99, "wake_ups": 99},
        ]
        schema.shaped(pl.DataFrame(rows), schema.LATENESS).write_parquet(run / "lateness.parquet")
        (run / "pings.parquet").unlink()
    experiment = gw.loads(TEXT)
    simulated = twin.simulate(experiment, live)
    specs = {
        name: json.loads((simulated.path / "runs" / name / "spec.json").read_text())
        for name in simulated.finished_ids()
    }
    assert len(specs) == len(runs) * twin.RUNS_TO_A_LIVE_ONE
    found: Counter[Path] = Counter()
    of = {run["id"]: run for run in simulated.manifest["runs"]}
    for name, spec in specs.items():
        # Two live runs of each condition: even repeats are of the first, odd ones of the second.
        condition, repeat = name.split("_r")[0], of[name]["repeat"]
        (own,) = (run for run in runs if run.name.startswith(f"{condition}_r{repeat % 2:02}_"))
        buckets = [["0 ns", "10000 ns", 175], ["40000 ns", "50000 ns", runs.index(own)]]
        jitter = {"kind": "histogram", "buckets": buckets, "times": 2}
        assert spec["path"]["jitter"] == spec["path"]["back"]["jitter"] == jitter
        # In 12 s; longer than they were seen by half the time from wake-up to wake-up.
        wake_ups = 175 + 6 * runs.index(own)
        longer = 12_000_000_000 // (2 * wake_ups)
        lengths = [[f"{800_000 + longer} ns", f"{1_000_000 + longer} ns", 5 * runs.index(own)]]
        assert spec["path"].get("stalls") == (
            {
                "interval": f"{12_000_000_000 // (5 * runs.index(own))} ns",
                "lengths": lengths,
                "connections": "50 %",
            }
            if runs.index(own)
            else None
        )
        found[own] += 1
    assert found == dict.fromkeys(runs, twin.RUNS_TO_A_LIVE_ONE)
    jittery = {"duration": "12 s", "path": {"jitter": {"deviation": "1 ms"}}}
    assert testbed.added_to_path(jittery, runs[1]) == {}
    assert testbed.added_to_path({"path": {}}, None) == {}


def test_the_example_of_docs_live_md_finds_its_names() -> None:
    # In a fresh interpreter: here other modules have imported what the package itself must.
    script = "from gameway import beside; beside.twin.simulate; beside.frame; beside.compare"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_the_twin_takes_for_key_frames_what_key_frames_took(tmp_path: Path) -> None:
    # The second waited in the pacer, the fourth never left, the fifth was not encoded.
    rows = [
        (0, 0, True, 5, 15),
        (1, 16, False, 28, 9),
        (2, 33, True, 36, 6),
        (3, 50, False, None, 8),
        (4, 66, False, None, None),
    ]
    frames = [
        {
            "stream": "game",
            "frame": frame,
            "captured_ns": at,
            "key_frame": key,
            "first_sent_ns": sent,
        }
        for frame, at, key, sent, _ in rows
    ]
    pictures = [
        {"stream": "game", "frame": frame, "encode_ns": took} for frame, _, _, _, took in rows
    ]
    pl.DataFrame(frames).write_parquet(tmp_path / "frames.parquet")
    pl.DataFrame(pictures).write_parquet(tmp_path / "pictures.parquet")
    # The first frame opened the encoder, which no later key frame does.
    assert twin.encode_times("game", tmp_path) == {
        "encode_times": [
            ["0 ns", "5 ns", "15 ns"],
            ["16 ns", "9 ns", "9 ns"],
            ["50 ns", "8 ns", "8 ns"],
        ],
        "key_frame_encode_times": [["33 ns", "3 ns", "6 ns"]],
    }
    pl.DataFrame(frames[:2]).write_parquet(tmp_path / "frames.parquet")
    assert list(twin.encode_times("game", tmp_path)) == ["encode_times"]
    assert twin.encode_times("other", tmp_path) == {}


@pytest.mark.parametrize(
    ("rtts_ns", "constant_ns"),
    [
        # 20.2 ms instead of 20: a quarter for each of four wake-ups, of which 10 us is lateness.
        ([20_200_000, 25_000_000, None], 40_000),
        # Faster than the lateness that all had, or held up by a queue: nothing is known.
        ([20_020_000], 0),
        ([20_500_000], 0),
        ([None], 0),
    ],
)
def test_what_the_devices_take_is_told_by_the_fastest_ping(
    rtts_ns: list[int | None], constant_ns: int, tmp_path: Path
) -> None:
    rows = {"sent_ns": list(range(len(rtts_ns))), "rtt_ns": rtts_ns}
    pl.DataFrame(rows, schema=schema.PINGS).write_parquet(tmp_path / "pings.parquet")
    path: dict[str, Any] = {"capacity": "25 Mb/s", "base_rtt": "20 ms"}
    assert testbed.constant_ns(path, tmp_path, 10_000) == constant_ns
    # Over Wi-Fi it is the time of frames on the air, which the twin's medium has itself.
    path["capacity"] = {"wifi": {"generation": "802.11ac"}}
    assert testbed.constant_ns(path, tmp_path, 10_000) == 0
