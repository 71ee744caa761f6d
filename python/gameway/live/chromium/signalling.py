"""What is changed in the descriptions that pages exchange (SDP, RFC 8866; candidates, RFC 8839).

The receiving page offers. Its candidates are left out, so that the sending page checks nothing by
itself and answers where it is asked; of the sending page's candidates that of the stream's address
is left, over UDP. So all packets take the path that the link has for this stream: there are no
names by mDNS, no TCP, and no address of another flow.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gameway.errors import GamewayError

if TYPE_CHECKING:
    from collections.abc import Callable

CANDIDATE = re.compile(
    r"a=candidate:\S+ 1 (?P<transport>\S+) \d+ (?P<address>\S+) \d+ typ host", re.IGNORECASE
)
VIDEO = re.compile(r"^m=video \d+ \S+ (\d+)", re.MULTILINE)
LINE = "\r\n"


def without_candidates(description: str) -> str:
    """Give a description that tells of no address."""
    return _kept(description, lambda _: False)


def with_address(description: str, address: str) -> str:
    """Give a description with the candidate of one address over UDP; GamewayError without it."""

    def own(line: str) -> bool:
        found = CANDIDATE.match(line)
        return (
            found is not None
            and found["address"] == address
            and found["transport"].lower() == "udp"
        )

    kept = _kept(description, own)
    if "a=candidate:" not in kept:
        raise GamewayError(f"the sending browser offers no way from {address}")
    return kept


def bounded(description: str, rates: dict[str, int]) -> str:
    """Give a description that bounds the sender's estimate: `min`, `start` and `max` in bit/s.

    Chromium takes these from the other end's parameters of the codec, in kb/s.
    """
    found = VIDEO.search(description)
    if found is None:
        raise GamewayError("the receiving browser's offer has no video")
    bounds = ";".join(f"x-google-{name}-bitrate={rate // 1000}" for name, rate in rates.items())
    payload = found[1]
    own = re.compile(rf"^(a=fmtp:{payload} [^\r\n]*)", re.MULTILINE)
    if own.search(description):
        return own.sub(rf"\1;{bounds}", description, count=1)
    map_line = re.compile(rf"^(a=rtpmap:{payload} [^\r\n]*)", re.MULTILINE)
    return map_line.sub(rf"\1{LINE}a=fmtp:{payload} {bounds}", description, count=1)


def _kept(description: str, is_own: Callable[[str], bool]) -> str:
    lines = description.split(LINE)
    return LINE.join(line for line in lines if not line.startswith("a=candidate:") or is_own(line))
