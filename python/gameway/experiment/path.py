"""The path of an experiment and its tables: what happens to packets, and what of it changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Self

from pydantic import Field, model_validator

from gameway import _core
from gameway.catalogue import tables_of
from gameway.experiment import keys
from gameway.experiment.keys import places, refuse, values
from gameway.experiment.keys.declared import Declaration
from gameway.experiment.part import AT_LEAST, KindOf, Part, check_order

PATH = Declaration(tables_of("path"), classifier="classifier")
HOP = Declaration(tables_of("path.hop"), place="place")
BACK = Declaration(tables_of("path.back"))
CHANGE = Declaration(tables_of("path.change"), classifier="classifier")
JITTER, LOSS = Declaration(tables_of("path.jitter")), Declaration(tables_of("path.loss"))
DUPLICATE = Declaration(tables_of("path.duplicate"))
REORDER = Declaration(tables_of("path.reorder"))
NOT_WIRELESS = {
    "behind": "the clients are on the Wi-Fi medium of path.capacity: leave this out",
    "out": "what goes up passes the Wi-Fi medium of path.capacity alone: leave this hop out",
}
"""Places of hops that a Wi-Fi medium leaves none of."""


class Jitter(KindOf):
    """Variation of a one-way delay, cut at zero; packets are not reordered."""

    NEEDED, OPTIONAL = JITTER.keys_by_kind()

    kind: Annotated[str | Sequence[str], keys.words("kind of jitter", OPTIONAL)] = JITTER.kind
    mean: keys.Texts = JITTER.default("mean")
    deviation: keys.Texts | None = None
    delay: keys.Texts | None = None
    interval: keys.Texts | None = None

    _declared = JITTER.validator()

    @model_validator(mode="after")
    def _check_period(self) -> Self:
        if self.delay is not None:
            check_order(self, "delay", "interval", _core.parse_duration, "must be above")
        return self


class Loss(KindOf):
    """Loss behind a bottleneck: each packet alone, or in bursts of a mean length in packets."""

    NEEDED, OPTIONAL = LOSS.keys_by_kind()

    kind: Annotated[str | Sequence[str], keys.words("kind of loss", OPTIONAL)] = LOSS.kind
    probability: keys.Texts = LOSS.field("probability")
    burst_length: keys.Numbers | None = None

    _declared = LOSS.validator()


class Duplicate(Part):
    """Packets that come twice, of those that are not lost."""

    probability: keys.Texts = DUPLICATE.field("probability")
    correlation: keys.Texts = DUPLICATE.default("correlation")

    _declared = DUPLICATE.validator()


class Reorder(Part):
    """Packets that overtake others, or fall behind them, of those that are not lost."""

    probability: keys.Texts = REORDER.field("probability")
    correlation: keys.Texts = REORDER.default("correlation")
    gap: keys.Wholes = REORDER.default("gap")
    earlier: keys.Texts | None = None
    later: keys.Texts | None = None

    _declared = REORDER.validator()

    @model_validator(mode="after")
    def _check_place(self) -> Self:
        if self.earlier is not None and self.later is not None:
            hint = "a packet arrives earlier or later: leave out one of them"
            refuse("has no meaning beside earlier", self.later, hint, ("later",))
        return self


class Back(Part):
    """The way from the client to the servers: feedback, acknowledgements, requests, uploads."""

    capacity: keys.BackCapacities | None = None
    queue: keys.BackQueues = BACK.field("queue")
    jitter: Annotated[Jitter | Sequence[Jitter] | None, keys.table_axis(Jitter)] = None
    loss: Annotated[Loss | Sequence[Loss] | None, keys.table_axis(Loss)] = None
    duplicate: Annotated[Duplicate | Sequence[Duplicate] | None, keys.table_axis(Duplicate)] = None
    reorder: Annotated[Reorder | Sequence[Reorder] | None, keys.table_axis(Reorder)] = None

    def idle(self) -> set[str]:
        """Give the queue where there is no bottleneck."""
        return {"queue"} if self.capacity is None else set()

    @model_validator(mode="after")
    def _check_queue(self) -> Self:
        if self.capacity is None and "queue" in self.model_fields_set:
            hint = "without a capacity nothing waits: add capacity"
            refuse("has no meaning here", self.queue, hint, ("queue",))
        return self


class Hop(Part):
    """One more bottleneck, behind the path's own or in front of it."""

    name: keys.BottleneckName = Field(examples=["access"])
    capacity: keys.HopCapacities = Field(examples=["25 Mb/s"])
    queue: keys.Queues = HOP.field("queue")
    place: keys.Texts | None = None

    _declared = HOP.validator()


class Change(Part):
    """Keys of the path that take the place of those before them from a time on, each as a whole."""

    at: str = CHANGE.field("at")
    capacity: keys.ChangedCapacities | None = None
    base_rtt: keys.Texts | None = None
    forward_delay: keys.Texts | None = None
    queue: keys.Queues | None = None
    classifier: keys.Texts | None = None
    jitter: Annotated[Jitter | Sequence[Jitter] | None, keys.table_axis(Jitter)] = None
    loss: Annotated[Loss | Sequence[Loss] | None, keys.table_axis(Loss)] = None
    duplicate: Annotated[Duplicate | Sequence[Duplicate] | None, keys.table_axis(Duplicate)] = None
    reorder: Annotated[Reorder | Sequence[Reorder] | None, keys.table_axis(Reorder)] = None
    back: Annotated[Back | Sequence[Back] | None, keys.table_axis(Back)] = None
    gateway: keys.Gateways | None = None

    _declared = CHANGE.validator()

    @model_validator(mode="after")
    def _check(self) -> Self:
        at: object = self.at
        if isinstance(at, list):
            refuse("is a list, and each change has one time", at, None, ("at",))
        if not self.model_fields_set - {"at"}:
            refuse(
                "changes nothing", self.at, 'name a key beside it: capacity = "10 Mb/s"', ("at",)
            )
        return self


class Path(Part):
    """The network path between the servers and the clients, with its bottlenecks."""

    capacity: keys.Capacities = Field(examples=["25 Mb/s"])
    base_rtt: keys.Texts = PATH.field("base_rtt")
    base_rtt_spread: keys.Texts | None = None
    forward_delay: keys.Texts | None = None
    queue: keys.Queues = PATH.field("queue")
    classifier: keys.Texts = PATH.default("classifier")
    jitter: Annotated[Jitter | Sequence[Jitter] | None, keys.table_axis(Jitter)] = None
    loss: Annotated[Loss | Sequence[Loss] | None, keys.table_axis(Loss)] = None
    duplicate: Annotated[Duplicate | Sequence[Duplicate] | None, keys.table_axis(Duplicate)] = None
    reorder: Annotated[Reorder | Sequence[Reorder] | None, keys.table_axis(Reorder)] = None
    back: Annotated[Back | Sequence[Back] | None, keys.table_axis(Back)] = None
    hop: Annotated[Sequence[Hop], keys.table_list(Hop)] = ()
    gateway: keys.Gateways = PATH.field("gateway")
    change: Annotated[Sequence[Change], keys.table_list(Change)] = ()

    _declared = PATH.validator()

    def idle(self) -> set[str]:
        """Give the changes where there are none: so experiments of before are what they were."""
        return set() if self.change else {"change"}

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.forward_delay is not None:
            check_order(self, "forward_delay", "base_rtt", _core.parse_duration, AT_LEAST)
        names = [hop.name for hop in self.hop]
        for index, name in enumerate(names):
            if name in names[:index]:
                hint = "give each its own"
                refuse("is the name of another hop", name, hint, ("hop", index, "name"))
        self._check_way_back()
        self._check_places()
        self._check_changes()
        return self

    def _check_changes(self) -> None:
        """Each change is after the one before it; repeats that differ in their RTT keep it."""
        for index, change in enumerate(self.change):
            before = self.change[index - 1].at if index else "0 s"
            if _core.parse_duration(change.at) <= _core.parse_duration(before):
                refuse(f"must be after {before}", change.at, None, ("change", index, "at"))
            for key in ("base_rtt", "forward_delay") if self.base_rtt_spread is not None else ():
                if getattr(change, key) is not None:
                    hint = "each repeat has its own: leave out one of them"
                    at: keys.At = ("change", index, key)
                    refuse("has no meaning beside base_rtt_spread", getattr(change, key), hint, at)

    @property
    def wireless(self) -> bool:
        """Whether a value of the capacity is a Wi-Fi medium."""
        return any(isinstance(one, dict) and "wifi" in one for one in values(self.capacity))

    def _check_places(self) -> None:
        """Refuse a hop behind a medium, on which the clients are, or on the way out of one."""
        for number, hop in enumerate(self.hop):
            for index, place in places(hop.place):
                if self.wireless and place in NOT_WIRELESS:
                    at: keys.At = ("hop", number, "place", *index)
                    refuse("has no meaning here", place, NOT_WIRELESS[place], at)

    def _check_way_back(self) -> None:
        """Refuse a bottleneck on the way back of a medium, which carries both ways."""
        for index, back in places(self.back):
            if self.wireless and back is not None and back.capacity is not None:
                hint = "what goes up shares the Wi-Fi medium of path.capacity: leave this out"
                refuse(
                    "has no meaning here",
                    back.capacity,
                    hint,
                    ("back", *index, "capacity"),
                )
