"""The levels of a real video, from its manifest: a DASH MPD or an HLS multivariant playlist.

Sources: ISO/IEC 23009-1, 5.3 (Period, AdaptationSet, Representation; `bandwidth` in bit/s); RFC
8216, 4.3.4.2 (EXT-X-STREAM-INF).

Of an MPD these are the representations of the first adaptation set with pictures in the first
period, as a player takes one set. Of a playlist these are all variants with a RESOLUTION, at their
AVERAGE-BANDWIDTH where it is given, because segments are as large as their level's mean, and else
at their BANDWIDTH.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Levels = list[list[str]]
"""Size and bitrate of each level: ["640x360", "3000000 b/s"]."""

MAX_BYTES = 16 << 20
PLAYLIST, VARIANT = "#EXTM3U", "#EXT-X-STREAM-INF:"
ATTRIBUTE = re.compile(r'([A-Z0-9-]+)=("[^"]*"|[^,]*)')
RESOLUTION = re.compile(r"[1-9][0-9]{0,4}x[1-9][0-9]{0,4}")


class ManifestError(ValueError):
    """Why a file is no manifest of a video."""


def levels_in(file: Path) -> Levels:
    """Read the levels of a manifest, the lowest bitrate first; ManifestError if it has none."""
    if file.stat().st_size > MAX_BYTES:
        raise ManifestError("is larger than 16 MiB")
    text = file.read_bytes().decode("utf-8-sig", errors="replace").lstrip()
    found = sorted(set(_of_playlist(text) if text.startswith(PLAYLIST) else _of_mpd(text)))
    if not found:
        raise ManifestError("has no level with a size and a bitrate")
    return [[size, f"{bitrate} b/s"] for bitrate, size in found]


def _of_mpd(text: str) -> Iterator[tuple[int, str]]:
    """Bitrate and size of each representation."""
    # A manifest needs no entities, and those of a hostile file grow without end.
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise ManifestError("declares a document type, which no manifest needs")
    try:
        root = ET.fromstring(text)  # noqa: S314 (a document type is refused above)
    except ET.ParseError as error:
        raise ManifestError(f"is neither an MPD nor a playlist: {error}") from None
    if _tag(root) != "MPD":
        raise ManifestError(f"is no MPD but <{_tag(root)}>")
    period = next((child for child in root if _tag(child) == "Period"), ET.Element(""))
    for adaptation in period:
        levels = [] if _tag(adaptation) != "AdaptationSet" else list(_representations(adaptation))
        if levels:
            yield from levels
            return


def _representations(adaptation: ET.Element) -> Iterator[tuple[int, str]]:
    for one in adaptation:
        if _tag(one) != "Representation":
            continue
        # What a representation does not say, its adaptation set says for all.
        said = {**adaptation.attrib, **one.attrib}
        size, bitrate = f"{said.get('width')}x{said.get('height')}", str(said.get("bandwidth", ""))
        if RESOLUTION.fullmatch(size) and bitrate.isdigit():
            yield int(bitrate), size


def _of_playlist(text: str) -> Iterator[tuple[int, str]]:
    """Bitrate and size of each variant."""
    for line in text.splitlines():
        if not line.startswith(VARIANT):
            continue
        said: dict[str, str] = dict(ATTRIBUTE.findall(line.removeprefix(VARIANT)))
        bitrate = said.get("AVERAGE-BANDWIDTH", said.get("BANDWIDTH", ""))
        if RESOLUTION.fullmatch(said.get("RESOLUTION", "")) and bitrate.isdigit():
            yield int(bitrate), said["RESOLUTION"]


def _tag(element: ET.Element) -> str:
    """A name without its namespace."""
    return str(element.tag).rsplit("}", 1)[-1]
