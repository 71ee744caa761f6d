"""Running an experiment or a suite by the name of a driver: simulated, or live on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gameway import sweep
from gameway.errors import InputError
from gameway.on import LiveOptions, On
from gameway.sweep.drivers import SIMULATOR, Driver

if TYPE_CHECKING:
    from pathlib import Path

    from gameway.experiment import Experiment
    from gameway.results import Results
    from gameway.sweep.drivers import RunOne
    from gameway.sweep.progress import Progress


def driver(on: str, live: LiveOptions | None = None) -> Driver:
    """Give a driver by its name; `live` says how it does live runs."""
    if on == On.sim:
        if live not in {None, LiveOptions()}:
            hint = "give --on live, too"
            raise InputError(
                "a source, a capture and a film are of live runs", field="on", value=on, hint=hint
            )
        return SIMULATOR
    if on == On.live:
        from gameway.live import live_driver  # noqa: PLC0415 (only runs on live need it)

        return live_driver(live or LiveOptions())
    raise InputError("is no driver", field="on", value=on, hint="known are live, sim")


def run(  # noqa: PLR0913 (all but two are named)
    experiment: Experiment,
    out: str | Path,
    *,
    jobs: int | None = None,
    progress: Progress | None = None,
    on: str = "sim",
    live: LiveOptions | None = None,
    run_one: RunOne | None = None,
) -> Results:
    """Run all of an experiment that `out` does not hold yet, and open the results.

    Args:
        experiment: what to run.
        out: result folder; if it exists it must be of the same experiment and simulator.
        jobs: runs at a time; all cores if not given.
        progress: told of each finished run; silent if not given.
        on: "sim", in virtual time, or "live": on this machine in real time, one run at a time.
        live: what live runs stream, and whether their packets are kept.
        run_one: computes one run (spec, spec to record, folder) instead of the driver's own way.

    Raises:
        InputError: the experiment or the folder cannot be used; nothing was run.
        Interrupted: Ctrl-C.
        GamewayError: some runs failed; the others are finished and kept.
    """
    own = driver(on, live)
    return sweep.run(experiment, out, own, jobs=jobs, progress=progress, run_one=run_one)
