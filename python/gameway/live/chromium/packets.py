"""Packets of a browser's frames, from the link's capture: sizes, when they left, what was lost.

A browser tells of no packet. The link sees all of them, with the RTP header in the clear (RFC 3711,
section 3.1): its timestamp says which frame a packet is of, also of one that is sent again
(RFC 4588, section 4), which has another source.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import TYPE_CHECKING

import polars as pl

from gameway.errors import GamewayError
from gameway.live import schema
from gameway.live.chromium.tables import RTP

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ENHANCED_PACKET = 6
FIELDS = 20
"""Bytes in front of the packet: interface, time, sizes."""
SECTION = 0x0A0D0D0A
SERVER, CLIENT = 0, 1
"""Interfaces of the link's captures."""
UDP = 17
RTP_BYTES = 12
FRAME = 12
"""Of a block: its kind, and its length at both ends."""
RTCP_KINDS = range(192, 224)
"""Second bytes of RTCP packets on the same port (RFC 5761, section 4)."""
ZERO = re.compile(rb"time zero of the run: (\d+) ns")


@dataclass(frozen=True)
class Packet:
    """One packet of RTP that passed an end of the link."""

    interface: int
    at_ns: int
    """Since the run's start."""
    bytes: int
    rtp: int
    source: int


def add(folder: Path, capture: Path, address: str) -> None:
    """Complete the tables of a part in `folder` by the packets of its stream."""
    known = pl.read_parquet(folder / "rtp.parquet").select(
        pl.col(name).cast(kind) for name, kind in RTP.items()
    )
    rows = [(one.interface, one.at_ns, one.bytes, one.rtp, one.source)
            for one in read(capture, address)]  # fmt: skip
    columns = {"interface": pl.Int64, "at_ns": pl.Int64, "size": pl.Int64,
               "rtp": pl.UInt32, "of": pl.UInt32}  # fmt: skip
    table = pl.DataFrame(rows, schema=columns, orient="row").join(known, on="rtp")
    media = pl.col("of") == pl.col("source")
    sent = (
        table.filter(pl.col("interface") == SERVER)
        .group_by("frame")
        .agg(
            wire_bytes=pl.col("size").sum(),
            repair_bytes=pl.col("size").filter(~media).sum(),
            packets=media.sum(),
            first_sent_ns=pl.col("at_ns").filter(media).min(),
            last_sent_ns=pl.col("at_ns").filter(media).max(),
        )
    )
    came = (
        table.filter(pl.col("interface") == CLIENT)
        .group_by("frame")
        .agg(received_packets=media.sum())
    )
    hosts = pl.read_parquet(folder / "host_frames.parquet").drop(set(sent.columns) - {"frame"})
    hosts = hosts.join(sent, on="frame", how="left", maintain_order="left")
    schema.shaped(hosts, schema.HOST_FRAMES).write_parquet(folder / "host_frames.parquet")
    clients = pl.read_parquet(folder / "client_frames.parquet").drop("received_packets")
    clients = clients.join(came, on="frame", how="full", coalesce=True).sort("frame")
    names = pl.col("stream").fill_null(hosts["stream"].first())
    clients = clients.with_columns(names)
    schema.shaped(clients, schema.CLIENT_FRAMES).write_parquet(folder / "client_frames.parquet")


def read(capture: Path, address: str) -> Iterator[Packet]:
    """The packets of RTP that a server's address sent, in the order of the file."""
    content = capture.read_bytes()
    zero = ZERO.search(content[:1024])
    if zero is None or content[:4] != struct.pack("<I", SECTION):
        raise GamewayError(f"{capture}: this is no capture of a link")
    zero_ns, server = int(zero[1]), IPv4Address(address).packed
    at = 0
    while at + FRAME <= len(content):
        kind, length = struct.unpack_from("<II", content, at)
        if length < FRAME or length % 4 or at + length > len(content):
            raise GamewayError(f"{capture}: the block at byte {at} is cut off")
        if kind == ENHANCED_PACKET and length >= FRAME + FIELDS:
            found = _packet(content, at, zero_ns, server)
            if found is not None:
                yield found
        at += length


def _packet(content: bytes, at: int, zero_ns: int, server: bytes) -> Packet | None:
    interface, high, low, kept, size = struct.unpack_from("<5I", content, at + 8)
    data = content[at + 28 : at + 28 + kept]
    header = (data[0] & 0x0F) * 4 if data and data[0] >> 4 == 4 else 0  # noqa: PLR2004 (IPv4)
    start = header + 8
    if len(data) < start + RTP_BYTES or not header or data[9] != UDP or data[12:16] != server:
        return None
    if data[start] >> 6 != 2 or data[start + 1] in RTCP_KINDS:  # noqa: PLR2004 (RTP version 2)
        return None
    rtp, source = struct.unpack_from("!II", data, start + 4)
    return Packet(interface, (high << 32 | low) - zero_ns, size, rtp, source)
