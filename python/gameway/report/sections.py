"""The figures of a report: which of them this experiment calls for, in order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gameway.figures.delays import frame_delay_panels, queue_delay_panels
from gameway.figures.fairness import adaptiveness_panels
from gameway.figures.heatmaps import duration_panels, fairness_panels
from gameway.figures.overview import metric_panels
from gameway.figures.series import bitrate_panels, rtt_panels
from gameway.figures.timeline import timeline
from gameway.metrics.catalogue import metric_of_column
from gameway.metrics.summary import Condition, conditions, summary_table
from gameway.page import Figure, Panel
from gameway.report import flows
from gameway.report.findings import ranked_columns, scope_of

if TYPE_CHECKING:
    import polars as pl

    from gameway.metrics.source import ResultFolder
    from gameway.published import Reference

# Runs that are shown in detail: one per controller, at most so many.
MAX_TIMELINES = 8
# Metrics that have a figure of their own, at most.
MAX_OVERVIEWS = 6


def figures_of(results: ResultFolder, reference: Reference | None) -> list[Figure]:
    """The figures that this experiment calls for; those without data are left out."""
    table = summary_table(results)
    if table.is_empty():
        return flows.figures(results)
    competes = scope_of(table) == "competing"
    found = [_bitrate(results, reference, competes=competes)]
    if competes:
        found += _competition(results, reference)
    found += [_rtt(results), _frame_delay(results), _queue_delay(results)]
    found += _overview(results, table)
    found.append(_timelines(results))
    return [figure for figure in found if figure.panels]


def _published(number: int, reference: Reference | None) -> str:
    return f" As the paper's Figure {number}." if reference else ""


def _bitrate(results: ResultFolder, reference: Reference | None, *, competes: bool) -> Figure:
    caption = "Mean over the runs of a condition in bins of 0.5 s, with its 95 % interval."
    if competes:
        caption += (
            " Vertical dashed lines: the competitor starts and stops. Horizontal dashed line: an "
            "equal share of the capacity."
        )
    caption += _published(2, reference)
    return Figure("bitrate", "Bitrate over time", caption, bitrate_panels(results))


def _competition(results: ResultFolder, reference: Reference | None) -> list[Figure]:
    fair = (
        "Bitrate of the stream less that of the competitor, as a share of the capacity. Red: the "
        "stream has more; blue: the competitor has more." + _published(3, reference)
    )
    response = (
        "Seconds from the competitor's start until the mean bitrate is within one standard "
        "deviation of its adjusted level. Black: never." + _published(4, reference)
    )
    recovery = (
        "Seconds from the competitor's stop until the mean bitrate is within one standard "
        "deviation of its original level. Black: never." + _published(4, reference)
    )
    adaptive = (
        "Each point is one condition; rings are means of a controller. Right: the stream takes "
        "more than the competitor. Up: it responds and recovers more quickly, relative to the "
        "slowest of all conditions here." + _published(5, reference)
    )
    return [
        Figure("fairness", "Share against the competitor", fair, fairness_panels(results)),
        Figure("response", "Response time", response, duration_panels(results, "response_s")),
        Figure("recovery", "Recovery time", recovery, duration_panels(results, "recovery_s")),
        Figure("adaptiveness", "Adaptiveness and fairness", adaptive, adaptiveness_panels(results)),
    ]


def _rtt(results: ResultFolder) -> Figure:
    caption = (
        "Mean over the runs of a condition of the pings that were sent together, drawn from the "
        "time at which they were sent."
    )
    return Figure("rtt", "Round-trip time", caption, rtt_panels(results))


def _frame_delay(results: ResultFolder) -> Figure:
    caption = (
        "Share of frames whose last needed packet arrived within so many milliseconds of the first "
        "packet being sent, over all runs of a condition. Frames that never became complete keep "
        "a curve below 100 %."
    )
    return Figure("frame-delay", "Frame delay", caption, frame_delay_panels(results))


def _queue_delay(results: ResultFolder) -> Figure:
    caption = "Share of the stream's packets that waited in the bottleneck queue for so long."
    return Figure("queue-delay", "Queueing delay", caption, queue_delay_panels(results))


def _overview(results: ResultFolder, table: pl.DataFrame) -> list[Figure]:
    caption = "Means over runs with 95 % intervals. The axis need not begin at zero."
    panels = [
        Panel(
            {"metric": metric_of_column(column).label} | panel.where, panel.chart, panel.description
        )
        for column in ranked_columns(table)[:MAX_OVERVIEWS]
        for panel in metric_panels(results, column)
    ]
    return [Figure("metrics", "Metrics by condition", caption, panels)]


def _timelines(results: ResultFolder) -> Figure:
    caption = (
        "One run of each controller in detail: bitrates, queue, level and buffer of videos, and "
        "what the controller's decisions rested on. All that it logged is in the run's table "
        "controller.parquet."
    )
    panels = [
        Panel({"run": c.runs[0].id}, timeline(c.runs[0]), f"Time series of run {c.runs[0].id}.")
        for c in _examples(conditions(results))
    ]
    return Figure("runs", "Single runs", caption, panels)


def _examples(found: list[Condition]) -> list[Condition]:
    """The middle condition of each controller, in the order of the experiment."""
    by_controller: dict[str, list[Condition]] = {}
    for condition in found:
        by_controller.setdefault(str(condition.keys.get("controller")), []).append(condition)
    return [group[len(group) // 2] for group in by_controller.values()][:MAX_TIMELINES]
