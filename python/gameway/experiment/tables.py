"""The flows of an experiment and what is recorded, as models that refuse what cannot be run.

Keys and defaults are those of docs/experiment-file.md; most values may be a list, an axis.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Self

from pydantic import BaseModel, model_validator

from gameway import _core
from gameway.catalogue import key_schema, tables_of
from gameway.experiment import keys
from gameway.experiment.keys import places, refuse, values
from gameway.experiment.keys.declared import Declaration
from gameway.experiment.overrides import DEFAULT_NAMES
from gameway.experiment.part import AT_LEAST, KindOf, Part, check_order

STREAM = Declaration(tables_of("stream"), ecn="use of ECN", direction="direction")
COMPETITOR = Declaration(
    tables_of("competitor"),
    begins="beginning", spacing="spacing", adaptation="adaptation", direction="direction",
)  # fmt: skip
ON_OFF = Declaration(tables_of("competitor.on_off"))
PING, RECORD = Declaration(tables_of("ping")), Declaration(tables_of("record"))
CHROMIUM = "chromium"
"""The kind of a stream that a browser sends."""
MAX_DRAWN_RATE: int = key_schema("stream.frame_rate")["x-max-drawn"]
"""Pictures a second that a browser without a screen draws."""
NEEDS_ACCURATE = "needs_accurate_ecn"
"""In the catalogue: a congestion control that works with accurate ECN only."""


class Stream(KindOf):
    """A game stream. Bitrates count bytes on the wire, headers and repair included."""

    OPTIONAL = STREAM.keys_of_words()

    name: keys.Name = DEFAULT_NAMES["stream"]
    kind: Annotated[str | Sequence[str], keys.words("kind of stream", OPTIONAL)] = STREAM.default(
        "kind"
    )
    controller: keys.Controllers | None = None
    video: keys.Videos = STREAM.default("video")
    frame_rate: keys.Wholes = STREAM.default("frame_rate")
    min_bitrate: keys.Texts = STREAM.default("min_bitrate")
    max_bitrate: keys.Texts = STREAM.default("max_bitrate")
    start_bitrate: keys.Texts = STREAM.default("start_bitrate")
    fec: keys.Texts = STREAM.default("fec")
    repair: keys.Repairs = STREAM.default("repair")
    recovery: keys.Texts = STREAM.default("recovery")
    ladder: keys.Texts = STREAM.default("ladder")
    content: keys.Texts = STREAM.default("content")
    mtu: keys.Texts | None = STREAM.default("mtu")
    feedback: keys.Feedbacks = STREAM.default("feedback")
    ecn: keys.Texts = STREAM.default("ecn")
    circuit_breaker: keys.Texts = STREAM.default("circuit_breaker")
    picture_size: keys.PictureSizes = STREAM.default("picture_size")
    field_trials: keys.FieldTrials | None = None
    clock_drift: keys.Drifts = STREAM.default("clock_drift")
    start: keys.Texts = STREAM.default("start")
    stop: keys.Texts | None = STREAM.default("stop")
    pause: keys.Pauses | None = None
    base_rtt: keys.Texts | None = STREAM.default("base_rtt")
    via: keys.Bottlenecks = STREAM.default("via")
    direction: keys.Texts = STREAM.default("direction")
    header: keys.Headers | None = None

    _declared = STREAM.validator()

    @model_validator(mode="after")
    def _check(self) -> Self:
        check_order(self, "min_bitrate", "max_bitrate", _core.parse_rate, AT_LEAST)
        check_order(self, "start_bitrate", "max_bitrate", _core.parse_rate, AT_LEAST)
        check_order(self, "min_bitrate", "start_bitrate", _core.parse_rate, AT_LEAST)
        check_order(self, "start", "stop", _core.parse_duration)
        self._check_pause()
        self._check_drawn()
        return self

    def _check_drawn(self) -> None:
        """Refuse more pictures than a browser draws."""
        for index, rate in places(self.frame_rate) if CHROMIUM in self.kinds() else []:
            if rate > MAX_DRAWN_RATE:
                hint = f"{CHROMIUM} draws at most {MAX_DRAWN_RATE} a second, two cores 30"
                refuse("is too much for a browser", rate, hint, ("frame_rate", *index))

    def _check_pause(self) -> None:
        """Refuse a pause of what is not there."""
        pauses = places(self.pause) if self.pause is not None else []
        for index, pause in pauses:
            starts = itertools.product(places(self.start), places(pause["to"]))
            for (_, start), (place, to) in starts:
                if _core.parse_duration(to) <= _core.parse_duration(start):
                    at: keys.At = ("pause", *index, "to", *place)
                    refuse(f"must be after start = {start}", to, None, at)
            stops = itertools.product(values(self.stop), places(pause["from"]))
            for stop, (place, begin) in stops:
                if stop and _core.parse_duration(begin) >= _core.parse_duration(stop):
                    at = ("pause", *index, "from", *place)
                    refuse(f"must be before stop = {stop}", begin, None, at)


class OnOff(Part):
    """A video that is fetched segment by segment, each as fast as TCP can."""

    segment: keys.Texts = ON_OFF.field("segment")
    bitrate: keys.Texts = ON_OFF.field("bitrate")

    _declared = ON_OFF.validator()


class Competitor(KindOf):
    """Other traffic beside the game: downloads, videos, pages, calls, UDP at a constant rate."""

    NEEDED, OPTIONAL = COMPETITOR.keys_by_kind()

    name: keys.Name = DEFAULT_NAMES["competitor"]
    kind: Annotated[str | Sequence[str], keys.words("kind of competitor", OPTIONAL)] = (
        COMPETITOR.kind
    )
    congestion_control: keys.CongestionControls = COMPETITOR.default("congestion_control")
    ecn: keys.CompetitorEcn | None = None
    receive_window: keys.Texts = COMPETITOR.default("receive_window")
    mss: keys.Texts = COMPETITOR.default("mss")
    start: keys.Texts = COMPETITOR.default("start")
    stop: keys.Texts | None = COMPETITOR.default("stop")
    bytes: keys.Texts | None = COMPETITOR.default("bytes")
    rate_limit: keys.Texts | None = COMPETITOR.default("rate_limit")
    block: keys.Texts | None = COMPETITOR.default("block")
    on_off: Annotated[OnOff | Sequence[OnOff] | None, keys.table_axis(OnOff)] = None
    min_size: keys.Texts = COMPETITOR.default("min_size")
    max_size: keys.Texts = COMPETITOR.default("max_size")
    connections: keys.Wholes = COMPETITOR.default("connections")
    mean_gap: keys.Texts = COMPETITOR.default("mean_gap")
    begins: keys.Texts = COMPETITOR.default("begins")
    rate: keys.Texts | None = COMPETITOR.default("rate")
    packet_size: keys.Texts = COMPETITOR.default("packet_size")
    spacing: keys.Texts = COMPETITOR.default("spacing")
    return_rate: keys.Texts | None = COMPETITOR.default("return_rate")
    return_packet_size: keys.Texts | None = COMPETITOR.default("return_packet_size")
    bitrate: keys.Texts = COMPETITOR.default("bitrate")
    return_bitrate: keys.Texts | None = COMPETITOR.default("return_bitrate")
    frame_rate: keys.Wholes = COMPETITOR.default("frame_rate")
    ladder: keys.Ladders | None = None
    segment_length: keys.Texts = COMPETITOR.default("segment_length")
    size_spread: keys.Texts | None = COMPETITOR.default("size_spread")
    segment_sizes: keys.SegmentSizes | None = None
    video_length: keys.Texts | None = COMPETITOR.default("video_length")
    adaptation: keys.Texts = COMPETITOR.default("adaptation")
    buffer: keys.Texts | None = COMPETITOR.default("buffer")
    top_buffer: keys.Texts | None = COMPETITOR.default("top_buffer")
    datagram_size: keys.Texts = COMPETITOR.default("datagram_size")
    ack_packets: keys.Wholes = COMPETITOR.default("ack_packets")
    max_ack_delay: keys.Texts = COMPETITOR.default("max_ack_delay")
    spin: keys.Texts = COMPETITOR.default("spin")
    base_rtt: keys.Texts | None = COMPETITOR.default("base_rtt")
    via: keys.Bottlenecks = COMPETITOR.default("via")
    direction: keys.Texts = COMPETITOR.default("direction")
    header: keys.Headers | None = None

    _declared = COMPETITOR.validator()

    @model_validator(mode="after")
    def _check(self) -> Self:
        check_order(self, "start", "stop", _core.parse_duration)
        for key in ("video_length", "buffer", "top_buffer"):
            check_order(self, "segment_length", key, _core.parse_duration, AT_LEAST)
        check_order(self, "min_size", "max_size", _core.parse_bytes, AT_LEAST)
        if self.on_off is not None and self.rate_limit is not None:
            hint = "a segment comes as fast as TCP can: leave out one of them"
            refuse(
                "has no meaning beside rate_limit",
                plain(self.on_off),
                hint,
                ("on_off",),
            )
        if self.block is not None and self.rate_limit is None:
            hint = "it is what a sender with a rate_limit writes at once: give that, too"
            refuse("has no meaning without rate_limit", plain(self.block), hint, ("block",))
        if self.segment_sizes is not None and self.size_spread is not None:
            hint = "the table says how large each segment is: leave out one of them"
            refuse(
                "has no meaning beside segment_sizes",
                self.size_spread,
                hint,
                ("size_spread",),
            )
        self._check_ecn()
        return self

    def _check_ecn(self) -> None:
        """Refuse what a kind does not have, and what tells a congestion control too little."""
        known = keys.entries("competitors")
        names = keys.names_of(self.congestion_control)
        found = [name for name in names if known[name][NEEDS_ACCURATE]]
        given = places(self.ecn) if self.ecn is not None else []
        for kind in (kind for kind in self.kinds() if kind in keys.ECN_MODES):
            known_modes = keys.ECN_MODES[kind]
            for index, mode in given:
                if mode not in known_modes:
                    hint = f"it has {', '.join(known_modes)}"
                    refuse(
                        f'is not possible with kind = "{kind}"',
                        mode,
                        hint,
                        ("ecn", *index),
                    )
        for index, mode in given:
            if found and mode not in {"accurate", "on"}:
                problem = f'does not go with congestion_control = "{found[0]}"'
                needed = "on" if "quic" in self.kinds() else "accurate"
                hint = f'{found[0]} needs ecn = "{needed}", which it has without the key'
                refuse(problem, mode, hint, ("ecn", *index))


class Ping(Part):
    """Pings through the bottleneck, answered by the client: the RTT that a player would see."""

    interval: keys.Texts = PING.default("interval")

    _declared = PING.validator()


class Record(Part):
    """What is written beyond the standard tables, and how often."""

    controller_interval: keys.Texts = RECORD.default("controller_interval")
    delay_window: keys.Texts | None = RECORD.default("delay_window")
    packets: keys.Switch = RECORD.default("packets")

    _declared = RECORD.validator()


def plain(value: object) -> Any:
    """Give a model as plain tables and lists, without what is not set."""
    if isinstance(value, BaseModel):
        idle = value.idle() if isinstance(value, Part) else set()
        names = [name for name in type(value).model_fields if name not in idle]
        items = ((name, getattr(value, name)) for name in names)
        return {name: plain(item) for name, item in items if item is not None}
    if isinstance(value, Mapping):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value
