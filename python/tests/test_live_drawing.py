"""How old a picture is when it is captured, on X11 and on Wayland, and what that costs."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from screen_fixture import screen_with_key
from test_live_wayland import BLUE, desktop, why_not

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).parent
PROGRAM = HERE.parents[1] / "target" / "release" / "examples" / "capture"
SIZE = (1280, 720)
SECONDS = int(os.environ.get("GAMEWAY_DRAWING_SECONDS", "2"))
"""For how long each; with 20 in the environment in turn three times, on a quiet machine."""
ROUNDS = 1 if SECONDS < 20 else 3
LIMIT_S = SECONDS + 30
pytestmark = [
    pytest.mark.timed,
    pytest.mark.skipif(bool(why_not()), reason=why_not() or "all is there"),
    pytest.mark.skipif(not PROGRAM.exists(), reason="needs the example capture: cargo test"),
    pytest.mark.skipif(shutil.which("Xvfb") is None, reason="needs Xvfb"),
]


def words(kind: str) -> list[str]:
    source = "x11" if kind == "x11" else "portal"
    own = [str(PROGRAM), source, *map(str, SIZE), str(SECONDS)]
    return [sys.executable, str(HERE / "drawing_program.py"), kind, *own]


def on_x11(folder: Path) -> str:
    with screen_with_key(folder, SIZE) as own:
        done = subprocess.run(
            words("x11"), env=os.environ | own, stdout=subprocess.PIPE, timeout=LIMIT_S, check=True
        )
    return done.stdout.decode()


def on_wayland(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("DESKTOP_SIZE", "x".join(map(str, SIZE)))
    with desktop(folder, BLUE, *words("wayland")) as own:
        said, complaint = own.process.communicate(timeout=LIMIT_S)
    assert said, complaint
    return str(said)


def of(said: str) -> dict[str, Any]:
    told = json.loads(said.splitlines()[-1])
    return told | json.loads(told["said"])


def summed(rounds: Iterator[dict[str, Any]]) -> dict[str, float]:
    """One row: ages of pictures in ms, and processor time in ms for each of them."""
    each = list(rounds)
    ages = sorted(age / 10 for one in each for age in one["delays"])
    spent = sum(sum(one["spent"].values()) for one in each)
    return {
        "drawn": sum(one["drawn"] for one in each) / ROUNDS / SECONDS,
        "captured": len(ages) / ROUNDS / SECONDS,
        "median": statistics.median(ages),
        "p95": ages[len(ages) * 95 // 100],
        "least": ages[0],
        "own": sum(one["cost_ms"] for one in each) / len(ages),
        "screen": 1000 * spent / len(ages),
    }


@pytest.mark.long("test_live_photon.py::test_parts_add_up_and_what_one_takes_longer_is_in_it_alone")
def test_pictures_are_captured_when_they_are_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: dict[str, list[dict[str, Any]]] = {"X11": [], "Wayland": []}
    for _ in range(ROUNDS):
        told["X11"].append(of(on_x11(tmp_path)))
        told["Wayland"].append(of(on_wayland(tmp_path, monkeypatch)))
    for name, each in told.items():
        row = summed(iter(each))
        print(name, {what: round(value, 2) for what, value in row.items()})  # noqa: T201
        print(each[-1]["spent"])  # noqa: T201
        # Its own number of pictures a second, and no picture is older than a few of them.
        assert row["captured"] > 20, row
        assert 0 <= row["least"] <= row["median"] < 100, row
