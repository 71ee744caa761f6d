"""From the tables of a run's parts to the tables of the run, in the simulator's schema.

A part's tables lie in a folder of its own. What was measured where:

| table | from |
|---|---|
| frames, pictures | host_frames and client_frames, joined by stream and number of the frame |
| bins, link, queue_delay, summary | the link; frames shown and payload are added to the bins |
| pings | ping |
| controller | the hosts; of TCP, iperf3's sender (window, smoothed round-trip time) |
| events | all parts, and what is noted here: `late` |
| lateness, cpu, inputs | all parts |
| segments | the players of videos, whose events and state are beside those of the others |
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import polars as pl

from gameway import _core
from gameway.live import lateness, schema

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from gameway.live.competitors import Interval
    from gameway.live.pings import Pong

BIN_NS = _core.BIN_NS
UNDER_WAY_NS = 1_000_000_000
"""Of frames that the client saw nothing of, those sent so shortly before the end may have been
under way; older ones are lost."""
COUNTS = [name for name in schema.BINS if name not in {"bin_start_ns", "flow"}]


@dataclass(frozen=True)
class Competition:
    """What was told of one competitor, by iperf3 or a player; times are since the run's start."""

    start_ns: int
    received: list[Interval]
    """What its client received; of a video, each segment."""
    sent: list[Interval] = field(default_factory=list)
    """What its server sent, with the state of TCP."""


@dataclass(frozen=True)
class Parts:
    """What the parts of a run left."""

    duration_ns: int
    folders: list[Path]
    """Of the link first, then of hosts and clients."""
    competitions: Mapping[str, Competition]
    pings: list[Pong]


def merge(parts: Parts) -> dict[str, pl.DataFrame]:
    """Give all tables of the run."""
    host, client = numbered(
        schema.read(parts.folders, "host_frames", schema.HOST_FRAMES),
        schema.read(parts.folders, "client_frames", schema.CLIENT_FRAMES),
    )
    joined = host.join(client, on=["stream", "frame"], how="left", maintain_order="left")
    shown = frames(joined, parts.duration_ns)
    late = schema.read(parts.folders, "lateness", schema.LATENESS)
    found = {
        "frames": shown,
        "bins": bins(parts, shown),
        "pings": _pings(parts.pings),
        "controller": _controller(parts),
        "events": _events(parts, late),
        "pictures": pictures(joined, client),
        "lateness": late,
    }
    there = [name for name in schema.WITH_VIDEOS if has(parts.folders, name)]
    for name in ("link", "queue_delay", "summary", "cpu", "inputs", *there):
        found[name] = schema.read(parts.folders, name, _schema(name))
    # Who writes as the run goes tells the totals each time.
    found["summary"] = found["summary"].tail(1)
    return {name: schema.shaped(table, _schema(name)) for name, table in found.items()}


def numbered(host: pl.DataFrame, client: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Number the frames of a stream through all stays of clients, each of which begins at zero."""
    keys = ["stream", "session"]
    frames = host.group_by(keys).agg(frames=pl.col("frame").max() + 1).sort(keys)
    before = pl.col("frames").cum_sum().shift(1, fill_value=0).over("stream")
    first = frames.select(*keys, first=before.cast(pl.UInt32))

    def renumbered(table: pl.DataFrame) -> pl.DataFrame:
        found = table.join(first, on=keys, how="left", maintain_order="left")
        return found.with_columns(pl.col("frame") + pl.col("first").fill_null(0)).drop("first")

    return renumbered(host), renumbered(client)


def has(folders: list[Path], name: str) -> bool:
    """Whether a part left a table of this name."""
    return any(schema.files_of(folder, name) for folder in folders)


def frames(joined: pl.DataFrame, duration_ns: int) -> pl.DataFrame:
    """One row per frame of each stream: shown is what was decoded."""
    seen = pl.col("received_packets").is_not_null()
    last_seen = pl.col("frame").filter(seen).max().over("stream")
    recent = pl.col("last_sent_ns").fill_null(duration_ns) > duration_ns - UNDER_WAY_NS
    under_way = ~seen & recent & (pl.col("frame") > last_seen.fill_null(-1).cast(pl.Int64))
    received = pl.col("received_packets").fill_null(0).cast(pl.Int64)
    missing = (pl.col("packets").cast(pl.Int64) - received).clip(lower_bound=0)
    return joined.with_columns(
        shown_ns=pl.col("decoded_ns"),
        lost_packets=pl.when(under_way).then(0).otherwise(missing),
        first_packet_queue_delay_ns=pl.lit(None, pl.Int64),
    )


def pictures(joined: pl.DataFrame, client: pl.DataFrame) -> pl.DataFrame:
    """What only real pictures have: how long encoding took, what was read from the picture."""
    known = list(schema.PICTURES)
    strangers = client.join(joined, on=["stream", "frame"], how="anti")
    return pl.concat([joined.select(known), strangers.select(known_of(strangers, known))])


def known_of(table: pl.DataFrame, names: list[str]) -> list[pl.Expr]:
    """Columns by name; null where a table has none of that name."""
    kinds = schema.PICTURES
    return [
        pl.col(name) if name in table.columns else pl.lit(None, kinds[name]).alias(name)
        for name in names
    ]


def bins(parts: Parts, shown: pl.DataFrame) -> pl.DataFrame:
    """The link's bins, with frames shown, and with the payload that ends received."""
    keys = ["bin_start_ns", "flow"]
    carried = schema.read(parts.folders, "bins", schema.BINS).drop(
        "frames_shown", "received_payload_bytes"
    )
    rows = carried.join(_shown_in_bins(shown), on=keys, how="full", coalesce=True)
    rows = rows.join(_payload_in_bins(shown, parts), on=keys, how="full", coalesce=True)
    first = {name: index for index, name in enumerate(carried["flow"].unique(maintain_order=True))}
    order = pl.col("flow").replace_strict(first, default=len(first), return_dtype=pl.Int64)
    return rows.with_columns(pl.col(COUNTS).fill_null(0)).sort("bin_start_ns", order, "flow")


def _shown_in_bins(shown: pl.DataFrame) -> pl.DataFrame:
    rows = shown.filter(pl.col("shown_ns").is_not_null())
    return rows.group_by(_bin("shown_ns"), flow="stream").agg(frames_shown=pl.len())


def _payload_in_bins(shown: pl.DataFrame, parts: Parts) -> pl.DataFrame:
    """Payload of frames that became complete, and what the clients of iperf3 received."""
    complete = shown.filter(pl.col("complete_ns").is_not_null())
    video = complete.group_by(_bin("complete_ns"), flow="stream").agg(
        received_payload_bytes=pl.col("payload_bytes").cast(pl.Int64).sum()
    )
    tables = [video]
    for flow, competition in parts.competitions.items():
        spread_out = spread(competition, parts.duration_ns)
        tables.append(
            pl.DataFrame(
                {
                    "bin_start_ns": list(spread_out),
                    "flow": [flow] * len(spread_out),
                    "received_payload_bytes": list(spread_out.values()),
                },
                schema=video.schema,
            )
        )
    return pl.concat(tables)


def spread(competition: Competition, duration_ns: int) -> dict[int, int]:
    """Share out the intervals of iperf3 over bins: evenly over time, nothing lost in rounding."""
    found: dict[int, int] = {}
    for one in competition.received:
        begin = competition.start_ns + round(one.start_s * 1e9)
        end = competition.start_ns + round(one.stop_s * 1e9)
        begin, end = max(begin, 0), min(max(end, 1), duration_ns)
        given = 0
        for start in range(begin - begin % BIN_NS, end, BIN_NS):
            until = min(start + BIN_NS, end)
            so_far = one.bytes * (until - begin) // (end - begin)
            found[start] = found.get(start, 0) + so_far - given
            given = so_far
    return found


def _controller(parts: Parts) -> pl.DataFrame:
    tables = [schema.read(parts.folders, "controller", schema.CONTROLLER)]
    for flow, competition in parts.competitions.items():
        for one in competition.sent:
            at = competition.start_ns + round(one.stop_s * 1e9)
            values = {
                "cwnd_bytes": one.window_bytes,
                "smoothed_rtt_ms": None if one.rtt_us is None else one.rtt_us / 1000.0,
            }
            told = [(flow, at, name, float(v)) for name, v in values.items() if v is not None]
            if told:
                tables.append(pl.DataFrame(told, schema=tables[0].schema, orient="row"))
    return pl.concat(tables)


def _events(parts: Parts, late: pl.DataFrame) -> pl.DataFrame:
    table = schema.read(parts.folders, "events", schema.EVENTS)
    rows: list[tuple[int, str, str, float]] = []
    for flow, competition in parts.competitions.items():
        for one in competition.sent:
            if one.retransmits:
                at = competition.start_ns + round(one.stop_s * 1e9)
                rows.append((at, flow, "retransmits", float(one.retransmits)))
    for part, p99_ms in lateness.too_late(late).items():
        rows.append((parts.duration_ns, part, lateness.EVENT, p99_ms))
    added = pl.DataFrame(rows, schema=table.schema, orient="row")
    return pl.concat([table, added]).sort("time_ns", maintain_order=True)


def _pings(pongs: list[Pong]) -> pl.DataFrame:
    rows = [(one.sent_ns, one.rtt_ns) for one in pongs]
    return pl.DataFrame(rows, schema=schema.PINGS, orient="row")


def _bin(column: str) -> pl.Expr:
    return (pl.col(column) // BIN_NS * BIN_NS).alias("bin_start_ns")


def _schema(name: str) -> schema.Schema:
    return {**schema.SIMULATED, **schema.LIVE_ONLY, **schema.WITH_VIDEOS}[name]
