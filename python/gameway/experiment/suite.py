"""Suites: several experiments under one name, each file of a folder a part."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from gameway import experiments
from gameway.errors import InputError, nearest
from gameway.experiment import Experiment, load

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


PAGE_CODE = "page.py"
"""What makes a suite's page, where it lies in its folder (`gameway.report.suite`)."""


@dataclass(frozen=True)
class Suite:
    """Several experiments under one name."""

    folder: Path
    title: str
    parts: Mapping[str, Experiment]

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.folder.name

    @property
    def own_page(self) -> bool:
        """Whether its page is made by code that is not of this installation."""
        ours = self.folder.parent == experiments.folder().resolve()
        return not ours and (self.folder / PAGE_CODE).is_file()

    def with_overrides(self, settings: Sequence[str]) -> Suite:
        """Give this suite with some values set anew in each part.

        "PART:path.capacity=20 Mb/s" sets a value in one part only.
        """
        own: dict[str, list[str]] = {name: [] for name in self.parts}
        for text in settings:
            name, colon, rest = text.partition("=")[0].partition(":")
            if not colon:
                for setting in own.values():
                    setting.append(text)
                continue
            self._check(name.strip(), f"--set {text}")
            own[name.strip()].append(rest + text[text.index("=") :] if "=" in text else rest)
        parts = {name: _set(name, part, own[name]) for name, part in self.parts.items()}
        return replace(self, parts=parts)

    def only(self, names: Iterable[str]) -> Suite:
        """Give this suite with some of its parts."""
        for name in names:
            self._check(name, f"--part {name}")
        wanted = set(names)
        kept = {name: part for name, part in self.parts.items() if name in wanted}
        return replace(self, parts=kept)

    def _check(self, part: str, given: str) -> None:
        if part not in self.parts:
            problem = f'"{part}" is no part of {self.name}'
            raise InputError(problem, file=given, hint=nearest(part, self.parts))


def load_suite(folder: str | Path) -> Suite:
    """Read the parts of a suite: every `*.toml` of a folder, in the order of their names."""
    path = Path(folder)
    files = experiments.part_files(path)
    if not files:
        raise InputError("has no experiment files (*.toml)", file=path)
    parts = {file.stem: load(file) for file in files}
    return Suite(path.resolve(), experiments.suite_title(path), parts)


def _set(name: str, part: Experiment, settings: list[str]) -> Experiment:
    try:
        return part.with_overrides(settings)
    except InputError as error:
        hint = '"PART:FIELD=VALUE" sets it in one part only'
        raise InputError(
            error.problem,
            file=f"part {name}, {error.file}",
            line=error.line,
            field=error.field,
            value=error.value,
            hint="; ".join(text for text in (error.hint, hint) if text),
        ) from None
