"""A desktop of Wayland without a monitor, and a program in it, in a session bus of its own.

Called with a folder, the colour of the background and the program. The compositor is sway, its one
output HEADLESS-1; the portal shares it without a question. All ends with the program. Beside the
compositor's own socket there are `wayland-ext` and `wayland-none`, of compositors that call data
control by its standard's name, or have none.
"""

import os
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

OUTPUT = "HEADLESS-1"
SIZE = os.environ.get("DESKTOP_SIZE", "640x360")
PORTALS = Path("/usr/libexec")
PATIENCE_S = 20.0
BUFFER, CARD = 0, 5
"""Events of zwlr_screencopy_frame_v1: pixels in shared memory, on a card (linux_dmabuf)."""
HEADER, PIXELS = struct.Struct("=IHH"), struct.Struct("=IIII")
FORMATS = {0: 0x34325241, 1: 0x34325258}
"""Of a card, by those of shared memory: AR24, XR24."""
WLR, EXT, NONE = (b"zwlr_data_control_manager_v1", 2), (b"ext_data_control_manager_v1", 1), (b"", 1)
"""Names of data control with their versions: what is said by them is the same."""
Change = Callable[[bytes], bytes]


def wait(is_there: Callable[[], object], what: str) -> None:
    """Wait for a part of the desktop."""
    until = time.monotonic() + PATIENCE_S
    while not is_there():
        if time.monotonic() > until:
            sys.exit(f"the desktop has no {what}")
        time.sleep(0.02)


def is_on_bus(name: str) -> bool:
    """Whether somebody has this name, without starting who could have it."""
    bus = "org.freedesktop.DBus"
    words = ["--print-reply", f"--dest={bus}", "/", f"{bus}.NameHasOwner", f"string:{name}"]
    done = subprocess.run(["dbus-send", *words], capture_output=True, text=True, check=False)
    return "boolean true" in done.stdout


def with_card(said: bytes) -> bytes:
    """What a compositor says, as one says it that has a graphics card."""
    made, at = b"", 0
    while at < len(said):
        number, kind, size = HEADER.unpack_from(said, at)
        made += said[at : at + size]
        if (kind, size) == (BUFFER, HEADER.size + PIXELS.size):
            form, width, height, stride = PIXELS.unpack_from(said, at + HEADER.size)
            if form in FORMATS and stride == 4 * width:
                made += HEADER.pack(number, CARD, HEADER.size + 12)
                made += struct.pack("=III", FORMATS[form], width, height)
        at += size
    return made


def written(name: bytes, version: int) -> bytes:
    """Give an interface as the registry and who binds it name it."""
    text = name + bytes(4 - len(name) % 4)
    return struct.pack("=I", len(name) + 1) + text + struct.pack("=I", version)


def renamed(former: tuple[bytes, int], new: tuple[bytes, int]) -> Change:
    """Let an interface have another name, in whole messages."""

    def change(said: bytes) -> bytes:
        made, at = b"", 0
        while at < len(said):
            number, kind, size = HEADER.unpack_from(said, at)
            body = said[at + HEADER.size : at + size].replace(written(*former), written(*new))
            made += HEADER.pack(number, kind, HEADER.size + len(body)) + body
            at += size
        return made

    return change


def whole(said: bytes) -> int:
    """How many bytes of it are whole messages."""
    at = 0
    while at + HEADER.size <= len(said):
        size = HEADER.unpack_from(said, at)[2]
        if at + size > len(said):
            break
        at += size
    return at


def as_it_is(said: bytes) -> bytes:
    return said


def relay(
    client: socket.socket, server: socket.socket, of_client: Change, of_server: Change
) -> None:
    """Carry a connection to the compositor."""
    ways = {client: (server, of_client), server: (client, of_server)}
    kept: dict[socket.socket, tuple[bytes, list[int]]] = {client: (b"", []), server: (b"", [])}
    with client, server:
        while True:
            for end in select.select([client, server], [], [])[0]:
                said, files, _, _ = socket.recv_fds(end, 1 << 16, 64)
                if not said:
                    return
                to, change = ways[end]
                said, files = kept[end][0] + said, kept[end][1] + files
                size = whole(said)
                kept[end] = (said[size:], [] if size else files)
                if not size:
                    continue
                said = change(said[:size])
                sent = socket.send_fds(to, [said], files)
                to.sendall(said[sent:])
                for file in files:
                    os.close(file)


def stand_before(compositor: Path, own: Path, of_client: Change, of_server: Change) -> None:
    """Stand in front of a compositor, and change what is said."""
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(own))
    listening.listen()

    def serve() -> None:
        while True:
            client, _ = listening.accept()
            server = socket.socket(socket.AF_UNIX)
            server.connect(str(compositor))
            ends = (client, server, of_client, of_server)
            threading.Thread(target=relay, args=ends, daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()


def main() -> int:
    """Start all, in the order in which one needs the other, and end it in the other order."""
    folder, colour, *program = sys.argv[1:]
    runtime = Path(folder)
    (runtime / "sway.conf").write_text(
        f"xwayland disable\noutput {OUTPUT} mode {SIZE}@60Hz bg {colour} solid_color\n"
    )
    (runtime / "portal.conf").write_text(f"[screencast]\nchooser_type=none\noutput_name={OUTPUT}\n")
    os.environ |= {
        "XDG_RUNTIME_DIR": folder,
        "XDG_CURRENT_DESKTOP": "sway",
        "WLR_BACKENDS": "headless",
        "WLR_LIBINPUT_NO_DEVICES": "1",
        "WLR_RENDERER": "pixman",
    }
    started: list[subprocess.Popen[bytes]] = []

    def start(*words: str, **more: str) -> None:
        with (runtime / f"{Path(words[0]).name}.log").open("w") as log:
            started.append(
                subprocess.Popen(words, stdout=log, stderr=subprocess.STDOUT, env=os.environ | more)
            )

    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        start("sway", "-c", str(runtime / "sway.conf"))
        wait(lambda: [*runtime.glob("wayland-?")], "compositor: see sway.log")
        os.environ["WAYLAND_DISPLAY"] = next(runtime.glob("wayland-?")).name
        compositor = runtime / os.environ["WAYLAND_DISPLAY"]
        # xdg-desktop-portal-wlr 0.7 wants to hear of a graphics card before it shares a screen (its
        # issue 289), though the pictures come in shared memory to who asks for no others.
        stand_before(compositor, runtime / "wayland-card", as_it_is, with_card)
        ext = (renamed(EXT, WLR), renamed(WLR, EXT))
        stand_before(compositor, runtime / "wayland-ext", *ext)
        stand_before(compositor, runtime / "wayland-none", as_it_is, renamed(WLR, NONE))
        start("pipewire")
        wait((runtime / "pipewire-0").exists, "PipeWire: see pipewire.log")
        start("wireplumber")
        portal = [str(PORTALS / "xdg-desktop-portal-wlr"), "-c", str(runtime / "portal.conf")]
        start(*portal, WAYLAND_DISPLAY="wayland-card")
        backend, frontend = (
            "org.freedesktop.impl.portal.desktop.wlr",
            "org.freedesktop.portal.Desktop",
        )
        wait(lambda: is_on_bus(backend), "sharing of screens: see xdg-desktop-portal-wlr.log")
        start(str(PORTALS / "xdg-desktop-portal"))
        wait(lambda: is_on_bus(frontend), "portal: see xdg-desktop-portal.log")
        with subprocess.Popen(program) as own:
            for kind in (signal.SIGTERM, signal.SIGINT):
                signal.signal(kind, lambda number, _: own.send_signal(number))
            return own.wait()
    finally:
        for one in reversed(started):
            one.terminate()
        for one in started:
            try:
                one.wait(5)
            except subprocess.TimeoutExpired:
                one.kill()


if __name__ == "__main__":
    sys.exit(main())
