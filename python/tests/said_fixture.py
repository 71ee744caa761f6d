"""What a program says while it runs."""

from __future__ import annotations

import re
from typing import IO


def said_until(stream: IO[str] | None, pattern: str) -> tuple[re.Match[str], str]:
    """Read lines until one fits; give what fits, and all that was said."""
    assert stream is not None
    said = ""
    while not (found := re.search(pattern, said)):
        line = stream.readline()
        assert line, said
        said += line
    return found, said
