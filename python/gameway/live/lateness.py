"""How late packets left, and when that is too late for a run to be trusted.

A live run's link and its hosts' pacers must send each packet at its due time. The bound is 1 ms
for the 99th percentile: a sixteenth of a frame's interval at 60 frames/s, about two packets of
1200 B at 25 Mb/s, and a tenth of what the tolerances allow of a frame's delay. A run beyond it is
kept, and flagged: an event `late` of that part, whose value is the percentile in ms.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from gameway import _core

if TYPE_CHECKING:
    from collections.abc import Mapping

BOUND_NS = _core.LATENESS_BOUND_NS
"""An edge of the histogram's buckets, so that the verdict is exact."""
SHARE = 0.99
EVENT = "late"


def percentile_ns(histogram: pl.DataFrame, share: float = SHARE) -> int:
    """The upper edge of the bucket that holds a quantile of the packets; 0 of none."""
    buckets = (
        histogram.group_by("lateness_low_ns", "lateness_high_ns")
        .agg(pl.col("packets").cast(pl.Int64).sum())
        .sort("lateness_low_ns")
    )
    total = int(buckets["packets"].sum())
    if total == 0:
        return 0
    within = buckets.filter(pl.col("packets").cum_sum() >= share * total)
    return int(within["lateness_high_ns"][0])


def by_part(histogram: pl.DataFrame, share: float = SHARE) -> Mapping[str, int]:
    """The same of each part."""
    parts = histogram["part"].cast(pl.String).unique(maintain_order=True).to_list()
    rows = histogram.with_columns(pl.col("part").cast(pl.String))
    return {part: percentile_ns(rows.filter(pl.col("part") == part), share) for part in parts}


def too_late(histogram: pl.DataFrame) -> dict[str, float]:
    """The parts beyond the bound, with their percentile in milliseconds."""
    found = by_part(histogram)
    return {part: ns / 1e6 for part, ns in found.items() if ns > BOUND_NS}
