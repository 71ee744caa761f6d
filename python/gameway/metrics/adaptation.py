"""Response time, recovery time and adaptiveness.

Source: Xu and Claypool 2022, sections 4.2 and 4.4. The response time runs from the competitor's
start until the bitrate is within one standard deviation of the adjusted mean; the recovery time
runs from its stop until the bitrate is within one standard deviation of the original mean. Mean
and deviation are those of the series itself over the adjusted and the original window.

Where the paper leaves a choice:
- The time is that of the start of the first 0.5 s bin within the deviation.
- A stream whose adjusted mean is within one deviation of its original mean did not respond: its
  response is "never" (the paper's black cells of a system that "does not adapt its bitrate").
- A stream that is not there in the original window has nothing to respond from.
- "Never" is None here and null in tables; NaN means that there was nothing to respond to.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gameway.metrics.windows import Window, Windows

if TYPE_CHECKING:
    from gameway.metrics.statistics import Floats

# Bitrates that differ by less than this share of the mean count as equal (rounding of bytes).
ROUNDING = 1e-9


@dataclass(frozen=True)
class Level:
    """Mean and standard deviation of a bitrate series over a window, Mb/s."""

    mean: float
    deviation: float

    def holds(self, bitrates: Floats) -> np.typing.NDArray[np.bool_]:
        """Which bitrates are within one standard deviation of the mean."""
        slack = self.deviation + abs(self.mean) * ROUNDING
        inside: np.typing.NDArray[np.bool_] = np.abs(bitrates - self.mean) <= slack
        return inside


@dataclass(frozen=True)
class Adaptation:
    """How a bitrate series follows the arrival and departure of a competitor."""

    original: Level
    adjusted: Level
    response_s: float | None
    """Seconds; None = never, NaN = there was no stream before the competition."""
    recovery_s: float | None
    """Seconds; None = never, NaN = the same, or the run ends with the competition."""


def adaptation(times_s: Floats, bitrates: Floats, windows: Windows) -> Adaptation | None:
    """Levels and times of a series of bins (start in seconds); None without a competition."""
    if windows.original is None or windows.adjusted is None or windows.competing is None:
        return None
    original = level(times_s, bitrates, windows.original)
    adjusted = level(times_s, bitrates, windows.adjusted)
    after = Window(windows.competing.stop_s, windows.run.stop_s)
    if math.isnan(original.mean):
        return Adaptation(original, adjusted, math.nan, math.nan)
    responded = not adjusted.holds(np.array([original.mean]))[0]
    return Adaptation(
        original=original,
        adjusted=adjusted,
        response_s=first_within(times_s, bitrates, windows.competing, adjusted)
        if responded
        else None,
        recovery_s=first_within(times_s, bitrates, after, original)
        if after.length_s > 0.0
        else float("nan"),
    )


def level(times_s: Floats, bitrates: Floats, window: Window) -> Level:
    """Mean and sample standard deviation over a window; NaN for an empty one."""
    inside = bitrates[(times_s >= window.start_s) & (times_s < window.stop_s)]
    if len(inside) == 0:
        return Level(float("nan"), float("nan"))
    return Level(float(inside.mean()), float(inside.std(ddof=1)) if len(inside) > 1 else 0.0)


def first_within(times_s: Floats, bitrates: Floats, window: Window, goal: Level) -> float | None:
    """Seconds from the window's start to the first bin within the goal's deviation, or None."""
    inside = (times_s >= window.start_s) & (times_s < window.stop_s)
    hits = np.flatnonzero(inside & goal.holds(bitrates))
    return float(times_s[hits[0]] - window.start_s) if len(hits) else None


def adaptiveness(
    response_s: float, recovery_s: float, max_response_s: float, max_recovery_s: float
) -> float:
    """A = (1 - C/C_max)/2 + (1 - E/E_max)/2: 0 is the least adaptive of those compared, 1 the most.

    C_max and E_max are the longest times of everything that is compared; a "never" comes in as
    the length of the window in which it did not happen.
    """
    return 0.5 * _speed(response_s, max_response_s) + 0.5 * _speed(recovery_s, max_recovery_s)


def _speed(time_s: float, max_s: float) -> float:
    return 1.0 if max_s == 0.0 else 1.0 - time_s / max_s
