"""Under sudo, what a command makes and starts belongs to the caller."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import gameway as gw
from gameway import caller
from gameway.caller import Caller, owns
from gameway.cli.app import app

if TYPE_CHECKING:
    from pathlib import Path

USER, GROUP, OTHER = 65_534, 65_533, 4_321
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


@pytest.fixture
def by_sudo(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUDO_UID", str(USER))
    monkeypatch.setenv("SUDO_GID", str(GROUP))


def owner(place: Path) -> tuple[int, int]:
    found = place.lstat()
    return found.st_uid, found.st_gid


@pytest.mark.parametrize(
    ("user", "group", "root", "expected"),
    [
        ("1000", "1001", True, Caller(1000, 1001)),
        ("1000", "1001", False, None),
        ("0", "0", True, None),
        ("1000", None, True, None),
        (None, None, True, None),
        ("somebody", "1001", True, None),
    ],
)
def test_who_called_sudo_is_the_caller(
    monkeypatch: pytest.MonkeyPatch, user: str | None, group: str | None, *, root: bool,
    expected: Caller | None,
) -> None:  # fmt: skip
    monkeypatch.setattr(caller.os, "geteuid", lambda: 0 if root else 1000)
    for name, value in (("SUDO_UID", user), ("SUDO_GID", group)):
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    assert caller.caller() == expected


@needs_root
@pytest.mark.usefixtures("by_sudo")
def test_what_is_made_is_the_callers_and_what_was_there_is_not(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("root's")
    target = tmp_path / "results" / "mine"

    def failing() -> None:
        with owns(target, None):
            target.mkdir(parents=True)
            (target / "table").write_text("1")
            (target / "link").symlink_to(secret)
            (target / "others").write_text("2")
            os.chown(target / "others", OTHER, OTHER)
            raise KeyError

    with pytest.raises(KeyError):
        failing()
    made = (target.parent, target, target / "table", target / "link")
    assert {owner(place) for place in made} == {(USER, GROUP)}
    assert owner(target / "others") == (OTHER, OTHER)
    assert owner(secret) == owner(tmp_path) == (0, 0)
    # Once more: what is above was there before.
    os.chown(target.parent, 0, 0)
    with owns(target):
        (target / "later").write_text("3")
    assert owner(target / "later") == (USER, GROUP)
    assert owner(target.parent) == (0, 0)


@needs_root
def test_without_sudo_all_stays_roots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SUDO_UID", raising=False)
    with owns(tmp_path / "new"):
        (tmp_path / "new").mkdir()
    assert owner(tmp_path / "new") == (0, 0)


@needs_root
@pytest.mark.usefixtures("by_sudo")
@pytest.mark.parametrize("way", ["command", "python"])
def test_results_are_the_callers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    text = 'duration = "1 s"\n[path]\ncapacity = "5 Mb/s"\nbase_rtt = "20 ms"\n[[stream]]\n'
    (tmp_path / "mine.toml").write_text(text + 'controller = "fixed"\n', encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    if way == "command":
        app(["run", "mine.toml", "--no-report"], standalone_mode=False)
    else:
        gw.run(gw.load("mine.toml"), "results/mine")
    made = [tmp_path / "results", *(tmp_path / "results").rglob("*")]
    assert len(made) > 10
    assert {owner(place) for place in made} == {(USER, GROUP)}


ABOUT = """
import ctypes, os
found = ctypes.c_int()
ctypes.CDLL(None).prctl(2, ctypes.byref(found))  # PR_GET_PDEATHSIG
print(os.getuid(), os.getgid(), *os.getgroups(), found.value)
"""


@needs_root
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="needs setpriv")
def test_a_program_of_the_caller_has_no_right_of_root_and_ends_with_its_parent() -> None:
    words = Caller(USER, GROUP).command([sys.executable, "-I", "-c", ABOUT])
    python = ["/usr/bin/env", "-i", *words]
    said = subprocess.run(python, capture_output=True, text=True, check=False)
    if "Permission denied" in said.stderr:
        pytest.skip("this interpreter is not for others")
    user, group, *groups, signal_number = map(int, said.stdout.split())
    assert (user, group) == (USER, GROUP)
    assert 0 not in groups
    assert signal_number == 9
