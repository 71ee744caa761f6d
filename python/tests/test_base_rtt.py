"""Runs with a base RTT of their own."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import gameway as gw
from gameway import _core
from gameway.metrics import per_run_table
from gameway.page.head import head_of
from gameway.report.phase import one_phase_warning

if TYPE_CHECKING:
    from pathlib import Path

BASE = """
duration = "4 s"
runs = 5
ping = { interval = "20 ms" }
[path]
capacity = "25 Mb/s"
base_rtt = "40 ms"
base_rtt_spread = "10 %"
queue = { kind = "drop-tail", size = "0.5 bdp" }
[[stream]]
controller = ["pudica", "gcc"]
video = "steady"
[[competitor]]
base_rtt = "100 ms"
"""


def runs(*settings: str) -> list[Any]:
    return gw.expand(gw.loads(BASE).with_overrides(list(settings)))


def rtts_ms(*settings: str, flow: str = "path") -> list[float]:
    found = runs("stream.game.controller=pudica", *settings)
    tables = [run.spec["path"] if flow == "path" else run.spec[flow][0] for run in found]
    return [_core.parse_duration(table["base_rtt"]) / 1e6 for table in tables]


def test_repeats_are_spread_evenly_and_more_leave_the_first_as_they_are() -> None:
    found = rtts_ms("runs=20")
    assert found[:5] == rtts_ms()
    assert 36.0 <= min(found) < 36.5
    assert 43.5 < max(found) <= 44.0
    # Twenty even steps are 0.4 ms; random ones would leave gaps of 1.4 ms.
    gaps = [b - a for a, b in zip(sorted(found), sorted(found)[1:], strict=False)]
    assert max(gaps) < 0.75
    # Five are already on both sides, and not where another seed has them.
    assert sum(found[:5]) / 5 == pytest.approx(40.0, abs=1.0)
    assert set(found).isdisjoint(rtts_ms("runs=20", "seed=2"))


def test_conditions_of_a_repeat_stay_paired_and_all_ways_change_alike() -> None:
    by_repeat: dict[int, set[str]] = {}
    for run in runs():
        assert run.spec["path"]["nominal_rtt"] == "40 ms"
        assert "base_rtt_spread" not in run.spec["path"]
        by_repeat.setdefault(run.repeat, set()).add(run.spec["path"]["base_rtt"])
    assert [len(found) for found in by_repeat.values()] == [1] * 5
    far = rtts_ms(flow="competitor")
    assert far == pytest.approx([2.5 * own for own in rtts_ms()], abs=0.002)
    down = [run.spec["path"]["forward_delay"] for run in runs("path.forward_delay=30 ms")][::2]
    assert [_core.parse_duration(text) / 1e6 for text in down] == pytest.approx(
        [0.75 * own for own in rtts_ms()], abs=0.002
    )


def test_without_a_spread_nothing_changes() -> None:
    plain = gw.loads(BASE.replace('base_rtt_spread = "10 %"\n', ""))
    assert {run.spec["path"]["base_rtt"] for run in gw.expand(plain)} == {"40 ms"}
    assert all("nominal_rtt" not in run.spec["path"] for run in gw.expand(plain))


def test_each_value_of_an_axis_of_spreads_has_its_bounds() -> None:
    found = runs("path.base_rtt_spread=[1 %, 50 %]", "stream.game.controller=pudica")
    narrow = [run for run in found if run.factors["base_rtt_spread"] == "1 %"]
    wide = [run for run in found if run.factors["base_rtt_spread"] == "50 %"]
    assert len(narrow) == len(wide) == 5
    for run, most in [*((run, 0.4) for run in narrow), *((run, 20.0) for run in wide)]:
        own = _core.parse_duration(run.spec["path"]["base_rtt"]) / 1e6
        assert abs(own - 40.0) <= most + 0.001


def test_a_spread_above_a_half_is_refused() -> None:
    with pytest.raises(gw.InputError, match=r"base_rtt_spread.*at most 50 %"):
        gw.loads(BASE.replace("10 %", "51 %"))
    with pytest.raises(gw.InputError, match="nominal_rtt"):
        gw.loads(BASE.replace("base_rtt_spread", "nominal_rtt"))


def test_tables_and_report_say_which_rtt_a_run_had(tmp_path: Path) -> None:
    results = gw.run(
        gw.loads(BASE).with_overrides(["stream.game.controller=pudica"]), tmp_path / "out"
    )
    table = per_run_table(results).sort("repeat")
    assert table["base_rtt_ms"].to_list() == pytest.approx(rtts_ms())
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text(encoding="utf-8"))
    named = [_core.parse_duration(run["base_rtt"]) / 1e6 for run in manifest["runs"]]
    assert named == pytest.approx(rtts_ms())
    told = dict(head_of(results).facts)["Base RTT"]
    assert told.startswith("each repeat its own, 36")
    pings = results.pings().collect()
    for repeat, own in enumerate(rtts_ms()):
        least = pings.filter(repeat=repeat)["rtt_ns"].min() / 1e6
        # The ping's own sending time, and at most a packet before it.
        assert own <= least < own + 0.6


def test_a_report_warns_of_one_phase(tmp_path: Path) -> None:
    shallow = ["runs=1", "duration=6 s", "path.base_rtt=16 ms", "stream.game.start_bitrate=20 Mb/s",
               "stream.game.controller={ kind = \"fixed\", bitrate = \"20 Mb/s\" }"]  # fmt: skip
    plain = gw.loads(BASE.replace('base_rtt_spread = "10 %"\n', ""))
    told = {
        # A frame has 42 kB, half a BDP 25 kB.
        "locked": plain.with_overrides(shallow),
        "spread": gw.loads(BASE).with_overrides(shallow),
        "deep": plain.with_overrides([*shallow, "path.queue.size=2 bdp"]),
        "far": plain.with_overrides([*shallow, "path.base_rtt=80 ms", "path.queue.size=25 kB"]),
    }
    warnings = {
        name: one_phase_warning(gw.run(experiment, tmp_path / name))
        for name, experiment in told.items()
    }
    assert warnings["locked"].startswith("In 1 of 1 conditions a frame is larger than the queue")
    assert {warnings[name] for name in ("spread", "deep", "far")} == {""}
