"""The quality levels of a video: by size of the picture, as a list, or as a manifest has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gameway import _core
from gameway.experiment.keys.checking import as_table, axis_of, inside, refuse
from gameway.experiment.keys.files import existing_file, resolve
from gameway.experiment.keys.manifests import RESOLUTION, ManifestError, levels_in
from gameway.experiment.keys.quantities import rate

if TYPE_CHECKING:
    from pydantic import ValidationInfo

EXAMPLE = '{ 640x360 = "3 Mb/s", 1280x720 = "10 Mb/s" }'
LEVELS = '{ levels = [["640x360", "1 Mb/s"], ["640x360", "3 Mb/s"]] }'


def ladder(value: object, info: ValidationInfo) -> dict[str, Any]:
    """Check a ladder: bitrates by size, each perhaps an axis; a list of levels; or a manifest."""
    if not isinstance(value, dict) or not value:
        refuse("is no table of levels", value, f"write {EXAMPLE}")
    if "levels" in value:
        table = as_table(value, "levels", only=("levels",))
        return {"levels": inside("levels", _levels, table["levels"], info)}
    if "file" in value:
        table = as_table(value, "file", only=("file",))
        return {"levels": inside("file", _manifest, table["file"], info)}
    for size in value:
        _check_size(size, (size,))
    return {size: inside(size, axis_of(rate), item, info) for size, item in value.items()}


def levels_of(video: dict[str, Any]) -> tuple[tuple[int, int, int], ...]:
    """Levels that a video of a spec has: width, height, bit/s; the lowest first."""
    given = video.get("ladder")
    levels = _core.default_ladder() if given is None else [_level(*pair) for pair in pairs(given)]
    return tuple(sorted(levels, key=lambda level: level[2]))


def pairs(ladder: dict[str, Any]) -> list[tuple[str, str]]:
    """Size and bitrate of each level of a checked ladder."""
    return [(size, bitrate) for size, bitrate in ladder.get("levels", ladder.items())]


def _levels(value: object, info: ValidationInfo) -> list[list[str]]:
    if not isinstance(value, (list, tuple)) or not value:
        refuse("is no list of levels", value, f"write {LEVELS}")
    found = []
    for index, level in enumerate(value):
        if not isinstance(level, (list, tuple)) or len(level) != 2:  # noqa: PLR2004 (size, rate)
            refuse("must be a size and a bitrate", level, f"write {LEVELS}", (index,))
        _check_size(level[0], (index, 0))
        found.append([level[0], inside(index, rate, level[1], info)])
    return found


def _manifest(value: object, info: ValidationInfo) -> list[list[str]]:
    name = existing_file(value, info)
    path = resolve(name, (info.context or {}).get("base"))
    try:
        return levels_in(path)
    except (ManifestError, OSError) as error:
        refuse(
            f"is no manifest of a video: {path}: {error}", value, "a DASH MPD or an HLS playlist"
        )


def _check_size(size: object, at: tuple[str | int, ...]) -> None:
    if not isinstance(size, str) or RESOLUTION.fullmatch(size) is None:
        refuse("is no size of a picture", size, f"write {EXAMPLE}", at)


def _level(size: str, bitrate: str) -> tuple[int, int, int]:
    width, height = size.split("x")
    return int(width), int(height), _core.parse_rate(bitrate)
