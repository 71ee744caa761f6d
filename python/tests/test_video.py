"""Frame sizes read from files are those that FFmpeg's own tool prints, and damage is refused."""

from __future__ import annotations

import itertools
import random
import shutil
import subprocess
import sys
from fractions import Fraction
from typing import TYPE_CHECKING

import polars as pl
import pytest
from typer.testing import CliRunner

import gameway as gw
from gameway.cli.app import app
from gameway.errors import GamewayError, InputError
from gameway.video import frame_sizes, frame_table_from_videos, parse_frame_rate
from gameway.video.frame_table import SCHEMA, Rung, read_gwfr, summarise, write_gwfr
from gameway.video.places import places_of

if TYPE_CHECKING:
    from pathlib import Path

FRAMES = 40
FRAME_RATE = Fraction(30)
WIDTH, HEIGHT = 160, 96

ENCODERS = {
    "h264": ["libx264", "-g", "16", "-bf", "2"],
    "h265": ["libx265", "-x265-params", "log-level=none:keyint=16"],
    "av1": ["libaom-av1", "-cpu-used", "8", "-usage", "realtime", "-g", "16"],
    "vp8": ["libvpx", "-b:v", "300k", "-g", "16", "-deadline", "realtime"],
    "vp9": ["libvpx-vp9", "-b:v", "300k", "-g", "16", "-deadline", "realtime", "-cpu-used", "8"],
    "mpeg2": ["mpeg2video", "-b:v", "1M", "-g", "16", "-bf", "2"],
}
CODEC_FILES = [
    ("h264", "mp4"), ("h264", "mkv"), ("h264", "h264"),
    ("h265", "mp4"), ("h265", "mkv"), ("h265", "h265"),
    ("av1", "mp4"), ("av1", "mkv"), ("av1", "ivf"), ("av1", "obu"),
    ("vp8", "webm"), ("vp8", "ivf"), ("vp9", "webm"), ("vp9", "mp4"),
    ("mpeg2", "mkv"), ("mpeg2", "mp4"), ("mpeg2", "m2v"),
]  # fmt: skip


def ffmpeg(*arguments: str | Path) -> None:
    command = ["ffmpeg", "-v", "error", "-y", *map(str, arguments)]
    subprocess.run(command, check=True, capture_output=True)


@pytest.fixture(scope="session")
def clips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One short clip for each codec that this machine can encode, in Matroska."""
    pytest.importorskip("av")
    if shutil.which("ffmpeg") is None or shutil.which("ffprobe") is None:
        pytest.skip("needs ffmpeg and ffprobe to make clips and to check sizes")
    folder = tmp_path_factory.mktemp("clips")
    listing = subprocess.run(["ffmpeg", "-encoders"], check=True, capture_output=True, text=True)
    source = f"testsrc2=size={WIDTH}x{HEIGHT}:rate={FRAME_RATE}"
    for codec, (encoder, *options) in ENCODERS.items():
        if encoder in listing.stdout:
            picture = ["-f", "lavfi", "-i", source, "-frames:v", str(FRAMES)]
            ffmpeg(*picture, "-c:v", encoder, *options, folder / f"{codec}.mkv")
    return folder


def clip(clips: Path, codec: str, suffix: str) -> Path:
    source = clips / f"{codec}.mkv"
    if not source.exists():
        pytest.skip(f"this ffmpeg has no encoder {ENCODERS[codec][0]}")
    wanted = clips / f"{codec}.{suffix}"
    if not wanted.exists():
        ffmpeg("-i", source, "-c", "copy", wanted)
    return wanted


def probed(path: Path) -> list[tuple[int, bool]]:
    """Size and key flag of each packet according to ffprobe: a source independent of our reader."""
    command = ["ffprobe", "-v", "error", "-select_streams", "v:0", "-of", "csv=p=0"]
    command += ["-show_entries", "packet=size,flags", str(path)]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    fields = [line.split(",") for line in lines]
    return [(int(size), flags.startswith("K")) for size, flags, *_ in fields]


def plain_frames(sizes: list[int], *, key_frames: tuple[int, ...] = (0,)) -> pl.DataFrame:
    rows = [(n, n * 50_000_000 // 3, size, n in key_frames) for n, size in enumerate(sizes)]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


@pytest.mark.parametrize(("codec", "suffix"), CODEC_FILES)
def test_sizes_and_key_frames_are_those_of_ffprobe(clips: Path, codec: str, suffix: str) -> None:
    path = clip(clips, codec, suffix)
    frames = frame_sizes(path, frame_rate=FRAME_RATE)
    assert frames.schema == SCHEMA
    expected_bytes, expected_keys = zip(*probed(path), strict=True)
    assert tuple(frames["key_frame"]) == expected_keys
    # Where a raw stream is cut into frames differs by a leading zero byte between FFmpeg versions.
    tolerance_bytes = 1 if suffix in ("h264", "h265", "m2v") else 0
    for read_bytes, probed_bytes in zip(frames["size_bytes"], expected_bytes, strict=True):
        assert abs(read_bytes - probed_bytes) <= tolerance_bytes
    assert abs(frames["size_bytes"].sum() - sum(expected_bytes)) <= tolerance_bytes
    assert frames["frame"].to_list() == list(range(FRAMES))
    assert 2 <= frames["key_frame"].sum() <= 4


@pytest.mark.parametrize(("codec", "suffix"), CODEC_FILES)
def test_presentation_times_cover_every_frame_once(clips: Path, codec: str, suffix: str) -> None:
    frames = frame_sizes(clip(clips, codec, suffix), frame_rate=FRAME_RATE)
    times_ns = frames["pts_ns"].sort()
    # Matroska's time stamps are whole milliseconds.
    expected_ns = [int(number * 1_000_000_000 / FRAME_RATE) for number in range(FRAMES)]
    start_ns = times_ns[0]
    for time_ns, wanted_ns in zip(times_ns, expected_ns, strict=True):
        assert abs(time_ns - start_ns - wanted_ns) <= 1_000_000


@pytest.mark.parametrize(("codec", "suffix"), CODEC_FILES)
@pytest.mark.parametrize("kept", [0.1, 0.6, 0.97])
def test_a_cut_off_file_is_refused(
    clips: Path, tmp_path: Path, codec: str, suffix: str, kept: float
) -> None:
    content = clip(clips, codec, suffix).read_bytes()
    path = tmp_path / f"cut.{suffix}"
    path.write_bytes(content[: int(len(content) * kept)])
    with pytest.raises(InputError) as caught:
        frame_sizes(path, frame_rate=FRAME_RATE)
    assert caught.value.file == str(path)
    assert caught.value.hint


def test_a_raw_stream_without_a_rate_asks_for_one(clips: Path) -> None:
    path = clip(clips, "av1", "obu")
    with pytest.raises(InputError, match="frame_rate") as caught:
        frame_sizes(path)
    assert caught.value.field == "frame_rate"


@pytest.mark.parametrize("content", [b"", b"hello, this is no video\n" * 100, bytes(5000)])
@pytest.mark.parametrize("suffix", ["mp4", "h264", "ivf", "txt"])
def test_what_is_no_video_is_refused(tmp_path: Path, content: bytes, suffix: str) -> None:
    pytest.importorskip("av")
    path = tmp_path / f"garbage.{suffix}"
    path.write_bytes(content)
    with pytest.raises(InputError, match="garbage"):
        frame_sizes(path, frame_rate=FRAME_RATE)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    pytest.importorskip("av")
    with pytest.raises(InputError, match=r"absent\.mp4.*No such file"):
        frame_sizes(tmp_path / "absent.mp4")


@pytest.mark.usefixtures("clips")
def test_sound_alone_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "sound.wav"
    ffmpeg("-f", "lavfi", "-i", "sine=duration=1", path)
    with pytest.raises(InputError, match="no video stream") as caught:
        frame_sizes(path)
    assert caught.value.field == "streams"


def test_two_rungs_of_one_rate_are_refused(tmp_path: Path) -> None:
    rungs = [Rung(plain_frames([size] * 3), 5_000_000) for size in (1000, 2000)]
    with pytest.raises(InputError, match="same rate"):
        write_gwfr(rungs, tmp_path / "own.gwfr", width=640, height=360)


def test_another_codec_is_refused_by_name(clips: Path, tmp_path: Path) -> None:
    path = tmp_path / "old.mp4"
    ffmpeg("-i", clip(clips, "h264", "mkv"), "-c:v", "mpeg4", path)
    with pytest.raises(InputError) as caught:
        frame_sizes(path)
    assert (caught.value.field, caught.value.value) == ("codec", "mpeg4")


def test_sound_that_ends_first_or_last_does_not_look_like_damage(
    clips: Path, tmp_path: Path
) -> None:
    video = clip(clips, "h264", "mkv")
    for seconds in ("0.5", "3"):
        path = tmp_path / f"sound-{seconds}.mkv"
        sound = ["-f", "lavfi", "-i", f"sine=duration={seconds}"]
        ffmpeg("-i", video, *sound, "-c:v", "copy", "-c:a", "flac", path)
        assert frame_sizes(path).height == FRAMES


def test_without_pyav_the_message_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(GamewayError, match=r'pip install "gameway\[video\]"'):
        frame_sizes(tmp_path / "any.mp4")


def test_summary_of_known_sizes() -> None:
    summary = summarise(plain_frames([4000, 1000, 1000, 2000, 1000, 1000])).row(0, named=True)
    assert summary["frames"] == 6
    assert summary["duration_s"] == pytest.approx(0.1)
    assert summary["produced_bits_per_s"] == pytest.approx(10_000 * 8 / 0.1)
    assert summary["mean_bytes"] == pytest.approx(10_000 / 6)
    assert summary["p50_bytes"] == 1000
    assert summary["max_bytes"] == 4000
    assert (summary["key_frames"], summary["key_frame_mean_bytes"]) == (1, 4000)


def test_a_summary_of_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="at least one frame"):
        summarise(plain_frames([]))


def test_a_frame_table_comes_back_as_written(tmp_path: Path) -> None:
    path = tmp_path / "own.gwfr"
    high = Rung(plain_frames([9000, 3000, 3001]), 2_000_000, (8000, 8100))
    low = Rung(plain_frames([4000, 1000, 1001], key_frames=(0, 2)))
    write_gwfr([high, low], path, width=1280, height=720, meta={"game": "own"})
    table = read_gwfr(path)
    assert (table.width, table.height, table.frame_rate) == (1280, 720, Fraction(60))
    assert dict(table.meta) == {"game": "own"}
    assert [rung.asked_bits_per_s for rung in table.rungs] == [960_160, 2_000_000]
    assert table.rungs[1].forced_key_frame_bytes == (8000, 8100)
    for rung, written in zip(table.rungs, (low, high), strict=True):
        columns = ["frame", "size_bytes", "key_frame"]
        assert rung.frames.select(columns).equals(written.frames.select(columns))
    assert path.stat().st_size == 24 + 2 * (16 + 3 * 4 + 4) + 2 * 4 + 4 + len('{"game": "own"}')
    assert list(tmp_path.iterdir()) == [path]


def test_a_users_videos_become_rungs(clips: Path, tmp_path: Path) -> None:
    path = tmp_path / "own.gwfr"
    source = clip(clips, "h264", "mkv")
    small = tmp_path / "small.mp4"
    ffmpeg("-i", source, "-c:v", "libx264", "-crf", "40", small)
    frame_table_from_videos([source, small], path)
    table = read_gwfr(path)
    assert (table.width, table.height, table.frame_rate) == (WIDTH, HEIGHT, FRAME_RATE)
    assert table.meta["sources"] == ["h264.mkv", "small.mp4"]
    sums = [int(rung.frames["size_bytes"].sum()) for rung in table.rungs]
    assert sums == [sum(size for size, _ in probed(file)) for file in (small, source)]


def test_rungs_must_agree_in_length(tmp_path: Path) -> None:
    rungs = [plain_frames([1000, 1000]), plain_frames([1000, 1000, 1000])]
    with pytest.raises(InputError, match="same frames") as caught:
        write_gwfr(rungs, tmp_path / "own.gwfr", width=640, height=360)
    assert caught.value.field == "rungs[1]"
    assert not list(tmp_path.iterdir())


def test_unevenly_spaced_frames_keep_their_times(tmp_path: Path) -> None:
    frames = plain_frames([1000 + number for number in range(20)]).filter(pl.col("frame") != 7)
    for rate in (None, Fraction(60)):
        places = write_gwfr(frames, tmp_path / "own.gwfr", width=640, height=360, frame_rate=rate)
        assert (places.rate, places.count, places.empty) == (Fraction(60), 20, 1)
        table = read_gwfr(tmp_path / "own.gwfr")
        assert table.frame_rate == 60
        assert table.rungs[0].frames["pts_ns"].equals(frames["pts_ns"])
        assert table.rungs[0].frames["size_bytes"].equals(frames["size_bytes"])
        assert table.rungs[0].asked_bits_per_s == round(frames["size_bytes"].sum() * 8 * 3)


def test_a_rate_at_which_frames_do_not_fit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--frame-rate 48") as caught:
        write_gwfr(
            plain_frames([1000] * 20), tmp_path / "own.gwfr", width=640, height=360,
            frame_rate=Fraction(30),
        )  # fmt: skip
    assert (caught.value.field, caught.value.value) == ("frame_rate", "30")


def grabbed(kept: list[int], jitter_ms: float, whole_ms: bool) -> pl.DataFrame:
    """A capture at 60 frames/s of which these pictures were kept."""
    draw = random.Random(1)
    times = [number * 1000 / 60 + draw.uniform(-jitter_ms, jitter_ms) + 9 for number in kept]
    rounded = [round(time) if whole_ms else time for time in times]
    rows = [(n, int(time * 1e6), 1000, n == 0) for n, time in enumerate(rounded)]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


@pytest.mark.parametrize("jitter_ms", [0.0, 3.0])
@pytest.mark.parametrize("whole_ms", [False, True])
@pytest.mark.parametrize("dropped", [0.02, 0.3])
def test_a_capture_that_drops_frames_has_the_places_of_its_clock(
    dropped: float, whole_ms: bool, jitter_ms: float
) -> None:
    draw = random.Random(2)
    kept = [0, *(number for number in range(1, 1800) if draw.random() > dropped)]
    places = places_of(grabbed(kept, jitter_ms, whole_ms))
    assert places.rate == 60
    off = [place - number for place, number in zip(places.of_frames, kept, strict=True)]
    assert max(off) - min(off) <= (1 if jitter_ms else 0)
    assert abs(places.empty - (kept[-1] + 1 - len(kept))) <= 1


def test_a_capture_without_a_clock_keeps_its_times_as_well_as_a_grid_can() -> None:
    draw = random.Random(3)
    times_ms = list(itertools.accumulate(draw.uniform(15, 120) for _ in range(500)))
    rows = [(n, int(time * 1e6), 1000, n == 0) for n, time in enumerate(times_ms)]
    places = places_of(pl.DataFrame(rows, schema=SCHEMA, orient="row"))
    assert 30 <= places.rate <= 70
    for place, time in zip(places.of_frames, times_ms, strict=True):
        assert abs(place / places.rate - (time - times_ms[0]) / 1000) < 1.5 / places.rate


KEPT = [number for number in range(90) if number % 10 not in (3, 4, 8)]
DROPPING = ["-vf", "select=not(eq(mod(n\\,10)\\,3)+eq(mod(n\\,10)\\,4)+eq(mod(n\\,10)\\,8))"]


@pytest.mark.parametrize(("suffix", "codec"), [("mp4", "h264"), ("mkv", "h264"), ("webm", "vp8")])
def test_a_video_of_variable_frame_rate_becomes_a_table_that_lacks_the_same_frames(
    clips: Path, tmp_path: Path, suffix: str, codec: str
) -> None:
    clip(clips, codec, "mkv")
    video, table = tmp_path / f"dropped.{suffix}", tmp_path / "own.gwfr"
    source = f"testsrc2=size={WIDTH}x{HEIGHT}:rate=60"
    ffmpeg("-f", "lavfi", "-i", source, *DROPPING, "-frames:v", str(len(KEPT)), "-fps_mode", "vfr",
           "-c:v", *ENCODERS[codec], video)  # fmt: skip
    printed = CliRunner().invoke(app, ["frames", str(video), "--table", str(table)])
    assert printed.exit_code == 0, printed.output
    assert f"{len(KEPT)} frames at 60 frames/s, 27 of 90 places without one" in printed.stderr
    assert "they keep their times" in printed.stderr
    (rung,) = read_gwfr(table).rungs
    assert [round(time * 60e-9) for time in rung.frames["pts_ns"]] == KEPT
    assert rung.frames["size_bytes"].to_list() == [size for size, _ in probed(video)]
    summary = summarise(frame_sizes(video)).row(0, named=True)
    assert summary["duration_s"] == pytest.approx(1.5)
    assert (summary["frame_rate"], summary["empty_places"]) == (60.0, 27)


def test_a_stream_sends_nothing_where_its_recording_lacks_frames(tmp_path: Path) -> None:
    frames = plain_frames([3000] * 90).filter(pl.col("frame").is_in(KEPT))
    write_gwfr(frames, tmp_path / "own.gwfr", width=640, height=360)
    stream = {"controller": "fixed", "video": {"file": str(tmp_path / "own.gwfr")}}
    stream |= {"start_bitrate": "5 Mb/s"}
    path = {"capacity": "20 Mb/s", "base_rtt": "16 ms"}
    results = gw.run(gw.Experiment(duration="6 s", path=path, stream=[stream]), tmp_path / "out")
    sent = results.frames().collect()
    steps = (sent["captured_ns"].diff().drop_nulls() * 60e-9).round().cast(pl.Int64)
    assert sent.height == pytest.approx(6 * 60 * 63 / 90, abs=2)
    # After two missing places a step of three, after one of two, and else of one.
    assert dict(steps.value_counts().rows()) == {
        1: pytest.approx(180, abs=2), 2: pytest.approx(36, abs=1), 3: pytest.approx(36, abs=1),
    }  # fmt: skip
    share = 5e6 / 8 / 60
    assert sent["wire_bytes"][60:].mean() == pytest.approx(share, rel=0.02)


@pytest.mark.parametrize("loss", ["0.1 %", "1 %"])
def test_large_key_frames_do_not_lift_a_stream_above_its_target(tmp_path: Path, loss: str) -> None:
    sizes = [20_000 if number % 60 == 0 else 900 + number * 37 % 200 for number in range(600)]
    frames = plain_frames(sizes, key_frames=tuple(range(0, 600, 60)))
    write_gwfr(frames, tmp_path / "own.gwfr", width=640, height=360)
    stream = {"controller": "fixed", "video": {"file": str(tmp_path / "own.gwfr")}}
    stream |= {"start_bitrate": "20 Mb/s", "max_bitrate": "20 Mb/s"}
    path = {"capacity": "200 Mb/s", "base_rtt": "20 ms", "loss": {"probability": loss}}
    results = gw.run(gw.Experiment(duration="20 s", path=path, stream=[stream]), tmp_path / "out")
    sent = results.frames().collect()
    assert sent["key_frame"].sum() > (5 if loss == "0.1 %" else 100)
    mean_bps = sent["wire_bytes"].sum() * 8 / 20
    assert 19.6e6 < mean_bps < 20.4e6
    share = 20e6 / 8 / 60
    assert 1.2 * share < max(sent["wire_bytes"].to_list()) < 1.36 * share
    keys = sent.filter("key_frame")["wire_bytes"].to_list()
    assert sum(keys) / len(keys) > 1.05 * share


@pytest.mark.usefixtures("clips")
@pytest.mark.parametrize("suffix", ["ts", "mpg", "vob"])
def test_mpeg_2_comes_from_program_and_transport_streams(
    clips: Path, tmp_path: Path, suffix: str
) -> None:
    expected = [size for size, _ in probed(clip(clips, "mpeg2", "mkv"))]
    path = tmp_path / f"own.{suffix}"
    ffmpeg("-i", clip(clips, "mpeg2", "mkv"), "-c", "copy", path)
    frames = frame_sizes(path)
    assert frames["size_bytes"].to_list() == pytest.approx(expected, abs=12)
    assert frames.height == FRAMES
    assert summarise(frames)["frame_rate"].item() == 30.0


def test_a_hidden_frame_of_vp8_is_part_of_the_next(clips: Path, tmp_path: Path) -> None:
    clip(clips, "vp8", "mkv")
    source = f"testsrc2=size={WIDTH}x{HEIGHT}:rate={FRAME_RATE}"
    common = ["-f", "lavfi", "-i", source, "-frames:v", "90", "-c:v", "libvpx", "-b:v", "300k"]
    common += ["-auto-alt-ref", "1", "-lag-in-frames", "25", "-g", "90"]
    common += ["-passlogfile", str(tmp_path / "log")]
    path = tmp_path / "hidden.webm"
    ffmpeg(*common, "-pass", "1", "-f", "null", "-")
    ffmpeg(*common, "-pass", "2", path)
    packets = probed(path)
    frames = frame_sizes(path)
    assert len(packets) > frames.height == 90
    assert frames["size_bytes"].sum() == sum(size for size, _ in packets)


def test_the_command_takes_the_rate_of_a_raw_stream(clips: Path, tmp_path: Path) -> None:
    path, table = clip(clips, "av1", "obu"), tmp_path / "own.gwfr"
    refused = CliRunner().invoke(app, ["frames", str(path)])
    assert "--frame-rate 60" in str(refused.exception)
    for written, rate in (("30", 30), ("60000/1001", Fraction(60000, 1001))):
        command = ["frames", str(path), "--table", str(table), "--frame-rate", written]
        assert CliRunner().invoke(app, command).exit_code == 0
        assert read_gwfr(table).frame_rate == rate
    for wrong in ("0", "fast", "1/0", "1e9"):
        with pytest.raises(InputError, match="--frame-rate"):
            parse_frame_rate(wrong)


@pytest.mark.parametrize(("width", "size_bytes"), [(0, 1000), (70_000, 1000), (640, 0)])
def test_values_that_do_not_fit_are_refused(tmp_path: Path, width: int, size_bytes: int) -> None:
    with pytest.raises(InputError):
        write_gwfr(plain_frames([1000, size_bytes]), tmp_path / "own.gwfr", width=width, height=360)


def test_a_frame_table_cut_anywhere_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "own.gwfr"
    write_gwfr(plain_frames([9000, 3000, 3001]), path, width=1280, height=720)
    content = path.read_bytes()
    for kept in range(len(content)):
        path.write_bytes(content[:kept])
        with pytest.raises(InputError):
            read_gwfr(path)
    for damaged in (b"JUNK" + content[4:], content[:4] + b"\x09\x00" + content[6:], content + b"!"):
        path.write_bytes(damaged)
        with pytest.raises(InputError):
            read_gwfr(path)
