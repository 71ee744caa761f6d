"""What a report says of an evening at home: its first sentences, its games, the gateway's queue."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import polars as pl

from gameway.figures.evening import FLOWS, OWN, games_of
from gameway.figures.flows import GATEWAY, PING, waits
from gameway.gateway_record.tables import TOLD_BY
from gameway.metrics.source import finished_runs
from gameway.page import Section, Table
from gameway.page.words import listed, number, rounded

if TYPE_CHECKING:
    from gameway.metrics.source import ResultFolder, Run

DRIVER = "gateway"
GIGA = 1e9
UPWARDS, HOME = "from the home", "home"
TELLERS = {
    "tcp": "by TCP's time stamps", "spin-bit": "by QUIC's spin bit", "pings": "by pings",
}  # fmt: skip
BY = {"behaviour": "by behaviour", "dscp": "by DSCP", "rule": "by a rule"}
PLAYED = (
    "Each row is a time in which a flow was a game. It waited: what waited in front of the home at "
    "readings of that time, and the longest wait of games in the own queue in the same second."
)
QUEUE = (
    "Of the queue that the gateway has towards the home. What waits is looked at ten times a "
    "second, and is told as the time that it takes at the queue's rate."
)


def is_evening(results: ResultFolder) -> bool:
    """Whether a gateway has recorded it."""
    return results.manifest.get("driver") == DRIVER


def statement(results: ResultFolder) -> list[str]:
    """What the evening was, in sentences; none of other results."""
    runs = finished_runs(results) if is_evening(results) else []
    return [text for run in runs for text in _sentences(results, run) if text]


def sections(results: ResultFolder) -> list[Section]:
    """Two at most; none of other results."""
    runs = finished_runs(results) if is_evening(results) else []
    found = []
    for run in runs:
        if not (table := games_of(run)).is_empty():
            shown = [Table("", _shown(table), "games", main=True)]
            found.append(Section("Games", PLAYED, shown))
        if (queue := own_queue(run)) is not None:
            found.append(
                Section("The own queue", QUEUE, [Table("", queue, "own-queue", main=True)])
            )
    return found


def span(seconds: float) -> str:
    """A time in its two largest units."""
    whole = round(seconds)
    hours, minutes = whole // 3600, whole // 60 % 60
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {whole % 60} s" if minutes else f"{whole} s"


def _sentences(results: ResultFolder, run: Run) -> list[str | None]:
    recorded = results.manifest.get("recorded") or {}
    length_s = run.windows.run.length_s
    began = datetime.fromisoformat(str(recorded["began"]))
    starts = int(recorded.get("sessions", 1))
    again = "" if starts <= 1 else f", in which the gateway began {starts} times"
    return [
        f"From {began:%H:%M} UTC on, {span(length_s)} were recorded{again}. {_came(run)}",
        _waited(run),
        _played(run),
        _done(run),
    ]


def _came(run: Run) -> str:
    bins = run.table("bins").filter(pl.col("flow") != PING).drop_nulls("received_bytes")
    link = run.link()
    size = float(link["transmitted_bytes"].sum() or 0)
    max_mbps = float(link["transmitted_bytes"].max() or 0) * 16e-6  # type: ignore[arg-type]
    devices = (
        bins.filter(pl.col("flow") != UPWARDS)
        .group_by("flow")
        .agg(pl.col("received_bytes").sum())
        .sort("received_bytes", descending=True)
    )
    text = f"{_size(size)} came to the home, at most {rounded(max_mbps)} Mb/s"
    if size and devices.height > 1:
        name, had = devices.row(0)
        text += f"; {name} had {rounded(100 * had / size)} % of it"
    return f"{text}."


def _size(count: float) -> str:
    return f"{number(count / GIGA)} GB" if count >= GIGA else f"{number(count / 1e6)} MB"


def _waited(run: Run) -> str:
    half = _quantile(run, HOME, "half")
    if half is None:
        return "Nothing could tell what packets waited in front of the home."
    longest = _quantile(run, HOME, "99 %")
    return (
        f"In front of the home half of the readings have at most {number(half)} ms of wait, and "
        f"99 % at most {number(longest)} ms.{_told(run)}"
    )


def _told(run: Run) -> str:
    """What told that, and for what part of the time in which something did: a sentence, or none."""
    events = run.table("events").filter(pl.col("flow") == GATEWAY).sort("time_ns")
    changes = events.filter(pl.col("event").str.starts_with(TOLD_BY))
    end_ns = run.windows.run.nanoseconds[1]
    lengths = changes.with_columns(
        teller=pl.col("event").str.strip_prefix(TOLD_BY),
        length=pl.col("time_ns").shift(-1, fill_value=end_ns) - pl.col("time_ns"),
    )
    known = lengths.filter(pl.col("teller").is_in(list(TELLERS)))
    sums = known.group_by("teller").agg(pl.col("length").sum())
    sums = sums.sort("length", "teller", descending=[True, False])
    total = sums["length"].sum()
    if not total:
        return ""
    shares = [
        f"{TELLERS[teller]} for {rounded(100 * length / total)} %" for teller, length in sums.rows()
    ]
    return f" They were told {listed(shares)} of the time in which something told."


def _quantile(run: Run, flow: str, share: str) -> float | None:
    histogram = run.table("queue_delay").filter(pl.col("flow") == flow)
    if histogram.is_empty():
        return None
    whole = waits(histogram.with_columns(pl.lit(0, pl.Int64).alias("window_start_ns")), 1.0)
    return float(whole.filter(pl.col("share") == share)["ms"][0])


def _played(run: Run) -> str | None:
    table = games_of(run)
    if table.is_empty():
        return "No flow was taken for a game." if _has_own_queue_or_games(run) else None
    length_s = float((table["end_ns"] - table["begin_ns"]).sum()) / 1e9
    counts = table.group_by("by", maintain_order=True).agg(pl.col("flow").n_unique()).rows()
    found = listed([f"{count} {BY[by]}" for by, count in counts])
    flows = table["flow"].n_unique()
    what = "1 flow was a game" if flows == 1 else f"{flows} flows were games"
    text = f"{what} ({found}), for {span(length_s)} together"
    known = table.drop_nulls("wait_p99_ms")
    if known.is_empty():
        return f"{text}; nothing could tell what they waited."
    worst = float(known["wait_p99_ms"].max())  # type: ignore[arg-type]
    own = _quantile(run, next(iter(FLOWS)), "99 %")
    within = "" if own is None else f", and {number(own)} ms in the own queue"
    return f"{text}; 99 % of the readings are at most {number(worst)} ms of wait{within}."


def _has_own_queue_or_games(run: Run) -> bool:
    """An older record tells of neither."""
    return not run.link(OWN).is_empty()


def _done(run: Run) -> str | None:
    events = run.table("events")
    limited = events.filter(pl.col("event") == "limited")["flow"].n_unique()
    parts = []
    if limited:
        parts.append(f"limited {limited} connection{'s' if limited > 1 else ''}")
    if (queue := own_queue(run)) is not None:
        counts = {name: int(queue[name].sum()) for name in ("dropped", "marked")}
        told = [f"{name} {count}" for name, count in counts.items() if count]
        parts.append(
            f"{listed(told)} packets in its own queue"
            if told
            else "dropped and marked no packet in its own queue"
        )
    lost = events.filter((pl.col("flow") == GATEWAY) & (pl.col("event") == "lost-records"))
    text = f"The gateway {listed(parts)}." if parts else None
    if lost.is_empty():
        return text
    missed = f"It was not told of {lost['value'].sum():.0f} segments."
    return f"{text} {missed}" if text else missed


def own_queue(run: Run) -> pl.DataFrame | None:
    """What was counted of each class; None where the gateway had no queue."""
    if run.link(OWN).is_empty():
        return None
    bins = run.table("bins")
    rows: list[dict[str, Any]] = []
    for flow, name in FLOWS.items():
        own = bins.filter(pl.col("flow") == flow)
        rows.append(
            {
                "class": name,
                "half, ms": _quantile(run, flow, "half"),
                "99 %, ms": _quantile(run, flow, "99 %"),
                "dropped": int(own["dropped_packets"].sum() or 0),
                "marked": int(own["marked_packets"].sum() or 0),
            }
        )
    return pl.DataFrame(rows)


def _shown(table: pl.DataFrame) -> pl.DataFrame:
    length_s = (pl.col("end_ns") - pl.col("begin_ns")) / 1e9
    return table.select(
        "flow",
        "protocol",
        pl.when(pl.col("name").is_null())
        .then("by")
        .otherwise(pl.format("{} {}", "by", "name"))
        .alias("by"),
        (pl.col("begin_ns") / 1e9).alias("from, s"),
        (pl.col("end_ns") / 1e9).alias("until, s"),
        (pl.col("received_bytes") * 8e-6 / length_s).alias("mean, Mb/s"),
        pl.col("wait_median_ms").alias("waited, half, ms"),
        pl.col("wait_p99_ms").alias("99 %, ms"),
    )
