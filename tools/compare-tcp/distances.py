"""Kernel downloads of different round-trip times behind one VoAP: what each of them gets.

Needs root, iproute2, nftables and iperf3; 100 seconds for each sharing:

    sudo .venv/bin/python tools/compare-tcp/distances.py

A live run gives all its flows one path. Here each server stands behind a delay of its own, so that
its acknowledgments are as far from the gateway as its data: the bench of `downloads_at_different_
distances` in `crates/core/gateway/tests/all/voap.rs`, whose bounds are held against what the kernel
does. A game of 6.3 Mb/s shares the 20 Mb/s.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from compare_tcp import running

GAMEWAY = str(Path(sys.executable).with_name("gameway"))
RTTS_MS = (10, 40, 80, 200)
HOME_RTT_MS = 4
"""Between gateway and clients."""
SECONDS = 90
MEASURED_FROM = 50
GAME_PORT = 5300
VOAP = 'kind = "voap", step = "backlog", memory = "1 s"'
SHARING = {"windows": 'kind = "voap"', "rates": f'{VOAP}, fairness = "rates"'}
BITS = 8e-6


def server_behind(rtt_ms: int, folder: Path, stack: ExitStack) -> str:
    """Start a server of iperf3 that is so far away, and return its address."""
    told = folder / f"address-{rtt_ms}"
    script = (
        f"ip -4 -o address show scope global | awk '{{print $4}}' > {shlex.quote(str(told))}.new;"
        f"mv {shlex.quote(str(told))}.new {shlex.quote(str(told))}; exec iperf3 --server"
    )
    link = [GAMEWAY, "link", "--capacity", "1 Gb/s", "--rtt", f"{rtt_ms - HOME_RTT_MS} ms"]
    stack.enter_context(running([*link, "--", "sh", "-c", script]))
    deadline = time.monotonic() + 20
    while not told.is_file():
        if time.monotonic() > deadline:
            sys.exit(f"the link of {rtt_ms} ms did not start; try: {shlex.join(link)} -- true")
        time.sleep(0.1)
    return told.read_text().split("/")[0].strip()


def downloads(gateway: str, folder: Path) -> list[float]:
    """Payload of each download behind a gateway, Mb/s, over the measured span."""
    logs = [folder / f"{rtt_ms}.json" for rtt_ms in RTTS_MS]
    with ExitStack() as stack:
        addresses = [server_behind(rtt_ms, folder, stack) for rtt_ms in RTTS_MS]
        stack.enter_context(running(["iperf3", "--server", "--port", str(GAME_PORT)]))
        receive = f"iperf3 --reverse --time {SECONDS} --json --client"
        each = [
            f"{receive} {address} --congestion cubic --logfile {shlex.quote(str(log))} &"
            for address, log in zip(addresses, logs, strict=True)
        ]
        game = f"{receive} $GAMEWAY_OUTSIDE --port {GAME_PORT} --udp --bitrate 6.3M --length 919"
        script = "\n".join([*each, f"{game} > /dev/null &", "wait"])
        link = [GAMEWAY, "link", "--nat", "--capacity", "20 Mb/s", "--rtt", f"{HOME_RTT_MS} ms",
                "--size", "250 packets", "--set", f"path.gateway={{{gateway}}}"]  # fmt: skip
        subprocess.run([*link, "--", "sh", "-c", script], check=True, stdout=subprocess.DEVNULL)  # noqa: S603
    return [received(log) for log in logs]


def received(log: Path) -> float:
    """Read what an iperf3 client read in the measured span, Mb/s."""
    rows = [one["sum"] for one in json.loads(log.read_text())["intervals"]]
    span = [row for row in rows if row["start"] >= MEASURED_FROM - 0.5]
    return float(sum(row["bytes"] for row in span) * BITS / sum(row["seconds"] for row in span))


def main() -> None:
    """Print each download's rate and its share of the mean."""
    for name, gateway in SHARING.items():
        with tempfile.TemporaryDirectory() as folder:
            rates = downloads(gateway, Path(folder))
        mean = sum(rates) / len(rates)
        print(f"{name}: {sum(rates):.2f} Mb/s in all")
        for rtt_ms, rate in zip(RTTS_MS, rates, strict=True):
            print(f"  {rtt_ms:4} ms {rate:6.2f} Mb/s, {rate / mean:.3f} of the mean")


if __name__ == "__main__":
    main()
