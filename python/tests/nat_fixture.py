"""Two networks behind routers of any kind; between them a STUN and TURN server.

host ── router ── between (STUN, TURN) ── router ── browser
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FIRST_PORT = 8443
"""Of a host; each further one has the next, as routers remember what passed."""
SERVER = "192.0.2.1"
"""Address for documentation (RFC 5737), in a namespace of the test, as all others."""
SECRET = "north-by-north-west"
HOST, BROWSER = 0, 1
INSIDE = (("10.1.1.2", "10.1.1.1"), ("10.2.2.2", "10.2.2.1"))
OUTSIDE = (("198.51.100.2", "198.51.100.1"), ("203.0.113.2", "203.0.113.1"))
INSIDE6 = (("2001:db8:1::2", "2001:db8:1::1"), ("2001:db8:2::2", "2001:db8:2::1"))
OUTSIDE6 = (("2001:db8:a::2", "2001:db8:a::1"), ("2001:db8:b::2", "2001:db8:b::1"))
KINDS = {
    "none": "",
    # The source port stays, so that it is the same towards everybody; in comes what answers.
    "cone": "masquerade persistent",
    # Another port towards everybody.
    "symmetric": "masquerade fully-random",
    "no UDP": "masquerade persistent",
    "IPv6": "",
}
"""Kinds of routers, and how they translate addresses."""

NEEDS_TURN = pytest.mark.skipif(shutil.which("turnserver") is None, reason="needs coturn")


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


def rules(kind: str, page: int | None) -> str:
    """Give a router's rules of nftables; the port of a host's page is handed on by TCP."""
    nat = KINDS[kind]
    lines = ["flush ruleset", "table inet own {"]
    if nat:
        udp = "meta l4proto udp drop" if kind == "no UDP" else ""
        lines += [
            "chain out { type nat hook postrouting priority 100",
            f'oifname "outer" meta nfproto ipv4 meta l4proto {{ tcp, udp }} {nat}',
            "}",
            "chain forward { type filter hook forward priority 0; policy drop",
            udp,
            "ct state established,related accept",
            'iifname "inner" accept',
            "ct status dnat accept",
            "}",
            # What comes unasked must not count as begun from outside: its port would be taken then.
            "chain input { type filter hook input priority 0",
            'iifname "outer" meta l4proto udp ct state new drop',
            "}",
        ]
    if nat and page is not None:
        lines += [
            "chain in { type nat hook prerouting priority -100",
            f'iifname "outer" tcp dport {page} dnat ip to {INSIDE[HOST][0]}',
            "}",
        ]
    return "\n".join([*lines, "}\n"])


class Internet:
    """The namespaces; each router is of one kind at a time."""

    def __init__(self, prefix: str) -> None:
        self.between = f"{prefix}-between"
        self.ends = (f"{prefix}-host", f"{prefix}-browser")
        self.routers = (f"{prefix}-router0", f"{prefix}-router1")
        self.kinds = ["none", "none"]
        self.port = FIRST_PORT

    @property
    def all(self) -> tuple[str, ...]:
        return (self.between, *self.ends, *self.routers)

    def build(self) -> None:
        for name in self.all:
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "lo", "up")
            settings = ["net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1",
                        "net.ipv6.conf.default.accept_dad=0"]  # fmt: skip
            subprocess.run([*inside(name), "sysctl", "--quiet", "--write", *settings], check=True)
        ip("-n", self.between, "address", "add", f"{SERVER}/32", "dev", "lo")
        for side, (end, router) in enumerate(zip(self.ends, self.routers, strict=True)):
            link(end, "eth0", router, "inner", (INSIDE[side], INSIDE6[side]))
            link(router, "outer", self.between, f"side{side}", (OUTSIDE[side], OUTSIDE6[side]))
            for own, out, back in zip(
                (INSIDE[side], INSIDE6[side]), (OUTSIDE[side], OUTSIDE6[side]),
                ("10.{0}.{0}.0/24", "2001:db8:{0}::/64"), strict=True,
            ):  # fmt: skip
                ip("-n", end, "route", "add", "default", "via", own[1])
                ip("-n", router, "route", "add", "default", "via", out[1])
                inner = back.format(side + 1)
                ip("-n", self.between, "route", "add", inner, "via", out[0])

    def become(self, side: int, kind: str) -> None:
        """Make a side's router one of this kind; a host has another port from then on."""
        self.kinds[side] = kind
        self.port += side == HOST
        text = rules(kind, self.port if side == HOST else None)
        router, end = self.routers[side], self.ends[side]
        subprocess.run([*inside(router), "nft", "-f", "-"], input=text, text=True, check=True)
        has4, has6 = kind != "IPv6", kind == "IPv6"
        for has, family, own in ((has4, "-4", INSIDE[side]), (has6, "-6", INSIDE6[side])):
            words = ["replace"] if has else ["delete"]
            length = 24 if family == "-4" else 64
            done = subprocess.run(
                ["ip", family, "-n", end, "address", *words, f"{own[0]}/{length}", "dev", "eth0"],
                capture_output=True, check=False,
            )  # fmt: skip
            if has:
                assert done.returncode == 0, done.stderr
                ip(family, "-n", end, "route", "replace", "default", "via", own[1])

    def place(self) -> str:
        """Where the page is reached."""
        kind = self.kinds[HOST]
        if kind == "IPv6":
            return f"[{INSIDE6[HOST][0]}]:{self.port}"
        return f"{(INSIDE if kind == 'none' else OUTSIDE)[HOST][0]}:{self.port}"


def link(one: str, name: str, other: str, its: str, pairs: tuple[tuple[str, str], ...]) -> None:
    ip("-n", one, "link", "add", name, "type", "veth", "peer", "name", its, "netns", other)
    for own, peer in pairs:
        length = 64 if ":" in own else 24
        ip("-n", one, "address", "add", f"{own}/{length}", "dev", name)
        ip("-n", other, "address", "add", f"{peer}/{length}", "dev", its)
    ip("-n", one, "link", "set", name, "up")
    ip("-n", other, "link", "set", its, "up")


def inside(name: str) -> list[str]:
    return ["nsenter", f"--net=/run/netns/{name}", "--"]


@contextmanager
def turn_server(name: str, folder: Path) -> Iterator[None]:
    """Run coturn in this namespace."""
    line = ["turnserver", "-n", "--listening-ip", SERVER, "--relay-ip", SERVER, "--no-cli",
            "--realm", "test", "--use-auth-secret", f"--static-auth-secret={SECRET}", "--no-tls",
            "--no-dtls", "--log-file", "stdout", "--pidfile", str(folder / "turn.pid"),
            "--userdb", str(folder / "turn.db")]  # fmt: skip
    said = (folder / "turn.log").open("w")
    with said, subprocess.Popen([*inside(name), *line], stdout=said, stderr=said) as process:
        try:
            look = [*inside(name), "ss", "-Hlun", f"src {SERVER}:3478"]
            for _ in range(100):
                if subprocess.run(look, capture_output=True, check=True).stdout:
                    break
                time.sleep(0.05)
            yield
        finally:
            process.terminate()


@contextmanager
def internet(folder: Path) -> Iterator[Internet]:
    """Give it with its server; all goes with the context."""
    made = Internet(f"gwnat-{os.getpid()}")
    with ExitStack() as stack:
        for name in made.all:
            stack.callback(subprocess.run, ["ip", "netns", "delete", name], check=False)
        made.build()
        if shutil.which("turnserver") is not None:
            stack.enter_context(turn_server(made.between, folder))
        yield made
