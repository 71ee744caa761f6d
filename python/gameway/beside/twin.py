"""The simulated twin of live results: the same experiment in virtual time, in a folder of theirs.

RESULT-live/             live results
RESULT-live/simulated/   those of the simulator

A simulated link sends each packet at its due time, a live one tens of microseconds later, now and
then a millisecond. To most that is nothing; BBR, which keeps the highest of ten rounds' rates,
makes a standing queue of it. So each simulated run is given what the link of its live run was
measured to add: the histogram of its lateness, as jitter of both directions (`spec.json` of the run
has it). A path that has jitter of its own keeps that alone.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from gameway import runner
from gameway.drivers import SIMULATOR, On
from gameway.results import MANIFEST, RUNS, Results

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
    """Run the simulated twin of the live results in `out`, or what of it is missing."""

    def run_one(spec: dict[str, Any], recorded: dict[str, Any], target: Path) -> None:
        added = link_jitter(spec["path"], live_run(Path(out), target.name))
        SIMULATOR.run_one(_with_path(spec, added), _with_path(recorded, added), target)

    own = experiment.with_overrides(scene_videos(experiment))
    return runner.run(own, Path(out) / FOLDER, jobs=jobs, progress=progress, run_one=run_one)


def _with_path(spec: dict[str, Any], added: dict[str, Any]) -> dict[str, Any]:
    return spec | {"path": spec["path"] | added}


def live_run(live: Path, twin_id: str) -> Path | None:
    """The live run of the same condition and repeat: its name is the same but for the hash."""
    condition, _, _ = twin_id.rpartition("_")
    return next(iter(sorted((live / RUNS).glob(f"{condition}_*"))), None)


def link_jitter(path: dict[str, Any], run: Path | None) -> dict[str, Any]:
    """What a live run's link adds to a path: its lateness as jitter, where there is none yet."""
    table = None if run is None else run / "lateness.parquet"
    if table is None or not table.is_file() or "jitter" in path:
        return {}
    link = pl.read_parquet(table).filter(pl.col("part").cast(pl.String) == "link")
    edges = ("lateness_low_ns", "lateness_high_ns")
    counted = link.group_by(edges).agg(pl.col("packets").cast(pl.Int64).sum()).sort(edges)
    if not int(counted["packets"].sum()):
        return {}
    buckets = [(f"{low} ns", f"{high} ns", count) for low, high, count in counted.rows()]
    jitter = {"kind": "histogram", "buckets": buckets}
    back = path.get("back") or {}
    return {"jitter": jitter, "back": {"jitter": jitter} | back}


def scene_videos(experiment: Experiment) -> list[str]:
    """Set the simulated video to what a live run streams.

    The built-in scene keeps the encoder at its target frame by frame, to 5 %: the recorded game of
    the simulator varies by 20 %, and a controller that reads delays has less rate from it.
    """
    streams = experiment.source.document.get("stream", [])
    return [f"stream.{index}.video=steady" for index in range(len(streams))]
