"""Why a controller decided as it did: its log over time, in the words of its paper.

Of each controller those variables are drawn that its decisions rest on, together where they are
compared with each other (GCC's trend and its threshold). All that it logs is in the table
`controller`. A controller that is not known here, one's own for example, has each of its variables
drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from gameway.figures.facets import FIGURE_WIDTH, STEPS, legend, plain
from gameway.metrics.source import streams

if TYPE_CHECKING:
    from gameway.metrics.source import Run

MAX_UNKNOWN = 12
"""So many variables of a controller that is not known here are drawn."""
WIDTH, HEIGHT = FIGURE_WIDTH - 80, 90
# What a variable's unit, the end of its name, is multiplied by, and what it is called then.
UNITS = {
    "bps": (1e-6, "Mb/s"),
    "bytes": (1e-3, "kB"),
    "ns": (1e-6, "ms"),
    "us": (1e-3, "ms"),
    "ms": (1.0, "ms"),
    "s": (1.0, "s"),
    "ratio": (1e2, "%"),
    "packets": (1.0, "packets"),
    "frames": (1.0, "frames"),
}


@dataclass(frozen=True)
class Chart:
    """Variables of one controller that share an axis."""

    title: str
    axis: str
    lines: dict[str, str]
    """What each variable is called, by its name in the log."""


_RATE, _DELAY, _STATE = "Bitrate (Mb/s)", "Delay (ms)", "1: yes"
_TARGET = {"target_bps": "target"}

CHARTS: dict[str, list[Chart]] = {
    "pudica": [
        Chart("Target bitrate, and rate received while draining", _RATE,
              _TARGET | {"receiving_rate_bps": "received"}),
        Chart("Bandwidth utilization ratio (BUR)", "BUR",
              {"bur": "of a frame", "bur_corrected": "corrected by probes",
               "bur_smoothed": "smoothed over 200 ms"}),
        Chart("Pacing multiplier of a frame", "Multiplier", {"pace_multiplier": "multiplier"}),
        Chart("Short-term reactions", _STATE,
              {"fallback": "one-frame fallback", "draining": "drain"}),
    ],
    "gcc": [
        Chart("Target bitrate: the lower of what delay and loss allow", _RATE,
              _TARGET | {"delay_target_bps": "by delay", "loss_target_bps": "by loss",
                         "acknowledged_bps": "acknowledged"}),
        Chart("Delay trend and its threshold: above it the link is overused", "Trend (ms)",
              {"modified_trend_ms": "trend", "threshold_ms": "threshold"}),
        Chart("What the trend says", "1: overuse, -1: underuse", {"usage": "usage"}),
        Chart("Loss", "Loss (%)", {"loss_ratio": "loss"}),
    ],
    "scream": [
        Chart("Target bitrate", _RATE, _TARGET),
        Chart("Windows, and bytes in flight", "Window (kB)",
              {"reference_window_bytes": "reference window",
               "inflection_window_bytes": "at the last congestion",
               "send_window_bytes": "may be sent", "in_flight_bytes": "in flight"}),
        Chart("Queueing delay", _DELAY,
              {"queue_delay_ms": "newest", "average_queue_delay_ms": "average"}),
        Chart("Share of packets that an L4S queue marks (alpha)", "Alpha",
              {"l4s_alpha": "alpha"}),
    ],
    "nada": [
        Chart("Target bitrate, reference rate and receiving rate", _RATE,
              _TARGET | {"reference_bps": "reference", "receiving_bps": "received"}),
        Chart("Congestion signal, and the queueing delay in it", _DELAY,
              {"congestion_signal_ms": "congestion signal", "queue_delay_ms": "queueing delay"}),
        Chart("Loss and marks", "Packets (%)",
              {"loss_ratio": "lost", "marking_ratio": "marked"}),
        Chart("Accelerated ramp-up", _STATE, {"accelerated_ramp_up": "accelerated ramp-up"}),
    ],
    "copa": [
        Chart("Target bitrate", _RATE, _TARGET),
        Chart("Standing round-trip time over the least one", _DELAY,
              {"standing_queue_ms": "standing queue"}),
        Chart("Window", "Window (kB)", {"window_bytes": "window"}),
        Chart("Velocity of the window", "Velocity", {"velocity": "velocity"}),
        Chart("Delta: packets that Copa keeps in the queue are its reciprocal", "Delta",
              {"delta": "delta"}),
    ],
    "salsify": [
        Chart("Target bitrate", _RATE, _TARGET),
        Chart("What the next frame may have", "Packets",
              {"projected_packets": "in the network", "budget_packets": "budget"}),
        Chart("Gap between arriving packets", "Gap (ms)", {"arrival_gap_us": "gap"}),
    ],
    "sqp": [
        Chart("Target bitrate, bandwidth estimate and its newest sample", _RATE,
              _TARGET | {"bandwidth_bps": "estimate", "sample_bps": "sample"}),
        Chart("Round-trip time, and the window of the least one-way delay", "Time (ms)",
              {"smoothed_rtt_ms": "round-trip time", "min_delay_window_ms": "window"}),
    ],
    "fixed": [Chart("Target bitrate", _RATE, _TARGET)],
    "oracle": [
        Chart("Target bitrate, and rate at which it is sent", _RATE,
              _TARGET | {"pace_bps": "pace"}),
    ],
}  # fmt: skip
"""The charts of each controller, in the order in which a decision is read."""


def decisions(run: Run) -> list[Any]:
    """The charts of the controllers of a run's streams."""
    kinds = {str(stream["name"]): kind_of_controller(stream) for stream in streams(run.spec)}
    log = run.table("controller").filter(pl.col("stream").is_in(list(kinds)))
    found = []
    for kind in dict.fromkeys(kinds.values()):
        own = log.filter(pl.col("stream").is_in([name for name in kinds if kinds[name] == kind]))
        charts = CHARTS.get(kind) or _unknown(own)
        prefix = f"{kind}: " if len(set(kinds.values())) > 1 else ""
        found += [_drawn(own, chart, prefix) for chart in charts if _has(own, chart)]
    return found


def kind_of_controller(stream: dict[str, Any]) -> str:
    """The name of a stream's controller without its options."""
    controller = stream.get("controller")
    return str(controller.get("kind") if isinstance(controller, dict) else controller)


def _unknown(log: pl.DataFrame) -> list[Chart]:
    """A chart for each variable of a controller that is not known here."""
    names = log["variable"].unique(maintain_order=True).to_list()[:MAX_UNKNOWN]
    charts = []
    for name in names:
        words, unit = _words(name), _unit(name)[1]
        charts.append(Chart(words, f"{words} ({unit})" if unit else words, {name: words}))
    return charts


def _has(log: pl.DataFrame, chart: Chart) -> bool:
    return not log.filter(pl.col("variable").is_in(list(chart.lines))).is_empty()


def _drawn(log: pl.DataFrame, chart: Chart, prefix: str) -> Any:
    factors = {name: _unit(name)[0] for name in chart.lines}
    rows = log.filter(pl.col("variable").is_in(list(chart.lines))).select(
        "stream",
        (pl.col("time_ns") / 1e9).round(3).alias("time_s"),
        (pl.col("value") * pl.col("variable").replace_strict(factors, return_dtype=pl.Float64))
        .round_sig_figs(5)
        .alias("value"),
        pl.col("variable").replace_strict(chart.lines).alias("line"),
    )
    several = rows["stream"].n_unique() > 1
    order = [words for words in chart.lines.values() if words in set(rows["line"].to_list())]
    encoding: dict[str, Any] = {
        "x": alt.X("time_s:Q", title="Time (s)", scale=alt.Scale(nice=False)),
        "y": alt.Y("value:Q", title=chart.axis, scale=alt.Scale(zero=False)),
        "color": alt.Color(
            "line:N", sort=order, title=None, legend=legend() if len(order) > 1 else None
        ),
    }
    if several:
        encoding["strokeDash"] = alt.StrokeDash("stream:N", title="Stream", legend=legend())
    lines = alt.Chart(plain(rows)).mark_line(interpolate=STEPS, strokeWidth=1.4).encode(**encoding)
    heading = alt.Title(prefix + chart.title, fontSize=12, fontWeight=500, offset=4)
    return lines.properties(width=WIDTH, height=HEIGHT, title=heading)


def _unit(variable: str) -> tuple[float, str]:
    return UNITS.get(variable.rsplit("_", 1)[-1], (1.0, "")) if "_" in variable else (1.0, "")


def _words(variable: str) -> str:
    """A variable's name without its unit, as words."""
    name = variable.rsplit("_", 1)[0] if _unit(variable)[1] else variable
    return name.replace("_", " ").capitalize()
