"""HTB and L4S for a game: the files, what is published, a short form of the runs, the claims."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import polars as pl
import pytest

import gameway as gw
from gameway import _core, experiments
from gameway.experiment.suite import load_suite
from gameway.experiments.ecgp import claims, measures, page, published, tables
from gameway.sweep import suite

if TYPE_CHECKING:
    from pathlib import Path

    from gameway.results import Results

SUITE = load_suite(experiments.folder() / "ecgp")


@pytest.mark.parametrize("part", SUITE.parts)
def test_every_part_can_run(part: str) -> None:
    for run in gw.expand(SUITE.parts[part]):
        _core.check_spec(json.dumps(run.spec))


def test_the_matrix_is_the_issue_s() -> None:
    runs = gw.expand(SUITE.parts["matrix"])
    conditions = {(r.spec["path"]["queue"]["kind"], r.factors["congestion_control"]) for r in runs}
    assert conditions == {(queue, tcp) for queue in measures.QUEUES for tcp in tables.COMPETITORS}
    assert {r.factors["rate_limit"] for r in runs} == {"10 Mb/s", "20 Mb/s", "30 Mb/s", "45 Mb/s"}
    assert len({r.factors["controller"] for r in runs}) == 7
    assert {r.spec["path"]["capacity"] for r in runs} == {"50 Mb/s"}


def test_published_values_are_those_of_the_slides() -> None:
    assert published.value("game", "droptail", "cubic", "latency_avg_ms") == 44.9
    assert published.value("tcp", "htb", "cubic", "latency_avg_ms") == 99.78
    assert published.value("total", "l4s", "cubic", "utilization_percent") == 81.36
    assert published.value("game", "droptail", "cubic", "bitrate_q2_mbps") is None, "not legible"
    for column, _ in tables.METRICS.values():
        assert column in _COLUMNS


_COLUMNS = {
    "delay_mean_ms", "delay_sd_ms", "over_10ms_percent", "over_20ms_percent", "over_50ms_percent",
    "over_100ms_percent", "bitrate_mbps", "bitrate_q1_mbps", "bitrate_q2_mbps", "bitrate_q3_mbps",
    "loss_percent", "utilization_percent",
}  # fmt: skip


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Results]:
    out: Path = tmp_path_factory.mktemp("ecgp")
    short = SUITE.only(["matrix", "alone", "ecn"]).with_overrides(
        [
            "runs=1", "duration=30 s",
            'matrix:controller=["scream"]', 'alone:controller=["scream"]',
            'matrix:competitor.download.rate_limit="45 Mb/s"',
        ]
    )  # fmt: skip
    return suite.run(short, out)


def test_separate_queues_protect_the_game_and_a_shared_one_does_not(
    parts: dict[str, Results],
) -> None:
    rows = measures.rows(parts["matrix"])
    assert rows["queue"].unique(maintain_order=True).to_list() == list(measures.QUEUES)
    delays = dict(rows.filter(competitor="cubic").select("queue", "game_delay_mean_ms").iter_rows())
    assert delays["dual-pi2"] < 1.0
    assert delays["htb"] < 2.0
    assert delays["drop-tail"] > 20.0, "the twin"
    l4s = rows.filter(queue="dual-pi2")
    assert l4s["game_over_10ms_percent"].to_list() == [0.0, 0.0]
    # What both got is what the link carried; headers of the acknowledgements are elsewhere.
    both = rows["game_utilization_percent"] + rows["tcp_utilization_percent"]
    assert (both - rows["utilization_percent"]).abs().max() < 1.0  # type: ignore[operator]


def test_claims_hold_and_fail_with_the_figures(parts: dict[str, Results]) -> None:
    rows = measures.rows(parts["matrix"])
    found = {(claim.text[:4], claim.condition): claim for claim in claims.of_queues(rows)}
    assert found["HTB:", "cubic"].condition == "cubic"
    told = {
        claim.text: claim.holds for claim in claims.of_queues(rows) if claim.condition == "cubic"
    }
    assert told["HTB: the game waits under 2 ms on average"]
    assert told["L4S: the game waits under 1 ms on average, never 10"]
    # The twin: the figures of drop-tail under the name of L4S.
    wrong = rows.with_columns(queue=pl.lit("dual-pi2")).filter(pl.col("game_delay_mean_ms") > 20.0)
    swapped = {c.text: c.holds for c in claims.of_queues(wrong)}
    assert not swapped["L4S: the game waits under 1 ms on average, never 10"]


def test_the_page_tells_published_beside_ours(parts: dict[str, Results]) -> None:
    made = page.page(parts)
    titles = [section.title for section in made.sections]
    assert titles[:3] == ["Claims", "Synthetic table", "All controllers and queues"]
    game = made.sections[1].tables[0].frame
    assert "(44.9)" in game["drop-tail, cubic"][0]
    long = made.sections[1].tables[0].file_frame
    assert long is not None
    assert (long["difference"] - (long["ours"] - long["published"])).drop_nulls().abs().max() < 1e-9  # type: ignore[operator]
