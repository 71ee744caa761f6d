"""Keys that the simulator declares: type, unit, bounds and default, from the schema of a run."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from pydantic import ValidationInfo, field_validator

from gameway import _core
from gameway.experiment.keys.checking import Check, axis_of, one_of
from gameway.experiment.keys.quantities import ratio_text, time_text, unit, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

QUANTITY, MIN, MAX, NONE = "x-quantity", "x-min", "x-max", "x-none"
UNIT, WORDS = "x-unit", "x-words"
"""Keywords of the schema beside JSON Schema's own."""
QUANTITIES: dict[str, tuple[Callable[[str], int], Callable[[int], str]]] = {
    "duration": (_core.parse_duration, time_text),
    "rate": (_core.parse_rate, _core.format_rate),
    "bytes": (_core.parse_bytes, _core.format_bytes),
    "share": (_core.parse_ratio, ratio_text),
}
"""How each quantity is read and written."""


@cache
def run_schema() -> dict[str, Any]:
    """Give the JSON Schema of a run: what an experiment has, every axis resolved."""
    return cast("dict[str, Any]", json.loads(_core.run_schema()))


def table_schema(path: str) -> dict[str, Any]:
    """Give the schema of a table, or of one of a list of tables: "stream", "path.jitter"."""
    found = run_schema()
    for part in path.split("."):
        found = found["properties"][part]
        found = found.get("items", found)
    return found if "properties" in found or "oneOf" in found else found["anyOf"][0]


class Declaration:
    """What is declared of a table's keys; `words` says of each key that is a word what it is."""

    def __init__(self, path: str, **words: str) -> None:
        table = table_schema(path)
        self.kinds = {one["properties"]["kind"]["const"]: one for one in table.get("oneOf", ())}
        self._tables = list(self.kinds.values()) or [table]
        self._words = words

    def schema(self, key: str) -> dict[str, Any]:
        """Give the schema of a key; where kinds differ, that of the first one that has it."""
        return next(one["properties"][key] for one in self._tables if key in one["properties"])

    def properties(self, kind: str | None = None) -> dict[str, dict[str, Any]]:
        """Give the schema of each key, of a kind where there are kinds."""
        table = self._tables[0] if kind is None else self.kinds[kind]
        return cast("dict[str, dict[str, Any]]", table["properties"])

    def required(self, kind: str | None = None) -> list[str]:
        """Give the keys that must be there."""
        table = self._tables[0] if kind is None else self.kinds[kind]
        return list(table.get("required", ()))

    def default(self, key: str, kind: str | None = None) -> Any:
        """Give the default of a key in normal form; None where there is none."""
        schema = self.schema(key) if kind is None else self.properties(kind)[key]
        value = schema.get("default")
        if isinstance(value, dict) and all(item is None for item in value.values()):
            return None
        if value is not None and self._is_checked(key):
            return self._check_of(key)(value, cast("ValidationInfo", None))
        return value

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

    def validator(self) -> Any:
        """Give what checks all keys of a model that are a quantity, a whole number or a word."""
        keys = dict.fromkeys(key for one in self._tables for key in one["properties"])
        checked = [key for key in keys if self._is_checked(key)]
        checks = {key: axis_of(self._check_of(key)) for key in checked}

        def check(value: object, info: ValidationInfo) -> object:
            key = cast("str", info.field_name)
            if value is None and self.default(key) is None:
                return None
            return checks[key](value, info)

        return field_validator(*checked, mode="plain")(check)

    def _is_checked(self, key: str) -> bool:
        schema = self.schema(key)
        return schema.get(QUANTITY) in QUANTITIES or "minimum" in schema or key in self._words

    def _check_of(self, key: str) -> Check:
        schema = self.schema(key)
        if QUANTITY in schema:
            return _quantity(schema)
        if key in self._words:
            return one_of(self._words[key], lambda: words_of(schema))
        return whole(int(schema["minimum"]), int(schema["maximum"]))


def words_of(schema: Mapping[str, Any]) -> list[str]:
    """Give the words that a key can be."""
    listed = [
        *schema.get("enum", ()),
        *([schema["const"]] if "const" in schema else ()),
    ]
    several = [*schema.get("oneOf", ()), *schema.get("anyOf", ())]
    return [word for word in listed if word is not None] + [
        word for one in several for word in words_of(one)
    ]


def _quantity(schema: Mapping[str, Any]) -> Check:
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
