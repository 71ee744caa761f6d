"""Every documented axis passes from an experiment file through runs, tables and the report.

The axes are those that docs/experiment-file.md documents; who documents a new one gives it two
values here. Each axis is an experiment of its own with two runs of half a second; a few of them
are run into one folder, which is evaluated and shown at once.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from test_docs import TABLES, documented, text_of
from test_result_tables import DOCUMENT, documented_columns
from test_video import plain_frames

import gameway as gw
from gameway import expansion, report, sweep
from gameway.beside.twin import as_measured
from gameway.cli import terminal
from gameway.metrics import per_run_table, summary_table, video_summary_table, video_table
from gameway.metrics.table import frame_delay_table
from gameway.video.frame_table import write_gwfr

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

STREAM = {"controller": "fixed", "start_bitrate": "3 Mb/s"}
GCC = {"controller": "gcc"}
BROWSER = {"controller": "gcc", "kind": "chromium"}
PATH = {"capacity": "10 Mb/s", "base_rtt": "16 ms"}
GROUP = 9
BASE = {"duration": "500 ms", "path": PATH, "stream": [STREAM]}
"""Of axes that need nothing else."""


def based(path: dict[str, Any] | None = None, **others: Any) -> dict[str, Any]:
    return BASE | {"path": PATH | (path or {})} | others


def competing(**competitor: Any) -> dict[str, Any]:
    return based(competitor=[competitor])


def wifi(**medium: Any) -> dict[str, Any]:
    return based({"capacity": medium})


DELAYS = {"deviation": "1 ms"}
LOSS = {"probability": "1 %"}
LATER = LOSS | {"later": "5 ms"}
SMALL, LARGE = {"kind": "drop-tail", "size": "20 kB"}, {"kind": "codel"}
HOP = {"hop": [{"name": "access", "capacity": "9 Mb/s"}]}
G, N = {"wifi": "802.11g"}, {"wifi": "802.11n"}
CHANGE = {"change": [{"at": "200 ms", "loss": {"probability": "0 %"}}]}
ON_OFF = {"segment": "100 ms", "bitrate": "1 Mb/s"}
LOW, HIGH = {"640x360": "1 Mb/s"}, {"640x360": "1 Mb/s", "1280x720": "2 Mb/s"}
NEAR, FAR = {"dscp": "ef"}, {"client": "192.168.0.20"}

AXES: dict[str, dict[str, tuple[dict[str, Any], str, list[Any]]]] = {
    "The experiment": {
        "duration": (BASE, "", ["500 ms", "600 ms"]),
        "controller": (based(stream=[{}]), "", ["gcc", {"kind": "fixed"}]),
        "path": (BASE, "", [PATH, PATH | {"base_rtt": "20 ms"}]),
    },
    "`[path]`": {
        "capacity": (BASE, "path", ["10 Mb/s", {"trace": "steps.trace"}, G]),
        "base_rtt": (BASE, "path", ["16 ms", "20 ms"]),
        "base_rtt_spread": (BASE, "path", ["5 %", "10 %"]),
        "forward_delay": (BASE, "path", ["8 ms", "4 ms"]),
        "queue": (BASE, "path", [SMALL, LARGE]),
        "classifier": (BASE, "path", ["none", "behaviour"]),
        "jitter": (BASE, "path", [DELAYS, {"kind": "half-normal"} | DELAYS]),
        "loss": (BASE, "path", [LOSS, LOSS | {"kind": "bursty", "burst_length": 2.0}]),
        "duplicate": (BASE, "path", [LOSS, {"probability": "2 %"}]),
        "reorder": (BASE, "path", [LOSS, LATER]),
        "back": (BASE, "path", [{}, {"capacity": "1 Mb/s"}]),
        "gateway": (competing(), "path", ["none", "voap"]),
    },
    "`[path.jitter]`": {
        "kind": (based({"jitter": DELAYS}), "path.jitter", ["normal", "half-normal"]),
        "mean": (based({"jitter": DELAYS}), "path.jitter", ["1 ms", "2 ms"]),
        "deviation": (based({"jitter": {}}), "path.jitter", ["1 ms", "2 ms"]),
        "delay": (
            based({"jitter": {"kind": "periodic", "interval": "99 ms"}}),
            "path.jitter",
            ["9 ms", "19 ms"],
        ),
        "interval": (
            based({"jitter": {"kind": "periodic", "delay": "9 ms"}}),
            "path.jitter",
            ["99 ms", "199 ms"],
        ),
    },
    "`[path.loss]`": {
        "kind": (
            based({"loss": LOSS | {"burst_length": 2.0}}), "path.loss", ["random", "bursty"],
        ),
        "probability": (based({"loss": {}}), "path.loss", ["1 %", "2 %"]),
        "burst_length": (based({"loss": LOSS | {"kind": "bursty"}}), "path.loss", [2.0, 3.0]),
    },
    "`[path.duplicate]`": {
        "probability": (based({"duplicate": {}}), "path.duplicate", ["1 %", "2 %"]),
        "correlation": (based({"duplicate": LOSS}), "path.duplicate", ["0 %", "50 %"]),
    },
    "`[path.reorder]`": {
        "probability": (based({"reorder": {}}), "path.reorder", ["1 %", "2 %"]),
        "correlation": (based({"reorder": LOSS}), "path.reorder", ["0 %", "50 %"]),
        "gap": (based({"reorder": LOSS}), "path.reorder", [1, 5]),
        "earlier": (based({"reorder": LOSS}), "path.reorder", ["1 ms", "2 ms"]),
        "later": (based({"reorder": LOSS}), "path.reorder", ["1 ms", "2 ms"]),
    },
    "`[path.back]`": {
        "capacity": (based({"back": {}}), "path.back", ["1 Mb/s", "2 Mb/s"]),
        "queue": (based({"back": {"capacity": "1 Mb/s"}}), "path.back", [SMALL, LARGE]),
        "jitter": (based({"back": {}}), "path.back", [DELAYS, {"deviation": "2 ms"}]),
        "loss": (based({"back": {}}), "path.back", [LOSS, {"probability": "2 %"}]),
        "duplicate": (based({"back": {}}), "path.back", [LOSS, {"probability": "2 %"}]),
        "reorder": (based({"back": {}}), "path.back", [LOSS, LATER]),
    },
    "`[[path.hop]]`": {
        "capacity": (based(HOP), "path.hop.0", ["9 Mb/s", "8 Mb/s"]),
        "queue": (based(HOP), "path.hop.0", [SMALL, LARGE]),
        "place": (based(HOP), "path.hop.0", ["in-front", "behind"]),
    },
    "`[[path.change]]`": {
        "capacity": (based(CHANGE), "path.change.0", ["9 Mb/s", {"trace": "steps.trace"}]),
        "base_rtt": (based(CHANGE), "path.change.0", ["16 ms", "20 ms"]),
        "forward_delay": (based(CHANGE), "path.change.0", ["8 ms", "4 ms"]),
        "queue": (based(CHANGE), "path.change.0", [SMALL, LARGE]),
        "classifier": (based(CHANGE), "path.change.0", ["none", "behaviour"]),
        "jitter": (based(CHANGE), "path.change.0", [DELAYS, {"kind": "half-normal"} | DELAYS]),
        "loss": (based(CHANGE), "path.change.0", [LOSS, {"probability": "2 %"}]),
        "duplicate": (based(CHANGE), "path.change.0", [LOSS, {"probability": "2 %"}]),
        "reorder": (based(CHANGE), "path.change.0", [LOSS, LATER]),
        "back": (based(CHANGE), "path.change.0", [{"loss": LOSS}, {"jitter": DELAYS}]),
        "gateway": (competing() | based(CHANGE), "path.change.0", ["none", "voap"]),
    },
    "`[[stream]]`": {
        "kind": (based(stream=[GCC]), "stream.0", ["gameway", "chromium"]),
        "controller": (BASE, "stream.0", ["gcc", {"kind": "gcc", "backoff": 0.9}]),
        "video": (competing(kind="dash"), "stream.0", ["doom", {"file": "own.gwfr"}]),
        "frame_rate": (BASE, "stream.0", [30, 60]),
        "min_bitrate": (BASE, "stream.0", ["1 Mb/s", "2 Mb/s"]),
        "max_bitrate": (BASE, "stream.0", ["5 Mb/s", "6 Mb/s"]),
        "start_bitrate": (BASE, "stream.0", ["3 Mb/s", "4 Mb/s"]),
        "fec": (BASE, "stream.0", ["0 %", "10 %"]),
        "repair": (
            BASE,
            "stream.0",
            ["none", "adaptive", {"kind": "adaptive", "goal": "99 %", "deadline": "80 ms"}],
        ),
        "recovery": (BASE, "stream.0", ["key-frame", "reference"]),
        "ladder": (BASE, "stream.0", ["none", "size", "frame-rate", "both"]),
        "content": (BASE, "stream.0", ["low", "medium", "high"]),
        "mtu": (BASE, "stream.0", ["1300 B", "1400 B"]),
        "feedback": (BASE, "stream.0", ["per-frame", {"kind": "transport-wide"}]),
        "ecn": (BASE, "stream.0", ["none", "ect1"]),
        "circuit_breaker": (BASE, "stream.0", ["none", "rfc8083"]),
        "picture_size": (based(stream=[BROWSER]), "stream.0", ["320x180", "640x360"]),
        "field_trials": (based(stream=[BROWSER]), "stream.0", ["One/Enabled/", "Other/Enabled/"]),
        "clock_drift": (BASE, "stream.0", ["0 ppm", "50 ppm"]),
        "start": (BASE, "stream.0", ["0 s", "50 ms"]),
        "stop": (BASE, "stream.0", ["400 ms", "450 ms"]),
        "pause": (
            BASE, "stream.0", [{"from": "0 s", "to": "50 ms"}, {"from": "0 s", "to": "99 ms"}],
        ),
        "base_rtt": (BASE, "stream.0", ["16 ms", "20 ms"]),
        "via": (based(HOP), "stream.0", ["all", "access"]),
        "direction": (BASE, "stream.0", ["down", "up"]),
        "header": (BASE, "stream.0", [NEAR, FAR]),
    },
    "`[[competitor]]`": {
        "kind": (competing(rate="1 Mb/s"), "competitor.0", ["tcp", "udp"]),
        "congestion_control": (competing(), "competitor.0", ["cubic", "bbr"]),
        "ecn": (competing(), "competitor.0", ["off", "classic"]),
        "receive_window": (competing(), "competitor.0", ["auto", "100 kB"]),
        "mss": (competing(), "competitor.0", ["1000 B", "1448 B"]),
        "start": (competing(), "competitor.0", ["0 s", "50 ms"]),
        "stop": (competing(), "competitor.0", ["400 ms", "450 ms"]),
        "bytes": (competing(), "competitor.0", ["10 kB", "20 kB"]),
        "rate_limit": (competing(), "competitor.0", ["1 Mb/s", "2 Mb/s"]),
        "block": (competing(rate_limit="1 Mb/s"), "competitor.0", ["1 kB", "2 kB"]),
        "on_off": (competing(), "competitor.0", [ON_OFF, ON_OFF | {"segment": "50 ms"}]),
        "min_size": (competing(kind="short-tcp"), "competitor.0", ["1 kB", "2 kB"]),
        "max_size": (competing(kind="short-tcp"), "competitor.0", ["50 kB", "60 kB"]),
        "connections": (competing(kind="short-tcp"), "competitor.0", [1, 2]),
        "mean_gap": (competing(kind="short-tcp"), "competitor.0", ["99 ms", "50 ms"]),
        "begins": (competing(kind="short-tcp"), "competitor.0", ["off", "on"]),
        "rate": (competing(kind="udp"), "competitor.0", ["1 Mb/s", "2 Mb/s"]),
        "packet_size": (competing(kind="udp", rate="1 Mb/s"), "competitor.0", ["1 kB", "200 B"]),
        "spacing": (competing(kind="onlive-ut"), "competitor.0", ["even", "exponential"]),
        "return_rate": (
            competing(kind="udp", rate="1 Mb/s"), "competitor.0", ["9 kb/s", "99 kb/s"],
        ),
        "return_packet_size": (
            competing(kind="udp", rate="1 Mb/s", return_rate="1 Mb/s"),
            "competitor.0",
            ["100 B", "200 B"],
        ),
        "bitrate": (competing(kind="video-chat"), "competitor.0", ["0 b/s", "1 Mb/s"]),
        "return_bitrate": (competing(kind="video-chat"), "competitor.0", ["0 b/s", "1 Mb/s"]),
        "frame_rate": (competing(kind="video-chat"), "competitor.0", [15, 30]),
        "ladder": (competing(kind="dash"), "competitor.0", [LOW, HIGH]),
        "segment_length": (competing(kind="dash"), "competitor.0", ["100 ms", "200 ms"]),
        "size_spread": (competing(kind="dash"), "competitor.0", ["10 %", "20 %"]),
        "segment_sizes": (
            competing(kind="dash", ladder=LOW),
            "competitor.0",
            [{"file": "one.csv"}, {"file": "other.csv"}],
        ),
        "video_length": (competing(kind="dash"), "competitor.0", ["8 s", "1 min"]),
        "adaptation": (competing(kind="dash"), "competitor.0", ["throughput", "bola"]),
        "buffer": (competing(kind="dash"), "competitor.0", ["10 s", "12 s"]),
        "top_buffer": (competing(kind="dash"), "competitor.0", ["10 s", "20 s"]),
        "datagram_size": (competing(kind="quic"), "competitor.0", ["1200 B", "1452 B"]),
        "ack_packets": (competing(kind="quic"), "competitor.0", [2, 10]),
        "max_ack_delay": (competing(kind="quic"), "competitor.0", ["5 ms", "25 ms"]),
        "spin": (competing(kind="quic"), "competitor.0", ["on", "off"]),
        "base_rtt": (competing(), "competitor.0", ["16 ms", "20 ms"]),
        "via": (based(HOP, competitor=[{}]), "competitor.0", ["all", "access"]),
        "direction": (competing(), "competitor.0", ["down", "up"]),
        "header": (competing(), "competitor.0", [NEAR, FAR]),
    },
    "`[ping]`": {"interval": (based(ping={}), "ping", ["50 ms", "99 ms"])},
    "`[record]`": {
        "controller_interval": (based(record={}), "record", ["50 ms", "99 ms"]),
        "delay_window": (based(record={}), "record", ["500 ms", "1 s"]),
    },
    "Wi-Fi": {
        "wifi": (wifi(), "path.capacity", ["802.11n", "802.11ac"]),
        "rate": (wifi(**G), "path.capacity", ["54 Mb/s", "48 Mb/s"]),
        "mcs": (wifi(**N), "path.capacity", [6, 7]),
        "streams": (wifi(**N), "path.capacity", [1, 2]),
        "width": (wifi(**N), "path.capacity", ["20 MHz", "40 MHz"]),
        "guard_interval": (wifi(**N), "path.capacity", ["800 ns", "400 ns"]),
        "basic_rate": (wifi(**N), "path.capacity", ["24 Mb/s", "12 Mb/s"]),
        "slot": (wifi(**N), "path.capacity", ["9 us", "20 us"]),
        "error_rate": (wifi(**N), "path.capacity", ["0 %", "1 %"]),
        "attempts": (wifi(**N), "path.capacity", [7, 4]),
        "cw_min": (wifi(**N), "path.capacity", [15, 31]),
        "cw_max": (wifi(**N), "path.capacity", [1023, 511]),
        "rts_above": (wifi(**N), "path.capacity", ["500 B", "1 kB"]),
        "aggregate": (wifi(**N), "path.capacity", [64, 32]),
        "aggregate_time": (wifi(**N), "path.capacity", ["5.484 ms", "4 ms"]),
        "station_queue": (wifi(**N), "path.capacity", [SMALL, LARGE]),
    },
}  # fmt: skip
"""By section and key: the base, the table in it that has the key, and the axis."""


def names_of_axes(heading: str) -> list[str]:
    rows = documented(text_of("experiment-file.md"), heading)
    return [row[0].strip("`") for row in rows if row[2] == "yes"]


@pytest.mark.parametrize("heading", [*TABLES, "Wi-Fi"])
def test_every_documented_axis_has_values_here(heading: str) -> None:
    assert list(AXES[heading]) == names_of_axes(heading), "give each axis two values in AXES"


def with_axis(base: dict[str, Any], place: str, key: str, values: list[Any]) -> gw.Experiment:
    tree = copy.deepcopy(base)
    table: Any = tree
    for part in place.split(".") if place else []:
        table = table[int(part)] if part.isdigit() else table[part]
    table[key] = values
    return gw.Experiment(**tree)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the files that axes name."""
    folder = tmp_path_factory.mktemp("files")
    (folder / "steps.trace").write_text("".join(f"{time}\n" for time in range(1, 100)))
    for name in ("one.csv", "other.csv"):
        (folder / name).write_text("level,segment,bytes\n1,0,100000\n")
    write_gwfr(plain_frames([9000, 3000, 3001] * 20), folder / "own.gwfr", width=64, height=36)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        yield folder


def in_groups() -> Iterator[tuple[str, list[str]]]:
    """Few axes at a time: a report of many has as many panels as they have combinations."""
    for heading, axes in AXES.items():
        keys = list(axes)
        for first in range(0, len(keys), GROUP):
            yield heading, keys[first : first + GROUP]


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(("heading", "keys"), list(in_groups()))
def test_every_axis_passes_through_runs_tables_and_report(
    heading: str, keys: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own_columns = {name for found in documented_columns(DOCUMENT).values() for name, _ in found}
    runs = []
    for key in keys:
        base, place, values = AXES[heading][key]
        found = gw.expand(with_axis(base, place, key, values))
        assert len({run.id for run in found}) == len(values), key
        assert len({tuple(run.factors.items()) for run in found}) == len(values), key
        assert not any(own_columns.intersection(run.factors) for run in found), key
        # A browser is not simulated, but what stands for it in a twin is.
        runs += [replace(run, spec=as_measured(run.spec, None)) for run in found]
    whole = expansion.Expansion(list({run.id: run for run in runs}.values()), {}, "all")
    monkeypatch.setattr(sweep, "expanded", lambda _: whole)
    results = gw.run(gw.Experiment(**BASE), tmp_path / "out")
    evaluate(results)
    report.write(results, tmp_path / "report.html", save_files=False)


def evaluate(results: gw.Results) -> None:
    """Make every table in which factors are columns."""
    for table in ("frames", "bins", "link", "queue_delay", "pings", "controller", "events"):
        getattr(results, table)().collect()
    for rows in (per_run_table, video_table, frame_delay_table):
        assert set(results.factors) <= set(rows(results).columns)
    terminal.summary(summary_table(results), results.factors)
    terminal.videos(video_summary_table(results), results.factors)
