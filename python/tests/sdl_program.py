"""What a game sees of gamepads, by SDL 2, on standard output: a line of JSON for each change.

SDL reads the devices and knows how each is laid out; nothing here is this project's own. Select
lets a gamepad rumble for two seconds, Start stops it.
"""

import ctypes
import json
import time

LIBRARY = "libSDL2-2.0.so.0"
CONTROLLERS = 0x2000
AXES, BUTTONS, SELECT, START = 6, 15, 4, 6
STRONG, WEAK, MILLIS = 0x8000, 0x4000, 2_000
LOOK_S = 0.002


def tell(**what: object) -> None:
    print(json.dumps(what), flush=True)  # noqa: T201 (what it is for)


class Guid(ctypes.Structure):
    """What SDL tells kinds of gamepads apart by."""

    _fields_ = (("data", ctypes.c_uint8 * 16),)


def library() -> ctypes.CDLL:
    sdl = ctypes.CDLL(LIBRARY)
    pointer, sdl.SDL_GameControllerName.restype = ctypes.c_void_p, ctypes.c_char_p
    sdl.SDL_GameControllerOpen.restype = pointer
    sdl.SDL_GameControllerGetAxis.restype = ctypes.c_int16
    for name in ("Name", "GetAttached", "Close"):
        getattr(sdl, f"SDL_GameController{name}").argtypes = [pointer]
    for name in ("GetButton", "GetAxis"):
        getattr(sdl, f"SDL_GameController{name}").argtypes = [pointer, ctypes.c_int]
    sdl.SDL_JoystickGetDeviceGUID.restype = Guid
    numbers = [ctypes.c_uint16, ctypes.c_uint16, ctypes.c_uint32]
    sdl.SDL_GameControllerRumble.argtypes = [pointer, *numbers]
    assert sdl.SDL_Init(CONTROLLERS) == 0
    return sdl


class Watch:
    """The gamepads that are open, in the order in which they came, with how each is."""

    def __init__(self) -> None:
        self.sdl = library()
        self.pads: dict[int, list[list[int]]] = {}

    def find(self) -> None:
        sdl = self.sdl
        for number in range(sdl.SDL_NumJoysticks()):
            pad = sdl.SDL_GameControllerOpen(number) if sdl.SDL_IsGameController(number) else None
            if pad is not None and pad not in self.pads:
                self.pads[pad] = [[0] * BUTTONS, [0] * AXES]
                name = sdl.SDL_GameControllerName(pad).decode()
                guid = bytes(sdl.SDL_JoystickGetDeviceGUID(number).data).hex()
                tell(there=len(self.pads), name=name, guid=guid)
            elif pad is not None:
                # It counts how often it was opened.
                sdl.SDL_GameControllerClose(pad)

    def look(self, pad: int) -> None:
        sdl, before = self.sdl, self.pads[pad]
        if not sdl.SDL_GameControllerGetAttached(pad):
            sdl.SDL_GameControllerClose(pad)
            del self.pads[pad]
            tell(there=len(self.pads))
            return
        buttons = [sdl.SDL_GameControllerGetButton(pad, number) for number in range(BUTTONS)]
        axes = [sdl.SDL_GameControllerGetAxis(pad, number) for number in range(AXES)]
        if [buttons, axes] == before:
            return
        self.pads[pad] = [buttons, axes]
        tell(pad=list(self.pads).index(pad), buttons=buttons, axes=axes)
        if buttons[SELECT] > before[0][SELECT]:
            sdl.SDL_GameControllerRumble(pad, STRONG, WEAK, MILLIS)
        if buttons[START] > before[0][START]:
            sdl.SDL_GameControllerRumble(pad, 0, 0, 0)


def main() -> None:
    """Watch until the process is ended."""
    watch = Watch()
    tell(ready="sdl")
    while True:
        watch.sdl.SDL_GameControllerUpdate()
        watch.find()
        for pad in list(watch.pads):
            watch.look(pad)
        time.sleep(LOOK_S)


if __name__ == "__main__":
    main()
