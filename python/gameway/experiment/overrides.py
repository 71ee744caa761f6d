"""Values set from the command line: `--set path.capacity="20 Mb/s"`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gameway import _core
from gameway.errors import InputError

DEFAULT_NAMES = {"stream": "game", "competitor": "download"}
"""Names of the flows whose tables give none."""
FILE_KEYS = ("trace", "file")
"""Keys whose texts are names of files."""


@dataclass(frozen=True)
class Override:
    """One setting: its text as given, and the dotted path of the value that it replaced."""

    text: str
    path: str

    @classmethod
    def apply(cls, text: str, document: dict[str, Any]) -> Override:
        """Set a value in `document`; InputError if the path leads nowhere."""
        name, equals, value = text.partition("=")
        keys = [key.strip() for key in name.split(".")]
        if not equals or not all(keys):
            hint = 'write FIELD=VALUE, for example path.capacity="20 Mb/s"'
            raise InputError("is no setting", file=f"--set {text}", hint=hint)
        place: Any = document
        path: list[str] = []
        for key in keys[:-1]:
            found = _key_of(text, place, key, path)
            place = place.setdefault(found, {}) if isinstance(place, dict) else place[found]
            path.append(str(found))
        last = _key_of(text, place, keys[-1], path)
        place[last] = _from_here(_value(value.strip()), keys[-1])
        path.append(str(last))
        return cls(text, ".".join(path))


def _key_of(text: str, place: Any, key: str, path: list[str]) -> str | int:
    """Find what `key` means in `place`: a key, or in a list an index or the name of a flow."""
    if isinstance(place, dict):
        return key
    where = ".".join(path)
    if not isinstance(place, list):
        hint = f"set {where} as a whole"
        raise InputError(f"{where} is one value, not a table", file=f"--set {text}", hint=hint)
    if key.isdigit() and int(key) < len(place):
        return int(key)
    default = DEFAULT_NAMES.get(where)
    names = [item.get("name", default) for item in place if isinstance(item, dict)]
    if key in names:
        return names.index(key)
    given = [str(name) for name in names if name is not None]
    known = f" or a name ({', '.join(given)})" if given else ""
    hint = f"give an index from 0 to {len(place) - 1}{known}"
    raise InputError(f'"{key}" is not in {where}', file=f"--set {text}", hint=hint)


def _value(text: str) -> Any:
    """Read a value as TOML; a text needs no quotation marks here, nor in a list."""
    try:
        return json.loads(_core.parse_toml(f"value = {text}")[0])["value"]
    except ValueError:
        pass
    if text.startswith("[") and text.endswith("]"):
        return [_value(item) for item in _items(text[1:-1])]
    return text


def _items(text: str) -> list[str]:
    """Split a list at its own commas, not at those of tables, lists and texts in it."""
    items, depth, quote = [""], 0, ""
    for letter in text:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        depth += (letter in "[{") - (letter in "]}") if not quote else 0
        if letter == "," and depth == 0 and not quote:
            items.append("")
        else:
            items[-1] += letter
    return [item.strip() for item in items if item.strip()]


def _from_here(value: Any, key: str) -> Any:
    """Files of a setting that are in the working directory, where it was typed, by their place."""
    if isinstance(value, dict):
        return {name: _from_here(item, name) for name, item in value.items()}
    if isinstance(value, list):
        return [_from_here(item, key) for item in value]
    if key in FILE_KEYS and isinstance(value, str) and Path(value).expanduser().is_file():
        return str(Path(value).expanduser().resolve())
    return value
