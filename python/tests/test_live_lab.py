"""`gameway play --lab` in a house of namespaces: another device plays, knobs act, all is kept.

phone ── pair ── house: gameway play --lab, which makes its own namespaces behind
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from browser_fixture import NEEDS_CHROMIUM, TOKEN, Browser, browser, until_frames
from disk_fixture import disk, needs_disk
from film_fixture import encoded, give
from live_fixture import needs_live
from said_fixture import said_until
from test_play import left_over
from witness import of_times

import gameway as gw
from gameway import report
from gameway.live.video import player
from gameway.metrics.run import run_metrics
from gameway.metrics.source import finished_runs
from gameway.metrics.windows import Window

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = [NEEDS_CHROMIUM, needs_live, pytest.mark.timed]
HOUSE, PHONE = "192.0.2.1", "192.0.2.2"
"""Addresses for documentation (RFC 5737), in namespaces of the test."""
WAIT_S = 20.0
FILM_S = 120.0
"""Longer no film takes that is encoded beside a session."""
ASK = """fetch("/lab", {{
  method: {method!r}, body: {body}, headers: {{ Authorization: "Bearer {token}" }},
}}).then(async (answer) => [answer.status, await answer.text()])"""


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


@contextmanager
def house() -> Iterator[tuple[str, str]]:
    """Give the names of two namespaces that are connected: a machine's and a telephone's."""
    names = [f"gwtest-{os.getpid()}-{part}" for part in ("house", "phone")]
    for name in names:
        ip("netns", "add", name)
    try:
        ip("-n", names[0], "link", "add", "eth0", "type", "veth", "peer", "name", "eth0",
           "netns", names[1])  # fmt: skip
        for name, own, other in zip(names, (HOUSE, PHONE), (PHONE, HOUSE), strict=True):
            ip("-n", name, "link", "set", "lo", "up")
            ip("-n", name, "address", "add", f"{own}/24", "dev", "eth0")
            ip("-n", name, "link", "set", "eth0", "up")
            ip("-n", name, "route", "add", "default", "via", other)
        yield names[0], names[1]
    finally:
        for name in names:
            ip("netns", "delete", name)


def inside(name: str) -> list[str]:
    return ["nsenter", f"--net=/run/netns/{name}", "--"]


class Play:
    """A `gameway play --lab` that runs."""

    def __init__(self, process: subprocess.Popen[str], links: list[str]) -> None:
        self.process, self.links = process, links

    def end(self) -> tuple[int, str]:
        """Send Ctrl-C; give the exit code, and what was said since the links."""
        self.process.send_signal(signal.SIGINT)
        said, _ = self.process.communicate(timeout=60)
        return self.process.returncode, said


@contextmanager
def play(name: str, folder: Path, *words: str, temporary: Path | None = None) -> Iterator[Play]:
    """Start it in a namespace; at the end it is ended if it still runs."""
    folder.mkdir(exist_ok=True)
    own = ["--out", str(folder / "kept"), *words]
    line = [sys.executable, "-m", "gameway", "play", "--lab", *own, "--size", "640x360",
            "--no-audio", "--no-https"]  # fmt: skip
    surroundings = {**os.environ, "GAMEWAY_TOKEN": TOKEN, "HOME": str(folder),
                    "XDG_CACHE_HOME": str(folder.parent / "cache")}  # fmt: skip
    if temporary is not None:
        surroundings["TMPDIR"] = str(temporary)
    with subprocess.Popen(
        [*inside(name), *line], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env=surroundings,
    ) as process:  # fmt: skip
        try:
            _, said = said_until(process.stdout, "code for a new device")
            yield Play(process, re.findall(r"(http://[0-9.]+:\d+/)", said))
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait(30)


class Page:
    """The page in a browser, and the lab behind it."""

    def __init__(self, made: Browser, link: str) -> None:
        self.made, self.page = made, made.open(f"{link}#{TOKEN}")
        until_frames(made, self.page)

    def ask(self, body: dict[str, Any] | None = None) -> tuple[int, Any]:
        """Ask the lab as the page does; give status and answer."""
        method = "GET" if body is None else "POST"
        # The body is a text in the script.
        text = "undefined" if body is None else json.dumps(json.dumps(body))
        asked = ASK.format(method=method, body=text, token=TOKEN)
        status, answer = self.made.evaluate(self.page, asked)
        return status, json.loads(answer) if answer.startswith("{") else answer

    def turn(self, **knobs: Any) -> None:
        status, answer = self.ask({"knobs": knobs})
        assert status == 200, answer

    def flow(self, name: str) -> float:
        """Give the rate of a flow, Mb/s."""
        _, state = self.ask()
        rates = {one["name"]: one["mbps"] for one in state["now"]["flows"]}
        return float(rates.get(name, 0.0))

    def frames(self) -> int:
        return int(self.made.evaluate(self.page, "gameway.frames"))


def eventually(holds: Callable[[], bool], seconds: float = WAIT_S) -> bool:
    """Whether it holds within the waiting time."""
    until = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > until:
            return False
        time.sleep(0.3)
    return True


@pytest.mark.long("test_live_lab.py::test_a_lab_that_is_killed_leaves_nothing")
def test_another_device_plays_behind_a_path_whose_knobs_act(tmp_path: Path) -> None:
    with house() as (home, phone), play(home, tmp_path / "run") as playing:
        assert playing.links[0].startswith(f"http://{HOUSE}:")
        with browser(tmp_path / "profile", *inside(phone)) as made:
            page = Page(made, playing.links[0])
            status, state = page.ask()
            assert status == 200
            assert state["knobs"]["capacity"] == "25 Mb/s"
            assert eventually(lambda: page.flow("game") > 0.5), "the stream passes the path"
            # A download fills it; the twin: without one there is none.
            assert page.flow("cubic") == 0
            page.turn(downloads=["cubic"])
            assert eventually(lambda: page.flow("cubic") > 10)
            page.turn(capacity="4 Mb/s")
            assert eventually(lambda: 1 < page.flow("cubic") < 4)
            page.turn(downloads=[])
            assert eventually(lambda: page.flow("cubic") == 0)
            page.turn(controller="gcc")
            assert page.ask()[1]["knobs"]["controller"] == "gcc"
            before = page.frames()
            assert eventually(lambda: page.frames() > before + 20), "the picture goes on"
            # Loss on the path is loss of the stream; what cannot be is told and changes nothing.
            page.turn(loss="5 %")
            assert eventually(
                lambda: (
                    next(
                        one["dropped"]
                        for one in page.ask()[1]["now"]["flows"]
                        if one["name"] == "game"
                    )
                    > 0
                )
            )
            status, answer = page.ask({"knobs": {"capacity": "much"}})
            assert status == 400
            assert answer["error"].startswith('capacity: "much"')
            assert page.ask()[1]["knobs"]["capacity"] == "4 Mb/s"
            assert page.ask({"keep": True})[1]["keep"]
        code, said = playing.end()
        assert code == 0, said
    results = gw.Results.open(tmp_path / "run" / "kept")
    (run,) = (tmp_path / "run" / "kept" / "runs").iterdir()
    turned = pl.read_parquet(run / "changes.parquet").select("knob", "value").rows()
    assert ("capacity", "4 Mb/s") in turned
    assert ("controller", "gcc") in turned
    frames = pl.read_parquet(run / "frames.parquet")
    shown = frames.drop_nulls("shown_ns")
    # The browser's frames stand on the host's clock: none is whole before half of the base RTT.
    delays = shown.select((pl.col("complete_ns") - pl.col("first_sent_ns")) / 1e6).to_series()
    assert shown.height > frames.height / 2
    assert delays.quantile(0.01) > 5  # type: ignore[operator]
    assert delays.quantile(0.01) < 40  # type: ignore[operator]
    received = pl.read_parquet(run / "bins.parquet").filter(pl.col("flow") == "cubic")
    assert received["received_payload_bytes"].sum() > 1_000_000
    assert results.manifest["live"]["source"] == "played"


LOST_S = 5.0
"""So much of a session may be lost with its process: parts write each 2 s, a copy follows."""


@pytest.mark.long("test_live_lab.py::test_a_lab_that_is_killed_leaves_nothing")
@pytest.mark.parametrize(
    "end", ["in order", "killed", pytest.param("without power", marks=needs_disk)]
)
def test_a_recorded_session_outlives_its_process(tmp_path: Path, end: str) -> None:
    folder = tmp_path / "run"
    if end == "without power":
        with disk(folder) as drive:
            seconds = session_that_ends(folder, drive.cut)
            drive.start_again()
            check_kept(folder / "kept", seconds, in_order=False)
    else:
        seconds = session_that_ends(folder, None if end == "in order" else lambda: None)
        check_kept(folder / "kept", seconds, in_order=end == "in order")


def session_that_ends(folder: Path, before_kill: Callable[[], None] | None) -> float:
    """Record a session that ends in order, or is killed after this; give how long it was."""
    with house() as (home, _), play(home, folder, "--here", "--keep") as one:
        with browser(folder.parent / "profile", *inside(home)) as made:
            page = Page(made, one.links[0])
            page.turn(downloads=["cubic"])
            assert eventually(lambda: page.flow("cubic") > 5)
            page.turn(capacity="10 Mb/s")
            time.sleep(6)
            seconds = float(page.ask()[1]["now"]["seconds"])
            if before_kill is not None:
                before_kill()
                one.process.kill()
                one.process.wait()
        if before_kill is None:
            code, said = one.end()
            assert code == 0, said
    return seconds


def check_kept(out: Path, seconds: float, *, in_order: bool) -> None:
    """Look at what there is of a session that was so long."""
    reported = subprocess.run(
        [sys.executable, "-m", "gameway", "report", str(out)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert ("not ended in order" in reported.stderr) != in_order, reported.stderr
    told = (out / "report.html").read_text(encoding="utf-8")
    assert ("The session ended early" in told) != in_order
    assert not (out / "session.partial").exists()
    (run,) = (out / "runs").iterdir()
    assert ("capacity", "10 Mb/s") in pl.read_parquet(run / "changes.parquet")[:, 1:].rows()
    frames = pl.read_parquet(run / "frames.parquet")
    received = pl.read_parquet(run / "bins.parquet").filter(pl.col("flow") == "cubic")
    pings = pl.read_parquet(run / "pings.parquet").drop_nulls()
    assert received["received_payload_bytes"].sum() > 0.9 * 2e6
    assert received["received_payload_bytes"].sum() < received["received_bytes"].sum()
    ends = [frames["captured_ns"].max(), received["bin_start_ns"].max(), pings["sent_ns"].max()]
    with of_times():
        assert min(ends) / 1e9 > seconds - LOST_S, (ends, seconds)  # type: ignore[type-var,operator]
    shown = frames.drop_nulls("shown_ns")
    assert shown.height > frames.height / 2
    # What is kept is an experiment, whose download came once.
    assert [one.name for one in gw.load(out).competitor] == ["cubic"]


SCENARIO = """
title = "Short"
duration = "3 s"
[start]
capacity = "10 Mb/s"
[[step]]
at = "1 s"
capacity = "3 Mb/s"
"""


@pytest.mark.long("test_live_lab.py::test_what_is_kept_runs_again_in_the_simulator")
def test_a_scenario_is_played_blind_and_its_answers_are_a_table(tmp_path: Path) -> None:
    file = tmp_path / "short.toml"
    file.write_text(SCENARIO, encoding="utf-8")
    with (
        house() as (home, _),
        play(home, tmp_path / "run", "--here", "--scenario", str(file)) as one,
    ):
        assert not any(HOUSE in link for link in one.links)
        with browser(tmp_path / "profile", *inside(home)) as made:
            page = Page(made, one.links[0])
            assert "knobs" not in page.ask()[1]
            assert page.ask({"knobs": {"capacity": "50 Mb/s"}})[0] == 400
            assert eventually(lambda: page.ask()[1]["questions"] is not None)
            names = [question["name"] for question in page.ask()[1]["questions"]]
            assert page.ask({"answers": dict.fromkeys(names, 2)})[0] == 200
        code, said = one.end()
        assert code == 0, said
    (run,) = (tmp_path / "run" / "kept" / "runs").iterdir()
    answers = pl.read_parquet(run / "answers.parquet")
    assert answers["question"].to_list() == names
    assert set(answers["answer"]) == {2}
    turned = pl.read_parquet(run / "changes.parquet").select("knob", "value").rows()
    assert ("capacity", "3 Mb/s") in turned


AGAIN = """
title = "Again"
duration = "11 s"
[start]
capacity = "10 Mb/s"
size = "4 bdp"
controller = "gcc"
downloads = ["cubic"]
[[step]]
at = "5 s"
capacity = "3 Mb/s"
rtt = "40 ms"
"""


def bottleneck(results: gw.Results) -> pl.DataFrame:
    link = results.link().filter(pl.col("link") == "path").collect().sort("bin_start_ns")
    columns = ("bin_start_ns", "capacity_bytes", "queue_mean_bytes")
    # The last bin is as long as the session was.
    return link.select(pl.col(columns).cast(pl.Float64))[:-1]


def agrees(played: pl.DataFrame, again: pl.DataFrame, since_ns: int) -> dict[str, bool]:
    """Whether two runs had the same bottleneck in each bin, and such a queue since a time."""
    both = played.join(again, on="bin_start_ns", suffix="_again")
    # A session ends between two bins, either way.
    assert both.height >= played.height - 1
    off = (pl.col("capacity_bytes") / pl.col("capacity_bytes_again") - 1).abs()
    late = both.filter(pl.col("bin_start_ns") > since_ns)
    means = late.select(pl.col("queue_mean_bytes", "queue_mean_bytes_again").mean()).row(0)
    sys.stdout.write(f"\nqueue since the step: played {means[0]:.0f} B, again {means[1]:.0f} B")
    return {
        "capacity": both.select(off.max() < 0.01).item(),
        "queue": 0.6 < means[0] / means[1] < 1.6,
    }


def test_what_is_kept_runs_again_in_the_simulator(tmp_path: Path) -> None:
    file = tmp_path / "again.toml"
    file.write_text(AGAIN, encoding="utf-8")
    words = ["--here", "--keep", "--scenario", str(file)]
    with house() as (home, _), play(home, tmp_path / "run", *words) as one:
        with browser(tmp_path / "profile", *inside(home)) as made:
            page = Page(made, one.links[0])
            # Who plays it is shown no knobs, and is asked at its end.
            assert "knobs" not in page.ask()[1]
            assert page.ask({"knobs": {"capacity": "50 Mb/s"}})[0] == 400
            assert eventually(lambda: page.ask()[1]["questions"] is not None)
            names = [question["name"] for question in page.ask()[1]["questions"]]
            assert page.ask({"answers": dict.fromkeys(names, 2)})[0] == 200
        code, said = one.end()
        assert code == 0, said
    (answers,) = (tmp_path / "run" / "kept").glob("runs/*/answers.parquet")
    assert pl.read_parquet(answers)["question"].to_list() == names
    played = gw.Results.open(tmp_path / "run" / "kept")
    experiment = gw.load(played.path)
    changes = next(played.path.glob("runs/*/changes.parquet"))
    (step_ns,) = pl.read_parquet(changes).filter(pl.col("knob") == "rtt")["time_ns"]
    # A second later CUBIC has found the new capacity.
    since_ns = step_ns + 1_500_000_000
    again = gw.run(experiment, tmp_path / "again")
    assert agrees(bottleneck(played), bottleneck(again), since_ns) == {
        "capacity": True, "queue": True,
    }  # fmt: skip
    # The twin: a step to another capacity is seen, and a queue of another size.
    changed = ["path.change.0.capacity=9 Mb/s", "path.queue.size=0.3 bdp"]
    other = gw.run(experiment.with_overrides(changed), tmp_path / "other")
    assert agrees(bottleneck(played), bottleneck(other), since_ns) == {
        "capacity": False, "queue": False,
    }  # fmt: skip


@pytest.fixture
def levels(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Path:
    """Give the levels of the video's film; skip where no video can be played."""
    lacking = player.why_not() + [one for one in ("nginx", "ffmpeg") if not shutil.which(one)]
    if lacking:
        pytest.skip("; ".join(lacking))
    assert pytestconfig.cache is not None
    return encoded(pytestconfig.cache, tmp_path_factory.mktemp("film"))


@pytest.mark.alone
@pytest.mark.long("test_live_lab.py::test_a_lab_that_is_killed_leaves_nothing")
def test_a_video_comes_and_goes_while_one_plays(tmp_path: Path, levels: Path) -> None:
    words = ["--here", "--keep", "--capacity", "6 Mb/s"]
    own = give(levels, tmp_path / "cache", 2, 3)
    with (
        house() as (home, _),
        play(home, tmp_path / "run", *words) as one,
        browser(tmp_path / "profile", *inside(home)) as made,
    ):
        page = Page(made, one.links[0])
        assert page.ask()[1]["lacking"] == {}
        assert eventually(lambda: page.flow("game") > 1)
        # What its film lacks is encoded now that it is wanted; meanwhile the game goes on.
        assert {path.name for path in own.iterdir()} == {"level-2.mp4", "level-3.mp4"}
        page.turn(downloads=["video"])
        assert page.ask()[1]["knobs"]["downloads"] == ["video"]
        assert page.ask()[1]["remarks"]["video"].startswith("It is being prepared")
        before = page.frames()
        assert eventually(lambda: page.frames() > before + 60)
        assert eventually(lambda: page.ask()[1]["remarks"] == {}, FILM_S)
        assert eventually(lambda: page.flow("video") > 1), page.ask()
        page.turn(downloads=[])
        assert eventually(lambda: page.flow("video") == 0)
        page.turn(downloads=["video"])
        assert eventually(lambda: page.flow("video") > 1), page.ask()
        assert eventually(lambda: page.ask()[1]["now"]["queue_ms"] > 5)
        page.turn(downloads=[])
        assert eventually(lambda: page.flow("video") == 0)
        # It can be had again at once, while the browser before it is still ending.
        page.turn(downloads=["video"])
        assert eventually(lambda: page.flow("video") > 1), page.ask()
        code, said = one.end()
        assert code == 0, said
    kept = gw.Results.open(tmp_path / "run" / "kept")
    segments = kept.segments().collect()
    assert set(segments["flow"]) == {"video"}
    received = kept.bins().filter(pl.col("flow") == "video").collect()["received_payload_bytes"]
    assert received.sum() == pytest.approx(segments["received_bytes"].sum(), rel=0.2)
    (run,) = (kept.path / "runs").iterdir()
    assert (run / "segments-of-video.csv").is_file()
    again = gw.load(kept.path)
    assert [(one.name, one.kind) for one in again.competitor] == [
        ("video", "dash"), ("video-2", "dash"), ("video-3", "dash"),
    ]  # fmt: skip
    # Each stay begins with the first segment. A player that finds the link faster than it believed
    # asks for this segment once more, at another level.
    begun = [round(1000 * float(str(one.start).removesuffix(" us"))) for one in again.competitor]
    asked = segments.sort("requested_ns").filter(pl.col("requested_ns").is_in(begun))
    assert asked["segment"].to_list() == [0, 0, 0]
    # In the simulator each stay is a video of its own, and the report tells of all.
    simulated = gw.run(again, tmp_path / "again")
    shown = simulated.segments().collect()
    assert set(shown["flow"]) == {"video", "video-2", "video-3"}
    report.write(simulated, tmp_path / "again.html", save_files=False)
    told = (tmp_path / "again.html").read_text(encoding="utf-8")
    assert {"video-2", "video-3"} <= set(re.findall(r"video-\d", told))


def test_a_lab_that_is_killed_leaves_nothing(tmp_path: Path, levels: Path) -> None:
    give(levels, tmp_path / "cache", 1, 2, 3)

    def left(name: str) -> list[str]:
        shown = subprocess.run(
            [*inside(name), "ip", "-oneline", "link"], capture_output=True, text=True, check=True
        ).stdout
        spaces = subprocess.run(["ip", "netns"], capture_output=True, text=True, check=True).stdout
        own = [line for line in spaces.splitlines() if line.startswith(f"gw-{process}-")]
        files = [str(one) for one in temporary.iterdir()]
        devices = [line for line in shown.splitlines() if "gwl" in line]
        return devices + own + files + left_over(temporary)

    # Paths of sockets must be short.
    with TemporaryDirectory(prefix="gw-") as made:
        temporary = Path(made)
        with house() as (home, _), play(home, tmp_path / "run", temporary=temporary) as playing:
            process = playing.process.pid
            with browser(tmp_path / "profile", *inside(home)) as viewer:
                page = Page(viewer, playing.links[0])
                page.turn(downloads=["video"])
                assert eventually(lambda: page.ask()[1]["remarks"] == {}, FILM_S)
                assert eventually(lambda: page.flow("video") > 1), page.ask()
            assert any("chromium" in one for one in left(home))
            playing.process.kill()
            assert eventually(lambda: left(home) == []), left(home)


SPAN_S = float(os.environ.get("GAMEWAY_LAB_SECONDS", "8"))
"""How long a session is compared with what is kept of it; `-s` shows both."""
BEFORE_S = 6
"""How long figures are shown before they are read."""
WINDOW_S = 12.5
"""How long ago the time began of which the page has a score."""
SCORE_APART = 0.3
"""By how much the opinion scores of page and report may differ."""
CONTROLLERS = os.environ.get("GAMEWAY_LAB_CONTROLLERS", "pudica").split()
PLAYABLE_SPAN_S = 30.0
"""From here on a session is long enough to be called playable: its start is a small part of it."""
MAX_DELAY_MS = 100.0
"""95th percentile of the frame delay: first-person games suffer beyond (M. Claypool, K. Claypool,
Latency and player actions in online games, CACM 49(11), 2006)."""
MIN_SCORE = 3.0
"""Fair, in the words of ITU-T P.910."""
MAX_STALLED_PERCENT = 5.0
"""Of the time, in pictures that stand for more than 100 ms; ours."""


def sampled(page: Page) -> pl.DataFrame:
    """Give what overlay and panel show, once a second, while a download comes and goes twice."""
    rows = []
    begin = time.monotonic()
    while (passed := time.monotonic() - begin) < SPAN_S:
        page.turn(downloads=["cubic"] if int(4 * passed / SPAN_S) % 2 else [])
        shown = page.made.evaluate(page.page, "gameway.figures")
        now = page.ask()[1]["now"]
        game = next((one["mbps"] for one in now["flows"] if one["name"] == "game"), 0.0)
        rows.append((now["seconds"], shown["rate"], game, now["queue_ms"], shown["score"]))
        time.sleep(1 - (time.monotonic() - begin) % 1)
    columns = ["seconds", "rate", "mbps", "queue_ms", "score"]
    return pl.DataFrame(rows, schema=columns, orient="row", infer_schema_length=None)


def kept(run: Path, begin_s: float, end_s: float) -> dict[str, float]:
    """Give what the tables say of the same time."""
    begin, end, seconds = begin_s * 1e9, end_s * 1e9, end_s - begin_s
    frames = pl.read_parquet(run / "frames.parquet").filter(
        pl.col("shown_ns").is_between(begin, end)
    )
    bins = pl.read_parquet(run / "bins.parquet")
    bins = bins.filter(pl.col("bin_start_ns").is_between(begin, end - 1), pl.col("flow") == "game")
    link = pl.read_parquet(run / "link.parquet")
    link = link.filter(pl.col("bin_start_ns").is_between(begin, end - 1))
    capacity = link["capacity_bytes"].sum() / (link.height * 0.5)
    queue: Any = link["queue_mean_bytes"].mean()
    return {
        "rate": frames.height / seconds,
        "mbps": bins["received_bytes"].sum() * 8 / 1e6 / (bins.height * 0.5),
        "queue_ms": 1e3 * queue / capacity,
    }


def scored(folder: Path, at_s: float) -> float:
    """Give what the report says of the time of which the page has a score, as it says it of all.

    The last of its ten seconds began two looks ago: what was sent since may be on its way, and the
    host's answer is of the look before.
    """
    (run,) = finished_runs(gw.Results.open(folder))
    vars(run)["windows"] = replace(run.windows, run=Window(at_s - WINDOW_S, at_s - 2.5))
    return float(run_metrics(run).rows[0]["run_mos"])


@pytest.mark.alone
@pytest.mark.long("test_live_lab.py::test_what_is_kept_runs_again_in_the_simulator")
@pytest.mark.parametrize("controller", CONTROLLERS)
def test_what_is_kept_agrees_with_what_was_shown(tmp_path: Path, controller: str) -> None:
    words = ["--here", "--keep", "--controller", controller]
    with house() as (home, _), play(home, tmp_path / "run", *words) as playing:
        with browser(tmp_path / "profile", *inside(home)) as made:
            page = Page(made, playing.links[0])
            made.evaluate(page.page, "document.getElementById('show').click()")
            time.sleep(BEFORE_S)
            shown = sampled(page)
        assert playing.end()[0] == 0
    (run,) = (tmp_path / "run" / "kept" / "runs").iterdir()
    seconds = shown["seconds"]
    found = kept(run, float(seconds.min()) - 1, float(seconds.max()))  # type: ignore[arg-type]
    means = {name: float(shown[name].mean()) for name in found}  # type: ignore[arg-type]
    metrics = pl.read_parquet(tmp_path / "run" / "kept" / "metrics.parquet").row(0, named=True)
    names = ["run_displayed_fps", "run_stall_100ms_percent", "run_frame_delay_p50_ms",
             "run_frame_delay_p95_ms", "run_mos"]  # fmt: skip
    told = {name.removeprefix("run_"): round(metrics[name], 2) for name in names}
    shown_told = {name: round(value, 2) for name, value in means.items()}
    kept_told = {name: round(value, 2) for name, value in found.items()}
    sys.stdout.write(f"\n{controller}: shown {shown_told}, kept {kept_told}, report {told}")
    # A page counts what is decoded, the tables what is displayed; the panel looks once a second.
    assert 0.75 < found["rate"] / means["rate"] < 1.1
    assert 0.8 < found["mbps"] / means["mbps"] < 1.25
    assert abs(found["queue_ms"] - means["queue_ms"]) < 12
    # A score is of less than ten seconds while figures are shown for less.
    since = float(seconds.min()) - BEFORE_S  # type: ignore[arg-type]
    told_at = shown.filter(pl.col("seconds") > since + WINDOW_S).drop_nulls("score")
    score = float(told_at["score"].mean())  # type: ignore[arg-type]
    of_tables = [scored(tmp_path / "run" / "kept", at) for at in told_at["seconds"]]
    judged = sum(of_tables) / len(of_tables)
    sys.stdout.write(f"\n{controller}: opinion score shown {score:.2f}, of the tables {judged:.2f}")
    with of_times():
        assert abs(judged - score) < SCORE_APART
        if SPAN_S >= PLAYABLE_SPAN_S:
            assert told["frame_delay_p95_ms"] <= MAX_DELAY_MS
            assert told["mos"] >= MIN_SCORE
            assert told["stall_100ms_percent"] <= MAX_STALLED_PERCENT
