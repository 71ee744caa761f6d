"""The simulated twin of live results: the same experiment in virtual time, in a folder of theirs.

RESULT-live/             live results
RESULT-live/simulated/   those of the simulator
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gameway import runner
from gameway.drivers import LiveOptions, On
from gameway.results import MANIFEST, Results, read_manifest

if TYPE_CHECKING:
    from gameway.experiment import Experiment
    from gameway.metrics.source import ResultFolder
    from gameway.progress import Progress

FOLDER = "simulated"


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

    Beside a game or a video it streams what the experiment says: a recorded game if nothing.
    """
    streamed = (read_manifest(Path(out)).get("live") or {}).get("source", LiveOptions.source)
    scene = streamed == LiveOptions.source
    own = experiment.with_overrides(scene_videos(experiment)) if scene else experiment
    return runner.run(own, Path(out) / FOLDER, jobs=jobs, progress=progress)


def scene_videos(experiment: Experiment) -> list[str]:
    """Set the simulated video to what a live run streams.

    The built-in scene keeps the encoder at its target frame by frame, to 5 %: the recorded game of
    the simulator varies by 20 %, and a controller that reads delays has less rate from it.
    """
    streams = experiment.source.document.get("stream", [])
    return [f"stream.{index}.video=steady" for index in range(len(streams))]
