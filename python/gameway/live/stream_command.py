"""`gameway host` and `gameway client` as the command line has them."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from gameway import _core
from gameway.errors import InputError
from gameway.live import addresses, tokens
from gameway.live.options import checked, told_as_typed
from gameway.live.options import folder as made_folder

if TYPE_CHECKING:
    from collections.abc import Callable

err = Console(stderr=True, emoji=False)
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
Listen = Annotated[
    str, _option("Port, address or ADDRESS:PORT, for HTTP by TCP and for media by UDP.")
]
TokenFile = Annotated[
    Path | None,
    _option("Holds what a client must know; else $GAMEWAY_TOKEN, else a new one is made."),
]
LinkTokenFile = Annotated[
    Path | None, _option("Holds the token, if LINK has none; else $GAMEWAY_TOKEN.", "--token-file")
]
HostNames = Annotated[
    list[str] | None,
    _option(
        "A name under which browsers reach the host, beside this machine's. May be repeated.",
        "--host-name",
    ),
]
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
Url = Annotated[
    str,
    typer.Argument(metavar="LINK", help="The host's, as it says it: http://HOST:PORT/?token=..."),
]
Inputs = Annotated[str | None, _option("From input to input of a scripted player.")]


@dataclass(frozen=True)
class Place:
    """Where a host is, and what it asks to know."""

    url: str
    token: str

    @classmethod
    def parse(cls, text: str, token_file: Path | None = None) -> Place:
        """Read a host's link; InputError if it is none."""
        from urllib.parse import parse_qs, urlsplit  # noqa: PLC0415 (only the client needs it)

        parts = urlsplit(text)
        if parts.scheme != "http" or not parts.netloc:
            hint = "give the link that `gameway host` prints"
            raise InputError("is no host's link", file="LINK", value=text, hint=hint)
        token = parse_qs(parts.query).get("token", [""])[0] or tokens.given(token_file)
        if not token:
            hint = f"add ?token=..., or give {tokens.OPTION}, or set {tokens.VARIABLE}"
            raise InputError("has no token", file="LINK", value=text, hint=hint)
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
    token_file: TokenFile = None,
    host_name: HostNames = None,
    encoder: Encoders = Encoder.auto,
    audio: Audio = True,
    duration: Seconds = None,
    folder: Out = None,
) -> None:
    """Stream a game, a video or the built-in scene to a browser or to `gameway client`.

    It prints a link that holds a token: who has it may watch, one at a time. Media is encrypted;
    the link itself travels in the clear, so give it out on a network that you trust. Its port must
    be open for TCP and for UDP.

    Example: `gameway host --source x11 --controller pudica`

    Next: open the link in a browser, or `gameway client LINK`.
    """
    stream = {
        "name": "game", "controller": _guarded(controller), "frame_rate": frame_rate, "fec": fec,
        "min_bitrate": min_bitrate, "start_bitrate": start_bitrate, "max_bitrate": max_bitrate,
    }  # fmt: skip
    _check_stream(stream)
    own = tokens.of_host(token_file)
    config: dict[str, Any] = {
        "stream": stream, "listen": addresses.listen(listen), "token": own, "audio": audio,
        "names": [*_own_names(), *(host_name or [])],
        "source": _source(source), "size": _size(size), "encoder": encoder.value,
        "stamped": source == "scene", "duration": _duration("--duration", duration),
        "folder": _folder(folder),
    }  # fmt: skip

    typed = {
        "--listen": listen, "--size": size, "--source": source, "--encoder": encoder.value,
        "--controller": controller,
    }  # fmt: skip
    report = _carry_out(_core.live_host, config, _links_with(own), typed)
    if report["sessions"] == 0:
        err.print("nobody came", style="yellow")
    _tell_cpu(report)


def _links_with(token: str) -> Callable[[list[str], list[str]], None]:
    """What is printed once a host can be reached."""

    def ready(refusals: list[str], reachable: list[str]) -> None:
        _note(refusals)
        for line in addresses.links(reachable, token):
            err.print(line, soft_wrap=True, highlight=False, markup=False)

    return ready


GUARD = "reduce_on_loss"
"""The option of controllers whose published law may send most of its packets into loss for good."""


def _guarded(controller: str) -> str | dict[str, str]:
    """Give the controller as people stream with it: with that option on, if it has it."""
    from gameway.experiment.keys import known  # noqa: PLC0415 (heavy; help must be quick)

    options = known.entries("controllers").get(controller, {"options": []})["options"]
    has_guard = any(option["name"] == GUARD for option in options)
    return {"kind": controller, GUARD: "on"} if has_guard else controller


def _check_stream(stream: dict[str, Any]) -> None:
    """Refuse what an experiment file would refuse of a stream, in the words of the options."""
    from gameway import experiment  # noqa: PLC0415 (heavy; help must be quick)
    from gameway.experiment import source  # noqa: PLC0415 (heavy; help must be quick)

    keys = [key for key in stream if key != "name"]
    options = {f"stream.0.{key}": f"--{key.replace('_', '-')}" for key in keys}
    typed = {f"--{key.replace('_', '-')}": stream[key] for key in keys}
    path = {"capacity": "1 Gb/s", "base_rtt": "1 ms"}
    document = {"title": "host", "duration": "1 s", "path": path, "stream": [stream]}
    with told_as_typed(options, typed):
        experiment.from_source(source.Source(document))


def _own_names() -> list[str]:
    """Give the names under which others may know this machine."""
    import socket  # noqa: PLC0415 (only the host needs it)

    name = socket.gethostname()
    short = name.partition(".")[0]
    return list(dict.fromkeys([name, socket.getfqdn(), short, f"{short}.local"]))


def client_command(
    link: Url,
    inputs: Inputs = None,
    codec: Codecs = Codec.h264,
    token_file: LinkTokenFile = None,
    duration: Seconds = None,
    folder: Out = None,
) -> None:
    """Receive, decode and measure a stream, without a display.

    Example: `gameway client "http://192.0.2.7:8443/?token=..." --duration "30 s" --out measured`

    Next: the tables in `--out`: when each frame was whole and decoded, what its picture says.
    """
    place = Place.parse(link, token_file)
    config: dict[str, Any] = {
        "connect": place.url,
        "token": place.token,
        "input_interval": _duration("--inputs", inputs),
        "codec": codec.value,
        "duration": _duration("--duration", duration),
        "folder": _folder(folder),
    }
    report = _carry_out(_core.live_client, config, _note, {"LINK": link})
    shown, lost = report["decoded_frames"], report["frames_not_decoded"]
    err.print(f"{shown} frames decoded, {lost} not; {report['stamped_frames']} with a stamp")
    _tell_sound(report["sound"])
    _tell_cpu(report)
    if report["farewell"]:
        told = f"the host ended the stream: {report['farewell']}"
        err.print(told, style="yellow", highlight=False, markup=False)
    if shown + lost == 0:
        raise InputError(
            "answered, but no packet of the stream came", value=place.url,
            hint="its port must be open for UDP, too; or start `gameway host --listen ADDRESS:PORT`"
            " with the address at which this machine reaches it",
        )  # fmt: skip


FIELD = re.compile(r"(?:stream\.)?(\w+): (.*)", re.DOTALL)
"""How an error of a host's or client's configuration begins."""
SIGNALLING = re.compile(r"(?:signalling|media) at \S+: (.*)", re.DOTALL)
"""How the error of a host that cannot listen begins."""


def _carry_out(
    part: Any, config: dict[str, Any], ready: Any, typed: dict[str, str]
) -> dict[str, Any]:
    """Run a host or a client; its errors name the option that they are about."""
    try:
        found: dict[str, Any] = json.loads(part(json.dumps(config), ready))
    except ValueError as error:
        known = FIELD.fullmatch(str(error))
        option = f"--{known[1].replace('_', '-')}" if known else ""
        if known is None or option not in typed:
            raise InputError(str(error)) from None
        raise InputError(known[2], file=option, value=typed[option]) from None
    except OSError as error:
        known = SIGNALLING.fullmatch(str(error))
        if known is None:
            raise InputError(str(error)) from None
        hint = "give an address of this machine, or another port"
        option = addresses.OPTION
        raise InputError(
            f"cannot be listened at: {known[1]}", file=option, value=typed[option], hint=hint
        ) from None
    return found


def _duration(option: str, text: str | None) -> str | None:
    """Check a time that may be left out."""
    from gameway.experiment.keys import quantities  # noqa: PLC0415 (heavy; help must be quick)

    return None if text is None else str(checked(option, quantities.span, text))


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
    made_folder("--out", folder)
    return None if folder is None else str(folder)


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
