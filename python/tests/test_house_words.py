"""Words of the source tree: names are those of the field."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from test_house_rules import name, tracked

LEFT_OUT = re.compile(
    r"(?<![A-Z_])_*(?:LEAST|MOST)(?:_[A-Z]|\b)|_(?:LEAST|MOST)\b|\b(?:Giver|Taker)\b"
)
"""Names that are not the field's: min and max, sender and receiver."""


def odd_names(label: str, text: str) -> list[str]:
    return [f"{label}: {found[0]}" for found in LEFT_OUT.finditer(text)]


def test_bounds_are_min_and_max_and_ends_are_senders_and_receivers() -> None:
    found = []
    for file in tracked("*.rs", "*.py", "*.ts", "*.tsx", "*.c", "*.h"):
        if file != Path(__file__).resolve():
            text = file.read_text(encoding="utf-8").replace("AT_LEAST", "")
            found += odd_names(name(file), text)
    assert found == []


@pytest.mark.parametrize(
    "text", ["const MOST: u8 = 1;", "LEAST_RTT = 2", "_MOST_FRAMES = 3", "TCP_LEAST", "Giver<T>"]
)
def test_an_odd_name_is_found(text: str) -> None:
    assert odd_names("x", text)
