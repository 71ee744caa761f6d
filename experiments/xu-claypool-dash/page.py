"""The page of `gameway reproduce xu-claypool-dash`: a game stream and videos on one home link.

Source: Xu and Claypool, "Measurement of Cloud-based Game Streaming Systems Competing with DASH
Flows": Figures 2 and 3, the claims of its text, and the future work of its section VI.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from gameway.metrics.phases import GAME, VIDEO
from gameway.metrics.quantities import megabits_per_second
from gameway.metrics.source import finished_runs, streams
from gameway.metrics.statistics import half_width
from gameway.page import Page, Section, Table, claimed, figure
from gameway.page.words import estimate_of

from . import claims, figures, tables
from .measures import rows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gameway.page.claimed import Claim
    from gameway.results import Results

CITATION = (
    "X. Xu and M. Claypool, Measurement of Cloud-based Game Streaming Systems Competing with DASH "
    "Flows"
)
LEAD = (
    f"{CITATION}. A game stream shares 15, 25 or 35 Mb/s with a video over HTTP that comes and "
    "goes in the middle: who gets the link, and what do the player and the viewer see of it? "
    "Published: NVIDIA GeForce Now and Amazon Luna beside dash.js; ours: every controller, beside "
    "a simulated player with the rules of dash.js."
)
TEXTS = {
    "claims": (
        "What the text says, checked for each controller. Words without a number in the text have "
        "one of ours in the claim. The published systems are two commercial services: a claim that "
        "does not hold is a finding about a controller."
    ),
    "over-time": (
        "The video is there from 190 to 380 s. Figure 2 of the paper has the game's side only; the "
        "paper's Figure 3 has its numbers in a picture, so that only its signs, which the text "
        "tells, are checked."
    ),
    "sides": (
        "Bitrates from 220 to 370 s, the paper's window; what player and viewer saw over the whole "
        "time of the video. A side keeps so much of what it has alone; who keeps less by five "
        "points or more has paid. Marked: 5 % of stalls or more, and any interruption."
    ),
    "video-first": (
        "The flows have changed places: the video is there for nine minutes, the game from 190 to "
        "380 s."
    ),
    "several": (
        "As in the paper, with two and with four videos, opened 5 s apart. Figures of videos are "
        "means over them; interruptions are of all of them together. The difference is that "
        "between the game and the mean of the videos."
    ),
    "mixed": (
        "The video comes at 90 s, pages from 180 s on, a download from 270 to 390 s. The table has "
        "these two minutes, the figure all phases."
    ),
    "queues": (
        "The paper's matrix with other queues at the router. SCReAM leaves as ECT(1), and DualPI2 "
        "gives it the low-latency queue; all others share the classic one with the video. Where "
        "flows have queues of their own, pings wait in none of the game's: its own packets tell."
    ),
    "download": "A download in place of the video, in the same minutes.",
    "repair": "Shallow queues again, with repair packets as a share of each frame's packets.",
}


def page(parts: dict[str, Results]) -> Page:
    """The page, of the parts that are there."""
    measured = {name: rows(results) for name, results in parts.items()}
    alone = tables.quality_alone(measured.get("video-alone"))
    sections: list[Section] = []
    found: list[Claim] = []
    if "paper" in parts:
        found = claims.of_paper(
            measured["paper"], _max_mbps(parts["paper"]), measured.get("download")
        )
        sections.append(Section("Claims", TEXTS["claims"], [claims.matrix(found)]))
        sections.append(_over_time(parts["paper"], measured["paper"]))
        sections.append(_sides(measured["paper"], alone))
    if "video-first" in parts:
        sections.append(_video_first(parts["video-first"], measured, alone))
    if {"two-videos", "four-videos"} & set(parts):
        sections.append(_several(measured, alone))
    if "mixed" in parts:
        sections.append(_mixed(measured["mixed"], alone))
    if "queues" in parts:
        sections.append(_queues(measured["queues"], alone))
    sections += [
        _compared(name, parts[name], measured, alone)
        for name in ("download", "repair")
        if name in parts
    ]
    if "video-alone" in parts:
        sections.append(_alone(parts["video-alone"], measured["video-alone"]))
    if found:
        sections.append(Section("Claims in detail", "", [_detail(found)]))
    return Page("A game and videos on one link", LEAD, sections, statement=claims.statements(found))


def _detail(found: list[Claim]) -> Table:
    """Every verdict with its figures; the matrix is what a terminal shows."""
    return replace(claimed.table(found), main=False)


def _max_mbps(results: Results) -> float:
    run = finished_runs(results)[0]
    return megabits_per_second(str(streams(run.spec)[0].get("max_bitrate", "50 Mb/s")))


def _over_time(results: Results, own: pl.DataFrame) -> Section:
    controllers = own["controller"].unique(maintain_order=True).to_list()
    charts = {name: figures.over_time(results, name) for name in controllers}
    drawn = [
        figure("bitrates", "Bitrates over time (Figure 2)", charts, chosen_by="controller",
               caption="Means over runs in steps of 4 s with their 95 % intervals.",
               description="Bitrate of game and video over time by capacity and queue"),
        figure("ratios", "Who has more (Figure 3)",
               figures.ratios(_ratios(tables.sides(own, {}))),
               caption="Warm: the game has more of the link; cool: the video.",
               description="Heat map of the bitrate difference by capacity, queue, controller"),
    ]  # fmt: skip
    return Section("Bitrates and fairness", TEXTS["over-time"], (), drawn)


def _ratios(found: pl.DataFrame) -> pl.DataFrame:
    """Means over runs of the difference ratio, with the half widths of their 95 % intervals."""
    lines = []
    for key, own in found.group_by(tables.KEYS, maintain_order=True):
        known = own["ratio"].drop_nulls().to_numpy()
        if len(known):
            line = dict(zip(tables.KEYS, key, strict=True))
            lines.append(line | {"ratio": float(known.mean()), "ci95": half_width(known)})
    return pl.DataFrame(lines)


def _sides(own: pl.DataFrame, alone: Mapping[str, float]) -> Section:
    found = tables.sides(own, alone)
    means = tables.means_of(found)
    drawn = []
    if alone:
        drawn.append(
            figure("kept", "What each side keeps of what it has alone",
                   figures.kept(_sides_kept(means, "capacity", "queue"), "capacity", "queue"),
                   caption="Above the line the game paid more, below it the viewer.")
        )  # fmt: skip
    table = tables.table(found, "Both sides of every condition", "sides")
    points = tables.who_paid(means) if alone else []
    return Section("Who paid", TEXTS["sides"], [table], drawn, points)


def _sides_kept(means: pl.DataFrame, *keys: str) -> pl.DataFrame:
    return means.select("controller", *keys, game="game_keeps", video="video_keeps").drop_nulls()


def _video_first(
    results: Results, measured: Mapping[str, pl.DataFrame], alone: Mapping[str, float]
) -> Section:
    own = measured["video-first"]
    games = tables.games_alone(measured["paper"]) if "paper" in measured else None
    found = tables.sides(own, alone, games)
    controllers = own["controller"].unique(maintain_order=True).to_list()
    charts = {name: figures.over_time(results, name) for name in controllers}
    drawn = [
        figure("first-ratios", "Who has more, the video being there first",
               figures.ratios(_ratios(found)),
               caption="Warm: the game has more of the link; cool: the video."),
        figure("first-bitrates", "Bitrates over time, the video being there first", charts,
               chosen_by="controller",
               caption="Means over runs in steps of 4 s with their 95 % intervals."),
    ]  # fmt: skip
    made = [tables.table(found, "Both sides while the game is there", "video-first")]
    if "paper" in measured:
        made.insert(0, _orders(tables.sides(measured["paper"], alone), found))
    return Section("Video first, game later", TEXTS["video-first"], made, drawn)


def _orders(game_first: pl.DataFrame, video_first: pl.DataFrame) -> Table:
    """What changes with the order, in the mean over conditions."""
    columns = {
        "difference/capacity": "ratio", "game, Mb/s": "game_mbps", "frames/s": "fps",
        "stalls over 100 ms, %": "stall_percent", "quality, Mb/s": "quality_mbps",
        "interruptions": "interruptions",
    }  # fmt: skip
    lines = []
    for (controller,), own in game_first.group_by("controller", maintain_order=True):
        line = {"controller": str(controller)}
        for title, column in columns.items():
            other = video_first.filter(controller=controller)[column]
            line[title] = f"{_number(own[column])} / {_number(other)}"
        lines.append(line)
    return Table("Game first / video first, means over conditions", pl.DataFrame(lines),
                 name="orders", main=True)  # fmt: skip


def _number(values: pl.Series) -> str:
    return estimate_of(pl.Series([values.drop_nans().mean()], dtype=pl.Float64))


def _several(measured: Mapping[str, pl.DataFrame], alone: Mapping[str, float]) -> Section:
    counts = {"paper": "1 video", "two-videos": "2 videos", "four-videos": "4 videos"}
    known = {label: measured[name] for name, label in counts.items() if name in measured}
    found = pl.concat(
        [tables.sides(own, alone).with_columns(videos=pl.lit(label))
         for label, own in known.items()],
        how="diagonal",
    )  # fmt: skip
    queues = set.intersection(*(set(own["queue_label"]) for own in known.values()))
    found = found.filter(pl.col("queue").is_in(list(queues)))
    charts = {}
    for queue in figures.ordered(found["queue"]):
        parts = [
            _shares(own.filter(queue_label=queue)).with_columns(
                panel=pl.col("capacity") + ", " + pl.lit(label)
            )
            for label, own in known.items()
        ]
        charts[queue] = figures.shares(pl.concat(parts), "panel")
    drawn = [
        figure("videos-shares", "Who has the link", charts, chosen_by="queue",
               caption="Means over runs; the videos together.")
    ]  # fmt: skip
    keys = ("controller", "capacity", "queue", "videos")
    table = tables.table(found, "Both sides, by the number of videos", "videos", keys)
    return Section("Two and four videos", TEXTS["several"], [table], drawn)


def _shares(own: pl.DataFrame, *keys: str) -> pl.DataFrame:
    """Percent of the capacity that each kind of flow has, in the fullest phase or by `keys`."""
    if not keys:
        flows = pl.col("present").str.count_matches(r"\+")
        own = own.filter(flows == flows.max())
    group = ["controller", "capacity", *keys]
    runs = own.group_by("run", *group, "kind", maintain_order=True).agg(
        share=100.0 * pl.col("mbps").sum() / pl.col("capacity_mbps").first()
    )
    means = runs.group_by(*group, "kind", maintain_order=True).agg(pl.col("share").mean())
    return figures.with_unused(means, group)


def _mixed(own: pl.DataFrame, alone: Mapping[str, float]) -> Section:
    phases = own.with_columns(step=(pl.col("phase") + 1).cast(pl.String) + ": " + pl.col("present"))
    charts = {
        f"{capacity}, {queue}": figures.shares(
            _shares(phases.filter(capacity=capacity, queue_label=queue), "step"), "step"
        )
        for capacity in figures.ordered(own["capacity"])
        for queue in figures.ordered(own["queue_label"])
    }
    drawn = [
        figure("mixed-shares", "Who has the link, phase by phase", charts, chosen_by="link",
               caption="Means over runs.")
    ]  # fmt: skip
    found = tables.sides(own, alone)
    others = own.filter(~pl.col("kind").is_in([GAME, VIDEO]), pl.col("phase") == found["phase"][0])
    wide = others.pivot(on="kind", index="run", values="mbps")
    renamed = {kind: f"{kind}_mbps" for kind in wide.columns if kind != "run"}
    joined = found.join(wide.rename(renamed), on="run", how="left")
    table = tables.table(joined, "Both sides while everybody is there", "mixed")
    return Section("Video, web and download", TEXTS["mixed"], [table], drawn)


def _queues(own: pl.DataFrame, alone: Mapping[str, float]) -> Section:
    found = tables.sides(own, alone)
    means = tables.means_of(found)
    drawn = []
    if alone:
        charts = {
            capacity: figures.kept(
                _sides_kept(means.filter(capacity=capacity), "queue", "capacity"), "queue",
                "capacity",
            )
            for capacity in figures.ordered(means["capacity"])
        }  # fmt: skip
        drawn.append(
            figure("queues-kept", "What each side keeps of what it has alone", charts,
                   chosen_by="capacity", caption="Above the line the game paid, below the viewer.")
        )  # fmt: skip
    drawn.append(
        figure("queues-ratios", "Who has more", figures.ratios(_ratios(found)),
               caption="Warm: the game has more of the link; cool: the video.")
    )  # fmt: skip
    keys = ("queue", "capacity", "controller")
    ordered = found.sort("queue", "capacity", maintain_order=True)
    made = [_by_queue(found), tables.table(ordered, "Both sides by queue", "queues", keys)]
    return Section("Other queues", TEXTS["queues"], made, drawn)


def _by_queue(found: pl.DataFrame) -> Table:
    """Each queue in the mean over controllers and capacities, the stream that is deaf left out."""
    own = found.filter(pl.col("controller") != "fixed")
    columns = ("game keeps, %", "viewer keeps, %", "game waits, ms", "stalls over 100 ms, %",
               "frames/s", "interruptions")  # fmt: skip
    names = ("game_keeps", "video_keeps", "wait_ms", "stall_percent", "fps", "interruptions")
    lines = [
        {"queue": str(queue)}
        | {title: _number(rows[name]) for title, name in zip(columns, names, strict=True)}
        for (queue,), rows in own.group_by("queue", maintain_order=True)
    ]
    caption = "Means over controllers that react, and capacities"
    return Table(caption, pl.DataFrame(lines), name="by-queue", main=True)


def _compared(
    name: str,
    results: Results,
    measured: Mapping[str, pl.DataFrame],
    alone: Mapping[str, float],
) -> Section:
    extra = [factor for factor in ("fec",) if factor in measured[name].columns]
    found = tables.sides(measured[name], alone, extra=extra)
    if name == "repair" and "paper" in measured:
        without = tables.sides(measured["paper"], alone).with_columns(fec=pl.lit("0 %"))
        same = without.filter(pl.col("queue").is_in(found["queue"].unique().to_list()))
        found = pl.concat([same, found], how="diagonal")
    title = str(results.manifest.get("title") or name)
    keys = (*tables.KEYS, *extra)
    ordered = found.sort(*keys, maintain_order=True) if extra else found
    table = tables.table(ordered, "Both sides of every condition", name, keys)
    return Section(title, TEXTS[name], [table], points=_repaired(found) if extra else ())


def _repaired(found: pl.DataFrame) -> list[str]:
    """For whom each share of repair is enough for a smooth picture in all of the conditions."""
    keys = ("fec", *tables.KEYS)
    means = found.group_by(keys, maintain_order=True).agg(pl.col("fps").mean())
    told = []
    for (fec,), own in means.group_by("fec", maintain_order=True):
        least = own.group_by("controller", maintain_order=True).agg(pl.col("fps").min())
        enough = least.filter(pl.col("fps") >= claims.SMOOTH_FPS)["controller"].to_list()
        who = ", ".join(enough) or "nobody"
        told.append(f"{fec} of repair: {claims.SMOOTH_FPS:g} f/s or more in every one: {who}.")
    return told


def _alone(results: Results, own: pl.DataFrame) -> Section:
    columns = {"video, Mb/s": "mbps", "quality, Mb/s": "quality_mbps", "level": "level",
               "switches/min": "switches", "interruptions": "interruptions",
               "start-up, s": "startup_s"}  # fmt: skip
    lines = [
        {"capacity": str(capacity), "queue": str(queue)}
        | {title: estimate_of(rows[column]) for title, column in columns.items()}
        for (capacity, queue), rows in own.group_by("capacity", "queue_label", maintain_order=True)
    ]
    table = Table("The video where no game is", pl.DataFrame(lines), name="video-alone")
    return Section(str(results.manifest.get("title") or "video-alone"), "", [table])
