"""Encodes a recording with x264 as a game stream would, and reads the size of every frame."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from gameway.video.frame_table import SCHEMA, Rung

if TYPE_CHECKING:
    from fractions import Fraction

NANOSECONDS_PER_SECOND = 1_000_000_000
FRAMES_WATCHED_AFTER_KEY_FRAME = 5

Packets = list[tuple[int, bool]]
"""Size in bytes and key flag of each frame."""


@dataclass(frozen=True)
class EncodePlan:
    """One recording, and how it is encoded."""

    recording: Path
    frame_rate: Fraction
    ladder_bits_per_s: tuple[int, ...]
    key_frame_interval_s: float
    frames: int


@dataclass(frozen=True)
class EncodedRung:
    """What x264 made of the recording at one asked bitrate."""

    rung: Rung
    encoder: str
    ratios_after_key_frame: tuple[float, ...]


def x264_arguments(bits_per_s: int, frame_rate: Fraction) -> list[str]:
    """Ask for a low-delay game stream: each frame must fit its own share of the rate."""
    arguments = ["-c:v", "libx264", "-preset", "ultrafast", "-tune", "zerolatency"]
    # One thread makes the sizes independent of the machine's number of cores.
    arguments += ["-threads", "1", "-pix_fmt", "yuv420p"]
    arguments += ["-b:v", str(bits_per_s), "-maxrate", str(bits_per_s)]
    arguments += ["-bufsize", str(int(bits_per_s / frame_rate))]
    return [*arguments, "-x264-params", "keyint=infinite:scenecut=0"]


def encode_pass(plan: EncodePlan, forcing: list[str], folder: Path) -> list[Path]:
    """Encode every rung in one go, so that the recording is decoded once."""
    # The rate is stated for the input: Matroska rounds times to milliseconds, and a frame that
    # comes a fraction early would be dropped or doubled.
    command = ["ffmpeg", "-y", "-loglevel", "error", "-r", str(plan.frame_rate)]
    command += ["-i", str(plan.recording)]
    streams = []
    for bits_per_s in plan.ladder_bits_per_s:
        # A raw stream carries parameter sets in the key frames, as a stream to a player does.
        streams.append(folder / f"{bits_per_s}.h264")
        command += ["-map", "0:v", *x264_arguments(bits_per_s, plan.frame_rate), *forcing]
        command += ["-frames:v", str(plan.frames), "-f", "h264", str(streams[-1])]
    subprocess.run(command, check=True)
    return streams


def read_packets(stream: Path) -> Packets:
    """Read sizes by ffprobe, which parses a raw stream where `gameway.video` also decodes it."""
    command = ["ffprobe", "-v", "error", "-select_streams", "v:0", "-of", "csv=p=0"]
    command += ["-show_entries", "packet=size,flags", str(stream)]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    fields = (line.split(",") for line in lines)
    return [(int(size), flags.startswith("K")) for size, flags, *_ in fields]


def encoder_of(stream: Path) -> str:
    """Return what x264 signs its streams with: its version and all its settings."""
    with stream.open("rb") as file:
        match = re.search(rb"x264 - core [\x20-\x7e]+", file.read(4096))
    if match is None:
        sys.exit(f"{stream}: no x264 signature in the first frame; is this ffmpeg's libx264?")
    return match.group().decode("ascii")


def frames_table(packets: Packets, frame_rate: Fraction) -> pl.DataFrame:
    """Build the table that `gameway.video.frame_sizes` would."""
    rows = [
        (frame, int(frame * NANOSECONDS_PER_SECOND / frame_rate), size_bytes, key_frame)
        for frame, (size_bytes, key_frame) in enumerate(packets)
    ]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def ratios_after_key_frame(plain: Packets, forced: Packets) -> tuple[float, ...]:
    """Compare the frames behind a forced key frame with the same frames without one."""
    last = len(forced) - FRAMES_WATCHED_AFTER_KEY_FRAME
    keys = [at for at, (_, key_frame) in enumerate(forced[:last]) if key_frame and at > 0]
    return tuple(
        sum(forced[at + behind][0] for at in keys) / sum(plain[at + behind][0] for at in keys)
        for behind in range(1, FRAMES_WATCHED_AFTER_KEY_FRAME + 1)
    )


def encoded_rung(plan: EncodePlan, bits_per_s: int, plain: Path, forced: Path) -> EncodedRung:
    """Read what the pass without and the pass with forced key frames made of one rung."""
    packets, forced_packets = read_packets(plain), read_packets(forced)
    if len(packets) != len(forced_packets):
        counts = f"{len(packets)} frames, then {len(forced_packets)}"
        sys.exit(f"{plan.recording}: {counts}: it changed meanwhile; encode it again")
    key_frame_bytes = tuple(size for size, key_frame in forced_packets[1:] if key_frame)
    return EncodedRung(
        rung=Rung(frames_table(packets, plan.frame_rate), bits_per_s, key_frame_bytes),
        encoder=encoder_of(plain),
        ratios_after_key_frame=ratios_after_key_frame(packets, forced_packets),
    )


def encode_ladder(plan: EncodePlan) -> list[EncodedRung]:
    """Encode every rung twice: as it streams, and with key frames at regular moments."""
    moments = f"expr:gte(t,n_forced*{plan.key_frame_interval_s})"
    passes: dict[str, list[str]] = {
        "plain": [],
        "forced": ["-force_key_frames", moments, "-forced-idr", "1"],
    }
    with tempfile.TemporaryDirectory() as temporary, ThreadPoolExecutor(len(passes)) as pool:
        started = []
        for name, forcing in passes.items():
            folder = Path(temporary) / name
            folder.mkdir()
            started.append(pool.submit(encode_pass, plan, forcing, folder))
        streams = [each.result() for each in started]
        rungs = zip(plan.ladder_bits_per_s, *streams, strict=True)
        return [encoded_rung(plan, *rung) for rung in rungs]
