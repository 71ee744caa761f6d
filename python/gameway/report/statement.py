"""The first sentences of a report: what a reader could repeat to somebody else.

At most three: who has which share beside a competitor, who loses frames, who waits. Each rests on a
test that the findings below it hold: a share is counted where its 95 % interval lies on one side
of a bound, and a delay is called shortest where paired differences say so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from gameway.figures.conditions import CONTROLLER, dimensions, title_of
from gameway.metrics.source import competitors, finished_runs
from gameway.page.words import listed, rounded
from gameway.report.findings import clear_of, duel, scope_of

if TYPE_CHECKING:
    from gameway.metrics.source import ResultFolder

SHARE = "bitrate_difference_ratio"
# (stream - competitor) / capacity. Up to 0.2 of the capacity apart, one has at most one and a half
# times what the other has; from 0.5 on, at least three times.
EQUAL_WITHIN, FAR_FROM = 0.2, 0.5
SHARES = {
    -2: "far less than an equal share",
    -1: "less than an equal share",
    0: "an equal share",
    1: "more than an equal share",
    2: "far more than an equal share",
}
DEPENDING = "depending on "
NOTICED_LOSS_PERCENT = 5.0
"""Shares of frames below are told as "nearly every frame is shown"."""
ALIKE = 1.1
"""Mean round-trip times of which the longest is at most so many times the shortest are alike."""
KINDS = {
    "tcp": "download", "quic": "download", "short-tcp": "short transfers", "dash": "video",
    "ping": "ping",
}  # fmt: skip


def statement(results: ResultFolder, table: pl.DataFrame) -> list[str]:
    """Two or three sentences made of a summary table; none without a stream."""
    if table.is_empty():
        return []
    group = CONTROLLER if CONTROLLER in table.columns else "stream"
    telling = [d.column for d in dimensions(table, results.factors) if d.column != group]
    found = (
        _shares(results, table, group, telling)
        if scope_of(table) == "competing"
        else _utilization(table, group, telling),
        _frames(table, group, telling),
        _waiting(results, table, group, telling),
    )
    return [sentence for sentence in found if sentence]


def _shares(
    results: ResultFolder, table: pl.DataFrame, group: str, telling: list[str]
) -> str | None:
    """Who keeps a share of the link, and who yields."""
    known = table.filter(pl.col(SHARE).is_not_nan())
    if known.is_empty():
        return None
    clauses: dict[str, list[str]] = {}
    for (name,), rows in known.group_by(group, maintain_order=True):
        clauses.setdefault(_share_words(rows, telling), []).append(str(name))
    in_order = sorted(clauses.items(), key=lambda clause: DEPENDING in clause[0])
    told = [f"{listed(names)} {_has(names)} {words}" for words, names in in_order]
    return f"Beside {_competition(results)}, {listed(told)}."


def _step(ratio: float) -> int:
    size = (abs(ratio) > EQUAL_WITHIN) + (abs(ratio) >= FAR_FROM)
    return size if ratio > 0.0 else -size


def _share_words(rows: pl.DataFrame, telling: list[str]) -> str:
    """The share in most conditions, or what it depends on."""
    means = rows[SHARE].to_list()
    halves = rows[f"{SHARE}_ci95"].fill_nan(0.0).to_list()
    spans = [(_step(m - h), _step(m + h)) for m, h in zip(means, halves, strict=True)]
    clear = [low for low, high in spans if low == high]
    common = max(set(clear), key=clear.count) if clear else 0
    apart = max(low for low, _ in spans) - min(high for _, high in spans)
    if 2 * clear.count(common) > rows.height and apart <= 1:
        return SHARES[common]
    steps = [_step(mean) for mean in means]
    low, high = min(steps), max(steps)
    if low == high:
        return f"{SHARES[low]} on average"
    if low * high != 0:
        words = f"from {_short(low)} to {_short(high)} than an equal share"
    else:
        words = f"{SHARES[0]} or {_short(low if low < 0 else high)}"
    return f"{words}, {DEPENDING}{_what(rows, telling)}"


def _short(step: int) -> str:
    return SHARES[step].removesuffix(" than an equal share")


def _what(rows: pl.DataFrame, telling: list[str]) -> str:
    """The condition over whose values the means differ most; chance, where nothing varies."""
    spread = {}
    for column in telling:
        means = rows.group_by(column).agg(pl.col(SHARE).mean())[SHARE]
        spread[column] = float(means.max()) - float(means.min())  # type: ignore[arg-type]
    if not spread:
        return "the run"
    return f"the {title_of(max(spread, key=lambda name: spread[name])).lower()}"


def _has(names: list[str]) -> str:
    return "has" if len(names) == 1 else "have"


def _competition(results: ResultFolder) -> str:
    """What competes, by its kind where all is of one."""
    flows = competitors(finished_runs(results)[0].spec)
    kinds = {str(flow.get("kind", "tcp")) for flow in flows}
    if len(kinds) > 1:
        return "its competitors"
    kind = KINDS.get(kinds.pop(), "competitor")
    if len(flows) == 1:
        return f"a {kind}"
    return f"{len(flows)} {kind}s" if not kind.endswith("s") else kind


def _utilization(table: pl.DataFrame, group: str, telling: list[str]) -> str | None:
    """How much of the link streams use that have it for themselves."""
    column = "run_link_utilization_percent"
    means = _means(table, group, column).sort(column, descending=True)
    if means.is_empty():
        return None
    told = [f"{name} uses {rounded(value)} %" for name, value in means.rows()]
    worst = table.drop_nulls(column).sort(column).row(0, named=True)
    least = f", at least {rounded(worst[column])} %{_where(worst, telling)}" if telling else ""
    return f"Of the link, {listed(told)} on average{least}."


def _frames(table: pl.DataFrame, group: str, telling: list[str]) -> str | None:
    """Who loses how many frames at worst, and where."""
    column = f"{scope_of(table)}_never_shown_percent"
    rows = table.filter(pl.col(column).is_not_nan()).drop_nulls(column)
    if rows.is_empty():
        return None
    worst = rows.sort(column, descending=True).unique(group, keep="first", maintain_order=True)
    losing = worst.filter(pl.col(column) > NOTICED_LOSS_PERCENT)
    fine = [str(name) for name in worst[group].to_list() if name not in losing[group].to_list()]
    lost = [
        f"{row[group]} {'' if number else 'loses '}{rounded(row[column])} %"
        f"{'' if number else ' of its frames'}{_where(row, telling)}"
        for number, row in enumerate(losing.iter_rows(named=True))
    ]
    if not lost:
        return f"Nearly every frame is shown: {rounded(100.0 - worst[column][0])} % or more."
    shown = [f"{listed(fine)} {_shows(fine)} nearly every frame"] if fine else []
    worst_first = "At worst " if telling else ""
    return f"{worst_first}{listed([*lost, *shown])}."


def _shows(names: list[str]) -> str:
    return "shows" if len(names) == 1 else "show"


def _waiting(
    results: ResultFolder, table: pl.DataFrame, group: str, telling: list[str]
) -> str | None:
    """Whose round-trip time is clearly shortest, or that the controller makes no difference."""
    column = f"{scope_of(table)}_rtt_mean_ms"
    if column not in table.columns:
        return None
    means = _means(table, group, column).sort(column)
    if means.is_empty():
        return None
    names, values = means[group].to_list(), means[column].to_list()
    longest = table.filter(pl.col(column).is_not_nan()).sort(column, descending=True)
    row = longest.row(0, named=True)
    top = f", up to {rounded(row[column])} ms{_where(row, telling)}" if telling else ""
    if len(names) == 1:
        return f"The round-trip time is {rounded(values[0])} ms on average{top}."
    if group == CONTROLLER and clear_of(duel(results, column, names[0], names[1])):
        return (
            f"{names[0]} keeps the round-trip time clearly shortest: "
            f"{rounded(values[0])} ms on average, with {names[-1]} {rounded(values[-1])} ms{top}."
        )
    kind = title_of(group).lower()
    span = f"{rounded(values[0])} to {rounded(values[-1])} ms on average{top}"
    if values[-1] <= ALIKE * values[0]:
        return f"The {kind} makes little difference to the round-trip time: {span}."
    return f"No {kind} clearly has the shortest round-trip time: {span}."


def _means(table: pl.DataFrame, group: str, column: str) -> pl.DataFrame:
    """The mean over conditions of each controller, known ones only."""
    known = pl.col(column).fill_nan(None).mean()
    return table.group_by(group, maintain_order=True).agg(known).drop_nulls()


def _where(row: dict[str, Any], telling: list[str]) -> str:
    values = [str(row[column]) for column in telling if row[column] is not None]
    return f" ({', '.join(values)})" if values else ""
