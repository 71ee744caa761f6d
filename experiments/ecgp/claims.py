"""What the slides say of the queues, and the issue of ours, held against our runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gameway.page.claimed import Claim
from gameway.page.words import number

from .tables import COMPETITORS, of_condition

if TYPE_CHECKING:
    import polars as pl

SMALL_MS, HTB_MS, LATE_MS = 1.0, 2.0, 10.0
LONG_MS, TARGET_MS, WAITING_MS = 20.0, 15.0, 50.0
CLEARLY_PERCENT = 1.0
ALIKE = 1.25
"""Two delays are alike within this factor."""


def of_queues(rows: pl.DataFrame, controller: str = "scream") -> list[Claim]:
    """Every claim that the runs can tell of."""
    found: list[Claim] = []
    for competitor in COMPETITORS:
        own = {
            queue: of_condition(rows, controller, queue, competitor)
            for queue in ("drop-tail", "htb", "dual-pi2")
        }
        known = {queue: _means(runs) for queue, runs in own.items() if not runs.is_empty()}
        if "drop-tail" in known:
            found += _drop_tail(known["drop-tail"], competitor)
        if "htb" in known:
            found += _htb(known["htb"], competitor)
        if "dual-pi2" in known:
            found += _l4s(known["dual-pi2"], competitor)
        if {"htb", "dual-pi2"} <= set(known):
            found.append(_lower(known["htb"], known["dual-pi2"], competitor))
    return found


def _means(runs: pl.DataFrame) -> dict[str, float]:
    columns = [name for name, kind in runs.schema.items() if kind.is_float()]
    return {name: float(runs[name].mean() or 0.0) for name in columns}  # type: ignore[arg-type]


def _drop_tail(found: dict[str, float], competitor: str) -> list[Claim]:
    game, tcp = found["game_delay_mean_ms"], found["tcp_delay_mean_ms"]
    rates = found["game_bitrate_mbps"], found["tcp_bitrate_mbps"]
    return [
        Claim(
            "Drop-tail: the game waits as long as the download, and long (over 20 ms)",
            competitor,
            game > LONG_MS and 1.0 / ALIKE < game / tcp < ALIKE,
            f"{number(game)} and {number(tcp)} ms.",
        ),
        Claim(
            "Drop-tail: the download takes more than twice the game's share",
            competitor,
            rates[1] > 2.0 * rates[0],
            f"{number(rates[0])} and {number(rates[1])} Mb/s.",
        ),
    ]


def _htb(found: dict[str, float], competitor: str) -> list[Claim]:
    delay = found["game_delay_mean_ms"]
    return [
        Claim(
            f"HTB: the game waits under {HTB_MS:g} ms on average",
            competitor,
            delay < HTB_MS,
            f"{number(delay)} ms at {number(found['game_bitrate_mbps'])} Mb/s, link used to "
            f"{number(found['utilization_percent'])} %.",
        ),
        Claim(
            "HTB: the download waits far longer than the game (50 ms or more)",
            competitor,
            found["tcp_delay_mean_ms"] >= WAITING_MS,
            _waiting(found),
        ),
    ]


def _l4s(found: dict[str, float], competitor: str) -> list[Claim]:
    delay, late = found["game_delay_mean_ms"], found["game_over_10ms_percent"]
    return [
        Claim(
            f"L4S: the game waits under {SMALL_MS:g} ms on average, never {LATE_MS:g}",
            competitor,
            delay < SMALL_MS and late == 0.0,
            f"{number(delay)} ms, {number(late)} % of packets 10 ms or more, at "
            f"{number(found['game_bitrate_mbps'])} Mb/s, link used to "
            f"{number(found['utilization_percent'])} %.",
        ),
        Claim(
            "L4S: the download waits under the target of 15 ms",
            competitor,
            found["tcp_delay_mean_ms"] < TARGET_MS,
            _waiting(found),
        ),
    ]


def _waiting(found: dict[str, float]) -> str:
    delay, rate = found["tcp_delay_mean_ms"], found["tcp_bitrate_mbps"]
    return f"{number(delay)} ms at {number(rate)} Mb/s."


def _lower(htb: dict[str, float], l4s: dict[str, float], competitor: str) -> Claim:
    return Claim(
        "L4S uses clearly less of the link than HTB (1 % or more)",
        competitor,
        l4s["utilization_percent"] < htb["utilization_percent"] - CLEARLY_PERCENT,
        f"{number(l4s['utilization_percent'])} and {number(htb['utilization_percent'])} %.",
    )
