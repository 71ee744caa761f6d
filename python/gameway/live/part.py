"""One part of a live run as a process: `python -m gameway.live.part NAME CONFIG.json`.

A part prints `ready` on a line of its own once it is set up, runs until its time is over or until
SIGTERM or Ctrl-C, writes its tables into the folder that its configuration names, prints what
happened as one line of JSON and exits with 0. A failure is a message on stderr and another code.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from gameway import _core
from gameway.errors import GamewayError, InputError

BAD_INPUT = 2
FAILED = 1

Ready = Callable[..., None]
Part = Callable[[str, Ready], str]


def _player(config: str, ready: Ready) -> str:
    from gameway.live.video import player  # noqa: PLC0415 (other parts do without it)

    return player.play(config, ready)


def _browsers(config: str, ready: Ready) -> str:
    from gameway.live.chromium import pages  # noqa: PLC0415 (as above)

    return pages.stream(config, ready)


PARTS: dict[str, Part] = {
    "link": _core.live_link,
    "host": _core.live_host,
    "client": _core.live_client,
    "quic-server": _core.live_quic_server,
    "quic-client": _core.live_quic_client,
    "player": _player,
    "browsers": _browsers,
}
"""What each name runs: it gets its configuration (JSON) and whom to tell that it is set up."""


def tell_ready(refusals: list[str], _reachable: Sequence[str] = ()) -> None:
    """Say that the part is set up, and what of punctuality the machine refused."""
    for refusal in refusals:
        print(f"note: {refusal}", file=sys.stderr)  # noqa: T201 (the contract of a part)
    print("ready", flush=True)  # noqa: T201 (the contract of a part)


def run(name: str, file: Path) -> str:
    """Run the part of this name with the configuration in `file`; give what happened as JSON."""
    if name not in PARTS:
        raise InputError("is no part", value=name, hint=f"known are {', '.join(PARTS)}")
    try:
        config = file.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=file) from None
    try:
        return PARTS[name](config, tell_ready)
    except ValueError as error:
        raise InputError(str(error), file=file) from None


def main(arguments: list[str]) -> int:
    """Run the part that the arguments name; give the exit code."""
    if len(arguments) != 2:  # noqa: PLR2004 (a name and a file)
        print("usage: python -m gameway.live.part NAME CONFIG.json", file=sys.stderr)  # noqa: T201
        return BAD_INPUT
    try:
        print(run(arguments[0], Path(arguments[1])), flush=True)  # noqa: T201 (its result)
    except GamewayError as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201 (the contract of a part)
        return BAD_INPUT
    except OSError as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201 (the contract of a part)
        return FAILED
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
