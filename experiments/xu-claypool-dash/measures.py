"""What the phases of a run tell (see `gameway.metrics.phases`), by the bottleneck's queue."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from gameway.metrics import phases
from gameway.metrics.memo import once_per_results
from gameway.metrics.phases import GAME
from gameway.metrics.source import finished_runs

if TYPE_CHECKING:
    from gameway.metrics.source import ResultFolder, Run


@once_per_results
def rows(results: ResultFolder) -> pl.DataFrame:
    """One row per finished run, phase and flow, with the run's queue in short."""
    queues = {run.id: queue_of(run) for run in finished_runs(results)}
    label = pl.col("run").replace_strict(queues, return_dtype=pl.String)
    return phases.rows(results).with_columns(queue_label=label)


def queue_of(run: Run) -> str:
    """The bottleneck's queue and gateway in short: "7 bdp", "fq-codel", "7 bdp, voap"."""
    path = run.spec["path"]
    queue = path.get("queue", {})
    kind = queue.get("kind", "drop-tail")
    label = str(queue.get("size", "2 bdp")) if kind == "drop-tail" else str(kind)
    gateway = path.get("gateway", "none")
    if not isinstance(gateway, dict):
        return label if gateway == "none" else f"{label}, {gateway}"
    return f"{label}, {gateway['kind']}" + (", mended" if "step" in gateway else "")


def difference_ratio(own: pl.DataFrame) -> pl.DataFrame:
    """Of each run and phase with a game and others, (game - mean of the others) / capacity."""
    keys = ["run", "phase"]
    game = own.filter(kind=GAME).select(*keys, "capacity_mbps", game="mbps")
    others = own.filter(pl.col("kind") != GAME).group_by(keys).agg(others=pl.col("mbps").mean())
    both = game.join(others, on=keys)
    ratio = (pl.col("game") - pl.col("others")) / pl.col("capacity_mbps")
    return both.select(*keys, ratio=ratio)
