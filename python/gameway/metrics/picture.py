"""Size of a stream's picture over time, where it follows the bitrate (`ladder`).

A stream with a ladder notes width and height by those of its source as events `picture-size`: one
at its first frame and one at each change of size or frame rate. A frame has the size of the newest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from gameway.metrics.source import Run
    from gameway.metrics.statistics import Floats
    from gameway.metrics.windows import Window


@dataclass(frozen=True)
class Picture:
    """When the picture of one stream changed, and to which share of width and height."""

    since_s: Floats
    shares: Floats

    def pixels_at(self, captured_s: Floats) -> Floats:
        """Pixels of frames captured then, by those of the source."""
        if len(self.since_s) == 0:
            return np.ones(len(captured_s))
        newest = np.searchsorted(self.since_s, captured_s, side="right") - 1
        pixels: Floats = self.shares[np.maximum(newest, 0)] ** 2
        return pixels

    def metrics(self, captured_s: Floats, window: Window) -> dict[str, float]:
        """What a window's frames had of the source's pixels, and how often that changed."""
        pixels = self.pixels_at(captured_s)
        inside = (self.since_s[1:] >= window.start_s) & (self.since_s[1:] < window.stop_s)
        return {
            "picture_percent": 100.0 * float(pixels.mean()) if len(pixels) else float("nan"),
            "picture_changes": float(inside.sum()),
        }


def picture_of(run: Run, stream: dict[str, Any]) -> Picture:
    """The picture of a stream; always whole, if it has no ladder."""
    if stream.get("ladder", "none") == "none":
        return Picture(np.empty(0), np.empty(0))
    events = run.table("events").filter(
        (pl.col("flow") == str(stream["name"])) & (pl.col("event") == "picture-size")
    )
    events = events.sort("time_ns", maintain_order=True)
    return Picture(events["time_ns"].to_numpy() / 1e9, events["value"].to_numpy())
