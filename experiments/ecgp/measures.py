"""One row per run: what the stream and the download got, and how full the link was."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from gameway.figures.theme import CONTROLLERS
from gameway.metrics.flows import measured
from gameway.metrics.network import link_utilization_percent
from gameway.metrics.source import competitors, finished_runs, streams
from gameway.metrics.windows import Window

if TYPE_CHECKING:
    from gameway.metrics.source import Run
    from gameway.results import Results

SETTLED_S = 10.0
"""Measured from here on: both flows are there since 5 s, and histograms begin every 5 s."""
PROGRAMS_SETTLED_S = 20.0
"""Of the parts that are held against Ericsson's programs, whose stream begins at 1 Mb/s at 5 s."""
GAME, TCP = "game", "tcp"
NONE = "none"
FACTORS = ("controller", "queue", "competitor", "target")
QUEUES = ("drop-tail", "pie", "fq-codel", "cake", "htb", "dual-pi2")
"""From one queue for all to one of its own, and early signals."""


def rows(results: Results, settled_s: float = SETTLED_S) -> pl.DataFrame:
    """The figures of every run, `game_*`, `tcp_*` and `utilization_percent`, with its condition."""
    found = [_row(run, settled_s) for run in finished_runs(results)]
    table = pl.DataFrame(found, infer_schema_length=None)
    controllers = _order(table["controller"], CONTROLLERS)
    queues = _order(table["queue"], QUEUES)
    return table.sort(
        pl.col("controller").cast(controllers),
        pl.col("queue").cast(queues),
        maintain_order=True,
    )


def _order(values: pl.Series, known: tuple[str, ...]) -> pl.Enum:
    """The known values first, then the others as they come."""
    found = values.unique(maintain_order=True).to_list()
    return pl.Enum([*(v for v in known if v in found), *(v for v in found if v not in known)])


def _row(run: Run, settled_s: float) -> dict[str, str | float | int | None]:
    window = Window(settled_s, run.windows.run.stop_s)
    row: dict[str, str | float | int | None] = {
        "run": run.id,
        "repeat": run.repeat,
        **{name: value for name, value in run.factors.items() if name not in FACTORS},
        **condition(run),
    }
    game = streams(run.spec)[0]["name"]
    row |= {f"{GAME}_{name}": value for name, value in measured(run, game, window).items()}
    for flow in competitors(run.spec):
        found = measured(run, flow["name"], window)
        row |= {f"{TCP}_{name}": value for name, value in found.items()}
    row["utilization_percent"] = link_utilization_percent(run.link(), window)
    return row


def condition(run: Run) -> dict[str, str]:
    """Controller, queue, congestion control and target rate of the download; none without."""
    download = next(iter(competitors(run.spec)), {})
    return {
        "controller": str(run.factors["controller"]),
        "queue": str(run.spec["path"]["queue"]["kind"]),
        "competitor": str(download.get("congestion_control", NONE)),
        "target": str(download.get("rate_limit", "0 Mb/s" if not download else "any")),
    }
