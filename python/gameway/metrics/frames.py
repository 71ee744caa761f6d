"""Frame metrics of one stream in one window: rate shown, frame delay, stalls, target met.

Sources: displayed frame rate, Xu and Claypool 2022, Table 6; frame delay (first packet sent to
last packet needed received), stall rate and the queue that the first packet of a frame meets,
Wang et al. 2024 (Pudica), sections 2.3 and 5. A frame belongs to the window in which it was
captured.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from gameway.metrics import limits

if TYPE_CHECKING:
    from gameway.metrics.statistics import Floats
    from gameway.metrics.windows import Window

# Frames captured this shortly before the end of a run may still be on their way: not judged.
GRACE_S = 1.0
# The mean over this long is what a controller counts on when it sets a target.
TARGET_S = 1.0
TARGET_MET = 0.05
COLUMNS = [
    "stream", "captured_ns", "target_bps", "payload_bytes", "wire_bytes", "first_sent_ns",
    "complete_ns", "shown_ns", "first_packet_queue_delay_ns",
]  # fmt: skip

# Histogram of frame delays: 40 steps per decade from 0.1 ms to 10 s, relative width 5.9 %.
DELAY_EDGES_MS: Floats = np.power(10.0, np.arange(-40, 161) / 40.0)


@dataclass(frozen=True)
class Frames:
    """The frames of one stream as arrays; what did not happen is NaN. Times in seconds."""

    captured_s: Floats
    shown_s: Floats
    payload_bytes: Floats
    delay_ms: Floats
    sender_wait_ms: Floats
    queue_ms: Floats
    of_target: Floats
    """Wire bytes of the last second over what the targets granted; NaN in the first second."""
    judged_until_s: float

    def captured_in(self, window: Window) -> Frames:
        """The judged frames that were captured in a window."""
        stop = min(window.stop_s, self.judged_until_s)
        keep = (self.captured_s >= window.start_s) & (self.captured_s < stop)
        return Frames(
            self.captured_s[keep],
            self.shown_s[keep],
            self.payload_bytes[keep],
            self.delay_ms[keep],
            self.sender_wait_ms[keep],
            self.queue_ms[keep],
            self.of_target[keep],
            self.judged_until_s,
        )


def frames_from(table: pl.DataFrame, duration_s: float) -> Frames:
    """The arrays of one stream's rows of a `frames` table."""
    captured = _floats(table, "captured_ns")
    first_sent = _floats(table, "first_sent_ns")
    wire, target = _floats(table, "wire_bytes"), _floats(table, "target_bps")
    return Frames(
        captured_s=captured / 1e9,
        shown_s=_floats(table, "shown_ns") / 1e9,
        payload_bytes=_floats(table, "payload_bytes"),
        delay_ms=(_floats(table, "complete_ns") - first_sent) / 1e6,
        sender_wait_ms=(first_sent - captured) / 1e6,
        queue_ms=_floats(table, "first_packet_queue_delay_ns") / 1e6,
        of_target=_of_target(captured / 1e9, 8.0 * wire, target),
        judged_until_s=max(duration_s - GRACE_S, 0.0),
    )


def frame_metrics(frames: Frames, window: Window, there_s: float) -> dict[str, float]:
    """The metrics of the frames of one window, by name; the stream is there for `there_s` of it."""
    inside = frames.captured_in(window)
    shown = (frames.shown_s >= window.start_s) & (frames.shown_s < window.stop_s)
    never = np.isnan(inside.shown_s)
    found = {
        "displayed_fps": float(shown.sum()) / there_s if there_s else float("nan"),
        "never_shown_percent": percent(never),
        "frame_delay_mean_ms": mean(inside.delay_ms),
    }
    found |= _quantiles("frame_delay", inside.delay_ms)
    found |= _quantiles("first_packet_queue", inside.queue_ms)
    judged = inside.of_target[~np.isnan(inside.of_target)]
    found["target_met_percent"] = percent(np.abs(judged - 1.0) <= TARGET_MET)
    for limit in limits.STALL_MS:
        found[f"stall_{limit}ms_percent"] = percent(never | (inside.delay_ms > limit))
    return found


def delay_histogram(frames: Frames, window: Window) -> pl.DataFrame:
    """Counts of frames by delay (ms, at most `delay_high_ms`); null = never complete."""
    delays = frames.captured_in(window).delay_ms
    complete = delays[~np.isnan(delays)]
    index = np.searchsorted(DELAY_EDGES_MS, complete, side="left")
    counts = np.bincount(index, minlength=len(DELAY_EDGES_MS) + 1)
    counts[-2] += counts[-1]
    used = np.flatnonzero(counts[:-1])
    edges = [*DELAY_EDGES_MS[used].tolist(), None]
    columns = {
        "delay_high_ms": edges,
        "frames": [*counts[used].tolist(), len(delays) - len(complete)],
    }
    return pl.DataFrame(columns, schema={"delay_high_ms": pl.Float64, "frames": pl.Int64})


def percent(flags: np.typing.NDArray[np.bool_]) -> float:
    """Share of true values in percent; NaN of none."""
    return 100.0 * float(flags.mean()) if len(flags) else float("nan")


def mean(values: Floats) -> float:
    """Mean of what happened; NaN if nothing did."""
    happened = values[~np.isnan(values)]
    return float(happened.mean()) if len(happened) else float("nan")


def _of_target(captured_s: Floats, bits: Floats, target_bps: Floats) -> Floats:
    """For each frame, the bits of the frames of the last second over the integral of their targets.

    A target holds from its frame to the next; a frame that was not encoded has no bits.
    """
    if len(captured_s) < 2:  # noqa: PLR2004 (one frame has no next)
        return np.full(len(captured_s), np.nan)
    lasted = np.diff(captured_s, append=2 * captured_s[-1] - captured_s[-2])
    # The last frame before a pause.
    lasted = np.minimum(lasted, TARGET_S)
    sent = np.concatenate(([0.0], np.cumsum(np.nan_to_num(bits))))
    granted = np.concatenate(([0.0], np.cumsum(np.nan_to_num(target_bps) * lasted)))
    # Half a frame less, so that rounding of times does not add one.
    first = np.searchsorted(captured_s, captured_s - TARGET_S + lasted / 2)
    last = np.arange(1, len(captured_s) + 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Floats = (sent[last] - sent[first]) / (granted[last] - granted[first])
    return np.where(captured_s - captured_s[0] >= TARGET_S, found, np.nan)


def _quantiles(name: str, values: Floats) -> dict[str, float]:
    happened = values[~np.isnan(values)]
    if len(happened) == 0:
        return {f"{name}_p{p}_ms": float("nan") for p in (50, 95, 99)}
    found = np.quantile(happened, (0.5, 0.95, 0.99))
    return {f"{name}_p{p}_ms": float(q) for p, q in zip((50, 95, 99), found, strict=True)}


def _floats(table: pl.DataFrame, column: str) -> Floats:
    return table[column].cast(pl.Float64).fill_null(float("nan")).to_numpy()
