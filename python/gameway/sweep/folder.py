"""Writing a result folder so that a kill at any point loses at most the runs in flight.

A run is computed in `<id>.partial` and renamed when it is whole; the manifest is written beside
its place, flushed to disk and renamed. One process at a time may write a folder: it holds a lock
that the system releases when the process ends, however it ends.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from gameway import _core, durable
from gameway.errors import GamewayError, InputError
from gameway.results import MANIFEST, RUNS, check_schema, read_manifest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

PARTIAL = ".partial"
LOCK = ".lock"
SESSION = "session.partial"
"""What is there so far of a session that is recorded (`gameway.lab.copying`)."""
SPEC = "spec.json"
OTHER_OUT = "give another folder with --out, or delete this one"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the folder for writing; GamewayError if another process holds it."""
    try:
        (folder / RUNS).mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=folder) from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise GamewayError(f"{folder}: another gameway writes here; wait") from None
    finally:
        os.close(descriptor)


def check_same(folder: Path, manifest: dict[str, Any]) -> dict[str, Any] | None:
    """Refuse to mix results: give the manifest found if it is of the same experiment and build."""
    if not (folder / MANIFEST).exists():
        _refuse_foreign(folder)
        return None
    found = read_manifest(folder)
    check_schema(folder, found)
    if found.get("experiment_sha256") != manifest["experiment_sha256"]:
        title = found.get("title")
        problem = f'holds results of another experiment ("{title}" with other values)'
        raise InputError(problem, file=folder, hint=OTHER_OUT)
    _check_driver(folder, found, manifest)
    if found.get("simulator_sha256") != manifest["simulator_sha256"]:
        problem = "holds results of another build of the simulator, which must not be mixed"
        raise InputError(problem, file=folder, hint=OTHER_OUT)
    return found


def _check_driver(folder: Path, found: dict[str, Any], manifest: dict[str, Any]) -> None:
    """Refuse to mix simulated with live results, or live ones of two machines."""
    # Folders of the first releases name no driver: they are simulated.
    before, now = found.get("driver", "sim"), manifest.get("driver", "sim")
    if before != now:
        words = {"sim": "simulated", "live": "live", "gateway": "recorded"}
        problem = f"holds {words.get(before, before)} results, which must not be mixed with others"
        raise InputError(problem, file=folder, hint=OTHER_OUT)
    kept, own = found.get("live") or {}, manifest.get("live") or {}
    for fact, unsaid in {"host": None, "kernel": None, "source": "scene"}.items():
        found_here = kept.get(fact, unsaid)
        if found_here != own.get(fact, unsaid):
            problem = f"holds results of another {fact} ({found_here}), not to be mixed"
            raise InputError(problem, file=folder, hint=OTHER_OUT)


def _refuse_foreign(folder: Path) -> None:
    """Refuse a folder with files that are not ours: we remove what we find in ours."""
    strangers = (
        {item.name for item in folder.iterdir()} - {RUNS, LOCK, SESSION}
        if folder.is_dir()
        else set()
    )
    strangers = {name for name in strangers if not name.startswith(f"{MANIFEST}.")}
    if strangers:
        problem = f"is not empty and no result folder (it has {min(strangers)})"
        raise InputError(problem, file=folder, hint="give another folder with --out")


def remove_partial(folder: Path) -> None:
    """Remove what a killed process left; call it only while the folder is locked."""
    for leftover in (folder / RUNS).glob(f"*{PARTIAL}"):
        shutil.rmtree(leftover)


def finished(folder: Path) -> set[str]:
    """Give the ids of the finished runs."""
    return {run.name for run in (folder / RUNS).iterdir() if not run.name.endswith(PARTIAL)}


def run_one(spec: dict[str, Any], recorded: dict[str, Any], target: Path) -> None:
    """Compute one run into the folder `target`, all or nothing; ValueError on a bad spec."""
    whole(recorded, target, lambda partial: _core.run(json.dumps(spec), str(partial)))


def whole(recorded: dict[str, Any], target: Path, compute: Callable[[Path], object]) -> None:
    """Let `compute` write the tables of a run into a folder that gets its name when it is whole."""
    partial = target.with_name(target.name + PARTIAL)
    partial.mkdir()
    try:
        compute(partial)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    (partial / SPEC).write_text(
        json.dumps(recorded, indent=1, ensure_ascii=False), encoding="utf-8"
    )
    durable.rename(partial, target)


def write_manifest(folder: Path, manifest: dict[str, Any]) -> None:
    """Write the manifest: whole or not at all."""
    durable.write(folder / MANIFEST, json.dumps(manifest, indent=1, ensure_ascii=False) + "\n")
