"""`gameway link` on real packets: closed forms, both sides bounded; needs root, iperf3 and ping."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from live_fixture import LINK, behind_link, needs_live, report_of
from witness import of_times

from gameway import _core

CAPACITY = 20e6
HEADERS = 28
"""IPv4 and UDP."""
PAYLOAD = 1172
SENDER = """
import os, socket, sys, time
bits, size, seconds, tos = (int(word) for word in sys.argv[1:])
here = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
here.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, tos)
here.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)
interval, begin = size * 8 / bits, time.monotonic()
for number in range(int(seconds / interval)):
    while (left := begin + number * interval - time.monotonic()) > 0:
        time.sleep(left)
    here.sendto(bytes(size - 28), (os.environ["GAMEWAY_TO"], 9))
"""


STALLS = {"interval": "1 s", "lengths": [["1 ms", "2 ms", 1]], "connections": "0 %"}


def own_path(**given: Any) -> dict[str, Any]:
    queue = {"kind": "drop-tail", "size": "60 kB"}
    return {"capacity": "20 Mb/s", "base_rtt": "20 ms", "queue": queue, **given}


def gateway_link(*options: str, command: list[str], out: Path | None = None) -> list[str]:
    keep = [] if out is None else ["--out", str(out)]
    return [*LINK, *options, *keep, "--", *command]


PATH = ("--capacity", "20 Mb/s", "--rtt", "20 ms", "--size", "60 kB")


@pytest.fixture
def send(tmp_path: Path) -> Any:
    """Send UDP at a constant rate through a path, down; give the link's report and tables."""

    def sending(rate: float, *options: str, seconds: int = 4, tos: int = 0) -> Any:
        folder = Path(tempfile.mkdtemp(dir=tmp_path))
        with behind_link(*PATH, *options, "--out", str(folder)) as own:
            there = {**os.environ, "GAMEWAY_TO": own.address}
            size = str(PAYLOAD + HEADERS)
            words = [sys.executable, "-c", SENDER, str(int(rate)), size, str(seconds), str(tos)]
            subprocess.run(words, env=there, check=True, timeout=60)
            time.sleep(0.5)
        return report_of(folder), folder

    return sending


@needs_live
@pytest.mark.timed
@pytest.mark.light
def test_the_rtt_of_an_idle_link_is_that_of_the_path() -> None:
    command = ["sh", "-c", "ping -q -i 0.1 -c 30 $GAMEWAY_OUTSIDE"]
    done = subprocess.run(
        gateway_link(*PATH, command=command), capture_output=True, text=True, timeout=60, check=True
    )
    found = re.search(r"= ([\d.]+)/([\d.]+)/", done.stdout)
    assert found is not None
    least, mean = float(found[1]), float(found[2])
    assert 20.0 <= least <= mean
    assert "lateness" in done.stderr
    with of_times():
        assert least <= 20.7
        assert mean <= 24.0


@needs_live
@pytest.mark.timed
@pytest.mark.light
def test_an_overloaded_link_delivers_its_capacity_and_its_queue_is_full(send: Any) -> None:
    rate = 1.5 * CAPACITY
    report, folder = send(rate)
    bins = pl.read_parquet(folder / "bins.parquet")
    middle = bins.filter(pl.col("bin_start_ns").is_between(1_000_000_000, 3_000_000_000))
    got = middle["received_bytes"].sum() / middle["sent_bytes"].sum()
    carried = middle["received_bytes"].sum() * 8 / (middle.height * 0.5)
    assert 0 < carried <= 1.005 * CAPACITY
    # 50 packets of 1200 B fit into 60 kB: 24 ms, and the one in transmission up to 0.48 ms.
    delay = pl.read_parquet(folder / "queue_delay.parquet")
    mean = delay["sum_ns"].sum() / delay["packets"].sum() / 1e6
    assert 0 < mean <= 24.5
    conserved(report)
    fates = report["dropped_packets"] / report["arrived_packets"]
    assert 0 < fates < 1
    with of_times():
        # Of a sender that is late the queue is empty at times, and overflows when it catches up.
        assert fates <= 0.36
        assert 0.97 / 1.5 <= got <= 1.03 / 1.5
        assert carried >= 0.98 * CAPACITY
        assert mean >= 22.5
        assert fates >= 0.30
        # What comes while the link's process does not run.
        assert report["dropped_by_kernel"] == report["refused_by_kernel"] == 0


def conserved(report: dict[str, Any]) -> None:
    """No packet is lost track of."""
    fates = ("delivered_packets", "dropped_packets", "lost_packets", "queued_packets")
    under_way = report["under_way_packets"]
    assert report["arrived_packets"] == sum(report[fate] for fate in fates) + under_way
    assert report["arrived_packets"] > 0


@needs_live
@pytest.mark.timed
@pytest.mark.light
def test_a_packet_takes_its_time_onto_the_wire(tmp_path: Path) -> None:
    # 1428 bytes of an echo at 1 Mb/s are 11.4 ms, on the way down only.
    options = ("--capacity", "1 Mb/s", "--rtt", "20 ms", "--set", "path.queue.size=60 kB")
    command = ["sh", "-c", "ping -q -i 0.2 -c 15 -s 1400 $GAMEWAY_OUTSIDE"]
    words = gateway_link(*options, command=command, out=tmp_path / "out")
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
    found = re.search(r"= ([\d.]+)/([\d.]+)/", done.stdout)
    assert found is not None
    wanted = 20 + (1400 + 28) * 8 / 1e3
    assert wanted <= float(found[1]) <= float(found[2])
    with of_times():
        assert float(found[1]) <= wanted + 0.8
        assert float(found[2]) <= wanted + 4.0


@needs_live
@pytest.mark.timed
@pytest.mark.light
def test_loss_has_its_share(send: Any) -> None:
    report, _ = send(CAPACITY / 2, "--loss", "10 %")
    count, lost = report["forwarded_packets"], report["lost_packets"]
    # Five standard deviations of a binomial.
    reach = 5 * (count * 0.1 * 0.9) ** 0.5
    assert abs(lost - 0.1 * count) <= reach
    assert count > 3000
    conserved(report)


@needs_live
@pytest.mark.timed
@pytest.mark.light
@pytest.mark.parametrize(("tos", "marks"), [(0b10, True), (0b00, False)])
def test_a_mark_arrives_at_a_real_socket(tos: int, *, marks: bool) -> None:
    with behind_link(*PATH, "--set", "path.queue.mark_above=5 ms") as own:
        receiver = (
            "import socket, time; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM);"
            "s.bind(('0.0.0.0', 9)); s.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1);"
            "s.settimeout(1.5); print('bound', flush=True); n = [0] * 4\n"
            "try:\n while True: n[s.recvmsg(2048, 64)[1][0][2][0] & 3] += 1\n"
            "except TimeoutError: print(*n)"
        )
        inside = ["ip", "netns", "exec", own.space, sys.executable, "-c", receiver]
        with subprocess.Popen(inside, stdout=subprocess.PIPE, text=True) as there:
            assert there.stdout is not None
            assert there.stdout.readline().strip() == "bound"
            environment = {**os.environ, "GAMEWAY_TO": own.address}
            words = [sys.executable, "-c", SENDER, "30000000", "1200", "1", str(tos)]
            subprocess.run(words, env=environment, check=True, timeout=60)
            counts = [int(word) for word in there.stdout.read().split()]
    assert sum(counts) > 1000
    # Most have waited longer than 5 ms of 24 ms.
    share = counts[3] / sum(counts)
    assert (share > 0) == marks
    with of_times():
        assert not marks or 0.7 <= share <= 0.99


@needs_live
@pytest.mark.skipif(shutil.which("ethtool") is None, reason="needs ethtool")
def test_the_kernels_queues_carry_the_capacity_too() -> None:
    options = ("--capacity", "20 Mb/s", "--rtt", "10 us", "--size", "60 kB", "--backend", "tc")
    words = gateway_link(*options, command=["sh", "-c", "ping -q -i 0.1 -c 10 $GAMEWAY_OUTSIDE"])
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    if "this kernel has no" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    assert " 0% packet loss" in done.stdout
    assert re.search(r"bfifo: \d+ packets sent, 0 dropped", done.stderr)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--capcity", "1 Mb/s", "--", "true"], "unexpected argument '--capcity' found"),
        (["--rtt", "20 ms", "--", "true"], '--capacity is missing; give --capacity "25 Mb/s"'),
        ([*PATH[2:], "--capacity", "fast", "true"], '--capacity: "fast" has no number in front'),
        ([*PATH, "--queue", "dualpi3", "--", "true"], '--queue: unknown queue "dualpi3"; known'),
        ([*PATH, "--set", "path.queue.depth=2", "true"], "--set path.queue.depth=2: path.queue.de"),
        ([*PATH, "--out", "/proc/none", "--", "true"], '--out: "/proc/none" cannot be made'),
        ([*PATH, "--pcap", "/proc/none", "--", "true"], '--pcap: "/proc/none" cannot be written'),
        (
            [*PATH, "--backend", "tc", "--jitter", "3ms", "true"],
            "--jitter: is not for --backend tc",
        ),
        (list(PATH), "required arguments were not provided: <COMMAND>"),
    ],
)
def test_an_option_that_cannot_be_is_named(words: list[str], told: str) -> None:
    command = [*LINK, *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert told in " ".join(done.stderr.split())


@needs_live
def test_what_follows_the_command_is_the_commands() -> None:
    words = [*LINK, *PATH, "sh", "-c", 'test "$*" = "-- --rtt" && exit 3', "sh", "--", "--rtt"]
    assert subprocess.run(words, capture_output=True, timeout=60, check=False).returncode == 3


@needs_live
def test_a_command_has_the_signals_of_a_shell() -> None:
    # Python ignores signals that programs must not. A script's background jobs ignore SIGQUIT, and
    # tests may be one.
    words = ["env", "--default-signal=QUIT", *LINK, *PATH, "grep", "^SigIgn:", "/proc/self/status"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
    ignored = int(done.stdout.split()[1], 16)
    assert [number for number in signal.valid_signals() if ignored >> (number - 1) & 1] == []


@needs_live
def test_links_that_start_together_have_addresses_of_their_own() -> None:
    # Each stays until all have told.
    words = gateway_link(*PATH, command=["sh", "-c", "echo $GAMEWAY_OUTSIDE; read -r _"])
    pipe = subprocess.PIPE
    links = [subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True) for _ in range(4)]
    told = [one.stdout.readline().strip() for one in links if one.stdout]
    for one in links:
        one.communicate("\n", timeout=60)
    assert [one.returncode for one in links] == [0] * 4
    assert len(set(told)) == 4, told


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"path": own_path(capacity={"wifi": "802.11n", "mcs": 99})}, "mcs"),
        ({"flows": [{"name": "a", "address": None, "via": "nowhere"}]}, 'flow "a": via'),
        ({"flows": [{"name": "a", "address": None, "base_rtt": "2 h"}]}, 'flow "a": base_rtt'),
        ({"path": own_path(stalls=STALLS)}, "duration"),
        ({"flows": [{"name": "a", "address": None}, {"name": "a", "address": "::1"}]}, "two flows"),
        ({"seconds": 5}, "unknown field"),
        ({"path": own_path(base_rtt="2 h")}, "path.base_rtt"),
    ],
)
def test_a_configuration_that_cannot_be_is_refused(changed: dict[str, Any], told: str) -> None:
    device = {"namespace": None, "device": "gw0"}
    config = {"seed": 1, "path": own_path(), "server": device, "client": device, "folder": "."}
    _core.check_link(json.dumps(config))
    with pytest.raises(ValueError, match=told):
        _core.check_link(json.dumps({**config, **changed}))
