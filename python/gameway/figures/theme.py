"""The look of all figures: colours that colour-blind readers can tell apart, for light and dark.

Categories use the palette of Okabe and Ito (2008), ordered so that neighbours differ in lightness
too, with three more behind it for crowds; the dark variant is lightened to keep a contrast of at
least 3:1 against the page.
"""

from __future__ import annotations

from typing import Any, Literal

Mode = Literal["light", "dark"]

MODES: tuple[Mode, ...] = ("light", "dark")

CATEGORIES: dict[Mode, list[str]] = {
    "light": [
        "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#8C6D00", "#3FA7DB", "#5B5B66", "#8B1A4F",
        "#4B3FA8", "#5E8C1A",
    ],
    "dark": [
        "#5AB4F0", "#FF8A3D", "#2CC99B", "#E79CC6", "#E6C229", "#9AD7F7", "#B9B9C6", "#F2788F",
        "#A79BFF", "#B5D45B",
    ],
}  # fmt: skip
CONTROLLERS = ("pudica", "gcc", "copa", "nada", "salsify", "scream", "sqp")
"""Controllers that have the same colour in every figure that compares all of them."""
INK: dict[Mode, str] = {"light": "#1c2230", "dark": "#e8eaf0"}
MUTED: dict[Mode, str] = {"light": "#5a6275", "dark": "#a3abbd"}
GRID: dict[Mode, str] = {"light": "#e4e7ee", "dark": "#2c3342"}
BACKGROUND: dict[Mode, str] = {"light": "#ffffff", "dark": "#151a23"}

# Cool: the competitor has more; warm: the stream has more; pale: equal shares.
DIVERGING = ["#2166ac", "#67a9cf", "#d1e5f0", "#f7f7f7", "#fddbc7", "#ef8a62", "#b2182b"]
# Pale: quick; dark: slow. Black is kept for "never".
DURATION = ["#fff7d6", "#fed98e", "#fe9929", "#d95f0e", "#8c2d04"]
NEVER = "#000000"

FONT = "Inter, Roboto, 'Helvetica Neue', Arial, sans-serif"
SHAPES = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "stroke"]


def config(mode: Mode = "light") -> dict[str, Any]:
    """The Vega-Lite configuration of one mode."""
    ink, muted, grid = INK[mode], MUTED[mode], GRID[mode]
    return {
        "background": BACKGROUND[mode],
        "font": FONT,
        "view": {"stroke": grid},
        "axis": {
            "labelColor": muted,
            "titleColor": ink,
            "gridColor": grid,
            "domainColor": muted,
            "tickColor": muted,
            "labelFontSize": 11,
            "titleFontSize": 12,
            "titleFontWeight": 500,
            "titlePadding": 8,
        },
        "legend": {
            "labelColor": ink,
            "titleColor": ink,
            "labelFontSize": 12,
            "titleFontSize": 12,
            "titleFontWeight": 600,
            "symbolStrokeWidth": 2.5,
        },
        "header": {
            "labelColor": ink,
            "titleColor": ink,
            "labelFontSize": 12,
            "labelFontWeight": 600,
            "titleFontSize": 12,
        },
        "title": {"color": ink, "subtitleColor": muted, "fontSize": 14, "anchor": "start"},
        "range": {"category": CATEGORIES[mode], "symbol": SHAPES},
        "rule": {"color": muted},
        "text": {"color": ink},
        "line": {"strokeWidth": 1.8},
        "point": {"filled": True, "size": 60},
        # What is there for reference, and lines that only lead the eye.
        "style": {
            "reference": {"color": ink, "fill": ink, "stroke": None, "opacity": 0.85},
            "halo": {"fill": BACKGROUND[mode], "stroke": BACKGROUND[mode], "strokeWidth": 4},
            "faint": {"color": muted, "stroke": muted, "opacity": 0.8},
        },
    }
