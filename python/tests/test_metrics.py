"""Metrics of made result folders, against closed forms."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from metrics_fixture import (
    Behaviour,
    Condition,
    FolderResults,
    Timing,
    game_bitrates,
    make_results,
)
from scipy import stats

from gameway.metrics import METRICS, per_run_table, summary_table
from gameway.metrics.adaptation import adaptation, adaptiveness
from gameway.metrics.catalogue import CONDITION_METRICS, metric_columns, metric_of_column
from gameway.metrics.frames import COLUMNS, GRACE_S, frame_metrics, frames_from
from gameway.metrics.quantities import natural_key, seconds
from gameway.metrics.statistics import difference_half_width, half_width, jain_index
from gameway.metrics.table import METRICS_FILE, frame_delay_table
from gameway.metrics.windows import Window, windows_of

if TYPE_CHECKING:
    from collections.abc import Callable

RUNS = 5
OFFSET = 0.1
# Repeats differ by OFFSET; sample variance of 0..4 is 2.5, t(0.975, 4) = 2.776445.
HALF_WIDTH = 2.776445 * OFFSET * math.sqrt(2.5) / math.sqrt(RUNS)


def condition(name: str = "pudica", **changes: Any) -> Condition:
    return Condition({"controller": name}, Behaviour(**changes), controller=name)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> FolderResults:
    folder = tmp_path_factory.mktemp("results")
    slow = condition("gcc", response_s=20.0, recovery_s=50.0)
    stubborn = condition("fixed", adjusted=20.0, competitor=5.0)
    lost = condition("lost", recovery_s=1000.0)
    return make_results(folder, [condition(), slow, stubborn, lost], runs=RUNS, offset_mbps=OFFSET)


@pytest.fixture(scope="module")
def summary(results: FolderResults) -> dict[str, dict[str, Any]]:
    rows = summary_table(results).iter_rows(named=True)
    return {row["controller"]: row for row in rows}


def test_windows_of_the_paper() -> None:
    spec = {"duration": "540 s", "competitor": [{"start": "185 s", "stop": "370 s"}]}
    windows = windows_of(spec)
    assert windows.original == Window(125.0, 185.0)
    assert windows.adjusted == Window(310.0, 370.0)
    assert windows.difference == Window(220.0, 370.0)
    assert windows.alone == Window(0.0, 185.0)


def test_windows_of_a_shorter_competition_shrink_in_proportion() -> None:
    spec = {"duration": "216 s", "competitor": [{"start": "74 s", "stop": "148 s"}]}
    windows = windows_of(spec)
    assert windows.original == Window(50.0, 74.0)
    assert windows.adjusted == Window(124.0, 148.0)
    assert windows.difference == Window(88.0, 148.0)


def test_windows_of_a_longer_competition_stay() -> None:
    spec = {"duration": "2000 s", "competitor": [{"start": "500 s", "stop": None}]}
    windows = windows_of(spec)
    assert windows.competing == Window(500.0, 2000.0)
    assert windows.adjusted == Window(1940.0, 2000.0)
    assert windows.difference == Window(535.0, 2000.0)


def test_several_competitors_compete_from_the_first_start_to_the_last_stop() -> None:
    flows = [{"start": "60 s", "stop": "90 s"}, {"start": "20 s", "stop": "70 s"}]
    assert windows_of({"duration": "100 s", "competitor": flows}).competing == Window(20.0, 90.0)


def test_bitrates_and_their_intervals(summary: dict[str, dict[str, Any]]) -> None:
    row = summary["pudica"]
    assert row["original_mbps"] == pytest.approx(20.0, abs=1e-6)
    assert row["adjusted_mbps"] == pytest.approx(10.0, abs=1e-6)
    assert row["game_mbps"] == pytest.approx(10.0, abs=1e-6)
    assert row["competitor_mbps"] == pytest.approx(13.0, abs=1e-6)
    assert row["game_mbps_ci95"] == pytest.approx(HALF_WIDTH, rel=1e-5)
    assert row["runs"] == RUNS


def test_bitrate_difference_ratio(summary: dict[str, dict[str, Any]]) -> None:
    assert summary["pudica"]["bitrate_difference_ratio"] == pytest.approx(-3.0 / 25.0, abs=1e-6)
    assert summary["fixed"]["bitrate_difference_ratio"] == pytest.approx(15.0 / 25.0, abs=1e-6)
    assert summary["pudica"]["bitrate_difference_ratio_ci95"] == pytest.approx(
        HALF_WIDTH / 25.0, rel=1e-4
    )


def test_response_and_recovery_times(summary: dict[str, dict[str, Any]]) -> None:
    row = summary["pudica"]
    assert row["response_s"] == 5.0
    assert row["recovery_s"] == 12.5
    assert row["response_s_per_run"] == 5.0
    assert row["response_s_per_run_ci95"] == pytest.approx(0.0)
    assert row["response_s_never_runs"] == 0


def test_never_is_null_and_not_nan(summary: dict[str, dict[str, Any]]) -> None:
    assert summary["fixed"]["response_s"] is None
    assert summary["fixed"]["response_s_never_runs"] == RUNS
    assert summary["fixed"]["recovery_s"] == 0.0
    assert summary["lost"]["recovery_s"] is None
    assert math.isnan(summary["lost"]["recovery_s_per_run"])
    assert summary["lost"]["response_s"] == 5.0


def test_adaptiveness_counts_never_as_its_window(summary: dict[str, dict[str, Any]]) -> None:
    # Longest: response 185 s ("fixed" never responds), recovery 170 s ("lost" never recovers).
    def expected(response: float, recovery: float) -> float:
        return 0.5 * (1 - response / 185.0) + 0.5 * (1 - recovery / 170.0)

    assert summary["pudica"]["adaptiveness"] == pytest.approx(expected(5.0, 12.5))
    assert summary["gcc"]["adaptiveness"] == pytest.approx(expected(20.0, 50.0))
    assert summary["fixed"]["adaptiveness"] == pytest.approx(expected(185.0, 0.0))
    assert summary["lost"]["adaptiveness"] == pytest.approx(expected(5.0, 170.0))
    assert summary["gcc"]["adaptiveness_per_run"] == pytest.approx(expected(20.0, 50.0))


def test_adaptiveness_ends() -> None:
    assert adaptiveness(10.0, 20.0, 10.0, 20.0) == 0.0
    assert adaptiveness(0.0, 0.0, 10.0, 20.0) == 1.0
    assert adaptiveness(0.0, 0.0, 0.0, 0.0) == 1.0


def test_adaptation_waits_for_the_deviation() -> None:
    # Adjusted level 10 +- 0.402 (ripple 0.4 over 120 bins); a slope of 1 Mb/s per second reaches
    # the band only where 20 - t is at most 10.4 + ripple.
    behaviour, timing = Behaviour(response_s=0.0), Timing()
    times, rates = game_bitrates(behaviour, timing)
    slope = (times >= 185.0) & (times < 195.0)
    rates[slope] = 20.0 - (times[slope] - 185.0)
    spec = {"duration": "540 s", "competitor": [{"start": "185 s", "stop": "370 s"}]}
    found = adaptation(times, rates, windows_of(spec))
    assert found is not None
    assert found.adjusted.deviation == pytest.approx(0.4 * math.sqrt(120 / 119))
    assert found.response_s == 10.0


def test_recovery_without_time_to_recover_is_undefined(tmp_path: Path) -> None:
    timing = Timing(duration=100.0, start=40.0, stop=100.0)
    made = make_results(tmp_path, [condition()], runs=2, timing=timing)
    row = summary_table(made).row(0, named=True)
    assert math.isnan(row["recovery_s"])
    assert row["response_s"] == 5.0


def test_round_trip_times(summary: dict[str, dict[str, Any]]) -> None:
    row = summary["pudica"]
    # 185 pings from 0 s: 93 even (-2 ms) and 92 odd (+2 ms); from 185 s: 93 odd, 92 even.
    assert row["alone_rtt_mean_ms"] == pytest.approx(17.0 - 2.0 / 185)
    assert row["competing_rtt_mean_ms"] == pytest.approx(40.0 + 2.0 / 185)
    spread = math.sqrt((4.0 - (2.0 / 185) ** 2) * 185 / 184)
    assert row["competing_rtt_sd_ms"] == pytest.approx(spread)


def test_loss_counts_queue_and_path(summary: dict[str, dict[str, Any]]) -> None:
    assert summary["pudica"]["competing_loss_percent"] == pytest.approx(0.4)
    assert summary["pudica"]["alone_loss_percent"] == pytest.approx(0.4)


def test_queueing_delay_shares(summary: dict[str, dict[str, Any]]) -> None:
    # A quarter of the packets each waits 2, 15, 30 and 120 ms.
    row = summary["pudica"]
    shares = [row[f"competing_queue_over_{ms}ms_percent"] for ms in (10, 20, 50, 100)]
    assert shares == [75.0, 50.0, 25.0, 25.0]
    assert row["competing_queue_delay_mean_ms"] == pytest.approx(41.75)


def test_link_utilization_and_fairness(summary: dict[str, dict[str, Any]]) -> None:
    row = summary["pudica"]
    assert row["run_link_utilization_percent"] == pytest.approx(90.0)
    # The index is a nonlinear function of each run's bitrates: mean over the five runs.
    rates = [10.0 + OFFSET * (repeat - 2) for repeat in range(RUNS)]
    expected = np.mean([(x + 13.0) ** 2 / (2 * (x * x + 169.0)) for x in rates])
    assert row["jain_index"] == pytest.approx(expected, abs=1e-6)


def test_frames(summary: dict[str, dict[str, Any]]) -> None:
    # Of 100 frames: numbers 0 and 50 are never shown, number 1 takes 150 ms, the other 97 take 12
    # to 16 ms. Wholly inside the competition: 185 s * 60 = 11100 frames.
    row = summary["pudica"]
    assert row["competing_displayed_fps"] == pytest.approx(58.8, abs=0.02)
    assert row["competing_never_shown_percent"] == pytest.approx(2.0)
    assert row["competing_stall_50ms_percent"] == pytest.approx(3.0)
    assert row["competing_stall_100ms_percent"] == pytest.approx(3.0)
    assert row["competing_stall_200ms_percent"] == pytest.approx(2.0)
    assert row["competing_frame_delay_p50_ms"] == pytest.approx(14.0)
    assert row["competing_frame_delay_p95_ms"] == pytest.approx(16.0)
    assert row["competing_frame_delay_p99_ms"] == pytest.approx(150.0)
    # Steps 0..4 ms come 20 times each, but 0 ms without 0 and 50, and 1 ms without number 1.
    mean = (18 * 12 + 19 * 13 + 20 * (14 + 15 + 16) + 150) / 98
    assert row["competing_frame_delay_mean_ms"] == pytest.approx(mean)
    assert row["competing_first_packet_queue_p50_ms"] == pytest.approx(22.5)
    assert row["competing_first_packet_queue_p99_ms"] == pytest.approx(120.0)
    assert row["competing_target_met_percent"] == 100.0


@pytest.mark.parametrize(
    ("share", "expected"),
    [
        (lambda _: 1.0, 100.0),
        (lambda _: 1.049, 100.0),
        (lambda _: 1.051, 0.0),
        (lambda _: 0.951, 100.0),
        (lambda _: 0.949, 0.0),
        # Trembling that a second evens out.
        (lambda number: 1.0 + 0.3 * (-1) ** number, 100.0),
        # Less from 3 s on: the sixth such frame of 60 takes the second's mean below 95 %. That
        # leaves 125 of the 240 frames from 1 s to 5 s.
        (lambda number: 1.0 if number < 180 else 0.45, 100.0 * 125 / 240),
    ],
)
def test_a_target_is_met_by_what_a_second_sends(
    share: Callable[[int], float], expected: float
) -> None:
    number = np.arange(360)
    target = 10e6 + 5e6 * (number % 3)
    table = pl.DataFrame({name: np.full(360, np.nan) for name in COLUMNS if name != "stream"})
    wire = [float(target[at] / 8 / 60 * share(int(at))) for at in number]
    captured = pl.Series(number * 1_000_000_000 // 60)
    table = table.with_columns(captured_ns=captured, target_bps=target, wire_bytes=pl.Series(wire))
    found = frame_metrics(frames_from(table, 6.0), Window(1.0, 6.0), 5.0)
    assert found["target_met_percent"] == pytest.approx(expected)
    # The first second says nothing.
    early = frame_metrics(frames_from(table, 6.0), Window(0.0, 0.9), 0.9)
    assert math.isnan(early["target_met_percent"])


def test_last_frames_of_a_run_are_not_judged(tmp_path: Path) -> None:
    made = make_results(tmp_path, [condition(skipped_every=0)], runs=1)
    frames = tmp_path / "runs" / made.runs["id"][0] / "frames.parquet"
    late = pl.col("captured_ns") >= (540 - GRACE_S) * 1e9
    table = pl.read_parquet(frames)
    unfinished = [pl.when(~late).then(pl.col(c)).alias(c) for c in ("complete_ns", "shown_ns")]
    table.with_columns(unfinished).write_parquet(frames)
    row = per_run_table(made).row(0, named=True)
    assert row["run_never_shown_percent"] == 0.0
    assert row["run_displayed_fps"] == pytest.approx(60.0 * 539 / 540, abs=0.05)


def test_opinion_uses_rtt_and_the_wait_at_the_sender(tmp_path: Path) -> None:
    calm = condition("calm", skipped_every=0, rtt_swing_ms=0.0)
    held = condition("held", skipped_every=0, rtt_swing_ms=0.0, sender_wait_ms=21.0)
    far = condition("far", skipped_every=0, rtt_swing_ms=0.0, rtt_competing_ms=60.0)
    made = make_results(tmp_path, [calm, held, far], runs=1)
    scores = dict(per_run_table(made).select("controller", "competing_mos_delay").iter_rows())
    assert scores["held"] == pytest.approx(scores["far"], abs=1e-9)
    assert scores["held"] < scores["calm"] - 0.03


def test_without_a_competitor(tmp_path: Path) -> None:
    quiet = Condition({"controller": "pudica"}, Behaviour(), competitor=None)
    row = summary_table(make_results(tmp_path, [quiet], runs=2)).row(0, named=True)
    assert math.isnan(row["response_s"])
    assert math.isnan(row["bitrate_difference_ratio"])
    assert math.isnan(row["competing_bitrate_mbps"])
    assert math.isnan(row["jain_index"])
    assert math.isnan(row["adaptiveness"])
    assert math.isnan(row["adaptiveness_per_run"])
    assert row["alone_bitrate_mbps"] == row["run_bitrate_mbps"] == pytest.approx(20.0, abs=1e-6)


def test_one_run_has_no_interval(tmp_path: Path) -> None:
    row = summary_table(make_results(tmp_path, [condition()], runs=1)).row(0, named=True)
    assert math.isnan(row["game_mbps_ci95"])
    assert row["game_mbps"] == pytest.approx(10.0, abs=1e-6)


def test_frame_delay_histogram_counts_every_judged_frame(results: FolderResults) -> None:
    table = frame_delay_table(results).filter(
        (pl.col("scope") == "competing") & (pl.col("controller") == "pudica")
    )
    assert table["frames"].sum() == RUNS * 185 * 60
    never = table.filter(pl.col("delay_high_ms").is_null())["frames"].sum()
    assert never == RUNS * 185 * 60 // 50
    slow = table.filter(pl.col("delay_high_ms") > 100.0)
    assert slow["frames"].sum() == RUNS * 185 * 60 // 100
    assert slow["delay_high_ms"].to_list() == pytest.approx([150.0] * RUNS, rel=0.06)


def test_metrics_are_kept_and_made_again_when_a_run_changes(tmp_path: Path) -> None:
    made = make_results(tmp_path, [condition()], runs=2)
    told: list[tuple[int, int]] = []
    first = per_run_table(made, lambda done, total: told.append((done, total)))
    assert told == [(1, 2), (2, 2)]
    again = FolderResults(tmp_path, made.manifest)
    told.clear()
    assert per_run_table(again, lambda *progress: told.append(progress)).equals(first)
    assert told == []
    changed = tmp_path / "runs" / made.runs["id"][0]
    (changed / "pings.parquet").unlink()
    pl.DataFrame({"sent_ns": [0], "rtt_ns": [5_000_000]}).write_parquet(changed / "pings.parquet")
    per_run = per_run_table(FolderResults(tmp_path, made.manifest), lambda *p: told.append(p))
    assert told == [(1, 1)]
    assert per_run["run_rtt_mean_ms"][0] == 5.0
    assert per_run["run"].to_list() == first["run"].to_list()


def test_a_broken_store_is_made_again(tmp_path: Path) -> None:
    made = make_results(tmp_path, [condition()], runs=1)
    (tmp_path / METRICS_FILE).write_bytes(b"not a table")
    assert per_run_table(made).height == 1
    assert pl.read_parquet(tmp_path / METRICS_FILE).height == 1


def test_unfinished_runs_are_left_out(tmp_path: Path) -> None:
    made = make_results(tmp_path, [condition()], runs=3)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    manifest["runs"].append({"id": "missing", "factors": {}, "repeat": 3, "seed": 4})
    more = FolderResults(tmp_path, manifest)
    assert per_run_table(more).height == 3
    assert made.runs.height == 3


def test_catalogue_covers_every_column(results: FolderResults) -> None:
    table = per_run_table(results)
    columns = [name for name in table.columns if table[name].dtype == pl.Float64]
    assert columns == metric_columns()
    for column in columns:
        metric = metric_of_column(column)
        assert metric in METRICS
        assert metric.unit
        assert metric.definition
        assert metric.source
    assert {metric.name for metric in CONDITION_METRICS} <= set(summary_table(results).columns)


def test_jain_index() -> None:
    assert jain_index([5.0, 5.0, 5.0]) == pytest.approx(1.0)
    assert jain_index([9.0, 0.0, 0.0]) == pytest.approx(1.0 / 3.0)
    assert jain_index([1.0, 3.0]) == pytest.approx(16.0 / 20.0)
    assert math.isnan(jain_index([4.0]))
    assert math.isnan(jain_index([0.0, 0.0]))


def test_half_width_of_a_textbook_sample() -> None:
    # Mean 3, deviation sqrt(2.5), five values: 2.776445 * 1.581139 / sqrt(5).
    assert half_width(np.array([1.0, 2.0, 3.0, 4.0, 5.0])) == pytest.approx(1.963243, abs=1e-5)
    assert math.isnan(half_width(np.array([1.0])))


def test_the_interval_of_a_difference_is_welchs() -> None:
    one, other = np.array([20.1, 19.4, 20.6, 20.3]), np.array([21.9, 20.2, 23.0])
    low, high = stats.ttest_ind(one, other, equal_var=False).confidence_interval(0.95)
    spreads = float(one.std(ddof=1)), float(other.std(ddof=1))
    assert difference_half_width(spreads, (4, 3)) == pytest.approx((high - low) / 2.0)
    # A single run beside four: the interval of a prediction, on either side.
    ahead = 3.182446 * spreads[0] * math.sqrt(1.25)
    assert difference_half_width((spreads[0], math.nan), (4, 1)) == pytest.approx(ahead)
    assert difference_half_width((math.nan, spreads[0]), (1, 4)) == pytest.approx(ahead)
    assert difference_half_width((0.0, 0.0), (4, 3)) == 0.0
    assert math.isnan(difference_half_width((math.nan, math.nan), (1, 1)))
    assert math.isnan(difference_half_width((0.5, math.nan), (4, 0)))


def test_quantities() -> None:
    assert seconds("9 min") == 540.0
    assert seconds("500ms") == 0.5
    with pytest.raises(ValueError, match="units"):
        seconds("12 Mb/s")
    texts = ["7 bdp", "0.5 bdp", "2 bdp", "15 Mb/s", "900 kb/s", "any"]
    assert sorted(texts[:3], key=natural_key) == ["0.5 bdp", "2 bdp", "7 bdp"]
    assert sorted(texts[3:], key=natural_key) == ["900 kb/s", "15 Mb/s", "any"]


def test_documentation_defines_every_metric() -> None:
    text = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text("utf-8")
    for metric in [*METRICS, *CONDITION_METRICS]:
        star = "*_" if metric.scoped else ""
        definition = metric.definition.replace("|", "\\|")
        assert f"| `{star}{metric.name}` | {metric.unit} | {definition} |" in text, metric.name
