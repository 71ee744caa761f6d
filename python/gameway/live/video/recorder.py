"""Plays recorded Doom demos and captures them losslessly, one picture for each of a game's.

The game runs on a slowed clock (libfaketime) while the screen is grabbed at the same fraction of
the frame rate. A machine that cannot draw, grab and compress 60 pictures in a second has twice the
time at `clock_speed` 1/2, and the recording still holds one picture for each sixtieth of a *game*
second. The game has a home of its own that is empty, and a screen of its own.
"""

from __future__ import annotations

import shutil
import signal
import struct
import subprocess
import tempfile
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

from gameway.errors import GamewayError, InputError
from gameway.live import screens
from gameway.live.processes import Supervisor

if TYPE_CHECKING:
    from gameway.live.processes import Process

GAME = Path("/usr/games/crispy-doom")
LIBRARIES = Path("/usr/lib")
SLOW_CLOCK = "faketime/libfaketimeMT.so.1"
DOOM_TICS_PER_SECOND = 35
# version, skill, episode, map, mode, respawn, fast, nomonsters, point of view, four player flags.
DEMO_HEADER_BYTES = 13
DEMO_BYTES_PER_TIC = 4
DEMO_END_MARKER_BYTES = 1

# The screen melts into the level during the first second; the second one is slack for start-up.
SKIP_AFTER_START_SECONDS = 2
# Recorded demos end at the exit switch or at the player's death: neither is gameplay.
SKIP_BEFORE_END_SECONDS = 4
# Beyond the time that a demo plays: for starting the game and reading its data on a busy machine.
ENDS_WITHIN_SECONDS = 60.0

CRISPY_SETTINGS = {
    "show_endoom": "0",
    "fullscreen": "0",
    "aspect_ratio_correct": "1",
    "integer_scaling": "0",
    "force_software_renderer": "1",
    # Draw as often as possible, interpolating between the game's 35 steps a second.
    "crispy_uncapped": "1",
    "crispy_hires": "1",
    "crispy_widescreen": "1",
    "crispy_vsync": "0",
    "crispy_demobar": "0",
    "crispy_demotimer": "0",
    "show_diskicon": "0",
}


@dataclass(frozen=True)
class CapturePlan:
    """What to play and how to grab it."""

    game_data: Path
    demos: tuple[str, ...]
    width: int
    height: int
    frames_per_second: int
    clock_speed: Fraction
    seconds: int | None = None
    """Of each demo, from its beginning on; all of its gameplay if not given."""
    niceness: int = 0


@dataclass(frozen=True)
class Segment:
    """One captured demo, and which of its pictures are gameplay."""

    demo: str
    video: Path
    first_frame: int
    frames: int
    missed_grabs: int


@dataclass(frozen=True)
class Stage:
    """Where demos are played: a screen, an empty home, and who watches the processes."""

    plan: CapturePlan
    supervisor: Supervisor
    display: str
    home: Path

    def start(
        self, name: str, command: list[str], environment: dict[str, str], *, may_end: bool = True
    ) -> Process:
        """Start a program on the screen, before other work if the plan says so."""
        nice = ["nice", "-n", str(self.plan.niceness)] if self.plan.niceness else []
        words = screens.own_home([*nice, *command])
        around = screens.environment_of(self.display, self.home) | environment
        return self.supervisor.start(name, words, may_end=may_end, environment=around)


def demo_seconds(game_data: Path, demo: str) -> float:
    """Compute how long a demo inside a WAD file plays, from its number of recorded steps."""
    content = game_data.read_bytes()
    if content[:4] not in {b"IWAD", b"PWAD"}:
        begins = f"is no WAD file: it begins with {content[:4]!r}"
        raise InputError(begins, file=game_data, hint="give the data of a game")
    lumps, directory_at = struct.unpack_from("<ii", content, 4)
    for lump in range(lumps):
        _, size_bytes, name = struct.unpack_from("<ii8s", content, directory_at + 16 * lump)
        if name.rstrip(b"\0").decode("ascii", "replace").lower() == demo.lower():
            steps_bytes = size_bytes - DEMO_HEADER_BYTES - DEMO_END_MARKER_BYTES
            return float(steps_bytes / DEMO_BYTES_PER_TIC / DOOM_TICS_PER_SECOND)
    hint = "Freedoom's has demo1 to demo4"
    raise InputError("holds no such demo", file=game_data, value=demo, hint=hint)


def find_faketime() -> Path | None:
    """Find the library that slows a program's clock; None if there is none."""
    return next(iter(sorted(LIBRARIES.glob(f"**/{SLOW_CLOCK}"))), None)


def start_game(stage: Stage, demo: str) -> Process:
    """Start the game on its slowed clock, playing one demo, after which it quits."""
    plan, slowed = stage.plan, find_faketime()
    if slowed is None:
        raise GamewayError(f"{SLOW_CLOCK} is not below {LIBRARIES}: apt install libfaketime")
    settings = CRISPY_SETTINGS | {
        "window_width": str(plan.width),
        "window_height": str(plan.height),
    }
    extra, common = stage.home / "crispy.cfg", stage.home / "common.cfg"
    extra.write_text("".join(f"{name} {value}\n" for name, value in settings.items()))
    common.write_text("")
    command = [str(GAME), "-iwad", str(plan.game_data), "-nosound", "-nogui"]
    command += ["-config", str(common), "-extraconfig", str(extra), "-playdemo", demo]
    clock = {
        "LD_PRELOAD": str(slowed),
        "FAKETIME": f"+0 x{float(plan.clock_speed)}",
        # As often as it can: what is grabbed between two pictures would be the first one twice.
        "SDL_RENDER_VSYNC": "0",
    }
    return stage.start(demo, command, clock)


def start_grabber(stage: Stage, video: Path, frames: int | None) -> Process:
    """Start grabbing with the original timestamps kept, so that a missed grab shows as a gap."""
    plan = stage.plan
    rate = Fraction(plan.frames_per_second) * plan.clock_speed
    command = ["ffmpeg", "-y", "-loglevel", "error", "-thread_queue_size", "64"]
    command += ["-f", "x11grab", "-draw_mouse", "0", "-framerate", str(rate)]
    command += ["-video_size", f"{plan.width}x{plan.height}", "-i", stage.display]
    command += [] if frames is None else ["-frames:v", str(frames)]
    command += ["-fps_mode", "passthrough", "-pix_fmt", "yuv420p"]
    command += ["-c:v", "libx264", "-preset", "ultrafast", "-qp", "0", str(video)]
    return stage.start(f"grab-{video.stem}", command, {})


def timestamps_seconds(video: Path) -> list[float]:
    """Read when each picture of a video was grabbed."""
    command = ["ffprobe", "-v", "error", "-select_streams", "v:0", "-show_entries"]
    command += ["packet=pts_time", "-of", "csv=p=0", str(video)]
    return sorted(float(line.rstrip(",")) for line in _said(command).split())


def count_missed_grabs(times_seconds: list[float], interval_seconds: float) -> int:
    """Count the pictures that are absent: each leaves a gap of a whole interval."""
    gaps_seconds = (later - earlier for earlier, later in pairwise(times_seconds))
    return sum(round(gap_seconds / interval_seconds) - 1 for gap_seconds in gaps_seconds)


def capture_demo(stage: Stage, demo: str, folder: Path) -> Segment:
    """Play one demo and grab it."""
    video = folder / f"{demo}.mkv"
    game = start_game(stage, demo)
    if stage.plan.seconds is None:
        _grab_all(stage, game, demo, video)
    else:
        _grab_beginning(stage, game, video)
    return gameplay_of(stage.plan, demo, video)


def _grab_all(stage: Stage, game: Process, demo: str, video: Path) -> None:
    """Grab a demo to its end: the game quits by itself, which dates the last picture."""
    grabber = start_grabber(stage, video, None)
    played = demo_seconds(stage.plan.game_data, demo) / float(stage.plan.clock_speed)
    _await_end(game, ENDS_WITHIN_SECONDS + 1.3 * played)
    stage.supervisor.interrupt(grabber)


def _grab_beginning(stage: Stage, game: Process, video: Path) -> None:
    """Grab so many seconds from the first picture on, and end the game."""
    plan = stage.plan
    seconds = SKIP_AFTER_START_SECONDS + (plan.seconds or 0)
    screens.await_picture(stage.supervisor, game, stage.display)
    grabber = start_grabber(stage, video, seconds * plan.frames_per_second)
    _await_end(grabber, ENDS_WITHIN_SECONDS + 1.3 * seconds / float(plan.clock_speed))
    if not game.alive:
        raise GamewayError(f"the game ended before it was recorded: {game.last_words()}")
    game.signal(signal.SIGKILL)
    game.popen.wait()


def _await_end(process: Process, seconds: float) -> None:
    try:
        code = process.popen.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        said = f"{process.name} still runs after {seconds:.0f} s: {process.last_words()}"
        raise GamewayError(said) from None
    if code != 0:
        raise GamewayError(f"{process.name} failed: {process.last_words()}")


def gameplay_of(plan: CapturePlan, demo: str, video: Path) -> Segment:
    """Find the pictures of a captured demo that show gameplay.

    Of a whole demo they are counted from its last picture, of a beginning from its first.
    """
    skip_start = SKIP_AFTER_START_SECONDS * plan.frames_per_second
    times = timestamps_seconds(video)
    if plan.seconds is None:
        played = round(demo_seconds(plan.game_data, demo) * plan.frames_per_second)
        first = len(times) - played + skip_start
        frames = played - skip_start - SKIP_BEFORE_END_SECONDS * plan.frames_per_second
    else:
        first, frames = skip_start, plan.seconds * plan.frames_per_second
    if first < skip_start or len(times) < first + frames:
        raise GamewayError(f"{video}: {len(times)} pictures are too few; lower the clock's speed")
    interval_seconds = float(1 / (plan.frames_per_second * plan.clock_speed))
    missed = count_missed_grabs(times[first : first + frames], interval_seconds)
    return Segment(demo, video, first, frames, missed)


def join(segments: list[Segment], plan: CapturePlan, recording: Path) -> None:
    """Cut each segment to its gameplay and join them at the game's own frame rate."""
    inputs: list[str] = []
    chains: list[str] = []
    for index, segment in enumerate(segments):
        # Stated for the input, the rate replaces the times at which the slowed game was grabbed.
        inputs += ["-r", str(plan.frames_per_second), "-i", str(segment.video)]
        end = segment.first_frame + segment.frames
        cut = f"trim=start_frame={segment.first_frame}:end_frame={end}"
        chains.append(f"[{index}:v]{cut},setpts=PTS-STARTPTS[v{index}]")
    labels = "".join(f"[v{index}]" for index in range(len(segments)))
    joined = f"{labels}concat=n={len(segments)}:v=1:a=0[v]"
    command = ["ffmpeg", "-y", "-loglevel", "error", *inputs]
    command += ["-filter_complex", ";".join([*chains, joined]), "-map", "[v]"]
    command += ["-fps_mode", "passthrough"]
    command += ["-c:v", "libx264", "-preset", "ultrafast", "-qp", "0", str(recording)]
    _said(command)


def count_duplicates(recording: Path) -> tuple[int, int]:
    """Count the pictures that equal the one before them, by checksum, and all of them."""
    command = ["ffmpeg", "-v", "error", "-i", str(recording), "-map", "0:v"]
    command += ["-fps_mode", "passthrough", "-f", "framemd5", "-"]
    lines = _said(command).splitlines()
    sums = [line.split(",")[-1] for line in lines if not line.startswith("#")]
    same = sum(later == earlier for earlier, later in pairwise(sums))
    return same, len(sums)


def capture(plan: CapturePlan, recording: Path) -> list[Segment]:
    """Play and capture every demo of the plan into one lossless recording."""
    check(plan.game_data)
    folder = recording.parent
    with tempfile.TemporaryDirectory() as home:
        supervisor = Supervisor(Path(home), Event())
        try:
            server = supervisor.start("screen", screens.server_command((plan.width, plan.height)))
            display = screens.display_of(supervisor, server)
            stage = Stage(plan, supervisor, display, Path(home))
            segments = [capture_demo(stage, demo, folder) for demo in plan.demos]
        finally:
            supervisor.end_all()
    join(segments, plan, recording)
    return segments


def check(game_data: Path) -> None:
    """Refuse a machine on which no game can be recorded; one error names all that is missing."""
    there = {
        "crispy-doom": GAME.is_file(),
        "freedoom": game_data.is_file(),
        "xvfb": shutil.which("Xvfb") is not None,
        "ffmpeg": shutil.which("ffmpeg") is not None,
        "libfaketime": find_faketime() is not None,
    }
    missing = [package for package, is_there in there.items() if not is_there]
    if missing:
        raise GamewayError(f"a game cannot be recorded here: apt install {' '.join(missing)}")


def _said(command: list[str]) -> str:
    """What a program prints; GamewayError with its last words if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode != 0:
        raise GamewayError(f"{command[0]} failed: {done.stderr.strip()[-500:]}")
    return done.stdout
