"""Figures of result folders as Altair charts.

from gameway import Results, figures

chart = figures.bitrate_over_time(Results.open("results/mine"), {"capacity": "25 Mb/s"})
chart.save("bitrate.svg")
"""

from gameway.figures.delays import frame_delay_distribution, queue_delay_shares
from gameway.figures.fairness import adaptiveness_and_fairness
from gameway.figures.heatmaps import fairness, recovery_times, response_times
from gameway.figures.overview import metric_means
from gameway.figures.series import bitrate_over_time, rtt_over_time
from gameway.figures.timeline import run_timeline
from gameway.figures.viewers import both_sides

__all__ = [
    "adaptiveness_and_fairness",
    "bitrate_over_time",
    "both_sides",
    "fairness",
    "frame_delay_distribution",
    "metric_means",
    "queue_delay_shares",
    "recovery_times",
    "response_times",
    "rtt_over_time",
    "run_timeline",
]
