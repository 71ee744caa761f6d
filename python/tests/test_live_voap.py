"""What VoAP's paper gives for its channel, on a wire: the simulator, and the program with real TCP.

The paper's condition as far as a wire has it: a game, one download, a buffer of 250 packets, 40 ms.
The game sends its frames at once, which the paper's does not: that is some 14 ms of the wait.
What it calls delay is the game's wait; here it is that of pings, of which one is sent each 20 ms.
Prints the table of experiments/voap/README.md; needs root, iperf3 and nft.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from home_fixture import Home, home, why_not
from live_fixture import needs_live
from test_live_games import game
from witness import of_times

import gameway as gw

if TYPE_CHECKING:
    from pathlib import Path

REASON = why_not()
pytestmark = [needs_live, pytest.mark.timed, pytest.mark.skipif(bool(REASON), reason=REASON),
              pytest.mark.long(
                  "test_live_gateway.py::test_what_fills_the_providers_queue_does_so_no_more"
              )]  # fmt: skip

RTT_MS = 40.0
SECONDS = 24
FROM_S = 8.0
PUBLISHED = {
    ("reno", "none"): ("121", "20 to 80", ""), ("cubic", "none"): ("82", "60 to 80", ""),
    ("reno", "windows"): ("18", "", "20"), ("cubic", "windows"): ("18", "", "20"),
}  # fmt: skip
"""Peak, 5 to 95 %, and near 100 % of what the game waits; for VoAP one figure for any TCP."""
SIMULATED = """
duration = "{seconds} s"
ping = {{ interval = "20 ms" }}
[path]
capacity = "1 Gb/s"
base_rtt = "40 ms"
forward_delay = "0 s"
gateway = "{gateway}"
queue = {{ kind = "drop-tail", size = "1000 packets" }}
[[path.hop]]
name = "provider"
place = "in-front"
capacity = "20 Mb/s"
queue = {{ kind = "drop-tail", size = "250 packets" }}
[[competitor]]
name = "game"
kind = "video-chat"
bitrate = "8.2 Mb/s"
return_bitrate = "100 kb/s"
frame_rate = 60
[[competitor]]
name = "download"
kind = "tcp"
congestion_control = "{control}"
"""


def figures(waits: list[float], mbps: float) -> dict[str, float]:
    """The paper's figures, in ms; and Mb/s."""
    known = pl.Series(waits)
    quantiles = {
        name: float(known.quantile(share) or 0.0)  # a series without values has none
        for name, share in (("low", 0.05), ("high", 0.95), ("p98", 0.98))
    }
    return {"peak": float(known.max()), **quantiles, "mbps": mbps}  # type: ignore[arg-type]


def simulated(folder: Path, control: str, gateway: str) -> dict[str, float]:
    name = {"reno": "newreno"}.get(control, control)
    text = SIMULATED.format(seconds=SECONDS, control=name, gateway=gateway)
    results = gw.run(gw.loads(text), folder / f"{control}-{gateway}")
    pings = results.pings().filter(pl.col("sent_ns") >= FROM_S * 1e9).collect()
    bins = results.bins().filter(
        (pl.col("flow") == "download") & (pl.col("bin_start_ns") >= FROM_S * 1e9)
    )
    received = float(bins.collect()["received_payload_bytes"].sum())
    waits = (pings["rtt_ns"].drop_nulls() / 1e6 - RTT_MS).to_list()
    return figures(waits, received * 8e-6 / (SECONDS - FROM_S))


def live(place: Home, control: str) -> dict[str, float]:
    with game(place, SECONDS + 2), place.download(SECONDS, "-C", control):
        pass
    waits = [value - RTT_MS for at, value in place.pings if FROM_S <= at < SECONDS]
    return figures(waits, place.share(FROM_S, SECONDS))


def test_figures_of_the_paper_on_a_wire(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = ("--capacity", "20 Mb/s", "--rtt", "40 ms", "--size", "250 packets")
    found: dict[tuple[str, str, str], dict[str, float]] = {}
    with home(*path) as place:
        for control in ("reno", "cubic"):
            found["live", control, "none"] = live(place, control)
            with place.gateway() as running:
                found["live", control, "windows"] = live(place, control)
                running.end()
            for gateway in ("none", "windows"):
                found["simulated", control, gateway] = simulated(tmp_path, control, gateway)
    with capsys.disabled():
        print("\n" + "\n".join(table(found)))  # noqa: T201 (what it is for)
    for control in ("reno", "cubic"):
        with of_times():
            for how in ("live", "simulated"):
                without, ours = found[how, control, "none"], found[how, control, "windows"]
                assert 60.0 < without["p98"] < 180.0, (how, control)
                assert 2.0 < ours["p98"] < 45.0, (how, control)
                assert 0.95 < ours["mbps"] / without["mbps"] < 1.1, (how, control)


def table(found: dict[tuple[str, str, str], dict[str, float]]) -> list[str]:
    """Lines of Markdown: what was published, simulated and live."""
    head = "| download, gateway | | peak, ms | 5 to 95 % wait, ms | 98 %, ms | download, Mb/s |"
    lines = [head, "|---|---|---:|---:|---:|---:|"]
    for (control, gateway), (peak, span, most) in PUBLISHED.items():
        lines.append(f"| {control}, {gateway} | published | {peak} | {span} | {most} | |")
        for how in ("simulated", "live"):
            one: Any = found[how, control, gateway]
            lines.append(
                f"| | {how} | {one['peak']:.0f} | {one['low']:.1f} to {one['high']:.1f} "
                f"| {one['p98']:.1f} | {one['mbps']:.2f} |"
            )
    return lines
