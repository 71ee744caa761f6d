"""Quantities as a run's `spec.json` writes them ("185 s", "25 Mb/s"), as plain numbers.

Reading a result folder needs no compiled part: a folder can be evaluated where nothing can run.
"""

from __future__ import annotations

import re
from functools import lru_cache

_NUMBER_AND_UNIT = re.compile(r"\s*([-+]?[0-9_.]+)\s*(\S.*)?$")
_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
_BITS_PER_SECOND = {
    "b/s": 1.0,
    "kb/s": 1e3,
    "Mb/s": 1e6,
    "Gb/s": 1e9,
    "bps": 1.0,
    "kbps": 1e3,
    "Mbps": 1e6,
    "Gbps": 1e9,
}
_BYTES = {
    "B": 1.0,
    "kB": 1e3,
    "KB": 1e3,
    "MB": 1e6,
    "GB": 1e9,
    "KiB": 1024.0,
    "MiB": 1024.0**2,
    "GiB": 1024.0**3,
}
_PLAIN = {"%": 0.01, "bdp": 1.0, "BDP": 1.0, "packets": 1.0, "packet": 1.0, "": 1.0}
_SCALES = _SECONDS | _BITS_PER_SECOND | _BYTES | _PLAIN


def split_quantity(text: str) -> tuple[float, str] | None:
    """The number and the unit of `text`, or None if it does not begin with a number."""
    match = _NUMBER_AND_UNIT.match(text)
    if match is None:
        return None
    try:
        return float(match[1].replace("_", "")), (match[2] or "").strip()
    except ValueError:
        return None


def seconds(text: str) -> float:
    """A duration in seconds."""
    return _in_base_unit(text, _SECONDS)


def megabits_per_second(text: str) -> float:
    """A rate in Mb/s."""
    return _in_base_unit(text, _BITS_PER_SECOND) / 1e6


@lru_cache(maxsize=4096)
def natural_key(text: str) -> tuple[int, float, str]:
    """Sort key that puts "0.5 bdp" before "2 bdp" and "900 kb/s" before "15 Mb/s"."""
    parts = split_quantity(text)
    if parts is None:
        return (1, 0.0, text)
    number, unit = parts
    return (0, number * _SCALES.get(unit, 1.0), text)


def _in_base_unit(text: str, units: dict[str, float]) -> float:
    parts = split_quantity(text)
    if parts is None or parts[1] not in units:
        raise ValueError(f"{text!r} is not a number with one of the units {', '.join(units)}")
    return parts[0] * units[parts[1]]
