"""The JSON Schema of an experiment file, for editors: completion, help and errors while one types.

It is made from what Rust declares of a run, of queues, gateways, controllers and congestion
controls, and from the models, which say what may be left out and what may be an axis.
"""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

from gameway import experiments
from gameway.catalogue import NONE, QUANTITY, RUNS, WORDS, run_schema, words_of
from gameway.experiment import Experiment, keys
from gameway.experiment import path as path_models
from gameway.experiment import tables as models
from gameway.experiment.keys.known import DEFAULT_QUEUE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import BaseModel

Schema = dict[str, Any]

DRAFT = "http://json-schema.org/draft-07/schema#"
CATALOGUE = "x-catalogue"
PLACES = ("path", "path.back", "path.change", "path.change.back")
"""Tables that say what happens to packets behind a bottleneck."""
MODELS: dict[str, type[BaseModel]] = {
    "": Experiment,
    "path": path_models.Path,
    "path.hop": path_models.Hop,
    "path.back": path_models.Back,
    "path.change": path_models.Change,
    "path.change.back": path_models.Back,
    **{f"{place}.jitter": path_models.Jitter for place in PLACES},
    **{f"{place}.loss": path_models.Loss for place in PLACES},
    **{f"{place}.duplicate": path_models.Duplicate for place in PLACES},
    **{f"{place}.reorder": path_models.Reorder for place in PLACES},
    "stream": models.Stream,
    "competitor": models.Competitor,
    "competitor.on_off": models.OnOff,
    "ping": models.Ping,
    "record": models.Record,
}
"""The model of each table that has one."""
LISTS = ("stream", "competitor", "path.hop", "path.change")
"""Lists that are no axes: each of their tables is one more part."""
WHOLE = ("at", "name", "title", "reference", "runs", "seed", "ping", "record", "packets")
"""Keys of one value."""
DEFAULT_KINDS = {"queues": DEFAULT_QUEUE}
"""What a table of the catalogue is without a kind."""
SHORT = 150
"""What is not longer, in characters, is written wherever it stands."""
NUMBER = r"^[+-]?[0-9][0-9._]*([eE][+-]?[0-9]+)?$"
"""A number as text."""
ABOUT = ("description", "default", "examples")


def schema() -> Schema:
    """Give the JSON Schema of an experiment file."""
    run = copy.deepcopy(run_schema())
    run["properties"] |= {
        "title": {"type": "string", "description": "heading of the report"},
        "reference": {
            "enum": sorted(experiments.published()),
            "description": "publication to compare with",
        },
        "runs": RUNS,
        "controller": {
            CATALOGUE: "controllers",
            "description": "controller of every stream that names none of its own",
        },
    }  # fmt: skip
    made = _table(run, "")
    ladder = made["properties"]["competitor"]["items"]["properties"]["ladder"]
    _allow(ladder, {"type": "object", "properties": {"file": {"type": "string"}},
                    "required": ["file"], "additionalProperties": False})  # fmt: skip
    made["properties"]["path"] = _axis(made["properties"]["path"])
    made["properties"]["ping"] = _with(
        {"anyOf": [{"type": "boolean"}, made["properties"]["ping"]]}, made["properties"]["ping"]
    )
    definitions: dict[str, str] = {}
    shared = _share(made, definitions)
    catalogue = {part: _share(_catalogued(part), definitions) for part in keys.catalogue()}
    parts = catalogue | {name: json.loads(text) for text, name in definitions.items()}
    return {"$schema": DRAFT, "title": "Gameway experiment", **shared, "definitions": parts}


def _share(node: Any, known: dict[str, str]) -> Any:
    """Write what is long and may stand in several places once, and refer to it."""
    if isinstance(node, list):
        return [_share(one, known) for one in node]
    if not isinstance(node, dict):
        return node
    made = {key: _share(one, known) for key, one in node.items()}
    if "items" in made and isinstance(made["items"], dict):
        made["items"] = _reference(made["items"], known)
    if "anyOf" in made:
        made["anyOf"] = [_reference(one, known) for one in made["anyOf"]]
    return made


def _reference(node: Schema, known: dict[str, str]) -> Schema:
    text = json.dumps(node, ensure_ascii=False)
    if len(text) < SHORT:
        return node
    name = known.setdefault(text, f"part-{len(known) + 1}")
    return {"$ref": f"#/definitions/{name}"}


def _value(node: Mapping[str, Any], path: str) -> Schema:
    """Make of a declared value what an editor needs."""
    about = {key: node[key] for key in ABOUT if node.get(key) is not None}
    if CATALOGUE in node:
        # The queue of a class of a queue is one of the same.
        return {**about, "$ref": f"#/definitions/{node[CATALOGUE]}"}
    several = [one for one in node.get("oneOf", node.get("anyOf", ())) if one.get("type") != "null"]
    if several and all("kind" in one.get("properties", {}) for one in several):
        kinds = {one["properties"]["kind"]["const"]: one for one in several}
        return {**about, **_kinds(kinds, path)}
    if several:
        return {**about, "anyOf": [_value(one, path) for one in several]}
    if "properties" in node:
        return {**about, **_table(node, path)}
    if "prefixItems" in node:
        items = [_value(one, path) for one in node["prefixItems"]]
        return {**about, "type": "array", "items": items, "minItems": len(items),
                "additionalItems": False}  # fmt: skip
    return {**about, **_single(node, path)}


def _single(node: Mapping[str, Any], path: str) -> Schema:
    kept = {
        key: node[key] for key in ("const", "pattern", "minimum", "maximum") if key in node
    }  # fmt: skip
    if "enum" in node:
        kept["enum"] = [word for word in node["enum"] if word is not None]
    kind = node.get("type")
    if kind is not None:
        kinds = [one for one in ([kind] if isinstance(kind, str) else kind) if one != "null"]
        kept["type"] = kinds[0] if len(kinds) == 1 else kinds
    if isinstance(node.get("items"), dict):
        kept["items"] = _value(node["items"], path)
    if isinstance(node.get("additionalProperties"), dict):
        value = _value(node["additionalProperties"], path)
        kept["additionalProperties"] = value if "properties" in value else _axis(value)
    if WORDS in node and QUANTITY in node:
        return {"anyOf": [{"enum": node[WORDS]}, kept]}
    return kept


def _table(node: Mapping[str, Any], path: str) -> Schema:
    """Make a table; each of its values may be an axis, unless its model says no."""
    properties = {key: _key(one, key, path) for key, one in node["properties"].items()}
    return {
        "type": "object",
        "properties": properties,
        "required": _required(node, path),
        "additionalProperties": False,
    }


def _key(node: Mapping[str, Any], key: str, path: str) -> Schema:
    own = f"{path}.{key}".lstrip(".")
    if own in LISTS:
        return {"type": "array", "items": _value(node["items"], own),
                "description": node["description"]}  # fmt: skip
    value = _value(node, own)
    if key in WHOLE or value.get("type") == "array":
        return value
    return _axis(value)


def _required(node: Mapping[str, Any], path: str) -> list[str]:
    model = MODELS.get(path)
    if model is None:
        return [key for key in node.get("required", ()) if key != "kind"]
    return [key for key, field in model.model_fields.items() if field.is_required()]


def _axis(value: Schema) -> Schema:
    """Allow a list of values in place of one."""
    bare = {key: item for key, item in value.items() if key not in ABOUT}
    return _with({"anyOf": [bare, {"type": "array", "items": bare, "minItems": 1}]}, value)


def _with(made: Schema, about: Mapping[str, Any]) -> Schema:
    return {**{key: about[key] for key in ABOUT if key in about}, **made}


def _kinds(kinds: Mapping[str, Mapping[str, Any]], path: str) -> Schema:
    """Make one table of several kinds: all keys, and by its kind which of them it has."""
    made = {kind: _table(one, path)["properties"] for kind, one in kinds.items()}
    told = {kind: one.get("description", "") for kind, one in kinds.items()}
    needed = {
        kind: [key for key in one.get("required", ()) if key not in {"kind", "name"}]
        for kind, one in kinds.items()
    }
    # A table that names no kind is of the first.
    return _one_of_kinds(made, told, needed, next(iter(kinds)))


def _catalogued(part: str) -> Schema:
    """Make what may be one of the catalogue: its name, or a table with options."""
    entries = keys.entries(part)
    made = {
        name: {"kind": {}, **{key: _axis(_option(one)) for key, one in _options(entry)}}
        for name, entry in entries.items()
    }
    told = {name: entry["summary"] for name, entry in entries.items()}
    if part == "controllers":
        text = {"type": "string"}
        made["python"] = {"kind": {}, "file": text, "class": text}
        told["python"] = "a class of yours"
    names = [{"const": name, "description": told[name]} for name in entries]
    table = _one_of_kinds(made, told, {"python": ["file", "class"]}, DEFAULT_KINDS.get(part))
    if part == "controllers":
        # A class of the user's has options that nobody here knows.
        table["additionalProperties"] = True
    return {"anyOf": [{"type": "string", "oneOf": names}, table]}


def _option(node: Mapping[str, Any]) -> Schema:
    """Make an option: also the other ways in which it may be written are valid."""
    made = _value(node, "option")
    words = words_of(node)
    others: list[Schema] = [{"const": node[NONE]}] if NONE in node else []
    others += [{"const": float(word)} for word in words if word.isdigit()]
    if _is_number(node):
        others.append({"type": "string", "pattern": NUMBER})
    if set(words) == {"on", "off"}:
        others.append({"type": "boolean"})
    if not others:
        return made
    bare = {key: one for key, one in made.items() if key not in ABOUT}
    return _with({"anyOf": [bare, *others]}, made)


def _is_number(node: Mapping[str, Any]) -> bool:
    several = [*node.get("oneOf", ()), *node.get("anyOf", ())]
    kinds = node.get("type", ())
    return bool({"number", "integer"} & set([kinds] if isinstance(kinds, str) else kinds)) or any(
        _is_number(one) for one in several
    )


def _options(entry: Mapping[str, Any]) -> list[tuple[str, Schema]]:
    # What only forwards has no options, and no schema.
    return list(entry.get("schema", {}).get("properties", {}).items())


def _one_of_kinds(
    made: Mapping[str, Mapping[str, Schema]],
    told: Mapping[str, str],
    needed: Mapping[str, list[str]],
    default: str | None,
) -> Schema:
    names = [{"const": name, "description": told[name]} for name in made]
    properties: dict[str, Schema] = {}
    for own in made.values():
        for key, one in own.items():
            known = properties.setdefault(key, one)
            if known != one and one not in known.get("anyOf", ()):
                properties[key] = _with({"anyOf": [known, one]}, one)
    properties["kind"] = _axis({"type": "string", "oneOf": names})
    cases = [
        {
            "if": _is_kind(kind, is_default=kind == default),
            "then": _of_kind(kind, made[kind], needed.get(kind, [])),
        }
        for kind in made
    ]
    table: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**table, "required": [] if default else ["kind"], "allOf": cases}


def _is_kind(kind: str, *, is_default: bool) -> Schema:
    return {"properties": {"kind": {"const": kind}}, "required": [] if is_default else ["kind"]}


def _of_kind(kind: str, keys_of: Mapping[str, Schema], needed: list[str]) -> Schema:
    if kind == "python":
        return {"required": needed}
    own = {key: one for key, one in keys_of.items() if key != "kind"}
    return {"propertyNames": {"enum": [*own, "kind"]}, "properties": own, "required": needed}


def _allow(axis: Schema, value: Schema) -> None:
    """Add one more form of a value to an axis."""
    one, several = axis["anyOf"]
    either = {"anyOf": [one, value]}
    axis["anyOf"] = [either, {**several, "items": either}]
