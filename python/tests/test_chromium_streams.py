"""A stream that a browser sends: what is refused, what browsers are told, what stands for them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from chromium_fixture import ALONE, altered

import gameway as gw
from gameway import _core
from gameway.beside import twin
from gameway.errors import InputError
from gameway.live.chromium import streams
from gameway.live.plan import Place, plan_of

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("before", "after", "wrong"),
    [
        ('controller = "gcc"', 'controller = "pudica"', r'controller = "pudica" is not what a bro'),
        ('controller = "gcc"', 'controller = { kind = "gcc", backoff = 0.9 }', "GCC of its own"),
        ("frame_rate = 30", "frame_rate = [30, 61]", r"frame_rate\.1 = 61 is too much"),
        (
            "frame_rate = 30",
            'fec = "10 %"',
            r'fec = "10 %" has no meaning here; only kind = "gamew',
        ),
        ("frame_rate = 30", 'picture_size = "640"', 'picture_size = "640" is no size of a picture'),
        ("frame_rate = 30", 'field_trials = "A/B"', 'field_trials = "A/B" is no list of field tri'),
        ('kind = "chromium"', 'kind = "firefox"', 'kind = "firefox" is no kind of stream'),
        ('kind = "chromium"', 'picture_size = "64x64"', 'only kind = "chromium" has it'),
    ],
)
def test_what_a_browser_does_not_have_is_refused(before: str, after: str, wrong: str) -> None:
    with pytest.raises(InputError, match=wrong) as refused:
        gw.loads(ALONE.replace(before, after))
    assert refused.value.line is not None


def test_a_simulation_is_refused_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r'kind = "chromium" cannot be simulated; .*--on live'):
        gw.run(altered(), tmp_path / "out")
    (run,) = gw.expand(altered())
    # A specification that is handed over past the check of files is refused, too.
    with pytest.raises(ValueError, match=r'stream "game": kind: Chromium .*--on live'):
        _core.run(json.dumps(run.spec), str(tmp_path))
    _core.check_spec(json.dumps(run.spec))


def test_other_pictures_than_its_own_are_refused(tmp_path: Path) -> None:
    shows = gw.LiveOptions(source="x11:xclock")
    with pytest.raises(InputError, match='--source: "x11:xclock" is not what a browser shows'):
        gw.run(altered(), tmp_path / "out", on="live", live=shows)


def test_keys_of_the_other_kind_are_no_factors() -> None:
    both = gw.expand(altered().with_overrides(["stream.game.kind=[chromium, gameway]"]))
    usual = {name: both[0].factors[name] for name in both[0].factors if name != "game_kind"}
    assert [run.factors for run in both] == [
        {**usual, "game_kind": "chromium"}, {**usual, "game_kind": "gameway"},
    ]  # fmt: skip
    browser, own = (run.spec["stream"][0] for run in both)
    assert (browser["kind"], browser["picture_size"]) == ("chromium", "640x360")
    of_ours = {
        "video",
        "repair",
        "feedback",
        "fec",
        "circuit_breaker",
        "recovery",
        "ladder",
        "content",
    }
    assert not of_ours & set(browser)
    assert not {"kind", "picture_size"} & set(own)


def test_the_browsers_are_told_what_the_file_says() -> None:
    more = ('picture_size = "320x180"', 'field_trials = "One/Enabled/"', 'stop = "8 s"')
    (run,) = gw.expand(altered(*more))
    plan = plan_of(run.spec)
    assert (plan.hosted, [one["name"] for one in plan.browsed]) == ([], ["game"])
    place = Place("/run/netns/a", "/run/netns/b", 7)
    config = streams.part_config(plan, plan.browsed[0], place)
    assert config | {"seed": 0} == {
        "epoch_ns": 7, "stream": "game", "address": "10.77.0.1",
        "namespaces": {"server": "/run/netns/a", "client": "/run/netns/b"}, "start_ns": 0,
        "stop_ns": 8_000_000_000, "end_ns": 10_000_000_000, "interval_ns": 100_000_000,
        "rates": {"min": 200_000, "start": 1_000_000, "max": 6_000_000}, "size": [320, 180],
        "frame_rate": 30, "field_trials": "One/Enabled/", "seed": 0,
    }  # fmt: skip
    assert 0 <= config["seed"] < 2**32


def test_the_twin_of_a_browser_is_our_gcc_within_the_same_bounds() -> None:
    (run,) = gw.expand(altered('field_trials = "One/Enabled/"'))
    (stream,) = twin.as_measured(run.spec, None)["stream"]
    assert stream == {
        "name": "game", "frame_rate": 30, "min_bitrate": "200 kb/s",
        "controller": {
            "kind": "gcc",
            "pacing_factor": 1.1,
            "pacing_burst": "40 ms",
            "sending_clock": "1 ms",
        },
        "start_bitrate": "1 Mb/s", "max_bitrate": "6 Mb/s", "start": "0 s", "video": "steady",
        "repair": "libwebrtc", "feedback": {"kind": "transport-wide", "interval": "60 ms"},
    }  # fmt: skip
    assert twin.scene_videos(altered()) == []
