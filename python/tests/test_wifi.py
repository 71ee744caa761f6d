"""Wi-Fi in an experiment file: what is refused, how runs are called, and what they give."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import polars as pl
import pytest

import gameway as gw
from gameway import _core
from gameway.experiment.keys.wifi import KEYS

if TYPE_CHECKING:
    from pathlib import Path

HOME = """\
duration = "10 s"
ping = false

[path]
capacity = { wifi = "802.11g" }
base_rtt = "20 ms"
queue = { kind = "drop-tail", size = "250 packets" }

[[competitor]]
name = "game"
kind = "udp"
rate = "6 Mb/s"

[[competitor]]
name = "download"
"""

# what stands in place of the capacity, line, field, value, text that the message must hold
CASES = {
    "generation": ('{ wifi = "802.11b" }', "wifi", "802.11b", "802.11g"),
    "unknown key": ('{ wifi = "802.11g", eror_rate = "1 %" }', "eror_rate", "1 %", "error_rate"),
    "key of another kind": ('{ wifi = "802.11g", trace = "x" }', "trace", "x", "unknown key"),
    "rate in an axis": (
        '{ wifi = "802.11g", rate = ["54 Mb/s", "11 Mb/s"] }', "rate.1", "11 Mb/s", "6, 9, 12",
    ),
    "key of another generation": (
        '{ wifi = ["802.11n", "802.11g"], mcs = 3 }', "mcs", 3, "802.11g does not have it",
    ),
    "scheme": ('{ wifi = "802.11n", mcs = [7, 9] }', "mcs.1", 9, "between 0 and 7"),
    "what the tables leave out": (
        '{ wifi = "802.11ac", mcs = 9, width = "20 MHz" }', "mcs", 9, "the standard has no 9",
    ),
    "width": ('{ wifi = "802.11n", width = "20" }', "width", "20", "20 MHz"),
    "share": ('{ wifi = "802.11g", error_rate = "100 %" }', "error_rate", "100 %", "below 100 %"),
    "windows": ('{ wifi = "802.11g", cw_max = 7 }', "cw_max", 7, "cw_min (15)"),
    "queue of a station": (
        '{ wifi = "802.11g", station_queue = { kind = "tail" } }', "station_queue.kind", "tail",
        "drop-tail",
    ),
}  # fmt: skip


def refused(text: str) -> gw.InputError:
    with pytest.raises(gw.InputError) as caught:
        gw.loads(text)
    return caught.value


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_a_medium_that_cannot_be_is_refused_where_it_stands(
    case: tuple[str, str, object, str],
) -> None:
    capacity, field, value, text = case
    error = refused(HOME.replace('{ wifi = "802.11g" }', capacity, 1))
    assert (error.line, error.field, error.value) == (5, f"path.capacity.{field}", value)
    assert text in str(error)


def test_what_a_medium_cannot_be_combined_with_is_refused() -> None:
    back = refused(HOME.replace("queue =", 'back = { capacity = "1 Mb/s" }\nqueue =', 1))
    assert (back.line, back.field) == (7, "path.back.capacity")
    assert "shares the Wi-Fi medium" in str(back)
    hop = '[[path.hop]]\nname = "a"\ncapacity = { wifi = "802.11g" }\n[[competitor]]'
    second = refused(HOME.replace("[[competitor]]", hop, 1))
    assert second.field == "path.hop.0.capacity.wifi"
    assert "only the capacity of [path]" in str(second)
    hop = '[[path.hop]]\nname = "a"\ncapacity = "1 Mb/s"\nplace = ["in-front", "behind"]\n'
    behind = refused(HOME.replace("[[competitor]]", hop + "[[competitor]]", 1))
    assert (behind.field, behind.value) == ("path.hop.0.place.1", "behind")
    assert "the clients are on the Wi-Fi medium" in str(behind)
    oracle = refused(HOME + '[[stream]]\nname = "o"\ncontroller = ["gcc", "oracle"]\n')
    assert oracle.field == "stream.0.controller.1"
    assert "foresee" in str(oracle)
    shared = refused('controller = "oracle"\n' + HOME + '[[stream]]\nname = "o"\n')
    assert shared.field == "controller"


def test_every_key_is_passed_on_and_may_be_an_axis() -> None:
    axes = {
        "wifi": '["802.11n", "802.11ac"]', "mcs": "[3, 7]", "streams": "[1, 2]",
        "width": '["20 MHz", "40MHz"]', "guard_interval": '["800 ns", "0.4 us"]',
        "basic_rate": '"6 Mb/s"', "slot": '"20 us"', "error_rate": '["0 %", "2 %"]',
        "attempts": "4", "cw_min": "31", "cw_max": "255", "rts_above": '"500 B"',
        "aggregate": "16", "aggregate_time": '"4 ms"',
        "station_queue": '{ kind = "codel", size = ["50 packets", "100 packets"] }',
    }  # fmt: skip
    assert {*axes, "rate"} == set(KEYS)
    table = "{ " + ", ".join(f"{key} = {value}" for key, value in axes.items()) + " }"
    runs = gw.expand(gw.loads(HOME.replace('{ wifi = "802.11g" }', table, 1)))
    assert len(runs) == 2**7
    assert len({run.factors["capacity"] for run in runs}) == 2**7
    for run in runs[::17]:
        assert set(run.spec["path"]["capacity"]) == set(axes)
        _core.check_spec(json.dumps(run.spec))
    assert runs[-1].spec["path"]["capacity"]["width"] == "40 MHz"
    assert runs[-1].spec["path"]["capacity"]["guard_interval"] == "400 ns"


def test_a_medium_is_one_condition_with_its_settings() -> None:
    axis = '["25 Mb/s", { wifi = "802.11g" }, { wifi = "802.11g", rate = "24 Mb/s" }]'
    runs = gw.expand(gw.loads(HOME.replace('{ wifi = "802.11g" }', axis, 1)))
    found = [run.factors["capacity"] for run in runs]
    assert found == ["25 Mb/s", "802.11g", "802.11g, rate 24 Mb/s"]


def test_a_run_at_home_fills_the_tables(tmp_path: Path) -> None:
    results = gw.run(gw.loads(HOME), tmp_path / "out")
    link = results.link().filter(pl.col("bin_start_ns") >= 2_000_000_000).collect()
    nominal = link["capacity_bytes"].sum() * 8 / 8e6
    assert nominal == pytest.approx(30.496, rel=1e-3)
    carried = link["transmitted_bytes"].sum() * 8 / 8e6
    assert 20.0 < carried < 30.0
    assert 0.6 < link["busy_ns"].sum() / 8e9 < 0.95
    bins = results.bins().group_by("flow").agg(pl.col("feedback_bytes").sum()).collect()
    assert dict(bins.rows())["download"] > 0
    # Acknowledgements meet the medium, so they are in the books.
    (total,) = results.summary().collect().iter_rows(named=True)
    assert total["arrived_packets"] > results.bins().collect()["sent_packets"].sum()
