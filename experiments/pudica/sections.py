"""The sections of Pudica's page: each figure with what was published in words, and ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from gameway.page import Figure, Section, Table, figure

from . import figures as charts
from . import laws, published
from .claims import ORACLE
from .estimates import estimate_groups, estimate_quantiles
from .phases import phases, trajectories
from .sessions import convergence, sessions
from .text import estimate, means

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gameway.results import Results

CLAIMS = (
    "Means over the sessions of the population, and how much more a controller has than Pudica on "
    "the same path (paired, bootstrap over paths). Three flows: from 40 s on, when all are there. "
    "Queue met: at the bottleneck, by the first packet of a frame; it leaves out how slowly a "
    "controller paces a frame. Spread: from capture to the last packet sent."
)
TABLE_3 = "Pudica with another estimate of the utilization, and with AI/MD in place of AI-MD."
TABLE_4 = TABLE_3 + " Three flows begin together."
TABLE_5 = "Pudica without temporary fallback, and without active draining."
TABLE_6 = "Each constant of Pudica set to the paper's other values."
FIGURE_10 = {
    "utilization_percent": "Utilization (%)",
    "steady_s": "Time to steady state (s)",
    "jain_index": "Jain's index",
    "fair_s": "Time to fair state (s)",
}
PUBLISHED_10 = {"utilization_percent": "utilization_percent", "jain_index": "jain_fairness"}
STEADY_WITHIN_S = 6.0
# Figure 7: what counts as a high utilization, and as an estimate that misses the other flow.
BUSY, MISSED = 0.8, 0.1


def figure_7(results: Results | None) -> Section | None:
    """The estimators."""
    if results is None:
        return None
    groups = estimate_groups(results)
    rows = estimate_quantiles(groups)
    order = rows["estimator"].unique(maintain_order=True).to_list()
    shown = figure(
        "figure-7",
        "Estimate over true utilization",
        charts.estimates(rows, order),
        caption="Median (orange), quartiles (blue) and 5 to 95 % (line) of the groups' mean "
        "estimates; dashed: the truth.",
        description="Estimate of the utilization over the true one, for each estimator.",
    )
    errors = (
        groups.with_columns(
            error=pl.col("estimate") - pl.col("truth"), busy=pl.col("truth") >= BUSY
        )
        .group_by("estimator", "busy", maintain_order=True)
        .agg(
            groups=pl.len(),
            bias=pl.col("error").mean(),
            rms=(pl.col("error") ** 2).mean().sqrt(),
            under=100.0 * (pl.col("error") < -MISSED).mean(),
        )
        .sort(pl.col("busy"), maintain_order=True)
    )
    table = errors.select(
        "estimator",
        pl.when("busy").then(pl.lit("0.8 and more")).otherwise(pl.lit("below 0.8")).alias("truth"),
        "groups",
        pl.col("bias").alias("mean error"),
        pl.col("rms").alias("root mean square error"),
        pl.col("under").alias("more than 0.1 too low, %"),
    )
    text = (
        "Published (Figure 7, in words): fixed 2x pacing and bursts are prone to overlook a "
        "competing flow and underestimate, above all at high utilization; adaptive paces with "
        "probe packets are the most accurate, and vary less as the true utilization rises."
    )
    errors_table = Table("Error of the estimate", table, "figure-7-errors", main=True)
    return Section("Figure 7: estimators", text, [errors_table], [shown])


def figure_10(one: pl.DataFrame | None, three: pl.DataFrame | None) -> Section | None:
    """Convergence over the population."""
    known = [rows for rows in (one, three) if rows is not None]
    if not known:
        return None
    names = known[0]["controller"].unique(maintain_order=True).to_list()
    order = [name for name in names if name != ORACLE]
    drawn = {} if one is None else dict.fromkeys(("utilization_percent", "steady_s"), one)
    drawn |= {} if three is None else dict.fromkeys(("jain_index", "fair_s"), three)
    chart = charts.distributions(drawn, FIGURE_10, order)
    shown = figure(
        "figure-10",
        "Distributions over paths",
        chart,
        caption="Share of sessions with "
        "at most so much. A line that ends below 100 %: the others never got there.",
        description="Four cumulative distributions, a line for each controller.",
    )
    text = (
        "Published: averages of 77.6 % utilization for Pudica, 76.8 % SQP, 70.8 % Copa, 68.7 % "
        "Salsify; more than 80 % of the flows of Pudica and of Salsify are steady within 6 s, SQP "
        "takes 9.7 s on average; fairness index 0.95 Pudica, 0.735 SQP, 0.965 Copa, 0.947 Salsify; "
        "Salsify is the quickest to a fair state, SQP the slowest."
    )
    return Section(
        "Figure 10: convergence over the paths", text, [_figure_10_table(drawn, order)], [shown]
    )


def figure_12(results: Results | None, drained: pl.DataFrame | None) -> Section | None:
    """Capacity steps."""
    if results is None or drained is None:
        return None
    found = means(
        drained,
        ["fall", "controller"],
        {
            "peak_ms": "queue's peak, ms",
            "cut_ms": "fall to cut, ms",
            "drain_ms": "cut to empty, ms",
            "empty_ms": "fall to empty, ms",
        },
    )
    text = (
        "Published: Pudica empties the queue in typically 200 ms, then recovers in one step; SQP "
        "takes nearly five seconds; Salsify and Copa oscillate persistently.\n"
        "Cut: the first frame encoded at less than 80 % of the earlier target. Empty: the first "
        "packet of a frame meets less than 1 ms of queue. Means over runs with 95 % intervals."
    )
    table = Table("How long the queue takes to empty", found, "figure-12-drains", main=True)
    shown = [_over_time("figure-12", results)]
    return Section("Figure 12: the capacity alters", text, [table], shown)


def figure_13(results: Results | None) -> Section | None:
    """Three flows."""
    if results is None:
        return None
    text = (
        "Published: Pudica converges quickly and without queues whenever a flow comes or goes; SQP "
        "shares badly, and its flows raise each other's delay; Salsify and Copa share decently but "
        "oscillate in bitrate and delay."
    )
    table = Table("By the number of flows", phases(results), "figure-13-phases", main=True)
    return Section(
        "Figure 13: three flows come and go", text, [table], [_over_time("figure-13", results)]
    )


def figure_15(results: Results | None) -> Section:
    """Fairness trajectories, iterated and measured."""
    paths = pl.concat([_iterated(law) for law in laws.LAWS])
    chart = charts.trajectories(paths, list(laws.LAWS.values()), "Flow 2, share of capacity")
    found = [
        figure(
            "figure-15",
            "Laws, iterated",
            chart,
            caption="From the orange point. Dashed: equal shares, and the whole capacity.",
            description="Trajectories of two flows.",
        )
    ]
    summary = pl.DataFrame([laws.summary(law) for law in laws.LAWS])
    shown = [Table("Laws, iterated", summary, "figure-15-laws")]
    if results is not None:
        rows, times = trajectories(results)
        panels = rows["panel"].unique(maintain_order=True).to_list()
        chart = charts.trajectories(rows, panels, "Flow 2, share of capacity")
        found.append(
            figure(
                "figure-15-measured",
                "Two streams, measured",
                chart,
                caption="Received bitrates in steps of 0.5 s, of the first run.",
                description="Measured trajectories of two streams.",
            )
        )
        shown.append(Table("Two streams, measured", times, "figure-15-measured", main=True))
    text = (
        "Published: AI-MD over-sends less often than AI/MD and becomes fair sooner; a step that "
        "grows more slowly for the larger flow speeds it up further. The paper calls its diagrams "
        "illustrations that are not the exact algorithm."
    )
    return Section("Figure 15: fairness trajectories", text, shown, found)


def figure_16(results: Results | None) -> Section | None:
    """Alone."""
    text = (
        "Published: Pudica and SQP converge with a negligible queue; Salsify and Copa keep low "
        "delays with oscillating bitrates; GCC has periodic spikes of delay."
    )
    return _alone("figure-16", "Figure 16: alone on 20 Mb/s", text, results)


def figure_17(results: Results | None) -> Section | None:
    """Periodic jitter."""
    text = (
        "Published: Pudica balances reaction and resilience; SQP is robust to the jitter; Salsify "
        "and Copa overrate the network after a burst of arrivals and overshoot. No controller can "
        "have less than the held 40 ms in its largest delays."
    )
    return _alone("figure-17", "Figure 17: 40 ms of jitter every 500 ms", text, results)


def figure_18(results: Results | None) -> Section | None:
    """Beside CUBIC."""
    if results is None:
        return None
    text = (
        "Published: Pudica holds its own where the buffer is small (10 kB), and fails to compete "
        "where it is larger (50 kB): sacrificing delay for bitrate is no goal of it."
    )
    table = Table(
        "Before, beside and after the download", phases(results), "figure-18-shares", main=True
    )
    return Section(
        "Figure 18: beside a CUBIC download", text, [table], [_over_time("figure-18", results)]
    )


def white_jitter(results: Results | None) -> Section | None:
    """Jitter of each packet."""
    if results is None:
        return None
    rows = sessions(results).join(
        convergence(results).select("run", "utilization_percent"), on="run"
    )
    factor = results.runs.select(run="id", deviation="jitter_deviation")
    found = means(
        rows.join(factor, on="run"),
        ["controller", "deviation"],
        {
            "utilization_percent": "utilization, %",
            "delay_p95_ms": "95 % delay, ms",
        },
    )
    text = (
        "Not in the paper. Each packet draws its own delay and packets keep their order, so that "
        "the last packet of every frame has about the largest of its frame's draws, while D_min "
        "is the least of ten seconds: R = (D - D_min) / L is too high by the difference, in every "
        "frame, and Pudica rests below the link."
    )
    table = Table("Utilization and delay by the deviation of the jitter", found, "white-jitter")
    return Section("Jitter of each packet", text, [table])


def _alone(name: str, title: str, text: str, results: Results | None) -> Section | None:
    if results is None:
        return None
    rows = sessions(results, 10.0).join(
        convergence(results).select("run", "utilization_percent"), on="run"
    )
    found = means(
        rows,
        ["controller"],
        {
            "utilization_percent": "utilization, %",
            "delay_mean_ms": "mean delay, ms",
            "delay_p95_ms": "95 % delay, ms",
            "delay_p99_ms": "99 % delay, ms",
            "queue_p95_ms": "95 % queue met, ms",
        },
    )
    table = Table(
        "From 10 s on, means over runs with 95 % intervals", found, f"{name}-means", main=True
    )
    return Section(title, text, [table], [_over_time(name, results)])


def _over_time(name: str, results: Results) -> Figure:
    return figure(
        f"{name}-time",
        "Over time, first run",
        charts.timelines(results),
        caption="Left: bitrate, mean of slices of 0.1 s (0.2 s where the figure spans more than 60 "
        "s); dashed: the capacity. Right: largest frame delay in each slice, logarithmic.",
        description="Bitrate and frame delay over time, a row for each condition.",
    )


def _figure_10_table(drawn: dict[str, pl.DataFrame], order: Sequence[str]) -> Table:
    """Means, with the published ones in brackets."""
    rows = []
    for controller in order:
        row: dict[str, object] = {"controller": controller}
        for column, title in FIGURE_10.items():
            if column not in drawn:
                continue
            own = drawn[column].filter(pl.col("controller") == controller)[column]
            text = estimate(own, len(own), 3 if column == "jain_index" else 1)
            known = published.value("fig10", controller, PUBLISHED_10.get(column, ""))
            row[title] = text if known is None else f"{text} (published {known:g})"
            if column == "steady_s":
                within = 100.0 * len(own.filter(own <= STEADY_WITHIN_S)) / len(own)
                row["steady within 6 s (%)"] = f"{within:.0f}"
        rows.append(row)
    caption = "Means over paths with 95 % intervals"
    return Table(caption, pl.DataFrame(rows), "figure-10-means", main=True)


def _iterated(law: str) -> pl.DataFrame:
    rows = laws.trajectory(law)
    return rows.select(
        panel=pl.lit(laws.LAWS[law]),
        first=(pl.col("first") / laws.CAPACITY).round(4),
        second=(pl.col("second") / laws.CAPACITY).round(4),
        step=pl.col("step").cast(pl.Int64),
    )
