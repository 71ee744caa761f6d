"""The packages that users install: how they are built, and environments to install them into."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tarfile
import venv
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.requirements import Requirement

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

ROOT = Path(__file__).resolve().parents[2]
OWN = Path(sys.prefix)
"""The environment of these tests, in which the checkout is installed."""

BUILT_WITH = ROOT / ".make" / "develop"
"""Where the Makefile keeps the features of the module in that environment."""

READ_BY_THE_BUILD = ROOT / "target" / "release" / "lib_core.d"
"""Where cargo keeps the files that this module was made from."""

WITHIN = """
root=$1 source=$2 kept=$3 environment=$4; shift 4
for name in target "$environment"; do mount --bind "$root/$name" "$kept/$name"; done
mount --bind "$source" "$root"
for name in target "$environment"; do mount --bind "$kept/$name" "$root/$name"; done
cd "$root"; exec "$@"
"""
"""Puts a source package in the place of the checkout, with what was built there; runs a command.

In a namespace of mounts of its own: nobody else sees it, and it ends with the command."""

LONG_AGO = 1_000_000_000
"""A time of files, in seconds since 1970, before anything was built."""


def run(*words: str | Path, cwd: Path = ROOT, more: Mapping[str, str] | None = None) -> str:
    """Run a program and give what it prints; what it complains of is in the failure."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment |= more or {}
    done = subprocess.run(
        words, cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def maturin(command: str, *words: str, folder: Path, more: Mapping[str, str] | None = None) -> Path:
    """Build a package into an empty folder, and give its file."""
    run(OWN / "bin" / "maturin", command, *words, "--out", folder, more=more)
    (made,) = folder.iterdir()
    return made


def build_as_the_checkout(source_package: Path, folder: Path) -> Path:
    """Build a wheel of a source package as pip does, where the checkout stands, and give its file.

    There, and with files of long ago, cargo takes what it has compiled for the checkout, and
    compiles what differs. A file that is missing fails the build.
    """
    with tarfile.open(source_package) as archive:
        archive.extractall(folder / "unpacked", filter="data")
    (top,) = (folder / "unpacked").iterdir()
    for path in [top, *top.rglob("*")]:
        os.utime(path, (LONG_AGO, LONG_AGO))
    kept, wheels = folder / "kept", folder / "wheels"
    for name in ("target", OWN.name):
        (top / name).mkdir()
        (kept / name).mkdir(parents=True)
    features = f"--offline --features {BUILT_WITH.read_text('utf-8').strip()} --auditwheel skip"
    pip = (OWN / "bin" / "python", "-m", "pip", "--disable-pip-version-check", "wheel", "--quiet")
    how = ("--no-deps", "--no-index", "--no-build-isolation", "--wheel-dir", wheels, ".")
    place = (ROOT, top, kept, OWN.name)
    within = ("unshare", "--mount", "sh", "-euc", WITHIN, "sh")
    programs = f"{OWN / 'bin'}:{os.environ['PATH']}"
    run(*within, *place, *pip, *how, more={"MATURIN_PEP517_ARGS": features, "PATH": programs})
    (made,) = wheels.iterdir()
    return made


def files(source_package: Path) -> set[str]:
    """The files of a source package, without the folder that they are in."""
    with tarfile.open(source_package) as archive:
        return {name.partition("/")[2] for name in archive.getnames()}


def read_by_the_build() -> set[str]:
    """What cargo read of the checkout to build the module: sources, and what they include."""
    _, _, names = READ_BY_THE_BUILD.read_text("utf-8").partition(": ")
    paths = [os.path.normpath(name) for name in names.replace("\\ ", "\0").split()]
    found = _files_below(Path(path.replace("\0", " ")) for path in paths)
    # Cargo watches the whole folder of the experiments; their tests and bytecode are not built in.
    return {name for name in found if not name.startswith("experiments/") or _is_packed(name)}


def python_package() -> set[str]:
    """The Python half of the package, without what a build leaves there."""
    left = {"__pycache__", "experiments", ".gitignore"}
    tops = [p for p in (ROOT / "python" / "gameway").iterdir() if p.name not in left]
    found = _files_below(top for top in tops if top.suffix != ".so")
    return {name for name in found if "__pycache__" not in name}


def experiments() -> set[str]:
    """The files of the experiments, without their tests."""
    return {name for name in _files_below([ROOT / "experiments"]) if _is_packed(name)}


def _is_packed(name: str) -> bool:
    return not {"tests", "__pycache__"} & set(Path(name).parts)


def _files_below(paths: Iterable[Path]) -> set[str]:
    ours = [path for path in paths if not path.is_relative_to(ROOT / "target")]
    below = [file for path in ours for file in (path.rglob("*") if path.is_dir() else [path])]
    return {str(file.relative_to(ROOT)) for file in below if file.is_file()}


def environment(folder: Path, *, with_pip: bool = False) -> Path:
    """Make an empty environment, and give its Python."""
    venv.create(folder, symlinks=True, with_pip=with_pip)
    return folder / "bin" / "python"


def packages_of(python: Path) -> Path:
    return Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())


def install_alone(wheel: Path, python: Path) -> None:
    """Install a wheel without what it needs."""
    pip: list[str | Path] = [OWN / "bin" / "python", "-m", "pip", "--python", python, "--quiet"]
    run(*pip, "install", "--no-deps", "--no-index", "--disable-pip-version-check", wheel)


def needed(requirements: Iterable[str]) -> set[str]:
    """The distributions that requirements lead to, one after the other, without extras."""
    found: set[str] = set()
    waiting = list(requirements)
    while waiting:
        wanted = Requirement(waiting.pop())
        applies = wanted.marker is None or wanted.marker.evaluate({"extra": ""})
        if applies and wanted.name not in found:
            found.add(wanted.name)
            waiting += metadata.requires(wanted.name) or []
    return found


def lend(distributions: Iterable[str], python: Path) -> None:
    """Put distributions of this environment into another one, by links."""
    target = packages_of(python)
    for name in distributions:
        distribution = metadata.distribution(name)
        for top in {file.parts[0] for file in distribution.files or [] if file.parts[0] != ".."}:
            if top != "__pycache__" and not (target / top).exists():
                (target / top).symlink_to(str(distribution.locate_file(top)))


def demo(python: Path, folder: Path, *more: str) -> dict[str, str]:
    """Run the demo of an installation once for each condition, and give what its tables hash to."""
    folder.mkdir()
    gameway = python.with_name("gameway")
    run(gameway, "reproduce", "demo", "--runs", "1", "--out", "r", *more, cwd=folder)
    tables = sorted((folder / "r" / "runs").rglob("*.parquet"))
    hashes = [hashlib.sha256(file.read_bytes()).hexdigest() for file in tables]
    names = [str(file.relative_to(folder)) for file in tables]
    return dict(zip(names, hashes, strict=True))
