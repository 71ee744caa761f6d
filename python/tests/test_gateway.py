"""A home gateway in an experiment: as an axis, in the log, in refusals, and what it does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest

import gameway as gw
from gameway import _core
from gameway.experiment.keys import entries

if TYPE_CHECKING:
    from pathlib import Path

HOME = """
duration = "40 s"
ping = false
[path]
capacity = "20 Mb/s"
base_rtt = "80 ms"
queue = {{ kind = "drop-tail", size = "250 packets" }}
{gateway}
[[competitor]]
name = "game"
kind = "udp"
rate = "6.3 Mb/s"
packet_size = "947 B"
[[competitor]]
name = "download"
start = "1 s"
"""


def home(gateway: str) -> gw.Experiment:
    return gw.loads(HOME.format(gateway=gateway))


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> gw.Results:
    """Without a gateway, with VoAP as published, and with its queue emptied at once."""
    axis = 'gateway = ["none", "voap", { kind = "voap", step = "backlog" }]'
    return gw.run(home(axis), tmp_path_factory.mktemp("gateway") / "out")


def test_it_is_an_axis_and_no_gateway_is_no_change() -> None:
    without, voap = gw.expand(home('gateway = ["none", "voap"]'))
    assert [run.factors["gateway"] for run in (without, voap)] == ["none", "voap"]
    assert "gateway" not in without.spec["path"]
    assert voap.spec["path"]["gateway"] == {"kind": "voap"}
    (plain,) = gw.expand(home(""))
    assert plain.spec == without.spec
    options = gw.expand(home('gateway = { kind = "voap", alpha = ["1 ms", "5.0ms"] }'))
    assert [run.factors["gateway_alpha"] for run in options] == ["1 ms", "5 ms"]


def test_the_queue_stays_short_and_the_download_as_fast(both: gw.Results) -> None:
    late = both.queue_delay().filter(
        (pl.col("flow") == "game") & (pl.col("window_start_ns") >= 35e9)
    )
    found = late.group_by("gateway", "gateway_step").agg(
        long=pl.col("packets").filter(pl.col("delay_low_ns") >= 20e6).sum()
        / pl.col("packets").sum()
    )
    long = {(kind, step): share for kind, step, share in found.collect().rows()}
    bins = both.bins().filter((pl.col("flow") == "download") & (pl.col("bin_start_ns") >= 35e9))
    sums = bins.group_by("gateway", "gateway_step").agg(pl.col("received_payload_bytes").sum())
    payload = {(kind, step): amount for kind, step, amount in sums.collect().rows()}
    none = next(key for key in long if key[0] == "none")
    assert long.pop(none) > 0.9
    assert max(long.values()) < 0.02
    assert len(long) == 2
    for amount in payload.values():
        assert amount == pytest.approx(payload[none], rel=0.01)


def test_the_log_has_windows_and_the_delay(both: gw.Results) -> None:
    rows = both.controller().filter(pl.col("gateway") == "voap").collect()
    state = {key: part["value"] for key, part in rows.group_by("stream", "variable")}
    assert state["gateway", "queue_delay_max_ms"].max() > 30.0
    told, estimated = (
        state["download", f"{name}_bytes"] for name in ("advertised_window", "estimated_cwnd")
    )
    assert told[-1] < 0.75 * told[0]
    # The congestion window stays what it was; what is sent follows the advertised one.
    assert state["download", "cwnd_bytes"][-1] > 1.3 * told[-1]
    assert estimated[-1] == pytest.approx(told[-1], rel=0.1)
    assert set(state["download", "voap_active"]) == {0.0, 1.0}


@pytest.mark.parametrize(
    ("gateway", "told"),
    [
        ('"vaop"', 'is no gateway; did you mean "voap"'),
        ('{ kind = "voap", alhpa = "3 ms" }', "is an unknown key of the gateway voap"),
        ('{ kind = "voap", alpha = ["1 ms", "30 ms"] }', "15 ms is below alpha, which is 30 ms"),
        ('{ kind = "voap", period = "0 ms" }', "must be at least 1 ms"),
        ('{ kind = "voap", step = "segments" }', "expected one of `segment`, `backlog`, `fill`"),
        ('"sap-law"', "capacity: must be given"),
        ('{ kind = "none", alpha = "1 ms" }', "is an unknown key of the gateway none"),
    ],
)
def test_what_is_no_gateway_is_refused(gateway: str, told: str) -> None:
    with pytest.raises(gw.InputError, match=r"line 8: path\.gateway") as refused:
        home(f"gateway = {gateway}")
    assert told in str(refused.value)


def test_the_catalogue_tells_the_defaults() -> None:
    found = {name: entry["options"] for name, entry in entries("gateways").items()}
    assert list(found) == ["none", "both", "sap-law", "shape", "voap", "windows"]
    told = {option["name"]: option["default"] for option in found["voap"]}
    words = {"memory": "200 ms"}
    written = ", ".join(f'"{name}": "{words.get(name, value)}"' for name, value in told.items())
    _core.check_gateway("voap", f"{{{written}}}")


def test_a_gateway_sees_uploads_too(tmp_path: Path) -> None:
    """Acknowledgements of an upload come down through the queue; its data do not wait there."""
    experiment = home('gateway = "voap"').with_overrides(
        ["competitor.download.direction=up", 'path.back={ capacity = "10 Mb/s" }', "duration=20 s"]
    )
    results = gw.run(experiment, tmp_path / "out")
    variables = set(results.controller().select("variable").collect()["variable"])
    assert "advertised_window_bytes" not in variables
    assert "queue_delay_max_ms" in variables


MEASURED = {(1, "cubic"): 195.0, (20, "cubic"): 218.0, (1, "bbr"): 34.3}
"""Medians of pings without the gateway in docs/gateway.md, ms, by downloads of the kernel."""
PATH_MS = 30.0
BETA_MS = 15.0 + 1.2
"""With the gateway what waits rests anywhere up to beta and two segments, live and simulated."""


def behind_a_provider(count: int, congestion_control: str) -> gw.Experiment:
    """The first rows of that table: 20 Mb/s, 30 ms and a queue of 200 ms in front of the home."""
    download = f'[[competitor]]\ncongestion_control = "{congestion_control}"\nname = '
    return gw.loads(
        """
        duration = "14 s"
        ping = { interval = "20 ms" }
        [path]
        capacity = "1 Gb/s"
        base_rtt = "30 ms"
        forward_delay = "0 s"
        gateway = ["none", "windows"]
        [[path.hop]]
        name = "provider"
        place = "in-front"
        capacity = "20 Mb/s"
        queue = { kind = "drop-tail", size = "200 ms" }
        """
        + "".join(f'{download}"d{number}"\n' for number in range(count))
    )


@pytest.mark.parametrize(("downloads", "median_ms"), MEASURED.items())
def test_windows_is_simulated_as_it_was_measured(
    downloads: tuple[int, str], median_ms: float, tmp_path: Path
) -> None:
    results = gw.run(behind_a_provider(*downloads), tmp_path / "out")
    after = pl.col("sent_ns") >= 4_000_000_000
    pings = results.pings().filter(after).group_by("gateway").agg(pl.col("rtt_ns").median() / 1e6)
    found = dict(pings.collect().select(pl.col("gateway").cast(pl.String), "rtt_ns").rows())
    assert found["none"] == pytest.approx(median_ms, abs=3.0)
    assert PATH_MS <= found["windows"] <= PATH_MS + BETA_MS
    late = pl.col("bin_start_ns") >= 4_000_000_000
    carried = results.link().filter(late, pl.col("link") == "provider").group_by("gateway")
    bytes_of = dict(carried.agg(pl.col("transmitted_bytes").sum()).collect().rows())
    assert 0.99 < bytes_of["windows"] / bytes_of["none"] < 1.01
