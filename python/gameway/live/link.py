"""`gameway link`: any command behind an emulated path.

The command runs in a namespace of its own, whose only way out is a TUN device; the other end of the
path is a TUN device in the namespace that `gameway link` was called in, the outside.
"""

from __future__ import annotations

import os
import secrets
import subprocess
import tempfile
import time
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gameway import _core
from gameway.errors import InputError
from gameway.expansion import expand
from gameway.experiment import from_source, load
from gameway.experiment.keys import entries
from gameway.experiment.source import Source
from gameway.live import kernel, outside
from gameway.live.namespaces import DEVICE, LiveError, Namespaces
from gameway.live.options import folder as made_folder
from gameway.live.options import told_as_typed
from gameway.live.process import PartProcess
from gameway.signals import BY_SIGNAL, Terminated, exit_code, termination_raises

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

FLOW = "traffic"
"""The one flow of the tables: all that the command sends and gets."""
WAIT_SECONDS = 5
"""So long a command may take to end after it was asked to."""
DRAIN_RTTS = 3
DRAIN_SECONDS = 0.1
"""So long the link goes on after its command has ended."""
SEED_BITS = 32
OPTIONS = {
    "path.base_rtt": "--rtt", "path.queue.kind": "--queue", "path.queue.size": "--size",
    "path.loss": "--loss", "path.jitter": "--jitter",
    "path.back.capacity": "--up-capacity",
}  # fmt: skip
"""The option of each key that has one, beside that of the capacity."""


@dataclass(frozen=True)
class LinkOptions:
    """What the command line says of a path, in the words of an experiment file."""

    capacity: str | None = None
    rtt: str | None = None
    queue: str | None = None
    size: str | None = None
    loss: str | None = None
    jitter: str | None = None
    trace: Path | None = None
    steps: str | None = None
    up_capacity: str | None = None
    settings: Sequence[str] = field(default_factory=tuple)
    experiment: Path | None = None

    def typed(self) -> dict[str, object]:
        """Give what was typed, by option."""
        found = {
            "--capacity": self.capacity, "--rtt": self.rtt, "--queue": self.queue,
            "--size": self.size, "--loss": self.loss, "--jitter": self.jitter,
            "--trace": None if self.trace is None else str(self.trace), "--steps": self.steps,
            "--up-capacity": self.up_capacity,
        }  # fmt: skip
        return {option: value for option, value in found.items() if value is not None}

    def as_typed(self) -> AbstractContextManager[None]:
        """Tell errors of the path with the option that was typed."""
        typed = self.typed()
        capacity = next((one for one in ("--trace", "--steps") if one in typed), "--capacity")
        return told_as_typed(OPTIONS | {"path.capacity": capacity}, typed)


def path_of(options: LinkOptions) -> dict[str, Any]:
    """Give the path that the options describe, as a run's specification has it.

    It is checked as that of an experiment file is, with the same words.
    """
    path: dict[str, Any] = {}
    if options.experiment is not None:
        source = load(options.experiment).source
        path = _absolute(dict(source.document["path"]), source.base)
    path.update(_given(options))
    document: dict[str, Any] = {
        "title": "link",
        "duration": "1 s",
        "path": path,
        "competitor": [{"kind": "tcp", "congestion_control": "cubic"}],
    }
    with options.as_typed():
        experiment = from_source(Source(document))
        runs = expand(experiment.with_overrides(list(options.settings)))
    if len(runs) != 1:
        hint = "give one value, not a list"
        raise InputError("a link has one path, and these are several", file="link", hint=hint)
    found: dict[str, Any] = runs[0].spec["path"]
    return found


def _given(options: LinkOptions) -> dict[str, Any]:
    """Give the keys of `path` that options set."""
    path: dict[str, Any] = {}
    capacities = {
        "--capacity": options.capacity,
        "--trace": None if options.trace is None else {"trace": str(options.trace.absolute())},
        "--steps": None if options.steps is None else {"steps": _steps(options.steps)},
    }
    chosen = {name: value for name, value in capacities.items() if value is not None}
    if len(chosen) > 1:
        raise InputError("exclude each other", file=" and ".join(chosen), hint="give one")
    for value in chosen.values():
        path["capacity"] = value
    if options.rtt is not None:
        path["base_rtt"] = options.rtt
    if options.queue is not None or options.size is not None:
        queue = {"kind": _queue(options.queue or "drop-tail")}
        path["queue"] = queue if options.size is None else {**queue, "size": options.size}
    if options.loss is not None:
        path["loss"] = {"probability": options.loss}
    if options.jitter is not None:
        path["jitter"] = {"deviation": options.jitter}
    if options.up_capacity is not None:
        path["back"] = {"capacity": options.up_capacity}
    return path


def _queue(word: str) -> str:
    """Give the name of a queue; tc writes some without the hyphen: dualpi2."""
    plain = {name.replace("-", ""): name for name in entries("queues")}
    return plain.get(word, word)


def _steps(text: str) -> list[list[str]]:
    """Read "0 s: 20 Mb/s, 40 s: 10 Mb/s"."""
    steps = [[word.strip() for word in step.split(":")] for step in text.split(",")]
    if any(len(step) != 2 for step in steps):  # noqa: PLR2004 (a time and a capacity)
        hint = 'write TIME: CAPACITY, for example "0 s: 20 Mb/s, 40 s: 10 Mb/s"'
        raise InputError("is no list of steps", file="--steps", value=text, hint=hint)
    return steps


def _absolute(node: Any, base: Path) -> Any:
    """Give a part of a document in which traces have absolute names."""
    if isinstance(node, list):
        return [_absolute(item, base) for item in node]
    if isinstance(node, dict):
        return {
            key: str((base / value).absolute())
            if key == "trace" and isinstance(value, str)
            else _absolute(value, base)
            for key, value in node.items()
        }
    return node


def config_of(
    path: dict[str, Any], folder: Path, spaces: Namespaces, device: str
) -> dict[str, Any]:
    """Give the configuration of the link between `device` here and the client's namespace."""
    return {
        "seed": secrets.randbits(SEED_BITS),
        "path": path,
        "flows": [{"name": FLOW, "address": None}],
        "server": {"namespace": f"/proc/{os.getpid()}/ns/net", "device": device},
        "client": {"namespace": str(spaces.path("client")), "device": DEVICE},
        "folder": str(folder),
    }


@dataclass(frozen=True)
class LinkResult:
    """How a command behind a link ended, and what the link says of it."""

    code: int
    report: dict[str, Any]
    folder: Path


@contextmanager
def tables_in(wanted: Path | None) -> Iterator[Path]:
    """Give the folder for tables: the one that is wanted, or one for the time of the context."""
    if wanted is not None:
        made_folder("--out", wanted)
        yield wanted
        return
    with tempfile.TemporaryDirectory(prefix="gameway-link-") as name:
        yield Path(name)


@contextmanager
def link(
    path: dict[str, Any], folder: Path, *, nat: bool = False, pcap: Path | None = None
) -> Iterator[tuple[Namespaces, PartProcess, outside.Outside]]:
    """Set up a link with a namespace behind it: the namespaces, the part, the outside."""
    with ExitStack() as stack:
        spaces = stack.enter_context(Namespaces(parts=("router", "client")))
        own = stack.enter_context(outside.Outside())
        spaces.tun("client", [client for _, client in own.pairs])
        if nat:
            stack.enter_context(outside.nat(own))
        config = config_of(path, folder, spaces, own.device)
        config["pcap"] = None if pcap is None else str(pcap.absolute())
        part = PartProcess("link", config, spaces.name("router"), folder)
        yield spaces, stack.enter_context(part), own


def run_on_kernel(path: dict[str, Any], command: Sequence[str]) -> tuple[int, list[str]]:
    """Run a command behind the kernel's own queues; give its exit code and what they counted."""
    with termination_raises(), kernel.kernel_link(path, here=True) as made:
        environment = {**os.environ, **made.ends.environment()}
        client = made.spaces.name("client")
        code = _command(client, command, environment)
        told = [
            f"{one['kind']}: {one['packets']} packets sent, {one['drops']} dropped"
            for one in made.qdiscs()
        ]
        return code, told


def run(
    path: dict[str, Any],
    command: Sequence[str],
    folder: Path,
    *,
    nat: bool = False,
    pcap: Path | None = None,
) -> LinkResult:
    """Run a command behind a link of this path; tables go to `folder`, packets to `pcap`."""
    with termination_raises(), link(path, folder, nat=nat, pcap=pcap) as (spaces, part, own):
        environment = {**os.environ, **own.environment()}
        code = _command(spaces.name("client"), command, environment)
        # What is under way arrives: a server outside hears that its connections are closed.
        rtt = _core.parse_duration(path["base_rtt"]) / 1e9
        time.sleep(min(DRAIN_RTTS * rtt + DRAIN_SECONDS, WAIT_SECONDS))
        return LinkResult(code, part.result(), folder)


def _command(space: str, command: Sequence[str], environment: dict[str, str]) -> int:
    """Run the command in a namespace; give its exit code, or that of the signal that ended it.

    Ctrl-C, SIGTERM and SIGHUP reach it too.
    """
    # A shell says what cannot be run: 127 for what is not there, 126 for what is no program.
    inside = ["ip", "netns", "exec", space, "/bin/sh", "-c", 'exec "$@"', "gameway link", *command]
    process = subprocess.Popen(inside, env=environment)  # noqa: S603 (the user's own)
    try:
        # Not reaped here: a signal at the same time would lose its exit code.
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    except Terminated as ended:
        process.send_signal(ended.number)
        _ended(process)
        return exit_code(ended)
    except KeyboardInterrupt:
        # The terminal has told the command, too; some, as ping, then end well.
        return _as_shell(_ended(process))
    return _as_shell(process.wait())


def _as_shell(code: int) -> int:
    """Give what a shell has for an exit code of Python's: a signal is a negative one there."""
    return code if code >= 0 else BY_SIGNAL - code


def _ended(process: subprocess.Popen[bytes]) -> int:
    """Wait for a command that was asked to end, for a time."""
    try:
        return process.wait(WAIT_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def check_command(command: Sequence[str]) -> None:
    """Refuse to run nothing."""
    if not command:
        hint = "write it behind --, for example: gameway link --capacity ... -- iperf3 -c ..."
        raise InputError("a command is missing", file="gameway link", hint=hint)


__all__ = ["LinkOptions", "LinkResult", "LiveError", "check_command", "link", "path_of", "run"]
