"""Rate controllers of your own, as classes.

A class derives from `RateController`, lives in a file of yours, and is named in an experiment file:

    controller = { kind = "python", file = "mine.py", class = "Mine", gain = 0.9 }

Keys beside these three are given to the class as keyword arguments: a number stays a number. Times
are whole nanoseconds of the sender's clock, but for arrivals, which are of the receiver's: the two
differ by an unknown offset. Sizes are bytes and rates bits per second on the wire, with headers.

Runs share one process, so keep state in the object, not in the module; the same calls must give the
same targets, or a run cannot be repeated. Python is called for each frame and report: with a report
every 50 ms, a run takes a fifth longer than with a controller of Rust; `on_sent`, once for each
packet, costs the most.
"""

from __future__ import annotations

import importlib.util
import sys
import traceback
from pathlib import Path
from typing import Any

from gameway._core import (
    Frame,
    FrameReceived,
    Limits,
    Packet,
    ProbeCluster,
    Report,
    Target,
)

__all__ = [
    "Frame",
    "FrameReceived",
    "Limits",
    "Packet",
    "ProbeCluster",
    "RateController",
    "Report",
    "Target",
    "load_class",
]


class RateController:
    """What a session asks of a controller. Override `target` and what it needs to hear of.

    Attributes:
        limits: bounds that the stream sets: `min_bps`, `max_bps`, `start_bps`, `frame_interval_ns`.
        feedback: when the receiver is to report: "per-frame", or an interval such as "50 ms".
        ecn: the ECN field with which packets leave: "none", "ect0" or "ect1".
        sends_in_parts: whether a live frame's first packets may leave while the rest of it is being
            encoded. Then `on_sent` may tell of packets before `on_frame` tells of their frame.
    """

    feedback = "per-frame"
    ecn = "none"
    sends_in_parts = False

    def __init__(self, limits: Limits) -> None:
        self.limits = limits

    def on_capture(self, now_ns: int) -> None:
        """Hear that a frame is captured: it is encoded with the target of now.

        This and `on_sent`, `on_frame_received`, `on_round_trip` and `on_frame_interval` are called
        only where a class overrides them.
        """

    def on_frame(self, now_ns: int, frame: Frame) -> None:
        """Hear of a frame that was encoded: `number`, `target_bps`, `size_bytes`, `packets`."""

    def on_sent(self, now_ns: int, packet: Packet) -> None:
        """Hear of a packet that left the pacer."""

    def on_feedback(
        self, now_ns: int, reports: list[Report], in_flight_bytes: int, rtt_ns: int | None
    ) -> None:
        """Hear of a report of the receiver: what became of each packet that it tells of first.

        Args:
            now_ns: the sender's clock.
            reports: each with `packet`, `arrival_ns` (None: taken for lost) and
                `congestion_experienced` (marked by a queue), in order of sequence number.
            in_flight_bytes: sent, and neither received nor taken for lost.
            rtt_ns: round-trip time without the receiver's holding time; None if it is not known.
        """

    def on_frame_received(self, now_ns: int, frame: FrameReceived) -> None:
        """Hear that the receiver has all of a frame, ahead of the report: from a browser's page.

        It has `frame` (its number), `first_sent_ns`, `last` (its last packet) and `arrival_ns`.
        """

    def on_round_trip(self, now_ns: int, rtt_ns: int) -> None:
        """Hear of a round trip that RTCP's reports told, from receivers that send such."""

    def on_frame_interval(self, now_ns: int, interval_ns: int) -> None:
        """Hear that frames come at this interval from the next one on.

        A stream whose `ladder` changes the frame rate tells it at each change, also where its first
        level is not the full frame rate. Until then the interval is `limits.frame_interval_ns`.
        """

    def on_timer(self, now_ns: int) -> None:
        """Act: the time that `next_timer` gave has come."""

    def next_timer(self) -> int | None:
        """Give when `on_timer` is wanted; None for never."""
        return None

    def target(self) -> Target:
        """Give what it wants from now on; asked for after each call. Kept within `limits`."""
        raise NotImplementedError

    def observe(self) -> dict[str, float]:
        """Give its state for the table of controllers: names (with the unit in them) and numbers.

        Asked for twice a second, or each `record.controller_interval`. `target_bps` is there
        already. Give the same names each time.
        """
        return {}


def describe(name: str, error: BaseException) -> str:
    """Tell an exception of the class of this name: where, what it is and says, its traceback."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{frames[-1].filename}, line {frames[-1].lineno}: " if frames else ""
    said = f": {error}" if str(error) else ""
    whole = "".join(traceback.format_exception(error)).rstrip()
    return f"class {name}: {place}{type(error).__name__}{said}\n{whole}"


def load_class(file: str, name: str) -> type[RateController]:
    """Load a class from a file; once per file and process."""
    path = Path(file).resolve()
    module = _module(path)
    found: Any = getattr(module, name, None)
    if found is None:
        message = f"has no class {name}"
        raise AttributeError(message)
    if not (isinstance(found, type) and issubclass(found, RateController)):
        message = f"{name} does not derive from gameway.RateController"
        raise TypeError(message)
    return found


def _module(path: Path) -> Any:
    # One name for each file, so that two files of one name do not meet.
    name = "gameway_controller_" + path.as_posix().encode().hex()
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        message = "is no Python file"
        raise ImportError(message)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
