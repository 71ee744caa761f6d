"""`gameway play`, `host`, `client`, `devices`, `doctor`, `link`: programs in Rust by other names.

Their options, defaults, texts and errors are declared once, in the crates of the stream and of the
link: what was typed is passed on as it is, and the exit code comes back. Only completion by the
shell asks which options there are.
"""

from __future__ import annotations

import signal
from typing import NoReturn

from gameway import _core
from gameway.errors import GamewayError

LINK = "link"
PLAY = "play"
DOCTOR = "doctor"
PROGRAMS = (PLAY, "host", "client", "devices", DOCTOR, LINK)
CHANGED = (signal.SIGINT, signal.SIGXFSZ)
"""What Python does in its own way: Ctrl-C is for the program, and none is for what it starts."""


def options(name: str) -> list[tuple[str, str]]:
    """Give a program's options, each with its sentence."""
    return _core.link_options() if name == LINK else _core.stream_options(name)


def carry_out(name: str, words: list[str]) -> NoReturn:
    """Run a program, and leave with its exit code."""
    command = getattr(_core, f"{name}_command")
    before = {number: signal.signal(number, signal.SIG_DFL) for number in CHANGED}
    try:
        further = [_checks_of_lab] if name == DOCTOR else []
        raise SystemExit(command(words, *further))
    except OSError as error:
        raise GamewayError(str(error)) from None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _checks_of_lab() -> list[tuple[str, bool | None, str, str | None]]:
    """Check what only the lab needs."""
    from gameway.live import doctor  # noqa: PLC0415 (other programs need not wait for it)

    return doctor.checks()
