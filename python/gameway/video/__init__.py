"""Frame sizes of a user's own video: H.264, H.265, AV1, VP8, VP9 or MPEG-2.

`frame_sizes` reads the compressed size of every frame of a file; `frame_table_from_videos` writes
what it read as a frame table that a stream can be simulated with (`gameway.video.frame_table`).

Reading video needs PyAV, which is an optional extra (`pip install "gameway[video]"`) because its
wheels bundle FFmpeg with GPL parts.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from gameway.catalogue import key_schema
from gameway.errors import GamewayError, InputError
from gameway.video.frame_table import SCHEMA, frame_time_ns, write_gwfr
from gameway.video.places import NANOSECONDS_PER_SECOND, Places

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from av.container import InputContainer
    from av.packet import Packet
    from av.video.stream import VideoStream

    AnyPacket = Packet[Any]
    _Row = tuple[int, int, int, bool]

_WANTED = "give a whole H.264, H.265, AV1, VP8, VP9 or MPEG-2 video"
_CODECS = ("h264", "hevc", "av1", "vp8", "vp9", "mpeg2video")
# Formats without a container: FFmpeg invents their time stamps (25 frames/s) and misses a cut end.
_RAW_FORMATS = ("h264", "hevc", "obu", "mpegvideo")
_VP8_SHOWN = 1 << 4
_MICROSECONDS_PER_SECOND = 1_000_000


@dataclass(frozen=True)
class _Video:
    frames: pl.DataFrame
    width: int
    height: int


def frame_sizes(path: str | Path, *, frame_rate: Fraction | None = None) -> pl.DataFrame:
    """Read the compressed size of every frame of a video, in coding order.

    Columns: `frame` (position in coding order, which is the order in which a stream sends),
    `pts_ns` (presentation time), `size_bytes`, `key_frame`. A size is that of the container's
    packet: what `ffprobe -show_packets` prints. A frame of VP8 that is never shown is sent with
    the one that follows, and counts as part of it.

    A raw stream (`.h264`, `.h265`, `.obu`, `.m2v`) carries no time stamps; its frames are spaced by
    `frame_rate` or, without that, by the rate in the stream's own header. It is decoded as well,
    since nothing but decoding shows that a raw stream was cut off. `frame_rate` changes nothing
    for a container, whose time stamps are kept.

    Raises `InputError` if this is not a whole video of one of these codecs. Program and transport
    streams (`.mpg`, `.ts`) state no length: where one of them was cut off cannot be seen.
    """
    return _read_video(Path(path), frame_rate).frames


def frame_table_from_videos(
    videos: Sequence[str | Path],
    path: str | Path,
    *,
    frame_rate: Fraction | None = None,
    meta: Mapping[str, Any] | None = None,
) -> Places:
    """Write a frame table from a user's own recording, encoded at one or several bitrates.

    Every file is one rung; all must show the same frames, so they must agree in count and size.
    A video whose frames are not evenly spaced keeps their times: see `gameway.video.places`, which
    is what this gives back.
    """
    if not videos:
        raise InputError(field="videos", value=[], hint="give at least one video file")
    read = [_read_video(Path(video), frame_rate) for video in videos]
    for file, video in zip(videos, read, strict=True):
        if (video.width, video.height) != (read[0].width, read[0].height):
            raise InputError(
                file=file,
                field="resolution",
                value=f"{video.width}x{video.height}",
                hint=f"encode it at {read[0].width}x{read[0].height} like {videos[0]}",
            )
    sources = {"sources": [Path(video).name for video in videos]}
    return write_gwfr(
        [video.frames for video in read],
        path,
        width=read[0].width,
        height=read[0].height,
        frame_rate=frame_rate,
        meta=sources | dict(meta or {}),
    )


def parse_frame_rate(text: str) -> Fraction:
    """Read a frame rate as people write it: 60, 59.94 or 60000/1001."""
    try:
        rate = Fraction(text)
    except (ValueError, ZeroDivisionError):
        rate = Fraction(0)
    # As of a stream.
    highest = key_schema("stream.frame_rate")["maximum"]
    if not 0 < rate <= highest:
        hint = f"write frames per second, at most {highest}: 60, or 60000/1001"
        raise InputError("is no frame rate", field="--frame-rate", value=text, hint=hint)
    return rate


def _read_video(path: Path, frame_rate: Fraction | None) -> _Video:
    if frame_rate is not None and frame_rate <= 0:
        raise InputError(field="frame_rate", value=str(frame_rate), hint="give a rate above zero")
    with _opened(path) as container:
        stream = _only_video_stream(path, container)
        raw = container.format.name in _RAW_FORMATS
        if raw:
            rate = frame_rate or _stated_frame_rate(path, stream)
            packets = _decoded_packets(path, container, stream)
            rows = [_row(n, frame_time_ns(n, rate), packet) for n, packet in packets]
        else:
            rows = _shown_rows(path, stream, _whole_packets(path, container, stream))
        size = (stream.codec_context.width, stream.codec_context.height)
    if not rows:
        raise InputError("the video stream is empty", file=path, field="frames", value=0)
    return _Video(pl.DataFrame(rows, schema=SCHEMA, orient="row"), *size)


@contextmanager
def _opened(path: Path) -> Iterator[InputContainer]:
    av = _import_av()
    try:
        with av.open(str(path)) as container:
            yield container
    except av.error.FFmpegError as error:
        problem = f"cannot be read as video: {error.strerror}"
        raise InputError(problem, file=path, hint=_WANTED) from error


def _import_av() -> Any:
    try:
        import av  # noqa: PLC0415 -- an optional extra
    except ImportError as error:
        message = 'reading video needs PyAV: pip install "gameway[video]"'
        raise GamewayError(message) from error
    # Damage is reported by our own errors; FFmpeg's lines on standard error would only repeat it.
    av.logging.set_level(None)
    return av


def _only_video_stream(path: Path, container: InputContainer) -> VideoStream:
    if not container.streams.video:
        kinds = sorted({stream.type for stream in container.streams})
        problem = "holds no video stream"
        raise InputError(problem, file=path, field="streams", value=kinds, hint=_WANTED)
    stream = container.streams.video[0]
    # A stream without a decoder in this build of FFmpeg has no codec context at all.
    codec = getattr(stream.codec_context, "codec", None)
    name = "unknown" if codec is None else codec.canonical_name
    if name not in _CODECS:
        problem = "cannot be read frame by frame here"
        raise InputError(problem, file=path, field="codec", value=name, hint=_WANTED)
    return stream


def _stated_frame_rate(path: Path, stream: VideoStream) -> Fraction:
    """Take the rate from a raw stream's header: FFmpeg's others fall back to an invented 25."""
    rate = stream.codec_context.framerate
    if not rate:
        hint = "give frame_rate, say Fraction(60), or --frame-rate 60"
        problem = "a raw stream that states no frame rate"
        raise InputError(problem, file=path, field="frame_rate", hint=hint)
    return Fraction(rate)


def _shown_rows(
    path: Path, stream: VideoStream, packets: Iterator[tuple[int, AnyPacket]]
) -> list[_Row]:
    """Give the rows of frames that are shown; what is hidden counts with the frame behind it."""
    vp8 = stream.codec_context.codec.canonical_name == "vp8"
    rows: list[_Row] = []
    hidden_bytes = 0
    for _, packet in packets:
        # RFC 6386, section 9.1: bit 4 of the first byte. VP9 and AV1 pack both into one packet.
        if vp8 and not bytes(packet)[0] & _VP8_SHOWN:
            hidden_bytes += packet.size
            continue
        number, pts_ns, size_bytes, key_frame = _row(
            len(rows), _packet_time_ns(path, packet), packet
        )
        rows.append((number, pts_ns, size_bytes + hidden_bytes, key_frame))
        hidden_bytes = 0
    return rows


def _whole_packets(
    path: Path, container: InputContainer, stream: VideoStream
) -> Iterator[tuple[int, AnyPacket]]:
    """Yield every packet of the video; refuse a file that ends before its header says so."""
    count = 0
    end_us = 0
    # Other streams count too: sound often lasts longer than the picture.
    for packet in container.demux():
        if packet.size == 0:
            continue
        if packet.is_corrupt:
            raise _truncated(path, f"packet {count} is incomplete")
        end_us = max(end_us, _packet_end_us(packet))
        if packet.stream_index == stream.index:
            yield count, packet
            count += 1
    _check_end(path, container, stream, count, end_us)


def _check_end(
    path: Path, container: InputContainer, stream: VideoStream, count: int, end_us: int
) -> None:
    """Compare what was read with what the file's own header announces, as exactly as it can."""
    if "mp4" in container.format.name:
        if stream.frames > count:
            raise _truncated(path, f"{count} of {stream.frames} frames")
    elif "matroska" in container.format.name:
        missing_bytes = _matroska_bytes(path) - path.stat().st_size
        if missing_bytes > 0:
            raise _truncated(path, f"the last {missing_bytes} bytes are absent")
    else:
        missing_us = (container.duration or 0) - end_us
        if missing_us > _tolerance_us(stream):
            seconds = missing_us / _MICROSECONDS_PER_SECOND
            raise _truncated(path, f"the last {seconds:.2f} s are absent")


def _matroska_bytes(path: Path) -> int:
    """Where a Matroska file says that it ends; 0 where a live recording left that open.

    Both top-level elements, header and segment, state their length (RFC 8794, section 6).
    """
    with path.open("rb") as file:
        for _ in range(2):
            identifier = file.read(1)
            file.read(_vint_bytes(identifier) - 1)
            first = file.read(1)
            width = _vint_bytes(first)
            rest = file.read(width - 1)
            marker = 1 << (7 * width)
            size_bytes = int.from_bytes(first + rest, "big") & (marker - 1)
            if size_bytes == marker - 1:
                return 0
            end = file.seek(size_bytes, os.SEEK_CUR)
    return end


def _vint_bytes(first: bytes) -> int:
    """How long a variable-length number is: leading zero bits of its first byte, plus one."""
    return 9 - first[0].bit_length() if first and first[0] else 1


def _packet_end_us(packet: AnyPacket) -> int:
    time = packet.pts if packet.pts is not None else packet.dts
    if time is None or packet.time_base is None:
        return 0
    end = (time + (packet.duration or 0)) * packet.time_base
    return int(end * _MICROSECONDS_PER_SECOND)


def _tolerance_us(stream: VideoStream) -> int:
    """Muxers round the length of the last frame: two frames, and never less than 50 ms."""
    rate = stream.average_rate or Fraction(25)
    return max(50_000, int(2 * _MICROSECONDS_PER_SECOND / rate))


def _decoded_packets(
    path: Path, container: InputContainer, stream: VideoStream
) -> Iterator[tuple[int, AnyPacket]]:
    av = _import_av()
    stream.codec_context.options = {"err_detect": "explode"}
    stream.thread_type = "SLICE"
    count = 0
    pictures = 0
    for packet in container.demux(stream):
        try:
            pictures += len(packet.decode())
        except av.error.FFmpegError as error:
            raise _truncated(path, f"frame {count} cannot be decoded") from error
        if packet.size:
            yield count, packet
            count += 1
    # FFmpeg drops an incomplete AV1 unit silently and leaves its delimiter, which holds no picture.
    if container.format.name == "obu" and pictures < count:
        raise _truncated(path, f"{count} units hold {pictures} pictures")


def _truncated(path: Path, found: str) -> InputError:
    problem = f"cut off or damaged: {found}"
    return InputError(problem, file=path, hint="copy or record it again")


def _row(number: int, pts_ns: int, packet: AnyPacket) -> _Row:
    return number, pts_ns, packet.size, packet.is_keyframe


def _packet_time_ns(path: Path, packet: AnyPacket) -> int:
    if packet.pts is None or packet.time_base is None:
        hint = "remux the file (ffmpeg -i IN -c copy OUT.mkv)"
        raise InputError("a frame without a time stamp", file=path, field="pts", hint=hint)
    return int(packet.pts * packet.time_base * NANOSECONDS_PER_SECOND)
