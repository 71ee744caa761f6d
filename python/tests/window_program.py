"""What a window of Wayland is told of pointer and keyboard, a line of JSON for each event.

Which characters keys give is said by libxkbcommon, with the keymap of the compositor.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import struct

from wayland_window import OTHERS, Window

SEAT, POINTER, KEYBOARD = range(OTHERS, OTHERS + 3)
BOTH = 3
"""The capabilities pointer and keyboard."""
LIBRARY = "libxkbcommon.so.0"


def tell(**what: object) -> None:
    print(json.dumps(what), flush=True)  # noqa: T201 (what it is for)


class Keymap:
    """A keymap, with the modifiers that are held."""

    def __init__(self, file: int, size: int) -> None:
        self.library = library = ctypes.CDLL(LIBRARY)
        pointer = ctypes.c_void_p
        for name in ("context_new", "keymap_new_from_string", "state_new"):
            getattr(library, f"xkb_{name}").restype = pointer
        library.xkb_keymap_new_from_string.argtypes = [
            pointer,
            ctypes.c_char_p,
            *[ctypes.c_int] * 2,
        ]
        library.xkb_state_new.argtypes = [pointer]
        library.xkb_state_update_mask.argtypes = [pointer, *[ctypes.c_uint32] * 6]
        library.xkb_state_key_get_utf8.argtypes = [
            pointer, ctypes.c_uint32, ctypes.c_char_p, ctypes.c_size_t,
        ]  # fmt: skip
        with mmap.mmap(file, size, mmap.MAP_PRIVATE, mmap.PROT_READ) as text:
            content = text.read().rstrip(b"\0")
        keymap = library.xkb_keymap_new_from_string(library.xkb_context_new(0), content, 1, 0)
        self.state = library.xkb_state_new(keymap)

    def hold(self, depressed: int, latched: int, locked: int, group: int) -> None:
        self.library.xkb_state_update_mask(self.state, depressed, latched, locked, 0, 0, group)

    def text(self, code: int) -> str:
        found = ctypes.create_string_buffer(16)
        self.library.xkb_state_key_get_utf8(self.state, code + 8, found, len(found))
        return found.value.decode()


def on_pointer(kind: int, body: bytes) -> None:
    # wl_pointer: enter, motion, button, axis; places and ways are in 1/256.
    if kind in {0, 2}:
        tell(place=[part / 256 for part in struct.unpack("=ii", body[-8:])])
    elif kind == 3:
        tell(button=struct.unpack("=II", body[8:16]))
    elif kind == 4:
        axis, value = struct.unpack("=Ii", body[4:12])
        tell(axis=[axis, value / 256])


def main() -> None:
    """Tell until the process is ended."""
    window, keymap = Window([0x305080], b"wl_seat"), None
    window.bind(SEAT, b"wl_seat", 5)
    window.show(0)
    while True:
        for number, kind, body in window.follow():
            # The compositor finds one device after the other.
            if (number, kind) == (SEAT, 0) and struct.unpack("=I", body)[0] & BOTH == BOTH:
                window.ask(SEAT, 0, "I", POINTER)
                window.ask(SEAT, 1, "I", KEYBOARD)
            elif number == POINTER:
                on_pointer(kind, body)
            elif (number, kind) == (KEYBOARD, 0):
                keymap = Keymap(window.files.pop(0), struct.unpack("=II", body)[1])
            elif (number, kind) == (KEYBOARD, 1):
                tell(ready="window")
            elif (number, kind) == (KEYBOARD, 3) and keymap:
                code, state = struct.unpack("=II", body[8:16])
                tell(key=[code, state, keymap.text(code)])
            elif (number, kind) == (KEYBOARD, 4) and keymap:
                keymap.hold(*struct.unpack("=IIII", body[4:20]))


if __name__ == "__main__":
    main()
