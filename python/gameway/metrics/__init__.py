"""Metrics of game streams and videos, defined once, from result tables.

    from gameway.metrics import METRICS, per_run_table, summary_table

Simulated, live and captured traffic write the same tables and are measured by this code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gameway.metrics.catalogue import (
    CONDITION_METRICS,
    METRICS,
    SCOPES,
    VIDEO_METRICS,
    Metric,
)
from gameway.on_demand import loader

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
# Who lists the metrics needs no table.
__getattr__ = loader(__name__, _HOMES)


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
