"""Both sides of the link over time, as `gameway.metrics.both_sides` has them, on one axis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from gameway.experiment.keys.ladders import levels_of
from gameway.figures.conditions import CONTROLLER, dimensions
from gameway.figures.facets import FIGURE_WIDTH, STEPS, Panel, joined, legend, plain, zoom
from gameway.figures.series import changes
from gameway.metrics.both_sides import INTERRUPTED, STARTUP, halts, over_time
from gameway.metrics.source import competitors, runs_by_condition, streams
from gameway.metrics.videos import videos

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gameway.figures.conditions import Where
    from gameway.metrics.source import ResultFolder, Run

MAX_CONDITIONS = 8
"""More have one shown for each controller: its middle one."""
WIDTH = FIGURE_WIDTH - 80
ROWS = {
    "bitrate": ("Bitrate (Mb/s)", 150),
    "frame_delay": ("Frame delay, p95 (ms)", 110),
    "level": ("Level on screen", 110),
    "buffer": ("Buffer (s)", 90),
}
"""Title and height of each row."""
STRIP = 22
"""Height of one video's halts."""
HALTS = {STARTUP: "#8a8fa3", INTERRUPTED: "#d7263d"}
"""Colours that no flow has, on light and on dark."""
FAINTEST = 0.35
"""Opacity of a halt in next to none of the runs."""

Axis = dict[str, Any]


def both_sides(results: ResultFolder, where: Where | None = None) -> alt.TopLevelMixin:
    """What players and viewers saw over time, one chart for each condition that is shown."""
    return joined(both_sides_panels(results, where))


def both_sides_panels(results: ResultFolder, where: Where | None = None) -> list[Panel]:
    """The charts of `both_sides`; none without videos."""
    told = "Bitrates, frame delay, level and buffer of videos and their halts over time."
    return [
        Panel(found, _chart(runs, f"zoom_{number}"), told)
        for number, (found, runs) in enumerate(shown_conditions(results))
        if (where or {}).items() <= found.items()
    ]


def shown_conditions(results: ResultFolder) -> list[tuple[Where, list[Run]]]:
    """Conditions with videos that are shown one by one, by what tells them apart, with their runs.

    All if they are few, else the middle one of each controller.
    """
    found = [runs for runs in runs_by_condition(results) if videos(runs[0].spec)]
    if len(found) > MAX_CONDITIONS:
        by_controller: dict[str | None, list[list[Run]]] = {}
        for runs in found:
            by_controller.setdefault(runs[0].factors.get(CONTROLLER), []).append(runs)
        found = [group[len(group) // 2] for group in by_controller.values()][:MAX_CONDITIONS]
    schema = dict.fromkeys([*results.factors, "stream"], pl.String)
    rows = pl.DataFrame([runs[0].factors | {"stream": ""} for runs in found], schema=schema)
    telling = [one.column for one in dimensions(rows, results.factors)]
    return [({name: str(runs[0].factors[name]) for name in telling}, runs) for runs in found]


def _chart(runs: list[Run], drag: str) -> Any:
    table = over_time(runs)
    games, shown = _names(streams(runs[0].spec)), _names(videos(runs[0].spec))
    flows = [*games, *_names(competitors(runs[0].spec))]
    lines = changes(runs[0])
    rows = [
        _row(own, series, alt.Scale(domain=flows), axis_of(series, runs[0]), lines)
        for series in ROWS
        if not (own := table.filter(pl.col("series") == series)).is_empty()
    ]
    charts = [*rows, _strip(runs, shown, lines)]
    charts[0] = charts[0].add_params(zoom(name=drag))
    return alt.vconcat(*charts, spacing=10).resolve_scale(x="shared", color="independent")


def _row(rows: pl.DataFrame, series: str, hues: alt.Scale, axis: Axis, lines: list[Any]) -> Any:
    data = rows.drop("series").with_columns(pl.col("mean", "low", "high").round(2))
    # All rows give a flow the same colour; the first one's legend has them all.
    key = legend() if series == next(iter(ROWS)) else None
    hue = alt.Color("flow:N", scale=hues, title="Flow", legend=key)
    base = alt.Chart(plain(data))
    line = base.mark_line(interpolate=STEPS, clip=True).encode(
        _time(), alt.Y("mean:Q", **axis), color=hue
    )
    band: list[Any] = []
    if data.select((pl.col("high") > pl.col("low")).any()).item():
        area = base.mark_area(interpolate=STEPS, opacity=0.22, clip=True)
        band = [area.encode(_time(), alt.Y("low:Q", **axis), alt.Y2("high:Q"), color=hue)]
    height = ROWS[series][1]
    return alt.layer(*band, line, *lines).properties(width=WIDTH, height=height)


def axis_of(series: str, run: Run) -> Axis:
    """Nothing here is below zero; levels are those of the highest ladder, each with its line."""
    title = ROWS[series][0]
    if series != "level":
        return {"title": title, "scale": alt.Scale(domainMin=0), "axis": alt.Axis(tickCount=5)}
    highest = max(len(levels_of(video)) for video in videos(run.spec))
    scale = alt.Scale(domain=[0.7, highest + 0.3], nice=False)
    ticks = alt.Axis(values=list(range(1, highest + 1)), format="d")
    return {"title": title, "scale": scale, "axis": ticks}


def _strip(runs: list[Run], shown: list[str], lines: list[Any]) -> Any:
    """When each video halts: a bar of one colour while it starts, of another in interruptions."""
    rows = halts(runs).with_columns(
        share=pl.col("runs") / len(runs),
        told=pl.format("{} of {}", "runs", pl.lit(len(runs))),
    )
    kinds = alt.Scale(domain=list(HALTS), range=list(HALTS.values()))
    hue = alt.Color("kind:N", title="No moving picture", legend=legend(), scale=kinds)
    weight = alt.Opacity(
        "share:Q", scale=alt.Scale(domain=[0, 1], range=[FAINTEST, 1]), legend=None
    )
    # A thin edge of its own colour: the shortest halt is still to be seen.
    edge = alt.Stroke("kind:N", scale=kinds, legend=None)
    shown_axis = alt.Axis(grid=False, ticks=False, domain=False)
    bars = alt.Chart(plain(rows)).mark_rect(strokeWidth=1).encode(
        _time("from_s", "Time (s)"), alt.X2("to_s:Q"),
        alt.Y("flow:N", scale=alt.Scale(domain=shown), title=None, axis=shown_axis),
        color=hue, stroke=edge, opacity=weight,
        tooltip=[alt.Tooltip("flow:N", title="Video"), alt.Tooltip("kind:N", title="Halt"),
                 alt.Tooltip("from_s:Q", title="From (s)", format=".2f"),
                 alt.Tooltip("to_s:Q", title="To (s)", format=".2f"),
                 alt.Tooltip("told:N", title="Runs")],
    )  # fmt: skip
    return alt.layer(bars, *lines).properties(width=WIDTH, height=STRIP * len(shown))


def _time(column: str = "time_s", title: str | None = None) -> alt.X:
    return alt.X(f"{column}:Q", title=title, scale=alt.Scale(nice=False))


def _names(flows: Iterable[dict[str, Any]]) -> list[str]:
    return [str(flow["name"]) for flow in flows]
