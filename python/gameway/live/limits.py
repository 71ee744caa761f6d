"""What an experiment file may contain but a live run cannot do: refused before anything starts.

The path is the link's, which has what the simulator has, on one machine. Whatever needs the future
(the oracle) or a simulated sender (traffic models) is the simulator's alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gameway import _core
from gameway.experiment.keys import places, values
from gameway.experiment.keys.ladders import pairs
from gameway.experiment.tables import Competitor, Stream, plain
from gameway.live import offers, quic
from gameway.live.competitors import AUTO
from gameway.live.video.content import FRAME_RATE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gameway.errors import InputError
    from gameway.expansion import Run
    from gameway.experiment import Experiment
    from gameway.experiment.keys import At

SIMULATE = "leave out --on live to simulate it"
ON_LIVE = "cannot run live"
KINDS = ("tcp", "udp", "dash", "quic")
"""Kinds of competitors that iperf3 can be, what a browser plays, and downloads by s2n-quic."""
VIRTUAL_CONTROLLERS = {
    "oracle": "it knows the future of the path and of the traffic, which nobody knows here",
    "python": "a stream's host runs the controllers of the library",
}

Refusal = tuple["At", str, object, str]
"""Where, what is wrong, the value, what to do."""


def check(experiment: Experiment, _runs: list[Run] | None = None) -> None:
    """Refuse what cannot run live: InputError with file, line, field, value and what to do."""
    for at, problem, value, hint in _refusals(experiment):
        raise _error(experiment, at, problem, value, hint)


def _error(experiment: Experiment, at: At, problem: str, value: object, hint: str) -> InputError:
    return experiment.source.error(at, problem, value, hint)


def _refusals(experiment: Experiment) -> Iterator[Refusal]:
    yield from _of_controllers(("controller",), experiment.controller)
    for number, stream in enumerate(experiment.stream):
        yield from _of_stream(("stream", number), stream)
    for number, competitor in enumerate(experiment.competitor):
        yield from _of_competitor(("competitor", number), competitor)


def _of_controllers(at: At, given: Any) -> Iterator[Refusal]:
    for index, one in places(given) if given is not None else []:
        kinds = one["kind"] if isinstance(one, dict) else one
        for own, kind in places(kinds):
            if kind in VIRTUAL_CONTROLLERS:
                key: At = ("kind", *own) if isinstance(one, dict) else ()
                hint = f"{VIRTUAL_CONTROLLERS[kind]}: name another; {SIMULATE}"
                yield (*at, *index, *key), ON_LIVE, kind, hint


def _of_stream(at: At, stream: Stream) -> Iterator[Refusal]:
    yield from _of_controllers((*at, "controller"), stream.controller)
    for index, video in places(stream.video):
        if isinstance(video, dict):
            hint = "leave this out: what a live run streams is an option, --source file:VIDEO"
            problem = f"has frame sizes but no pictures and {ON_LIVE}"
            yield (*at, "video", *index), problem, video, hint
    for index, drift in places(stream.clock_drift):
        if drift != Stream.model_fields["clock_drift"].default:
            hint = f"both ends of a live run have the clock of this machine; {SIMULATE}"
            yield (*at, "clock_drift", *index), ON_LIVE, drift, hint
    if stream.pause is not None:
        hint = f"a live host captures from its start to its stop; {SIMULATE}"
        yield (*at, "pause"), ON_LIVE, plain(stream.pause), hint
    yield from _of_way(at, stream)


def _of_competitor(at: At, competitor: Competitor) -> Iterator[Refusal]:
    for index, kind in places(competitor.kind):
        if kind not in KINDS:
            hint = f'there are kind = "tcp", "udp", "dash" and "quic"; {SIMULATE}'
            yield (*at, "kind", *index), f"is a traffic model and {ON_LIVE}", kind, hint
    kinds = set(competitor.kinds())
    for own, refusals in OF_KINDS:
        if own & kinds:
            yield from refusals(at, competitor)
    for key in ("on_off", "return_rate"):
        if getattr(competitor, key) is not None:
            hint = f"iperf3 sends all the time, and one way; {SIMULATE}"
            yield (*at, key), ON_LIVE, plain(getattr(competitor, key)), hint
    for index, spacing in places(competitor.spacing):
        if spacing != "even":
            hint = f'iperf3 spaces evenly: spacing = "even"; {SIMULATE}'
            yield (*at, "spacing", *index), ON_LIVE, spacing, hint
    yield from _of_way(at, competitor)


def _of_quic(at: At, competitor: Competitor) -> Iterator[Refusal]:
    for where, value, hint in quic.limits(at, competitor):
        yield where, ON_LIVE, value, f"{hint}; {SIMULATE}"


def _of_tcp(at: At, competitor: Competitor) -> Iterator[Refusal]:
    offered = offers.algorithms()
    known = ", ".join(offers.file_name(name) for name in offered) or "none"
    for index, name in places(competitor.congestion_control):
        if isinstance(name, dict):
            hint = f"the kernel's has no options of a connection: write its name; {SIMULATE}"
            yield (*at, "congestion_control", *index), ON_LIVE, name, hint
        elif offers.kernel_name(name) not in offered:
            hint = f"this kernel's TCP has {known}; {SIMULATE}"
            yield (*at, "congestion_control", *index), "is not in this kernel", name, hint
    for index, mode in places(competitor.ecn) if competitor.ecn is not None else []:
        if mode == "accurate":
            hint = f'the kernel agrees on ecn = "off" or "classic" for one flow; {SIMULATE}'
            yield (*at, "ecn", *index), ON_LIVE, mode, hint


def _of_window(at: At, competitor: Competitor) -> Iterator[Refusal]:
    """A buffer that is set by hand is bounded by the kernel for all namespaces."""
    for index, window in places(competitor.receive_window):
        for mss in values(competitor.mss):
            least = 0 if window == AUTO else _core.receive_buffer(window, mss)
            for name, most in offers.buffer_limits().items():
                if least > most:
                    hint = (
                        f"it needs {name} = {least} or more: sysctl -w {name}={least}; {SIMULATE}"
                    )
                    yield (*at, "receive_window", *index), ON_LIVE, window, hint


def _of_browser(at: At, competitor: Competitor) -> Iterator[Refusal]:
    for key in ("receive_window", "mss"):
        for index, value in places(getattr(competitor, key)):
            if value != Competitor.model_fields[key].default:
                hint = f"the browser's connections are as the kernel makes them; {SIMULATE}"
                yield (*at, key, *index), ON_LIVE, value, hint


def _of_video(at: At, competitor: Competitor) -> Iterator[Refusal]:
    """A real video is what an encoder made: whole frames, even sizes, segments as they came out."""
    for key in ("size_spread", "segment_sizes"):
        if getattr(competitor, key) is not None:
            hint = f"segments are as large as the encoder makes them: leave this out; {SIMULATE}"
            yield (*at, key), ON_LIVE, plain(getattr(competitor, key)), hint
    for index, length in places(competitor.segment_length):
        if _core.parse_duration(length) * FRAME_RATE % 10**9:
            hint = f"it has whole frames at {FRAME_RATE} a second, as 500 ms; {SIMULATE}"
            yield (*at, "segment_length", *index), ON_LIVE, length, hint
    for index, ladder in places(competitor.ladder) if competitor.ladder is not None else []:
        for size, _ in pairs(ladder):
            if any(int(edge) % 2 for edge in size.split("x")):
                hint = f"H.264 with a colour for two pixels needs even numbers; {SIMULATE}"
                yield (*at, "ladder", *index, size), ON_LIVE, size, hint
    if competitor.direction != "down":
        hint = f"the player is at the client; {SIMULATE}"
        yield (*at, "direction"), ON_LIVE, plain(competitor.direction), hint


def _of_way(at: At, flow: Stream | Competitor) -> Iterator[Refusal]:
    """Addresses are those of the namespaces; streams go from the server to the client."""
    fields = type(flow).model_fields
    hints = {"header": "addresses and ports are those of the namespaces"}
    if isinstance(flow, Stream):
        hints["direction"] = "streams go from server to client"
    for key, hint in hints.items():
        for index, value in places(getattr(flow, key)):
            if value != fields[key].default:
                yield (*at, key, *index), ON_LIVE, plain(value), f"{hint}; {SIMULATE}"


OF_KINDS: tuple[tuple[set[str], Callable[[At, Competitor], Iterator[Refusal]]], ...] = (
    ({"tcp", "dash"}, _of_tcp),
    ({"quic"}, _of_quic),
    ({"dash"}, _of_browser),
    ({"dash"}, _of_video),
    ({"tcp"}, _of_window),
)
"""What is refused of which kinds."""
