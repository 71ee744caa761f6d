"""From a key to its picture, part by part, as the page measures it on the test card."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from browser_fixture import (
    FLAGS,
    NEEDS_CHROMIUM,
    TOKEN,
    Browser,
    browser,
    end,
    host,
    part,
    until_frames,
)
from play_fixture import play
from screen_fixture import screen_with_key
from test_live_page import AXE, violations
from test_live_page import Page as AnyPage
from witness import of_times

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [NEEDS_CHROMIUM, pytest.mark.timed, pytest.mark.alone]

PRESSES = int(os.environ.get("GAMEWAY_PHOTON_PRESSES", "0"))
"""How often, in a measurement on a quiet machine, at 1280x720."""
COUNT = PRESSES or 9
SIZE = "1280x720" if PRESSES else "640x360"
PARTS = [
    "Input to the host", "Injection", "To the program", "Program", "Wait for a capture", "Capture",
    "Encoding", "Pacing", "Picture to the browser", "Jitter buffer", "Decoding", "Display",
]  # fmt: skip
RATES = {"min_bitrate": "20 Mb/s", "start_bitrate": "20 Mb/s", "max_bitrate": "20 Mb/s"}
ANSWER_AFTER_MS = 50.0
FRAME_MS = 1000 / 60
WAIT_S = 10.0 + 0.6 * COUNT


class Page(AnyPage):
    """A page that measures."""

    def opened(self) -> Page:
        """Open the panel as a person does."""
        until_frames(self.made, self.session)
        self.until("gameway.photon !== undefined")
        self.evaluate("document.getElementById('set').click()")
        self.until("document.getElementById('show-photon')")
        self.evaluate("document.getElementById('show-photon').click()")
        self.until("document.getElementById('photon-count')")
        return self

    def start(self, *, by_person: bool = False) -> None:
        self.evaluate(
            f"((count) => {{ count.value = {COUNT}; count.dispatchEvent("
            "new Event('input', { bubbles: true })); })(document.getElementById('photon-count'))"
        )
        if by_person:
            self.evaluate("document.getElementById('photon-person').click()")
        time.sleep(0.1)
        self.evaluate("document.getElementById('photon-start').click()")

    def found(self) -> Any:
        until = time.monotonic() + WAIT_S
        while (summary := self.evaluate("gameway.photon")) is None:
            assert time.monotonic() < until, self.evaluate("document.body.innerText")
            time.sleep(0.2)
        return summary


def medians(summary: Any) -> dict[str, float]:
    """Give the median of each part, in ms; the rows' own, not what the page makes of them."""
    rows = [row["parts"] for row in summary["rows"]]
    return {name: statistics.median(row[at] for row in rows) for at, name in enumerate(PARTS)}


def told(what: str, summary: Any) -> None:
    print(f"{what}: whole {summary['whole']}, clocks {summary['error']:.2f} ms")  # noqa: T201
    for name, spread in zip(PARTS, summary["parts"], strict=True):
        print(f"  {name:24} {spread['median']:6.1f} {spread['high']:6.1f}")  # noqa: T201


def is_sound(summary: Any) -> None:
    """Each press has all parts, which add up, and none is less than nothing."""
    below = [row for row in summary["rows"] if min(row["parts"]) < -summary["error"]]
    assert summary["impossible"] == 0, below
    assert len(summary["rows"]) + summary["lost"] == COUNT
    for row in summary["rows"]:
        assert len(row["parts"]) == len(PARTS)
        assert sum(row["parts"]) == pytest.approx(row["whole"], abs=1e-6)
    # The page waits for a picture and the host's answer for so long, and no longer.
    with of_times():
        assert summary["lost"] == 0


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("photon") / "profile") as made:
        yield made


def measured(made: Browser, folder: Path, *words: str) -> tuple[Page, Any]:
    """Measure a card with these options; the page stays."""
    with play(folder, "--test-card", "--no-audio", "--size", SIZE, *words) as playing:
        page = Page(made, made.open(playing.link)).opened()
        page.start()
        summary = page.found()
        playing.end()
    return page, summary


def test_parts_add_up_and_what_one_takes_longer_is_in_it_alone(
    made: Browser, tmp_path: Path
) -> None:
    page, at_once = measured(made, tmp_path / "at-once")
    told("at once", at_once)
    is_sound(at_once)
    with of_times():
        coding = medians(at_once)["Encoding"] + medians(at_once)["Decoding"]
        assert at_once["whole"]["median"] < 2 * FRAME_MS + coding
    shown = page.evaluate("document.querySelector('#photon table').innerText")
    assert all(part in shown for part in PARTS)
    assert f"{at_once['whole']['median']:.1f}" in shown
    if AXE.exists():
        assert violations(page) == []
    _, later = measured(made, tmp_path / "later", "--answer-after", f"{ANSWER_AFTER_MS} ms")
    told("50 ms later", later)
    is_sound(later)
    more = {part: medians(later)[part] - before for part, before in medians(at_once).items()}
    assert more["Program"] > ANSWER_AFTER_MS - 1
    with of_times():
        assert more.pop("Program") < ANSWER_AFTER_MS + 10
        # Waits for a capture and a display keep their phases, which differ by an interval.
        assert all(abs(by) < 25 for by in more.values()), more


ROW = """(() => {
  const { x, y, width, height } = gameway.picture;
  const left = screenX + (outerWidth - innerWidth) / 2;
  const top = screenY + outerHeight - innerHeight;
  return [left + x, top + y + height / 2, width].map(Math.round);
})()"""
"""Where the middle of the row of cells is on the browser's screen, and how wide it is."""


@pytest.mark.long("test_live_photon.py::test_parts_add_up_and_what_one_takes_longer_is_in_it_alone")
def test_a_witness_at_the_browsers_screen_sees_the_same_delay(tmp_path: Path) -> None:
    flags = FLAGS.replace("--headless ", "--window-size=1290,880 --window-position=0,0 ")
    with (
        screen_with_key(tmp_path) as surroundings,
        play(tmp_path / "run", "--test-card", "--no-audio", "--size", SIZE) as playing,
        browser(
            tmp_path / "profile",
            "env", *(f"{name}={value}" for name, value in surroundings.items()),
            flags=flags,
        ) as made,
    ):  # fmt: skip
        page = Page(made, made.open(playing.link)).opened()
        page.start(by_person=True)
        time.sleep(0.5)
        row = [str(number) for number in page.evaluate(ROW)]
        program = Path(__file__).parent / "photon_witness.py"
        done = subprocess.run(
            [sys.executable, program, str(COUNT), *row],
            env={**os.environ, **surroundings},
            capture_output=True, text=True, timeout=WAIT_S, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        summary = page.found()
    told("by keys", summary)
    is_sound(summary)
    seen = [(int(b) - int(a)) / 1e6 for a, b in map(str.split, done.stdout.splitlines())]
    assert len(seen) == COUNT
    by_page = [one["whole"] for one in summary["rows"]]
    differences = [b - a for a, b in zip(seen, by_page, strict=True)]
    spread = f"{min(differences):.1f} to {max(differences):.1f}"
    print(f"witness: median {statistics.median(seen):.1f} ms")  # noqa: T201
    print(f"page less witness: {statistics.median(differences):.1f} ms, {spread}")  # noqa: T201
    with of_times():
        assert abs(statistics.median(differences)) < 1000 / 60 + 2


def of_our_client(link: str, folder: Path) -> pl.Series:
    """Give what inputs of our own client took until it had decoded the pictures that show them."""
    folder.mkdir()
    config = {
        "epoch_ns": time.monotonic_ns(), "stream": "game", "token": TOKEN,
        "connect": link.partition("#")[0] + "whep", "folder": str(folder),
        "input_interval": "213 ms", "duration": f"{3 + 2 * 0.213 * COUNT} s",
    }  # fmt: skip
    with part("client", config, folder / "report.json") as client:
        client.communicate(timeout=120)
    inputs = pl.read_parquet(folder / "inputs.parquet").drop_nulls()
    return (inputs["picture_ns"] - inputs["sent_ns"]) / 1e6


def quantile(delays: pl.Series, share: float) -> float:
    found = delays.quantile(share, "nearest")
    assert found is not None
    return found


def spread(delays: pl.Series) -> str:
    """Give the median and the 95th percentile, in words."""
    return f"{quantile(delays, 0.5):.1f} {quantile(delays, 0.95):.1f} ms"


@pytest.mark.skipif(PRESSES == 0, reason="GAMEWAY_PHOTON_PRESSES=60 on a quiet machine")
def test_our_client_on_the_built_in_scene(tmp_path: Path) -> None:
    with host(tmp_path, "pudica", RATES, size=(1280, 720), input=True) as (link, process):
        delays = of_our_client(link, tmp_path / "client")
        end(process)
    assert delays.len() >= COUNT
    print(f"our client, {delays.len()} inputs, {spread(delays)}")  # noqa: T201


def test_a_browser_is_not_later_than_our_client_by_more_than_a_frame(
    made: Browser, tmp_path: Path
) -> None:
    # The same card, and the same ends: from the key to the decoded picture.
    _, summary = measured(made, tmp_path / "browser")
    is_sound(summary)
    display = PARTS.index("Display")
    decodings = [row["whole"] - row["parts"][display] for row in summary["rows"]]
    # A whole number of JSON is an int of Python: after such a first one no fraction could follow.
    decoded = pl.Series(decodings, dtype=pl.Float64)
    with play(tmp_path / "own", "--test-card", "--no-audio", "--size", SIZE) as playing:
        own = of_our_client(playing.link, tmp_path / "client")
        playing.end()
    told("browser", summary)
    for who, delays in (("browser", decoded), ("our client", own)):
        print(f"{who}, {delays.len()}, decoded: {spread(delays)}")  # noqa: T201
    # The last may have come at the end.
    assert own.len() >= COUNT - 1
    assert own.min() > 0
    with of_times():
        assert quantile(decoded, 0.95) <= quantile(own, 0.95) + FRAME_MS
