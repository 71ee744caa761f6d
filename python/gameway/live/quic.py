"""Downloads over QUIC of a live run: what their two ends are told, what s2n-quic can, what came.

Server and client are parts of their own, which begin and end by the clock. Which HyStart CUBIC has,
s2n-quic reads from the environment.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from gameway import _core
from gameway.experiment.keys import places
from gameway.live.competitors import Interval
from gameway.live.plan import CLIENT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gameway.experiment.keys import At
    from gameway.experiment.tables import Competitor
    from gameway.live.plan import Place, Plan

SERVER_PART, CLIENT_PART = "quic-server", "quic-client"
PORT = 443
"""That of HTTP/3 (RFC 9114, 3.1.2)."""
CERTIFICATE = "certificate.der"
"""Of the server's folder: the client trusts it alone."""
HYSTART_PLUS_PLUS = {"S2N_UNSTABLE_USE_HYSTART_PP": "1"}
BIN_S = _core.BIN_NS / 1e9
ACK_PACKETS = 10
"""After so many s2n-quic acknowledges, which cannot be set."""
HYSTARTS = {None, "rfc9406", "on"}


def config(plan: Plan, download: dict[str, Any], place: Place, certificate: Path) -> dict[str, Any]:
    """What either end of a download is told."""
    record = plan.spec.get("record") or {}
    return {
        "epoch_ns": place.epoch_ns,
        "duration": plan.spec["duration"],
        "competitor": download,
        "server": plan.address(download["name"]),
        "port": PORT,
        "client": CLIENT,
        "observe_interval": record.get("controller_interval"),
        "certificate": str(certificate),
    }


def environment(download: dict[str, Any]) -> dict[str, str]:
    """What the ends of a download find in their environment."""
    return {} if _hystart(download["congestion_control"]) == "on" else HYSTART_PLUS_PLUS


def received(told: Path) -> list[Interval]:
    """What an end's application read in each bin of the run, by the line with which it ended."""
    last = told.read_text(encoding="utf-8").splitlines()[-1]
    return [
        Interval(number * BIN_S, (number + 1) * BIN_S, count)
        for number, count in enumerate(json.loads(last)["received_bytes"])
        if count
    ]


def limits(at: At, competitor: Competitor) -> Iterator[tuple[At, object, str]]:
    """What s2n-quic cannot do: where, the value, what to do."""
    for index, name in places(competitor.congestion_control):
        kind = name["kind"] if isinstance(name, dict) else name
        where: At = (*at, "congestion_control", *index)
        if kind not in {"cubic", "bbr2"}:
            yield where, name, 's2n-quic has "cubic" and "bbr2"'
        elif isinstance(name, dict) and kind == "bbr2" and len(name) > 1:
            yield where, name, "that of s2n-quic has no options: write its name"
        elif _hystart(name) not in HYSTARTS or (
            isinstance(name, dict) and set(name) - {"kind", "hystart"}
        ):
            yield where, name, 's2n-quic has hystart = "rfc9406" and "on", and no other option'
    for index, mode in places(competitor.ecn) if competitor.ecn is not None else []:
        if mode != "on":
            yield (*at, "ecn", *index), mode, "s2n-quic always sends with ECT(0): leave this out"
    for index, count in places(competitor.ack_packets):
        if count != ACK_PACKETS:
            hint = f"s2n-quic acknowledges every tenth packet: ack_packets = {ACK_PACKETS}"
            yield (*at, "ack_packets", *index), count, hint


def _hystart(congestion_control: str | dict[str, Any]) -> str | None:
    return congestion_control.get("hystart") if isinstance(congestion_control, dict) else None
