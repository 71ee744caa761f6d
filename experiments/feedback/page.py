"""The page of `gameway reproduce feedback`: what each controller loses with other feedback.

Sources: RFC 8888 (reports with arrival times in 1/1024 s), draft-holmer-rmcat-transport-wide-cc-
extensions-01 (what browsers send: 250 us), RFC 8868, section 4.5 (half-normal jitter).

What is measured of each run:

| figure | definition |
|---|---|
| bitrate | wire bytes that reached the client, whole run |
| p95 delay | 95th percentile of the frame delay, whole run |
| late | frames of the 10 s after the halving later than 100 ms or never complete, s |
| feedback | bytes of reports, percent of those of the stream |
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from gameway.figures.theme import CONTROLLERS
from gameway.metrics.quantities import seconds
from gameway.metrics.source import finished_runs
from gameway.metrics.statistics import half_width
from gameway.metrics.table import per_run_table
from gameway.page import Page, Section, Table, figure
from gameway.page.words import estimate_of, number

from . import figures as charts

if TYPE_CHECKING:
    from gameway.metrics.source import Run
    from gameway.results import Results

LATE_MS = 100.0
AFTER_S = 10.0
NATIVE, BROWSER = "native", "transport-wide 60 ms"
AXES = {
    "formats": ("feedback",),
    "loss": ("back_loss_probability", "feedback"),
    "jitter": ("back_jitter_deviation", "feedback"),
    "delay": ("base_rtt", "feedback"),
    "drift": ("clock_drift",),
    "long-drift": ("clock_drift",),
}
"""Factors of each part."""
WORDS = {"back_loss_probability": "loss", "back_jitter_deviation": "jitter", "base_rtt": "RTT",
         "clock_drift": "drift"}  # fmt: skip
NONE = {"back_loss_probability": "none"}
FIGURES = {
    "bitrate, Mb/s": "run_bitrate_mbps",
    "p95 delay, ms": "run_frame_delay_p95_ms",
    "late frames, s": "late_s",
    "loss, %": "run_loss_percent",
    "feedback, %": "run_feedback_overhead_percent",
}
LEAD = (
    "Controllers are published with the feedback that they were made for. A browser sends another: "
    "transport-wide reports, every 60 ms at the rates of a game, with arrival times in 250 us. "
    "What does each controller lose with it, and with reports that are lost, late, or stamped by a "
    "drifting clock? One stream, alone; 20 Mb/s, 10 from 20 s to 40 s; round trip 20 ms, queue "
    "300 ms."
)
TEXTS = {
    "formats": "Native is per frame for Pudica and SQP, every 5 ms for Copa, Salsify and SCReAM, "
    "every 50 ms for GCC and every 100 ms for NADA; all with exact times.",
    "loss": "One report in ten is lost, three in a row on average. A report repeats the news of "
    "the two before it; a packet that is in no report that arrives is taken for lost.",
    "jitter": "Half-normal (RFC 8868, 4.5): reports wait, and keep their order.",
    "delay": "The way to the client always takes 10 ms; the way back 10, 50 or 90 ms.",
    "long-drift": "At 50 ppm, 30 ms in all. Who forgets the least delay after a while is harmed by "
    "what a clock drifts in that time, however long it runs.",
    "drift": "Only differences of one-way delays can tell: what a controller takes for the least "
    "delay drifts by 0.05 ms a second at 50 ppm.",
}


def page(parts: dict[str, Results]) -> Page:
    """The page, of the parts that are there."""
    rows = {name: measured(parts[name], axes) for name, axes in AXES.items() if name in parts}
    found = []
    for name, own in rows.items():
        title = str(parts[name].manifest.get("title") or name)
        tables = [
            Table("Means over runs", shown(own, AXES[name]), f"figures-{name}", file_frame=own)
        ]
        drawn = [_tradeoff(own, AXES[name], name)]
        if name == "formats":
            tables.insert(0, losses(own))
            drawn.append(_rates(parts[name]))
        found.append(Section(title, TEXTS[name], tables, drawn))
    told = statements(rows["formats"]) if "formats" in rows else []
    return Page("Feedback", LEAD, found, statement=told)


def measured(results: Results, axes: tuple[str, ...]) -> pl.DataFrame:
    """One row per run: controller, the factors of the part, the figures."""
    table = per_run_table(results).join(late_s(results), on="run", how="left")
    known = [pl.col(axis) if axis in table.columns else pl.lit(None, pl.String).alias(axis)
             for axis in axes]  # fmt: skip
    shown = table.select(
        "run", "repeat", "controller", *known, *(name for name in FIGURES.values())
    ).with_columns(pl.col(axis).fill_null(NONE.get(axis, NATIVE)) for axis in axes)
    order = pl.Enum([*CONTROLLERS, *(set(shown["controller"]) - set(CONTROLLERS))])
    return shown.sort(pl.col("controller").cast(order), maintain_order=True)


def late_s(results: Results) -> pl.DataFrame:
    """Of each run, the seconds of late frames after the halving of the capacity."""
    halved = {run.id: halving_s(run) for run in finished_runs(results)}
    frames = results.frames().select("run", "captured_ns", "first_sent_ns", "complete_ns").collect()
    at = frames.with_columns(
        since=pl.col("captured_ns") / 1e9 - pl.col("run").replace_strict(halved),
        delay=(pl.col("complete_ns") - pl.col("captured_ns")) / 1e6,
    ).filter(pl.col("since").is_between(0.0, AFTER_S, closed="left"))
    late = pl.col("delay").is_null() | (pl.col("delay") > LATE_MS)
    return at.group_by("run").agg(late_s=AFTER_S * late.mean())


def halving_s(run: Run) -> float:
    """When the capacity changes first."""
    return seconds(run.spec["path"]["capacity"]["steps"][1][0])


def shown(rows: pl.DataFrame, axes: tuple[str, ...]) -> pl.DataFrame:
    """Means and half widths of intervals of each condition, as texts."""
    keys = ["controller", *axes]
    lines = []
    for key, own in rows.group_by(keys, maintain_order=True):
        named = (WORDS.get(name, name) for name in keys)
        line = dict(zip(named, key, strict=True))
        lines.append(line | {title: estimate_of(own[column]) for title, column in FIGURES.items()})
    return pl.DataFrame(lines)


def losses(rows: pl.DataFrame) -> Table:
    """Native beside what a browser sends."""
    lines = []
    for (name,), own in rows.group_by("controller", maintain_order=True):
        line: dict[str, str] = {"controller": str(name)}
        for title, column in list(FIGURES.items())[:3]:
            for kind, words in ((NATIVE, "native"), (BROWSER, "browser")):
                line[f"{title}: {words}"] = estimate_of(own.filter(feedback=kind)[column])
        lines.append(line)
    return Table(
        "Native, and what a browser sends", pl.DataFrame(lines), "figures-browser", main=True
    )


def statements(rows: pl.DataFrame) -> list[str]:
    """What alters with a browser's reports, one sentence for each controller.

    Runs of the same repeat have the same random numbers: told is what differs clearly by pairs.
    """
    found = []
    for (name,), own in rows.group_by("controller", maintain_order=True):
        changes = [_change(own, title) for title in list(FIGURES)[:3]]
        if None in changes:
            continue
        clear = ", ".join(text for text in changes if text) or "no clear difference"
        found.append(f"{name}, from its own feedback to a browser's: {clear}.")
    return found


def _change(rows: pl.DataFrame, title: str) -> str | None:
    """A figure before and after; empty if the difference is not clear, None without pairs."""
    column = FIGURES[title]
    native, browser = (
        rows.filter(feedback=kind).select("repeat", pl.col(column).alias(kind))
        for kind in (NATIVE, BROWSER)
    )
    pairs = native.join(browser, on="repeat").drop_nulls()
    if pairs.is_empty():
        return None
    change = (pairs[BROWSER] - pairs[NATIVE]).to_numpy()
    half = half_width(change)
    if not abs(change.mean()) > half:
        return ""
    values = [number(float(pairs[kind].to_numpy().mean())) for kind in (NATIVE, BROWSER)]
    if values[0] == values[1]:
        return ""  # what three digits do not show is nobody's concern
    what, unit = title.split(", ")
    return f"{what} {values[0]} to {values[1]} {unit}"


def _tradeoff(rows: pl.DataFrame, axes: tuple[str, ...], name: str) -> charts.Figure:
    words = [pl.lit(f"{WORDS[axis]} ") + pl.col(axis) if axis in WORDS else pl.col(axis)
             for axis in axes]  # fmt: skip
    label = pl.concat_str(words, separator=", ").alias("condition")
    means = rows.with_columns(label).group_by("controller", "condition", maintain_order=True).agg(
        pl.col("run_bitrate_mbps").mean(), pl.col("run_frame_delay_p95_ms").mean()
    )  # fmt: skip
    return figure(
        f"feedback-{name}", "Bitrate and frame delay", charts.tradeoff(means),
        caption="A point for each condition; better is up and to the right.",
        description="95th percentile of frame delay over bitrate, a panel for each controller.",
    )  # fmt: skip


def _rates(results: Results) -> charts.Figure:
    return figure(
        "feedback-rates", "Bitrate over time", charts.rates(results, (NATIVE, BROWSER)),
        caption="Of the first run; dashed: capacity.",
        description="Received bitrate over time, a panel for each controller.",
    )  # fmt: skip
