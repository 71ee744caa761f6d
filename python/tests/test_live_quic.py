"""Live downloads over QUIC: what they have of a link, what is written, when they end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest
from live_fixture import needs_live
from witness import of_times

import gameway as gw
from gameway.live import quic
from gameway.live.run import run_one

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = needs_live
LONG = pytest.mark.long(
    "test_live_quic.py::test_a_download_has_the_capacity_and_its_state_is_written"
)
"""Always: CUBIC, with the acknowledgements that downloads have."""

DOWNLOAD = """
title = "A download over QUIC"
duration = "{seconds} s"
[path]
capacity = "20 Mb/s"
base_rtt = "20 ms"
queue = {queue}
[[competitor]]
name = "update"
kind = "quic"
ack_packets = 10
start = "500 ms"
{more}
[record]
delay_window = "500 ms"
packets = true
"""
DROP_TAIL = '{ kind = "drop-tail", size = "1 bdp" }'


def live(folder: Path, more: str, *, seconds: int = 4, queue: str = DROP_TAIL) -> gw.Results:
    text = DOWNLOAD.format(seconds=seconds, queue=queue, more=more)
    return gw.run(gw.loads(text), folder / "out", on="live")


def payload(results: gw.Results) -> int:
    own = results.bins().filter(pl.col("flow") == "update").collect()
    return int(own["received_payload_bytes"].sum())


@pytest.mark.timed
@pytest.mark.light
@pytest.mark.parametrize("control", ["cubic", pytest.param("bbr2", marks=LONG)])
def test_a_download_has_the_capacity_and_its_state_is_written(tmp_path: Path, control: str) -> None:
    results = live(tmp_path, f'congestion_control = "{control}"')
    bins = results.bins().collect().filter(pl.col("flow") == "update")
    steady = bins.filter(pl.col("bin_start_ns") >= 1_500_000_000)
    mbps = steady["received_bytes"].sum() * 8 / 2.5e6
    assert 0 < mbps < 20.4
    with of_times():
        assert mbps > 16.0
    # 33 B of 1480 B are headers of IP and UDP and QUIC's, and what is lost is sent again.
    goodput = steady["received_payload_bytes"].sum() * 8 / 2.5e6
    assert 0.9 * mbps < goodput < 0.97 * mbps
    # Nothing before its start.
    assert bins.filter(pl.col("bin_start_ns") < 500_000_000)["sent_bytes"].sum() == 0
    state = results.controller().collect()
    of = {str(name): rows["value"] for (name,), rows in state.group_by("variable")}
    assert set(of) == {"cwnd_bytes", "smoothed_rtt_ms", "in_flight_bytes", "pacing_rate_bps"}
    assert of["cwnd_bytes"].len() >= 5
    rtt = of["smoothed_rtt_ms"].median()
    assert isinstance(rtt, float)
    assert rtt > 20.0
    with of_times():
        assert rtt < 45.0


def test_a_download_of_a_size_ends(tmp_path: Path) -> None:
    results = live(tmp_path, 'bytes = "300 kB"\ndatagram_size = "1200 B"', seconds=3)
    assert payload(results) == 300_000
    packets = results.packets().filter(pl.col("flow") == "update").collect()
    assert packets["size_bytes"].max() == 1228


@pytest.mark.parametrize("direction", ["down", "up"])
def test_it_stops_at_its_stop_in_either_direction(tmp_path: Path, direction: str) -> None:
    results = live(tmp_path, f'stop = "1500 ms"\ndirection = "{direction}"', seconds=3)
    bins = results.bins().collect().filter(pl.col("flow") == "update")
    during = bins.filter(pl.col("bin_start_ns").is_between(500_000_000, 1_499_999_999))
    after = bins.filter(pl.col("bin_start_ns") >= 2_000_000_000)
    assert during["received_bytes"].sum() > 300_000
    assert after["sent_bytes"].sum() < 10_000
    assert payload(results) > 250_000


@pytest.mark.timed
@pytest.mark.light
@LONG
def test_the_receiver_acknowledges_every_tenth_packet_or_after_a_delay(tmp_path: Path) -> None:
    back = {}
    for delay in ("1 ms", "25 ms"):
        results = live(tmp_path / delay[:2].strip(), f'max_ack_delay = "{delay}"', seconds=3)
        own = results.bins().collect().filter(pl.col("flow") == "update")
        back[delay] = own["feedback_bytes"].sum() / own["received_packets"].sum()
    # 67 B, or 76 with a ping of its own, for ten packets; at 20 Mb/s ten take 6 ms.
    assert 5.5 < back["25 ms"] < 13
    assert back["1 ms"] > 1.5 * back["25 ms"]


@pytest.mark.timed
@pytest.mark.light
def test_marks_are_answered(tmp_path: Path) -> None:
    queue = '{ kind = "drop-tail", size = "10 bdp", mark_above = "5 ms" }'
    results = live(tmp_path, "", queue=queue)
    bins = results.bins().collect().filter(pl.col("flow") == "update")
    assert bins["marked_packets"].sum() > 0
    assert bins["dropped_packets"].sum() == 0
    events = results.events().collect()
    assert events.filter(pl.col("event") == "fast-recovery").height > 0
    assert events.filter(pl.col("event") == "retransmits").height == 0


def test_an_end_that_dies_fails_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quic, "environment", lambda _: {})
    text = DOWNLOAD.format(seconds=2, queue=DROP_TAIL, more="")
    spec = gw.expand(gw.loads(text))[0].spec
    with pytest.raises(gw.GamewayError, match=r"quic-server-update died .*congestion_control"):
        run_one(spec, {}, tmp_path / "run")
