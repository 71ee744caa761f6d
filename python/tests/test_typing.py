"""The stub of the binding says what the binary has."""

from __future__ import annotations

import subprocess
import sys


def test_the_stub_fits_the_binary() -> None:
    command = [sys.executable, "-m", "mypy.stubtest", "gameway._core", "--concise"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
