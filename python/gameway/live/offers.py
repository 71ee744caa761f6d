"""What this machine offers to live runs: its TCP algorithms, its tools, and what runs set."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from gameway.errors import GamewayError

if TYPE_CHECKING:
    from collections.abc import Mapping

PROC = Path("/proc/sys")
AVAILABLE = PROC / "net/ipv4/tcp_available_congestion_control"
VERSION_SECONDS = 10
KERNEL_NAMES: Mapping[str, str] = {"newreno": "reno"}
"""What Linux calls a congestion control that an experiment file calls otherwise."""

SYSCTLS: Mapping[str, str] = {
    "net.ipv4.tcp_no_metrics_save": "1",
    "net.ipv4.tcp_rmem": "4096 131072 33554432",
    "net.ipv4.tcp_wmem": "4096 131072 33554432",
    "net.ipv4.tcp_ecn": "2",
    "net.ipv4.tcp_congestion_control": "reno",
    "net.ipv6.conf.all.disable_ipv6": "1",
}
"""Set in the namespaces of both ends of each run.

no_metrics_save   a connection must not begin with what an earlier one learnt of the path
rmem, wmem        32 MiB of memory, Linux's own limit of receiving since 6.16: with packets of 1500
                  B a window of 20 MiB, up to which the kernel tunes it (receive_window = "auto");
                  as much for sending, where Linux's own limit is 4 MiB, so that the receiver or
                  the congestion control limits what is in flight; the middle is where tuning starts
ecn               2: agreed to where the other end asks; a flow with ecn = "classic" asks, by its
                  route
congestion_control
                  what a connection begins with: iperf3's server chooses a flow's own after it is
                  made, and a machine whose default is BBR would leave CUBIC and Reno paced
disable_ipv6      no neighbour or router discovery among what is measured
"""
TOOLS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "ip": (("ip", "-V"), "iproute2"),
    "ping": (("ping", "-V"), "iputils-ping"),
    "iperf3": (("iperf3", "--version"), "iperf3"),
    "tcpdump": (("tcpdump", "--version"), "tcpdump"),
    "setpriv": (("setpriv", "--version"), "util-linux"),
    "nsenter": (("nsenter", "--version"), "util-linux"),
    "sysctl": (("sysctl", "--version"), "procps"),
    "Xvfb": ((), "xvfb"),
    "ffmpeg": (("ffmpeg", "-version"), "ffmpeg"),
    "nginx": (("nginx", "-v"), "nginx-light"),
    "chromium": (("chromium", "--version"), "chromium"),
}
"""How each tool tells its version, if it does, and the package of Debian that has it."""


def buffer_limits() -> dict[str, int]:
    """Give what a program may set of a socket's buffers at most; empty where nobody tells."""
    found = {}
    for name in ("net.core.rmem_max", "net.core.wmem_max"):
        with suppress(OSError, ValueError):
            found[name] = int((PROC / name.replace(".", "/")).read_text(encoding="ascii"))
    return found


def algorithms() -> list[str]:
    """Give the congestion controls of the kernel's TCP, by the kernel's names."""
    try:
        return sorted(AVAILABLE.read_text(encoding="utf-8").split())
    except OSError:
        return []


def kernel_name(congestion_control: str) -> str:
    """Give what Linux calls a congestion control of an experiment file."""
    return KERNEL_NAMES.get(congestion_control, congestion_control)


def file_name(algorithm: str) -> str:
    """Give what an experiment file calls a congestion control of the kernel."""
    return {kernel: own for own, kernel in KERNEL_NAMES.items()}.get(algorithm, algorithm)


def check_tools(needed: list[str]) -> None:
    """Refuse a machine without a tool that a run needs; one error names all that are missing."""
    missing = [name for name in needed if shutil.which(name) is None]
    if missing:
        packages = " ".join(dict.fromkeys(TOOLS[name][1] for name in missing))
        raise GamewayError(
            f"live runs need {' and '.join(missing)}; install with: apt install {packages}"
        )


def facts() -> dict[str, object]:
    """What the manifest says of the machine of live runs."""
    return {
        "host": platform.node(),
        "kernel": f"{platform.release()} {platform.version()}",
        "congestion_controls": algorithms(),
        "tools": versions(),
        "sysctls": dict(SYSCTLS),
        "offloads": "off (TUN without virtual headers carries whole packets only)",
    }


@cache
def versions() -> dict[str, str]:
    """Give the versions of the tools that are there."""
    found = {name: _version(command) for name, (command, _) in TOOLS.items() if command}
    return {name: version for name, version in found.items() if version}


def _version(command: tuple[str, ...]) -> str:
    try:
        done = subprocess.run(  # noqa: S603 (fixed arguments)
            command, capture_output=True, text=True, timeout=VERSION_SECONDS, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    first = next(iter((done.stdout or done.stderr).splitlines()), "")
    number = re.search(r"\d[\w.+-]*", first)
    return number[0] if number else first
