"""What `gameway list`, `schema` and `reference` do: what can be named in an experiment file."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from gameway import experiments
from gameway.catalogue import entries
from gameway.cli import terminal
from gameway.cli.console import out
from gameway.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path


def print_part(part: str) -> None:
    """Print a part of the catalogue."""
    found = entries(part).values()
    has_options = any(entry["options"] for entry in found)
    out.print(terminal.catalogue(found, "default" if has_options else None))


def print_metrics() -> None:
    """Print what is measured."""
    from gameway.metrics import METRICS, VIDEO_METRICS  # noqa: PLC0415 (other lists do without)

    rows = [
        {"name": one.name, "unit": one.unit, "summary": one.definition, "source": one.source}
        for one in [*METRICS, *VIDEO_METRICS]
    ]
    out.print(terminal.catalogue(rows, "unit"))


def print_experiments() -> None:
    """Print the experiments that come with Gameway."""
    for name in experiments.names():
        out.print(f"{name}: {experiments.title(name)}", highlight=False, soft_wrap=True)


def write_schema(file: Path | None) -> None:
    """Write the JSON Schema of experiment files."""
    from gameway.experiment.schema import schema  # noqa: PLC0415 (heavy; lists do without)

    _write(json.dumps(schema(), indent=1, ensure_ascii=False) + "\n", file)


def write_reference(file: Path | None) -> None:
    """Write the page of all options."""
    from gameway.experiment.reference import page  # noqa: PLC0415 (heavy; lists do without)

    _write(page(), file)


def _write(text: str, file: Path | None) -> None:
    """Write a text to a file, or to the screen as it is."""
    if file is None:
        sys.stdout.write(text)
        return
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=file) from None
    out.print(f"{file} written", highlight=False)
