"""`--backend tc`: a path of the kernel's own queues, for what the kernel offers.

    outside ── veth ── router ── veth ── command

The router sends towards the command through HTB at the path's capacity with the path's queue below
it, and the other way at the capacity of the way back if there is one; `netem` in front of either
delays. What the kernel has no qdisc for, or what HTB cannot do (traces, steps, gateways, hops), is
refused: the user-space path, which is the default, has all of it.
"""

from __future__ import annotations

import json
import os
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gameway import _core
from gameway.errors import InputError
from gameway.live import outside
from gameway.live.namespaces import (
    LiveError,
    Namespaces,
    add_address,
    call,
    family_of,
    has_ipv6,
    ip,
    offloads_off,
    require,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

QUANTUM = 1514
"""Of HTB's class: one full packet (Linux computes 1 to 60 thousand from the rate)."""
OWN_DELAY_NS = 100_000
"""A delay below this needs no netem: two veths and a forwarding take tens of microseconds."""
PACKET = 1514
"""A packet of 1500 bytes as a qdisc on a veth counts it: with its Ethernet header."""
IP_PACKET = 1500
TIMES = ("target", "interval", "rtt")
"""Options that tc spells as experiment files do."""
NAMES = {"codel": "codel", "fq-codel": "fq_codel", "pie": "pie", "cake": "cake"} | {
    "dual-pi2": "dualpi2"
}
ONLY_HERE = "leave it out, or leave out --backend tc: the user-space path has it"


@dataclass(frozen=True)
class Shaper:
    """HTB at a rate, with a queue below it."""

    rate: int
    """bit/s on the wire, IP headers included."""
    queue: list[str]


def shaper(field: str, capacity: Any, queue: dict[str, Any], base_rtt: str) -> Shaper:
    """Give the qdiscs of a bottleneck; InputError for what tc has not."""
    if not isinstance(capacity, str):
        hint = "give one rate: HTB follows neither steps nor traces nor a medium"
        raise InputError("is not for --backend tc", field=f"{field}.capacity", hint=hint)
    return Shaper(_core.parse_rate(capacity), _queue(f"{field}.queue", queue, capacity, base_rtt))


def _queue(field: str, queue: dict[str, Any], capacity: str, base_rtt: str) -> list[str]:
    given = {key: value for key, value in queue.items() if key not in {"kind", "size"}}
    size = queue.get("size")
    if queue["kind"] == "drop-tail":
        refuse(field, given)
        return _fifo(str(size), capacity, base_rtt)
    if queue["kind"] not in NAMES:
        hint = f"known are drop-tail, {', '.join(NAMES)}"
        raise InputError(
            "is not for --backend tc", field=f"{field}.kind", value=queue["kind"], hint=hint
        )
    words = [NAMES[queue["kind"]]]
    for option in TIMES:
        if option in given:
            if not str(given[option])[0].isdigit():
                words.append(given.pop(option))
                continue
            words += [option, f"{_core.parse_duration(given.pop(option)) // 1000}us"]
    if queue["kind"] == "cake":
        words += _cake(given)
    if "ecn" in given and queue["kind"] != "cake":
        words.append("ecn" if given.pop("ecn") == "on" else "noecn")
    refuse(field, given)
    if size is not None:
        byte = _core.queue_bytes(str(size), capacity, base_rtt)
        packets = str(size).split()[0] if byte is None else str(max(byte // IP_PACKET, 1))
        room = str(byte or int(packets) * PACKET)
        words += ["memlimit", room] if words[0] == "cake" else ["limit", packets]
    return words


CAKE_WORDS = ("isolation", "diffserv", "framing")
"""Options of CAKE whose values are tc's own words."""
CELLS = {"none": "noatm", "atm": "atm", "ptm": "ptm"}
ACK_FILTERS = {"off": "no-ack-filter", "on": "ack-filter", "aggressive": "ack-filter-aggressive"}
SWITCHES = {"ingress": ("egress", "ingress"), "wash": ("nowash", "wash")}


def _cake(given: dict[str, Any]) -> list[str]:
    """Take from a CAKE's options what tc has words for; overhead and cells come after framing."""
    words = []
    if "bandwidth" in given:
        words += ["bandwidth", f"{_core.parse_rate(given.pop('bandwidth'))}bit"]
    for option in CAKE_WORDS:
        words += str(given.pop(option, "")).split()
    if "overhead" in given:
        words += ["overhead", _bytes_of(given.pop("overhead"))]
    if "mpu" in given:
        words += ["mpu", _bytes_of(given.pop("mpu"))]
    if "cells" in given:
        words.append(CELLS[given.pop("cells")])
    if "ack_filter" in given:
        words.append(ACK_FILTERS[given.pop("ack_filter")])
    for option, (off, on) in SWITCHES.items():
        if option in given:
            words.append(on if given.pop(option) == "on" else off)
    return words


def _bytes_of(text: str) -> str:
    """Give an amount of data that may be negative as a number of bytes."""
    sign = "-" if text.strip().startswith("-") else ""
    return sign + str(_core.parse_bytes(text.strip().lstrip("-")))


def _fifo(size: str, capacity: str, base_rtt: str) -> list[str]:
    byte = _core.queue_bytes(size, capacity, base_rtt)
    if byte is None:
        return ["pfifo", "limit", size.split(maxsplit=1)[0]]
    # So many full packets, each with the header that the kernel counts.
    return ["bfifo", "limit", str(byte * PACKET // IP_PACKET)]


def refuse(field: str, given: dict[str, Any]) -> None:
    """Refuse what is left of a table: tc has no word for it."""
    for key, value in given.items():
        raise InputError(
            "is not for --backend tc", field=f"{field}.{key}", value=value, hint=ONLY_HERE
        )


@dataclass(frozen=True)
class Plan:
    """What tc is asked for."""

    down: Shaper
    up: Shaper | None
    delays_ns: tuple[int, int]
    """Down and up."""


def plan(path: dict[str, Any]) -> Plan:
    """Give what tc must do for a path of a run's specification; InputError for what it cannot."""
    left = dict(path)
    capacity, queue, base_rtt = left.pop("capacity"), left.pop("queue"), left.pop("base_rtt")
    rtt = _core.parse_duration(base_rtt)
    nominal_rtt = left.pop("nominal_rtt", base_rtt)
    forward = left.pop("forward_delay", None)
    down = rtt // 2 if forward is None else _core.parse_duration(forward)
    back = dict(left.pop("back", None) or {})
    if left.get("gateway", {}).get("kind") == "none":
        del left["gateway"]
    if left.get("classifier") == "none":
        del left["classifier"]
    refuse("path", {key: value for key, value in left.items() if value})
    up = None
    if back.get("capacity") is not None:
        own = back.pop("queue", None) or {"kind": "drop-tail", "size": "300 ms"}
        up = shaper("path.back", back.pop("capacity"), own, nominal_rtt)
    refuse("path.back", {key: value for key, value in back.items() if value})
    return Plan(shaper("path", capacity, queue, nominal_rtt), up, (down, rtt - down))


@dataclass(frozen=True)
class KernelLink:
    """A path of the kernel, set up."""

    spaces: Namespaces
    ends: outside.Outside
    """Its addresses, those outside and those behind it."""

    @property
    def address(self) -> str:
        """That of the outside."""
        return self.ends.address

    @property
    def client_address(self) -> str:
        """That behind it."""
        return self.ends.client_address

    def qdiscs(self) -> list[dict[str, Any]]:
        """Give the statistics of the qdiscs towards the command, as `tc -s -json` has them."""
        words = ("-s", "-json", "qdisc", "show", "dev", "client")
        found: list[dict[str, Any]] = json.loads(_tc(self.spaces.name("router"), *words))
        return found


def _tc(space: str | None, *words: str) -> str:
    try:
        return call("tc", *_within(space), *words)
    except LiveError as error:
        if "qdisc kind is unknown" in str(error):
            kind = words[words.index("handle") + 2] if "handle" in words else words[-1]
            hint = "leave out --backend tc: the user-space path has every queue, and delays"
            raise InputError(f"this kernel has no {kind}", file="--backend tc", hint=hint) from None
        raise


def _shape(space: str, device: str, shaper: Shaper) -> None:
    """HTB counts Ethernet headers, which the path does not: its rate is that of full packets."""
    rate = f"{shaper.rate * PACKET // IP_PACKET}bit"
    _tc(space, "qdisc", "add", "dev", device, "root", "handle", "1:", "htb", "default", "1")
    burst = ("burst", str(PACKET), "cburst", str(PACKET), "quantum", str(QUANTUM))
    limits = ("rate", rate, "ceil", rate, *burst)
    _tc(space, "class", "add", "dev", device, "parent", "1:", "classid", "1:1", "htb", *limits)
    _tc(space, "qdisc", "add", "dev", device, "parent", "1:1", "handle", "10:", *shaper.queue)


def _delay(space: str | None, device: str, nanos: int) -> None:
    if nanos < OWN_DELAY_NS:
        return
    words = ("netem", "delay", f"{nanos // 1000}us", "limit", "100000")
    _tc(space, "qdisc", "add", "dev", device, "root", "handle", "1:", *words)


@contextmanager
def kernel_link(path: dict[str, Any], *, here: bool = False) -> Iterator[KernelLink]:
    """Set up a path by tc; its outside is a namespace ("server"), or with `here` the caller's."""
    wanted = plan(path)
    require()
    parts = ("router", "client") if here else ("server", "router", "client")
    with Namespaces(parts=parts) as spaces:
        ends = outside.Outside.named() if here else outside.Outside("gw0")
        router, client = spaces.name("router"), spaces.name("client")
        server = None if here else spaces.name("server")
        _connect(router, "client", client, "gw0")
        _connect(router, "server", server, ends.device)
        call("ip", "netns", "exec", router, "sysctl", "-q", "-w", *_forwarding())
        for own, behind in ends.pairs:
            _place(router, "client", client, "gw0", behind)
            _place(router, "server", server, ends.device, own)
            ip("-n", client, family_of(own), "route", "add", "default", "dev", "gw0")
            ip(*_within(server), family_of(own), "route", "add", behind, "dev", ends.device)
        if has_ipv6():
            # The router answers for the address on its other side, as proxy ARP does of itself.
            for port, address in (("client", ends.address6), ("server", ends.client_address6)):
                ip("-n", router, "-6", "neigh", "add", "proxy", address, "dev", port)
        _shape(router, "client", wanted.down)
        if wanted.up is not None:
            _shape(router, "server", wanted.up)
        _delay(server, ends.device, wanted.delays_ns[0])
        _delay(client, "gw0", wanted.delays_ns[1])
        yield KernelLink(spaces, ends)


def _forwarding() -> list[str]:
    """Give the settings of the router."""
    settings = ["net.ipv4.ip_forward=1"]
    for device in ("server", "client"):
        settings += [
            f"net.ipv4.conf.{device}.proxy_arp=1",
            f"net.ipv4.neigh.{device}.proxy_delay=0",
        ]
        if has_ipv6():
            settings += [f"net.ipv6.conf.{device}.disable_ipv6=0"]
            settings += [f"net.ipv6.conf.{device}.proxy_ndp=1"]
            settings += [f"net.ipv6.neigh.{device}.proxy_delay=0"]
    return settings + (["net.ipv6.conf.all.forwarding=1"] if has_ipv6() else [])


def _within(space: str | None) -> tuple[str, ...]:
    return () if space is None else ("-n", space)


def _connect(router: str, port: str, space: str | None, device: str) -> None:
    """Join a namespace (None: the caller's) to the router by a veth."""
    target = str(os.getpid()) if space is None else space
    ip("-n", router, "link", "add", port, "type", "veth", "peer", device, "netns", target)
    ip("-n", router, "link", "set", port, "up")
    ip(*_within(space), "link", "set", device, "up")
    offloads_off(router, port)
    offloads_off(space, device)


def _place(router: str, port: str, space: str | None, device: str, address: str) -> None:
    """Give the end of a veth an address, and the router the way there."""
    add_address(space, address, device)
    ip("-n", router, family_of(address), "route", "add", address, "dev", port)
