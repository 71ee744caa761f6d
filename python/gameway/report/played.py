"""What was turned while somebody played, how the stream was between turns, what was answered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from gameway.metrics.series import BIN_S
from gameway.metrics.source import finished_runs
from gameway.page import Section, Table

if TYPE_CHECKING:
    from gameway.metrics.source import ResultFolder, Run

TOGETHER_NS = 500_000_000
"""What is turned within half a second of another knob, the length of a bin, is one turn."""
SHORT_NS = 1_000_000_000
"""Of a shorter part nothing is said."""
CHANGES, ANSWERS = "changes", "answers"
TURNED = (
    "Each row is the time from one turn of knobs to the next, the first from the stream's "
    "beginning: what was turned then, and how the stream was until the next. Delays are from a "
    "frame's first packet sent to its last one received."
)
ANSWERED = "What the player answered when the scenario was over; 1 is the worst."


def sections(results: ResultFolder) -> list[Section]:
    """Two sections at most; none where nobody turned or answered anything."""
    runs = finished_runs(results)
    found = []
    if turned := [run for run in runs if _has(run, CHANGES)]:
        tables = [Table("", parts(run), "turned", main=True) for run in turned]
        found.append(Section("What was turned", TURNED, tables))
    if asked := [run.table(ANSWERS) for run in runs if _has(run, ANSWERS)]:
        shown = pl.concat(asked).select(
            question="text", answer="word", number=pl.format("{} of {}", "answer", "of")
        )
        found.append(
            Section("What was answered", ANSWERED, [Table("", shown, "answers", main=True)])
        )
    return found


def _has(run: Run, table: str) -> bool:
    return (run.folder / f"{table}.parquet").is_file()


def parts(run: Run) -> pl.DataFrame:
    """One row for each part of a session, from one turn to the next."""
    (end_ns,) = run.table("summary")["duration_ns"]
    found = turns(run.table(CHANGES))
    ends = [*(begin for begin, _ in found[1:]), end_ns]
    rows: list[dict[str, Any]] = []
    tables = (run.table("frames"), run.table("bins"), run.link())
    first_ns = tables[0].select(pl.col("captured_ns").min()).item() or 0
    for (turned_ns, told), until_ns in zip(found, ends, strict=True):
        begin_ns = max(turned_ns, first_ns)
        row = {"from, s": f"{begin_ns / 1e9:.1f}", "turned": told}
        enough = until_ns - begin_ns >= SHORT_NS
        rows.append(row | (_figures(tables, begin_ns, until_ns) if enough else {}))
    return pl.DataFrame(rows)


def turns(changes: pl.DataFrame) -> list[tuple[int, str]]:
    """When knobs were turned, and in words which; the beginning first."""
    found: list[tuple[int, list[str]]] = [(0, [])]
    for at, knob, value in changes.sort("time_ns").select("time_ns", "knob", "value").rows():
        if at - found[-1][0] > TOGETHER_NS or not found[-1][1]:
            found.append((at, []))
        found[-1][1].append(f"{knob} {value or 'none'}")
    return [(at, ", ".join(told) or "(as at the beginning)") for at, told in found]


def _figures(
    tables: tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame], begin_ns: int, until_ns: int
) -> dict[str, Any]:
    """What the streams were like in a part, by the tables frames, bins and link."""
    frames, bins, link = tables
    seconds = (until_ns - begin_ns) / 1e9
    shown = frames.filter(pl.col("shown_ns").is_between(begin_ns, until_ns, closed="left"))
    delays = shown.select((pl.col("complete_ns") - pl.col("first_sent_ns")) / 1e6).to_series()
    within = pl.col("bin_start_ns").is_between(begin_ns, until_ns, closed="left")
    streams = frames["stream"].unique().to_list()
    bins = bins.filter(within)
    ours = pl.col("flow").is_in(streams)
    own, others = (float(bins.filter(one)["received_bytes"].sum()) for one in (ours, ~ours))
    link = link.filter(within)
    capacity = float(link["capacity_bytes"].sum()) / max(link.height * BIN_S, BIN_S)
    queue = link.select(pl.col("queue_mean_bytes").mean()).item() or 0.0
    return {
        "frames/s": round(shown.height / seconds, 1),
        "Mb/s": round(own * 8 / 1e6 / seconds, 2),
        "others, Mb/s": round(others * 8 / 1e6 / seconds, 2),
        "queue, ms": round(1e3 * queue / capacity, 1) if capacity else None,
        "delay p50, ms": _rounded(delays.median()),
        "delay p95, ms": _rounded(delays.quantile(0.95)),
    }


def _rounded(value: Any) -> float | None:
    return None if value is None else round(float(value), 1)
