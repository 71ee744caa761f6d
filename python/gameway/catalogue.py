"""What the simulator declares: what it knows by name, and the keys of an experiment.

Names, words, bounds, defaults and sentences stand in the Rust crates; this only gives them.
"""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from gameway import _core

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

QUANTITY, MIN, MAX, NONE = "x-quantity", "x-min", "x-max", "x-none"
UNIT, WORDS, OF_KIND = "x-unit", "x-words", "x-kind"
"""Keywords of the schema beside JSON Schema's own."""
SPREAD: dict[str, Any] = {
    "type": "string", QUANTITY: "share", MIN: "0 %", MAX: "50 %", "examples": ["30 %"],
    "description": "share of base_rtt: each repeat has a base RTT of its own within it",
}  # fmt: skip
"""The one key of a path that makes runs differ: a run has its own base RTT instead."""
RUNS: dict[str, Any] = {
    "type": "integer", "minimum": 1, "maximum": 100_000, "default": 1,
    "description": "repeats of each combination",
}  # fmt: skip
"""The key of an experiment that says how many runs there are, and so is of none."""


@cache
def catalogue() -> dict[str, Any]:
    """Give all of it, part by part."""
    return cast("dict[str, Any]", json.loads(_core.catalogue()))


def entries(part: str) -> dict[str, dict[str, Any]]:
    """Give one part of the catalogue by name."""
    return {entry["name"]: entry for entry in catalogue()[part]}


@cache
def run_schema() -> dict[str, Any]:
    """Give the JSON Schema of a run, with the one key of a path that makes runs differ."""
    run = cast("dict[str, Any]", json.loads(_core.run_schema()))
    run["properties"]["path"]["properties"]["base_rtt_spread"] = SPREAD
    return run


def key_schema(path: str) -> dict[str, Any]:
    """Give the schema of a key by its path; of a list of tables, that of one: "path.hop"."""
    *above, key = path.split(".")
    table = tables_of(".".join(above))[0] if above else run_schema()
    found = cast("dict[str, Any]", table["properties"][key])
    return cast("dict[str, Any]", found.get("items", found))


def tables_of(path: str) -> list[dict[str, Any]]:
    """Give the schemas that a key can be as a table: one, or one for each kind or form."""
    return list(forms_of(key_schema(path)))


def forms_of(schema: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Give the schemas of the tables among the forms of a value."""
    if "properties" in schema:
        yield cast("dict[str, Any]", schema)
    for one in schema.get("oneOf", schema.get("anyOf", ())):
        yield from forms_of(one)


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
