"""The tables of Graff et al., eCGP: drop-tail, HTB and L4S for cloud gaming (ICCRG, March 2025)."""

from __future__ import annotations

from pathlib import Path

from gameway.published import value_of

CITATION = (
    "P. Graff, X. Marchal, T. Cholez, B. Mathieu and O. Festor, Improving Cloud Gaming traffic "
    "QoS: a comparison between HTB and L4S, ICCRG at IETF 122, March 2025"
)
FOLDER = Path(__file__).parent


def value(traffic: str, queueing: str, competitor: str, metric: str) -> float | None:
    """One published value; None where the publication has none."""
    return value_of(
        FOLDER, traffic=traffic, queueing=queueing, competitor=competitor, metric=metric
    )
