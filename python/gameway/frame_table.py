"""Frame tables (`.gwfr`): the frame sizes of a recording at one or several qualities.

The simulator's encoder model plays them back; the layout of the file is documented in
`crates/media/data/README.md`.
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

from gameway.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SCHEMA = pl.Schema(
    {"frame": pl.UInt32, "pts_ns": pl.Int64, "size_bytes": pl.UInt32, "key_frame": pl.Boolean}
)

NANOSECONDS_PER_SECOND = 1_000_000_000

# Time stamps in whole milliseconds (Matroska) hide the exact rate, so it is snapped to one in use.
_COMMON_FRAME_RATES = tuple(
    Fraction(rate, divisor)
    for rate, divisor in (
        (24000, 1001), (24, 1), (25, 1), (30000, 1001), (30, 1), (48, 1), (50, 1),
        (60000, 1001), (60, 1), (72, 1), (90, 1), (100, 1), (120, 1), (144, 1), (240, 1),
    )
)  # fmt: skip
_SNAP_RELATIVE = Fraction(2, 1000)

GWFR_MAGIC = b"GWFR"
GWFR_VERSION = 1
# magic, version, rungs, frame rate numerator, denominator, width, height, frames
_GWFR_HEADER = struct.Struct("<4sHHIIHHI")
_GWFR_RATES = struct.Struct("<QQ")
_GWFR_COUNT = struct.Struct("<I")
_KEY_FRAME_BIT = 1 << 31
_U16_MOST = (1 << 16) - 1
_U32_MOST = (1 << 32) - 1


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
    """Describe a `frame_sizes` table in one row: rate, spread and key frames."""
    if frames.is_empty():
        raise InputError("a summary needs at least one frame", field="frames", value=0)
    size = pl.col("size_bytes").cast(pl.Float64)
    key_size = size.filter(pl.col("key_frame"))
    seconds = _seconds(frames, _frame_rate_of(frames)) if frames.height > 1 else None
    produced = None if seconds is None else float(_total_bytes(frames) * 8 / seconds)
    return frames.select(
        frames=pl.len().cast(pl.UInt32),
        duration_s=pl.lit(None if seconds is None else float(seconds), pl.Float64),
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
) -> None:
    """Write a frame table that the simulator uses: one rung, or several of the same recording.

    Rungs are sorted by asked rate, which must differ. Without `frame_rate` it is read from the
    presentation times, which must then be evenly spaced. The file appears whole or not at all.
    """
    entries = [frames] if isinstance(frames, pl.DataFrame | Rung) else list(frames)
    rungs = [Rung(entry) if isinstance(entry, pl.DataFrame) else entry for entry in entries]
    _check_rungs(rungs, path)
    rate = frame_rate if frame_rate is not None else _even_frame_rate(rungs[0].frames, path)
    header = _packed_header(path, rungs, rate, width, height)
    rungs.sort(key=lambda rung: _asked_bits_per_s(rung, rate))
    for lower, higher in pairwise(rungs):
        if _asked_bits_per_s(lower, rate) == (same := _asked_bits_per_s(higher, rate)):
            problem = "two rungs of the same rate"
            raise InputError(problem, file=path, field="asked_bits_per_s", value=same)
    body = b"".join(_packed_rung(rung, rate) for rung in rungs)
    blob = json.dumps(dict(meta or {}), ensure_ascii=False, sort_keys=True).encode()
    _write_atomically(Path(path), header + body + _GWFR_COUNT.pack(len(blob)) + blob)


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
    if version != GWFR_VERSION:
        hint = f"this Gameway reads version {GWFR_VERSION}; make the table anew"
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


# Frame rates


def _frame_rate_of(frames: pl.DataFrame) -> Fraction:
    """Compute the mean frame rate, snapped to one in use where time stamps are coarse."""
    span_ns = _span_ns(frames)
    if span_ns <= 0:
        problem = "a frame rate needs two frames at different times"
        raise InputError(problem, field="pts_ns", value=span_ns, hint="give frame_rate")
    measured = Fraction((frames.height - 1) * NANOSECONDS_PER_SECOND, span_ns)
    nearest = min(_COMMON_FRAME_RATES, key=lambda rate: abs(rate - measured))
    if abs(nearest - measured) <= _SNAP_RELATIVE * nearest:
        return nearest
    return measured.limit_denominator(1001)


def _span_ns(frames: pl.DataFrame) -> int:
    times = frames["pts_ns"].sort()
    return int(times[-1]) - int(times[0])


def _total_bytes(frames: pl.DataFrame) -> int:
    return sum(frames["size_bytes"].to_list())


def _seconds(frames: pl.DataFrame, rate: Fraction) -> Fraction:
    return frames.height / rate


def _even_frame_rate(frames: pl.DataFrame, path: str | Path) -> Fraction:
    """Refuse uneven frames: a table plays at a constant rate, which would falsify them."""
    rate = _frame_rate_of(frames)
    longest_ns = max(frames["pts_ns"].sort().diff().drop_nulls().to_list())
    # One and a half intervals leaves room for time stamps that are rounded to milliseconds.
    if longest_ns * rate > Fraction(3, 2) * NANOSECONDS_PER_SECOND:
        problem = f"frames lie up to {longest_ns} ns apart at {float(rate):.2f} frames/s on average"
        hint = "encode at a constant rate, or give frame_rate to play them at an even one"
        raise InputError(problem, file=path, field="pts_ns", hint=hint)
    return rate


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
    path: str | Path, rungs: Sequence[Rung], rate: Fraction, width: int, height: int
) -> bytes:
    frames = rungs[0].frames.height
    fields = (len(rungs), rate.numerator, rate.denominator, width, height, frames)
    limits = (_U16_MOST, _U32_MOST, _U32_MOST, _U16_MOST, _U16_MOST, _U32_MOST)
    if any(not 0 < field <= most for field, most in zip(fields, limits, strict=True)):
        value = f"{len(rungs)} rungs, {rate} frames/s, {width}x{height}, {frames} frames"
        hint = f"rungs, width and height must be from 1 to {_U16_MOST}, the rate positive"
        raise InputError("does not fit", file=path, field="header", value=value, hint=hint)
    return _GWFR_HEADER.pack(GWFR_MAGIC, GWFR_VERSION, *fields)


def _produced_bits_per_s(rung: Rung, rate: Fraction) -> int:
    return round(_total_bytes(rung.frames) * 8 / _seconds(rung.frames, rate))


def _asked_bits_per_s(rung: Rung, rate: Fraction) -> int:
    return rung.asked_bits_per_s or _produced_bits_per_s(rung, rate)


def _packed_rung(rung: Rung, rate: Fraction) -> bytes:
    rates = (_asked_bits_per_s(rung, rate), _produced_bits_per_s(rung, rate))
    key_bit = pl.col("key_frame").cast(pl.UInt32) * _KEY_FRAME_BIT
    packed = rung.frames.select(pl.col("size_bytes").cast(pl.UInt32) + key_bit).to_series()
    forced = rung.forced_key_frame_bytes
    sizes = struct.pack(f"<{packed.len()}I", *packed.to_list())
    key_frames = _GWFR_COUNT.pack(len(forced)) + struct.pack(f"<{len(forced)}I", *forced)
    return _GWFR_RATES.pack(*rates) + sizes + key_frames


def _write_atomically(path: Path, content: bytes) -> None:
    partial = path.with_name(path.name + ".partial")
    try:
        partial.write_bytes(content)
        partial.replace(path)
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
    columns = {
        "frame": range(frames),
        "pts_ns": [frame_time_ns(number, rate) for number in range(frames)],
        "size_bytes": [size & ~_KEY_FRAME_BIT for size in packed],
        "key_frame": [bool(size & _KEY_FRAME_BIT) for size in packed],
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
