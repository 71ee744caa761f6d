"""The charts of the page of feedback."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np
import polars as pl

from gameway.figures.facets import STEPS, legend, plain
from gameway.metrics.series import BIN_S, bitrates_of
from gameway.metrics.source import finished_runs, streams
from gameway.page import Figure

if TYPE_CHECKING:
    from gameway.results import Results

__all__ = ["Figure", "rates", "tradeoff"]

COLUMNS, WIDTH, HEIGHT = 4, 205, 130
GREY = "#888888"


def tradeoff(means: pl.DataFrame) -> Any:
    """A panel for each controller, a point for each condition."""
    order = means["condition"].unique(maintain_order=True).to_list()
    panels = means["controller"].unique(maintain_order=True).to_list()
    chart = (
        alt.Chart(plain(means))
        .mark_point(filled=True, size=90, opacity=0.9)
        .encode(
            alt.X("run_bitrate_mbps:Q", title="Mb/s", scale=alt.Scale(zero=False),
                  axis=alt.Axis(tickCount=5)),
            alt.Y("run_frame_delay_p95_ms:Q", title="95 % delay (ms)",
                  scale=alt.Scale(type="log", reverse=True, nice=False, padding=8)),
            alt.Color("condition:N", sort=order, title=None, legend=_wrapped()),
            alt.Shape("condition:N", sort=order, legend=None),
            tooltip=["controller:N", "condition:N", "run_bitrate_mbps:Q",
                     "run_frame_delay_p95_ms:Q"],
        )
        .properties(width=WIDTH, height=HEIGHT)
    )  # fmt: skip
    return chart.facet(_facet(panels), columns=COLUMNS, spacing=12)


def rates(results: Results, kinds: tuple[str, ...]) -> Any:
    """Received bitrate of the first run with each of some kinds of feedback, and the capacity."""
    runs = [run for run in finished_runs(results) if run.repeat == 0]
    parts = []
    for run in runs:
        if run.factors.get("feedback") not in kinds:
            continue
        bitrates = bitrates_of(run)
        series = bitrates.series(str(streams(run.spec)[0]["name"]))
        capacity = run.link().sort("bin_start_ns")["capacity_bytes"].to_numpy() * 8e-6 / BIN_S
        count = min(len(series), len(capacity))
        parts.append(
            pl.DataFrame(
                {
                    "controller": [str(run.factors["controller"])] * count,
                    "feedback": [str(run.factors["feedback"])] * count,
                    "time_s": bitrates.times_s[:count],
                    "mbps": np.round(series[:count], 2),
                    "capacity": np.round(capacity[:count], 2),
                }
            )
        )
    data = pl.concat(parts)
    panels = data["controller"].unique(maintain_order=True).to_list()
    x = alt.X("time_s:Q", title="Time (s)", scale=alt.Scale(nice=False))
    base = alt.Chart().properties(width=WIDTH, height=HEIGHT)
    dashed = base.mark_line(
        interpolate=STEPS, strokeDash=[4, 3], color=GREY, strokeWidth=1.2
    ).encode(x, alt.Y("capacity:Q", title="Mb/s"))
    hue = alt.Color("feedback:N", sort=list(kinds), title=None, legend=legend())
    lines = base.mark_line(interpolate=STEPS, strokeWidth=1.3).encode(
        x, alt.Y("mbps:Q", title="Mb/s"), hue
    )
    whole = alt.layer(dashed, lines, data=plain(data))
    return whole.facet(_facet(panels), columns=COLUMNS, spacing=12)


def _facet(panels: list[str]) -> alt.Facet:
    header = alt.Header(title=None, labelAnchor="start", labelPadding=2)
    return alt.Facet("controller:N", sort=panels, header=header)


def _wrapped() -> alt.Legend:
    return alt.Legend(
        orient="top", direction="horizontal", columns=3, symbolOpacity=1, symbolSize=90
    )
