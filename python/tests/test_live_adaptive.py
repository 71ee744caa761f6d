"""`repair = "adaptive"`, live: what a player sees of a path that loses, and what that costs.

`make long` has ten seconds of one case for each player. `make play` takes a minute of each share
of losses, one by one and in bursts of 3, in Chromium and in our client, and prints a table.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl
import pytest
from browser_fixture import NEEDS_CHROMIUM, inbound
from live_fixture import MIN_LIVE_FPS, needs_live
from stage_fixture import LOSSES, MIN_SHOWN, SECOND, Stage, lost, stage, watched
from witness import of_times

from gameway.live.merge import BIN_NS

if TYPE_CHECKING:
    from pathlib import Path

SECONDS = float(os.environ.get("GAMEWAY_PLAY_SECONDS", "10"))
IN_FULL = SECONDS >= 60
WARM_UP_S = 3.0
"""Until the host knows the share of losses."""
# Without probes, so that what is sent beside the frames is repair.
RATES = {"start_bitrate": "8 Mb/s", "min_bitrate": "8 Mb/s", "max_bitrate": "8 Mb/s"}

pytestmark = [
    pytest.mark.timed,
    pytest.mark.alone,
    pytest.mark.long("test_live_play.py::test_what_a_browser_asks_for_is_sent_again"),
    needs_live,
]


MAX_REPAIR = {20: 1.5, 100: 3}
"""By the round trip in ms: far away there is no time to ask, and repair packets cost several times
what is lost."""


@dataclass(frozen=True)
class Seen:
    """A while of a stream that loses packets."""

    made_fps: float
    shown_fps: float
    key_frames: int
    lost: float
    """Share of the packets."""
    repair: float
    """Bytes spent on repair, by the bytes lost; packets where a browser tells of them, to which
    there goes more than frames: its page's data channels."""

    def __str__(self) -> str:
        """Give a row of the table."""
        return (
            f"{self.made_fps:8.1f}{self.shown_fps:9.1f}{self.key_frames:12}"
            f"{self.lost:8.2%}{self.repair:8.2f}"
        )


HEAD = (
    f"{'player':10}{'lost':>7}{'burst':>7}"
    f"{'made/s':>8}{'shown/s':>9}{'key frames':>12}{'lost':>8}{'repair':>8}"
)


class While(NamedTuple):
    """For how long a player had a stream, and what it had of it."""

    began_ns: int
    ended_ns: int
    shown_fps: float
    repaired: int | None
    """Packets of repair, and such as were sent again, that the player tells of."""


def by_chromium(there: Stage, folder: Path) -> While:
    """Play for a while."""
    with watched(there, folder) as (made, page):
        time.sleep(WARM_UP_S)
        began_ns, first = there.now_ns(), inbound(made, page, "video")
        time.sleep(SECONDS)
        ended_ns, last = there.now_ns(), inbound(made, page, "video")
    took_s = (last["timestamp"] - first["timestamp"]) / 1e3
    grown = {name: last.get(name, 0) - first.get(name, 0) for name in ("framesDecoded", *REPAIRED)}
    repaired = sum(grown[name] for name in REPAIRED)
    return While(began_ns, ended_ns, grown["framesDecoded"] / took_s, repaired)


REPAIRED = ("retransmittedPacketsReceived", "fecPacketsReceived")


def by_our_client(there: Stage, folder: Path) -> While:
    """The same."""
    client = there.client("client")
    with client:
        time.sleep(WARM_UP_S + 2)
        began_ns = there.now_ns()
        time.sleep(SECONDS)
        ended_ns = there.now_ns()
        client.result()
    decoded = pl.read_parquet(folder / "client" / "client_frames.parquet")["decoded_ns"]
    shown = int(decoded.is_between(began_ns, ended_ns).sum())
    return While(began_ns, ended_ns, shown * SECOND / (ended_ns - began_ns), None)


PLAYERS: dict[str, Any] = {"chromium": by_chromium, "client": by_our_client}


def play(folder: Path, player: str, **path: Any) -> Seen:
    """Let a player have a stream whose packets are lost."""
    with stage(folder, "fixed", {**RATES, "repair": "adaptive"}, (1280, 720), **path) as there:
        began_ns, ended_ns, shown, repaired = PLAYERS[player](there, folder)
        there.host.result()
        there.link.result()
    # Whole bins of the link, and what left in them: half a second of 8 Mb/s is more than all repair
    # of a minute in which 0.5 % are lost.
    first, last = -(-began_ns // BIN_NS) * BIN_NS, ended_ns // BIN_NS * BIN_NS
    frames = there.frames("host").filter(pl.col("captured_ns").is_between(began_ns, ended_ns))
    left = frames.filter(pl.col("first_sent_ns").is_between(first, last, closed="left"))
    at_link = pl.read_parquet(folder / "link" / "bins.parquet").filter(
        pl.col("flow") == "game", pl.col("bin_start_ns").is_between(first, last, closed="left")
    )
    sent, packets, lost = (
        float(at_link[name].sum()) for name in ("sent_bytes", "sent_packets", "lost_packets")
    )
    # What left with frames and is no repair; the rest is: repair packets, and what is sent again.
    media = float(left["wire_bytes"].sum() - left["repair_bytes"].sum())
    return Seen(
        made_fps=frames.height * SECOND / (ended_ns - began_ns),
        shown_fps=shown,
        key_frames=int(frames["key_frame"].sum()),
        lost=lost / packets,
        repair=(
            (sent - media) / (sent * lost / packets)
            if repaired is None
            else repaired / (1 - lost / packets) / lost
        ),
    )


def loses(seen: Seen, share: str) -> bool:
    """Whether the path lost what it should."""
    return 0.5 < seen.lost / (float(share.removesuffix(" %")) / 100) < 2


@pytest.mark.parametrize("player", [pytest.param("chromium", marks=NEEDS_CHROMIUM), "client"])
@pytest.mark.parametrize(("share", "length"), LOSSES if IN_FULL else [("2 %", 3)])
def test_all_is_shown_and_no_key_frame_is_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], player: str, share: str, length: int
) -> None:
    seen = play(tmp_path, player, loss=lost(share, length))
    if IN_FULL:
        with capsys.disabled():
            head = HEAD if (player, share, length) == ("chromium", *LOSSES[0]) else ""
            print(f"\n{head}\n{player:10}{share:>7}{length:7}{seen}".replace("\n\n", "\n"))  # noqa: T201
    assert loses(seen, share), seen
    with of_times():
        assert seen.made_fps > MIN_LIVE_FPS
        assert MIN_SHOWN[share] * seen.made_fps < seen.shown_fps < 1.03 * seen.made_fps, seen
        if IN_FULL:
            assert seen.shown_fps >= 60 * MIN_SHOWN[share], seen
        # One a minute at most.
        assert seen.key_frames <= max(1, SECONDS / 60), seen
        # What is lost has to be sent once more, by repair packets or again; few losses have another
        # size in the mean than all packets.
        assert 0.8 < seen.repair < MAX_REPAIR[20], seen


FAR = [(100, share, length) for share, length in LOSSES if share in {"1 %", "5 %"}]
HARD = [(20, "9 %", 1), (20, "9 %", 3)]


@pytest.mark.parametrize("player", [pytest.param("chromium", marks=NEEDS_CHROMIUM), "client"])
@pytest.mark.parametrize("path", [*FAR, *HARD] if IN_FULL else [(100, "2 %", 1)])
def test_few_key_frames_are_asked_for_far_away_and_behind_hard_losses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], player: str, path: tuple[int, str, int]
) -> None:
    rtt_ms, share, length = path
    seen = play(tmp_path, player, loss=lost(share, length), base_rtt=f"{rtt_ms} ms")
    with capsys.disabled():
        print(f"\n{HEAD}\n{player:10}{share:>7}{length:7}{seen}, {rtt_ms} ms")  # noqa: T201
    assert loses(seen, share), seen
    with of_times():
        assert seen.made_fps > MIN_LIVE_FPS
        assert 0.9 * seen.made_fps < seen.shown_fps < 1.03 * seen.made_fps, seen
        # One a minute at most.
        assert seen.key_frames <= max(1, SECONDS / 60), seen
        assert 0.8 < seen.repair < MAX_REPAIR[rtt_ms], seen
