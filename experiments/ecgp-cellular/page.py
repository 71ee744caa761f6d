"""The page of `gameway reproduce ecgp-cellular`: a game on cellular links, controlled or not.

Source: Graff et al., ICCRG, March 2025, Table 1: queueing delays, one cellular trace, one game.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from gameway.metrics.flows import measured
from gameway.metrics.network import DELAY_LIMITS_MS, link_utilization_percent
from gameway.metrics.source import finished_runs, streams
from gameway.page import Page, Section, Table
from gameway.page.words import UNKNOWN, estimate_of, number

from ..ecgp import published

if TYPE_CHECKING:
    from gameway.metrics.source import Run
    from gameway.results import Results

QUEUE = "droptail-mahimahi-4g"
THEIRS = {"none": "no control", "scream": "SCReAM", "geforce-now": "GeForce Now"}
LEAD = (
    f"{published.CITATION}, Table 1. Queueing delays on a cellular link, without congestion "
    "control and with. Their trace and the bitrate of the uncontrolled stream are not published; "
    "the traces here are of our own making, and the uncontrolled stream has a quarter, half and "
    "three quarters of their mean."
)
FIGURES = {
    "mean, ms": "delay_mean_ms",
    **{f"{limit} ms or more, %": f"over_{limit}ms_percent" for limit in DELAY_LIMITS_MS},
    "98 %, ms": "delay_p98_ms",
    "bitrate, Mb/s": "bitrate_mbps",
    "loss, %": "loss_percent",
    "link used, %": "utilization_percent",
}
COLUMNS = {
    "mean, ms": "cellular_latency_avg_ms",
    **{f"{limit} ms or more, %": f"cellular_over_{limit}ms_percent" for limit in DELAY_LIMITS_MS},
}
"""What the publication has."""
SCREAM, UNCONTROLLED = "scream", "fixed"


def page(parts: dict[str, Results]) -> Page:
    """The page: published above, ours below."""
    rows = pl.concat([of_runs(results) for results in parts.values()])
    told = statements(rows)
    tables = [theirs(), ours(rows)]
    return Page("Cellular links", LEAD, [Section("Queueing delays", "", tables)], statement=told)


def of_runs(results: Results) -> pl.DataFrame:
    """One row per run: controller, trace, figures."""
    return pl.DataFrame([_row(run) for run in finished_runs(results)])


def _row(run: Run) -> dict[str, str | float]:
    window = run.windows.run
    found: dict[str, str | float] = {
        "controller": str(run.factors["controller"]),
        "trace": str(run.spec["path"]["capacity"]["trace"]).rpartition("/")[2],
    }
    found |= measured(run, streams(run.spec)[0]["name"], window)
    found["utilization_percent"] = link_utilization_percent(run.link(), window)
    return found


def theirs() -> Table:
    """Table 1 as published."""
    lines = []
    for system, title in THEIRS.items():
        values = {
            head: published.value("game", QUEUE, system, metric) for head, metric in COLUMNS.items()
        }
        texts = {head: UNKNOWN if v is None else number(v) for head, v in values.items()}
        lines.append({"control": title} | texts)
    return Table("Published", pl.DataFrame(lines), name="published", main=True)


def ours(rows: pl.DataFrame) -> Table:
    """Means over runs of each trace and controller."""
    lines = []
    for (trace, controller), own in rows.group_by("trace", "controller", maintain_order=True):
        line = {"trace": str(trace), "controller": str(controller)}
        lines.append(line | {head: estimate_of(own[column]) for head, column in FIGURES.items()})
    frame = pl.DataFrame(lines).sort("trace", maintain_order=True)
    return Table("Ours: mean ± half width of the 95 % interval over runs", frame, name="ours",
                 file_frame=rows, main=True)  # fmt: skip


def statements(rows: pl.DataFrame) -> list[str]:
    """Whether control takes the long delays away, as published, on each trace."""
    found = []
    for (trace,), own in rows.group_by("trace", maintain_order=True):
        controlled = own.filter(controller=SCREAM)
        free = own.filter(pl.col("controller").str.starts_with(UNCONTROLLED))
        if controlled.is_empty() or free.is_empty():
            continue
        late = float(controlled["over_50ms_percent"].mean() or 0.0)  # type: ignore[arg-type]
        shares = free.group_by("controller", maintain_order=True).agg(
            pl.col("over_50ms_percent").mean()
        )
        worse = shares.filter(pl.col("over_50ms_percent") > late)
        word = (
            "more than with SCReAM at every bitrate"
            if worse.height == shares.height
            else (f"more than with SCReAM at {worse.height} of {shares.height} bitrates")
        )
        texts = ", ".join(
            f"{number(share)} % at {name.rpartition('=')[2]}" for name, share in shares.iter_rows()
        )
        found.append(
            f"{trace}: of the packets without control {texts} wait 50 ms or more, {number(late)} % "
            f"with SCReAM: {word}. Published: 21.1 and 1.5 %."
        )
    return found
