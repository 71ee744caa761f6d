"""What `gameway play --lab` makes of words, knobs, requests and scenarios; no processes."""

from __future__ import annotations

import json
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import gameway as gw
from gameway import _core
from gameway.errors import GamewayError
from gameway.lab import keeping, kinds, knobs, scenario, words
from gameway.lab.desk import Counter, Desk
from gameway.lab.downloads import Downloads, Visit
from gameway.lab.figures import Figures
from gameway.lab.filming import BEING_PREPARED
from gameway.lab.kinds import film
from gameway.lab.session import Session
from gameway.live import competitors
from gameway.live.merge import Competition, Parts
from gameway.live.plan import Place
from gameway.live.processes import Supervisor
from gameway.report import played

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SECOND = 1_000_000_000


class Link:
    """A link that notes what it is told, and refuses one value."""

    def __init__(self) -> None:
        self.set_keys: list[dict[str, Any]] = []
        self.seconds = 0

    def set(self, keys: dict[str, Any]) -> dict[str, Any]:
        if keys.get("path.capacity") == "7 Mb/s":
            raise GamewayError("path.capacity: seven is refused")
        self.set_keys.append(keys)
        return {"at_ns": len(self.set_keys) * SECOND}

    def tell(self) -> dict[str, Any]:
        self.seconds += 1
        flow = {"name": "game", "arrived_bytes": 125_000 * self.seconds, "sent_bytes": 0,
                "dropped_packets": 2 * self.seconds, "lost_packets": self.seconds}  # fmt: skip
        return {"now_ns": self.seconds * SECOND // 2, "capacity_bps": 25_000_000,
                "queue": {"bytes": 3_000, "delay_ns": 960_000}, "flows": [flow]}  # fmt: skip


class Others:
    """Downloads that nobody starts."""

    names = ("cubic", "bbr", "quic")

    def __init__(self) -> None:
        self.there: list[str] = []
        self.told: list[str] = []
        self.remarks: dict[str, str] = {}

    @property
    def wanted(self) -> list[str]:
        return self.there

    def set(self, wanted: list[str]) -> None:
        self.there = wanted

    def look(self) -> list[str]:
        told, self.told = self.told, []
        return told


def desk(told: scenario.Scenario | None = None) -> tuple[Any, Link, list[str]]:
    """Give a desk with a link of the test, and the controllers that were chosen."""
    link = Link()
    chosen: list[str] = []
    turned = {**knobs.defaults(), "controller": "pudica", "downloads": []}
    made = Desk(link, Others(), chosen.append, ["gcc", "pudica"], turned,  # type: ignore[arg-type]
                time.monotonic_ns(), told)  # fmt: skip
    return made, link, chosen


def test_the_lab_s_words_come_first_and_the_others_are_play_s() -> None:
    typed = ["--lab", "--capacity", "10 Mb/s", "--rtt=40 ms", "--keep", "--size", "640x360",
             "game", "--out", "x"]  # fmt: skip
    found = words.of_lab(typed)
    assert found is not None
    assert found.knobs == {"capacity": "10 Mb/s", "rtt": "40 ms"}
    assert found.keep
    # Behind the first word that is not the lab's all is play's, though it be called alike.
    assert found.play == ["--size", "640x360", "game", "--out", "x"]
    assert found.out == words.DEFAULT_OUT


def test_without_the_switch_all_is_as_it_was() -> None:
    assert words.of_lab(["--out", "x", "game"]) is None
    assert words.of_lab(["game", "--lab"]) is None
    assert words.of_lab([]) is None


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        (["--lab", "--capacity", "fast"], '--capacity: "fast" has no number in front'),
        (["--lab", "--queue", "fifo"], '--queue: "fifo" is none of '),
        (["--lab", "--rtt"], "--rtt: is missing; give it behind the option"),
        (["--lab", "--port", "0"], '--port: "0" is no port; 1 to 65535'),
    ],
)
def test_a_slip_is_told_by_its_option(typed: list[str], told: str) -> None:
    with pytest.raises(GamewayError) as error:
        words.of_lab(typed)
    assert str(error.value).startswith(told), error.value


def test_every_choice_of_every_knob_makes_a_path_that_runs() -> None:
    for name, knob in knobs.KNOBS.items():
        for choice in knob.choices:
            values = knobs.defaults() | {name: choice}
            tried = keeping.played(values, "pudica", 5 * SECOND, "Try", keeping.Course())
            assert tried.title == "Try", (name, choice)
    path = knobs.path_of(knobs.defaults(), {})
    assert path["queue"] == {"kind": "drop-tail", "size": "2 bdp"}
    assert path["loss"] == {"probability": "0 %"}


def test_a_gateway_that_must_know_the_capacity_is_told_each_new_one() -> None:
    made, link, _ = desk()
    made.do({"knobs": {"gateway": "sap-law"}})
    made.do({"knobs": {"capacity": "10 Mb/s"}})
    made.do({"knobs": {"rtt": "30 ms"}})
    made.do({"knobs": {"gateway": "none"}})
    assert link.set_keys == [
        {"path.gateway": {"kind": "sap-law", "capacity": "25 Mb/s"}},
        {"path.capacity": "10 Mb/s", "path.gateway": {"kind": "sap-law", "capacity": "10 Mb/s"}},
        {"path.base_rtt": "30 ms"},
        {"path.gateway": "none"},
    ]


def test_a_turned_knob_reaches_the_link_and_the_state() -> None:
    made, link, chosen = desk()
    state = made.do({"knobs": {"capacity": "10 Mb/s", "controller": "gcc", "downloads": ["cubic"]}})
    assert link.set_keys == [{"path.capacity": "10 Mb/s"}]
    assert chosen == ["gcc"]
    assert made.downloads.there == ["cubic"]
    assert state["knobs"]["capacity"] == "10 Mb/s"
    assert [(knob, value) for _, knob, value in made.log] == [
        ("capacity", "10 Mb/s"), ("controller", "gcc"), ("downloads", "cubic"),
    ]  # fmt: skip
    # What stands already is not turned again.
    made.do({"knobs": {"capacity": "10 Mb/s"}})
    assert len(link.set_keys) == 1


@pytest.mark.parametrize(
    ("request_", "told"),
    [
        ({"knobs": {"capacity": "7 Mb/s"}}, "path.capacity: seven is refused"),
        ({"knobs": {"capacity": "much"}}, 'capacity: "much" has no number'),
        ({"knobs": {"capacity": 5}}, "capacity = 5 must be a text"),
        ({"knobs": {"volume": "5"}}, '"volume" is no knob; known are capacity, rtt'),
        ({"knobs": {"controller": "best"}}, 'controller = "best" is no controller; known are gcc'),
        ({"knobs": {"downloads": ["ftp"]}}, "downloads"),
        ({"knobs": []}, "knobs = [] must be a table"),
        ({"answers": {"overall": 4}}, "nothing of that is asked now"),
        ({"reboot": True}, '"reboot" is no request'),
    ],
)
def test_what_cannot_be_changes_nothing(request_: dict[str, Any], told: str) -> None:
    made, link, chosen = desk()
    before = json.dumps(made.turned)
    with pytest.raises(GamewayError) as error:
        made.do(request_)
    assert str(error.value).startswith(told), error.value
    assert (json.dumps(made.turned), link.set_keys, chosen, made.log) == (before, [], [], [])


def test_rates_are_of_the_last_second() -> None:
    made, _, _ = desk()
    assert made.state()["now"] is None
    for _ in range(5):
        made.tick()
    # Each half second 125 kB, two drops and a loss.
    assert made.state()["now"] == {
        "seconds": 2.5, "capacity_mbps": 25.0, "queue_ms": 0.96, "queue_kb": 3.0,
        "flows": [{"name": "game", "mbps": 2.0, "dropped": 6}],
    }  # fmt: skip
    assert len(Figures().told) == 0


def test_a_download_that_ends_is_told() -> None:
    made, _, _ = desk()
    made.do({"knobs": {"downloads": ["cubic"]}})
    made.downloads.told = ["the download cubic has ended: no route"]
    made.downloads.there = []
    made.tick()
    state = made.state()
    assert state["note"] == "the download cubic has ended: no route"
    assert state["knobs"]["downloads"] == []
    # One that has no film ends without a word: that stands beside its box.
    made.do({"knobs": {"downloads": ["quic"]}})
    made.downloads.there = []
    made.downloads.remarks = {"quic": "no film"}
    made.tick()
    assert made.state()["knobs"]["downloads"] == []
    assert made.state()["remarks"] == {"quic": "no film"}
    assert [value for _, knob, value in made.log if knob == "downloads"] == [
        "cubic",
        "",
        "quic",
        "",
    ]


def recorded(folder: Path) -> Path:
    """A trace of 12 Mb/s."""
    file = folder / "drive.trace"
    file.write_text("1\n", encoding="ascii")
    return file


def test_a_recorded_capacity_is_a_choice_of_its_knob(tmp_path: Path) -> None:
    file = recorded(tmp_path)
    found = words.of_lab(["--lab", "--capacity-trace", str(file)])
    assert found is not None
    assert found.traces == {"trace drive": {"trace": str(file)}}
    made, link, _ = desk()
    with pytest.raises(GamewayError, match='capacity: "trace drive" has no number'):
        made.do({"knobs": {"capacity": "trace drive"}})
    made.traces = found.traces
    state = made.do({"knobs": {"capacity": "trace drive"}})
    assert state["choices"]["capacity"][-1] == "trace drive"
    assert state["choices"]["capacity"].count("trace drive") == 1
    assert link.set_keys == [{"path.capacity": {"trace": str(file)}}]
    # What must know the capacity is refused beside one that changes.
    with pytest.raises(GamewayError, match="shares out a capacity"):
        made.do({"knobs": {"gateway": "sap-law"}})
    made.do({"knobs": {"capacity": "5 Mb/s"}})
    course = keeping.Course(turns=made.turns(), traces=found.traces)
    kept = keeping.played(knobs.defaults(), "pudica", 9 * SECOND, "Recorded", course)
    (run,) = gw.expand(kept)
    assert [one["capacity"] for one in run.spec["path"]["change"]] == [
        {"trace": str(file)}, "5 Mb/s",
    ]  # fmt: skip
    _core.check_spec(json.dumps(run.spec))


def test_a_trace_s_slip_is_told_by_its_option(tmp_path: Path) -> None:
    file = recorded(tmp_path)
    for typed, told in (
        ([str(tmp_path / "nowhere.trace")], "No such file"),
        ([str(file), str(file)], "has the name of another one"),
    ):
        line = ["--lab", *(word for one in typed for word in ("--capacity-trace", one))]
        with pytest.raises(GamewayError, match=told) as error:
            words.of_lab(line)
        assert str(error.value).startswith("--capacity-trace")
    file.write_text("fast\n", encoding="ascii")
    with pytest.raises(GamewayError, match="line 1"):
        words.of_lab(["--lab", "--capacity-trace", str(file)])


def test_a_scenario_names_recorded_capacities(tmp_path: Path) -> None:
    recorded(tmp_path)
    text = SCENARIO.replace('"5 Mb/s"', '"trace drive"')
    table = '[trace]\ndrive = { trace = "drive.trace" }\n[start]'
    told = scenario.load(written(tmp_path, text.replace("[start]", table)))
    assert told.traces == {"trace drive": {"trace": str(tmp_path / "drive.trace")}}
    assert told.steps[1][1]["capacity"] == "trace drive"
    with pytest.raises(GamewayError, match="trace drive"):
        scenario.load(written(tmp_path, text))
    with pytest.raises(GamewayError, match=r"trace\.drive"):
        scenario.load(written(tmp_path, text.replace("[start]", table.replace("drive.trace", "x"))))


SCENARIO = """
title = "Evening"
duration = "300 ms"
[start]
capacity = "20 Mb/s"
downloads = ["bbr"]
[[step]]
at = "100 ms"
capacity = "5 Mb/s"
downloads = ["cubic"]
[[step]]
at = "50 ms"
controller = "gcc"
"""


def written(folder: Path, text: str) -> Path:
    file = folder / "evening.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_a_scenario_plays_its_steps_then_asks_and_its_player_sees_nothing(tmp_path: Path) -> None:
    told = scenario.load(written(tmp_path, SCENARIO))
    made, link, chosen = desk(told)
    made.tick()
    assert made.state()["scenario"] == {"name": "Evening", "seconds": 0.0, "of": 0.3}
    assert made.downloads.there == []
    made.begin()
    assert made.downloads.there == ["bbr"]
    end = time.monotonic() + 5
    while made.state()["questions"] is None and time.monotonic() < end:
        made.tick()
        time.sleep(0.01)
    state = made.state()
    assert {"knobs", "choices"}.isdisjoint(state)
    assert state["now"] is None
    assert state["blind"]
    assert chosen == ["gcc"]
    assert link.set_keys == [{"path.capacity": "5 Mb/s"}]
    with pytest.raises(GamewayError, match="a scenario plays"):
        made.do({"knobs": {"capacity": "50 Mb/s"}})
    names = [one["name"] for one in state["questions"]]
    assert names[0] == "overall"
    with pytest.raises(GamewayError, match="accept = 3 is no answer; 1 to 2"):
        made.do({"answers": dict.fromkeys(names, 3)})
    answered = made.do({"answers": dict.fromkeys(names, 2)})
    assert answered["questions"] is None
    assert answered["keep"], "answers are kept"
    assert not answered["blind"]


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ('"100 ms"', '"1 s"', 'step.0.at = "1 s" comes too late; before the duration of 300 ms'),
        ('"5 Mb/s"', '"5"', 'step.0.capacity: "5" has nothing as unit'),
        ('["cubic"]', '["ftp"]', 'step.0.downloads = "ftp" is no download'),
        ("capacity =", "speed =", "start.speed"),
        ("duration =", "lasts =", "duration"),
        ('title = "Evening"', 'title = "Evening', "is no TOML"),
    ],
)
def test_a_scenario_s_slip_is_told_by_its_key(
    tmp_path: Path, before: str, after: str, told: str
) -> None:
    file = written(tmp_path, SCENARIO.replace(before, after, 1))
    with pytest.raises(GamewayError) as error:
        scenario.load(file)
    assert str(error.value).startswith(f"{file}"), error.value
    assert told in str(error.value)


def test_a_signal_that_takes_longer_than_the_wait_does_not_stop_the_session() -> None:
    made, _, _ = desk()
    came: list[int] = []

    def handler(number: int, _: object) -> None:
        came.append(number)
        if len(came) > 1:
            raise TimeoutError("it waits for ever")
        time.sleep(0.3)

    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1, 3)
        made.serve(0.2)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert came == [signal.SIGALRM]


def test_what_the_machine_lacks_is_said_of_each_download(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    films: list[str] = []
    monkeypatch.setattr(kinds.films, "make", lambda film, _: films.append(film.describe()))
    monkeypatch.setattr(kinds.player, "why_not", lambda: ["live videos need dash.js"])
    monkeypatch.setattr(shutil, "which", lambda name: None if name == "nginx" else f"/bin/{name}")
    monkeypatch.setattr(kinds.offers, "algorithms", lambda: ["cubic", "reno"])
    found = kinds.lacking(print, ["video"])
    assert found["video"].split("; ")[0] == "live videos need dash.js"
    assert "apt install nginx-light" in found["video"]
    assert found["bbr"] == "this kernel's TCP has no bbr: modprobe tcp_bbr"
    assert "cubic" not in found
    assert films == [], "nothing is encoded that cannot be played"
    # The panel has it beside the knob, and a wish for it is told why.
    made, _, _ = desk()
    made.lacking = found
    assert made.do({})["lacking"] == found
    with pytest.raises(GamewayError, match='downloads = "video" cannot be: live videos need'):
        made.do({"knobs": {"downloads": ["video"]}})
    # A scenario with it does not begin.
    told = scenario.load(written(tmp_path, SCENARIO.replace('["cubic"]', '["video"]', 1)))
    session = Session.__new__(Session)
    session.words, session.scenario = words.Words(), told
    session.lacking = {"video": found["video"]}
    with pytest.raises(GamewayError, match='downloads = "video" cannot be: live videos need'):
        session.check_downloads()
    session.lacking = {"ftp": "is no download"}
    session.check_downloads()


def test_a_film_that_cannot_be_encoded_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise GamewayError("ffmpeg made no video: no space left")

    monkeypatch.setattr(kinds.films, "make", fails)
    monkeypatch.setattr(kinds, "_lacks", lambda _: iter(()))
    assert kinds.lacking(print, ["video"]) == {"video": "ffmpeg made no video: no space left"}
    assert kinds.lacking(print) == {}, "nothing is encoded before it is wanted"


@pytest.fixture
def others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Downloads, list[str]]]:
    """Downloads of which none is started, and the names of those that would be."""
    (tmp_path / "raw").mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    supervisor = Supervisor(tmp_path / "raw", threading.Event())
    nothing: Any = object()
    made = Downloads(nothing, Place("", "", time.monotonic_ns()), nothing, supervisor, tmp_path)
    begun: list[str] = []

    def begin(name: str) -> Any:
        begun.append(name)
        return SimpleNamespace(processes=[], client=nothing)

    monkeypatch.setattr(made, "_begin", begin)
    monkeypatch.setattr(made, "_end", made.there.pop)
    yield made, begun
    made.filming.finish()


def test_an_account_is_made_anew_only_where_it_differs(
    others: tuple[Downloads, list[str]],
) -> None:
    downloads, _ = others
    sent: list[str] = []
    refused = [GamewayError("another gameway writes here")]

    def account(text: str) -> None:
        if refused:
            raise refused.pop()
        sent.append(text)

    copying: Any = SimpleNamespace(account=account, problem=None, drop=lambda: None)
    made: Any = SimpleNamespace(
        copied=None, copying=copying, downloads=downloads,
        _account=lambda *_: SimpleNamespace(text=lambda: "account"),
    )  # fmt: skip
    desk: Any = SimpleNamespace(keep=True, log=[], answers={}, note=None)

    def looks() -> int:
        """How often it is sent in three looks."""
        before = len(sent)
        for _ in range(3):
            Session._copy(made, desk, "gcc")
        return len(sent) - before

    assert looks() == 1, "what was refused is sent again, and then no more"
    assert "another gameway writes here" in desk.note
    desk.log.append((1, "capacity", "10 Mb/s"))
    assert looks() == 1
    desk.answers["overall"] = 3
    assert looks() == 1
    desk.answers["overall"] = 4
    assert looks() == 1
    visit: Any = SimpleNamespace(client=object(), is_video=False, start_ns=5)
    downloads.there["cubic"] = visit
    assert looks() == 1
    downloads.gone["cubic"] = [downloads.there.pop("cubic")]
    assert looks() == 1
    assert looks() == 0
    desk.keep = False
    assert looks() == 0
    desk.keep = True
    assert looks() == 1, "recording begins anew"


def filmed(made: Downloads) -> None:
    """Wait until no film is being encoded."""
    end = time.monotonic() + 20
    while made.filming.processes and time.monotonic() < end:
        assert made.look() == []
        time.sleep(0.01)


def program(file: Path, text: str) -> str:
    file.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    file.chmod(0o755)
    return str(file)


def test_a_film_is_encoded_when_it_is_first_wanted_and_a_kept_one_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, others: tuple[Downloads, list[str]]
) -> None:
    made, begun = others
    manifest = film(kinds.KINDS["video"]).folder / "manifest.mpd"
    make = f"mkdir -p {manifest.parent}; echo $3 >> {tmp_path}/made; touch {manifest}"
    monkeypatch.setattr(sys, "executable", program(tmp_path / "film", make))
    made.set(["cubic", "video"])
    assert (begun, made.wanted) == (["cubic"], ["cubic", "video"])
    assert made.remarks == {"video": BEING_PREPARED}
    # Who does not want it any more has it later at once.
    made.set(["cubic"])
    filmed(made)
    assert (begun, made.wanted, made.remarks) == (["cubic"], ["cubic"], {})
    made.set(["video"])
    assert begun == ["cubic", "video"]
    # One that is waited for begins by itself.
    manifest.unlink()
    made.set([])
    made.set(["video"])
    assert begun == ["cubic", "video"]
    filmed(made)
    assert begun == ["cubic", "video", "video"]
    assert (tmp_path / "made").read_text() == "video\nvideo\n"


def test_why_there_is_no_film_stands_beside_the_box_which_can_be_ticked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, others: tuple[Downloads, list[str]]
) -> None:
    made, begun = others
    # A machine without ffmpeg.
    (tmp_path / "setpriv").symlink_to(str(shutil.which("setpriv")))
    monkeypatch.setenv("PATH", str(tmp_path))
    for _ in range(2):
        made.set(["video"])
        assert (made.wanted, made.remarks) == (["video"], {"video": BEING_PREPARED})
        filmed(made)
        assert "No such file or directory: 'ffmpeg'" in made.remarks["video"]
        assert (begun, made.wanted) == ([], [])


def test_a_session_ends_what_is_being_encoded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, others: tuple[Downloads, list[str]]
) -> None:
    made, _ = others
    monkeypatch.setattr(sys, "executable", program(tmp_path / "film", "exec sleep 60"))
    made.set(["video"])
    (encoding,) = made.filming.processes.values()
    made.finish()
    assert encoding.popen.returncode == -signal.SIGTERM
    assert made.remarks == {}


def test_stays_of_a_video_begin_with_its_first_request(tmp_path: Path) -> None:
    def visit(name: str, requests: list[int], stop_ns: int) -> Visit:
        folder = tmp_path / name
        folder.mkdir()
        if requests:
            table = {"requested_ns": requests}
            pl.DataFrame(table).write_parquet(folder / "segments.parquet")
        there: Any = object()
        video = {"name": "video", "kind": "dash"}
        return Visit(name, video, there, there, stop_ns=stop_ns, folders=[folder])

    made = Downloads.__new__(Downloads)
    # A browser may end after one that came later; one that fetched nothing was not there.
    made.gone = {"video": [visit("b", [8, 9], 10), visit("a", [4, 3], 6), visit("c", [], 12)]}
    assert made.stays() == {"video": [(3, 6), (8, 10)]}


def test_a_host_asks_by_the_socket_and_the_session_s_thread_answers(tmp_path: Path) -> None:
    made, link, _ = desk()
    answers: list[dict[str, Any]] = []

    def asked(line: bytes) -> None:
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(tmp_path / "desk"))
            client.sendall(line)
            client.shutdown(socket.SHUT_WR)
            answers.append(json.loads(client.makefile("rb").readline()))

    lines = [b"{}\n", b'{"knobs": {"rtt": "60 ms"}}\n', b"[1]\n", b"\xff\n", b"\n"]
    with Counter(tmp_path / "desk", made):
        assert (tmp_path / "desk").stat().st_mode & 0o777 == 0o600
        for line in lines:
            client = threading.Thread(target=asked, args=(line,))
            client.start()
            while client.is_alive():
                made.serve(0.01)
            client.join()
    assert [("error" in one) for one in answers] == [False, False, True, True, True]
    assert answers[1]["knobs"]["rtt"] == "60 ms"
    assert link.set_keys == [{"path.base_rtt": "60 ms"}]


def test_the_stays_of_a_download_are_one_flow(monkeypatch: pytest.MonkeyPatch) -> None:
    interval = competitors.Interval(0.0, 0.5, 1000)
    stays = {"a": Competition(SECOND, [interval]), "b": Competition(9 * SECOND, [interval])}
    made = Downloads.__new__(Downloads)
    made.gone = {"cubic": [Visit(name, {"kind": "tcp"}, None) for name in stays]}  # type: ignore[arg-type]
    monkeypatch.setattr(made, "_told", lambda visit: stays[visit.name])
    found = made.competitions()["cubic"]
    assert found.start_ns == 0
    assert [(one.start_s, one.stop_s, one.bytes) for one in found.received] == [
        (1.0, 1.5, 1000), (9.0, 9.5, 1000),
    ]  # fmt: skip


def test_a_session_is_kept_as_a_result_folder(tmp_path: Path) -> None:
    told = scenario.load(written(tmp_path, SCENARIO))
    made, _, _ = desk(told)
    made.turn({"capacity": "10 Mb/s"})
    made.turn({"controller": "gcc"})
    made.answers = {"overall": 6}
    stays = {"cubic": [(SECOND, 2 * SECOND), (5 * SECOND // 2, 3 * SECOND)]}
    first, several = (
        keeping.played(
            knobs.defaults(), "pudica", 3 * SECOND, "Played", keeping.Course(one, made.turns())
        )
        for one in ({"cubic": [(SECOND, 3 * SECOND)]}, stays)
    )
    parts = Parts(3 * SECOND, [], {}, [])
    found = keeping.keep(
        keeping.Session(first, several, parts, made.log, keeping.answers(made)), tmp_path / "out"
    )
    again = gw.load(tmp_path / "out")
    (path,) = [again.path]
    assert [(one.at, one.capacity) for one in path.change] == [("1 s", "10 Mb/s")]
    assert [(one.name, one.start, one.stop) for one in again.competitor] == [
        ("cubic", "1 s", "2 s"), ("cubic-2", "2.5 s", "3 s"),
    ]  # fmt: skip
    (run,) = (tmp_path / "out" / "runs").iterdir()
    changes = pl.read_parquet(run / "changes.parquet")
    assert changes.select("knob", "value").rows() == [
        ("capacity", "10 Mb/s"), ("controller", "gcc"),
    ]  # fmt: skip
    text = (tmp_path / "out" / "experiment.toml").read_text(encoding="utf-8")
    assert text.splitlines()[-1].endswith("gcc took over; no run does so.")
    answers = pl.read_parquet(run / "answers.parquet")
    assert answers.rows() == [
        ("overall", "How do you rate the overall quality of playing?", 6, 7, "Excellent")
    ]
    assert found.manifest["live"]["source"] == "played"
    other = keeping.played(
        knobs.defaults() | {"rtt": "50 ms"}, "gcc", 4 * SECOND, "Other", keeping.Course()
    )
    with pytest.raises(GamewayError):
        keeping.keep(keeping.Session(other, other, parts, made.log, []), tmp_path / "out")


def test_the_turns_of_a_session_are_changes_of_its_path() -> None:
    made, _, _ = desk()
    made.do({"knobs": {"queue": "codel", "controller": "gcc"}})
    made.do({"knobs": {"capacity": "10 Mb/s", "gateway": "sap-law", "loss": "1 %"}})
    made.do({"knobs": {"capacity": "5 Mb/s", "rtt": "60 ms"}})
    found = keeping.played(
        knobs.defaults(), "pudica", 9 * SECOND, "Turned", keeping.Course(turns=made.turns())
    )
    (run,) = gw.expand(found)
    assert run.spec["path"]["change"] == [
        {"at": "1 s", "queue": {"kind": "codel", "size": "2 bdp"}},
        {"at": "2 s", "capacity": "10 Mb/s", "loss": {"kind": "random", "probability": "1 %"},
         "gateway": {"kind": "sap-law", "capacity": "10 Mb/s"}},
        {"at": "3 s", "capacity": "5 Mb/s", "base_rtt": "60 ms",
         "gateway": {"kind": "sap-law", "capacity": "5 Mb/s"}},
    ]  # fmt: skip
    _core.check_spec(json.dumps(run.spec))
    still = keeping.played(knobs.defaults(), "pudica", 9 * SECOND, "Still", keeping.Course())
    assert "change" not in gw.expand(still)[0].spec["path"]


def test_the_parts_of_a_session_are_its_turns() -> None:
    rows = [(3 * SECOND, "capacity", "10 Mb/s"), (3 * SECOND + 1, "downloads", "cubic"),
            (9 * SECOND, "downloads", "")]  # fmt: skip
    changes = pl.DataFrame(rows, schema=keeping.CHANGES, orient="row")
    assert played.turns(changes) == [
        (0, "(as at the beginning)"),
        (3 * SECOND, "capacity 10 Mb/s, downloads cubic"),
        (9 * SECOND, "downloads none"),
    ]
    assert played.turns(changes.clear()) == [(0, "(as at the beginning)")]


def test_help_tells_of_the_lab() -> None:
    def said(*typed: str) -> str:
        line = [sys.executable, "-m", "gameway", "play", *typed, "--help"]
        return subprocess.run(line, capture_output=True, text=True, timeout=60, check=True).stdout

    assert "--lab" in said()
    own = said("--lab")
    assert "--queue-size SIZE" in own
    assert "--scenario FILE" in own
