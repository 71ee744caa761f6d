"""The scoreboard's page: every controller in every scenario, against the oracle."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gameway.compare import compare_results

from . import repair

if TYPE_CHECKING:
    from gameway.page import Page
    from gameway.results import Results

ORDER = (
    "constant", "steps", "cellular", "jitter", "random-loss", "shallow-buffer", "deep-buffer",
    "three-flows", "late-joiner", "rtt-unfairness", "against-cubic", "against-bbr",
)  # fmt: skip
"""Alone first, then beside streams of its kind, then beside downloads."""
LEAD = (
    "Every controller on the same work: alone, with others of its kind, and beside downloads. "
    "All have their defaults; those of some are a choice between delay and bitrate (NADA's XREF "
    "and greatest bitrate set its standing queue, Copa's delta its own), so that one point stands "
    "for a curve."
)


def page(parts: dict[str, Results]) -> Page:
    """Who wins where, what repair costs, and a section for each scenario."""
    known = [name for name in ORDER if name in parts]
    ordered = {name: parts[name] for name in [*known, *(n for n in parts if n not in known)]}
    made = compare_results(ordered, "Scoreboard of controllers", LEAD).page
    costs = repair.section(ordered)
    first, *rest = made.sections
    return replace(made, sections=[first, costs, *rest]) if costs else made
