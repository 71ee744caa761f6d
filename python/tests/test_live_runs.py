"""Whole live runs, short ones: what they leave, and what is left after an accident."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from live_fixture import needs_live
from witness import of_times

import gameway as gw
from gameway import _core, report
from gameway.live import namespaces, plan, process, schema
from gameway.live.process import program
from gameway.live.run import prepare, run_one

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = needs_live
LONG = pytest.mark.long("test_live_runs.py::test_a_competitor_may_send_upwards")

DOWNLOAD = """
title = "A download"
duration = "{seconds} s"
runs = {runs}
[path]
capacity = "20 Mb/s"
base_rtt = "20 ms"
[[competitor]]
congestion_control = "cubic"
start = "500 ms"
[ping]
interval = "100 ms"
[record]
delay_window = "500 ms"
packets = true
"""
PATIENCE_S = 30.0


def written(folder: Path, seconds: int, runs: int = 1) -> Path:
    file = folder / "mine.toml"
    file.write_text(DOWNLOAD.format(seconds=seconds, runs=runs), encoding="utf-8")
    return file


def of_process(process: int) -> list[str]:
    """The namespaces of a run of a process."""
    names = (place.name for place in namespaces.RUN.iterdir())
    return [name for name in names if name.startswith(f"gw-{process}-")]


def wait_until(what: Callable[[], Any]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not what():
        assert time.monotonic() < end, "it did not come to pass"
        time.sleep(0.05)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> gw.Results:
    folder = tmp_path_factory.mktemp("live")
    return gw.run(gw.load(written(folder, 3)), folder / "out", on="live")


def test_a_live_run_has_all_tables_and_leaves_nothing(results: gw.Results) -> None:
    (run,) = results.finished_ids()
    place = results.path / "runs" / run
    tables = {file.stem for file in place.glob("*.parquet")}
    assert tables == {*schema.SIMULATED, *schema.LIVE_ONLY, "packets"}
    assert not (place / "parts").exists()
    assert of_process(os.getpid()) == []
    facts = results.manifest["live"]
    assert results.manifest["driver"] == "live"
    assert "cubic" in facts["congestion_controls"]
    assert {"iperf3", "ping"} <= set(facts["tools"])
    assert facts["sysctls"]["net.ipv4.tcp_no_metrics_save"] == "1"


@pytest.mark.timed
@pytest.mark.light
def test_what_a_download_has_is_the_capacity(results: gw.Results) -> None:
    bins = results.bins().collect()
    download = bins.filter((pl.col("flow") == "download") & (pl.col("bin_start_ns") >= 10**9))
    mbps = download["received_bytes"].sum() * 8 / 2e6
    assert 0 < mbps < 20.4
    with of_times():
        assert mbps > 18.0
    goodput = download["received_payload_bytes"].sum() * 8 / 2e6
    assert 0.93 * mbps < goodput < mbps
    early = bins.filter((pl.col("flow") == "download") & (pl.col("bin_start_ns") == 0))
    # The control connection of iperf3 only: it begins three round trips before the download.
    assert early["received_bytes"].sum() < 5000


@pytest.mark.timed
@pytest.mark.light
def test_pings_meet_the_queue(results: gw.Results) -> None:
    pings = results.pings().collect()
    assert 0 < pings.height <= 31
    before = pings.filter(pl.col("sent_ns") < 350_000_000)["rtt_ns"].median()
    later = pings.filter(pl.col("sent_ns") > 10**9)["rtt_ns"].median()
    assert 20.0 < float(str(before)) / 1e6 < float(str(later)) / 1e6
    with of_times():
        assert pings.height >= 27
        assert float(str(before)) / 1e6 < 24.0
        assert 30.0 < float(str(later)) / 1e6 < 65.0


OWN_WAYS = """
title = "Flows with ways of their own"
duration = "2 s"
[path]
capacity = "20 Mb/s"
base_rtt = "20 ms"
hop = [{ name = "last", capacity = "10 Mb/s" }]
[[competitor]]
name = "near"
kind = "udp"
rate = "1 Mb/s"
via = "path"
[[competitor]]
name = "far"
kind = "udp"
rate = "1 Mb/s"
base_rtt = "60 ms"
[record]
packets = true
"""


def test_flows_have_their_own_bottlenecks_and_round_trip_times(tmp_path: Path) -> None:
    results = gw.run(gw.loads(OWN_WAYS), tmp_path / "out", on="live")
    packets = results.packets().collect().filter(pl.col("fate") == "delivered")
    data = packets.filter((pl.col("kind") == "udp") & (pl.col("size_bytes") > 1000))
    rest = pl.col("arrived_ns") - pl.col("came_ns") - pl.col("queue_delay_ns")
    of = {
        str(flow): (rows["size_bytes"][0], rows.select(rest).to_series())
        for (flow,), rows in data.group_by("flow")
    }
    # Half of its round-trip time, and its time onto the links that it passes: exact to 2 ns.
    for flow, delay_ns, per_bit_ns in (("near", 10_000_000, 50), ("far", 30_000_000, 50 + 100)):
        size, found = of[flow]
        assert found.len() > 100
        assert found.is_between(delay_ns, delay_ns + size * 8 * per_bit_ns + 2).all()
        assert found.is_between(delay_ns + size * 8 * per_bit_ns - 2, 2 * delay_ns).all()


@pytest.mark.timed
@pytest.mark.light
def test_wifi_carries_live_what_it_carries_simulated(tmp_path: Path) -> None:
    text = DOWNLOAD.format(seconds=4, runs=1)
    text = text.replace('"20 Mb/s"', '{ wifi = "802.11g" }')
    rates = {}
    for driver in ("live", "sim"):
        results = gw.run(gw.loads(text), tmp_path / driver, on=driver)
        bins = results.bins().collect()
        late = bins.filter((pl.col("flow") == "download") & (pl.col("bin_start_ns") >= 2 * 10**9))
        rates[driver] = late["received_bytes"].sum() * 8 / 2e6
    # 54 Mb/s on the air are about 25 with acknowledgements against it.
    assert 18.0 < rates["sim"] < 30.0
    assert 0 < rates["live"] / rates["sim"] < 1.1
    with of_times():
        assert rates["live"] / rates["sim"] > 0.9


def test_packets_are_conserved(results: gw.Results) -> None:
    (row,) = results.summary().collect().iter_rows(named=True)
    assert row["arrived_packets"] > 3000
    rest = row["dropped_packets"] + row["queued_packets"]
    assert row["arrived_packets"] == row["forwarded_packets"] + rest
    queued = results.packets().filter(pl.col("flow") == "download").collect()
    assert queued.height > 3000


def spec(folder: Path) -> dict[str, Any]:
    return gw.expand(gw.load(written(folder, 2)))[0].spec


def test_a_part_that_dies_fails_the_run_with_its_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = plan.link_config
    monkeypatch.setattr(
        plan,
        "link_config",
        lambda *given, **named: config(*given, **named) | {"path": {"capacity": "nonsense"}},
    )
    prepare()
    with pytest.raises(gw.GamewayError, match=r"link died \(exit code \d\): error: .*"):
        run_one(spec(tmp_path), {}, tmp_path / "run")
    assert not (tmp_path / "run").exists()
    assert not (tmp_path / "run.partial").exists()
    assert of_process(os.getpid()) == []


def test_a_competitor_that_dies_fails_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gameway.live import competitors  # noqa: PLC0415 (patched here)

    monkeypatch.setattr(
        competitors,
        "client_command",
        lambda *_: ["iperf3", "--client", "10.77.0.1", "--json", "--port", "9"],
    )
    prepare()
    with pytest.raises(
        gw.GamewayError, match=r"download died \(exit code \d\): .*unable to connect"
    ):
        run_one(spec(tmp_path), {}, tmp_path / "run")
    assert of_process(os.getpid()) == []


def begun(folder: Path) -> subprocess.Popen[bytes]:
    """A command line with a first run of two seconds that is finished, and others."""
    command = [sys.executable, "-m", "gameway", "run", str(written(folder, 2, runs=5)), "--on"]
    more = ["live", "--out", str(folder / "out"), "--no-report"]
    return subprocess.Popen([*command, *more], stderr=subprocess.PIPE, process_group=0)


def finished(folder: Path) -> list[str]:
    runs = folder / "out" / "runs"
    names = [place.name for place in runs.iterdir()] if runs.is_dir() else []
    return [name for name in names if not name.endswith(".partial")]


def children(process: int) -> list[int]:
    """Processes that a thread of this one has started (proc(5))."""
    files = Path(f"/proc/{process}/task").glob("*/children")
    return [int(word) for file in files for word in file.read_text(encoding="ascii").split()]


def gone(process: int) -> bool:
    return _core.start_of_process(process) is None


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_sweep_keeps_what_is_finished_and_goes_on(
    tmp_path: Path, number: signal.Signals
) -> None:
    process = begun(tmp_path)
    wait_until(lambda: len(finished(tmp_path)) == 1 and of_process(process.pid))
    process.send_signal(number)
    _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 128 + number
    assert b"1 of 5 runs are finished and kept" in said, said
    assert of_process(process.pid) == []
    names = [place.name for place in (tmp_path / "out" / "runs").iterdir()]
    assert len(names) == 1
    assert not names[0].endswith(".partial")


def test_what_a_killed_orchestrator_leaves_is_removed(tmp_path: Path) -> None:
    process = begun(tmp_path)
    wait_until(lambda: len(of_process(process.pid)) == 3)
    wait_until(lambda: len(children(process.pid)) >= 3)
    own = children(process.pid)
    process.kill()
    process.communicate()
    wait_until(lambda: all(gone(pid) for pid in own))
    assert of_process(process.pid) == []


STARTER = """
import threading
from pathlib import Path
from sys import argv
from gameway.live.processes import Supervisor
begin = Supervisor(Path(argv[1]), threading.Event()).start
print(begin("part", ["sleep", "60"]).popen.pid, flush=True)
threading.Event().wait()
"""


def test_a_part_that_would_begin_after_its_starter_was_killed_does_not(tmp_path: Path) -> None:
    """On a busy machine it is late to ask for the signal that tells of that."""
    slow = tmp_path / "setpriv"
    slow.write_text(f'#!/bin/sh\nsleep 0.5\nexec {shutil.which("setpriv")} "$@"\n', "utf-8")
    slow.chmod(0o755)
    for path in (f"{tmp_path}:{os.environ['PATH']}", os.environ["PATH"]):
        with subprocess.Popen(
            [sys.executable, "-c", STARTER, str(tmp_path)],
            env=os.environ | {"PATH": path},
            stdout=subprocess.PIPE,
        ) as starter:
            assert starter.stdout is not None
            part = int(starter.stdout.readline())
            assert not gone(part)
            starter.kill()
        wait_until(partial(gone, part))


UPLOAD = """
title = "An upload"
duration = "5 s"
[path]
capacity = "20 Mb/s"
base_rtt = "20 ms"
[path.back]
capacity = "5 Mb/s"
queue = { kind = "drop-tail", size = "50 kB" }
[[competitor]]
name = "upload"
kind = KIND
direction = "up"
start = "1 s"
stop = "4 s"
"""


@pytest.mark.timed
@pytest.mark.light
@pytest.mark.parametrize(
    ("kind", "most"),
    [
        pytest.param('"tcp"', 5.0, id="tcp"),
        pytest.param('"udp"\nrate = "3 Mb/s"', 3.05, id="udp", marks=LONG),
    ],
)
def test_a_competitor_may_send_upwards(tmp_path: Path, kind: str, most: float) -> None:
    results = gw.run(gw.loads(UPLOAD.replace("KIND", kind)), tmp_path / "out", on="live")
    bins = results.bins().collect()
    steady = pl.col("bin_start_ns").is_between(1_500_000_000, 3_000_000_000)
    inside = bins.filter(steady & (pl.col("flow") == "upload"))
    mbps = inside["received_bytes"].sum() * 8 / 2e6
    assert 0 < mbps <= 1.01 * most
    with of_times():
        assert mbps > 0.95 * most
    goodput = inside["received_payload_bytes"].sum() * 8 / 2e6
    assert 0.9 * mbps < goodput < mbps
    link = results.link().collect().group_by("link").agg(pl.col("busy_ns").sum())
    busy = {str(name): nanos / 3e9 for name, nanos in link.iter_rows()}
    # The way back carries it, and what carries downloads is all but idle.
    back = busy.pop("back")
    assert back > max(busy.values())
    assert max(busy.values()) < 0.1
    with of_times():
        assert back > 0.9 * most / 5
    window = results.controller().collect().filter(pl.col("variable") == "cwnd_bytes")
    assert (window.height > 4) == (kind == '"tcp"')


STREAMS = """
title = "Two streams"
duration = "4 s"
[path]
capacity = "20 Mb/s"
base_rtt = "20 ms"
[[stream]]
name = "first"
controller = "gcc"
[[stream]]
name = "second"
controller = "fixed"
start = "1 s"
stop = "3 s"
[[competitor]]
start = "1500 ms"
[ping]
interval = "100 ms"
"""


@pytest.mark.timed
@pytest.mark.light
def test_hosts_and_clients_are_told_what_they_need_and_their_tables_are_joined(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = program
    fake = str(Path(__file__).parent / "fake_part.py")

    def command(kind: str, config: Path) -> list[str]:
        return real(kind, config) if kind == "link" else [sys.executable, fake, kind, str(config)]

    monkeypatch.setattr(process, "program", command)
    results = gw.run(gw.loads(STREAMS), tmp_path / "out", on="live")
    frames = results.frames().collect()
    counts = dict(frames.group_by("stream").len().iter_rows())
    assert counts == {"first": 240, "second": 120}
    shown = frames.filter(pl.col("shown_ns").is_not_null())
    assert 0 < shown.height <= frames.height
    delay_ms = ((shown["complete_ns"] - shown["first_sent_ns"]) / 1e6).to_numpy()
    assert delay_ms.min() >= 10.0
    with of_times():
        assert shown.height > 0.9 * frames.height
        assert delay_ms.min() < 20.0
    bins = results.bins().collect()
    by_flow = bins.group_by("flow").agg(pl.col("sent_packets").sum(), pl.col("frames_shown").sum())
    sent = {flow: (packets, pictures) for flow, packets, pictures in by_flow.iter_rows()}
    assert sent["first"][0] == 5 * 240
    assert sent["second"][0] == 5 * 120
    assert sent["first"][1] + sent["second"][1] == shown.height
    pictures = pl.read_parquet(next((tmp_path / "out").glob("runs/*/pictures.parquet")))
    assert pictures.height == frames.height
    assert pictures["encode_ns"].unique().to_list() == [4_000_000]
    text = report.write(results, tmp_path / "out" / "report.html", save_files=False).read_text()
    assert "From capture to the decoded picture" in text
