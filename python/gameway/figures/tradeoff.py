"""Utilization against frame delay: one point per controller with the crosses of its intervals.

Up and to the left is better. Names stand beside the points, so that no legend has to be read; the
oracle is a limit, drawn in the colour of the text with dashed lines through it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from gameway.figures import theme
from gameway.figures.facets import plain
from gameway.figures.labels import Label, place

if TYPE_CHECKING:
    from collections.abc import Sequence

WIDTH, HEIGHT = 400, 320
MARGIN = 0.08
"""Room beside the outermost points, as a share of the axis."""
LOGARITHMIC_FROM = 6.0
"""Delays that differ by more than this factor stand on a logarithmic axis."""
WIDE = 300.0
"""From this factor on, a logarithmic axis names two delays of a decade, not four."""
FARTHEST = 0.6
"""A baseline may widen an axis by this share of what the others span."""
NARROWEST = {"x": 4.0, "y": 5.0}
"""An axis spans at least so much, so that no difference looks larger than it is."""


@dataclass(frozen=True)
class Axis:
    """An axis with its domain, as we need it to place names."""

    low: float
    high: float
    length: float
    logarithmic: bool = False
    upwards: bool = False

    def pixel(self, value: float) -> float:
        """Where a value stands."""
        share = (self._scaled(value) - self._scaled(self.low)) / self._span
        return self.length * (1.0 - share if self.upwards else share)

    def value(self, pixel: float) -> float:
        """What stands at a place."""
        share = pixel / self.length
        share = 1.0 - share if self.upwards else share
        found = self._scaled(self.low) + share * self._span
        return math.exp(found) if self.logarithmic else found

    @property
    def scale(self) -> alt.Scale:
        """The scale of the chart."""
        kind: Any = "log" if self.logarithmic else "linear"
        return alt.Scale(domain=[self.low, self.high], nice=False, zero=False, type=kind)

    @property
    def _span(self) -> float:
        return self._scaled(self.high) - self._scaled(self.low)

    def _scaled(self, value: float) -> float:
        return math.log(value) if self.logarithmic else value


def tradeoff(points: pl.DataFrame, delays: Sequence[tuple[str, str]], y_title: str) -> Any:
    """A panel for each of `delays` (name of the column, title of the axis).

    `points`: `controller`, `role` ("judged", "baseline" or "limit"), `front` (whether it is on the
    Pareto front of the first panel), and for `utilization` and each delay the columns NAME,
    NAME_low and NAME_high.
    """
    known = points.filter(pl.all_horizontal(pl.col(name).is_not_nan() for name, _ in delays))
    if known.is_empty():
        raise ValueError("no controller has a frame delay")
    y = _axis(known, "utilization", HEIGHT, upwards=True)
    panels = [
        _panel(known.with_columns(pl.col("front") & (index == 0)), name, title, y, y_title)
        for index, (name, title) in enumerate(delays)
    ]
    return alt.hconcat(*panels, spacing=36)


def within_reach(points: pl.DataFrame, delays: Sequence[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The points to be drawn, and baselines so far away that they would squeeze the others."""
    others = points.filter(pl.col("role") != "baseline")
    if others.is_empty():
        return points, points.clear()
    far = pl.lit(value=False)
    for name in ("utilization", *delays):
        low, high = _bound(others[name].min()), _bound(others[name].max())
        room = FARTHEST * max(high - low, NARROWEST["y"])
        far |= (pl.col(name) < low - room) | (pl.col(name) > high + room)
    hidden = (pl.col("role") == "baseline") & far
    return points.filter(~hidden), points.filter(hidden)


def colours(names: Sequence[str]) -> alt.Scale:
    """Each known controller in its own colour in every figure; others take what is free.

    The first variant of a kind ("scream ecn=off") has the colour of its kind.
    """
    slots: list[str | None] = [None] * max(len(theme.CONTROLLERS), len(names))
    others = []
    for name in sorted(names, key=lambda name: name not in theme.CONTROLLERS):
        kind = name.split(" ", 1)[0]
        own = theme.CONTROLLERS.index(kind) if kind in theme.CONTROLLERS else None
        if own is not None and slots[own] is None:
            slots[own] = name
        else:
            others.append(name)
    for name in others:
        slots[slots.index(None)] = name
    # A slot that nobody takes needs a name all the same, so that the others keep their colours.
    return alt.Scale(domain=[name or f"({index})" for index, name in enumerate(slots)])


def _panel(points: pl.DataFrame, name: str, title: str, y: Axis, y_title: str) -> Any:
    x = _axis(points, name, WIDTH)
    rows = _with_labels(_renamed(points, name), x, y)
    base = alt.Chart(plain(rows)).properties(width=WIDTH, height=HEIGHT)
    across = alt.X("delay:Q", title=title, scale=x.scale, axis=_ticks(x))
    up = alt.Y("utilization:Q", title=y_title, scale=y.scale)
    hue = alt.Color("controller:N", scale=colours(_judged(rows)), legend=None)
    judged = alt.datum.role == "judged"
    layers = _limit_lines(base, across, up)
    layers.append(
        base.mark_line(interpolate="step-after", strokeDash=[2, 3], strokeWidth=1.2, style="faint")
        .encode(across, up)
        .transform_filter(alt.datum.front)
    )
    layers += [
        base.mark_rule(style="faint", strokeWidth=0.8)
        .encode(across, up, alt.X2("near_x:Q"), alt.Y2("near_y:Q"))
        .transform_filter(alt.datum.far)
    ]
    for chart, colour in (
        (base.transform_filter(judged), hue),
        (base.transform_filter(~judged), None),
    ):
        layers += _marks(chart, across, up, colour)
    return alt.layer(*layers)


def _judged(rows: pl.DataFrame) -> list[str]:
    names: list[str] = rows.filter(pl.col("role") == "judged")["controller"].sort().to_list()
    return names


def _marks(chart: Any, across: alt.X, up: alt.Y, hue: alt.Color | None) -> list[Any]:
    """Crosses, points and names; those without a colour are in the colour of the text."""
    own = {"color": hue} if hue is not None else {}
    style = {} if hue is not None else {"style": "reference"}
    shown = [alt.Tooltip("controller:N")] + [
        alt.Tooltip(f"{column}:Q", title=heading, format=".4")
        for column, heading in (
            ("delay", "frame delay, ms"), ("delay_low", "from"), ("delay_high", "to"),
            ("utilization", "utilization, %"), ("utilization_low", "from"),
            ("utilization_high", "to"),
        )
    ]  # fmt: skip
    shape: dict[str, Any] = {} if hue is not None else {"shape": "diamond"}
    name = chart.encode(alt.X("label_x:Q"), alt.Y("label_y:Q"), alt.Text("controller:N"))
    return [
        chart.mark_rule(strokeWidth=1.6, **style).encode(
            alt.X("delay_low:Q"), alt.X2("delay_high:Q"), up, **own
        ),
        chart.mark_rule(strokeWidth=1.6, **style).encode(
            across, alt.Y("utilization_low:Q"), alt.Y2("utilization_high:Q"), **own
        ),
        chart.mark_point(filled=True, opacity=1, size=70, **shape, **style).encode(
            across, up, tooltip=shown, **own
        ),
        name.mark_text(align="left", baseline="middle", fontSize=12, style="halo"),
        name.mark_text(align="left", baseline="middle", fontSize=12, **style).encode(**own),
    ]


def _limit_lines(base: Any, across: alt.X, up: alt.Y) -> list[Any]:
    limit = base.transform_filter(alt.datum.role == "limit")
    dashed = {"strokeDash": [5, 4], "strokeWidth": 1, "style": "faint"}
    return [limit.mark_rule(**dashed).encode(across), limit.mark_rule(**dashed).encode(up)]


def _renamed(points: pl.DataFrame, name: str) -> pl.DataFrame:
    """The columns of one panel; an interval that is not known is a point."""
    ends = ("", "_low", "_high")
    found = points.select(
        "controller", "role", "front",
        *(pl.col(f"utilization{end}") for end in ends),
        *(pl.col(f"{name}{end}").alias(f"delay{end}") for end in ends),
    )  # fmt: skip
    return found.with_columns(
        pl.col(f"{column}{end}").fill_nan(pl.col(column))
        for column in ("utilization", "delay")
        for end in ends[1:]
    ).sort("delay")


def _with_labels(rows: pl.DataFrame, x: Axis, y: Axis) -> pl.DataFrame:
    labels = [_label(row, x, y) for row in rows.iter_rows(named=True)]
    placed = place(labels, WIDTH, HEIGHT)
    near = [
        min(max(label.x, one.left), one.left + label.width)
        for label, one in zip(labels, placed, strict=True)
    ]
    return rows.with_columns(
        label_x=pl.Series([x.value(one.left) for one in placed]),
        label_y=pl.Series([y.value(one.y) for one in placed]),
        near_x=pl.Series([x.value(pixel) for pixel in near]),
        near_y=pl.Series([y.value(one.y) for one in placed]),
        far=pl.Series([one.far for one in placed]),
    )


def _label(row: dict[str, Any], x: Axis, y: Axis) -> Label:
    across, up = x.pixel(row["delay"]), y.pixel(row["utilization"])
    cross = (
        across - x.pixel(row["delay_low"]),
        up - y.pixel(row["utilization_high"]),
        x.pixel(row["delay_high"]) - across,
        y.pixel(row["utilization_low"]) - up,
    )
    return Label(row["controller"], across, up, cross)


def _axis(points: pl.DataFrame, name: str, length: float, *, upwards: bool = False) -> Axis:
    ends = points.select(
        pl.min_horizontal(name, f"{name}_low").alias("low"),
        pl.max_horizontal(name, f"{name}_high").alias("high"),
    )
    low, high = _bound(ends["low"].fill_nan(None).min()), _bound(ends["high"].fill_nan(None).max())
    logarithmic = not upwards and low > 0.0 and high / low > LOGARITHMIC_FROM
    if logarithmic:
        room = (high / low) ** MARGIN
        return Axis(low / room, high * room, length, logarithmic=True)
    lacking = max(NARROWEST["y" if upwards else "x"] - (high - low), 0.0) / 2
    low, high = low - lacking, high + lacking
    room = MARGIN * (high - low)
    return Axis(low - room, high + room, length, upwards=upwards)


def _bound(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) else 0.0


def _ticks(axis: Axis) -> alt.Axis:
    if not axis.logarithmic:
        return alt.Axis()
    # Of many decades each has room for fewer labels.
    within = (1, 2, 3, 5) if axis.high / axis.low < WIDE else (1, 3)
    steps = [step * 10.0**power for power in range(-1, 6) for step in within]
    return alt.Axis(values=[s for s in steps if axis.low <= s <= axis.high], format="~g")
