"""The outside of `gameway link`: a TUN device in the caller's namespace, and NAT if asked for.

Its name holds the process that owns it and when that started, in base 36, so that what a crash
leaves is found and removed at the next start, as namespaces are.
"""

from __future__ import annotations

import json
import os
import re
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from gameway.live.namespaces import MTU, QUEUE_LENGTH, LiveError, call, ip, start_of

if TYPE_CHECKING:
    from collections.abc import Iterator

VARIABLE = "GAMEWAY_OUTSIDE"
"""Where a command behind a link finds the address of the outside."""
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
NAME = re.compile(r"gw([0-9a-z]+)-([0-9a-z]+)")
"""As long as Linux allows: 15 characters hold any process and 24 years of ticks since the boot."""
MOST_LINKS = 256
FORWARDING = Path("/proc/sys/net/ipv4/ip_forward")


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
    try:
        tables = call("nft", "--json", "list", "tables", check=False)
    except LiveError:
        return  # No nft, no NAT.
    for entry in json.loads(tables or '{"nftables": []}')["nftables"]:
        name = entry.get("table", {}).get("name", "")
        if _is_left(name):
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

    def __enter__(self) -> Self:
        named = self.named()
        self.device, self.number = named.device, named.number
        try:
            self._made = True
            ip("tuntap", "add", "mode", "tun", "dev", self.device)
            ip("link", "set", "dev", self.device, "addrgenmode", "none")
            length = str(QUEUE_LENGTH)
            ip("link", "set", "dev", self.device, "mtu", str(MTU), "txqueuelen", length, "up")
            ip("address", "add", f"{self.address}/32", "dev", self.device)
            route = (f"{self.client_address}/32", "dev", self.device, "src", self.address)
            ip("route", "add", *route)
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
        for number in range(MOST_LINKS):
            if f"10.77.{number}.1" not in used:
                return number
        raise LiveError(f"{MOST_LINKS} links are there already: end one first")


@contextmanager
def nat(own: Outside) -> Iterator[None]:
    """Let what is behind the link reach what this machine reaches, under this machine's address."""
    rules = f"""
table inet {own.device} {{
  chain postrouting {{
    type nat hook postrouting priority srcnat;
    ip saddr {own.client_address} oifname != "{own.device}" masquerade
  }}
}}
"""
    before = FORWARDING.read_text(encoding="ascii")
    call("nft", "--file", "-", text=rules)
    try:
        FORWARDING.write_text("1\n", encoding="ascii")
        yield
    finally:
        FORWARDING.write_text(before, encoding="ascii")
        call("nft", "delete", "table", "inet", own.device, check=False)
