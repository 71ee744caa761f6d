"""Tables of live runs, from constructed tables of their parts; each check has both sides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import gameway as gw
from gameway.live import lateness, schema
from gameway.live.competitors import Interval
from gameway.live.merge import Competition, Parts, merge, spread
from gameway.live.pings import Pong

if TYPE_CHECKING:
    from pathlib import Path

MS = 1_000_000
BIN = 500 * MS
SECOND = 1_000 * MS

SMALL = """
duration = "2 s"
[path]
capacity = "10 Mb/s"
base_rtt = "20 ms"
[[stream]]
controller = "fixed"
[[competitor]]
"""


def table(kind: schema.Schema, *rows: dict[str, Any]) -> pl.DataFrame:
    """Rows of which only some columns are said."""
    zeros = {name: "x" if dtype is schema.NAME else 0 for name, dtype in kind.items()}
    return schema.shaped(pl.DataFrame([zeros | row for row in rows]), kind)


def host_frame(frame: int, sent_ns: int, **others: Any) -> dict[str, Any]:
    times = {"captured_ns": sent_ns - MS, "first_sent_ns": sent_ns, "last_sent_ns": sent_ns + MS}
    row = {"stream": "game", "frame": frame, "packets": 5, "payload_bytes": 5000}
    return row | times | others


def client_frame(frame: int, **others: Any) -> dict[str, Any]:
    row = {"stream": "game", "frame": frame, "received_packets": 5, "recovered_packets": 0}
    return row | others


def written(folder: Path, **tables: pl.DataFrame) -> Path:
    folder.mkdir(parents=True)
    for name, rows in tables.items():
        rows.write_parquet(folder / f"{name}.parquet")
    return folder


def merged(folders: list[Path], **others: Any) -> dict[str, pl.DataFrame]:
    given: dict[str, Any] = {"competitions": {}, "pings": []} | others
    return merge(Parts(duration_ns=4 * SECOND, folders=folders, **given))


@pytest.fixture
def stream(tmp_path: Path) -> list[Path]:
    """A host that sent five frames, of which the client got different parts."""
    host = table(
        schema.HOST_FRAMES,
        host_frame(0, 100 * MS, key_frame=True, encode_ns=4 * MS),
        host_frame(1, 600 * MS),
        host_frame(2, 700 * MS),
        host_frame(3, 2 * SECOND),
        host_frame(4, 3900 * MS),
    )
    client = table(
        schema.CLIENT_FRAMES,
        client_frame(0, complete_ns=130 * MS, decoded_ns=135 * MS),
        client_frame(1, received_packets=4, recovered_packets=1, complete_ns=640 * MS,
                     decoded_ns=645 * MS),
        client_frame(2, received_packets=3, complete_ns=None, decoded_ns=None),
    )  # fmt: skip
    bins = table(
        schema.BINS,
        {"flow": "game", "bin_start_ns": 0, "sent_packets": 5, "received_bytes": 5400},
        {"flow": "game", "bin_start_ns": BIN, "sent_packets": 10, "dropped_packets": 3},
        {"flow": "download", "bin_start_ns": BIN, "sent_packets": 7},
    )
    link = written(tmp_path / "link", bins=bins)
    ends = {"host_frames": host, "client_frames": client}
    return [link, *(written(tmp_path / name, **{name: rows}) for name, rows in ends.items())]


def test_frames_are_joined_and_what_did_not_come_is_lost(stream: list[Path]) -> None:
    frames = merged(stream)["frames"]
    assert frames["complete_ns"].to_list() == [130 * MS, 640 * MS, None, None, None]
    assert frames["shown_ns"].to_list() == [135 * MS, 645 * MS, None, None, None]
    # Frame 3 is long past: lost. Frame 4 was sent 100 ms before the end: under way.
    assert frames["lost_packets"].to_list() == [0, 1, 2, 5, 0]
    assert frames["first_packet_queue_delay_ns"].null_count() == 5
    assert frames["key_frame"].to_list() == [True, False, False, False, False]


def test_a_stream_that_nothing_came_of_is_lost_but_for_its_last_second(tmp_path: Path) -> None:
    sent = (host_frame(n, n * SECOND + 500 * MS) for n in range(4))
    host = table(schema.HOST_FRAMES, *sent)
    frames = merged([written(tmp_path / "h", host_frames=host)])["frames"]
    assert frames["lost_packets"].to_list() == [5, 5, 5, 0]


def test_bins_get_frames_shown_and_payload(stream: list[Path]) -> None:
    bins = merged(stream)["bins"]
    game = bins.filter(pl.col("flow").cast(pl.String) == "game")
    assert game["bin_start_ns"].to_list() == [0, BIN]
    assert game["frames_shown"].to_list() == [1, 1]
    assert game["received_payload_bytes"].to_list() == [5000, 5000]
    assert game["dropped_packets"].to_list() == [0, 3]
    other = bins.filter(pl.col("flow").cast(pl.String) == "download")
    assert other["frames_shown"].to_list() == [0]


def test_a_frame_shown_in_a_bin_without_traffic_has_a_row_of_its_own(tmp_path: Path) -> None:
    host = table(schema.HOST_FRAMES, host_frame(0, 400 * MS))
    client = table(schema.CLIENT_FRAMES, client_frame(0, complete_ns=490 * MS, decoded_ns=510 * MS))
    bins = table(schema.BINS, {"flow": "game", "bin_start_ns": 0, "sent_packets": 5})
    folder = written(tmp_path / "p", host_frames=host, client_frames=client, bins=bins)
    found = merged([folder])["bins"]
    assert found["bin_start_ns"].to_list() == [0, BIN]
    assert found["frames_shown"].to_list() == [0, 1]
    assert found["sent_packets"].to_list() == [5, 0]


def test_intervals_are_shared_out_over_bins_and_nothing_is_lost() -> None:
    seen = [Interval(0.0, 0.5, 1000), Interval(0.5, 1.0, 777), Interval(1.0, 1.25, 30)]
    found = spread(Competition(300 * MS, seen), 4 * SECOND)
    assert sum(found.values()) == 1807
    assert found[0] == 400
    assert found[BIN] == 600 + 310
    assert set(found) == {0, BIN, 2 * BIN, 3 * BIN}


def test_tables_have_the_simulators_schema_exactly(stream: list[Path], tmp_path: Path) -> None:
    results = gw.run(gw.loads(SMALL), tmp_path / "sim")
    (run,) = results.finished_ids()
    own = merged(stream, pings=[Pong(5, 6), Pong(7, None)])
    for name, columns in schema.SIMULATED.items():
        simulated = pl.read_parquet(tmp_path / "sim" / "runs" / run / f"{name}.parquet").schema
        own[name].write_parquet(tmp_path / "own.parquet")
        written_schema = pl.read_parquet(tmp_path / "own.parquet").schema
        assert list(written_schema.items()) == list(simulated.items()), name
        assert list(columns) == list(simulated), name
    assert own["pings"]["rtt_ns"].to_list() == [6, None]
    assert set(own) == {*schema.SIMULATED, *schema.LIVE_ONLY}


def test_the_window_and_retransmissions_of_the_kernel_are_told() -> None:
    sent = [Interval(0.0, 0.5, 9, 14480, 20500, 0), Interval(0.5, 1.0, 9, 28960, 41000, 3)]
    found = merged([], competitions={"download": Competition(SECOND, [], sent)})
    state = found["controller"].rows()
    assert ("download", 1500 * MS, "cwnd_bytes", 14480.0) in state
    assert ("download", 2 * SECOND, "smoothed_rtt_ms", 41.0) in state
    assert found["events"].rows() == [(2 * SECOND, "download", "retransmits", 3.0)]


def late_table(low_ns: int, high_ns: int, packets: int) -> pl.DataFrame:
    quick = {"part": "link", "lateness_low_ns": 0, "lateness_high_ns": 50_000, "packets": 1000}
    slow = {"part": "link", "lateness_low_ns": low_ns, "lateness_high_ns": high_ns}
    return table(schema.LATENESS, quick, slow | {"packets": packets})


@pytest.mark.parametrize(("packets", "flagged"), [(5, False), (50, True)])
def test_a_run_is_flagged_by_its_99th_percentile(
    tmp_path: Path, packets: int, flagged: bool
) -> None:
    rows = late_table(4 * MS, 5 * MS, packets)
    found = merged([written(tmp_path / "link", lateness=rows)])
    events = [row for row in found["events"].rows() if row[2] == lateness.EVENT]
    assert events == ([(4 * SECOND, "link", "late", 5.0)] if flagged else [])


def test_the_bound_itself_is_within() -> None:
    assert lateness.too_late(late_table(800_000, lateness.BOUND_NS, 500)) == {}
    assert lateness.too_late(late_table(lateness.BOUND_NS, 1_250_000, 500)) == {"link": 1.25}


def test_names_of_two_parts_do_not_meet_in_one_category(tmp_path: Path) -> None:
    first = written(tmp_path / "a", cpu=table(schema.CPU, {"part": "link", "thread": "t"}))
    second = written(tmp_path / "b", cpu=table(schema.CPU, {"part": "host", "thread": "u"}))
    assert merged([first, second])["cpu"]["part"].to_list() == ["link", "host"]
