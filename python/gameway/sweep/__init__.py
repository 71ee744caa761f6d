"""Running the matrix of an experiment on all cores, resumably.

Threads are enough: the simulator releases Python's global lock. A run's result depends on its spec
alone, so any number of jobs, in any order, gives the same bytes.
"""

from __future__ import annotations

from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gameway import _core
from gameway.caller import owns
from gameway.errors import GamewayError, InputError, Interrupted
from gameway.expansion import Expansion, Run, expanded
from gameway.expansion.base_rtt import own_base_rtt
from gameway.expansion.specification import canonical
from gameway.results import RUNS, Results
from gameway.signals import exit_code
from gameway.sweep import folder, machine
from gameway.sweep.drivers import SIMULATOR
from gameway.sweep.progress import Progress, Silent

if TYPE_CHECKING:
    from gameway.experiment import Experiment
    from gameway.sweep.drivers import Driver, RunOne

SHOWN_FAILURES = 3
ANSWER_S = 0.2
"""How soon Ctrl-C is answered: other libraries' handlers restart a wait that has no end."""


@dataclass
class Sweep:
    """The runs of one call: what is to do, and what failed."""

    out: Path
    runs: list[Run]
    todo: list[Run]
    failures: list[tuple[Run, Exception]] = field(default_factory=list)
    stopped: bool = False
    """Whether runs in flight were ended: how they end is no failure."""


def run(  # noqa: PLR0913 (all but two are named)
    experiment: Experiment,
    out: str | Path,
    own: Driver = SIMULATOR,
    *,
    jobs: int | None = None,
    progress: Progress | None = None,
    run_one: RunOne | None = None,
) -> Results:
    """Run on a driver what `out` does not hold yet (see `gameway.running.run`)."""
    whole = check(experiment, own)
    if run_one is not None:
        own = replace(own, run_one=run_one)
    return run_checked(experiment, whole, out, own, jobs=jobs, progress=progress)


def run_checked(  # noqa: PLR0913 (all but four are named)
    experiment: Experiment,
    whole: Expansion,
    out: str | Path,
    own: Driver,
    *,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Results:
    """Do `run` with what `check` has given."""
    path = Path(out)
    with owns(path), folder.locked(path):
        manifest = _manifest(experiment, whole, own)
        before = folder.check_same(path, manifest)
        folder.remove_partial(path)
        if before is not None:
            manifest["created"] = before["created"]
        folder.write_manifest(path, manifest)
        done = folder.finished(path)
        sweep = Sweep(path, whole.runs, [run for run in whole.runs if run.id not in done])
        _run_all(sweep, _jobs(jobs, own), progress or Silent(), own)
        if sweep.failures:
            raise _failed(sweep) from sweep.failures[0][1]
        manifest["completed"] = _now()
        folder.write_manifest(path, manifest)
    return Results.open(path)


def check(
    experiment: Experiment, own: Driver = SIMULATOR, out: str | Path | None = None
) -> Expansion:
    """Give the runs of an experiment, or refuse what `run` would refuse; nothing is run.

    The simulator builds every combination once, so that it refuses none after hours.
    """
    whole = expanded(experiment)
    own.check(experiment, whole.runs)
    if out is not None and Path(out).exists():
        folder.check_same(Path(out), _manifest(experiment, whole, own))
    seen: set[str] = set()
    for run in whole.runs:
        spec = canonical(run.spec | {"seed": 0})
        if spec in seen:
            continue
        seen.add(spec)
        try:
            _core.check_spec(spec)
        except ValueError as error:
            raise InputError(f"{error} (in {run.id})", file=experiment.source.file) from None
    return whole


def _jobs(wanted: int | None, own: Driver) -> int:
    jobs = wanted or machine.cores()
    return jobs if own.max_jobs is None else min(jobs, own.max_jobs)


def _run_all(sweep: Sweep, jobs: int, progress: Progress, own: Driver) -> None:
    """Run what is to do, `jobs` at a time; on Ctrl-C finish the runs in flight, or end them."""
    progress.start(len(sweep.runs), len(sweep.runs) - len(sweep.todo))
    if own.prepare is not None and sweep.todo:
        own.prepare(sweep.todo, progress.note)
    if own.expected is not None and sweep.todo:
        progress.note(own.expected(sweep.todo))
    pool = ThreadPoolExecutor(max_workers=jobs, thread_name_prefix="gameway-run")
    flying: dict[Future[None], Run] = {}
    waiting = iter(sweep.todo)
    try:
        for _ in range(jobs):
            _launch(pool, flying, waiting, sweep, own.run_one)
        while flying:
            for future in wait(flying, ANSWER_S, return_when=FIRST_COMPLETED).done:
                _land(future, flying.pop(future), sweep, progress)
                _launch(pool, flying, waiting, sweep, own.run_one)
    except KeyboardInterrupt as interruption:
        if own.stop is None:
            progress.note(f"stopping: {len(flying)} runs in flight are being finished")
        else:
            progress.note("stopping: the run in flight is ended, nothing of it is kept")
            sweep.stopped = True
            own.stop()
        for future in wait(flying).done:
            _land(future, flying.pop(future), sweep, progress)
        finished = sum((sweep.out / RUNS / run.id).is_dir() for run in sweep.runs)
        raise Interrupted(
            f"stopped: {finished} of {len(sweep.runs)} runs are finished and kept in {sweep.out}; "
            "the same command runs the rest",
            exit_code(interruption),
        ) from None
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        progress.stop()


def _launch(
    pool: ThreadPoolExecutor,
    flying: dict[Future[None], Run],
    waiting: Any,
    sweep: Sweep,
    run_one: RunOne,
) -> None:
    """Begin the next run, if there is one."""
    following = next(waiting, None)
    if following is not None:
        target = sweep.out / RUNS / following.id
        future = pool.submit(run_one, following.spec, following.recorded, target)
        flying[future] = following


def _land(future: Future[None], run: Run, sweep: Sweep, progress: Progress) -> None:
    """Note how a run ended; a failure does not stop the others."""
    error = future.exception()
    if error is None:
        progress.advance(run.id)
    elif isinstance(error, Exception) and sweep.stopped:
        pass
    elif isinstance(error, Exception):
        sweep.failures.append((run, error))
        if len(sweep.failures) <= SHOWN_FAILURES:
            progress.note(f"failed: {run.id}")
    else:
        raise error


def _failed(sweep: Sweep) -> GamewayError:
    """Make the error that tells what failed: each different error once, with one spec."""
    by_text: dict[str, list[tuple[Run, Exception]]] = {}
    for run, error in sweep.failures:
        by_text.setdefault(str(error) or repr(error), []).append((run, error))
    lines = [f"{len(sweep.failures)} of {len(sweep.runs)} runs failed; the others are kept"]
    for text, failures in list(by_text.items())[:SHOWN_FAILURES]:
        run, error = failures[0]
        # What differs from run to run, such as the time, is a note: it makes no other error.
        told = " ".join([run.id, *getattr(error, "__notes__", [])])
        others = f" and {len(failures) - 1} more" if len(failures) > 1 else ""
        lines += [f"  {text}", f"    {told}{others}: {canonical(run.recorded)}"]
    if len(by_text) > SHOWN_FAILURES:
        lines.append(f"  and {len(by_text) - SHOWN_FAILURES} other errors")
    return GamewayError("\n".join(lines))


def _manifest(experiment: Experiment, whole: Expansion, own: Driver) -> dict[str, Any]:
    source = experiment.source
    return {
        "schema_version": _core.SCHEMA_VERSION,
        "gameway_version": _core.VERSION,
        "commit": machine.commit(),
        "simulator_sha256": machine.simulator_digest(),
        "created": _now(),
        "completed": None,
        "machine": machine.describe(),
        "driver": own.name.value,
        **own.facts(),
        "title": experiment.title,
        "experiment_name": experiment.name,
        "experiment_file": None if source.file is None else source.file.name,
        "experiment_text": source.text,
        "overrides": [override.text for override in source.overrides],
        "experiment_sha256": whole.sha256,
        "files_sha256": whole.files_sha256,
        "runs": [
            {"id": run.id, "factors": run.factors, "repeat": run.repeat, "seed": run.seed}
            | own_base_rtt(run.spec)
            for run in whole.runs
        ],
    }


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
