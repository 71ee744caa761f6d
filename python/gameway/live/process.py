"""A part of a live run as a process: started, known to be ready, stopped, and heard."""

from __future__ import annotations

import json
import select
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from gameway.live.namespaces import LiveError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

START_SECONDS = 30
"""Longer no part takes to be ready."""
STOP_SECONDS = 15
"""Longer no part takes to write its tables."""


def program(name: str, config: Path) -> list[str]:
    """Give the command of a part."""
    return [sys.executable, "-m", "gameway.live.part", name, str(config)]


def prepared(parts: Path, name: str, kind: str, config: Mapping[str, Any]) -> list[str]:
    """Make the folder of a part, and write what it is told; give its command."""
    own, file = parts / name, parts / f"{name}.json"
    own.mkdir()
    file.touch(mode=0o600)
    file.write_text(json.dumps({**config, "folder": str(own)}, indent=1), encoding="utf-8")
    return program(kind, file)


@dataclass
class PartProcess:
    """A part, started in a namespace; use as a context, which stops it."""

    name: str
    config: dict[str, Any]
    namespace: str
    """In which it runs: so whatever it leaves behind is found."""
    folder: Path
    """For its configuration and what it says on stderr."""
    process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        file = self.folder / f"{self.name}.json"
        file.write_text(json.dumps(self.config), encoding="utf-8")
        command = ["ip", "netns", "exec", self.namespace, *program(self.name, file)]
        with self._errors.open("w", encoding="utf-8") as errors:
            self.process = subprocess.Popen(  # noqa: S603 (our own program)
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                # Ctrl-C is for who started the run, and the part is told by SIGTERM.
                start_new_session=True,
            )
        try:
            self._await_ready(self.process)
        except BaseException:
            self._end(self.process)
            raise
        return self

    @property
    def _errors(self) -> Path:
        return self.folder / f"{self.name}.stderr"

    def said(self) -> str:
        """Give what the part said on stderr."""
        return self._errors.read_text(encoding="utf-8", errors="replace").strip()

    def _await_ready(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None  # noqa: S101 (it was asked for)
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end:
            if select.select([process.stdout], [], [], 0.1)[0]:
                if process.stdout.readline().strip() == "ready":
                    return
                process.wait(STOP_SECONDS)
                break
        raise LiveError(f"the {self.name} did not start: {self.said() or 'it said nothing'}")

    def result(self) -> dict[str, Any]:
        """Ask the part to stop and give what it says happened; LiveError if it failed."""
        process = self.process
        if process is None:
            raise LiveError(f"the {self.name} was not started")
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        try:
            out, _ = process.communicate(timeout=STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._end(process)
            raise LiveError(f"the {self.name} did not end, and was killed") from None
        if process.returncode != 0:
            why = self.said() or f"exit code {process.returncode}"
            raise LiveError(f"the {self.name} failed: {why}")
        found: dict[str, Any] = json.loads(out.strip().splitlines()[-1])
        return found

    @staticmethod
    def _end(process: subprocess.Popen[str]) -> None:
        if process.poll() is None:
            process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()

    def __exit__(self, *_: object) -> None:
        if self.process is not None:
            self._end(self.process)
