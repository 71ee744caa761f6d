"""The downloads of a session: what each kind is, what it needs, and the film that a video plays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gameway import _core
from gameway.errors import GamewayError
from gameway.live import offers, quic
from gameway.live.plan import QUIC, VIDEO
from gameway.live.video import films, player
from gameway.live.video.content import Content

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

KINDS: dict[str, dict[str, Any]] = {
    "cubic": {"congestion_control": "cubic"},
    "bbr": {"congestion_control": "bbr"},
    "quic": {"kind": QUIC, "congestion_control": "cubic", "ack_packets": quic.ACK_PACKETS},
    "video": {
        "kind": VIDEO, "congestion_control": "cubic", "segment_length": "2 s",
        "video_length": "5 min",
        "ladder": {"320x180": "800 kb/s", "480x270": "2 Mb/s", "640x360": "5 Mb/s"},
    },
}  # fmt: skip
"""What each is, as a competitor of an experiment file. Pictures of the video are small: the path
carries its bitrates, and this machine encodes and decodes its pixels beside the game's."""
CONTENT_S = 24
"""What is encoded of the video once: the scenes, calm and busy."""
VIEW = (640, 360)
"""The player's window, whose pixels this machine draws."""


def lacking(tell: Callable[[str], None], at_once: Collection[str] = ()) -> dict[str, str]:
    """Say of each kind that this machine cannot do why, and what to install.

    A video that must begin `at_once` has its film encoded here if it is not there yet, which takes
    seconds once; others have it when they are first wanted (`gameway.lab.filming`).
    """
    found = {name: "; ".join(_lacks(one)) for name, one in KINDS.items()}
    for name, one in KINDS.items():
        if name in at_once and one.get("kind") == VIDEO and not found[name]:
            try:
                films.make(film(one), tell)
            except (GamewayError, OSError) as error:
                found[name] = str(error)
    return {name: why for name, why in found.items() if why}


def _lacks(one: dict[str, Any]) -> Iterator[str]:
    """Say what a kind needs that is not there."""
    kind = one.get("kind")
    if kind == QUIC:
        if not _core.encoders():
            yield "this build has no live streams: make setup"
        return
    if kind == VIDEO:
        yield from player.why_not()
    try:
        offers.check_tools(["nginx", "ffmpeg"] if kind == VIDEO else ["iperf3"])
    except GamewayError as error:
        yield str(error)
    algorithm = one["congestion_control"]
    if offers.kernel_name(algorithm) not in offers.algorithms():
        yield f"this kernel's TCP has no {algorithm}: modprobe tcp_{algorithm}"


def film(video: dict[str, Any]) -> films.Film:
    """Give what a video plays: as long as its table says, however long it is open."""
    return films.Film.of(video, 0, Content(), CONTENT_S)
