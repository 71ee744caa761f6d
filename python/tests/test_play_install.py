"""`gameway play` on a machine without the game, its screen and its sound server.

Each play has a mount namespace of its own, in which the game and its data are hidden, and a folder
of programs of its own as PATH. A script stands in the place of apt-get. It keeps its arguments, and
uncovers the files of the packages that it is to install.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
from browser_fixture import TOKEN, free_address
from said_fixture import said_until
from test_play import eventually, left_over

LIMIT_S = 20.0
"""A play that has not ended by then is killed, which fails the test."""
GAME = Path("/usr/games/crispy-doom")
DATA = Path("/usr/share/games/doom/freedoom2.wad")
PROGRAMS = {"xvfb": "Xvfb", "pulseaudio": "pulseaudio", "pulseaudio-utils": "parec"}
"""The program that is used of each package."""
WITHIN = """
apt_get=$1 programs=$2; shift 2
mount -t tmpfs none /usr/games
mount -t tmpfs none /usr/share/games
mount --bind "$apt_get" /usr/bin/apt-get
exec env PATH="$programs" "$@"
"""
APT_GET = """#!/bin/sh
echo "$DEBIAN_FRONTEND $*" >> {log}
PATH={path}
case "$*" in {fails}) exit 100 ;; esac
for word; do
    case $word in
        crispy-doom) umount /usr/games ;;
        freedoom) umount /usr/share/games ;;
{links}
    esac
done
"""
UPDATE = "noninteractive -qq update"
INSTALL = "noninteractive -qq install --yes --no-install-recommends --no-remove"
GAME_INSTALLED = f"{INSTALL} crispy-doom freedoom xvfb"
SOUND_INSTALLED = f"{INSTALL} pulseaudio pulseaudio-utils"
NOTE = "note: the built-in scene is played: "
NOT_INSTALLED = f"{NOTE}packages that the game needs are not installed, and "
ALL = "crispy-doom freedoom xvfb pulseaudio pulseaudio-utils"
MEND = f"; for the game, as root: apt-get update && apt-get install {ALL}\n"


def why_not() -> str:
    if os.geteuid() != 0:
        return "needs root"
    if not all(map(shutil.which, ("unshare", "Xvfb", "pulseaudio", "parec"))):
        return "needs unshare, Xvfb, pulseaudio and parec"
    if not (GAME.exists() and DATA.exists() and Path("/usr/bin/apt-get").exists()):
        return "needs apt-get, crispy-doom and freedoom"
    return ""


needs_namespace = pytest.mark.skipif(bool(why_not()), reason=why_not() or "all is there")


def found(program: str) -> str:
    path = shutil.which(program)
    assert path is not None, program
    return path


@dataclass(frozen=True)
class Played:
    """What came of a play that was ended by Ctrl-C as soon as it had a link."""

    said: str
    calls: list[str]
    """The arguments of each call of apt-get."""
    programs: set[str]
    """The game, its screen and its sound server, as far as they ran."""


def stand_in(folder: Path, fails: str) -> Path:
    """Write the script in the place of apt-get; calls that fit the pattern fail."""
    links = "\n".join(
        f"        {package}) ln -s {found(program)} {folder / 'programs' / program} ;;"
        for package, program in PROGRAMS.items()
    )
    file = folder / "apt-get"
    log, path = folder / "apt-get.log", os.environ["PATH"]
    file.write_text(APT_GET.format(log=log, path=path, fails=fails, links=links), "utf-8")
    file.chmod(0o755)
    return file


def play(
    folder: Path, answer: str = "", *, there: tuple[str, ...] = (), fails: str = "-"
) -> Played:
    """Play without a command where only these programs are there.

    Without an answer there is no terminal.
    """
    programs = folder / "programs"
    programs.mkdir()
    for program in there:
        (programs / program).symlink_to(found(program))
    apt_get = stand_in(folder, fails)
    line: list[str | Path] = [
        found("unshare"),
        "--mount",
        found("sh"),
        "-euc",
        WITHIN,
        "sh",
        apt_get,
        programs,
    ]
    line += [sys.executable, "-m", "gameway", "play", "--listen", free_address()]
    line += ["--size", "320x180"]
    with ExitStack() as stack:
        # A socket's path has at most 107 bytes, which a folder of a test alone can have.
        runtime = stack.enter_context(tempfile.TemporaryDirectory(prefix="gw-"))
        own = {"GAMEWAY_TOKEN": TOKEN, "XDG_RUNTIME_DIR": runtime, "HOME": str(folder)}
        terminal, stdin = os.openpty() if answer else (None, subprocess.DEVNULL)
        process = stack.enter_context(
            subprocess.Popen(
                line, stdin=stdin, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                env={**os.environ, **own},
            )
        )  # fmt: skip
        stack.callback(process.kill)
        limit = threading.Timer(LIMIT_S, process.kill)
        limit.start()
        stack.callback(limit.cancel)
        asked = ""
        if terminal is not None:
            stack.callback(os.close, terminal)
            os.close(stdin)
            _, asked = said_until(process.stderr, r"\[y/N\]\n")
            os.write(terminal, f"{answer}\n".encode())
        _, said = said_until(process.stderr, r"http://\S+")
        running = {Path(line.split()[0]).name for line in left_over(folder)}
        process.send_signal(signal.SIGINT)
        _, rest = process.communicate()
        assert process.returncode == 0, asked + said + rest
        assert not list(Path(runtime).iterdir())
    assert eventually(lambda: left_over(folder) == [])
    assert GAME.exists(), "it was hidden for the play alone"
    log = folder / "apt-get.log"
    calls = log.read_text("utf-8").splitlines() if log.exists() else []
    return Played(asked + said + rest, calls, running & {GAME.name, *PROGRAMS.values()})


@needs_namespace
@pytest.mark.parametrize(
    ("there", "packages", "calls"),
    [
        ((), ALL, [UPDATE, GAME_INSTALLED, SOUND_INSTALLED]),
        (
            ("Xvfb", "pulseaudio", "parec"),
            "crispy-doom freedoom",
            [UPDATE, f"{INSTALL} crispy-doom freedoom"],
        ),
    ],
    ids=["all", "the game"],
)
def test_what_is_missing_is_installed_and_the_game_is_played(
    there: tuple[str, ...], packages: str, calls: list[str], tmp_path: Path
) -> None:
    played = play(tmp_path, "y", there=there)
    assert f"Install {packages} by apt-get (" in played.said
    assert played.calls == calls
    assert {GAME.name, "Xvfb", "pulseaudio"} <= played.programs
    assert "note: " not in played.said


@needs_namespace
def test_the_game_is_played_without_sound_where_sound_cannot_be_installed(tmp_path: Path) -> None:
    played = play(tmp_path, "y", fails="*pulseaudio*")
    assert played.calls == [UPDATE, GAME_INSTALLED, SOUND_INSTALLED]
    assert {GAME.name, "Xvfb"} <= played.programs
    assert "note: apt-get install: exit status: 100\nnote: no sound: pulseaudio is" in played.said


@needs_namespace
def test_the_scene_is_played_where_the_answer_is_no(tmp_path: Path) -> None:
    played = play(tmp_path, "n")
    assert played.calls == []
    assert f"{NOT_INSTALLED}the answer was not yes{MEND}" in played.said
    assert played.said.count("note: ") == 1
    assert played.programs == set()


@needs_namespace
def test_the_scene_is_played_where_nobody_can_be_asked(tmp_path: Path) -> None:
    played = play(tmp_path)
    assert played.calls == []
    why = "the question needs a terminal as standard input"
    assert f"{NOT_INSTALLED}{why}{MEND}" in played.said
    assert played.said.count("note: ") == 1
    assert played.programs == set()


@needs_namespace
def test_the_scene_is_played_where_apt_get_fails(tmp_path: Path) -> None:
    played = play(tmp_path, "y", fails="*")
    assert played.calls == [UPDATE, GAME_INSTALLED]
    why = "apt-get update: exit status: 100; apt-get install: exit status: 100"
    assert f"{NOTE}{why}{MEND}" in played.said
    assert played.said.count("note: ") == 1
    assert played.programs == set()


def test_a_command_without_xvfb_is_an_error_that_names_the_package(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "gameway", "play", "--listen", free_address(), "/bin/true"],
        capture_output=True,
        env={**os.environ, "PATH": str(tmp_path), "HOME": str(tmp_path)},
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.endswith("error: command: Xvfb is not installed; install xvfb\n")
