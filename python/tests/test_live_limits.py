"""What cannot run live is refused before anything starts; what can is not."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from conftest import fake_run_one

import gameway as gw
from gameway import _core, running, sweep
from gameway.live import limits, offers
from gameway.sweep import drivers

if TYPE_CHECKING:
    from pathlib import Path

GOOD = """
duration = "10 s"
[path]
capacity = "25 Mb/s"
base_rtt = "20 ms"
[[stream]]
controller = ["gcc", "pudica"]
[[competitor]]
kind = "tcp"
congestion_control = ["cubic", "newreno"]
start = "1 s"
[[competitor]]
name = "call"
kind = "udp"
rate = "1 Mb/s"
"""


@pytest.fixture(autouse=True)
def plain_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offers, "algorithms", lambda: ["bbr", "cubic", "reno"])


def load(folder: Path, text: str) -> gw.Experiment:
    file = folder / "mine.toml"
    file.write_text(text, encoding="utf-8")
    return gw.load(file)


def test_what_the_link_and_the_kernel_have_is_not_refused(tmp_path: Path) -> None:
    experiment = load(tmp_path, GOOD)
    limits.check(experiment)
    for setting in (
        'path.capacity={ steps = [["0 s", "20 Mb/s"], ["4 s", "10 Mb/s"]] }',
        "path.jitter={ deviation = '2 ms' }",
        "path.loss={ probability = '1 %' }",
        "path.queue={ kind = 'dual-pi2' }",
        "path.gateway=voap",
        "competitor.download.ecn=classic",
        "competitor.call.ecn=ect1",
        "path.reorder={ probability = '1 %', later = '2 ms' }",
        "path.duplicate={ probability = '1 %' }",
        "competitor.download.rate_limit=5 Mb/s",
        "stream.game.fec=10 %",
        "competitor.download.kind=dash",
        "path.capacity={ wifi = '802.11g' }",
        "path.hop=[{ name = 'last', capacity = '9 Mb/s' }]",
        "competitor.download.via=path",
        "competitor.download.base_rtt=50 ms",
    ):
        limits.check(experiment.with_overrides([setting]))


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('["gcc", "pudica"]', '["gcc", "oracle"]',
         r"mine\.toml, line 7: stream\.0\.controller\.1 = \"oracle\" cannot run live; it knows"),
        ('["gcc", "pudica"]', '{ kind = ["gcc", "oracle"] }',
         r"line 7: stream\.0\.controller\.kind\.1 = \"oracle\" cannot run live"),
        ('"cubic", "newreno"', '"cubic", "bbr3"',
         r"line 10: .*control\.1 = \"bbr3\" is not in this kernel; .*has bbr, cubic, newreno;"),
        ('"cubic", "newreno"', '"cubic", { kind = "cubic", hystart = "off" }',
         r"control\.1 = .*cannot run live; the kernel's has no options of a connection"),
        ('kind = "udp"\nrate = "1 Mb/s"', 'kind = "onlive-ut"', r'"onlive-ut" is a traffic model'),
        ('kind = "udp"\nrate = "1 Mb/s"', 'kind = "quic"\ncongestion_control = "bbr"',
         r'control = "bbr" cannot run live; s2n-quic has "cubic" and "bbr2"'),
        ('kind = "udp"\nrate = "1 Mb/s"',
         'kind = "quic"\ncongestion_control = ["bbr2", { kind = "cubic", hystart = "off" }]',
         r'control\.1 = .* cannot run live; s2n-quic has hystart = "rfc9406" and "on"'),
        ('kind = "udp"\nrate = "1 Mb/s"',
         'kind = "quic"\ncongestion_control = { kind = "bbr2", probe_lost_ranges = 3 }',
         r'control = .* cannot run live; that of s2n-quic has no options'),
        ('kind = "udp"\nrate = "1 Mb/s"', 'kind = "quic"\nack_packets = 10\necn = "off"',
         r'ecn = "off" cannot run live; s2n-quic always sends with ECT\(0\)'),
        ('kind = "udp"\nrate = "1 Mb/s"', 'kind = "quic"\nack_packets = [10, 2]',
         r'ack_packets\.1 = 2 cannot run live; .*: ack_packets = 10'),
        ('kind = "udp"\nrate = "1 Mb/s"', 'kind = "quic"\nack_packets = 10\nheader = { port = 80 }',
         r"header = .*those of the namespaces"),
        ('kind = "udp"\nrate = "1 Mb/s"', 'kind = "short-tcp"', r'there are kind = "tcp", "udp"'),
        ('kind = "udp"\nrate = "1 Mb/s"', 'kind = "dash"\nsize_spread = "10 %"',
         r'size_spread = "10 %" cannot run live; segments are as large'),
        ('kind = "udp"\nrate = "1 Mb/s"', 'kind = "dash"\nsegment_length = "250 ms"',
         r'segment_length = "250 ms" cannot run live; it has whole frames'),
        ('kind = "udp"\nrate = "1 Mb/s"', 'kind = "dash"\nladder = { 641x360 = "1 Mb/s" }',
         r"ladder\.641x360 = \"641x360\" cannot run live; H\.264"),
        ('kind = "udp"\nrate = "1 Mb/s"', 'kind = "dash"\ndirection = "up"', r"direction"),
        ('kind = "udp"\nrate = "1 Mb/s"', 'kind = "dash"\ncongestion_control = "bic"',
         r'"bic" is not in this kernel'),
        ('rate = "1 Mb/s"', 'rate = "1 Mb/s"\nspacing = "exponential"', r"iperf3 spaces evenly"),
        ('rate = "1 Mb/s"', 'rate = "1 Mb/s"\nreturn_rate = "1 Mb/s"', r"return_rate"),
        ('start = "1 s"', 'start = "1 s"\nheader = { port = 80 }',
         r"header = .*those of the namespaces"),
        ('start = "1 s"', 'start = "1 s"\necn = "accurate"', r"ecn = \"accurate\" cannot run"),
        ('start = "1 s"', 'start = "1 s"\non_off = { segment = "4 s", bitrate = "1 Mb/s" }',
         r"on_off"),
        ('start = "1 s"', 'start = "1 s"\nreceive_window = "1000 MiB"',
         r"receive_window = .* cannot run live; it needs net.core.rmem_max = 838860800"),
        ('kind = "udp"\nrate = "1 Mb/s"', 'kind = "dash"\nreceive_window = "1 MiB"',
         r"receive_window = \"1 MiB\" cannot run live; the browser's"),
        ('kind = "udp"\nrate = "1 Mb/s"', 'kind = "dash"\nmss = "1 kB"', r"mss = .*the browser's"),
        ('"pudica"]', '"pudica"]\nclock_drift = "50 ppm"', r"clock_drift = \"50 ppm\" cannot"),
        ('"pudica"]', '"pudica"]\ndirection = "up"', r"direction = \"up\" cannot run live"),
        ('"pudica"]', '"pudica"]\npause = { from = "2 s", to = "3 s" }', r"pause = "),
    ],
)  # fmt: skip
def test_what_cannot_run_live_is_told_with_its_place(
    tmp_path: Path, old: str, new: str, told: str
) -> None:
    assert old in GOOD
    experiment = load(tmp_path, GOOD.replace(old, new, 1))
    with pytest.raises(gw.InputError, match=told) as caught:
        limits.check(experiment)
    assert "to simulate it" in str(caught.value)
    sweep.check(experiment)


def test_a_frame_table_has_no_pictures(tmp_path: Path) -> None:
    experiment = load(tmp_path, GOOD)
    table = {"file": "x.gwfr"}
    stream = experiment.stream[0].model_copy(update={"video": table})
    with pytest.raises(gw.InputError, match=r"frame sizes but no pictures"):
        limits.check(experiment.model_copy(update={"stream": (stream,)}))


def test_without_root_it_is_said_what_to_do(tmp_path: Path) -> None:
    load(tmp_path, GOOD)
    script = "import gameway as gw; gw.run(gw.load('mine.toml'), 'out', on='live')"
    without = ["setpriv", "--bounding-set", "-net_admin", "--inh-caps", "-net_admin"]
    words = [*(without if os.geteuid() == 0 else []), sys.executable, "-c", script]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert re.search(r"need (root.*sudo|/dev/net/tun)", done.stderr), done.stderr
    assert not (tmp_path / "out").exists()


def test_a_build_that_only_simulates_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_core, "encoders", list)
    with pytest.raises(gw.GamewayError, match="no live streams: `make setup`"):
        gw.run(load(tmp_path, GOOD), tmp_path / "out", on="live")
    assert not (tmp_path / "out").exists()


def test_missing_tools_are_told_with_their_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offers.shutil, "which", lambda name: None if name == "iperf3" else name)
    offers.check_tools(["ip", "ping"])
    with pytest.raises(gw.GamewayError, match=r"need iperf3; install with: apt install iperf3"):
        offers.check_tools(["ip", "iperf3"])


def as_live(monkeypatch: pytest.MonkeyPatch, **facts: str) -> None:
    """Let `on="live"` write little tables, on a machine with these facts."""
    driver = drivers.Driver(drivers.On.live, fake_run_one, facts=lambda: {"live": facts})
    monkeypatch.setattr(
        running, "driver", lambda on, _live: driver if on == "live" else drivers.SIMULATOR
    )


def test_live_and_simulated_results_do_not_mix(
    small: gw.Experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_live(monkeypatch, kernel="6.1")
    gw.run(small, tmp_path / "out", on="live")
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["driver"] == "live"
    with pytest.raises(gw.InputError, match="holds live results"):
        gw.run(small, tmp_path / "out", run_one=fake_run_one)
    gw.run(small, tmp_path / "other", run_one=fake_run_one)
    with pytest.raises(gw.InputError, match="holds simulated results"):
        gw.run(small, tmp_path / "other", on="live")
    assert gw.run(small, tmp_path / "out", on="live").missing == 0


def test_live_results_of_two_kernels_do_not_mix(
    small: gw.Experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_live(monkeypatch, kernel="6.1")
    gw.run(small, tmp_path / "out", on="live")
    as_live(monkeypatch, kernel="6.2")
    with pytest.raises(gw.InputError, match=r"another kernel \(6\.1\)"):
        gw.run(small, tmp_path / "out", on="live")


def test_an_unknown_driver_is_refused(small: gw.Experiment, tmp_path: Path) -> None:
    with pytest.raises(gw.InputError, match=r"on = \"moon\" is no driver; known are live, sim"):
        gw.run(small, tmp_path / "out", on="moon")
