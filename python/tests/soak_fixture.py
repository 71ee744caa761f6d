"""Hosts, a browser and our client that play for long, and what is read of them now and then.

Chromium plays the built-in scene of `gameway host --input` with its sound. Our client plays the
test card of `gameway play`, small, on a screen and a sound server of its own.
"""

from __future__ import annotations

import csv
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from browser_fixture import TOKEN, Browser, browser, free_address, until_frames
from process_times import cpu_seconds, stat
from test_service import figures

if TYPE_CHECKING:
    from collections.abc import Iterator

WAIT_S = 20.0
KB = 1024
SMALL = ("--size", "320x180", "--max-bitrate", "1 Mb/s", "--start-bitrate", "1 Mb/s")

# How old pictures and sound are when they are played, but for a constant that is the same for both:
# time stamps of RTP count from the host's start, the page's time from another.
COUNT = """
const soak = window.soak = { seen: 0, pictures: 0, heard: 0, sounds: 0 };
const unwrapped = () => {
  let wraps = 0, newest = 0;
  return (stamp) => {
    if (stamp < newest - 2 ** 31) wraps += 2 ** 32;
    newest = stamp;
    return wraps + stamp;
  };
};
const ofPicture = unwrapped(), ofSound = unwrapped();
gameway.screen.onDrawn((image, timestamp, time) => {
  soak.seen += time - ofPicture(timestamp) / 90;
  soak.pictures += 1;
});
const audio = connection.getReceivers().find((it) => it.track.kind === "audio");
setInterval(() => {
  const [source] = audio.getSynchronizationSources();
  if (source === undefined) return;
  soak.heard += source.timestamp - performance.timeOrigin - ofSound(source.rtpTimestamp) / 48;
  soak.sounds += 1;
}, 97);
"""
ASK = """
connection.getStats().then((stats) => {
  const all = [...stats.values()];
  const find = (type, kind) => all.find((it) => it.type === type && it.kind === kind) ?? {};
  return {
    soak: { ...soak },
    video: find("inbound-rtp", "video"),
    audio: find("inbound-rtp", "audio"),
    remote: find("remote-outbound-rtp", "video"),
    connection: gameway.connection,
    waiting: gameway.input.waiting,
  };
})
"""


class Program:
    """A program that runs, and those that it has started."""

    def __init__(self, process: subprocess.Popen[Any]) -> None:
        self.process = process
        self.said: list[str] = []
        """Lines, if they are listened to."""
        self.reader: threading.Thread | None = None

    def listen(self) -> None:
        """Keep what it says from now on."""
        self.reader = threading.Thread(
            target=self.said.extend, args=(self.process.stderr,), daemon=True
        )
        self.reader.start()

    def find(self, pattern: str) -> str:
        """Give what it said, once it has."""
        until = time.monotonic() + WAIT_S
        while not (found := re.search(pattern, "".join(self.said))):
            assert time.monotonic() < until, "".join(self.said)
            time.sleep(0.05)
        return found[1]

    def kinds(self) -> Counter[str]:
        """How often it said something, whatever the numbers in it."""
        return Counter(re.sub(r"\d+", "#", line.strip()) for line in [*self.said])

    def end(self) -> int:
        """Send Ctrl-C; give the exit code."""
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(WAIT_S)
        if self.reader is not None:
            # Who still reads would find the pipe closed.
            self.reader.join(WAIT_S)
        return code

    def pids(self) -> list[int]:
        """Its own first."""
        children: dict[int, list[int]] = {}
        for entry in Path("/proc").glob("[0-9]*"):
            if fields := stat(int(entry.name)):
                children.setdefault(int(fields[1]), []).append(int(entry.name))
        found = [self.process.pid]
        for pid in found:
            found += children.get(pid, [])
        return found


def _megabytes(pid: int) -> float:
    """Memory of a process that is no file's: of files, others' use changes what is its share."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text("utf-8")
    except OSError:
        return 0.0
    found = re.findall(r"^Pss_(?:Anon|Shmem):\s+(\d+) kB", text, re.MULTILINE)
    return sum(map(int, found)) * KB / 1e6


def _of_page(pid: int) -> float:
    """What a process holds in which the browser runs a page; nothing if it is another."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return 0.0
    return _megabytes(pid) if b"--type=renderer" in words else 0.0


def _count(pid: int, folder: str) -> int:
    try:
        return len(os.listdir(f"/proc/{pid}/{folder}"))  # noqa: PTH208 (names alone)
    except OSError:
        return 0


def of_processes(program: Program) -> dict[str, float]:
    """What a program's processes hold, together; `mb` is memory of the first alone."""
    pids = program.pids()
    return {
        "mb": _megabytes(pids[0]),
        "all_mb": sum(map(_megabytes, pids)),
        "fds": sum(_count(pid, "fd") for pid in pids),
        "threads": sum(_count(pid, "task") for pid in pids),
        "processes": len(pids),
        "cpu_s": sum(map(cpu_seconds, pids)),
    }


@contextmanager
def program(folder: Path, *words: str) -> Iterator[Program]:
    """`gameway` with these words; it is killed if it still runs at the end."""
    runtime = folder / "r"
    runtime.mkdir(mode=0o700, exist_ok=True)
    surroundings = {**os.environ, "GAMEWAY_TOKEN": TOKEN, "HOME": str(folder)}
    surroundings |= {"XDG_RUNTIME_DIR": str(runtime), "XDG_STATE_HOME": str(folder)}
    line = [sys.executable, "-m", "gameway", *words]
    with subprocess.Popen(
        line, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, env=surroundings
    ) as process:
        made = Program(process)
        made.listen()
        try:
            yield made
        finally:
            process.kill()


class Played:
    """All that plays."""

    def __init__(self, folder: Path, size: str, rate: str) -> None:
        self.folder, self.size, self.rate = folder, size, rate
        self.programs: dict[str, Program] = {}
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self._start(stack)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *why: object) -> None:
        self._stack.close()

    def _start(self, stack: ExitStack) -> None:
        def start(name: str, *words: str) -> Program:
            self.programs[name] = stack.enter_context(program(self.folder, *words))
            return self.programs[name]

        listen, metrics = free_address(), free_address()
        rates = ("--start-bitrate", self.rate, "--max-bitrate", self.rate)
        words = ("--input", "--size", self.size, *rates, "--metrics", metrics)
        start("host", "host", "--listen", listen, *words).find(r"(code for)")
        self.metrics = f"http://{metrics}/metrics"
        card = start("play", "play", "--test-card", "--listen", free_address(), *SMALL)
        beside = card.find(r'gameway client "(\S+)"')
        start("client", "client", beside, "--inputs", "500 ms")
        self.browser: Browser = stack.enter_context(browser(self.folder / "profile"))
        self.programs["browser"] = Program(self.browser.process)
        self.page = self.browser.open(f"http://{listen}/#{TOKEN}")
        until_frames(self.browser, self.page)
        self.browser.evaluate(self.page, COUNT)
        self.browser.call("Performance.enable", {}, self.page)

    def press(self, kind: str) -> None:
        """Press the space bar (`keyDown`) or release it (`keyUp`)."""
        key = {"type": kind, "code": "Space", "key": " "}
        self.browser.call("Input.dispatchKeyEvent", key, self.page)

    def look(self) -> dict[str, Any]:
        """Read everything."""
        seen = {"at": time.monotonic(), "page": self.browser.evaluate(self.page, ASK)}
        seen["host"] = figures(self.metrics)
        told = self.browser.call("Performance.getMetrics", {}, self.page)["metrics"]
        seen["tab"] = {one["name"]: one["value"] for one in told}
        seen["programs"] = {name: of_processes(one) for name, one in self.programs.items()}
        seen["page_mb"] = sum(map(_of_page, self.programs["browser"].pids()))
        return seen

    def lines(self) -> int:
        """How many lines hosts and client have said."""
        return sum(len(one.said) for one in self.programs.values())


def _grown(before: dict[str, Any], now: dict[str, Any], *names: str) -> float:
    """What a sum grew by for each that was counted."""
    value, count = (now.get(name, 0) - before.get(name, 0) for name in names)
    return float(value / count) if count else float("nan")


def between(begin: dict[str, Any], before: dict[str, Any], now: dict[str, Any]) -> dict[str, float]:
    """What looks say of the time between the last two, and of counts since the first one."""
    row = {"seconds": now["at"] - begin["at"], **_streamed(before, now), **_counted(begin, now)}
    took = now["at"] - before["at"]
    for name, held in now["programs"].items():
        row[f"{name}_cores"] = (held["cpu_s"] - before["programs"][name]["cpu_s"]) / took
        row |= {f"{name}_{key}": value for key, value in held.items() if key != "cpu_s"}
    tab = now["tab"]
    row |= {"page_mb": now["page_mb"], "heap_mb": tab["JSHeapUsedSize"] / 1e6}
    return row | {"nodes": tab["Nodes"], "listeners": tab["JSEventListeners"]}


def _pairs(before: dict[str, Any], now: dict[str, Any], *names: str) -> list[Any]:
    """What the page said both times under these names."""
    return [(before["page"][name], now["page"][name]) for name in names]


def _streamed(before: dict[str, Any], now: dict[str, Any]) -> dict[str, float]:
    """Rates and means of times."""
    took, hosts = now["at"] - before["at"], (before["host"], now["host"])
    video, audio, soak, remote = _pairs(before, now, "video", "audio", "soak", "remote")
    buffered = ("jitterBufferDelay", "jitterBufferEmittedCount")
    buffer_ms = 1e3 * _grown(*video, *buffered)
    paced_ms = 1e3 * _grown(*hosts, "gameway_send_seconds_sum", "gameway_send_seconds_count")
    delay = ("gameway_frame_delay_seconds_sum", "gameway_frame_delay_seconds_count")
    delay_ms = 1e3 * _grown(*hosts, *delay)
    age_ms = _grown(*soak, "seen", "pictures")
    return {
        "made_fps": (hosts[1]["gameway_frames_total"] - hosts[0]["gameway_frames_total"]) / took,
        "fps": (video[1]["framesDecoded"] - video[0]["framesDecoded"]) / took,
        "mbps": 8e-6 * (video[1]["bytesReceived"] - video[0]["bytesReceived"]) / took,
        "buffer_ms": buffer_ms,
        "paced_ms": paced_ms,
        "waited_ms": buffer_ms - paced_ms,
        "audio_buffer_ms": 1e3 * _grown(*audio, *buffered),
        "round_trip_ms": 1e3 * _grown(*remote, "totalRoundTripTime", "roundTripTimeMeasurements"),
        "delay_ms": delay_ms,
        # The host's picture of the delay less the page's: by what it takes the page's clock for.
        "clock_ms": delay_ms - age_ms,
        "apart_ms": _grown(*soak, "heard", "sounds") - age_ms,
    }


def _counted(begin: dict[str, Any], now: dict[str, Any]) -> dict[str, float]:
    """What happened since the first look."""
    hosts = (begin["host"], now["host"])
    video, audio = _pairs(begin, now, "video", "audio")
    lost = [
        one["packetsLost"] + other["packetsLost"] for one, other in zip(video, audio, strict=True)
    ]
    return {
        "is_connected": float(now["page"]["connection"] == "connected"),
        "waiting_inputs": now["page"]["waiting"],
        "sessions": hosts[1]["gameway_sessions_total"],
        "freezes": video[1]["freezeCount"] - video[0]["freezeCount"],
        "lost": lost[1] - lost[0],
        "key_frames": hosts[1]["gameway_key_frames_total"] - hosts[0]["gameway_key_frames_total"],
        "dropped_share": _grown(*video, "framesDropped", "framesReceived"),
        "skipped_share": _grown(
            *hosts, "gameway_events_total frame-skipped", "gameway_frames_total"
        ),
        "concealed_share": _grown(*audio, "concealedSamples", "totalSamplesReceived"),
    }


class Table:
    """A table that is kept as it grows."""

    def __init__(self, file: Path) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        self.file = file
        self.rows: list[dict[str, float]] = []

    def add(self, row: dict[str, float]) -> None:
        """Append a row; the first one brings the head."""
        with self.file.open("a" if self.rows else "w", encoding="utf-8", newline="") as text:
            writer = csv.DictWriter(text, list(row))
            if not self.rows:
                writer.writeheader()
            writer.writerow({name: f"{value:.9g}" for name, value in row.items()})
        self.rows.append(row)
