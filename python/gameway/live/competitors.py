"""Competitors of a live run: iperf3, whose data the kernel's TCP sends.

Each has a server of its own on its own address. For data that goes down the client asks for the
reverse direction (-R); with `direction = "up"` it sends itself. A client begins earlier than the
competitor, by what it takes until its data connection's SYN leaves, with which a simulated TCP
begins (control connection, parameters, streams), or until its datagrams flow; at its stop it is
interrupted, which resets a download: what was under way is still delivered. The kernel goes on to
send what an interrupted upload had written.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gameway import _core
from gameway.catalogue import NONE
from gameway.errors import GamewayError
from gameway.experiment.tables import COMPETITOR, Competitor
from gameway.live import offers
from gameway.live.plan import CLIENT, IPERF_PORT, goes_up

if TYPE_CHECKING:
    from pathlib import Path

    from gameway.live.plan import Plan
    from gameway.live.processes import Process

IP_UDP_BYTES = 28
"""Headers of IPv4 and UDP: a UDP competitor's rate and size count them, iperf3's do not."""
ECN_FIELDS = {"none": 0b00, "ect0": 0b10, "ect1": 0b01}
"""The lowest two bits of the traffic class (RFC 3168); iperf3 has its server set them, too."""
AUTO = "auto"
"""A receive window that the kernel tunes."""
INTERVAL_S = _core.BIN_NS / 1e9
"""Intervals of iperf3's own report, as the bins."""
PACING_US = 100
"""How often iperf3 looks whether it may send, where a rate bounds it."""
UDP_OPENING_ROUND_TRIPS = 4
TCP_OPENING_ROUND_TRIPS = 3
TCP_OPENING_NS = 15_000_000
"""7 ms until the process sends its first SYN, 8 ms in the queue behind a stream, as measured."""


def server_command(plan: Plan, competitor: dict[str, Any]) -> list[str]:
    """The command of a competitor's server, which serves one test and ends."""
    address = plan.address(competitor["name"])
    return ["iperf3", "--server", "--one-off", "--json", "--bind", address,
            "--port", str(IPERF_PORT), "--interval", str(INTERVAL_S)]  # fmt: skip


def client_command(plan: Plan, competitor: dict[str, Any]) -> list[str]:
    """The command of a competitor's client; it is interrupted at the competitor's stop."""
    command = ["iperf3", "--client", plan.address(competitor["name"]), "--bind", CLIENT,
               "--port", str(IPERF_PORT), "--json", "--interval", str(INTERVAL_S),
               "--pacing-timer", str(PACING_US)]  # fmt: skip
    command += [] if goes_up(competitor) else ["--reverse"]
    return command + (_udp(competitor) if competitor["kind"] == "udp" else _tcp(competitor))


def start_ns(plan: Plan, competitor: dict[str, Any]) -> int:
    """When a competitor's client is started, so that it opens at the competitor's start."""
    if competitor["kind"] == "udp":
        opening = UDP_OPENING_ROUND_TRIPS * plan.rtt_ns(competitor)
    else:
        opening = TCP_OPENING_ROUND_TRIPS * plan.rtt_ns(competitor) + TCP_OPENING_NS
    return plan.span(competitor).start_ns - opening


def asks_for_ecn(competitor: dict[str, Any]) -> bool:
    """Whether a competitor's connection negotiates ECN (RFC 3168)."""
    return competitor.get("ecn") == "classic"


def _tcp(competitor: dict[str, Any]) -> list[str]:
    algorithm = offers.kernel_name(competitor["congestion_control"])
    size = competitor.get("bytes")
    length = ["--bytes", str(_core.parse_bytes(size))] if size else ["--time", "0"]
    command = ["--congestion", algorithm, *length, *_sockets(competitor)]
    limit = competitor.get("rate_limit")
    if limit:
        block = _core.parse_bytes(competitor.get("block") or COMPETITOR.schema("block")[NONE])
        command += ["--bitrate", str(_core.parse_rate(limit)), "--length", str(block)]
    return command


def _sockets(competitor: dict[str, Any]) -> list[str]:
    """What iperf3 sets of the sockets at both ends: TCP_MAXSEG, SO_RCVBUF and SO_SNDBUF."""
    default = {key: str(Competitor.model_fields[key].default) for key in ("mss", "receive_window")}
    given = default | {key: competitor[key] for key in default if key in competitor}
    mss, window = given["mss"], given["receive_window"]
    words = [] if mss == default["mss"] else ["--set-mss", str(_core.parse_bytes(mss))]
    if window == AUTO:
        return words
    return [*words, "--window", str(_core.receive_buffer(window, mss))]


def _udp(competitor: dict[str, Any]) -> list[str]:
    packet = _core.parse_bytes(competitor.get("packet_size") or COMPETITOR.default("packet_size"))
    payload = packet - IP_UDP_BYTES
    rate = _core.parse_rate(competitor["rate"]) * payload // packet
    command = ["--udp", "--bitrate", str(rate), "--length", str(payload), "--time", "0"]
    default = COMPETITOR.kinds["udp"]["properties"]["ecn"]["default"]
    field = ECN_FIELDS[competitor.get("ecn") or default]
    return command if field == 0 else [*command, "--tos", str(field)]


ENDED = "interrupt"
"""How the error begins that iperf3 reports where we ended it."""


@dataclass(frozen=True)
class Interval:
    """One interval of iperf3's report; times are since the test's start."""

    start_s: float
    stop_s: float
    bytes: int
    window_bytes: int | None = None
    rtt_us: int | None = None
    retransmits: int | None = None


def intervals(report: Path) -> list[Interval]:
    """Read the intervals of a report of iperf3 (--json); GamewayError where it has none.

    An interrupted test has an "error" that says so: that is how every test of ours ends.
    """
    try:
        found = json.loads(report.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise GamewayError(f"{report.name}: iperf3 left no report") from None
    rows = [_interval(item) for item in found.get("intervals", []) if item.get("streams")]
    if not rows:
        why = str(found.get("error", "it moved no data"))
        hint = "; let the competitor stay for a second or longer" if why.startswith(ENDED) else ""
        raise GamewayError(f"{report.name}: iperf3: {why}{hint}")
    # The last interval stands there twice where it was the last when the test was ended.
    starts = [None, *(row.start_s for row in rows)]
    return [row for row, before in zip(rows, starts, strict=False) if row.start_s != before]


def _interval(item: dict[str, Any]) -> Interval:
    one = item["streams"][0]
    return Interval(
        start_s=float(one["start"]),
        stop_s=float(one["end"]),
        bytes=int(one["bytes"]),
        window_bytes=one.get("snd_cwnd"),
        rtt_us=one.get("rtt"),
        retransmits=one.get("retransmits"),
    )


def began_ns(client: Process, at_client: list[Interval], epoch_ns: int) -> int:
    """When a client of iperf3 began, since the run's start: it knows how long it went on."""
    ended_ns = client.ended_ns or time.monotonic_ns()
    return ended_ns - epoch_ns - round(at_client[-1].stop_s * 1e9)
