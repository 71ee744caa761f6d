"""The report of made result folders: offline, complete, and with the numbers of the tables."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from metrics_fixture import (
    Behaviour,
    Condition,
    FolderResults,
    Timing,
    make_results,
    paper_matrix,
)

from gameway import figures, report
from gameway.figures import theme
from gameway.figures.conditions import arrange, dimensions
from gameway.page.words import number
from gameway.published import reference_of, references
from gameway.report.comparison import compare
from gameway.report.findings import duel
from gameway.report.tables import estimate

if TYPE_CHECKING:
    from pathlib import Path

REFERENCED = 'title = "A matrix"\nreference = "xu-claypool-2022"\nduration = "54 s"\n'
# A tenth of the paper's times, to keep the tests quick.
TIMING = Timing(duration=54.0, start=18.5, stop=37.0)
COMPARED = ["table-2", "table-3", "table-4", "table-5", "table-6"]
COMPETITION = ["fairness", "response", "recovery", "adaptiveness"]
ALWAYS = ["bitrate", "rtt", "frame-delay", "queue-delay", "metrics", "runs"]


class Page(HTMLParser):
    """What a test asks of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.sections: list[str] = []
        self.charts: list[dict[str, str]] = []
        self.scripts: dict[str, str] = {}
        self.loaded: list[str] = []
        self.headers = 0
        self.captions = 0
        self.tables = 0
        self.text = ""
        self._script: str | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        if tag == "section":
            self.sections.append(found["id"])
        if "data-spec" in found:
            self.charts.append(found)
        if tag in {"script", "img", "link", "iframe", "source", "object", "embed", "video"}:
            self.loaded += [found[name] for name in ("src", "href", "data") if name in found]
        if tag == "script":
            self._script = found.get("id", "")
        self.headers += tag == "th" and "scope" in found
        self.captions += tag == "caption"
        self.tables += tag == "table"

    def handle_endtag(self, tag: str) -> None:
        if tag == "script":
            self._script = None

    def handle_data(self, data: str) -> None:
        if self._script is None:
            self.text += data
        elif self._script:
            self.scripts[self._script] = self.scripts.get(self._script, "") + data


def behave(controller: str, capacity: float, queue: str, tcp: str) -> Behaviour:
    share = {"pudica": 0.4, "gcc": 0.5}[controller] * capacity
    return Behaviour(
        original=capacity * 0.9,
        adjusted=share,
        competitor=capacity - share,
        response_s=1.0 if controller == "pudica" else 3.0,
        recovery_s=1000.0 if (controller, tcp, queue) == ("gcc", "bbr", "7 bdp") else 2.0,
        rtt_competing_ms=40.0,
        rtt_swing_ms=0.0,
    )


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> FolderResults:
    matrix = paper_matrix(behave, controllers=("pudica", "gcc"), capacities=(15.0, 25.0))
    folder = tmp_path_factory.mktemp("matrix")
    return make_results(folder, matrix, runs=3, timing=TIMING, experiment=REFERENCED)


@pytest.fixture(scope="module")
def html(results: FolderResults) -> str:
    return report.write(results, results.path / "report.html").read_text("utf-8")


@pytest.fixture(scope="module")
def page(html: str) -> Page:
    return Page(html)


def test_sections_of_a_paper_matrix(page: Page) -> None:
    written = ["statement", "findings", "reference", "summary", "about"]
    assert sorted(page.sections) == sorted([*ALWAYS, *COMPETITION, *COMPARED, *written])
    # Sentences, then a picture, then numbers.
    assert page.sections[:3] == ["statement", "bitrate", "findings"]


def test_nothing_is_loaded_from_anywhere(page: Page, html: str) -> None:
    assert page.loaded == []
    assert "default-src 'none'" in html
    outside_scripts = re.sub(r"<script.*?</script>", "", html, flags=re.DOTALL)
    assert "http://" not in outside_scripts
    assert "https://" not in outside_scripts
    assert "@import" not in outside_scripts
    assert "url(" not in outside_scripts
    for script, text in page.scripts.items():
        assert "://" not in text.replace("https://vega.github.io/schema", ""), script


def test_every_figure_has_data_and_a_description(page: Page) -> None:
    assert len(page.charts) >= len(ALWAYS) + len(COMPETITION)
    for chart in page.charts:
        assert len(chart["aria-label"]) > 20
        spec = json.loads(page.scripts[f"spec-{chart['data-spec']}"])
        assert max(len(rows) for rows in spec["datasets"].values()) > 3
        assert "config" not in spec


def test_the_vega_bundle_is_there_once(html: str) -> None:
    assert html.count("window.gamewayEmbed = vegaEmbed") <= 1
    assert html.count("window.gamewayEmbed=") == 1
    assert len(html) < 3_000_000


def test_tables_have_semantics(page: Page) -> None:
    assert page.tables == page.captions == len(COMPARED) + 3
    assert page.headers > page.tables * 4


def test_published_values_stand_beside_ours(page: Page, results: FolderResults) -> None:
    reference = reference_of(results.manifest)
    assert reference is not None
    tables = {found.table.number: found for found in compare(results, reference)}
    cells = {(c.capacity_mbps, c.queue_bdp, c.competitor): c for c in tables[3].cells}
    cell = cells[(15.0, 7.0, "cubic")]
    assert {name: e.mean for name, e in cell.published.items()} == {
        "stadia": 111.6, "geforce": 110.7, "luna": 108.9,
    }  # fmt: skip
    assert cell.published_mean == pytest.approx(331.2 / 3)
    assert cell.our_mean == pytest.approx(40.0)
    assert cell.difference == pytest.approx(40.0 - 110.4)
    assert cell.difference_percent == pytest.approx(-63.77, abs=0.01)
    assert cell.marked
    assert not cells[(15.0, 2.0, "cubic")].marked
    assert cells[(35.0, 2.0, "cubic")].ours == {}
    assert cells[(35.0, 2.0, "cubic")].difference is None
    for text in ("111.6", "110.7", "108.9", "110.4", "-70.4", "-64 %"):
        assert text in page.text


def test_loss_near_zero_has_no_percent(results: FolderResults) -> None:
    reference = references()["xu-claypool-2022"]
    table = next(c for c in compare(results, reference) if c.table.number == 4)
    cell = next(c for c in table.cells if (c.capacity_mbps, c.queue_bdp) == (25.0, 7.0))
    assert cell.difference == pytest.approx(0.4 - 0.01 / 3)
    assert cell.difference_percent is None
    assert not cell.marked


def test_published_data_is_whole() -> None:
    values = references()["xu-claypool-2022"].values()
    counts = dict(values.group_by("table").len().iter_rows())
    # Three systems, nine cells, and two competitors in Tables 3, 5 and 6; Table 3 lacks one cell.
    assert counts == {2: 27, 3: 48, 4: 27, 5: 54, 6: 54}
    assert values["mean"].null_count() == 0


def test_only_a_named_reference_is_compared(tmp_path: Path) -> None:
    matrix = paper_matrix(behave, ("pudica", "gcc"), (25.0,), ("2 bdp",), ("cubic",))
    made = make_results(tmp_path, matrix, runs=2, timing=TIMING)
    page = Page(report.write(made, tmp_path / "report.html", save_files=False).read_text("utf-8"))
    assert not set(COMPARED) & set(page.sections)
    assert set(COMPETITION) <= set(page.sections)
    assert "Stadia" not in page.text
    assert not (tmp_path / "report-files").exists()


def test_without_competitor_there_are_no_figures_of_competition(tmp_path: Path) -> None:
    quiet = [
        Condition(
            {"controller": name, "loss_probability": loss}, Behaviour(), name, competitor=None
        )
        for name in ("pudica", "gcc")
        for loss in ("0 %", "1 %", "10 %")
    ]
    made = make_results(tmp_path, quiet, runs=2, timing=TIMING)
    page = Page(report.write(made, tmp_path / "report.html", save_files=False).read_text("utf-8"))
    assert not set(COMPETITION) & set(page.sections)
    assert set(ALWAYS) <= set(page.sections)
    assert "Loss probability" in page.text


def test_a_single_condition_and_run(tmp_path: Path) -> None:
    made = make_results(tmp_path, [Condition({}, Behaviour())], runs=1, timing=TIMING)
    page = Page(report.write(made, tmp_path / "report.html", save_files=False).read_text("utf-8"))
    assert {"bitrate", "fairness", "summary"} <= set(page.sections)


def test_no_finished_run_still_makes_a_page(tmp_path: Path) -> None:
    manifest: dict[str, Any] = {
        "title": "Nothing yet",
        "experiment_text": "",
        "runs": [{"id": "a", "factors": {"controller": "gcc"}, "repeat": 0, "seed": 1}],
    }
    made = FolderResults(tmp_path, manifest)
    page = Page(report.write(made, tmp_path / "report.html").read_text("utf-8"))
    assert "1 of 1 runs are not finished" in page.text
    assert page.charts == []


def test_files_for_papers(html: str, results: FolderResults) -> None:
    folder = results.path / "report-files"
    linked = re.findall(r'href="report-files/([^"]+)"', html)
    assert len(linked) > 30
    for name in linked:
        assert (folder / name).stat().st_size > 100, name
    assert (folder / "fairness.svg").read_text().startswith("<svg")
    assert (folder / "fairness.pdf").read_bytes().startswith(b"%PDF")
    values = pl.read_csv(folder / "recovery.csv")
    assert set(values.filter(pl.col("value").is_null())["text"]) == {"never"}
    assert values.height == 24


def test_text_of_the_experiment_is_escaped(tmp_path: Path) -> None:
    evil = 'title = "</script><script>alert(1)</script>"\n'
    made = make_results(
        tmp_path, [Condition({"controller": "</script><b>x"}, Behaviour())], runs=1,
        timing=TIMING, experiment=evil,
    )  # fmt: skip
    text = report.write(made, tmp_path / "report.html", save_files=False).read_text("utf-8")
    assert "<script>alert(1)" not in text
    assert "</script><b>x" not in text


def test_findings_name_the_winner(page: Page) -> None:
    assert "never recover" in page.text
    assert "gcc against bbr (2)" in page.text
    assert "Share against cubic" in page.text
    # (0.4 - 0.6) = -0.2 and (0.5 - 0.5) = 0, for every capacity and queue.
    assert "pudica -0.20 (-0.20 to -0.20); gcc +0.00" in page.text


def test_duel_pairs_the_repeats(tmp_path: Path) -> None:
    # Repeats differ by far more than the controllers do; paired by repeat the difference is clear.
    near, far = Behaviour(original=20.0), Behaviour(original=20.05)
    made = make_results(
        tmp_path,
        [
            Condition({"controller": "one", "capacity": "25 Mb/s"}, near, "one"),
            Condition({"controller": "two", "capacity": "25 Mb/s"}, far, "two"),
        ],
        runs=4,
        timing=TIMING,
        offset_mbps=1.0,
    )
    won = duel(made, "alone_bitrate_mbps", "two", "one")
    assert (won.better, won.worse, won.undecided) == (1, 0, 0)
    lost = duel(made, "alone_bitrate_mbps", "one", "two")
    assert (lost.better, lost.worse, lost.undecided) == (0, 1, 0)
    even = duel(made, "competing_loss_percent", "one", "two")
    assert (even.better, even.worse, even.undecided) == (0, 0, 1)


@pytest.mark.parametrize(
    "draw",
    [
        figures.bitrate_over_time,
        figures.rtt_over_time,
        figures.fairness,
        figures.response_times,
        figures.recovery_times,
        figures.adaptiveness_and_fairness,
        figures.frame_delay_distribution,
        figures.queue_delay_shares,
    ],
)
def test_figures_are_charts_with_units(draw: Any, results: FolderResults) -> None:
    spec = draw(results, {"capacity": "25 Mb/s"}).to_dict()
    text = json.dumps(spec)
    assert any(unit in text for unit in ("(Mb/s)", "(ms)", "(s)", "(%)", "/ capacity"))
    assert "15 Mb/s" not in json.dumps(spec["datasets"])


def test_a_band_is_cut_at_zero_and_its_data_kept(tmp_path: Path) -> None:
    near_zero = Condition({"controller": "one"}, Behaviour(adjusted=0.5))
    made = make_results(tmp_path, [near_zero], runs=2, timing=TIMING, offset_mbps=0.3)
    spec = figures.bitrate_over_time(made).to_dict()
    rows = next(rows for rows in spec["datasets"].values() if "low" in rows[0])
    assert min(row["low"] for row in rows) < 0
    bands = [layer for layer in spec["layer"] if layer["mark"].get("type") == "area"]
    assert [band["mark"]["clip"] for band in bands] == [True]
    scales = [layer["encoding"]["y"].get("scale") for layer in spec["layer"][:2]]
    assert scales == [{"domainMin": 0}] * 2


def test_heat_map_holds_the_values(results: FolderResults) -> None:
    spec = figures.fairness(results).to_dict()
    rows = next(iter(spec["datasets"].values()))
    assert len(rows) == 24
    assert {row["text"] for row in rows} == {"-0.20", "+0.00"}


def test_times_in_heat_maps_have_the_interval_over_runs(results: FolderResults) -> None:
    spec = figures.response_times(results).to_dict()
    rows = next(iter(spec["datasets"].values()))
    assert {(row["text"], row["ci95"]) for row in rows} == {("1.0", 0.0), ("3.0", 0.0)}


def test_timeline_of_a_run(results: FolderResults) -> None:
    spec = figures.run_timeline(results, results.runs["id"][0]).to_dict()
    assert "Bandwidth utilization ratio (BUR)" in json.dumps(spec)
    with pytest.raises(KeyError):
        figures.run_timeline(results, "no such run")


def test_layout_gives_every_condition_a_place() -> None:
    table = pl.DataFrame(
        {
            "stream": ["game"] * 4,
            "capacity": ["15 Mb/s", "900 kb/s", "15 Mb/s", "900 kb/s"],
            "limit": ["high", "low", "high", "low"],
            "base_rtt": ["16 ms", "16 ms", "50 ms", "50 ms"],
        }
    )
    found = dimensions(table, ["capacity", "limit", "base_rtt"])
    assert [d.column for d in found] == ["capacity", "base_rtt"]
    assert found[0].values == ["900 kb/s", "15 Mb/s"]
    layout = arrange(found, {"color": "capacity"}, ("color",))
    assert layout.places["color"].column == "capacity"
    assert layout.panel_filters() == [{"base_rtt": "16 ms"}, {"base_rtt": "50 ms"}]


def test_numbers_as_text() -> None:
    assert number(None) == "never"
    assert number(float("nan")) == "\N{EN DASH}"
    assert [number(v) for v in (0.123, 9.99, 12.34, 123.4, -45.6)] == [
        "0.12", "9.99", "12.3", "123", "-45.6",
    ]  # fmt: skip
    assert estimate(10.0, 0.5) == "10.0 <small>± 0.50</small>"
    assert estimate(None, 0.5) == "never"


@pytest.mark.parametrize("mode", theme.MODES)
def test_colours_can_be_told_from_the_page(mode: theme.Mode) -> None:
    page = _luminance(theme.BACKGROUND[mode])
    for colour in theme.CATEGORIES[mode]:
        low, high = sorted((page, _luminance(colour)))
        assert (high + 0.05) / (low + 0.05) >= 2.5, colour


def _luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
