"""Options that are keys of an experiment file: checked as those are, told as they were typed."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gameway.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

ADD = re.compile(r"add \w+ = (.*)")
"""What an experiment file is told where a key is missing."""

TO_FILE = "relative to the experiment file"
"""What is told where a file is not there, and what an option does not have."""


@contextmanager
def told_as_typed(options: Mapping[str, str], typed: Mapping[str, object]) -> Iterator[None]:
    """Name the option and what was typed, where an error names the key that it stands for.

    `options` has the option of each key ("path.base_rtt": "--rtt"), and `typed` what was given of
    them, by option. What `--set` or a file gave is told as it is.
    """
    try:
        yield
    except InputError as error:
        option = None if error.file is not None else _option_of(error.field or "", options)
        if option is None:
            raise
        problem, hint = (_in_options(text, options) for text in (error.problem, error.hint or ""))
        if TO_FILE in hint:
            hint = ""
        if example := ADD.match(error.hint or ""):
            hint = f"give {option} {example[1]}"
        if option not in typed:
            raise InputError(problem, field=option, hint=hint or None) from None
        raise InputError(problem, file=option, value=typed[option], hint=hint or None) from None


def _in_options(text: str, options: Mapping[str, str]) -> str:
    """Write the options of other keys that an error names; words of one part are words."""
    keys = {field.rpartition(".")[2]: option for field, option in options.items()}
    for key, option in keys.items():
        if "_" in key:
            text = re.sub(rf"\b{key}\b", option, text)
    return text


def _option_of(field: str, options: Mapping[str, str]) -> str | None:
    """Give the option of a key, or of the nearest table around it."""
    while field:
        if field in options:
            return options[field]
        field = field.rpartition(".")[0]
    return None


def writable(option: str, file: Path | None) -> None:
    """Refuse a file that cannot be written; one that is not there is made."""
    if file is None:
        return
    try:
        with file.open("ab"):
            pass
    except OSError as error:
        raise InputError(
            f"cannot be written: {error.strerror}", file=option, value=str(file)
        ) from None


def folder(option: str, place: Path | None) -> None:
    """Make a folder for tables, where one is wanted."""
    if place is None:
        return
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"cannot be made: {error.strerror}", file=option, value=str(place)
        ) from None
