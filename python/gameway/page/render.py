"""Pages as files: templates, charts, and what a page brings with it so that it works offline."""

from __future__ import annotations

import json
import zlib
from functools import lru_cache
from importlib.metadata import version
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import jinja2
import vl_convert

from gameway import _core, cached, durable
from gameway.figures import theme
from gameway.figures.conditions import CAPACITY
from gameway.page.export import chart_json, file_name, save_chart

if TYPE_CHECKING:
    from pathlib import Path

    from gameway.page import Figure

FILES = "report-files"
"""Folder beside a page that has its figures and tables as files."""

SCRIPT = "window.gamewayEmbed = vegaEmbed;"
"""What a page's own script calls."""


def write_page(path: Path, template: str, content: dict[str, Any]) -> None:
    """Write a page from a template: whole or not at all."""
    common = {
        "version": _core.VERSION,
        "files": FILES,
        "themes": json.dumps({mode: theme.config(mode) for mode in theme.MODES}),
        "bundle": _bundle(),
        "css": _asset("page.css"),
        "js": _asset("page.js"),
        "early": _asset("early.js"),
    }
    text = _environment().get_template(template).render(common | content)
    durable.write(path, text)


def drawn(figure: Figure, folder: Path | None) -> dict[str, Any]:
    """A figure as a template needs it; its charts are saved in `folder`, if one is given."""
    charts = []
    first = _first_shown(figure)
    for index, panel in enumerate(figure.panels):
        name = file_name(figure.id, panel.label)
        spec = panel.chart.to_dict(validate=False)
        spec.pop("config", None)
        if folder is not None:
            save_chart(spec, folder, name)
        charts.append(
            {
                "label": panel.label,
                "file": name,
                "description": panel.description,
                "spec": chart_json(spec),
                "shown": index == first,
                "saved": folder is not None,
            }
        )
    return {"id": figure.id, "title": figure.title, "caption": figure.caption, "panels": charts}


def _first_shown(figure: Figure) -> int:
    """Panels that differ in capacity open with the middle one, as the paper's Figure 2."""
    by_capacity = all(list(panel.where) == [CAPACITY] for panel in figure.panels)
    return len(figure.panels) // 2 if by_capacity else 0


@lru_cache(maxsize=1)
def _bundle() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script; making it takes seconds."""
    mark = zlib.crc32(SCRIPT.encode())
    file = cached.folder("pages") / f"vega-{version('vl-convert-python')}-{mark:x}.js"
    return cached.text(file, lambda: vl_convert.javascript_bundle(SCRIPT))


def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FunctionLoader(_asset), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )


def _asset(name: str) -> str:
    return files(__package__).joinpath(name).read_text("utf-8")
