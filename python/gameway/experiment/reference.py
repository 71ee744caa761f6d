"""The page of all options, made of what is declared: docs/reference.md."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gameway.experiment import keys
from gameway.experiment.keys.declared import MAX, MIN, NONE, QUANTITY, WORDS, words_of
from gameway.experiment.tables import COMPETITOR, PING, RECORD, STREAM

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gameway.experiment.keys.declared import Declaration

HEAD = """\
# Reference of options

Made by `gameway reference --out docs/reference.md` from what the program declares and checks.
[experiment-file.md](experiment-file.md) says how the keys go together, and has those of paths.
"""
CATALOGUE = {
    "queues": "Queues",
    "gateways": "Home gateways",
    "competitors": "Congestion controls of TCP",
    "controllers": "Controllers",
}
"""Parts of the catalogue, with their headings."""


def page() -> str:
    """Give the page, in Markdown."""
    return "\n".join([HEAD, *_flows(), *_catalogue()]).rstrip() + "\n"


def _flows() -> Iterator[str]:
    yield "## Streams\n"
    yield _of_table(STREAM)
    yield "## Competitors\n"
    for kind, table in COMPETITOR.kinds.items():
        yield f'### `kind = "{kind}"`\n'
        yield f"{_sentence(table['description'])}.\n"
        yield _of_table(COMPETITOR, kind)
    for name, declaration in (("Ping", PING), ("Record", RECORD)):
        yield f"## {name}\n"
        yield _of_table(declaration)


def _of_table(declaration: Declaration, kind: str | None = None) -> str:
    names = [key for key in declaration.properties(kind) if key != "kind"]
    rows = ([key, *_told(declaration, key, kind)] for key in names)
    return _rows("key", rows)


def _told(declaration: Declaration, key: str, kind: str | None) -> list[str]:
    """Give type, bounds, default and sentence of a key."""
    schema = declaration.properties(kind)[key]
    default = declaration.default(key, kind)
    word = "" if default is None else str(default)
    if key in declaration.required(kind) and default is None:
        word = "required"
    bounds = (schema.get(name, "") for name in (MIN if MIN in schema else "minimum",
                                                MAX if MAX in schema else "maximum"))  # fmt: skip
    return [_type(schema), *map(str, bounds), word or schema.get(NONE, "none"),
            schema["description"]]  # fmt: skip


def _type(schema: dict[str, Any]) -> str:
    words = words_of(schema)
    if QUANTITY in schema:
        return " or ".join([*schema.get(WORDS, ()), schema[QUANTITY]])
    if words:
        return ", ".join(words)
    kind = schema.get("type", "table")
    first = str(kind[0] if isinstance(kind, list) else kind)
    return {"object": "table", "string": "text"}.get(first, first)


def _catalogue() -> Iterator[str]:
    for part, heading in CATALOGUE.items():
        yield f"## {heading}\n"
        for name, entry in sorted(keys.entries(part).items()):
            yield f"### `{name}`\n"
            yield f"{_sentence(entry['summary'])}. Source: {entry['source']}.\n"
            if entry["options"]:
                yield _rows("option", map(_of_option, entry["options"]))


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
