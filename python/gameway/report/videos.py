"""Both sides of the link where a video competes: what its viewer saw, and what the player saw."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from gameway.figures.viewers import both_sides_panels
from gameway.metrics.both_sides import MAX_STEPS
from gameway.metrics.paid import paid_table
from gameway.metrics.series import BIN_S
from gameway.metrics.summary import summary_table
from gameway.metrics.videos import video_summary_table
from gameway.page import Figure, Section, Table
from gameway.page.words import estimate_text
from gameway.report.paid import sentences

if TYPE_CHECKING:
    from gameway.metrics.source import ResultFolder

VIEWER = {
    "quality_level": "level",
    "quality_mbps": "quality, Mb/s",
    "quality_switches": "switches",
    "interruptions": "interruptions",
    "interrupted_s": "interrupted, s",
    "startup_s": "start-up, s",
    "buffer_mean_s": "buffer, s",
}
PLAYER = {
    "competing_bitrate_mbps": "{}, Mb/s",
    "competing_displayed_fps": "{}, frames/s",
    "competing_stall_100ms_percent": "{}, stalls over 100 ms, %",
}
PAID = {
    "has_mbps": "has, Mb/s",
    "could_mbps": "could have, Mb/s",
    "lost_percent": "lost, %",
    "held_percent": "of an equal share, %",
    "fps": "frames/s",
    "fps_without": "without video",
    "stall_percent": "stalls over 100 ms, %",
    "stall_percent_without": "without video, %",
}


def sections(results: ResultFolder) -> list[Section]:
    """A section with one row per condition and video; none without videos."""
    videos = video_summary_table(results)
    if videos.is_empty():
        return []
    streams = summary_table(results)
    factors = [name for name in results.factors if videos[name].n_unique() > 1]
    several = videos["video"].n_unique() > 1
    shown = []
    for video in videos.iter_rows(named=True):
        row: dict[str, Any] = {name: video[name] for name in factors}
        row |= {"video": video["video"]} if several else {}
        row |= {head: _estimate(video, name) for name, head in VIEWER.items()}
        shown.append(row | _players(streams, {name: video[name] for name in results.factors}))
    text = (
        "What the viewer saw while the video was open, and what the player saw meanwhile: means "
        "over runs with their 95 % intervals. Levels count from 1, the lowest."
    )
    tables = [Table("", pl.DataFrame(shown), "videos", videos, main=True), _paid(results, factors)]
    title = "What viewer and player saw"
    return [Section(title, text, tables, [_figure(results)], sentences(results))]


def _figure(results: ResultFolder) -> Figure:
    caption = (
        f"Means over the runs of a condition with their 95 % intervals, in steps of {BIN_S:g} s, "
        f"longer where a run has more than {MAX_STEPS} of them. Dashed: a flow comes or goes. "
        "The lowest row tells when a video shows no moving picture: the darker, the more of the "
        "runs."
    )
    title = "Both sides of the link over time"
    return Figure("both-sides", title, caption, both_sides_panels(results))


def _paid(results: ResultFolder, factors: list[str]) -> Table:
    """What each side has of what it could have, in the phases that the sentences tell of."""
    paid = paid_table(results)
    shown = [
        {name: row[name] for name in factors}
        | {"flow": row["flow"]}
        | {head: _estimate(row, name) for name, head in PAID.items()}
        for row in paid.iter_rows(named=True)
    ]
    caption = (
        "Who paid: a game could have what it has in the part of the run without videos, a video "
        "the highest level of its ladder that the link's capacity carries. Alone, dash.js stays "
        "10 to 45 % below that."
    )
    return Table(caption, pl.DataFrame(shown), "who-paid", paid)


def _players(streams: pl.DataFrame, condition: dict[str, Any]) -> dict[str, str]:
    same = [pl.col(name).eq_missing(pl.lit(value)) for name, value in condition.items()]
    rows = streams.filter(*same) if same else streams
    return {
        head.format(row["stream"]): _estimate(row, name)
        for row in rows.iter_rows(named=True)
        for name, head in PLAYER.items()
        if name in row
    }


def _estimate(row: dict[str, Any], name: str) -> str:
    return estimate_text(row[name], row.get(f"{name}_ci95"))
