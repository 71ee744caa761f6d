"""Files and programs that a person names, looked up on this machine."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from gameway.errors import InputError

GAMES = ("/usr/games", "/usr/local/games")
"""Where games are that root's PATH does not name."""


def existing_video(option: str, name: str) -> Path:
    """Give the place of a video that an option names; InputError if there is none."""
    path = Path(name).absolute()
    if not path.is_file():
        hint = "give the path of a video"
        raise InputError("is no file", file=option, value=str(path), hint=hint)
    return path


def file_fact(path: Path) -> str:
    """Say which file it is: by its content, so that another of the same name is another."""
    with path.open("rb") as content:
        digest = hashlib.file_digest(content, "sha256").hexdigest()
    return f"file:{path.name} sha256:{digest}"


def search_path() -> str:
    """Where programs are looked for: where the caller looks, and where games are."""
    return os.pathsep.join([os.environ.get("PATH", os.defpath), *GAMES])
