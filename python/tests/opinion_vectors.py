"""Values of G.1072 by which the page's model is held to the report's.

Run from the root: `.venv/bin/python python/tests/opinion_vectors.py > FILE`, where FILE is
python/tests/opinion_vectors.json.
"""

from __future__ import annotations

import itertools
import json
import sys
from typing import Any

from gameway.metrics import mos

BITRATES = (0.0, 1.0, 5.0, 12.5, 80.0)
FRAME_RATES = (5.0, 29.97, 60.0, 90.0)
DELAYS = (-5.0, 35.5, 120.0, 900.0)
LOSSES = (0.0, 0.4, 7.0, 100.0)
"""Within the model's ranges, at their ends, and beyond them."""


def vector(bitrate: float, frame_rate: float, delay: float, lost: float) -> dict[str, Any]:
    """Give a stream's quality by the page's names, what each term takes, and the score."""
    quality = mos.StreamQuality(bitrate, frame_rate, delay, lost)
    terms = mos.impairments(quality)
    return {
        "quality": {"bitrate": bitrate, "frameRate": frame_rate, "delay": delay, "lost": lost},
        "penalties": {
            "coding": round(mos.WEIGHT_CODING * terms.coding, 9),
            "temporal": round(mos.WEIGHT_TEMPORAL * terms.temporal, 9),
            "frames": round(mos.WEIGHT_FRAMES * terms.frames, 9),
            "delay": round(mos.WEIGHT_DELAY * terms.delay, 9),
        },
        "score": round(mos.opinion_score(quality).overall, 9),
    }


def vectors() -> list[dict[str, Any]]:
    grid = itertools.product(BITRATES, FRAME_RATES, DELAYS, LOSSES)
    return [vector(*point) for point in grid]


if __name__ == "__main__":
    lines = ",\n".join(json.dumps(one) for one in vectors())
    sys.stdout.write(f"[\n{lines}\n]\n")
