"""Numbers, and texts with a unit, in normal form: "25Mb/s" becomes "25 Mb/s"."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING

from gameway import _core
from gameway.catalogue import MAX, MIN, key_schema
from gameway.experiment.keys.checking import Check, refuse

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic import ValidationInfo


def unit(
    parse: Callable[[str], int],
    show: Callable[[int], str],
    example: str,
    lowest: int = 1,
    highest: int | None = None,
) -> Check:
    """Check a text with a unit, between two bounds in base units."""

    def check(value: object, _: ValidationInfo) -> str:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            refuse(
                "has no unit",
                value,
                f'write it as text with a unit, for example "{example}"',
            )
        if not isinstance(value, str):
            refuse("is not a text with a unit", value, f'write for example "{example}"')
        try:
            amount = parse(value)
        except ValueError as error:
            refuse(_problem(error), value, f'write for example "{example}"')
        if amount < lowest:
            bounds = {0: "must not be negative", 1: "must be above zero"}
            problem = bounds.get(lowest, f"must be at least {show(lowest)}")
            refuse(problem, value, f'write for example "{example}"')
        if highest is not None and amount > highest:
            refuse(
                f"must be at most {show(highest)}",
                value,
                f'write for example "{example}"',
            )
        return show(amount)

    return check


def ratio_text(parts_per_million: int) -> str:
    """Write a share."""
    percent = (Decimal(parts_per_million) / 10_000).normalize()
    return f"{percent:f} %"


rate = unit(_core.parse_rate, _core.format_rate, "25 Mb/s")


DRIFT = re.compile(r"([+-]?[0-9]{1,9}) ?ppm")
MIN_EDGE, MAX_EDGE = (
    int(key_schema("stream.picture_size")[bound].partition("x")[0]) for bound in (MIN, MAX)
)
"""Of a picture, in pixels."""
MAX_TRIALS: int = key_schema("stream.field_trials")["maxLength"]
"""Letters of a list of field trials."""


def drift(lowest: str, highest: str) -> Check:
    """Check how fast a clock runs, in whole parts per million, between two bounds."""
    bounds = range(_ppm(lowest), _ppm(highest) + 1)

    def check(value: object, _: ValidationInfo) -> str:
        hint = f'write for example "50 ppm" or "-50 ppm", from {bounds[0]} to {bounds[-1]}'
        found = DRIFT.fullmatch(value) if isinstance(value, str) else None
        if found is None:
            refuse("is no drift in whole ppm", value, hint)
        if int(found[1]) not in bounds:
            refuse("is out of range", value, hint)
        return f"{int(found[1])} ppm"

    return check


def _ppm(text: str) -> int:
    return int(text.removesuffix("ppm"))


def picture_size(value: object, _: ValidationInfo) -> str:
    """Check the size of the picture that a browser sends."""
    found = re.fullmatch(r"([0-9]{1,4})x([0-9]{1,4})", value) if isinstance(value, str) else None
    edges = [int(edge) for edge in found.groups()] if found else []
    if not edges or any(edge % 2 or not MIN_EDGE <= edge <= MAX_EDGE for edge in edges):
        hint = f'write even numbers from {MIN_EDGE} to {MAX_EDGE}, as "640x360"'
        refuse("is no size of a picture", value, hint)
    return "x".join(map(str, edges))


def field_trials(value: object, _: ValidationInfo) -> str:
    """Check field trials as Chromium's command line has them: an odd word would end it."""
    words = value[:-1].split("/") if isinstance(value, str) and value.endswith("/") else []
    fit = all(re.fullmatch(r"[!-~]+", word) for word in words)
    if not words or len(words) % 2 or not fit or len(str(value)) > MAX_TRIALS:
        hint = 'write names and groups by turns, each with a slash behind: "Name/Enabled/"'
        refuse("is no list of field trials", value, hint)
    return str(value)


def queue_size(value: object, _: ValidationInfo) -> str:
    """Check the size of a queue."""
    hint = 'write for example "2 bdp", "64 KiB", "100 packets" or "300 ms"'
    if not isinstance(value, str):
        refuse("has no unit", value, hint)
    try:
        return _core.check_queue_size(value)
    except ValueError as error:
        refuse(_problem(error), value, hint)


def _problem(error: ValueError) -> str:
    """Give what is wrong with a quantity, without the example that each key has of its own."""
    return str(error).partition("; write for example")[0]


def whole(lowest: int, highest: int) -> Check:
    """Check a whole number between two bounds."""

    def check(value: object, _: ValidationInfo) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            refuse("must be a whole number", value, f"from {lowest} to {highest}")
        if not lowest <= value <= highest:
            refuse("is out of range", value, f"from {lowest} to {highest}")
        return value

    return check


def number(lowest: int, highest: int) -> Check:
    """Check a number between two bounds."""

    def check(value: object, _: ValidationInfo) -> float:
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            refuse("must be a number", value, f"from {lowest} to {highest}")
        if not lowest <= value <= highest:
            refuse("is out of range", value, f"from {lowest} to {highest}")
        return float(value)

    return check
