"""The page of `gameway run tests/chromium --on live`: Chromium's GCC beside ours, figure by figure.

| figure | definition | may differ by |
|---|---|---|
| bitrate | wire bytes at the client from 15 s on; of a step 10 s, beside CUBIC 20 s | 10 % |
| queueing delay | mean of the stream's packets, in the same time | 20 % or 5 ms |
| after the fall | time until the link's queue is below 50 ms, a second long | 30 % |
| after the rise | time until two seconds together have 80 % of the capacity | 30 % |
| growth | median rise of the target over five seconds without a fall, kb/s a second | |
| loss | packets dropped or lost, of those sent | |
| shown | frames a second | |
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, Any

import polars as pl

from gameway import _core
from gameway.beside.twin import twin_of
from gameway.metrics.source import finished_runs
from gameway.page import Page, Section, Table
from gameway.page.words import NEVER, UNKNOWN, estimate_of, number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gameway.metrics.source import ResultFolder, Run
    from gameway.results import Results

SECOND_NS = 1_000_000_000
BIN_S = 0.5
FROM_S = {"step": 10, "cubic": 20}
USUAL_FROM_S = 15
"""By then the estimate has grown to the capacity, where nothing hinders it."""
SPAN_S = 5.0
MAX_RISE = 1.2
"""In a span: 8 % a second are growth before a capacity is known."""
SHORT_QUEUE_MS = 50.0
FULL_SHARE = 0.8


@dataclass(frozen=True)
class Figure:
    """What is compared, and by how much the means may differ: a share, or in the figure's unit."""

    name: str
    share: float | None = None
    min_difference: float = 0.0

    def allowed(self, theirs: float) -> float | None:
        """How far ours may be from theirs; None if nothing is said."""
        return None if self.share is None else max(self.share * abs(theirs), self.min_difference)


BITRATE, QUEUE = Figure("bitrate, Mb/s", 0.10), Figure("queueing delay, ms", 0.20, 5.0)
FALL, RISE = Figure("after the fall, s", 0.30), Figure("after the rise, s", 0.30)
GROWTH, LOST, SHOWN = Figure("growth, kb/s per s"), Figure("loss, %"), Figure("shown, frames/s")
FIGURES = (BITRATE, QUEUE, FALL, RISE, GROWTH, LOST, SHOWN)
FACTORS = ("queue_size", "loss_probability")
"""What differs between the conditions of a part."""
LEAD = (
    "Chromium streams from one browser to another by its own libwebrtc; in the simulated twin our "
    "gcc does, with the same bounds, retransmissions and transport-wide reports, over the same "
    "path. Ours is of the simulator, theirs live; what is compared is the mean over runs."
)


def page(parts: dict[str, Results]) -> Page:
    """The page, of the parts that are there."""
    sections = []
    verdicts: list[bool] = []
    for name, live in parts.items():
        simulated = twin_of(live)
        ours = measured(name, simulated) if simulated else measured(name, live).clear()
        rows, judged = compared(measured(name, live), ours)
        verdicts += judged
        title = str(live.manifest.get("title") or name)
        sections.append(Section(title, tables=[Table(f"Means over runs: {name}", rows, main=True)]))
    within = f"{sum(verdicts)} of {len(verdicts)} figures that are judged are within their bound."
    return Page("Chromium's GCC and ours", LEAD, sections, statement=[within])


def measured(part: str, results: ResultFolder) -> pl.DataFrame:
    """One row per run: its condition and its figures."""
    start_s = FROM_S.get(part, USUAL_FROM_S)
    rows = [
        {"condition": condition(run), **figures(run, start_s)} for run in finished_runs(results)
    ]
    columns = {"condition": pl.String, **{figure.name: pl.Float64 for figure in FIGURES}}
    return pl.DataFrame(rows, schema=columns)


def condition(run: Run) -> str:
    """What tells a condition from the others of its part."""
    found = [run.factors.get(name) for name in FACTORS]
    return ", ".join(text for text in found if text)


def figures(run: Run, start_s: float) -> dict[str, float]:
    """All figures of a run."""
    (stream,) = run.spec["stream"]
    end_s = _core.parse_duration(run.spec["duration"]) / SECOND_NS
    bins = later(run.table("bins"), "bin_start_ns", start_s, end_s).filter(flow=stream["name"])
    delays = later(run.table("queue_delay"), "window_start_ns", start_s, end_s)
    delays = delays.filter(flow=stream["name"])
    sent = total(bins, "sent_packets")
    gone = total(bins, "dropped_packets") + total(bins, "lost_packets")
    fall_s, rise_s = recoveries(run, stream["name"])
    targets = run.table("controller").filter(variable="target_bps", stream=stream["name"])
    return {
        BITRATE.name: 8e-6 * total(bins, "received_bytes") / (end_s - start_s),
        QUEUE.name: total(delays, "sum_ns") / max(total(delays, "packets"), 1) / 1e6,
        FALL.name: fall_s,
        RISE.name: rise_s,
        GROWTH.name: growth(targets.select("time_ns", "value").rows(), start_s),
        LOST.name: 100 * gone / max(sent, 1),
        SHOWN.name: total(bins, "frames_shown") / (end_s - start_s),
    }


def later(table: pl.DataFrame, column: str, start_s: float, end_s: float) -> pl.DataFrame:
    """The rows of a window."""
    inside = pl.col(column).is_between(start_s * SECOND_NS, end_s * SECOND_NS, closed="left")
    return table.filter(inside)


def total(table: pl.DataFrame, column: str) -> int:
    """The sum of a column of whole numbers."""
    return int(table[column].cast(pl.Int64).sum())


def growth(samples: Sequence[tuple[int, float]], start_s: float) -> float:
    """Median rise of a target (ns, bit/s) in kb/s a second, over spans without a fall."""
    inside = [(at / SECOND_NS, value) for at, value in samples if at >= start_s * SECOND_NS]
    found, end = [], 0
    for start, (from_s, rate) in enumerate(inside):
        while end < len(inside) and inside[end][0] < from_s + SPAN_S:
            end += 1
        span = [value for _, value in inside[start : end + 1]]
        whole = end < len(inside) and all(after >= one for one, after in pairwise(span))
        if whole and rate < span[-1] < MAX_RISE * rate:
            found.append((span[-1] - rate) / (inside[end][0] - from_s) / 1e3)
    return median(found) if found else math.nan


def recoveries(run: Run, stream: str) -> tuple[float, float]:
    """Seconds from the fall of the capacity to a short queue, and from its rise to a full link."""
    steps = capacity_steps(run.spec["path"]["capacity"])
    if not steps:
        return math.nan, math.nan
    (fall_s, low), (rise_s, high) = steps
    link = later(run.link(), "bin_start_ns", fall_s, rise_s).sort("bin_start_ns")
    waits = [8e3 * size / low for size in link["queue_mean_bytes"]]
    short = next((index for index in range(len(waits) - 1)
                  if max(waits[index : index + 2]) < SHORT_QUEUE_MS), None)  # fmt: skip
    bins = run.table("bins").filter(pl.col("flow") == stream).sort("bin_start_ns")
    after = bins.filter(pl.col("bin_start_ns") >= rise_s * SECOND_NS)["received_bytes"].to_list()
    enough = FULL_SHARE * high * 4 * BIN_S / 8
    full = next((i for i in range(len(after) - 3) if sum(after[i : i + 4]) >= enough), None)
    return seconds(short), seconds(full)


def seconds(bins: int | None) -> float:
    """A time in bins; NaN for never."""
    return math.nan if bins is None else BIN_S * bins


def capacity_steps(capacity: Any) -> list[tuple[float, int]]:
    """When a capacity falls and rises, and to what; nothing where it stays."""
    steps = capacity.get("steps", []) if isinstance(capacity, dict) else []
    return [
        (_core.parse_duration(at) / SECOND_NS, _core.parse_rate(rate)) for at, rate in steps[1:]
    ]


def compared(theirs: pl.DataFrame, ours: pl.DataFrame) -> tuple[pl.DataFrame, list[bool]]:
    """A row per condition and figure, and the verdicts of those that have a bound."""
    rows, verdicts = [], []
    for name in theirs["condition"].unique(maintain_order=True):
        for figure in FIGURES:
            live, own = (table.filter(condition=name)[figure.name].fill_nan(None)
                         for table in (theirs, ours))  # fmt: skip
            if live.is_null().all() and own.is_null().all():
                continue
            verdict = judged(figure, live, own)
            verdicts += [] if verdict is None else [verdict]
            told = {True: "within", False: "outside", None: ""}[verdict]
            rows.append({"condition": name} | row(figure, live, own) | {"verdict": told})
    return pl.DataFrame(rows, schema=COLUMNS), verdicts


COLUMNS = dict.fromkeys(
    ("condition", "figure", "Chromium", "ours", "difference", "allowed", "verdict"), pl.String
)


def judged(figure: Figure, live: pl.Series, own: pl.Series) -> bool | None:
    """Whether the means are as near as they must be; None where nothing is said, or not known."""
    theirs, ours = mean(live), mean(own)
    allowed = figure.allowed(theirs)
    if allowed is None or math.isnan(ours):
        return None
    return not math.isnan(theirs) and abs(ours - theirs) <= allowed


def row(figure: Figure, live: pl.Series, own: pl.Series) -> dict[str, str]:
    """One row as it is shown, without its verdict."""
    theirs, ours = mean(live), mean(own)
    allowed = figure.allowed(theirs)
    unknown = NEVER if figure in {FALL, RISE} else UNKNOWN
    return {
        "figure": figure.name,
        "Chromium": estimate_of(live) if live.count() else unknown,
        "ours": estimate_of(own) if own.count() else unknown,
        "difference": "" if math.isnan(ours - theirs) else number(ours - theirs),
        "allowed": "" if allowed is None or math.isnan(allowed) else f"± {number(allowed)}",
    }


def mean(side: pl.Series) -> float:
    """The mean of what is known; NaN if nothing is."""
    known = side.drop_nulls()
    return float(known.to_numpy().mean()) if known.len() else math.nan
