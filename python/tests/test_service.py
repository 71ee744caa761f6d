"""A host as a service: its unit, when it is ready, and the figures that a monitor reads.

Others' code reads what we write: `systemd-analyze`, and the parser of Prometheus's own client.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import polars as pl
import pytest
from browser_fixture import TOKEN, free_address, why_not
from prometheus_client.openmetrics.parser import text_string_to_metric_families

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

GAMEWAY = [sys.executable, "-m", "gameway"]
PATIENCE_S = 30.0
NEEDS_X264 = pytest.mark.skipif("x264" in why_not(), reason=why_not() or "all is there")
ANALYZE = shutil.which("systemd-analyze")
NEEDS_SYSTEMD = pytest.mark.skipif(ANALYZE is None, reason="needs systemd-analyze")


@dataclass
class Service:
    """A host that was started as systemd does."""

    link: str
    notify: socket.socket
    told: list[str] = field(default_factory=list)

    def find(self, pattern: str) -> str:
        """Give what the host told, once it has."""
        for _ in range(int(PATIENCE_S / 0.05)):
            if found := re.search(pattern, "".join(self.told)):
                return found[1]
            time.sleep(0.05)
        raise AssertionError("".join(self.told))


@contextmanager
def service(folder: Path, *words: str) -> Iterator[Service]:
    address = free_address()
    place = folder / "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
        notify.bind(str(place))
        notify.settimeout(PATIENCE_S)
        surroundings = {**os.environ, "GAMEWAY_TOKEN": TOKEN, "NOTIFY_SOCKET": str(place)}
        surroundings |= {"XDG_STATE_HOME": str(folder)}
        line = [*GAMEWAY, "host", "--no-audio", "--size", "320x180", "--listen", address, *words]
        with subprocess.Popen(line, stderr=subprocess.PIPE, text=True, env=surroundings) as host:
            made = Service(f"http://{address}/#{TOKEN}", notify)
            assert host.stderr is not None
            reader = threading.Thread(target=made.told.extend, args=(host.stderr,), daemon=True)
            reader.start()
            try:
                yield made
            finally:
                host.terminate()
                host.wait(PATIENCE_S)
                # Who still reads would find the pipe closed.
                reader.join(PATIENCE_S)


def figures(url: str) -> dict[str, float]:
    """Read them as Prometheus does: values by name and labels."""
    with urllib.request.urlopen(url, timeout=PATIENCE_S) as answer:
        assert answer.headers["Content-Type"].startswith("application/openmetrics-text")
        text = answer.read().decode()
    families = text_string_to_metric_families(text)
    samples = [sample for family in families for sample in family.samples]
    return {
        sample.name + "".join(f" {value}" for value in sample.labels.values()): sample.value
        for sample in samples
    }


def refused(request: urllib.request.Request | str) -> int:
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(request, timeout=PATIENCE_S)
    with caught.value as answer:
        return answer.code


@NEEDS_X264
def test_a_monitor_reads_what_the_tables_have(tmp_path: Path) -> None:
    tables = tmp_path / "tables"
    words = ["--metrics", "127.0.0.1:0", "--out", str(tables)]
    with service(tmp_path, *words) as host:
        assert host.notify.recv(256).strip() == b"READY=1"
        url = host.find(r"figures for a monitor: (http://\S+)")
        before = figures(url)
        assert before["gameway_sessions_total"] == before["gameway_frames_total"] == 0
        client = [*GAMEWAY, "client", host.link, "--duration", "2s"]
        subprocess.run(client, check=True, capture_output=True, timeout=PATIENCE_S)
        during = figures(url)
        assert during["gameway_sessions_total"] == 1
        assert 30 <= during["gameway_frames_total"] <= 150
        assert 1 <= during["gameway_key_frames_total"] <= 30
        assert during["gameway_encode_seconds_count"] == during["gameway_frames_total"]
        assert 1e6 <= during["gameway_target_bits_per_second"] <= 40e6
        assert any(name.startswith("gameway_controller ") for name in during)
        port = url.split(":")[2].split("/")[0]
        elsewhere = {"Host": f"attacker.example:{port}"}
        assert refused(urllib.request.Request(url, headers=elsewhere)) == 403
        assert refused(url.replace("/metrics", "/")) == 404
        assert refused(urllib.request.Request(url, data=b"", method="POST")) == 405
    frames = pl.read_parquet(tables / "host_frames.parquet")
    # Frames that were open when the monitor looked are counted when the stream ends.
    assert during["gameway_frames_total"] <= frames.height <= during["gameway_frames_total"] + 60


def test_an_address_that_cannot_be_is_told_by_its_option() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        at = f"127.0.0.1:{taken.getsockname()[1]}"
        line = [*GAMEWAY, "host", "--no-audio", "--listen", free_address(), "--metrics", at]
        done = subprocess.run(line, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 2
    assert f"error: --metrics: {at} cannot be listened at" in done.stderr
    line = [*GAMEWAY, "host", "--metrics", "9464"]
    done = subprocess.run(line, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 2
    assert "--metrics" in done.stderr


def unit(folder: Path, *words: str) -> Path:
    done = subprocess.run(
        [*GAMEWAY, *words], check=True, capture_output=True, text=True, timeout=PATIENCE_S
    )
    file = folder / "gameway.service"
    file.write_text(done.stdout, encoding="utf-8")
    return file


def judged(file: Path) -> subprocess.CompletedProcess[str]:
    assert ANALYZE is not None
    surroundings = {**os.environ, "XDG_RUNTIME_DIR": str(file.parent)}
    return subprocess.run(
        [ANALYZE, "verify", "--user", str(file)],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        env=surroundings,
        check=False,
    )


@NEEDS_SYSTEMD
@pytest.mark.parametrize(
    "words",
    [
        ("play", "--size", "640x360", "--unit", "sh", "-c", 'echo "100% of $HOME"; exec game'),
        ("host", "--unit", "--controller", "gcc"),
        ("play", "--unit", "--screen", ":0"),
    ],
)
def test_systemd_takes_the_unit_as_it_was_meant(tmp_path: Path, words: tuple[str, ...]) -> None:
    file = unit(tmp_path, *words)
    done = judged(file)
    assert done.returncode == 0, done.stderr
    # What systemd does not understand it only warns of.
    assert str(file.name) not in done.stderr
    worse = file.read_text(encoding="utf-8").replace("Type=notify", "Typo=notify")
    file.write_text(worse, encoding="utf-8")
    assert "Typo" in judged(file).stderr


@pytest.mark.parametrize("text", ['echo "100% of $HOME"', "back\\slash", "a  b"])
def test_a_word_arrives_as_it_was_typed(tmp_path: Path, text: str) -> None:
    """systemd's rules, read anew here: quotes, backslashes, and two of % and $ for one."""
    line = unit(tmp_path, "play", "--unit", "program", text).read_text(encoding="utf-8")
    execute = re.search(r"^ExecStart=(.*)$", line, re.MULTILINE)
    assert execute is not None
    words = re.findall(r'"((?:[^"\\]|\\.)*)"|(\S+)', execute[1])
    read = [quoted or plain for quoted, plain in words]
    last = json.loads(f'"{read[-1]}"').replace("%%", "%").replace("$$", "$")
    assert last == text
    assert read[0].endswith("/gameway")
