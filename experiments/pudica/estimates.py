"""Figure 7: what a flow estimates of the utilization while another one of the same bitrate runs.

Source: Wang et al., "Pudica", NSDI 2024, Appendix A. A group is one run: two flows at bitrate B,
the other with its own pace multiplier and phase of frames. Its estimate is the mean over the run
from the second second on; the truth is 2 B / C.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from gameway.metrics.quantities import megabits_per_second
from gameway.metrics.source import finished_runs, streams

from .figures import QUANTILES
from .sessions import full_capacity_mbps

if TYPE_CHECKING:
    from gameway.metrics.source import Run
    from gameway.results import Results

ESTIMATED_FROM_S = 1.0
ESTIMATE = "bur_corrected"
NAMES = {
    ("2", 0): "fixed 2x pacing",
    ("burst", 0): "burst",
    ("", 0): "adaptive, no probes",
    ("", None): "adaptive and probes",
}


def estimate_groups(results: Results) -> pl.DataFrame:
    """One row per run: estimator, truth, estimate."""
    late = pl.col("time_ns") >= round(ESTIMATED_FROM_S * 1e9)
    own = results.controller().filter((pl.col("variable") == ESTIMATE) & late)
    means = own.group_by("run", "stream").agg(estimate=pl.col("value").mean()).collect()
    rows = pl.DataFrame([_about(run) for run in finished_runs(results)])
    return rows.join(means, on=["run", "stream"], maintain_order="left")


def estimate_quantiles(groups: pl.DataFrame) -> pl.DataFrame:
    """Quantiles over groups for each estimator and truth."""
    value = pl.col("estimate")
    quantiles = {name: value.quantile(share, "linear") for name, share in QUANTILES.items()}
    rows = groups.group_by("estimator", "truth", maintain_order=True)
    found = rows.agg(**quantiles, groups=pl.len())
    return found.with_columns(pl.col(list(QUANTILES)).round(4))


def _about(run: Run) -> dict[str, object]:
    first, second = streams(run.spec)[:2]
    options = first["controller"]
    key = (str(options.get("pace", "")), options.get("probes"))
    bitrates = [megabits_per_second(options["hold"]), _fixed(second["controller"])]
    return {
        "run": run.id,
        "stream": str(first["name"]),
        "estimator": NAMES.get(key, " ".join(map(str, key))),
        "truth": round(sum(bitrates) / full_capacity_mbps(run), 2),
    }


def _fixed(controller: dict[str, str]) -> float:
    return megabits_per_second(controller["bitrate"])
