"""Errors that a user can mend: one plain sentence that says where, what and what is allowed."""

from __future__ import annotations

import difflib
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

MAX_VALUE = 80


class GamewayError(Exception):
    """Any error that is shown to the user as it is, without a traceback."""


class InputError(GamewayError):
    """A file, field or option that cannot be used as it was given."""

    def __init__(  # noqa: PLR0913 (all but the problem are named)
        self,
        problem: str = "",
        *,
        file: str | Path | None = None,
        line: int | None = None,
        field: str | None = None,
        value: object = None,
        hint: str | None = None,
    ) -> None:
        """Say what is wrong (`problem`), where (`file`, 1-based `line`, `field`), and what to do.

        `value` is the value as it was given, `hint` what is allowed or what to write instead.
        """
        self.problem = problem
        self.file = None if file is None else str(file)
        self.line = line
        self.field = field
        self.value = value
        self.hint = hint
        super().__init__(self._sentence())

    def _sentence(self) -> str:
        where = [] if self.file is None else [self.file]
        if self.line is not None:
            where.append(f"line {self.line}")
        parts = [", ".join(where), self._told()]
        return ": ".join(part for part in parts if part)

    def _told(self) -> str:
        """Field, value, problem and hint in one clause; the value is not told twice."""
        subject = self.field or ""
        if self.value is not None and not self.problem.startswith(f'"{self.value}"'):
            shown = _shown(self.value)
            subject = f"{subject} = {shown}" if subject else shown
        if not self.problem:
            return ": ".join(part for part in (subject, self.hint) if part)
        colon = ":" if subject and self.problem.startswith('"') else ""
        clause = f"{subject}{colon} {self.problem}".strip()
        return f"{clause}; {self.hint}" if self.hint else clause


class Interrupted(GamewayError):
    """Ctrl-C, or a signal that counts as it: what is finished is kept, the rest was not begun."""

    def __init__(self, told: str, code: int) -> None:
        """Keep what is told, and the exit code that a shell has for a program that ended so."""
        self.code = code
        super().__init__(told)


def nearest(word: str, known: Iterable[str]) -> str:
    """Give a hint that names the nearest known word, and all of them."""
    names = sorted(known)
    close = difflib.get_close_matches(word, names, n=1, cutoff=0.5)
    guess = f'did you mean "{close[0]}"? ' if close else ""
    return f"{guess}known are {', '.join(names)}"


def _shown(value: object) -> str:
    """Show a value as an experiment file would write it, cut where it is long."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except TypeError:
        text = repr(value)
    return text if len(text) <= MAX_VALUE else f"{text[:MAX_VALUE]}..."
