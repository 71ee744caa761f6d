"""What the text of the publication says, held against our runs, one verdict for each controller.

The publication measured two commercial services; a claim that does not hold for a controller of
ours is a finding about it. Where the text has a word in place of a number (low, minimal, near,
frequent), the number is ours or from the authors' own tables of 2022, and is in the claim:

| word | number |
|---|---|
| queueing low, loss minimal | at most the highest of Tables 2 and 4 of 2022: 22.0 ms, 0.09 % |
| near the capacity, or the own maximum | 85 % of it |
| decreases | by 5 % or more, and clearly so over runs |
| recovers | to within 5 % |
| near 60 f/s | 57 f/s or more |
| far less than a download | half of the time in the queue, in the mean over conditions |
| most conditions | more than half |
| frequent switches | one a minute or more, in most conditions |
| interruptions low | at most one in a video, in each condition in the mean over runs |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from gameway.metrics.phases import GAME, VIDEO
from gameway.metrics.quantities import megabits_per_second, natural_key
from gameway.metrics.statistics import half_width
from gameway.page import Table
from gameway.page.claimed import Claim
from gameway.page.words import number
from gameway.published import references

from .measures import difference_ratio

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gameway.page import Cell

ALONE, BESIDE, AFTER = 0, 1, 2
"""Numbers of the phases: without the competitor, with it, and when it has gone."""
NEAR, DECREASES, RECOVERS, SMOOTH_FPS = 0.85, 0.05, 0.05, 57.0
FAR_LESS, HALF, SWITCHES, INTERRUPTIONS = 0.5, 0.5, 1.0, 1.0
SHALLOW, TYPICAL, DEEP = QUEUES = "0.5 bdp", "1 bdp", "7 bdp"
SIGNED = "{:+.2f}".format
BAD = "15 Mb/s"
BASE_RTT_MS = 16.0

Condition = tuple[str, str]
"""Capacity and queue."""


@dataclass(frozen=True)
class Told:
    """A verdict and its figures."""

    holds: bool
    figures: str


@dataclass(frozen=True)
class Runs:
    """The rows of one controller beside the video, and beside a download where those were run."""

    rows: pl.DataFrame
    max_mbps: float
    """The greatest target of the stream."""
    beside_download: pl.DataFrame | None = None

    def conditions(self) -> list[Condition]:
        """Capacity and queue of each condition, by size."""
        found = self.rows.select("capacity", "queue_label").unique().rows()
        return sorted(found, key=_size)

    def values(self, condition: Condition, kind: str, phase: int, column: str) -> pl.Series:
        """A figure of each run, by repeat."""
        return _values(self.rows, condition, kind, phase, column)

    def mean(self, condition: Condition, kind: str, phase: int, column: str) -> float:
        """Its mean over runs."""
        return _mean(self.values(condition, kind, phase, column))

    def ratios(self) -> dict[Condition, float]:
        """(game - video) / capacity beside the video, in the mean over runs."""
        named = self.rows.select("run", "capacity", "queue_label").unique()
        beside = difference_ratio(self.rows).filter(phase=BESIDE).join(named, on="run")
        means = beside.group_by("capacity", "queue_label").agg(pl.col("ratio").mean())
        return {(capacity, queue): ratio for capacity, queue, ratio in means.iter_rows()}


def limits() -> tuple[float, float]:
    """Longest RTT (ms) and highest loss (%) without a competitor that the authors saw in 2022."""
    values = references()["xu-claypool-2022"].values().filter(competitor="none")
    rtt, loss = (values.filter(metric=name)["mean"].max() for name in ("rtt_ms", "loss_percent"))
    return float(rtt), float(loss)  # type: ignore[arg-type]


def of_paper(
    rows: pl.DataFrame, max_mbps: float, beside_download: pl.DataFrame | None = None
) -> list[Claim]:
    """Every claim, for each controller."""
    found = []
    for text, check in _claims():
        for (controller,), own in rows.group_by("controller", maintain_order=True):
            other = (
                None if beside_download is None else beside_download.filter(controller=controller)
            )
            told = check(Runs(own, max_mbps, other))
            if told is not None:
                found.append(Claim(text, str(controller), told.holds, told.figures))
    return found


def _claims() -> Iterator[tuple[str, Callable[[Runs], Told | None]]]:
    rtt, loss = limits()
    low = f"RTT up to {rtt:g} ms, loss up to {loss:g} %"
    yield f"No self-induced congestion: alone, {low} (I, VII)", _no_congestion
    yield "Alone, near the capacity or the own maximum: 85 % of it (IV-A)", _near_capacity
    yield "The bitrate decreases when the video comes (IV-A)", _decreases
    yield "It recovers when the video has gone: within 5 % (IV-A)", _recovers
    yield "Luna's way: less bitrate at 7 BDP than at 0.5 BDP (IV-A)", _less_in_deep
    yield "GeForce's way: most bitrate at 1 BDP (IV-A)", _max_in_typical
    yield "Luna's way: above its share at 0.5 BDP, below at 7 BDP (IV-B, VII)", _luna_shares
    yield "GeForce's way: above its share at 1 BDP, below at 0.5 and 7 BDP (IV-B)", _geforce_shares
    yield "Beside the video, 57 f/s or more in all conditions (V)", _smooth
    yield "Bloated queues mean longer round trips: 7 BDP against 1 BDP (V, VII)", _longer
    yield "Beside a video, half the time in the queue or less as beside a download (V)", _far_less
    yield "The video gets less than half of the capacity, in most conditions (V)", _less_than_half
    yield "It switches quality once a minute or more, in most conditions (V)", _switches
    yield "Interruptions are low: at most one in a video (V)", _few_interruptions
    yield "No interruption at 25 and 35 Mb/s (VII)", _none_above
    yield "Interruptions at 15 Mb/s (VII)", _some_below


def _no_congestion(runs: Runs) -> Told:
    most = limits()
    rtt, loss = (
        {key: runs.mean(key, GAME, ALONE, column) for key in runs.conditions()}
        for column in ("rtt_ms", "loss_percent")
    )
    good = [key for key in rtt if rtt[key] <= most[0] and loss[key] <= most[1]]
    return Told(
        len(good) == len(rtt),
        f"{_count(good, rtt)}; longest RTT {_worst(rtt, 'ms')}, highest loss {_worst(loss, '%')}.",
    )


def _near_capacity(runs: Runs) -> Told:
    shares = {
        key: runs.mean(key, GAME, ALONE, "level_mbps")
        / min(megabits_per_second(key[0]), runs.max_mbps)
        for key in runs.conditions()
    }
    good = [key for key, share in shares.items() if share >= NEAR]
    least = min(shares, key=lambda key: shares[key])
    return Told(
        len(good) == len(shares),
        f"{_count(good, shares)}; least {number(100.0 * shares[least])} % at {_at(least)}.",
    )


def _decreases(runs: Runs) -> Told:
    good, shares = [], {}
    for key in runs.conditions():
        before = runs.values(key, GAME, ALONE, "level_mbps")
        change = ((runs.values(key, GAME, BESIDE, "mbps") - before) / before).to_numpy()
        shares[key] = 100.0 * float(change.mean())
        half = half_width(change) if len(change) > 1 else 0.0
        if change.mean() <= -DECREASES and change.mean() + half < 0.0:
            good.append(key)
    low, high = min(shares.values()), max(shares.values())
    return Told(
        len(good) == len(shares), f"{_count(good, shares)}; changes of {low:+.0f} to {high:+.0f} %."
    )


def _recovers(runs: Runs) -> Told:
    shares = {
        key: 100.0
        * runs.mean(key, GAME, AFTER, "level_mbps")
        / runs.mean(key, GAME, ALONE, "level_mbps")
        for key in runs.conditions()
    }
    good = [key for key, share in shares.items() if share >= 100.0 * (1.0 - RECOVERS)]
    least = min(shares, key=lambda key: shares[key])
    return Told(
        len(good) == len(shares),
        f"{_count(good, shares)}; least {number(shares[least])} % at {_at(least)}.",
    )


def _less_in_deep(runs: Runs) -> Told | None:
    return _by_queue(runs, (SHALLOW, DEEP), lambda mbps: mbps[DEEP] < mbps[SHALLOW])


def _max_in_typical(runs: Runs) -> Told | None:
    return _by_queue(runs, QUEUES, lambda mbps: mbps[TYPICAL] > max(mbps[SHALLOW], mbps[DEEP]))


def _by_queue(
    runs: Runs, needed: tuple[str, ...], holds: Callable[[dict[str, float]], bool]
) -> Told | None:
    """Of the game's bitrate in each queue."""
    values = {key: runs.mean(key, GAME, BESIDE, "mbps") for key in runs.conditions()}
    return _of_capacities(values, needed, holds, number)


def _luna_shares(runs: Runs) -> Told | None:
    return _of_capacities(
        runs.ratios(), (SHALLOW, DEEP), lambda ratio: ratio[SHALLOW] > 0.0 > ratio[DEEP], SIGNED
    )


def _geforce_shares(runs: Runs) -> Told | None:
    return _of_capacities(
        runs.ratios(),
        QUEUES,
        lambda ratio: ratio[TYPICAL] > 0.0 > max(ratio[SHALLOW], ratio[DEEP]),
        SIGNED,
    )


def _of_capacities(
    values: dict[Condition, float],
    needed: tuple[str, ...],
    holds: Callable[[dict[str, float]], bool],
    text: Callable[[float], str],
) -> Told | None:
    """Whether something holds over queues at every capacity; None without all of the queues."""
    found: dict[str, dict[str, float]] = {}
    for (capacity, queue), value in sorted(values.items(), key=lambda item: _size(item[0])):
        found.setdefault(capacity, {})[queue] = value
    if any(queue not in by_queue for by_queue in found.values() for queue in needed):
        return None
    good = [capacity for capacity, by_queue in found.items() if holds(by_queue)]
    queues = ", ".join(next(iter(found.values())))
    told = "; ".join(
        f"{capacity} {', '.join(text(value) for value in by_queue.values())}"
        for capacity, by_queue in found.items()
    )
    return Told(len(good) == len(found), f"{_count(good, found)} capacities; {queues}: {told}.")


def _smooth(runs: Runs) -> Told:
    rates = {key: runs.mean(key, GAME, BESIDE, "fps") for key in runs.conditions()}
    good = [key for key, rate in rates.items() if rate >= SMOOTH_FPS]
    least = min(rates, key=lambda key: rates[key])
    return Told(
        len(good) == len(rates),
        f"{_count(good, rates)}; least {number(rates[least])} f/s at {_at(least)}.",
    )


def _longer(runs: Runs) -> Told | None:
    good, told = [], []
    capacities = sorted({capacity for capacity, _ in runs.conditions()}, key=natural_key)
    for capacity in capacities:
        typical, deep = (
            runs.values((capacity, queue), GAME, BESIDE, "rtt_ms") for queue in (TYPICAL, DEEP)
        )
        if typical.is_empty() or deep.is_empty():
            return None
        change = (deep - typical).to_numpy()
        half = half_width(change) if len(change) > 1 else 0.0
        good += [capacity] if change.mean() - half > 0.0 else []
        told.append(f"{capacity} {number(_mean(typical))} and {number(_mean(deep))} ms")
    return Told(
        len(good) == len(capacities), f"{_count(good, capacities)} capacities; {'; '.join(told)}."
    )


def _far_less(runs: Runs) -> Told | None:
    other = runs.beside_download
    if other is None or other.is_empty():
        return None
    queues, bitrates = [], []
    for side in (runs.rows, other):
        rtts = [_mean(_values(side, key, GAME, BESIDE, "rtt_ms")) for key in runs.conditions()]
        rates = [_mean(_values(side, key, GAME, BESIDE, "mbps")) for key in runs.conditions()]
        queues.append(sum(rtts) / len(rtts) - BASE_RTT_MS)
        bitrates.append(sum(rates) / len(rates))
    video, download = queues
    return Told(
        video <= FAR_LESS * download,
        f"{number(video)} and {number(download)} ms, at {number(bitrates[0])} and "
        f"{number(bitrates[1])} Mb/s of game.",
    )


def _less_than_half(runs: Runs) -> Told:
    shares = {
        key: runs.mean(key, VIDEO, BESIDE, "mbps") / megabits_per_second(key[0])
        for key in runs.conditions()
    }
    good = [key for key, share in shares.items() if share < HALF]
    low, high = (100.0 * end(shares.values()) for end in (min, max))
    return Told(
        2 * len(good) > len(shares), f"{_count(good, shares)}; {low:.0f} to {high:.0f} % of it."
    )


def _switches(runs: Runs) -> Told:
    found = {key: runs.mean(key, VIDEO, BESIDE, "switches") for key in runs.conditions()}
    good = [key for key, switches in found.items() if switches >= SWITCHES]
    low, high = (number(end(found.values())) for end in (min, max))
    return Told(2 * len(good) > len(found), f"{_count(good, found)}; {low} to {high} a minute.")


def _few_interruptions(runs: Runs) -> Told:
    found = {key: runs.mean(key, VIDEO, BESIDE, "interruptions") for key in runs.conditions()}
    good = [key for key, count in found.items() if count <= INTERRUPTIONS]
    return Told(len(good) == len(found), f"{_count(good, found)}; most {_worst(found, '')}.")


def _none_above(runs: Runs) -> Told:
    found = {key: halts for key, halts in _halts(runs).items() if key[0] != BAD}
    return Told(not any(found.values()), _halts_text(found))


def _some_below(runs: Runs) -> Told:
    found = {key: halts for key, halts in _halts(runs).items() if key[0] == BAD}
    return Told(any(found.values()), _halts_text(found))


def _halts(runs: Runs) -> dict[Condition, float]:
    """Interruptions of all runs of each condition."""
    return {
        key: float(runs.values(key, VIDEO, BESIDE, "interruptions").sum())
        for key in runs.conditions()
    }


def _halts_text(found: dict[Condition, float]) -> str:
    some = [f"{count:g} at {_at(key)}" for key, count in found.items() if count]
    return f"All runs together: {', '.join(some) or 'none'}."


def matrix(found: list[Claim]) -> Table:
    """For which controller each claim holds."""
    texts = list(dict.fromkeys(claim.text for claim in found))
    controllers = list(dict.fromkeys(claim.condition for claim in found))
    verdicts = {(claim.text, claim.condition): claim.holds for claim in found}
    lines, marked = [], set[tuple[int, str]]()
    for index, text in enumerate(texts):
        line = {"claim": text}
        for controller in controllers:
            holds = verdicts.get((text, controller))
            line[controller] = "" if holds is None else "yes" if holds else "no"
            marked |= {(index, controller)} if holds is False else set()
        lines.append(line)
    cells: frozenset[Cell] = frozenset(marked)
    return Table(
        "For whom each claim holds", pl.DataFrame(lines), name="claims-by-controller",
        marked=cells, main=True,
    )  # fmt: skip


def statements(found: list[Claim]) -> list[str]:
    """One sentence for each claim."""
    told = []
    for text in dict.fromkeys(claim.text for claim in found):
        own = [claim for claim in found if claim.text == text]
        yes = [claim.condition for claim in own if claim.holds]
        who = ", ".join(yes) if yes else "nobody"
        told.append(f"{text}: holds for {who if len(yes) < len(own) else 'all'}.")
    return told


def _values(
    rows: pl.DataFrame, condition: Condition, kind: str, phase: int, column: str
) -> pl.Series:
    capacity, queue = condition
    own = rows.filter(capacity=capacity, queue_label=queue, kind=kind, phase=phase)
    return own.sort("repeat")[column]


def _mean(values: pl.Series) -> float:
    found = values.drop_nans().mean()
    return found if isinstance(found, float) else float("nan")


def _size(condition: Condition) -> tuple[object, ...]:
    return tuple(natural_key(text) for text in condition)


def _count(good: list[str] | list[Condition], of: object) -> str:
    return f"{len(good)} of {len(of)}"  # type: ignore[arg-type]


def _worst(found: dict[Condition, float], unit: str) -> str:
    most = max(found, key=lambda key: found[key])
    return f"{number(found[most])} {unit} at {_at(most)}".replace("  ", " ")


def _at(condition: Condition) -> str:
    return ", ".join(condition)
