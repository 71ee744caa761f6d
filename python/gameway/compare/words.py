"""Verdicts as sentences that a reader can quote."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gameway.compare.measures import DELAY_95, JAIN, MOS, UTILIZATION
from gameway.page.words import UNKNOWN, listed, number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gameway.compare.bootstrap import Interval
    from gameway.compare.measures import Measure
    from gameway.compare.verdict import Ranking, Verdict

TOLD = (DELAY_95, UTILIZATION, MOS)
"""Measures that have a sentence of their own in each scenario."""
SUMMED = (DELAY_95, UTILIZATION, JAIN, MOS)
"""Measures whose winners are counted over scenarios."""
FEW_REPEATS = 5


def estimate(found: Interval, unit: str = "") -> str:
    """A mean with its interval: "12.3 [12.0, 12.6] ms"."""
    text = _number(found.mean) if found.runs else UNKNOWN
    if found.known:
        text += f" [{_number(found.low)}, {_number(found.high)}]"
    return f"{text} {unit}".rstrip()


def _number(value: float) -> str:
    """A value as text; what rounds to nothing has no sign."""
    text = number(value)
    return text.lstrip("-") if text.strip("-0.") == "" else text


def caution(verdict: Verdict) -> str:
    """What the number of runs does not allow to say; empty if it is enough."""
    if verdict.repeats <= 1:
        return (
            "One run of each controller: no interval can be given, and differences are those of "
            "single runs. Repeat it with --runs 10."
        )
    if verdict.repeats < FEW_REPEATS:
        return (
            f"{verdict.repeats} runs of each controller: intervals of so few are too narrow; "
            "repeat it with --runs 10."
        )
    return ""


def sentences(verdict: Verdict) -> list[str]:
    """What is found in one scenario."""
    rankings = [verdict.ranking(one) for one in TOLD]
    found = [_sentence(verdict, ranking) for ranking in rankings if ranking is not None]
    if len(verdict.judged) > 1 and verdict.front:
        found.append(_front(verdict))
    return found


def _sentence(verdict: Verdict, ranking: Ranking) -> str:
    one, best = ranking.measure, ranking.best
    unit = _unit(verdict, one)
    text = f"{best} has {_superlative(verdict, one)} ({estimate(verdict.mean(best, one), unit)})"
    others = [name for name in ranking.shared if name != best]
    if others:
        each = [f"{name} ({_gap(ranking, name)})" for name in others]
        text += f"; {listed(each)} {'is' if len(each) == 1 else 'are'} not worse"
    following = next((name for name in ranking.order if name not in ranking.shared), None)
    if following is not None:
        joint = "; then comes" if others else ", before"
        text += f"{joint} {following} with {_gap(ranking, following)}"
    return f'In "{verdict.scenario.name}", {text}.{_limit(verdict, one, unit)}'


def _superlative(verdict: Verdict, one: Measure) -> str:
    if one is UTILIZATION and verdict.scenario.competes:
        return "the most of its fair share, the rest not counted"
    return one.superlative


def _gap(ranking: Ranking, name: str) -> str:
    one = ranking.measure
    unit = "points" if one.unit == "%" else one.unit
    return f"{estimate(ranking.behind[name], unit)} {one.worse}"


def _limit(verdict: Verdict, one: Measure, unit: str) -> str:
    if not verdict.limits:
        return ""
    return f" The limit (oracle): {estimate(verdict.mean(verdict.limits[0], one), unit)}."


def _front(verdict: Verdict) -> str:
    each = [
        f"{name} ({estimate(verdict.mean(name, UTILIZATION), '%')} at "
        f"{estimate(verdict.mean(name, DELAY_95), 'ms')})"
        for name in verdict.front
    ]
    return (
        f'In "{verdict.scenario.name}", nobody has both more utilization and less 95th percentile '
        f"frame delay than {listed(each, 'or')}."
    )


def overall(verdicts: Sequence[Verdict]) -> list[str]:
    """What is found over all scenarios: of streams alone, of a kind, and beside others."""
    groups: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        groups.setdefault(_group(verdict), []).append(verdict)
    return [
        f"{name} ({_plural(own)}), wins alone or shared: {_winners(own)}."
        for name, own in groups.items()
    ]


def _group(verdict: Verdict) -> str:
    if verdict.scenario.competes:
        return "Beside other traffic"
    return "Several streams of a kind" if verdict.scenario.several else "One stream alone"


def _plural(verdicts: Sequence[Verdict]) -> str:
    return f"{len(verdicts)} scenarios" if len(verdicts) > 1 else "one scenario"


def _winners(verdicts: Sequence[Verdict]) -> str:
    told = []
    for one in SUMMED:
        rankings = [ranking for v in verdicts if (ranking := v.ranking(one)) is not None]
        if rankings:
            told.append(f"{one.label}: {_counts([ranking.shared for ranking in rankings])}")
    told.append(f"Pareto front: {_counts([verdict.front for verdict in verdicts])}")
    return "; ".join(told)


def _counts(winners: Sequence[Sequence[str]]) -> str:
    names = list(dict.fromkeys(name for own in winners for name in own))
    counts = {name: sum(name in own for own in winners) for name in names}
    order = sorted(names, key=lambda name: -counts[name])
    return ", ".join(f"{name} {counts[name]}" for name in order)


def _unit(verdict: Verdict, one: Measure) -> str:
    if one is UTILIZATION:
        return "% of its fair share" if verdict.scenario.competes else "% of the capacity"
    return one.unit
