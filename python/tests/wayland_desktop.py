"""A desktop of Wayland without a monitor, and a program in it, in a session bus of its own.

Called with a folder, the colour of the background and the program. The compositor is sway, its one
output HEADLESS-1; the portal shares it without a question. All ends with the program.
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


def whole(said: bytes) -> int:
    """How many bytes of it are whole messages."""
    at = 0
    while at + HEADER.size <= len(said):
        size = HEADER.unpack_from(said, at)[2]
        if at + size > len(said):
            break
        at += size
    return at


def relay(client: socket.socket, server: socket.socket) -> None:
    """Carry a connection to the compositor."""
    kept = b""
    with client, server:
        while True:
            for end in select.select([client, server], [], [])[0]:
                said, files, _, _ = socket.recv_fds(end, 1 << 16, 64)
                if not said:
                    return
                to = server
                if end is server:
                    to, said = client, kept + said
                    said, kept = said[: whole(said)], said[whole(said) :]
                    said = with_card(said)
                sent = socket.send_fds(to, [said], files) if said else 0
                to.sendall(said[sent:])
                for file in files:
                    os.close(file)


def stand_before(compositor: Path, own: Path) -> None:
    """Stand in front of a compositor without a graphics card, for xdg-desktop-portal-wlr.

    That of version 0.7 wants to hear of one before it shares a screen (its issue 289), though the
    pictures come in shared memory to who asks for no others.
    """
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(own))
    listening.listen()

    def serve() -> None:
        while True:
            client, _ = listening.accept()
            server = socket.socket(socket.AF_UNIX)
            server.connect(str(compositor))
            threading.Thread(target=relay, args=(client, server), daemon=True).start()

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
        stand_before(runtime / os.environ["WAYLAND_DISPLAY"], runtime / "wayland-card")
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
