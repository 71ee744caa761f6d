"""Sections of a live report: beside the simulation, and how exact the runs were."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from gameway.beside import Row, Side, compare, frame
from gameway.beside.figure import over_time
from gameway.beside.tolerances import TOLERANCES
from gameway.beside.twin import twin_of
from gameway.beside.warnings import warning
from gameway.live import lateness
from gameway.metrics.frames import frame_metrics, frames_from
from gameway.metrics.source import finished_runs
from gameway.page import Section, Table
from gameway.page.words import UNKNOWN, estimate_text, number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gameway.metrics.source import ResultFolder, Run
    from gameway.page import Page
    from gameway.results import Results

WITHIN, OUTSIDE, UNDECIDED = "within", "OUTSIDE", "outside?"
MAX_NAMED = 3
NS_PER_US = 1e3


def sections(live: ResultFolder, simulated: ResultFolder | None) -> list[Section]:
    """What a live report has beyond the ordinary one."""
    found = [] if simulated is None else [both(simulated, live)]
    return [*found, exactness(live)]


def both(simulated: ResultFolder, live: ResultFolder) -> Section:
    """The means of both sides, and their bitrates over time."""
    drawn = over_time(simulated, live)
    return replace(beside(compare(simulated, live)), figures=[drawn] if drawn else [])


def of_suite(page: Page, live: Mapping[str, Results]) -> Page:
    """The page of a suite whose parts were run live: each beside its simulation."""
    twins = {name: twin for name, results in live.items() if (twin := twin_of(results))}
    compared = {name: compare(twin, live[name]) for name, twin in twins.items()}
    every = [row for rows in compared.values() for row in rows]
    own = [replace(both(twin, live[name]), title=f"{name}: simulated and live")
           for name, twin in twins.items()]  # fmt: skip
    exact = [replace(exactness(results), title=f"{name}: how exact it was")
             for name, results in live.items()]  # fmt: skip
    # What a suite's page has of its own is about controllers: of flows without, it is empty.
    others = [section for section in page.sections if _has_rows(section)]
    told = {name: warning(one) for name, one in live.items()}
    warnings = (page.warning, *(f"{name}: {text}" for name, text in told.items() if text))
    return replace(
        page,
        sections=[_overview(compared), *own, *others, *exact],
        statement=[*page.statement, statement(every)],
        warning=" ".join(text for text in warnings if text),
        kind="live report",
    )


def _has_rows(section: Section) -> bool:
    return bool(section.figures) or any(table.frame.height for table in section.tables)


def _overview(compared: Mapping[str, list[Row]]) -> Section:
    """How many means of each part agree."""
    rows = []
    for name, own in compared.items():
        rows.append(
            {
                "part": name,
                "means": str(len(own)),
                "within": str(sum(row.within for row in own)),
                "outside": "; ".join(_named(own, OUTSIDE)) or "none",
                "outside, but undecided": "; ".join(_named(own, UNDECIDED)) or "none",
            }
        )
    table = Table("", pl.DataFrame(rows), "overview", main=True)
    text = "Means of live runs within their tolerance of the simulated ones, part by part."
    return Section("Simulated and live", text, [table])


def beside(rows: list[Row]) -> Section:
    """Simulated and live means with intervals, difference, tolerance and verdict."""
    text = (
        "The same experiment in virtual time and on this machine: means over "
        f"{runs_told(rows)} of each condition ± half width of the 95 % interval, while a "
        "competitor is there if one is. The verdict is about the means: they may differ by the "
        "tolerance, which the table below gives the reason for. Where they differ by more, but the "
        f'interval of the difference reaches into it, it is "{UNDECIDED}": '
        "more runs would tell. The interval of a side with one run has the other's scatter. The "
        "simulated path has the lateness that was measured of the live link's wake-ups, as jitter "
        "and, above 250 µs, as stalls, unless it has jitter of its own.\n"
        f"{statement(rows)}"
    )
    shown = [_shown(row, varied(rows)) for row in rows]
    outside = frozenset(
        (index, "verdict") for index, row in enumerate(rows) if verdict(row) == OUTSIDE
    )
    table = Table("", pl.DataFrame(shown), "beside", frame(rows), marked=outside)
    return Section("Simulated and live", text, [table, _reasons(rows)])


def runs_told(rows: list[Row]) -> str:
    """How many runs the means are of, at most."""
    sides = [(row.simulated.runs, row.live.runs) for row in rows]
    simulated, live = (max(counts) for counts in zip(*sides, strict=True)) if sides else (0, 0)
    return f"{simulated} simulated and {live} live runs"


def statement(rows: list[Row]) -> str:
    """How many means agree, and which do not, in a sentence."""
    if not rows:
        return "Simulated and live runs have nothing in common that could be compared."
    told = f"{sum(row.within for row in rows)} of {len(rows)} means are within their tolerance."
    if outside := _first(_named(rows, OUTSIDE)):
        told += f" Outside: {outside}."
    if undecided := _first(_named(rows, UNDECIDED)):
        told += f" Outside, but more runs may have them within: {undecided}."
    return told


def verdict(row: Row) -> str:
    """Within, outside, or outside with an interval that reaches into the tolerance."""
    if row.within:
        return WITHIN
    return UNDECIDED if row.undecided else OUTSIDE


def _named(rows: list[Row], which: str) -> list[str]:
    """The metrics and flows of the rows with this verdict, each once."""
    found = (f"{row.tolerance.label} of {row.flow}" for row in rows if verdict(row) == which)
    return list(dict.fromkeys(found))


def _first(named: list[str]) -> str:
    return ", ".join([*named[:MAX_NAMED], *(["..."] if len(named) > MAX_NAMED else [])])


def exactness(live: ResultFolder) -> Section:
    """How late packets left, what the parts cost, how old a decoded picture was."""
    text = (
        "Lateness: from the moment at which a packet was due to the moment at which it left. "
        f"A run beyond {lateness.BOUND_NS / 1e6:g} ms at the 99th percentile is flagged: a "
        "sixteenth of the time from frame to frame at 60 frames/s."
    )
    runs = finished_runs(live)
    late = [row for run in runs for row in _late_rows(run)]
    flagged = frozenset((index, "verdict") for index, row in enumerate(late) if row["verdict"])
    tables = [Table("", pl.DataFrame(late), "lateness", marked=flagged)] if late else []
    cpu = [row for run in runs for row in _cpu_rows(run)]
    if cpu:
        tables.append(Table("Processor time per second of the run", _cpu_table(cpu), "cpu"))
    ages = [row for run in runs for row in _age_rows(run)]
    if ages:
        caption = (
            "From capture to the decoded picture, to encode it, and in how much of the time a "
            "second's bytes were within 5 % of the controller's target"
        )
        tables.append(Table(caption, pl.DataFrame(ages), "pictures"))
    return Section("How exact it was", text, tables)


def varied(rows: list[Row]) -> list[str]:
    """The factors in which the rows differ."""
    names = dict.fromkeys(name for row in rows for name in row.condition)
    return [name for name in names if len({row.condition.get(name) for row in rows}) > 1]


def _shown(row: Row, factors: list[str]) -> dict[str, str]:
    one = row.tolerance
    return ({"condition": row.named(factors)} if factors else {}) | {
        "flow": row.flow,
        "metric": f"{one.label} ({one.unit})",
        "simulated": estimate(row.simulated),
        "live": estimate(row.live),
        "difference": _difference(row),
        "tolerance": f"± {number(one.allowed(row.simulated.mean))}",
        "verdict": verdict(row),
    }


def _reasons(rows: list[Row]) -> Table:
    used = {row.tolerance for row in rows}
    told = [
        {
            "metric": f"{one.label} ({one.unit})",
            "share of the simulated mean": f"{100 * one.relative:g} %" if one.relative else UNKNOWN,
            "or at least": f"{one.absolute:g}",
            "why": one.reason,
        }
        for one in TOLERANCES
        if one in used
    ]
    return Table("Tolerances: the larger of both counts", pl.DataFrame(told), "tolerances")


def estimate(side: Side) -> str:
    """A mean with the half width of its interval, as text."""
    return estimate_text(side.mean, side.half_width)


def _difference(row: Row) -> str:
    if math.isnan(row.difference):
        return UNKNOWN
    sign = "+" if row.difference >= 0 else "-"
    return f"{sign}{estimate_text(abs(row.difference), row.difference_half_width)}"


def _late_rows(run: Run) -> list[dict[str, str]]:
    table = run.table("lateness")
    late, middle = lateness.by_part(table), lateness.by_part(table, 0.5)
    beyond = lateness.too_late(table)
    return [
        {
            "run": run.id,
            "part": part,
            "packets": str(table.filter(pl.col("part") == part)["packets"].sum()),
            "median (µs)": f"under {middle[part] / NS_PER_US:g}",
            "p99 (µs)": f"under {late[part] / NS_PER_US:g}",
            "verdict": "TOO LATE" if part in beyond else "",
        }
        for part in late
    ]


def _cpu_rows(run: Run) -> list[dict[str, object]]:
    seconds = run.windows.run.length_s
    table = run.table("cpu").group_by("part", maintain_order=True).agg(pl.col("cpu_ns").sum())
    return [
        {"run": run.id, "part": row["part"], "cpu": row["cpu_ns"] / 1e7 / seconds}
        for row in table.iter_rows(named=True)
    ]


def _cpu_table(rows: list[dict[str, object]]) -> pl.DataFrame:
    table = pl.DataFrame(rows).group_by("part", maintain_order=True)
    means = table.agg(runs=pl.len(), mean=pl.col("cpu").mean(), max=pl.col("cpu").max())
    return means.select(
        "part", "runs", pl.col("mean").alias("mean (% of a core)"), pl.col("max").alias("most (%)")
    )


def _age_rows(run: Run) -> list[dict[str, object]]:
    frames, whole = run.table("frames"), run.windows.run
    table = run.table("pictures").join(frames, on=["stream", "frame"], how="inner")
    found = []
    for (stream,), rows in table.group_by("stream", maintain_order=True):
        own = frames_from(frames.filter(pl.col("stream") == stream), whole.stop_s)
        met = frame_metrics(own, whole, whole.length_s)["target_met_percent"]
        age = ((rows["decoded_ns"] - rows["captured_ns"]) / 1e6).drop_nulls()
        encode = (rows["encode_ns"] / 1e6).drop_nulls()
        found.append(
            {
                "run": run.id,
                "stream": stream,
                "pictures": age.len(),
                "latency p50 (ms)": age.quantile(0.5),
                "latency p95 (ms)": age.quantile(0.95),
                "encoding p50 (ms)": encode.quantile(0.5),
                "encoding p99 (ms)": encode.quantile(0.99),
                "target met (%)": met,
            }
        )
    return found
