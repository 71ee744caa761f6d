"""Who paid for a video beside a game, in words that are computed from `gameway.metrics.paid`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import polars as pl

from gameway.experiment.keys.ladders import levels_of
from gameway.figures.conditions import label_of
from gameway.figures.viewers import shown_conditions
from gameway.metrics.paid import compared, held_more, joined_spans, paid_by_run, paid_table
from gameway.metrics.phases import GAME, VIDEO, kind_of
from gameway.page.words import estimate_text, listed, number

if TYPE_CHECKING:
    from gameway.figures.conditions import Where
    from gameway.metrics.paid import Compared
    from gameway.metrics.phases import Phase
    from gameway.metrics.source import ResultFolder, Run

PLAYER_PERCENT = 5.0
"""A game that has less by no more than this has lost nothing: frames of one size differ as much."""
VIEWER_PERCENT = 50.0
"""A video alone stays below the highest level that the link carries, too: dash.js by 45, 42 and
10 % on 15, 25 and 35 Mb/s (part video-alone of xu-claypool-dash). More than half is others'."""


def sentences(results: ResultFolder) -> list[str]:
    """What each side paid, for each condition that the figure shows."""
    table = paid_table(results)
    return [_sentence(results, table, where, runs) for where, runs in shown_conditions(results)]


def _sentence(results: ResultFolder, table: pl.DataFrame, where: Where, runs: list[Run]) -> str:
    label = f"{label_of(where)}: " if where else ""
    pair = compared(runs[0])
    if pair is None:
        return f"{label}no video is there for a twentieth of the run."
    same = [pl.col(name).eq_missing(pl.lit(value)) for name, value in runs[0].factors.items()]
    own = (table.filter(*same) if same else table).to_dicts()
    clauses = [
        _player(row, pair) if row["kind"] == GAME else _viewer(row, pair.flows[row["flow"]])
        for row in own
    ]
    if len(own) > 1:
        first, *others = [(row["flow"], f"{_estimate(row, 'held_percent')} %") for row in own]
        held = [f"{first[0]} holds {first[1]}", *(f"{flow} {held}" for flow, held in others)]
        clauses.append(f"of an equal share of the link {listed(held)}")
    verdict = _verdict(own, held_more(paid_by_run(results, runs)))
    return f"{label}{verdict}{_beside(pair)}, {'; '.join(clauses)}."


def _verdict(own: list[dict[str, Any]], more: float) -> str:
    """Who paid, and if both did, who more: who holds less of an equal share of the link."""
    limits = {GAME: PLAYER_PERCENT, VIDEO: VIEWER_PERCENT}
    if any(math.isnan(row["lost_percent"]) for row in own) or math.isnan(more):
        return ""
    paid = {row["kind"] for row in own if _min_lost(row) > limits[row["kind"]]}
    if not paid:
        return "Nobody surely paid. "
    if len(paid) == 1:
        return f"The {'player' if GAME in paid else 'viewer'} paid. "
    if more == 0.0:
        return "Player and viewer paid alike, as far as these runs tell. "
    return f"Player and viewer paid, the {'viewer' if more > 0.0 else 'player'} more. "


def _min_lost(row: dict[str, Any]) -> float:
    """What it lost for sure: the lower end of the interval, or the value of a single run."""
    half: float = row["lost_percent_ci95"]
    return float(row["lost_percent"]) - (0.0 if math.isnan(half) else half)


def _beside(pair: Compared) -> str:
    """The time that is told of, and who is there."""
    kinds = {name: kind_of(flow) for name, flow in pair.flows.items()}
    films = [name for name, kind in kinds.items() if kind == VIDEO]
    others = [name for name, kind in kinds.items() if kind not in {GAME, VIDEO}]
    also = f", beside {listed(others)}" if others else ""
    return f"With {listed(films, 'or')} ({_times(pair.beside)}){also}"


def _player(row: dict[str, Any], pair: Compared) -> str:
    has = f"{row['flow']} has {_estimate(row, 'has_mbps')} Mb/s"
    if math.isnan(row["could_mbps"]):
        return f"{has} (it is never without a video: what it lost is not known)"
    return (
        f"{has}, {_lost(row)} than the {number(row['could_mbps'])} without "
        f"({_times(pair.without)}), shows {_estimate(row, 'fps')} instead of "
        f"{_estimate(row, 'fps_without')} frames/s, and {_estimate(row, 'stall_percent')} instead "
        f"of {_estimate(row, 'stall_percent_without')} % of its frames stall"
    )


def _viewer(row: dict[str, Any], video: dict[str, Any]) -> str:
    if math.isnan(row["has_mbps"]):
        return f"{row['flow']} shows no picture"
    halts = ""
    if row["interrupted_s"] > 0.0:
        times, seconds = _estimate(row, "interruptions"), _estimate(row, "interrupted_s")
        halts = f", and halts {times} times for {seconds} s in all"
    return (
        f"{row['flow']} shows {_estimate(row, 'has_mbps')} Mb/s (level {_estimate(row, 'level')} "
        f"of {len(levels_of(video))}), {_lost(row)} than the {number(row['could_mbps'])} of the "
        f"highest level that the link carries{halts}"
    )


def _lost(row: dict[str, Any]) -> str:
    """How much less it has, or more."""
    sign, word = (1.0, "less") if row["lost_percent"] >= 0.0 else (-1.0, "more")
    return f"{estimate_text(sign * row['lost_percent'], row['lost_percent_ci95'])} % {word}"


def _estimate(row: dict[str, Any], name: str) -> str:
    return estimate_text(row[name], row[f"{name}_ci95"])


def _times(phases: list[Phase]) -> str:
    spans = joined_spans(phases)
    # What was played has times of microseconds.
    told = [f"{round(one.start_s, 2):g} to {round(one.stop_s, 2):g}" for one in spans]
    return f"{listed(told)} s"
