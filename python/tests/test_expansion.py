"""How an experiment becomes runs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gameway as gw
from gameway import _core
from gameway.expansion import run_seed
from gameway.expansion.specification import canonical

if TYPE_CHECKING:
    from pathlib import Path

BASE: dict[str, Any] = {
    "duration": "60 s",
    "path": {"capacity": "25 Mb/s", "base_rtt": "16 ms"},
    "stream": [{"controller": "pudica"}],
}


def experiment(**changes: Any) -> gw.Experiment:
    return gw.Experiment(**{**BASE, **changes})


def path(**changes: Any) -> dict[str, Any]:
    return {**BASE["path"], **changes}


def test_the_papers_matrix() -> None:
    paper = gw.loads("""
        duration = "540 s"
        runs = 15
        [path]
        capacity = ["15 Mb/s", "25 Mb/s", "35 Mb/s"]
        base_rtt = "16 ms"
        queue = { kind = "drop-tail", size = ["0.5 bdp", "2 bdp", "7 bdp"] }
        [[stream]]
        controller = ["pudica", "gcc", "fixed"]
        [[competitor]]
        congestion_control = ["cubic", "bbr"]
        start = "185 s"
        stop = "370 s"
    """)
    runs = gw.expand(paper)
    assert len(runs) == 3 * 3 * 3 * 2 * 15
    assert len({run.id for run in runs}) == len(runs)
    assert [run.repeat for run in runs] == sorted(run.repeat for run in runs)
    assert runs[0].factors == {
        "controller": "pudica",
        "congestion_control": "cubic",
        "capacity": "15 Mb/s",
        "queue_size": "0.5 bdp",
    }
    # File order: capacity is the first axis and changes slowest, the congestion control fastest.
    assert [run.factors["capacity"] for run in runs[:54]] == [
        capacity for capacity in ("15 Mb/s", "25 Mb/s", "35 Mb/s") for _ in range(18)
    ]
    assert [run.factors["congestion_control"] for run in runs[:4]] == ["cubic", "bbr"] * 2


def test_repeats_share_a_seed_over_factors_and_repeats_differ() -> None:
    runs = gw.expand(experiment(runs=5, path=path(capacity=["1 Mb/s", "2 Mb/s"])))
    by_repeat = {repeat: {run.seed for run in runs if run.repeat == repeat} for repeat in range(5)}
    assert all(len(seeds) == 1 for seeds in by_repeat.values())
    assert len(set.union(*by_repeat.values())) == 5
    assert run_seed(1, 0) != run_seed(2, 0)
    assert all(0 <= run.seed < 2**48 for run in runs)


def test_seeds_and_ids_never_change() -> None:
    # Results on disk are found again by these: a change of either is a change of the schema.
    assert run_seed(1, 0) == PINNED_SEED
    assert gw.expand(experiment())[0].id == PINNED_ID


PINNED_SEED = 157439343852908
PINNED_ID = "pudica-none-25-mb-s-2-bdp_r00_5e674cb753"


def test_usual_factors_are_named_even_if_they_do_not_vary() -> None:
    assert gw.expand(experiment())[0].factors == {
        "controller": "pudica",
        "congestion_control": "none",
        "capacity": "25 Mb/s",
        "queue_size": "2 bdp",
    }


def test_other_factors_are_named_where_they_vary() -> None:
    built = experiment(
        path=path(loss={"probability": ["1 %", "2 %"]}, base_rtt=["1 ms", "2 ms"]),
        stream=[{"controller": "fixed", "start": ["0 s", "1 s"], "frame_rate": [30, 60]}],
        competitor=[{"start": ["0 s", "1 s"]}],
    )
    runs = gw.expand(built)
    assert len(runs) == 2**5
    usual = {"controller", "congestion_control", "capacity", "queue_size"}
    assert set(runs[0].factors) - usual == {
        "base_rtt", "loss_probability", "game_start", "frame_rate", "download_start",
    }  # fmt: skip


def test_two_streams_have_their_names_in_front() -> None:
    streams = [
        {"name": "a", "controller": ["pudica", "gcc"]},
        {"name": "b", "controller": "gcc", "frame_rate": [30, 60]},
    ]
    factors = [run.factors for run in gw.expand(experiment(stream=streams))]
    assert [named["controller"] for named in factors] == ["pudica+gcc"] * 2 + ["gcc"] * 2
    assert factors[1]["b_frame_rate"] == "60"
    assert factors[2]["a_controller"] == "gcc"


def test_two_axes_of_one_key_have_two_names() -> None:
    stream = {"controller": "fixed", "base_rtt": ["10 ms", "20 ms"], "frame_rate": [30, 60]}
    call = {"name": "call", "kind": "video-chat", "frame_rate": [15, 30]}
    runs = gw.expand(
        experiment(
            path=path(base_rtt=["16 ms", "32 ms"]), stream=[stream], competitor=[call], runs=1
        )
    )
    assert len({tuple(run.factors.items()) for run in runs}) == len(runs) == 16
    assert {"base_rtt", "game_base_rtt", "game_frame_rate", "call_frame_rate"} < set(
        runs[0].factors
    )


def test_a_hop_that_is_called_as_a_part_of_the_path_has_its_place_in_its_name() -> None:
    hop = {"name": "gateway", "capacity": ["9 Mb/s", "8 Mb/s"]}
    gateway = {"kind": "sap-law", "capacity": ["9 Mb/s", "10 Mb/s"]}
    runs = gw.expand(experiment(path=path(gateway=gateway, hop=[hop]), runs=1))
    assert {"gateway_capacity", "path_hop_0_capacity"} < set(runs[0].factors)


def test_a_factor_is_not_called_as_a_column_of_a_table() -> None:
    stream = {"controller": "fixed", "video": ["doom", "steady"]}
    runs = gw.expand(experiment(stream=[stream], runs=1))
    assert [run.factors["game_video"] for run in runs] == ["doom", "steady"]


def test_alternatives_inside_alternatives() -> None:
    controllers = ["gcc", {"kind": "fixed", "pace_multiplier": [2, 3]}]
    queues = [{"kind": "drop-tail", "size": ["1 bdp", "2 bdp"]}, "drop-tail"]
    runs = gw.expand(experiment(path=path(queue=queues), stream=[{"controller": controllers}]))
    # The plain "drop-tail" is the 2 bdp of the table before: the same run is not run twice.
    assert len(runs) == 3 * 2
    assert {run.factors["controller"] for run in runs} == {
        "gcc", "fixed pace_multiplier=2", "fixed pace_multiplier=3",
    }  # fmt: skip
    assert runs[-1].spec["stream"][0]["controller"] == {"kind": "fixed", "pace_multiplier": 3}


def test_a_controller_is_named_by_what_tells_it_from_its_kind() -> None:
    controllers = [
        {"kind": "fixed", "bitrate": "12 Mb/s"},
        "gcc",
        {"kind": "gcc", "pacing_factor": 1.25},
    ]
    runs = gw.expand(experiment(stream=[{"controller": controllers}]))
    names = [run.factors["controller"] for run in runs]
    assert names == ["fixed", "gcc", "gcc pacing_factor=1.25"]
    assert not [name for name in runs[0].factors if name.startswith("controller_")]


def test_streams_without_a_controller_follow_that_of_the_experiment() -> None:
    streams = [{"name": "a"}, {"name": "b"}, {"name": "c", "controller": "fixed"}]
    runs = gw.expand(experiment(controller=["pudica", "gcc"], stream=streams))
    used = [[stream["controller"] for stream in run.spec["stream"]] for run in runs]
    assert used == [["pudica", "pudica", "fixed"], ["gcc", "gcc", "fixed"]]
    assert [run.factors["controller"] for run in runs] == ["pudica", "gcc"]
    assert all("controller" not in run.spec for run in runs)
    # The same streams with controllers of their own are the same runs, twice as many.
    own = [{"name": "a", "controller": ["pudica", "gcc"]}, {"name": "b", "controller": "gcc"}]
    followers = [{"name": "a"}, {"name": "b"}]
    one = gw.expand(experiment(controller="gcc", stream=followers))[0]
    assert one.spec == gw.expand(experiment(stream=own))[1].spec


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"stream": [{"name": "a"}]}, "stream.0.controller is missing"),
        ({"controller": "gcc", "stream": [{"controller": "gcc"}]}, "has no meaning here"),
        ({"controller": "gcc", "stream": [], "competitor": [{}]}, "there is no stream"),
    ],
)
def test_a_controller_that_nobody_follows_is_refused(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(gw.InputError, match=told):
        experiment(**changes)


def test_steps_are_one_value_and_their_labels_differ() -> None:
    steps = [["0 s", "20 Mb/s"], ["40 s", "10 Mb/s"]]
    later = [["0 s", "20 Mb/s"], ["50 s", "10 Mb/s"]]
    runs = gw.expand(experiment(path=path(capacity=[{"steps": steps}, {"steps": later}])))
    assert [run.factors["capacity"] for run in runs] == [
        "20 Mb/s → 10 Mb/s",
        "20 Mb/s → 10 Mb/s #2",
    ]
    assert runs[1].spec["path"]["capacity"] == {"steps": later}


def test_a_run_is_the_same_in_any_folder_but_not_with_another_trace(tmp_path: Path) -> None:
    text = """
        duration = "1 s"
        path = { capacity = { trace = "lte.trace" }, base_rtt = "16 ms" }
        stream = [{ controller = "gcc" }]
    """
    ids = []
    for folder, trace in (("a", "1\n2\n"), ("b", "1\n2\n"), ("c", "1\n3\n")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "lte.trace").write_text(trace, encoding="utf-8")
        (tmp_path / folder / "x.toml").write_text(text, encoding="utf-8")
        run = gw.expand(gw.load(tmp_path / folder / "x.toml"))[0]
        assert run.factors["capacity"] == "lte"
        assert run.recorded["path"]["capacity"] == {"trace": "lte.trace"}
        file = str((tmp_path / folder / "lte.trace").resolve())
        assert run.spec["path"]["capacity"] == {"trace": file}
        ids.append(run.id)
    assert ids[0] == ids[1] != ids[2]


def test_notation_and_defaults_do_not_make_another_run() -> None:
    written = experiment(
        duration="1 min",
        path={"capacity": "25.0Mb/s", "base_rtt": "0.016 s", "queue": {"kind": "drop-tail"}},
        stream=[{"controller": "pudica", "start": "0 ms", "fec": "0.0", "name": "game"}],
    )
    assert gw.expand(written)[0].id == gw.expand(experiment())[0].id


def test_a_matrix_that_is_too_large_is_refused() -> None:
    rates = [f"{number} Mb/s" for number in range(1, 400)]
    spans = [f"{number} ms" for number in range(1, 400)]
    with pytest.raises(gw.InputError, match="159201 runs, at most 100000"):
        gw.expand(experiment(path=path(capacity=rates, base_rtt=spans)))


def test_overrides_reach_the_runs() -> None:
    built = experiment().with_overrides(
        ["path.capacity=[20 Mb/s, 5 Mb/s]", "stream.game.controller=gcc", "runs=2", "ping=false"]
    )
    runs = gw.expand(built)
    assert [run.factors["capacity"] for run in runs] == ["20 Mb/s", "5 Mb/s"] * 2
    assert {run.factors["controller"] for run in runs} == {"gcc"}
    assert "ping" not in runs[0].spec
    again = built.with_overrides(['stream.0.controller={ kind = "fixed", pace_multiplier = 2 }'])
    assert gw.expand(again)[0].spec["stream"][0]["controller"]["kind"] == "fixed"
    assert [override.path for override in again.source.overrides][-1] == "stream.0.controller"


def test_a_spec_is_what_the_simulator_takes() -> None:
    spec = gw.expand(experiment(competitor=[{"bytes": "10 MB", "rate_limit": "5 Mb/s"}]))[0].spec
    assert json.loads(canonical(spec)) == spec
    assert spec["competitor"][0] == {
        "name": "download", "kind": "tcp", "congestion_control": "cubic", "start": "0 s",
        "bytes": "10 MB", "rate_limit": "5 Mb/s",
    }  # fmt: skip
    assert spec["ping"] == {"interval": "1 s"}
    assert spec["record"] == {"controller_interval": "500 ms", "packets": False}


def spec_of(**changes: Any) -> dict[str, Any]:
    (run,) = gw.expand(experiment(**changes))
    return run.spec


def test_cake_reckons_its_size_unless_it_is_given() -> None:
    shaped = {"kind": "cake", "bandwidth": "20 Mb/s", "isolation": "dual-dsthost", "mpu": "84 B"}
    assert spec_of(path=path(queue="cake"))["path"]["queue"] == {"kind": "cake"}
    assert spec_of(path=path(queue=shaped))["path"]["queue"] == shaped
    given = {"kind": "cake", "size": "4 MiB"}
    assert spec_of(path=path(queue=given))["path"]["queue"] == given


def test_every_new_key_reaches_the_spec() -> None:
    back = {"capacity": "5 Mb/s", "loss": {"probability": "1 %"}, "jitter": {"deviation": "1 ms"}}
    hop = {"name": "access", "capacity": "20 Mb/s", "queue": {"kind": "drop-tail"}}
    queue = {"kind": "drop-tail", "mark_above": "1 ms"}
    jitter = {"kind": "periodic", "delay": "40 ms", "interval": "0.5 s"}
    stream = {
        "controller": "gcc", "base_rtt": "40ms", "via": "access", "direction": "up",
        "ecn": "ect1", "pause": {"from": "40 s", "to": "50 s"},
        "feedback": {"kind": "transport-wide"}, "clock_drift": "+50 ppm",
    }  # fmt: skip
    spec = spec_of(path=path(back=back, hop=[hop], queue=queue, jitter=jitter), stream=[stream])
    assert spec["path"]["queue"] == {"kind": "drop-tail", "size": "2 bdp", "mark_above": "1 ms"}
    assert spec["path"]["jitter"] == {"kind": "periodic", "delay": "40 ms", "interval": "500 ms"}
    assert spec["path"]["back"] == {
        "capacity": "5 Mb/s",
        "queue": {"kind": "drop-tail", "size": "300 ms"},
        "jitter": {"mean": "0 s", "deviation": "1 ms"},
        "loss": {"kind": "random", "probability": "1 %"},
    }
    assert spec["path"]["hop"] == [hop | {"queue": {"kind": "drop-tail", "size": "2 bdp"}}]
    (built,) = spec["stream"]
    later = {key: built[key] for key in stream if key != "controller"}
    assert later == {
        "base_rtt": "40 ms", "via": "access", "direction": "up", "ecn": "ect1",
        "pause": {"from": "40 s", "to": "50 s"},
        "feedback": {"kind": "transport-wide", "interval": "60 ms"}, "clock_drift": "50 ppm",
    }  # fmt: skip


def test_odd_packets_and_ecn_of_datagrams_reach_the_spec() -> None:
    reorder = {"probability": "25 %", "correlation": "50 %", "gap": 5}
    back = {"reorder": {"probability": "1 %", "later": "3ms"}}
    datagrams = {"kind": "udp", "rate": "1 Mb/s", "ecn": "ect1"}
    own = path(duplicate={"probability": "1 %"}, reorder=reorder, back=back)
    spec = spec_of(path=own, competitor=[datagrams])
    assert spec["path"]["duplicate"] == {"probability": "1 %", "correlation": "0 %"}
    assert spec["path"]["reorder"] == reorder
    assert spec["path"]["back"]["reorder"] == {
        "probability": "1 %", "correlation": "0 %", "gap": 1, "later": "3 ms",
    }  # fmt: skip
    assert spec["competitor"][0]["ecn"] == "ect1"
    axis = gw.expand(experiment(path=path(reorder=[reorder, {**reorder, "gap": [1, 2]}])))
    assert [run.spec["path"]["reorder"]["gap"] for run in axis] == [5, 1, 2]


def test_a_later_key_at_its_default_leaves_the_run_as_it_was() -> None:
    later = path(jitter={"kind": "normal", "deviation": "1 ms"}, hop=[], back={})
    stream = {
        "controller": "pudica", "via": "all", "direction": "down", "ecn": "native",
        "clock_drift": "0 ppm", "feedback": "native",
    }  # fmt: skip
    before = experiment(path=path(jitter={"deviation": "1 ms"}))
    (run,) = gw.expand(experiment(path=later, stream=[stream]))
    assert run.id == gw.expand(before)[0].id
    assert "kind" not in run.spec["path"]["jitter"]
    assert gw.expand(experiment(stream=[stream | {"ecn": "none"}]))[0].id != PINNED_ID


def test_a_queue_is_as_in_the_default_where_it_names_nothing_else() -> None:
    marking = experiment().with_overrides(["path.queue.mark_above=1 ms"])
    (run,) = gw.expand(marking)
    assert run.spec["path"]["queue"] == {
        "kind": "drop-tail", "size": "2 bdp", "mark_above": "1 ms",
    }  # fmt: skip


def test_a_congestion_control_with_options_is_one_value() -> None:
    axis = ["bbr", {"kind": "cubic", "hystart": ["on", "off"]}]
    runs = gw.expand(experiment(competitor=[{"congestion_control": axis}]))
    assert [run.factors["congestion_control"] for run in runs] == [
        "bbr", "cubic hystart=on", "cubic hystart=off",
    ]  # fmt: skip
    assert runs[2].spec["competitor"][0]["congestion_control"] == {
        "kind": "cubic", "hystart": "off",
    }  # fmt: skip
    for run in runs:
        _core.check_spec(json.dumps(run.spec))


def test_competitors_have_the_keys_of_their_kind() -> None:
    common = {"name": "download", "start": "0 s"}
    short = spec_of(competitor=[{"kind": "short-tcp", "min_size": "20 kB", "begins": "on"}])
    assert short["competitor"] == [
        common | {
            "kind": "short-tcp", "congestion_control": "cubic", "min_size": "20 kB",
            "max_size": "50 kB", "mean_gap": "10 s", "begins": "on",
        }
    ]  # fmt: skip
    constant = spec_of(competitor=[{"kind": "udp", "rate": "1 Mb/s", "via": "path"}])
    assert constant["competitor"] == [
        common | {"kind": "udp", "rate": "1 Mb/s", "packet_size": "1200 B", "via": "path"}
    ]


def test_an_axis_over_kinds_gives_each_run_what_its_kind_has() -> None:
    competitor = {"kind": ["tcp", "udp"], "rate": ["1 Mb/s", "2 Mb/s"], "bytes": "1 MB"}
    loss = {"kind": ["random", "bursty"], "probability": "1 %", "burst_length": 3.0}
    runs = gw.expand(experiment(competitor=[competitor], path=path(loss=loss)))
    found = {canonical([run.spec["competitor"][0].get("rate"), run.spec["path"]["loss"]])
             for run in runs}  # fmt: skip
    # A download has no rate: one run of it, not one for each rate.
    assert len(runs) == len(found) == 2 * 3
    for run in runs:
        (flow,) = run.spec["competitor"]
        assert ("rate" in flow, "bytes" in flow) == (flow["kind"] == "udp", flow["kind"] == "tcp")
        assert ("rate" in run.factors) == ("rate" in flow)
        bursty = run.spec["path"]["loss"]["kind"] == "bursty"
        assert ("burst_length" in run.spec["path"]["loss"]) == bursty
        _core.check_spec(canonical(run.spec)) if flow["kind"] == "tcp" else None


def test_later_keys_are_axes_with_names() -> None:
    stream = {
        "controller": "gcc",
        "feedback": ["native", {"kind": "rfc8888", "interval": ["5 ms", "50 ms"]}],
        "pause": [{"from": "1 s", "to": "2 s"}, {"from": "1 s", "to": "3 s"}],
        "via": ["all", "access"],
    }
    hop = {"name": "access", "capacity": ["1 Mb/s", "2 Mb/s"], "queue": {"kind": "drop-tail"}}
    back = [{}, {"capacity": "1 Mb/s"}]
    runs = gw.expand(experiment(stream=[stream], path=path(hop=[hop], back=back)))
    assert len(runs) == 3 * 2 * 2 * 2 * 2
    named = {name: [run.factors.get(name) for run in runs] for name in runs[-1].factors}
    assert set(named["feedback"]) == {"native", "rfc8888 5 ms", "rfc8888 50 ms"}
    assert set(named["pause"]) == {"1 s to 2 s", "1 s to 3 s"}
    assert set(named["via"]) == {"all", "access"}
    assert set(named["access_capacity"]) == {"1 Mb/s", "2 Mb/s"}
    assert set(named["back_capacity"]) == {None, "1 Mb/s"}
    assert {run.factors["capacity"] for run in runs} == {"25 Mb/s"}
    assert {"via" in run.spec["stream"][0] for run in runs} == {True, False}


def test_an_experiment_built_in_python_keeps_its_meaning_when_overridden() -> None:
    built = experiment(
        competitor=[{"kind": "udp", "rate": "1 Mb/s"}],
        path=path(
            jitter={"kind": "half-normal", "deviation": "5 ms"},
            back={"loss": {"probability": "1 %"}},
        ),
    )
    again = built.with_overrides(["runs=1"])
    assert [run.id for run in gw.expand(again)] == [run.id for run in gw.expand(built)]
    hop = path(hop=[{"name": "access", "capacity": "1 Mb/s"}])
    named = experiment(path=hop).with_overrides(["path.hop.access.capacity=2 Mb/s"])
    assert gw.expand(named)[0].spec["path"]["hop"][0]["capacity"] == "2 Mb/s"


@given(
    st.lists(st.integers(1, 10**9), min_size=1, max_size=4, unique=True),
    st.lists(st.integers(1, 10**9), min_size=1, max_size=4, unique=True),
    st.integers(1, 4),
)
def test_the_number_of_runs_is_the_product(rates: list[int], spans: list[int], runs: int) -> None:
    capacity = [f"{rate} kb/s" for rate in rates]
    base_rtt = [f"{span} us" for span in spans]
    expanded = gw.expand(experiment(runs=runs, path=path(capacity=capacity, base_rtt=base_rtt)))
    assert len({run.id for run in expanded}) == len(rates) * len(spans) * runs
    combinations = {canonical(run.factors) for run in expanded}
    assert len(combinations) == len(rates) * len(spans)


@given(st.integers(0, 2**64 - 1))
def test_rates_and_amounts_survive_their_notation(number: int) -> None:
    assert _core.parse_rate(_core.format_rate(number)) == number
    assert _core.parse_bytes(_core.format_bytes(number)) == number


@given(st.integers(-(2**63) + 1, 2**63 - 1))
def test_durations_survive_their_notation(nanos: int) -> None:
    assert _core.parse_duration(_core.format_duration(nanos)) == nanos


@given(st.integers(0, 1_000_000))
def test_shares_survive_their_notation(parts_per_million: int) -> None:
    text = f"{parts_per_million / 10_000:.4f} %"
    run = gw.expand(experiment(stream=[{"controller": "gcc", "fec": text}]))[0]
    assert _core.parse_ratio(run.spec["stream"][0]["fec"]) == parts_per_million
