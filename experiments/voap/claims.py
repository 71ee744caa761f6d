"""What the authors claim of VoAP, and what ours must hold, against our runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from gameway.page import Table
from gameway.page.claimed import Claim
from gameway.page.words import UNKNOWN, estimate_of, number

from . import published
from .measures import NONE, change_percent

if TYPE_CHECKING:
    from .measures import Change

VOAP = "voap"
MAX_P98_MS, MAX_LOSS_PERCENT, MAX_UNFAIR_PERCENT, MAX_TAKEN_UP_S = 20.0, 1.0, 5.0, 2.0
UPSTREAM_P98_MS = 12.0


def of_delays(rows: pl.DataFrame, keys: tuple[str, ...], name: str = "") -> list[Claim]:
    """Short delays at no cost of throughput, for each combination of the keys."""
    found = []
    gateways = [kind for kind in rows["gateway"].unique(maintain_order=True) if _is_voap(kind)]
    for gateway in gateways:
        for key, own in rows.group_by(keys, maintain_order=True) if keys else [((), rows)]:
            with_it, without = own.filter(gateway=gateway), own.filter(gateway=NONE)
            if not with_it.is_empty() and not without.is_empty():
                where = f"{gateway}: " + ", ".join([*([name] if name else []), *map(str, key)])
                found += _of_delay(own, with_it, without, where)
    return found


def _is_voap(gateway: str) -> bool:
    return gateway.startswith(VOAP)


def _of_delay(
    own: pl.DataFrame, with_it: pl.DataFrame, without: pl.DataFrame, where: str
) -> list[Claim]:
    change = change_percent(own, "throughput_mbps", str(with_it["gateway"][0]))
    late = _mean(with_it, "delay_p98_ms")
    return [
        Claim(
            f"The game waits at most {MAX_P98_MS:g} ms at the 98th percentile",
            where,
            late <= MAX_P98_MS,
            f"{estimate_of(with_it['delay_p98_ms'])} ms; {estimate_of(without['delay_p98_ms'])} ms "
            f"without, peak {number(_mean(without, 'delay_peak_ms'))}.",
        ),
        Claim(
            f"The downloads lose under {MAX_LOSS_PERCENT:g} % of their throughput",
            where,
            change.mean > -MAX_LOSS_PERCENT,
            f"{estimate_of(with_it['throughput_mbps'])} Mb/s; {_change_text(change)}.",
        ),
    ]


def of_fairness(rows: pl.DataFrame, where: str) -> list[Claim]:
    """Equal shares."""
    own = rows.filter(pl.col("gateway").str.starts_with(VOAP))
    return [
        Claim(
            f"Each download within {MAX_UNFAIR_PERCENT:g} % of an equal share",
            f"{gateway}: {where}, {tcp}",
            _mean(runs, "unfair_percent") <= MAX_UNFAIR_PERCENT,
            f"the farthest {estimate_of(runs['unfair_percent'])} % off, Jain's index "
            f"{number(_mean(runs, 'jain'))}.",
        )
        for (gateway, tcp), runs in own.group_by("gateway", "tcp", maintain_order=True)
    ]


def of_left_over(times_s: pl.Series, where: str) -> Claim:
    """What a rival leaves is taken up soon; NaN where it never was."""
    known = times_s.to_numpy()
    return Claim(
        f"What a rival leaves is taken up within {MAX_TAKEN_UP_S:g} s",
        where,
        float(known.mean()) <= MAX_TAKEN_UP_S,
        f"{estimate_of(times_s)} s, longest {number(float(known.max()))} s, "
        f"over {len(known)} runs.",
    )


def of_unused(percent: pl.Series, where: str) -> Claim:
    """What a limited rival does not use goes to the other."""
    return Claim(
        f"What a limited rival leaves is used, within {MAX_UNFAIR_PERCENT:g} %",
        where,
        float(percent.mean() or 0.0) >= 100.0 - MAX_UNFAIR_PERCENT,  # type: ignore[arg-type]
        f"both have {estimate_of(percent)} % of what one has alone, over {len(percent)} runs.",
    )


def of_upstream(rows: pl.DataFrame) -> list[Claim]:
    """The player's inputs wait briefly."""
    return [
        Claim(
            f"Inputs wait at most {UPSTREAM_P98_MS:g} ms at the 98th percentile",
            f"{gateway}: {tcp}",
            _mean(runs, "inputs_p98_ms") <= UPSTREAM_P98_MS,
            f"{estimate_of(runs['inputs_p98_ms'])} ms.",
        )
        for (gateway, tcp), runs in rows.filter(pl.col("gateway").str.starts_with(VOAP)).group_by(
            "gateway", "tcp", maintain_order=True
        )
    ]


PUBLISHED = {
    "peak, ms": "game_queue_delay_peak_ms",
    "low, ms": "game_queue_delay_low_ms",
    "high, ms": "game_queue_delay_high_ms",
}
COLUMNS: dict[str, str] = {
    "mean, ms": "delay_mean_ms",
    "98 %, ms": "delay_p98_ms",
    "low, ms": "delay_low_ms",
    "high, ms": "delay_high_ms",
    "peak, ms": "delay_peak_ms",
    "in hand after, s": "in_hand_s",
    "game's loss, %": "game_loss_percent",
    "downloads, Mb/s": "throughput_mbps",
    "channel used, %": "utilization_percent",
}


def delays_table(rows: pl.DataFrame) -> Table:
    """Every condition; in brackets what the text of the publication gives, for the UT trace."""
    lines = []
    for (game, tcp, gateway), own in rows.group_by("game", "tcp", "gateway", maintain_order=True):
        line = {"game": str(game), "TCP": str(tcp), "gateway": str(gateway)}
        subject = str(tcp) if gateway == NONE else str(gateway)
        for title, column in COLUMNS.items():
            line[title] = estimate_of(own[column]) + _beside(str(game), subject, title)
        change = change_percent(rows.filter(game=game, tcp=tcp), "throughput_mbps", str(gateway))
        line["change, %"] = UNKNOWN if gateway == NONE else _plain_change(change)
        lines.append(line)
    return Table(
        "Means ± half width of the 95 % interval over runs (published)",
        pl.DataFrame(lines), name="delays", file_frame=rows, main=True,
    )  # fmt: skip


def conditions_table(rows: pl.DataFrame, keys: tuple[str, ...], caption: str, name: str) -> Table:
    """A row for each combination of the keys, with fairness."""
    columns = {**COLUMNS, "Jain's index": "jain", "farthest from equal, %": "unfair_percent"}
    lines = []
    for key, own in rows.group_by(keys, maintain_order=True):
        line = {title.replace("_", " "): str(value) for title, value in zip(keys, key, strict=True)}
        lines.append(line | {title: estimate_of(own[column]) for title, column in columns.items()})
    return Table(caption, pl.DataFrame(lines), name=name, file_frame=rows)


def _beside(game: str, subject: str, title: str) -> str:
    metric = PUBLISHED.get(title)
    value = published.value(subject, metric) if metric and game == "onlive-ut" else None
    return "" if value is None else f" ({number(value)})"


def _mean(rows: pl.DataFrame, column: str) -> float:
    return float(rows[column].mean() or 0.0)  # type: ignore[arg-type]


def _plain_change(change: Change) -> str:
    return f"{change.mean:+.2f} ± {change.half:.2f}"


def _change_text(change: Change) -> str:
    return f"{_plain_change(change)} % against none, {change.pairs} pairs"
