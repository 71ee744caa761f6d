"""Where a host listens, as a person types it, and the addresses at which others reach it."""

from __future__ import annotations

import ipaddress
import socket
from typing import TYPE_CHECKING

from gameway.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

OPTION = "--listen"
PORT = 8443
MAX_PORT = 65535
EVERYWHERE = "0.0.0.0"  # noqa: S104 (the user chose it)
HINT = f"write PORT, ADDRESS or ADDRESS:PORT, for example {PORT} or 192.0.2.7:{PORT}"
ELSEWHERE = ("192.0.2.1", "2001:db8::1")
"""Addresses for documentation (RFC 5737, RFC 3849): nothing is sent there."""


def listen(text: str) -> str:
    """Read `--listen`: a port, an address or a name, or both; give address and port."""
    address, port = _parts(text.strip())
    if not port.isdecimal() or int(port) > MAX_PORT:
        problem = f"has no port from 0 to {MAX_PORT}"
        raise InputError(problem, file=OPTION, value=text, hint=HINT)
    try:
        found = socket.getaddrinfo(address, int(port), type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        told = getattr(error, "strerror", None) or str(error)
        problem = f'has no address "{address}" ({told})'
        raise InputError(problem, file=OPTION, value=text, hint=HINT) from None
    first = min(found, key=lambda one: one[0] is not socket.AF_INET)
    return joined(str(first[4][0]), int(port))


def _parts(text: str) -> tuple[str, str]:
    """Split address and port; either may be left out."""
    if text.isdecimal():
        return EVERYWHERE, text
    if text.startswith("["):
        address, _, rest = text[1:].partition("]")
        return address, rest.removeprefix(":") or str(PORT)
    if text.count(":") > 1:
        return text, str(PORT)
    address, colon, port = text.partition(":")
    return address or EVERYWHERE, port if colon else str(PORT)


def joined(address: str, port: int) -> str:
    """Write an address with a port, as links have them."""
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def links(reachable: Sequence[str], token: str) -> list[str]:
    """Give what to tell of a host's addresses: a link for each, and what must be open.

    The first is that from which this machine reaches others; loopback is for itself.
    """
    primary = _primary()
    placed = [(address, ipaddress.ip_address(address.rpartition(":")[0].strip("[]")))
              for address in reachable]  # fmt: skip
    placed.sort(key=lambda one: (one[1].is_loopback, str(one[1]) not in primary, one[1].version))
    told: list[str] = []
    for address, ip in placed:
        start = "or from this machine:" if ip.is_loopback and told else "or" if told else "watch at"
        told.append(f"{start} http://{address}/?token={token}")
    port = reachable[0].rpartition(":")[2]
    if not all(ip.is_loopback for _, ip in placed):
        told.append(f"port {port} must be open for TCP (page and signalling) and for UDP (media)")
    return told


def _primary() -> set[str]:
    """Give the addresses that this machine has towards others; to ask for a route sends nothing."""
    found = set()
    for family, elsewhere in zip((socket.AF_INET, socket.AF_INET6), ELSEWHERE, strict=True):
        try:
            with socket.socket(family, socket.SOCK_DGRAM) as asking:
                asking.connect((elsewhere, PORT))
                found.add(str(asking.getsockname()[0]))
        except OSError:
            continue
    return found
