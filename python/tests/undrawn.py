"""Reports whose figures are compiled and not drawn; as a program, `gameway` with such reports.

Of 2.4 processor seconds of a report, drawing takes 1.6, and almost no test looks at what is drawn.
A figure that is wrong fails all the same: Vega-Lite compiles it in 0.01 s. Tests in the files of
`DRAWN` have theirs drawn, and so have commands that a test starts as `python -m gameway`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import vl_convert

from gameway.figures import theme
from gameway.page import export, render

if TYPE_CHECKING:
    from pathlib import Path

DRAWN = ("test_compare.py", "test_docs.py", "test_report.py")
"""Of these a test looks at SVG and PDF."""


def compiled(spec: dict[str, Any], folder: Path, name: str) -> None:
    """Do what `save_chart` does, but for drawing."""
    vl_convert.vegalite_to_vega(json.dumps(spec | {"config": theme.config("light")}))
    export.save_table(export._largest_dataset(spec), folder, name)


if __name__ == "__main__":
    from gameway.cli import main

    render.save_chart = compiled
    main()
