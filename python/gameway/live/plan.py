"""From the specification of a run to what its processes are told: addresses, configurations.

Flow number n has the server address 10.77.0.(n + 1), so that the link can tell flows by address.
Nothing here starts anything.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gameway import _core
from gameway.catalogue import key_schema
from gameway.experiment.overrides import DEFAULT_NAMES
from gameway.experiment.tables import CHROMIUM

PING = "ping"
"""The flow of the pings, as in the simulator."""
VIDEO = "dash"
"""The kind of competitor that a browser plays."""
QUIC = "quic"
"""The kind of competitor whose ends are parts of a run."""
SERVER_NET = "10.77.0."
CLIENT = "10.78.0.1"
DEVICE = "gw0"
SIGNALLING_PORT = 8443
IPERF_PORT = 5201
HTTP_PORT = 80

PCAP = "packets.pcapng"
"""Of the link's folder: the headers of all packets."""

LINK, HOST, CLIENT_PART, PLAYER = "link", "host", "client", "player"
BROWSERS = "browsers"
"""The part that drives both ends of a stream that a browser sends."""

SECOND = 1_000_000_000
SETUP_NS = 3 * SECOND
"""From the first process to the run's time zero: Python starts in about half a second on a loaded
machine, and a host and a client start one after the other."""
BROWSER_SETUP_NS = 5 * SECOND
"""What browsers need on top to start and to load their pages."""
SETUP_ROUND_TRIPS = 16
"""Of a stream that is connected before time zero: signalling (two connections of TCP, two
requests), a connectivity check, and the handshake of DTLS, with as many again for losses."""


@dataclass(frozen=True)
class Flow:
    """One flow of a run and its address at the server."""

    name: str
    address: str
    upwards: bool = False
    """Whether its data goes from the client to the server."""
    way: dict[str, Any] = field(default_factory=dict)
    """`via` and `base_rtt`, where they are its own."""


@dataclass(frozen=True)
class Span:
    """When a flow is there, nanoseconds since the run's start."""

    start_ns: int
    stop_ns: int


@dataclass(frozen=True)
class Plan:
    """One run, made ready for its processes."""

    spec: dict[str, Any]
    flows: tuple[Flow, ...]
    duration_ns: int
    base_rtt_ns: int

    @property
    def streams(self) -> list[dict[str, Any]]:
        """The game streams of the run."""
        return flows_of(self.spec, "stream")

    @property
    def hosted(self) -> list[dict[str, Any]]:
        """Those that a host of this project sends."""
        return [one for one in self.streams if one.get("kind") != CHROMIUM]

    @property
    def browsed(self) -> list[dict[str, Any]]:
        """Those that a browser sends."""
        return [one for one in self.streams if one.get("kind") == CHROMIUM]

    @property
    def competitors(self) -> list[dict[str, Any]]:
        """The competing flows of the run."""
        return flows_of(self.spec, "competitor")

    @property
    def videos(self) -> list[dict[str, Any]]:
        """Those of them that are videos over HTTP."""
        return [one for one in self.competitors if one["kind"] == VIDEO]

    @property
    def transfers(self) -> list[dict[str, Any]]:
        """Those that iperf3 carries out."""
        return [one for one in self.competitors if one["kind"] not in {VIDEO, QUIC}]

    @property
    def downloads(self) -> list[dict[str, Any]]:
        """Those over QUIC."""
        return [one for one in self.competitors if one["kind"] == QUIC]

    @property
    def ping_interval_ns(self) -> int | None:
        """From ping to ping; None without pings."""
        ping = self.spec.get(PING)
        return _core.parse_duration(ping["interval"]) if ping else None

    @property
    def state_interval_ns(self) -> int:
        """From one row of a controller's or a player's state to the next."""
        given = (self.spec.get("record") or {}).get("controller_interval")
        default = key_schema("record.controller_interval")["default"]
        return _core.parse_duration(given or default)

    @property
    def setup_ns(self) -> int:
        """How long before time zero the first process is started."""
        slowest = max((self.rtt_ns(stream) for stream in self.streams), default=0)
        waiting = SETUP_ROUND_TRIPS * slowest
        browsers = len(self.browsed) + bool(self.videos)
        return SETUP_NS + waiting + browsers * BROWSER_SETUP_NS

    def address(self, flow: str) -> str:
        """The server address of a flow."""
        return next(one.address for one in self.flows if one.name == flow)

    def rtt_ns(self, flow: dict[str, Any]) -> int:
        """The base round-trip time of a stream or competitor: its own, or the path's."""
        own = flow.get("base_rtt")
        return _core.parse_duration(own) if own else self.base_rtt_ns

    def span(self, flow: dict[str, Any]) -> Span:
        """When a stream or competitor is there."""
        stop = flow.get("stop")
        end = min(_core.parse_duration(stop), self.duration_ns) if stop else self.duration_ns
        return Span(_core.parse_duration(flow.get("start") or "0 s"), end)


def flows_of(spec: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    """The streams or competitors of a spec, with their names filled in."""
    return [{"name": DEFAULT_NAMES[kind], **flow} for flow in spec.get(kind) or []]


def goes_up(flow: dict[str, Any]) -> bool:
    """Whether a flow's data goes from the client to the server."""
    return flow.get("direction") == "up"


def way_of(flow: dict[str, Any]) -> dict[str, Any]:
    """The bottlenecks that a flow passes and its round-trip time, as far as they are its own."""
    return {key: flow[key] for key in ("via", "base_rtt") if flow.get(key) is not None}


def plan_of(spec: dict[str, Any]) -> Plan:
    """Make the plan of a run."""
    flows = (*flows_of(spec, "stream"), *flows_of(spec, "competitor"))
    names = [(str(flow["name"]), goes_up(flow), way_of(flow)) for flow in flows]
    names += [(PING, False, {})] if spec.get(PING) else []
    addressed = tuple(
        Flow(name, f"{SERVER_NET}{number}", upwards, way)
        for number, (name, upwards, way) in enumerate(names, start=1)
    )
    return Plan(
        spec=spec,
        flows=addressed,
        duration_ns=_core.parse_duration(spec["duration"]),
        base_rtt_ns=_core.parse_duration(spec["path"]["base_rtt"]),
    )


@dataclass(frozen=True)
class Place:
    """Where and when a run is: files of the namespaces of its ends, and its time zero."""

    server: str
    client: str
    epoch_ns: int


def link_config(plan: Plan, place: Place, *, pcap: bool = False) -> dict[str, Any]:
    """What the link is told."""
    record = plan.spec.get("record") or {}
    return {
        "epoch_ns": place.epoch_ns,
        "seed": plan.spec["seed"],
        "duration": plan.spec["duration"],
        "path": plan.spec["path"],
        "record": record,
        "flows": [
            {"name": flow.name, "address": flow.address, "upwards": flow.upwards, **flow.way}
            for flow in plan.flows
        ],
        "server": {"namespace": place.server, "device": DEVICE},
        "client": {"namespace": place.client, "device": DEVICE},
        "pcap": PCAP if pcap else None,
    }
