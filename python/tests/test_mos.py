"""Opinion scores against values that were worked out by hand from the formulas of G.1072."""

# ruff: noqa: ERA001 - the workings by hand look like code

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opinion_vectors import vectors

from gameway.metrics.mos import (
    MAX_MOS,
    MIN_MOS,
    GameClass,
    StreamQuality,
    impairments,
    mos_of_rating,
    opinion_score,
    planned_frame_loss_percent,
)

LOW, MEDIUM, HIGH = GameClass.LOW, GameClass.MEDIUM, GameClass.HIGH


def quality(**changes: float) -> StreamQuality:
    defaults = {"bitrate_mbps": 10.0, "frame_rate": 60.0, "delay_ms": 40.0}
    values = defaults | {"frame_loss_percent": 0.0} | changes
    return StreamQuality(**values)  # type: ignore[arg-type]


def test_worked_example_of_the_high_class() -> None:
    # bpp = 10e6 / (1920 * 1080 * 60) = 0.0803755; exp(-12.0699723 bpp) = 0.379054
    # complexity = 7.62306351 exp(-167.837954 bpp) + 0.0760332685 = 7.623 * 1.3834e-6 + 0.0760
    # coding = 47.7463038 * 0.379054 + 9.05167501 * 0.0760438 + 3.41919377 = 22.2059
    # frames: 54.71 + 0.02589 * 3600 - 2.485 * 60 = -1.186, clipped to 0
    # temporal: 47.03 + 0.01747 * 3600 - 1.823 * 60 = 0.542
    # delay: 90 / (1 + exp(1.191 - 0.391)) - 18.73 = 90 / 3.225541 - 18.73 = 9.1722
    terms = impairments(quality())
    assert terms.coding == pytest.approx(22.2059, abs=2e-3)
    assert terms.frames == 0.0
    assert terms.temporal == pytest.approx(0.542, abs=1e-9)
    assert terms.delay == pytest.approx(9.1722, abs=1e-3)
    assert terms.transmission == 0.0
    # R = 100 - 0.788 * 22.2059 - 0.227 * 0.542 - 0.848 * 9.1722 = 74.6007
    assert terms.rating == pytest.approx(74.6007, abs=3e-3)
    # 1.3 + 3.34 * 0.746007 + 7e-6 * 74.6007 * 14.6007 * 25.3993 = 1.3 + 2.49166 + 0.19366
    assert opinion_score(quality()).overall == pytest.approx(3.9853, abs=1e-3)


def test_worked_example_of_the_low_class_with_lost_frames() -> None:
    # 10 % of frames lost: ln(11) = 2.397895
    # frames: 23.43 + 0.008574 * 3600 - 0.9253 * 60 + 5.855 * 2.397895 = -1.2216 + 14.0397
    # temporal: 29.13 + 0.01344 * 3600 - 1.283 * 60 + 6.724 * 2.397895 = 0.534 + 16.1234
    # delay: 47.97 / (1 + exp(2.097 - 0.4292)) - 4.567 = 47.97 / 6.300511 - 4.567 = 3.0467
    terms = impairments(quality(frame_loss_percent=10.0), LOW, LOW)
    assert terms.frames == pytest.approx(12.8181, abs=1e-3)
    assert terms.temporal == pytest.approx(16.6574, abs=1e-3)
    assert terms.delay == pytest.approx(3.0467, abs=1e-3)


def test_medium_and_high_games_interact_alike_but_encode_differently() -> None:
    medium, high = (impairments(quality(frame_loss_percent=5.0), c, c) for c in (MEDIUM, HIGH))
    assert (medium.frames, medium.temporal, medium.delay) == (
        high.frames,
        high.temporal,
        high.delay,
    )
    assert medium.coding != high.coding


def test_transmission_of_broken_slices() -> None:
    # m = (74.0570804 - 22.2059) * 0.01 / (22.2059 * 4.06000335e-3 + 0.01) = 0.518512 / 0.100156
    # e = 2.58892015e-8 (exp(0.868406685 * 5.17704) - 1); exp(4.49577) = 89.64
    # transmission = 1.57176227 ln(1 + 3.68595885 * 2.29484e-6) = 1.3295e-5
    terms = impairments(quality(slice_loss=0.01))
    assert terms.transmission == pytest.approx(1.3295e-5, rel=2e-3)


def test_planning_mode_by_hand() -> None:
    # (0.08526 + 0.0438 + 1.425e-4 * 600) * (0.09656 * 40 - 1.5) * 1 = 0.21456 * 2.3624 = 0.506877
    assert planned_frame_loss_percent(1.0, 40.0, 60.0, 10.0) == pytest.approx(39.762, abs=2e-3)
    assert planned_frame_loss_percent(1.0, 15.9, 60.0, 10.0) == 0.0
    assert planned_frame_loss_percent(0.0, 40.0, 60.0, 10.0) == 0.0


@pytest.mark.parametrize(
    ("rating", "score"),
    [
        (-5.0, MIN_MOS),
        (0.0, MIN_MOS),
        (50.0, 1.3 + 1.67 - 7e-6 * 50 * 10 * 50),
        (60.0, 1.3 + 3.34 * 0.6),
        (80.0, 1.3 + 3.34 * 0.8 + 7e-6 * 80 * 20 * 20),
        (100.0, MAX_MOS),
        (120.0, MAX_MOS),
    ],
)
def test_score_of_a_rating(rating: float, score: float) -> None:
    assert mos_of_rating(rating) == pytest.approx(score, abs=1e-12)


def test_the_ends_of_the_scale_are_reached() -> None:
    worst = StreamQuality(0.3, 10.0, 400.0, 100.0)
    best = StreamQuality(50.0, 60.0, 0.0, 0.0)
    assert opinion_score(worst).overall == MIN_MOS
    assert 4.5 < opinion_score(best).overall <= MAX_MOS
    assert opinion_score(best).frames == MAX_MOS


def test_inputs_beyond_the_model_are_brought_to_its_ends() -> None:
    beyond = opinion_score(quality(delay_ms=900.0, frame_rate=120.0, bitrate_mbps=80.0))
    assert beyond == opinion_score(quality(delay_ms=400.0, frame_rate=60.0, bitrate_mbps=50.0))


classes = st.sampled_from(list(GameClass))
percents = st.floats(0.0, 100.0)
delays = st.floats(0.0, 400.0)


@given(classes, classes, delays, delays, percents)
def test_more_delay_is_never_better(
    interaction: GameClass, video: GameClass, one: float, other: float, loss: float
) -> None:
    low, high = sorted((one, other))
    near = opinion_score(quality(delay_ms=low, frame_loss_percent=loss), interaction, video)
    far = opinion_score(quality(delay_ms=high, frame_loss_percent=loss), interaction, video)
    assert far.overall <= near.overall + 1e-12
    assert far.delay <= near.delay + 1e-12


@given(classes, classes, percents, percents, delays)
def test_more_lost_frames_are_never_better(
    interaction: GameClass, video: GameClass, one: float, other: float, delay: float
) -> None:
    low, high = sorted((one, other))
    few = opinion_score(quality(delay_ms=delay, frame_loss_percent=low), interaction, video)
    many = opinion_score(quality(delay_ms=delay, frame_loss_percent=high), interaction, video)
    assert many.overall <= few.overall + 1e-12


@given(classes, st.floats(0.3, 50.0), st.floats(0.3, 50.0))
def test_more_bitrate_is_never_worse(video: GameClass, one: float, other: float) -> None:
    low, high = sorted((one, other))
    poor = impairments(quality(bitrate_mbps=low), HIGH, video).coding
    rich = impairments(quality(bitrate_mbps=high), HIGH, video).coding
    assert rich <= poor + 1e-9


@given(percents, delays, st.floats(10.0, 60.0), st.floats(0.3, 50.0))
def test_planned_loss_is_a_share(loss: float, delay: float, rate: float, bitrate: float) -> None:
    planned = planned_frame_loss_percent(loss, delay, rate, bitrate)
    assert 0.0 <= planned <= 100.0
    assert math.isfinite(planned)


@given(classes, classes, percents, delays)
def test_scores_stay_on_the_scale(
    interaction: GameClass, video: GameClass, loss: float, delay: float
) -> None:
    score = opinion_score(quality(frame_loss_percent=loss, delay_ms=delay), interaction, video)
    for value in (score.overall, score.coding, score.temporal, score.frames, score.delay):
        assert MIN_MOS <= value <= MAX_MOS
    assert score.overall <= min(score.coding, score.delay) + 1.2


def test_the_vectors_of_the_page_are_this_model_s() -> None:
    file = Path(__file__).parent / "opinion_vectors.json"
    kept = json.loads(file.read_text(encoding="utf-8"))
    made = vectors()
    assert [one["quality"] for one in kept] == [one["quality"] for one in made]
    for one, other in zip(kept, made, strict=True):
        assert one["score"] == pytest.approx(other["score"], abs=1e-8)
        assert one["penalties"] == pytest.approx(other["penalties"], abs=1e-8)
