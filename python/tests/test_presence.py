"""Streams that come, go and pause, and how soon they settle, against closed forms."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from metrics_fixture import (
    FEEDBACK_SHARE,
    UTILIZATION,
    Behaviour,
    Condition,
    FolderResults,
    Timing,
    make_results,
)

from gameway.metrics import per_run_table, summary_table
from gameway.metrics.convergence import convergence_s
from gameway.metrics.presence import common, either, length_s, presence, within
from gameway.metrics.series import whole_bins
from gameway.metrics.statistics import rate_ratio
from gameway.metrics.windows import Window

if TYPE_CHECKING:
    from pathlib import Path

RUN = Window(0.0, 60.0)
LATE = {
    "name": "late", "controller": "gcc", "frame_rate": 60,
    "start": "20 s", "stop": "50 s", "pause": {"from": "30 s", "to": "40 s"},
}  # fmt: skip


def test_a_flow_is_there_from_start_to_stop_without_its_pause() -> None:
    assert presence({}, RUN) == [RUN]
    assert presence({"start": "50 s", "stop": "80 s"}, RUN) == [Window(50.0, 60.0)]
    assert presence(LATE, RUN) == [Window(20.0, 30.0), Window(40.0, 50.0)]
    assert presence(LATE | {"pause": {"from": "10 s", "to": "25 s"}}, RUN) == [Window(25.0, 50.0)]
    assert presence({"pause": {"from": "0 s", "to": "60 s"}}, RUN) == []


def test_spans_in_common_and_in_a_window() -> None:
    late = presence(LATE, RUN)
    other = presence({"start": "5 s", "pause": {"from": "22 s", "to": "44 s"}}, RUN)
    assert common([late, other]) == [Window(20.0, 22.0), Window(44.0, 50.0)]
    assert length_s(within(late, Window(25.0, 41.0))) == 6.0
    assert within(late, Window(31.0, 39.0)) == []


def test_spans_in_which_either_is_there() -> None:
    late = presence(LATE, RUN)
    assert either([late, [Window(25.0, 35.0)]]) == [Window(20.0, 35.0), Window(40.0, 50.0)]
    assert either([late, [Window(30.0, 40.0)]]) == [Window(20.0, 50.0)]
    assert either([]) == []


def test_bins_lie_in_a_span_with_their_whole_length() -> None:
    times = 0.5 * np.arange(10.0)
    found = times[whole_bins(times, [Window(0.25, 1.75), Window(3.0, 4.0)])]
    assert found.tolist() == [0.5, 1.0, 3.0, 3.5]


def made(folder: Path, **late: Any) -> dict[str, dict[str, Any]]:
    """Metrics of a minute: "game" has 20 Mb/s, "late" 10 Mb/s while it is there."""
    quiet = Condition({"controller": "pudica"}, Behaviour(ripple=0.0), competitor=None)
    results = make_results(folder, [quiet], runs=1, timing=Timing(duration=60.0))
    run = folder / "runs" / results.runs["id"][0]
    spec = json.loads((run / "spec.json").read_text())
    flow = LATE | late
    (run / "spec.json").write_text(json.dumps(spec | {"stream": [*spec["stream"], flow]}))
    spans = presence(flow, RUN)
    for table, time, name in (
        ("bins", "bin_start_ns", "flow"),
        ("frames", "captured_ns", "stream"),
    ):
        rows = pl.read_parquet(run / f"{table}.parquet").with_columns(pl.col(name).cast(pl.String))
        there = pl.any_horizontal(
            pl.col(time).is_between(*span.nanoseconds, closed="left") for span in spans
        )
        own = rows.filter(there).with_columns(pl.lit("late").alias(name))
        if table == "bins":
            own = own.with_columns(pl.col("sent_bytes", "received_bytes", "feedback_bytes") // 2)
        pl.concat([rows, own]).write_parquet(run / f"{table}.parquet")
    rows = per_run_table(FolderResults(folder, results.manifest))
    return {row["stream"]: row for row in rows.iter_rows(named=True)}


def competed(folder: Path, *spans: tuple[str, str]) -> dict[str, Any]:
    """Metrics of a minute: "game" has 20 Mb/s, and each competitor 10 Mb/s while it is there."""
    quiet = Condition({"controller": "pudica"}, Behaviour(ripple=0.0), competitor=None)
    results = make_results(folder, [quiet], runs=1, timing=Timing(duration=60.0))
    run = folder / "runs" / results.runs["id"][0]
    spec = json.loads((run / "spec.json").read_text())
    spec["competitor"] = [
        {"name": f"video-{number}", "start": start, "stop": stop}
        for number, (start, stop) in enumerate(spans)
    ]
    (run / "spec.json").write_text(json.dumps(spec))
    bins = pl.read_parquet(run / "bins.parquet").with_columns(pl.col("flow").cast(pl.String))
    own = [
        bins.filter(
            pl.col("bin_start_ns").is_between(*span.nanoseconds, closed="left")
        ).with_columns(
            pl.lit(flow["name"]).alias("flow"), pl.col("sent_bytes", "received_bytes") // 2
        )
        for flow in spec["competitor"]
        for span in presence(flow, RUN)
    ]
    pl.concat([bins, *own]).write_parquet(run / "bins.parquet")
    (row,) = per_run_table(FolderResults(folder, results.manifest)).iter_rows(named=True)
    return row


@pytest.mark.parametrize("gap", [0, 18])
def test_a_share_is_of_the_time_in_which_a_competitor_is_there(tmp_path: Path, gap: int) -> None:
    found = competed(tmp_path, ("10 s", "20 s"), (f"{20 + gap} s", "50 s"))
    assert found["game_mbps"] == pytest.approx(20.0, abs=1e-6)
    assert found["competitor_mbps"] == pytest.approx(10.0, abs=1e-6)
    # Of three flows two have half of what the other one has.
    expected = 40.0**2 / (3 * (400.0 + 100.0 + 100.0))
    assert found["jain_index"] == pytest.approx(expected, abs=1e-6)


def test_a_stream_is_measured_while_it_is_there(tmp_path: Path) -> None:
    found = made(tmp_path)
    assert found["game"]["run_bitrate_mbps"] == pytest.approx(20.0, abs=1e-6)
    assert found["late"]["run_bitrate_mbps"] == pytest.approx(10.0, abs=1e-6)
    assert found["late"]["run_bitrate_sd_mbps"] == pytest.approx(0.0, abs=1e-9)
    # Frame numbers 0, 50, 100 ... of the minute are never shown.
    assert found["late"]["run_displayed_fps"] == pytest.approx(58.8, abs=0.1)
    assert found["late"]["run_encoded_mbps"] == pytest.approx(20.0, rel=1e-4)
    assert found["late"]["convergence_s"] == 0.0


def test_a_stream_that_is_there_all_the_time_has_gaps_counted(tmp_path: Path) -> None:
    # The twin: the same traffic, of a stream that says that it never stops nor pauses.
    folder = tmp_path / "silent"
    folder.mkdir()
    made(folder)
    run = next((folder / "runs").iterdir())
    spec = json.loads((run / "spec.json").read_text())
    for key in ("start", "stop", "pause"):
        del spec["stream"][1][key]
    (run / "spec.json").write_text(json.dumps(spec))
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "metrics.parquet").unlink()
    row = per_run_table(FolderResults(folder, manifest)).row(1, named=True)
    assert row["run_bitrate_mbps"] == pytest.approx(10.0 * 20 / 60, abs=1e-6)
    assert row["run_displayed_fps"] == pytest.approx(58.8 * 20 / 60, abs=0.1)


def test_fairness_is_of_the_time_in_which_all_are_there(tmp_path: Path) -> None:
    found = made(tmp_path)
    expected = 30.0**2 / (2 * (400.0 + 100.0))
    for row in found.values():
        assert row["jain_index"] == pytest.approx(expected, abs=1e-6)
        assert row["run_streams_jain_index"] == pytest.approx(expected, abs=1e-6)
        assert row["run_streams_rate_ratio"] == pytest.approx(2.0, abs=1e-6)


def test_a_starved_stream_is_infinitely_behind() -> None:
    assert rate_ratio([6.0, 2.0, 3.0]) == 3.0
    assert rate_ratio([6.0, 0.0]) == math.inf
    assert math.isnan(rate_ratio([6.0]))
    assert math.isnan(rate_ratio([0.0, 0.0]))
    assert math.isnan(rate_ratio([math.nan, 1.0]))


def test_streams_of_two_directions_do_not_share(tmp_path: Path) -> None:
    found = made(tmp_path, direction="up")
    assert math.isnan(found["game"]["run_streams_jain_index"])
    assert found["game"]["run_link_utilization_percent"] == pytest.approx(
        100 * UTILIZATION["path"], rel=1e-4
    )
    assert found["late"]["run_link_utilization_percent"] == pytest.approx(
        100 * UTILIZATION["back"], rel=1e-4
    )


def test_a_hop_of_its_own_is_the_bottleneck_of_a_stream(tmp_path: Path) -> None:
    assert math.isnan(made(tmp_path, via="access")["late"]["run_link_utilization_percent"])


def test_feedback_is_a_share_of_what_was_sent(tmp_path: Path) -> None:
    for row in made(tmp_path).values():
        assert row["run_feedback_overhead_percent"] == pytest.approx(100 * FEEDBACK_SHARE, rel=1e-4)


def test_a_stream_farther_away_has_a_lower_opinion(tmp_path: Path) -> None:
    scores = []
    for index, late in enumerate(({}, {"base_rtt": "16 ms"}, {"base_rtt": "116 ms"})):
        (tmp_path / str(index)).mkdir()
        scores.append(made(tmp_path / str(index), **late)["late"]["run_mos_delay"])
    assert scores[0] == scores[1]
    assert scores[2] < scores[0] - 0.1


def settled_after(rates: Any, spans: list[Window] | None = None) -> float | None:
    times = 0.5 * np.arange(float(len(rates)))
    spans = spans or [Window(0.0, len(rates) / 2)]
    there = whole_bins(times, spans)
    return convergence_s(times[there], np.array(rates, dtype=float)[there], spans)


def test_convergence_waits_until_the_bitrate_holds() -> None:
    # A ramp of 1 Mb/s per bin to 20 Mb/s: 16 Mb/s is the first bitrate within 20 %.
    assert settled_after([*range(20), *[20.0] * 40]) == 8.0
    # 1.5 s within the band, a dip, and then for good.
    assert settled_after([*[1.0] * 4, *[20.0] * 3, 1.0, *[20.0] * 52]) == 4.0
    # 2 s within the band are enough, whatever comes then.
    assert settled_after([*[1.0] * 4, *[20.0] * 4, *[1.0] * 10, *[20.0] * 42]) == 2.0
    assert settled_after([20.0, 1.0] * 30) is None
    assert math.isnan(settled_after([20.0] * 11) or 0.0)
    assert settled_after([20.0] * 12) == 0.0


def test_convergence_counts_from_the_start_and_not_across_a_pause() -> None:
    rates = [*[0.0] * 20, *[1.0] * 8, *[20.0] * 2, *[0.0] * 10, *[20.0] * 2, 1.0, *[20.0] * 37]
    spans = [Window(10.0, 15.0), Window(20.0, 40.0)]
    # 1 s before the pause and 1 s behind it are no 2 s; then 21.5 s to the end.
    assert settled_after(rates, spans) == 11.5
    assert settled_after(rates, [Window(10.0, 40.0)]) == 11.5
    assert settled_after([*[1.0] * 8, *[20.0] * 4, *[20.0] * 48]) == 4.0


def test_a_stream_that_comes_with_the_competitor_has_nothing_to_respond_from(
    tmp_path: Path,
) -> None:
    behaviour = Behaviour(ripple=0.0)
    condition = Condition({"controller": "pudica"}, behaviour)
    timing = Timing(duration=60.0, start=20.0, stop=50.0)
    results = make_results(tmp_path, [condition], runs=2, timing=timing)
    for run in (tmp_path / "runs").iterdir():
        spec = json.loads((run / "spec.json").read_text())
        spec["stream"][0]["start"] = "20 s"
        (run / "spec.json").write_text(json.dumps(spec))
    for table in (per_run_table(results), summary_table(results)):
        row = table.row(0, named=True)
        assert math.isnan(row["original_mbps"])
        assert math.isnan(row["response_s"])
        assert math.isnan(row["recovery_s"])
        assert row["game_mbps"] == pytest.approx(10.0, abs=0.1)
