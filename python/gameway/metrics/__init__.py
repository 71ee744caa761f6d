"""Metrics of game streams and videos, defined once, from result tables.

    from gameway.metrics import METRICS, per_run_table, summary_table

Simulated, live and captured traffic write the same tables and are measured by this code.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gameway.metrics.catalogue import (
    CONDITION_METRICS,
    METRICS,
    SCOPES,
    VIDEO_METRICS,
    Metric,
)

if TYPE_CHECKING:
    from gameway.metrics.source import ResultFolder
    from gameway.metrics.summary import summary_table
    from gameway.metrics.table import METRICS_VERSION, per_run_table
    from gameway.metrics.videos import video_summary_table, video_table

_HOMES = {
    "source": ("ResultFolder",),
    "summary": ("summary_table",),
    "table": ("METRICS_VERSION", "per_run_table"),
    "videos": ("video_summary_table", "video_table"),
}


def __getattr__(name: str) -> Any:
    """Load what measures when it is asked for: who lists the metrics needs no table."""
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"gameway.metrics.{home}"), name)
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)


def __dir__() -> list[str]:
    """Name what is loaded on demand, too."""
    return sorted({*globals(), *__all__})


__all__ = [
    "CONDITION_METRICS",
    "METRICS",
    "METRICS_VERSION",
    "SCOPES",
    "VIDEO_METRICS",
    "Metric",
    "ResultFolder",
    "per_run_table",
    "summary_table",
    "video_summary_table",
    "video_table",
]
