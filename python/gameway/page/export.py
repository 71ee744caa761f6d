"""Figures and tables as files for papers: SVG, PDF and CSV next to the report."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import polars as pl
import vl_convert

from gameway.figures import theme

if TYPE_CHECKING:
    from pathlib import Path


def chart_json(spec: dict[str, Any]) -> str:
    """A chart as compact JSON that is safe inside a script element."""
    return json.dumps(spec, separators=(",", ":"), allow_nan=False).replace("</", "<\\/")


def save_chart(spec: dict[str, Any], folder: Path, name: str) -> None:
    """Write NAME.svg, NAME.pdf and NAME.csv of a chart, in the light theme."""
    still = _without_hidden(spec | {"config": theme.config("light")})
    svg = vl_convert.vegalite_to_svg(json.dumps(still))
    (folder / f"{name}.svg").write_text(svg, encoding="utf-8")
    (folder / f"{name}.pdf").write_bytes(vl_convert.svg_to_pdf(svg))
    save_table(_largest_dataset(spec), folder, name)


def save_table(table: pl.DataFrame, folder: Path, name: str) -> None:
    """Write NAME.csv: empty = never or not known, NaN = not defined."""
    table.write_csv(folder / f"{name}.csv")


def file_name(*parts: str) -> str:
    """A file name without spaces or signs from the names of a figure and a panel."""
    words = re.sub(r"[^a-z0-9.]+", "-", " ".join(parts).lower())
    return words.strip("-.")


def _largest_dataset(spec: dict[str, Any]) -> pl.DataFrame:
    rows: list[dict[str, Any]] = max(spec.get("datasets", {}).values(), key=len, default=[])
    return pl.DataFrame(rows, infer_schema_length=None)


def _without_hidden(node: Any) -> Any:
    """The chart without the invisible points that carry its tooltips."""
    if isinstance(node, dict):
        layers = node.get("layer")
        copy = {key: _without_hidden(value) for key, value in node.items() if key != "datasets"}
        if layers is not None:
            copy["layer"] = [_without_hidden(layer) for layer in layers if not _hidden(layer)]
        return copy | ({"datasets": node["datasets"]} if "datasets" in node else {})
    if isinstance(node, list):
        return [_without_hidden(item) for item in node]
    return node


def _hidden(layer: dict[str, Any]) -> bool:
    mark = layer.get("mark")
    return isinstance(mark, dict) and mark.get("opacity") == 0
