"""Experiment files: what is run, over what path, beside which competitors.

An experiment is read from a TOML file (`load`) or built in Python from the same classes. Every
value may be a list: a list is an axis of the matrix (see `gameway.matrix`). Anything that cannot be
run is refused here, before the first run, with file, line, field, value and what is allowed.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path as FilePath
from typing import Annotated, Any, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    PrivateAttr,
    ValidationError,
    model_validator,
)
from pydantic_core import PydanticCustomError

from gameway import _core, fields
from gameway.errors import InputError
from gameway.fields import refuse, values
from gameway.overrides import DEFAULT_NAMES, Override


@dataclass(frozen=True)
class Source:
    """Where an experiment comes from, so that an error can say where it stands.

    `positions` holds line and column of each value of `text` by its dotted path.
    """

    document: Mapping[str, Any]
    text: str = ""
    file: FilePath | None = None
    positions: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    overrides: tuple[Override, ...] = ()

    @property
    def base(self) -> FilePath:
        """The folder that relative paths of the experiment start from."""
        return FilePath.cwd() if self.file is None else self.file.parent

    def position(self, path: str) -> tuple[int, int] | None:
        """Give line and column of a value, or of the nearest table around it."""
        while path:
            if path in self.positions:
                return self.positions[path]
            path = path.rpartition(".")[0]
        return None

    def error(self, at: fields.At, problem: str, value: object, hint: str | None) -> InputError:
        """Make the error for the value that stands at `at`."""
        path = ".".join(str(key) for key in at)
        for override in self.overrides:
            if path == override.path or path.startswith(f"{override.path}."):
                return InputError(
                    problem, file=f"--set {override.text}", field=path, value=value, hint=hint
                )
        position = self.position(path)
        line = position[0] if position else None
        return InputError(
            problem, file=self.file, line=line, field=path or None, value=value, hint=hint
        )


class Part(BaseModel):
    """A table of an experiment; unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)

    def __init__(self, **data: Any) -> None:
        try:
            super().__init__(**data)
        except ValidationError as error:
            raise _told(error, type(self), Source({})) from None

    # Pydantic calls a constructor of a subclass for each nested table unless it is marked as its
    # own; nested errors must reach the outermost table with their place.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]


class Jitter(Part):
    """Variation of the one-way delay of the path, cut at zero; packets are not reordered."""

    mean: fields.Moments = "0 s"
    deviation: fields.Moments = Field(examples=["2 ms"])


class Loss(Part):
    """Loss behind the bottleneck: each packet alone, or in bursts of a mean length in packets."""

    kind: fields.LossKinds = "random"
    probability: fields.Shares = Field(examples=["0.1 %"])
    burst_length: fields.BurstLengths | None = None

    @model_validator(mode="after")
    def _check_burst(self) -> Self:
        bursty = "bursty" in values(self.kind)
        if bursty and self.burst_length is None:
            refuse("is missing", None, "bursty loss needs burst_length = 3.0", ("burst_length",))
        if not bursty and self.burst_length is not None:
            hint = 'only kind = "bursty" has it'
            refuse("has no meaning here", self.burst_length, hint, ("burst_length",))
        return self


class Path(Part):
    """The network path from the servers to the client, with its one bottleneck."""

    capacity: fields.Capacities = Field(examples=["25 Mb/s"])
    base_rtt: fields.Spans = Field(examples=["16 ms"])
    forward_delay: fields.Moments | None = None
    queue: fields.Queues = Field(
        default_factory=lambda: {"kind": "drop-tail", "size": "2 bdp"}, examples=["drop-tail"]
    )
    jitter: Annotated[Jitter | Sequence[Jitter] | None, fields.table_axis(Jitter)] = None
    loss: Annotated[Loss | Sequence[Loss] | None, fields.table_axis(Loss)] = None

    @model_validator(mode="after")
    def _check_delay(self) -> Self:
        if self.forward_delay is not None:
            _check_order(self, "forward_delay", "base_rtt", _core.parse_duration, at_most=True)
        return self


class Stream(Part):
    """A game stream. Bitrates count bytes on the wire, headers and repair included."""

    name: fields.Name = DEFAULT_NAMES["stream"]
    controller: fields.Controllers = Field(examples=["pudica"])
    video: fields.Videos = "doom"
    frame_rate: fields.FrameRates = 60
    min_bitrate: fields.Rates = "2 Mb/s"
    max_bitrate: fields.Rates = "50 Mb/s"
    start_bitrate: fields.Rates = "5 Mb/s"
    fec: fields.Shares = "0 %"
    feedback: fields.Feedbacks = "native"
    start: fields.Moments = "0 s"
    stop: fields.Spans | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        _check_order(self, "min_bitrate", "max_bitrate", _core.parse_rate, at_most=True)
        _check_order(self, "start_bitrate", "max_bitrate", _core.parse_rate, at_most=True)
        _check_order(self, "min_bitrate", "start_bitrate", _core.parse_rate, at_most=True)
        _check_order(self, "start", "stop", _core.parse_duration)
        return self


class Competitor(Part):
    """A TCP download beside the game."""

    name: fields.Name = DEFAULT_NAMES["competitor"]
    kind: fields.CompetitorKinds = "tcp"
    congestion_control: fields.CongestionControls = "cubic"
    start: fields.Moments = "0 s"
    stop: fields.Spans | None = None
    bytes: fields.Amounts | None = None
    rate_limit: fields.Rates | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        _check_order(self, "start", "stop", _core.parse_duration)
        return self


class Ping(Part):
    """Pings through the bottleneck, answered by the client: the RTT that a player would see."""

    interval: fields.Spans = "1 s"


class Record(Part):
    """What is written beyond the standard tables, and how often."""

    controller_interval: fields.Spans = "500 ms"
    packets: fields.Switch = False


def _ping(value: object, info: Any) -> object:
    """Check `ping`: a table, or false for none."""
    if value is False or value is None:
        return None
    if value is True:
        return Ping()
    return fields.table_of(Ping)(value, info)


class Experiment(Part):
    """One experiment: a matrix of runs, each `duration` of virtual time, repeated `runs` times."""

    title: fields.Title = "Experiment"
    reference: fields.ReferenceName | None = None
    duration: fields.Spans = Field(examples=["60 s"])
    runs: fields.Runs = 1
    seed: fields.Seed = 1
    path: Annotated[Path, PlainValidator(fields.table_of(Path))] = Field(examples=["[path]"])
    stream: Annotated[Sequence[Stream], fields.table_list(Stream)] = ()
    competitor: Annotated[Sequence[Competitor], fields.table_list(Competitor)] = ()
    ping: Annotated[Ping | bool | None, PlainValidator(_ping)] = Field(default_factory=Ping)
    record: Annotated[Record, PlainValidator(fields.table_of(Record))] = Field(
        default_factory=Record
    )

    _source: Source | None = PrivateAttr(default=None)

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not self.stream and not self.competitor:
            refuse(
                "is missing and so is competitor: nothing would be sent",
                None,
                "add a [[stream]] or a [[competitor]]",
                ("stream",),
            )
        seen: set[str] = set()
        for at, part in self._flows():
            if part.name in seen:
                refuse("is the name of another flow", part.name, "give each its own", (*at, "name"))
            seen.add(part.name)
            self._check_start(at, part)
        return self

    def _flows(self) -> Iterator[tuple[fields.At, Stream | Competitor]]:
        for index, stream in enumerate(self.stream):
            yield ("stream", index), stream
        for index, competitor in enumerate(self.competitor):
            yield ("competitor", index), competitor

    def _check_start(self, at: fields.At, part: Stream | Competitor) -> None:
        shortest = min(values(self.duration), key=_core.parse_duration)
        for index, start in _places(part.start):
            if _core.parse_duration(start) >= _core.parse_duration(shortest):
                hint = f"the run ends at {shortest}"
                refuse("is after the end of the run", start, hint, (*at, "start", *index))

    @property
    def source(self) -> Source:
        """Where this experiment comes from."""
        if self._source is not None:
            return self._source
        document = plain(self)
        return Source(document, json.dumps(document, indent=1, ensure_ascii=False))

    @property
    def name(self) -> str:
        """A short name for folders: of the file, or of its folder, or from the title."""
        file = self.source.file
        if file is None:
            return re.sub(r"[^a-z0-9]+", "-", self.title.lower()).strip("-") or "experiment"
        return file.resolve().parent.name if file.name == "experiment.toml" else file.stem

    def with_overrides(self, settings: Sequence[str]) -> Experiment:
        """Give this experiment with some values set anew, as `--set` does.

        Each setting is "path.to.value=new value": `path.capacity=20 Mb/s`, `runs=3`,
        `stream.0.controller=[pudica, gcc]`, or by name `stream.game.controller=gcc`.
        """
        if not settings:
            return self
        document = json.loads(json.dumps(self.source.document))
        done = tuple(Override.apply(text, document) for text in settings)
        source = replace(self.source, document=document, overrides=self.source.overrides + done)
        return from_source(source)


def load(file: str | FilePath) -> Experiment:
    """Read an experiment file (TOML)."""
    path = FilePath(file)
    if path.is_dir():
        path = path / "experiment.toml"
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise InputError(f"cannot be read: {reason}", file=path) from None
    return loads(text, path)


def loads(text: str, file: FilePath | None = None) -> Experiment:
    """Read an experiment from TOML text; `file` is its name in errors and the base of its paths."""
    try:
        document, positions = _core.parse_toml(text)
    except ValueError as error:
        place = re.match(r"line (\d+), ", str(error))
        line = int(place[1]) if place else None
        rest = str(error)[place.end() :] if place else str(error)
        raise InputError(f"not valid TOML: {rest}", file=file, line=line) from None
    return from_source(Source(json.loads(document), text, file, positions))


def from_source(source: Source) -> Experiment:
    """Check a document and keep where it came from."""
    try:
        experiment = Experiment.model_validate(source.document, context={"base": source.base})
    except ValidationError as error:
        raise _told(error, Experiment, source) from None
    experiment._source = source  # noqa: SLF001 (its own module)
    return experiment


def plain(value: object) -> Any:
    """Give a model as plain tables and lists, without what is not set."""
    if isinstance(value, BaseModel):
        items = ((name, getattr(value, name)) for name in type(value).model_fields)
        return {name: plain(item) for name, item in items if item is not None}
    if isinstance(value, Mapping):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def _places(axis: object) -> list[tuple[tuple[int, ...], Any]]:
    """Give the values of a field, each with the index that leads to it."""
    if isinstance(axis, (list, tuple)):
        return [((index,), value) for index, value in enumerate(axis)]
    return [((), axis)]


def _check_order(part: Part, low: str, high: str, parse: Any, *, at_most: bool = False) -> None:
    """Refuse `low` above `high` (or equal, unless `at_most`) in any combination of the matrix."""
    if getattr(part, high) is None:
        return
    pairs = itertools.product(_places(getattr(part, low)), _places(getattr(part, high)))
    for (_, first), (index, second) in pairs:
        if parse(first) < parse(second) or (at_most and parse(first) == parse(second)):
            continue
        relation = "must not be below" if at_most else "must be after"
        refuse(f"{relation} {low} = {first}", second, None, (high, *index))


def _told(error: ValidationError, model: type[BaseModel], source: Source) -> InputError:
    """Make the one error that is told out of pydantic's."""
    try:
        fields.refuse_first(error, model)
    except PydanticCustomError as refusal:
        context: dict[str, Any] = dict(refusal.context or {})
        return source.error(context["at"], context["problem"], context["value"], context["hint"])
