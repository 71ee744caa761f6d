"""Charts of Pudica's figures: flows over time, distributions, trajectories, estimates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np
import polars as pl

from gameway.figures.facets import STEPS, legend, plain
from gameway.metrics.series import BIN_S
from gameway.metrics.source import competitors, finished_runs

from .sessions import frames_of
from .text import row_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gameway.metrics.source import Run
    from gameway.results import Results

SLICES = 600
"""Frames are drawn in slices, at most so many: mean bitrate, largest delay."""
MIN_SLICE_S = 0.1
LEFT, RIGHT, ROW = 400, 400, 88
GREY = "#888888"
MAX_DELAY_MS = 2000.0
DISTRIBUTION_POINTS = 60
QUANTILES = {"p05": 0.05, "p25": 0.25, "p50": 0.5, "p75": 0.75, "p95": 0.95}


def timelines(results: Results, delays_from_ms: float = 10.0) -> Any:
    """Bitrate (left) and frame delay (right, logarithmic) over time, a row for each controller.

    Of each condition, the run of the first repeat; the dashed line is the capacity.
    """
    runs = [run for run in finished_runs(results) if run.repeat == 0]
    names = {run.id: row_name(run, runs) for run in runs}
    slice_s = max(MIN_SLICE_S, round(max(run.windows.run.stop_s for run in runs) / SLICES, 1))
    slices = _slices(results, names, slice_s)
    bitrate = pl.concat([slices.select("row", "flow", "time_s", mbps="mbps"), _others(runs, names)])
    order = list(dict.fromkeys(names.values()))
    flows = bitrate["flow"].unique(maintain_order=True).to_list()
    hue = _flow_colour(flows)
    left = _bitrate_rows(bitrate, _capacities(runs, names), order, hue)
    delays = slices.select("row", "flow", "time_s", "delay_ms").drop_nulls()
    right = _delay_rows(delays, order, hue, delays_from_ms)
    return alt.hconcat(left, right, spacing=28).resolve_scale(color="shared")


def distributions(
    tables: Mapping[str, pl.DataFrame], titles: Mapping[str, str], order: Sequence[str]
) -> Any:
    """Cumulative distributions over sessions, a panel for each column, a line for each controller.

    `tables` gives each column the table that has it. A value that is null ("never") keeps its line
    below 100 %.
    """
    shown = [name for name in titles if name in tables]
    found = [_distribution(tables[name], name, titles[name], order) for name in shown]
    rows = [alt.hconcat(*found[i : i + 2], spacing=28) for i in range(0, len(found), 2)]
    return alt.vconcat(*rows, spacing=14).resolve_scale(color="shared")


def trajectories(paths: pl.DataFrame, panels: Sequence[str], title: str) -> Any:
    """The plane of two flows: columns panel, first, second (shares of the capacity), step."""
    share = alt.Scale(domain=[0, 1])
    base = alt.Chart().properties(width=250, height=250)
    encoding = {
        "x": alt.X("first:Q", title="Flow 1, share of capacity", scale=share),
        "y": alt.Y("second:Q", title=title, scale=share),
        "order": alt.Order("step:Q"),
    }
    layers = [
        base.transform_filter("datum.kind == 'guide'")
        .mark_line(color=GREY, strokeDash=[5, 4], strokeWidth=1.2)
        .encode(**encoding, detail="guide:N"),
        base.transform_filter("datum.kind == 'path'")
        .mark_line(strokeWidth=1.1, opacity=0.85, clip=True)
        .encode(**encoding, color=alt.Color("kind:N", legend=None)),
        base.transform_filter("datum.kind == 'start'")
        .mark_point(filled=True, size=70, color="#D55E00", opacity=1)
        .encode(**encoding),
    ]
    data = pl.concat([_with_guides(paths, panel) for panel in panels])
    header = alt.Header(title=None, labelFontSize=12)
    column = alt.Column("panel:N", sort=list(panels), header=header)
    return alt.layer(*layers, data=plain(data)).facet(column=column, spacing=16)


def estimates(rows: pl.DataFrame, panels: Sequence[str]) -> Any:
    """Estimated over true utilization, a panel for each estimator: 5, 25, 50, 75, 95 %."""
    base = alt.Chart().properties(width=185, height=230)
    scale = alt.Scale(domain=[0, 1.4])
    truth = alt.X(
        "truth:Q", title="True utilization", scale=alt.Scale(domain=[0.2, 1.1], nice=False)
    )

    def estimate(column: str) -> alt.Y:
        return alt.Y(f"{column}:Q", title="Estimate", axis=alt.Axis(tickCount=7), scale=scale)

    shown = ["estimator:N", "truth:Q", *(f"{name}:Q" for name in QUANTILES), "groups:Q"]
    layers = [
        base.mark_line(color=GREY, strokeDash=[5, 4]).encode(truth, estimate("truth")),
        base.mark_rule(strokeWidth=1).encode(truth, estimate("p05"), y2="p95:Q"),
        base.mark_bar(width=10, color="#3FA7DB").encode(truth, estimate("p25"), y2="p75:Q"),
        base.mark_tick(
            width=10, height=2, thickness=2, color="#D55E00", orient="horizontal"
        ).encode(
            truth,
            estimate("p50"),
            tooltip=shown,
        ),
    ]
    header = alt.Header(title=None, labelFontSize=12)
    column = alt.Column("estimator:N", sort=list(panels), header=header)
    return alt.layer(*layers, data=plain(rows)).facet(column=column, spacing=14)


def _distribution(table: pl.DataFrame, column: str, title: str, order: Sequence[str]) -> Any:
    rows = pl.concat([_cumulative(table, column, name) for name in order])
    chart = alt.Chart(plain(rows)).mark_line(interpolate=STEPS)
    whole = chart.encode(
        alt.X("value:Q", title=title, scale=alt.Scale(zero=False)),
        alt.Y("share:Q", title="Sessions (%)", scale=alt.Scale(domain=[0, 100])),
        alt.Color("controller:N", sort=list(order), title=None, legend=legend()),
        tooltip=["controller:N", alt.Tooltip("value:Q", title=title), "share:Q"],
    )
    return whole.properties(width=LEFT, height=170)


def _slices(results: Results, names: dict[str, str], slice_s: float) -> pl.DataFrame:
    step = (pl.col("captured_s") / slice_s).floor() * slice_s
    frames = frames_of(results).filter(pl.col("run").is_in(list(names)))
    rows = frames.group_by("run", "stream", step.alias("time_s")).agg(
        mbps=(pl.col("wire_bytes").sum() * 8e-6 / slice_s).round(2),
        delay_ms=pl.col("delay_ms").max().clip(upper_bound=MAX_DELAY_MS).round(1),
    )
    found = rows.collect().with_columns(
        row=pl.col("run").replace_strict(names), time_s=pl.col("time_s").round(1)
    )
    return found.rename({"stream": "flow"}).sort("row", "flow", "time_s")


def _others(runs: list[Run], names: dict[str, str]) -> pl.DataFrame:
    """Bitrates of the competitors, in bins of 0.5 s."""
    schema = {"row": pl.String, "flow": pl.String, "time_s": pl.Float64, "mbps": pl.Float64}
    parts = [pl.DataFrame(schema=schema)]
    for run in runs:
        flows = [str(flow["name"]) for flow in competitors(run.spec)]
        bins = run.table("bins").filter(pl.col("flow").is_in(flows))
        parts.append(
            bins.select(
                pl.lit(names[run.id]).alias("row"),
                "flow",
                time_s=pl.col("bin_start_ns") / 1e9,
                mbps=(pl.col("received_bytes") * 8e-6 / BIN_S).round(2),
            )
        )
    return pl.concat(parts)


def _capacities(runs: list[Run], names: dict[str, str]) -> pl.DataFrame:
    parts = []
    for run in runs:
        link = run.table("link")
        link = link.filter(pl.col("link") == "path") if "link" in link.columns else link
        parts.append(
            link.select(
                pl.lit(names[run.id]).alias("row"),
                time_s=pl.col("bin_start_ns") / 1e9,
                capacity=(pl.col("capacity_bytes") * 8e-6 / BIN_S).round(2),
            )
        )
    return pl.concat(parts)


def _bitrate_rows(bitrate: pl.DataFrame, capacity: pl.DataFrame, order: list[str], hue: Any) -> Any:
    data = pl.concat([bitrate, capacity], how="diagonal")
    y = alt.Y("mbps:Q", title="Mb/s", axis=alt.Axis(tickCount=4))
    base = alt.Chart().properties(width=LEFT, height=ROW)
    dashed = base.mark_line(
        interpolate=STEPS, strokeDash=[5, 4], color=GREY, strokeWidth=1.2
    ).encode(_time(), alt.Y("capacity:Q", title="Mb/s"))
    dashed = dashed.transform_filter("isValid(datum.capacity)")
    lines = base.transform_filter("isValid(datum.flow)").mark_line(
        interpolate=STEPS, strokeWidth=1.3
    )
    whole = alt.layer(dashed, lines.encode(_time(), y, hue), data=plain(data))
    return whole.facet(row=_rows(order)).properties(title=_title("Bitrate"))


def _delay_rows(delays: pl.DataFrame, order: list[str], hue: Any, from_ms: float) -> Any:
    ticks = [10, 20, 50, 100, 200, 500, 1000]
    scale = alt.Scale(type="log", domainMin=from_ms, nice=False)
    y = alt.Y("delay_ms:Q", title="ms", scale=scale, axis=alt.Axis(values=ticks))
    base = alt.Chart().properties(width=RIGHT, height=ROW)
    lines = base.mark_line(interpolate=STEPS, strokeWidth=1.2).encode(_time(), y, hue)
    whole = alt.layer(lines, data=plain(delays)).facet(row=_rows(order))
    return whole.properties(title=_title("Frame delay"))


def _rows(order: list[str]) -> alt.Row:
    header = alt.Header(title=None, labelOrient="top", labelAnchor="start", labelPadding=2)
    return alt.Row("row:N", sort=order, header=header)


def _title(text: str) -> alt.Title:
    return alt.Title(text, fontSize=12, fontWeight=600, offset=6)


def _time() -> alt.X:
    return alt.X("time_s:Q", title="Time (s)", scale=alt.Scale(nice=False))


def _flow_colour(flows: list[str]) -> Any:
    """One colour for each flow; no legend for a single one."""
    shown = legend() if len(flows) > 1 else None
    return alt.Color("flow:N", sort=flows, title=None, legend=shown)


def _cumulative(table: pl.DataFrame, column: str, controller: str) -> pl.DataFrame:
    values = table.filter(pl.col("controller") == controller)[column]
    found = np.sort(values.drop_nulls().drop_nans().to_numpy())
    share = 100.0 * np.arange(1, len(found) + 1) / max(len(values), 1)
    keep = np.unique(np.linspace(0, len(found) - 1, DISTRIBUTION_POINTS).astype(int))
    keep = keep[: len(found)] if len(found) else keep[:0]
    return pl.DataFrame(
        {"value": found[keep].round(3), "share": share[keep].round(1)},
        schema={"value": pl.Float64, "share": pl.Float64},
    ).with_columns(controller=pl.lit(controller))


def _with_guides(paths: pl.DataFrame, panel: str) -> pl.DataFrame:
    own = paths.filter(pl.col("panel") == panel).select("panel", "first", "second", "step")
    own = own.with_columns(pl.col("step").cast(pl.Int64))
    guides = pl.DataFrame(
        {
            "panel": [panel] * 4,
            "first": [0.0, 1.0, 0.0, 1.0],
            "second": [0.0, 1.0, 1.0, 0.0],
            "step": [0, 1, 0, 1],
            "guide": ["fair", "fair", "full", "full"],
            "kind": ["guide"] * 4,
        }
    )
    line = own.with_columns(guide=pl.lit("", pl.String), kind=pl.lit("path"))
    start = line.head(1).with_columns(kind=pl.lit("start"))
    return pl.concat([guides, line, start], how="diagonal")
