"""Pudica's evaluation: paths, measures, laws, and a small form of its runs."""

from __future__ import annotations

import json

import gameway as gw
from gameway import _core

TWO_PATHS = """
duration = "3 s"
runs = 2

[[stream]]
controller = ["fixed", "pudica"]

[[path]]
capacity = "10 Mb/s"
base_rtt = "10 ms"
jitter = { deviation = "1 ms" }

[[path]]
capacity = "20 Mb/s"
base_rtt = "20 ms"
queue = { kind = "drop-tail", size = ["1 bdp", "2 bdp"] }
"""


def test_paths_are_an_axis() -> None:
    runs = gw.expand(gw.loads(TWO_PATHS))
    # Two controllers, (one path + one path with two queues), two repeats.
    assert len(runs) == 2 * 3 * 2
    paths = {json.dumps(run.spec["path"], sort_keys=True) for run in runs}
    assert len(paths) == 3
    assert {run.factors["capacity"] for run in runs} == {"10 Mb/s", "20 Mb/s"}
    assert sum("jitter" in run.spec["path"] for run in runs) == 4
    for run in runs:
        _core.check_spec(json.dumps(run.spec))
