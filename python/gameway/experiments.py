"""The experiments that come with Gameway, by name: for `gameway reproduce`.

A folder of an experiment has one `experiment.toml`, or several `*.toml` files: then it is a suite,
and each file is a part of it. What is special to an experiment lies in its folder, too: a suite's
page (`page.py`), published figures (`gameway.published`), tests. Its code is imported by the
folder's name: `gameway.experiments.pudica.page`.
"""

from __future__ import annotations

import tomllib
from importlib import resources
from pathlib import Path

from gameway.errors import InputError, nearest

FILE = "experiment.toml"
PUBLISHED = "published.toml"
"""Declares the tables of a publication that an experiment is compared with; no part of a suite."""


def folder() -> Path:
    """Give the folder of the experiments: of the source tree, or of the installed package."""
    package = Path(str(resources.files("gameway")))
    tree = package.parents[1]
    in_tree = (tree / "Cargo.toml").is_file() and (tree / "experiments").is_dir()
    return (tree if in_tree else package) / "experiments"


__path__ = [str(folder())]
"""Where Python finds the modules of this package: the folders of the experiments."""


def names() -> list[str]:
    """List the names of the experiments."""
    return sorted({file.parent.name for file in folder().glob("*/*.toml")})


def published() -> list[str]:
    """List the experiments whose publication others may be compared with, too."""
    return sorted(file.parent.name for file in folder().glob(f"*/{PUBLISHED}"))


def find(name: str) -> Path:
    """Give the file of an experiment by name, or the folder of a suite."""
    if name not in names():
        hint = nearest(name, names()) if names() else f"none is in {folder()}"
        raise InputError(f'"{name}" is no experiment of this installation', hint=hint)
    own = folder() / name
    return own if is_suite(own) else own / FILE


def is_suite(path: Path) -> bool:
    """Whether a folder holds the parts of a suite."""
    return path.is_dir() and not (path / FILE).is_file() and bool(part_files(path))


def part_files(suite: Path) -> list[Path]:
    """Give the experiment files of a suite, in the order of their names."""
    return sorted(file for file in suite.glob("*.toml") if file.name != PUBLISHED)


def title(name: str) -> str:
    """Give the title of an experiment: of its file, or of a suite's README."""
    found = find(name)
    if found.is_dir():
        return suite_title(found)
    return str(tomllib.loads(found.read_text("utf-8")).get("title", name))


def suite_title(suite: Path) -> str:
    """Give the heading of a suite's README, or its name."""
    try:
        lines = (suite / "README.md").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    heading = next((line for line in lines if line.startswith("# ")), "")
    return heading.removeprefix("# ").strip() or suite.name
