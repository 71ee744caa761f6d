"""Simulated and live runs agree: a small form of tests/conformance, and a twin that must fail.

The whole of it: `gameway run tests/conformance --on live`, an hour and three quarters.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from live_fixture import needs_live

import gameway as gw
from gameway.beside import Row, compare, twin
from gameway.beside.warnings import warning
from gameway.experiment import keys
from gameway.experiment.suite import load_suite
from gameway.live import limits
from gameway.live.run import run_one
from gameway.sweep.drivers import TWIN

SCENARIOS = Path(__file__).resolve().parents[2] / "tests" / "conformance"
SHORT = ("duration=10 s", "runs=1", "competitor.0.stop=9 s")
BODIES = {
    "cubic": ("tcp-alone", "competitor.0.congestion_control=cubic", "path.queue.size=2 bdp"),
    "bbr": ("tcp-alone", "competitor.0.congestion_control=bbr", "path.queue.size=2 bdp"),
    "quic": ("quic-alone", "competitor.0.congestion_control=cubic", "path.queue.size=2 bdp"),
    "jitter": ("tcp-jitter", "competitor.0.congestion_control=cubic"),
}
JUDGED = {
    "throughput_mbps", "link_utilization_percent", "rtt_mean_ms", "queue_delay_mean_ms",
}  # fmt: skip
"""Losses of one short run are a matter of luck: the long form has them."""
WIDER = {"throughput_mbps": 2, "link_utilization_percent": 2}
"""The tolerances are for quiet machines; here they are as many times as wide, delays four times.

BBR makes a queue of late acknowledgments: with others on this machine half as long again."""


def body(name: str) -> gw.Experiment:
    part, *settings = BODIES[name]
    return load_suite(SCENARIOS).parts[part].with_overrides([*SHORT, *settings])


def measured(experiment: gw.Experiment, folder: Path, **others: Any) -> gw.Results:
    """Run it live, twice where the machine was too busy the first time."""
    for attempt in ("first", "second"):
        live = gw.run(experiment, folder / attempt, on="live", **others)
        if not warning(live):
            return live
    pytest.skip(warning(live))


def beside(simulated: gw.Results, live: gw.Results) -> list[Row]:
    """Compare what this small form judges."""
    rows = compare(simulated, live)
    return [widened(row) for row in rows if row.tolerance.metric in JUDGED]


def both(experiment: gw.Experiment, folder: Path, **others: Any) -> list[Row]:
    """Run it live and simulated."""
    live = measured(experiment, folder, **others)
    return beside(twin.simulate(experiment, live.path), live)


def widened(row: Row) -> Row:
    """Judge a row with the tolerance of this small form."""
    by = WIDER.get(row.tolerance.metric, 4)
    tolerance = row.tolerance
    wider = replace(tolerance, relative=by * tolerance.relative, absolute=by * tolerance.absolute)
    return replace(row, tolerance=wider)


LONG = pytest.mark.long("test_conformance.py::test_the_kernel_and_the_simulator_agree")
"""Always: the kernel's CUBIC."""
CASES = [pytest.param(name, marks=[] if name == "cubic" else [LONG]) for name in BODIES]


@pytest.mark.timed
@pytest.mark.light
@needs_live
@pytest.mark.parametrize("name", CASES)
def test_the_kernel_and_the_simulator_agree(name: str, tmp_path: Path) -> None:
    live = measured(body(name), tmp_path)
    rows = beside(twin.simulate(body(name), live.path), live)
    assert {row.tolerance.metric for row in rows} == JUDGED
    apart = [
        f"{row.tolerance.label} of {row.flow}: simulated {row.simulated.mean:.3g}, "
        f"live {row.live.mean:.3g}"
        for row in rows
        if not row.within
    ]
    assert apart == []
    # The twin: they are not what is simulated of four fifths of the capacity.
    capacity = "16 Mb/s" if name == "jitter" else "20 Mb/s"

    def slower(spec: dict[str, Any], recorded: dict[str, Any], target: Path) -> None:
        TWIN.run_one(spec | {"path": spec["path"] | {"capacity": capacity}}, recorded, target)

    other = gw.run(body(name), tmp_path / "slower", run_one=slower)
    assert "throughput_mbps" in outside(beside(other, live))


def outside(rows: list[Row]) -> set[str]:
    return {row.tolerance.metric for row in rows if not row.within}


@pytest.mark.timed
@pytest.mark.light
@LONG
@needs_live
def test_a_live_link_of_20_is_not_a_simulated_one_of_25(tmp_path: Path) -> None:
    def slower(spec: dict[str, Any], recorded: dict[str, Any], target: Path) -> None:
        path = spec["path"] | {"capacity": "20 Mb/s"}
        run_one(spec | {"path": path}, recorded, target)

    rows = both(body("cubic"), tmp_path, run_one=slower)
    assert "throughput_mbps" in outside(rows)


def test_every_scenario_can_run_on_both_drivers() -> None:
    suite = load_suite(SCENARIOS)
    for experiment in suite.parts.values():
        limits.check(experiment)
        assert gw.expand(experiment)
    told = (SCENARIOS / "README.md").read_text(encoding="utf-8")
    assert [name for name in suite.parts if f"`{name}`" not in told] == []


def test_scenarios_have_every_queue_and_every_controller() -> None:
    parts = load_suite(SCENARIOS).parts
    runs = [run.spec for part in parts.values() for run in gw.expand(part)]
    queues = {run["path"]["queue"]["kind"] for run in runs}
    assert queues == set(keys.entries("queues"))
    given = (stream["controller"] for run in runs for stream in run["stream"])
    kinds = {one["kind"] if isinstance(one, dict) else one for one in given}
    assert kinds == set(keys.entries("controllers")) - set(limits.VIRTUAL_CONTROLLERS)
