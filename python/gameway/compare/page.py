"""The page of a comparison: who wins where, and a figure and a table for each scenario."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from gameway.compare.bootstrap import RESAMPLES
from gameway.compare.measures import DELAY_95, DELAY_99, MEASURES, UTILIZATION
from gameway.compare.verdict import BASELINE, LIMIT, kind
from gameway.compare.words import TOLD, caution, estimate, overall, sentences
from gameway.figures.tradeoff import tradeoff, within_reach
from gameway.page import Page, Section, Table, figure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gameway.compare.measures import Measure
    from gameway.compare.verdict import Verdict
    from gameway.page import Figure

RELEVANT = "what is relevant"
FRONT = "\N{BLACK DIAMOND}"
MAX_TABLES_IN_TERMINAL = 4
METHOD = (
    "Mean over runs with its 95 % bootstrap interval (BCa, expanded for few runs, "
    f"{RESAMPLES} resamples). Differences are paired: runs of one seed meet the same frames, "
    "losses and jitter. Worse means that the interval of the paired difference excludes zero and "
    "the difference matters to a player; the intervals are not widened for their number, so one "
    "difference in twenty that is none may be taken for one."
)


def page(verdicts: Sequence[Verdict], *, title: str, lead: str = "") -> Page:
    """Make the page of a comparison."""
    several = len(verdicts) > 1
    show_all = len(verdicts) <= MAX_TABLES_IN_TERMINAL
    sections = [winners(verdicts)] if several else []
    sections += [
        scenario_section(verdict, main=show_all, with_points=several) for verdict in verdicts
    ]
    sections += [*([_behind(verdicts)] if several else []), _differences(verdicts)]
    statement = overall(verdicts) if several else _told(verdicts[0])
    return Page(title, f"{lead}\n{METHOD}", sections, statement, kind="comparison")


def winners(verdicts: Sequence[Verdict]) -> Section:
    """A row for each scenario, a column for each controller: what it wins."""
    names = list(dict.fromkeys(name for v in verdicts for name in v.judged))
    rows = [
        {"scenario": v.scenario.name, **{name: marks(v, name) for name in names}} for v in verdicts
    ]
    totals = {name: sum(name in v.front for v in verdicts) for name in names}
    rows.append({"scenario": f"on the Pareto front {FRONT}, of {len(verdicts)}"}
                | {name: str(totals[name]) for name in names})  # fmt: skip
    best = frozenset(
        (index, name) for index, v in enumerate(verdicts) for name in v.front if name in names
    )
    letters = ", ".join(f"{one.letter} {one.label}" for one in MEASURES)
    text = (
        f"A letter: the controller is best, or not worse than the best ({letters}). {FRONT}: on "
        "the Pareto front of utilization against 95th percentile frame delay. The oracle is a "
        "limit and a fixed rate a baseline: neither is judged."
    )
    table = Table("", pl.DataFrame(rows), "winners", marks_frame(verdicts), best, main=True)
    return Section("Who wins where", text, [table])


def marks(verdict: Verdict, controller: str) -> str:
    """What a controller wins in a scenario, as letters."""
    if controller not in verdict.judged:
        return ""
    rankings = [verdict.ranking(one) for one in verdict.measures]
    letters = "".join(r.measure.letter for r in rankings if r and controller in r.shared)
    front = FRONT if controller in verdict.front else ""
    return " ".join(part for part in (front, letters) if part) or "\N{MIDDLE DOT}"


def marks_frame(verdicts: Sequence[Verdict]) -> pl.DataFrame:
    """The same for files: a row for each scenario, measure and judged controller."""
    rows = []
    for verdict in verdicts:
        for one in verdict.measures:
            ranking = verdict.ranking(one)
            for rank, name in enumerate(ranking.order if ranking else [], start=1):
                shared = ranking is not None and name in ranking.shared
                rows.append(
                    {
                        "scenario": verdict.scenario.name,
                        "measure": one.name,
                        "controller": name,
                        "rank": rank,
                        "best_or_not_worse": shared,
                        "on_pareto_front": name in verdict.front,
                    }
                )
    return pl.DataFrame(rows)


def scenario_section(verdict: Verdict, *, main: bool, with_points: bool = True) -> Section:
    """Sentences, the figure and the table of one scenario."""
    name = verdict.scenario.name
    drawn = [_figure(verdict)] if has_points(verdict) else []
    table, told = _table(verdict, main=main), sentences(verdict) if with_points else []
    return Section(name, caution(verdict), [table], drawn, told)


def _told(verdict: Verdict) -> list[str]:
    """The sentences of the only scenario, with what its few runs do not allow."""
    return [text for text in (caution(verdict), *sentences(verdict)) if text]


def has_points(verdict: Verdict) -> bool:
    """Whether any controller has a frame delay."""
    return verdict.scenario.runs[DELAY_95.name].fill_nan(None).drop_nulls().len() > 0


def points(verdict: Verdict) -> pl.DataFrame:
    """The points of the figure."""
    columns = (("utilization", UTILIZATION), ("p95", DELAY_95), ("p99", DELAY_99))
    rows = []
    for name in verdict.scenario.controllers:
        row: dict[str, Any] = {
            "controller": name,
            "role": {LIMIT: "limit", BASELINE: "baseline"}.get(kind(name), "judged"),
            "front": name in verdict.front,
        }
        for column, one in columns:
            found = verdict.mean(name, one)
            row |= {column: found.mean, f"{column}_low": found.low, f"{column}_high": found.high}
        rows.append(row)
    return pl.DataFrame(rows)


def _figure(verdict: Verdict) -> Figure:
    what = "fair share" if verdict.scenario.competes else "capacity"
    delays = [
        ("p95", "95th percentile frame delay (ms)"),
        ("p99", "99th percentile frame delay (ms)"),
    ]
    drawn, left_out = within_reach(points(verdict), [name for name, _ in delays])
    chart = tradeoff(drawn, delays, f"Utilization (% of the {what})")
    caption = (
        "Up and to the left is better. Crosses are 95 % intervals; the dotted line joins the "
        "Pareto front of the left panel"
    )
    caption += "; dashed lines go through the oracle." if verdict.limits else "."
    for name in left_out["controller"]:
        used, delay = verdict.mean(name, UTILIZATION), verdict.mean(name, DELAY_95)
        caption += f" Out of sight, {name}: {estimate(used, '%')} at {estimate(delay, 'ms')}."
    name = verdict.scenario.name
    told = f"Utilization against frame delay of each controller on {name}."
    return figure(name, name, chart, caption=caption, description=told)


def scenario_table(verdict: Verdict) -> pl.DataFrame:
    """Means of all measures with the ends of their intervals, a row for each controller."""
    rows = []
    for name in _in_order(verdict):
        row: dict[str, Any] = {"scenario": verdict.scenario.name, "controller": name}
        for one in verdict.measures:
            found = verdict.mean(name, one)
            row |= {one.name: found.mean, f"{one.name}_low": found.low,
                    f"{one.name}_high": found.high, f"{one.name}_runs": found.runs}  # fmt: skip
        rows.append(row)
    return pl.DataFrame(rows)


def _table(verdict: Verdict, *, main: bool) -> Table:
    order = _in_order(verdict)
    rows = [
        {"controller": name}
        | {one.heading: estimate(verdict.mean(name, one)) for one in verdict.measures}
        for name in order
    ]
    rankings = [ranking for one in verdict.measures if (ranking := verdict.ranking(one))]
    best = frozenset(
        (order.index(name), ranking.measure.heading)
        for ranking in rankings
        for name in ranking.shared
    )
    caption = "Bold: best, or not worse than the best."
    file = f"{verdict.scenario.name} table"
    return Table(caption, pl.DataFrame(rows), file, scenario_table(verdict), best, main=main)


def _in_order(verdict: Verdict) -> list[str]:
    """Those that are judged, as the experiment names them; then baseline and limit."""
    return sorted(verdict.scenario.controllers, key=lambda name: name not in verdict.judged)


def _behind(verdicts: Sequence[Verdict]) -> Section:
    """How far each judged controller is behind the best of each scenario."""
    names = list(dict.fromkeys(name for verdict in verdicts for name in verdict.judged))
    tables = []
    for one in TOLD:
        rows: list[dict[str, str]] = []
        best: set[tuple[int, str]] = set()
        for verdict in verdicts:
            ranking = verdict.ranking(one)
            if ranking is None:
                continue
            best |= {(len(rows), name) for name in ranking.shared}
            gaps = {
                name: "best" if name == ranking.best else estimate(ranking.behind[name])
                for name in ranking.order
            }
            row = {"scenario": verdict.scenario.name}
            rows.append(row | {name: gaps.get(name, "") for name in names})
        if rows:
            tables.append(Table(f"{one.worse.capitalize()} {one.heading}", pl.DataFrame(rows),
                                f"behind {one.label}", best=frozenset(best)))  # fmt: skip
    text = "Paired differences from the controller with the best mean. Bold: not worse than it."
    return Section("Behind the best", text, tables)


def _differences(verdicts: Sequence[Verdict]) -> Section:
    """Paired differences of every pair and measure in a file, counted on the page."""
    every = [
        _difference(verdict, one, first, second)
        for verdict in verdicts
        for one in verdict.measures
        for first, second in _pairs(verdict)
    ]
    counts = []
    for one in MEASURES:
        own = [row for row in every if row["measure"] == one.name]
        sure = [row for row in own if row["low"] > 0.0 or row["high"] < 0.0]
        relevant = [row for row in sure if abs(row["difference"]) >= one.relevance]
        counts.append({"measure": one.heading, "pairs": len(own), "zero is excluded": len(sure),
                       f"and at least {RELEVANT}": len(relevant),
                       "relevant from": f"{one.relevance:g}"})  # fmt: skip
    text = (
        "Of every two controllers in every scenario, the first less the second, paired by seed; "
        "utilization as it is judged, up to 100 %. The file has all of them."
    )
    table = Table("", pl.DataFrame(counts), "differences", pl.DataFrame(every))
    return Section("Every pair", text, [table])


def _pairs(verdict: Verdict) -> list[tuple[str, str]]:
    names = verdict.scenario.controllers
    return [(a, b) for index, a in enumerate(names) for b in names[index + 1 :]]


def _difference(verdict: Verdict, one: Measure, first: str, second: str) -> dict[str, Any]:
    found = verdict.difference(first, second, one)
    return {
        "scenario": verdict.scenario.name,
        "measure": one.name,
        "first": first,
        "second": second,
        "difference": found.mean,
        "low": found.low,
        "high": found.high,
        "pairs": found.runs,
    }
