"""The control of a running link: one line of JSON there, one back (docs/link.md)."""

from __future__ import annotations

import json
import socket
from threading import Lock
from typing import TYPE_CHECKING, Any

from gameway.errors import GamewayError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

ANSWER_S = 5.0


class LinkControl:
    """A connection to a link's control, for several threads."""

    def __init__(self, path: Path) -> None:
        self._lock = Lock()
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(ANSWER_S)
        try:
            self._socket.connect(str(path))
        except OSError as error:
            raise GamewayError(f"the link's control {path}: {error.strerror}") from None
        self._lines = self._socket.makefile("r", encoding="utf-8")

    def set(self, keys: Mapping[str, Any]) -> dict[str, Any]:
        """Change keys of the path, all or none; GamewayError with its words if the link refuses."""
        return self._ask({"set": keys})

    def tell(self) -> dict[str, Any]:
        """Give the totals since the link's start."""
        return self._ask({"tell": "now"})

    def close(self) -> None:
        """End the connection."""
        self._socket.close()

    def _ask(self, question: Mapping[str, Any]) -> dict[str, Any]:
        try:
            with self._lock:
                self._socket.sendall(json.dumps(question).encode() + b"\n")
                line = self._lines.readline()
            answer: dict[str, Any] = json.loads(line)
        except (OSError, ValueError) as error:
            raise GamewayError(f"the link does not answer: {error}") from None
        if "error" in answer:
            raise GamewayError(str(answer["error"]))
        return answer
