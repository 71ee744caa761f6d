"""How many programs are attached to an interface by TCX, which tc does not tell."""

from __future__ import annotations

import ctypes
import platform
import socket
import struct
import sys

SYS_BPF = {"x86_64": 321, "aarch64": 280, "armv7l": 386}
BPF_PROG_QUERY = 16
TCX = (46, 47)
"""`BPF_TCX_INGRESS` and `BPF_TCX_EGRESS`, of Linux 6.6 and later."""


def by_tcx(interface: str) -> int:
    """How many programs are attached by TCX; none where the kernel has no TCX."""
    index = socket.if_nametoindex(interface)
    call = ctypes.CDLL(None).syscall
    count = 0
    for attach_type in TCX:
        # union bpf_attr: interface, type, flags, flags, numbers (none are asked for), their count.
        query = ctypes.create_string_buffer(
            struct.pack("=IIIIQI", index, attach_type, 0, 0, 0, 0), 64
        )
        if call(SYS_BPF[platform.machine()], BPF_PROG_QUERY, query, len(query)) == 0:
            count += struct.unpack_from("=I", query, 24)[0]
    return count


if __name__ == "__main__":
    print(by_tcx(sys.argv[1]))  # noqa: T201
