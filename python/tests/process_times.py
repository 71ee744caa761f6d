"""What the kernel says of a process in `/proc/PID/stat` (proc(5))."""

from __future__ import annotations

import os
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


def stat(pid: int) -> list[str]:
    """The fields of a process behind its name; none if it is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text("utf-8")
    except OSError:
        return []
    return text.rpartition(")")[2].split()


def cpu_seconds(pid: int) -> float:
    """The processor time of a process, its own and the kernel's in its name; 0 if it is gone."""
    fields = stat(pid)
    return (int(fields[11]) + int(fields[12])) / TICKS if fields else 0.0
