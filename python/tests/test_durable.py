"""Power that fails: what is kept is whole, and what was not flushed is made anew.

Needs root, loop devices and mke2fs; `test_live_lab.py` has the same of a recorded session.
"""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from conftest import SMALL
from disk_fixture import disk, needs_disk
from test_sweep import SCRIPT, contents, finished, wait_until

import gameway as gw
from gameway import cached, durable

if TYPE_CHECKING:
    from pathlib import Path


@needs_disk
def test_what_was_written_is_whole_after_a_power_cut(tmp_path: Path) -> None:
    with disk(tmp_path / "disk") as made:
        durable.write(made.place / "whole", "frames")
        # The twin: it has its name when it is written, and nothing flushes it.
        (made.place / "partial").write_bytes(b"frames")
        (made.place / "partial").rename(made.place / "empty")
        made.cut()
        with pytest.raises(OSError, match="Input/output error"):
            durable.write(made.place / "late", "frames")
        made.start_again()
        assert (made.place / "whole").read_text() == "frames"
        lost = made.place / "empty"
        assert not lost.exists() or not lost.read_bytes()


@needs_disk
def test_what_is_kept_for_good_is_not_kept_empty(tmp_path: Path) -> None:
    with disk(tmp_path / "disk") as made:
        kept = made.place / "kept"
        assert cached.text(kept, lambda: "a script") == "a script"
        made.cut()
        made.start_again()
        assert cached.text(kept, lambda: "made anew") == "a script"


@needs_disk
def test_a_sweep_is_completed_after_a_power_cut(tmp_path: Path) -> None:
    file = tmp_path / "long.toml"
    file.write_text(SMALL.replace("runs = 2", "runs = 10"), encoding="utf-8")
    with disk(tmp_path / "disk") as made:
        out = made.place / "out"
        command = [sys.executable, "-c", SCRIPT, str(file), str(out), "2"]
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as sweep:
            wait_until(lambda: sweep.poll() is not None or len(finished(out)) >= 3)
            made.cut()
            sweep.kill()
        made.start_again()
        assert 2 <= len(finished(out)) < 40
        assert gw.run(gw.load(file), out).missing == 0
        gw.run(gw.load(file), tmp_path / "uninterrupted")
        assert contents(out) == contents(tmp_path / "uninterrupted")


def test_a_file_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (folder / "is there").mkdir(parents=True)
    with pytest.raises(OSError, match="directory"):
        durable.write(folder / "is there", "frames")
    assert [one.name for one in folder.iterdir()] == ["is there"]
