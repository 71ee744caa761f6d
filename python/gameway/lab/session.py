"""The processes of a session, started in order, watched, and ended in order.

link   ──► host (gameway play) ──► desk: what the page asks
                                   every half second: the path's totals, downloads, scenario
"""

from __future__ import annotations

import signal
import sys
import time
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event
from typing import TYPE_CHECKING, Any

from gameway.caller import caller, owns
from gameway.errors import GamewayError, InputError
from gameway.expansion import expanded
from gameway.lab import copying, keeping, knobs, scenario
from gameway.lab.account import PARTS, RAW, Account
from gameway.lab.copying import Copying
from gameway.lab.desk import Counter, Desk
from gameway.lab.downloads import Downloads
from gameway.lab.host import Host
from gameway.lab.kinds import KINDS, lacking
from gameway.lab.knobs import CONTROLLER, DOWNLOADS
from gameway.lab.link import LinkControl
from gameway.lab.ways import Ways
from gameway.lab.words import DEFAULT_OUT, options
from gameway.live import namespaces, offers, pings, plan
from gameway.live.plan import LINK, PING, Place
from gameway.live.process import prepared
from gameway.live.processes import Stopped, Supervisor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gameway.lab.scenario import Scenario
    from gameway.lab.words import Words
    from gameway.live.plan import Plan
    from gameway.live.processes import Process

TICK_S = 0.5
LOOK_S = 0.1
"""How often it is looked whether the session shall end."""
START_S = 60.0
"""Longer no host takes to start its program."""
LONG_NS = 24 * 3600 * 1_000_000_000
"""A session lasts no longer; the controls of its parts end it before."""
FIRST_BYTES = 100_000
"""Who has received so much of the stream plays: the scenario begins."""
DEFAULT_CONTROLLER = "pudica"
TITLE = "Played"
USAGE = """\
Usage: gameway play --lab [OPTIONS] [OPTIONS OF gameway play] [COMMAND]

Play behind a path of the lab, whose knobs are on the page. Needs root.
"""


def play(words: Words) -> int:
    """Play behind a path until Ctrl-C or the end of the program; give the exit code."""
    told = scenario.load(words.scenario) if words.scenario is not None else None
    _look_for_unfinished(words.out)
    namespaces.require()
    offers.check_tools(["ip", "nsenter", "setpriv", "sysctl", "ping"])
    namespaces.clean()
    stopping = Event()
    with ExitStack() as stack:
        stack.enter_context(_stopped_by_signals(stopping))
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="gameway-lab-")))
        ways = stack.enter_context(Ways(words.port, folder, here=words.here))
        session = Session(words, told, ways, folder, stopping)
        try:
            return session.carry_out()
        finally:
            session.end()


@contextmanager
def _stopped_by_signals(stopping: Event) -> Iterator[None]:
    """Let Ctrl-C, SIGTERM and SIGHUP end the session in order."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, lambda *_: stopping.set()) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class Session:
    """What runs, and what is known of it."""

    def __init__(
        self, words: Words, told: Scenario | None, ways: Ways, folder: Path, stopping: Event
    ) -> None:
        self.words, self.scenario, self.ways, self.stopping = words, told, ways, stopping
        begin = told.start.knobs() if told is not None else {}
        path_knobs = {name: value for name, value in begin.items() if name in knobs.KNOBS}
        self.first = knobs.defaults() | words.knobs | path_knobs
        """The knobs of the path at the beginning."""
        self.traces = words.traces | (told.traces if told is not None else {})
        self.parts, raw = folder / PARTS, folder / RAW
        for one in (self.parts, raw):
            one.mkdir()
        self.socket = folder / "desk"
        self.supervisor = Supervisor(raw, stopping)
        # The times of a scenario hold from its first session on.
        self.lacking = lacking(print, told.downloads if told is not None else ())
        """Downloads that this machine cannot do, with the reason."""
        self.check_downloads()
        self.plan = self._plan(LONG_NS)
        self.place = Place(str(ways.path("server")), str(ways.path("client")), time.monotonic_ns())
        self.downloads = Downloads(self.plan, self.place, ways, self.supervisor, self.parts)
        self.host: Host | None = None
        self.link: Process | None = None
        self.pinging: Process | None = None
        self.copying = Copying(folder, self._out())
        self.copied: tuple[object, ...] | None = None
        """What had changed when the account was copied last."""

    def carry_out(self) -> int:
        """Start all, let it go by, end it, and keep it if that is wanted."""
        self.ways.connect(len(self.plan.flows))
        self.downloads.prepare()
        link = LinkControl(self._start_link())
        self._start_pings()
        self.host = self._start_host()
        try:
            controller, known = self._controllers(self.host)
            turned = {**self.first, CONTROLLER: controller, DOWNLOADS: []}
            desk = Desk(link, self.downloads, self.host.choose, known, turned, self.place.epoch_ns,
                        self.scenario, self.traces, self.lacking, keep=self.words.keep)  # fmt: skip
            with Counter(self.socket, desk):
                if self.scenario is not None and self.scenario.start.controller is not None:
                    desk.turn({CONTROLLER: self.scenario.start.controller})
                    controller = desk.turned[CONTROLLER]
                self._go_by(desk, self.host, controller)
        except Stopped:
            return self.host.end()
        duration_ns = time.monotonic_ns() - self.place.epoch_ns
        code = self.host.end()
        link.close()
        self._end_parts()
        if desk.keep:
            self._keep(self._account(desk, controller), duration_ns)
        self.copying.drop()
        return code

    def end(self) -> None:
        """End what is left."""
        self.copying.end()
        if self.host is not None:
            self.host.end()
        with suppress(GamewayError):
            self.downloads.finish()
        self.supervisor.end_all()

    def check_downloads(self) -> None:
        """Refuse a scenario with a download that this machine cannot do."""
        wanted = self.scenario.downloads if self.scenario is not None else set()
        for name in sorted(wanted & self.lacking.keys()):
            raise InputError(f"cannot be: {self.lacking[name]}", file=self.words.scenario,
                             field=DOWNLOADS, value=name)  # fmt: skip

    def _plan(self, duration_ns: int) -> Plan:
        names = [name for name in KINDS if name not in self.lacking]
        course = keeping.Course({name: [] for name in names}, traces=self.traces)
        played = keeping.played(self.first, DEFAULT_CONTROLLER, duration_ns, TITLE, course)
        return plan.plan_of(expanded(played).runs[0].spec)

    def _start_link(self) -> Path:
        """Start the link; give the socket of its control."""
        control = self.parts / "control"
        config = plan.link_config(self.plan, self.place) | {
            "control": str(control),
            "keep_interval": copying.WRITE_INTERVAL,
        }
        del config["duration"]
        self.link = self.supervisor.start(LINK, prepared(self.parts, LINK, LINK, config))
        self.supervisor.wait_ready(self.link, _in_s(START_S))
        return control

    def _start_pings(self) -> None:
        command = pings.command(self.plan, self.plan.address(PING))
        inside = self.ways.command("client", command)
        self.pinging = self.supervisor.start(PING, inside, may_end=True)

    def _start_host(self) -> Host:
        settings: dict[str, object] = {
            "lab": str(self.socket),
            "addresses": self.ways.pages,
            "media_addresses": self.ways.media,
            "epoch_ns": self.place.epoch_ns,
            "keep_interval": copying.WRITE_INTERVAL,
        }
        (self.parts / "host").mkdir()
        user = caller()
        if user is not None:
            # The host is the caller's: it writes there, and asks at the desk.
            user.give(self.parts.parent)
        return Host.start(self.ways, self.words.play, settings, self.parts)

    def _controllers(self, host: Host) -> tuple[str, list[str]]:
        """Wait until the host is there; give its controller, and those that there are."""
        end = time.monotonic() + START_S
        while True:
            if host.popen.poll() is not None or self.stopping.is_set():
                raise Stopped("the host has ended")
            try:
                return host.controllers()
            except GamewayError:
                if time.monotonic() > end:
                    raise
            time.sleep(0.1)

    def _go_by(self, desk: Desk, host: Host, controller: str) -> None:
        """Look after all until the host ends, or until it is asked to stop."""
        next_s = time.monotonic()
        while host.popen.poll() is None:
            with suppress(Stopped):
                self.supervisor.watch()
            if self.stopping.is_set():
                return
            desk.serve(min(next_s - time.monotonic(), LOOK_S))
            if time.monotonic() < next_s:
                continue
            next_s += TICK_S
            desk.tick()
            self._copy(desk, controller)
            if self.scenario is not None and _received(desk) > FIRST_BYTES:
                desk.begin()

    def _end_parts(self) -> None:
        """Let downloads, pings and the link write what they have."""
        self.downloads.finish()
        if self.pinging is not None:
            self.supervisor.interrupt(self.pinging)
        if self.link is not None:
            self.link.signal(signal.SIGTERM)
            self.supervisor.finish(self.link)

    def _copy(self, desk: Desk, controller: str) -> None:
        """Have the session on the disk as it goes, while it is to be kept."""
        if not desk.keep:
            self.copying.drop()
            self.copied = None
            return
        # It grows with all downloads that have ended, so it is made anew only where it differs.
        changes = (len(desk.log), tuple(desk.answers.items()), self.downloads.changes())
        try:
            if changes != self.copied:
                self.copying.account(self._account(desk, controller).text())
                self.copied = changes
        except GamewayError as error:
            desk.note = str(error)
        desk.note = self.copying.problem or desk.note

    def _account(self, desk: Desk, controller: str) -> Account:
        """Give what is known of the session now."""
        return Account(
            title=self.scenario.title if self.scenario is not None else TITLE,
            first=self.first,
            controller=controller,
            traces=self.traces,
            epoch_wall_ns=time.time_ns() - time.monotonic_ns() + self.place.epoch_ns,
            ping_interval_ns=self.plan.ping_interval_ns,
            folders=[LINK, "host", *(one.name for one in self.downloads.folders())],
            turns=list(desk.turns().items()),
            log=desk.log,
            answers=keeping.answers(desk),
            competitions=self.downloads.competitions(),
            stays=self.downloads.stays(),
            there=self.downloads.since(),
        )

    def _keep(self, account: Account, duration_ns: int) -> None:
        """Write the result folder and its report."""
        from gameway import report  # noqa: PLC0415 (heavy; play must be quick)

        self.copying.end()
        out = self.copying.out
        with owns(out):
            results = keeping.keep(account.session(self.parts.parent, duration_ns), out)
            copying.remove(out)
            page = results.path / "report.html"
            report.write(results, page, save_files=False)
        print(f"kept: {page}")  # noqa: T201 (a command tells)

    def _out(self) -> Path:
        """Where the session is kept: each in a folder of its own, unless one is named."""
        if self.words.out != DEFAULT_OUT:
            return self.words.out
        return DEFAULT_OUT / datetime.now(UTC).strftime("%Y%m%d-%H%M%S")


def _look_for_unfinished(out: Path) -> None:
    """Refuse a folder that is taken; where none is named, tell of sessions that were not ended."""
    if out != DEFAULT_OUT:
        copying.refuse_taken(out)
        return
    for one in sorted(DEFAULT_OUT.glob("*")):
        if copying.is_there(one):
            told = f"note: a session was not ended in order: `gameway report {one}` completes it"
            print(told)  # noqa: T201 (a command tells)


def _received(desk: Desk) -> int:
    """Bytes of the stream that have passed the path."""
    flows: list[dict[str, Any]] = desk.figures.told[-1]["flows"] if desk.figures.told else []
    return sum(flow["arrived_bytes"] for flow in flows if flow["name"] == keeping.STREAM)


def _in_s(seconds: float) -> int:
    return time.monotonic_ns() + round(seconds * 1e9)


def main(words: Words) -> None:
    """Play, and leave with the exit code."""
    if words.help:
        told = [f"  {option:<22} {sentence}" for option, sentence in options()]
        text = "\n".join([USAGE, *told])
        print(text)  # noqa: T201 (a command's help)
        sys.exit(0)
    sys.exit(play(words))
