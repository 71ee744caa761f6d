"""Telling how a sweep goes: a bar in a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Protocol

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bars

if TYPE_CHECKING:
    from rich.console import Console

SECONDS_BETWEEN_LINES = 10.0


class Progress(Protocol):
    """Told of a sweep by the runner, from one thread."""

    def start(self, total: int, finished: int) -> None:
        """Begin: `total` runs, of which `finished` were found finished."""

    def advance(self, run: str) -> None:
        """Note one more finished run."""

    def note(self, text: str) -> None:
        """Tell something in words."""

    def stop(self) -> None:
        """End, however it went."""


class Silent:
    """Says nothing."""

    def start(self, total: int, finished: int) -> None:
        """Begin."""

    def advance(self, run: str) -> None:
        """Note a run."""

    def note(self, text: str) -> None:
        """Tell."""

    def stop(self) -> None:
        """End."""


class Bar:
    """A progress bar with rate and remaining time."""

    def __init__(self, console: Console) -> None:
        self._bars = Bars(
            TextColumn("runs"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=console,
        )
        self._task: TaskID | None = None
        self._pace = _Pace()

    def start(self, total: int, finished: int) -> None:
        """Show the bar."""
        self._task = self._bars.add_task("runs", total=total, completed=finished, rate="")
        if finished:
            self.note(f"{finished} of {total} runs were finished before and are kept")
        self._bars.start()

    def advance(self, run: str) -> None:  # noqa: ARG002 (the bar shows no names)
        """Move the bar by one run."""
        if self._task is not None:
            self._bars.update(self._task, advance=1, rate=self._pace.one_more())

    def note(self, text: str) -> None:
        """Write a line above the bar."""
        self._bars.console.print(text, highlight=False, markup=False)

    def stop(self) -> None:
        """Leave the bar as it is."""
        self._bars.stop()


class Lines:
    """A line every ten seconds, for logs."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._pace = _Pace()
        self._total = 0
        self._finished = 0
        self._last_line = time.monotonic()

    def start(self, total: int, finished: int) -> None:
        """Say what is to do."""
        self._total, self._finished = total, finished
        kept = f", {finished} of them finished before" if finished else ""
        self.note(f"{total} runs{kept}")

    def advance(self, run: str) -> None:  # noqa: ARG002 (lines tell counts)
        """Say how far it is, now and then."""
        self._finished += 1
        rate = self._pace.one_more()
        now = time.monotonic()
        if now - self._last_line >= SECONDS_BETWEEN_LINES or self._finished == self._total:
            self._last_line = now
            self.note(f"{self._finished} of {self._total} runs, {rate}")

    def note(self, text: str) -> None:
        """Write a line."""
        self._console.print(text, highlight=False, markup=False, soft_wrap=True)

    def stop(self) -> None:
        """Nothing is left to write."""


class _Pace:
    """Finished runs per second since the beginning."""

    def __init__(self) -> None:
        self._begin = time.monotonic()
        self._runs = 0

    def one_more(self) -> str:
        self._runs += 1
        seconds = max(time.monotonic() - self._begin, 1e-9)
        return f"{self._runs / seconds:.2f} runs/s"


def for_console(console: Console) -> Progress:
    """Choose a bar in a terminal and lines elsewhere."""
    return Bar(console) if console.is_terminal else Lines(console)
