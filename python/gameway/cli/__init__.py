"""The command line."""

from __future__ import annotations

import os
import sys

from gameway.errors import GamewayError
from gameway.live import programs

BAD_INPUT = 2


def play_in_lab(words: list[str]) -> None:
    """Play behind a path of the lab, and leave, if that is what the words ask for."""
    from gameway.lab import words as lab  # noqa: PLC0415 (other commands need not wait for it)

    found = lab.of_lab(words)
    if found is not None:
        from gameway.lab import session  # noqa: PLC0415 (as above)

        session.main(found)


def main() -> None:
    """Run the command line; errors that a user can mend are one message and exit code 2."""
    name, *words = sys.argv[1:] or [""]
    try:
        if name in programs.PROGRAMS:
            if name == programs.PLAY:
                play_in_lab(words)
            programs.carry_out(name, words)
        # What declares the others imports much, which a program need not wait for.
        from gameway.cli import app  # noqa: PLC0415

        app.main()
    except GamewayError as error:
        if os.environ.get("GAMEWAY_DEBUG") == "1":
            raise
        from gameway.cli.console import err  # noqa: PLC0415 (as above)

        message = f"error: {error}"
        err.print(message, style="red", highlight=False, markup=False, soft_wrap=True)
        raise SystemExit(BAD_INPUT) from None
