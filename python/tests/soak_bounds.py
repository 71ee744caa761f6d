"""What a soak must keep: bounds of each series.

The level is of the second to the last tenth. Memory may change by as much as an allocator keeps
more or less of, and by 0.3 kB/s; nothing that a program of ours has opened or started may become
more. Chromium starts and ends processes and threads of its own as it likes. Its sound waits for 20
to 60 ms, by how evenly packets came lately. Headless it refreshes each 16.666 ms, a frame comes
each 16.667 ms: the wait of a picture for its display falls from an interval to none within seven
minutes, again and again.
"""

from __future__ import annotations

from soak_judge import Bound

REFRESH_MS = 16.7


def _of_program(name: str, max_mb: float) -> list[Bound]:
    return [
        Bound(f"{name}_mb", "MB", 20, max_mb, change=1.0, an_hour=1.0, timed=False),
        Bound(f"{name}_fds", "", 3, 200, change=0, timed=False),
        Bound(f"{name}_threads", "", 2, 100, change=0, timed=False),
        Bound(f"{name}_processes", "", 1, 20, change=0, timed=False),
        Bound(f"{name}_cores", "cores", 0.001, 1.5, change=0.2),
    ]


BOUNDS: list[Bound] = [
    *_of_program("host", 200),
    *_of_program("play", 150),
    *_of_program("client", 150),
    # With the screen, the sound server and the test card that it has started.
    Bound("play_all_mb", "MB", 50, 500, change=5, an_hour=2, timed=False),
    # Chromium gave 60 MB back after twenty minutes of one hour.
    Bound("browser_all_mb", "MB", 100, 1000, change=30, an_hour=10, timed=False, gives_back=True),
    Bound("page_mb", "MB", 50, 500, change=20, an_hour=5, timed=False, gives_back=True),
    Bound("heap_mb", "MB", 0.5, 20, change=1.0, an_hour=1.0, of="floor", timed=False),
    Bound("nodes", "", 20, 5000, change=50, of="floor", timed=False),
    Bound("listeners", "", 5, 500, change=10, of="floor", timed=False),
    Bound("browser_fds", "", 50, 2000, change=30, timed=False),
    Bound("browser_threads", "", 20, 400, change=30, timed=False),
    Bound("browser_processes", "", 3, 30, change=2, timed=False),
    Bound("browser_cores", "cores", 0.05, 1.5, change=0.2),
    Bound("fps", "1/s", 59.5, 60.5, change=0.3),
    Bound("mbps", "Mb/s", 0.5, 12, change=1),
    # It begins with a frame's first packet, so it has the time over which the frame is sent, which
    # grows where others use the cores: half a frame interval at most. Beyond that time a picture
    # waits for nothing.
    Bound("buffer_ms", "ms", 0, REFRESH_MS / 2, change=1.5),
    Bound("waited_ms", "ms", -1, 1, change=0.5),
    Bound("audio_buffer_ms", "ms", 5, 60, change=25),
    Bound("round_trip_ms", "ms", 0.3, 4, change=0.5),
    Bound("delay_ms", "ms", 5, 45, change=REFRESH_MS),
    Bound("apart_ms", "ms", -45, 45, change=REFRESH_MS),
    # A clock that is followed 0.1 parts in a million wrongly is off by 0.36 ms after an hour.
    Bound("clock_ms", "ms", -1, 1, change=0.25),
    Bound("is_connected", "", 1, 1, change=0, timed=False),
    Bound("waiting_inputs", "", 0, 0, change=0),
    Bound("sessions", "", 1, 1, of="last", timed=False),
    Bound("lines", "", 4, 40, change=0, timed=False),
    Bound("lost", "packets", 0, 0, of="last"),
    Bound("key_frames", "", 0, 3, an_hour=10, of="last"),
    Bound("freezes", "", 0, 1, an_hour=10, of="last"),
    Bound("dropped_share", "", 0, 0.01, of="last"),
    Bound("skipped_share", "", 0, 0.01, of="last"),
    Bound("concealed_share", "", 0, 0.01, of="last"),
]
