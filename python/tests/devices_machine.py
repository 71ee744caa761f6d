"""Devices of a player as libinput sees them, in a machine of their own.

A script says what the player does: in the folder, a list of steps, each a list of lines for the
example `devices`, or of these: `rest` waits for libinput's own timers, `flat` tells it not to
accelerate the mouse. Lines that are one, with
line breaks in it, are done before libinput looks. What libinput told in each
step is on standard output in the end, as a line of JSON.
"""

from __future__ import annotations

import json
import select
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from desk_machine import Desk
from libinput_program import ADDED, REMOVED, Libinput

UDEV = ("/lib/systemd/systemd-udevd", "/usr/lib/systemd/systemd-udevd")
OWN = ("Gameway keyboard", "Gameway mouse", "Gameway pointer")
REST_S = 0.1
"""Longer than libinput waits for a button that bounces, 25 ms."""
LOOK_S = 0.002
HID_NAME = "A keyboard of HID"
CREATE, INPUT = 11, 12
"""UHID_CREATE2 and UHID_INPUT2 of linux/uhid.h."""
DESCRIPTOR = bytes.fromhex(
    "05010906a101"  # a keyboard of the page of desktops:
    "050719e029e71500250175019508 8102"  # the bits of eight keys from ControlLeft on,
    "1900 2aff00 1500 26ff00 7508 9501 8100"  # and a byte with the usage of another
    "c0"
)


class HidKeyboard:
    """A keyboard of HID by /dev/uhid: which key has which usage is said by the kernel's driver."""

    def __init__(self) -> None:
        self._file = Path("/dev/uhid").open("wb", buffering=0)  # noqa: SIM115 (it is the device)
        head = struct.pack("=I128s64s64s", CREATE, HID_NAME.encode(), b"", b"")
        numbers = struct.pack("=HHIIII", len(DESCRIPTOR), 3, 1, 1, 1, 0)
        self._file.write(head + numbers + DESCRIPTOR.ljust(4096, b"\0"))

    def close(self) -> None:
        """Pull it out."""
        self._file.close()

    def press(self, usage: int) -> None:
        """Press and release it."""
        is_bit = 0xE0 <= usage < 0xE8
        for report in (bytes([1 << (usage - 0xE0), 0]) if is_bit else bytes([0, usage]), b"\0\0"):
            self._file.write(struct.pack("=IH", INPUT, len(report)) + report.ljust(4096, b"\0"))


class Player:
    """The example, which answers each line when the kernel has taken its events."""

    def __init__(self, program: str, libinput: Libinput) -> None:
        self._process = subprocess.Popen(
            [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
        )
        self._libinput = libinput
        self.came: list[dict[str, Any]] = []
        words = self._line(self.came).decode().split()
        self.usages = dict(zip(words[::2], map(int, words[1::2]), strict=True))
        missing = set(OWN)
        while missing:
            self.came += libinput.until(lambda one: one["kind"] == ADDED)
            missing -= {one["device"] for one in self.came}

    def _line(self, told: list[dict[str, Any]]) -> bytes:
        """What the example says; libinput goes on until then, as in a compositor."""
        assert self._process.stdout is not None
        while not select.select([self._process.stdout], [], [], LOOK_S)[0]:
            told += self._libinput.take()
        return self._process.stdout.readline()

    def do(self, step: list[str]) -> list[dict[str, Any]]:
        """Do a step, and give what libinput tells of it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        told = self._libinput.take()
        for line in step:
            if line == "rest":
                time.sleep(REST_S)
            elif line == "flat":
                self._libinput.flatten(OWN[1])
            else:
                self._process.stdin.write(f"{line}\n".encode())
                for _ in range(line.count("\n")):
                    assert self._process.stdout.readline() == b"done\n", line
                assert self._line(told) == b"done\n", line
            told += self._libinput.take()
        return told

    def end(self, *, is_killed: bool) -> list[dict[str, Any]]:
        """End it, by itself or by SIGKILL, and give what is told until its devices are gone."""
        assert self._process.stdin is not None
        if is_killed:
            self._process.kill()
        self._process.stdin.close()
        self._process.wait()
        told: list[dict[str, Any]] = []
        while not set(OWN) <= {one["device"] for one in told if one["kind"] == REMOVED}:
            told += self._libinput.until(lambda one: one["kind"] == REMOVED)
        return told


def devices() -> int:
    return Path("/proc/bus/input/devices").read_text().count('N: Name="Gameway')


def on_desk(desk: Desk, player: Player, steps: list[list[str]]) -> list[list[dict[str, Any]]]:
    """Do these steps on a desktop, and kill the player after the last; what its window is told."""
    # wlroots looks for the devices that are there when it starts once one of them moves.
    desk.open(lambda: player.do(["by 1 0"]))
    told = []
    for step in steps:
        player.do(step)
        told.append(desk.take(lambda: player.do([])))
    player.end(is_killed=True)
    told.append(desk.take(lambda: None))
    return told


def main() -> None:
    """Do all of the script, once ended by itself and once killed."""
    folder, program = Path(sys.argv[1]), sys.argv[2]
    steps, held, desk = json.loads((folder / "script.json").read_text())
    udev = next(path for path in UDEV if Path(path).exists())
    subprocess.run([udev, "--daemon"], check=True)
    libinput = Libinput()
    player = Player(program, libinput)
    told: dict[str, Any] = {"came": player.came, "keys": {}, "hid": {}}
    for code in player.usages:
        told["keys"][code] = player.do([f"down {code}", f"up {code}"])
    told["steps"] = [player.do(step) for step in steps]
    told["held"], told["there"] = player.do(held), devices()
    told["end"], told["after_end"] = player.end(is_killed=False), devices()
    player = Player(program, libinput)
    player.do(held)
    told["killed"], told["after_kill"] = player.end(is_killed=True), devices()
    keyboard = HidKeyboard()
    libinput.until(lambda one: (one["device"], one["kind"]) == (HID_NAME, ADDED))
    for code, usage in player.usages.items():
        keyboard.press(usage)
        told["hid"][code] = libinput.take()
    keyboard.close()
    if desk:
        told["desk"] = on_desk(Desk(folder / "desk.log"), Player(program, libinput), desk)
    print(json.dumps(told))  # noqa: T201 (what it is for)


if __name__ == "__main__":
    main()
