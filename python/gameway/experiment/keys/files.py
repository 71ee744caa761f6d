"""Files that an experiment names, relative to its own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gameway.experiment.keys.checking import refuse

if TYPE_CHECKING:
    from pydantic import ValidationInfo


def resolve(name: str, base: Path | None) -> Path:
    """Give the place of a file that an experiment in the folder `base` names."""
    return (base or Path.cwd()) / Path(name).expanduser()


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name that is too long, a folder that may not be entered
        return False


def existing_file(value: object, info: ValidationInfo) -> str:
    """Check the name of a file that is there."""
    if not isinstance(value, str) or not value:
        refuse("must be the name of a file", value, "relative to the experiment file")
    base = (info.context or {}).get("base")
    path = resolve(value, base)
    if not _is_file(path):
        refuse(
            f"names no file: {path} does not exist",
            value,
            "a path is relative to the experiment file",
        )
    return value
