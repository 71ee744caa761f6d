"""The page of `gameway reproduce ecgp`: three queues published beside ours, and three more.

Source: Graff et al., ICCRG, March 2025 (slides): 50 Mb/s, 30 ms, SCReAM beside a download by Cubic
or BBRv2 with a target rate of 0 to 45 Mb/s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from gameway.page import Page, Section, claimed, figure

from . import claims, figures, published, tables
from .measures import NONE, PROGRAMS_SETTLED_S, SETTLED_S, rows

if TYPE_CHECKING:
    from gameway.page import Figure
    from gameway.results import Results

SCREAM = "scream"
LEAD = (
    f"{published.CITATION}. One game stream beside one download with a target rate, through "
    "50 Mb/s with a round trip of 30 ms: what each queue does to both. Published: one SCReAM of "
    "2024 with a real encoder; ours: SCReAM v2 of the draft in simulation, every other controller, "
    "and three more queues."
)
SYNTHETIC = (
    "The publication's table does not say at which target rate; ours is at 45 Mb/s, the only one "
    "that allows its download of 33 Mb/s. It does not give sizes of queues either: ours are 2 BDP "
    "for drop-tail, and 10 ms for the game's class of HTB (others are compared below)."
)
MATRIX = (
    "Each controller as it is by default: SCReAM leaves as ECT(1), and DualPI2 gives it the "
    "low-latency queue; the others are not ECN-capable and share the classic one with the download."
)
PARTS = {
    "buffers": (
        "Sizes of queues, and borrowing",
        "SCReAM; the size of drop-tail, and the size and the ceiling of the game's class of HTB.",
        (
            "queue_size",
            "queue_class_game_queue_size",
            "queue_class_game_ceil",
            "queue",
            "competitor",
        ),
    ),
    "readings": (
        "Other readings",
        "SCReAM's filter of marks and its rules, and DualPI2's marking: what differences hang on.",
        ("controller", "queue_marking", "competitor", "target"),
    ),
    "programs": (
        "Ericsson's programs",
        "Steady frames beside Cubic, as Ericsson's programs were measured (README), from 20 s on.",
        ("controller", "queue", "target"),
    ),
    "programs-alone": (
        "Ericsson's programs, alone",
        "The same without a download, and with the other version's bursts.",
        ("controller",),
    ),
    "rules": (
        "One rule at a time",
        "SCReAM's two versions, each with one rule of the other's, from 20 s on.",
        ("controller", "target"),
    ),
    "ecn": (
        "Downloads that read marks",
        "Classic ECN (RFC 3168) in the download, and Prague in the game's own queue.",
        ("ecn", "competitor", "queue"),
    ),
}
"""Title, text and keys of each further part."""
SETTLED = dict.fromkeys(("programs", "programs-alone", "rules"), PROGRAMS_SETTLED_S)
"""From when on a part is measured, if not from `SETTLED_S` on."""


def page(parts: dict[str, Results]) -> Page:
    """The page, of the parts that are there."""
    sections: list[Section] = []
    told: list[str] = []
    measured = {name: rows(part, SETTLED.get(name, SETTLED_S)) for name, part in parts.items()}
    if "matrix" in parts:
        own = measured["matrix"]
        found = claims.of_queues(own)
        told = [str(claim) for claim in found]
        if found:
            sections.append(Section("Claims", "", [claimed.table(found)]))
        sections.append(_synthetic(parts["matrix"], own))
        both = [own, measured["alone"]] if "alone" in measured else [own]
        sections += _matrix(pl.concat(both, how="diagonal_relaxed"))
    for name, (title, text, keys) in PARTS.items():
        if name in measured:
            known = tuple(key for key in keys if key in measured[name].columns)
            table = tables.matrix(measured[name], known, "Means over runs", name)
            sections.append(Section(title, text, [table]))
    return Page("HTB and L4S for a game", LEAD, sections, statement=told)


def _synthetic(results: Results, own: pl.DataFrame) -> Section:
    drawn = {
        f"beside {name}": figures.distributions(results, SCREAM, name)
        for name in tables.COMPETITORS
    }
    shown = {label: chart for label, chart in drawn.items() if chart is not None}
    found = [
        figure(
            "distributions",
            "Queueing delays",
            shown,
            caption=f"SCReAM beside a download of up to {tables.TARGET}: share of packets that "
            "waited no longer.",
            chosen_by="competitor",
        )
    ]
    return Section("Synthetic table", SYNTHETIC, tables.synthetic(own), found if shown else [])


def _matrix(own: pl.DataFrame) -> list[Section]:
    drawn: list[Figure] = []
    for column, title, logarithmic in (
        ("game_delay_mean_ms", "Game's queueing delay (ms)", True),
        ("game_bitrate_mbps", "Game's bitrate (Mb/s)", False),
    ):
        charts = {
            f"beside {name}": figures.by_target(
                own.filter(pl.col("competitor").is_in([name, NONE])), column, title,
                logarithmic=logarithmic,
            )
            for name in tables.COMPETITORS
            if name in own["competitor"].to_list()
        }  # fmt: skip
        drawn.append(
            figure(f"by-target-{column}", title, charts, chosen_by="competitor",
                   caption="Means over runs, by the download's target rate.")
        )  # fmt: skip
    keys = ("controller", "queue", "competitor", "target")
    whole = tables.matrix(own, keys, "Every controller, queue, download and target", "matrix")
    return [Section("All controllers and queues", MATRIX, [whole], drawn)]
