"""A whole stream of real processes through the real link: what it survives, and what others read.

Needs root, the programs of live runs and a build with x264.
"""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl
import pytest
from live_fixture import MIN_LIVE_FPS, REASON
from stage_fixture import PORT, SECOND, Stage, stage
from witness import of_times

from gameway import _core
from gameway.live.namespaces import DEVICE, LiveError

if TYPE_CHECKING:
    from pathlib import Path

HAS_X264 = any(name == "x264" for name, _ in _core.encoders())
WHY_NOT = REASON or ("" if HAS_X264 else "needs a build with x264: make setup")
pytestmark = [
    pytest.mark.timed,
    pytest.mark.light,
    pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT or "all is there"),
]

MEDIA = {96: "media", 97: "repair", 98: "probe"}


@dataclass
class Returned:
    """A stream whose client was killed and came back, and a recording of all."""

    stage: Stage
    started_ns: int
    pcap: Path


@pytest.fixture(scope="module")
def returned(tmp_path_factory: pytest.TempPathFactory) -> Returned:
    folder = tmp_path_factory.mktemp("returned")
    pcap = folder / "wire.pcap"
    with stage(folder) as made, ExitStack() as stack:
        if shutil.which("tcpdump"):
            words = ["tcpdump", "-U", "-i", DEVICE, "-w", str(pcap), "udp", "port", str(PORT)]
            dump = stack.enter_context(made.inside("client", *words, stderr=subprocess.DEVNULL))
            stack.callback(dump.terminate)
        with made.client("killed") as first:
            made.wait_until(2.0)
            assert first.process is not None
            first.process.kill()
        started_ns = made.now_ns()
        with made.client("back") as second:
            made.wait_until(started_ns / SECOND + 2.5)
            second.result()
        sessions = made.host.result()["sessions"]
    with of_times():
        assert sessions == 2, "the first client was killed before it had a stream"
    return Returned(made, started_ns, pcap)


def test_a_client_that_was_killed_has_pictures_within_two_seconds_of_its_return(
    returned: Returned,
) -> None:
    frames = returned.stage.frames("back")
    assert frames["session"].unique().to_list() == [1]
    # From the start of its process, Python's start included, to the first decoded picture.
    took = (frames["decoded_ns"].min() - returned.started_ns) / SECOND
    assert took > 0.06, took
    with of_times():
        assert took < 2.0, took
    first = frames.sort("frame").row(0, named=True)
    assert first["frame"] == first["picture_frame"] == 0
    sent = returned.stage.frames("host")
    assert sent["session"].unique().sort().to_list() == [0, 1]
    assert sent.filter(pl.col("frame") == 0)["key_frame"].all()
    # What came after the first picture is there in full.
    assert frames["decoded_ns"].null_count() <= 2
    with of_times():
        assert frames.height > 60


def packets_of(pcap: Path) -> list[tuple[int, int, bytes]]:
    """Source port, destination port and payload of each datagram of a capture of raw IPv4."""
    data = pcap.read_bytes()
    (kind,) = struct.unpack_from("<I", data, 20)
    # LINKTYPE_RAW, or DLT_RAW of some systems.
    assert kind in (12, 101)
    at, found = 24, []
    while at + 16 <= len(data):
        kept, length = struct.unpack_from("<II", data, at + 8)
        packet = data[at + 16 : at + 16 + kept]
        at += 16 + kept
        assert kept == length
        header = 4 * (packet[0] & 15)
        source, to = struct.unpack_from("!HH", packet, header)
        found.append((source, to, packet[header + 8 :]))
    return found


def plain_pcap(target: Path, packets: list[tuple[bool, bytes]]) -> None:
    """Write RTP to port 5004 and RTCP to port 5005, in raw IPv4."""
    with target.open("wb") as pcap:
        pcap.write(struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 65_535, 101))
        for number, (is_rtcp, payload) in enumerate(packets):
            port = 5005 if is_rtcp else 5004
            udp = struct.pack("!HHHH", port, port, 8 + len(payload), 0) + payload
            ends = bytes([10, 77, 0, 1, 10, 78, 0, 1])
            head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0)
            frame = head + ends + udp
            pcap.write(struct.pack("<IIII", number, 0, len(frame), len(frame)) + frame)


def decrypted(keys: list[str], packets: list[tuple[int, int, bytes]]) -> list[tuple[bool, bytes]]:
    """Decrypt the media of one session with its line of the host's file of keys."""
    import pylibsrtp  # noqa: PLC0415 (an extra)

    _, profile, *digits = keys
    profiles = {
        "SRTP_AES128_CM_HMAC_SHA1_80": pylibsrtp.Policy.SRTP_PROFILE_AES128_CM_SHA1_80,
        "SRTP_AEAD_AES_128_GCM": pylibsrtp.Policy.SRTP_PROFILE_AEAD_AES_128_GCM,
        "SRTP_AEAD_AES_256_GCM": pylibsrtp.Policy.SRTP_PROFILE_AEAD_AES_256_GCM,
    }
    sides = {}
    for side, key, salt in (("host", *digits[:2]), ("client", *digits[2:])):
        policy = pylibsrtp.Policy(
            key=bytes.fromhex(key + salt),
            ssrc_type=pylibsrtp.Policy.SSRC_ANY_INBOUND,
            srtp_profile=profiles[profile],
        )
        policy.window_size = 2048
        sides[side] = pylibsrtp.Session(policy)
    plain = []
    for source, _, payload in packets:
        session = sides["host" if source == PORT else "client"]
        is_rtcp = 192 <= payload[1] <= 223
        undo = session.unprotect_rtcp if is_rtcp else session.unprotect
        plain.append((is_rtcp, undo(payload)))
    return plain


def tshark(pcap: Path, wanted: str, *fields: str) -> list[list[str]]:
    shown = [word for field in fields for word in ("-e", field)]
    words = ["tshark", "-r", str(pcap), "-Y", wanted, "-T", "fields", *shown]
    ports = ["-d", "udp.port==5004,rtp", "-d", "udp.port==5005,rtcp"]
    done = subprocess.run([*words, *ports], capture_output=True, text=True, timeout=60, check=True)
    return [line.split("\t") for line in done.stdout.splitlines()]


@pytest.mark.parametrize("session", [0, 1])
def test_others_read_what_was_recorded_with_the_keys(
    returned: Returned, session: int, tmp_path: Path
) -> None:
    pytest.importorskip("pylibsrtp")
    if not (shutil.which("tshark") and returned.pcap.exists()):
        pytest.skip("needs tshark and tcpdump")
    lines = (returned.stage.folder / "keys").read_text(encoding="ascii").splitlines()
    keys = [line.split(" ") for line in lines]
    assert [words[0] for words in keys] == ["0", "1"]
    assert all(re.fullmatch("[0-9a-f]+", word) for words in keys for word in words[2:])
    media = [it for it in packets_of(returned.pcap) if it[2] and 128 <= it[2][0] < 192]
    ports = list(dict.fromkeys(to if source == PORT else source for source, to, _ in media))
    assert len(ports) == 2
    own = [it for it in media if ports[session] in it[:2]]
    plain = tmp_path / "plain.pcap"
    plain_pcap(plain, decrypted(keys[session], own))
    assert tshark(plain, "_ws.malformed || _ws.expert.severity >= 0x600000", "frame.number") == []
    rtp = tshark(plain, "rtp", "rtp.p_type", "rtp.seq", "rtp.marker")
    assert {int(row[0]) for row in rtp} <= set(MEDIA)
    numbers = [int(row[1]) for row in rtp]
    assert len(numbers) > 500
    assert numbers == list(range(len(numbers)))
    reports = tshark(plain, "rtcp.rtpfb.fmt == 11", "rtcp.length_check", "rtcp.fci")
    frames = sum(row[2] in ("1", "True") for row in rtp)
    # One at a frame's end and one 10 ms after its beginning, while its packets are spread further.
    assert frames - 10 <= len(reports) <= 2 * frames + 10
    assert all(row[0] in ("1", "True") for row in reports)
    # The other session's keys read nothing.
    with pytest.raises(Exception, match="auth"):
        decrypted(keys[1 - session], own)


def test_after_four_seconds_of_darkness_pictures_come_within_a_second(tmp_path: Path) -> None:
    steps = {"steps": [["0 s", "25 Mb/s"], ["1500 ms", "0 b/s"], ["5500 ms", "25 Mb/s"]]}
    with stage(tmp_path, "gcc", capacity=steps) as made:
        with made.client("client") as client:
            made.wait_until(8.0)
            client.result()
        made.host.result()
    decoded = made.frames("client")["decoded_ns"].drop_nulls().sort() / SECOND
    # What was on its way or waits in the queue arrives within its delay.
    assert decoded.filter(decoded.is_between(1.6, 5.5)).len() == 0
    first = decoded.filter(decoded > 5.5).min()
    assert first is not None
    assert first > 5.5
    before = made.decoded_share("client", 0.5, 1.3)
    after = made.decoded_share("client", 6.9, 7.7)
    assert min(before, after) > 0
    with of_times():
        assert first < 6.5, first
        assert min(before, after) > 0.9, (before, after)


def test_who_comes_with_the_token_takes_over_and_the_former_client_is_told(tmp_path: Path) -> None:
    with stage(tmp_path) as made, made.client("former") as former:
        assert former.process is not None
        with made.client("next") as latter:
            # Long before it would find out by silence.
            former.process.wait(5)
            time.sleep(3)
            decoded = latter.result()["decoded_frames"]
        assert former.result()["closed"] == "Remote"
        assert made.host.result()["sessions"] == 2
    # But for half a second that the start takes, and for what comes while the former ends.
    assert 0 < decoded <= 210
    with of_times():
        assert decoded > 2 * MIN_LIVE_FPS
    assert made.frames("next")["session"].unique().to_list() == [1]


REPLAY = """
import os, random, socket, struct, sys, time
random.seed(7)
# All that leaves through the device for a second, to be sent again, and garbage between.
seen, end = [], time.monotonic() + 1
tap = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))
tap.bind(("gw0", 3))  # ETH_P_ALL: others see nothing that leaves
tap.settimeout(0.1)
while time.monotonic() < end:
    try:
        packet, about = tap.recvfrom(2048)
    except TimeoutError:
        continue
    if about[2] == socket.PACKET_OUTGOING and packet[9] == 17:
        seen.append(packet)
tap.close()
out = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
for number in range(int(sys.argv[1])):
    packet = bytearray(random.choice(seen))
    kind = number % 3
    if kind == 0:
        first = random.choice([0, 20, 22, 128, 144, 255])
        rest = bytes([first]) + os.urandom(random.randrange(600))
        packet[28:] = rest
        packet[24:28] = struct.pack("!HH", 8 + len(rest), 0)
        packet[2:4] = struct.pack("!H", len(packet))
    elif kind == 1:
        packet[random.randrange(30, len(packet))] ^= 1 << random.randrange(8)
        packet[26:28] = b"\\0\\0"
    out.sendto(packet, (socket.inet_ntoa(packet[16:20]), 0))
    time.sleep(0.001)
print(len(seen))
"""

FLOOD = """
import os, socket, struct, sys, time
# Datagrams of garbage to the host's own port, from the host's own machine: no link bounds them.
rate, seconds = float(sys.argv[1]), float(sys.argv[2])
tap = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))
tap.bind(("gw0", 3))
while True:
    packet, about = tap.recvfrom(2048)
    if about[2] == socket.PACKET_OUTGOING and packet[9] == 17:
        break
tap.close()
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
out.connect((socket.inet_ntoa(packet[12:16]), struct.unpack("!H", packet[20:22])[0]))
garbage, count, start = os.urandom(60), 0, time.monotonic()
while (passed := time.monotonic() - start) < seconds:
    if count > rate * passed:
        continue
    for _ in range(500):
        try:
            out.send(garbage)
        except OSError:
            pass
    count += 500
print(count)
"""

BOGUS = """
import concurrent.futures, os, random, socket, sys
random.seed(3)
host, port = "10.77.0.1", 8443
offer = "v=0\\r\\nm=video 9 UDP/TLS/RTP/SAVPF 96\\r\\n"
def ask(number):
    head = random.choice([
        "POST /whep HTTP/1.1\\r\\nAuthorization: Bearer wrong\\r\\n",
        "POST /whep HTTP/1.1\\r\\n", "POST /whep?token=x HTTP/1.1\\r\\n",
        "PUT /whep HTTP/1.1\\r\\n",
        "DELETE /whep/abc HTTP/1.1\\r\\n", "GET /../../etc/passwd HTTP/1.1\\r\\n", "NONSENSE\\r\\n",
        "POST /whep HTTP/9.9\\r\\n", "OPTIONS * HTTP/1.1\\r\\n", "\\x16\\x03\\x01\\x02\\x00\\r\\n",
    ])
    body = offer if number % 2 else "x" * 3000
    name = "elsewhere.example" if number % 10 == 0 else f"{host}:{port}"
    words = f"{head}Host: {name}\\r\\nContent-Type: application/sdp\\r\\n"
    words += f"Content-Length: {len(body)}\\r\\n"
    with socket.create_connection((host, port), 10) as link:
        try:
            link.sendall((words + "\\r\\n" + body).encode("latin-1"))
            answer = link.recv(64)
        except ConnectionError:
            return "reset"
    return answer[9:12].decode() or "closed"
with concurrent.futures.ThreadPoolExecutor(20) as pool:
    answers = list(pool.map(ask, range(1000)))
print(*answers)
"""


@pytest.mark.alone
@pytest.mark.long("test_live_stream.py::test_bogus_requests_garbage_and_replays_cost_no_frame")
def test_a_flood_of_garbage_slows_no_stream(tmp_path: Path) -> None:
    rate, seconds = 176_000, 8
    with stage(tmp_path) as made, made.client("client") as client:
        made.wait_until(2)
        words = (sys.executable, "-c", FLOOD, str(rate), str(seconds))
        flood = made.inside("server", *words)
        began_ns = made.now_ns()
        sent = int(flood.communicate(timeout=60)[0])
        ended_ns = made.now_ns()
        client.result()
        made.host.result()
    decoded = made.frames("client")["decoded_ns"]
    shown = int(decoded.is_between(began_ns, ended_ns).sum()) * SECOND / (ended_ns - began_ns)
    with of_times():
        # A flood of so much took a stream of 60 frames/s to 4 to 19 when each datagram was read.
        assert sent > 0.5 * rate * seconds, sent
        assert shown > 55, (shown, sent)


def test_bogus_requests_garbage_and_replays_cost_no_frame(tmp_path: Path) -> None:
    with stage(tmp_path) as made:
        with made.client("client") as client:
            made.wait_until(0.5)
            scripts = [
                made.inside("client", sys.executable, "-c", BOGUS),
                made.inside("client", sys.executable, "-c", REPLAY, "1500"),
                made.inside("server", sys.executable, "-c", REPLAY, "1500"),
            ]
            # One who has no token, while the other's stream goes on. Who guesses at its address may
            # have used up the guesses, or the connections: then the oldest closes.
            refused = r"401|429|connection error"
            with pytest.raises(LiveError, match=refused), made.client("stranger", "guessed"):
                pass
            said = [script.communicate(timeout=30)[0] for script in scripts]
            assert [script.returncode for script in scripts] == [0, 0, 0]
            end_ns = made.now_ns()
            time.sleep(0.3)
            of_client = client.result()
        of_host = made.host.result()
    answers = said[0].split()
    assert len(answers) == 1000
    # Ten wrong tokens are looked at, the others are not.
    assert 1 <= answers.count("401") <= 10
    assert answers.count("429") > 190
    assert answers.count("421") >= 5, "names that are not the host's"
    assert not any(answer.startswith("2") and answer != "204" for answer in answers), answers
    assert of_host["sessions"] == 1
    # Two thirds of 1500 are told at once; the rest are replayed STUN and DTLS, which look fine.
    assert 1000 <= of_host["refused_datagrams"] <= 1600
    assert 1000 <= of_client["refused_datagrams"] <= 1600
    assert not (tmp_path / "stranger" / "client_frames.parquet").exists()
    sent = made.frames("host").filter(pl.col("captured_ns").is_between(0, end_ns))
    decoded = made.frames("client").filter(pl.col("decoded_ns").is_not_null())
    lost = sent.join(decoded, on="frame", how="anti")
    # A machine that is too busy loses some by itself.
    assert lost.height < 0.1 * sent.height, lost
    with of_times():
        assert lost.height == 0, lost
        assert sent["key_frame"].sum() <= 1
        assert all(int(words) > 10 for words in said[1:]), said[1:]
        assert sent.height > MIN_LIVE_FPS * end_ns / SECOND
