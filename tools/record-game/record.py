"""Records a game, encodes the recording at a ladder of bitrates, and keeps the frame sizes.

Four steps, each of which reads what the one before it left:

    record.py capture  --recording FOLDER/doom.mkv
    record.py encode   --recording FOLDER/doom.mkv --table crates/core/media/data/doom.gwfr
    record.py react    --recording FOLDER/doom.mkv --csv crates/core/media/data/reaction.csv
    record.py describe --table ... --csv ...        # prints the tables of the data README
"""

from __future__ import annotations

import argparse
import json
import sys
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from statistics import fmean
from typing import Any

import polars as pl
from encode import EncodedRung, EncodePlan, encode_ladder
from reaction import ReactionPlan, measure

from gameway.errors import GamewayError
from gameway.live.video.recorder import CapturePlan, Segment, capture, count_duplicates
from gameway.video.frame_table import FrameTable, Rung, read_gwfr, summarise, write_gwfr

LADDER_MBIT_PER_S = (2, 4, 7, 12, 18, 26, 37, 50)
# A halving in the middle of the ladder, one higher up, and a deep fall.
REACTION_PAIRS_MBIT_PER_S = ((12, 6), (26, 13), (37, 7))


def facts_beside(recording: Path) -> Path:
    """Name the file on what was captured and how, kept beside the recording for the later steps."""
    return recording.with_suffix(".json")


def read_facts(recording: Path) -> dict[str, Any]:
    """Read what `capture` noted on a recording."""
    path = facts_beside(recording)
    if not path.exists():
        sys.exit(f"{path}: absent; make the recording with `record.py capture`")
    facts: dict[str, Any] = json.loads(path.read_text())
    return facts


def segment_facts(segment: Segment) -> dict[str, Any]:
    """Note what a captured demo contributed."""
    return {
        "demo": segment.demo,
        "frames": segment.frames,
        "missed_grabs": segment.missed_grabs,
    }


def run_capture(arguments: argparse.Namespace) -> None:
    """Play, grab and note how."""
    plan = CapturePlan(
        game_data=arguments.game_data,
        demos=tuple(arguments.demos),
        width=arguments.width,
        height=arguments.height,
        frames_per_second=arguments.frames_per_second,
        clock_speed=arguments.clock_speed,
        niceness=arguments.niceness,
    )
    arguments.recording.parent.mkdir(parents=True, exist_ok=True)
    segments = capture(plan, arguments.recording)
    duplicates, frames = count_duplicates(arguments.recording)
    if frames != sum(segment.frames for segment in segments):
        sys.exit(f"{arguments.recording}: holds {frames} frames, not the sum of {segments}")
    facts = {
        "game": arguments.game,
        "captured_on": datetime.now(UTC).date().isoformat(),
        "width": plan.width,
        "height": plan.height,
        "frames_per_second": plan.frames_per_second,
        "clock_speed": str(plan.clock_speed),
        "frames": frames,
        "duplicate_frames": duplicates,
        "segments": [segment_facts(segment) for segment in segments],
    }
    facts_beside(arguments.recording).write_text(json.dumps(facts, indent=2) + "\n")
    missed = sum(segment.missed_grabs for segment in segments)
    print(f"{frames} frames, {duplicates} equal to the one before, {missed} grabs missed")


def run_encode(arguments: argparse.Namespace) -> None:
    """Encode the ladder and write the frame table."""
    facts = read_facts(arguments.recording)
    rate = Fraction(facts["frames_per_second"])
    ladder = tuple(int(mbit * 1_000_000) for mbit in sorted(arguments.ladder))
    encoded = encode_ladder(
        EncodePlan(
            recording=arguments.recording,
            frame_rate=rate,
            ladder_bits_per_s=ladder,
            key_frame_interval_s=arguments.key_frame_interval,
            frames=min(arguments.frames, facts["frames"]),
        )
    )
    meta = facts | {
        "encoded_frames": encoded[0].rung.frames.height,
        "encoder": encoded[0].encoder,
        "forced_key_frame_interval_s": arguments.key_frame_interval,
        "size_after_forced_key_frame": [after_key_frame(each) for each in encoded],
    }
    rungs = [each.rung for each in encoded]
    size = {"width": facts["width"], "height": facts["height"]}
    write_gwfr(rungs, arguments.table, **size, frame_rate=rate, meta=meta)


def after_key_frame(encoded: EncodedRung) -> list[float]:
    """Round ratios to what the number of samples supports."""
    return [round(ratio, 3) for ratio in encoded.ratios_after_key_frame]


def run_react(arguments: argparse.Namespace) -> None:
    """Measure the reaction of the encoder and write it as CSV."""
    facts = read_facts(arguments.recording)
    plans = [
        ReactionPlan(
            recording=arguments.recording,
            width=facts["width"],
            height=facts["height"],
            frames_per_second=facts["frames_per_second"],
            high_kbit_per_s=high * 1000,
            low_kbit_per_s=low * 1000,
            period_frames=arguments.period_frames,
            frames=arguments.frames,
        )
        for high, low in REACTION_PAIRS_MBIT_PER_S
    ]
    measure(plans).write_csv(arguments.csv)


def rung_row(rung: Rung, frame_rate: Fraction) -> dict[str, Any]:
    """Describe a rung as the data README does, sizes as multiples of the asked frame budget."""
    asked = rung.asked_bits_per_s or 0
    budget_bytes = float(asked / frame_rate / 8)
    # The first frame is a key frame: it belongs to the column of key frames.
    summary = summarise(rung.frames.slice(1)).row(0, named=True)
    sizes_bytes = rung.frames["size_bytes"].to_list()
    key_bytes = rung.forced_key_frame_bytes or (0,)
    row = {
        "asked Mb/s": asked / 1e6,
        "produced Mb/s": summary["produced_bits_per_s"] / 1e6,
        "produced/asked": summary["produced_bits_per_s"] / asked,
        "mean B": summary["mean_bytes"],
        "sd B": summary["sd_bytes"],
        "p50 B": summary["p50_bytes"],
        "p95/p50": summary["p95_over_p50"],
        "max/budget": summary["max_bytes"] / budget_bytes,
        "above budget": fmean(size > budget_bytes for size in sizes_bytes[1:]),
    }
    keys = {
        "key frames": len(rung.forced_key_frame_bytes),
        "mean key/budget": fmean(key_bytes) / budget_bytes,
        "max key/budget": max(key_bytes) / budget_bytes,
        "first/budget": sizes_bytes[0] / budget_bytes,
    }
    return row | keys


def markdown(rows: list[dict[str, Any]]) -> str:
    """Format rows as a Markdown table."""

    def cell(value: object) -> str:
        return f"{value:.3f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)

    lines = ["| " + " | ".join(rows[0]) + " |", "|" + "---:|" * len(rows[0])]
    lines += ["| " + " | ".join(cell(value) for value in row.values()) + " |" for row in rows]
    return "\n".join(lines)


def describe_table(table: FrameTable) -> str:
    """Describe each rung of a frame table."""
    return markdown([rung_row(rung, table.frame_rate) for rung in table.rungs])


def run_describe(arguments: argparse.Namespace) -> None:
    """Print what the data README shows."""
    table = read_gwfr(arguments.table)
    print(json.dumps(dict(table.meta), indent=2))
    print(describe_table(table))
    print(markdown(pl.read_csv(arguments.csv).to_dicts()))


def parser() -> argparse.ArgumentParser:
    """Describe the command line."""
    top = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    steps = top.add_subparsers(required=True, metavar="STEP")
    add_capture(steps.add_parser("capture", help="play recorded demos and grab the screen"))
    encode = steps.add_parser("encode", help="encode the recording at a ladder of bitrates")
    encode.add_argument("--recording", type=Path, required=True)
    encode.add_argument("--table", type=Path, required=True, help="the .gwfr file to write")
    encode.add_argument(
        "--ladder", type=float, nargs="+", default=LADDER_MBIT_PER_S, metavar="MBIT_PER_S"
    )
    encode.add_argument("--frames", type=int, default=12_000, help="how much of the recording")
    encode.add_argument("--key-frame-interval", type=float, default=2.0, metavar="SECONDS")
    encode.set_defaults(run=run_encode)
    react = steps.add_parser("react", help="measure how x264 follows a changing target")
    react.add_argument("--recording", type=Path, required=True)
    react.add_argument("--csv", type=Path, required=True, help="the averaged table to write")
    react.add_argument("--period-frames", type=int, default=40, help="how long a target holds")
    react.add_argument("--frames", type=int, default=3600, help="how much of the recording")
    react.set_defaults(run=run_react)
    describe = steps.add_parser("describe", help="print the tables of the data README")
    describe.add_argument("--table", type=Path, required=True)
    describe.add_argument("--csv", type=Path, required=True)
    describe.set_defaults(run=run_describe)
    return top


def add_capture(step: argparse.ArgumentParser) -> None:
    """Describe the arguments of the step `capture`."""
    step.add_argument("--recording", type=Path, required=True, help="the lossless file to write")
    step.add_argument("--game", default="Freedoom: Phase 1 in Crispy Doom", help="for the record")
    step.add_argument("--game-data", type=Path, default=Path("/usr/share/games/doom/freedoom1.wad"))
    step.add_argument("--demos", nargs="+", default=["demo1", "demo2", "demo4"])
    step.add_argument("--width", type=int, default=1280)
    step.add_argument("--height", type=int, default=720)
    step.add_argument("--frames-per-second", type=int, default=60)
    step.add_argument("--clock-speed", type=Fraction, default=Fraction(1, 2), metavar="FRACTION")
    step.add_argument("--niceness", type=int, default=0, help="-15 on a busy machine (as root)")
    step.set_defaults(run=run_capture)


def main() -> None:
    """Run the step that the command line names."""
    arguments = parser().parse_args()
    try:
        arguments.run(arguments)
    except GamewayError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
