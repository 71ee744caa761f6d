"""The charts of the page: delays, throughput and windows over time, distributions of delay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np
import polars as pl

from gameway.figures.facets import STEPS, legend, plain
from gameway.metrics.flows import Delays
from gameway.metrics.series import bitrates_of, wider
from gameway.metrics.source import finished_runs

from .measures import (
    GAME,
    NONE,
    downloads,
    game_of,
    gateway_of,
    settled,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from gameway.metrics.source import Run
    from gameway.results import Results

WIDTH, HEIGHT = 260, 130
TITLES = {
    NONE: "no gateway", "voap": "VoAP", "voap, mended": "VoAP mended", "sap-law": "SAP-LAW"
}  # fmt: skip
WIDE_BINS = 4
"""Bitrates are means of two seconds: bins of 0.5 s show the timing of single segments."""
MAX_MS = 150.0


def shown_runs(results: Results, game: str) -> list[Run]:
    """The first run of each condition of a game."""
    return [run for run in finished_runs(results) if run.repeat == 0 and game_of(run) == game]


def delays(results: Results, game: str, flow: str = GAME) -> Any:
    """The longest queueing delay of a flow in each window, over time."""
    return _over_time(
        shown_runs(results, game), lambda run: _longest(run, flow), "Longest delay (ms)"
    )


def throughput(results: Results, game: str) -> Any:
    """The download's bitrate over time."""
    return _over_time(shown_runs(results, game), _bitrate, "Download (Mb/s)")


def windows(results: Results, game: str) -> Any:
    """The sender's window, and what the gateway advertises, over time."""
    runs = [run for run in shown_runs(results, game) if gateway_of(run) in {NONE, "voap"}]
    return _over_time(runs, _window, "Window (kB)", colour="window")


def flows_over_time(run: Run) -> Any:
    """The bitrate of each download of a run."""
    rates = wider(bitrates_of(run), WIDE_BINS)
    parts = [
        pl.DataFrame(
            {"time_s": rates.times_s, "value": rates.series(flow["name"]),
             "flow": [flow["name"]] * len(rates.times_s)}
        )
        for flow in downloads(run)
    ]  # fmt: skip
    data = pl.concat(parts).with_columns(pl.col("value").round(3))
    return (
        alt.Chart(plain(data))
        .mark_line(interpolate=STEPS, strokeWidth=1.3)
        .encode(
            alt.X("time_s:Q", title="Time (s)", scale=alt.Scale(nice=False)),
            alt.Y("value:Q", title="Mb/s"),
            alt.Color("flow:N", title=None, legend=legend()),
        )
        .properties(width=2.4 * WIDTH, height=1.3 * HEIGHT)
    )


def distributions(results: Results, flow: str = GAME) -> Any:
    """Cumulative share of packets by queueing delay: a panel for each game."""
    groups: dict[tuple[str, str], list[Run]] = {}
    for run in finished_runs(results):
        label = TITLES.get(gateway_of(run), gateway_of(run))
        tcp = str(downloads(run)[0].get("congestion_control", "cubic"))
        if gateway_of(run) == NONE:
            label = tcp
        groups.setdefault((game_of(run), label), []).append(run)
    parts = [
        _cumulative(runs, flow).with_columns(game=pl.lit(game), kind=pl.lit(label))
        for (game, label), runs in groups.items()
    ]
    data = pl.concat(parts)
    chart = (
        alt.Chart(plain(data))
        .mark_line(strokeWidth=1.5)
        .encode(
            alt.X(
                "ms:Q",
                title="Queueing delay (ms)",
                scale=alt.Scale(domain=[0, MAX_MS], clamp=True),
            ),
            alt.Y("percent:Q", title="Packets (%)"),
            alt.Color("kind:N", title=None, legend=legend()),
        )
        .properties(width=1.3 * WIDTH, height=1.4 * HEIGHT)
    )
    header = alt.Header(title=None, labelAnchor="start", labelPadding=2)
    return chart.facet(alt.Facet("game:N", header=header), columns=2, spacing=14)


def _cumulative(runs: list[Run], flow: str) -> pl.DataFrame:
    counts: dict[float, float] = {}
    for run in runs:
        found = Delays.of(run.table("queue_delay"), flow, settled(run))
        for high, packets in zip(found.high_ms, found.packets, strict=True):
            counts[float(high)] = counts.get(float(high), 0.0) + float(packets)
    edges = np.array(sorted(counts))
    shares = np.cumsum([counts[edge] for edge in edges])
    total = shares[-1] if len(shares) else 1.0
    # To the end of the axis, so that no line seems to stop.
    return pl.DataFrame(
        {"ms": np.concatenate(([0.0], edges, [max(MAX_MS, *edges)])),
         "percent": np.concatenate(([0.0], 100.0 * shares / total, [100.0])).round(2)}
    )  # fmt: skip


def _over_time(
    runs: list[Run],
    measure: Callable[[Run], pl.DataFrame],
    title: str,
    colour: str | None = None,
) -> Any:
    """Panels by gateway and TCP, of what `measure` gives: time_s, value and perhaps `colour`."""
    parts = []
    for run in runs:
        tcp = str(downloads(run)[0].get("congestion_control", "cubic"))
        name = TITLES.get(gateway_of(run), gateway_of(run))
        parts.append(measure(run).with_columns(panel=pl.lit(f"{tcp}, {name}")))
    if not parts:
        return None
    data = pl.concat(parts).with_columns(pl.col("value").round(3))
    found = data["panel"].unique(maintain_order=True).to_list()
    rows = list(TITLES.values())
    panels = sorted(found, key=lambda panel: rows.index(panel.split(", ", 1)[1]))
    encoding = (
        {} if colour is None else {"color": alt.Color(f"{colour}:N", title=None, legend=legend())}
    )
    chart = (
        alt.Chart(plain(data))
        .mark_line(interpolate=STEPS, strokeWidth=1.0)
        .encode(
            alt.X("time_s:Q", title="Time (s)", scale=alt.Scale(nice=False)),
            alt.Y("value:Q", title=title),
            **encoding,
        )
        .properties(width=WIDTH, height=HEIGHT)
    )
    header = alt.Header(title=None, labelAnchor="start", labelPadding=2)
    columns = len({panel.split(", ")[0] for panel in panels})
    return chart.facet(
        alt.Facet("panel:N", sort=panels, header=header), columns=columns, spacing=12
    )


def _longest(run: Run, flow: str) -> pl.DataFrame:
    table = run.table("queue_delay").filter(pl.col("flow") == flow)
    return (
        table.sort("delay_low_ns")
        .group_by("window_start_ns", maintain_order=True)
        .agg(value=pl.col("sum_ns").last() / pl.col("packets").last() / 1e6)
        .sort("window_start_ns")
        .select(time_s=pl.col("window_start_ns") / 1e9, value="value")
    )


def _bitrate(run: Run) -> pl.DataFrame:
    rates = wider(bitrates_of(run), WIDE_BINS)
    name = downloads(run)[0]["name"]
    return pl.DataFrame({"time_s": rates.times_s, "value": rates.series(name)})


def _window(run: Run) -> pl.DataFrame:
    name = downloads(run)[0]["name"]
    names = {"cwnd_bytes": "congestion window", "advertised_window_bytes": "advertised window"}
    table = run.table("controller").filter(
        (pl.col("stream") == name) & pl.col("variable").is_in(list(names))
    )
    return table.select(
        time_s=pl.col("time_ns") / 1e9,
        value=pl.col("value") / 1e3,
        window=pl.col("variable").replace(names),
    )
