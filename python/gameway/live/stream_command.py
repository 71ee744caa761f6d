"""`gameway host` and `gameway client`: the programs gameway-host and gameway-client by other names.

Their options, defaults, texts and errors are declared once, in the crate of the stream: what was
typed is passed on as it is, and the exit code comes back. Only completion by the shell asks which
options there are.
"""

from __future__ import annotations

import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import typer  # noqa: TC002 (typer reads annotations)
from typer.core import TyperCommand

from gameway import _core
from gameway.errors import GamewayError

if TYPE_CHECKING:
    from collections.abc import Callable

PASSED_ON = {"allow_extra_args": True, "ignore_unknown_options": True}


@dataclass(frozen=True)
class Completion:
    """What a shell can complete."""

    value: str
    help: str
    type: str = "plain"


class StreamCommand(TyperCommand):
    """A command whose options are those of a program of the stream."""

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Give the options that begin so."""
        options = _core.stream_options(ctx.info_name or "")
        return [Completion(name, text) for name, text in options if name.startswith(incomplete)]


def host_command(context: typer.Context) -> None:
    """Stream a game, a video or the built-in scene to a browser or to `gameway client`."""
    _carry_out(_core.host_command, context.args)


def client_command(context: typer.Context) -> None:
    """Receive, decode and measure a stream, without a display."""
    _carry_out(_core.client_command, context.args)


def add(app: typer.Typer) -> None:
    """Add both commands; their help is the program's."""
    for name, command in (("host", host_command), ("client", client_command)):
        how = app.command(
            name=name, cls=StreamCommand, add_help_option=False, context_settings=PASSED_ON
        )
        how(command)


def _carry_out(command: Callable[[list[str]], int], words: list[str]) -> None:
    """Run it; Ctrl-C is for it, and ends it in order."""
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        raise SystemExit(command(words))
    except OSError as error:
        raise GamewayError(str(error)) from None
    finally:
        signal.signal(signal.SIGINT, before)
