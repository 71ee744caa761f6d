"""Compare the GCC of Chromium, which is libwebrtc's, with Gameway's: the same path for both.

Needs root, iproute2, chromium, Playwright, ffmpeg and iperf3; two minutes for each line and side:

    sudo .venv/bin/python tools/compare-gcc/compare_gcc.py                 # all
    sudo .venv/bin/python tools/compare-gcc/compare_gcc.py alone --runs 3
    sudo .venv/bin/python tools/compare-gcc/compare_gcc.py step --side simulated --runs 100

Chromium streams from one namespace to another through `gameway link`: the capture device that it
has for tests, its software encoder, its pacer, its feedback. `live` is Gameway's stream through the
same link with its own client, `simulated` the same in virtual time with a browser's feedback. Each
writes the same tables. What Chromium says of its estimate (`availableOutgoingBitrate`) is held
against the controller's target.

*Growth* is the median rise per second of an estimate over five seconds without a fall: near the
capacity that it knows, GCC adds about half a packet per response time. *Standing* says whether the
queue was above three quarters of what it holds over the last third of the time.

Chromium needs a machine with a core to spare: on a busy one its encoder skips frames, and what the
estimate does then is not of the path. The link's lateness is printed beside.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import polars as pl

import gameway as gw
from gameway import _core
from gameway.live import namespaces
from gameway.live.namespaces import DEVICE, Namespaces
from gameway.live.process import PartProcess

sys.path.insert(0, str(Path(__file__).parent.parent / "compare-tcp"))
from compare_tcp import running

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page, Playwright

SECOND_NS = 1_000_000_000
SKIP_S = 20
"""Left out: the start, and until GCC knows the capacity."""
FEEDBACK = {"kind": "transport-wide", "interval": "60 ms"}
MAX_BPS = 10_000_000
START_BPS = 1_000_000
MIN_BPS = 300_000
FRAME_RATE = 30
"""At which Chromium shows a film to a page."""
PORT = 5201
SAMPLE_MS = 100
SPAN_S = 5.0
"""Chromium says a new estimate each 200 to 330 ms only."""
MAX_RISE = 1.2
"""In a span: 8 % a second are the growth before a capacity is known."""
STANDING = 0.75
"""Share of the queue."""
BROWSER_FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--no-proxy-server",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream",
    "--autoplay-policy=no-user-gesture-required",
    "--disable-features=WebRtcHideLocalIpsWithMdns",
)  # fmt: skip
FILM = (
    "ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-t", "4", "-i",
    f"testsrc2=size=640x360:rate={FRAME_RATE},noise=alls=16:allf=t", "-q:v", "3",
)  # fmt: skip
"""What is captured: noise lets the encoder fill its target; the device's own picture does not."""
PAGE = "http://localhost/"
"""Of no server: pages from here may capture, and Playwright answers the request."""


@dataclass(frozen=True)
class Case:
    """A path, and who shares it."""

    capacity: Any
    queue_ms: float
    beside_cubic: bool = False
    seconds: int = 100
    rtt: str = "50 ms"

    @property
    def path(self) -> dict[str, Any]:
        """As an experiment file has it."""
        queue = {"kind": "drop-tail", "size": f"{self.queue_ms:g} ms"}
        return {"capacity": self.capacity, "base_rtt": self.rtt, "queue": queue}


STEPS = {"steps": [["0 s", "4 Mb/s"], ["40 s", "2 Mb/s"], ["70 s", "4 Mb/s"]]}
CASES = {
    "alone": Case("4 Mb/s", 200.0),
    "step": Case(STEPS, 200.0),
    "cubic": Case("4 Mb/s", 50.0, beside_cubic=True),
}


@dataclass(frozen=True)
class Measured:
    """What a run gave."""

    growth: float
    """kb/s per second."""
    rate: float
    """Mb/s of the stream on the wire at the receiver."""
    delay: float
    """Mean queueing delay, ms."""
    lost: float
    """Share of the stream's packets that were dropped, %."""
    standing: bool

    def line(self, name: str, side: str, run: int) -> str:
        """Say it as a row."""
        standing = "yes" if self.standing else ""
        return (
            f"| {name} | {side} | {run} | {self.growth:.1f} | {self.rate:.2f} | {self.delay:.1f} "
            f"| {self.lost:.2f} | {standing} |"
        )


def growth(samples: list[tuple[float, float]], case: Case) -> float:
    """Median rise of estimates (seconds, bit/s) in kb/s per second, over spans without a fall."""
    inside = [one for one in samples if SKIP_S <= one[0] < case.seconds]
    found = []
    end = 0
    for start, (from_s, rate) in enumerate(inside):
        while end < len(inside) and inside[end][0] < from_s + SPAN_S:
            end += 1
        span = [value for _, value in inside[start : end + 1]]
        whole = end < len(inside) and all(b >= a for a, b in pairwise(span))
        if whole and span[-1] < MAX_RISE * rate:
            found.append((span[-1] - rate) / (inside[end][0] - from_s) / 1e3)
    return median(found) if found else float("nan")


def measured(folder: Path, flow: str, samples: list[tuple[float, float]], case: Case) -> Measured:
    """Read the tables of a run."""
    start, end = SKIP_S * SECOND_NS, case.seconds * SECOND_NS
    bins = pl.read_parquet(folder / "bins.parquet").filter(
        pl.col("flow") == flow, pl.col("bin_start_ns").is_between(start, end, closed="left")
    )
    sent = int(bins["sent_packets"].sum())
    return Measured(
        growth=growth(samples, case),
        rate=int(bins["received_bytes"].sum()) * 8 / (case.seconds - SKIP_S) / 1e6,
        delay=_mean_delay(folder, start, end),
        lost=100 * int(bins["dropped_packets"].sum()) / max(sent, 1),
        standing=_mean_delay(folder, end - (end - start) // 3, end) > STANDING * case.queue_ms,
    )


def _mean_delay(folder: Path, start: int, end: int) -> float:
    """Of all packets that were forwarded then, ms."""
    delays = pl.read_parquet(folder / "queue_delay.parquet").filter(
        pl.col("window_start_ns").is_between(start, end, closed="left")
    )
    return int(delays["sum_ns"].sum()) / max(int(delays["packets"].sum()), 1) / 1e6


def chromium(case: Case, run: int, folder: Path) -> Measured:
    """Let Chromium stream through our link."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 (an extra)

    with ExitStack() as stack:
        spaces = stack.enter_context(Namespaces())
        spaces.connect(flows=2)
        film = folder / "film.mjpeg"
        subprocess.run([*FILM, str(film)], check=True)  # noqa: S603
        playwright = stack.enter_context(sync_playwright())
        sender = stack.enter_context(browser(playwright, spaces.name("server"), folder))
        receiver = stack.enter_context(browser(playwright, spaces.name("client"), folder))
        for page in (sender, receiver):
            page.add_script_tag(path=Path(__file__).parent / "peer.js")
        if case.beside_cubic:
            client = ["ip", "netns", "exec", spaces.name("client")]
            stack.enter_context(running([*client, "iperf3", "--server", "--port", str(PORT)]))
        epoch_ns = time.monotonic_ns() + 2 * SECOND_NS
        link = stack.enter_context(
            PartProcess(
                "link", config(case, run, spaces, folder, epoch_ns), spaces.name("router"), folder
            )
        )
        connect(sender, receiver)
        if case.beside_cubic:
            server = ["ip", "netns", "exec", spaces.name("server"), "iperf3", "--client",
                      namespaces.CLIENT_ADDRESS, "--port", str(PORT), "--congestion", "cubic",
                      "--bind", namespaces.server_address(1), "--time", str(case.seconds + 5),
                      "--interval", "0"]  # fmt: skip
            stack.enter_context(running(server))
        left_s = epoch_ns / SECOND_NS + case.seconds - time.monotonic()
        sender.wait_for_timeout(1e3 * left_s)
        told = sender.evaluate("peer.samples")
        now_ms, now_ns = sender.evaluate("performance.now()"), time.monotonic_ns()
        (folder / "chromium.json").write_text(json.dumps(told), encoding="utf-8")
        said = link.result()
    print(f"  {lateness(said)}", file=sys.stderr)
    offset_s = (now_ns - epoch_ns) / SECOND_NS - now_ms / 1e3
    samples = [(row["time"] / 1e3 + offset_s, row["available"]) for row in told if row["available"]]
    return measured(folder, "game", samples, case)


def lateness(said: dict[str, Any]) -> str:
    """What the link says of its punctuality."""
    return ", ".join(f"{key} {value}" for key, value in said.items() if "late" in key) or str(said)


def config(case: Case, run: int, spaces: Namespaces, folder: Path, epoch_ns: int) -> dict[str, Any]:
    """Give the link's configuration: the first address streams, the second downloads."""
    flows = [{"name": name, "address": namespaces.server_address(number)}
             for number, name in enumerate(("game", "download"))]  # fmt: skip
    return {
        "epoch_ns": epoch_ns,
        "seed": run,
        "duration": f"{case.seconds} s",
        "path": case.path,
        "flows": flows,
        "server": {"namespace": str(spaces.path("server")), "device": DEVICE},
        "client": {"namespace": str(spaces.path("client")), "device": DEVICE},
        "folder": str(folder),
    }


@contextmanager
def browser(playwright: Playwright, space: str, folder: Path) -> Iterator[Page]:
    """Open a page of a Chromium in a namespace."""
    program = folder / f"chromium-{space}"
    inside = f'exec ip netns exec {space} {shutil.which("chromium")} "$@"'
    program.write_text(f"#!/bin/sh\n{inside}\n", encoding="utf-8")
    program.chmod(0o755)
    opened = playwright.chromium.launch_persistent_context(
        tempfile.mkdtemp(dir=folder),
        executable_path=program,
        args=[*BROWSER_FLAGS, f"--use-file-for-fake-video-capture={folder / 'film.mjpeg'}"],
    )
    try:
        page = opened.pages[0]
        page.route(
            PAGE, lambda route: route.fulfill(body="<video></video>", content_type="text/html")
        )
        page.goto(PAGE)
        yield page
    finally:
        opened.close()


def connect(sender: Page, receiver: Page) -> None:
    """Carry offer and answer between two pages; only the stream's address is in them."""
    rates = {"most": MAX_BPS, "start": START_BPS, "least": MIN_BPS, "frameRate": FRAME_RATE}
    offer = sender.evaluate("rates => peer.offer(rates)", rates)
    answer = receiver.evaluate(
        "offer => peer.answer(offer)", only(offer, namespaces.server_address(0))
    )
    sender.evaluate(
        f"([answer, rates]) => peer.accept(answer, rates, {SAMPLE_MS})", [answer, rates]
    )


def only(description: str, address: str) -> str:
    """Leave out the candidates of other addresses."""
    lines = [line for line in description.split("\r\n")
             if not line.startswith("a=candidate:") or f" {address} " in line]  # fmt: skip
    return "\r\n".join(lines)


def stream(feedback: Any, video: str) -> gw.Stream:
    """Give our stream, with Chromium's bounds."""
    return gw.Stream(
        name="game", controller="gcc", video=video, feedback=feedback, frame_rate=FRAME_RATE,
        start_bitrate=f"{START_BPS} b/s", min_bitrate=f"{MIN_BPS} b/s",
        max_bitrate=f"{MAX_BPS} b/s",
    )  # fmt: skip


def experiment(case: Case, run: int, feedback: Any, video: str) -> gw.Experiment:
    """Give the case as an experiment."""
    download = gw.Competitor(name="download", kind="tcp", congestion_control="cubic")
    return gw.Experiment(
        duration=f"{case.seconds} s", path=gw.Path(**case.path), seed=run, ping=False,
        stream=[stream(feedback, video)],
        competitor=[download] if case.beside_cubic else [],
    )  # fmt: skip


def simulated(case: Case, run: int, folder: Path) -> Measured:
    """Let our stream run in virtual time."""
    (one,) = gw.expand(experiment(case, run, FEEDBACK, "steady"))
    _core.run(json.dumps(one.spec), str(folder))
    return measured(folder, "game", targets(folder), case)


def live(case: Case, run: int, folder: Path) -> Measured:
    """Let our stream run through our link."""
    results = gw.run(experiment(case, run, "native", "scene"), folder / "live", on="live")
    (tables,) = {path.parent for path in results.path.rglob("bins.parquet")}
    return measured(tables, "game", targets(tables), case)


def targets(folder: Path) -> list[tuple[float, float]]:
    """Read the controller's target over time."""
    state = pl.read_parquet(folder / "controller.parquet").filter(
        pl.col("variable") == "target_bps", pl.col("stream") == "game"
    )
    return [
        (at / 1e9, value) for at, value in state.sort("time_ns").select("time_ns", "value").rows()
    ]


SIDES = {"chromium": chromium, "live": live, "simulated": simulated}


def main() -> None:
    """Print a row for each run."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("case", nargs="*", choices=[*CASES, []], help="which; all without")
    parser.add_argument("--side", action="append", choices=SIDES, help="who; all without")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--seconds", type=int, help="of each run")
    parser.add_argument("--keep", type=Path, help="a folder in which the tables stay")
    chosen = parser.parse_args()
    print("| path | who | run | growth, kb/s per s | Mb/s | queue, ms | lost, % | standing |")
    print("|---|---|---:|---:|---:|---:|---:|---|", flush=True)
    for name in chosen.case or CASES:
        case = CASES[name]
        if chosen.seconds is not None:
            case = replace(case, seconds=chosen.seconds)
        for side in chosen.side or SIDES:
            for run in range(1, chosen.runs + 1):
                with folder_for(chosen.keep, f"{name}-{side}-{run}") as folder:
                    print(SIDES[side](case, run, folder).line(name, side, run), flush=True)


@contextmanager
def folder_for(keep: Path | None, name: str) -> Iterator[Path]:
    """Give a folder for a run's tables."""
    if keep is None:
        with tempfile.TemporaryDirectory() as made:
            yield Path(made)
        return
    folder = keep / name
    folder.mkdir(parents=True)
    yield folder


if __name__ == "__main__":
    main()
