"""The columns of the tables of a live run: those of the simulator, and those that are live only."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

Schema = dict[str, pl.DataType | type[pl.DataType]]

NAME = pl.String

FRAMES: Schema = {
    "stream": NAME, "frame": pl.UInt32, "captured_ns": pl.Int64, "target_bps": pl.UInt64,
    "payload_bytes": pl.UInt32, "wire_bytes": pl.UInt32, "packets": pl.UInt16,
    "key_frame": pl.Boolean, "first_sent_ns": pl.Int64, "last_sent_ns": pl.Int64,
    "complete_ns": pl.Int64, "shown_ns": pl.Int64, "lost_packets": pl.UInt16,
    "first_packet_queue_delay_ns": pl.Int64,
}  # fmt: skip
BINS: Schema = {
    "bin_start_ns": pl.Int64, "flow": NAME, "sent_bytes": pl.UInt64, "received_bytes": pl.UInt64,
    "received_payload_bytes": pl.UInt64, "sent_packets": pl.UInt32, "received_packets": pl.UInt32,
    "dropped_packets": pl.UInt32, "overflow_dropped_packets": pl.UInt32,
    "aqm_dropped_packets": pl.UInt32, "retry_limit_dropped_packets": pl.UInt32,
    "lost_packets": pl.UInt32, "duplicated_packets": pl.UInt32, "marked_packets": pl.UInt32,
    "frames_shown": pl.UInt32, "feedback_bytes": pl.UInt64,
}  # fmt: skip
LINK: Schema = {
    "bin_start_ns": pl.Int64, "link": NAME, "capacity_bytes": pl.UInt64,
    "transmitted_bytes": pl.UInt64, "busy_ns": pl.Int64, "queue_max_bytes": pl.UInt64,
    "queue_mean_bytes": pl.Float64,
}  # fmt: skip
QUEUE_DELAY: Schema = {
    "window_start_ns": pl.Int64, "flow": NAME, "delay_low_ns": pl.Int64,
    "delay_high_ns": pl.Int64, "packets": pl.UInt64, "sum_ns": pl.Int64,
}  # fmt: skip
PINGS: Schema = {"sent_ns": pl.Int64, "rtt_ns": pl.Int64}
CONTROLLER: Schema = {
    "stream": NAME, "time_ns": pl.Int64, "variable": NAME, "value": pl.Float64,
}  # fmt: skip
EVENTS: Schema = {"time_ns": pl.Int64, "flow": NAME, "event": NAME, "value": pl.Float64}
SUMMARY: Schema = {
    "duration_ns": pl.Int64, "seed": pl.UInt64, "arrived_packets": pl.UInt64,
    "forwarded_packets": pl.UInt64, "dropped_packets": pl.UInt64, "queued_packets": pl.UInt64,
    "lost_packets": pl.UInt64, "duplicated_packets": pl.UInt64, "delivered_packets": pl.UInt64,
    "under_way_packets": pl.UInt64, "events_processed": pl.UInt64,
}  # fmt: skip
SEGMENTS: Schema = {
    "flow": NAME, "segment": pl.UInt32, "level": pl.UInt16, "bitrate_bps": pl.UInt64,
    "size_bytes": pl.UInt64, "received_bytes": pl.UInt64, "requested_ns": pl.Int64,
    "first_byte_ns": pl.Int64, "complete_ns": pl.Int64, "displayed_ns": pl.Int64, "fate": NAME,
}  # fmt: skip
SIMULATED: Mapping[str, Schema] = {
    "frames": FRAMES, "bins": BINS, "link": LINK, "queue_delay": QUEUE_DELAY, "pings": PINGS,
    "controller": CONTROLLER, "events": EVENTS, "summary": SUMMARY,
}  # fmt: skip
"""The tables that a simulated run has, too."""
WITH_VIDEOS: Mapping[str, Schema] = {"segments": SEGMENTS}
"""Those of them that only runs with a video have."""

LATENESS: Schema = {
    "window_start_ns": pl.Int64, "part": NAME, "lateness_low_ns": pl.Int64,
    "lateness_high_ns": pl.Int64, "packets": pl.UInt64, "sum_ns": pl.Int64, "wake_ups": pl.UInt64,
}  # fmt: skip
CPU: Schema = {"part": NAME, "thread": NAME, "cpu_ns": pl.Int64}
INPUTS: Schema = {"input": pl.UInt32, "sent_ns": pl.Int64, "picture_ns": pl.Int64}
PICTURES: Schema = {
    "stream": NAME, "frame": pl.UInt32, "encoder_target_bps": pl.UInt64, "encode_ns": pl.Int64,
    "received_packets": pl.UInt16, "recovered_packets": pl.UInt16, "decoded_ns": pl.Int64,
    "picture_frame": pl.UInt32, "picture_captured_ns": pl.Int64,
}  # fmt: skip
LIVE_ONLY: Mapping[str, Schema] = {
    "lateness": LATENESS, "cpu": CPU, "inputs": INPUTS, "pictures": PICTURES,
}  # fmt: skip
"""The tables that only a live run has."""

HOST_FRAMES: Schema = {
    "stream": NAME, "session": pl.UInt32, "frame": pl.UInt32,
    "captured_ns": pl.Int64, "target_bps": pl.UInt64,
    "encoder_target_bps": pl.UInt64, "payload_bytes": pl.UInt32, "wire_bytes": pl.UInt32,
    "repair_bytes": pl.UInt32, "packets": pl.UInt16, "key_frame": pl.Boolean,
    "encode_ns": pl.Int64,
    "first_sent_ns": pl.Int64, "last_sent_ns": pl.Int64,
}  # fmt: skip
CLIENT_FRAMES: Schema = {
    "stream": NAME, "session": pl.UInt32, "frame": pl.UInt32,
    "received_packets": pl.UInt16,
    "recovered_packets": pl.UInt16, "complete_ns": pl.Int64, "decoded_ns": pl.Int64,
    "picture_frame": pl.UInt32, "picture_captured_ns": pl.Int64,
}  # fmt: skip


def empty(schema: Schema) -> pl.DataFrame:
    """A table without rows."""
    return pl.DataFrame(schema=schema)


def shaped(table: pl.DataFrame, schema: Schema) -> pl.DataFrame:
    """Give a table exactly these columns, in this order and of these types."""
    return table.select(pl.col(name).cast(kind) for name, kind in schema.items())


def read(folders: list[Path], name: str, schema: Schema) -> pl.DataFrame:
    """The rows of one table of several parts; those without it have none."""
    files = [file for folder in folders for file in files_of(folder, name)]
    tables = [shaped(pl.read_parquet(file), schema) for file in files]
    return pl.concat([empty(schema), *tables])


def files_of(folder: Path, name: str) -> list[Path]:
    """Give the file of a part's table, or its pieces in their order (`Files::Pieces`)."""
    whole = folder / f"{name}.parquet"
    return [whole] if whole.is_file() else sorted(folder.glob(f"{name}.[0-9]*.parquet"))
