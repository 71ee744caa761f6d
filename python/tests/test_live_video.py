"""Real videos: a ladder that ffmpeg made, served by nginx, played by dash.js in Chromium.

What the simulated player does on the same link with the same segments is beside it, and a twin on
another link, which must differ.
"""

from __future__ import annotations

import math
import shutil
import socket
import subprocess
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import polars as pl
import pytest
from disk_fixture import disk, why_no_disk
from live_fixture import needs_live
from witness import of_times

import gameway as gw
from gameway import _core
from gameway.beside import compare, twin
from gameway.errors import GamewayError
from gameway.live import plan
from gameway.live import run as live_run
from gameway.live.plan import plan_of
from gameway.live.processes import TooLate
from gameway.live.video import films, player, tables, videos
from gameway.live.video.content import Content
from gameway.metrics import video_table
from gameway.sweep.drivers import SIMULATOR

if TYPE_CHECKING:
    from collections.abc import Iterator

    from disk_fixture import Disk

FILM = """
title = "A film alone"
duration = "30 s"
[path]
capacity = "1500 kb/s"
base_rtt = "16 ms"
queue = { kind = "drop-tail", size = "1 bdp" }
[[competitor]]
name = "film"
kind = "dash"
ladder = { 160x90 = "200 kb/s", 320x180 = "500 kb/s", 480x270 = "900 kb/s" }
segment_length = "1 s"
start = "1 s"
stop = "28 s"
"""
LEVELS = ((160, 90, 200_000), (320, 180, 500_000), (480, 270, 900_000))
needs_ffmpeg = pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="ffmpeg is missing")
LACKING = "; ".join(player.why_not()) or ("" if shutil.which("nginx") else "nginx is missing")
needs_player = pytest.mark.skipif(bool(LACKING), reason=LACKING or "all is there")


@pytest.fixture(scope="module", autouse=True)
def drive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Disk | None]:
    """Give the disk with the user's cache, where the machine has what it needs."""
    with ExitStack() as ends, pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("user") / "cache"
        made = None if why_no_disk() else ends.enter_context(disk(folder))
        patch.setenv("XDG_CACHE_HOME", str(folder))
        yield made


def film(content: Content | None = None) -> films.Film:
    (run,) = gw.expand(gw.loads(FILM))
    plan = plan_of(run.spec)
    return videos.film_of(plan, plan.videos[0], content)


@needs_ffmpeg
def test_a_film_is_what_the_ladder_says_and_made_once(drive: Disk | None, tmp_path: Path) -> None:
    wanted = film()
    assert (wanted.levels, wanted.length_s, wanted.endless) == (LEVELS, 120, True)
    told: list[str] = []
    # What an interrupted call left of a level is made anew.
    part = films.cache() / wanted.key / "level-1.part.mp4"
    part.parent.mkdir(parents=True)
    part.write_bytes(b"half")
    folder = films.make(wanted, told.append)
    assert len(told) == 4
    # Power that fails takes nothing of what is made once.
    if drive is not None:
        drive.cut()
        drive.start_again()
    assert films.make(wanted, told.append) == folder == films.kept(wanted)
    assert len(told) == 4
    sizes = films.sizes(wanted)
    assert [len(row) for row in sizes] == [120, 120, 120]
    for row, (_, _, rate) in zip(sizes, LEVELS, strict=True):
        assert 0.9 * rate < sum(row) * 8 / 120 < 1.1 * rate
        # Busy and calm scenes, and the scene begins again after a minute.
        assert 1.2 < max(row) / min(row) < 8.0
        assert abs(row[5] - row[65]) < 0.02 * row[5]
    root = ET.parse(folder / films.MANIFEST).getroot()
    space = f"{{{films.NAMESPACE}}}"
    rates = [int(one.get("bandwidth", "")) for one in root.iter(f"{space}Representation")]
    assert rates == [rate for _, _, rate in LEVELS]
    assert root.get("mediaPresentationDuration") == "PT3600S"
    # Somebody else's reader finds the pictures, and a key frame where each segment begins.
    joined = tmp_path / "segment.mp4"
    pieces = [folder / "init-2.mp4", folder / "2" / "00007.m4s"]
    joined.write_bytes(b"".join(piece.read_bytes() for piece in pieces))
    shown = subprocess.run(
        ["ffprobe", "-v", "error", "-show_entries", "stream=width,height:packet=pts_time,flags",
         "-of", "csv=p=0", str(joined)],
        capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    packets, size = shown[:-1], shown[-1]
    assert size.startswith("480,270")
    assert len(packets) == 30
    assert packets[0].startswith("6.000000,K")
    assert not any("K" in packet for packet in packets[1:])


@needs_ffmpeg
def test_a_recording_is_a_film_of_its_own(tmp_path: Path) -> None:
    recording = tmp_path / "game.mkv"
    subprocess.run(
        ["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc=size=320x240:rate=60:duration=1",
         "-c:v", "mjpeg", str(recording)],
        check=True,
    )  # fmt: skip
    whole = film(Content.parse(f"file:{recording}"))
    assert whole.key != film().key
    own = replace(whole, length_s=20, endless=False, content_s=20)
    films.make(own, print)
    sizes = films.sizes(own)
    assert [len(row) for row in sizes] == [20, 20, 20]
    # One second again and again: every segment is like the one before, as the scenes' are not.
    lowest = sizes[0][5:]
    assert max(lowest) < 1.5 * min(lowest)
    recording.write_bytes(b"no video")
    with pytest.raises(GamewayError, match="ffmpeg made no video"):
        films.make(film(Content(recording.rename(tmp_path / "broken.mkv"))), print)
    with pytest.raises(gw.InputError, match=r"--film: .* is no file"):
        Content.parse(f"file:{tmp_path}/broken.mp4")
    with pytest.raises(gw.InputError, match=r"is no content; give scenes, game or file:VIDEO"):
        Content.parse("bunny")


@needs_ffmpeg
def test_the_table_of_sizes_is_what_the_simulator_takes(tmp_path: Path) -> None:
    wanted = film()
    films.make(wanted, print)
    file = tmp_path / videos.sizes_name("film")
    videos.write_sizes(wanted, file)
    _core.check_segment_sizes(str(file))
    run = gw.run(
        gw.loads(FILM).with_overrides([f"competitor.film.segment_sizes={{ file = '{file}' }}"]),
        tmp_path / "out",
    )
    seen = run.segments().collect()
    sizes = films.sizes(wanted)
    found = {(row["level"], row["segment"]): row["size_bytes"] for row in seen.to_dicts()}
    assert len(found) > 20
    assert all(sizes[level - 1][index] == size for (level, index), size in found.items())
    file.write_text(file.read_text(encoding="utf-8") + "1,5,10\n", encoding="utf-8")
    with pytest.raises(gw.InputError, match=r"line 362: this level and segment stands there"):
        gw.loads(FILM).with_overrides([f"competitor.film.segment_sizes={{ file = '{file}' }}"])


def test_what_a_page_told_becomes_segments_and_events() -> None:
    def request(at: float, number: int, segment: int, level: int) -> dict[str, Any]:
        return {"at": at, "what": "request", "number": number, "segment": segment, "level": level}

    def answer(at: float, number: int, fate: str = "complete", size: int = 10) -> dict[str, Any]:
        return {"at": at, "what": "answer", "number": number, "first": at - 5, "bytes": size,
                "fate": fate}  # fmt: skip

    told: list[dict[str, Any]] = [
        {"at": 1000, "what": "opened"},
        {"at": 1010, "what": "waiting"},
        request(1020, 0, 0, 1), answer(1100, 0),
        {"at": 1150, "what": "playing"},
        {"at": 1151, "what": "picture", "segment": 0, "height": 90},
        request(1110, 1, 0, 2), answer(1300, 1),
        request(1310, 2, 1, 1), answer(1400, 2),
        {"at": 1001, "what": "state"} | dict.fromkeys(("buffer", "throughput", "level"), math.nan),
        {"at": 1500, "what": "state", "buffer": 1.5, "throughput": 0, "level": 2},
        request(1410, 3, 1, 2), answer(1600, 3, size=0),
        request(1610, 4, 2, 2), answer(1900, 4, "abandoned", 4),
        {"at": 2151, "what": "picture", "segment": 1, "height": 180},
        request(1910, 5, 2, 1), answer(2000, 5),
        # Chunks that came a moment late, and no picture did: nothing stood still.
        *({"at": 2200 + at, "what": ("waiting", "playing")[at % 2]} for at in range(6)),
        # One picture did: 0.8 s, however often the element waited meanwhile.
        {"at": 2400, "what": "waiting"}, {"at": 2405, "what": "playing"},
        {"at": 2406, "what": "waiting"},
        {"at": 3000, "what": "stood", "milliseconds": 800.0}, {"at": 3001, "what": "playing"},
        {"at": 3100, "what": "waiting"},
        {"at": 3600, "what": "closed"},
        request(3590, 6, 3, 1),
    ]  # fmt: skip
    story = tables.read(told, tables.Clock(1000.0), [90, 180])
    fates = [(one.segment, one.level, one.fate) for one in story.asked.values()]
    assert fates == [
        (0, 1, "displayed"), (0, 2, "too late"), (1, 1, "replaced"), (1, 2, "displayed"),
        (2, 2, "abandoned"), (2, 1, "buffered"), (3, 1, "unfinished"),
    ]  # fmt: skip
    assert story.asked[3].displayed_ns == 1_151_000_000
    assert (story.asked[3].received, story.asked[4].received) == (0, 4)
    assert story.events == [
        (150_000_000, "playback-started", 0.15), (1_200_000_000, "interrupted", 0.0),
        (2_000_000_000, "resumed", 0.8), (2_100_000_000, "interrupted", 0.0),
        (2_600_000_000, "resumed", 0.5),
    ]  # fmt: skip
    # Nothing is known at first, and no throughput then.
    assert [name for _, name, _ in story.states] == ["buffer_level_s", "level"]
    with pytest.raises(GamewayError, match="pictures 77 high"):
        tables.read([{"at": 1, "what": "picture", "segment": 0, "height": 77}], tables.Clock(0), [])


def test_of_two_levels_of_one_size_the_one_that_came_is_shown() -> None:
    told: list[dict[str, Any]] = [
        {"at": 0, "what": "opened"},
        {"at": 10, "what": "request", "number": 0, "segment": 0, "level": 2},
        {"at": 90, "what": "answer", "number": 0, "first": 20, "bytes": 5, "fate": "complete"},
        {"at": 100, "what": "picture", "segment": 0, "height": 90},
    ]  # fmt: skip
    story = tables.read(told, tables.Clock(0.0), [90, 90, 180])
    assert [(one.level, one.fate) for one in story.asked.values()] == [(2, "displayed")]


def test_what_the_file_says_of_the_player_is_set() -> None:
    assert videos.settings({})["streaming"] == {"buffer": {}, "abr": {"rules": {}}}
    said = videos.settings({"adaptation": "bola", "buffer": "20 s", "top_buffer": "40 s"})
    assert said["streaming"]["abr"]["rules"] == {"throughputRule": {"active": False}}
    buffer = said["streaming"]["buffer"]
    assert (buffer["bufferTimeDefault"], buffer["bufferTimeAtTopQualityLongForm"]) == (20.0, 40.0)


@pytest.mark.long("test_live_video.py::test_a_run_that_was_not_ready_in_time_begins_anew")
@pytest.mark.timed
@needs_live
@needs_ffmpeg
@needs_player
def test_the_real_player_does_what_the_simulated_one_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment = gw.loads(FILM)
    # As from the command line: results/NAME-live, below the folder that one is in.
    monkeypatch.chdir(tmp_path)
    results = gw.run(experiment, "out", on="live")
    (seen,) = video_table(results).iter_rows(named=True)
    assert 1.0 <= seen["quality_level"] <= 3.0
    assert seen["startup_s"] > 0.05
    with of_times():
        assert seen["quality_level"] > 1.5
        assert seen["startup_s"] < 4.0
    segments = results.segments().collect()
    shown = segments.drop_nulls("displayed_ns").sort("displayed_ns")
    order = shown["segment"].to_list()
    assert order == list(range(len(order)))
    assert 0 < len(order) <= 27
    with of_times():
        assert len(order) >= 15
    came = segments.drop_nulls("complete_ns")
    assert (came["complete_ns"] >= came["requested_ns"]).all()
    # What the page counted is what the link carried, but for headers.
    bins = results.bins().collect().filter(pl.col("flow") == "film")
    carried = bins["received_bytes"].sum()
    assert 0.9 * carried < segments["received_bytes"].sum() < carried
    assert 0 < seen["buffer_mean_s"] < 20.0
    with of_times():
        assert seen["buffer_mean_s"] > 1.0
    state = results.controller().collect()["variable"].unique()
    assert {"buffer_level_s", "throughput_estimate_mbps", "level"} <= set(state)

    simulated = twin.simulate(experiment, results.path)
    rows = {row.tolerance.metric: row for row in compare(simulated, results)}
    # Half a level on a quiet machine (tests/conformance/video-alone.toml): a busy one decodes late.
    apart = rows["quality_level"].difference
    with of_times():
        assert abs(apart) <= 0.8, apart
        assert seen["interruptions"] <= rows["interruptions"].simulated.mean + 1

    def slower(spec: dict[str, Any], recorded: dict[str, Any], target: Path) -> None:
        path = spec["path"] | {"capacity": "500 kb/s"}
        SIMULATOR.run_one(spec | {"path": path}, recorded, target)

    twins = gw.run(experiment, tmp_path / "slower", run_one=slower)
    other = {row.tolerance.metric: row for row in compare(twins, results)}
    assert abs(other["quality_level"].difference) > 0.8


@needs_live
@needs_ffmpeg
@needs_player
def test_a_run_that_was_not_ready_in_time_begins_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, given = live_run.Stage.set_up, list[int]()

    def late_at_first(stage: live_run.Stage, within_ns: int) -> None:
        given.append(within_ns)
        real(stage, within_ns)
        if len(given) == 1:
            # As a browser does whose player was ended by a signal, it goes on to write.
            folder = stage.parts / f"{plan.PLAYER}-film"
            left = f"while :; do mkdir -p {folder}/cache; done"
            stage.ends.execute("client", ["setsid", "sh", "-c", f"{{ {left}; }} >&- 2>&- &"])
            raise TooLate("the player was not ready in time")

    monkeypatch.setattr(live_run, "PATIENCE", live_run.Patience())
    monkeypatch.setattr(live_run.Stage, "set_up", late_at_first)
    short = gw.loads(FILM.replace('"30 s"', '"6 s"').replace('"28 s"', '"5 s"'))
    results = gw.run(short, tmp_path / "out", on="live")
    assert given == [given[0], 2 * given[0]]
    assert results.segments().collect()["displayed_ns"].count() > 0


@needs_live
@needs_ffmpeg
@needs_player
def test_a_server_without_the_video_fails_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = gw.loads(FILM.replace('"30 s"', '"6 s"').replace('"28 s"', '"5 s"'))
    monkeypatch.setattr(films, "MANIFEST", "nothing.mpd")
    monkeypatch.setattr(films, "kept", lambda wanted: wanted.folder)
    monkeypatch.setattr(films, "make", lambda wanted, _: wanted.folder)
    with pytest.raises(gw.GamewayError, match=r"showed nothing: .*nothing\.mpd is not"):
        gw.run(short, tmp_path / "out", on="live")


@needs_player
def test_no_connection_is_made_before_the_video_is_opened(tmp_path: Path) -> None:
    # Before the run begins a packet passes the link at once: the shortest round trip of such a
    # connection is not that of the path.
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 (an extra)

    with socket.create_server(("127.0.0.1", 0)) as server, sync_playwright() as playwright:
        server.settimeout(2.0)
        browser = player.open_browser(playwright, tmp_path)
        player.load(browser.pages[0], f"127.0.0.1:{server.getsockname()[1]}")
        with pytest.raises(TimeoutError):
            server.accept()
        # Its twin: a request of the page's.
        browser.pages[0].evaluate("void fetch('/manifest.mpd').catch(() => null)")
        server.accept()[0].close()
        browser.close()


@needs_player
def test_the_page_asks_for_its_files_and_nothing_else(tmp_path: Path) -> None:
    # What it asks for late is asked for when requests go their way: a picture of the address, say.
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 (an extra)

    asked: list[str] = []

    class Files(SimpleHTTPRequestHandler):
        def log_request(self, *_: object) -> None:
            asked.append(self.path)

    folder = str(Path(player.__file__).parent)
    with (
        ThreadingHTTPServer(("127.0.0.1", 0), partial(Files, directory=folder)) as server,
        sync_playwright() as playwright,
    ):
        Thread(target=server.serve_forever, daemon=True).start()
        browser = player.open_browser(playwright, tmp_path)
        browser.pages[0].goto(f"http://127.0.0.1:{server.server_port}/{player.PAGE}")
        browser.pages[0].wait_for_timeout(1000)
        assert sorted(asked) == sorted(f"/{name}" for name in player.FILES)
        # Its twin: a page that names no icon is asked for one.
        browser.pages[0].goto(f"http://127.0.0.1:{server.server_port}/player.js")
        browser.pages[0].wait_for_timeout(1000)
        assert "/favicon.ico" in asked
        browser.close()
        server.shutdown()


def test_what_is_missing_is_told_with_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(player, "DASH_JS", tmp_path / "dash.js")
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(GamewayError, match=r"chromium; install with: apt .*dash\.js; .*make setup"):
        player.check()
