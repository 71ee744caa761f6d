"""What a router's system is given with the gateway's program: units, scripts, a static binary."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest
from home_fixture import LAN, ROOT, lan, program, run, why_not
from live_fixture import needs_live
from nat_fixture import inside, ip

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

UNIT = ROOT / "packaging" / "systemd" / "gameway-gateway.service"
RECIPE = ROOT / "packaging" / "openwrt" / "gameway-gateway"
SCRIPT = RECIPE / "files" / "gameway-gateway.init"
STATIC = ROOT / "target" / "x86_64-unknown-linux-musl" / "release" / "gameway-gateway"
ANALYZE = shutil.which("systemd-analyze")
REASON = why_not()
NEEDS_PROGRAM = pytest.mark.skipif(bool(REASON), reason=REASON)
NEEDS_STATIC = pytest.mark.skipif(not STATIC.is_file(), reason="needs `make gateway`")
PATIENCE_S = 30


def judged(file: Path) -> subprocess.CompletedProcess[str]:
    assert ANALYZE is not None
    words = [ANALYZE, "verify", "--man=no", str(file)]
    return subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.skipif(ANALYZE is None, reason="needs systemd-analyze")
def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    text = UNIT.read_text("utf-8").replace("/usr/bin/gameway-gateway", shutil.which("true") or "")
    file = tmp_path / UNIT.name
    file.write_text(text, "utf-8")
    done = judged(file)
    assert done.returncode == 0, done.stderr
    # What systemd does not understand it only warns of.
    assert UNIT.name not in done.stderr
    file.write_text(text.replace("WatchdogSec", "WatchdogSeconds"), "utf-8")
    assert "WatchdogSeconds" in judged(file).stderr


def parsed(script: Path) -> int:
    return subprocess.run(["sh", "-n", str(script)], capture_output=True, check=False).returncode


def test_the_script_of_openwrt_starts_what_the_unit_starts(tmp_path: Path) -> None:
    assert parsed(SCRIPT) == 0
    text = SCRIPT.read_text("utf-8")
    broken = tmp_path / "broken"
    broken.write_text(text.replace("\n}\n", "\n"), "utf-8")
    assert parsed(broken) != 0
    # procd, as far as it is used: a line for each call.
    procd = tmp_path / "procd"
    calls = ("open_instance", "close_instance", "set_param")
    procd.write_text(
        "".join(f'procd_{name}() {{ echo {name} "$@"; }}\n' for name in calls), "utf-8"
    )
    fake = tmp_path / "gateway"
    fake.write_text('#!/bin/sh\n[ "$1" = check ] && [ -f "$2" ]\n', "utf-8")
    fake.chmod(0o755)
    config = tmp_path / "gateway.toml"
    moved = tmp_path / "moved"
    moved.write_text(
        re.sub(r"^PROGRAM=.*$", f"PROGRAM={fake}", text, flags=re.MULTILINE).replace(
            "CONFIG=/etc/gameway/gateway.toml", f"CONFIG={config}"
        ),
        "utf-8",
    )

    def started() -> subprocess.CompletedProcess[str]:
        line = f". {procd}; . {moved}; start_service"
        return subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False)

    # A wrong configuration does not start.
    assert (started().returncode, started().stdout) == (1, "")
    config.write_text("", "utf-8")
    lines = started().stdout.splitlines()
    assert (lines[0], lines[-1]) == ("open_instance", "close_instance")
    command = next(line for line in lines if line.startswith("set_param command "))
    unit = re.search(r"^ExecStart=\S+ (.*)$", UNIT.read_text("utf-8"), re.MULTILINE)
    assert unit is not None
    words = unit[1].replace("/etc/gameway/gateway.toml", str(config))
    assert command == f"set_param command {fake} {words}"


def test_the_recipe_of_openwrt_packs_what_is_there() -> None:
    text = (RECIPE / "Makefile").read_text("utf-8")
    version = re.search(
        r'^version = "(.*)"$', (ROOT / "Cargo.toml").read_text("utf-8"), re.MULTILINE
    )
    assert version is not None
    assert f"PKG_VERSION:={version[1]}\n" in text
    for name in ("LICENSE-MIT", "LICENSE-APACHE", "Cargo.lock", "packaging/gateway.toml"):
        assert (ROOT / name).is_file()
        assert name in text
    assert (RECIPE / "files" / "gameway-gateway.init").is_file()
    assert (ROOT / "crates/product/router/Cargo.toml").is_file()
    # The recipe's own folder is three below the checkout.
    assert RECIPE.parents[2] == ROOT


@NEEDS_PROGRAM
@needs_live
def test_who_starts_it_hears_when_it_is_attached_and_that_it_lives(tmp_path: Path) -> None:
    place = tmp_path / "notify"
    with lan("notify") as space, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
        notify.bind(str(place))
        notify.settimeout(PATIENCE_S)
        control = str(tmp_path / "control.sock")
        words = [*inside(space), program(), "up", "--quiet", "--home", LAN, "--control", control]
        surroundings = {**os.environ, "NOTIFY_SOCKET": str(place)}
        with subprocess.Popen(words, env=surroundings, stdout=subprocess.PIPE) as process:
            try:
                heard = [notify.recv(256).strip() for _ in range(3)]
            finally:
                process.terminate()
            assert process.stdout is not None
            assert process.stdout.read() == b""
    assert heard == [b"READY=1", b"WATCHDOG=1", b"WATCHDOG=1"]
    assert process.returncode == 0


def started_with(capabilities: list[str], space: str, folder: Path, *options: str) -> str:
    """Give the first line of a gateway that has these capabilities alone."""
    bounds = ",".join(["-all", *(f"+{one.removeprefix('CAP_').lower()}" for one in capabilities)])
    confined = ["setpriv", "--no-new-privs", f"--bounding-set={bounds}", "--inh-caps=-all"]
    control = str(folder / "control.sock")
    words = [*inside(space), *confined, program(), "up", "--home", LAN, "--control", control]
    words += options
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        process.terminate()
    return line


@NEEDS_PROGRAM
@needs_live
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="needs setpriv (util-linux)")
def test_it_needs_the_capabilities_that_the_unit_leaves(tmp_path: Path) -> None:
    found = re.search(r"^CapabilityBoundingSet=(.*)$", UNIT.read_text("utf-8"), re.MULTILINE)
    assert found is not None
    *names, of_pings = found[1].split()
    assert len(names) == 3
    pings = tmp_path / "pings.toml"
    shape = 'shape = { queue = "htb", ping = "127.0.0.1" }'
    pings.write_text(f'home = "{LAN}"\nmode = "shape"\n{shape}\n', "utf-8")
    with lan("rights") as space:
        ip("-n", space, "link", "set", "lo", "up")
        assert started_with(names, space, tmp_path).startswith('{"time_s":')
        for one in names:
            assert started_with([name for name in names if name != one], space, tmp_path) == ""
        # A new namespace allows pings to nobody (`net.ipv4.ping_group_range`).
        config = ("--config", str(pings))
        assert started_with(names, space, tmp_path, *config) == ""
        told = started_with([*names, of_pings], space, tmp_path, *config)
        assert told.startswith('{"time_s":')


@pytest.fixture
def bare(tmp_path: Path) -> Iterator[Path]:
    """Give a root folder with nothing but the static program /proc and /sys."""
    root = tmp_path / "root"
    root.mkdir()
    for name in ("run", "proc", "sys"):
        (root / name).mkdir()
    shutil.copy(STATIC, root / "gameway-gateway")
    with ExitStack() as stack:
        for name, kind in (("proc", "proc"), ("sys", "sysfs")):
            run("mount", "-t", kind, kind, str(root / name))
            stack.callback(run, "umount", str(root / name))
        yield root


@NEEDS_STATIC
def test_the_static_program_asks_for_no_library() -> None:
    head = run("readelf", "--program-headers", "--dynamic", str(STATIC))
    assert "INTERP" not in head
    assert "NEEDED" not in head
    # The twin.
    assert "INTERP" in run("readelf", "--program-headers", shutil.which("true") or "")
    assert 1e6 < STATIC.stat().st_size < 6e6


@NEEDS_STATIC
@needs_live
def test_it_runs_where_nothing_else_is(bare: Path) -> None:
    chroot = ("chroot", str(bare), "/gameway-gateway")
    with lan("bare") as space:
        up = [*inside(space), *chroot, "up", "--home", LAN]
        with subprocess.Popen(up, stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout is not None
                assert process.stdout.readline().startswith('{"time_s":')
                # The only socket that is there.
                assert f"gateway at {LAN}, " in run(*chroot, "status")
                done = run(*inside(space), *chroot, "down")
                assert done.endswith("nothing of it is left in the kernel\n")
                assert process.wait(PATIENCE_S) == 0
            finally:
                if process.poll() is None:
                    process.kill()
