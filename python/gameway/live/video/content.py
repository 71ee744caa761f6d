"""What live videos show: generated scenes, or a recording, again and again.

| as written | pictures |
|---|---|
| `scenes` | generated, calm and busy by turns |
| `file:PATH` | of a video: a recorded game, say |
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from gameway.errors import InputError
from gameway.live.sources import existing_video, video_fact

if TYPE_CHECKING:
    from pathlib import Path

OPTION = "--film"
SCENES = "scenes"
FILE = "file:"
FRAME_RATE = 30
GENERATED = (
    f"testsrc2=size={{width}}x{{height}}:rate={FRAME_RATE},"
    "noise=alls=16:allf=t:enable='lt(mod(t,24),12)',"
    "noise=alls=28:allf=t:enable='gte(mod(t,24),12)'"
)
"""Twelve seconds calm, twelve busy: sizes of segments differ, as those of a film do."""


@dataclass(frozen=True)
class Content:
    """What a film shows."""

    path: Path | None = None
    """Of a video; the generated scenes without."""

    @classmethod
    def parse(cls, text: str) -> Content:
        """Read a content as it is written; InputError if it is none."""
        if text == SCENES:
            return cls()
        if text.startswith(FILE) and text != FILE:
            return cls(existing_video(OPTION, text.removeprefix(FILE)))
        raise InputError("is no content", file=OPTION, value=text, hint="give scenes or file:VIDEO")

    def fact(self) -> str:
        """What the manifest says, and what tells films apart."""
        return SCENES if self.path is None else _known(self.path)

    def words(self, size: tuple[int, int]) -> list[str]:
        """Arguments of ffmpeg that read it, at this size if it is generated."""
        if self.path is not None:
            return ["-stream_loop", "-1", "-i", str(self.path)]
        return ["-f", "lavfi", "-i", GENERATED.format(width=size[0], height=size[1])]


@cache
def _known(path: Path) -> str:
    """A file is read once in a run: for each film it is asked for."""
    return video_fact(path)
