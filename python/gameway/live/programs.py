"""`gameway host`, `gameway client` and `gameway link`: programs in Rust by other names.

Their options, defaults, texts and errors are declared once, in the crates of the stream and of the
link: what was typed is passed on as it is, and the exit code comes back. Only completion by the
shell asks which options there are.
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

LINK = "link"
CHANGED = (signal.SIGINT, signal.SIGXFSZ)
"""What Python does in its own way: Ctrl-C is for the program, and none is for what it starts."""


@dataclass(frozen=True)
class Completion:
    """What a shell can complete."""

    value: str
    help: str
    type: str = "plain"


class Program(TyperCommand):
    """A command that is a program."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Leave everything to the program, `--` too."""
        ctx.args = list(args)
        return args

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Give the options that begin so."""
        name = ctx.info_name or ""
        options = _core.link_options() if name == LINK else _core.stream_options(name)
        return [Completion(name, text) for name, text in options if name.startswith(incomplete)]


def host_command(context: typer.Context) -> None:
    """Stream a game, a video or the built-in scene to a browser or to `gameway client`."""
    _carry_out(_core.host_command, context.args)


def client_command(context: typer.Context) -> None:
    """Receive, decode and measure a stream, without a display."""
    _carry_out(_core.client_command, context.args)


def link_command(context: typer.Context) -> None:
    """Run a command behind an emulated path, in real time; needs root."""
    _carry_out(_core.link_command, context.args)


def add(app: typer.Typer) -> None:
    """Add the commands; their help is the program's."""
    commands = (("host", host_command), ("client", client_command), (LINK, link_command))
    for name, command in commands:
        app.command(name=name, cls=Program, add_help_option=False)(command)


def _carry_out(command: Callable[[list[str]], int], words: list[str]) -> None:
    """Run it, and leave with its exit code."""
    before = {number: signal.signal(number, signal.SIG_DFL) for number in CHANGED}
    try:
        raise SystemExit(command(words))
    except OSError as error:
        raise GamewayError(str(error)) from None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
