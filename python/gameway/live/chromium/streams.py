"""What the browsers of a stream are told, and what they need."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gameway import _core
from gameway.live import browser

if TYPE_CHECKING:
    from gameway.live.plan import Place, Plan

WHO = 'streams of kind = "chromium"'
CPU_LIMITED, ENCODER_SHORT = "cpu-limited", "encoder-short"
"""Events of a stream whose encoder was the limit: share of the time; share of its target."""


def check() -> None:
    """Refuse a machine that lacks something; one error names all of it."""
    browser.refuse(browser.why_not(WHO))


def part_config(plan: Plan, stream: dict[str, Any], place: Place) -> dict[str, Any]:
    """What the part is told that drives both pages."""
    span = plan.span(stream)
    width, height = (int(edge) for edge in stream["picture_size"].split("x"))
    rates = {name: _core.parse_rate(stream[f"{name}_bitrate"]) for name in ("min", "start", "max")}
    return {
        "epoch_ns": place.epoch_ns,
        "stream": stream["name"],
        "address": plan.address(stream["name"]),
        "namespaces": {"server": place.server, "client": place.client},
        "start_ns": span.start_ns,
        "stop_ns": span.stop_ns,
        "end_ns": plan.duration_ns,
        "interval_ns": plan.state_interval_ns,
        "rates": rates,
        "size": [width, height],
        "frame_rate": stream["frame_rate"],
        "field_trials": stream.get("field_trials"),
        # A page's numbers are exact up to 2^53, its generator takes 32 bits.
        "seed": plan.spec["seed"] % 2**32,
    }
