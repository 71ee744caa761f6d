"""What a live run reads of ping and iperf3, and what it tells them."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

import gameway as gw
from gameway.live import competitors, pings, plan

if TYPE_CHECKING:
    from pathlib import Path

MS = 1_000_000
WALL = 1_700_000_000 * 10**9

RUN = """
duration = "10 s"
[path]
capacity = "25 Mb/s"
base_rtt = "20 ms"
[[stream]]
controller = "gcc"
[[competitor]]
congestion_control = "newreno"
start = "1 s"
stop = "4 s"
[ping]
interval = "200 ms"
"""


def planned(text: str, *settings: str) -> plan.Plan:
    return plan.plan_of(gw.expand(gw.loads(text).with_overrides(list(settings)))[0].spec)


def reply(number: int, came_ms: float, rtt: str, more: str = "") -> str:
    micros = round(came_ms * 1000)
    return (
        f"[1700000{micros // 10**6:03}.{micros % 10**6:06}] 64 bytes from 10.77.0.3: "
        f"icmp_seq={number} ttl=64 time={rtt} ms{more}"
    )


def test_pings_are_read_with_the_lost_ones_where_they_were() -> None:
    lines = ["PING 10.77.0.3 (10.77.0.3) 56(84) bytes of data.", reply(1, 30, "20.1"),
             reply(2, 231, "21"), reply(2, 240, "30", " (DUP!)"), reply(4, 740, "130")]  # fmt: skip
    found = pings.read(lines, WALL, 200 * MS, 1000 * MS)
    assert [one.sent_ns for one in found] == [9_900_000, 210 * MS, 410 * MS, 610 * MS, 810 * MS]
    assert [one.rtt_ns for one in found] == [20_100_000, 21 * MS, None, 130 * MS, None]


def test_a_ping_that_could_not_be_answered_in_time_is_not_lost() -> None:
    found = pings.read([reply(1, 30, "20"), reply(2, 230, "20")], WALL, 200 * MS, 425 * MS)
    assert len(found) == 2
    later = pings.read([reply(1, 30, "20"), reply(2, 230, "20")], WALL, 200 * MS, 435 * MS)
    assert [one.rtt_ns for one in later] == [20 * MS, 20 * MS, None]


def test_without_any_reply_all_pings_are_lost() -> None:
    found = pings.read(["PING 10.77.0.3"], WALL, 200 * MS, 1000 * MS)
    assert [one.sent_ns // MS for one in found] == [0, 200, 400, 600, 800]
    assert {one.rtt_ns for one in found} == {None}


def test_sequence_numbers_of_pings_wrap() -> None:
    lines = [reply(number % 65536, number - 65530 + 5, "1") for number in range(65530, 65540)]
    found = [one for one in pings.read(lines, WALL, MS, 100 * MS) if one.rtt_ns]
    assert len(found) == 10


def test_flows_have_addresses_in_order() -> None:
    own = planned(RUN)
    assert [(flow.name, flow.address) for flow in own.flows] == [
        ("game", "10.77.0.1"), ("download", "10.77.0.2"), ("ping", "10.77.0.3")
    ]  # fmt: skip
    config = plan.link_config(own, plan.Place("/run/netns/s", "/run/netns/c", 7))
    assert config["path"]["capacity"] == "25 Mb/s"
    download = {"name": "download", "address": "10.77.0.2", "upwards": False}
    assert config["flows"][1] == download


def test_the_kernel_is_asked_for_its_own_name_and_data_goes_down() -> None:
    own = planned(RUN)
    command = competitors.client_command(own, own.competitors[0])
    assert command[command.index("--congestion") + 1] == "reno"
    assert "--reverse" in command
    assert "10.77.0.2" in command
    assert competitors.start_ns(own, own.competitors[0]) == 925 * MS


def test_a_limited_competitor_writes_blocks_as_the_simulated_one() -> None:
    own = planned(RUN, "competitor.0.rate_limit=5 Mb/s")
    command = competitors.client_command(own, own.competitors[0])
    assert command[command.index("--bitrate") + 1] == "5000000"
    assert command[command.index("--length") + 1] == "131072"


def test_windows_and_segments_are_set_of_the_sockets() -> None:
    own = planned(RUN, "competitor.0.receive_window=1 MiB", "competitor.0.mss=1000 B")
    command = competitors.client_command(own, own.competitors[0])
    assert command[command.index("--set-mss") + 1] == "1000"
    # 988 B of payload in 2304 B of memory are 109 parts of 256; the kernel doubles what it is told.
    buffer = int(command[command.index("--window") + 1])
    assert buffer == pytest.approx(2**20 * 256 / 109 / 2, abs=1)
    plain = competitors.client_command(planned(RUN), planned(RUN).competitors[0])
    assert not {"--set-mss", "--window"} & set(plain)


def test_udp_counts_its_headers() -> None:
    text = RUN.replace('congestion_control = "newreno"', 'kind = "udp"\nrate = "3 Mb/s"')
    own = planned(text)
    command = competitors.client_command(own, own.competitors[0])
    assert command[command.index("--length") + 1] == "1172"
    assert int(command[command.index("--bitrate") + 1]) == 3_000_000 * 1172 // 1200
    assert competitors.start_ns(own, own.competitors[0]) == 920 * MS
    assert "--tos" not in command


@pytest.mark.parametrize(("ecn", "field"), [("ect0", "2"), ("ect1", "1")])
def test_udp_says_whether_it_can_be_marked(ecn: str, field: str) -> None:
    kind = f'kind = "udp"\nrate = "3 Mb/s"\necn = "{ecn}"'
    own = planned(RUN.replace('congestion_control = "newreno"', kind))
    command = competitors.client_command(own, own.competitors[0])
    assert command[command.index("--tos") + 1] == field


def report(folder: Path, **found: Any) -> Path:
    file = folder / "download.out"
    file.write_text(json.dumps(found), encoding="utf-8")
    return file


def stream(start: float, end: float) -> dict[str, Any]:
    return {"streams": [{"start": start, "end": end, "bytes": 1000, "snd_cwnd": 14480}]}


def test_a_report_of_an_interrupted_test_is_read_each_interval_once(tmp_path: Path) -> None:
    rows = [stream(0, 0.5), stream(0.5, 1.0), stream(0.5, 1.0)]
    file = report(tmp_path, intervals=rows, error="interrupt - the client has terminated")
    found = competitors.intervals(file)
    assert [one.stop_s for one in found] == [0.5, 1.0]
    assert found[0].window_bytes == 14480


def test_a_report_without_data_is_an_error_that_says_why(tmp_path: Path) -> None:
    file = report(tmp_path, intervals=[], error="unable to connect to server: No route to host")
    with pytest.raises(gw.GamewayError, match=r"download\.out: iperf3: unable to .* host$"):
        competitors.intervals(file)
    file = report(tmp_path, intervals=[], error="interrupt - the client has terminated")
    with pytest.raises(gw.GamewayError, match="terminated; let the competitor stay for a second"):
        competitors.intervals(file)


@pytest.mark.parametrize(("used", "loaded"), [("gameway.live.part", False), ("gameway", True)])
def test_a_part_of_a_run_starts_without_what_reads_results(used: str, *, loaded: bool) -> None:
    script = f"import sys, {used}; {loaded} and gameway.run; "
    script += "print('polars' in sys.modules, 'pydantic' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [str(loaded)] * 2


def test_what_is_loaded_on_demand_is_named_and_there() -> None:
    assert set(gw.__all__) <= set(dir(gw))
    assert all(getattr(gw, name) is not None for name in gw.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = gw.nothing
