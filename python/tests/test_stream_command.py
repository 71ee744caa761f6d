"""`gameway host` and `gameway client` as a user types them: one machine, all its addresses."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING

import pytest
from ports_fixture import free_port
from said_fixture import said_until
from witness import of_times

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

GAMEWAY = [sys.executable, "-m", "gameway"]
SIZE = "320x180"


@contextmanager
def _host() -> Iterator[tuple[int, str]]:
    """A host that listens everywhere, as it does if it is told nothing: its port and its token."""
    port = free_port()
    words = [*GAMEWAY, "host", "--size", SIZE, "--listen", f"0.0.0.0:{port}", "--duration", "60 s"]
    words += ["--no-https"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as host:
        try:
            found, _ = said_until(host.stderr, r"/#([-_A-Za-z0-9]+)")
            yield port, found[1]
        finally:
            host.send_signal(signal.SIGINT)
            host.communicate(timeout=20)


def _client(port: int, token: str, *options: str) -> subprocess.CompletedProcess[str]:
    link = f"http://127.0.0.1:{port}/#{token}"
    words = [*GAMEWAY, "client", link, *options]
    return subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.timed
@pytest.mark.parametrize(
    "codec",
    [pytest.param("h264", marks=pytest.mark.light), pytest.param("h265", marks=pytest.mark.alone)],
)
def test_a_client_on_the_hosts_machine_sees_the_stream(codec: str) -> None:
    with _host() as (port, token):
        ended = _client(port, token, "--codec", codec, "--duration", "4 s")
    if "no decoder" in ended.stderr or f"cannot send {codec.upper()}" in ended.stderr:
        pytest.skip(f"this build has no {codec}")
    assert ended.returncode == 0, ended.stderr
    found = re.search(r"(\d+) frames decoded, (\d+) not; (\d+) with a stamp", ended.stderr)
    assert found, ended.stderr
    decoded, lost, stamped = map(int, found.groups())
    # Of 240; the first second is for starting up, and x265 has a slow machine for itself only.
    assert 0 < decoded <= 245
    assert stamped == decoded
    assert lost <= decoded / 10
    with of_times():
        assert decoded >= (60 if codec == "h264" else 10)


class _WrongPort(BaseHTTPRequestHandler):
    """Between client and host: the answer names a port at which nobody listens."""

    host: int
    nobody: int

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        named = {name: self.headers[name] for name in ("Content-Type", "Authorization")}
        address = f"http://127.0.0.1:{self.host}{self.path}"
        request = urllib.request.Request(address, body, {k: v for k, v in named.items() if v})
        try:
            answer = urllib.request.urlopen(request, timeout=10)
        except urllib.error.HTTPError as refused:
            self.send_error(refused.code)
            return
        with answer:
            text = answer.read().decode().replace(f" {self.host} typ", f" {self.nobody} typ")
            self.send_response(answer.status)
            self.send_header("Content-Type", "application/sdp")
            self.send_header("Location", answer.headers["Location"])
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text.encode())

    def log_message(self, *_words: object) -> None:
        pass


def test_a_stream_that_never_comes_is_an_error_that_says_what_to_do() -> None:
    with _host() as (port, token):
        handler = type("Handler", (_WrongPort,), {"host": port, "nobody": free_port()})
        with HTTPServer(("127.0.0.1", 0), handler) as between:
            threading.Thread(target=between.serve_forever, daemon=True).start()
            ended = _client(between.server_port, token, "--duration", "2 s")
            between.shutdown()
    assert ended.returncode != 0, ended.stderr
    said = " ".join(ended.stderr.split())
    assert "no packet of the stream came" in said
    assert "UDP" in said
    assert "--listen" in said


class _Listener(BaseHTTPRequestHandler):
    """Hears a client's offer, and has no stream."""

    offers: list[bytes]

    def do_POST(self) -> None:
        self.offers.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_error(503)

    def log_message(self, *_words: object) -> None:
        pass


def _offer_of_nobody() -> bytes:
    """An offer of a client that will never come."""
    offers: list[bytes] = []
    handler = type("Handler", (_Listener,), {"offers": offers})
    with HTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        _client(server.server_port, "token", "--duration", "1 s")
        server.shutdown()
    return offers[0]


def _started(port: int, token: str, duration: str) -> subprocess.Popen[str]:
    link = f"http://127.0.0.1:{port}/#{token}"
    words = [*GAMEWAY, "client", link, "--duration", duration]
    return subprocess.Popen(words, stderr=subprocess.PIPE, text=True)


def _posted(port: int, token: str, offer: bytes) -> int:
    named = {"Content-Type": "application/sdp", "Authorization": f"Bearer {token}"}
    address = f"http://127.0.0.1:{port}/whep"
    with urllib.request.urlopen(
        urllib.request.Request(address, offer, named), timeout=10
    ) as answer:
        status: int = answer.status
        return status


@pytest.mark.timed
@pytest.mark.light
def test_only_a_client_that_is_connected_takes_over_and_both_sides_are_told(tmp_path: Path) -> None:
    offer = _offer_of_nobody()
    told = (tmp_path / "told").open("w+", encoding="utf-8")
    port, token = free_port(), "a-token-of-this-test"
    words = [*GAMEWAY, "host", "--size", SIZE, "--listen", str(port), "--duration", "60 s"]
    words += ["--no-https"]
    environment = {**os.environ, "GAMEWAY_TOKEN": token}
    with told, subprocess.Popen(words, stderr=told, text=True, env=environment) as host:
        try:
            while "watch at" not in (tmp_path / "told").read_text(encoding="utf-8"):
                time.sleep(0.1)
            first = _started(port, token, "60 s")
            time.sleep(3)
            assert _posted(port, token, offer) == 201
            time.sleep(2)
            # The offer is good, but nobody is behind it: the stream goes on.
            assert first.poll() is None
            second = _client(port, token, "--duration", "2 s")
            assert second.returncode == 0, second.stderr
            _, said = first.communicate(timeout=20)
        finally:
            host.send_signal(signal.SIGINT)
            host.wait(timeout=20)
    assert "another client has taken over, from 127.0.0.1" in said
    decoded = re.search(r"(\d+) frames decoded", said)
    assert decoded, said
    # Over five seconds, of which one is for starting up.
    assert int(decoded[1]) > 0
    with of_times():
        assert int(decoded[1]) >= 90
    lines = (tmp_path / "told").read_text(encoding="utf-8")
    assert lines.count("127.0.0.1 has the stream, 127.0.0.1 had it") == 1
    assert f"port {port} must be open for TCP" in lines or "127.0.0.1" in lines


def test_a_host_that_is_not_there_is_named() -> None:
    # Bound, so that nobody else gets the port, but nobody listens.
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        port = silent.getsockname()[1]
        ended = _client(port, "token", "--duration", "1 s")
    assert ended.returncode != 0
    said = " ".join(ended.stderr.split())
    assert f"127.0.0.1:{port}" in said
    assert "is `gameway host` running there" in said
