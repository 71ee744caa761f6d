"""Frame tables (`.gwfr`): the frame sizes of a recording at one or several qualities.

The simulator's encoder model plays them back; the layout of the file is documented in
`crates/core/media/data/README.md`.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from gameway import durable
from gameway.errors import InputError
from gameway.video.places import NANOSECONDS_PER_SECOND, Places, places_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SCHEMA = pl.Schema(
    {"frame": pl.UInt32, "pts_ns": pl.Int64, "size_bytes": pl.UInt32, "key_frame": pl.Boolean}
)

GWFR_MAGIC = b"GWFR"
GWFR_VERSION = 1
GWFR_VERSION_WITH_EMPTY = 2
# magic, version, rungs, frame rate numerator, denominator, width, height, frames
_GWFR_HEADER = struct.Struct("<4sHHIIHHI")
_GWFR_RATES = struct.Struct("<QQ")
_GWFR_COUNT = struct.Struct("<I")
_KEY_FRAME_BIT = 1 << 31
_U16_MAX = (1 << 16) - 1
_U32_MAX = (1 << 32) - 1


@dataclass(frozen=True)
class Rung:
    """One quality of a frame table: the frames that the encoder made for one asked bitrate."""

    frames: pl.DataFrame
    """`frame_sizes` columns, one row for each frame."""
    asked_bits_per_s: int | None = None
    """What the encoder was asked for; unknown (None) is written as what it produced."""
    forced_key_frame_bytes: tuple[int, ...] = ()
    """Sizes of key frames that were forced in a separate pass; may be empty."""


@dataclass(frozen=True)
class FrameTable:
    """What a `.gwfr` file holds."""

    rungs: tuple[Rung, ...]
    frame_rate: Fraction
    width: int
    height: int
    meta: Mapping[str, Any]


def summarise(frames: pl.DataFrame) -> pl.DataFrame:
    """Describe a `frame_sizes` table in one row: times, rate, spread and key frames.

    `frame_rate` counts places for frames, of which `empty_places` have none: the recording dropped
    frames there, or its picture did not change. A table lasts until its last frame's place ends.
    """
    if frames.is_empty():
        raise InputError("a summary needs at least one frame", field="frames", value=0)
    size = pl.col("size_bytes").cast(pl.Float64)
    key_size = size.filter(pl.col("key_frame"))
    places = places_of(frames) if frames.height > 1 else None
    produced = None if places is None else float(_total_bytes(frames) * 8 / places.seconds)
    return frames.select(
        frames=pl.len().cast(pl.UInt32),
        frame_rate=pl.lit(None if places is None else float(places.rate), pl.Float64),
        empty_places=pl.lit(None if places is None else places.empty, pl.UInt32),
        duration_s=pl.lit(None if places is None else float(places.seconds), pl.Float64),
        produced_bits_per_s=pl.lit(produced, pl.Float64),
        mean_bytes=size.mean(),
        sd_bytes=size.std(),
        p50_bytes=size.quantile(0.5, "linear"),
        p95_bytes=size.quantile(0.95, "linear"),
        max_bytes=size.max(),
        p95_over_p50=size.quantile(0.95, "linear") / size.quantile(0.5, "linear"),
        key_frames=pl.col("key_frame").sum().cast(pl.UInt32),
        key_frame_mean_bytes=key_size.mean(),
    )


def write_gwfr(  # noqa: PLR0913 -- these are what the file's header states
    frames: pl.DataFrame | Rung | Sequence[pl.DataFrame | Rung],
    path: str | Path,
    *,
    width: int,
    height: int,
    frame_rate: Fraction | None = None,
    meta: Mapping[str, Any] | None = None,
) -> Places:
    """Write a frame table that the simulator uses: one rung, or several of the same recording.

    Rungs are sorted by asked rate, which must differ. Frames keep the times of the first rung, on
    an even grid (`gameway.video.places`, which tells what it became); its rate is `frame_rate`, or
    is read from the times. The file appears whole or not at all.
    """
    entries = [frames] if isinstance(frames, pl.DataFrame | Rung) else list(frames)
    rungs = [Rung(entry) if isinstance(entry, pl.DataFrame) else entry for entry in entries]
    _check_rungs(rungs, path)
    places = places_of(rungs[0].frames, frame_rate, path)
    header = _packed_header(path, rungs, places, width, height)
    rungs.sort(key=lambda rung: _asked_bits_per_s(rung, places))
    for lower, higher in pairwise(rungs):
        if _asked_bits_per_s(lower, places) == (same := _asked_bits_per_s(higher, places)):
            problem = "two rungs of the same rate"
            raise InputError(problem, file=path, field="asked_bits_per_s", value=same)
    body = b"".join(_packed_rung(rung, places) for rung in rungs)
    blob = json.dumps(dict(meta or {}), ensure_ascii=False, sort_keys=True).encode()
    _write_atomically(Path(path), header + body + _GWFR_COUNT.pack(len(blob)) + blob)
    return places


def read_gwfr(path: str | Path) -> FrameTable:
    """Read a frame table back. Raises `InputError` if it is damaged or of another version."""
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path) from error
    reader = _Reader(path, content)
    magic, version, count, numerator, denominator, width, height, frames = reader.unpack(
        _GWFR_HEADER, "header"
    )
    if magic != GWFR_MAGIC:
        problem = f"not a frame table, which starts with {GWFR_MAGIC!r}"
        raise InputError(problem, file=path, field="magic", value=magic)
    if version not in (GWFR_VERSION, GWFR_VERSION_WITH_EMPTY):
        known = f"{GWFR_VERSION} and {GWFR_VERSION_WITH_EMPTY}"
        hint = f"this Gameway reads versions {known}; make the table anew"
        raise InputError(file=path, field="version", value=version, hint=hint)
    if not (numerator and denominator and count and frames):
        value = f"{numerator}/{denominator}, {count} rungs, {frames} frames"
        problem = "none of these may be zero"
        raise InputError(problem, file=path, field="header", value=value)
    rate = Fraction(numerator, denominator)
    rungs = tuple(_read_rung(reader, frames, rate) for _ in range(count))
    meta = _read_meta(reader)
    return FrameTable(rungs, rate, width, height, meta)


def frame_time_ns(number: int, rate: Fraction) -> int:
    """When a frame is shown that is the `number`th from zero at an even `rate`."""
    return int(number * NANOSECONDS_PER_SECOND / rate)


def _total_bytes(frames: pl.DataFrame) -> int:
    return sum(frames["size_bytes"].to_list())


# Frame tables


def _check_rungs(rungs: Sequence[Rung], path: str | Path) -> None:
    if not rungs:
        raise InputError(file=path, field="rungs", value=0, hint="give at least one rung")
    expected = rungs[0].frames.height
    for number, rung in enumerate(rungs):
        field = f"rungs[{number}]"
        if missing := {"size_bytes", "key_frame"} - set(rung.frames.columns):
            problem = f"lacks {sorted(missing)}"
            hint = "give a table as frame_sizes makes it"
            raise InputError(problem, file=path, field=field, hint=hint)
        if rung.frames.height != expected or expected == 0:
            hint = f"every rung must hold the same frames: rung 0 has {expected}"
            raise InputError(file=path, field=field, value=rung.frames.height, hint=hint)
        sizes = [*rung.frames["size_bytes"].to_list(), *rung.forced_key_frame_bytes]
        if bad := [size for size in sizes if size is None or not 0 < size < _KEY_FRAME_BIT]:
            hint = f"sizes must be from 1 to {_KEY_FRAME_BIT - 1} bytes"
            raise InputError(file=path, field=f"{field}.size_bytes", value=bad[0], hint=hint)


def _packed_header(
    path: str | Path, rungs: Sequence[Rung], places: Places, width: int, height: int
) -> bytes:
    rate, frames = places.rate, places.count
    fields = (len(rungs), rate.numerator, rate.denominator, width, height, frames)
    limits = (_U16_MAX, _U32_MAX, _U32_MAX, _U16_MAX, _U16_MAX, _U32_MAX)
    if any(not 0 < field <= most for field, most in zip(fields, limits, strict=True)):
        value = f"{len(rungs)} rungs, {rate} frames/s, {width}x{height}, {frames} frames"
        hint = f"rungs, width and height must be from 1 to {_U16_MAX}, the rate positive"
        raise InputError("does not fit", file=path, field="header", value=value, hint=hint)
    version = GWFR_VERSION_WITH_EMPTY if places.empty else GWFR_VERSION
    return _GWFR_HEADER.pack(GWFR_MAGIC, version, *fields)


def _produced_bits_per_s(rung: Rung, places: Places) -> int:
    return round(_total_bytes(rung.frames) * 8 / places.seconds)


def _asked_bits_per_s(rung: Rung, places: Places) -> int:
    return rung.asked_bits_per_s or _produced_bits_per_s(rung, places)


def _packed_rung(rung: Rung, places: Places) -> bytes:
    rates = (_asked_bits_per_s(rung, places), _produced_bits_per_s(rung, places))
    key_bit = pl.col("key_frame").cast(pl.UInt32) * _KEY_FRAME_BIT
    packed = rung.frames.select(pl.col("size_bytes").cast(pl.UInt32) + key_bit).to_series()
    forced = rung.forced_key_frame_bytes
    at = dict(zip(places.of_frames, packed.to_list(), strict=True))
    sizes = struct.pack(f"<{places.count}I", *(at.get(place, 0) for place in range(places.count)))
    key_frames = _GWFR_COUNT.pack(len(forced)) + struct.pack(f"<{len(forced)}I", *forced)
    return _GWFR_RATES.pack(*rates) + sizes + key_frames


def _write_atomically(path: Path, content: bytes) -> None:
    try:
        durable.write(path, content)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=path) from error


@dataclass
class _Reader:
    """Reads a frame table front to back and says what was missing where it ends too early."""

    path: str | Path
    content: bytes
    offset: int = 0

    def take(self, size_bytes: int, field: str) -> bytes:
        if self.offset + size_bytes > len(self.content):
            problem = f"cut off: {size_bytes} bytes needed at byte {self.offset}"
            raise InputError(problem, file=self.path, field=field, hint="copy or make it again")
        taken = self.content[self.offset : self.offset + size_bytes]
        self.offset += size_bytes
        return taken

    def unpack(self, layout: struct.Struct, field: str) -> tuple[Any, ...]:
        return layout.unpack(self.take(layout.size, field))

    def numbers(self, count: int, field: str) -> tuple[int, ...]:
        return struct.unpack(f"<{count}I", self.take(4 * count, field))


def _read_rung(reader: _Reader, frames: int, rate: Fraction) -> Rung:
    asked, _produced = reader.unpack(_GWFR_RATES, "rates")
    packed = reader.numbers(frames, "sizes")
    (count,) = reader.unpack(_GWFR_COUNT, "forced key frames")
    forced = reader.numbers(count, "forced key frames")
    present = [(place, size) for place, size in enumerate(packed) if size]
    columns = {
        "frame": range(len(present)),
        "pts_ns": [frame_time_ns(place, rate) for place, _ in present],
        "size_bytes": [size & ~_KEY_FRAME_BIT for _, size in present],
        "key_frame": [bool(size & _KEY_FRAME_BIT) for _, size in present],
    }
    return Rung(pl.DataFrame(columns, schema=SCHEMA), asked, forced)


def _read_meta(reader: _Reader) -> Mapping[str, Any]:
    (size_bytes,) = reader.unpack(_GWFR_COUNT, "meta")
    blob = reader.take(size_bytes, "meta")
    if reader.offset != len(reader.content):
        problem = f"{len(reader.content) - reader.offset} bytes after the end of the table"
        raise InputError(problem, file=reader.path, hint="copy or make it again")
    try:
        meta = json.loads(blob)
    except ValueError as error:
        raise InputError(f"not JSON: {error}", file=reader.path, field="meta") from error
    if isinstance(meta, dict):
        return meta
    raise InputError("must be a JSON object", file=reader.path, field="meta", value=meta)
