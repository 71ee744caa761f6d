"""`gameway link` on real packets: closed forms, both sides bounded; needs root, iperf3 and ping."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from witness import of_times

import gameway as gw
from gameway import _core
from gameway.live import kernel, link, namespaces, outside, summary

if TYPE_CHECKING:
    from collections.abc import Iterator

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


def _missing() -> str | None:
    programs = [name for name in ("ip", "ping", "iperf3") if shutil.which(name) is None]
    if programs:
        return f"needs {', '.join(programs)}"
    try:
        namespaces.require()
    except namespaces.LiveError as error:
        return str(error)
    return None


needs_root = pytest.mark.skipif(_missing() is not None, reason=_missing() or "")


STALLS = {"interval": "1 s", "lengths": [["1 ms", "2 ms", 1]], "connections": "0 %"}


def own_path(**given: Any) -> dict[str, Any]:
    queue = {"kind": "drop-tail", "size": "60 kB"}
    return {"capacity": "20 Mb/s", "base_rtt": "20 ms", "queue": queue, **given}


def gateway_link(*options: str, command: list[str], out: Path | None = None) -> list[str]:
    keep = [] if out is None else ["--out", str(out)]
    return [sys.executable, "-m", "gameway", "link", *options, *keep, "--", *command]


PATH = ("--capacity", "20 Mb/s", "--rtt", "20 ms", "--size", "60 kB")


@pytest.fixture
def send(tmp_path: Path) -> Iterator[Any]:
    """Send UDP at a constant rate through a path, down; give the link's report and tables."""

    def sending(path: dict[str, Any], rate: float, *, seconds: int = 4, tos: int = 0) -> Any:
        folder = Path(tempfile.mkdtemp(dir=tmp_path))
        with link.link(path, folder) as (spaces, part, _):
            there = {**os.environ, "GAMEWAY_TO": client_of(spaces)}
            size = str(PAYLOAD + HEADERS)
            words = [sys.executable, "-c", SENDER, str(int(rate)), size, str(seconds), str(tos)]
            subprocess.run(words, env=there, check=True, timeout=60)
            time.sleep(0.5)
            report = part.result()
        return report, folder

    return sending


def client_of(spaces: namespaces.Namespaces) -> str:
    """Give the address behind the link."""
    shown = namespaces.ip("-json", "-n", spaces.name("client"), "address", "show")
    devices = {device["ifname"]: device for device in json.loads(shown)}
    return str(devices[namespaces.DEVICE]["addr_info"][0]["local"])


@needs_root
@pytest.mark.timed
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


@needs_root
@pytest.mark.timed
def test_an_overloaded_link_delivers_its_capacity_and_its_queue_is_full(send: Any) -> None:
    rate = 1.5 * CAPACITY
    report, folder = send(own_path(), rate)
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
    assert 0 < fates <= 0.36
    with of_times():
        # Of a sender that is late the queue is empty at times.
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


@needs_root
@pytest.mark.timed
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


@needs_root
@pytest.mark.timed
def test_loss_has_its_share(send: Any) -> None:
    report, _ = send(own_path(loss={"kind": "random", "probability": "10 %"}), CAPACITY / 2)
    count, lost = report["forwarded_packets"], report["lost_packets"]
    # Five standard deviations of a binomial.
    reach = 5 * (count * 0.1 * 0.9) ** 0.5
    assert abs(lost - 0.1 * count) <= reach
    assert count > 3000
    conserved(report)


@needs_root
@pytest.mark.timed
@pytest.mark.parametrize(("tos", "marks"), [(0b10, True), (0b00, False)])
def test_a_mark_arrives_at_a_real_socket(tmp_path: Path, tos: int, *, marks: bool) -> None:
    queue = {"kind": "drop-tail", "size": "60 kB", "mark_above": "5 ms"}
    with link.link(own_path(queue=queue), tmp_path) as (spaces, part, _):
        receiver = (
            "import socket, time; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM);"
            "s.bind(('0.0.0.0', 9)); s.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1);"
            "s.settimeout(1.5); print('bound', flush=True); n = [0] * 4\n"
            "try:\n while True: n[s.recvmsg(2048, 64)[1][0][2][0] & 3] += 1\n"
            "except TimeoutError: print(*n)"
        )
        inside = ["ip", "netns", "exec", spaces.name("client"), sys.executable, "-c", receiver]
        with subprocess.Popen(inside, stdout=subprocess.PIPE, text=True) as there:
            assert there.stdout is not None
            assert there.stdout.readline().strip() == "bound"
            environment = {**os.environ, "GAMEWAY_TO": client_of(spaces)}
            words = [sys.executable, "-c", SENDER, "30000000", "1200", "1", str(tos)]
            subprocess.run(words, env=environment, check=True, timeout=60)
            counts = [int(word) for word in there.stdout.read().split()]
        part.result()
    assert sum(counts) > 1000
    # Most have waited longer than 5 ms of 24 ms.
    share = counts[3] / sum(counts)
    assert (share > 0) == marks
    with of_times():
        assert not marks or 0.7 <= share <= 0.99


@needs_root
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
    ("given", "told"),
    [
        ({"capacity": {"steps": [["0 s", "2 Mb/s"]]}}, "path.capacity"),
        ({"loss": {"kind": "random", "probability": "1 %"}}, "path.loss"),
        ({"jitter": {"kind": "normal", "deviation": "1 ms"}}, "path.jitter"),
        ({"queue": {"kind": "drop-tail", "size": "1 bdp", "mark_above": "1 ms"}}, "mark_above"),
        ({"queue": {"kind": "htb"}}, "htb"),
        ({"back": {"loss": {"kind": "random", "probability": "1 %"}}}, "path.back.loss"),
    ],
)
def test_what_tc_has_not_is_refused(given: dict[str, Any], told: str) -> None:
    with pytest.raises(gw.InputError, match=told):
        kernel.plan(own_path(**given))


def test_tc_is_asked_for_what_the_path_is() -> None:
    found = kernel.plan(own_path(forward_delay="12 ms", back={"capacity": "5 Mb/s"}))
    assert found.delays_ns == (12_000_000, 8_000_000)
    assert found.down == kernel.Shaper(20_000_000, ["bfifo", "limit", str(60_000 * 1514 // 1500)])
    assert found.up == kernel.Shaper(5_000_000, ["bfifo", "limit", str(187_500 * 1514 // 1500)])
    queue = {"kind": "fq-codel", "size": "100 packets", "target": "5 ms", "ecn": "off"}
    words = kernel.plan(own_path(queue=queue)).down.queue
    assert words == ["fq_codel", "target", "5000us", "noecn", "limit", "100"]
    queue = {
        "kind": "cake", "bandwidth": "18 Mb/s", "rtt": "regional", "diffserv": "diffserv4",
        "framing": "pppoe-ptm ether-vlan", "overhead": "-4 B", "mpu": "64 B", "cells": "none",
        "ack_filter": "aggressive", "ingress": "on", "wash": "off",
    }  # fmt: skip
    assert kernel.plan(own_path(queue=queue)).down.queue == [
        "cake", "regional", "bandwidth", "18000000bit", "diffserv4", "pppoe-ptm", "ether-vlan",
        "overhead", "-4", "mpu", "64", "noatm", "ack-filter-aggressive", "ingress", "nowash",
    ]  # fmt: skip


def test_options_give_the_path_of_an_experiment_file(tmp_path: Path) -> None:
    (tmp_path / "mine.trace").write_text("1\n2\n", encoding="utf-8")
    text = """
        duration = "10 s"
        [path]
        capacity = { trace = "mine.trace" }
        base_rtt = "20 ms"
        queue = { kind = "dual-pi2", size = "2 bdp", target = "20 ms" }
        loss = { probability = "1 %" }
        jitter = { deviation = "2 ms" }
        back = { capacity = "5 Mb/s" }
        [[competitor]]
        kind = "tcp"
        congestion_control = "cubic"
    """
    (tmp_path / "mine.toml").write_text(text, encoding="utf-8")
    (run,) = gw.expand(gw.load(tmp_path / "mine.toml"))
    options = link.LinkOptions(
        rtt="20 ms", queue="dualpi2", size="2 bdp", loss="1 %", jitter="2 ms",
        trace=tmp_path / "mine.trace", up_capacity="5 Mb/s",
        settings=("path.queue.target=20 ms",),
    )  # fmt: skip
    assert link.path_of(options) == run.spec["path"]
    assert link.path_of(link.LinkOptions(experiment=tmp_path / "mine.toml")) == run.spec["path"]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (
            {"capacity": "fast"},
            '--capacity: "fast" has no number in front; write for example "25 Mb/s"',
        ),
        ({"rtt": "20"}, '--rtt: "20" has nothing as unit'),
        ({"capacity": None}, '--capacity is missing; give --capacity "25 Mb/s"'),
        ({"rtt": None}, '--rtt is missing; give --rtt "16 ms"'),
        (
            {"queue": "dualpi3"},
            '--queue: "dualpi3" is no queue; did you mean "dual-pi2"?',
        ),
        ({"size": "large"}, '--size: "large" has no number in front; write for example "2 bdp"'),
        ({"loss": "200 %"}, '--loss: "200 %" must be at most 100 %'),
        ({"jitter": "x"}, '--jitter: "x" has no number'),
        ({"up_capacity": "5"}, '--up-capacity: "5" has nothing as unit'),
        ({"capacity": None, "trace": Path("no.trace")}, '--trace: "no.trace" names no file'),
        ({"steps": "0 s: 2 Mb/s"}, "exclude"),
        ({"capacity": None, "steps": "2 Mb/s"}, "TIME: CAPACITY"),
        ({"capacity": None, "steps": "0 s: x"}, '--steps: "0 s: x": "x" has no number'),
        (
            {"settings": ("path.queue.depth=2",)},
            "--set path.queue.depth=2: path.queue.depth = 2 is",
        ),
    ],
)
def test_a_slip_is_told_as_it_was_typed(options: dict[str, Any], told: str) -> None:
    with pytest.raises(gw.InputError) as error:
        link.path_of(link.LinkOptions(**{"capacity": "25 Mb/s", "rtt": "20 ms", **options}))
    assert told in str(error.value)
    # What a person typed is no key of a file.
    assert "path." not in str(error.value) or "settings" in options


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--capcity", "1 Mb/s", "--", "true"], "No such option: --capcity"),
        ([*PATH, "--out", "/proc/none", "--", "true"], '--out: "/proc/none" cannot be made'),
        ([*PATH, "--pcap", "/proc/none", "--", "true"], '--pcap: "/proc/none" cannot be written'),
        ([*PATH, "--backend", "tc", "--jitter", "3ms", "--", "true"], '--jitter: "3ms" is not for'),
    ],
)
def test_an_option_that_cannot_be_is_named(words: list[str], told: str) -> None:
    command = [sys.executable, "-m", "gameway", "link", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert told in " ".join(done.stderr.split())


@needs_root
def test_what_follows_the_command_is_the_commands() -> None:
    words = [sys.executable, "-m", "gameway", "link", *PATH, "sh", "-c", "exit 3"]
    assert subprocess.run(words, capture_output=True, timeout=60, check=False).returncode == 3


@needs_root
def test_links_that_start_together_have_addresses_of_their_own() -> None:
    words = gateway_link(*PATH, command=["sh", "-c", "echo $GAMEWAY_OUTSIDE; sleep 2"])
    links = [subprocess.Popen(words, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    told = [one.communicate(timeout=60)[0].strip() for one in links]
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


def test_names_tell_their_owner() -> None:
    start = namespaces.start_of(os.getpid())
    assert start is not None
    assert namespaces.start_of(os.getpid()) == start
    device = f"gw{outside.base36(os.getpid())}-{outside.base36(start)}"
    assert outside.NAME.fullmatch(device)
    assert len(f"gw{outside.base36(2**22)}-{outside.base36(24 * 366 * 86400 * 100)}") <= 15
    assert not outside._is_left(device)
    # The same number with another start: a process that is gone.
    assert outside._is_left(f"gw{outside.base36(os.getpid())}-{outside.base36(start + 1)}")


BUCKETS = [(0, 10, 50), (10, 20, 49), (20, 40, 1)]


@pytest.mark.parametrize("buckets", [BUCKETS, BUCKETS * 3])
def test_quantiles_lie_within_their_buckets(buckets: list[tuple[int, int, int]]) -> None:
    assert summary.quantile(buckets, 0.5) == 10
    assert summary.quantile(buckets, 0.745) == pytest.approx(15)
    assert summary.quantile(buckets, 1.0) == 40


def test_quantiles_over_windows_rise_with_their_share() -> None:
    # Windows of 5 s: the same two buckets in each, with other counts.
    windows = [(0, 10, 900), (40, 50, 100), (0, 10, 990), (40, 50, 10), (0, 10, 1000)]
    found = [summary.quantile(windows, share / 1000) for share in range(1, 1001)]
    assert found == sorted(found)
    # 2890 of 3000 are in the first bucket, and 110 in the second.
    assert summary.quantile(windows, 0.95) == pytest.approx(10 * 2850 / 2890)
    assert summary.quantile(windows, 0.99) == pytest.approx(40 + 10 * (2970 - 2890) / 110)


def test_a_bucket_without_an_end_gives_a_delay_that_can_be() -> None:
    last = (80_000_000_000, 2**63 - 1, 10)
    assert 80e9 <= summary.quantile([last], 0.99) <= 160e9
