"""What live runs stream: the option, what it refuses, a program on a screen of its own."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import polars as pl
import pytest
from live_fixture import MIN_LIVE_FPS, needs_live
from witness import of_times

import gameway as gw
from gameway import _core
from gameway.beside import twin
from gameway.live import LIVE, live_driver, namespaces, screens
from gameway.live.screens import processor_ns
from gameway.live.sources import BUILT_IN, Kind, Source

FILE = """
title = "A game"
duration = "{seconds} s"
[path]
capacity = "20 Mb/s"
base_rtt = "20 ms"
[[stream]]
name = "game"
controller = "fixed"
start_bitrate = "8 Mb/s"
"""
MOVING = "ffplay -v error -noborder -f lavfi -i testsrc2=size=1280x720:rate=60"
STILL = "ffplay -v error -noborder -f lavfi -i smptebars=size=1280x720:rate=60"
needs_screens = pytest.mark.skipif(
    not (shutil.which("Xvfb") and shutil.which("ffplay")), reason="Xvfb or ffplay is missing"
)


def measured(command: str, out: Path, seconds: int = 3) -> gw.Results:
    experiment = gw.loads(FILE.format(seconds=seconds))
    return gw.run(experiment, out, on="live", live=gw.LiveOptions(f"x11:{command}"))


def test_sources_are_read_as_they_are_written() -> None:
    assert Source.parse("scene") == Source() == BUILT_IN.source
    game = Source.parse("x11:crispy-doom -iwad 'my wads/a.wad'")
    assert game.command == ("crispy-doom", "-iwad", "my wads/a.wad")
    assert game.fact() == "x11:crispy-doom -iwad 'my wads/a.wad'"
    assert game.setting(":7") == "x11::7"
    video = Source.parse("file:clip.mkv")
    assert video.kind is Kind.file
    assert video.setting(None) == str(Path("clip.mkv").absolute())


@needs_live
@needs_screens
def test_screens_of_two_namespaces_are_both_there() -> None:
    """Their sockets are files, which all namespaces of a network share."""
    with ExitStack() as stack:
        names = []
        for _ in range(2):
            server = stack.enter_context(
                subprocess.Popen(
                    ["unshare", "--net", *screens.server_command((64, 64))],
                    stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                )
            )  # fmt: skip
            stack.callback(server.terminate)
            assert server.stdout is not None
            names.append(f":{int(server.stdout.readline())}")
        assert len(set(names)) == 2
        assert [_core.screen_shows(name) for name in names] == [False, False]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("x11", "scene, x11:COMMAND"),
        ("x11: ", "scene, x11:COMMAND"),
        ("film.mkv", "scene, x11:COMMAND"),
        ("file:", "scene, x11:COMMAND"),
        ("x11:game 'open", "No closing quotation"),
    ],
)
def test_what_is_no_source_is_refused(text: str, told: str) -> None:
    with pytest.raises(gw.InputError, match=told):
        live_driver(gw.LiveOptions(text))


def test_what_the_machine_has_not_is_said_with_its_package(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with pytest.raises(gw.InputError, match="is no file"):
        Source.parse(f"file:{tmp_path}/none.mkv").check()
    with pytest.raises(gw.GamewayError, match=r"no-such-game.* is no program on this machine"):
        Source.parse("x11:no-such-game -nosound").check()
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    with pytest.raises(gw.GamewayError, match="apt install xvfb"):
        Source.parse("x11:crispy-doom").check()
    monkeypatch.setattr(shutil, "which", lambda name, **_: name if name == "Xvfb" else None)
    with pytest.raises(gw.InputError, match="apt install crispy-doom freedoom"):
        Source.parse("x11:crispy-doom").check()


def test_results_know_what_was_streamed(tmp_path: Path) -> None:
    video = tmp_path / "clip.mkv"
    video.write_bytes(b"one")
    source = Source.parse(f"file:{video}")
    one = source.fact()
    assert one.startswith("file:clip.mkv sha256:")
    video.write_bytes(b"two")
    assert source.fact() != one
    assert LIVE.facts()["live"]["source"] == "scene"


def test_a_simulation_has_no_source(tmp_path: Path) -> None:
    with pytest.raises(gw.InputError, match="of live runs"):
        gw.run(gw.loads(FILE.format(seconds=1)), tmp_path / "out", live=gw.LiveOptions("x11:game"))


@pytest.mark.timed
@pytest.mark.alone
@pytest.mark.long("test_live_sources.py::test_a_program_is_not_root_if_sudo_was_called_by_somebody")
@needs_live
@needs_screens
def test_a_moving_program_is_streamed_with_its_stamps_and_leaves_nothing(tmp_path: Path) -> None:
    results = measured(MOVING, tmp_path / "moving")
    (run,) = results.finished_ids()
    place = results.path / "runs" / run
    pictures = pl.read_parquet(place / "pictures.parquet")
    decoded = pictures.filter(pl.col("decoded_ns").is_not_null())
    # At both ends some are under way or came before anybody looked.
    assert 0 < decoded.height <= 180
    stamped = decoded.filter(pl.col("picture_frame") == pl.col("frame"))
    assert stamped.height == decoded.height
    latency_ms = (decoded["decoded_ns"] - decoded["picture_captured_ns"]) / 1e6
    assert float(str(latency_ms.median())) > 10.0
    with of_times():
        assert decoded.height > 2 * MIN_LIVE_FPS
        assert float(str(latency_ms.median())) < 150.0
    spent = dict(pl.read_parquet(place / "cpu.parquet").select("thread", "cpu_ns").iter_rows())
    assert 0.05e9 < spent["program"] < 6e9
    assert 0 < spent["Xvfb"] < 3e9
    assert results.manifest["live"]["source"] == f"x11:{MOVING}"
    kept = {path.name for path in (place / "raw").iterdir()}
    assert {"screen-game.err", "game-game.err"} <= kept
    assert not [path for path in namespaces.RUN.iterdir() if f"gw-{os.getpid()}-" in path.name]
    still = measured(STILL, tmp_path / "still").frames().collect()
    moving = results.frames().collect()
    # The twin that must differ: nothing moves but the stamp, and an encoder has little to say.
    assert (
        0 < still["payload_bytes"].tail(60).mean() < 0.3 * moving["payload_bytes"].tail(60).mean()
    )  # type: ignore[operator]
    with pytest.raises(gw.InputError, match="another source"):
        measured(STILL, tmp_path / "moving")


@needs_live
@needs_screens
def test_a_program_is_not_root_if_sudo_was_called_by_somebody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SUDO_UID", "65534")
    monkeypatch.setenv("SUDO_GID", "65534")
    script = 'id -u >&2; touch "$HOME/mine" && echo "$HOME" >&2; exec ' + MOVING
    results = measured(f"sh -c {shlex.quote(script)}", tmp_path / "out", seconds=1)
    (run,) = results.finished_ids()
    place = results.path / "runs" / run
    user, home, *_ = (place / "raw" / "game-game.err").read_text("utf-8").split()
    assert user == "65534"
    assert not Path(home).exists()
    pictures = pl.read_parquet(place / "pictures.parquet")
    assert pictures["decoded_ns"].drop_nulls().len() > 5


@needs_live
@needs_screens
def test_a_program_that_ends_or_shows_nothing_fails_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(gw.GamewayError, match=r"game-game died \(exit code 3\): no data"):
        measured("sh -c 'echo no data >&2; exit 3'", tmp_path / "ends")
    monkeypatch.setattr(screens, "SHOWN_WITHIN_S", 0.5)
    with pytest.raises(gw.GamewayError, match="game-game showed nothing within"):
        measured("sleep 60", tmp_path / "sleeps")


@pytest.mark.timed
@pytest.mark.light
@needs_live
@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="ffmpeg is missing")
def test_a_video_is_streamed(tmp_path: Path) -> None:
    video = tmp_path / "clip.mkv"
    subprocess.run(
        ["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=640x360:rate=30:duration=1",
         "-c:v", "mjpeg", str(video)],
        check=True,
    )  # fmt: skip
    experiment = gw.loads(FILE.format(seconds=2))
    results = gw.run(experiment, tmp_path / "out", on="live", live=gw.LiveOptions(f"file:{video}"))
    frames = results.frames().collect()
    shown = frames["shown_ns"].drop_nulls().len()
    assert 0 < shown <= 120
    with of_times():
        assert shown > MIN_LIVE_FPS
    simulated = twin.simulate(experiment, tmp_path / "out")
    # Of a video the twin streams what the file says, a recorded game; of the scene, even frames.
    assert simulated.manifest["overrides"] == ["runs=4"]


def test_processor_time_is_that_of_a_whole_group() -> None:
    # The kernel tells it in ticks of 10 ms, rounded down for each process.
    busy = "import time\nwhile time.process_time() < 0.4: pass"
    script = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {busy!r}]); input()"
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        stdin=subprocess.PIPE,
        process_group=0,
    )
    try:
        for _ in range(200):
            if (spent := processor_ns(process.pid)) > 0.3e9:
                break
            subprocess.run(["sleep", "0.05"], check=True)
        assert 0.3e9 <= spent < 3e9
    finally:
        process.communicate(b"\n")
