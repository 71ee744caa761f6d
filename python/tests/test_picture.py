"""The picture of a stream that follows the bitrate: its metrics and its opinion score."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import gameway as gw
from gameway.metrics import per_run_table
from gameway.metrics.picture import Picture
from gameway.metrics.windows import Window

if TYPE_CHECKING:
    from pathlib import Path


def test_a_frame_has_the_size_of_the_newest_change() -> None:
    picture = Picture(np.array([1.0, 10.0, 20.0]), np.array([1.0, 0.5, 2 / 3]))
    pixels = picture.pixels_at(np.array([0.5, 1.0, 9.9, 10.0, 19.9, 30.0]))
    assert pixels.tolist() == pytest.approx([1.0, 1.0, 1.0, 0.25, 0.25, 4 / 9])
    found = picture.metrics(np.array([9.0, 11.0]), Window(5.0, 20.0))
    assert found == {"picture_percent": 62.5, "picture_changes": 1.0}


def test_a_picture_without_ladder_is_whole() -> None:
    whole = Picture(np.empty(0), np.empty(0))
    found = whole.metrics(np.array([1.0, 2.0]), Window(0.0, 9.0))
    assert found == {"picture_percent": 100.0, "picture_changes": 0.0}
    assert np.isnan(whole.metrics(np.empty(0), Window(0.0, 9.0))["picture_percent"])


LADDERS = """
title = "A picture that follows the bitrate"
duration = "40 s"
runs = 1

[path]
capacity = "2 Mb/s"
base_rtt = "20 ms"

[[stream]]
name = "game"
controller = "gcc"
min_bitrate = "500 kb/s"
ladder = ["none", "size", "frame-rate", "both"]
content = "high"
"""


def _rows(folder: Path) -> dict[str, dict[str, Any]]:
    """One run for each ladder, with less than all of the picture needs."""
    results = gw.run(gw.loads(LADDERS), folder)
    (factor,) = (name for name in results.factors if "ladder" in name)
    return {row[factor]: row for row in per_run_table(results).to_dicts()}


def test_frames_and_pixels_are_counted_in_tables_and_in_the_opinion_score(tmp_path: Path) -> None:
    rows = _rows(tmp_path / "out")
    pixels = {name: row["run_picture_percent"] for name, row in rows.items()}
    shown = {name: row["run_displayed_fps"] for name, row in rows.items()}
    assert pixels["none"] == pixels["frame-rate"] == 100.0
    assert 24.0 < pixels["size"] < 60.0
    assert shown["none"] > 50.0
    assert shown["size"] > 50.0
    assert 28.0 < shown["frame-rate"] < 40.0
    assert rows["none"]["run_picture_changes"] == 0.0
    assert rows["both"]["run_picture_changes"] >= 1.0
    # The score knows fewer pixels as more bits for each, and fewer frames as less steady.
    assert rows["size"]["run_mos_coding"] > rows["none"]["run_mos_coding"] + 0.1
    assert rows["frame-rate"]["run_mos_temporal"] < rows["none"]["run_mos_temporal"] - 0.1
