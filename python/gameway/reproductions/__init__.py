"""Pages of the suites of experiments, one module or package each: what was published, beside ours.

The page of the suite `some-name` is made by `page` of the module `some_name` of this package: it
gets the results of the suite's parts that have a finished run, by name. A suite without a module
gets a plain page.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from gameway.reproductions import plain

if TYPE_CHECKING:
    from collections.abc import Callable

    from gameway.report.page import Page
    from gameway.results import Results

    MakePage = Callable[[dict[str, Results]], Page]

__all__ = ["page_of"]


def page_of(suite: str) -> MakePage:
    """Give the function that makes the page of a suite."""
    module = f"{__name__}.{suite.replace('-', '_')}"
    if not suite.replace("-", "_").isidentifier() or find_spec(module) is None:
        return plain.page
    make: MakePage = import_module(module).page
    return make
