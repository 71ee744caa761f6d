"""The words of a check: how a value is refused, and how checks are put together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn, cast

from pydantic import PlainValidator, ValidationInfo
from pydantic_core import PydanticCustomError

from gameway.errors import nearest

REFUSED = "gameway"
"""Error type, in pydantic's sense, of a value that a check refused."""

Check = Callable[[object, ValidationInfo], Any]
At = tuple[str | int, ...]


def refuse(problem: str, value: object, hint: str | None = None, at: At = ()) -> NoReturn:
    """Refuse `value`; `at` leads from the field being checked to the part that is wrong."""
    context = {"problem": problem, "value": value, "hint": hint, "at": at}
    raise PydanticCustomError(REFUSED, "{problem}", context)


def values(axis: object) -> list[Any]:
    """Give the values of a field that may be one value or an axis."""
    return list(axis) if isinstance(axis, (list, tuple)) else [axis]


def places(axis: object) -> list[tuple[tuple[int, ...], Any]]:
    """Give the values of a field, each with the index that leads to it."""
    if isinstance(axis, (list, tuple)):
        return [((index,), value) for index, value in enumerate(axis)]
    return [((), axis)]


def axis_of(check: Check) -> Check:
    """Check one value, or a list of different values, by `check`."""

    def validate(value: object, info: ValidationInfo) -> object:
        if not isinstance(value, (list, tuple)):
            return check(value, info)
        if not value:
            refuse("is an empty list", value, "a list is an axis of the matrix: name a value")
        checked = [inside(index, check, item, info) for index, item in enumerate(value)]
        for index, item in enumerate(checked):
            if item in checked[:index]:
                refuse("is in the list twice", value[index], "name each value once", (index,))
        return checked

    return validate


def axis(check: Check) -> PlainValidator:
    """Validate one value, or an axis of them."""
    return PlainValidator(axis_of(check))


def inside(key: str | int, check: Check, value: object, info: ValidationInfo) -> Any:
    """Check a part of a value; a refusal tells where the part is."""
    try:
        return check(value, info)
    except PydanticCustomError as error:
        context = cast("dict[str, Any]", error.context)
        refuse(context["problem"], context["value"], context["hint"], (key, *context["at"]))


def one_of(kind: str, known: Callable[[], Iterable[str]]) -> Check:
    """Check a word that must be one of those known."""

    def check(value: object, _: ValidationInfo) -> str:
        if not isinstance(value, str) or value not in known():
            refuse(f"is no {kind}", value, nearest(str(value), known()))
        return value

    return check


def as_table(value: object, *required: str, only: Sequence[str] | None = None) -> dict[str, Any]:
    """Check that `value` is a table with the keys `required`, and none but `only` if given."""
    if not isinstance(value, dict):
        refuse("must be a table", value, f"{{ {required[0]} = ... }}")
    for name in required:
        if name not in value:
            refuse(f"has no {name}", value, f"{{ {name} = ... }}")
    unknown = [name for name in value if only is not None and name not in only]
    if unknown:
        refuse(
            "is an unknown key", value[unknown[0]], nearest(unknown[0], only or ()), (unknown[0],)
        )
    return value
