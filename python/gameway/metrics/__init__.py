"""Metrics of game streams and videos, defined once, from result tables.

    from gameway.metrics import METRICS, per_run_table, summary_table

Simulated, live and captured traffic write the same tables and are measured by this code.
"""

from gameway.metrics.catalogue import (
    CONDITION_METRICS,
    METRICS,
    SCOPES,
    VIDEO_METRICS,
    Metric,
)
from gameway.metrics.source import ResultFolder
from gameway.metrics.summary import summary_table
from gameway.metrics.table import METRICS_VERSION, per_run_table
from gameway.metrics.videos import video_summary_table, video_table

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
