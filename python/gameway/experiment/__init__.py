"""Experiment files: what is run, over what path, beside which competitors.

An experiment is read from a TOML file (`load`) or built in Python from the same classes. Every
value may be a list: a list is an axis of the matrix (see `gameway.expansion`). Anything that cannot
be run is refused here, before the first run, with file, line, field, value and what is allowed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path as FilePath
from typing import Annotated, Any, Self

from pydantic import Field, PlainValidator, PrivateAttr, ValidationError, model_validator

from gameway import _core
from gameway.catalogue import key_schema
from gameway.errors import InputError
from gameway.experiment import keys
from gameway.experiment.keys import places, refuse, values
from gameway.experiment.overrides import Override
from gameway.experiment.part import Part
from gameway.experiment.path import Path
from gameway.experiment.source import Source, in_order, told
from gameway.experiment.tables import (
    CHROMIUM,
    Competitor,
    Ping,
    Record,
    Stream,
    plain,
)

BROWSERS_CONTROLLER = "gcc"
"""The controller of a stream that a browser sends, by its name in an experiment file."""


def _ping(value: object, info: Any) -> object:
    """Check `ping`: a table, or false for none."""
    if value is False or value is None:
        return None
    if value is True:
        return Ping()
    return keys.table_of(Ping)(value, info)


class Experiment(Part):
    """One experiment: a matrix of runs, each `duration` of virtual time, repeated `runs` times."""

    title: keys.Title = "Experiment"
    reference: keys.ReferenceName | None = None
    duration: keys.Durations = Field(examples=key_schema("duration")["examples"])
    runs: keys.Runs = 1
    seed: keys.Seed = 1
    controller: keys.Controllers | None = None
    path: Annotated[Path | Sequence[Path], keys.table_axis(Path)] = Field(examples=["[path]"])
    stream: Annotated[Sequence[Stream], keys.table_list(Stream)] = ()
    competitor: Annotated[Sequence[Competitor], keys.table_list(Competitor)] = ()
    ping: Annotated[Ping | bool | None, PlainValidator(_ping)] = Field(default_factory=Ping)
    record: Annotated[Record, PlainValidator(keys.table_of(Record))] = Field(default_factory=Record)

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
        self._check_controllers()
        self._check_browsers()
        self._check_foresight()
        seen: set[str] = set()
        for at, part in self._flows():
            if part.name in seen:
                refuse("is the name of another flow", part.name, "give each its own", (*at, "name"))
            seen.add(part.name)
            self._check_moments(at, part)
            self._check_via(at, part)
        self._check_changes()
        return self

    def _check_controllers(self) -> None:
        """The experiment's controller is that of the streams that name none."""
        followers = [index for index, one in enumerate(self.stream) if one.controller is None]
        if followers and self.controller is None:
            hint = 'add controller = "pudica", here or to the experiment for all its streams'
            refuse("is missing", None, hint, ("stream", followers[0], "controller"))
        if self.controller is not None and not followers:
            hint = "every stream names its own" if self.stream else "there is no stream"
            refuse("has no meaning here", self.controller, hint, ("controller",))

    def _check_browsers(self) -> None:
        """A browser has a controller of its own."""
        for number, stream in enumerate(self.stream):
            given = self.controller if stream.controller is None else stream.controller
            at: keys.At = () if stream.controller is None else ("stream", number)
            for index, one in places(given) if CHROMIUM in stream.kinds() else []:
                if one != BROWSERS_CONTROLLER:
                    hint = f'{CHROMIUM} has a GCC of its own: write "{BROWSERS_CONTROLLER}"'
                    refuse("is not what a browser has", one, hint, (*at, "controller", *index))

    def _check_foresight(self) -> None:
        """Nobody knows what a Wi-Fi medium will carry, for that depends on who else sends."""
        if not any(path.wireless for path in values(self.path)):
            return
        owners: list[tuple[keys.At, Any]] = [(("controller",), self.controller)]
        for number, stream in enumerate(self.stream):
            owners.append((("stream", number, "controller"), stream.controller))
        for at, (index, one) in ((at, place) for at, given in owners for place in places(given)):
            if "oracle" in values(one["kind"] if isinstance(one, dict) else one):
                hint = "leave it out where the path is Wi-Fi"
                refuse("cannot foresee what a Wi-Fi medium will carry", one, hint, (*at, *index))

    def _flows(self) -> Iterator[tuple[keys.At, Stream | Competitor]]:
        for index, stream in enumerate(self.stream):
            yield ("stream", index), stream
        for index, competitor in enumerate(self.competitor):
            yield ("competitor", index), competitor

    def _check_moments(self, at: keys.At, part: Stream | Competitor) -> None:
        shortest = min(values(self.duration), key=_core.parse_duration)
        begins = [((*at, "start", *index), start) for index, start in places(part.start)]
        if isinstance(part, Stream) and part.pause is not None:
            for index, pause in places(part.pause):
                pauses = ((place, start) for place, start in places(pause["from"]))
                begins += [
                    ((*at, "pause", *index, "from", *place), start) for place, start in pauses
                ]
        for place, start in begins:
            if _core.parse_duration(start) >= _core.parse_duration(shortest):
                refuse("is after the end of the run", start, f"the run ends at {shortest}", place)

    def _check_changes(self) -> None:
        """A path changes before the run ends."""
        shortest = min(values(self.duration), key=_core.parse_duration)
        for index, path in places(self.path):
            for number, change in enumerate(path.change):
                if _core.parse_duration(change.at) >= _core.parse_duration(shortest):
                    at: keys.At = ("path", *index, "change", number, "at")
                    refuse("is after the end of the run", change.at,
                           f"the run ends at {shortest}", at)  # fmt: skip

    def _check_via(self, at: keys.At, part: Stream | Competitor) -> None:
        hops = [[hop.name for hop in path.hop] for path in values(self.path)]
        known = (*keys.FORWARD, *(name for name in hops[0] if all(name in own for own in hops)))
        for index, name in places(part.via):
            if name not in known:
                refuse("is no bottleneck", name, keys.nearest(name, known), (*at, "via", *index))

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

    def in_file_order(self) -> dict[str, Any]:
        """Give its values as plain data, the keys of each table in the order of the file."""
        found: dict[str, Any] = in_order(plain(self), self.source.positions)
        return found

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
    ordered = in_order(json.loads(document), positions)
    return from_source(Source(ordered, text, file, positions))


def from_source(source: Source) -> Experiment:
    """Check a document and keep where it came from."""
    try:
        experiment = Experiment.model_validate(source.document, context={"base": source.base})
    except ValidationError as error:
        raise told(error, Experiment, source) from None
    experiment._source = source  # noqa: SLF001 (its own module)
    return experiment
