"""What a package offers and loads when it is asked for (PEP 562)."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def loader(package: str, homes: Mapping[str, tuple[str, ...]]) -> Callable[[str], Any]:
    """Give the `__getattr__` of a package whose modules have these names."""
    home_of = {name: home for home, names in homes.items() for name in names}

    def load(name: str) -> Any:
        if name not in home_of:
            msg = f"module {package!r} has no attribute {name!r}"
            raise AttributeError(msg)
        return getattr(import_module(f"{package}.{home_of[name]}"), name)

    return load
