"""Errors that a user can mend: one plain sentence that says where, what and what is allowed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


class GamewayError(Exception):
    """Any error that is shown to the user as it is, without a traceback."""


class InputError(GamewayError):
    """A file, field or option that cannot be used as it was given."""

    def __init__(
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
        what = [] if self.field is None else [self.field]
        if self.value is not None:
            what.append(f"= {self.value!r}" if what else repr(self.value))
        parts = [", ".join(where), " ".join(what), self.problem, self.hint or ""]
        return ": ".join(part for part in parts if part)
