"""Both sides of the link where a video competes: what its viewer saw, and what the player saw."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from gameway.metrics.summary import summary_table
from gameway.metrics.videos import video_summary_table
from gameway.report.page import Section, Table
from gameway.report.tables import estimate_text

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
    table = Table("", pl.DataFrame(shown), "videos", videos, main=True)
    return [Section("What viewer and player saw", text, [table])]


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
