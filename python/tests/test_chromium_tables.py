"""What two pages of a browser told, made into tables: checked, placed in time, with packets."""

from __future__ import annotations

import json
import random
import struct
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from gameway.errors import GamewayError
from gameway.live import schema
from gameway.live.chromium import packets, signalling, streams, tables, told

if TYPE_CHECKING:
    from pathlib import Path

WALL_MS = 1_795_671_439_000.0
"""What a page's clock shows at the run's start."""
EPOCH_NS = 5_000_000_000
CLOCK = tables.Clock(WALL_MS - EPOCH_NS / 1e6, EPOCH_NS)
INTERVAL_MS = 100 / 3
START = 2**32 - 90_000
"""Of the timestamps: they wrap a second later."""
SOURCE, REPEATED = 77, 78
CONFIG = {
    "stream": "game", "start_ns": 0, "stop_ns": 4_000_000_000, "end_ns": 4_000_000_000,
    "interval_ns": 500_000_000,
}  # fmt: skip


def stamp(ms: float) -> int:
    return (START + 90 * round(ms)) % 2**32


def one_run(frames: int, skipped: tuple[int, ...] = (), encode_ms: float = 6.0) -> dict[str, Any]:
    """What pages tell of frames whose captures tremble by a millisecond and a half."""
    draw = random.Random(3)
    times = [n * INTERVAL_MS + draw.uniform(-1.5, 1.5) + 2 for n in range(frames)]
    sending: list[dict[str, Any]] = []
    receiving: list[dict[str, Any]] = []
    for number, ms in enumerate(times):
        at = WALL_MS + ms
        timestamp = round(1000 * (ms + 500))
        sending.append({"what": "captured", "at": at, "frame": number, "timestamp": timestamp})
        if number in skipped:
            continue
        frame = {"rtp": stamp(ms), "source": SOURCE, "bytes": 1000 + number, "key": number == 0}
        sending.append({
            "what": "encoded", "at": at + encode_ms, "came": None, "timestamp": timestamp, **frame,
        })  # fmt: skip
        came = at + 40.0
        receiving.append({
            "what": "received", "at": came + 1, "came": came, "timestamp": None, **frame,
        })  # fmt: skip
        receiving.append({"what": "shown", "at": came + 8, "rtp": frame["rtp"]})
    for tenth in range(40):
        common = {"at": WALL_MS + 100 * tenth, "encoded": 3 * tenth, "encoding": 0.012 * tenth}
        sending.append(common | {
            "what": "sent", "available": 1e6 + tenth, "target": 240_000.0, "captured": 3 * tenth,
            "cpu": 0.0, "quantizer": 270 * tenth, "asked": int(tenth >= 20), "height": 360,
        })  # fmt: skip
        receiving.append({
            "what": "got", "at": WALL_MS + 100 * tenth, "waited": 0.09 * tenth,
            "emitted": 3 * tenth, "freezes": int(tenth >= 30), "frozen": 0.25 * (tenth >= 30),
            "decoded": 3 * tenth, "decoding": 0.006 * tenth,
        })  # fmt: skip
    return {"sending": sending, "receiving": receiving}


def read(said: dict[str, Any]) -> told.Told:
    found = told.read("sending", said["sending"])
    return told.read("receiving", said["receiving"], found)


def written(said: dict[str, Any], folder: Path) -> dict[str, pl.DataFrame]:
    clocks = {"sending": CLOCK, "receiving": CLOCK}
    tables.write(read(said), clocks, CONFIG | {"folder": str(folder)})
    names = ("host_frames", "client_frames", "controller", "events", "rtp")
    return {name: pl.read_parquet(folder / f"{name}.parquet") for name in names}


@pytest.mark.parametrize("skipped", [(), (0, 1), (5, 6, 40), tuple(range(12))])
def test_encoded_frames_find_their_captures(skipped: tuple[int, ...]) -> None:
    said = read(one_run(60, skipped))
    found = tables.numbered(said.captured, said.encoded)
    assert sorted(found) == [number for number in range(60) if number not in skipped]
    assert all(one.bytes == 1000 + number for number, one in found.items())


@pytest.mark.parametrize(
    ("timestamp", "wrong"),
    [(17, "picture at 17 us, at which none was captured"), (None, "does not tell of which")],
)
def test_a_frame_of_no_picture_is_refused(timestamp: int | None, wrong: str) -> None:
    said = read(one_run(60))
    said.encoded[30] = said.encoded[30].model_copy(update={"timestamp": timestamp})
    with pytest.raises(GamewayError, match=wrong):
        tables.numbered(said.captured, said.encoded)


def test_a_run_has_the_tables_of_any_stream(tmp_path: Path) -> None:
    found = written(one_run(110, (7,)), tmp_path)
    hosts = found["host_frames"]
    assert hosts.schema == pl.Schema(schema.HOST_FRAMES)
    assert hosts.height == 109
    assert hosts["frame"].to_list() == [number for number in range(110) if number != 7]
    assert hosts["encode_ns"].to_list() == pytest.approx([6_000_000] * 109, abs=1000)
    assert hosts["captured_ns"][50] == pytest.approx(51 * INTERVAL_MS * 1e6, abs=4e6)
    # A target is the last one told before; what nobody tells is null.
    assert hosts["target_bps"][60] == 1_000_000 + int((61 * INTERVAL_MS + 8) // 100)
    assert hosts["packets"].null_count() == hosts.height
    clients = found["client_frames"]
    assert clients.schema == pl.Schema(schema.CLIENT_FRAMES)
    took = clients["decoded_ns"] - clients["complete_ns"]
    assert took.to_list() == pytest.approx([8_000_000] * 109, abs=1000)
    states = dict(found["controller"].group_by("variable").agg(pl.col("value").last()).rows())
    assert states["encode_ms"] == pytest.approx(4.0)
    assert states["jitter_buffer_ms"] == pytest.approx(30.0)
    assert states["quantizer"] == pytest.approx(90.0)
    assert found["controller"].filter(pl.col("variable") == "target_bps").height == 8
    events = found["events"].select("event", "value").rows()
    assert events == [("frame-skipped", 0.0), ("key-frame-request", 0.0), ("freeze", 250.0)]


def test_what_comes_after_the_end_is_not_of_the_run(tmp_path: Path) -> None:
    found = written(one_run(130), tmp_path)
    assert found["host_frames"]["captured_ns"].max() < CONFIG["stop_ns"]
    assert found["host_frames"].height == 120
    assert found["client_frames"]["complete_ns"].max() < CONFIG["end_ns"]


@pytest.mark.parametrize(
    ("cpu", "size", "expected"),
    [(0.0, 1000, []), (0.5, 1000, [streams.CPU_LIMITED]), (0.0, 500, [streams.ENCODER_SHORT])],
)
def test_an_encoder_that_was_the_limit_is_told_of(
    cpu: float, size: int, expected: list[str]
) -> None:
    said = one_run(120)
    for one in said["sending"]:
        if one["what"] == "encoded":
            one["bytes"] = size
        if one["what"] == "sent":
            one["cpu"] = cpu * (one["at"] - WALL_MS) / 1e3
    found = list(tables.limits(read(said), CLOCK))
    assert [what for _, what, _ in found] == expected
    for _, what, value in found:
        assert value == pytest.approx(0.5, abs=0.03), what


@pytest.mark.parametrize(
    ("record", "wrong"),
    [
        ({"what": "captured", "at": 1.0, "timestamp": 5}, "frame: Field required"),
        ({"what": "captured", "at": 1.0, "frame": 1}, "timestamp: Field required"),
        ({"what": "captured", "at": 1.0, "frame": 1, "timestamp": -1}, "timestamp"),
        ({"what": "captured", "at": float("nan"), "frame": 1, "timestamp": 5}, "at"),
        ({"what": "captured", "at": -1.0, "frame": 1, "timestamp": 5}, "at"),
        ({"what": "captured", "at": 1.0, "frame": 1.5, "timestamp": 5}, "frame"),
        ({"what": "captured", "at": 1.0, "frame": 2**32, "timestamp": 5}, "frame"),
        ({"what": "captured", "at": 1.0, "frame": 1, "timestamp": 5, "more": 1}, "more"),
        ({"what": "shown", "at": 1.0, "rtp": 2**32}, "rtp"),
        ({"what": "sent", "at": 1.0, "available": float("inf")}, "available"),
        ({"what": "sent", "at": 1.0, "available": "9"}, "available"),
        ({"what": "else", "at": 1.0}, "Input tag 'else'"),
        ({}, "tag"),
        (None, "dictionary"),
        ("captured", "dictionary"),
    ],
)
def test_a_record_that_cannot_be_is_refused_by_number(record: Any, wrong: str) -> None:
    good = {"what": "captured", "at": 1.0, "frame": 0, "timestamp": 5}
    with pytest.raises(GamewayError, match="sending page told what cannot be, record 1") as refused:
        told.read("sending", [good, record])
    assert wrong in str(refused.value)
    assert len(str(refused.value)) < 400


def test_what_is_no_list_of_records_is_refused(tmp_path: Path) -> None:
    several: tuple[Any, ...] = (None, {}, "x", 3)
    for strange in several:
        with pytest.raises(GamewayError, match="receiving page gave no list"):
            told.read("receiving", strange)
    with pytest.raises(GamewayError, match="encoded nothing"):
        written({"sending": [], "receiving": []}, tmp_path)


def block(kind: int, body: bytes) -> bytes:
    length = 12 + len(body)
    return struct.pack("<II", kind, length) + body + struct.pack("<I", length)


def packet(interface: int, ns: int, rtp: int, *, source: int = SOURCE, server: int = 1) -> bytes:
    """A packet of 1000 bytes from a server's address to the client."""
    data = bytes([0x45, 0, *struct.pack("!H", 1000), *[0] * 5, 17, 0, 0, 10, 77, 0, server])
    data += bytes([10, 78, 0, 1]) + bytes(8) + struct.pack("!BBHII", 0x80, 96, 1, rtp, source)
    at = ZERO_NS + ns
    head = struct.pack("<5I", interface, at >> 32, at & 0xFFFFFFFF, len(data), 1000)
    return block(packets.ENHANCED_PACKET, head + data)


ZERO_NS = 1_795_671_439_000_000_000
HEAD = block(packets.SECTION, b"time zero of the run: %d ns" % ZERO_NS)


def test_the_links_packets_are_of_frames_by_their_timestamps(tmp_path: Path) -> None:
    said = one_run(110)
    written(said, tmp_path)
    first, second = (one["rtp"] for one in said["sending"] if one["what"] == "encoded"
                     and one["bytes"] in {1010, 1011})  # fmt: skip
    capture = tmp_path / "packets.pcapng"
    rows = [
        packet(0, 10, first), packet(0, 20, first), packet(0, 30, first),
        packet(0, 90, first, source=REPEATED), packet(0, 40, second),
        packet(0, 41, second, server=2), packet(0, 42, 12345), packet(1, 50, first),
        packet(1, 60, first), packet(1, 95, first, source=REPEATED),
    ]  # fmt: skip
    capture.write_bytes(HEAD + b"".join(rows))
    packets.add(tmp_path, capture, "10.77.0.1")
    hosts = pl.read_parquet(tmp_path / "host_frames.parquet")
    assert hosts.schema == pl.Schema(schema.HOST_FRAMES)
    columns = ("wire_bytes", "repair_bytes", "packets", "first_sent_ns", "last_sent_ns")
    of = {row["frame"]: tuple(row[name] for name in columns) for row in hosts.to_dicts()}
    assert of[10] == (4000, 1000, 3, 10, 30)
    assert of[11] == (1000, 0, 1, 40, 40)
    assert of[12] == (None,) * 5
    clients = pl.read_parquet(tmp_path / "client_frames.parquet")
    received = dict(clients.select("frame", "received_packets").rows())
    assert (received[10], received[11]) == (2, None)
    assert clients["stream"].unique().to_list() == ["game"]


@pytest.mark.parametrize(
    "content", [b"", b"abc", HEAD[:-4], HEAD + packet(0, 1, 1)[:-8], HEAD + bytes(12)]
)
def test_what_is_no_capture_of_a_link_is_refused(content: bytes, tmp_path: Path) -> None:
    capture = tmp_path / "packets.pcapng"
    capture.write_bytes(content)
    with pytest.raises(GamewayError, match=r"packets\.pcapng"):
        list(packets.read(capture, "10.77.0.1"))


def test_short_and_strange_packets_are_of_no_frame(tmp_path: Path) -> None:
    whole = packet(0, 1, 5)
    capture = tmp_path / "packets.pcapng"
    cut = [block(packets.ENHANCED_PACKET, whole[8:28][:12] + struct.pack("<II", kept, 1000)
                 + whole[28 : 28 + kept]) for kept in range(0, 40, 4)]  # fmt: skip
    rtcp = bytearray(whole)
    rtcp[28 + 29] = 200
    capture.write_bytes(HEAD + b"".join(cut) + bytes(rtcp) + whole)
    assert [one.rtp for one in packets.read(capture, "10.77.0.1")] == [5]


LINES = [
    "v=0", "m=video 9 UDP/TLS/RTP/SAVPF 96 97", "a=rtpmap:96 VP8/90000", "a=rtpmap:97 rtx/90000",
    "a=fmtp:97 apt=96", "a=candidate:1 1 udp 2122260223 10.77.0.1 3405 typ host",
    "a=candidate:2 1 udp 2122194687 10.77.0.12 3406 typ host network-id 2",
    "a=candidate:3 1 tcp 1518280447 10.77.0.12 9 typ host tcptype active", "",
]  # fmt: skip
OFFER = "\r\n".join(LINES)
RATES = {"min": 300_000, "start": 1_000_000, "max": 8_000_000}


def test_only_the_streams_own_address_is_signalled() -> None:
    kept = signalling.with_address(OFFER, "10.77.0.12")
    assert kept.count("a=candidate:") == 1
    assert " udp 2122194687 10.77.0.12 " in kept
    assert "candidate" not in signalling.without_candidates(OFFER)
    with pytest.raises(GamewayError, match=r"no way from 10\.77\.0\.2"):
        signalling.with_address(OFFER, "10.77.0.2")


def test_bounds_are_parameters_of_the_codec() -> None:
    bounds = "x-google-min-bitrate=300;x-google-start-bitrate=1000;x-google-max-bitrate=8000"
    assert f"VP8/90000\r\na=fmtp:96 {bounds}\r\n" in signalling.bounded(OFFER, RATES)
    h264 = OFFER.replace("a=fmtp:97", "a=fmtp:96 level=1\r\na=fmtp:97")
    assert f"a=fmtp:96 level=1;{bounds}\r\na=fmtp:97 apt=96" in signalling.bounded(h264, RATES)
    with pytest.raises(GamewayError, match="no video"):
        signalling.bounded("v=0\r\n", RATES)


def test_records_survive_the_way_from_a_page() -> None:
    said = one_run(5)
    assert read(json.loads(json.dumps(said))) == read(said)
