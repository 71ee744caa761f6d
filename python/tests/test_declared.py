"""What Python has of a declaration in Rust, held beside what Rust says when it refuses.

What is repeated is to be read from the declaration once it is there; until then neither can change
alone.
"""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

import gameway as gw
from gameway import _core, experiment
from gameway.catalogue import MAX, MIN, key_schema, tables_of, words_of
from gameway.experiment import keys, tables
from gameway.experiment.keys import classes, quantities, single
from gameway.lab import session
from gameway.lab import words as lab_words
from gameway.live import competitors, quic
from gameway.live.video import videos
from gameway.metrics import quantities as plain

QUEUE = {"kind": "drop-tail", "size": "2 bdp"}
PATH: dict[str, Any] = {"capacity": "25 Mb/s", "base_rtt": "20 ms", "queue": QUEUE}
FILE = """
duration = "10 s"
controller = "gcc"
[path]
capacity = "25 Mb/s"
base_rtt = "20 ms"
[[stream]]
"""


def refusal(**changed: Any) -> str | None:
    """Give what the simulator says against a run; a stream's keys are those of `stream`."""
    stream = {"name": "game", "controller": "gcc"} | changed.pop("stream", {})
    run = {"seed": 1, "duration": "10 s", "path": PATH, "stream": [stream]} | changed
    try:
        _core.check_spec(json.dumps(run))
    except ValueError as error:
        return str(error)
    return None


def of_stream(**given: Any) -> str | None:
    return refusal(stream=given)


def of_browser(**given: Any) -> str | None:
    return of_stream(kind=tables.CHROMIUM, **given)


def named(text: str | None, quote: str) -> list[str]:
    """Give the words between quotes in what is allowed."""
    assert text is not None
    return re.findall(f"{quote}([a-z0-9-]+){quote}", re.split("allowed are|expected", text)[-1])


def test_what_is_made_for_these_tests_can_run() -> None:
    assert refusal() is None
    assert of_browser() is None
    assert gw.loads(FILE).stream[0].kind == "gameway"


def test_a_browser_draws_as_often_as_rust_says() -> None:
    assert of_browser(frame_rate=tables.MAX_DRAWN_RATE) is None
    told = of_browser(frame_rate=tables.MAX_DRAWN_RATE + 1)
    assert f"at most {tables.MAX_DRAWN_RATE} pictures" in str(told)


def test_a_browser_has_the_controller_that_rust_says() -> None:
    assert of_browser(controller=experiment.BROWSERS_CONTROLLER) is None
    assert f'write "{experiment.BROWSERS_CONTROLLER}"' in str(of_browser(controller="pudica"))


def test_edges_of_pictures_are_bounded_as_in_rust() -> None:
    low, high = quantities.MIN_EDGE, quantities.MAX_EDGE
    for size in (f"{low}x{high}", f"{high}x{low}"):
        assert of_browser(picture_size=size) is None
    for size in (f"{low - 2}x{high}", f"{high + 2}x{low}"):
        assert f"from {low} to {high}" in str(of_browser(picture_size=size))


def test_field_trials_are_as_long_as_in_rust() -> None:
    longest = "A/" + "B" * (quantities.MAX_TRIALS - 3) + "/"
    assert len(longest) == quantities.MAX_TRIALS
    assert of_browser(field_trials=longest) is None
    told = of_browser(field_trials=longest.replace("A", "AA"))
    assert f"at most {quantities.MAX_TRIALS} letters" in str(told)


def test_names_that_no_hop_may_have_are_those_of_rust() -> None:
    def of_hop(name: str) -> str | None:
        return refusal(path=PATH | {"hop": [{"name": name, "capacity": "9 Mb/s", "queue": QUEUE}]})

    assert of_hop("access") is None
    for name in single.BOTTLENECKS:
        assert "means something else" in str(of_hop(name))
    assert all(of_stream(via=name) is None for name in single.FORWARD)
    assert named(of_stream(via="access"), '"')[2:] == list(single.FORWARD)


def test_words_of_feedback_are_those_that_rust_reads() -> None:
    assert all(of_stream(feedback=word) is None for word in single.FEEDBACK)
    assert all(of_stream(feedback={"kind": kind}) is None for kind in single.REPORTS)
    assert named(of_stream(feedback="often"), '"') == [*single.FEEDBACK, *single.REPORTS]


@pytest.mark.parametrize("kind", keys.ECN_MODES)
def test_words_of_ecn_are_those_that_rust_reads(kind: str) -> None:
    needed = {"udp": {"rate": "1 Mb/s"}}.get(kind, {})
    rival = {"kind": kind, "name": "rival", **needed}
    assert named(refusal(competitor=[rival | {"ecn": "x"}]), "`") == keys.ECN_MODES[kind]


def test_intervals_of_reports_have_the_same_bounds_however_they_are_written() -> None:
    bounds = [(one[MIN], one[MAX]) for one in single.INTERVALS.values()]
    assert len(bounds) == len(single.REPORTS)
    ((lowest, highest),) = set(bounds)
    assert of_stream(feedback=lowest) is None
    told = str(of_stream(feedback="999 us"))
    least, most = re.findall(r"between (.+) and (.+)$", told)[0]
    assert _core.parse_duration(least) == _core.parse_duration(lowest)
    assert _core.parse_duration(most) == _core.parse_duration(highest)


@pytest.mark.parametrize("kind", single.REPORTS)
def test_reports_without_an_interval_have_that_of_their_format(kind: str) -> None:
    made = gw.loads(f'{FILE}feedback = {{ kind = "{kind}" }}')
    default = single.INTERVALS[kind]["default"]
    assert made.stream[0].feedback == {"kind": kind, "interval": default}


def test_tables_whose_words_rust_checks_have_the_keys_that_it_declares() -> None:
    ((header,), (_, rule)) = tables_of("stream.header"), _rules()
    assert set(classes.HEADER) == set(header["properties"])
    assert set(classes.RULE) == set(rule["properties"])
    trace = next(one for one in tables_of("path.capacity") if "trace" in one["properties"])
    assert set(single.COLUMNS) == set(trace["properties"]) - {"trace"}


def _rules() -> list[dict[str, Any]]:
    forms: list[dict[str, Any]] = classes.CLASS.schema("match")["anyOf"]
    return forms


def test_units_of_a_trace_are_those_that_rust_reads() -> None:
    trace = next(one for one in tables_of("path.capacity") if "trace" in one["properties"])
    for key, parse in (("time_unit", _core.parse_duration), ("rate_unit", _core.parse_rate)):
        units = words_of(trace["properties"][key])
        assert units
        assert all(parse(f"1 {unit}") for unit in units)


@pytest.mark.parametrize(
    ("units", "parse", "declared", "base"),
    [
        (plain._SECONDS, _core.parse_duration, "path.base_rtt", 1e-9),
        (plain._BITS_PER_SECOND, _core.parse_rate, "stream.min_bitrate", 1.0),
        (plain._BYTES, _core.parse_bytes, "stream.mtu", 1.0),
    ],
    ids=["seconds", "rates", "bytes"],
)
def test_units_of_results_are_those_of_rust(
    units: dict[str, float], parse: Any, declared: str, base: float
) -> None:
    known = re.compile(key_schema(declared)["pattern"])
    for unit, scale in units.items():
        assert parse(f"1 {unit}") * base == pytest.approx(scale, rel=1e-12)
    # No other prefix is a unit: what can be written can be read.
    letters = {"", *"numkKMG"}
    spelled = {f"{prefix}{unit}" for prefix in letters for unit in ("s", "b/s", "bps", "B", "iB")}
    written = {unit for unit in {*spelled, "µs", "min", "h"} if known.match(f"1 {unit}")}
    assert written == set(units)


def test_words_of_live_runs_are_those_of_the_simulator() -> None:
    assert set(videos.RULES) == set(words_of(tables.COMPETITOR.schema("adaptation")))
    assert list(competitors.ECN_FIELDS) == keys.ECN_MODES["udp"]
    assert competitors.AUTO in key_schema_of("receive_window")["x-words"]
    hystart = keys.entries("competitors")["cubic"]["schema"]["properties"]["hystart"]
    assert quic.HYSTARTS - {None} <= set(words_of(hystart))
    assert tables.CHROMIUM in words_of(key_schema("stream.kind"))


def key_schema_of(key: str) -> dict[str, Any]:
    return tables.COMPETITOR.schema(key)


def test_a_session_of_the_lab_begins_as_a_host_does() -> None:
    told = dict(_core.stream_options("play"))
    assert told["--controller"].endswith(f"[default: {session.DEFAULT_CONTROLLER}]")
    assert told["--listen"].endswith(f":{lab_words.DEFAULT_PORT}]")


def test_a_run_lasts_no_longer_than_in_rust() -> None:
    longest = key_schema("duration")[MAX]
    assert refusal(duration=longest) is None
    made = gw.loads(FILE.replace("10 s", longest))
    assert _core.parse_duration(str(made.duration)) == _core.parse_duration(longest)
    assert "duration" in str(refusal(duration="8785 h"))
    with pytest.raises(gw.InputError, match="must be at most 31622400 s"):
        gw.loads(FILE.replace("10 s", "8785 h"))
