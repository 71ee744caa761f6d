"""Values set from the command line: `--set path.capacity="20 Mb/s"`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from gameway import _core
from gameway.errors import InputError

DEFAULT_NAMES = {"stream": "game", "competitor": "download"}
"""Names of the flows whose tables give none."""


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
        place[last] = _value(value.strip())
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
        return [_value(item.strip()) for item in text[1:-1].split(",") if item.strip()]
    return text
