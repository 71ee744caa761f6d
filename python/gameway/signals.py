"""SIGTERM and SIGHUP end a command as Ctrl-C does: in order, and with the exit code of a shell.

A shell gives 128 and the signal's number for what a signal ended: 130 for Ctrl-C, 143 for SIGTERM,
129 for SIGHUP. A signal that was ignored when the program started (nohup) stays ignored.
"""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

ENDING = (signal.SIGTERM, signal.SIGHUP)
BY_SIGNAL = 128
"""A shell adds this to the number of the signal that ended a program."""


class Terminated(KeyboardInterrupt):
    """SIGTERM or SIGHUP came; whoever handles Ctrl-C handles it, too."""

    def __init__(self, number: int) -> None:
        """Keep the signal's number."""
        self.number = signal.Signals(number)
        super().__init__(f"ended by {self.number.name}")


def exit_code(interruption: KeyboardInterrupt) -> int:
    """Give the exit code that a shell has for a program that was ended so."""
    number = interruption.number if isinstance(interruption, Terminated) else signal.SIGINT
    return BY_SIGNAL + number


@contextmanager
def termination_raises() -> Iterator[None]:
    """Let SIGTERM and SIGHUP raise Terminated here, so that contexts are left as by Ctrl-C.

    Ctrl-C interrupts waiting here: set anew, its handler has no SA_RESTART, which libraries add.
    """

    def raise_it(number: int, _frame: FrameType | None) -> None:
        raise Terminated(number)

    wanted = [number for number in ENDING if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, raise_it) for number in wanted}
    signal.signal(signal.SIGINT, signal.getsignal(signal.SIGINT))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def exits_as_shells_do() -> Iterator[None]:
    """End the program with a shell's exit code where a signal ends what is done here."""
    try:
        with termination_raises():
            yield
    except KeyboardInterrupt as interruption:
        raise SystemExit(exit_code(interruption)) from None
