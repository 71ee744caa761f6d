"""Pings on a strict schedule, for tests: `python pinger.py ADDRESS INTERVAL_S SECONDS [TOS]`.

`ping` of iputils sends later while answers are late: behind a queue that swings it asked 14 times a
second in place of 50, least of all when packets waited longest. This asks when it is due, whatever
comes back. At the end each answer is a line: seconds since the epoch when it was asked, and
milliseconds.
"""

from __future__ import annotations

import os
import socket
import struct
import sys
import threading
import time

REQUEST, REPLY = 8, 0
LATE_S = 3.0
"""For so long after the last request answers count."""
HEADER = struct.Struct("!BBHHH")
STAMP = struct.Struct("!d")
IP_HEADER = 20
SO_TIMESTAMPNS = 35
"""Of Linux: the kernel says when an answer came, however late it is read."""
ARRIVED = struct.Struct("@qq")


def checksum(data: bytes) -> int:
    """RFC 1071."""
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def request(identifier: int, number: int, at: float) -> bytes:
    """An echo request that has the time at which it was made (RFC 792), of 64 bytes as `ping`'s."""
    payload = STAMP.pack(at) + bytes(48)
    head = HEADER.pack(REQUEST, 0, 0, identifier, number & 0xFFFF)
    return HEADER.pack(REQUEST, 0, checksum(head + payload), identifier, number & 0xFFFF) + payload


def collect(sock: socket.socket, identifier: int, answers: list[str]) -> None:
    while True:
        packet, ((_, _, arrived), *_), *_ = sock.recvmsg(256, socket.CMSG_SPACE(ARRIVED.size))
        seconds, nanos = ARRIVED.unpack(arrived)
        now = seconds + nanos / 1e9
        kind, _, _, answered, _ = HEADER.unpack_from(packet, IP_HEADER)
        if (kind, answered) == (REPLY, identifier):
            (asked,) = STAMP.unpack_from(packet, IP_HEADER + HEADER.size)
            answers.append(f"{asked:.6f} {1e3 * (now - asked):.3f}\n")


def main(address: str, interval_s: float, seconds: float, tos: int = 0) -> None:
    sock = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    sock.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, tos)
    sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    identifier = os.getpid() & 0xFFFF
    # Kept until the end: who reads them may read late, and a full pipe would stop the thread.
    answers: list[str] = []
    threading.Thread(target=collect, args=(sock, identifier, answers), daemon=True).start()
    began = time.monotonic()
    for number in range(int(seconds / interval_s)):
        time.sleep(max(0.0, began + number * interval_s - time.monotonic()))
        sock.sendto(request(identifier, number, time.time()), (address, 0))
    time.sleep(LATE_S)
    sys.stdout.writelines(answers)


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), float(sys.argv[3]), *map(int, sys.argv[4:5]))
