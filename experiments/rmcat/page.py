"""The page of `gameway reproduce rmcat`: each case of RFC 8867, its expectation, every controller.

Sources: RFC 8867 (cases), RFC 8868 (measures), RFC 8869, section 3.1 (cases behind a wired link).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gameway.page import Page, Section, figure

from . import figures as charts
from . import tables
from .cases import NOT_WORSE
from .rows import SCALES, Row, by_case, marked_rows, rows_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gameway.page import Figure
    from gameway.results import Results

    from .cases import Case

LEAD = (
    "The test cases of RFC 8867, and those of RFC 8869, section 3.1, that a wired path can carry: "
    "what each expects in words, by which figures we judge that, and what every controller does. "
    "Once at the RFC's rates (video of 150 kb/s to 1.5 Mb/s), once at those of a game: twenty "
    "times as much, with times and delays as they are."
)
JUDGED = (
    "RFC 8867 gives no numbers. One limit is RFC 8868's; the others are ours, and were chosen "
    "before anything was measured. A phase is a time in which capacities and flows stay; its "
    "settled part is its second half. Means over runs are judged; where single runs do not agree, "
    "it is said in how many all limits are met, and the CSV has the ranges. The oracle knows the "
    "path: what it does not meet, the limits ask too much of."
)
OVERVIEW = (
    "Met, or the figures that are not, each with its worst value. Limits are below, all figures "
    "with each case."
)
ECN = (
    "Each basic case with a queue that marks, against the same queue without marks: 6.2 asks that "
    "it is not worse. Marked is what waited longer than 25 ms: what a queue on a path of 100 ms "
    "must hold to stay filled while a sender cuts to 0.8. At a game's rates also 5 ms, the target "
    "of CoDel (at the RFC's, a packet alone takes twice that). Only NADA and SCReAM read marks; "
    "SCReAM both as L4S does and as a classic ECN sender. Figures are ratios with marks over "
    "without."
)
LEFT_OUT = (
    "FQ-CoDel and PIE as queues; loss on the path; the queue classes of RFC 8868 other than 300 ms "
    "and 1 s; RFC 8869's cellular and Wi-Fi cases, and the Wi-Fi hop in those that are here. "
    "Rates are those of 0.5 s, where RFC 8868 asks for 0.2 s."
)


def page(parts: dict[str, Results]) -> Page:
    """The page, of the parts that are there."""
    rows = rows_of(parts)
    marked = marked_rows(parts)
    cases = by_case(rows)
    sections = [_overview(rows)] if rows else []
    sections += [_section(case, own) for case, own in cases]
    sections += [_ecn(marked)] if marked else []
    sections.append(Section("What is left out", LEFT_OUT))
    return Page("RMCAT test cases", LEAD, sections, statement=statements(rows, marked))


def statements(rows: Sequence[Row], marked: Sequence[Row] = ()) -> list[str]:
    """How many cases and conditions each controller meets."""
    found = []
    for scale, words in SCALES.items():
        own = [row for row in rows if row.scale == scale and row.case.id != "6.1"]
        counts: dict[str, list[bool]] = {}
        for row in own:
            counts.setdefault(row.controller, []).append(not row.failed)
        ranked = sorted(counts.items(), key=lambda item: -sum(item[1]))
        told = ", ".join(f"{name} {sum(met)}" for name, met in ranked)
        if ranked:
            total = max(len(met) for met in counts.values())
            found.append(f"Met at {words}, of {total} cases and conditions: {told}.")
    if marked:
        met: dict[str, list[bool]] = {}
        for row in marked:
            met.setdefault(row.controller, []).append(not row.failed)
        told = ", ".join(f"{name} {sum(own)} of {len(own)}" for name, own in met.items())
        found.append(f"With marks no worse than without: {told} cases and thresholds.")
    return found


def _overview(rows: Sequence[Row]) -> Section:
    cases = [case for case, _ in by_case(rows)]
    criteria = {one.words: one for case in cases for one in case.criteria}
    found = [tables.expectations(cases)]
    found += [tables.overview(rows, scale) for scale in _scales(rows)]
    found += [tables.misses(rows), tables.limits(list(criteria.values()))]
    return Section("All cases", f"{OVERVIEW}\n{JUDGED}", found)


def _section(case: Case, rows: Sequence[Row]) -> Section:
    text = f"RFC {case.rfc}, {case.id}. Expected: {case.expected}"
    text += f"\n{case.beside}" if case.beside else ""
    return Section(f"{case.id} {case.title}", text, [tables.figures(rows, case.id)],
                   [_timelines(case, rows)])  # fmt: skip


def _timelines(case: Case, rows: Sequence[Row]) -> Figure:
    """The first condition at both rates."""
    drawn = {}
    for scale, words in SCALES.items():
        own = [row for row in rows if row.scale == scale]
        if own:
            first = own[0].condition
            drawn[words] = charts.timelines([row for row in own if row.condition == first])
    condition = f" ({rows[0].condition})" if rows[0].condition else ""
    return figure(
        f"case-{case.id}", f"Rates over time{condition}", drawn, chosen_by="at",
        caption="Received bitrates of one run; dashed: capacity.",
        description=f"Rates of the flows of case {case.id} over time, a panel per controller.",
    )  # fmt: skip


def _ecn(rows: Sequence[Row]) -> Section:
    drawn = {
        SCALES[scale]: charts.delays_with_marks([row for row in rows if row.scale == scale])
        for scale in _scales(rows)
    }
    found = [tables.overview(rows, scale, "overview-6.2") for scale in _scales(rows)]
    found += [tables.figures(_named(rows), "6.2"), tables.limits(NOT_WORSE, "limits-6.2")]
    shown = figure("case-6.2", "With marks and without", drawn, chosen_by="at",
                   caption="Below the line: less with marks.",
                   description="Ratios of rate and of delay with marks over without.")  # fmt: skip
    return Section("6.2 ECN", ECN, found, [shown])


def _scales(rows: Sequence[Row]) -> list[str]:
    """The rates for which there are rows."""
    return [scale for scale in SCALES if any(row.scale == scale for row in rows)]


def _named(rows: Sequence[Row]) -> list[Row]:
    """The rows with the basic case as their condition."""
    return [replace(row, condition=f"{row.case.id}, {row.condition}".rstrip(", ")) for row in rows]
