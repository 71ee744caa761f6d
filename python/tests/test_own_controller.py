"""Controllers that are classes of the user's run as those of Rust, and fail with their reason."""

from __future__ import annotations

import time
from itertools import groupby
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import gameway as gw
from gameway import _core, sweep
from gameway.sweep.drivers import SIMULATOR

if TYPE_CHECKING:
    from pathlib import Path

CONSTANT = """
import gameway as gw

class Constant(gw.RateController):
    def __init__(self, limits, mbps=12):
        super().__init__(limits)
        self.bitrate = mbps * 1e6

    def target(self):
        return gw.Target(self.bitrate, pace_multiplier=1.25)
"""

EXPERIMENT = """
duration = "5 s"
runs = 2
[path]
capacity = "20 Mb/s"
base_rtt = "20 ms"
[[stream]]
controller = {controller}
"""

OWN = '{{ kind = "python", file = "mine.py", class = "{name}"{more} }}'


def written(folder: Path, code: str, name: str, more: str = "") -> gw.Experiment:
    """Write a controller and an experiment with it."""
    (folder / "mine.py").write_text(code)
    file = folder / "mine.toml"
    file.write_text(EXPERIMENT.format(controller=OWN.format(name=name, more=more)))
    return gw.load(file)


def test_the_same_targets_give_the_same_frames_as_in_rust(tmp_path: Path) -> None:
    own = gw.run(written(tmp_path, CONSTANT, "Constant"), tmp_path / "own", jobs=2)
    (tmp_path / "rust.toml").write_text(
        EXPERIMENT.format(controller='{ kind = "fixed", bitrate = "12 Mb/s" }')
    )
    rust = gw.run(gw.load(tmp_path / "rust.toml"), tmp_path / "rust")
    frames = [
        results.frames().drop("run", "controller").collect().sort("repeat", "frame")
        for results in (own, rust)
    ]
    assert frames[0].height == 2 * 300
    assert frames[0].equals(frames[1])
    assert own.factor_values("controller") == ["Constant"]


LISTENING = """
import gameway as gw

class Listening(gw.RateController):
    feedback = "20 ms"
    ecn = "ect1"

    def __init__(self, limits):
        super().__init__(limits)
        assert (limits.min_bps, limits.max_bps, limits.start_bps) == (2000000, 50000000, 5000000)
        assert limits.frame_interval_ns == 16_666_666
        self.frames = self.sent = self.arrived = self.lost = self.marked = self.ticks = 0
        self.min_rtt = None
        self.due = None

    def on_frame(self, now_ns, frame):
        assert frame.number == self.frames
        self.frames += 1
        self.due = self.due or now_ns + 100_000_000

    def on_sent(self, now_ns, packet):
        assert packet.sequence == self.sent and packet.sent_ns == now_ns
        assert packet.kind == "media" and 0 < packet.size_bytes <= 1248
        self.sent += 1

    def on_feedback(self, now_ns, reports, in_flight_bytes, rtt_ns):
        self.arrived += sum(report.arrival_ns is not None for report in reports)
        self.lost += sum(report.arrival_ns is None for report in reports)
        self.marked += sum(report.congestion_experienced for report in reports)
        if rtt_ns is not None:
            self.min_rtt = min(rtt_ns, self.min_rtt or rtt_ns)

    def next_timer(self):
        return self.due

    def on_timer(self, now_ns):
        assert now_ns == self.due
        self.due += 100_000_000
        self.ticks += 1
        if self.ticks == 40:
            assert 230 < self.frames < 250
            assert 0.9 * self.sent < self.arrived + self.lost <= self.sent
            assert self.marked > 0.3 * self.arrived
            assert 20_000_000 < self.min_rtt < 21_500_000
            raise ArithmeticError("all is as it should be")

    def target(self):
        return gw.Target(25e6 if self.frames > 60 else 10e6, pacing_bps=60e6)
"""


def test_a_class_hears_of_everything_and_its_exception_is_raised(tmp_path: Path) -> None:
    experiment = written(tmp_path, LISTENING, "Listening").with_overrides(
        ['path.queue={kind="drop-tail", size="7 bdp", mark_above="1 ms"}', "runs=1"]
    )
    with pytest.raises(gw.GamewayError, match="all is as it should be"):
        gw.run(experiment, tmp_path / "out")
    assert gw.Results.open(tmp_path / "out").missing == 1


TELLING = """
import gameway as gw

class Telling(gw.RateController):
    def __init__(self, limits, probing=True):
        super().__init__(limits)
        self.probing = probing
        self.captures = self.frames = self.probed = 0

    def on_capture(self, now_ns):
        assert self.captures == self.frames
        self.captures += 1

    def on_frame(self, now_ns, frame):
        self.frames += 1

    def on_sent(self, now_ns, packet):
        assert packet.probe_cluster in {None, 7}
        self.probed += packet.probe_cluster == 7

    def observe(self):
        return {"captures": self.captures, "probed": self.probed, "half": 0.5}

    def target(self):
        cluster = gw.ProbeCluster(7, rate_bps=30_000_000, min_bytes=20_000, min_packets=5)
        wanted = cluster if self.probing else None
        return gw.Target(10e6, pace_multiplier=1.25, probe_cluster=wanted)
"""


@pytest.mark.parametrize(("more", "probed"), [("", (5, 40)), (", probing = false", (0, 0))])
def test_a_class_tells_its_state_and_hears_of_captures_and_probes(
    tmp_path: Path, more: str, probed: tuple[int, int]
) -> None:
    experiment = written(tmp_path, TELLING, "Telling", more)
    results = gw.run(experiment.with_overrides(["runs=1"]), tmp_path / "out")
    log = results.controller().collect()
    assert set(log["variable"]) == {"target_bps", "captures", "probed", "half"}
    last = {
        name: log.filter(pl.col("variable") == name)["value"][-1] for name in ("captures", "half")
    }
    assert 260 <= last["captures"] <= 300
    assert last["half"] == 0.5
    assert probed[0] <= log.filter(pl.col("variable") == "probed")["value"].max() <= probed[1]


FOLLOWING = """
import gameway as gw

class Following(gw.RateController):
    def __init__(self, limits):
        super().__init__(limits)
        self.interval_ns = limits.frame_interval_ns
        self.calls = 0
        self.bitrate = 10e6

    def on_frame_interval(self, now_ns, interval_ns):
        assert interval_ns != self.interval_ns
        self.interval_ns = interval_ns
        self.calls += 1

    def on_frame(self, now_ns, frame):
        self.bitrate = 2e6 if 3_000_000_000 <= now_ns < 6_000_000_000 else 10e6

    def observe(self):
        return {"interval_ms": self.interval_ns / 1e6, "calls": self.calls}

    def target(self):
        return gw.Target(self.bitrate, pace_multiplier=1.25)
"""


def test_a_class_hears_of_a_changed_frame_interval(tmp_path: Path) -> None:
    # Low content has 30 frames/s below 2.2 Mb/s (docs/picture-ladder.md). The frame rate falls half
    # a second after the target fell to 2 Mb/s, and rises five seconds after the target rose.
    experiment = written(tmp_path, FOLLOWING, "Following").with_overrides(
        ["stream.game.ladder=frame-rate", "runs=1", "duration=14 s"]
    )
    results = gw.run(experiment, tmp_path / "out")
    events = results.events().filter(pl.col("event") == "frame-rate").collect().sort("time_ns")
    assert events["value"].to_list() == pytest.approx([60, 30, 60], rel=1e-6)
    log = results.controller().collect().sort("time_ns")
    intervals = log.filter(pl.col("variable") == "interval_ms")["value"]
    assert [round(interval, 1) for interval, _ in groupby(intervals)] == [16.7, 33.3, 16.7]
    assert log.filter(pl.col("variable") == "calls")["value"][-1] == 2


def test_an_exception_ends_its_run_at_once_and_the_others_go_on(tmp_path: Path) -> None:
    raising = CONSTANT.replace(
        "    def target",
        """    def on_frame(self, now_ns, frame):
        if frame.number == 100 and self.bitrate > 10e6:
            raise ArithmeticError("too fast")

    def target""",
    )
    experiment = written(tmp_path, raising, "Constant", ", mbps = [8, 12]")
    with pytest.raises(gw.GamewayError, match="2 of 4 runs failed") as raised:
        gw.run(experiment, tmp_path / "out")
    told = str(raised.value)
    assert "mine.py, line" in told
    assert "ArithmeticError: too fast" in told
    assert "Traceback (most recent call last)" in told
    kept = gw.Results.open(tmp_path / "out")
    assert kept.missing == 2
    assert set(kept.frames().collect()["controller"]) == {"Constant mbps=8"}
    # It is one error: where and when differ from run to run, and stand beside the first.
    assert told.count("Traceback") == 1
    assert "and 1 more: {" in told
    # A day takes minutes, to the end.
    alone = written(tmp_path, raising, "Constant").with_overrides(["runs=1", "duration=24 h"])
    begun = time.monotonic()
    with pytest.raises(gw.GamewayError, match="too fast"):
        gw.run(alone, tmp_path / "day")
    assert time.monotonic() - begun < 20


WRITING = """
import gameway as gw

class Writing(gw.RateController):
    def __init__(self, limits, calls, raises):
        super().__init__(limits)
        self.calls, self.raises = calls, raises

    def write(self, now_ns, word):
        with open(self.calls, "a") as calls:
            print(now_ns, self.raises, word, sep=",", file=calls)

    def on_sent(self, now_ns, packet):
        self.write(now_ns, "sent")

    def on_feedback(self, now_ns, reports, in_flight_bytes, rtt_ns):
        self.write(now_ns, "feedback")

    def on_frame(self, now_ns, frame):
        self.write(now_ns, "frame")
        if frame.number == 100 and self.raises:
            raise ArithmeticError("too late")

    def target(self):
        return gw.Target(5e6, pace_multiplier=1.25)
"""


def test_nobody_is_called_after_an_exception_and_run_class_and_time_are_told(
    tmp_path: Path,
) -> None:
    (tmp_path / "mine.py").write_text(WRITING)
    calls = tmp_path / "calls"
    streams = [
        f'[[stream]]\nname = "{name}"\ncontroller = '
        + OWN.format(name="Writing", more=f', calls = "{calls}", raises = "{raises}"')
        for name, raises in [("first", "yes"), ("second", "")]
    ]
    path = 'duration = "3 s"\n[path]\ncapacity = "20 Mb/s"\nbase_rtt = "20 ms"'
    experiment = gw.loads("\n".join([path, *streams]), tmp_path / "mine.toml")
    (run,) = gw.expand(experiment)
    with pytest.raises(gw.GamewayError, match="too late") as raised:
        gw.run(experiment, tmp_path / "out")
    heard = [line.split(",") for line in calls.read_text("utf-8").splitlines()]
    assert {raises for _, raises, _ in heard} == {"yes", ""}
    # The frames of both are captured each 16.7 ms, and packets leave each 2 ms.
    time_ns = int(heard[-1][0])
    assert heard[-1][1:] == ["yes", "frame"]
    assert 1_660_000_000 < time_ns < 1_700_000_000
    assert time_ns == max(int(now) for now, _, _ in heard)
    told = str(raised.value)
    assert f"class Writing: {tmp_path / 'mine.py'}, line " in told
    assert f"{run.id} at {_core.format_duration(time_ns)}: {{" in told


STEADY = """
import gameway as gw

class Steady(gw.RateController):
    def __init__(self, limits, bounds="", parts=""):
        super().__init__(limits)
        self.sends_in_parts, self.bounds = bool(parts), bool(bounds)
        self.frames, self.ahead = 0, 0

    def on_frame(self, now_ns, frame):
        self.frames += 1
        if self.frames == 200:
            raise ArithmeticError(f"{self.ahead} packets ahead of their frames")

    def on_sent(self, now_ns, packet):
        self.ahead += packet.frame >= self.frames

    def target(self):
        return gw.Target(10e6, pace_multiplier=1.25, bounds_frame=self.bounds)
"""


def _in_slices(folder: Path, more: str, duration: str = "5 s") -> gw.Results:
    """Run the steady controller in a stream whose frames take 10 ms to encode."""

    def run_one(spec: dict[str, Any], recorded: dict[str, Any], target: Path) -> None:
        SIMULATOR.run_one(_slow(spec), _slow(recorded), target)

    experiment = written(folder, STEADY, "Steady", more)
    overrides = ["runs=1", "stream.game.video=scene", f"duration={duration}"]
    return sweep.run(experiment.with_overrides(overrides), folder / "out", run_one=run_one)


def _slow(spec: dict[str, Any]) -> dict[str, Any]:
    return spec | {"stream": [spec["stream"][0] | {"encode_times": [["0 s", "4 ms", "10 ms"]]}]}


@pytest.mark.parametrize(("more", "ahead"), [("", False), (', parts = "yes"', True)])
def test_packets_leave_before_their_frame_is_encoded_if_they_may(
    tmp_path: Path, more: str, *, ahead: bool
) -> None:
    with pytest.raises(gw.GamewayError, match="packets ahead of their frames") as raised:
        _in_slices(tmp_path, more)
    assert ("ArithmeticError: 0 packets" in str(raised.value)) != ahead


@pytest.mark.parametrize(("more", "above"), [("", (20, 100)), (', bounds = "yes"', (0, 0))])
def test_a_target_may_bound_each_frame(tmp_path: Path, more: str, above: tuple[int, int]) -> None:
    frames = _in_slices(tmp_path, more, "3 s").frames().collect()
    granted = frames["target_bps"] / 8 / 60
    excess = (frames["wire_bytes"] > granted).sum()
    assert above[0] <= excess <= above[1]


@pytest.mark.parametrize(
    ("code", "name", "more", "named"),
    [
        (CONSTANT, "Missing", "", "has no class Missing"),
        ("class Plain: pass", "Plain", "", "does not derive from gameway.RateController"),
        ("import nowhere_to_be_found", "Any", "", "nowhere_to_be_found"),
        ("def (", "Any", "", "invalid syntax"),
        (CONSTANT, "Constant", ', gain = "1"', "unexpected keyword argument 'gain'"),
        (CONSTANT, "Constant", ', mbps = "many"', "can't multiply sequence by non-int"),
        (CONSTANT.replace('gw.Target(self.bitrate, pace_multiplier=1.25)', "7"), "Constant", "",
         "target() must give a gameway.controller.Target"),
        (CONSTANT.replace("1.25", "0.5"), "Constant", "", "pacing must be 1 or more"),
        (CONSTANT.replace("1e6", "float('nan')"), "Constant", "", "is not a bitrate"),
        (CONSTANT.replace("    def __init__", '    feedback = "often"\n    def __init__'),
         "Constant", "", 'neither "per-frame" nor an interval'),
        (CONSTANT.replace("    def __init__", '    ecn = "ce"\n    def __init__'),
         "Constant", "", 'neither "none" nor "ect0"'),
    ],
)  # fmt: skip
def test_what_cannot_run_is_refused_before_the_first_run(
    tmp_path: Path, code: str, name: str, more: str, named: str
) -> None:
    with pytest.raises(gw.InputError) as caught:
        gw.run(written(tmp_path, code, name, more), tmp_path / "out")
    assert named in str(caught.value)
    assert "mine.py" in str(caught.value)
    assert not (tmp_path / "out" / "runs").exists()


def test_a_file_or_class_that_is_not_named_is_refused(tmp_path: Path) -> None:
    for controller, named in [
        ('{ kind = "python", class = "Mine" }', "file"),
        ('{ kind = "python", file = "nowhere.py", class = "Mine" }', "names no file"),
        ('{ kind = "python", file = "mine.py" }', "must be the name of a class"),
    ]:
        (tmp_path / "mine.py").write_text(CONSTANT)
        with pytest.raises(gw.InputError, match=named):
            gw.loads(EXPERIMENT.format(controller=controller), tmp_path / "mine.toml")


def test_another_content_of_the_file_is_another_run(tmp_path: Path) -> None:
    first = gw.expand(written(tmp_path, CONSTANT, "Constant"))
    again = gw.expand(written(tmp_path, CONSTANT + "\n# other\n", "Constant"))
    assert [run.id for run in first] != [run.id for run in again]
    assert first[0].recorded == again[0].recorded


def test_options_are_an_axis(tmp_path: Path) -> None:
    experiment = written(tmp_path, CONSTANT, "Constant", ", mbps = [4, 8.0]")
    results = gw.run(experiment, tmp_path / "out")
    assert results.factor_values("controller") == ["Constant mbps=4", "Constant mbps=8.0"]
    targets = results.frames().group_by("controller").agg(pl.col("target_bps").mean())
    assert sorted(targets.collect()["target_bps"]) == [4e6, 8e6]
