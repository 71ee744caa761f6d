"""Keys that the simulator declares: type, unit, bounds and default, from the schema of a run."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any, cast

from pydantic import Field, ValidationInfo, field_validator

from gameway import _core
from gameway.catalogue import MAX, MIN, OF_KIND, QUANTITY, UNIT, WORDS, words_of
from gameway.experiment.keys.checking import Check, axis_of, one_of
from gameway.experiment.keys.quantities import number, ratio_text, unit, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

QUANTITIES: dict[str, tuple[Callable[[str], int], Callable[[int], str]]] = {
    "duration": (_core.parse_duration, _core.format_duration),
    "rate": (_core.parse_rate, _core.format_rate),
    "bytes": (_core.parse_bytes, _core.format_bytes),
    "share": (_core.parse_ratio, ratio_text),
}
"""How each quantity is read and written."""


class Declaration:
    """What is declared of a table's keys; `words` says of each key that is a word what it is."""

    def __init__(self, tables: Sequence[dict[str, Any]], **words: str) -> None:
        kinds = ((one["properties"].get("kind", {}).get("const"), one) for one in tables)
        self.kinds: dict[str, dict[str, Any]] = {kind: one for kind, one in kinds if kind}
        self._tables = tables
        self._words = words

    @property
    def kind(self) -> str:
        """The kind of a table that names none: the first."""
        return next(iter(self.kinds))

    def schema(self, key: str) -> dict[str, Any]:
        """Give the schema of a key; where kinds differ, that of the first one that has it."""
        return next(one["properties"][key] for one in self._tables if key in one["properties"])

    def default(self, key: str) -> Any:
        """Give the default of a key in normal form; None where there is none."""
        schema = self.schema(key)
        value = copy.deepcopy(schema.get("default"))
        if isinstance(value, dict) and all(item is None for item in value.values()):
            return None
        if value is not None and self._is_checked(key):
            return self._check_of(key)(value, cast("ValidationInfo", None))
        return value

    def field(self, key: str) -> Any:
        """Give the field of a model: with the default, or, where it must be there, an example."""
        if all(key in one.get("required", ()) for one in self._tables):
            return Field(examples=self.schema(key)["examples"])
        return Field(default_factory=lambda: self.default(key))

    def keys_by_kind(
        self,
    ) -> tuple[dict[str, dict[str, str]], dict[str, tuple[str, ...]]]:
        """Give by kind the keys that it needs, each with an example, and what it has beside."""
        common = set.intersection(*(set(one["properties"]) for one in self._tables))
        needed, optional = {}, {}
        for kind, table in self.kinds.items():
            own = {key: one for key, one in table["properties"].items() if key not in common}
            examples = {
                key: json.dumps(one["examples"][0])
                for key, one in own.items() if key in table["required"]
            }  # fmt: skip
            if examples:
                needed[kind] = examples
            optional[kind] = tuple(key for key in own if key not in examples)
        return needed, optional

    def keys_of_words(self) -> dict[str, tuple[str, ...]]:
        """Give by each word of `kind` the keys that only such a table has, where all are one."""
        (table,) = self._tables
        return {
            kind: tuple(key for key, one in table["properties"].items() if one.get(OF_KIND) == kind)
            for kind in words_of(table["properties"]["kind"])
        }

    def validator(self) -> Any:
        """Give what checks all keys of a model that are a quantity, a number or a word."""
        checks = {key: axis_of(check) for key, check in self.checks().items()}

        def check(value: object, info: ValidationInfo) -> object:
            key = cast("str", info.field_name)
            if value is None and self.default(key) is None:
                return None
            return checks[key](value, info)

        return field_validator(*checks, mode="plain")(check)

    def checks(self) -> dict[str, Check]:
        """Give the check of each key that is a quantity, a number or a word."""
        keys = dict.fromkeys(key for one in self._tables for key in one["properties"])
        return {key: self._check_of(key) for key in keys if self._is_checked(key)}

    def _is_checked(self, key: str) -> bool:
        schema = self.schema(key)
        return schema.get(QUANTITY) in QUANTITIES or "minimum" in schema or key in self._words

    def _check_of(self, key: str) -> Check:
        schema = self.schema(key)
        if QUANTITY in schema:
            return quantity(schema)
        if key in self._words:
            return one_of(self._words[key], lambda: words_of(schema))
        kind = number if schema["type"] == "number" else whole
        return kind(int(schema["minimum"]), int(schema["maximum"]))


def quantity(schema: Mapping[str, Any]) -> Check:
    """Check a quantity by its declaration."""
    parse, show = QUANTITIES[schema[QUANTITY]]
    if schema.get(UNIT) == "B":
        show = "{} B".format
    lowest = parse(schema[MIN]) if MIN in schema else 0
    highest = parse(schema[MAX]) if MAX in schema else None
    check = unit(parse, show, schema["examples"][0], lowest, highest)
    words = schema.get(WORDS, ())

    def with_words(value: object, info: ValidationInfo) -> object:
        return value if value in words else check(value, info)

    return with_words if words else check
