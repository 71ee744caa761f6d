"""How `gameway link` ends, by itself and by signals: its exit code, and what stays behind."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from live_fixture import LINK, needs_live

from gameway import _core
from gameway.live import namespaces

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = needs_live

PATH = ("--capacity", "20 Mb/s", "--rtt", "20 ms", "--size", "60 kB")
MADE = 2
"""The namespace of the command, and the device outside."""
PATIENCE_S = 20.0
SENT = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
FORWARDING = Path("/proc/sys/net/ipv4/ip_forward")


def gateway_link(*options: str, command: list[str]) -> list[str]:
    return [*LINK, *PATH, *options, "--", *command]


def base36(name: str) -> int | None:
    """The process in a device's name; None if it is none of ours."""
    found = re.fullmatch(r"gw([0-9a-z]+)-[0-9a-z]+", name)
    return int(found[1], 36) if found else None


def ours(process: int) -> list[str]:
    """Name the namespaces and devices of a process."""
    spaces = [place.name for place in namespaces.RUN.iterdir()] if namespaces.RUN.exists() else []
    shown = json.loads(namespaces.call("ip", "-json", "link", "show"))
    named = [space for space in spaces if space.startswith(f"gw-{process}-")]
    return named + [one["ifname"] for one in shown if base36(one["ifname"]) == process]


def comes(what: Callable[[], bool]) -> bool:
    """Wait for something, for a time; whether it came."""
    end = time.monotonic() + PATIENCE_S
    while not what() and time.monotonic() < end:
        time.sleep(0.05)
    return what()


def heeding() -> None:
    """Let signals count even where the tests themselves were started to ignore them."""
    for number in SENT:
        signal.signal(number, signal.SIG_DFL)


def started(folder: Path, *options: str) -> subprocess.Popen[bytes]:
    """Start a link whose command sleeps, with a child that does not care, and says its number."""
    script = f"trap '' TERM HUP; sleep 50 & trap - TERM HUP; echo $! > {folder}/up; exec sleep 60"
    with (folder / "errors").open("wb") as errors:
        process = subprocess.Popen(
            gateway_link(*options, command=["sh", "-c", script]),
            stderr=errors,
            preexec_fn=heeding,  # noqa: PLW1509
            process_group=0,
        )
    assert comes(lambda: (folder / "up").exists() and (folder / "up").read_bytes().endswith(b"\n"))
    assert len(ours(process.pid)) == MADE
    return process


@pytest.fixture
def sleeping(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Give a link whose command sleeps."""
    process = started(tmp_path)
    yield process
    process.kill()
    process.wait()


def child(folder: Path) -> int:
    """The command's child."""
    return int((folder / "up").read_text(encoding="ascii"))


def wardens(process: int) -> list[int]:
    """The processes that remove what this one leaves if it is killed."""
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = place.read_bytes().split(b"\0")
        except OSError:
            continue
        own = any(word.startswith(f"gw-{process}-".encode()) for word in words)
        if own and any(b"read -r word" in word for word in words):
            found.append(int(place.parent.name))
    return found


@pytest.mark.parametrize(
    ("command", "code", "told"),
    [
        (["sh", "-c", "exit 7"], 7, b""),
        (["no-such-program"], 127, b"no-such-program: not found"),
        (["/etc/passwd"], 126, b"/etc/passwd: Permission denied"),
        (["sh", "-c", "kill -KILL $$"], 128 + signal.SIGKILL, b""),
    ],
)
def test_a_command_that_cannot_be_run_or_is_ended_gives_what_a_shell_gives(
    command: list[str], code: int, told: bytes
) -> None:
    words = gateway_link(command=command)
    done = subprocess.run(words, capture_output=True, timeout=60, check=False)
    assert done.returncode == code
    assert told in done.stderr


@pytest.mark.parametrize("sent", SENT)
def test_a_signal_leaves_nothing_and_gives_its_exit_code(
    sleeping: subprocess.Popen[bytes], sent: signal.Signals, tmp_path: Path
) -> None:
    os.killpg(sleeping.pid, sent) if sent is signal.SIGINT else sleeping.send_signal(sent)
    assert sleeping.wait(PATIENCE_S) == 128 + sent
    assert ours(sleeping.pid) == []
    assert wardens(sleeping.pid) == []
    assert _core.start_of_process(child(tmp_path)) is None
    said = (tmp_path / "errors").read_text(encoding="utf-8")
    assert "Traceback" not in said
    # What it had measured is told.
    assert "packets came" in said


def test_who_presses_ctrl_c_again_and_again_leaves_nothing(
    sleeping: subprocess.Popen[bytes],
) -> None:
    while sleeping.poll() is None:
        os.killpg(sleeping.pid, signal.SIGINT)
        time.sleep(0.002)
    assert comes(lambda: ours(sleeping.pid) == [])
    assert comes(lambda: wardens(sleeping.pid) == [])


def test_what_a_killed_link_leaves_goes_by_itself(
    sleeping: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    sleeping.kill()
    sleeping.wait()
    assert comes(lambda: ours(sleeping.pid) == [])
    assert comes(lambda: _core.start_of_process(child(tmp_path)) is None)
    assert comes(lambda: wardens(sleeping.pid) == [])


# The start of another test, at the same time, may be the next one.
@pytest.mark.flaky(reruns=3, only_rerun=["AssertionError"])
def test_where_the_warden_is_killed_too_the_next_start_removes_what_is_left(
    sleeping: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    for warden in wardens(sleeping.pid):
        os.kill(warden, signal.SIGKILL)
    sleeping.kill()
    sleeping.wait()
    assert len(ours(sleeping.pid)) == MADE
    subprocess.run(gateway_link(command=["true"]), check=True, timeout=60, capture_output=True)
    assert ours(sleeping.pid) == []
    assert _core.start_of_process(child(tmp_path)) is None


def test_a_running_owner_keeps_its_own(sleeping: subprocess.Popen[bytes]) -> None:
    namespaces.clean()
    subprocess.run(gateway_link(command=["true"]), check=True, timeout=60, capture_output=True)
    assert len(ours(sleeping.pid)) == MADE


@pytest.mark.skipif(shutil.which("nft") is None, reason="needs nft")
def test_forwarding_is_what_it_was_after_the_last_of_killed_links(tmp_path: Path) -> None:
    before = FORWARDING.read_text(encoding="ascii")
    FORWARDING.write_text("0\n", encoding="ascii")
    folders = [tmp_path / "one", tmp_path / "two"]
    links = []
    try:
        for folder in folders:
            folder.mkdir()
            links.append(started(folder, "--nat"))
        assert FORWARDING.read_text(encoding="ascii") == "1\n"
        links[0].terminate()
        assert links[0].wait(PATIENCE_S) == 128 + signal.SIGTERM
        assert FORWARDING.read_text(encoding="ascii") == "1\n"
        links[1].kill()
        assert comes(lambda: FORWARDING.read_text(encoding="ascii") == "0\n")
        assert comes(lambda: ours(links[1].pid) == [])
    finally:
        for link in links:
            link.kill()
            link.wait()
        FORWARDING.write_text(before, encoding="ascii")
