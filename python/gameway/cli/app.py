"""The commands: one verb for each thing that a user wants.

Here is what each is called and takes. What it does is in a module for each group of commands, which
is imported when one of them is carried out: help, completion and lists start without the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

import gameway
from gameway.errors import Interrupted
from gameway.live import programs
from gameway.on import LiveOptions, On

app = typer.Typer(
    name="gameway",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


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
        typer.echo(f"gameway {gameway.__version__} (result schema {gameway.SCHEMA_VERSION})")
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
    Path | None,
    typer.Option(
        "--out", "-o", help="Result folder; `results/NAME`, or `results/NAME-live`, if not given."
    ),
]
Parts = Annotated[
    list[str] | None,
    typer.Option("--part", metavar="PART", help="Only this part of a suite. May be repeated."),
]
Where = Annotated[
    On,
    typer.Option(
        "--on",
        help="`sim`: in virtual time. `live`: on this machine, in real time, with real packets and "
        "the kernel's TCP; needs root. Its report has both side by side.",
    ),
]
Source = Annotated[
    str,
    typer.Option(
        help="What live runs stream: `scene` (built in), `x11:COMMAND` (a program on a screen of "
        "its own) or `file:VIDEO`."
    ),
]
Pcap = Annotated[
    bool, typer.Option("--pcap", help="Keep the headers of all packets of live runs: pcapng.")
]
Film = Annotated[
    str,
    typer.Option(
        help="What live videos show: `scenes` (generated), `game` (recorded at first use) or "
        "`file:VIDEO`."
    ),
]
NoReport = Annotated[bool, typer.Option("--no-report", help="Leave out the HTML report.")]


@app.command(name="run")
def run_command(
    file: Annotated[
        Path, typer.Argument(help="Experiment file (TOML), or a folder of several: a suite.")
    ],
    on: Where = On.sim,
    runs: Runs = None,
    settings: Sets = None,
    parts: Parts = None,
    jobs: Jobs = None,
    folder: Out = None,
    no_report: NoReport = False,
    source: Source = LiveOptions.source,
    pcap: Pcap = False,
    film: Film = LiveOptions.film,
) -> None:
    """Run an experiment file and write its report.

    Every list in the file is an axis of the matrix. Ctrl-C, or a crash, loses nothing that is
    finished: the same command does the rest.

    Example: `gameway run experiments/demo/experiment.toml --runs 3 --out results/try`

    Next: open the report, or read the tables in Python with `gameway.Results.open("results/try")`.
    """
    from gameway.cli.runs import RunCommand  # noqa: PLC0415 (heavy; help must be quick)

    live = LiveOptions(source, pcap, film)
    RunCommand(file, on, runs, settings, parts, jobs, folder, not no_report, live).carry_out()


@app.command()
def reproduce(
    name: Annotated[str, typer.Argument(help="See `gameway list experiments`.")],
    on: Where = On.sim,
    runs: Runs = None,
    settings: Sets = None,
    parts: Parts = None,
    jobs: Jobs = None,
    folder: Out = None,
    no_report: NoReport = False,
    source: Source = LiveOptions.source,
    pcap: Pcap = False,
    film: Film = LiveOptions.film,
) -> None:
    """Run an experiment that comes with Gameway: a paper's matrix, beside its published figures.

    Some are suites of several parts, each with a result folder of its own and all on one page.
    `--set` sets a value in every part, `--set "PART:FIELD=VALUE"` in one.

    Example: `gameway reproduce demo`

    Next: open the report; published and simulated values stand side by side, with the difference.
    """
    from gameway import experiments  # noqa: PLC0415 (as below)
    from gameway.cli.runs import RunCommand  # noqa: PLC0415 (heavy; help must be quick)

    found = experiments.find(name)
    live = LiveOptions(source, pcap, film)
    RunCommand(found, on, runs, settings, parts, jobs, folder, not no_report, live).carry_out()


@app.command()
def report(
    folder: Annotated[Path, typer.Argument(help="Result folder of `gameway run`.")],
    simulated: Annotated[
        Path | None,
        typer.Option(
            "--beside",
            metavar="DIR",
            help="Simulated results to put beside live ones, instead of those that "
            "`gameway run --on live` left there.",
        ),
    ] = None,
    check: Annotated[
        bool,
        typer.Option(
            "--check", help="Exit with 1 if a live mean is outside its tolerance of the simulated."
        ),
    ] = False,
    page: Annotated[
        Path | None,
        typer.Option(
            "--page",
            metavar="DIR",
            help="Folder of your own suite, whose `page.py` makes the page.",
        ),
    ] = None,
) -> None:
    """Write the report of a result folder anew: one HTML page that needs nothing else.

    It works while runs are missing, too, and says how many. Live results stand beside the simulated
    ones of the same experiment, with a verdict for each mean.

    Example: `gameway report results/demo`

    Next: open `results/demo/report.html` in a browser.
    """
    from gameway.cli import reports  # noqa: PLC0415 (heavy; help must be quick)

    reports.report_folder(folder, simulated, page)
    if check and reports.outside(folder, simulated):
        raise typer.Exit(1)


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
    from gameway.cli import reports  # noqa: PLC0415 (heavy; help must be quick)

    reports.compare_folders(folders, target, report=not no_report)


@app.command(name="list")
def list_command(
    what: Annotated[Listed, typer.Argument(help="What to list.")],
) -> None:
    """List what can be named in an experiment file, or what is measured, with sources.

    Example: `gameway list controllers`

    Next: name one in an experiment file, e.g. `controller = "gcc"`.
    """
    from gameway.cli import lists  # noqa: PLC0415 (help must be quick)

    if what is Listed.metrics:
        lists.print_metrics()
    elif what is Listed.experiments:
        lists.print_experiments()
    else:
        lists.print_part(what.value)


Page = Annotated[
    Path | None, typer.Option("--out", metavar="FILE", help="Write it there, not to the screen.")
]


@app.command("schema")
def schema_command(file: Page = None) -> None:
    """Write the JSON Schema of experiment files, for the completion and help of an editor.

    Example: `gameway schema --out gameway.schema.json`

    Next: begin an experiment file with `#:schema ./gameway.schema.json`.
    """
    from gameway.cli import lists  # noqa: PLC0415 (help must be quick)

    lists.write_schema(file)


@app.command("reference")
def reference_command(file: Page = None) -> None:
    """Write a page of all options with their types, bounds and defaults, in Markdown.

    Example: `gameway reference --out reference.md`
    """
    from gameway.cli import lists  # noqa: PLC0415 (help must be quick)

    lists.write_reference(file)


@app.command()
def frames(
    video: Annotated[
        Path, typer.Argument(help="A video file: H.264, H.265, AV1, VP8, VP9 or MPEG-2.")
    ],
    csv: Annotated[bool, typer.Option("--csv", help="Every frame, as CSV.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Every frame, as JSON.")] = False,
    table: Annotated[
        Path | None, typer.Option("--table", metavar="OUT.gwfr", help="Write a frame table.")
    ] = None,
    frame_rate: Annotated[
        str | None,
        typer.Option(
            "--frame-rate",
            metavar="RATE",
            help="Frames per second, as 60 or 60000/1001: of a raw stream that states none, and of "
            "the places of a table; read from the video if not given.",
        ),
    ] = None,
) -> None:
    """Read the size of every frame of a recorded video; or make a frame table to stream from.

    Frames keep their times: where a recorder dropped some, the table has places without a frame.

    Example: `gameway frames game.mp4 --table game.gwfr`

    Next: `video = { file = "game.gwfr" }` in a [[stream]] of an experiment file.
    """
    from gameway.cli.recordings import FramesCommand  # noqa: PLC0415 (heavy; help must be quick)

    FramesCommand(video, csv, json, table, frame_rate).carry_out()


@app.command("gateway-record")
def gateway_record(
    record: Annotated[
        Path, typer.Argument(help="A file that `gameway-gateway up --record FILE` wrote.")
    ],
    folder: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Result folder; `results/NAME` of the file if not given."),
    ] = None,
) -> None:
    """Make a result folder of what a home's gateway recorded, and its report.

    Example: `gameway gateway-record evening.jsonl --out results/evening`
    """
    from gameway.cli import reports  # noqa: PLC0415 (heavy; help must be quick)

    reports.record_folder(record, folder or Path("results") / record.stem)


@dataclass(frozen=True)
class Completion:
    """What a shell can complete."""

    value: str
    help: str
    type: str = "plain"


class Program(TyperCommand):
    """A command that is a program: `gameway.cli.main` starts it, here are its name and options."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Leave everything to the program, `--` too."""
        ctx.args = list(args)
        return args

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Give the options that begin so."""
        found = programs.options(ctx.info_name or "")
        return [Completion(name, text) for name, text in found if name.startswith(incomplete)]


@app.command("play", cls=Program, add_help_option=False)
def play_command(context: typer.Context) -> None:
    """Play a program in a browser: on a screen and a sound server of its own, streamed with a
    congestion control that keeps the queue short.
    """  # noqa: D205 (one sentence, as the program tells it)
    programs.carry_out("play", context.args)


@app.command("host", cls=Program, add_help_option=False)
def host_command(context: typer.Context) -> None:
    """Stream a game, a video or the built-in scene to a browser or to `gameway client`."""
    programs.carry_out("host", context.args)


@app.command("client", cls=Program, add_help_option=False)
def client_command(context: typer.Context) -> None:
    """Receive, decode and measure a stream, without a display."""
    programs.carry_out("client", context.args)


@app.command("devices", cls=Program, add_help_option=False)
def devices_command(context: typer.Context) -> None:
    """List the devices that `gameway host` lets in, or revoke one."""
    programs.carry_out("devices", context.args)


@app.command("doctor", cls=Program, add_help_option=False)
def doctor_command(context: typer.Context) -> None:
    """Try what of `gameway play` works on this machine, and say how to mend what does not."""
    programs.carry_out("doctor", context.args)


@app.command("link", cls=Program, add_help_option=False)
def link_command(context: typer.Context) -> None:
    """Run a command behind an emulated path, in real time; needs root."""
    programs.carry_out("link", context.args)


def main() -> None:
    """Carry out a command; an interruption is a message, too."""
    try:
        app()
    except Interrupted as interruption:
        from gameway.cli.console import err  # noqa: PLC0415 (help must be quick)

        message = str(interruption)
        err.print(message, style="yellow", highlight=False, markup=False, soft_wrap=True)
        raise SystemExit(interruption.code) from None
