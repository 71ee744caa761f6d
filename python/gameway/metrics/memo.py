"""Remembering what a result folder yields, as long as its `Results` object lives."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, TypeVar
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from collections.abc import Callable

    from gameway.metrics.source import ResultFolder

Found = TypeVar("Found")


def once_per_results(compute: Callable[[ResultFolder], Found]) -> Callable[[ResultFolder], Found]:
    """Compute once per `Results` object, which shows a folder as it was when it was opened."""
    known: WeakKeyDictionary[ResultFolder, Found] = WeakKeyDictionary()

    @wraps(compute)
    def remembered(results: ResultFolder) -> Found:
        if results not in known:
            known[results] = compute(results)
        return known[results]

    return remembered
