"""What live videos show: generated scenes, or a recording, again and again.

| as written | pictures |
|---|---|
| `scenes` | generated, calm and busy by turns |
| `game` | of a game, which is recorded at first use |
| `file:PATH` | of a video |
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from gameway.errors import InputError
from gameway.live.lookup import existing_video, file_fact
from gameway.live.video import game

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

OPTION = "--film"
SCENES = "scenes"
GAME = "game"
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
    """Of a video; without one the generated scenes."""
    game: bool = False
    """The recorded game instead."""

    @classmethod
    def parse(cls, text: str) -> Content:
        """Read a content as it is written; InputError if it is none."""
        if text == SCENES:
            return cls()
        if text == GAME:
            game.check()
            return cls(game=True)
        if text.startswith(FILE) and text != FILE:
            return cls(existing_video(OPTION, text.removeprefix(FILE)))
        hint = "give scenes, game or file:VIDEO"
        raise InputError("is no content", file=OPTION, value=text, hint=hint)

    def fact(self) -> str:
        """What the manifest says, and what tells films apart."""
        if self.game:
            return _of_game()
        return SCENES if self.path is None else _known(self.path)

    def words(self, size: tuple[int, int], folder: Path, tell: Callable[[str], None]) -> list[str]:
        """Arguments of ffmpeg that read it, at this size if it is generated.

        The recorded game is kept in `folder`, and made if it is not there.
        """
        path = game.record(folder, tell) if self.game else self.path
        if path is not None:
            return ["-stream_loop", "-1", "-i", str(path)]
        return ["-f", "lavfi", "-i", GENERATED.format(width=size[0], height=size[1])]


@cache
def _known(path: Path) -> str:
    """A file is read once in a run: for each film it is asked for."""
    return file_fact(path)


@cache
def _of_game() -> str:
    """So are the game's data."""
    return game.fact()
