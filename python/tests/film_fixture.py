"""The levels of the film that a lab's video plays, encoded once and kept in pytest's cache.

Beside a game a film takes as long as the game leaves it: minutes on a busy machine, 8 s without.
"""

from __future__ import annotations

import shutil
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from gameway.lab.kinds import KINDS, film
from gameway.live.video import films

if TYPE_CHECKING:
    from pathlib import Path


def encoded(cache: pytest.Cache, made: Path) -> Path:
    """Give the folder of the film's levels, the lowest first: `level-1.mp4` and so on.

    What is not kept is encoded in the folder `made`.
    """
    wanted = film(KINDS["video"])
    # The key is made of all that the film depends on.
    kept = cache.mkdir("films") / wanted.key
    if not kept.exists():
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("XDG_CACHE_HOME", str(made))
            films.make(wanted, print)
            whole = films.cache() / wanted.key
            shutil.rmtree(wanted.folder)
        # Another process may have been faster.
        with suppress(OSError):
            shutil.move(whole, kept)
    return kept


def give(levels: Path, cache: Path, *numbers: int) -> Path:
    """Put some of the levels into the cache folder of a user; give the film's folder there."""
    target = cache / "gameway" / "films" / levels.name
    target.mkdir(parents=True)
    for number in numbers:
        shutil.copy(levels / f"level-{number}.mp4", target)
    return target
