"""How long short transfers take behind each gateway, by that without one.

Transfers of one size are numbered within a run, and the transfer of a number is of the same size in
the runs of one repeat, whatever the gateway. So its ratio is that of the same transfer twice.

| figure | definition |
|---|---|
| took | seconds from a transfer's opening to its last acknowledgement, mean over those that count |
| ratio | what transfers took together, by what the same ones take without, of each repeat |

A transfer counts where no download is there before the latter begins, and else from `SETTLED_S`
after that on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from gameway.metrics.quantities import seconds
from gameway.metrics.source import competitors, finished_runs
from gameway.page import Section, Table
from gameway.page.words import estimate_of, number

from .measures import LINKS_MBPS, NOTHING, SETTLED_S, in_order, variant_of

if TYPE_CHECKING:
    from gameway.metrics.source import Run
    from gameway.results import Results

PART, DOWNLOAD, TOOK = "transfers", "download", "transfer-took"
SIZES = {"small": "10 to 100 kB", "medium": "100 kB to 1 MB", "large": "1 to 5 MB"}
ALONE, BESIDE = "no download", "beside a download"
TITLE = "Short transfers"
TEXT = (
    "Three servers send transfers of other sizes, one after the other, over 50 Mb/s and 40 ms with "
    "a queue of 200 ms: alone, and beside a CUBIC download. By what they take without a gateway."
)


def is_of_transfers(part: str) -> bool:
    """Whether a part of the suite is one of transfers."""
    return part.partition("-")[0] == PART


def rows(parts: dict[str, Results]) -> pl.DataFrame:
    """One row per run and size: how many transfers count, and by which share longer they took."""
    own = [results for part, results in parts.items() if is_of_transfers(part)]
    found = [_took(run) for results in own for run in finished_runs(results)]
    if not found:
        return pl.DataFrame()
    took = pl.concat(found)
    keys = ["beside", "size", "repeat"]
    without = took.filter(variant=NOTHING).drop("variant").rename({"took_s": "without_s"})
    return (
        took.join(without, on=[*keys, "number"])
        .group_by("variant", *keys, maintain_order=True)
        .agg(
            pl.len().alias("transfers"),
            pl.col("took_s").mean(),
            (pl.col("took_s").sum() / pl.col("without_s").sum()).alias("ratio"),
        )
    )


def _took(run: Run) -> pl.DataFrame:
    length_s = run.windows.run.stop_s
    (download,) = (flow for flow in competitors(run.spec) if flow["name"] == DOWNLOAD)
    begins_s = seconds(download["start"])
    is_beside = begins_s < length_s / 2
    begun, ended = pl.col("ended_s") - pl.col("took_s"), pl.col("ended_s")
    return (
        run.table("events")
        .filter(pl.col("event") == TOOK)
        .select(
            pl.lit(variant_of(run.spec["path"], LINKS_MBPS[PART])).alias("variant"),
            pl.lit(BESIDE if is_beside else ALONE).alias("beside"),
            pl.col("flow").alias("size"),
            pl.lit(run.repeat).alias("repeat"),
            pl.int_range(pl.len()).over("flow").alias("number"),
            pl.col("value").alias("took_s"),
            (pl.col("time_ns") / 1e9).alias("ended_s"),
        )
        .filter(begun >= begins_s + SETTLED_S if is_beside else ended < begins_s)
        .drop("ended_s")
    )


def section(parts: dict[str, Results]) -> Section | None:
    """The table of the page; None without such parts."""
    found = rows(parts)
    if found.is_empty():
        return None
    lines: list[dict[str, Any]] = []
    for beside in (ALONE, BESIDE):
        own = found.filter(beside=beside)
        for variant in in_order(own["variant"]):
            line: dict[str, Any] = {"transfers": beside, "variant": variant}
            for size, words in SIZES.items():
                runs = own.filter(variant=variant, size=size)
                without = variant == NOTHING
                line[words] = (
                    f"{number(runs['took_s'].mean())} s" if without else estimate_of(runs["ratio"])  # type: ignore[arg-type]
                )
            lines.append(line)
    caption = (
        "Mean time without a gateway, and ratios to it: mean ± half width of the 95 % interval"
    )
    table = Table(caption, pl.DataFrame(lines), name=PART, file_frame=found, main=True)
    return Section(TITLE, TEXT, [table])
