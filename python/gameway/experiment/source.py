"""Where an experiment comes from, and errors that say where in it something is wrong."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic_core import PydanticCustomError

from gameway.errors import InputError
from gameway.experiment import keys

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import BaseModel, ValidationError

    from gameway.experiment.overrides import Override


@dataclass(frozen=True)
class Source:
    """Where an experiment comes from, so that an error can say where it stands.

    `positions` holds line and column of each value of `text` by its dotted path.
    """

    document: Mapping[str, Any]
    text: str = ""
    file: Path | None = None
    positions: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    overrides: tuple[Override, ...] = ()

    @property
    def base(self) -> Path:
        """The folder that relative paths of the experiment start from."""
        return Path.cwd() if self.file is None else self.file.parent

    def position(self, path: str) -> tuple[int, int] | None:
        """Give line and column of a value, or of the nearest table around it."""
        while path:
            if path in self.positions:
                return self.positions[path]
            path = path.rpartition(".")[0]
        return None

    def error(self, at: keys.At, problem: str, value: object, hint: str | None) -> InputError:
        """Make the error for the value that stands at `at`."""
        path = ".".join(str(key) for key in at)
        for override in self.overrides:
            if path == override.path or path.startswith(f"{override.path}."):
                return InputError(
                    problem, file=f"--set {override.text}", field=path, value=value, hint=hint
                )
        position = self.position(path)
        line = position[0] if position else None
        return InputError(
            problem, file=self.file, line=line, field=path or None, value=value, hint=hint
        )


def in_order(tree: Any, positions: Mapping[str, tuple[int, int]], path: str = "") -> Any:
    """Put the keys of every table in the order of the file; those it does not have come last."""
    if isinstance(tree, list):
        return [in_order(item, positions, f"{path}{index}.") for index, item in enumerate(tree)]
    if not isinstance(tree, dict):
        return tree
    last = (math.inf, math.inf)
    names = sorted(tree, key=lambda name: positions.get(f"{path}{name}", last))
    return {name: in_order(tree[name], positions, f"{path}{name}.") for name in names}


def told(error: ValidationError, model: type[BaseModel], source: Source) -> InputError:
    """Make the one error that is told out of pydantic's."""
    try:
        keys.refuse_first(error, model)
    except PydanticCustomError as refusal:
        context: dict[str, Any] = dict(refusal.context or {})
        return source.error(context["at"], context["problem"], context["value"], context["hint"])
