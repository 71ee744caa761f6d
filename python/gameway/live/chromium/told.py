"""What the pages of a stream told, checked: whatever a page says is input from outside.

A record that is none is refused with its number and what is wrong with it, so that no table is made
of half of what a page said.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from gameway.errors import GamewayError

MAX_RECORDS = 5_000_000
"""Of one page: ten hours at 60 pictures a second."""

Moment = Annotated[float, Field(ge=0, le=1e14, allow_inf_nan=False)]
"""Milliseconds since 1970, or seconds since a start."""
Count = Annotated[int, Field(ge=0, le=2**53)]
Amount = Annotated[float, Field(ge=0, le=2**53, allow_inf_nan=False)]
Rtp = Annotated[int, Field(ge=0, lt=2**32)]


class Record(BaseModel):
    """One thing that a page told, and when."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    at: Moment


class Captured(Record):
    """A picture was drawn and handed to the encoder."""

    what: Literal["captured"]
    frame: Annotated[int, Field(ge=0, lt=2**32)]
    timestamp: Count
    """Of the picture, in microseconds by the page's clock."""


class Passed(Record):
    """An encoded frame passed: at the sender encoded, at the receiver received whole."""

    what: Literal["encoded", "received"]
    rtp: Rtp
    source: Rtp
    bytes: Annotated[int, Field(ge=0, lt=2**32)]
    key: bool
    came: Moment | None = None
    timestamp: Count | None = None
    """Of its picture; a receiver does not know it."""


class Shown(Record):
    """A picture is on the screen."""

    what: Literal["shown"]
    rtp: Rtp


class Sent(Record):
    """What the sending browser's statistics say; what they do not say is None."""

    what: Literal["sent"]
    available: Amount | None = None
    target: Amount | None = None
    captured: Count | None = None
    encoded: Count | None = None
    encoding: Amount | None = None
    cpu: Amount | None = None
    quantizer: Count | None = None
    asked: Count | None = None
    round_trip: Amount | None = None
    height: Count | None = None


class Got(Record):
    """What the receiving browser's statistics say."""

    what: Literal["got"]
    waited: Amount | None = None
    emitted: Count | None = None
    freezes: Count | None = None
    frozen: Amount | None = None
    decoded: Count | None = None
    decoding: Amount | None = None


One = Annotated[Captured | Passed | Shown | Sent | Got, Field(discriminator="what")]
_RECORD: TypeAdapter[Captured | Passed | Shown | Sent | Got] = TypeAdapter(One)


@dataclass
class Told:
    """What both pages told, by sort, in order."""

    captured: list[Captured] = field(default_factory=list)
    encoded: list[Passed] = field(default_factory=list)
    received: list[Passed] = field(default_factory=list)
    shown: list[Shown] = field(default_factory=list)
    sent: list[Sent] = field(default_factory=list)
    got: list[Got] = field(default_factory=list)


def read(page: str, records: Any, told: Told | None = None) -> Told:
    """Sort what a page told; GamewayError names the first record that is none."""
    found = told or Told()
    if not isinstance(records, list) or len(records) > MAX_RECORDS:
        raise GamewayError(f"the {page} page gave no list of what it saw")
    for number, record in enumerate(records):
        try:
            one = _RECORD.validate_python(record)
        except ValidationError as error:
            raise _refused(page, number, error) from None
        getattr(found, one.what).append(one)
    return found


def _refused(page: str, number: int, error: ValidationError) -> GamewayError:
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"])
    value = str(first["input"])[:100]
    told = f"{where}: {first['msg']}" if where else str(first["msg"])
    return GamewayError(f"the {page} page told what cannot be, record {number}: {told} ({value})")
