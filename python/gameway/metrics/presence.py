"""When a flow is there: from its start to its stop, without its pause.

A stream that starts late, stops early or pauses is measured in the part of a window in which it is
there: its mean bitrate is not lowered by the time in which it had nothing to send. Times are those
of the run's spec; a pause is the one in which the stream captures nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gameway.metrics.quantities import seconds
from gameway.metrics.windows import Window

if TYPE_CHECKING:
    from collections.abc import Iterable

Spans = list[Window]
"""Disjoint spans of time, in order."""


def presence(flow: dict[str, Any], run: Window) -> Spans:
    """When a stream or competitor of a spec is there."""
    start = seconds(flow.get("start") or "0 s")
    stop = flow.get("stop")
    whole = [Window(start, seconds(stop) if stop else run.stop_s)]
    pause = flow.get("pause")
    if pause:
        begin, end = seconds(pause["from"]), seconds(pause["to"])
        whole = common([whole, [Window(run.start_s, begin), Window(end, run.stop_s)]])
    return within(whole, run)


def within(spans: Spans, window: Window) -> Spans:
    """The part of `spans` that is in a window."""
    cut = (
        Window(max(span.start_s, window.start_s), min(span.stop_s, window.stop_s)) for span in spans
    )
    return [span for span in cut if span.length_s > 0.0]


def common(flows: Iterable[Spans]) -> Spans:
    """The spans in which all flows are there."""
    first, *others = flows
    for other in others:
        first = [part for span in other for part in within(first, span)]
    return sorted(first, key=lambda span: span.start_s)


def either(flows: Iterable[Spans]) -> Spans:
    """The spans in which at least one flow is there."""
    found: Spans = []
    for span in sorted((one for spans in flows for one in spans), key=lambda one: one.start_s):
        if found and span.start_s <= found[-1].stop_s:
            latest = max(span.stop_s, found[-1].stop_s)
            found[-1] = Window(found[-1].start_s, latest)
        else:
            found.append(span)
    return found


def length_s(spans: Spans) -> float:
    """Seconds of all spans together."""
    return sum(span.length_s for span in spans)
