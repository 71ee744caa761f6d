"""What a compositor of Wayland sees of keyboards and mice: libinput, and udev as it finds them.

Nothing here is this project's own: libinput's library is called as its header declares it.
"""

from __future__ import annotations

import ctypes
import os
import select
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

LIBRARIES = ("libudev.so.1", "libinput.so.10")
SCREEN = (1280, 720)
"""The pixels that a place is told in."""
ADDED, REMOVED, KEY, MOTION, ABSOLUTE, BUTTON, AXIS, WHEEL = 1, 2, 300, 400, 401, 402, 403, 404
VERTICAL, HORIZONTAL = 0, 1
FLAT = 1
"""LIBINPUT_CONFIG_ACCEL_PROFILE_FLAT."""
PATIENCE_S = 20.0
POINTER = ctypes.c_void_p
OPEN = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.c_int, POINTER)
CLOSE = ctypes.CFUNCTYPE(None, ctypes.c_int, POINTER)


class Interface(ctypes.Structure):
    """How it opens devices: struct libinput_interface."""

    _fields_ = (("open", OPEN), ("close", CLOSE))


class Libinput:
    """A seat, and what its devices have done."""

    def __init__(self) -> None:
        udev, self._library = (ctypes.CDLL(name) for name in LIBRARIES)
        self._interface = Interface(
            OPEN(lambda path, flags, _: os.open(path, flags)), CLOSE(lambda file, _: os.close(file))
        )
        udev.udev_new.restype = POINTER
        create = self._function("udev_create_context", POINTER, 3)
        self._seat = create(ctypes.byref(self._interface), None, udev.udev_new())
        self._file = self._function("get_fd", ctypes.c_int)(self._seat)
        self._devices: dict[str, int] = {}
        self._next = self._function("get_event", POINTER)
        assert self._function("udev_assign_seat", ctypes.c_int, 2)(self._seat, b"seat0") == 0

    def _function(self, name: str, result: Any, count: int = 1) -> Callable[..., Any]:
        function = self._library[f"libinput_{name}"]
        function.restype, function.argtypes = result, [POINTER] * count
        return function  # type: ignore[no-any-return]

    def take(self) -> list[dict[str, Any]]:
        """Give what has happened since, without waiting."""
        self._function("dispatch", ctypes.c_int)(self._seat)
        told = []
        while event := self._next(self._seat):
            told.append(self._told(event))
            self._function("event_destroy", None)(event)
        return told

    def until(self, fits: Callable[[dict[str, Any]], bool]) -> list[dict[str, Any]]:
        """Give what happens until something fits, that included."""
        told: list[dict[str, Any]] = []
        end = time.monotonic() + PATIENCE_S
        while not any(fits(one) for one in told):
            assert time.monotonic() < end, f"libinput told: {told}"
            select.select([self._file], [], [], 0.1)
            told += self.take()
        return told

    def flatten(self, name: str) -> None:
        """Set that this device is not accelerated."""
        put = self._library.libinput_device_config_accel_set_profile
        put.argtypes = [POINTER, ctypes.c_int]
        assert put(self._devices[name], FLAT) == 0

    def _told(self, event: int) -> dict[str, Any]:
        kind = self._function("event_get_type", ctypes.c_int)(event)
        device = self._function("event_get_device", POINTER)(event)
        name = self._function("device_get_name", ctypes.c_char_p)(device).decode()
        if kind == ADDED:
            self._devices[name] = device
        if kind == KEY:
            own = self._function("event_get_keyboard_event", POINTER)(event)
            what: Any = [
                self._whole(own, "keyboard_get_key"),
                self._whole(own, "keyboard_get_key_state"),
            ]
        elif kind in {MOTION, ABSOLUTE, BUTTON, WHEEL}:
            what = self._pointed(self._function("event_get_pointer_event", POINTER)(event), kind)
        else:
            what = None
        return {"device": name, "kind": kind, "what": what}

    def _pointed(self, own: int, kind: int) -> list[float]:
        if kind == BUTTON:
            return [
                self._whole(own, "pointer_get_button"),
                self._whole(own, "pointer_get_button_state"),
            ]
        if kind == MOTION:
            return [self._real(own, f"pointer_get_d{axis}_unaccelerated") for axis in "xy"] + [
                self._real(own, f"pointer_get_d{axis}") for axis in "xy"
            ]
        if kind == WHEEL:
            return [
                self._real(own, "pointer_get_scroll_value_v120", axis)
                if self._whole(own, "pointer_has_axis", axis)
                else 0.0
                for axis in (HORIZONTAL, VERTICAL)
            ]
        return [
            self._real(own, f"pointer_get_absolute_{axis}_transformed", size)
            for axis, size in zip("xy", SCREEN, strict=True)
        ]

    def _whole(self, own: int, name: str, *more: int) -> int:
        return int(self._function(f"event_{name}", ctypes.c_uint32, 1 + len(more))(own, *more))

    def _real(self, own: int, name: str, *more: int) -> float:
        return float(self._function(f"event_{name}", ctypes.c_double, 1 + len(more))(own, *more))
