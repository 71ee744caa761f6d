"""`gameway doctor` tries what works here, the lab too, and leaves nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from live_fixture import needs_live

from gameway import _core
from gameway.live import doctor, namespaces

ENCODERS = [f"encoder {name}" for name, _ in _core.encoders()]
NAMES = [
    *(
        "screen",
        "own screen",
        "Wayland screen",
        *ENCODERS,
        "hardware",
        "sound",
        "sound codec",
        "gamepads",
        "game",
    ),
    *("port", "certificate", "devices", "ways", "outside", "port mapping"),
    *("lab namespaces", "lab tools", "lab downloads"),
]
needs_stream = pytest.mark.skipif(not ENCODERS, reason="needs a build with live streams")


def told(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the doctor, whose files are in the folder."""
    own = {"XDG_RUNTIME_DIR": str(folder), "XDG_STATE_HOME": str(folder)}
    command = [sys.executable, "-m", "gameway", "doctor", "--listen", "127.0.0.1:0", *words]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=60, check=False, env=os.environ | own
    )


def spaces() -> set[str]:
    return {one.name for one in namespaces.RUN.glob("gw-*")}


@needs_stream
def test_every_check_is_found_and_nothing_stays(tmp_path: Path) -> None:
    done = told(tmp_path, "--json")
    checks = json.loads(done.stdout)["checks"]
    assert [check["name"] for check in checks] == NAMES
    lacking = [check for check in checks if check["state"] == "lacking"]
    assert done.returncode == (1 if lacking else 0)
    assert all(set(check) == {"name", "state", "found", "mend"} for check in checks)
    assert all(check["state"] in {"works", "lacking", "-"} for check in checks)
    assert all(check["mend"] for check in lacking)
    assert list(tmp_path.iterdir()) == []
    words = [file.read_bytes() for file in Path("/proc").glob("[0-9]*/cmdline") if file.is_file()]
    assert not any(str(tmp_path).encode() in one for one in words)


@needs_stream
@pytest.mark.skipif(Path("/dev/uinput").exists(), reason="needs a machine without /dev/uinput")
def test_who_has_no_gamepads_is_told_what_to_do(tmp_path: Path) -> None:
    checks = json.loads(told(tmp_path, "--json").stdout)["checks"]
    (found,) = [check for check in checks if check["name"] == "gamepads"]
    assert (found["state"], found["found"]) == (
        "lacking",
        "there is no /dev/uinput: the kernel has not loaded uinput",
    )
    assert found["mend"].startswith("as root: modprobe uinput")


@needs_stream
def test_lines_have_80_columns_and_the_lab_is_last(tmp_path: Path) -> None:
    lines = told(tmp_path).stdout.splitlines()
    names = [line[:16].rstrip() for line in lines if line[:1] != " "]
    assert names == NAMES
    # A word stays whole, such as the path of a file.
    assert all(len(line) <= 80 or " " not in line.strip() for line in lines)


def test_tools_that_are_missing_are_told_with_their_packages() -> None:
    there, gone, broken = ("true",), ("no-such-tool",), ("false",)
    assert doctor.tools({"one": (there, "a")}) == ("lab tools", True, "one", None)
    found = doctor.tools({"one": (there, "a"), "two": (gone, "b"), "three": (broken, "b")})
    assert found == ("lab tools", False, "no two, no three", "apt install b")


def test_downloads_need_both_congestion_controls() -> None:
    assert doctor.downloads(["bbr", "cubic", "reno"])[1] is True
    found = doctor.downloads(["reno", "cubic"])
    assert found[1:] == (False, "the kernel has no bbr", "modprobe --all tcp_bbr")


@needs_live
def test_namespaces_are_made_and_removed() -> None:
    assert doctor.spaces() == ("lab namespaces", True, "made, connected and removed", None)
    own = f"gw-{os.getpid()}-"
    assert not any(one.startswith(own) for one in spaces())


def refuse() -> None:
    raise namespaces.LiveError("it needs root: sudo")


def test_who_is_not_root_lacks_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(namespaces, "require", refuse)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert doctor.spaces()[1] is None
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert doctor.spaces()[1:3] == (False, "it needs root: sudo")
