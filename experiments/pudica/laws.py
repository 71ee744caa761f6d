"""Figure 15: two flows under three fairness laws, iterated from the same start.

Source: Wang et al., "Pudica", NSDI 2024, section 4.2 and Appendix C; the plane of two flows is that
of Chiu and Jain 1989. Queues, delays and the encoder are left out: both flows know the utilization
R = (x1 + x2) / C at once, and step together, as in the paper's illustration.

| Law | R <= alpha | alpha < R <= 1 | R > 1 |
|---|---|---|---|
| AI/MD | add `ADDITIVE` | add `ADDITIVE` | times 0.85 (Appendix C) |
| AI-MD, linear | MI, eq. 7 and 8 | add I - 0.05 B; I grows by the same for all | tau = 0 |
| AI-MD of Pudica | MI, eq. 7 and 8 | add I - 0.05 B; I grows by 0.05 / ln B a step | tau = 0 |

| Constant | Value | Origin |
|---|---|---|
| alpha, gamma_MI, gamma_MD, B_max | 0.85, 0.3, 0.05, 50 Mb/s | section 4.2 |
| decrease of AI/MD | 15 % | Appendix C |
| C | 60 Mb/s | ours, see below |
| start | 80 % and 10 % of C | ours |
| bound of a step | 1 Mb/s | as our controller; the paper gives no value |
| `ADDITIVE` | 0.25 Mb/s | ours, as `additive_step` |
| frames a step | 2 | ours: a base RTT of 20 ms and a frame interval |
| reset of tau | 300 frames | section 4.2: five seconds |

I = (B_max + 2 tau / ln B) 0.05 / 2 as in our controller; the linear law has ln (C / 2) for ln B.
C is above B_max: below, B_max / 2 is more than the fair share, R stays above one with tau at zero,
and both laws take the same way.
"""

from __future__ import annotations

import math

import polars as pl

from gameway.metrics.statistics import jain_index

CAPACITY = 60.0
START = (0.8 * CAPACITY, 0.1 * CAPACITY)
ALPHA, GAMMA_MI, GAMMA_MD, MAX_BITRATE = 0.85, 0.3, 0.05, 50.0
DECREASE = 0.85
BOUND = 1.0
ADDITIVE = 0.25
FRAMES_A_STEP = 2
RESET_FRAMES = 300
MIN_BITRATE, MAX_OFFERED = 2.0, MAX_BITRATE
STEPS = 600
FAIR = 0.99

LAWS = {"ai/md": "AI/MD", "linear": "AI-MD, linear", "pudica": "AI-MD of Pudica"}


def trajectory(law: str, steps: int = STEPS) -> pl.DataFrame:
    """The bitrates of both flows, step by step: step, first, second (Mb/s)."""
    flows = list(START)
    tau = frames = 0
    rows = [(0, *flows)]
    for step in range(1, steps + 1):
        used = sum(flows) / CAPACITY
        frames += FRAMES_A_STEP
        tau = 0 if used > 1.0 or frames % RESET_FRAMES == 0 else tau + FRAMES_A_STEP
        flows = [min(max(_next(law, own, used, tau), MIN_BITRATE), MAX_OFFERED) for own in flows]
        rows.append((step, *flows))
    return pl.DataFrame(rows, schema=["step", "first", "second"], orient="row")


def summary(law: str) -> dict[str, float | str | None]:
    """Steps until Jain's index is 0.99, shares of steps above one, mean utilization after that."""
    rows = trajectory(law)
    index = [jain_index([a, b]) for a, b in rows.select("first", "second").iter_rows()]
    fair = next((step for step, value in enumerate(index) if value >= FAIR), None)
    used = (rows["first"] + rows["second"]) / CAPACITY
    settled = used[fair:] if fair is not None else used
    return {
        "law": LAWS[law],
        "steps to Jain 0.99": fair,
        "of them above capacity": None if fair is None else int((used[:fair] > 1.0).sum()),
        "mean utilization then, %": 100.0 * float(settled.mean()),  # type: ignore[arg-type]
        "largest utilization then, %": 100.0 * float(settled.max()),  # type: ignore[arg-type]
    }


def _next(law: str, bitrate: float, used: float, tau: int) -> float:
    if law == "ai/md":
        return bitrate * DECREASE if used > 1.0 else bitrate + ADDITIVE
    if used <= ALPHA:
        return bitrate * (1.0 + GAMMA_MI * ((ALPHA + 1.0) / 2.0 - used) / used)
    own = CAPACITY / 2.0 if law == "linear" else max(bitrate, MIN_BITRATE)
    additive = (MAX_BITRATE + 2.0 * tau / math.log(own)) * GAMMA_MD / 2.0
    return bitrate + min(max(additive - GAMMA_MD * bitrate, -BOUND), BOUND)
