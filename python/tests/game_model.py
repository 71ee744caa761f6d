"""A game stream's sizes and times over UDP: frames of half to one and a half of their mean size.

`far ADDRESS PORT SECONDS` sends the picture to whoever speaks first. `near ADDRESS PORT SECONDS`
asks for it, answers with inputs, and prints what came as a JSON object: `packets`, `wait_ms` (99 %
waited no longer, by the clock of this machine), `classes` (packets of each traffic class) and
`inputs` (packets that were sent).
"""

from __future__ import annotations

import json
import random
import socket
import struct
import sys
import time

FRAME_HZ = 60
FRAME_BYTES = 16_700
"""8 Mb/s."""
PACKET_BYTES = 1200
INPUT_HZ = 125
INPUT_BYTES = 62
"""90 with the headers of IP and UDP."""


def wait_until(at: float) -> None:
    time.sleep(max(at - time.monotonic(), 0.0))


def far(own: tuple[str, int], seconds: float) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        out.bind(own)
        print("ready", flush=True)  # noqa: T201 (what it is for)
        out.settimeout(20)
        _, other = out.recvfrom(2048)
        began = time.monotonic()
        draws = random.Random(1)
        for frame in range(int(seconds * FRAME_HZ)):
            wait_until(began + frame / FRAME_HZ)
            size = int(FRAME_BYTES * (0.5 + draws.random()))
            count = -(-size // PACKET_BYTES)
            for _ in range(count):
                out.sendto(struct.pack("d", time.monotonic()).ljust(size // count, b"\1"), other)


def near(other: tuple[str, int], seconds: float) -> None:
    waits: list[float] = []
    inputs = int(seconds * INPUT_HZ)
    classes: dict[int, int] = {}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        out.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
        out.setblocking(False)
        began = time.monotonic()
        for number in range(inputs):
            wait_until(began + number / INPUT_HZ)
            out.sendto(b"\2" * INPUT_BYTES, other)
            while True:
                try:
                    data, beside, _, _ = out.recvmsg(2048, 64)
                except BlockingIOError:
                    break
                (sent,) = struct.unpack_from("d", data)
                waits.append((time.monotonic() - sent) * 1e3)
                for _, _, value in beside:
                    classes[value[0]] = classes.get(value[0], 0) + 1
    waits.sort()
    wait = waits[int(len(waits) * 0.99)] if waits else None
    told = {"packets": len(waits), "wait_ms": wait, "classes": classes, "inputs": inputs}
    print(json.dumps(told))  # noqa: T201


if __name__ == "__main__":
    way, address, port, span = sys.argv[1:]
    {"far": far, "near": near}[way]((address, int(port)), float(span))
