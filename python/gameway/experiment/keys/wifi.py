"""Checks of a Wi-Fi medium: a table in place of a capacity."""

from __future__ import annotations

import itertools
import json
import re
from typing import TYPE_CHECKING, Any

from gameway import _core
from gameway.catalogue import tables_of
from gameway.experiment.keys.checking import (
    Check,
    as_table,
    axis_of,
    inside,
    places,
    refuse,
)
from gameway.experiment.keys.declared import Declaration
from gameway.experiment.keys.known import queue_of

if TYPE_CHECKING:
    from pydantic import ValidationInfo

WIFI = Declaration(
    [one for one in tables_of("path.capacity") if "wifi" in one["properties"]],
    wifi="generation of Wi-Fi",
)


def _width(value: object, _: ValidationInfo) -> str:
    found = re.fullmatch(r"([0-9]{1,4}) ?MHz", value) if isinstance(value, str) else None
    if found is None:
        refuse("is no channel width", value, 'write for example "20 MHz"')
    return f"{found[1]} MHz"


KEYS: dict[str, Check] = {
    **WIFI.checks(),
    "width": _width,
    "station_queue": queue_of(WIFI.default("station_queue")["size"]),
}
"""Each key of the table; every one may be an axis."""


def wifi(value: object, info: ValidationInfo) -> dict[str, Any]:
    """Check a Wi-Fi medium; what is not given is as in the defaults of its generation."""
    table = as_table(value, "wifi", only=tuple(KEYS))
    checked = {key: inside(key, axis_of(KEYS[key]), table[key], info) for key in table}
    _check_together({key: item for key, item in checked.items() if key != "station_queue"})
    return checked


def _check_together(table: dict[str, Any]) -> None:
    """Refuse what the standard does not have in any combination of the matrix."""
    for combination in itertools.product(*(places(item) for item in table.values())):
        one = dict(zip(table, combination, strict=True))
        try:
            _core.check_wifi(json.dumps({key: item for key, (_, item) in one.items()}))
        except ValueError as error:
            key, _, why = str(error).partition(": ")
            at, item = one.get(key, one["wifi"])
            refuse(f"is not possible: {why}", item, None, (key if key in one else "wifi", *at))


def wired(check: Check, what: str) -> Check:
    """Check a capacity that cannot be a Wi-Fi medium."""

    def checked(value: object, info: ValidationInfo) -> object:
        if isinstance(value, dict) and "wifi" in value:
            hint = "only the capacity of [path] can be; both ways share it"
            refuse(f"of {what} cannot be a Wi-Fi medium", value["wifi"], hint, ("wifi",))
        return check(value, info)

    return checked
