"""The experiments that come with Gameway, by name: for `gameway reproduce`."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from gameway.errors import InputError
from gameway.fields import nearest

FILE = "experiment.toml"


def folder() -> Path:
    """Give the folder of the experiments: of the source tree, or of the installed package."""
    package = Path(str(resources.files("gameway")))
    tree = package.parents[1]
    in_tree = (tree / "crates" / "python" / "Cargo.toml").is_file()
    return (tree if in_tree else package) / "experiments"


def names() -> list[str]:
    """List the names of the experiments."""
    return sorted(file.parent.name for file in folder().glob(f"*/{FILE}"))


def find(name: str) -> Path:
    """Give the file of an experiment by name; InputError that lists the names."""
    if name not in names():
        hint = nearest(name, names()) if names() else f"none is in {folder()}"
        raise InputError(f'"{name}" is no experiment of this installation', hint=hint)
    return folder() / name / FILE
