"""The published tables beside ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from gameway.page import Table
from gameway.page.words import UNKNOWN, estimate_of, number

from . import published
from .measures import GAME, TCP

if TYPE_CHECKING:
    from gameway.page import Cell

QUEUES = {"drop-tail": "droptail", "htb": "htb", "dual-pi2": "l4s"}
"""Ours, and how the publication calls it."""
COMPETITORS = {"cubic": "cubic", "bbr2": "bbr2"}
TARGET = "45 Mb/s"
"""The table does not say at which target rate; downloads of 33 Mb/s on average, with a third
quartile of 43.9, are those of the highest."""
METRICS = {
    "latency_avg_ms": ("delay_mean_ms", "queueing delay, mean, ms"),
    "latency_jitter": ("delay_sd_ms", "queueing delay, deviation, ms"),
    "over_10ms_percent": ("over_10ms_percent", "10 ms or more, %"),
    "over_20ms_percent": ("over_20ms_percent", "20 ms or more, %"),
    "over_50ms_percent": ("over_50ms_percent", "50 ms or more, %"),
    "over_100ms_percent": ("over_100ms_percent", "100 ms or more, %"),
    "bitrate_avg_mbps": ("bitrate_mbps", "bitrate, mean, Mb/s"),
    "bitrate_q1_mbps": ("bitrate_q1_mbps", "bitrate, 1st quartile, Mb/s"),
    "bitrate_q2_mbps": ("bitrate_q2_mbps", "bitrate, median, Mb/s"),
    "bitrate_q3_mbps": ("bitrate_q3_mbps", "bitrate, 3rd quartile, Mb/s"),
    "loss_percent": ("loss_percent", "loss, %"),
    "utilization_percent": ("utilization_percent", "share of the link, %"),
}
PUBLISHED, OURS, DIFFERENCE = "published", "ours", "difference"


def of_condition(rows: pl.DataFrame, controller: str, queue: str, competitor: str) -> pl.DataFrame:
    """The runs of a condition at the published target rate."""
    return rows.filter(controller=controller, queue=queue, competitor=competitor, target=TARGET)


def synthetic(rows: pl.DataFrame, controller: str = "scream") -> list[Table]:
    """The synthetic table: one for the game's traffic and one for TCP's, and the link."""
    titles = {GAME: "The game's traffic", TCP: "TCP's traffic"}
    found = [_side(rows, controller, side, title) for side, title in titles.items()]
    return [*(table for table in found if table is not None), _link(rows, controller)]


def compared(rows: pl.DataFrame, controller: str, side: str) -> pl.DataFrame:
    """Each published value of a side, ours, and the difference, one row for each."""
    lines = []
    for queue, theirs in QUEUES.items():
        for competitor in COMPETITORS:
            own = of_condition(rows, controller, queue, competitor)
            if own.is_empty():
                continue
            for metric, (column, title) in METRICS.items():
                value = published.value(side, theirs, competitor, metric)
                ours = own[f"{side}_{column}"]
                mean = ours.drop_nans().mean()
                difference = None if value is None or not isinstance(mean, float) else mean - value
                lines.append(
                    {"queue": queue, "competitor": competitor, "figure": title,
                     PUBLISHED: value, OURS: mean, DIFFERENCE: difference,
                     "text": estimate_of(ours)}
                )  # fmt: skip
    return pl.DataFrame(lines)


def _side(rows: pl.DataFrame, controller: str, side: str, title: str) -> Table | None:
    long = compared(rows, controller, side)
    if long.is_empty():
        return None
    lines: list[dict[str, str]] = []
    for _, figure in METRICS.values():
        line = {"figure": figure}
        for row in long.filter(figure=figure).iter_rows(named=True):
            head = f"{row['queue']}, {row['competitor']}"
            line[head] = f"{row['text']} ({_plain(row[PUBLISHED])})"
        lines.append(line)
    return Table(
        f"{title}: ours, mean ± half width of the 95 % interval over runs (published)",
        pl.DataFrame(lines),
        name=f"synthetic-{side}",
        file_frame=long.drop("text"),
        main=True,
    )


def _link(rows: pl.DataFrame, controller: str) -> Table:
    lines = []
    for queue, theirs in QUEUES.items():
        for competitor in COMPETITORS:
            own = of_condition(rows, controller, queue, competitor)
            if own.is_empty():
                continue
            value = published.value("total", theirs, competitor, "utilization_percent")
            lines.append(
                {"queue": queue, "competitor": competitor,
                 "published, %": _plain(value), "ours, %": estimate_of(own["utilization_percent"])}
            )  # fmt: skip
    return Table("Utilization of the link", pl.DataFrame(lines), name="synthetic-link")


SIDES = {
    "game delay, ms": "game_delay_mean_ms",
    "game >= 10 ms, %": "game_over_10ms_percent",
    "game, Mb/s": "game_bitrate_mbps",
    "game loss, %": "game_loss_percent",
    "TCP delay, ms": "tcp_delay_mean_ms",
    "TCP, Mb/s": "tcp_bitrate_mbps",
    "link used, %": "utilization_percent",
}
MINIMIZED = "game_delay_mean_ms"


def matrix(rows: pl.DataFrame, keys: tuple[str, ...], caption: str, name: str) -> Table:
    """Means of every condition; bold: the least delay of those alike in all keys but the first."""
    known = {title: column for title, column in SIDES.items() if column in rows.columns}
    lines, means = [], []
    for key, own in rows.group_by(keys, maintain_order=True):
        line = {
            title.removeprefix("queue_").replace("_", " "): UNKNOWN if value is None else str(value)
            for title, value in zip(keys, key, strict=True)
        }
        lines.append(line | {title: estimate_of(own[column]) for title, column in known.items()})
        means.append({**line, MINIMIZED: own[MINIMIZED].mean()})
    numbers = pl.DataFrame(means).with_row_index()
    least = numbers.group_by(list(numbers.columns)[2 : len(keys) + 1]).agg(
        pl.col("index").sort_by(MINIMIZED).first()
    )
    best: frozenset[Cell] = frozenset((int(index), "game delay, ms") for index in least["index"])
    return Table(caption, pl.DataFrame(lines), name=name, file_frame=rows, best=best)


def _plain(value: float | None) -> str:
    return UNKNOWN if value is None else number(value)
