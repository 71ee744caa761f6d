"""The driver of live runs: what they need, how they are computed, how long they take."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from gameway import _core
from gameway.errors import InputError
from gameway.live import limits, namespaces, offers
from gameway.live.chromium import streams
from gameway.live.plan import plan_of
from gameway.live.sources import OPTION, How, Source
from gameway.live.video import films, player, videos
from gameway.live.video.content import SCENES, Content
from gameway.on import LiveOptions, On
from gameway.sweep.drivers import Driver

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from gameway.expansion import Run
    from gameway.experiment import Experiment

ENDING_S = 1.5
"""From the end of a run's time to the next run: tables are written, namespaces are removed."""

MINUTE_S = 60


def _require_streams() -> None:
    """Refuse, with what to do, where the build only simulates."""
    if not _core.encoders():
        told = "this build has no live streams: `make setup` makes one that has"
        raise namespaces.LiveError(told)


def _check_scene(how: How) -> None:
    """Refuse other pictures than those that a browser draws."""
    if how.source != Source():
        hint = f"{streams.WHO} draw a scene of their own: leave this out"
        raise InputError(
            "is not what a browser shows", file=OPTION, value=how.source.fact(), hint=hint
        )


def _check(how: How, experiment: Experiment, runs: list[Run]) -> None:
    """Refuse what cannot run live: of the experiment, then of this machine."""
    limits.check(experiment)
    plans = [plan_of(run.spec) for run in runs]
    hosted = any(one.hosted for one in plans)
    if hosted or any(one.downloads for one in plans):
        _require_streams()
    if hosted:
        how.source.check()
    namespaces.require()
    competing = any(one.transfers for one in plans)
    filmed = any(one.videos for one in plans)
    browsed = any(one.browsed for one in plans)
    pinged = any(run.spec.get("ping") for run in runs)
    needed = ["ip", "nsenter", "setpriv", "sysctl", *(["iperf3"] * competing), *(["ping"] * pinged),
              *(["nginx", "chromium", "ffmpeg"] * filmed)]  # fmt: skip
    offers.check_tools(needed)
    if filmed:
        player.check()
    if browsed:
        _check_scene(how)
        streams.check()


def _facts(how: How) -> dict[str, Any]:
    from gameway.live import lateness  # noqa: PLC0415 (as below)

    found = offers.facts() | {"lateness_bound_ns": lateness.BOUND_NS, "source": how.source.fact()}
    if how.film is not None:
        found["film"] = how.film.fact()
    return {"live": found}


def _expected(runs: list[Run]) -> str:
    """Say how long runs take, one after the other."""
    plans = [plan_of(run.spec) for run in runs]
    seconds = sum((one.duration_ns + one.setup_ns) / 1e9 + ENDING_S for one in plans)
    told = f"{seconds:.0f} s" if seconds < 2 * MINUTE_S else f"{seconds / MINUTE_S:.0f} min"
    many = "1 run" if len(runs) == 1 else f"{len(runs)} runs, one after the other,"
    return f"{many} in real time: about {told}"


def _run_one(how: How, spec: dict[str, Any], recorded: dict[str, Any], target: Path) -> None:
    from gameway.live.run import run_one  # noqa: PLC0415 (polars is heavy; help must be quick)

    run_one(spec, recorded, target, how)


def _prepare(how: How, runs: list[Run], tell: Callable[[str], None]) -> None:
    from gameway.live.run import prepare  # noqa: PLC0415 (as above)

    prepare()
    for run in runs:
        own = plan_of(run.spec)
        for video in own.videos:
            films.make(videos.film_of(own, video, how.film), tell)


def _stop() -> None:
    from gameway.live.run import STOPPING  # noqa: PLC0415 (as above)

    STOPPING.set()


def live_driver(options: LiveOptions) -> Driver:
    """Give the driver of live runs that are done so; InputError if they cannot be."""
    film = None if options.film == SCENES else Content.parse(options.film)
    how = How(Source.parse(options.source), options.pcap, film)
    return Driver(
        On.live,
        partial(_run_one, how),
        check=partial(_check, how),
        facts=partial(_facts, how),
        max_jobs=1,
        prepare=partial(_prepare, how),
        stop=_stop,
        expected=_expected,
    )


LIVE = live_driver(LiveOptions())
"""With the built-in scene, and without a capture."""
