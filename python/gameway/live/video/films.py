"""Real videos to be served: encoded once with ffmpeg, cut into segments, and kept in a cache.

Of its content a minute, or less where that is said, is encoded for each level of a ladder (x264,
key frames at the segments' borders only). It is repeated, without being encoded again, to the
length that a run needs, and cut into CMAF segments with a manifest (ISO/IEC 23009-1). Each level is
whole in the cache or not there, so an interrupted call goes on where it was.

    CACHE/films/game-KEY.mkv
    CACHE/films/KEY/level-1.mp4 ...
    CACHE/films/KEY/240-endless/manifest.mpd, init-0.mp4, 0/00001.m4s ...
"""

from __future__ import annotations

import hashlib
import json
import math
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET  # of a file that ffmpeg wrote

from gameway import _core, cached, durable
from gameway.errors import GamewayError
from gameway.experiment.keys.ladders import levels_of
from gameway.live.video.content import FRAME_RATE, GENERATED, SCENES, Content

if TYPE_CHECKING:
    from collections.abc import Callable

CONTENT_S = 60
"""What is encoded where nothing else is said; longer videos repeat it."""
MAX_BUFFER_S = 60
"""The furthest that a player looks ahead: dash.js at the highest level of a long video."""
STEP_S = 60
"""Lengths are multiples of this, so that similar runs share a film."""
ENDLESS_S = 3600
"""What a manifest says of a video without an end: long, as the simulator's is."""
MANIFEST = "manifest.mpd"
NAMESPACE = "urn:mpeg:dash:schema:mpd:2011"
ENCODING = ("-c:v", "libx264", "-preset", "veryfast", "-pix_fmt", "yuv420p", "-bf", "0",
            "-sc_threshold", "0", "-an")  # fmt: skip
PEAK = 1.2
"""Greatest rate of a level, of its mean, but for what fits into a buffer of a quarter segment."""


@dataclass(frozen=True)
class Film:
    """What a competitor of kind "dash" plays."""

    levels: tuple[tuple[int, int, int], ...]
    """Width, height, bit/s; the lowest first."""
    segment_ns: int
    length_s: int
    """Of what there is to fetch."""
    endless: bool
    content: Content
    content_s: int = CONTENT_S

    @classmethod
    def of(
        cls,
        competitor: dict[str, Any],
        open_ns: int,
        content: Content,
        content_s: int = CONTENT_S,
    ) -> Film:
        """What a competitor needs that is open for so long."""
        segment_ns = _core.parse_duration(competitor["segment_length"])
        length = competitor.get("video_length")
        if length is None:
            ahead_s = MAX_BUFFER_S + 2 * segment_ns / 1e9
            wanted_s = STEP_S * math.ceil((open_ns / 1e9 + ahead_s) / STEP_S)
        else:
            wanted_s = math.ceil(_core.parse_duration(length) / 1e9)
        segments = math.ceil(wanted_s * 1e9 / segment_ns)
        length_s = math.ceil(segments * segment_ns / 1e9)
        levels = levels_of(competitor)
        return cls(levels, segment_ns, length_s, length is None, content, content_s)

    @property
    def key(self) -> str:
        """What its encoded content is called: the same words, the same pictures."""
        fact = self.content.fact()
        shows = GENERATED if fact == SCENES else fact
        said = json.dumps([self.levels, self.segment_ns, shows, self.content_s, ENCODING, PEAK])
        return hashlib.sha256(said.encode()).hexdigest()[:16]

    @property
    def name(self) -> str:
        """What its segments are called."""
        return f"{self.length_s}-endless" if self.endless else f"{self.length_s}"

    @property
    def folder(self) -> Path:
        """Where its segments are."""
        return cache() / self.key / self.name

    def describe(self) -> str:
        """Say what it is."""
        heights = ", ".join(f"{height}p" for _, height, _ in self.levels)
        return f"{self.length_s} s at {heights}"


def cache() -> Path:
    """Where films are kept."""
    return cached.folder("films")


def make(film: Film, tell: Callable[[str], None]) -> Path:
    """Give the folder of a film's segments; encode and cut what of it is missing."""
    if is_kept(film):
        return film.folder
    own = cache() / film.key
    own.mkdir(parents=True, exist_ok=True)
    for number, level in enumerate(film.levels, start=1):
        target = own / f"level-{number}.mp4"
        if not target.is_file():
            tell(f"encoding level {number} of {len(film.levels)} of a video, once: {target}")
            _encode(film, level, target, film.content.words(film.levels[-1][:2], cache(), tell))
    tell(f"cutting a video, once: {film.describe()}: {film.folder}")
    with tempfile.TemporaryDirectory(dir=own, prefix="unfinished-") as made:
        whole = Path(made) / film.folder.name
        whole.mkdir()
        _cut(film, own, whole)
        _correct(film, whole / MANIFEST)
        shutil.rmtree(film.folder, ignore_errors=True)
        durable.rename(whole, film.folder)
    return film.folder


def is_kept(film: Film) -> bool:
    """Whether a film was made before."""
    return (film.folder / MANIFEST).is_file()


def kept(film: Film) -> Path:
    """Give the folder of a film that was made before; GamewayError if it is not there."""
    if not is_kept(film):
        raise GamewayError(f"{film.folder}: there is no video any more; the same command makes it")
    return film.folder


def sizes(film: Film) -> list[list[int]]:
    """Bytes of each segment of each level, the lowest level first."""
    folders = [film.folder / str(index) for index in range(len(film.levels))]
    return [[file.stat().st_size for file in sorted(folder.iterdir())] for folder in folders]


def _encode(film: Film, level: tuple[int, int, int], target: Path, content: list[str]) -> None:
    width, height, rate = level
    segment_s = film.segment_ns / 1e9
    frames = round(segment_s * FRAME_RATE)
    seconds = math.ceil(film.content_s / segment_s) * segment_s
    most = round(PEAK * rate)
    part = target.with_suffix(".part.mp4")
    _ffmpeg(
        *content, "-t", str(seconds), "-vf", f"fps={FRAME_RATE},scale={width}:{height}",
        *ENCODING, "-b:v", str(rate), "-maxrate", str(most),
        "-bufsize", str(round(most * segment_s / 4)), "-g", str(frames), "-keyint_min", str(frames),
        "-y", str(part),
    )  # fmt: skip
    durable.rename(part, target)


def _cut(film: Film, encoded: Path, target: Path) -> None:
    inputs: list[str] = []
    maps: list[str] = []
    for index in range(len(film.levels)):
        (target / str(index)).mkdir()
        inputs += ["-stream_loop", "-1", "-i", str(encoded / f"level-{index + 1}.mp4")]
        maps += ["-map", f"{index}:v:0"]
    segments = math.ceil(film.length_s * 1e9 / film.segment_ns)
    seconds = segments * film.segment_ns / 1e9
    _ffmpeg(
        *inputs, *maps, "-c", "copy", "-t", str(seconds), "-f", "dash",
        "-dash_segment_type", "mp4", "-seg_duration", str(film.segment_ns / 1e9),
        "-use_template", "1", "-use_timeline", "0", "-adaptation_sets", "id=0,streams=v",
        "-init_seg_name", "init-$RepresentationID$.mp4",
        "-media_seg_name", "$RepresentationID$/$Number%05d$.m4s", str(target / MANIFEST),
    )  # fmt: skip


def _correct(film: Film, manifest: Path) -> None:
    """Have a manifest say what the ladder says: its bitrates, and a video without an end.

    Neither is what ffmpeg knows: a player that reads the encoder's own mean would play another
    ladder than the simulated one.
    """
    ET.register_namespace("", NAMESPACE)
    tree = ET.parse(manifest)  # noqa: S314 (ffmpeg wrote it)
    root = tree.getroot()
    if film.endless:
        root.set("mediaPresentationDuration", f"PT{ENDLESS_S}S")
        for period in root.iter(f"{{{NAMESPACE}}}Period"):
            period.attrib.pop("duration", None)
    for representation in root.iter(f"{{{NAMESPACE}}}Representation"):
        level = film.levels[int(representation.get("id", ""))]
        representation.set("bandwidth", str(level[2]))
    tree.write(manifest, encoding="utf-8", xml_declaration=True)


def _ffmpeg(*arguments: str) -> None:
    command = ["ffmpeg", "-nostdin", "-v", "error", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode != 0:
        raise GamewayError(f"ffmpeg made no video: {done.stderr.strip()[-500:]}")
