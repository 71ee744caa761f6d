"""Plays recorded Doom demos and captures them losslessly at 60 frames per game second.

The game runs on a slowed clock (libfaketime) while the screen is grabbed at the same fraction of
the frame rate. A machine that cannot draw, grab and compress 60 pictures in a second has twice the
time at `clock_speed` 1/2, and the recording still holds one picture for each sixtieth of a *game*
second.
"""

from __future__ import annotations

import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

DOOM_TICS_PER_SECOND = 35
# version, skill, episode, map, mode, respawn, fast, nomonsters, point of view, four player flags.
DEMO_HEADER_BYTES = 13
DEMO_BYTES_PER_TIC = 4
DEMO_END_MARKER_BYTES = 1

# The screen melts into the level during the first second; the second one is slack for start-up.
SKIP_AFTER_START_SECONDS = 2
# Recorded demos end at the exit switch or at the player's death: neither is gameplay.
SKIP_BEFORE_END_SECONDS = 4

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
    display: str
    niceness: int


@dataclass(frozen=True)
class Segment:
    """One captured demo, and which of its pictures are gameplay."""

    demo: str
    video: Path
    first_frame: int
    frames: int
    missed_grabs: int


def demo_seconds(game_data: Path, demo: str) -> float:
    """Compute how long a demo inside a WAD file plays, from its number of recorded steps."""
    content = game_data.read_bytes()
    if content[:4] not in (b"IWAD", b"PWAD"):
        sys.exit(f"{game_data}: not a WAD file (starts with {content[:4]!r}); give --game-data one")
    lumps, directory_at = struct.unpack_from("<ii", content, 4)
    for lump in range(lumps):
        _, size_bytes, name = struct.unpack_from("<ii8s", content, directory_at + 16 * lump)
        if name.rstrip(b"\0").decode("ascii", "replace").lower() == demo.lower():
            steps_bytes = size_bytes - DEMO_HEADER_BYTES - DEMO_END_MARKER_BYTES
            return float(steps_bytes / DEMO_BYTES_PER_TIC / DOOM_TICS_PER_SECOND)
    sys.exit(f"{game_data}: holds no demo {demo!r}; freedoom has demo1 to demo4")


def find_faketime() -> Path:
    """Find the library that slows a program's clock (Debian: package libfaketime)."""
    for folder in sorted(Path("/usr/lib").glob("**/faketime")):
        library = folder / "libfaketimeMT.so.1"
        if library.exists():
            return library
    sys.exit("libfaketimeMT.so.1: not found below /usr/lib; install the package libfaketime")


def prioritised(command: list[str], niceness: int) -> list[str]:
    """Put the capture before other work: a late grab is a lost picture."""
    return ["nice", "-n", str(niceness), *command] if niceness else command


@contextmanager
def virtual_display(plan: CapturePlan) -> Iterator[None]:
    """Run an X server without a screen for as long as the context lasts."""
    screen = f"{plan.width}x{plan.height}x24"
    command = ["Xvfb", plan.display, "-screen", "0", screen, "-nolisten", "tcp"]
    server = subprocess.Popen(prioritised(command, plan.niceness), stderr=subprocess.DEVNULL)
    try:
        time.sleep(2)
        if server.poll() is not None:
            sys.exit(f"Xvfb: display {plan.display} did not start; is it in use? set --display")
        yield
    finally:
        server.terminate()
        server.wait()


def start_game(plan: CapturePlan, demo: str, home: Path) -> subprocess.Popen[bytes]:
    """Start the game on its slowed clock, playing one demo, after which it quits."""
    settings = CRISPY_SETTINGS | {
        "window_width": str(plan.width),
        "window_height": str(plan.height),
    }
    extra = home / "crispy.cfg"
    extra.write_text("".join(f"{name} {value}\n" for name, value in settings.items()))
    common = home / "common.cfg"
    common.write_text("")
    command = ["/usr/games/crispy-doom", "-iwad", str(plan.game_data), "-nosound", "-nogui"]
    command += ["-config", str(common), "-extraconfig", str(extra), "-playdemo", demo]
    environment = os.environ | {
        "DISPLAY": plan.display,
        "HOME": str(home),
        "SDL_AUDIODRIVER": "dummy",
        "SDL_VIDEO_WINDOW_POS": "0,0",
        "LD_PRELOAD": str(find_faketime()),
        "FAKETIME": f"+0 x{float(plan.clock_speed)}",
    }
    with (home / f"{demo}.log").open("wb") as log:
        return subprocess.Popen(
            prioritised(command, plan.niceness), env=environment, stdout=log, stderr=log
        )


def start_grabber(plan: CapturePlan, video: Path) -> subprocess.Popen[bytes]:
    """Start grabbing with the original timestamps kept, so that a missed grab shows as a gap."""
    rate = Fraction(plan.frames_per_second) * plan.clock_speed
    command = ["ffmpeg", "-y", "-loglevel", "error", "-thread_queue_size", "64"]
    command += ["-f", "x11grab", "-draw_mouse", "0", "-framerate", str(rate)]
    command += ["-video_size", f"{plan.width}x{plan.height}", "-i", plan.display]
    command += ["-fps_mode", "passthrough", "-pix_fmt", "yuv420p"]
    command += ["-c:v", "libx264", "-preset", "ultrafast", "-qp", "0", str(video)]
    return subprocess.Popen(prioritised(command, plan.niceness), stdin=subprocess.DEVNULL)


def timestamps_seconds(video: Path) -> list[float]:
    """Read when each picture of a video was grabbed."""
    command = ["ffprobe", "-v", "error", "-select_streams", "v:0", "-show_entries"]
    command += ["packet=pts_time", "-of", "csv=p=0", str(video)]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return sorted(float(line.rstrip(",")) for line in lines)


def count_missed_grabs(times_seconds: list[float], interval_seconds: float) -> int:
    """Count the pictures that are absent: each leaves a gap of a whole interval."""
    gaps_seconds = (later - earlier for earlier, later in pairwise(times_seconds))
    return sum(round(gap_seconds / interval_seconds) - 1 for gap_seconds in gaps_seconds)


def capture_demo(plan: CapturePlan, demo: str, folder: Path, home: Path) -> Segment:
    """Play one demo to its end: the game quits by itself, which dates the last picture."""
    video = folder / f"{demo}.mkv"
    game = start_game(plan, demo, home)
    grabber = start_grabber(plan, video)
    limit_seconds = 60 + 1.3 * demo_seconds(plan.game_data, demo) / float(plan.clock_speed)
    try:
        game.wait(timeout=limit_seconds)
    except subprocess.TimeoutExpired:
        sys.exit(f"{demo}: the game still runs after {limit_seconds:.0f} s; see {home}/{demo}.log")
    finally:
        game.kill()
        grabber.send_signal(signal.SIGINT)
        grabber.wait()
    return gameplay_of(plan, demo, video)


def gameplay_of(plan: CapturePlan, demo: str, video: Path) -> Segment:
    """Find the pictures of a captured demo that show gameplay, counting from its last one."""
    played = round(demo_seconds(plan.game_data, demo) * plan.frames_per_second)
    skip_start = SKIP_AFTER_START_SECONDS * plan.frames_per_second
    skip_end = SKIP_BEFORE_END_SECONDS * plan.frames_per_second
    times = timestamps_seconds(video)
    if len(times) < played:
        sys.exit(f"{video}: {len(times)} pictures for {played} of the demo; lower --clock-speed")
    first = len(times) - played + skip_start
    frames = played - skip_start - skip_end
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
    subprocess.run(command, check=True)


def count_duplicates(recording: Path) -> tuple[int, int]:
    """Count the pictures that equal the one before them, by checksum, and all of them."""
    command = ["ffmpeg", "-v", "error", "-i", str(recording), "-map", "0:v"]
    command += ["-fps_mode", "passthrough", "-f", "framemd5", "-"]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    sums = [line.split(",")[-1] for line in lines if not line.startswith("#")]
    same = sum(later == earlier for earlier, later in pairwise(sums))
    return same, len(sums)


def capture(plan: CapturePlan, recording: Path) -> list[Segment]:
    """Play and capture every demo of the plan into one lossless recording."""
    for program in ("Xvfb", "ffmpeg", "ffprobe", "/usr/games/crispy-doom"):
        if shutil.which(program) is None:
            sys.exit(f"{program}: not installed; see README.md for the Debian packages")
    with tempfile.TemporaryDirectory() as home, virtual_display(plan):
        folder = recording.parent
        segments = [capture_demo(plan, demo, folder, Path(home)) for demo in plan.demos]
    join(segments, plan, recording)
    return segments
