"""What hosts of a live run stream: an option of the driver, so that the experiment stays the same.

| as written | pictures |
|---|---|
| `scene` | the built-in moving scene |
| `x11:COMMAND` | of a program on a screen of its own, which the run makes and ends |
| `file:PATH` | of a video, again and again |

The frame's number and the clock are written into the pictures of all of them.
"""

from __future__ import annotations

import shlex
import shutil
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from gameway.errors import InputError
from gameway.live import offers
from gameway.live.lookup import existing_video, file_fact, search_path

if TYPE_CHECKING:
    from gameway.live.video.content import Content

OPTION = "--source"
HINT = 'give scene, x11:COMMAND ("x11:crispy-doom -window -geometry 1280x720") or file:VIDEO'
PACKAGES = {
    "crispy-doom": "crispy-doom freedoom",
    "chocolate-doom": "chocolate-doom freedoom",
    "xclock": "x11-apps",
    "xeyes": "x11-apps",
}
"""Packages of Debian that have programs which are often asked for."""


class Kind(StrEnum):
    """Where pictures come from."""

    scene = "scene"
    x11 = "x11"
    file = "file"


@dataclass(frozen=True)
class Source:
    """Where the pictures of a run's streams come from."""

    kind: Kind = Kind.scene
    command: tuple[str, ...] = ()
    """Of `x11`: the program and its arguments."""
    path: Path | None = None
    """Of `file`."""

    @classmethod
    def parse(cls, text: str) -> Source:
        """Read a source as it is written; InputError if it is none."""
        kind, _, rest = text.partition(":")
        if text == Kind.scene:
            return cls()
        if kind == Kind.x11 and rest.strip():
            return cls(Kind.x11, command=_words(text, rest))
        if kind == Kind.file and rest:
            return cls(Kind.file, path=Path(rest).absolute())
        raise InputError("is no source", file=OPTION, value=text, hint=HINT)

    def check(self) -> None:
        """Refuse what this machine has not; InputError with what to install."""
        if self.kind is Kind.x11:
            offers.check_tools(["Xvfb"])
            self._check_program()
        elif self.path is not None:
            offers.check_tools(["ffmpeg"])
            existing_video(OPTION, str(self.path))

    def _check_program(self) -> None:
        name = self.command[0]
        if shutil.which(name, path=search_path()) is None:
            package = PACKAGES.get(name)
            install = f"install with: apt install {package}" if package else "install it"
            hint = f"{install}, or give the path of a program"
            raise InputError("is no program on this machine", file=OPTION, value=name, hint=hint)

    def fact(self) -> str:
        """What the manifest says: results of different pictures must not be mixed."""
        if self.kind is Kind.x11:
            return f"x11:{shlex.join(self.command)}"
        if self.path is not None:
            return file_fact(self.path)
        return self.kind.value

    def setting(self, display: str | None) -> str:
        """What a host is told; `display` is the screen of its program, if it has one."""
        if self.kind is Kind.x11:
            return f"x11:{display or ''}"
        return self.kind.value if self.path is None else str(self.path)


@dataclass(frozen=True)
class How:
    """What a live run does that is not of its experiment."""

    source: Source = Source()
    """What is streamed."""
    pcap: bool = False
    """Whether the headers of all packets are kept."""
    film: Content | None = None
    """What videos show; the generated scenes if nothing is said."""


BUILT_IN = How()
"""The built-in scene, and no capture."""


def _words(text: str, command: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(command))
    except ValueError as error:
        hint = "quote words as a shell asks for"
        raise InputError(f"is no command: {error}", file=OPTION, value=text, hint=hint) from None
