"""A session of the lab that is killed: what was copied becomes a result folder; no processes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import gameway as gw
from gameway import report
from gameway.errors import GamewayError
from gameway.lab import copying, knobs, unfinished
from gameway.lab.account import Account
from gameway.lab.copying import Copying
from gameway.live import schema
from gameway.live.competitors import Interval
from gameway.live.merge import Competition
from gameway.page.head import EARLY
from gameway.sweep import folder

if TYPE_CHECKING:
    from pathlib import Path

SECOND = 1_000_000_000
BIN = SECOND // 2
BYTES, PACKETS = 500_000, 400
"""Of the download in each bin."""


def rows(kind: schema.Schema, **columns: Any) -> pl.DataFrame:
    """Give rows of a table; columns that are not named are 1, or game."""
    height = len(next(iter(columns.values())))
    filled = {name: columns.get(name, ["game" if type_ == pl.String else 1] * height)
              for name, type_ in kind.items()}  # fmt: skip
    return schema.shaped(pl.DataFrame(filled), kind)


def write(place: Path, part: str, name: str, table: pl.DataFrame) -> None:
    own = place / "parts" / part
    own.mkdir(parents=True, exist_ok=True)
    table.write_parquet(own / f"{name}.parquet")


def parts(place: Path, seconds: int) -> None:
    """Write what a link and a host have written after so long."""
    bins = [number * BIN for number in range(2 * seconds)]
    for piece, some in enumerate((bins[:6], bins[6:])):
        for name, kind, more in (
            ("link", schema.LINK, {"link": ["path"] * len(some)}),
            ("bins", schema.BINS, {"flow": ["cubic"] * len(some),
                                   "received_bytes": [BYTES] * len(some),
                                   "received_packets": [PACKETS] * len(some)}),
        ):  # fmt: skip
            write(place, "link", f"{name}.{piece:05}", rows(kind, bin_start_ns=some, **more))
    totals = [2 * SECOND, seconds * SECOND]
    write(place, "link", "summary.00000", rows(schema.SUMMARY, duration_ns=totals))
    sent = [number * SECOND // 60 for number in range(60 * seconds)]
    ends = [at + SECOND // 100 for at in sent]
    numbers = list(range(len(sent)))
    times = {"captured_ns": sent, "first_sent_ns": sent, "last_sent_ns": sent}
    host = rows(schema.HOST_FRAMES, frame=numbers, **times)
    write(place, "host", "host_frames.00000", host)
    client = rows(schema.CLIENT_FRAMES, frame=numbers, complete_ns=ends, decoded_ns=ends)
    write(place, "host", "client_frames.00000", client)


def account() -> Account:
    """Give that of a session whose download came twice, and is there."""
    before = Competition(0, [Interval(1.0, 1.5, 1000)])
    return Account(
        "Played", knobs.defaults(), "pudica", {}, 0, None, ["link", "host"],
        turns=[(2 * SECOND, {"capacity": "10 Mb/s"}), (9 * SECOND, {"capacity": "9 Mb/s"})],
        log=[(2 * SECOND, "capacity", "10 Mb/s")], answers=[],
        competitions={"cubic": before}, stays={"cubic": [(SECOND, 3 * SECOND // 2)]},
        there={"cubic": 4 * SECOND},
    )  # fmt: skip


def killed(place: Path, out: Path) -> None:
    """Copy a session, and leave the copy; the lab knew of more than its parts had written."""
    parts(place, 8)
    one = Copying(place, out)
    one.account(account().text())
    while not copying.is_there(out):
        time.sleep(0.05)
    with pytest.raises(GamewayError, match="another gameway writes here"):
        unfinished.complete(out)
    one.end()
    assert one.problem is None


def test_a_killed_session_becomes_results_that_say_so(tmp_path: Path) -> None:
    out = tmp_path / "out"
    killed(tmp_path / "session", out)
    (out / folder.SESSION / "parts" / "link" / "bins.00002.parquet.partial").write_bytes(b"PAR1")
    with pytest.raises(GamewayError, match=r"not ended in order; `gameway report .*out` completes"):
        copying.refuse_taken(out)
    seconds = unfinished.complete(out)
    # Frames go until just before 8 s, the link's tables until then.
    assert seconds == pytest.approx(8.0, abs=0.02)
    assert not copying.is_there(out)
    assert unfinished.complete(out) is None
    results = gw.Results.open(out)
    assert results.manifest["live"]["ended_early"]
    bins = results.bins().filter(pl.col("flow") == "cubic").collect().sort("bin_start_ns")
    payload = dict(bins.select("bin_start_ns", "received_payload_bytes").rows())
    # What the first stay's own end told; nothing; what the link carried since the second began.
    assert payload[SECOND] == 1000
    assert payload[3 * SECOND] == 0
    assert payload[6 * SECOND] == BYTES - 52 * PACKETS
    (duration,) = results.summary().collect()["duration_ns"]
    assert duration == pytest.approx(8 * SECOND, rel=0.005)
    found = gw.load(out)
    assert [(one.name, one.start) for one in found.competitor] == [
        ("cubic", "1 s"), ("cubic-2", "4 s"),
    ]  # fmt: skip
    assert [one.at for one in found.path.change] == ["2 s"], "what came later is in no table"
    page = report.write(results, out / "report.html", save_files=False)
    assert EARLY in page.read_text(encoding="utf-8")


def test_what_is_no_longer_recorded_leaves_nothing(tmp_path: Path) -> None:
    parts(tmp_path / "session", 4)
    one = Copying(tmp_path / "session", tmp_path / "above" / "out")
    one.account(account().text())
    one.drop()
    assert not (tmp_path / "above" / "out").exists()
    # Pressed again, all of it is there again.
    one.account(account().text())
    one.end()
    assert unfinished.complete(one.out) == pytest.approx(4.0, abs=0.02)
    with pytest.raises(GamewayError, match="holds results already"):
        copying.refuse_taken(one.out)


def test_what_is_copied_each_second_is_what_is_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, out = tmp_path / "session", tmp_path / "out"
    parts(place, 4)
    whole = place / "parts" / "quic-client" / "own.parquet"
    whole.parent.mkdir()
    whole.write_bytes(b"half")
    printed = place / "raw" / "ping.out"
    printed.parent.mkdir()
    printed.write_text("one\n", encoding="utf-8")
    written: list[str] = []
    put = copying._put

    def noting(target: Path, content: bytes) -> None:
        written.append(target.name)
        put(target, content)

    def copied() -> list[str]:
        """Copy once; give what was written."""
        one._copy()
        news = sorted(written)
        written.clear()
        return news

    monkeypatch.setattr(copying, "_put", noting)
    one = Copying(place, out)
    one._account = "{}"
    pieces = sorted(file.name for file in place.glob("parts/*/*.parquet"))
    assert copied() == sorted(["account.json", *pieces])
    assert copied() == []
    with printed.open("a", encoding="utf-8") as more:
        more.write("two\n")
    write(place, "host", "host_frames.00001", rows(schema.HOST_FRAMES, frame=[1]))
    whole.write_bytes(b"whole")
    assert copied() == ["host_frames.00001.parquet", "own.parquet"]
    # The last piece is written anew until it is full.
    write(place, "host", "host_frames.00001", rows(schema.HOST_FRAMES, frame=[1, 2]))
    assert copied() == ["host_frames.00001.parquet"]
    one._account = '{"title": "Played"}'
    assert copied() == ["account.json"]
    there = out / folder.SESSION
    assert (there / "raw" / "ping.out").read_bytes() == printed.read_bytes()
    assert (there / "parts" / "quic-client" / "own.parquet").read_bytes() == b"whole"
    last = pl.read_parquet(there / "parts" / "host" / "host_frames.00001.parquet")
    assert last["frame"].to_list() == [1, 2]


def test_a_file_that_is_no_account_is_told(tmp_path: Path) -> None:
    file = tmp_path / folder.SESSION / "account.json"
    file.parent.mkdir()
    file.write_text('{"title": 1}', encoding="utf-8")
    with pytest.raises(GamewayError, match=r"account\.json: is no account of a session"):
        unfinished.complete(tmp_path)
