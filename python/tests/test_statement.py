"""The first sentences of a report say what the tests beneath them show, and no more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metrics_fixture import Behaviour, Condition, FolderResults, Timing, make_results

from gameway.metrics.summary import summary_table
from gameway.report.statement import statement

if TYPE_CHECKING:
    from pathlib import Path

TIMING = Timing(duration=54.0, start=18.5, stop=37.0)
# Of 25 Mb/s: 21 and 3 are 0.72 of it apart, 12 and 12 nothing, 8 and 15 are 0.28 apart.
YIELDING = Behaviour(adjusted=3.0, competitor=21.0)
EVEN = Behaviour(adjusted=12.0, competitor=12.0)
BEHIND = Behaviour(adjusted=8.0, competitor=15.0)


def told(folder: Path, conditions: list[Condition], runs: int = 3) -> list[str]:
    made: FolderResults = make_results(folder, conditions, runs=runs, timing=TIMING)
    return statement(made, summary_table(made))


def of(name: str, behaviour: Behaviour, queue: str = "2 bdp") -> Condition:
    return Condition({"controller": name, "queue_size": queue}, behaviour, name, queue=queue)


def test_who_yields_and_who_keeps_a_share(tmp_path: Path) -> None:
    shares, *_ = told(tmp_path, [of("pudica", YIELDING), of("gcc", EVEN), of("nada", BEHIND)])
    assert shares == (
        "Beside a download, pudica has far less than an equal share, gcc has an equal share and "
        "nada has less than an equal share."
    )


def test_controllers_alike_share_a_clause(tmp_path: Path) -> None:
    shares, *_ = told(tmp_path, [of("gcc", EVEN), of("nada", EVEN)])
    assert shares == "Beside a download, gcc and nada have an equal share."


def test_a_share_that_the_queue_decides_is_said_to_depend_on_it(tmp_path: Path) -> None:
    greedy = Behaviour(adjusted=21.0, competitor=3.0)
    shares, *_ = told(
        tmp_path, [of("gcc", YIELDING, "0.5 bdp"), of("gcc", greedy, "2 bdp"), of("nada", EVEN)]
    )
    assert shares == (
        "Beside a download, nada has an equal share and gcc has from far less to far more than an "
        "equal share, depending on the queue size."
    )


def test_runs_that_scatter_over_a_bound_have_a_share_on_average_only(tmp_path: Path) -> None:
    # Means are 0.28 of the capacity apart, but repeats 6 Mb/s from each other.
    conditions = [of("nada", BEHIND)]
    made = make_results(tmp_path, conditions, runs=3, timing=TIMING, offset_mbps=6.0)
    shares, *_ = statement(made, summary_table(made))
    assert shares == "Beside a download, nada has less than an equal share on average."


def test_lost_frames_are_told_with_the_condition_that_is_worst(tmp_path: Path) -> None:
    losing = Behaviour(skipped_every=4)
    _, frames, *_ = told(
        tmp_path, [of("gcc", losing, "0.5 bdp"), of("gcc", EVEN, "2 bdp"), of("nada", EVEN)]
    )
    assert frames.startswith("At worst gcc loses 2")
    assert "% of its frames (0.5 bdp) and nada shows nearly every frame." in frames


def test_nothing_lost_is_one_sentence(tmp_path: Path) -> None:
    _, frames, *_ = told(tmp_path, [of("gcc", EVEN), of("nada", EVEN)])
    assert frames == "Nearly every frame is shown: 98 % or more."


def test_the_shortest_round_trip_must_be_clear(tmp_path: Path) -> None:
    queue = Behaviour(rtt_competing_ms=60.0)
    *_, waiting = told(tmp_path / "clear", [of("gcc", EVEN), of("nada", queue)])
    assert waiting == (
        "gcc keeps the round-trip time clearly shortest: 40 ms on average, with nada 60 ms."
    )
    # One run has no interval, so that nothing is clear.
    *_, waiting = told(tmp_path / "one", [of("gcc", EVEN), of("nada", queue)], runs=1)
    assert waiting.startswith("No controller clearly has the shortest round-trip time: 40 to 60 ms")
    *_, waiting = told(tmp_path / "alike", [of("gcc", EVEN), of("nada", EVEN)])
    assert waiting.startswith("The controller makes little difference to the round-trip time")
