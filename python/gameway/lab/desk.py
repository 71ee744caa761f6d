"""What the page asks is answered here: the state of the lab, knobs that are turned, answers.

The host hands each request of a browser that is let in to a Unix socket, as one line of JSON
(`crates/product/webrtc/src/http/lab.rs`):

    {}                                        what there is
    {"knobs": {"capacity": "10 Mb/s"}}        turn these
    {"keep": true}                            keep the session
    {"answers": {"overall": 4}}               after a scenario

The answer is the whole state, or {"error": "..."} and nothing was done. Threads of the socket wait;
the session's own thread does all there is to do, since what a thread starts ends with that thread
(PR_SET_PDEATHSIG).
"""

from __future__ import annotations

import json
import socketserver
import time
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Empty, Queue
from threading import Thread
from typing import TYPE_CHECKING, Any

from gameway.caller import caller
from gameway.errors import GamewayError, InputError
from gameway.lab import knobs
from gameway.lab.figures import Figures
from gameway.lab.knobs import CAPACITY, CONTROLLER, DOWNLOADS, KNOBS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from gameway.lab.downloads import Downloads
    from gameway.lab.link import LinkControl
    from gameway.lab.scenario import Scenario

QUESTION_BYTES = 65536
ANSWER_S = 4.0
"""Less than the host waits."""


@dataclass
class Desk:
    """See the module's head."""

    link: LinkControl
    downloads: Downloads
    choose_controller: Callable[[str], None]
    """Tells the host; GamewayError with the host's words if it refuses."""
    controllers: list[str]
    turned: dict[str, Any]
    """All knobs, as they stand."""
    epoch_ns: int
    scenario: Scenario | None = None
    traces: knobs.Traces = field(default_factory=dict)
    """Recorded capacities that can be chosen."""
    lacking: Mapping[str, str] = field(default_factory=dict)
    """Downloads that this machine cannot do, with the reason."""
    keep: bool = False
    note: str | None = None
    log: list[tuple[int, str, str]] = field(default_factory=list)
    """When which knob was turned to what, since the session's start."""
    answers: dict[str, int] = field(default_factory=dict)
    figures: Figures = field(default_factory=Figures)
    begun_ns: int | None = None
    """When the scenario began."""
    steps_done: int = 0
    inbox: Queue[tuple[dict[str, Any], Future[dict[str, Any]]]] = field(default_factory=Queue)
    """Requests, and where their answers go. No SimpleQueue: where a signal comes and its time is
    over before it waits again, one of CPython 3.11 waits for ever."""

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Have a request done by the session's thread; GamewayError if it cannot be."""
        answer: Future[dict[str, Any]] = Future()
        self.inbox.put((request, answer))
        try:
            return answer.result(ANSWER_S)
        except TimeoutError:
            raise GamewayError("the lab is busy; try again") from None

    def serve(self, seconds: float) -> None:
        """Do what is asked for so long."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            try:
                request, answer = self.inbox.get(timeout=left)
            except Empty:
                return
            try:
                answer.set_result(self.do(request))
            except Exception as error:  # noqa: BLE001 (it is for who asked)
                answer.set_exception(error)

    def do(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Do what is asked, and give the state; GamewayError if it cannot be done."""
        unknown = set(request) - {"knobs", "keep", "answers"}
        if unknown:
            raise InputError("is no request", value=min(unknown), hint="see docs/play.md")
        if "knobs" in request:
            self._asked_to_turn(request["knobs"])
        if "keep" in request:
            self.keep = request["keep"] is True
        if "answers" in request:
            self._answered(request["answers"])
        return self.state()

    def turn(self, values: Mapping[str, Any]) -> None:
        """Turn knobs: those of the path all or none, then the controller, then the downloads."""
        new = {name: value for name, value in values.items() if value != self.turned[name]}
        of_path = {name: value for name, value in new.items() if name in KNOBS}
        if of_path:
            told = self.link.set(knobs.changes(of_path, self.turned, self.traces))
            self._note(of_path, told["at_ns"])
        if CONTROLLER in new:
            self.choose_controller(new[CONTROLLER])
            self._note({CONTROLLER: new[CONTROLLER]})
        if DOWNLOADS in new:
            self.downloads.set(new[DOWNLOADS])
            self._note({DOWNLOADS: new[DOWNLOADS]})

    def tick(self) -> None:
        """Look at the path, at what has ended, and at what the scenario does next."""
        self.figures.add(self.link.tell())
        for told in self.downloads.look():
            self.note = told
        wanted = self.downloads.wanted
        if set(wanted) != set(self.turned[DOWNLOADS]):
            self._note({DOWNLOADS: wanted})
        self._play_on()

    def state(self) -> dict[str, Any]:
        """Give what the page shows."""
        blind = self.scenario is not None and self.scenario.blind and not self.answers
        shown: dict[str, Any] = {
            "keep": self.keep,
            "blind": blind,
            "note": None if blind else self.note,
            "scenario": self._progress(),
            "questions": self._questions(),
            "now": None if blind else self.figures.now(),
        }
        if not blind:
            shown |= {"knobs": self.turned, "choices": self._choices(), "lacking": self.lacking,
                      "remarks": self.downloads.remarks}  # fmt: skip
        return shown

    def begin(self) -> None:
        """The player has come: the scenario begins."""
        if self.scenario is not None and self.begun_ns is None:
            self.begun_ns = time.monotonic_ns()
            self._note({"scenario": "begins"})
            # What competes with nobody yet would only fill the tables.
            self.turn({DOWNLOADS: self.scenario.start.downloads or []})

    def _asked_to_turn(self, values: object) -> None:
        if not isinstance(values, dict):
            raise InputError("must be a table", field="knobs", value=values)
        if self.scenario is not None:
            raise GamewayError("a scenario plays: it turns the knobs")
        self.turn({name: self._read(name, value) for name, value in values.items()})

    def _read(self, name: str, value: object) -> Any:
        """Give a knob's value; InputError if it cannot be."""
        if name == DOWNLOADS:
            offered = self.downloads.names
            for one in value if isinstance(value, list) else []:
                if isinstance(one, str) and one in self.lacking:
                    raise InputError(f"cannot be: {self.lacking[one]}", field=name, value=one)
            if not isinstance(value, list) or any(one not in offered for one in value):
                hint = f"a list of {', '.join(offered)}"
                raise InputError("cannot be", field=name, value=value, hint=hint)
            return list(dict.fromkeys(value))
        if not isinstance(value, str):
            raise InputError("must be a text", field=name, value=value)
        if name == CONTROLLER:
            if value not in self.controllers:
                hint = f"known are {', '.join(self.controllers)}"
                raise InputError("is no controller", field=name, value=value, hint=hint)
            return value
        if name not in KNOBS:
            known = ", ".join([*KNOBS, CONTROLLER, DOWNLOADS])
            raise InputError("is no knob", value=name, hint=f"known are {known}")
        if name == CAPACITY and value in self.traces:
            return value
        return KNOBS[name].read(value, name)

    def _answered(self, answers: object) -> None:
        asked = {one["name"]: len(one["answers"]) for one in self._questions() or []}
        given = answers if isinstance(answers, dict) else {}
        for name, max_answer in asked.items():
            value = given.get(name)
            if (
                not isinstance(value, int)
                or isinstance(value, bool)
                or not 1 <= value <= max_answer
            ):
                raise InputError("is no answer", field=name, value=value, hint=f"1 to {max_answer}")
        if not asked or set(given) != set(asked):
            raise GamewayError("nothing of that is asked now")
        self.answers = dict(given)
        self.keep = True

    def turns(self) -> dict[int, dict[str, str]]:
        """Give the knobs of the path that were turned, by the link's time of each change."""
        found: dict[int, dict[str, str]] = {}
        for at, name, value in self.log:
            if name in KNOBS:
                found.setdefault(at, {})[name] = value
        return found

    def _note(self, values: Mapping[str, Any], at: int | None = None) -> None:
        at = time.monotonic_ns() - self.epoch_ns if at is None else at
        for name, value in values.items():
            if name in self.turned:
                self.turned[name] = value
            text = value if isinstance(value, str) else " ".join(value)
            self.log.append((at, name, text))

    def _play_on(self) -> None:
        """Do what the scenario has now."""
        if self.scenario is None or self.begun_ns is None:
            return
        passed = time.monotonic_ns() - self.begun_ns
        while self.steps_done < len(self.scenario.steps):
            at, values = self.scenario.steps[self.steps_done]
            if at > passed:
                return
            self.steps_done += 1
            try:
                self.turn(values)
            except GamewayError as error:
                self.note = f"step {self.steps_done} of the scenario: {error}"

    def _progress(self) -> dict[str, Any] | None:
        if self.scenario is None:
            return None
        whole = self.scenario.duration_ns / 1e9
        since = time.monotonic_ns() - self.begun_ns if self.begun_ns is not None else 0
        return {"name": self.scenario.title, "seconds": round(min(since / 1e9, whole), 1),
                "of": round(whole, 1)}  # fmt: skip

    def _questions(self) -> list[dict[str, Any]] | None:
        """Give what is asked now; None while nothing is."""
        if self.scenario is None or self.begun_ns is None or self.answers:
            return None
        if time.monotonic_ns() - self.begun_ns < self.scenario.duration_ns:
            return None
        return [one.model_dump(mode="json") for one in self.scenario.questions]

    def _choices(self) -> dict[str, list[str]]:
        own = {CAPACITY: self.traces}
        found = {name: _with([*knob.choices, *own.get(name, ())], self.turned[name])
                 for name, knob in KNOBS.items()}  # fmt: skip
        return found | {CONTROLLER: self.controllers, DOWNLOADS: self.downloads.names}


def _with(choices: list[str], value: str) -> list[str]:
    """Give the choices with what stands, which may be none of them."""
    return choices if value in choices else [value, *choices]


class _Handler(socketserver.StreamRequestHandler):
    """One request of the host."""

    def handle(self) -> None:
        line = self.rfile.readline(QUESTION_BYTES)
        desk: Desk = self.server.desk  # type: ignore[attr-defined]
        try:
            request = json.loads(line)
            if not isinstance(request, dict):
                raise InputError("must be a table", value=request)
            answer = desk.ask(request)
        except (GamewayError, ValueError) as error:
            answer = {"error": str(error)}
        # A host that waits no more does not matter.
        with suppress(OSError):
            self.wfile.write(json.dumps(answer).encode() + b"\n")


class Counter(socketserver.ThreadingUnixStreamServer):
    """Where the host brings requests; use as a context, which ends it."""

    daemon_threads = True

    def __init__(self, path: Path, desk: Desk) -> None:
        super().__init__(str(path), _Handler)
        path.chmod(0o600)
        user = caller()
        if user is not None:
            user.give(path)
        self.desk = desk
        Thread(target=self.serve_forever, name="desk", daemon=True).start()

    def server_close(self) -> None:
        """End it, and wait for its thread."""
        self.shutdown()
        super().server_close()
