"""What each kind of repair gives and costs, beside none: frames shown, bytes, loss and delay.

The window is that of the scoreboard's other measures: the competition, or the stream's time.

| figure | definition |
|---|---|
| shown | frames shown a second |
| more bytes | bytes sent for each byte of video, relative to the same run without repair |
| loss | packets dropped or lost, of those sent |
| delay | 95th percentile frame delay; a frame never shown waits for the next one that is |

Bytes go by the video since a controller that is told of other packets asks for another bitrate.
Retransmissions, repair packets and their headers count, whatever sends them; a controller's probes
are on both sides.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from gameway.compare.bootstrap import interval
from gameway.compare.measures import judged_window, picture_delays_ms
from gameway.compare.words import estimate
from gameway.metrics.frames import COLUMNS
from gameway.metrics.network import in_window, total
from gameway.metrics.source import finished_runs, streams
from gameway.page import Section, Table
from gameway.page.words import number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gameway.metrics.source import Run
    from gameway.results import Results

FACTOR, NONE, CONTROLLER = "repair", "none", "controller"
FIGURES = {
    "shown, f/s": "shown_fps",
    "more bytes, %": "more_bytes_percent",
    "loss, %": "loss_percent",
    "delay p95, ms": "frame_delay_p95_ms",
}
SMOOTH_FPS = 59.0
TEXT = (
    "The same runs with each kind of repair. More bytes: what is sent for each byte of video, "
    "relative to the run of the same seed without repair. Delay: 95th percentile frame delay; a "
    "frame that is never shown waits for the next one that is."
)


def section(parts: Mapping[str, Results]) -> Section | None:
    """The section of the page; None if repair is no factor, or never none."""
    measured = [measure_part(results) for results in parts.values() if FACTOR in results.factors]
    found = [frame for frame in measured if frame.height]
    if not found:
        return None
    rows = pl.concat(found)
    if rows[FACTOR].n_unique() == 1 or NONE not in set(rows[FACTOR]):
        return None
    order = pl.Enum(rows["scenario"].unique(maintain_order=True))
    rows = with_more_bytes(rows).sort(pl.col("scenario").cast(order), maintain_order=True)
    table = Table("Means over runs with their 95 % intervals", shown(rows), "repair", rows)
    return Section("What repair costs", TEXT, [table], points=statements(rows))


def measure_part(results: Results) -> pl.DataFrame:
    """One row per run of a part."""
    varied = [name for name in results.factors if name not in {FACTOR, CONTROLLER}]
    varied = [name for name in varied if results.runs[name].n_unique() > 1]
    title = str(results.manifest.get("title"))
    runs = list(finished_runs(results))
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        figures = list(pool.map(measure, runs))
    keys = [
        {
            "scenario": ", ".join([title, *(str(run.factors[name]) for name in varied)]),
            CONTROLLER: run.factors[CONTROLLER],
            FACTOR: run.factors[FACTOR],
            "seed": run.spec["seed"],
        }
        for run in runs
    ]
    return pl.DataFrame([key | own for key, own in zip(keys, figures, strict=True)])


def measure(run: Run) -> dict[str, float]:
    """The figures of one run."""
    window = judged_window(run)
    names = [str(stream["name"]) for stream in streams(run.spec)]
    bins = in_window(run.table("bins"), "bin_start_ns", window)
    bins = bins.filter(pl.col("flow").is_in(names))
    columns = [*dict.fromkeys([*COLUMNS, "payload_bytes", "first_sent_ns", "shown_ns"])]
    frames = run.table("frames", columns)
    sent = in_window(frames, "captured_ns", window).filter(pl.col("first_sent_ns").is_not_null())
    lost = total(bins, "dropped_packets") + total(bins, "lost_packets")
    delays = picture_delays_ms(frames, window)
    packets, video = total(bins, "sent_packets"), total(sent, "payload_bytes")
    return {
        "shown_fps": in_window(frames, "shown_ns", window).height / window.length_s / len(names),
        "bytes_per_video": total(bins, "sent_bytes") / video if video else np.nan,
        "loss_percent": 100.0 * lost / packets if packets else np.nan,
        "frame_delay_p95_ms": float(np.quantile(delays, 0.95)) if len(delays) else np.nan,
    }


def with_more_bytes(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with how many more bytes each run sends than its pair without repair."""
    keys = ["scenario", CONTROLLER, "seed"]
    plain = rows.filter(pl.col(FACTOR) == NONE).select(*keys, plain="bytes_per_video")
    more = 100.0 * (pl.col("bytes_per_video") / pl.col("plain") - 1.0)
    paired = rows.join(plain, on=keys, how="left", maintain_order="left")
    return paired.with_columns(more_bytes_percent=more).drop("plain")


def shown(rows: pl.DataFrame) -> pl.DataFrame:
    """A row per scenario and controller, the kinds of repair side by side."""
    kinds = rows[FACTOR].unique(maintain_order=True).to_list()
    lines = []
    for (scenario, name), own in rows.group_by("scenario", CONTROLLER, maintain_order=True):
        line = {"scenario": str(scenario), "controller": str(name)}
        for title, column in FIGURES.items():
            for kind in kinds:
                if column != "more_bytes_percent" or kind != NONE:
                    values = own.filter(pl.col(FACTOR) == kind)[column]
                    line[f"{title}: {kind}"] = estimate(interval(values.to_numpy()))
        lines.append(line)
    return pl.DataFrame(lines)


def statements(rows: pl.DataFrame) -> list[str]:
    """What each kind gives and costs over all scenarios, in a sentence each."""
    keys = ["scenario", CONTROLLER]
    found = []
    for (kind,), own in rows.group_by(FACTOR, maintain_order=True):
        means = own.group_by(keys).agg(pl.col("shown_fps", "more_bytes_percent").mean())
        smooth = means.filter(pl.col("shown_fps") >= SMOOTH_FPS).height
        text = f"{kind}: {SMOOTH_FPS:g} f/s or more in {smooth} of {means.height} rows"
        if kind != NONE:
            half, most = (means["more_bytes_percent"].quantile(q) for q in (0.5, 1.0))
            text += f", for {number(half)} % more bytes at the median and {number(most)} % at most"
        found.append(f"{text}.")
    return found
