"""The page of all options, made of what is declared: docs/reference.md."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from gameway import _core
from gameway.catalogue import forms_of, tables_of
from gameway.experiment import keys
from gameway.experiment.tables import COMPETITOR

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

HEAD = """\
# Reference of options

Made by `gameway reference --out docs/reference.md` from what the program declares and checks.
[experiment-file.md](experiment-file.md) says how the keys go together.
"""
CATALOGUE = {
    "queues": "Queues",
    "gateways": "Home gateways",
    "competitors": "Congestion controls of TCP",
    "controllers": "Controllers",
}
"""Parts of the catalogue, with their headings."""
HTB = "htb"
"""The queue that has classes."""
KINDS = ("jitter", "loss")
"""Tables of a path that have kinds."""


def page() -> str:
    """Give the page, in Markdown."""
    return "\n".join([HEAD, *_paths(), *_flows(), *_catalogue()]).rstrip() + "\n"


def _paths() -> Iterator[str]:
    yield "## Path\n"
    yield from map(_of_table, tables_of("path"))
    for key in ("capacity", "hop", "back", "jitter", "loss", "duplicate", "reorder", "change"):
        for table in tables_of(f"path.{key}"):
            yield f"### {_heading(key, table)}\n"
            if key in KINDS:
                yield f"{_sentence(table['description'])}.\n"
            yield _of_table(table)


def _heading(key: str, table: dict[str, Any]) -> str:
    kind = table["properties"].get("kind", {}).get("const")
    if kind is not None:
        return f'`{key} = {{ kind = "{kind}" }}`'
    if key == "capacity":
        return f"`capacity = {{ {table['required'][0]} = ... }}`"
    return f"`{key}`"


def _flows() -> Iterator[str]:
    yield "## Streams\n"
    yield from map(_of_table, tables_of("stream"))
    yield "## Competitors\n"
    for kind, table in COMPETITOR.kinds.items():
        yield f'### `kind = "{kind}"`\n'
        yield f"{_sentence(table['description'])}.\n"
        yield _of_table(table)
    for name in ("ping", "record"):
        yield f"## {name.capitalize()}\n"
        yield from map(_of_table, tables_of(name))


def _of_table(table: dict[str, Any]) -> str:
    declared = json.loads(_core.declared_keys(json.dumps(table)))
    # The heading says what a table of one kind is.
    named = {"kind"} if "const" in table["properties"].get("kind", {}) else set()
    return _rows("key", (_of_option(one) for one in declared if one["name"] not in named))


def _catalogue() -> Iterator[str]:
    for part, heading in CATALOGUE.items():
        yield f"## {heading}\n"
        for name, entry in sorted(keys.entries(part).items()):
            yield f"### `{name}`\n"
            yield f"{_sentence(entry['summary'])}. Source: {entry['source']}.\n"
            if entry["options"]:
                yield _rows("option", map(_of_option, entry["options"]))
            if name == HTB:
                yield from _of_classes(entry["schema"]["properties"]["class"])


def _of_classes(classes: dict[str, Any]) -> Iterator[str]:
    """Give the tables of a class, and of a rule that leads to it."""
    table = classes["additionalProperties"]
    yield f"#### `class.NAME` of `{HTB}`\n"
    yield _of_table(table)
    yield f"#### `class.NAME.match` of `{HTB}`\n"
    yield from map(_of_table, forms_of(table["properties"]["match"]))


def _of_option(option: dict[str, Any]) -> list[str]:
    names = ("name", "kind", "min", "max", "default", "summary")
    return [str(option.get(name) or "") for name in names]


def _rows(first: str, rows: Iterable[list[str]]) -> str:
    lines = [
        [first, "type", "min", "max", "default", "what it does"],
        ["---"] * 6,
        *([f"`{row[0]}`", *row[1:]] for row in rows),
    ]
    return "\n".join(f"| {' | '.join(_cell(cell) for cell in line)} |" for line in lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("\n", " ").replace("|", "\\|")


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".").replace("\n", " ")
