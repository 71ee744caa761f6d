"""The outside of `gameway link`: a TUN device in the caller's namespace, and NAT if asked for.

Its name holds the process that owns it and when that started, in base 36, so that what a killed
owner leaves is found and removed, as namespaces are.
"""

from __future__ import annotations

import fcntl
import ipaddress
import json
import os
import re
import shutil
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from gameway.live.namespaces import (
    MTU,
    QUEUE_LENGTH,
    LiveError,
    add_address,
    call,
    family_of,
    has_ipv6,
    ip,
)
from gameway.live.warden import start_of

if TYPE_CHECKING:
    from collections.abc import Iterator

VARIABLE = "GAMEWAY_OUTSIDE"
VARIABLE6 = "GAMEWAY_OUTSIDE6"
"""Where a command behind a link finds the addresses of the outside: of IPv4 and of IPv6."""
NETWORK6 = "fd5c:9e3a:b147"
"""Drawn once (RFC 4193 section 3.2): a prefix that no other network is likely to have."""
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
NAME = re.compile(r"gw([0-9a-z]+)-([0-9a-z]+)")
"""As long as Linux allows: 15 characters hold any process and 24 years of ticks since the boot."""
MAX_LINKS = 256
FORWARDING = Path("/proc/sys/net/ipv4/ip_forward")
LOCK = Path("/run/gameway-link.lock")
"""Held while a link looks for free addresses and takes them."""
WAS_OFF = "forwarding_was_off"
"""An empty chain of this name in a table of NAT says so: the last link with NAT ends it again."""


def base36(number: int) -> str:
    """Write a number with digits and letters."""
    text = ""
    while number:
        number, digit = divmod(number, len(DIGITS))
        text = DIGITS[digit] + text
    return text or "0"


def _is_left(name: str) -> bool:
    """Whether a name is one of ours and its owner is gone."""
    found = NAME.fullmatch(name)
    return found is not None and start_of(int(found[1], 36)) != int(found[2], 36)


def _devices() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(ip("-json", "address", "show") or "[]")
    return found


def clean() -> None:
    """Remove devices and tables of NAT that crashed links have left."""
    for device in _devices():
        if _is_left(device["ifname"]):
            ip("link", "delete", device["ifname"], check=False)
    for name in _tables_of_nat():
        if _is_left(name):
            _end_nat(name)


def _tables_of_nat() -> dict[str, bool]:
    """Name the tables of NAT of all links, each with whether forwarding was off before."""
    if shutil.which("nft") is None:
        return {}
    listed = json.loads(call("nft", "--json", "list", "chains", check=False) or "{}")
    chains = [entry["chain"] for entry in listed.get("nftables", []) if "chain" in entry]
    found = {chain["table"]: False for chain in chains if NAME.fullmatch(chain["table"])}
    return found | {one["table"]: True for one in chains if one["name"] == WAS_OFF}


def _end_nat(name: str) -> None:
    """Remove a table of NAT; the last one ends forwarding if it was off before the first."""
    others = _tables_of_nat()
    if others.pop(name, False) and not others:
        FORWARDING.write_text("0\n", encoding="ascii")
    call("nft", "delete", "table", "inet", name, check=False)


@dataclass
class Outside:
    """The device here; use as a context."""

    device: str = ""
    number: int = 0
    _made: bool = field(default=False, repr=False)

    @property
    def address(self) -> str:
        """Of the device here: what the command behind the link reaches."""
        return f"10.77.{self.number}.1"

    @property
    def client_address(self) -> str:
        """Of the device behind the link."""
        return f"10.78.{self.number}.1"

    @property
    def address6(self) -> str:
        """The same of IPv6."""
        return str(ipaddress.ip_address(f"{NETWORK6}:{self.number:x}::1"))

    @property
    def client_address6(self) -> str:
        """The same of IPv6."""
        return str(ipaddress.ip_address(f"{NETWORK6}:{self.number:x}::2"))

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The addresses here and behind the link, of each family that this kernel has."""
        pairs = [(f"{self.address}/32", f"{self.client_address}/32")]
        if has_ipv6():
            pairs.append((f"{self.address6}/128", f"{self.client_address6}/128"))
        return pairs

    def environment(self) -> dict[str, str]:
        """What a command behind the link is told."""
        found = {VARIABLE: self.address}
        return found | ({VARIABLE6: self.address6} if has_ipv6() else {})

    def __enter__(self) -> Self:
        with LOCK.open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            return self._make()

    def _make(self) -> Self:
        named = self.named()
        self.device, self.number = named.device, named.number
        try:
            self._made = True
            ip("tuntap", "add", "mode", "tun", "dev", self.device)
            ip("link", "set", "dev", self.device, "addrgenmode", "none")
            length = str(QUEUE_LENGTH)
            ip("link", "set", "dev", self.device, "mtu", str(MTU), "txqueuelen", length, "up")
            for own, client in self.pairs:
                add_address(None, own, self.device)
                source = ("src", own.partition("/")[0])
                ip(family_of(own), "route", "add", client, "dev", self.device, *source)
        except BaseException:
            self.remove()
            raise
        return self

    @classmethod
    def named(cls) -> Self:
        """Give what is to be made: the device's name and addresses that no other link has."""
        clean()
        process = os.getpid()
        name = f"gw{base36(process)}-{base36(start_of(process) or 0)}"
        return cls(name, cls._free_number())

    def __exit__(self, *_: object) -> None:
        self.remove()

    def remove(self) -> None:
        """Remove the device; its address and route go with it."""
        if self._made:
            ip("link", "delete", self.device, check=False)
            self._made = False

    @staticmethod
    def _free_number() -> int:
        """Give a number whose addresses no other link has."""
        used = {
            address["local"] for device in _devices() for address in device.get("addr_info", [])
        }
        for number in range(MAX_LINKS):
            if f"10.77.{number}.1" not in used:
                return number
        raise LiveError(f"{MAX_LINKS} links are there already: end one first")


@contextmanager
def nat(own: Outside) -> Iterator[None]:
    """Let what is behind the link reach what this machine reaches, under this machine's address."""
    off = FORWARDING.read_text(encoding="ascii").strip() == "0" or any(_tables_of_nat().values())
    rules = f"""
table inet {own.device} {{
  {f"chain {WAS_OFF} {{ }}" if off else ""}
  chain postrouting {{
    type nat hook postrouting priority srcnat;
    ip saddr {own.client_address} oifname != "{own.device}" masquerade
  }}
}}
"""
    call("nft", "--file", "-", text=rules)
    try:
        FORWARDING.write_text("1\n", encoding="ascii")
        yield
    finally:
        _end_nat(own.device)
