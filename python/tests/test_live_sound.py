"""Sound of a live stream, on loopback: it is decoded in full, and comes with the picture.

Needs a build with Opus and with an encoder; the file's sound needs ffmpeg.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from live_fixture import one_stream
from ports_fixture import free_port
from witness import of_times

from gameway import _core

if TYPE_CHECKING:
    from pathlib import Path

TOKEN = "letters-and-digits-only"
SECONDS = 6.0
pytestmark = [
    pytest.mark.timed,
    pytest.mark.skipif(
        not (_core.encoders() and _core.has_opus()), reason="needs a build with opus: make setup"
    ),
]


def play(folder: Path, **more: Any) -> tuple[dict[str, Any], dict[str, Any], pl.DataFrame]:
    """Give the host's report, the client's, and the client's table of sound."""
    address = f"127.0.0.1:{free_port()}"
    spec = one_stream("fixed", start_bitrate="4 Mb/s")
    stream = {"name": "game", **spec["stream"][0]}
    common = {"epoch_ns": time.monotonic_ns(), "token": TOKEN}
    host = {"stream": stream, "listen": address, "size": "640x360", **more, **common}
    client = {"connect": f"http://{address}/whep", "folder": str(folder), **common}
    running = []
    for name, config in (("host", host), ("client", client)):
        file = folder / f"{name}.json"
        file.write_text(json.dumps(config), encoding="utf-8")
        words = [sys.executable, "-m", "gameway.live.part", name, str(file)]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        running.append(process)
        assert process.stdout is not None
        assert process.stdout.readline().strip() == "ready"
    time.sleep(SECONDS)
    reports = []
    for process in reversed(running):
        process.terminate()
        said, _ = process.communicate(timeout=15)
        assert process.returncode == 0
        reports.append(json.loads(said))
    return reports[1], reports[0], pl.read_parquet(folder / "sound.parquet")


@pytest.mark.long("test_live_sync.py::test_sound_and_picture_are_played_together")
def test_the_scenes_beeps_come_with_its_pictures(tmp_path: Path) -> None:
    _, client, table = play(tmp_path, audio=True)
    sound = client["sound"]
    assert 0 < sound["played"] <= 1.1 * 100 * SECONDS + 100
    assert sound["undecodable"] == 0, sound
    # A block of 10 ms is over before it leaves.
    assert sound["delay_p50_ns"] >= 10e6, sound
    assert 0 < sound["beeps"] <= SECONDS + 2
    with of_times():
        assert sound["played"] >= 0.9 * 100 * SECONDS
        assert sound["concealed"] + sound["left_out"] + sound["late"] == 0, sound
        # A busy machine may take as much again and more.
        assert sound["delay_p50_ns"] <= 40e6, sound
        assert sound["beeps"] >= SECONDS - 2
        # EBU R 37's tolerance of 40 ms before and 60 ms after the picture.
        assert -40e6 <= sound["offset_p50_ns"] <= 60e6, sound
    # A quarter of full scale, which a codec meets roughly.
    assert 7_000 <= sound["peak"] <= 10_000
    captured = table["captured_ns"].drop_nulls()
    assert captured.len() == sound["played"]
    assert set(captured.diff().drop_nulls().to_list()) <= {10_000_000 * n for n in range(1, 20)}
    assert (table["decoded_ns"] >= table["arrived_ns"]).all()
    assert table["offset_to_picture_ns"].count() == sound["beeps"]


def test_there_is_no_sound_that_was_not_asked_for(tmp_path: Path) -> None:
    _, client, table = play(tmp_path, audio=False)
    assert client["decoded_frames"] > 0
    with of_times():
        assert client["decoded_frames"] > 100
    assert client["sound"]["received"] == 0
    assert table.height == 0


@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="needs ffmpeg")
@pytest.mark.parametrize(
    "volume",
    [
        0.5,
        pytest.param(
            0.0,
            marks=pytest.mark.long("test_live_sound.py::test_a_files_own_sound_is_streamed"),
        ),
    ],
)
def test_a_files_own_sound_is_streamed(tmp_path: Path, volume: float) -> None:
    file = tmp_path / "tone.mkv"
    words = ["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=640x360:r=60:d=2"]
    tone = f"{volume}*sin(700*2*PI*t)"
    words += ["-f", "lavfi", "-i", f"aevalsrc={tone}|{tone}:s=44100:d=2"]
    words += ["-c:v", "mpeg4", "-q:v", "5", "-c:a", "pcm_s16le", str(file)]
    subprocess.run(words, check=True, timeout=60)
    _, client, _ = play(tmp_path, audio=True, source=str(file))
    sound = client["sound"]
    assert sound["played"] > 0
    with of_times():
        assert sound["played"] > 300
    # Half of full scale, a fifth more or less by the codec.
    if volume:
        assert 0.4 * 32_768 <= sound["peak"] <= 0.6 * 32_768, sound
    else:
        assert sound["peak"] <= 100, sound
