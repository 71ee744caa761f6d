"""Both sides of the link: what the player saw, what the viewer saw, and who paid.

What a side keeps is its figure beside the other, of that which it has alone at the same capacity:
for the game the bitrate before the video comes, for the viewer the mean bitrate of the levels that
the video has where no game is (part `video-alone`, 1 BDP). Who keeps less by five points or more
has paid.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import polars as pl

from gameway.metrics.phases import GAME, VIDEO
from gameway.page import Table
from gameway.page.words import UNKNOWN, estimate_of, number

from .measures import difference_ratio

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ALIKE_POINTS = 5.0
MANY_STALLS_PERCENT = 5.0
KEYS = ("controller", "capacity", "queue")
COLUMNS: dict[str, str] = {
    "game alone, Mb/s": "game_alone_mbps",
    "game, Mb/s": "game_mbps",
    "keeps, %": "game_keeps",
    "RTT alone, ms": "rtt_alone_ms",
    "RTT, ms": "rtt_ms",
    "game waits, ms": "wait_ms",
    "lost, %": "loss_percent",
    "frames/s": "fps",
    "stalls over 100 ms, %": "stall_percent",
    "video, Mb/s": "video_mbps",
    "quality, Mb/s": "quality_mbps",
    "viewer keeps, %": "video_keeps",
    "switches/min": "switches",
    "interruptions": "interruptions",
    "interrupted, s": "interrupted_s",
    "start-up, s": "startup_s",
    "loading, %": "loading_percent",
    "difference/capacity": "ratio",
}
STALLS, HALTS, PAID = "stalls over 100 ms, %", "interruptions", "who paid"


def quality_alone(rows: pl.DataFrame | None) -> dict[str, float]:
    """Mean bitrate of the levels that the video has alone, by capacity; empty if not known."""
    if rows is None:
        return {}
    own = rows.filter(kind=VIDEO, queue_label="1 bdp")
    means = own.group_by("capacity").agg(pl.col("quality_mbps").mean())
    return dict(means.iter_rows())


def sides(
    rows: pl.DataFrame,
    alone: Mapping[str, float],
    game_alone: pl.DataFrame | None = None,
    extra: Sequence[str] = (),
) -> pl.DataFrame:
    """One row per run: both sides in the phase in which most flows are there.

    `game_alone` has what games have alone by condition, where a run has no phase for it.
    """
    keys = ["controller", "capacity", "queue_label", *extra]
    flows = pl.col("present").str.count_matches(r"\+")
    fullest = rows.filter(flows == flows.max())
    game = fullest.filter(kind=GAME).select(
        *keys, "run", "repeat", "phase", "rtt_ms", "wait_ms", "loss_percent", "fps",
        "stall_percent", game_mbps="mbps",
    )  # fmt: skip
    own = rows.filter(kind=GAME, present=GAME, phase=0).select(
        "run", game_alone_mbps="mbps", rtt_alone_ms="rtt_ms"
    )
    joined = game.join(_viewers(fullest), on="run", how="left")
    if own.is_empty() and game_alone is not None:
        joined = joined.join(game_alone, on=["controller", "capacity", "queue_label"], how="left")
    else:
        joined = joined.join(own, on="run", how="left")
    joined = joined.join(difference_ratio(fullest).drop("phase"), on="run", how="left")
    reference = pl.col("capacity").replace_strict(
        dict(alone), default=None, return_dtype=pl.Float64
    )
    return joined.with_columns(
        game_keeps=100.0 * pl.col("game_mbps") / pl.col("game_alone_mbps"),
        video_keeps=100.0 * pl.col("quality_mbps") / reference,
    ).rename({"queue_label": "queue"})


def games_alone(rows: pl.DataFrame) -> pl.DataFrame:
    """What games have alone, by condition."""
    own = rows.filter(kind=GAME, present=GAME, phase=0)
    return own.group_by("controller", "capacity", "queue_label").agg(
        game_alone_mbps=pl.col("mbps").mean(), rtt_alone_ms=pl.col("rtt_ms").mean()
    )


def _viewers(rows: pl.DataFrame) -> pl.DataFrame:
    """Of each run: the mean over its videos, and all their interruptions."""
    means = ("quality_mbps", "level", "switches", "startup_s", "loading_percent")
    return rows.filter(kind=VIDEO).group_by("run").agg(
        pl.col(means).fill_nan(None).mean(),
        pl.col("interruptions", "interrupted_s").sum(),
        video_mbps=pl.col("mbps").mean(),
    )  # fmt: skip


def payer(game_keeps: float | None, video_keeps: float | None) -> str:
    """Who keeps less of what it has alone."""
    known = (game_keeps, video_keeps)
    if game_keeps is None or video_keeps is None or any(math.isnan(one or 0.0) for one in known):
        return UNKNOWN
    if abs(game_keeps - video_keeps) < ALIKE_POINTS:
        return "both alike"
    return "game" if game_keeps < video_keeps else "viewer"


def means_of(found: pl.DataFrame, keys: Sequence[str] = KEYS) -> pl.DataFrame:
    """Means over runs of each condition, and who paid."""
    numbers = [name for name in COLUMNS.values() if name in found.columns]
    means = found.group_by(keys, maintain_order=True).agg(
        pl.len().alias("runs"), pl.col(numbers).fill_nan(None).mean()
    )
    paid = [payer(*pair) for pair in means.select("game_keeps", "video_keeps").iter_rows()]
    return means.with_columns(paid=pl.Series(paid, dtype=pl.String))


def table(
    found: pl.DataFrame, caption: str, name: str, keys: Sequence[str] = KEYS, *, main: bool = False
) -> Table:
    """Both sides of each condition, means with 95 % intervals; many stalls and halts are marked."""
    lines, marked = [], set[tuple[int, str]]()
    known = {
        title: column
        for title, column in COLUMNS.items()
        if column in found.columns and len(found[column].drop_nulls().drop_nans())
    }
    for index, (key, own) in enumerate(found.group_by(keys, maintain_order=True)):
        line = dict(zip(keys, map(str, key), strict=True))
        line |= {title: estimate_of(own[column]) for title, column in known.items()}
        line[PAID] = payer(_mean(own["game_keeps"]), _mean(own["video_keeps"]))
        lines.append(line)
        marked |= {(index, STALLS)} if _over(own["stall_percent"], MANY_STALLS_PERCENT) else set()
        marked |= {(index, HALTS)} if _over(own["interruptions"], 0.0) else set()
    return Table(
        caption, pl.DataFrame(lines), name=name, file_frame=found, marked=frozenset(marked),
        main=main,
    )  # fmt: skip


def who_paid(means: pl.DataFrame) -> list[str]:
    """One sentence for each controller."""
    told = []
    for (controller,), own in means.group_by("controller", maintain_order=True):
        counts = {who: own.filter(paid=who).height for who in ("game", "viewer", "both alike")}
        stalls = own.filter(pl.col("stall_percent") >= MANY_STALLS_PERCENT).height
        halts = own.filter(pl.col("interruptions") > 0.0).height
        told.append(
            f"{controller}: of {own.height} conditions the game paid in {counts['game']}, the "
            f"viewer in {counts['viewer']}, both alike in {counts['both alike']}. The game keeps "
            f"{number(_mean(own['game_keeps']))} % of its bitrate and has many stalls in {stalls}; "
            f"the viewer keeps {number(_mean(own['video_keeps']))} % of the quality and was "
            f"interrupted in {halts}."
        )
    return told


def _mean(values: pl.Series) -> float:
    found = values.drop_nulls().drop_nans().mean()
    return found if isinstance(found, float) else float("nan")


def _over(values: pl.Series, limit: float) -> bool:
    mean = _mean(values)
    return mean > limit or (limit > 0.0 and mean == limit)
