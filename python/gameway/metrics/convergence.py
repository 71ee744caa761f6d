"""How soon a stream's bitrate settles.

Source: RFC 8868, section 3, and RFC 8867, section 4.1, ask for a convergence time and leave its
definition open. Here it runs from the start of the stream to the start of the first 2 s in which
every bitrate of 0.5 s is within 20 % of the level, which is the mean over the last third of the
time in which the stream is there. The 20 % and the 2 s are those of the "fair state" of Wang et al.
2024 (Pudica), section 5.2, which compares flows with one another and not with a level.

It says something where the conditions stay as they are; where capacity or competition changes, it
is the time to the level of the last third.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gameway.metrics.series import BIN_S

if TYPE_CHECKING:
    from gameway.metrics.presence import Spans
    from gameway.metrics.statistics import Floats

BAND = 0.2
HOLD_S = 2.0
_HOLD_BINS = round(HOLD_S / BIN_S)


def convergence_s(times: Floats, rates: Floats, there: Spans) -> float | None:
    """Seconds from a stream's start until its bitrate holds its level; None = never.

    `times` and `rates` are those of the bins in which it is there. NaN for a stream that is there
    for less than three times as long as it has to hold.
    """
    third = len(rates) // 3
    if third < _HOLD_BINS:
        return float("nan")
    level = float(rates[-third:].mean())
    holds = np.abs(rates - level) <= BAND * level
    held = np.convolve(holds, np.ones(_HOLD_BINS), mode="valid") > _HOLD_BINS - 0.5
    # Bins on both sides of a pause are no neighbours.
    length = times[_HOLD_BINS - 1 :] - times[: len(held)]
    found = np.flatnonzero(held & (length < HOLD_S - BIN_S / 2))
    return float(times[found[0]] - there[0].start_s) if len(found) else None
