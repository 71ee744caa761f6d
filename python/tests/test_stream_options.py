"""`gameway host` and `gameway client` are the programs of the stream by other names."""

from __future__ import annotations

import subprocess
import sys

import pytest
import typer

from gameway import _core
from gameway.cli.app import app
from gameway.live import programs

TOKEN = "a-token-of-24-characters"
pytestmark = pytest.mark.skipif(not _core.encoders(), reason="needs a build with live streams")


def said(*words: str) -> tuple[int, str, str]:
    """Run a command; give its exit code and what it said on standard output and error."""
    command = [sys.executable, "-m", "gameway", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["host", "--size", "large"], '--size: "large" is no size'),
        (["host", "--frame-rate", "0"], "--frame-rate: 0 is not between 1 and 1000"),
        (["host", "--duration=5"], '--duration: "5" has nothing as unit'),
        (["doctor", "--listen", "x"], '--listen: "x" has no address'),
        (["host", "--token", TOKEN], "unexpected argument '--token' found"),
        (["host", "--out", "/proc/none"], '--out: "/proc/none" cannot be made'),
        (["client", "192.0.2.7:8443"], "give the link that `gameway host` prints"),
        (["client", f"http://h/#{TOKEN}", "--inputs", "5"], '--inputs: "5" has nothing'),
    ],
)
def test_what_is_typed_is_passed_on_and_a_slip_is_told(words: list[str], told: str) -> None:
    code, _, error = said(*words)
    assert code == 2
    assert told in error


def options(command: str) -> list[str]:
    """Name the options of a program."""
    known = _core.link_options() if command == "link" else _core.stream_options(command)
    return [option for option, _ in known]


@pytest.mark.parametrize("command", ["host", "client", "devices", "doctor", "link"])
def test_help_is_the_programs_by_this_name(command: str) -> None:
    code, text, error = said(command, "--help")
    assert (code, error) == (0, "")
    assert f"Usage: gameway {command} [OPTIONS]" in text
    assert all(option in text for option in options(command))


@pytest.mark.parametrize("command", programs.PROGRAMS)
def test_help_of_all_commands_tells_a_program_as_the_program_does(command: str) -> None:
    found = typer.main.get_command(app).commands[command]  # type: ignore[attr-defined]
    told = " ".join(str(found.help).split())
    assert said(command, "--help")[1].splitlines()[0] == told


def imported(*words: str) -> set[str]:
    """Name the packages that a command imports."""
    command = [sys.executable, "-X", "importtime", "-m", "gameway", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    lines = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    return {line.rpartition("|")[2].strip().partition(".")[0] for line in lines}


@pytest.mark.parametrize("command", ["host", "client", "devices", "doctor", "link"])
def test_a_program_starts_without_what_the_lab_imports(command: str) -> None:
    assert imported(command, "--help").isdisjoint({"typer", "rich", "polars", "pydantic"})


def test_another_command_imports_it() -> None:
    assert {"typer", "rich", "pydantic"} <= imported("schema")


def completed(command: str, incomplete: str) -> list[str]:
    """Name what a shell is given for what was typed of an option."""
    found = typer.main.get_command(app).commands[command]  # type: ignore[attr-defined]
    context = typer.Context(found, info_name=command)
    return [item.value for item in found.shell_complete(context, incomplete)]


def test_a_shell_completes_the_options_of_the_program() -> None:
    assert completed("host", "--fr") == ["--frame-rate"]
    assert completed("client", "--") == options("client")
    assert completed("link", "--up") == ["--up-capacity"]
    assert completed("client", "--fr") == []
