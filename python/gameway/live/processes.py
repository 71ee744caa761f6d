"""The processes of one live run: started, watched, and ended by their process ids.

Each is told to die with the orchestrator (PR_SET_PDEATHSIG, by setpriv), also if that is killed
with a signal that nobody can catch; each is in a process group of its own, so that Ctrl-C in a
terminal reaches the orchestrator alone, which then ends them in order.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gameway.errors import GamewayError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path
    from threading import Event

POLL_S = 0.005
WATCH_S = 0.1
"""How often it is looked whether all are alive."""
LAST_WORDS = 2000
"""Characters of a dead process's complaint that are told."""
PATIENCE_S = 15.0
"""How long a process may take to write its tables and end."""
READY = "ready"
ALIVE = 'test "$PPID" = "$1" || exit; shift; exec "$@"'
"""A process whose parent was gone before it asked for a signal gets none."""


class TooLate(GamewayError):
    """A part was not set up when the run was to begin."""


class Stopped(GamewayError):
    """The run was ended from outside."""


@dataclass
class Process:
    """One process of a run, whose output goes to files."""

    name: str
    popen: subprocess.Popen[bytes]
    out: Path
    err: Path
    may_end: bool = False
    """Whether it may end by itself before the run does."""
    ended_ns: int | None = None
    """When it was interrupted or seen to have ended, CLOCK_MONOTONIC."""

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self.popen.poll() is None

    def last_words(self) -> str:
        """The end of what it said on standard error, or else on standard output."""
        for file in (self.err, self.out):
            text = file.read_text(encoding="utf-8", errors="replace").strip()
            if text:
                return _complaint(text)[-LAST_WORDS:]
        return "it said nothing"

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal, if it is still there."""
        if self.alive:
            self.ended_ns = self.ended_ns or time.monotonic_ns()
            self.popen.send_signal(number)


@dataclass
class Supervisor:
    """All processes of one run."""

    logs: Path
    stopping: Event
    processes: list[Process] = field(default_factory=list)

    def start(
        self,
        name: str,
        command: Sequence[str],
        *,
        may_end: bool = False,
        environment: Mapping[str, str] | None = None,
        at_death: str = "KILL",
    ) -> Process:
        """Start a process; its output goes to NAME.out and NAME.err.

        It gets the signal `at_death` when this process is gone.
        """
        out, err = self.logs / f"{name}.out", self.logs / f"{name}.err"
        with out.open("wb") as stdout, err.open("wb") as stderr:
            popen = subprocess.Popen(  # noqa: S603 (commands of this package)
                dying_with_this(at_death, command),
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                env=os.environ | {"LC_ALL": "C", "PYTHONUNBUFFERED": "1"} | dict(environment or {}),
                process_group=0,
            )
        started = Process(name, popen, out, err, may_end)
        self.processes.append(started)
        return started

    def wait_ready(self, process: Process, until_ns: int) -> None:
        """Wait for the line that says that a part is set up; GamewayError if it comes too late."""
        self.wait_for(lambda: is_ready(process), until_ns, f"{process.name} was not ready in time")

    def wait_listening(self, process: Process, port: int, until_ns: int) -> None:
        """Wait until something listens on a TCP port in the process's namespace."""
        self.wait_for(
            lambda: listens(process.popen.pid, port),
            until_ns,
            f"{process.name} did not listen in time",
        )

    def wait_for(self, what: Callable[[], bool], until_ns: int, complaint: str) -> None:
        """Wait until `what()` is true."""
        while not what():
            self.watch()
            if time.monotonic_ns() > until_ns:
                raise TooLate(f"{complaint}: the machine is too busy, or the path too slow")
            time.sleep(POLL_S)

    def sleep_until(self, moment_ns: int) -> None:
        """Sleep, and watch that all are alive and that nobody wants to stop."""
        while (left_ns := moment_ns - time.monotonic_ns()) > 0:
            self.watch()
            self.stopping.wait(min(left_ns / 1e9, WATCH_S))

    def watch(self) -> None:
        """Raise if the run is to stop, or if a process died that should live."""
        if self.stopping.is_set():
            raise Stopped("stopped")
        for process in self.processes:
            if process.alive or process.ended_ns is not None:
                continue
            process.ended_ns = time.monotonic_ns()
            if not process.may_end or process.popen.returncode != 0:
                raise _died(process)

    def finish(self, process: Process) -> None:
        """Wait until a part has written its tables and ended well."""
        try:
            code = process.popen.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            raise GamewayError(f"{process.name} did not end after the run") from None
        if code != 0:
            raise _died(process)

    def interrupt(self, process: Process) -> None:
        """End a tool as Ctrl-C would, and wait for it; a tool's exit code then says nothing."""
        process.signal(signal.SIGINT)
        try:
            process.popen.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            raise GamewayError(f"{process.name} did not end when interrupted") from None

    def end_all(self) -> None:
        """End whatever is left: politely, then for good."""
        for process in self.processes:
            process.signal(signal.SIGTERM)
        patience = time.monotonic() + 1.0
        for process in self.processes:
            try:
                process.popen.wait(max(patience - time.monotonic(), 0.01))
            except subprocess.TimeoutExpired:
                process.popen.kill()
                process.popen.wait()


def is_ready(process: Process) -> bool:
    """Whether a part has said that it is set up."""
    return READY in process.out.read_text(encoding="utf-8", errors="replace").splitlines()


def _complaint(text: str) -> str:
    """What a tool complains of: the field `error` of what it says in JSON, or all of it."""
    try:
        found = json.loads(text)
    except ValueError:
        return text
    return str(found.get("error", text)) if isinstance(found, dict) else text


def dying_with_this(at_death: str, command: Sequence[str]) -> list[str]:
    """Give a command that gets the signal `at_death` when this process is gone.

    If that is so before the command could begin, it never does.
    """
    starter = str(os.getpid())
    alive = ["/bin/sh", "-c", ALIVE, "sh", starter]
    return [_setpriv(), "--pdeathsig", at_death, "--", *alive, *command]


def _setpriv() -> str:
    found = shutil.which("setpriv")
    if found is None:
        raise GamewayError("live runs need setpriv; install with: apt install util-linux")
    return found


def _died(process: Process) -> GamewayError:
    code = process.popen.returncode
    how = f"signal {-code}" if code < 0 else f"exit code {code}"
    return GamewayError(f"{process.name} died ({how}): {process.last_words()}")


def listens(pid: int, port: int) -> bool:
    """Whether something listens on a port, in the network namespace of a process (proc(5))."""
    listening = "0A"
    for table in ("tcp", "tcp6"):
        try:
            with open(f"/proc/{pid}/net/{table}", encoding="ascii") as file:  # noqa: PTH123
                lines = file.read().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            local, state = line.split()[1], line.split()[3]
            if state == listening and local.endswith(f":{port:04X}"):
                return True
    return False
