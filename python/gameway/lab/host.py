"""The host of a session: `gameway play` in the server's namespace, and its controller."""

from __future__ import annotations

import http.client
import json
import os
import pwd
import signal
import ssl
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gameway.caller import Caller, caller
from gameway.errors import GamewayError
from gameway.lab.ways import PAGE
from gameway.live.processes import dying_with_this

if TYPE_CHECKING:
    from pathlib import Path

    from gameway.lab.ways import Ways

TIMEOUT_S = 5.0
END_S = 10.0
"""Longer a host does not take to end its program and to write its tables."""
OK = 200
TOKEN = "GAMEWAY_TOKEN"  # noqa: S105 (a name)
"""The variable by which a host is told what a client must know."""


@dataclass
class Host:
    """The host's process; it speaks to the terminal."""

    port: int
    token: str
    secure: bool
    popen: subprocess.Popen[bytes]

    @classmethod
    def start(cls, ways: Ways, words: list[str], settings: dict[str, object], parts: Path) -> Host:
        """Start it with the words of `gameway play`, and with what only the session knows."""
        file, out = parts / "host.json", parts / "host"
        token = os.environ.get(TOKEN) or os.urandom(16).hex()
        file.write_text(json.dumps(settings), encoding="utf-8")
        own = ["--listen", f"0.0.0.0:{ways.port}", "--settings", str(file), "--out", str(out)]
        command = [sys.executable, "-m", "gameway", "play", *own, *words]
        user = caller()
        inside = ways.command("server", user.command(command) if user else command)
        popen = subprocess.Popen(  # noqa: S603 (our own program)
            dying_with_this("TERM", inside),
            stdin=subprocess.DEVNULL,
            # What a host leaves that is killed is removed with the session's folder.
            env=(_surroundings(user) if user else dict(os.environ))
            | {TOKEN: token, "TMPDIR": str(parts)},
            # Ctrl-C is for the session, which ends its parts in order.
            process_group=0,
        )
        return cls(ways.port, token, "--no-https" not in words, popen)

    def controllers(self) -> tuple[str, list[str]]:
        """Give the stream's controller, and those that there are."""
        found = json.loads(self._ask("GET"))
        return found["controller"], found["choices"]

    def choose(self, controller: str) -> None:
        """Give the stream another controller; GamewayError with the host's words."""
        self._ask("PUT", controller)

    def end(self) -> int:
        """End it, and give its exit code."""
        if self.popen.poll() is None:
            self.popen.send_signal(signal.SIGTERM)
        try:
            return self.popen.wait(END_S)
        except subprocess.TimeoutExpired:
            self.popen.kill()
            return self.popen.wait()

    def _ask(self, method: str, body: str | None = None) -> str:
        connection = self._connection()
        try:
            headers = {"Authorization": f"Bearer {self.token}"}
            connection.request(method, "/controller", body, headers)
            answer = connection.getresponse()
            text = answer.read().decode(errors="replace")
        except (OSError, http.client.HTTPException) as error:
            raise GamewayError(f"the host does not answer: {error}") from None
        finally:
            connection.close()
        if answer.status != OK:
            raise GamewayError(text.strip())
        return text

    def _connection(self) -> http.client.HTTPConnection:
        if not self.secure:
            return http.client.HTTPConnection(PAGE, self.port, timeout=TIMEOUT_S)
        # At the other end of a pair of devices of this machine nobody else can be.
        context = ssl._create_unverified_context()  # noqa: S323, SLF001
        return http.client.HTTPSConnection(PAGE, self.port, timeout=TIMEOUT_S, context=context)


def _surroundings(user: Caller) -> dict[str, str]:
    """Give the environment of a program of the caller, who is not root, nor has root's folders."""
    entry = pwd.getpwuid(user.user)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
    return kept | {"HOME": entry.pw_dir, "USER": entry.pw_name, "LOGNAME": entry.pw_name}
