"""The quality levels of a video: a bitrate for each size of the picture."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

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
