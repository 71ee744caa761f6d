"""What every table of an experiment is: a model that refuses what it or its kind does not have."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from gameway.experiment.keys import places, refuse, values
from gameway.experiment.source import Source, told

AT_LEAST = "must not be below"


def check_order(part: Part, low: str, high: str, parse: Any, must: str = "must be after") -> None:
    """Refuse `low` above `high` in any combination of the matrix; equal ones too but AT_LEAST."""
    if getattr(part, high) is None:
        return
    pairs = itertools.product(places(getattr(part, low)), places(getattr(part, high)))
    for (_, first), (index, second) in pairs:
        if parse(first) < parse(second) or (must == AT_LEAST and parse(first) == parse(second)):
            continue
        refuse(f"{must} {low} = {first}", second, None, (high, *index))


class Part(BaseModel):
    """A table of an experiment; unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)

    def __init__(self, **data: Any) -> None:
        try:
            super().__init__(**data)
        except ValidationError as error:
            raise told(error, type(self), Source({})) from None

    # Pydantic calls a constructor of a subclass for each nested table unless it is marked as its
    # own; nested errors must reach the outermost table with their place.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]

    def idle(self) -> set[str]:
        """Give the keys that have no meaning beside the others."""
        return set()


class KindOf(Part):
    """A table whose `kind` says which of its other keys have a meaning.

    `NEEDED` and `OPTIONAL` name the keys of each kind; a key that neither names belongs to all.
    """

    NEEDED: ClassVar[Mapping[str, Mapping[str, str]]] = {}
    """By kind: the keys without which it cannot be, each with an example."""
    OPTIONAL: ClassVar[Mapping[str, Sequence[str]]] = {}

    @classmethod
    @cache
    def kinds_with(cls, key: str) -> list[str]:
        """Give the kinds for which `key` has a meaning; none if it has for all of them."""
        kinds = dict.fromkeys((*cls.NEEDED, *cls.OPTIONAL))
        return [
            kind
            for kind in kinds
            if key in (*cls.NEEDED.get(kind, ()), *cls.OPTIONAL.get(kind, ()))
        ]

    def kinds(self) -> list[str]:
        """Give the kinds that this table has, one or an axis of them."""
        return values(getattr(self, "kind", None))

    def idle(self) -> set[str]:
        """Give the keys that have a meaning for other kinds only."""
        own = self.kinds()
        keys = ((key, self.kinds_with(key)) for key in type(self).model_fields)
        return {key for key, kinds in keys if kinds and not set(own) & set(kinds)}

    @model_validator(mode="after")
    def _check_kind(self) -> Self:
        idle = self.idle() & self.model_fields_set
        for key in type(self).model_fields:
            if key in idle and getattr(self, key) is not None:
                known = " or ".join(f'"{kind}"' for kind in self.kinds_with(key))
                hint = f"only kind = {known} has it"
                refuse("has no meaning here", getattr(self, key), hint, (key,))
        for kind in self.kinds():
            for key, example in self.NEEDED.get(kind, {}).items():
                if getattr(self, key) is None:
                    hint = f"{kind} {type(self).__name__.lower()} needs {key} = {example}"
                    refuse("is missing", None, hint, (key,))
        return self
