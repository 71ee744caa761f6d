"""A host or a client without pictures: it keeps the contract of a part.

`python fake_part.py {host|client} CONFIG.json`; the host sends 60 "frames" a second of five packets
to the client, which asked for them; what it writes is what it did.
"""

from __future__ import annotations

import json
import socket
import struct
import sys
import time
from pathlib import Path
from typing import Any

import polars as pl

from gameway import _core
from gameway.live import schema

PACKETS, SIZE, FRAMES_PER_S = 5, 1000, 60
HEADER = struct.Struct("!IB")


def now(config: dict[str, Any]) -> int:
    return time.monotonic_ns() - int(config["epoch_ns"])


def write(config: dict[str, Any], name: str, rows: list[dict[str, Any]], kind: Any) -> None:
    zeros: dict[str, Any] = {key: "x" if one is schema.NAME else 0 for key, one in kind.items()}
    table = schema.shaped(pl.DataFrame([zeros | row for row in rows]), kind)
    table.write_parquet(Path(config["folder"]) / f"{name}.parquet")


def host(config: dict[str, Any]) -> None:
    address, port = config["listen"].split(":")
    own = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    own.bind((address, int(port)))
    print("ready", flush=True)  # noqa: T201 (the contract of a part)
    token, client = own.recvfrom(100)
    assert token.decode() == config["token"]
    own_stream = config["stream"]
    stop, rows = _core.parse_duration(own_stream.get("stop") or config["duration"]), []
    start = _core.parse_duration(own_stream["start"])
    for frame in range((stop - start) * FRAMES_PER_S // 10**9):
        due = start + frame * 10**9 // FRAMES_PER_S
        time.sleep(max(due - now(config), 0) / 1e9)
        sent = now(config)
        for packet in range(PACKETS):
            own.sendto(HEADER.pack(frame, packet).ljust(SIZE, b"x"), client)
        stream = own_stream["name"]
        rows.append({"stream": stream, "frame": frame, "captured_ns": due, "packets": PACKETS,
                     "payload_bytes": PACKETS * SIZE, "wire_bytes": PACKETS * (SIZE + 28),
                     "repair_bytes": 0,
                     "encode_ns": 4_000_000, "first_sent_ns": sent,
                     "last_sent_ns": now(config)})  # fmt: skip
    write(config, "host_frames", rows, schema.HOST_FRAMES)
    write(config, "cpu", [{"part": "host", "thread": "main", "cpu_ns": 10**8}], schema.CPU)


def client(config: dict[str, Any]) -> None:
    address, port = config["connect"].removeprefix("http://").removesuffix("/whep").split(":")
    own = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    own.connect((address, int(port)))
    own.send(config["token"].encode())
    own.settimeout(0.1)
    print("ready", flush=True)  # noqa: T201 (the contract of a part)
    seen: dict[int, list[int]] = {}
    while now(config) < _core.parse_duration(config["duration"]):
        try:
            frame, _ = HEADER.unpack_from(own.recv(2000))
        except TimeoutError:
            continue
        seen.setdefault(frame, []).append(now(config))
    rows = []
    for frame, times in seen.items():
        whole = max(times) if len(times) == PACKETS else None
        rows.append({"stream": config["stream"], "frame": frame, "complete_ns": whole,
                     "received_packets": len(times), "decoded_ns": whole and whole + 3_000_000,
                     "picture_frame": frame})  # fmt: skip
    write(config, "client_frames", rows, schema.CLIENT_FRAMES)


if __name__ == "__main__":
    {"host": host, "client": client}[sys.argv[1]](json.loads(Path(sys.argv[2]).read_text()))
