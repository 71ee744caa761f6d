"""The page of `gameway reproduce gateway`: a home behind a provider's queue, and what it can do.

Nothing; VoAP as published, which sees the home's own queue alone; `windows`, which reads the
provider's queue off the downloads; CAKE and FQ-CoDel in a shaper at the right rate and at wrong
ones; at an access point a queue for each station, alone and with either.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from gameway.page import Page, Section, Table, figure
from gameway.page.words import estimate_of, number

from . import figures, transfers
from .measures import AIRTIME_FRAMES, NOTHING, WINDOWS, in_order, kept_percent, link_of, rows

if TYPE_CHECKING:
    from gameway.results import Results

LEAD = (
    "A game of 6.3 Mb/s and downloads come to one home, whose provider has a drop-tail queue in "
    "front of the link. What can the home do about the wait in that queue, and about the wait at "
    "its own access point, and what does it cost?"
)
TITLES = {
    "constant": "A constant link of 20 Mb/s",
    "cellular": "A cellular link",
    "satellite": "A satellite link",
    "wifi": "Wi-Fi at home",
    "ac": "An access point of 802.11ac",
    "n": "An access point of 802.11n",
}
TEXTS = {
    "constant": "30 ms, a queue of 200 ms.",
    "cellular": "40 ms, a queue of 500 packets; 19.2 Mb/s in the mean.",
    "satellite": (
        "Each 15 s another capacity, from 45 to 100 Mb/s, and another round trip, from 40 to "
        "65 ms, with jitter of 6 ms; a queue of 200 ms. Shapers are set by the mean of 70 Mb/s."
    ),
    "wifi": (
        "802.11n with one stream and 250 packets at the access point, behind a provider's link of "
        "25 Mb/s, of 100 Mb/s from 25 to 45 s, and a queue of 200 ms: the bottleneck moves."
    ),
    "ac": (
        "Two streams at 80 MHz behind 1 Gb/s; the game's packets are marked, and each download "
        "has a station of its own. Of twenty, eight are CUBIC, six BBR and six CUBIC over QUIC. "
        "Airtime: a queue for each station with turns by airtime, in place of one of 1000 packets "
        "for all."
    ),
    "n": ("The same with one stream at 20 MHz, frames of 4 ms at most, and RTS before long ones."),
}
FIGURES = {
    "median, ms": "wait_median_ms",
    "99 %, ms": "wait_p99_ms",
    "game lost, %": "lost_percent",
    "downloads, Mb/s": "downloads_mbps",
    "link used, %": "link_percent",
}


def page(parts: dict[str, Results]) -> Page:
    """The page, of the parts that are there."""
    short = transfers.section(parts)
    parts = {name: one for name, one in parts.items() if not transfers.is_of_transfers(name)}
    measured = rows(parts) if parts else pl.DataFrame(schema={"link": pl.String})
    sections, told = [], []
    for link, title in TITLES.items():
        own = measured.filter(pl.col("link") == link)
        if own.is_empty():
            continue
        told += statements(link, own)
        of_link = {name: results for name, results in parts.items() if link_of(name) == link}
        drawn = [
            figure(f"{link}-trade", "Wait of the game and use of the link", figures.trade(own),
                   caption="Median, and a line to 99 %; means over runs. Best is bottom right."),
            figure(f"{link}-time", "Wait of the game over time", figures.over_time(of_link),
                   chosen_by="downloads", caption="The first run."),
        ]  # fmt: skip
        sections.append(Section(title, TEXTS[link], [table_of(link, own)], drawn))
    sections += [short] if short is not None else []
    return Page("A home behind a provider's queue", LEAD, sections, statement=told)


def table_of(link: str, own: pl.DataFrame) -> Table:
    """Means over runs of each set of downloads and variant."""
    lines = []
    for (kind,), of_kind in own.group_by("downloads", maintain_order=True):
        for variant in in_order(of_kind["variant"]):
            runs = of_kind.filter(variant=variant)
            line = {"downloads": str(kind), "variant": variant}
            lines.append(line | {head: estimate_of(runs[name]) for head, name in FIGURES.items()})
    caption = "Wait of the game's packets; mean ± half width of the 95 % interval over runs"
    return Table(caption, pl.DataFrame(lines), name=link, file_frame=own, main=True)


def statements(link: str, own: pl.DataFrame) -> list[str]:
    """What ours does to the game's wait and to the downloads, for each set of downloads."""
    ours = AIRTIME_FRAMES if AIRTIME_FRAMES in own["variant"] else WINDOWS
    told = []
    for (kind,), of_kind in own.group_by("downloads", maintain_order=True):
        waits = {
            variant: of_kind.filter(variant=variant)["wait_p99_ms"].mean()
            for variant in (NOTHING, ours)
        }
        if None in waits.values():
            continue
        kept, _ = kept_percent(of_kind, ours)
        without, with_it = (float(wait) for wait in waits.values())  # type: ignore[arg-type]
        told.append(
            f"{TITLES[link]}, {kind}: of the game's packets 99 % wait at most {number(with_it)} ms "
            f"with {ours} and {number(without)} ms without; downloads keep {number(kept)} %."
        )
    return told
