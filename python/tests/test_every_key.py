"""Every key of an experiment file, run: what it promises is in the tables."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import gameway as gw
from gameway.metrics import per_run_table

ALL_AT_ONCE = (Path(__file__).parent / "every_key.toml").read_text(encoding="utf-8")
SECOND = 1_000_000_000


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> gw.Results:
    return gw.run(gw.loads(ALL_AT_ONCE), tmp_path_factory.mktemp("all") / "out")


@pytest.fixture(scope="module")
def flows(everything: gw.Results) -> dict[str, dict[str, Any]]:
    """Sums over the bins of each flow."""
    sums = everything.bins().group_by("flow").agg(pl.selectors.integer().sum()).collect()
    return {row["flow"]: row for row in sums.iter_rows(named=True)}


def test_no_packet_is_lost_from_the_books(
    everything: gw.Results, flows: dict[str, dict[str, Any]]
) -> None:
    (total,) = everything.summary().collect().iter_rows(named=True)
    queued, under_way = total["queued_packets"], total["under_way_packets"]
    assert total["arrived_packets"] == (
        total["forwarded_packets"] + total["dropped_packets"] + queued
    )
    assert total["forwarded_packets"] + total["duplicated_packets"] == (
        total["delivered_packets"] + total["lost_packets"] + under_way
    )
    assert 10 < total["duplicated_packets"] < 200
    open_ends = 0
    for row in flows.values():
        gone = row["received_packets"] + row["dropped_packets"] + row["lost_packets"]
        came = row["sent_packets"] + row["duplicated_packets"]
        assert 0 <= came - gone <= queued + under_way
        open_ends += came - gone
    assert 0 < open_ends <= queued + under_way
    # What bins do not count is feedback: it shares drops and losses.
    for column in ("dropped_packets", "lost_packets"):
        counted = sum(row[column] for row in flows.values())
        assert counted <= total[column] <= counted + 200


def test_each_bottleneck_carries_the_flows_that_pass_it(
    everything: gw.Results, flows: dict[str, dict[str, Any]]
) -> None:
    carried = dict(
        everything.link().group_by("link").agg(pl.col("transmitted_bytes").sum()).collect().rows()
    )
    passing = {
        "path": (
            "all",
            "limit",
            "download",
            "pages",
            "film",
            "series",
            "page",
            "rome",
            "voice",
            "chat",
            "update",
            "ping",
        ),
        "access": (
            "all",
            "near",
            "download",
            "pages",
            "video",
            "film",
            "series",
            "page",
            "rome",
            "voice",
            "chat",
            "update",
            "ping",
        ),
        "back": ("up", "upload", "call"),
    }
    assert set(carried) == set(passing)
    for link, names in passing.items():
        media = sum(flows[name]["received_bytes"] for name in names)
        others = sum(row["feedback_bytes"] for row in flows.values())
        # Packets that are lost behind it, or wait in the next, are carried too.
        assert 0.98 * media <= carried[link] <= 1.03 * media + others
    capacity = everything.link().group_by("link").agg(pl.col("capacity_bytes").sum()).collect()
    assert dict(capacity.rows()) == {
        "path": 30e6 / 8 * 8, "access": 25e6 / 8 * 8, "back": (20e6 + 10e6) / 8 * 4,
    }  # fmt: skip


def test_each_flow_sends_what_it_says(flows: dict[str, dict[str, Any]]) -> None:
    assert flows["call"]["sent_bytes"] == pytest.approx(1e6 / 8 * 8, rel=0.001)
    assert flows["call"]["sent_bytes"] == flows["call"]["sent_packets"] * 200
    # At most 1000 B each, in frames of a few packets that are cut evenly; 1248 B without the key.
    assert 850 < flows["near"]["sent_bytes"] / flows["near"]["sent_packets"] <= 1000
    assert 1050 < flows["all"]["sent_bytes"] / flows["all"]["sent_packets"] <= 1248
    assert flows["video"]["sent_bytes"] == pytest.approx(2e6 / 8 * 3, rel=0.01)
    assert flows["download"]["received_payload_bytes"] == pytest.approx(9e5, rel=0.01)
    # An application writes in blocks of 64 KiB.
    assert flows["upload"]["received_payload_bytes"] == pytest.approx(2e6 / 8 * 5, abs=65536)
    # Some transfers of 30 to 50 kB, with gaps of half a second on average between them.
    assert 5 * 30e3 < flows["pages"]["received_payload_bytes"] < 25 * 50e3
    # Four segments of 250 kB; three transfers of 20 kB; packets of Rome for 2 s.
    assert flows["film"]["received_payload_bytes"] == pytest.approx(1e6, rel=0.001)
    assert flows["page"]["received_payload_bytes"] == 60_000
    assert flows["update"]["received_payload_bytes"] == 200_000
    assert flows["rome"]["sent_packets"] == pytest.approx(2 / 0.0016, rel=0.1)
    assert flows["rome"]["sent_bytes"] == flows["rome"]["sent_packets"] * 914
    assert flows["voice"]["sent_bytes"] == pytest.approx(48e3, rel=0.01)
    assert flows["voice"]["feedback_bytes"] == pytest.approx(24e3, rel=0.01)
    # A picture of 500 kb/s with sound of 48, and sound only back.
    assert flows["chat"]["sent_bytes"] == pytest.approx(548e3, rel=0.1)
    assert flows["chat"]["feedback_bytes"] == pytest.approx(48e3, rel=0.01)
    for name in ("all", "near", "up", "limit"):
        assert 2e6 < flows[name]["sent_bytes"] * 8 / 8 < 10.5e6
        assert 0.0005 < flows[name]["feedback_bytes"] / flows[name]["sent_bytes"] < 0.1


def test_only_what_can_carry_a_mark_is_marked(flows: dict[str, dict[str, Any]]) -> None:
    assert flows["all"]["marked_packets"] > 0
    assert flows["download"]["marked_packets"] > 0
    assert flows["voice"]["marked_packets"] > 0
    capable = {"all", "limit", "download", "series", "voice"}
    assert {name for name, row in flows.items() if row["marked_packets"]} <= capable


def test_nothing_is_captured_in_a_pause_or_before_the_start(everything: gw.Results) -> None:
    frames = everything.frames().select("stream", "captured_ns").collect()
    times = {name: rows["captured_ns"] / SECOND for (name,), rows in frames.group_by("stream")}
    near, late = times["near"], times["up"]
    assert near.is_between(3.0, 4.5, closed="left").sum() == 0
    for start in (2.5, 4.5):
        assert near.is_between(start, start + 0.499, closed="left").sum() == 30
    assert len(near) == pytest.approx(60 * 6.5, abs=1)
    assert 1.0 <= late[0] < 1.0 + 1 / 60
    assert 7.0 - 1 / 60 <= late[-1] < 7.0


def test_every_metric_of_each_stream_is_plausible(everything: gw.Results) -> None:
    rows = {row["stream"]: row for row in per_run_table(everything).iter_rows(named=True)}
    for row in rows.values():
        assert 2.0 < row["run_bitrate_mbps"] < 10.5
        assert 20.0 < row["run_displayed_fps"] <= 60.5
        assert 1.0 <= row["run_mos"] <= 4.64
        assert 0.05 < row["run_feedback_overhead_percent"] < 10.0
    # Half of 10 ms and of 40 ms one way.
    assert 5.0 < rows["near"]["run_frame_delay_p50_ms"] < 19.0
    assert 20.0 < rows["all"]["run_frame_delay_p50_ms"] < 60.0


def outcome(tmp_path: Path, *settings: str, also: str = "") -> gw.Results:
    text = BASE + also
    return gw.run(gw.loads(text).with_overrides(list(settings)), tmp_path / "out")


BASE = """
duration = "4 s"
ping = { interval = "20 ms" }
[path]
capacity = "20 Mb/s"
base_rtt = "40 ms"
[[stream]]
controller = "fixed"
video = "steady"
start_bitrate = "8 Mb/s"
"""


def rtts_ms(results: gw.Results) -> pl.Series:
    return results.pings().collect()["rtt_ns"].drop_nulls() / 1e6


def delays_ms(results: gw.Results) -> pl.Series:
    frames = results.frames().collect()
    return ((frames["complete_ns"] - frames["first_sent_ns"]) / 1e6).drop_nulls()


def total(results: gw.Results, column: str, flow: str = "game") -> int:
    return int(results.bins().filter(pl.col("flow") == flow).collect()[column].sum())


def test_without_any_of_them(tmp_path: Path) -> None:
    results = outcome(tmp_path)
    assert set(results.link().collect()["link"]) == {"path"}
    assert 40.0 < rtts_ms(results).min() < rtts_ms(results).max() < 48.0
    assert 20.0 < delays_ms(results).min() <= delays_ms(results).max() < 36.0
    assert total(results, "marked_packets") == 0
    assert rtts_ms(results).len() in {198, 199, 200}


def test_half_normal_jitter_is_cut_at_three_deviations(tmp_path: Path) -> None:
    results = outcome(tmp_path, 'path.jitter={ kind = "half-normal", deviation = "5 ms" }')
    above = rtts_ms(results) - 40.0
    assert 0.0 < above.min() < 2.0
    # Mean of |N(0, s)| is s * sqrt(2 / pi) = 4.0 ms; of 200 draws it is known to 0.2 ms.
    assert 3.2 < above.mean() < 5.0
    assert 8.0 < above.max() < 15.0 + 5.0


def test_periodic_jitter_holds_and_lets_go(tmp_path: Path) -> None:
    jitter = 'path.jitter={ kind = "periodic", delay = "30 ms", interval = "500 ms" }'
    results = outcome(tmp_path, jitter)
    above = rtts_ms(results) - 40.0
    # A ping every 20 ms: the first of those that are held comes in the first 20 of the 30 ms.
    assert 10.0 < above.max() <= 30.5
    arrivals = results.pings().select(at=pl.col("sent_ns") + pl.col("rtt_ns")).collect()["at"]
    assert (arrivals % 500_000_000).min() >= 30_000_000
    assert (above > 10.0).sum() == 7


def test_jitter_and_loss_of_the_way_back(tmp_path: Path) -> None:
    jitter = 'path.back.jitter={ deviation = "3 ms", mean = "10 ms" }'
    results = outcome(tmp_path, jitter, 'path.back.loss={ probability = "20 %" }')
    assert 47.0 < rtts_ms(results).mean() < 56.0
    pings = results.pings().collect()
    assert 0.1 < pings["rtt_ns"].null_count() / pings.height < 0.3
    # What goes down is as it was.
    assert delays_ms(results).max() < 36.0
    assert total(results, "lost_packets") == 0


@pytest.mark.parametrize("direction", ["down", "up"])
@pytest.mark.parametrize("capacity", [(), ("path.back.capacity=1 Mb/s",)])
def test_a_lossy_way_back_keeps_its_books(
    direction: str, capacity: tuple[str, ...], tmp_path: Path
) -> None:
    loss = 'path.back.loss={ probability = "20 %" }'
    results = outcome(tmp_path, loss, f"stream.game.direction={direction}", *capacity)
    (row,) = results.summary().collect().iter_rows(named=True)
    assert row["arrived_packets"] == (
        row["forwarded_packets"] + row["dropped_packets"] + row["queued_packets"]
    )
    assert row["forwarded_packets"] + row["duplicated_packets"] == (
        row["delivered_packets"] + row["lost_packets"] + row["under_way_packets"]
    )
    assert (row["lost_packets"] > 50) == bool(capacity or direction == "up")


def test_the_way_back_has_a_queue_when_it_has_a_capacity(tmp_path: Path) -> None:
    udp = '[[competitor]]\nkind = "udp"\ndirection = "up"\nrate = "1.2 Mb/s"\nname = "call"\n'
    full = outcome(tmp_path, 'path.back={ capacity = "1 Mb/s" }', also=udp)
    # 300 ms of queue, and a packet in front of it.
    assert 290.0 < rtts_ms(full).max() - 40.0 < 330.0
    assert total(full, "dropped_packets", "call") > 0
    wide = outcome(tmp_path / "wide", also=udp)
    assert rtts_ms(wide).max() < 48.0
    assert total(wide, "dropped_packets", "call") == 0


def test_a_flow_may_be_nearer_or_farther_than_the_path(tmp_path: Path) -> None:
    results = outcome(tmp_path, "stream.game.base_rtt=100 ms")
    assert 50.0 < delays_ms(results).min() <= delays_ms(results).max() < 66.0
    assert rtts_ms(results).max() < 48.0


HOP = """
[[path.hop]]
name = "access"
capacity = "4 Mb/s"
queue = { kind = "drop-tail", size = "20 ms" }
"""


@pytest.mark.parametrize(("via", "narrow"), [("all", True), ("access", True), ("path", False)])
def test_a_stream_passes_the_bottlenecks_that_it_names(
    via: str, narrow: bool, tmp_path: Path
) -> None:
    results = outcome(tmp_path, f"stream.game.via={via}", also=HOP)
    sent, received = total(results, "sent_bytes"), total(results, "received_bytes")
    assert (received < 0.6 * sent) == narrow
    assert (received > 0.97 * sent) == (not narrow)
    through = dict(
        results.link().group_by("link").agg(pl.col("transmitted_bytes").sum()).collect().rows()
    )
    assert (through["path"] > 0.9 * received) == (via != "access")
    assert (through["access"] > 0.9 * received) == (via != "path")


@pytest.mark.parametrize(("place", "waiting"), [("in-front", "access"), ("behind", "path")])
def test_what_is_passed_first_has_the_queue(place: str, waiting: str, tmp_path: Path) -> None:
    """Of two links that are as slow, the first one has the queue."""
    hop = HOP.replace("4 Mb/s", "7 Mb/s") + f'place = "{place}"\n'
    results = outcome(tmp_path, "path.capacity=7 Mb/s", also=hop)
    most = dict(
        results.link().group_by("link").agg(pl.col("queue_max_bytes").max()).collect().rows()
    )
    (other,) = most.keys() - {waiting}
    assert most[waiting] > 10_000
    assert most[other] <= 1_500


def test_media_go_up_and_feedback_comes_down(tmp_path: Path) -> None:
    narrow = outcome(tmp_path, "stream.game.direction=up", "path.capacity=100 kb/s")
    assert total(narrow, "received_bytes") > 0.97 * total(narrow, "sent_bytes")
    back = 'path.back={ capacity = "4 Mb/s", queue = { kind = "drop-tail", size = "20 ms" } }'
    narrow_back = outcome(tmp_path / "back", "stream.game.direction=up", back)
    assert total(narrow_back, "received_bytes") < 0.6 * total(narrow_back, "sent_bytes")


@pytest.mark.parametrize("ecn", ["native", "none", "ect0", "ect1"])
def test_marks_are_for_what_can_carry_them(ecn: str, tmp_path: Path) -> None:
    queue = 'path.queue={ kind = "drop-tail", size = "100 ms", mark_above = "1 ms" }'
    results = outcome(tmp_path, f"stream.game.ecn={ecn}", queue, "path.capacity=8.2 Mb/s")
    assert (total(results, "marked_packets") > 100) == (ecn in {"ect0", "ect1"})
    unmarked = outcome(tmp_path / "0", f"stream.game.ecn={ecn}", "path.capacity=8.2 Mb/s")
    assert total(unmarked, "marked_packets") == 0


@pytest.mark.parametrize(
    ("congestion_control", "ecn", "marked"),
    [("cubic", None, False), ("cubic", "off", False), ("cubic", "classic", True),
     ("cubic", "accurate", True), ("prague", None, True), ("prague", "accurate", True)],
)  # fmt: skip
def test_downloads_are_marked_if_they_agree_to_it(
    congestion_control: str, ecn: str | None, marked: bool, tmp_path: Path
) -> None:
    settings = [f"competitor.download.congestion_control={congestion_control}"]
    settings += [f"competitor.download.ecn={ecn}"] if ecn else []
    file = gw.loads("""
        duration = "5 s"
        [path]
        capacity = "10 Mb/s"
        base_rtt = "20 ms"
        queue = { kind = "dual-pi2", size = "1 MB" }
        [[competitor]]
    """)
    results = gw.run(file.with_overrides(settings), tmp_path / "out")
    (row,) = results.bins().select(
        pl.col("marked_packets", "dropped_packets").filter(pl.col("flow") == "download").sum()
    ).collect().iter_rows(named=True)  # fmt: skip
    assert (row["marked_packets"] > 0) is marked
    assert (row["dropped_packets"] == 0) is marked
    (spec,) = (run.spec["competitor"][0] for run in gw.expand(file.with_overrides(settings)))
    assert spec.get("ecn") == ecn


def test_a_video_has_the_levels_and_segments_that_the_file_says(everything: gw.Results) -> None:
    segments = everything.segments().filter(pl.col("flow") == "series").collect()
    assert set(zip(segments["level"], segments["bitrate_bps"], strict=True)) <= {
        (1, 1_000_000), (2, 2_000_000),
    }  # fmt: skip
    relative = segments["size_bytes"] / (segments["bitrate_bps"] * 2 / 8)
    assert 0.8 <= relative.to_numpy().min() < relative.to_numpy().max() <= 1.2
    shown = segments["displayed_ns"].drop_nulls()
    assert shown.diff().drop_nulls().to_numpy().min() == 2 * SECOND


def test_reports_cost_by_their_interval(tmp_path: Path) -> None:
    feedback = (
        'stream.game.feedback=[{ kind = "rfc8888", interval = ["5 ms", "50 ms"] }, '
        '{ kind = "transport-wide" }, "per-frame"]'
    )
    results = outcome(tmp_path, feedback)
    bins = results.bins().filter(pl.col("flow") == "game").group_by("feedback", maintain_order=True)
    found = dict(bins.agg(pl.col("feedback_bytes").sum()).collect().rows())
    assert list(found) == ["rfc8888 5 ms", "rfc8888 50 ms", "transport-wide 60 ms", "per-frame"]
    assert found["rfc8888 5 ms"] > 2.0 * found["rfc8888 50 ms"] > 0
    assert found["transport-wide 60 ms"] > 0


def test_short_transfers_have_sizes_and_gaps(tmp_path: Path) -> None:
    short = (
        '[[competitor]]\nkind = "short-tcp"\nname = "pages"\nmean_gap = "300 ms"\n'
        'min_size = "10 kB"\nmax_size = "10 kB"\n'
    )
    results = outcome(tmp_path, "duration=20 s", also=short)
    payload = total(results, "received_payload_bytes", "pages")
    # About 0.4 s from one to the next; the gaps are exponential.
    assert 25 <= payload / 10_000 <= 80
    assert payload % 10_000 == 0
    off = outcome(tmp_path / "off", "competitor.pages.mean_gap=1 h", also=short)
    assert total(off, "sent_packets", "pages") == 0
    settings = ("competitor.pages.mean_gap=1 h", "competitor.pages.begins=on")
    on = outcome(tmp_path / "on", *settings, also=short)
    assert total(on, "received_payload_bytes", "pages") == 10_000


def test_a_drifting_clock_moves_the_estimates_and_not_the_packets(tmp_path: Path) -> None:
    settings = ("stream.game.clock_drift=[0 ppm, -1000 ppm, 1000 ppm]", "duration=10 s")
    fixed = outcome(tmp_path, *settings)
    frames = fixed.frames().filter(pl.col("complete_ns").is_not_null())
    ends = frames.group_by("frame").agg(
        pl.len(), pl.col("complete_ns").max() - pl.col("complete_ns").min()
    )
    # The clock counts whole nanoseconds too.
    assert set(ends.collect()["len"]) == {3}
    assert ends.collect()["complete_ns"].max() <= 2
    gcc = outcome(tmp_path / "gcc", *settings, "stream.game.controller=gcc")
    rates = gcc.bins().filter(pl.col("flow") == "game").group_by("clock_drift")
    sent = [bits for _, bits in rates.agg(pl.col("sent_bytes").sum()).collect().rows()]
    assert all(0.7 < a / b < 1.4 for a, b in itertools.combinations(sent, 2))


def test_the_oracle_fills_its_share_without_a_queue(tmp_path: Path) -> None:
    results = outcome(tmp_path, "stream.game.controller=oracle", "duration=10 s")
    (row,) = per_run_table(results).iter_rows(named=True)
    assert 80.0 < row["run_link_utilization_percent"] <= 100.0
    assert row["run_queue_delay_mean_ms"] < 8.0
