"""The windows of time in which metrics are taken, from the competitors' start and stop.

Source: Xu and Claypool 2022, sections 4.1 to 4.3. There a run lasts 540 s and one TCP download
competes from 185 s to 370 s:

    original    125-185 s   the 60 s before the competitor starts
    adjusted    310-370 s   the last 60 s of the competition
    difference  220-370 s   the competition without its first 35 s
    alone         0-185 s   without a competitor (RTT, loss, frames)
    competing   185-370 s   with a competitor (RTT, loss, frames)

Generalisation: a competition shorter than the paper's 185 s has the 60 s and the 35 s shortened in
proportion (a 74 s one has 24 s and 14 s); in a longer one they stay. With several competitors,
the competition reaches from the first start to the last stop. Where they come one after another,
shares of the link are of the time in which at least one is there (`gameway.metrics.run`); what else
is told of the competition is of the time between them, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gameway.metrics.quantities import seconds

PUBLISHED_COMPETITION_S = 185.0
PUBLISHED_LEVEL_S = 60.0
PUBLISHED_SETTLING_S = 35.0


@dataclass(frozen=True)
class Window:
    """A span of time of a run, seconds since its start; `stop_s` is not part of it."""

    start_s: float
    stop_s: float

    @property
    def length_s(self) -> float:
        """Seconds from start to stop, never negative."""
        return max(self.stop_s - self.start_s, 0.0)

    @property
    def nanoseconds(self) -> tuple[int, int]:
        """Start and stop in nanoseconds since the run's start, as the tables count."""
        return round(self.start_s * 1e9), round(self.stop_s * 1e9)


@dataclass(frozen=True)
class Windows:
    """All windows of a run; those about a competitor are None where none competes."""

    run: Window
    alone: Window | None
    competing: Window | None
    original: Window | None
    adjusted: Window | None
    difference: Window | None

    def scopes(self) -> dict[str, Window]:
        """The windows in which every window metric is taken, by the prefix of its column."""
        found = {"run": self.run, "alone": self.alone, "competing": self.competing}
        return {
            name: window
            for name, window in found.items()
            if window is not None and window.length_s > 0.0
        }


def windows_of(spec: dict[str, Any]) -> Windows:
    """The windows of a run from its spec (durations are texts with units)."""
    duration = seconds(spec["duration"])
    run = Window(0.0, duration)
    flows = spec.get("competitor") or []
    if not flows:
        return Windows(run, run, None, None, None, None)
    start = min(_time(flow.get("start"), 0.0) for flow in flows)
    stop = min(max(_time(flow.get("stop"), duration) for flow in flows), duration)
    return competition_windows(run, Window(start, stop))


def competition_windows(run: Window, competing: Window) -> Windows:
    """The paper's windows around one competition, in proportion where it is shorter."""
    scale = min(competing.length_s / PUBLISHED_COMPETITION_S, 1.0)
    level, settling = PUBLISHED_LEVEL_S * scale, PUBLISHED_SETTLING_S * scale
    start, stop = competing.start_s, competing.stop_s
    return Windows(
        run=run,
        alone=Window(run.start_s, start),
        competing=competing,
        original=Window(max(start - level, run.start_s), start),
        adjusted=Window(stop - level, stop),
        difference=Window(start + settling, stop),
    )


def _time(text: str | None, default: float) -> float:
    return default if text is None else seconds(text)
