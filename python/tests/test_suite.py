"""Suites: several experiments under one name, resumable as one, told on one page."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import polars as pl
import pytest

import gameway as gw
from gameway import experiments
from gameway import page as pages
from gameway.experiment.suite import load_suite
from gameway.page import Page, Section, Table
from gameway.report import suite as suite_page
from gameway.sweep import suite

if TYPE_CHECKING:
    from pathlib import Path

ALONE = """
title = "Alone"
duration = "3 s"
runs = 2
[path]
capacity = ["10 Mb/s", "20 Mb/s"]
base_rtt = "16 ms"
[[stream]]
controller = ["fixed", "pudica"]
video = "steady"
"""
BESIDE = (
    ALONE.replace("Alone", "Beside").replace('["10 Mb/s", "20 Mb/s"]', '"20 Mb/s"')
    + '[[competitor]]\nstart = "1 s"\n'
)
RUNS = 8 + 4


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    own = tmp_path / "both"
    own.mkdir()
    (own / "alone.toml").write_text(ALONE, encoding="utf-8")
    (own / "beside.toml").write_text(BESIDE, encoding="utf-8")
    (own / "README.md").write_text("# A stream alone and beside a download\n", encoding="utf-8")
    return own


class Told:
    """A progress that remembers what it is told."""

    def __init__(self) -> None:
        self.starts: list[tuple[int, int]] = []
        self.runs: list[str] = []
        self.stops = 0

    def start(self, total: int, finished: int) -> None:
        self.starts.append((total, finished))

    def advance(self, run: str) -> None:
        self.runs.append(run)

    def note(self, text: str) -> None:
        pass

    def stop(self) -> None:
        self.stops += 1


def test_a_suite_runs_all_parts_under_one_progress(folder: Path, tmp_path: Path) -> None:
    told = Told()
    parts = suite.run(load_suite(folder), tmp_path / "out", progress=told)
    assert list(parts) == ["alone", "beside"]
    assert [results.missing for results in parts.values()] == [0, 0]
    assert (told.starts, len(told.runs), told.stops) == ([(RUNS, 0)], RUNS, 1)
    again = Told()
    suite.run(load_suite(folder), tmp_path / "out", progress=again)
    assert (again.starts, again.runs) == ([(RUNS, RUNS)], [])


def test_the_plain_page_has_a_table_for_each_part(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    suite.run(load_suite(folder), out)
    made, place = suite_page.write_page(out)
    assert made.title == "A stream alone and beside a download"
    assert [section.title for section in made.sections] == ["alone", "beside"]
    text = place.read_text(encoding="utf-8")
    assert "±" in text
    assert made.warning == ""
    rows = pl.read_csv(out / "report-files" / "alone.csv")
    assert rows.height == 4
    assert rows["run_bitrate_mbps"].min() > 1.0  # type: ignore[operator]


def test_the_page_says_what_is_missing(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    suite.run(load_suite(folder).only(["alone"]), out)
    listed = json.loads((out / suite.FILE).read_text(encoding="utf-8"))
    (out / suite.FILE).write_text(json.dumps({**listed, "parts": ["alone", "beside"]}))
    run = next((out / "alone" / "runs").iterdir())
    run.rename(tmp_path / "taken")
    warning = suite_page.page(out).warning
    assert "Not run yet: beside." in warning
    assert "alone: 1 of 8 runs are missing." in warning


def test_parts_of_several_calls_are_on_one_page(folder: Path, tmp_path: Path) -> None:
    for part in ("beside", "alone"):
        suite.run(load_suite(folder).only([part]), tmp_path / "out")
    assert list(suite.open_parts(tmp_path / "out")) == ["alone", "beside"]


def test_a_setting_reaches_every_part_or_the_one_that_it_names(folder: Path) -> None:
    found = load_suite(folder).with_overrides(["runs=3", "beside:path.capacity=5 Mb/s"])
    assert [part.runs for part in found.parts.values()] == [3, 3]
    capacities = [part.path.capacity for part in found.parts.values()]  # type: ignore[union-attr]
    assert capacities == [["10 Mb/s", "20 Mb/s"], "5 Mb/s"]
    steps = load_suite(folder).with_overrides(['path.base_rtt="20 ms"'])
    assert {part.path.base_rtt for part in steps.parts.values()} == {"20 ms"}  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("competitor.download.stop=2 s", "part alone, "),
        ("nowhere:runs=2", '"nowhere" is no part of both'),
        ("path.capacitie=5 Mb/s", "part alone, --set path.capacitie=5 Mb/s"),
    ],
)
def test_a_setting_that_does_not_fit_names_the_part(folder: Path, setting: str, told: str) -> None:
    with pytest.raises(gw.InputError) as caught:
        load_suite(folder).with_overrides([setting])
    assert told in str(caught.value)


def test_nothing_runs_if_one_part_cannot(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    suite.run(load_suite(folder).only(["beside"]), out)
    other = load_suite(folder).with_overrides(["beside:seed=7"])
    with pytest.raises(gw.InputError, match="another experiment"):
        suite.run(other, out)
    assert not (out / "alone").exists()


def test_ctrl_c_loses_nothing(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    script = (
        # Also where the tests run as a background job, which a shell makes deaf to Ctrl-C.
        "import signal, sys; from gameway.sweep import suite\n"
        "from gameway.experiment.suite import load_suite\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "found = load_suite(sys.argv[1]).with_overrides(['runs=200'])\n"
        "suite.run(found, sys.argv[2], jobs=1)"
    )
    command = [sys.executable, "-c", script, str(folder), str(out)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ})
    limit = time.monotonic() + 60
    while not list((out / "alone" / "runs").glob("*")):
        assert time.monotonic() < limit
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode != 0
    assert "the same command runs the rest" in error
    assert f"of {200 * 6} runs are finished" in error
    assert not list((out / "alone" / "runs").glob("*.partial"))
    kept = len(list((out / "alone" / "runs").iterdir()))
    assert 0 < kept < 200 * 4


def test_the_library_finds_suites(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, file in (("one", "experiment.toml"), ("many", "first.toml")):
        (tmp_path / name).mkdir()
        (tmp_path / name / file).write_text(ALONE, encoding="utf-8")
    (tmp_path / "notes").mkdir()
    monkeypatch.setattr(experiments, "folder", lambda: tmp_path)
    assert experiments.names() == ["many", "one"]
    assert experiments.find("one") == tmp_path / "one" / "experiment.toml"
    assert experiments.find("many") == tmp_path / "many"
    assert (experiments.title("one"), experiments.title("many")) == ("Alone", "many")


def test_a_suite_has_the_page_of_its_module_or_the_plain_one() -> None:
    ours = experiments.folder()
    made = {name: suite_page.page_of(ours / name) for name in ("scoreboard", "pudica-readings")}
    for name, page in made.items():
        assert page.__module__ == f"gameway.experiments.{name}.page"
    assert suite_page.page_of(ours / "made-up") is suite_page.plain_page


OWN_PAGE = """
from gameway.page import Page, Section

from .words import TITLE


def page(parts):
    return Page(TITLE, "Mine.", [Section(name) for name in parts])
"""


def test_a_suite_of_your_own_may_have_a_page_of_its_own(folder: Path, tmp_path: Path) -> None:
    (folder / "page.py").write_text(OWN_PAGE, encoding="utf-8")
    (folder / "words.py").write_text('TITLE = "Made by me"\n', encoding="utf-8")
    out = tmp_path / "out"
    suite.run(load_suite(folder), out)
    made, place = suite_page.write_page(out, folder)
    assert (made.title, [section.title for section in made.sections]) == (
        "Made by me", ["alone", "beside"],
    )  # fmt: skip
    assert "Made by me" in place.read_text(encoding="utf-8")
    # Results alone lead to no code, and do not replace the page.
    with pytest.raises(gw.InputError, match="give its folder with --page"):
        suite_page.write_page(out)
    (folder / "page.py").write_text("pages = 1\n", encoding="utf-8")
    other = folder.rename(tmp_path / "other")
    with pytest.raises(gw.InputError, match="has no function `page`"):
        suite_page.write_page(out, other)


def test_a_page_tells_all_that_it_is_given(tmp_path: Path) -> None:
    frame = pl.DataFrame({"name": ["a <b>", "c"], "value": [1.2345, None]})
    best = frozenset({(0, "value")})
    table = Table("Values & more", frame, best=best, marked=frozenset({(1, "name")}))
    section = Section("One", "First line.\nSecond line.", [table, table], points=["A point."])
    made = Page("Title", "Lead.", [section, section], ["It is so."], "Runs are missing.")
    text = pages.write(made, tmp_path / "x.html").read_text(encoding="utf-8")
    assert '<td class="best">1.23</td>' in text
    assert '<td class="text mark">c</td>' in text
    assert "a &lt;b&gt;" in text
    assert "<b>" not in text.split("<main>")[1].split("</main>")[0]
    for told in ("First line.", "Second line.", "A point.", "It is so.", "Runs are missing."):
        assert text.count(told) >= 1
    assert 'id="one"' in text
    assert 'id="one-2"' in text
    files = sorted(file.name for file in (tmp_path / "report-files").iterdir())
    assert files == [
        f"one-{own}.csv"
        for own in ("2-values-more-2", "2-values-more", "values-more-2", "values-more")
    ]
    bare = pages.write(made, tmp_path / "bare" / "x.html", save_files=False)
    assert [file.name for file in bare.parent.iterdir()] == ["x.html"]
