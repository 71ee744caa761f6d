"""IPv6 through `gameway link`: addresses, times, capacity, and marks in the traffic class."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from live_fixture import LINK, behind_link, needs_live
from witness import of_times

pytestmark = [
    needs_live,
    pytest.mark.skipif(not Path("/proc/sys/net/ipv6").is_dir(), reason="this kernel has no IPv6"),
]

PATH = ("--capacity", "20 Mb/s", "--rtt", "20 ms", "--size", "60 kB")
CAPACITY = 20e6
RECEIVER = """
import socket, sys
here = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
here.bind(("::", 9))
here.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVTCLASS, 1)
here.settimeout(1.5)
print("bound", flush=True)
counts = {}
try:
    while True:
        tclass = int.from_bytes(here.recvmsg(2048, 64)[1][0][2], sys.byteorder)
        counts[tclass] = counts.get(tclass, 0) + 1
except TimeoutError:
    import json
    print(json.dumps(counts))
"""
SENDER = """
import os, socket, sys, time
here = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
here.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_TCLASS, int(sys.argv[1]))
begin = time.monotonic()
for number in range(3000):
    while (left := begin + number / 3000 - time.monotonic()) > 0:
        time.sleep(left)
    here.sendto(bytes(1152), (os.environ["GAMEWAY_TO"], 9))
"""
DSCP = 0b101110
"""Expedited forwarding, which a path must leave as it is."""


def behind(*options: str, command: str) -> subprocess.CompletedProcess[str]:
    words = [*LINK, *PATH, *options, "--", "sh", "-c", command]
    return subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)


@pytest.mark.timed
@pytest.mark.light
def test_the_rtt_of_an_idle_link_is_that_of_the_path() -> None:
    done = behind(command="ping -6 -q -i 0.1 -c 20 $GAMEWAY_OUTSIDE6")
    found = re.search(r"= ([\d.]+)/([\d.]+)/", done.stdout)
    assert found is not None, done.stdout
    assert 20.0 <= float(found[1]) <= float(found[2])
    with of_times():
        assert float(found[1]) <= 20.7
        assert float(found[2]) <= 24.0
    # Nothing but the answers to the pings: hosts behind a link have no neighbours to ask for.
    assert "20 packets came, 20 arrived" in done.stderr


@pytest.mark.timed
@pytest.mark.light
@pytest.mark.skipif(shutil.which("iperf3") is None, reason="needs iperf3")
def test_a_download_has_the_capacity(tmp_path: Path) -> None:
    with subprocess.Popen(
        ["iperf3", "-s", "-1", "-6", "-p", "5299"], stdout=subprocess.DEVNULL
    ) as s:
        try:
            client = "iperf3 -6 -c $GAMEWAY_OUTSIDE6 -p 5299 -R -t 4 -J"
            done = behind("--out", str(tmp_path), command=client)
        finally:
            s.kill()
    received = json.loads(done.stdout)["end"]["sum_received"]["bits_per_second"]
    # 1428 of 1500 bytes are TCP's payload; the first round trips are slow start.
    assert 0 < received <= 1.01 * CAPACITY * 1428 / 1500
    with of_times():
        assert received >= 0.85 * CAPACITY * 1428 / 1500
    bins = pl.read_parquet(tmp_path / "bins.parquet")
    middle = bins.filter(pl.col("bin_start_ns").is_between(1_500_000_000, 3_000_000_000))
    carried = float(middle["received_bytes"].sum()) * 8 / (middle.height * 0.5)
    assert 0 < carried <= 1.01 * CAPACITY
    with of_times():
        assert carried >= 0.95 * CAPACITY


@pytest.mark.timed
@pytest.mark.light
@pytest.mark.parametrize(("ecn", "marks"), [(0b10, True), (0b00, False)])
def test_a_mark_arrives_in_the_traffic_class(ecn: int, *, marks: bool) -> None:
    with behind_link(*PATH, "--set", "path.queue.mark_above=5 ms") as own:
        inside = ["ip", "netns", "exec", own.space, sys.executable, "-c", RECEIVER]
        with subprocess.Popen(inside, stdout=subprocess.PIPE, text=True) as there:
            assert there.stdout is not None
            assert there.stdout.readline().strip() == "bound"
            environment = {**os.environ, "GAMEWAY_TO": own.address6}
            sender = [sys.executable, "-c", SENDER, str(DSCP << 2 | ecn)]
            subprocess.run(sender, env=environment, check=True, timeout=60)
            counts = {int(key): count for key, count in json.loads(there.stdout.read()).items()}
    assert {tclass >> 2 for tclass in counts} == {DSCP}
    total, marked = sum(counts.values()), counts.get(DSCP << 2 | 0b11, 0)
    assert total > 1000
    assert (marked > 0) == marks
    with of_times():
        # At 29 of 20 Mb/s most have waited longer than 5 ms of 24 ms.
        assert not marks or 0.7 <= marked / total <= 0.99


@pytest.mark.skipif(shutil.which("ethtool") is None, reason="needs ethtool")
def test_the_kernels_queues_carry_it_too() -> None:
    options = ("--backend", "tc", "--set", "path.base_rtt=10 us")
    command = "ping -6 -q -i 0.2 -c 5 $GAMEWAY_OUTSIDE6 && ping -q -i 0.2 -c 5 $GAMEWAY_OUTSIDE"
    done = behind(*options, command=command)
    assert done.stdout.count(" 0% packet loss") == 2, done.stdout
