"""A game and videos on one link: the files, a short form of the runs, claims and their twins."""

from __future__ import annotations

import json
from importlib import import_module
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import gameway as gw
from gameway import _core, experiments
from gameway.experiment.suite import load_suite
from gameway.metrics import phases, video_table
from gameway.metrics.source import finished_runs
from gameway.metrics.windows import Window
from gameway.sweep import suite

if TYPE_CHECKING:
    from pathlib import Path

    from gameway.results import Results

dash, claims, measures, tables = (
    import_module(f"gameway.experiments.xu-claypool-dash.{name}")
    for name in ("page", "claims", "measures", "tables")
)
SUITE = load_suite(experiments.folder() / "xu-claypool-dash")
SHORT = [
    "runs=1", "duration=90 s", "competitor.video.start=30 s", "competitor.video.stop=60 s",
    'path.queue.size=["0.5 bdp", "7 bdp"]', 'path.capacity=["35 Mb/s", "15 Mb/s"]',
    'controller=["sqp", { kind = "fixed", bitrate = "12 Mb/s" }]',
]  # fmt: skip


@pytest.mark.parametrize("part", SUITE.parts)
def test_every_part_can_run(part: str) -> None:
    runs = gw.expand(SUITE.parts[part])
    for run in runs[: len(runs) // SUITE.parts[part].runs]:
        _core.check_spec(json.dumps(run.spec))


def test_the_scenario_is_the_paper_s() -> None:
    runs = gw.expand(SUITE.parts["paper"])
    assert len(runs) == 15 * 9 * 8
    assert {run.factors["capacity"] for run in runs} == {"15 Mb/s", "25 Mb/s", "35 Mb/s"}
    assert {run.factors["queue_size"] for run in runs} == {"0.5 bdp", "1 bdp", "7 bdp"}
    spec = runs[0].spec
    assert (spec["duration"], spec["path"]["base_rtt"]) == ("540 s", "16 ms")
    assert spec["stream"][0]["max_bitrate"] == "27.5 Mb/s"
    (video,) = spec["competitor"]
    assert (video["kind"], video["start"], video["stop"]) == ("dash", "190 s", "380 s")
    assert (video["adaptation"], video["segment_length"]) == ("dynamic", "4 s")
    assert video["congestion_control"] == "cubic"
    assert not {"ladder", "buffer", "top_buffer", "size_spread"} & set(video), "as by default"
    # Striped: every condition once before any comes again.
    assert [run.repeat for run in runs] == sorted(run.repeat for run in runs)
    assert claims.limits() == (22.0, 0.09)


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Results]:
    out: Path = tmp_path_factory.mktemp("dash")
    beside = suite.run(SUITE.only(["paper"]).with_overrides(SHORT), out)
    first = SUITE.only(["video-first"]).with_overrides(
        [*SHORT[:2], *SHORT[4:], "stream.game.start=30 s", "stream.game.stop=60 s"]
    )
    alone = SUITE.only(["video-alone"]).with_overrides(
        ["competitor.video.start=30 s", "competitor.video.stop=60 s", "duration=70 s"]
    )
    return beside | suite.run(first, out) | suite.run(alone, out)


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Results:
    times = {"video": (15, 75), "web": (30, 83), "download": (45, 65)}
    short = SUITE.only(["mixed"]).with_overrides(
        ["runs=1", "duration=90 s", "controller=gcc", "path.capacity=25 Mb/s",
         "path.queue.size=1 bdp"]
        + [f"competitor.{name}.start={start} s" for name, (start, _) in times.items()]
        + [f"competitor.{name}.stop={stop} s" for name, (_, stop) in times.items()]
    )  # fmt: skip
    return suite.run(short, tmp_path_factory.mktemp("mixed"))["mixed"]


def test_the_window_is_the_paper_s() -> None:
    whole = phases.Phase(1, Window(190.0, 380.0), ())
    assert (whole.settled, whole.level) == (Window(220.0, 370.0), Window(320.0, 380.0))
    short = phases.Phase(0, Window(0.0, 95.0), ())
    assert (short.settled, short.played) == (Window(15.0, 90.0), Window(15.0, 95.0))


def test_phases_are_the_spans_in_which_the_same_flows_are_there(mixed: Results) -> None:
    (run,) = finished_runs(mixed)
    found = phases.phases_of(run)
    assert [(phase.window.start_s, phase.present) for phase in found] == [
        (0.0, "game"),
        (15.0, "game + video"),
        (30.0, "game + video + web"),
        (45.0, "game + video + web + download"),
        (65.0, "game + video + web"),
        (75.0, "game + web"),
        (83.0, "game"),
    ]
    rows = measures.rows(mixed)
    assert rows.height == 1 + 2 + 3 + 4 + 3 + 2 + 1
    everybody = rows.filter(phase=3)
    assert set(everybody["kind"]) == {"game", "video", "web", "download"}
    assert everybody["mbps"].min() > 0.0  # type: ignore[operator]
    assert everybody["mbps"].sum() < 25.0
    assert rows.filter(phase=0)["mbps"].item() > 15.0


def test_a_stream_that_does_not_react_leaves_the_video_what_fits(
    parts: dict[str, Results],
) -> None:
    own = measures.rows(parts["paper"]).filter(controller="fixed", phase=1)
    tight, wide = (own.filter(capacity=capacity) for capacity in ("15 Mb/s", "35 Mb/s"))
    # 15 - 12 Mb/s carries the lowest level and no other; 35 - 12 every one, most of them too late.
    for quality in tight.filter(kind="video")["quality_mbps"]:
        assert 2.0 <= quality < 2.5
    for quality in wide.filter(kind="video")["quality_mbps"]:
        assert 6.0 < quality <= 14.0
    for mbps in own.filter(kind="game")["mbps"]:
        assert 10.0 < mbps < 12.5
    ratios = measures.difference_ratio(own).join(own.filter(kind="game"), on="run")
    found = dict(ratios.group_by("capacity").agg(pl.col("ratio").mean()).iter_rows())
    assert 0.4 < found["15 Mb/s"] < 0.8
    assert -0.6 < found["35 Mb/s"] < 0.0


def test_what_phases_tell_of_a_video_adds_up_to_its_metrics(parts: dict[str, Results]) -> None:
    own = measures.rows(parts["video-first"]).filter(kind="video")
    whole = video_table(parts["video-first"])
    added = own.group_by("run").agg(pl.col("interruptions", "interrupted_s").sum())
    both = added.join(whole, on="run", suffix="_whole")
    assert both.height == 8
    for name in ("interruptions", "interrupted_s"):
        for parts_of, video in zip(both[name], both[f"{name}_whole"], strict=True):
            assert parts_of == pytest.approx(video)
    started = own.filter(pl.col("startup_s").is_not_nan())
    assert set(started["phase"]) == {0}


def test_who_paid_is_who_keeps_less(parts: dict[str, Results]) -> None:
    alone = tables.quality_alone(measures.rows(parts["video-alone"]))
    assert alone["15 Mb/s"] < alone["35 Mb/s"] <= 17.5
    means = tables.means_of(tables.sides(measures.rows(parts["paper"]), alone))
    tight = means.filter(controller="fixed", capacity="15 Mb/s")
    assert set(tight["paid"]) == {"viewer"}
    for keeps in tight["game_keeps"]:
        assert 85.0 < keeps < 105.0
    assert [tables.payer(*pair) for pair in ((50.0, 90.0), (90.0, 50.0), (52.0, 50.0))] == [
        "game", "viewer", "both alike",
    ]  # fmt: skip
    assert tables.payer(None, 50.0) == tables.payer(float("nan"), 50.0) == "\N{EN DASH}"


def test_the_page_has_both_figures_and_all_verdicts(parts: dict[str, Results]) -> None:
    three = {name: parts[name] for name in ("paper", "video-first", "video-alone")}
    made = dash.page(three)
    assert [section.title for section in made.sections] == [
        "Claims", "Bitrates and fairness", "Who paid", "Video first, game later",
        "The video alone", "Claims in detail",
    ]  # fmt: skip
    assert [one.id for one in made.sections[1].figures] == ["bitrates", "ratios"]
    (matrix,) = made.sections[0].tables
    assert set(matrix.frame.columns) == {"claim", "sqp", "fixed"}
    # Of sixteen; without a typical queue and a download, nothing can be said of four.
    assert matrix.frame.height == len(made.statement) == 12
    assert {"yes", "no"} <= set(matrix.frame["fixed"])


MAX_MBPS = 27.5
LUNA = {"0.5 bdp": 0.6, "1 bdp": 0.5, "7 bdp": 0.3}
GEFORCE = {"0.5 bdp": 0.3, "1 bdp": 0.6, "7 bdp": 0.3}


def told_rows(shares: dict[str, float], **other: float) -> pl.DataFrame:
    """Rows of a controller of which the paper's text is true; `other` is what is not so."""
    found = []
    for capacity in (15.0, 25.0, 35.0):
        for queue, share in shares.items():
            alone = 0.95 * min(capacity, MAX_MBPS)
            after = alone * other.get("after", 1.0)
            rtt = other.get("deep_rtt_ms", 80.0) if queue == "7 bdp" else 25.0
            game: dict[str, Any] = {"kind": "game", "fps": other.get("fps", 59.5), "rtt_ms": rtt}
            video = {
                "kind": "video", "mbps": other.get("video", 0.4) * capacity,
                "switches": other.get("switches", 2.0),
                "interruptions": other.get("halts", 0.0) if capacity > 15.0
                else other.get("halts_at_15", 1.0),
            }  # fmt: skip
            quiet = {"kind": "game", "rtt_ms": other.get("rtt_ms", 17.0),
                     "loss_percent": other.get("loss", 0.0)}  # fmt: skip
            beside = capacity * share if "beside" not in other else alone * other["beside"]
            rows = [
                {"phase": 0, **quiet, "mbps": alone, "level_mbps": other.get("alone", alone)},
                {"phase": 1, **game, "mbps": beside},
                {"phase": 1, **video},
                {"phase": 2, **quiet, "mbps": after, "level_mbps": after},
            ]
            keys = {"run": f"{capacity} {queue}", "repeat": 0, "controller": "made-up",
                    "capacity": f"{capacity:g} Mb/s", "queue_label": queue,
                    "capacity_mbps": capacity}  # fmt: skip
            found += [keys | row for row in rows]
    numbers = dict.fromkeys(phases.NUMBERS, pl.Float64)
    return pl.DataFrame(found, schema_overrides=numbers, infer_schema_length=None)


def verdicts(rows: pl.DataFrame, download: pl.DataFrame | None = None) -> dict[str, bool]:
    return {claim.text: claim.holds for claim in claims.of_paper(rows, MAX_MBPS, download)}


def of(found: dict[str, bool], begin: str) -> bool:
    (holds,) = [holds for text, holds in found.items() if text.startswith(begin)]
    return holds


def test_what_the_text_says_holds_where_it_is_so() -> None:
    worse = told_rows(LUNA, deep_rtt_ms=400.0)
    luna = verdicts(told_rows(LUNA), worse)
    assert len(luna) == 16
    assert {text for text, holds in luna.items() if not holds} == {
        text for text in luna if text.startswith("GeForce's way")
    }
    geforce = verdicts(told_rows(GEFORCE))
    assert len(geforce) == 15
    assert {text for text, holds in geforce.items() if not holds} == {
        text for text in geforce if text.startswith("Luna's way")
    }


@pytest.mark.parametrize(
    ("begin", "other"),
    [
        ("No self-induced", {"rtt_ms": 23.0}),
        ("No self-induced", {"loss": 0.2}),
        ("Alone, near", {"alone": 8.0}),
        ("The bitrate decreases", {"beside": 0.97}),
        ("It recovers", {"after": 0.9}),
        ("Beside the video", {"fps": 50.0}),
        ("Bloated queues", {"deep_rtt_ms": 25.0}),
        ("The video gets less", {"video": 0.6}),
        ("It switches", {"switches": 0.5}),
        ("Interruptions are low", {"halts": 2.0}),
        ("No interruption at 25", {"halts": 1.0}),
        ("Interruptions at 15", {"halts_at_15": 0.0}),
    ],
)
def test_a_claim_that_is_not_so_does_not_hold(begin: str, other: dict[str, float]) -> None:
    assert of(verdicts(told_rows(LUNA)), begin)
    assert not of(verdicts(told_rows(LUNA, **other)), begin)


def test_a_download_that_does_no_more_is_found() -> None:
    same = told_rows(LUNA)
    assert not of(verdicts(same, same), "Beside a video")
