"""What a run leaves whose owner was killed: removed by the program that its warden becomes.

python -m gameway.live.remains OWNER START
"""

from __future__ import annotations

import sys
import time

from gameway.live import namespaces
from gameway.live.warden import start_of

OWNER_ENDS_S = 10.0
"""A process closes its descriptors before it counts as ended: by less than this."""
POLL_S = 0.01


def _await_end(owner: int, start: int) -> None:
    until = time.monotonic() + OWNER_ENDS_S
    while start_of(owner) == start and time.monotonic() < until:
        time.sleep(POLL_S)


def main(arguments: list[str]) -> None:
    """Remove what the owner of this number and start leaves, and others that are gone."""
    _await_end(int(arguments[0]), int(arguments[1]))
    namespaces.clean()


if __name__ == "__main__":
    main(sys.argv[1:])
