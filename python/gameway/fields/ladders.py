"""The quality levels of a video: a bitrate for each size of the picture."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from gameway import _core
from gameway.fields.checking import axis_of, inside, refuse
from gameway.fields.quantities import rate

if TYPE_CHECKING:
    from pydantic import ValidationInfo

EXAMPLE = '{ 640x360 = "3 Mb/s", 1280x720 = "10 Mb/s" }'
SIZE = re.compile(r"[1-9][0-9]{0,4}x[1-9][0-9]{0,4}")


def ladder(value: object, info: ValidationInfo) -> dict[str, Any]:
    """Check a table of bitrates by size; each may be an axis."""
    if not isinstance(value, dict) or not value:
        refuse("is no table of levels", value, f"write {EXAMPLE}")
    for size in value:
        if SIZE.fullmatch(size) is None:
            refuse("is no size of a picture", size, f"write {EXAMPLE}", (size,))
    return {size: inside(size, axis_of(rate), item, info) for size, item in value.items()}


def levels_of(video: dict[str, Any]) -> tuple[tuple[int, int, int], ...]:
    """Levels that a video of a spec has: width, height, bit/s; the lowest first."""
    given = video.get("ladder")
    levels = _core.default_ladder() if given is None else [_level(*it) for it in given.items()]
    return tuple(sorted(levels, key=lambda level: level[2]))


def _level(size: str, bitrate: str) -> tuple[int, int, int]:
    width, height = size.split("x")
    return int(width), int(height), _core.parse_rate(bitrate)
