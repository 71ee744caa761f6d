"""`gameway host` and `gameway client` as the command line has them."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from gameway import _core
from gameway.errors import InputError

err = Console(stderr=True)
NANOS = 1e9


class Encoder(StrEnum):
    """What encodes."""

    auto = "auto"
    hardware = "hardware"
    x264 = "x264"
    openh264 = "openh264"
    nvenc = "nvenc"
    qsv = "qsv"
    vaapi = "vaapi"
    amf = "amf"
    v4l2m2m = "v4l2m2m"


class Codec(StrEnum):
    """How pictures are coded."""

    h264 = "h264"
    h265 = "h265"


def _option(text: str, *names: str) -> typer.models.OptionInfo:
    found: typer.models.OptionInfo = typer.Option(*names, help=text)
    return found


Controller = Annotated[str, _option("See `gameway list controllers`.")]
Source = Annotated[
    str, _option("`scene` (built in), `x11` or `x11:DISPLAY` (a screen), or a video file.")
]
Size = Annotated[str, _option("Of the picture, in pixels.")]
FrameRate = Annotated[int, _option("Frames per second.")]
Bitrate = Annotated[str, _option('On the wire, with headers and repair: "20 Mb/s".')]
Fec = Annotated[str, _option("Repair packets as a share of media packets; not for browsers.")]
Listen = Annotated[str, _option("Address and port: HTTP by TCP, media by UDP.")]
Token = Annotated[str | None, _option("What a client must know; made anew if not given.")]
Encoders = Annotated[Encoder, _option("`auto`: software; `hardware`: what works; or one by name.")]
Codecs = Annotated[Codec, _option("What to ask the host for; h265 if it has an encoder of it.")]
Audio = Annotated[
    bool,
    typer.Option(
        "--audio/--no-audio",
        help="The scene's beeps, the file's sound, or what PulseAudio plays (needs parec).",
    ),
]
Seconds = Annotated[str | None, _option("How long; until Ctrl-C if not given.", "--duration")]
Out = Annotated[Path | None, _option("Keep tables here: frames, controller, lateness.", "--out")]
Url = Annotated[str, typer.Argument(help="The host's, as it says it: http://HOST:PORT/?token=...")]
Inputs = Annotated[str | None, _option("From input to input of a scripted player.")]


@dataclass(frozen=True)
class Place:
    """Where a host is, and what it asks to know."""

    url: str
    token: str

    @classmethod
    def parse(cls, text: str) -> Place:
        """Read a host's link; InputError if it is none."""
        from urllib.parse import parse_qs, urlsplit  # noqa: PLC0415 (only the client needs it)

        parts = urlsplit(text)
        token = parse_qs(parts.query).get("token", [""])[0]
        if parts.scheme != "http" or not parts.netloc or not token:
            hint = "give the link that `gameway host` prints"
            raise InputError("is no host's link", value=text, hint=hint)
        return cls(f"http://{parts.netloc}/whep", token)


def host_command(
    controller: Controller = "pudica",
    source: Source = "scene",
    size: Size = "1280x720",
    frame_rate: FrameRate = 60,
    min_bitrate: Bitrate = "1 Mb/s",
    start_bitrate: Bitrate = "5 Mb/s",
    max_bitrate: Bitrate = "40 Mb/s",
    fec: Fec = "0 %",
    listen: Listen = "0.0.0.0:8443",
    token: Token = None,
    encoder: Encoders = Encoder.auto,
    audio: Audio = True,
    duration: Seconds = None,
    folder: Out = None,
) -> None:
    """Stream a game, a video or the built-in scene to a browser or to `gameway client`.

    It prints a link that holds a token: who has it may watch, one at a time. Media is encrypted;
    the link itself travels in the clear, so give it out on a network that you trust.

    Example: `gameway host --source x11 --controller pudica`

    Next: open the link in a browser, or `gameway client LINK`.
    """
    own = token or secrets.token_urlsafe(12)
    stream = {
        "name": "game", "controller": controller, "frame_rate": frame_rate, "fec": fec,
        "min_bitrate": min_bitrate, "start_bitrate": start_bitrate, "max_bitrate": max_bitrate,
    }  # fmt: skip
    config: dict[str, Any] = {
        "stream": stream, "listen": listen, "token": own, "audio": audio,
        "source": _source(source), "size": _size(size), "encoder": encoder.value,
        "stamped": source == "scene", "duration": duration, "folder": _folder(folder),
    }  # fmt: skip

    def ready(refusals: list[str]) -> None:
        _note(refusals)
        err.print(f"watch at http://{_reachable(listen)}/?token={own}", soft_wrap=True)

    report = _carry_out(_core.live_host, config, ready)
    if report["sessions"] == 0:
        err.print("nobody came", style="yellow")
    _tell_cpu(report)


def client_command(
    link: Url,
    inputs: Inputs = None,
    codec: Codecs = Codec.h264,
    duration: Seconds = None,
    folder: Out = None,
) -> None:
    """Receive, decode and measure a stream, without a display.

    Example: `gameway client "http://192.0.2.7:8443/?token=..." --duration "30 s" --out measured`

    Next: the tables in `--out`: when each frame was whole and decoded, what its picture says.
    """
    place = Place.parse(link)
    config: dict[str, Any] = {
        "connect": place.url,
        "token": place.token,
        "input_interval": inputs,
        "codec": codec.value,
        "duration": duration,
        "folder": _folder(folder),
    }
    report = _carry_out(_core.live_client, config, _note)
    shown, lost = report["decoded_frames"], report["frames_not_decoded"]
    err.print(f"{shown} frames decoded, {lost} not; {report['stamped_frames']} with a stamp")
    _tell_sound(report["sound"])
    _tell_cpu(report)
    if shown + lost == 0:
        raise InputError(
            "answered, but no packet of the stream came", value=place.url,
            hint="its port must be open for UDP, too; or start `gameway host --listen ADDRESS:PORT`"
            " with the address at which this machine reaches it",
        )  # fmt: skip


def _carry_out(part: Any, config: dict[str, Any], ready: Any) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(part(json.dumps(config), ready))
    except ValueError as error:
        raise InputError(str(error)) from None
    except OSError as error:
        raise InputError(str(error)) from None
    return found


def _source(text: str) -> dict[str, str | None]:
    kind, _, display = text.partition(":")
    if text == "scene":
        return {"kind": "scene"}
    if kind == "x11":
        return {"kind": "x11", "display": f":{display.removeprefix(':')}" if display else None}
    return {"kind": "file", "path": text}


def _size(text: str) -> list[int]:
    width, _, height = text.partition("x")
    if not (width.isdigit() and height.isdigit()):
        raise InputError("is no size", file="--size", value=text, hint='write it as "1280x720"')
    return [int(width), int(height)]


def _folder(folder: Path | None) -> str | None:
    if folder is None:
        return None
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot be made: {error.strerror}", file=folder) from None
    return str(folder)


def _reachable(listen: str) -> str:
    """Give the address that a link has: this machine's name for the one that means all."""
    import socket  # noqa: PLC0415 (only the host needs it)

    address, _, port = listen.rpartition(":")
    everywhere = address in {"0.0.0.0", "[::]"}  # noqa: S104 (the user chose it)
    return f"{socket.gethostname()}:{port}" if everywhere else listen


def _note(refusals: list[str]) -> None:
    for refusal in refusals:
        err.print(f"note: {refusal}", style="yellow", highlight=False, markup=False)


def _tell_sound(sound: dict[str, Any]) -> None:
    if sound["received"] == 0:
        err.print("no sound came")
        return
    text = f"{sound['played']} packets of sound played, {sound['concealed']} concealed"
    if sound["offset_p50_ns"] is not None:
        text += f"; {sound['beeps']} beeps, {sound['offset_p50_ns'] / 1e6:+.1f} ms to the picture"
    err.print(text, highlight=False)


def _tell_cpu(report: dict[str, Any]) -> None:
    for time in report["cpu"]:
        share = 100 * time["cpu_ns"] / max(time["wall_ns"], 1)
        err.print(f"{time['thread']}: {share:.1f} % of a core", highlight=False)
