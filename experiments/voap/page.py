"""The page of `gameway reproduce voap`: a gateway that lowers advertised windows, beside none.

Source: Bujari, Massaro and Palazzi, "Vegas over Access Point", sections V and VI, Figures 3 to 12,
Tables I to III.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from gameway.metrics.flows import Delays
from gameway.metrics.quantities import seconds
from gameway.metrics.source import competitors, finished_runs
from gameway.page import Page, Section, Table, claimed, figure
from gameway.page.words import estimate_of

from . import claims, figures, published
from .measures import (
    downloads,
    gateway_of,
    rows,
    settled,
    taken_up_s,
    used_percent,
)

if TYPE_CHECKING:
    from gameway.metrics.source import Run
    from gameway.page import Figure
    from gameway.page.claimed import Claim
    from gameway.results import Results

GAMES = {"onlive-ut": "UT", "onlive-rome": "Rome"}
INPUTS = "inputs"
BEYOND = {"beyond-bbr": ("tcp",), "beyond-channels": ("capacity",)}
"""What differs within a part, beside the gateway."""
LEAD = (
    f"{published.CITATION}. A game, a call with pictures and downloads in one home on 802.11g; "
    "the access point's buffer has 250 packets, servers are 40 ms away. Does a gateway that only "
    "lowers the windows that clients advertise keep the game's queueing delay short, at no cost?"
)
TEXTS = {
    "delays": (
        "Table I: the call comes at 50 s and the download at 100 s. Delays are taken from 150 s, "
        "throughput from 110 s. Peak is the longest wait, low and high are the 5th and 95th "
        "percentile; in hand is the queue when no packet waits 20 ms for 5 s. The change is over "
        "pairs of runs that have the same random numbers."
    ),
    "fair": "Figure 10a: downloads from 0, 70 and 140 s.",
    "redistribution": (
        "Figure 10b and Table III: a second download from 40 to 80 s, and one of 1 Mb/s from 120 "
        "to 160 s."
    ),
    "upstream": "Figures 11 and 12: what the player does goes up, through the same channel.",
    "alpha": "Property 4: the lower threshold from 0 to 10 ms.",
    "beyond": "Beyond the paper.",
}


def page(parts: dict[str, Results]) -> Page:
    """The page, of the parts that are there."""
    measured = {name: rows(results) for name, results in parts.items()}
    sections: list[Section] = []
    found: list[Claim] = []
    if "delays" in parts:
        found += claims.of_delays(measured["delays"], ("game", "tcp"))
        sections.append(_delays(parts["delays"], measured["delays"]))
    if "fair" in parts:
        found += claims.of_fairness(measured["fair"], "three downloads")
        sections.append(_shares("fair", "Fair shares", parts["fair"], measured["fair"]))
    if "redistribution" in parts:
        found += _left_over(parts["redistribution"])
        sections.append(
            _shares("redistribution", "Left-over bandwidth", parts["redistribution"],
                    measured["redistribution"])
        )  # fmt: skip
    if "upstream" in parts:
        own = _with_inputs(parts["upstream"], measured["upstream"])
        found += claims.of_upstream(own)
        sections.append(_upstream(parts["upstream"], own))
    for name, own in measured.items():
        if name.startswith("beyond"):
            title = str(parts[name].manifest.get("title"))
            found += claims.of_delays(own, BEYOND.get(name, ()), title)
            if name == "beyond-many":
                found += claims.of_fairness(own, title)
        if name == "alpha" or name.startswith("beyond"):
            sections.append(_plain(name, parts[name], own))
    if found:
        sections.insert(0, Section("Claims", "", [claimed.table(found)]))
    told = [str(claim) for claim in found]
    return Page("VoAP", LEAD, sections, statement=told)


def _delays(results: Results, own: pl.DataFrame) -> Section:
    drawn: list[Figure] = []
    for name, title, draw in (
        ("delays", "Queueing delay over time (Figures 3 and 5)", figures.delays),
        ("throughput", "Throughput over time (Figures 4 and 6)", figures.throughput),
        ("windows", "Congestion window and advertised window (Figures 8 and 9)", figures.windows),
    ):
        charts = {
            label: draw(results, game)
            for game, label in GAMES.items()
            if game in own["game"].to_list()
        }
        shown = {label: chart for label, chart in charts.items() if chart is not None}
        if shown:
            drawn.append(figure(name, title, shown, chosen_by="game", caption="The first run."))
    drawn.append(
        figure("distributions", "Distributions of queueing delay (Figure 7)",
               figures.distributions(results), caption="All runs.")
    )  # fmt: skip
    return Section("Delay and throughput", TEXTS["delays"], [claims.delays_table(own)], drawn)


def _shares(name: str, title: str, results: Results, own: pl.DataFrame) -> Section:
    runs = [run for run in finished_runs(results) if run.repeat == 0]
    charts = {_label(run): figures.flows_over_time(run) for run in runs}
    drawn = [figure(name, title, charts, chosen_by="gateway", caption="The first run.")]
    table = claims.conditions_table(own, ("tcp", "gateway"), "Means over runs", name)
    return Section(title, TEXTS[name], [table], drawn)


def _label(run: Run) -> str:
    """The gateway, and in what blocks a limited rival writes."""
    blocks = [flow["block"] for flow in downloads(run) if "block" in flow]
    return ", ".join([gateway_of(run), *(f"blocks of {block}" for block in blocks)])


def _left_over(results: Results) -> list[Claim]:
    """What a rival leaves when it ends, and what one that is limited leaves while it is there."""
    ended: dict[str, list[float]] = {}
    used: dict[str, list[float]] = {}
    for run in finished_runs(results):
        gateway = gateway_of(run)
        if not gateway.startswith(claims.VOAP):
            continue
        first, *rivals = downloads(run)
        for rival in rivals:
            if "rate_limit" in rival:
                where = f"{gateway}, blocks of {rival['block']}"
                used.setdefault(where, []).append(used_percent(run, first, rival))
            else:
                taken = taken_up_s(run, first["name"], seconds(rival["stop"]))
                ended.setdefault(gateway, []).append(taken)
    told = [
        claims.of_left_over(pl.Series(found, dtype=pl.Float64), f"{gateway}: Table III")
        for gateway, found in ended.items()
    ]
    return told + [
        claims.of_unused(pl.Series(found, dtype=pl.Float64), f"{gateway}: Table III")
        for gateway, found in used.items()
    ]


def _with_inputs(results: Results, own: pl.DataFrame) -> pl.DataFrame:
    """With the 98th percentile of what inputs wait."""
    waits = {
        run.id: Delays.of(run.table("queue_delay"), INPUTS, settled(run)).percentile_ms(98.0)
        for run in finished_runs(results)
        if any(flow["name"] == INPUTS for flow in competitors(run.spec))
    }
    return own.with_columns(inputs_p98_ms=pl.col("run").replace_strict(waits, default=None))


def _upstream(results: Results, own: pl.DataFrame) -> Section:
    charts = figures.distributions(results, INPUTS)
    drawn = [figure("upstream", "Distributions of queueing delay, upstream (Figure 12)", charts)]
    lines = [
        {"TCP": tcp, "gateway": gateway, "inputs, 98 %, ms": estimate_of(runs["inputs_p98_ms"]),
         "downloads, Mb/s": estimate_of(runs["throughput_mbps"])}
        for (tcp, gateway), runs in own.group_by("tcp", "gateway", maintain_order=True)
    ]  # fmt: skip
    table = Table("Means over runs", pl.DataFrame(lines), name="upstream", file_frame=own)
    return Section("Upstream", TEXTS["upstream"], [table], drawn)


def _plain(name: str, results: Results, own: pl.DataFrame) -> Section:
    title = str(results.manifest.get("title") or name)
    keys = [key for key in results.factors if own[key].n_unique() > 1] or ["gateway"]
    table = claims.conditions_table(own, tuple(keys), "Means over runs", name)
    return Section(title, TEXTS["alpha" if name == "alpha" else "beyond"], [table])
