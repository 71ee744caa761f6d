"""The command line: one verb for each thing that a user wants."""

from __future__ import annotations

import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

import gameway
from gameway import library, progress, tables
from gameway import suite as suites
from gameway.errors import GamewayError
from gameway.fields import entries
from gameway.live.command import link_command
from gameway.results import Results

if TYPE_CHECKING:
    from gameway.experiment import Experiment
    from gameway.report.page import Page
    from gameway.suite import Suite

BAD_INPUT = 2
INTERRUPTED = 130
REPORT = "report.html"

app = typer.Typer(
    name="gameway",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
WIDTH_OF_FILES = 160
"""Columns of a table that is not written to a terminal."""

out = Console()
err = Console(stderr=True)
if not out.is_terminal and "COLUMNS" not in os.environ:
    out.width = WIDTH_OF_FILES


class Listed(StrEnum):
    """What `gameway list` knows."""

    controllers = "controllers"
    queues = "queues"
    gateways = "gateways"
    competitors = "competitors"
    metrics = "metrics"
    experiments = "experiments"


def _print_version(wanted: bool) -> None:  # noqa: FBT001 (typer calls it so)
    if wanted:
        out.print(f"gameway {gameway.__version__} (result schema {gameway.SCHEMA_VERSION})")
        raise typer.Exit


@app.callback()
def gameway_command(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="The version.")
    ] = False,
) -> None:
    """Stream games over congested networks, and measure what congestion does to them.

    First steps: `gameway reproduce demo`, then open the report that it names. Copy the experiment
    file, change it, and `gameway run` it. `gameway --install-completion` teaches your shell the
    commands.
    """


Runs = Annotated[int | None, typer.Option("--runs", min=1, help="Repeats, instead of the file's.")]
Sets = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="FIELD=VALUE",
        help='Set a value, e.g. `--set path.capacity="20 Mb/s"`, or a list: '
        '`--set "stream.game.controller=[pudica, gcc]"`. May be repeated.',
    ),
]
Jobs = Annotated[
    int | None, typer.Option("--jobs", "-j", min=1, help="Runs at a time; all cores if not given.")
]
Out = Annotated[
    Path | None, typer.Option("--out", "-o", help="Result folder; `results/NAME` if not given.")
]
Parts = Annotated[
    list[str] | None,
    typer.Option("--part", metavar="PART", help="Only this part of a suite. May be repeated."),
]
NoReport = Annotated[bool, typer.Option("--no-report", help="Leave out the HTML report.")]


@app.command(name="run")
def run_command(
    file: Annotated[Path, typer.Argument(help="Experiment file (TOML).")],
    runs: Runs = None,
    settings: Sets = None,
    jobs: Jobs = None,
    folder: Out = None,
    no_report: NoReport = False,
) -> None:
    """Run an experiment file and write its report.

    Every list in the file is an axis of the matrix. Ctrl-C, or a crash, loses nothing that is
    finished: the same command does the rest.

    Example: `gameway run experiments/demo/experiment.toml --runs 3 --out results/try`

    Next: open the report, or read the tables in Python with `gameway.Results.open("results/try")`.
    """
    experiment = gameway.load(file)
    _run(_set(experiment, settings, runs), jobs, folder, report=not no_report)


@app.command()
def reproduce(
    name: Annotated[str, typer.Argument(help="See `gameway list experiments`.")],
    runs: Runs = None,
    settings: Sets = None,
    parts: Parts = None,
    jobs: Jobs = None,
    folder: Out = None,
    no_report: NoReport = False,
) -> None:
    """Run an experiment that comes with Gameway: a paper's matrix, beside its published figures.

    Some are suites of several parts, each with a result folder of its own and all on one page.
    `--set` sets a value in every part, `--set "PART:FIELD=VALUE"` in one.

    Example: `gameway reproduce demo`

    Next: open the report; published and simulated values stand side by side, with the difference.
    """
    found = library.find(name)
    if found.is_dir():
        _run_suite(_suite(found, settings, runs, parts), jobs, folder, report=not no_report)
    elif parts:
        raise gameway.InputError(f"{name} is one experiment, it has no parts", file="--part")
    else:
        experiment = gameway.load(found)
        _run(_set(experiment, settings, runs), jobs, folder, report=not no_report)


@app.command()
def report(
    folder: Annotated[Path, typer.Argument(help="Result folder of `gameway run`.")],
) -> None:
    """Write the report of a result folder anew: one HTML page that needs nothing else.

    It works while runs are missing, too, and says how many.

    Example: `gameway report results/demo`

    Next: open `results/demo/report.html` in a browser.
    """
    if suites.is_suite_folder(folder):
        _write_suite_page(folder)
        return
    results = Results.open(folder)
    _warn_of_missing(results)
    _write_report(results)


@app.command()
def compare(
    folders: Annotated[
        list[Path], typer.Argument(metavar="DIR...", help="Result folders, or a suite's folder.")
    ],
    target: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="Folder of the page; `DIR/compare`, or `results/compare` of several.",
        ),
    ] = None,
    no_report: NoReport = False,
) -> None:
    """Compare controllers: who wins where, by how much, and how sure that is.

    Runs that differ in nothing but their controllers stand beside each other, also if they are of
    several folders. Repeats are paired by their seeds; every mean and every difference has its
    interval over runs, so give experiments about ten `runs`.

    Example: `gameway compare results/mine results/scream`

    Next: open the page that it names; every table and figure lies beside it as CSV, SVG and PDF.
    """
    from gameway import compare as comparisons  # noqa: PLC0415 (heavy; help must be quick)

    with err.status("measuring"):
        page = comparisons.compare(folders).page
    _print_page(page)
    if not no_report:
        own = folders[0] / "compare" if len(folders) == 1 else Path("results") / "compare"
        place = comparisons.write(page, (target or own) / REPORT)
        out.print(f"report: {place}", highlight=False, soft_wrap=True)


@app.command(name="list")
def list_command(
    what: Annotated[Listed, typer.Argument(help="What to list.")],
) -> None:
    """List what can be named in an experiment file, or what is measured, with sources.

    Example: `gameway list controllers`

    Next: name one in an experiment file, e.g. `controller = "gcc"`.
    """
    if what is Listed.metrics:
        _list_metrics()
    elif what is Listed.experiments:
        for name in library.names():
            out.print(f"{name}: {library.title(name)}", highlight=False, soft_wrap=True)
    else:
        found = entries(what.value).values()
        has_options = any(entry["options"] for entry in found)
        out.print(tables.catalogue(found, "default" if has_options else None))


@app.command()
def frames(
    video: Annotated[Path, typer.Argument(help="A video file: H.264, H.265 or AV1.")],
    csv: Annotated[bool, typer.Option("--csv", help="Every frame, as CSV.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Every frame, as JSON.")] = False,
    table: Annotated[
        Path | None, typer.Option("--table", metavar="OUT.gwfr", help="Write a frame table.")
    ] = None,
) -> None:
    """Read the size of every frame of a recorded video; or make a frame table to stream from.

    Example: `gameway frames game.mp4 --table game.gwfr`

    Next: `video = { file = "game.gwfr" }` in a [[stream]] of an experiment file.
    """
    from gameway import video as videos  # noqa: PLC0415 (only this command needs it)
    from gameway.frame_table import summarise  # noqa: PLC0415 (only this command needs it)

    sizes = videos.frame_sizes(video)
    if csv:
        sys.stdout.write(sizes.write_csv())
    elif json:
        sys.stdout.write(sizes.write_json() + "\n")
    else:
        figures = summarise(sizes).transpose(
            include_header=True, header_name="figure", column_names=["value"]
        )
        out.print(tables.frame(figures))
    if table is not None:
        videos.frame_table_from_videos([video], table)
        err.print(f"wrote {table}", highlight=False)


app.command(name="link", context_settings={"ignore_unknown_options": True})(link_command)


def main() -> None:
    """Run the command line; errors that a user can mend are one message and exit code 2."""
    try:
        app()
    except gameway.Interrupted as interruption:
        err.print(str(interruption), style="yellow", highlight=False, markup=False, soft_wrap=True)
        raise SystemExit(INTERRUPTED) from None
    except GamewayError as error:
        if os.environ.get("GAMEWAY_DEBUG") == "1":
            raise
        message = f"error: {error}"
        err.print(message, style="red", highlight=False, markup=False, soft_wrap=True)
        raise SystemExit(BAD_INPUT) from None


def _set(experiment: Experiment, settings: list[str] | None, runs: int | None) -> Experiment:
    own = [] if runs is None else [f"runs={runs}"]
    return experiment.with_overrides([*(settings or []), *own])


def _run(experiment: Experiment, jobs: int | None, folder: Path | None, *, report: bool) -> None:
    target = folder or Path("results") / experiment.name
    shown = progress.for_console(err)
    results = gameway.run(experiment, target, jobs=jobs, progress=shown)
    _print_summary(results)
    if report:
        _write_report(results)
    out.print(f"tables: {target}", highlight=False, soft_wrap=True)


def _suite(
    found: Path, settings: list[str] | None, runs: int | None, parts: list[str] | None
) -> Suite:
    suite = suites.load_suite(found)
    chosen = suite.only(parts) if parts else suite
    own = [] if runs is None else [f"runs={runs}"]
    return chosen.with_overrides([*(settings or []), *own])


def _run_suite(suite: Suite, jobs: int | None, folder: Path | None, *, report: bool) -> None:
    target = folder or Path("results") / suite.name
    suites.run(suite, target, jobs=jobs, progress=progress.for_console(err))
    if report:
        _write_suite_page(target)
    out.print(f"tables: {target}", highlight=False, soft_wrap=True)


def _write_suite_page(folder: Path) -> None:
    page, place = suites.write_page(folder)
    _print_page(page)
    out.print(f"report: {place}", highlight=False, soft_wrap=True)


def _print_page(page: Page) -> None:
    """Print a page's main tables and what it found."""
    for section in page.sections:
        for table in section.tables:
            if table.main:
                out.print(tables.page_table(table, section.title))
                if section.text and len(section.tables) == 1:
                    out.print(section.text, style="dim", highlight=False, markup=False)
                    out.print()
    for sentence in page.statement:
        out.print(sentence, highlight=False, markup=False)
    if page.warning:
        err.print(page.warning, style="yellow", highlight=False, markup=False)


def _print_summary(results: Results) -> None:
    from gameway.metrics import summary_table  # noqa: PLC0415 (heavy; help must be quick)

    rows = summary_table(results)
    if rows.height:
        out.print(tables.summary(rows, results.factors))


def _write_report(results: Results) -> None:
    from gameway import report as reports  # noqa: PLC0415 (heavy; help must be quick)

    page = results.path / REPORT
    reports.write(results, page)
    out.print(f"report: {page}", highlight=False, soft_wrap=True)


def _warn_of_missing(results: Results) -> None:
    if results.missing:
        text = f"{results.missing} of {results.runs.height} runs are not finished"
        err.print(text, style="yellow", highlight=False)


def _list_metrics() -> None:
    from gameway.metrics import METRICS  # noqa: PLC0415 (heavy; help must be quick)

    rows = [
        {"name": one.name, "unit": one.unit, "summary": one.definition, "source": one.source}
        for one in METRICS
    ]
    out.print(tables.catalogue(rows, "unit"))
