"""The base RTT of each run, where an experiment gives it a spread.

Two periodic senders of about one period can lock: frames that come once per round trip of a
download meet the same part of its window again and again. At a single RTT a table then shows one
phase of a resonance. With `base_rtt_spread` each repeat has an RTT of its own, evenly over the
spread: the positions are multiples of the golden ratio, so that the first n of them are nearly even
for any n (the Kronecker sequence of least discrepancy), and more repeats leave those before as they
are. All conditions of one repeat have the same position, so that they stay paired.

Queues in `bdp` keep the size that the nominal RTT gives them.
"""

from __future__ import annotations

import hashlib
import math
from typing import Any

from gameway import _core

GOLDEN = (math.sqrt(5) - 1) / 2
SPREAD = "base_rtt_spread"
NOMINAL = "nominal_rtt"
DISTANCES = ("base_rtt", "forward_delay", NOMINAL)
"""Keys of a run's path that say how far apart the ends are."""
DISTANT = ("base_rtt", "forward_delay")
"""Keys of a path or a flow that the spread scales."""
NOMINAL_DIGITS = 3
"""Digits to which a nominal time can be told from a run's own, which is in whole microseconds."""
FINEST_NS = 1000
WHOLE_PPM = 1_000_000


def own_distance(spec: dict[str, Any], base_seed: int, repeat: int) -> dict[str, Any]:
    """Give the spec of a run with the round-trip times of its repeat."""
    path = dict(spec["path"])
    spread = path.pop(SPREAD, None)
    if spread is None:
        return spec
    factor = 1.0 + _core.parse_ratio(spread) / WHOLE_PPM * (2.0 * position(base_seed, repeat) - 1.0)
    nominal = path["base_rtt"]
    flows: dict[str, Any] = {
        kind: [_scaled(flow, factor) for flow in spec[kind]]
        for kind in ("stream", "competitor")
        if kind in spec
    }
    return {**spec, "path": _scaled(path, factor) | {NOMINAL: nominal}, **flows}


def named_distance(spec: dict[str, Any]) -> dict[str, Any]:
    """Give the spec of a run with the round-trip times of its file, alike in all repeats."""
    path = dict(spec["path"])
    nominal = path.pop(NOMINAL, None)
    if nominal is None:
        return spec
    factor = _core.parse_duration(nominal) / _core.parse_duration(path["base_rtt"])
    flows: dict[str, Any] = {
        kind: [_named(flow, factor) for flow in spec[kind]]
        for kind in ("stream", "competitor")
        if kind in spec
    }
    named = _named(path, factor) | {"base_rtt": nominal, SPREAD: True}
    return {**spec, "path": named, **flows}


def own_base_rtt(spec: dict[str, Any]) -> dict[str, str]:
    """Give what a manifest says of a run's base RTT, where each run has its own."""
    path = spec["path"]
    return {"base_rtt": path["base_rtt"]} if NOMINAL in path else {}


def position(base_seed: int, repeat: int) -> float:
    """Where a repeat is between the ends of the spread, 0 to 1."""
    digest = hashlib.sha256(f"gameway base_rtt {base_seed}".encode()).digest()
    first = int.from_bytes(digest[:6], "big") / 2**48
    return (first + repeat * GOLDEN) % 1.0


def _scaled(table: dict[str, Any], factor: float) -> dict[str, Any]:
    return {key: _times(value, factor) if key in DISTANT else value for key, value in table.items()}


def _named(table: dict[str, Any], factor: float) -> dict[str, Any]:
    """Scale times back, as numbers in nanoseconds that are alike in all repeats."""
    return {
        key: f"{_core.parse_duration(value) * factor:.{NOMINAL_DIGITS}g}"
        if key in DISTANT and value is not None
        else value
        for key, value in table.items()
    }


def _times(text: str, factor: float) -> str:
    """Multiply a time, in whole microseconds; at least one."""
    micros = round(_core.parse_duration(text) * factor / FINEST_NS)
    return str(_core.format_duration(max(micros, 1) * FINEST_NS))
