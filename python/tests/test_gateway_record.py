"""What a home's gateway recorded: any bytes are read or refused by line and field, and reported."""

from __future__ import annotations

import html
import json
import re
import time
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from home_fixture import home, why_not
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from live_fixture import needs_live
from test_live_games import game
from typer.testing import CliRunner
from witness import of_times

import gameway as gw
from gameway.cli.app import app
from gameway.errors import InputError
from gameway.gateway_record import convert
from gameway.gateway_record.lines import read
from gameway.gateway_record.tables import EDGES_NS

if TYPE_CHECKING:
    from pathlib import Path

PATH = ("--capacity", "20 Mb/s", "--rtt", "30 ms", "--size", "250000 B")
FIRST = {"gateway_record": 1, "home": "br-lan", "addresses": False, "began_s": 1.8e9}
FLOW = [1, "device 1", "server 1", 8_000_000, None]
SECOND: dict[str, Any] = {
    "t": 1.0, "waits": [5.0, 15.0], "to": 8_000_000, "from": 80_000, "segments": 700, "lowered": 0,
    "lost": 0, "flows": [FLOW],
}  # fmt: skip
IN_FUNCTION = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def lines(*entries: object) -> bytes:
    return b"".join(json.dumps(entry).encode() + b"\n" for entry in entries)


def second(t: float, **more: Any) -> dict[str, Any]:
    return SECOND | {"t": t} | more


def written(folder: Path, content: bytes) -> Path:
    file = folder / "evening.jsonl"
    file.write_bytes(content)
    return file


def refused(folder: Path, content: bytes) -> str:
    with pytest.raises(InputError) as caught:
        read(written(folder, content))
    return str(caught.value).removeprefix(f"{folder}/evening.jsonl").removeprefix(", ")


def test_each_table_has_what_the_lines_say(tmp_path: Path) -> None:
    limited = [*FLOW[:4], 40_000]
    other = [2, "device 2", "server 1", 1_000_000, None]
    file = written(
        tmp_path,
        lines(
            FIRST,
            second(0.25, waits=[], to=0, flows=[]),
            second(1.25),
            second(2.25, to=10_000_000, flows=[limited, other], lowered=9),
            second(3.25, waits=[600_000.0], lost=3, skipped=2),
        ),
    )
    results = convert(file, tmp_path / "out").results
    bins = results.bins().collect()
    sums = dict(bins.group_by("flow").agg(pl.col("received_bytes").sum()).iter_rows())
    assert sums == {
        "device 1": 3_000_000, "device 2": 125_000, "other": 125_000, "from the home": 32_500,
    }  # fmt: skip
    shares = bins.filter(pl.col("flow") == "device 1").select("bin_start_ns", "received_bytes")
    assert shares.rows()[:3] == [(0, 250_000), (500_000_000, 500_000), (1_000_000_000, 500_000)]
    link = results.link().collect()
    assert link["transmitted_bytes"].sum() == 3_250_000
    assert link["capacity_bytes"].null_count() == link.height
    delays = results.queue_delay().collect()
    assert delays.select("delay_low_ns", "delay_high_ns", "packets", "sum_ns").rows() == [
        (5_000_000, 6_300_000, 2, 10_000_000),
        (12_500_000, 16_000_000, 2, 30_000_000),
        (63_000_000_000, 80_000_000_000, 1, 79_999_999_999),
    ]
    states = results.controller().collect().select("stream", "variable", "value").rows()
    name = "device 1 from server 1 (1)"
    for state in (
        ("gateway", "lowered_windows", 9.0),
        (name, "limit_bytes", 40_000.0),
        ("gateway", "wait_in_front_ms", 15.0),
        ("gateway", "limited_connections", 1.0),
    ):
        assert state in states
    assert results.events().collect().select("time_ns", "flow", "event", "value").rows() == [
        (2_250_000_000, name, "limited", 40_000.0),
        (3_250_000_000, name, "released", 0.0),
        (3_250_000_000, "gateway", "lost-records", 3.0),
        (3_250_000_000, "gateway", "skipped-seconds", 2.0),
    ]
    assert results.summary().collect()["duration_ns"].to_list() == [3_250_000_000]


OWN: dict[str, Any] = {
    "rate": 16_000_000, "renewals": 0, "waits": [[0, 4000], [1000, 8000]],
    "game": [10, 1000, 0, 0, 0], "others": [20, 1_000_000, 8000, 3, 5],
}  # fmt: skip
GAME = [9, "device 2", "server 3", "udp", "behaviour", None, 0.75, 8_000_000]


def evening(folder: Path) -> gw.Results:
    """Two games, of which one is found anew by a rule, and a queue that is put back once."""
    by_rule = [*GAME[:4], "rule", "tv\x1b", 0.5, 8_000_000]
    later = OWN | {"others": [30, 1_500_000, 0, 4, 5]}
    anew = OWN | {"renewals": 1, "others": [5, 400_000, 0, 2, 0]}
    file = written(
        folder,
        lines(
            FIRST,
            second(1.0, own=OWN, games=[GAME]),
            second(2.0, own=later, games=[[*GAME[:6], 1.75, 4_000_000]], waits=[]),
            second(3.0, own=anew, games=[by_rule], waits=[]),
            second(4.0),
            second(5.0, games=[GAME]),
        ),
    )
    return convert(file, folder / "out").results


def test_the_own_queue_is_a_bottleneck_with_its_classes(tmp_path: Path) -> None:
    results = evening(tmp_path)
    own = results.link().filter(pl.col("link") == "own queue").collect()
    columns = ("capacity_bytes", "transmitted_bytes", "queue_max_bytes", "queue_mean_bytes")
    sent = (1_001_000, 500_000, 401_000)
    assert own.select(columns).rows() == [
        (1_000_000, round(sent[at // 2] / 2), 18_000, 13_000.0) for at in range(6)
    ]
    bins = results.bins().filter(pl.col("flow") == "own queue, others").collect()
    told = ("bin_start_ns", "received_bytes", "dropped_packets", "marked_packets")
    assert bins.select(told).rows() == [
        (500_000_000, None, 3, 5), (1_500_000_000, None, 1, 0), (2_500_000_000, None, 2, 0),
    ]  # fmt: skip
    waits = results.queue_delay().filter(pl.col("flow") != "home").collect()
    counted = waits.group_by("flow").agg(pl.col("packets").sum(), pl.col("sum_ns").sum())
    assert sorted(counted.rows()) == [
        ("own queue, games", 6, 3_000_000), ("own queue, others", 6, 36_000_000),
    ]  # fmt: skip
    events = results.events().filter(pl.col("event") == "queue-renewed").collect()
    assert events.select("time_ns", "flow", "value").rows() == [(3_000_000_000, "gateway", 1.0)]


def test_a_game_has_a_row_for_each_time_and_what_it_waited(tmp_path: Path) -> None:
    results = evening(tmp_path)
    table = pl.read_parquet(next(results.path.glob("runs/*/games.parquet")))
    name = "device 2 from server 3 (9)"
    assert table.drop("received_bytes").rows() == [
        # From a quarter second on; what waited in front, and 1 ms in the own queue.
        (name, "udp", "behaviour", None, 250_000_000, 2_000_000_000, 16.0, 16.0),
        # Nothing told of the queue in front.
        (name, "udp", "rule", "tv?", 2_500_000_000, 3_000_000_000, None, None),
        (name, "udp", "behaviour", None, 4_250_000_000, 5_000_000_000, 15.0, 15.0),
    ]
    assert table["received_bytes"].to_list() == [1_250_000, 500_000, 750_000]


def test_what_told_is_an_event_and_a_share_of_the_time(tmp_path: Path) -> None:
    again = FIRST | {"began_s": FIRST["began_s"] + 100}  # type: ignore[operator]
    told = (1, "pings"), (3, "tcp"), (4, "tcp")
    file = written(
        tmp_path,
        lines(
            FIRST,
            *(second(t, by=by) for t, by in told),
            # Nothing waits in no reading: whatever told the last one, nothing did in this second.
            second(6, by="tcp", waits=[]),
            second(8, by="spin-bit"),
            again,
            second(1),
            second(2, by="pings"),
            second(3),
        ),
    )
    results = convert(file, tmp_path / "out").results
    events = results.events().collect()
    assert events.select("time_ns", "flow", "event").rows() == [
        (round(at * 1e9), "gateway", event)
        for at, event in (
            (0, "told-by-pings"), (1, "told-by-tcp"), (4, "told-by-nothing"),
            (6, "told-by-spin-bit"), (8, "told-by-nothing"), (101, "restarted"),
            (101, "told-by-pings"), (102, "told-by-nothing"),
        )
    ]  # fmt: skip
    page = gw.report.write(results, results.path / "report.html").read_text("utf-8")
    # 3 s by TCP, 2 s by each of the others.
    shares = (
        "They were told by TCP's time stamps for 43 %, by pings for 29 % and by QUIC's spin bit "
        "for 29 % of the time in which something told."
    )
    assert shares in html.unescape(page)


def test_a_report_says_what_the_evening_was_and_an_older_record_is_told_as_before(
    tmp_path: Path,
) -> None:
    def page(results: gw.Results) -> str:
        return gw.report.write(results, results.path / "report.html").read_text("utf-8")

    told = (
        "5 s were recorded. 5.00 MB came to the home, at most 8.0 Mb/s.",
        "1 flow was a game (1 by behaviour and 1 by a rule), for 3 s together; 99 % of",
        "of the readings are at most 16.0 ms of wait, and 1.25 ms in the own queue.",
        "The gateway dropped 6 and marked 5 packets in its own queue.",
        "In the own queue", "Games, by", "The own queue",
    )  # fmt: skip
    found = page(evening(tmp_path))
    for text in told:
        assert text in found, text
    assert "No game stream" not in found
    # The twin: lines without queue and games.
    (tmp_path / "older").mkdir()
    file = written(tmp_path / "older", lines(FIRST, second(1), second(2)))
    older = convert(file, tmp_path / "older" / "out").results
    assert not list(older.path.glob("runs/*/games.parquet"))
    found = page(older)
    assert "2 s were recorded." in found
    assert not [text for text in told[1:] if text in found]
    # A queue and no game is not the same as a record that tells of neither.
    assert "No flow was taken for a game." not in found
    (tmp_path / "quiet").mkdir()
    file = written(tmp_path / "quiet", lines(FIRST, second(1, own=OWN), second(2, own=OWN)))
    found = page(convert(file, tmp_path / "quiet" / "out").results)
    assert "No flow was taken for a game." in found


def test_addresses_are_devices_without_their_ports(tmp_path: Path) -> None:
    flows = [[at, f"[fd00::2]:{at}", "[2001:db8::1]:443", 8000, None] for at in (1, 2)]
    file = written(tmp_path, lines(FIRST | {"addresses": True}, second(1, to=16_000, flows=flows)))
    bins = convert(file, tmp_path / "out").results.bins().collect()
    assert set(bins["flow"]) == {"[fd00::2]", "from the home"}


def test_sessions_follow_each_other_by_the_clock_of_the_day(tmp_path: Path) -> None:
    again = FIRST | {"began_s": FIRST["began_s"] + 100}  # type: ignore[operator]
    earlier = FIRST | {"began_s": 5.0}
    content = lines(FIRST, second(1), again, second(0), second(1), earlier, second(1))
    record = read(written(tmp_path, content))
    assert [one.end_ns / 1e9 for one in record.seconds] == [1, 100, 101, 102]
    results = convert(written(tmp_path, content), tmp_path / "out").results
    events = results.events().collect()
    assert events["event"].to_list() == ["restarted", "restarted"]
    later = FIRST | {"began_s": FIRST["began_s"] + 200_000}  # type: ignore[operator]
    told = refused(tmp_path, lines(FIRST, second(1), later, second(1)))
    assert told.startswith("line 3: began_s = 1800200000.0 is more than a day behind the line")


@IN_FUNCTION
@given(at=st.integers(0, 10_000))
def test_a_file_that_ends_at_any_byte_is_read_to_there(tmp_path: Path, at: int) -> None:
    whole = lines(FIRST, *(second(float(t)) for t in range(1, 9)))
    content = whole[: at % (len(whole) + 1)]
    ended = content.count(b"\n")
    # A line that lacks its end alone is whole, too.
    last = content.rpartition(b"\n")[2]
    known = ended + (last in {line for line in whole.split(b"\n") if line})
    if known < 2:
        assert refused(tmp_path, content)
        return
    record = read(written(tmp_path, content))
    assert len(record.seconds) == known - 1
    assert record.cut_lines == int(bool(last) and known == ended)
    # Who goes on in it begins a new line.
    going_on = content + (b"\n" if last else b"") + lines(FIRST, second(1))
    assert len(read(written(tmp_path, going_on)).seconds) == known


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", ": has no second in it"),
        (lines(FIRST), ": has no second in it"),
        (b"\x00\xff", "line 1: is no JSON"),
        (lines(SECOND), "line 1: gateway_record is missing in the first line"),
        (lines(FIRST | {"gateway_record": 2}), "line 1: gateway_record = 2 is a version"),
        (lines(FIRST | {"home": "\x1b[2J"}), 'line 1: home = "\\u001b[2J" is no text'),
        (lines(FIRST | {"addresses": 1}), "line 1: addresses = 1 is neither true nor false"),
        (lines(FIRST, [1]), "line 2: is no JSON object"),
        (lines(FIRST) + b"{\n" + lines(SECOND), "line 2: is no JSON"),
        (lines(FIRST) + b"[" * 5000 + b"\n" + lines(SECOND), "line 2: is no JSON"),
        (lines(FIRST) + b" " * 70_000, "line 2: is longer than 65536 bytes"),
        (lines(FIRST) + b'{"t": NaN}\n' + lines(SECOND), "line 2: is no JSON"),
        (lines(FIRST, SECOND, SECOND), "line 3: t = 1.0 is not later"),
        (lines(FIRST, second(-1)), "line 2: t = -1 is no number between 0 and 1e+09"),
        (lines(FIRST, second(1e6)), "line 2: t = 1000000.0 is more than a day later"),
        (lines(FIRST, {"t": 1}), "line 2: waits is missing"),
        (lines(FIRST, second(1, waits=[1, "x"])), 'line 2: waits.1 = "x" is no number'),
        (lines(FIRST, second(1, waits=[None])), "line 2: waits.0 is missing"),
        (lines(FIRST, second(1, waits=[0] * 101)), "line 2: waits = "),
        (lines(FIRST, second(1, to=True)), "line 2: to = true is no whole number"),
        (lines(FIRST, second(1, lost=10**17)), "line 2: lost = 100000000000000000 is no whole"),
        (lines(FIRST, second(1, flows={})), "line 2: flows = {} is no list of at most 1000"),
        (lines(FIRST, second(1, flows=[[1]])), "line 2: flows.0 = [1] is no list of number, dev"),
        (
            lines(FIRST, second(1, flows=[FLOW, [1, "", "s", 1, 1]])),
            'line 2: flows.1.device = "" is no text of 1 to 100 characters',
        ),
        (
            lines(FIRST, second(1, flows=[[1, "d", "s", 1.5, 1]])),
            "line 2: flows.0.rate_bps = 1.5 is no whole number",
        ),
        (
            lines(FIRST, second(1, by="luck")),
            'line 2: by = "luck" is none of tcp, spin-bit, pings',
        ),
        (lines(FIRST, second(1, by=7)), "line 2: by = 7 is no text of 1 to 100 characters"),
        (lines(FIRST, second(1, own=[])), "line 2: own = [] is no JSON object"),
        (lines(FIRST, second(1, own=None)), "line 2: own is no JSON object"),
        (lines(FIRST, second(1, own=OWN | {"rate": None})), "line 2: own.rate is missing"),
        (
            lines(FIRST, second(1, own=OWN | {"waits": [[1]]})),
            "line 2: own.waits.0 = [1] is no list of what games and others waited",
        ),
        (
            lines(FIRST, second(1, own=OWN | {"game": [0, 0, None, 0, 0]})),
            "line 2: own.game.backlog_bytes is missing",
        ),
        (
            lines(FIRST, second(1, own=OWN | {"others": [0, 0]})),
            "line 2: own.others = [0, 0] is no list of sent_packets, sent_bytes,",
        ),
        (lines(FIRST, second(1, games=[[1]])), "line 2: games.0 = [1] is no list of number,"),
        (
            lines(FIRST, second(1, games=[GAME, [*GAME[:4], "luck", *GAME[5:]]])),
            'line 2: games.1.by = "luck" is none of behaviour, dscp and rule',
        ),
        (
            lines(FIRST, second(1, games=[[*GAME[:5], 7, *GAME[6:]]])),
            "line 2: games.0.name = 7 is no text",
        ),
        (
            lines(FIRST, second(1, games=[[*GAME[:6], -1, 0]])),
            "line 2: games.0.for_s = -1 is no number between",
        ),
    ],
)
def test_what_is_wrong_is_named_by_line_and_field(
    content: bytes, told: str, tmp_path: Path
) -> None:
    assert refused(tmp_path, content).startswith(told)


SCRAPS = st.one_of(
    st.binary(max_size=60),
    st.sampled_from([lines(FIRST), lines(SECOND), lines(second(2.0)), b"\n", b"{", b"]"]),
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from([*SECOND, *FIRST]), inner, max_size=4)
        ),
    ).map(lambda value: json.dumps(value).encode() + b"\n"),
    st.builds(
        lambda name, value: lines(SECOND | {name: value}),
        st.sampled_from([*SECOND, "by", "own", "games"]),
        st.none() | st.integers() | st.floats() | st.lists(st.floats() | st.none(), max_size=3),
    ),
    st.builds(
        lambda name, value: lines(SECOND | {"own": OWN | {name: value}}),
        st.sampled_from(list(OWN)),
        st.none() | st.integers() | st.lists(st.integers() | st.none(), max_size=5),
    ),
    st.builds(
        lambda at, value: lines(SECOND | {"games": [[*GAME[:at], value, *GAME[at + 1 :]]]}),
        st.integers(0, 7),
        st.none() | st.integers() | st.floats() | st.text(max_size=3) | st.lists(st.integers()),
    ),
)


@IN_FUNCTION
@given(scraps=st.lists(SCRAPS, max_size=6), begins=st.booleans())
def test_any_bytes_are_read_or_refused_with_their_line(
    tmp_path: Path, scraps: list[bytes], begins: bool
) -> None:
    content = (lines(FIRST) if begins else b"") + b"".join(scraps)
    file = written(tmp_path, content)
    try:
        record = read(file)
    except InputError as error:
        refusal = error
    else:
        assert record.seconds
        assert record.duration_ns >= 0
        return
    told = str(refusal).removeprefix(str(file))
    assert re.match(r"(, line \d+)?: \S", told), told
    assert refusal.line is None or 1 <= refusal.line <= content.count(b"\n") + 1


def test_a_record_becomes_a_folder_and_a_report(tmp_path: Path) -> None:
    entries = [
        second(float(t), waits=[t % 7 + 3.0] * 10, flows=[[*FLOW[:4], 40_000 if t > 20 else None]])
        for t in range(1, 4000)
    ]
    file = written(tmp_path, lines(FIRST, *entries) + b'{"t": 4000, "wai')
    out = tmp_path / "evening"
    done = CliRunner().invoke(app, ["gateway-record", str(file), "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert "1 lines were cut" in done.output
    page = (out / "report.html").read_text("utf-8")
    for told in ("At home from 2027-01-15", "What flows had", "device 1", "What packets waited",
                 "recorded by a home", 'id="runs"'):  # fmt: skip
        assert told in page, told
    # An hour takes no more of a page than some minutes.
    assert len(page) < 4_000_000
    # The report is made anew by the command for all folders, and another record is not mixed in.
    assert CliRunner().invoke(app, ["report", str(out)]).exit_code == 0
    assert convert(file, out).results.missing == 0
    written(tmp_path, lines(FIRST, SECOND))
    with pytest.raises(InputError, match="holds results of another"):
        convert(file, out)


def test_a_simulated_run_without_a_stream_has_the_same_sections(tmp_path: Path) -> None:
    text = """
    duration = "20 s"
    path = { capacity = "20 Mb/s", base_rtt = "30 ms" }
    competitor = [{ kind = "tcp", congestion_control = "cubic" }]
    """
    results = gw.run(gw.loads(text), tmp_path / "out")
    page = gw.report.write(results, tmp_path / "report.html").read_text("utf-8")
    assert "What flows had" in page
    assert "What packets waited" in page
    # A record's histograms have the edges of the lab's.
    delays = results.queue_delay().collect()
    assert set(delays["delay_low_ns"]) | set(delays["delay_high_ns"]) <= set(EDGES_NS)
    # The twin: one with a stream has its own.
    with_stream = text + 'stream = [{ controller = "gcc" }]'
    results = gw.run(gw.loads(with_stream), tmp_path / "other")
    page = gw.report.write(results, tmp_path / "other.html").read_text("utf-8")
    assert "What flows had" not in page


@pytest.mark.timed
@pytest.mark.light
@needs_live
@pytest.mark.skipif(bool(why_not()), reason=why_not() or "all is there")
def test_an_evening_that_was_recorded_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "evening.jsonl"
    config = tmp_path / "gateway.toml"
    config.write_text('home = "lan"\nrecord.addresses = true\n', "utf-8")
    with home(*PATH) as place:
        for _ in range(2):
            with place.gateway("--config", str(config), "--record", str(file)) as running:
                with place.download(5, "-P", "2"):
                    pass
                time.sleep(1.2)
                # However it ends.
                running.process.kill()
                running.process.wait(10)
    assert file.stat().st_mode & 0o777 == 0o600
    made = convert(file, tmp_path / "out")
    assert made.results.manifest["recorded"]["sessions"] == 2
    bins = made.results.bins().collect()
    sums = dict(bins.group_by("flow").agg(pl.col("received_bytes").sum()).iter_rows())
    waits = made.results.queue_delay().collect()
    with of_times():
        # Two downloads of 5 s over 20 Mb/s.
        assert 15e6 < sums["192.168.7.2"] < 26e6
        assert sums["from the home"] < sums["192.168.7.2"] / 20
        assert 20 < waits["packets"].sum() < 140
        assert 1e6 < waits["sum_ns"].sum() / waits["packets"].sum() < 110e6
    assert "limited" in made.results.events().collect()["event"].to_list()


@pytest.mark.timed
@pytest.mark.long("test_gateway_record.py::test_an_evening_that_was_recorded_is_reported")
@needs_live
@pytest.mark.skipif(bool(why_not()), reason=why_not() or "all is there")
def test_a_game_and_the_own_queue_of_an_evening_are_recorded(tmp_path: Path) -> None:
    file = tmp_path / "evening.jsonl"
    config = tmp_path / "gateway.toml"
    config.write_text('home = "lan"\nmode = "both"\n', "utf-8")
    with home(*PATH) as place, place.gateway("--config", str(config), "--record", str(file)) as own:
        with game(place, 9), place.download(6, "-P", "2"):
            pass
        time.sleep(1.2)
        own.end()
    results = convert(file, tmp_path / "out").results
    games = pl.read_parquet(next(results.path.glob("runs/*/games.parquet")))
    assert games.select("protocol", "by", "name").rows() == [("udp", "behaviour", None)]
    queue = results.link().filter(pl.col("link") == "own queue").collect()
    rates = queue.sort("bin_start_ns")["capacity_bytes"] * 16e-6
    with of_times():
        length_s = (games["end_ns"] - games["begin_ns"])[0] / 1e9
        assert 3.0 < length_s < 13.0
        assert 3.0 < games["received_bytes"][0] * 8e-6 / length_s < 12.0
        # Nothing is known of the link at first; then it is 20 Mb/s.
        assert rates[0] > 1_000.0
        assert rates[-3] < 25.0
        assert 0.0 < queue["queue_max_bytes"].max() < 500_000
