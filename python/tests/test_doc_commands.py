"""Every command of README and docs is run, in small, or named here with a test or a reason.

Four sorts, in the order of how much they prove:

- run: the command itself runs here, on a tenth of the data where it says how much;
- tests: commands that run tests of `make test` or `make long`, which are there by these names;
- begun: everything runs up to the first packet (options, files, settings, matrix, checks);
  the suite itself runs in small in the test that is named for it;
- named: another test or target runs it, or it cannot run here and the reason is given.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from doc_commands import ROOT, STARTS, all_commands, commands, documents, shell_lines
from live_fixture import needs_live
from typer.testing import CliRunner

import gameway as gw
from gameway import experiments, sweep
from gameway.cli.app import app

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

COMMANDS = all_commands()
TESTS = ROOT / "python" / "tests"
EXAMPLE = re.compile(r"^```toml\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Named:
    """A command that is not run here: by which test, or why not."""

    pattern: str
    reason: str
    test: str = ""
    """`file::function` of the test that runs it, if one does."""


QUIET = "measures for minutes, on a machine that does nothing else"
NAMED = (
    Named(r"gameway( run FILE( --on live)?| run \.\.\. .*| run --on live| link| frames| client)?$",
          "names the command, and is none that can be typed"),
    Named(r"gameway (compare|list)$", "names the command; both are run below"),
    Named(r"gameway link .* COMMAND\.\.\.$", "a form; its like with a command are run below"),
    Named(r"gameway client (--out|--codec h265)$", "names an option; a client needs its host",
          "test_stream_command.py::test_a_client_on_the_hosts_machine_sees_the_stream"),
    Named(r"gameway (host( --input)?|client \"https.*)$", "runs until it is ended",
          "test_stream_command.py::test_a_client_on_the_hosts_machine_sees_the_stream"),
    Named(r"gameway (play|doctor) --map-ports$", "asks the machine's router",
          "test_port_mapping.py::test_the_doctor_asks_once_and_takes_it_back"),
    Named(r"gameway play( supertuxkart| --size 1920x1080 .*| --screen :0)?$",
          "runs until it is ended",
          "test_play.py::test_a_game_is_played_by_keys_and_ctrl_c_ends_all"),
    Named(r"gameway (play --screen wayland|host --source portal)$", "runs until it is ended",
          "test_live_wayland.py::test_what_is_drawn_is_what_the_browser_shows"),
    Named(r"gameway play --test-card( .*)?", "runs until it is ended",
          "test_live_photon.py::test_parts_add_up_and_what_one_takes_longer_is_in_it_alone"),
    Named(r"gameway play --lab.*", "runs until it is ended",
          "test_live_lab.py::test_another_device_plays_behind_a_path_whose_knobs_act"),
    Named(r"gameway devices( --revoke (NAME|\"Firefox on Linux\"))?$", "needs a paired device",
          "test_live_pairing.py::test_a_browser_is_paired_by_the_code_and_plays_until_it_is_revoked"),
    Named(r"gameway doctor( --json)?$", "its exit code is the machine's",
          "test_doctor.py::test_every_check_is_found_and_nothing_stays"),
    Named(r"gameway doctor --stun HOST:PORT$", "asks a server elsewhere",
          "test_nat.py::test_the_doctor_says_how_others_see_this_machine"),
    Named(r"gameway schema( --out gameway\.schema\.json)?$", "writes a file",
          "test_schema.py::test_the_command_writes_it"),
    Named(r"gameway reference( --out docs/reference\.md)?$", "writes a file",
          "test_schema.py::test_the_page_of_options_is_that_of_the_program"),
    Named(r"gameway report .* --check$", "needs live results",
          "test_beside.py::test_a_report_that_checks_fails_where_a_mean_is_outside"),
    Named(r"gameway report( results/played/.*)?$", "needs a session that was killed",
          "test_live_lab.py::test_a_recorded_session_outlives_its_process"),
    Named(r"gameway report .* --beside .*", "needs live results",
          "test_beside.py::test_a_report_can_stand_beside_results_of_another_folder"),
    Named(r"gameway host --encoder hardware$", "needs a graphics card"),
    Named(r"gameway --install-completion$", "changes the shell of whoever runs it"),
    Named(r"gameway run --film game$", "names an option; records a game for a minute",
          "test_live_game.py::test_a_recording_is_made_once_and_films_are_cut_from_it"),
    Named(r"make test$", "runs this test"),
    Named(r"make lint$", "is part of `make test`"),
    Named(r"make machine-tools$", "fetches a kernel, as `make test` does"),
    Named(r"make page$", "writes the built page anew, which `make lint` compares"),
    Named(r"make (setup|demo|demo-live|conformance)( SOURCE=game)?$", "builds for minutes"),
    Named(r"cargo (bench .*|run --release -p gameway-(sim|codec|webrtc) .*)", QUIET),
    Named(r"cargo run --profile wheel -p gameway-sim .*", QUIET),
    Named(r"cargo run --release -p gameway-(tcp|quic|path|control) --example \w+$",
          "has a test beside it, part of `make test`"),
    Named(r"cargo build --release -p gameway-codec .* --example capture$",
          "builds for minutes; what it builds is run by",
          "test_live_drawing.py::test_pictures_are_captured_when_they_are_drawn"),
    Named(r"cargo (build --release -p gameway-stream|install --path crates/product/stream) .*",
          "builds for minutes; crates/product/stream/tests/all/programs.rs runs what it builds"),
    Named(r"cargo run --release -p gameway-stream --example own_host .*",
          "runs until it is ended; has a test beside it, part of `make test`"),
    Named(r"cargo build --release -p gameway-link",
          "builds for minutes; what it builds is run by crates/lab/link/tests/program.rs"),
    Named(r"cargo build --release -p gameway-router", "builds for minutes",
          "test_live_gateway.py::test_what_fills_the_providers_queue_does_so_no_more"),
    Named(r"(sudo )?(target/release/)?gameway-gateway up --home br-lan$", "runs until it is ended",
          "test_live_gateway.py::test_what_fills_the_providers_queue_does_so_no_more"),
    Named(r"(sudo )?(target/release/)?gameway-gateway (down|status --watch)$", "asks one that runs",
          "test_gateway_program.py::test_one_runs_at_an_interface_and_ends_when_it_is_asked"),
    Named(r"(sudo )?(target/release/)?gameway-gateway doctor --home br-lan$",
          "its exit code is the machine's",
          "test_gateway_doctor.py::test_an_interface_at_which_a_gateway_works_has_no_fault"),
    Named(r"gameway gateway-record (evening\.jsonl --out results/evening|FILE)$",
          "needs what a gateway recorded",
          "test_gateway_record.py::test_a_record_becomes_a_folder_and_a_report"),
    Named(r"make gateway( TARGET=armv7-unknown-linux-musleabihf)?$",
          "builds for minutes; what it builds is run by",
          "test_gateway_packaging.py::test_it_runs_where_nothing_else_is"),
    Named(r"make packages$", "builds from nothing for minutes; what `make test` has of it:",
          "test_packages.py::test_the_wheel_runs_the_demo_as_the_checkout_does"),
    Named(r"make properties$", "runs the property tests of `make test` again and again"),
    Named(r"make mutants$", "builds and tests anew for each changed line"),
    Named(r"make long$", "runs tests whose shorter forms are part of `make test`"),
    Named(r"make soak$", "simulates 64 hours; ten minutes of them are a test of the simulator"),
    Named(r"make soak-live$", "plays for an hour; what `make test` has of it:",
          "test_live_soak.py::test_all_that_a_soak_looks_at_begins_within_its_bounds"),
    Named(r"make play$", QUIET, "test_live_play.py::test_chromium_plays_evenly"),
    Named(r"make figures$", QUIET, "test_live_photon.py::"
          "test_parts_add_up_and_what_one_takes_longer_is_in_it_alone"),
    Named(r"make nat$", "tries 51 pairs; what `make test` has of them:",
          "test_nat.py::test_a_browser_and_a_host_connect"),
    Named(r"gameway-client LINK$", "is `gameway client` without Python, and needs its host",
          "test_stream_command.py::test_a_client_on_the_hosts_machine_sees_the_stream"),
    Named(r"gameway-gateway up$", "names the command; the whole of it is above"),
    Named(r"gameway-gateway status --openmetrics > FILE\.prom$", "asks one that runs",
          "test_gateway_program.py::test_a_monitor_reads_the_status"),
    Named(r"source \.venv/bin/activate$", "changes the shell of whoever runs it"),
    Named(r"pip install \"gameway\[video\]\"$", "installs from an index; the wheel is tried by",
          "test_packages.py::test_the_wheel_runs_the_demo_as_the_checkout_does"),
    Named(r"python -c \"import gameway\.(live\.part|report)\"$", QUIET),
    Named(r"iperf3 -s -D$", "runs until it is ended; the tests of links have their own",
          "test_doc_commands.py::test_a_link_is_passed"),
    Named(r"tshark -r packets\.pcapng .*", "shows a capture in a program of others",
          "test_live_capture.py::test_a_capture_has_what_the_link_counted"),
    Named(r"ffmpeg -f lavfi .* video\.h264$", "makes the input of the example below it"),
    Named(r"ssh -L 8443:127\.0\.0\.1:8443$", "needs a second machine"),
    Named(r"(mkdir -p ~/\.config/systemd/user|systemctl --user enable --now gameway|"
          r"journalctl --user --unit gameway)$", "is for the services of a user",
          "test_service.py::test_systemd_takes_the_unit_as_it_was_meant"),
    Named(r"(GAMEWAY_SCENE=2 )?cargo test( --release)? -p .*",
          "is part of `make test`, its tables are long"),
    Named(r"cargo fuzz run .*", "runs until it is ended, on a nightly compiler"),
    Named(r"(KEEP=1 RUNS=-1 SECONDS_EACH=14400 )?fuzz/smoke( tcp_segments)?$",
          "is part of `make long`"),
    Named(r"tools/.*", QUIET),
    Named(r"python make_trace\.py .*", "is run as a module",
          "test_cellular_trace.py::test_the_committed_trace_is_what_the_seed_makes"),
    Named(r"python record\.py .*", "records a game for a quarter of an hour"),
    Named(r"python steer\.py link\.socket .*", "is for a link that runs",
          "test_live_control.py::test_the_script_of_the_page_changes_a_link_that_runs"),
    Named(r"python -m gameway\.live\.part link .*", "is what a live run starts",
          "test_live_runs.py::test_what_a_download_has_is_the_capacity"),
    Named(r"python -m gameway\.experiments\.pudica\.paths$", "writes the suite's files anew"),
    Named(r"(sudo )?apt install .*", "installs packages"),
)  # fmt: skip

BEGUN = {
    r"gameway reproduce .*": "its tests have the short form of each suite",
    r"gameway run (experiments|tests)/.*": "the same experiments, named by file",
    r"gameway run my-link\.toml --on live.*": "test_live_runs.py runs such files",
}
LISTS = r"gameway list (controllers|queues|gateways|competitors|metrics)$"
RUNS = r"gameway run my-link\.toml( --set .*)?$"
READS = r"gameway (compare results/.*|report results/[\w-]+)"
FRAMES = r"gameway frames recording\.mp4 .*"
LINK = r"gameway link (?!.*COMMAND\.\.\.).+"
TESTED = r"([A-Z_]+=(\"[^\"]*\"|\w+) )*\.venv/bin/pytest .*"
RUN = (LISTS, RUNS, READS, FRAMES, LINK, TESTED)


def sorts_of(command: str) -> list[str]:
    """The patterns that a command fits, of whatever sort."""
    patterns = [*(one.pattern for one in NAMED), *BEGUN, *RUN]
    return [pattern for pattern in patterns if re.fullmatch(pattern.removesuffix("$"), command)]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_is_of_one_sort(command: str) -> None:
    assert len(sorts_of(command)) == 1, f"{COMMANDS[command]}: {command}"


def test_no_rule_is_left_over() -> None:
    used = {pattern for command in COMMANDS for pattern in sorts_of(command)}
    assert {*(one.pattern for one in NAMED), *BEGUN, *RUN} - used == set()


def test_a_new_command_has_no_sort() -> None:
    (found,) = commands("    gameway teleport now   # somewhere\n")
    assert sorts_of(found) == []


def of(*patterns: str) -> list[str]:
    return [c for c in COMMANDS if any(p in sorts_of(c) for p in patterns)]


def test_no_line_of_a_shell_is_overlooked() -> None:
    overlooked = [
        (page.name, line)
        for page in documents()
        for line in shell_lines(page.read_text("utf-8"))
        if not STARTS.match(line)
    ]
    assert overlooked == []


def test_a_program_that_is_not_known_is_seen() -> None:
    assert shell_lines("text\n```sh\nunheard-of --option\n```\n") == ["unheard-of --option"]
    assert not STARTS.match("unheard-of --option")


def slips(command: str) -> list[str]:
    """What a command that runs tests asks for and is not there: files, tests, marks, settings."""
    words = shlex.split(command)
    begins = words.index(".venv/bin/pytest") + 1
    files = [ROOT / word for word in words[begins:] if word.endswith(".py")]
    absent = [str(file) for file in files if not file.is_file()]
    text = "".join(file.read_text("utf-8") for file in files if file.is_file())
    wanted = [word.partition("=")[0] for word in words[: begins - 1]]
    options = dict(zip(words[begins:], words[begins + 1 :], strict=False))
    tests = re.findall(r"^ *def (test_\w+)", text, re.MULTILINE)
    if "-m" in options:
        wanted.append(f"mark.{options['-m']}")
    if not any(options.get("-k", "") in test for test in tests):
        absent.append(options.get("-k", "a test"))
    return absent + [word for word in wanted if word not in text]


@pytest.mark.parametrize("command", of(TESTED))
def test_a_command_that_runs_tests_finds_them(command: str) -> None:
    assert slips(command) == []


def test_tests_that_are_not_there_are_missed() -> None:
    there = ".venv/bin/pytest python/tests/test_docs.py"
    assert slips(there) == []
    assert slips(f"GAMEWAY_NO_SUCH=1 {there} -m no_such") == ["GAMEWAY_NO_SUCH", "mark.no_such"]
    assert slips(f"{there} -k teleports") == ["teleports"]
    assert slips(".venv/bin/pytest python/tests/test_no_such.py")[0].endswith("test_no_such.py")


@pytest.mark.parametrize("named", [one for one in NAMED if one.test], ids=lambda one: one.pattern)
def test_the_test_that_is_named_exists(named: Named) -> None:
    file, function = named.test.split("::")
    assert f"def {function}(" in (TESTS / file).read_text("utf-8")


class Begun(BaseException):
    """The first packet would be sent now."""


@pytest.mark.parametrize("command", of(*BEGUN))
def test_a_long_command_begins(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def begin(*_arguments: Any) -> None:
        raise Begun

    for name in ("my.trace", "TMobile-LTE-short.down"):
        shutil.copy(ROOT / "experiments" / "cellular" / "cellular.trace", tmp_path / name)
    for name in ("experiments", "tests"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "my-link.toml").write_text(example(), "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sweep, "_run_all", begin)
    with pytest.raises(Begun):
        CliRunner().invoke(app, shlex.split(command)[1:])


def test_a_command_with_a_slip_does_not_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep, "_run_all", lambda *_arguments: None)
    result = CliRunner().invoke(app, ["reproduce", "rmcat", "--part", "5.1-gambling"])
    assert isinstance(result.exception, gw.GamewayError)


def test_every_experiment_has_its_command() -> None:
    told = {shlex.split(c)[2] for c in COMMANDS if c.startswith("gameway reproduce ")}
    by_file = {c.split("/")[1] for c in COMMANDS if c.startswith("gameway run experiments/")}
    made = {"demo", "demo-live"}
    assert set(experiments.names()) - told - by_file - made == set()


@pytest.mark.parametrize("command", of(LISTS))
def test_lists_are_printed(command: str) -> None:
    result = CliRunner().invoke(app, shlex.split(command)[1:])
    assert result.exit_code == 0
    assert result.output.count("\n") > 3


def example() -> str:
    """The experiment of the page of commands."""
    found = EXAMPLE.search((ROOT / "docs" / "commands.md").read_text("utf-8"))
    assert found is not None
    return found.group(1)


def shortened() -> str:
    """The same in a fortieth of the time."""
    return re.sub(r'"(120|80|40) s"', lambda time: f'"{int(time[1]) // 40} s"', example())


@pytest.fixture(scope="module")
def worked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which a reader has run what the page of commands says."""
    folder: Path = tmp_path_factory.mktemp("reader")
    (folder / "my-link.toml").write_text(shortened(), "utf-8")
    first, *others = of(RUNS)
    finished(first, folder)
    for command in others:
        finished(command, folder, program=UNDRAWN)
    return folder


GAMEWAY = ("-m", "gameway")
UNDRAWN = (str(TESTS / "undrawn.py"),)
"""The same, but figures of reports are compiled and not drawn."""


def finished(
    command: str, folder: Path, *, program: tuple[str, ...] = GAMEWAY, within: int = 100,
    inside: tuple[str, ...] = (),
) -> str:  # fmt: skip
    """Run a command as a reader does; give what it printed."""
    words = [*inside, sys.executable, *program, *shlex.split(command)[1:]]
    done = subprocess.run(
        words, cwd=folder, capture_output=True, text=True, check=False, timeout=within
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def test_runs_of_the_page_leave_their_reports(worked: Path) -> None:
    assert len(of(RUNS)) == 2
    for name, repeats in (("my-link", 5), ("again", 15)):
        results = gw.Results.open(worked / "results" / name)
        assert results.missing == 0
        assert results.runs["repeat"].n_unique() == repeats
        assert (worked / "results" / name / "report.html").is_file()


@pytest.mark.parametrize("command", of(READS))
def test_results_are_compared_and_told_anew(
    command: str, worked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "results").mkdir()
    for name in re.findall(r"results/([\w-]+)", command):
        # Of one capacity. What is drawn is drawn of `worked`.
        (tmp_path / "results" / name).symlink_to(worked / "results" / "again")
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, shlex.split(command)[1:])
    assert done.exit_code == 0, done.output
    assert "report.html" in done.output


@pytest.mark.parametrize("command", of(FRAMES))
def test_a_recording_becomes_a_frame_table(command: str, tmp_path: Path) -> None:
    pytest.importorskip("av")
    source = "testsrc2=size=320x180:rate=60:duration=2"
    recording = tmp_path / "recording.mp4"
    subprocess.run(
        ["ffmpeg", "-loglevel", "error", "-f", "lavfi", "-i", source, str(recording)], check=True
    )
    finished(command, tmp_path)
    assert (tmp_path / "my.gwfr").stat().st_size > 120


PACKET_EACH_MS = "".join(f"{ms}\n" for ms in range(1, 1001))
"""A packet of 1500 B each millisecond: 12 Mb/s."""
MATTERS: dict[str, Callable[[str], bool]] = {
    "ping": lambda told: " 0% packet loss" in told,
    "iperf3": lambda told: "receiver" in told,
}


@needs_live
@pytest.mark.parametrize("command", of(LINK))
def test_a_link_is_passed(command: str, tmp_path: Path) -> None:
    for name in ("UP", "DOWN"):
        (tmp_path / name).write_text(PACKET_EACH_MS, "utf-8")
    spoken = command.replace("-- CMD", "-- ping -c 3 -i 0.2 $GAMEWAY_OUTSIDE")
    spoken = re.sub(r"ping -c \d+ ", "ping -c 5 -i 0.2 ", spoken.replace("-t 10", "-t 2"))
    if "sh -c" not in spoken:
        spoken = re.sub(r"-- (.*)", r"-- sh -c '\1'", spoken)
    told = passed(spoken, tmp_path)
    assert all(seen(told) for word, seen in MATTERS.items() if word in spoken), told


@needs_live
def test_mahimahis_link_carries_its_trace(tmp_path: Path) -> None:
    # With a queue of one packet CUBIC had a sixth of it.
    (row,) = [c for c in of(LINK) if "--trace DOWN" in c]
    for name in ("UP", "DOWN"):
        (tmp_path / name).write_text(PACKET_EACH_MS, "utf-8")
    download = "sh -c 'iperf3 -c $GAMEWAY_OUTSIDE -R -t 4 --json'"
    told = passed(row.replace("CMD", download), tmp_path)
    bits = float(re.findall(r'"bits_per_second":\s*([\d.]+)', told)[-1])
    # 40 of 1500 B are headers, and slow start is part of the four seconds.
    assert 0.85 * 12e6 < bits < 12e6


FRAGMENT = re.compile(r"\| `(--[^`]+)` \|$", re.MULTILINE)
FRAGMENTS = FRAGMENT.findall((ROOT / "docs" / "link.md").read_text("utf-8"))


@needs_live
@pytest.mark.parametrize("options", FRAGMENTS)
def test_options_for_those_who_come_from_elsewhere(options: str, tmp_path: Path) -> None:
    rest = [f'{name} "10 Mb/s"' for name in ("--capacity",) if name not in options]
    rest += ['--rtt "2 ms"'] if "--rtt" not in options else []
    finished(f"gameway link {' '.join(rest)} {options} -- true", tmp_path)


def passed(command: str, folder: Path) -> str:
    """What a command behind a link prints; iperf3 listens outside where it is used."""
    if "iperf3" not in command:
        return finished(command, folder)
    # In a namespace of its own: the port that a reader's iperf3 has is other tests', too.
    space = f"gw-doc-{os.getpid()}"
    inside = ("nsenter", f"--net=/run/netns/{space}")
    subprocess.run(["ip", "netns", "add", space], check=True)
    try:
        subprocess.run([*inside, "ip", "link", "set", "lo", "up"], check=True)
        server = subprocess.Popen([*inside, "iperf3", "-s"], stdout=subprocess.DEVNULL)
        try:
            return finished(command, folder, inside=inside)
        finally:
            server.terminate()
            server.wait()
    finally:
        subprocess.run(["ip", "netns", "del", space], check=True)
