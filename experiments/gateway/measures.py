"""One row per run: what the game waits, what the downloads have, and how full the link is.

Taken from `SETTLED_S` after the last download's beginning to the end.

| figure | definition |
|---|---|
| wait | what a packet of the game waits in all queues together: median and 99th percentile, ms |
| lost | packets of the game that a queue dropped, percent of those sent |
| downloads | wire bytes of all downloads that arrived, Mb/s |
| link | bytes that the provider's link carried, percent of those that it could have carried |
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from gameway import _core
from gameway.metrics.flows import Delays
from gameway.metrics.network import link_utilization_percent, loss_percent
from gameway.metrics.quantities import seconds
from gameway.metrics.series import bitrates_of
from gameway.metrics.source import competitors, finished_runs
from gameway.metrics.statistics import half_width
from gameway.metrics.windows import Window

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gameway.metrics.source import Run
    from gameway.results import Results

GAME, PROVIDER = "game", "provider"
NOTHING, VOAP, WINDOWS = "nothing", "VoAP", "windows"
FOLLOWING = SHAPE, BOTH = "shape", "both"
"""Gateways that set the rate of the home's own queue."""
FRAMES = "windows by frames"
AIRTIME = "airtime"
"""A queue for each station of the access point, alone."""
AIRTIME_VOAP, AIRTIME_FRAMES = f"{AIRTIME}, {VOAP}", f"{AIRTIME}, {FRAMES}"
SETTLED_S = 5.0
JOINING_S = 1.0
"""From so long between two on, downloads begin one by one."""
LINKS_MBPS = {
    "constant": 20.0, "cellular": 19.2, "satellite": 70.0, "wifi": 45.0, "ac": 1000.0, "n": 1000.0,
    "transfers": 50.0,
}  # fmt: skip
"""Mean of the provider's link, by the first word of a part's name."""
CAKE, FQ_CODEL = "CAKE", "FQ-CoDel"
SHAPERS = {"cake": (CAKE, "bandwidth"), "htb": (FQ_CODEL, "rate")}
"""By kind of queue: the name of the variant, and the option that is its rate."""


def downloads(run: Run) -> list[dict[str, Any]]:
    """The flows of a run but the game."""
    return [flow for flow in competitors(run.spec) if flow["name"] != GAME]


def begun_s(run: Run) -> float:
    """When the last download begins, seconds."""
    return max(seconds(flow.get("start", "0 s")) for flow in downloads(run))


def settled(run: Run) -> Window:
    """The window in which a run is measured."""
    stop = run.windows.run.stop_s
    return Window(min(begun_s(run) + SETTLED_S, stop), stop)


def link_of(part: str) -> str:
    """The link of a part, by its name."""
    return part.partition("-")[0]


def variant_of(path: dict[str, Any], link_mbps: float) -> str:
    """What the home does: nothing, a gateway that lowers windows, or a shaper at a rate."""
    kind, gateway = path["queue"]["kind"], path.get("gateway", "none")
    known = str(gateway["kind"] if isinstance(gateway, dict) else gateway)
    if known in FOLLOWING:
        return known
    if kind in SHAPERS:
        name, option = SHAPERS[kind]
        share = _core.parse_rate(path["queue"][option]) / 1e6 / link_mbps
        return f"{name} at {100.0 * share:.0f} %"
    table = gateway if isinstance(gateway, dict) else {"kind": gateway}
    lowers = {"none": NOTHING, "voap": VOAP}.get(table["kind"], str(table["kind"]))
    if table.get("target") == "frames":
        lowers = FRAMES
    if kind != AIRTIME:
        return lowers
    return AIRTIME if lowers == NOTHING else f"{AIRTIME}, {lowers}"


def downloads_of(run: Run) -> str:
    """How many downloads there are, of which kind, and whether they begin one after the other."""
    counts: dict[str, int] = {}
    for flow in downloads(run):
        control = str(flow.get("congestion_control", "cubic")).upper()
        words = f"{str(flow.get('kind', 'tcp')).upper()} {control}"
        counts[words] = counts.get(words, 0) + 1
    text = ", ".join(f"{count} \N{MULTIPLICATION SIGN} {words}" for words, count in counts.items())
    starts = sorted(seconds(flow.get("start", "0 s")) for flow in downloads(run))
    joins = any(later - before >= JOINING_S for before, later in itertools.pairwise(starts))
    return f"{text}, one by one" if joins else text


def rows(parts: dict[str, Results]) -> pl.DataFrame:
    """The figures of every run of all parts, those of fewer downloads first."""
    runs = [(part, run) for part, results in parts.items() for run in finished_runs(results)]
    runs.sort(key=lambda one: len(downloads(one[1])))
    return pl.DataFrame([_row(part, run) for part, run in runs], infer_schema_length=None)


def _row(part: str, run: Run) -> dict[str, Any]:
    window, link = settled(run), link_of(part)
    delays = Delays.of(run.table("queue_delay"), GAME, window)
    rates = bitrates_of(run)
    return {
        "part": part,
        "run": run.id,
        "repeat": run.repeat,
        "link": link,
        "downloads": downloads_of(run),
        "variant": variant_of(run.spec["path"], LINKS_MBPS[link]),
        "wait_median_ms": delays.percentile_ms(50.0),
        "wait_p99_ms": delays.percentile_ms(99.0),
        "lost_percent": loss_percent(run.table("bins"), GAME, window),
        "downloads_mbps": float(np.sum([rates.mean(f["name"], window) for f in downloads(run)])),
        "link_percent": link_utilization_percent(run.link(PROVIDER), window),
    }


def in_order(variants: Iterable[str]) -> list[str]:
    """Variants as the tables have them: gateways first, then each shaper from its right rate on."""
    first = [NOTHING, VOAP, WINDOWS, SHAPE, BOTH, FRAMES, AIRTIME, AIRTIME_VOAP, AIRTIME_FRAMES]
    shapers = [f"{name} at {share} %" for name in (CAKE, FQ_CODEL) for share in (95, 70, 150)]
    order = {name: place for place, name in enumerate([*first, *shapers])}
    return sorted(set(variants), key=lambda name: (order.get(name, len(order)), name))


def kept_percent(own: pl.DataFrame, variant: str) -> tuple[float, float]:
    """What downloads keep of what they have without, percent, with half its 95 % interval.

    It is the mean over pairs of runs that have the same random numbers.
    """
    sides = [
        own.filter(variant=name).select("downloads", "repeat", pl.col("downloads_mbps").alias(name))
        for name in (NOTHING, variant)
    ]
    pairs = sides[0].join(sides[1], on=["downloads", "repeat"])
    if pairs.is_empty():
        return float("nan"), float("nan")
    kept = 100.0 * (pairs[variant] / pairs[NOTHING]).to_numpy()
    return float(kept.mean()), half_width(kept)
