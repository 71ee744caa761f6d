"""Claims held against runs: what was said, of which condition, whether it holds, the figures."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from gameway.page import Table


@dataclass(frozen=True)
class Claim:
    """One claim."""

    text: str
    condition: str
    holds: bool
    figures: str

    def __str__(self) -> str:
        """One sentence."""
        word = "holds" if self.holds else "does not hold"
        return f"{self.text} ({self.condition}): {word}. {self.figures}"


def table(found: list[Claim]) -> Table:
    """The claims as a table; those that do not hold are marked."""
    frame = pl.DataFrame(
        [
            {"claim": claim.text, "condition": claim.condition,
             "holds": "yes" if claim.holds else "no", "figures": claim.figures}
            for claim in found
        ]
    )  # fmt: skip
    marked = frozenset((index, "holds") for index, claim in enumerate(found) if not claim.holds)
    return Table("Claims", frame, name="claims", marked=marked, main=True)
