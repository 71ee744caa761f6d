"""What `gameway doctor` says of the lab: whether `gameway play --lab` can run on this machine."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

from gameway.live import namespaces, offers
from gameway.live.namespaces import LiveError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Check = tuple[str, bool | None, str, str | None]
"""Name, whether it works (None: not needed here), what was found, how to mend it."""

TOOLS: Mapping[str, tuple[tuple[str, ...], str]] = {
    name: offers.TOOLS[name] for name in ("ip", "nsenter", "setpriv", "sysctl", "ping", "iperf3")
} | {"nft": (("nft", "--version"), "nftables")}
"""How each tool tells its version, and the package of Debian that has it."""
DOWNLOADS = ("cubic", "bbr")
"""The kernel's congestion controls that downloads of a session have."""
SECONDS = 2
"""Longer no tool takes to tell its version."""


def checks() -> list[Check]:
    """Make all checks of the lab."""
    return [spaces(), tools(TOOLS), downloads(offers.algorithms())]


def spaces() -> Check:
    """Try whether namespaces can be made: those of a session are, and are removed."""
    name = "lab namespaces"
    try:
        namespaces.require()
        with namespaces.Namespaces() as own:
            own.connect(flows=1)
    except LiveError as error:
        if os.geteuid() != 0:
            return (name, None, "gameway play --lab needs root", "sudo gameway doctor tries it")
        return (name, False, str(error), "in a container: start it with what is named there")
    return (name, True, "made, connected and removed", None)


def tools(needed: Mapping[str, tuple[Sequence[str], str]]) -> Check:
    """Try each tool that the lab calls."""
    missing = [name for name, (command, _) in needed.items() if not runs(command)]
    if not missing:
        return ("lab tools", True, ", ".join(needed), None)
    packages = " ".join(dict.fromkeys(needed[name][1] for name in missing))
    return ("lab tools", False, f"no {', no '.join(missing)}", f"apt install {packages}")


def runs(command: Sequence[str]) -> bool:
    """Whether a tool tells its version."""
    if shutil.which(command[0]) is None:
        return False
    try:
        done = subprocess.run(  # noqa: S603 (fixed programs)
            command, capture_output=True, timeout=SECONDS, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return done.returncode == 0


def downloads(known: Sequence[str]) -> Check:
    """Say which congestion controls downloads may have."""
    missing = [name for name in DOWNLOADS if name not in known]
    if not missing:
        return ("lab downloads", True, f"the kernel has {' and '.join(DOWNLOADS)}", None)
    modules = " ".join(f"tcp_{name}" for name in missing)
    return ("lab downloads", False, f"the kernel has no {', no '.join(missing)}",
            f"modprobe --all {modules}")  # fmt: skip
