"""The token that a host asks for: made, or kept in a file or in the environment.

It is no option: arguments of a program are seen by all users of its machine (ps).
"""

from __future__ import annotations

import os
import re
import secrets
from typing import TYPE_CHECKING

from gameway.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

VARIABLE = "GAMEWAY_TOKEN"
OPTION = "--token-file"
RANDOM_BYTES = 12
"""96 bits, 16 characters: 10^18 years at a thousand guesses a second, which no host allows."""
LEAST, MOST = 16, 128
MIN_DIFFERENT = 8
"""Characters, and different ones: the host takes none that is easier to guess."""
LETTERS = re.compile(r"[A-Za-z0-9._~-]+")
"""Those that a link has without escapes (RFC 3986 section 2.3)."""
MAKE = "head -c 12 /dev/urandom | base64 | tr '+/' '-_'"


def given(file: Path | None) -> str | None:
    """Give the token of a file, or else of the environment; None if there is neither."""
    if file is not None:
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, UnicodeError) as error:
            told = getattr(error, "strerror", None) or "it is no text"
            raise InputError(f"cannot be read: {told}", file=OPTION, value=str(file)) from None
        return _checked(text.strip(), f"{OPTION} {file}")
    text = os.environ.get(VARIABLE, "")
    return _checked(text, VARIABLE) if text else None


def of_host(file: Path | None) -> str:
    """Give a host's token: the given one, or a new one."""
    return given(file) or secrets.token_urlsafe(RANDOM_BYTES)


def _checked(token: str, origin: str) -> str:
    """Refuse a token that can be guessed or that is not for a link; it is not told."""
    strong = LEAST <= len(token) <= MOST and len(set(token)) >= MIN_DIFFERENT
    if strong and LETTERS.fullmatch(token):
        return token
    problem = (
        f"the token must have {LEAST} to {MOST} characters, {MIN_DIFFERENT} different ones, "
        "letters, digits and ._~- only"
    )
    raise InputError(problem, file=origin, hint=f"make one: {MAKE}")
