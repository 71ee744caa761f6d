"""What the kernel tells of the devices whose names begin with Gameway, on standard output.

A line of JSON for each event: the device, its type, code and value. Nothing here is this
project's own: events are read as Linux writes them (struct input_event).
"""

import json
import os
import re
import select
import struct
import time
from pathlib import Path

EVENT = struct.Struct("llHHi")
SYNC, SCANNED = 0, 4
"""Types that say nothing new."""
DEVICES = 3
NAMED = re.compile(r'N: Name="Gameway (\w+)".*?\bH: Handlers=[^\n]*\b(event\d+)', re.DOTALL)


def found() -> dict[str, str]:
    """The names of the devices, by their files."""
    listed = Path("/proc/bus/input/devices").read_text().split("\n\n")
    each = (NAMED.search(one) for one in listed)
    return {f"/dev/input/{one[2]}": one[1] for one in each if one}


def say(**what: object) -> None:
    print(json.dumps(what), flush=True)  # noqa: T201 (what it is for)


def main() -> None:
    """Wait for all devices, and tell what they do."""
    while len(names := found()) < DEVICES or not all(Path(file).exists() for file in names):
        time.sleep(0.05)
    opened = {os.open(file, os.O_RDONLY): name for file, name in names.items()}
    say(ready="evdev")
    while True:
        for file in select.select([*opened], [], [])[0]:
            for *_, kind, code, value in EVENT.iter_unpack(os.read(file, 64 * EVENT.size)):
                if kind not in {SYNC, SCANNED}:
                    say(device=opened[file], type=kind, code=code, value=value)


if __name__ == "__main__":
    main()
