"""One live run: namespaces, processes on time, and their tables merged.

-setup   link, servers of iperf3, hosts, clients: each waits until it is set up
0        pings; hosts send from their streams' start
...      clients of iperf3 begin and are interrupted on time
end      pings and iperf3 are interrupted; the parts write their tables and end
"""

from __future__ import annotations

import secrets
import shutil
import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import polars as pl

from gameway.live import competitors, hosts, pings, plan, quic
from gameway.live.chromium import packets, streams
from gameway.live.ends import Ends
from gameway.live.merge import Competition, Parts, merge
from gameway.live.namespaces import clean
from gameway.live.plan import BROWSERS, CLIENT_PART, HOST, LINK, PING, PLAYER, Place
from gameway.live.process import prepared
from gameway.live.processes import Process, Supervisor, TooLate
from gameway.live.screens import Screen, Wanted, home
from gameway.live.sources import BUILT_IN, How, Kind
from gameway.live.video import films, server, videos
from gameway.sweep import folder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from gameway.live.plan import Plan

STOPPING = threading.Event()
"""Set to end the run in flight."""
RAW = "raw"
"""Folder of a run with what its tools printed."""
PARTS = "parts"
"""Folder of the parts' own tables, removed when they are merged."""


def prepare() -> None:
    """Remove what a killed orchestrator left behind."""
    STOPPING.clear()
    clean()


def run_one(
    spec: dict[str, Any],
    recorded: dict[str, Any],
    target: Path,
    how: How = BUILT_IN,
) -> None:
    """Carry out one run into the folder `target`, all or nothing."""
    own = plan.plan_of(spec)
    folder.whole(recorded, target, lambda partial: _carry_out(own, how, partial))


def _carry_out(own: Plan, how: How, target: Path) -> None:
    parts = target / PARTS
    found = _in_time(own, how, target)
    for name, table in merge(found).items():
        table.write_parquet(target / f"{name}.parquet")
    for video in own.videos:
        film = videos.film_of(own, video, how.film)
        videos.write_sizes(film, target / videos.sizes_name(video["name"]))
    for kept in parts.glob(f"{LINK}/packets.*"):
        if how.pcap or kept.name != plan.PCAP:
            kept.rename(target / kept.name)
    shutil.rmtree(parts)


def _in_time(own: Plan, how: How, target: Path) -> Parts:
    """Let a run go by; where its parts are not ready in time, again with twice the time."""
    for factor in (1, *FACTORS):
        PATIENCE.factor = max(PATIENCE.factor, factor)
        try:
            return _let_go_by(own, how, target)
        except TooLate:
            if factor == FACTORS[-1]:
                raise
    raise AssertionError


def _let_go_by(own: Plan, how: How, target: Path) -> Parts:
    """Let a run go by in namespaces of its own, with which all ends that was started in them.

    A part that is ended by a signal cannot end what it has started, such as a browser, which
    would go on to write in the folders of the next attempt.
    """
    with ExitStack() as homes, Ends() as ends:
        ends.connect(len(own.flows))
        for video in own.videos:
            for words in server.routes(own, video):
                ends.execute("server", words)
        supervisor = Supervisor(fresh(target / RAW), STOPPING)
        stage = Stage(own, how, ends, supervisor, fresh(target / PARTS))
        try:
            stage.show(homes)
            stage.set_up(round(own.setup_ns * PATIENCE.factor))
            stage.play()
            return stage.collect()
        finally:
            supervisor.end_all()


@dataclass
class Patience:
    """How many times the usual time the parts of this machine need until they are set up."""

    factor: float = 1.0


PATIENCE = Patience()
"""Learnt once: the runs that follow need not fail first."""
FACTORS = (2, 4, 8)


def fresh(folder: Path) -> Path:
    """Make a folder anew."""
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir()
    return folder


@dataclass
class Stage:
    """The processes of one run, and what is to happen when."""

    plan: Plan
    how: How
    ends: Ends
    supervisor: Supervisor
    parts: Path
    epoch_ns: int = 0
    token: str = field(default_factory=lambda: secrets.token_urlsafe(16))
    folders: list[Path] = field(default_factory=list)
    own: list[Process] = field(default_factory=list)
    """Parts, which end by themselves."""
    clients: dict[str, Process] = field(default_factory=dict)
    """Clients of iperf3, by competitor."""
    servers: dict[str, Process] = field(default_factory=dict)
    pinging: Process | None = None
    screens: dict[str, Screen] = field(default_factory=dict)
    """Of streams whose pictures a program draws."""

    def show(self, homes: ExitStack) -> None:
        """Let the programs that are streamed draw: they may take longer than the parts."""
        if self.how.source.kind is Kind.x11:
            for stream in self.plan.hosted:
                name = stream["name"]
                own = self._folder(f"screen-{name}")
                place = homes.enter_context(home())
                wanted = Wanted(self.how.source.command, hosts.SIZE, place)
                self.screens[name] = Screen.open(self.supervisor, self.ends, name, wanted, own)

    def set_up(self, within_ns: int) -> None:
        """Start all that must be there before time zero, which is so long from now."""
        self.epoch_ns = time.monotonic_ns() + within_ns
        place = Place(str(self.ends.path("server")), str(self.ends.path("client")), self.epoch_ns)
        # What a browser does not tell of its packets, the link's capture does.
        pcap = self.how.pcap or bool(self.plan.browsed)
        self._part(LINK, LINK, "router", plan.link_config(self.plan, place, pcap=pcap))
        for stream in self.plan.hosted:
            screen = self.screens.get(stream["name"])
            source = self.how.source.setting(screen.display if screen else None)
            config = hosts.host_config(self.plan, stream, place, self.token, source)
            host = self._part(f"{HOST}-{stream['name']}", HOST, "server", config)
            host.may_end = bool(stream.get("stop"))
        self._servers()
        for video in self.plan.videos:
            film = videos.film_of(self.plan, video, self.how.film)
            config = videos.player_config(self.plan, video, film, place)
            player = self._part(f"{PLAYER}-{video['name']}", PLAYER, "client", config)
            player.may_end = bool(video.get("stop"))
        for download in self.plan.downloads:
            self._end_of_download(download, quic.SERVER_PART, "server", place)
        for stream in self.plan.browsed:
            config = streams.part_config(self.plan, stream, place)
            self._part(f"{BROWSERS}-{stream['name']}", BROWSERS, "client", config)
        self._wait_ready()
        for stream in self.plan.hosted:
            config = hosts.client_config(self.plan, stream, place, self.token)
            self._part(f"{CLIENT_PART}-{stream['name']}", CLIENT_PART, "client", config)
        for download in self.plan.downloads:
            self._end_of_download(download, quic.CLIENT_PART, "client", place)
        self._wait_ready()

    def play(self) -> None:
        """Let the run go by: each thing at its time."""
        self._route_ecn()
        todo: list[tuple[int, int, Callable[[], None]]] = [
            (0, -1 - number, screen.begin) for number, screen in enumerate(self.screens.values())
        ]
        for one in self.plan.transfers:
            begin, stop = competitors.start_ns(self.plan, one), self.plan.span(one).stop_ns
            todo.append((begin, len(todo), lambda one=one: self._begin(one)))  # type: ignore[misc]
            todo.append((stop, len(todo), lambda one=one: self._stop(one)))  # type: ignore[misc]
        if self.plan.ping_interval_ns is not None:
            todo.append((0, len(todo), self._ping))
        for at_ns, _, act in sorted(todo):
            self.supervisor.sleep_until(self.epoch_ns + at_ns)
            act()
        self.supervisor.sleep_until(self.epoch_ns + self.plan.duration_ns)

    def collect(self) -> Parts:
        """End the tools, let the parts end, and give what all of them left."""
        for screen in self.screens.values():
            screen.end()
        if self.pinging is not None:
            self.supervisor.interrupt(self.pinging)
        for process in self.own:
            process.ended_ns = time.monotonic_ns()
        for process in self.own:
            self.supervisor.finish(process)
        for stream in self.plan.browsed:
            name = stream["name"]
            own, capture = self.parts / f"{BROWSERS}-{name}", self.parts / LINK / plan.PCAP
            packets.add(own, capture, self.plan.address(name))
        found = {one["name"]: self._competition(one) for one in self.plan.transfers}
        found |= {one["name"]: self._watched(one) for one in self.plan.videos}
        found |= {one["name"]: self._downloaded(one) for one in self.plan.downloads}
        return Parts(self.plan.duration_ns, self.folders, found, self._pongs())

    def _end_of_download(
        self, download: dict[str, Any], kind: str, where: str, place: Place
    ) -> None:
        """Start an end of a download over QUIC."""
        name = download["name"]
        certificate = self.parts / f"{quic.SERVER_PART}-{name}" / quic.CERTIFICATE
        config = quic.config(self.plan, download, place, certificate)
        self._part(f"{kind}-{name}", kind, where, config, quic.environment(download))

    def _part(
        self,
        name: str,
        kind: str,
        where: str,
        config: dict[str, Any],
        environment: Mapping[str, str] | None = None,
    ) -> Process:
        """Start a part in its namespace."""
        command = prepared(self.parts, name, kind, config)
        self.folders.append(self.parts / name)
        inside = self.ends.command(where, command)
        process = self.supervisor.start(name, inside, environment=environment)
        self.own.append(process)
        return process

    def _folder(self, name: str) -> Path:
        """Make the folder of a part, whose tables are merged."""
        own = self.parts / name
        own.mkdir()
        self.folders.append(own)
        return own

    def _wait_ready(self) -> None:
        """Wait until all parts that were started are set up."""
        for process in self.own:
            self.supervisor.wait_ready(process, self.epoch_ns)

    def _servers(self) -> None:
        for one in self.plan.transfers:
            self._server(one, competitors.server_command(self.plan, one), may_end=True)
        for one in self.plan.videos:
            own = self._folder(f"{server.NAME}-{one['name']}")
            film = films.kept(videos.film_of(self.plan, one, self.how.film))
            self._server(one, server.command(self.plan, one, film, own))
        ports = dict.fromkeys((one["name"] for one in self.plan.videos), plan.HTTP_PORT)
        for name, started in self.servers.items():
            port = ports.get(name, plan.IPERF_PORT)
            self.supervisor.wait_listening(started, port, self.epoch_ns)

    def _server(self, one: dict[str, Any], command: list[str], *, may_end: bool = False) -> None:
        inside = self.ends.command("server", command)
        name = one["name"]
        self.servers[name] = self.supervisor.start(f"{name}-server", inside, may_end=may_end)

    def _route_ecn(self) -> None:
        for one in self.plan.competitors:
            if competitors.asks_for_ecn(one):
                address = self.plan.address(one["name"])
                self.ends.execute(
                    "client", ["ip", "route", "replace", f"{address}/32", "dev", plan.DEVICE,
                               "features", "ecn"]
                )  # fmt: skip

    def _begin(self, competitor: dict[str, Any]) -> None:
        command = competitors.client_command(self.plan, competitor)
        inside = self.ends.command("client", command)
        ends = bool(competitor.get("bytes"))
        name = competitor["name"]
        self.clients[name] = self.supervisor.start(name, inside, may_end=ends)

    def _stop(self, competitor: dict[str, Any]) -> None:
        """Interrupt a competitor; its server then ends by itself."""
        name = competitor["name"]
        self.supervisor.interrupt(self.clients[name])

    def _ping(self) -> None:
        command = pings.command(self.plan, self.plan.address(PING))
        inside = self.ends.command("client", command)
        self.pinging = self.supervisor.start(PING, inside)

    def _competition(self, competitor: dict[str, Any]) -> Competition:
        """What iperf3 told: its client is the one that was interrupted, and knows when it began."""
        client, server = (kind[competitor["name"]] for kind in (self.clients, self.servers))
        at_client = competitors.intervals(client.out)
        start_ns = competitors.began_ns(client, at_client, self.epoch_ns)
        self.supervisor.interrupt(server)
        at_server = competitors.intervals(server.out)
        if plan.goes_up(competitor):
            return Competition(start_ns, received=at_server, sent=at_client)
        return Competition(start_ns, received=at_client, sent=at_server)

    def _watched(self, video: dict[str, Any]) -> Competition:
        """What a player told, which has written its own tables."""
        self.supervisor.interrupt(self.servers[video["name"]])
        folder = self.parts / f"{PLAYER}-{video['name']}"
        return Competition(0, videos.received(pl.read_parquet(folder / "segments.parquet")))

    def _downloaded(self, download: dict[str, Any]) -> Competition:
        """What the receiver of a download told; its sender has written its own tables."""
        kind = quic.SERVER_PART if plan.goes_up(download) else quic.CLIENT_PART
        name = f"{kind}-{download['name']}"
        receiver = next(process for process in self.own if process.name == name)
        return Competition(0, quic.received(receiver.out))

    def _pongs(self) -> list[pings.Pong]:
        interval = self.plan.ping_interval_ns
        if self.pinging is None or interval is None:
            return []
        return pings.told(self.pinging.out, self.epoch_ns, interval, self.plan.duration_ns)
