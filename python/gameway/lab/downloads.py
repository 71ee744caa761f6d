"""Other traffic of a session, which comes and goes as its boxes are ticked.

Each of a kind has a flow of its own in the tables, however often it comes. iperf3 carries out those
over TCP, s2n-quic that over QUIC, and a video is dash.js in a browser, as in a live run
(`gameway.live`). A browser takes its time to end: who switches the video off does not wait for it.
"""

from __future__ import annotations

import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import polars as pl

from gameway import _core
from gameway.errors import GamewayError
from gameway.lab.filming import Filming
from gameway.lab.kinds import KINDS, VIEW, film
from gameway.live import competitors, quic
from gameway.live.merge import Competition
from gameway.live.plan import HTTP_PORT, IPERF_PORT, PLAYER, QUIC, VIDEO
from gameway.live.process import prepared
from gameway.live.processes import is_ready, listens
from gameway.live.schema import SEGMENTS
from gameway.live.video import films, server, videos

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gameway.live.ends import Ends
    from gameway.live.plan import Place, Plan
    from gameway.live.processes import Process, Supervisor

END_S = 10.0
"""Longer no end of a download takes to write its tables."""


@dataclass
class Visit:
    """One stay of a download."""

    name: str
    """Of its processes."""
    competitor: dict[str, Any]
    server: Process
    client: Process | None = None
    """None until the server is set up."""
    start_ns: int = 0
    """Of the client, since the session's start."""
    stop_ns: int = 0
    folders: list[Path] = field(default_factory=list)
    """Of the parts, which have tables."""
    told: Competition | None = None
    """What it came to, once that was read."""

    @property
    def is_quic(self) -> bool:
        """Whether its ends are parts."""
        return bool(self.competitor["kind"] == QUIC)

    @property
    def is_video(self) -> bool:
        """Whether its client is a part with a browser."""
        return bool(self.competitor["kind"] == VIDEO)

    @property
    def processes(self) -> list[Process]:
        """Those that were started, the client first."""
        return [*([self.client] if self.client is not None else []), self.server]


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
    leaving: list[Visit] = field(default_factory=list)
    """Videos whose browsers are still ending."""
    awaited: list[str] = field(default_factory=list)
    """Wanted, but their films are still being encoded."""
    visits: int = 0

    def __post_init__(self) -> None:
        self.filming = Filming(self.supervisor)

    @property
    def names(self) -> list[str]:
        """Those that this session has flows for: what the machine offered when it began."""
        return [one["name"] for one in self.plan.competitors]

    @property
    def wanted(self) -> list[str]:
        """Those that are there, and those that are about to be."""
        return [*self.there, *self.awaited]

    @property
    def remarks(self) -> dict[str, str]:
        """What is to be said beside the box of a download."""
        return self.filming.remarks()

    def set(self, wanted: list[str]) -> None:
        """Let these be there, and no other."""
        self.awaited = [one for one in self.awaited if one in wanted]
        for name in [one for one in self.there if one not in wanted]:
            self._end(name)
        for name in [one for one in wanted if one not in self.wanted]:
            if KINDS[name].get("kind") == VIDEO and not self.filming.is_there(name):
                self.awaited.append(name)
            else:
                self.there[name] = self._begin(name)

    def finish(self) -> None:
        """End all, and wait until they have written what they have."""
        self.set([])
        self.filming.finish()
        end = time.monotonic() + END_S
        for visit in self.leaving:
            with suppress(subprocess.TimeoutExpired):
                _player(visit).popen.wait(max(end - time.monotonic(), 0))
            self._see_off(visit)
        self.leaving.clear()

    def prepare(self) -> None:
        """Say by routes which congestion control a video has."""
        for one in self.plan.videos:
            for words in server.routes(self.plan, one):
                self.ends.execute("server", words)

    def look(self) -> list[str]:
        """Let clients begin whose servers are set up; give what those said that have ended."""
        told: list[str] = []
        for name in self.filming.ended():
            self._has_film(name)
        for visit in self._ended():
            self.leaving.remove(visit)
            self._see_off(visit)
        for name, visit in list(self.there.items()):
            ended = [one for one in visit.processes if not one.alive]
            if ended:
                said = ended[0].last_words().splitlines()[-1]
                told.append(f"the download {name} has ended: {said}")
                self._end(name)
            elif visit.client is None and self._is_set_up(visit):
                self._fetch(visit)
        return told

    def _has_film(self, name: str) -> None:
        """Let a download begin whose film is there, if it is still wanted."""
        is_wanted = name in self.awaited
        self.awaited = [one for one in self.awaited if one != name]
        # Why there is none stands beside its box.
        if is_wanted and name not in self.filming.failures:
            self.there[name] = self._begin(name)

    def competitions(self) -> dict[str, Competition]:
        """Give what came of each, of all its stays."""
        return {name: _joined([self._told_once(one) for one in visits])
                for name, visits in self.gone.items()}  # fmt: skip

    def stays(self) -> dict[str, list[tuple[int, int]]]:
        """Give beginning and end of each stay of each that was there."""
        found = {name: sorted(_stays(visits)) for name, visits in self.gone.items()}
        return {name: stays for name, stays in found.items() if stays}

    def since(self) -> dict[str, int]:
        """Give when each began that is there, and whose bytes the link alone knows so far."""
        return {
            name: visit.start_ns
            for name, visit in self.there.items()
            if visit.client is not None and not visit.is_video
        }

    def changes(self) -> tuple[object, ...]:
        """Give what differs once one has come or gone, and in no other case."""
        return sum(map(len, self.gone.values())), tuple(self.since().items())

    def folders(self) -> list[Path]:
        """Give the folders of parts with tables."""
        return [one for visits in self.gone.values() for visit in visits for one in visit.folders]

    def _begin(self, name: str) -> Visit:
        """Start a download's server; its client follows in [`look`]."""
        self.visits += 1
        found = next(one for one in self.plan.competitors if one["name"] == name)
        competitor = found | {"start": _core.format_duration(self._now_ns())}
        own = f"{name}-{self.visits}"
        if competitor["kind"] == QUIC:
            process, folder = self._part(quic.SERVER_PART, "server", own, competitor)
            return Visit(own, competitor, process, folders=[folder])
        if competitor["kind"] == VIDEO:
            for one in self.leaving:
                # It has the address that the new server needs.
                self.supervisor.interrupt(one.server)
            folder = self.parts / f"{server.NAME}-{own}"
            folder.mkdir()
            serve = server.command(self.plan, competitor, films.kept(film(competitor)), folder)
        else:
            serve = competitors.server_command(self.plan, competitor)
        return Visit(own, competitor, self._start(f"{own}-server", "server", serve))

    def _is_set_up(self, visit: Visit) -> bool:
        if visit.is_quic:
            return is_ready(visit.server)
        return listens(visit.server.popen.pid, HTTP_PORT if visit.is_video else IPERF_PORT)

    def _fetch(self, visit: Visit) -> None:
        """Start a download's client."""
        visit.start_ns = self._now_ns()
        if visit.is_quic:
            found = self._part(quic.CLIENT_PART, "client", visit.name, visit.competitor)
            visit.client = found[0]
            visit.folders.append(found[1])
        elif visit.is_video:
            own = f"{PLAYER}-{visit.name}"
            shown = film(visit.competitor)
            config = videos.player_config(self.plan, visit.competitor, shown, self.place)
            command = prepared(self.parts, own, PLAYER, config | {"size": VIEW})
            # A browser that is killed leaves files there.
            visit.client = self._start(own, "client", command, {"TMPDIR": str(self.parts)})
            visit.folders.append(self.parts / own)
        else:
            command = competitors.client_command(self.plan, visit.competitor)
            visit.client = self._start(visit.name, "client", command)

    def _part(
        self, kind: str, where: str, name: str, competitor: dict[str, Any]
    ) -> tuple[Process, Path]:
        """Start an end of a download over QUIC; give its folder, too."""
        own = f"{kind}-{name}"
        certificate = self.parts / f"{quic.SERVER_PART}-{name}" / quic.CERTIFICATE
        config = quic.config(self.plan, competitor, self.place, certificate)
        command = prepared(self.parts, own, kind, config)
        return self._start(own, where, command, quic.environment(competitor)), self.parts / own

    def _now_ns(self) -> int:
        return time.monotonic_ns() - self.place.epoch_ns

    def _start(
        self, name: str, where: str, command: list[str], environment: dict[str, str] | None = None
    ) -> Process:
        inside = self.ends.command(where, command)
        started = self.supervisor.start(name, inside, may_end=True, environment=environment)
        # It is looked after here: a session goes on without a download.
        self.supervisor.processes.remove(started)
        return started

    def _end(self, name: str) -> None:
        visit = self.there.pop(name)
        visit.stop_ns = self._now_ns()
        if visit.is_video and visit.client is not None and visit.client.alive:
            visit.client.signal(signal.SIGTERM)
            self.leaving.append(visit)
        else:
            self._see_off(visit)

    def _ended(self) -> list[Visit]:
        """Give the videos whose browsers have ended, or have had long enough to."""
        latest = self._now_ns() - END_S * 1e9
        return [one for one in self.leaving if not _player(one).alive or one.stop_ns < latest]

    def _see_off(self, visit: Visit) -> None:
        """End the processes of a stay that is over."""
        if visit.is_video and visit.client is not None and visit.client.alive:
            visit.client.popen.kill()
        for process in visit.processes:
            try:
                if visit.is_quic:
                    process.signal(signal.SIGTERM)
                    process.popen.wait(END_S)
                else:
                    self.supervisor.interrupt(process)
            except (GamewayError, subprocess.TimeoutExpired):
                process.popen.kill()
                process.popen.wait()
        self.gone.setdefault(visit.competitor["name"], []).append(visit)

    def _told_once(self, visit: Visit) -> Competition:
        """What one stay came to, which does not change any more."""
        if visit.told is None:
            visit.told = self._told(visit)
        return visit.told

    def _told(self, visit: Visit) -> Competition:
        """What one stay came to; nothing where it left no report."""
        if visit.client is None:
            return Competition(0, [])
        if visit.is_video:
            return Competition(0, videos.received(_segments(visit)))
        if visit.is_quic:
            try:
                return Competition(0, quic.received(visit.client.out))
            except (ValueError, IndexError, KeyError):
                return Competition(0, [])
        try:
            at_client = competitors.intervals(visit.client.out)
            sent = competitors.intervals(visit.server.out)
        except GamewayError:
            return Competition(visit.start_ns, [])
        start_ns = competitors.began_ns(visit.client, at_client, self.place.epoch_ns)
        return Competition(start_ns, received=at_client, sent=sent)


def _player(visit: Visit) -> Process:
    """Give the browser of a video that is leaving: it was there."""
    assert visit.client is not None  # noqa: S101 (see `_end`)
    return visit.client


def _segments(visit: Visit) -> pl.DataFrame:
    """Give what a player fetched; nothing where its browser failed."""
    file = visit.folders[0] / "segments.parquet"
    return pl.read_parquet(file) if file.is_file() else pl.DataFrame(schema=SEGMENTS)


def _stays(visits: list[Visit]) -> Iterator[tuple[int, int]]:
    """Give beginning and end of those that came to a transfer.

    A video begins with its first request, since a browser takes seconds to load.
    """
    for visit in visits:
        if visit.client is None:
            continue
        begun = _segments(visit)["requested_ns"].min() if visit.is_video else visit.start_ns
        if isinstance(begun, int):
            yield begun, visit.stop_ns


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
