"""Where a session is: the namespaces of its ends, and the ways of browsers to them.

    browser ── pair ──► client ── TUN, link, TUN ──► server: the host, at SERVER
       └────── pair ──────────────────────────────► server: its page, at PAGE

Media passes the path. The page, its requests and the panel do not: a knob can be turned where
nothing passes any more. So what the host answers from its page's port goes by the second pair, by a
rule; all else that leaves the server goes by the path. Browsers of other devices reach both under
this machine's address by nftables, unless that is not wanted; forwarding is then on, and off again
at the end if it was off before (the warden of `crates/lab/link/src/command/owned.rs` does that).
"""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from gameway.errors import GamewayError
from gameway.live.ends import Ends
from gameway.live.namespaces import DEVICE, SERVER_NETWORK, LiveError, call, server_address

if TYPE_CHECKING:
    from typing import Self

SERVER = server_address(0)
"""Where media goes."""
PAGE, PAGE_OUTSIDE = "10.79.0.2", "10.79.0.1"
FAR, FAR_OUTSIDE = "10.79.0.6", "10.79.0.5"
BEFORE_ROUTING = -100
"""The priority of chains that change destinations (nft(8): dstnat)."""
TABLE = "100"
"""Of routes: how the page's answers leave."""
FORWARDING = Path("/proc/sys/net/ipv4/ip_forward")
ELSEWHERE = "192.0.2.1"
"""An address for documentation (RFC 5737): to ask for a route sends nothing."""


class Ways(Ends):
    """The namespaces of a session with the ways to them; use as a context."""

    def __init__(self, port: int, folder: Path, *, here: bool) -> None:
        super().__init__(folder)
        self.port = port
        self.address = None if here else _own_address()
        """Of this machine, for the devices of the house; None where they do not come."""
        self._outside: list[str] = []
        """Devices of this session outside its namespaces."""

    def __enter__(self) -> Self:
        entered = super().__enter__()
        try:
            self._page()
            if self.address is not None and not self._others(self.address):
                self.address = None
        except BaseException:
            self.__exit__()
            raise
        return entered

    def __exit__(self, *problem: object) -> None:
        for device in self._outside:
            # One that was not made, or is gone, is what is wanted.
            with suppress(LiveError):
                call("ip", "link", "delete", device)
        super().__exit__(*problem)

    def connect(self, flows: int) -> None:
        """Make the path's devices, and the way of media to its far end."""
        super().connect(flows)
        self._far()

    @property
    def pages(self) -> list[str]:
        """Where browsers open the page; of other devices first."""
        return [*([self.address] if self.address else []), PAGE]

    @property
    def media(self) -> list[str]:
        """Where browsers send media."""
        return [SERVER, *([self.address] if self.address else [])]

    def _pair(self, part: str, device: str, inside: str, outside: str) -> None:
        """Connect a namespace with the outside by two devices."""
        self._outside.append(device)
        call("ip", "link", "add", device, "type", "veth", "peer", "name", "out",
             "netns", self.name(part))  # fmt: skip
        call("ip", "address", "add", f"{outside}/32", "peer", f"{inside}/32", "dev", device)
        call("ip", "link", "set", device, "up")
        self.execute(part, ["sysctl", "-q", "-w", "net.ipv4.conf.all.rp_filter=0",
                            "net.ipv4.conf.out.rp_filter=0"])  # fmt: skip
        self.execute(part, ["ip", "address", "add", f"{inside}/32", "dev", "out"])
        self.execute(part, ["ip", "link", "set", "out", "up"])

    def _device(self, suffix: str) -> str:
        """Name a device outside, as nobody else does."""
        process = self.name(suffix).split("-")[1]
        return f"gwl{process}{suffix[0]}"

    def _page(self) -> None:
        """The page's answers leave by their own pair, whatever the other routes say."""
        self._pair("server", self._device("page"), PAGE, PAGE_OUTSIDE)
        for words in (
            ["route", "add", PAGE_OUTSIDE, "dev", "out", "table", TABLE],
            ["route", "add", "default", "via", PAGE_OUTSIDE, "dev", "out", "table", TABLE],
            ["rule", "add", "ipproto", "tcp", "sport", str(self.port), "lookup", TABLE],
        ):
            self.execute("server", ["ip", *words])

    def _far(self) -> None:
        """What leaves the path goes on to who asked; what comes goes into the path."""
        self._pair("client", self._device("far"), FAR, FAR_OUTSIDE)
        for words in (
            ["route", "add", f"{SERVER_NETWORK}.0/24", "dev", DEVICE],
            ["route", "add", FAR_OUTSIDE, "dev", "out"],
            ["route", "replace", "default", "via", FAR_OUTSIDE, "dev", "out"],
        ):
            self.execute("client", ["ip", *words])
        self.execute("client", ["sysctl", "-q", "-w", "net.ipv4.ip_forward=1"])
        call("ip", "route", "replace", f"{SERVER_NETWORK}.0/24", "via", FAR)

    def _others(self, address: str) -> bool:
        """Hand on what comes for this machine's address; whether that can be."""
        table = self._own.device
        was_on = FORWARDING.read_text(encoding="ascii").strip() == "1"
        chains = "\n".join(
            f"""chain {name} {{
              type nat hook {name} priority {BEFORE_ROUTING};
              ip daddr {address} tcp dport {self.port} dnat ip to {PAGE}
              ip daddr {address} udp dport {self.port} dnat ip to {SERVER}
            }}"""
            for name in ("prerouting", "output")
        )
        mark = "" if was_on else "chain forwarding_was_off {\n}"
        try:
            call("nft", f"table inet {table} {{\n{chains}\n{mark}\n}}\n")
        except LiveError:
            return False
        if not was_on:
            FORWARDING.write_text("1", encoding="ascii")
        return True


def _own_address() -> str | None:
    """Give the address under which this machine reaches others; None where it reaches none."""
    try:
        found = json.loads(call("ip", "-json", "-4", "route", "get", ELSEWHERE))
    except (GamewayError, ValueError):
        return None
    address = found[0].get("prefsrc") if found else None
    return str(address) if address else None
