"""The videos of a live run: what their servers and players are told, and what became of them."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any

from gameway import _core
from gameway.live.competitors import Interval
from gameway.live.plan import HTTP_PORT
from gameway.live.video import films
from gameway.live.video.content import Content

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl

    from gameway.live.plan import Place, Plan

RULES = {
    "throughput": {"bolaRule": {"active": False}},
    "bola": {"throughputRule": {"active": False}},
    "dynamic": {},
}
"""What is set of dash.js's rules: without one of the two it keeps to the other."""
SIZES_HEAD = ("level", "segment", "bytes")


def film_of(plan: Plan, video: dict[str, Any], content: Content | None) -> films.Film:
    """What a video of a run plays."""
    span = plan.span(video)
    return films.Film.of(video, span.stop_ns - span.start_ns, content or Content())


def player_config(
    plan: Plan, video: dict[str, Any], film: films.Film, place: Place
) -> dict[str, Any]:
    """What the player of a video is told."""
    span = plan.span(video)
    return {
        "epoch_ns": place.epoch_ns,
        "flow": video["name"],
        "address": f"{plan.address(video['name'])}:{HTTP_PORT}",
        "manifest": films.MANIFEST,
        "start_ns": span.start_ns,
        "stop_ns": span.stop_ns,
        "interval_ns": plan.state_interval_ns,
        "segment_ns": film.segment_ns,
        "levels": film.levels,
        "sizes": films.sizes(film),
        "settings": settings(video),
    }


def settings(video: dict[str, Any]) -> dict[str, Any]:
    """What is set of dash.js: what the file says, and else nothing."""
    buffer: dict[str, float] = {}
    if video.get("buffer"):
        buffer["bufferTimeDefault"] = _core.parse_duration(video["buffer"]) / 1e9
    if video.get("top_buffer"):
        seconds = _core.parse_duration(video["top_buffer"]) / 1e9
        buffer |= {"bufferTimeAtTopQuality": seconds, "bufferTimeAtTopQualityLongForm": seconds}
    rules = RULES[video.get("adaptation") or "dynamic"]
    return {"streaming": {"buffer": buffer, "abr": {"rules": rules}}}


def write_sizes(film: films.Film, file: Path) -> None:
    """Write how large each segment is, as `segment_sizes` of an experiment file takes it."""
    with file.open("w", encoding="utf-8", newline="") as out:
        rows = csv.writer(out, lineterminator="\n")
        rows.writerow(SIZES_HEAD)
        for level, row in enumerate(films.sizes(film), start=1):
            rows.writerows((level, index, size) for index, size in enumerate(row))


def sizes_name(video: str) -> str:
    """What the file with a video's sizes is called in the folder of a run."""
    return f"segments-of-{video}.csv"


def received(segments: pl.DataFrame) -> list[Interval]:
    """What a player received when: each answer, from its first byte to its last."""
    known = segments.drop_nulls(["first_byte_ns", "complete_ns"])
    columns = known.select("first_byte_ns", "complete_ns", "received_bytes").rows()
    return [
        Interval(start_s=first / 1e9, stop_s=max(last, first + 1) / 1e9, bytes=size)
        for first, last, size in columns
    ]
