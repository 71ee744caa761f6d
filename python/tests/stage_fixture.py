"""A link and a host in namespaces, for tests with clients of their own; needs root."""

from __future__ import annotations

import subprocess
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import polars as pl
from browser_fixture import Browser, browser, until_frames
from live_fixture import MIN_LIVE_FPS, one_stream
from witness import of_times

from gameway.live.namespaces import DEVICE, Namespaces
from gameway.live.process import PartProcess

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SECOND = 1_000_000_000
TOKEN = "a token for one test"
PORT = 8443
HOST = "10.77.0.1"
RATES = {"start_bitrate": "6 Mb/s", "max_bitrate": "12 Mb/s"}
SMALL = (640, 360)
"""A busy machine encodes sixty of them a second, too."""

MIN_SHOWN = {"0.5 %": 59.5 / 60, "1 %": 59.5 / 60, "2 %": 59 / 60, "5 %": 58 / 60}
"""What a player shows at least of what is made, by the share of packets that the path loses. With
retransmissions alone a browser that does not know the round trip asks a second time after 100 ms,
and shows 0.94 at 2 % and 0.7 at 5 %."""
LOSSES = [(share, length) for length in (1, 3) for share in MIN_SHOWN]


def lost(share: str, length: int) -> dict[str, Any]:
    """Give the path's loss of this share of packets, so many in a row."""
    if length > 1:
        return {"kind": "bursty", "probability": share, "burst_length": length}
    return {"kind": "random", "probability": share}


@dataclass
class Stage:
    """A link and a host, and what its clients need."""

    spaces: Namespaces
    folder: Path
    epoch_ns: int
    link: PartProcess
    host: PartProcess

    def now_ns(self) -> int:
        return time.monotonic_ns() - self.epoch_ns

    def wait_until(self, seconds: float) -> None:
        time.sleep(max(0.0, seconds - self.now_ns() / SECOND))

    def client(self, name: str, token: str = TOKEN) -> PartProcess:
        folder = self.folder / name
        folder.mkdir()
        config = {
            "epoch_ns": self.epoch_ns,
            "stream": "game",
            "connect": f"http://{HOST}:{PORT}/whep",
            "token": token,
            "folder": str(folder),
        }
        return PartProcess("client", config, self.spaces.name("client"), folder)

    def frames(self, name: str) -> pl.DataFrame:
        table = "host_frames" if name == "host" else "client_frames"
        return pl.read_parquet(self.folder / name / f"{table}.parquet")

    def decoded_share(self, name: str, since: float, until: float) -> float:
        """Of the frames that the host captured between two times, how much a client decoded."""
        within = pl.col("captured_ns").is_between(since * SECOND, until * SECOND)
        made = self.frames("host").filter(within)
        # At the very least, lest a share of nothing be judged.
        with of_times():
            assert made.height > MIN_LIVE_FPS * (until - since), made.height
        decoded = self.frames(name).filter(pl.col("decoded_ns").is_not_null())
        return made.join(decoded, on="frame", how="semi").height / made.height

    def inside(self, part: str, *command: str, **more: Any) -> subprocess.Popen[str]:
        words = ["ip", "netns", "exec", self.spaces.name(part), *command]
        return subprocess.Popen(words, text=True, stdout=subprocess.PIPE, **more)


@contextmanager
def watched(there: Stage, folder: Path, before: str = "") -> Iterator[tuple[Browser, str]]:
    """Have Chromium play the stage's host behind its link; give it and its page, once it plays.

    The script `before` runs ahead of the page's own.
    """
    inside = ("ip", "netns", "exec", there.spaces.name("client"))
    with browser(folder / "profile", *inside) as made:
        page = made.open(f"http://{HOST}:{PORT}/#{quote(TOKEN)}", before)
        until_frames(made, page)
        yield made, page


@contextmanager
def stage(
    folder: Path,
    controller: str = "fixed",
    rates: dict[str, str] = RATES,
    size: tuple[int, int] = SMALL,
    *,
    audio: bool = False,
    **path: Any,
) -> Iterator[Stage]:
    """Set up namespaces, link and host; the run's time zero is two seconds from now.

    `path` are keys of the path, of 25 Mb/s and 20 ms.
    """
    spec = one_stream(controller, **rates)
    with ExitStack() as stack:
        spaces = stack.enter_context(Namespaces())
        spaces.connect(1)
        epoch_ns = time.monotonic_ns() + 2 * SECOND
        common = {"epoch_ns": epoch_ns, "seed": 1}
        for name in ("link", "host"):
            (folder / name).mkdir()
        config = {
            **common,
            "duration": "600 s",
            "path": {**spec["path"], **path},
            "flows": [{"name": "game", "address": HOST}],
            "server": {"namespace": str(spaces.path("server")), "device": DEVICE},
            "client": {"namespace": str(spaces.path("client")), "device": DEVICE},
            "folder": str(folder / "link"),
        }
        link = PartProcess("link", config, spaces.name("router"), folder / "link")
        stack.enter_context(link)
        config = {
            **common,
            "stream": {"name": "game", **spec["stream"][0]},
            "size": f"{size[0]}x{size[1]}",
            "audio": audio,
            "listen": f"{HOST}:{PORT}",
            "token": TOKEN,
            "export_keys": str(folder / "keys"),
            "folder": str(folder / "host"),
        }
        host = PartProcess("host", config, spaces.name("server"), folder / "host")
        yield Stage(spaces, folder, epoch_ns, link, stack.enter_context(host))
