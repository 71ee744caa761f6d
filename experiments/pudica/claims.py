"""What Pudica's authors claim of it, held against one run of all controllers."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import polars as pl

from gameway.metrics.statistics import half_width
from gameway.page import Table

from .statistics import Change, bootstrap, paired_change

PUDICA, ORACLE = "pudica", "oracle"
RIVALS = {"copa", "salsify"}
PACED = "pudica pace=2"
"""Pudica with frames paced as SQP paces them: what pacing alone does to the delay of a frame."""
DRAIN_MS = 200.0
ABOUT = 1.1
"""About 200 ms: not a tenth more."""
JAIN = 0.95
COLUMNS = {
    "delay_p95_ms": "95 % delay, ms",
    "delay_p99_ms": "99 % delay, ms",
    "queue_p95_ms": "95 % queue met, ms",
    "spread_ms": "spread at the sender, ms",
    "utilization_percent": "utilization, %",
}


CAPACITY_RANGES = (
    ("below 25 Mb/s", 0.0, 25.0),
    ("25 to 55 Mb/s", 25.0, 55.0),
    ("above 55 Mb/s", 55.0, math.inf),
)
"""Below half the greatest bitrate; up to where it fits; above."""
TOLD_BY_CAPACITY = ("sqp", "gcc", "salsify", "copa", ORACLE, "pudica draining=off")


@dataclass(frozen=True)
class Claim:
    """One claim: what it says, whether it holds, and the figures."""

    text: str
    holds: bool
    figures: str

    def __str__(self) -> str:
        """One sentence."""
        return f"{self.text}: {'holds' if self.holds else 'does not hold'}. {self.figures}"


def min_delay(name: str, sessions: pl.DataFrame) -> list[Claim]:
    """Least delay of all, at no less utilization than Copa and Salsify; of one scenario."""
    others = [c for c in _controllers(sessions) if c not in {PUDICA, ORACLE}]
    if PUDICA not in _controllers(sessions) or not others:
        return []
    claims = [
        _least(f"{name}: least {p} % frame delay", f"delay_p{p}_ms", sessions, others)
        for p in (95, 99)
    ]
    rivals = [c for c in others if c in RIVALS]
    if rivals:
        claims.append(_no_less(name, sessions, rivals))
    return claims


def drains_in_time(drains: pl.DataFrame) -> Claim | None:
    """After a halving, the queue is empty within about 200 ms of the drain's start."""
    own = drains.filter(pl.col("controller") == PUDICA)
    own = own.filter(pl.col("fall") == pl.col("fall").first())
    values = own["drain_ms"].drop_nulls().to_numpy()
    if len(values) == 0:
        return None
    mean = float(values.mean())
    figures = (
        f"{mean:.0f} ± {half_width(values):.0f} ms over {len(values)} runs "
        f"({own['fall'][0]}; {np.nanmean(own['empty_ms'].to_numpy()):.0f} ms after the fall)."
    )
    text = "The queue is empty within about 200 ms of the drain's start"
    return Claim(text, mean <= ABOUT * DRAIN_MS, figures)


def is_fair(name: str, convergence: pl.DataFrame) -> Claim | None:
    """Three staggered flows reach a Jain index of 0.95."""
    own = convergence.filter(pl.col("controller") == PUDICA)["jain_index"]
    values = own.fill_nan(None).drop_nulls().to_numpy()
    if len(values) == 0:
        return None
    change = bootstrap(values)
    interval = "" if math.isnan(change.low) else f" [{change.low:.3f}, {change.high:.3f}]"
    figures = f"{change.mean:.3f}{interval}, least {values.min():.3f}."
    return Claim(f"{name}: three staggered flows reach Jain 0.95", change.mean >= JAIN, figures)


def _controllers(sessions: pl.DataFrame) -> list[str]:
    return [str(name) for name in sessions["controller"].unique(maintain_order=True)]


def _least(text: str, column: str, sessions: pl.DataFrame, others: list[str]) -> Claim:
    """Whether every other controller has clearly more."""
    mean = np.mean(sessions.filter(pl.col("controller") == PUDICA)[column].to_numpy())
    changes = {c: paired_change(sessions, column, c, PUDICA) for c in others}
    failed = {name: change for name, change in changes.items() if change.sign <= 0}
    figures = f"Pudica {mean:.1f} ms; "
    if failed:
        figures += "not clearly less than " + _listed(failed, " ms") + "; clearly less than "
        figures += ", ".join(name for name in others if name not in failed) or "none"
    else:
        nearest = min(changes, key=lambda name: changes[name].mean)
        figures += f"the nearest is {_listed({nearest: changes[nearest]}, ' ms')}"
    return Claim(text, not failed, figures + ".")


def _no_less(name: str, sessions: pl.DataFrame, rivals: list[str]) -> Claim:
    own = sessions.filter(pl.col("controller") == PUDICA)["utilization_percent"]
    mean = np.mean(own.to_numpy())
    changes = {c: paired_change(sessions, "utilization_percent", c, PUDICA) for c in rivals}
    holds = all(change.sign <= 0 for change in changes.values())
    text = f"{name}: no less utilization than Copa and Salsify"
    return Claim(text, holds, f"Pudica {mean:.1f} %; {_listed(changes, ' %')}.")


def _listed(changes: dict[str, Change], unit: str) -> str:
    return ", ".join(f"{name} ({change}{unit})" for name, change in changes.items())


def by_kind(name: str, sessions: pl.DataFrame) -> Table:
    """Delays on each kind of path: where the order of controllers comes from."""
    columns = {c: title for c, title in COLUMNS.items() if c.startswith("delay")}
    rows = sessions.group_by("kind", "controller", maintain_order=True).agg(
        paths=pl.len(), **{title: pl.col(c).mean() for c, title in columns.items()},
        **{COLUMNS["utilization_percent"]: pl.col("utilization_percent").mean()},
    )  # fmt: skip
    order = pl.col("kind").cast(pl.Enum(["Ethernet", "WiFi", "unsteady"]))
    caption = f"{name}, by kind of path: means over its sessions"
    return Table(caption, rows.sort(order, columns["delay_p99_ms"]), f"kinds {name}")


def by_capacity(name: str, sessions: pl.DataFrame) -> Table:
    """How much more than Pudica, on steady paths of each range of capacities.

    Below half its greatest bitrate, Pudica's AI-MD step is positive at any utilization.
    """
    steady = sessions.filter(pl.col("kind") != "unsteady")
    rows = []
    for title, low, high in CAPACITY_RANGES:
        inside = steady.filter(pl.col("capacity_mbps").is_between(low, high, closed="left"))
        for controller in (c for c in _controllers(inside) if c in TOLD_BY_CAPACITY):
            row: dict[str, object] = {"capacity": title, "controller": controller}
            row["paths"] = inside.filter(pl.col("controller") == controller).height
            for column in ("delay_p95_ms", "queue_p95_ms", "utilization_percent"):
                row[COLUMNS[column]] = str(paired_change(inside, column, controller, PUDICA))
            rows.append(row)
    caption = f"{name}, steady paths by capacity: more than Pudica, 95 % interval"
    return Table(caption, pl.DataFrame(rows), f"capacities {name}")


def compared_with_all(name: str, sessions: pl.DataFrame) -> Table:
    """Every controller, and how much more than Pudica it has on the same paths."""
    rows, numbers = [], []
    kept = [c for c in _controllers(sessions) if "=" not in c or c == PACED]
    for controller in kept:
        own = sessions.filter(pl.col("controller") == controller)
        row: dict[str, object] = {"controller": controller}
        figures: dict[str, object] = {"controller": controller}
        for column, title in COLUMNS.items():
            mean = bootstrap(own[column].cast(pl.Float64).drop_nulls().to_numpy()).mean
            figures[column] = mean
            text = f"{mean:.1f}"
            if controller != PUDICA:
                change = paired_change(sessions, column, controller, PUDICA)
                text += f" ({change})"
                figures |= {f"{column}_change": change.mean, f"{column}_low": change.low,
                            f"{column}_high": change.high}  # fmt: skip
            row[title] = text
        rows.append(row)
        numbers.append(figures)
    caption = f"{name}: means over sessions (and how much more than Pudica, 95 % interval)"
    file = pl.DataFrame(numbers, infer_schema_length=None)
    return Table(caption, pl.DataFrame(rows), name=f"claims {name}", file_frame=file, main=True)
