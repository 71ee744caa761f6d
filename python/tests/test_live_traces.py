"""What a game waits behind links that vary, beside the kernel's TCP, with the gateway and without.

Each row is printed as a line of Markdown (`-s`), as docs/gateway.md has them, beside what the
simulator says of the same path, and held to bounds. It needs root, iperf3, ping and nft.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import polars as pl
import pytest
from home_fixture import Home, home, why_not
from live_fixture import needs_live
from router_fixture import filled
from test_live_rows import GAMES, config
from witness import of_times

import gameway as gw

REASON = why_not()
pytestmark = [
    needs_live,
    pytest.mark.skipif(bool(REASON), reason=REASON),
    pytest.mark.timed,
    pytest.mark.alone,
    pytest.mark.long("test_live_gateway.py::test_what_fills_the_providers_queue_does_so_no_more"),
]

CELLULAR = Path(__file__).parents[2] / "experiments" / "cellular" / "cellular.trace"
STEPS = '["0 s", "60 Mb/s"], ["15 s", "90 Mb/s"], ["30 s", "45 Mb/s"], ["45 s", "75 Mb/s"]'
LINKS = {
    "cellular": (
        f'capacity = {{ trace = "{CELLULAR}" }}',
        'queue = { kind = "drop-tail", size = "500 packets" }',
    ),
    "satellite": (
        f"capacity = {{ steps = [{STEPS}] }}",
        'queue = { kind = "drop-tail", size = "1500000 B" }',
    ),
}
"""Of the provider, nearly as experiments/gateway has them: the satellite link's capacity is another
each 15 s, its round trip is not, and its queue is 200 ms at 60 Mb/s."""
HOME_QUEUE = """
queue.kind = "htb"
queue.rate = "1 Gb/s"
queue.default = "rest"
[path.queue.class.game]
rate = "750 Mb/s"
ceil = "1 Gb/s"
priority = 0
match = { protocol = "icmp" }
[path.queue.class.rest]
rate = "250 Mb/s"
ceil = "1 Gb/s"
priority = 1
queue = { kind = "fq-codel", target = "30 ms" }
"""
"""The gateway's own in mode `both`, in which pings are a game's; before it none waits. As the
program has it, what is no game's waits twice beta before CoDel acts."""
RTT_MS = 40
SECONDS, SETTLED_S = 60, 5
MODES = ("none", "windows", "both")


@dataclass(frozen=True)
class Row:
    """Downloads over a link."""

    link: str
    flows: int
    control: str

    def __str__(self) -> str:
        return f"{self.link}, {self.flows} {self.control.upper()}"


ROWS = [Row(link, *one) for link, one in product(LINKS, [(1, "cubic"), (4, "cubic"), (1, "bbr")])]


@dataclass(frozen=True)
class Found:
    """Waits of pings in ms and goodput in Mb/s, once a run was settled."""

    half: float
    most: float
    share: float

    def __str__(self) -> str:
        return f"{self.half:.1f} / {self.most:.0f} ms, {self.share:.2f} Mb/s"


def live(made: Home, row: Row) -> Found:
    with made.download(SECONDS, "-P", str(row.flows), "-C", row.control):
        pass
    span = SETTLED_S, SECONDS
    half, most = (made.wait(share, *span) - RTT_MS for share in (0.5, 0.99))
    return Found(half, most, made.share(*span))


def measured(row: Row, folder: Path) -> dict[str, Found]:
    """Give what each mode has live."""
    path = folder / "path.toml"
    capacity, queue = LINKS[row.link]
    path.write_text(f'[path]\nbase_rtt = "{RTT_MS} ms"\n{capacity}\n{queue}\n', "utf-8")
    found = {}
    for mode in MODES:
        # Each begins with the link: a trace is where it was for the others.
        with home("--path", str(path)) as made:
            filled(made.router, GAMES)
            if mode == "none":
                found[mode] = live(made, row)
                continue
            shape = (f'ping = "{made.server}"',) if mode == "both" else ()
            with made.gateway(*config(folder, mode, *shape)) as gateway:
                found[mode] = live(made, row)
                gateway.end()
    return found


def simulated(row: Row, folder: Path) -> dict[str, Found]:
    """Give what each mode has in the simulator."""
    capacity, queue = LINKS[row.link]
    flow = f'[[competitor]]\ncongestion_control = "{row.control}"\nname = '
    text = f"""
        duration = "{SECONDS} s"
        ping = {{ interval = "20 ms" }}
        [path]
        capacity = "1 Gb/s"
        base_rtt = "{RTT_MS} ms"
        forward_delay = "0 s"
        gateway = {json.dumps(MODES)}
        {HOME_QUEUE}
        [[path.hop]]
        name = "provider"
        place = "in-front"
        {capacity}
        {queue}
        """ + "".join(f'{flow}"d{number}"\n' for number in range(row.flows))
    results = gw.run(gw.loads(text), folder / "simulated")
    name = pl.col("gateway").cast(pl.String)
    late = pl.col("sent_ns") >= SETTLED_S * 1e9
    wait = pl.col("rtt_ns") / 1e6 - RTT_MS
    pings = results.pings().filter(late).group_by(name)
    waits = pings.agg(wait.median().alias("half"), wait.quantile(0.99).alias("most"))
    settled = pl.col("bin_start_ns") >= SETTLED_S * 1e9
    downloads = settled & pl.col("flow").cast(pl.String).str.starts_with("d")
    bins = results.bins().filter(downloads).group_by(name)
    mbps = pl.col("received_payload_bytes").sum() * 8 / 1e6 / (SECONDS - SETTLED_S)
    both = waits.join(bins.agg(mbps.alias("share")), on="gateway").collect()
    rows = both.select("gateway", "half", "most", "share").rows()
    return {mode: Found(*figures) for mode, *figures in rows}


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_a_game_behind_a_link_that_varies(row: Row, tmp_path: Path) -> None:
    model, real = simulated(row, tmp_path), measured(row, tmp_path)
    for mode in MODES:
        sys.stdout.write(f"| {row} | `{mode}` | {real[mode]} | {model[mode]} |\n")
    sys.stdout.flush()
    without, windows = real["none"], real["windows"]
    with of_times():
        assert 0.5 < without.half / model["none"].half < 2
        assert windows.half < 0.6 * without.half or windows.half < 20
        assert 0.8 * without.share <= windows.share < 1.1 * without.share
        # It gives up some of a link that changes all the time: half at most, and as simulated.
        least = max(0.5 * without.share, 0.8 * model["both"].share)
        assert least <= real["both"].share < 1.1 * without.share
