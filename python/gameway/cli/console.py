"""What commands print to: tables and places to the output, all else to the errors."""

from __future__ import annotations

import os

from rich.console import Console

WIDTH_OF_FILES = 160
"""Columns of a table that is not written to a terminal."""

out = Console(emoji=False)
err = Console(stderr=True, emoji=False)
if not out.is_terminal and "COLUMNS" not in os.environ:
    out.width = WIDTH_OF_FILES
