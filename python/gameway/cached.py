"""What takes seconds to make and stays as it is: kept in the user's cache folder.

The folder is `gameway` in XDG_CACHE_HOME, or in ~/.cache. What is in it can be removed at any time.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from gameway import durable

if TYPE_CHECKING:
    from collections.abc import Callable


def folder(name: str) -> Path:
    """Give the place of one sort of kept things; it may not be there yet."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "gameway" / name


def text(path: Path, make: Callable[[], str]) -> str:
    """Give the text of a kept file; make and keep it if there is none.

    Where nothing can be written, it is made each time.
    """
    with suppress(OSError, UnicodeDecodeError):
        return path.read_text("utf-8")
    made = make()
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        durable.write(path, made)
    return made
