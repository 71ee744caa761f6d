"""The capture of a live run: tshark reads it, and it holds what the link counted."""

from __future__ import annotations

import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import polars as pl
import pytest
from live_fixture import needs_live
from witness import of_times

import gameway as gw

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    needs_live,
    pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is missing"),
]
FILE = """
title = "Captured"
duration = "4 s"
[path]
capacity = "20 Mb/s"
base_rtt = "20 ms"
loss = { probability = "2 %" }
[[stream]]
name = "game"
controller = "fixed"
start_bitrate = "6 Mb/s"
[[competitor]]
congestion_control = "cubic"
start = "1 s"
[ping]
interval = "100 ms"
"""
FIELDS = ("frame.time_epoch", "frame.interface_name", "frame.packet_flags_direction", "frame.len",
          "frame.cap_len", "ip.src", "ip.dst")  # fmt: skip


def read(file: Path) -> pl.DataFrame:
    """Each packet as tshark understands it."""
    words = [word for name in FIELDS for word in ("-e", name)]
    command = ["tshark", "-r", str(file), "-T", "fields", "-E", "occurrence=f", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    names = ["time", "interface", "direction", "size", "kept", "from", "to"]
    table = pl.read_csv(
        done.stdout.encode(),
        separator="\t",
        has_header=False,
        new_columns=names,
        infer_schema=False,
    )
    return table.with_columns(pl.col("size", "kept").cast(pl.Int64))


def zero_ns(file: Path) -> int:
    """When the run began, as the file's comment says."""
    comment = file.read_bytes()[:200].partition(b"time zero of the run: ")[2]
    return int(comment.partition(b" ")[0])


@pytest.mark.timed
@pytest.mark.long(
    "test_live_capture.py::test_packets_are_captured_at_both_ends_with_the_paths_delay_between"
)
def test_a_capture_has_what_the_link_counted(tmp_path: Path) -> None:
    results = gw.run(gw.loads(FILE), tmp_path / "out", on="live", live=gw.LiveOptions(pcap=True))
    (run,) = results.finished_ids()
    file = results.path / "runs" / run / "packets.pcapng"
    seen = read(file).with_columns(
        ns=pl.col("time").str.replace(r"\.", "").cast(pl.Int64) - zero_ns(file)
    )
    # Signalling and handshake are there, too: before the run the link is a wire.
    early = seen.filter(pl.col("ns") < 0).height
    assert early > 10
    with of_times():
        assert early < 500
    run_time = seen.filter(pl.col("ns") >= 0)
    counted = (
        results.bins()
        .collect()
        .group_by("flow")
        .agg(pl.selectors.matches("^(sent|received)_").sum())
    )
    down = run_time.filter(pl.col("from").str.starts_with("10.77.0."))
    came = down.filter((pl.col("interface") == "server") & (pl.col("direction") == "0x00000001"))
    left = down.filter((pl.col("interface") == "client") & (pl.col("direction") == "0x00000002"))
    assert came.height + left.height == down.height
    for number, flow in enumerate(("game", "download", "ping"), start=1):
        of_flow = counted.filter(pl.col("flow") == flow)
        address = pl.col("from") == f"10.77.0.{number}"
        assert came.filter(address).height == of_flow["sent_packets"].item() > 30
        assert came.filter(address)["size"].sum() == of_flow["sent_bytes"].item()
        # Of what was under way when the run ended the last may not have been handed out.
        missing = of_flow["received_packets"].item() - left.filter(address).height
        assert 0 <= missing <= 2
    lost = came.height - left.height
    assert 0.01 * came.height < lost < 0.2 * came.height
    up = run_time.filter(pl.col("from") == "10.78.0.1")
    assert up.filter(pl.col("interface") == "client").height > 1000
    assert seen["kept"].max() == 128
    assert seen.filter(pl.col("size") > 1300).height > 1000
    ping = came.filter(pl.col("from") == "10.77.0.3").height
    assert ping <= 41
    with of_times():
        assert ping >= 35
    events = results.events().collect().filter(pl.col("event") == "not_captured")
    assert events["value"].to_list() == [0.0]


@pytest.mark.timed
@pytest.mark.light
def test_packets_are_captured_at_both_ends_with_the_paths_delay_between(tmp_path: Path) -> None:
    file = tmp_path / "ping.pcapng"
    subprocess.run(
        [sys.executable, "-m", "gameway", "link", "--capacity", "20 Mb/s", "--rtt", "20 ms",
         "--pcap", str(file), "--", "sh", "-c", "ping -q -i 0.05 -c 20 $GAMEWAY_OUTSIDE"],
        check=True, capture_output=True, timeout=60,
    )  # fmt: skip
    seen = read(file).filter(pl.col("to").str.starts_with("10.77."))
    ends = seen.group_by("interface", maintain_order=True).agg(pl.col("time").cast(pl.Float64))
    times = dict(ends.iter_rows())
    assert [len(times[end]) for end in ("client", "server")] == [20, 20]
    ways = [1000 * (out - into) for into, out in zip(times["client"], times["server"], strict=True)]
    assert min(ways) > 9.99
    with of_times():
        assert min(ways) < 10.7
        # A busy machine is late with some.
        assert sum(ways) / 20 < 14.0


def test_without_the_option_there_is_none(tmp_path: Path) -> None:
    # The download begins at 1 s; iperf3 tells of no data if it is ended within half a second.
    short = FILE.replace('"4 s"', '"2500 ms"')
    results = gw.run(gw.loads(short), tmp_path / "out", on="live")
    assert not list(results.path.rglob("*.pcapng"))
