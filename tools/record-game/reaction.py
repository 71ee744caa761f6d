"""Measures how x264 follows a changing target, with the program `reaction.c`."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import polars as pl

FRAMES_BEFORE_CHANGE = 5
FRAMES_AFTER_CHANGE = 10


@dataclass(frozen=True)
class ReactionPlan:
    """One recording, two targets, and how long each of them holds."""

    recording: Path
    width: int
    height: int
    frames_per_second: int
    high_kbit_per_s: int
    low_kbit_per_s: int
    period_frames: int
    frames: int


def build(folder: Path) -> Path:
    """Compile reaction.c against the system's libx264."""
    source = Path(__file__).with_name("reaction.c")
    program = folder / "reaction"
    flags = subprocess.run(
        ["pkg-config", "--cflags", "--libs", "x264"], check=True, capture_output=True, text=True
    ).stdout.split()
    command = ["cc", "-O2", "-std=c11", "-Wall", "-Wextra", str(source), "-o", str(program)]
    subprocess.run([*command, *flags], check=True)
    return program


def encode_alternating(plan: ReactionPlan, program: Path) -> pl.DataFrame:
    """Encode under alternating targets; one row for each frame: its target and its size."""
    decode = ["ffmpeg", "-loglevel", "error", "-i", str(plan.recording)]
    decode += [
        "-frames:v",
        str(plan.frames),
        "-fps_mode",
        "passthrough",
        "-pix_fmt",
        "yuv420p",
        "-f",
        "rawvideo",
        "-",
    ]
    numbers = (plan.width, plan.height, plan.frames_per_second)
    targets = (plan.high_kbit_per_s, plan.low_kbit_per_s, plan.period_frames)
    measure = [str(program), *map(str, numbers + targets)]
    with tempfile.TemporaryFile() as sizes:
        decoder = subprocess.Popen(decode, stdout=subprocess.PIPE)
        subprocess.run(measure, check=True, stdin=decoder.stdout, stdout=sizes)
        if decoder.wait() != 0:
            sys.exit(f"{plan.recording}: ffmpeg could not decode it; capture it again")
        sizes.seek(0)
        return pl.read_csv(sizes)


def around_changes(frames: pl.DataFrame, plan: ReactionPlan) -> pl.DataFrame:
    """Take the frames around each change, numbered from the first one under the new target."""
    target = pl.col("target_kbit_per_s")
    changes = frames.with_columns(old_kbit_per_s=target.shift(1)).filter(
        pl.col("old_kbit_per_s").is_not_null() & (target != pl.col("old_kbit_per_s"))
    )
    changes = changes.select(
        change="frame", old_kbit_per_s="old_kbit_per_s", new_kbit_per_s="target_kbit_per_s"
    )
    offsets = pl.DataFrame(
        {"frames_after_change": range(-FRAMES_BEFORE_CHANGE, FRAMES_AFTER_CHANGE + 1)}
    )
    windows = changes.join(offsets, how="cross").with_columns(
        frame=pl.col("change") + pl.col("frames_after_change")
    )
    bytes_per_kbit_frame = 1000 / 8 / plan.frames_per_second
    return windows.join(frames.select("frame", "size_bytes"), on="frame").with_columns(
        over_old=pl.col("size_bytes") / (pl.col("old_kbit_per_s") * bytes_per_kbit_frame),
        over_new=pl.col("size_bytes") / (pl.col("new_kbit_per_s") * bytes_per_kbit_frame),
    )


def averaged(windows: pl.DataFrame) -> pl.DataFrame:
    """Average over all changes of one direction: sizes relative to both frame budgets."""
    keys = ["old_kbit_per_s", "new_kbit_per_s", "frames_after_change"]
    return (
        windows.group_by(keys)
        .agg(
            changes=pl.len(),
            mean_over_old_budget=pl.col("over_old").mean().round(4),
            mean_over_new_budget=pl.col("over_new").mean().round(4),
            p05_over_new_budget=pl.col("over_new").quantile(0.05, "linear").round(4),
            p95_over_new_budget=pl.col("over_new").quantile(0.95, "linear").round(4),
            max_over_new_budget=pl.col("over_new").max().round(4),
        )
        .sort(keys)
    )


def measure(plans: list[ReactionPlan]) -> pl.DataFrame:
    """Measure the reaction for each pair of targets, to lower and to higher."""
    with tempfile.TemporaryDirectory() as folder:
        program = build(Path(folder))
        tables = [
            averaged(around_changes(encode_alternating(plan, program), plan)) for plan in plans
        ]
    return pl.concat(tables)
