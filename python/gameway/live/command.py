"""`gameway link` as the command line has it; what it does is in `gameway.live.link`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from gameway.caller import owns
from gameway.errors import InputError
from gameway.live.options import writable
from gameway.signals import exits_as_shells_do

if TYPE_CHECKING:
    from collections.abc import Mapping

err = Console(stderr=True, emoji=False)


class Backend(StrEnum):
    """What carries the packets."""

    user = "user"
    tc = "tc"


def _option(text: str, *names: str) -> typer.models.OptionInfo:
    found: typer.models.OptionInfo = typer.Option(*names, help=text)
    return found


Command = Annotated[
    list[str] | None, typer.Argument(metavar="-- COMMAND...", help="What runs behind the link.")
]
Capacity = Annotated[str | None, _option('Towards the command: "25 Mb/s".')]
Rtt = Annotated[str | None, _option('Of the empty path: "20 ms".')]
Queue = Annotated[str | None, _option("See `gameway list queues`.")]
Size = Annotated[str | None, _option('Of the queue: "2 bdp", "64 KiB", "100 packets".')]
Loss = Annotated[str | None, _option('Share of packets: "1 %".')]
Jitter = Annotated[str | None, _option("Standard deviation of the delay.")]
Trace = Annotated[
    Path | None, _option("A capacity that follows a recording: Mahimahi's format or a table.")
]
Steps = Annotated[str | None, _option('A capacity in steps: "0 s: 20 Mb/s, 40 s: 10 Mb/s".')]
UpCapacity = Annotated[str | None, _option("From the command.")]
Sets = Annotated[
    list[str] | None,
    _option('Any other key: `--set path.queue.target="20 ms"`. May be repeated.', "--set"),
]
FileOfPath = Annotated[Path | None, _option("The path of an experiment file.", "--path")]
Nat = Annotated[bool, _option("Let the command reach what this machine reaches.", "--nat")]
Backends = Annotated[Backend, _option("Our path in user space, or the kernel's queues by tc.")]
Out = Annotated[Path | None, _option("Keep the tables here.", "--out", "-o")]
Pcap = Annotated[Path | None, _option("Write the headers of all packets here: pcapng.")]


def link_command(
    command: Command = None,
    capacity: Capacity = None,
    rtt: Rtt = None,
    queue: Queue = None,
    size: Size = None,
    loss: Loss = None,
    jitter: Jitter = None,
    trace: Trace = None,
    steps: Steps = None,
    up_capacity: UpCapacity = None,
    settings: Sets = None,
    experiment: FileOfPath = None,
    nat: Nat = False,
    backend: Backends = Backend.user,
    folder: Out = None,
    pcap: Pcap = None,
) -> None:
    """Run a command behind an emulated path, in real time; needs root.

    The command runs in a network namespace of its own. This machine is reachable from there under
    the address in the environment variable GAMEWAY_OUTSIDE; what this machine sends there passes
    the path's capacity, queue, loss and delay. The exit code is the command's.

    Example: `gameway link --capacity "25 Mb/s" --rtt "20 ms" -- sh -c 'ping -c 5 $GAMEWAY_OUTSIDE'`

    Next: `--out DIR` keeps the tables; docs/link.md says what is in them.
    """
    from gameway.live import link as links  # noqa: PLC0415 (heavy; help must be quick)

    options = links.LinkOptions(
        capacity, rtt, queue, size, loss, jitter, trace, steps, up_capacity,
        tuple(settings or ()), experiment,
    )  # fmt: skip
    path = links.path_of(options)
    links.check_command(command or [])
    with exits_as_shells_do():
        if backend is Backend.tc:
            _refuse_for_tc({"--nat": nat, "--out": folder, "--pcap": pcap})
            with options.as_typed():
                code, told = links.run_on_kernel(path, command or [])
            _tell(told)
        else:
            code = _in_user_space(path, command or [], folder, pcap, nat=nat)
    raise SystemExit(code)


def _refuse_for_tc(options: Mapping[str, object]) -> None:
    for name, value in options.items():
        if value:
            raise InputError("is not for --backend tc", file=name, hint="leave it out")


def _in_user_space(
    path: dict[str, object],
    command: list[str],
    folder: Path | None,
    pcap: Path | None,
    *,
    nat: bool,
) -> int:
    """Run the command behind our path and tell what the link did; give the exit code."""
    from gameway.live import link as links  # noqa: PLC0415 (heavy; help must be quick)
    from gameway.live import summary  # noqa: PLC0415 (heavy; help must be quick)

    with owns(folder, pcap), links.tables_in(folder) as place:
        writable("--pcap", pcap)
        result = links.run(path, command, place, nat=nat, pcap=pcap)
        _tell(summary.lines(place, result.report))
    _tell(summary.warnings(result.report), style="yellow")
    return result.code


def _tell(lines: list[str], style: str | None = None) -> None:
    for line in lines:
        err.print(line, style=style, highlight=False, markup=False, soft_wrap=True)
