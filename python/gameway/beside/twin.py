"""The simulated twin of live results: the same experiment in virtual time, in a folder of theirs.

RESULT-live/             live results
RESULT-live/simulated/   those of the simulator

Each simulated run is given what the machine of its live run added to the path
(`gameway.beside.testbed`; `spec.json` of the run has it).

A real encoder takes its time, a model none. Where that time varies, frames leave unevenly and meet
each other in the queue; so each stream is given the times that its live encoder took in the course
of the run. Slow ones come together; drawn one by one they would make more of a queue (three streams
of Pudica on a busy machine: the second had 7.5 Mb/s instead of 9.2). Likewise each video is given
the sizes of the segments that were served, and a run the base RTT that the live one had.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from gameway import sweep
from gameway.beside import testbed
from gameway.expansion import expand
from gameway.expansion.base_rtt import DISTANCES, NOMINAL
from gameway.experiment.tables import CHROMIUM
from gameway.live.video.videos import sizes_name
from gameway.on import LiveOptions, On
from gameway.results import MANIFEST, RUNS, Results, read_manifest
from gameway.sweep.drivers import TWIN
from gameway.sweep.folder import SPEC

if TYPE_CHECKING:
    from gameway.experiment import Experiment
    from gameway.metrics.source import ResultFolder
    from gameway.sweep.progress import Progress

FOLDER = "simulated"
OF_BROWSERS = ("kind", "picture_size", "field_trials")
"""What a specification says of a browser only."""
MODEL: dict[str, Any] = {
    "controller": {
        "kind": "gcc", "pacing_factor": 1.1, "pacing_burst": "40 ms", "sending_clock": "1 ms",
    },
    "video": "steady", "repair": "libwebrtc",
    "feedback": {"kind": "transport-wide", "interval": "60 ms"},
}  # fmt: skip
"""What stands for a browser in a simulation. libwebrtc's pacer sends video at 1.1 times the
estimate (`kStrictPacingMultiplier` of its `VideoSendStreamImpl`) and lets what is due in 40 ms
leave in a burst (`PacingController::kDefaultBurstInterval`): of the 14 packets of a frame at
3.8 Mb/s the last left 0.6 ms after the first (median). Its estimator reads sending times in whole
milliseconds (`TransportFeedbackAdapter`)."""
RUNS_TO_A_LIVE_ONE = 4
"""A mean of three runs beside a controller is by chance 5 to 30 % off (docs/live.md), and simulated
runs cost little: with four to a live one, the chance in a verdict is mostly the live runs'."""


def is_live(results: ResultFolder) -> bool:
    """Whether results were measured live."""
    return bool(results.manifest.get("driver") == On.live.value)


def twin_of(results: ResultFolder) -> Results | None:
    """The simulated twin that lies beside live results, if it has a finished run."""
    place = Path(results.path) / FOLDER
    if not (place / MANIFEST).is_file():
        return None
    twin = Results.open(place)
    return twin if twin.finished_ids() else None


def simulate(
    experiment: Experiment,
    out: str | Path,
    *,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Results:
    """Run the simulated twin of the live results in `out`, or what of it is missing.

    It has four runs to each live one, which differ in their seeds. Beside a game or a video it
    streams what the experiment says: a recorded game if nothing.
    """
    streamed = (read_manifest(Path(out)).get("live") or {}).get("source", LiveOptions.source)
    scene = streamed == LiveOptions.source
    more = f"runs={RUNS_TO_A_LIVE_ONE * experiment.runs}"
    own = experiment.with_overrides([*(scene_videos(experiment) if scene else []), more])
    of = live_runs(Path(out), own)

    def run_one(spec: dict[str, Any], recorded: dict[str, Any], target: Path) -> None:
        live = of.get(target.name)
        TWIN.run_one(as_measured(spec, live), as_measured(recorded, live), target)

    return sweep.run(own, Path(out) / FOLDER, TWIN, jobs=jobs, progress=progress, run_one=run_one)


def as_measured(spec: dict[str, Any], live: Path | None) -> dict[str, Any]:
    """Give a spec what the machine of its live run added to it."""
    streams = [
        model_of(stream) | encode_times(stream["name"], live) for stream in spec.get("stream") or []
    ]
    competitors = [one | segment_sizes(one, live) for one in spec.get("competitor") or []]
    flows = {"stream": streams, "competitor": competitors}
    spec = spec | {"path": spec["path"] | distance(live)}
    path = spec["path"] | testbed.added_to_path(spec, live)
    return spec | {"path": path} | {key: given for key, given in flows.items() if given}


def model_of(stream: dict[str, Any]) -> dict[str, Any]:
    """Our GCC where live a browser sends by its own: with its limits, pacing, repair and reports.

    Its frames are as large as their target: nothing of the browser's scene can be predicted.
    """
    if stream.get("kind") != CHROMIUM:
        return stream
    common = {key: value for key, value in stream.items() if key not in OF_BROWSERS}
    return common | MODEL


def distance(run: Path | None) -> dict[str, Any]:
    """How far apart the ends of a live run were, where each run has a base RTT of its own."""
    file = None if run is None else run / SPEC
    if file is None or not file.is_file():
        return {}
    path: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))["path"]
    return {key: path[key] for key in DISTANCES if key in path} if NOMINAL in path else {}


def segment_sizes(competitor: dict[str, Any], run: Path | None) -> dict[str, Any]:
    """How large the segments of a live video were."""
    file = None if run is None else run / sizes_name(competitor["name"])
    return {"segment_sizes": {"file": str(file)}} if file is not None and file.is_file() else {}


def encode_times(stream: str, run: Path | None) -> dict[str, Any]:
    """How long the live encoder of a stream took, frame by frame: slow ones come together.

    A frame's first slice was made when its first packet left, or before, if the pacer held that.
    Key frames are quicker, and so meet more of the frame before in the queue. The first of all also
    opens the encoder, which no other does.
    """
    file = None if run is None else run / "pictures.parquet"
    if run is None or file is None or not file.is_file():
        return {}
    key = pl.col("stream").cast(pl.String)
    took = pl.read_parquet(file).select(key, "frame", "encode_ns").drop_nulls()
    captured = pl.read_parquet(run / "frames.parquet").select(
        key, "frame", "captured_ns", "key_frame", "first_sent_ns"
    )
    own = captured.join(took, on=["stream", "frame"]).filter(pl.col("stream") == stream)
    rows = own.filter(pl.col("captured_ns") >= 0).unique("captured_ns").sort("captured_ns")

    def times(of: pl.DataFrame) -> list[list[str]]:
        first = pl.min_horizontal(pl.col("first_sent_ns") - pl.col("captured_ns"), "encode_ns")
        chosen = of.select("captured_ns", first, "encode_ns")
        return [[f"{ns} ns" for ns in row] for row in chosen.rows()]

    asked = times(rows.filter(pl.col("key_frame") & (pl.col("frame") > 0)))
    given = {"encode_times": times(rows.filter(~pl.col("key_frame") | (pl.col("frame") == 0)))}
    return (
        given | ({"key_frame_encode_times": asked} if asked else {})
        if given["encode_times"]
        else {}
    )


def live_runs(live: Path, twin: Experiment) -> dict[str, Path]:
    """The live run of each simulated one, by its id: of the same condition, by turns.

    The first repeats have the live run of their own number. Where there is none, none is given.
    """
    simulated = expand(twin)
    there = [run for run in read_manifest(live)["runs"] if (live / RUNS / run["id"]).is_dir()]
    common = {name for run in simulated for name in run.factors}

    def condition(factors: dict[str, str]) -> frozenset[tuple[str, str]]:
        return frozenset(pair for pair in factors.items() if pair[0] in common)

    of: dict[frozenset[tuple[str, str]], list[Path]] = {}
    for run in sorted(there, key=lambda run: run["repeat"]):
        of.setdefault(condition(run["factors"]), []).append(live / RUNS / run["id"])
    same = {run.id: (run.repeat, of.get(condition(run.factors))) for run in simulated}
    return {name: found[repeat % len(found)] for name, (repeat, found) in same.items() if found}


def scene_videos(experiment: Experiment) -> list[str]:
    """Set the simulated video to what a live run streams: the built-in scene, by x264.

    The recorded game of the simulator varies by 20 % from frame to frame, the scene by 5 %, and
    controllers that read delays have another rate from it.
    """
    streams = enumerate(experiment.stream)
    return [f"stream.{index}.video=scene" for index, one in streams if one.kinds() != [CHROMIUM]]
