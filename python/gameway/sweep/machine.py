"""What computed a result: version, commit, machine."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

from gameway import _core

GIT_SECONDS = 10
CPU_INFO = Path("/proc/cpuinfo")


def describe() -> dict[str, Any]:
    """Describe this machine: CPU model, cores, operating system, Python."""
    return {
        "cpu": _cpu_model(),
        "cores": cores(),
        "os": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": platform.python_version(),
    }


def cores() -> int:
    """Count the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@cache
def simulator_digest() -> str:
    """Give the SHA-256 of the simulator's library: two builds may give different numbers."""
    return hashlib.sha256(Path(str(_core.__file__)).read_bytes()).hexdigest()


def commit() -> dict[str, Any] | None:
    """Give the commit of the source tree this package lies in, and whether it has changes."""
    here = Path(__file__).resolve().parent
    head = _git(here, "rev-parse", "HEAD")
    # An installed package may lie inside somebody else's repository: ours tracks this very file.
    if head is None or not _git(here, "ls-files", "machine.py"):
        return None
    return {"id": head, "dirty": bool(_git(here, "status", "--porcelain", "--untracked-files=no"))}


def _git(folder: Path, *arguments: str) -> str | None:
    command = ["git", "-C", str(folder), *arguments]
    try:
        done = subprocess.run(  # noqa: S603 (fixed arguments)
            command, capture_output=True, text=True, timeout=GIT_SECONDS, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def _cpu_model() -> str:
    try:
        lines = CPU_INFO.read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or "unknown"
