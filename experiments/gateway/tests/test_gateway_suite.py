"""A home behind a provider's queue: the files, a short form of the runs, what the page says."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import polars as pl
import pytest

import gameway as gw
from gameway import _core, experiments
from gameway.experiment.suite import load_suite
from gameway.experiments.gateway import measures, page
from gameway.sweep import suite

if TYPE_CHECKING:
    from pathlib import Path

    from gameway.results import Results

SUITE = load_suite(experiments.folder() / "gateway")
AT_ACCESS_POINT = {
    "nothing", "VoAP", "windows by frames",
    "airtime", "airtime, VoAP", "airtime, windows by frames",
}  # fmt: skip
SHAPERS = {f"{name} at {share} %" for name in ("CAKE", "FQ-CoDel") for share in (95, 70, 150)}


@pytest.mark.parametrize("part", SUITE.parts)
def test_every_part_can_run(part: str) -> None:
    link = measures.LINKS_MBPS[measures.link_of(part)]
    found = set()
    for run in gw.expand(SUITE.parts[part]):
        _core.check_spec(json.dumps(run.spec))
        (hop,) = run.spec["path"]["hop"]
        assert (hop["name"], hop["place"]) == (measures.PROVIDER, "in-front")
        found.add(measures.variant_of(run.spec["path"], link))
    ends = {"sqm": SHAPERS, "follow": set(measures.FOLLOWING)}
    expected = ends.get(part.rpartition("-")[2], {"nothing", "VoAP", "windows"})
    assert found == (AT_ACCESS_POINT if measures.link_of(part) in {"ac", "n"} else expected)


def test_both_files_of_a_link_differ_in_what_the_home_does_alone() -> None:
    def rest(part: str) -> set[str]:
        found = set()
        for run in gw.expand(SUITE.parts[part]):
            path = {k: v for k, v in run.spec["path"].items() if k not in {"queue", "gateway"}}
            found.add(json.dumps([path, run.spec["competitor"], run.spec["duration"]]))
        return found

    for part in SUITE.parts:
        if part.endswith("-sqm"):
            assert rest(part) == rest(part.removesuffix("-sqm"))


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Results]:
    out: Path = tmp_path_factory.mktemp("gateway")
    short = SUITE.only(["constant-one", "constant-one-sqm"]).with_overrides(
        [
            "runs=2",
            'competitor.download.kind="tcp"',
            'competitor.download.congestion_control="cubic"',
        ]
    )
    return suite.run(short, out)


def test_windows_takes_the_providers_queue_away_and_keeps_the_link_full(
    parts: dict[str, Results],
) -> None:
    rows = measures.rows(parts)
    means = rows.group_by("variant").agg(pl.selectors.numeric().mean())
    wait = dict(means.select("variant", "wait_p99_ms").iter_rows())
    link = dict(means.select("variant", "link_percent").iter_rows())
    assert wait["nothing"] > 150.0, "the twin"
    # What the gateway sees is its own queue, which is empty.
    assert wait["VoAP"] == pytest.approx(wait["nothing"], rel=0.1)
    assert wait["windows"] < 20.0
    assert link["windows"] > 98.0
    # A shaper has the queue at the price of its rate, and does not have it where that is too high.
    assert wait["CAKE at 95 %"] < 20.0
    assert 92.0 < link["CAKE at 95 %"] < 96.0
    assert link["FQ-CoDel at 70 %"] < 72.0
    assert wait["CAKE at 150 %"] > 100.0


def test_the_page_has_a_row_for_each_variant(parts: dict[str, Results]) -> None:
    made = page.page(parts)
    (section,) = made.sections
    (table,) = section.tables
    assert set(table.frame["variant"]) == {"nothing", "VoAP", "windows", *SHAPERS}
    assert len(section.figures) == 2
    (told,) = made.statement
    assert "with windows" in told


def test_an_access_point_with_a_queue_for_each_station_keeps_wait_and_frames(
    tmp_path: Path,
) -> None:
    short = SUITE.only(["ac-one", "ac-twenty"]).with_overrides(
        ["runs=1", "duration=16s", "ac-one:competitor.download.kind=tcp"]
    )
    rows = measures.rows(suite.run(short, tmp_path))
    for (kind,), of_kind in rows.group_by("downloads"):
        value = {
            name: dict(of_kind.select("variant", name).iter_rows())
            for name in ("wait_p99_ms", "downloads_mbps")
        }
        wait, rate = value["wait_p99_ms"], value["downloads_mbps"]
        for ours in ("airtime", "airtime, windows by frames"):
            assert 0.5 < wait[ours] < 5.0 < wait["nothing"], (kind, ours)
            assert 0.97 < rate[ours] / rate["nothing"] < 12.0, (kind, ours)
