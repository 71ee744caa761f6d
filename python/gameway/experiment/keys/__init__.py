"""Checks of single values of an experiment, and the types that carry them.

A check takes a value as it stands in the file and returns it in normal form ("25Mb/s" becomes
"25 Mb/s"), or refuses it with what is wrong and what is allowed. Most fields take one value or a
list of values: a list is an axis of the matrix.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

from pydantic import PlainValidator

from gameway.catalogue import RUNS, catalogue, entries, key_schema, tables_of, words_of
from gameway.errors import nearest
from gameway.experiment.keys.checking import At, axis, one_of, places, refuse, values
from gameway.experiment.keys.classes import header
from gameway.experiment.keys.declared import quantity
from gameway.experiment.keys.files import resolve
from gameway.experiment.keys.known import (
    congestion_control,
    controller,
    gateway,
    names_of,
    queue_of,
)
from gameway.experiment.keys.ladders import ladder
from gameway.experiment.keys.models import (
    refuse_first,
    table_axis,
    table_list,
    table_of,
)
from gameway.experiment.keys.quantities import (
    field_trials,
    picture_size,
    whole,
)
from gameway.experiment.keys.single import (
    FEEDBACK,
    FORWARD,
    REPORTS,
    VIDEOS,
    bottleneck_name,
    capacity,
    clock_drift,
    feedback,
    name,
    pause,
    reference,
    repair,
    segment_sizes,
    switch,
    text,
    video,
)
from gameway.experiment.keys.wifi import wired

__all__ = [
    "ECN_MODES",
    "FEEDBACK",
    "FORWARD",
    "REPORTS",
    "VIDEOS",
    "At",
    "catalogue",
    "entries",
    "names_of",
    "nearest",
    "places",
    "refuse",
    "refuse_first",
    "resolve",
    "table_axis",
    "table_list",
    "table_of",
    "values",
]

Texts = str | Sequence[str]
"""One text or an axis of them."""
Wholes = int | Sequence[int]
"""One whole number or an axis of them."""
Numbers = float | Sequence[float]
"""One number or an axis of them."""
Durations = Annotated[str | Sequence[str], axis(quantity(key_schema("duration")))]
"""A span of time above zero: "16 ms"."""
Table = dict[str, Any]
Capacities = Annotated[str | Table | Sequence[str | Table], axis(capacity)]
"""A rate, { steps = [...] }, { trace = "file" } or { wifi = "802.11g" }."""
HopCapacities = Annotated[str | Table | Sequence[str | Table], axis(wired(capacity, "a hop"))]
BackCapacities = Annotated[
    str | Table | Sequence[str | Table], axis(wired(capacity, "the way back"))
]
"""The same without Wi-Fi."""
ChangedCapacities = Annotated[
    str | Table | Sequence[str | Table], axis(wired(capacity, "a change of the path"))
]
"""Likewise: a medium stays as it is."""
Queues = Annotated[
    str | Table | Sequence[str | Table], axis(queue_of(key_schema("path.queue")["default"]["size"]))
]
"""{ kind = "drop-tail", size = "2 bdp" } and the options of that kind."""
BackQueues = Annotated[
    str | Table | Sequence[str | Table],
    axis(queue_of(key_schema("path.back.queue")["default"]["size"])),
]
"""The same, with the default size of the way back."""
Gateways = Annotated[str | Table | Sequence[str | Table], axis(gateway)]
"""A gateway by name, or { kind = name, options of that gateway }."""
Controllers = Annotated[str | Table | Sequence[str | Table], axis(controller)]
"""A controller by name, or { kind = name, options of that controller }."""
Videos = Annotated[str | Table | Sequence[str | Table], axis(video)]
"""A built-in video or { file = "x.gwfr" }."""
Feedbacks = Annotated[str | Table | Sequence[str | Table], axis(feedback)]
"""native, per-frame, an interval, or { kind = "rfc8888", interval = "5 ms" }."""
Repairs = Annotated[str | Table | Sequence[str | Table], axis(repair)]
"""none, nack, libwebrtc, fec, adaptive, or { kind = "adaptive", goal = "99 %" }."""
Pauses = Annotated[Table | Sequence[Table], axis(pause)]
"""{ from = "40 s", to = "60 s" }."""
Headers = Annotated[Table | Sequence[Table], axis(header)]
"""{ client = "192.168.0.20", server = "198.18.0.5", port = 47998, dscp = "ef" }."""
Drifts = Annotated[str | Sequence[str], axis(clock_drift)]
"""How fast a clock runs: "50 ppm"."""
PictureSizes = Annotated[str | Sequence[str], axis(picture_size)]
"""Width and height: "640x360"."""
FieldTrials = Annotated[str | Sequence[str], axis(field_trials)]
"""Names and groups by turns, each with a slash behind."""
CongestionControls = Annotated[str | Table | Sequence[str | Table], axis(congestion_control)]
"""The congestion control of TCP or QUIC by name, or { kind = name, options of that one }."""
ECN_MODES = {
    table["properties"]["kind"]["const"]: words_of(table["properties"]["ecn"])
    for table in tables_of("competitor")
    if "ecn" in table["properties"]
}
"""The words of `ecn`, by the kinds of competitors that have it."""
CompetitorEcn = Annotated[
    str | Sequence[str],
    axis(one_of("ECN mode", lambda: set(itertools.chain(*ECN_MODES.values())))),
]
"""How marks are fed back to a TCP sender, and whether to one of QUIC; the ECN field of UDP."""
Ladders = Annotated[Table | Sequence[Table], axis(ladder)]
"""{ 640x360 = "3 Mb/s", 1280x720 = "10 Mb/s" }."""
SegmentSizes = Annotated[Table | Sequence[Table], axis(segment_sizes)]
Bottlenecks = Annotated[str | Sequence[str], axis(text)]
"""all, path, or the name of a further bottleneck."""
BottleneckName = Annotated[str, PlainValidator(bottleneck_name)]
Name = Annotated[str, PlainValidator(name)]
Title = Annotated[str, PlainValidator(text)]
Switch = Annotated[bool, PlainValidator(switch)]
ReferenceName = Annotated[str, PlainValidator(reference)]
Runs = Annotated[int, PlainValidator(whole(RUNS["minimum"], RUNS["maximum"]))]
# Rust takes 64 bits without a sign, TOML has them with one.
Seed = Annotated[int, PlainValidator(whole(key_schema("seed")["minimum"], 2**63 - 1))]


def words(what: str, known: Iterable[str]) -> PlainValidator:
    """Validate one of the words `known`, or an axis of them."""
    return axis(one_of(what, lambda: known))
