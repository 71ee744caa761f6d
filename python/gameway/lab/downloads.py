"""Other traffic of a session, which comes and goes as its boxes are ticked.

Each of a kind has a flow of its own in the tables, however often it comes. iperf3 carries out those
over TCP, s2n-quic that over QUIC, as in a live run (`gameway.live`).
"""

from __future__ import annotations

import json
import shutil
import signal
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gameway import _core
from gameway.errors import GamewayError
from gameway.live import competitors, offers, quic
from gameway.live.merge import Competition
from gameway.live.plan import IPERF_PORT, QUIC
from gameway.live.process import program

if TYPE_CHECKING:
    from pathlib import Path

    from gameway.live.ends import Ends
    from gameway.live.plan import Place, Plan
    from gameway.live.processes import Process, Supervisor

KINDS: dict[str, dict[str, str]] = {
    "cubic": {"congestion_control": "cubic"},
    "bbr": {"congestion_control": "bbr"},
    "quic": {"kind": QUIC, "congestion_control": "cubic"},
}
"""What each is, as a competitor of an experiment file."""
READY_S = 10.0


def offered() -> list[str]:
    """Give what this machine can do."""
    kernel = offers.algorithms() if shutil.which("iperf3") else []
    streams = bool(_core.encoders())

    def has(one: dict[str, str]) -> bool:
        return streams if one.get("kind") == QUIC else one["congestion_control"] in kernel

    return [name for name, one in KINDS.items() if has(one)]


@dataclass
class Visit:
    """One stay of a download."""

    number: int
    start_ns: int
    """Since the session's start."""
    server: Process
    client: Process
    folders: list[Path] = field(default_factory=list)
    """Of the parts, which have tables."""


@dataclass
class Downloads:
    """Those that are there, and those that were."""

    plan: Plan
    place: Place
    ends: Ends
    supervisor: Supervisor
    parts: Path
    there: dict[str, Visit] = field(default_factory=dict)
    gone: dict[str, list[Visit]] = field(default_factory=dict)
    visits: int = 0

    def set(self, wanted: list[str]) -> None:
        """Let these be there, and no other."""
        for name in [one for one in self.there if one not in wanted]:
            self._end(name)
        for name in [one for one in wanted if one not in self.there]:
            self.there[name] = self._begin(name)

    def look(self) -> list[str]:
        """Forget those that have ended by themselves; give their names with what they said."""
        ended = [name for name, visit in self.there.items()
                 if not (visit.client.alive and visit.server.alive)]  # fmt: skip
        told = []
        for name in ended:
            visit = self.there[name]
            said = visit.client.last_words().splitlines()[-1]
            told.append(f"the download {name} has ended: {said}")
            self._end(name)
        return told

    def competitions(self) -> dict[str, Competition]:
        """Give what came of each, of all its stays."""
        return {name: _joined([self._told(name, one) for one in visits])
                for name, visits in self.gone.items()}  # fmt: skip

    def folders(self) -> list[Path]:
        """Give the folders of parts with tables."""
        return [one for visits in self.gone.values() for visit in visits for one in visit.folders]

    def _begin(self, name: str) -> Visit:
        self.visits += 1
        competitor = self._competitor(name)
        begin = self._quic if competitor["kind"] == QUIC else self._iperf
        return begin(competitor, f"{name}-{self.visits}")

    def _competitor(self, name: str) -> dict[str, Any]:
        """Give a download that begins now, as a run has it."""
        found = next(one for one in self.plan.competitors if one["name"] == name)
        return found | {"start": _core.format_duration(self._now_ns())}

    def _now_ns(self) -> int:
        return time.monotonic_ns() - self.place.epoch_ns

    def _iperf(self, competitor: dict[str, Any], name: str) -> Visit:
        serve = competitors.server_command(self.plan, competitor)
        server = self._start(f"{name}-server", "server", serve)
        self.supervisor.wait_listening(server, IPERF_PORT, self._soon_ns())
        fetch = competitors.client_command(self.plan, competitor)
        return Visit(self.visits, self._now_ns(), server, self._start(name, "client", fetch))

    def _quic(self, competitor: dict[str, Any], name: str) -> Visit:
        ends = []
        for kind, where in ((quic.SERVER_PART, "server"), (quic.CLIENT_PART, "client")):
            own = self.parts / f"{kind}-{name}"
            own.mkdir()
            certificate = self.parts / f"{quic.SERVER_PART}-{name}" / quic.CERTIFICATE
            config = quic.config(self.plan, competitor, self.place, certificate)
            file = own.with_suffix(".json")
            file.write_text(json.dumps(config | {"folder": str(own)}), encoding="utf-8")
            command = program(kind, file)
            ends.append((self._start(own.name, where, command, quic.environment(competitor)), own))
            self.supervisor.wait_ready(ends[-1][0], self._soon_ns())
        (server, served), (client, fetched) = ends
        return Visit(self.visits, self._now_ns(), server, client, [served, fetched])

    def _start(
        self, name: str, where: str, command: list[str], environment: dict[str, str] | None = None
    ) -> Process:
        inside = self.ends.command(where, command)
        started = self.supervisor.start(name, inside, may_end=True, environment=environment)
        # It is looked after here: a session goes on without a download.
        self.supervisor.processes.remove(started)
        return started

    def _soon_ns(self) -> int:
        return time.monotonic_ns() + round(READY_S * 1e9)

    def _end(self, name: str) -> None:
        visit = self.there.pop(name)
        for process in (visit.client, visit.server):
            try:
                if visit.folders:
                    process.signal(signal.SIGTERM)
                    process.popen.wait(READY_S)
                else:
                    self.supervisor.interrupt(process)
            except Exception:  # noqa: BLE001 (what does not end is ended)
                process.popen.kill()
                process.popen.wait()
        self.gone.setdefault(name, []).append(visit)

    def _told(self, name: str, visit: Visit) -> Competition:
        """What one stay came to; nothing where it left no report."""
        if KINDS[name].get("kind") == QUIC:
            try:
                return Competition(0, quic.received(visit.client.out))
            except (ValueError, IndexError, KeyError):
                return Competition(0, [])
        try:
            at_client = competitors.intervals(visit.client.out)
            sent = competitors.intervals(visit.server.out)
        except GamewayError:
            return Competition(visit.start_ns, [])
        ended_ns = (visit.client.ended_ns or time.monotonic_ns()) - self.place.epoch_ns
        start_ns = ended_ns - round(at_client[-1].stop_s * 1e9)
        return Competition(start_ns, received=at_client, sent=sent)


def _joined(stays: list[Competition]) -> Competition:
    """Put the stays of a download on one clock."""
    received, sent = (
        [competitors.Interval(**{**vars(one),
                                 "start_s": one.start_s + stay.start_ns / 1e9,
                                 "stop_s": one.stop_s + stay.start_ns / 1e9})
         for stay in stays for one in getattr(stay, which)]
        for which in ("received", "sent")
    )  # fmt: skip
    return Competition(0, received, sent)
