"""Pages agree with each other and with what they describe: links, numbers of runs, the speed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from doc_commands import FENCE, ROOT, documents

import gameway as gw
from gameway import experiments
from gameway.experiment.suite import load_suite

if TYPE_CHECKING:
    from pathlib import Path

PAGES = [*documents(), ROOT / "CHANGELOG.md"]
LINK = re.compile(r"\]\(([^)\s]+)\)")
SPEED = re.compile(r"(\w+) times\s+faster than real time")


def anchors(text: str) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    kept = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {heading.replace(" ", "-") for heading in kept}


def broken(page: Path, text: str) -> list[str]:
    """The links of a page to files or headings that are not there."""
    spoken = re.sub(rf"^{FENCE}.*?^{FENCE}$", "", text, flags=re.DOTALL | re.MULTILINE)
    found = []
    for link in LINK.findall(spoken):
        if re.match(r"https?:", link):
            continue
        file, _, anchor = link.partition("#")
        target = page.parent / file if file else page
        there = target.exists()
        if there and anchor:
            there = anchor in anchors(target.read_text("utf-8"))
        found += [] if there else [link]
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    assert broken(page, page.read_text("utf-8")) == []


def test_a_broken_link_is_found() -> None:
    text = "# Mine\n[a](no.md) [b](#mine) [c](docs/live.md#videos) [d](docs/live.md#no) [e](https://x.y)"
    readme = ROOT / "README.md"
    assert broken(readme, text) == ["no.md", "#mine", "docs/live.md#no"]


def test_the_readme_is_one_screen() -> None:
    assert 30 < len((ROOT / "README.md").read_text("utf-8").splitlines()) <= 55


def test_every_page_is_in_the_index() -> None:
    index = (ROOT / "docs" / "README.md").read_text("utf-8")
    pages = {f"({page.name})" for page in (ROOT / "docs").glob("*.md")} - {"(README.md)"}
    folders = {page.parent.name for page in (ROOT / "experiments").glob("*/README.md")}
    assert {page for page in pages if page not in index} == set()
    assert {name for name in folders if f"(../experiments/{name})" not in index} == set()


def test_pages_agree_on_the_speed_of_the_simulator() -> None:
    told = {page: SPEED.findall(page.read_text("utf-8")) for page in documents()}
    assert len({speed for speeds in told.values() for speed in speeds}) == 1
    assert sum(bool(speeds) for speeds in told.values()) == 2


def runs(name: str) -> int:
    """How many runs an experiment has by its files."""
    folder = experiments.folder() / name
    suite = experiments.is_suite(folder)
    found = load_suite(folder).parts.values() if suite else [gw.load(folder)]
    return sum(len(gw.expand(experiment)) for experiment in found)


COUNTED = (
    "ecgp", "ecgp-live", "gateway", "pudica", "pudica-live", "pudica-readings", "voap",
    "xu-claypool-2022", "xu-claypool-2022-live", "xu-claypool-dash", "xu-claypool-dash-live",
)  # fmt: skip


@pytest.mark.parametrize("name", COUNTED)
def test_a_page_has_as_many_runs_as_its_experiment(name: str) -> None:
    told = (ROOT / "experiments" / name / "README.md").read_text("utf-8")
    assert f"{runs(name)} runs" in told


def test_the_readme_has_as_many_runs_as_the_demo() -> None:
    assert f" {runs('demo')} runs of 90 s" in (ROOT / "README.md").read_text("utf-8")
