"""The recording of a game that `--film game` shows: Freedoom, played by one of its recorded demos.

It is made at first use and kept beside the films: whole, or not there. The game runs at half its
speed (see `gameway.live.video.recorder`), on every machine: two slow cores have the time to draw,
grab and compress each picture, and what is shown does not depend on how fast a machine was.
"""

from __future__ import annotations

import hashlib
import tempfile
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from gameway import durable
from gameway.live.lookup import file_fact
from gameway.live.video import recorder

if TYPE_CHECKING:
    from collections.abc import Callable

PLAN = recorder.CapturePlan(
    game_data=Path("/usr/share/games/doom/freedoom2.wad"),
    demos=("demo2",),
    width=1280,
    height=720,
    frames_per_second=30,
    clock_speed=Fraction(1, 2),
    seconds=60,
)
"""A minute of Freedoom's longest demo of its second phase, which plays 137 s; as many pictures a
second as a film shows."""


def check() -> None:
    """Refuse a machine on which the recording cannot be made."""
    recorder.check(PLAN.game_data)


def fact() -> str:
    """Say which recording it is, without it: by the game's data and what is played of it."""
    shown = f"{PLAN.demos[0]}, {PLAN.seconds} s, {PLAN.width}x{PLAN.height}"
    return f"game {file_fact(PLAN.game_data)} {shown} at {PLAN.frames_per_second}/s"


def file(folder: Path) -> Path:
    """Where the recording is in a cache."""
    return folder / f"game-{hashlib.sha256(fact().encode()).hexdigest()[:16]}.mkv"


def record(folder: Path, tell: Callable[[str], None]) -> Path:
    """Give the recording; make it if it is not there."""
    target = file(folder)
    if target.is_file():
        return target
    seconds = (PLAN.seconds or 0) / float(PLAN.clock_speed)
    tell(f"recording a game for films, once, about {seconds:.0f} s: {target}")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix="unfinished-") as made:
        recording = Path(made) / "game.mkv"
        (segment,) = recorder.capture(PLAN, recording)
        if segment.missed_grabs:
            tell(f"{segment.missed_grabs} of {segment.frames} pictures were missed: a busy machine")
        durable.rename(recording, target)
    return target
