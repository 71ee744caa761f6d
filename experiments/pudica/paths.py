"""The population of paths over which Pudica's tables and Figure 10 are repeated.

    python -m gameway.experiments.pudica.paths        prints it as tables of an experiment file

The paper measured on networks that nobody else can measure on (production users, Bonree's clients).
What it says of them is kept; the rest is ours, and wide. Each property is drawn by Latin hypercube
sampling (McKay, Beckman and Conover 1979): one draw from each of as many equal strata as there are
paths, shuffled, so that a small population covers each range evenly. The seed is fixed.

| Property | Distribution | Origin |
|---|---|---|
| access | half Ethernet, half WiFi | the paper has tables of both |
| base RTT | lognormal, median 10 ms, 90 % below 20 ms, 4 to 60 ms | Figure 3 |
| capacity | log-uniform, 15 to 150 Mb/s | ours, see below |
| unsteady | 5.6 % of Ethernet, 35.5 % of WiFi, to whole paths | Figure 4 |
| reductions there | one in each 10 s, to 20 to 50 % of the capacity | Figure 4 |
| their length | 0.5 to 2 s | ours |
| queue | drop-tail, log-uniform, 20 to 300 ms | ours: two median base RTTs; RFC 8867 |
| jitter, Ethernet | normal, deviation 0.1 to 0.5 ms | ours |
| jitter, WiFi | periodic: 5 to 40 ms held back every 500 ms | Appendix F, up to its 40 ms |
| loss, Ethernet | none | Xu and Claypool 2022, Table 4: 0.00 % |
| loss, WiFi | random, 0.001 to 0.05 % | Xu and Claypool 2022, Table 4: up to 0.05 % |

Capacity: from the least of Xu and Claypool 2022 to what three streams at the paper's limit of
50 Mb/s fill. Figure 4: 5.6 % of Ethernet and 35.5 % of WiFi users met at least five reductions by
more than 50 % a minute; the others have none here.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from statistics import NormalDist

PATHS = 40
SEED = 2024
DURATION_S = 60

MEDIAN_RTT_MS = 10.0
RTT_90_MS = 20.0
RTT_LIMITS_MS = (4.0, 60.0)
CAPACITY_MBPS = (15.0, 150.0)
UNSTEADY = {"ethernet": 0.056, "wifi": 0.355}
REDUCTION_EVERY_S = 10
REDUCED_TO = (0.2, 0.5)
REDUCED_S = (0.5, 2.0)
QUEUE_MS = (20.0, 300.0)
JITTER_DEVIATION_MS = (0.1, 0.5)
HELD_BACK_MS = (5.0, 40.0)
HELD_BACK_EVERY_MS = 500
LOSS_PERCENT = (0.001, 0.05)


@dataclass(frozen=True)
class DrawnPath:
    """One path of the population."""

    access: str
    capacity_mbps: float
    base_rtt_ms: float
    queue_ms: float
    jitter_ms: float
    """Deviation on Ethernet; time held back on WiFi."""
    loss_percent: float
    reductions: tuple[tuple[float, float, float], ...]
    """Of the capacity: from (s), to (s), what is left of it (share)."""

    def toml(self) -> str:
        """The path as a table of an experiment file."""
        lines = [
            f"[[path]]  # {self.access}{', unsteady' if self.reductions else ''}",
            f"capacity = {self._capacity()}",
            f'base_rtt = "{self.base_rtt_ms:.1f} ms"',
            f'queue = {{ kind = "drop-tail", size = "{self.queue_ms:.0f} ms" }}',
            f"jitter = {{ {self._jitter()} }}",
        ]
        if self.loss_percent:
            lines.append(f'loss = {{ probability = "{self.loss_percent:.3f} %" }}')
        return "\n".join(lines) + "\n"

    def _jitter(self) -> str:
        if self.access == "ethernet":
            return f'deviation = "{self.jitter_ms:.2f} ms"'
        every = f'interval = "{HELD_BACK_EVERY_MS} ms"'
        return f'kind = "periodic", delay = "{self.jitter_ms:.1f} ms", {every}'

    def _capacity(self) -> str:
        full = f'"{self.capacity_mbps:.1f} Mb/s"'
        if not self.reductions:
            return full
        steps = [f'["0 s", {full}]']
        for start, stop, share in self.reductions:
            steps.append(f'["{start:.1f} s", "{self.capacity_mbps * share:.1f} Mb/s"]')
            steps.append(f'["{stop:.1f} s", {full}]')
        pairs = [", ".join(steps[i : i + 3]) for i in range(0, len(steps), 3)]
        return "{ steps = [\n    " + ",\n    ".join(pairs) + ",\n] }"


def population(paths: int = PATHS, seed: int = SEED) -> list[DrawnPath]:
    """Draw the paths; Ethernet comes first."""
    draw = random.Random(seed)  # noqa: S311 (no secret)
    capacities = [_log_uniform(CAPACITY_MBPS, u) for u in _strata(draw, paths)]
    rtts = [_base_rtt(u) for u in _strata(draw, paths)]
    queues = [_log_uniform(QUEUE_MS, u) for u in _strata(draw, paths)]
    found: list[DrawnPath] = []
    for access, count in (("ethernet", paths - paths // 2), ("wifi", paths // 2)):
        limits = JITTER_DEVIATION_MS if access == "ethernet" else HELD_BACK_MS
        jitters = [_uniform(limits, u) for u in _strata(draw, count)]
        losses = [_uniform(LOSS_PERCENT, u) for u in _strata(draw, count)]
        unsteady = set(draw.sample(range(count), round(UNSTEADY[access] * count)))
        for index in range(count):
            place = len(found)
            reductions = _reductions(draw) if index in unsteady else ()
            loss = losses[index] if access == "wifi" else 0.0
            found.append(
                DrawnPath(
                    access, capacities[place], rtts[place], queues[place], jitters[index], loss,
                    reductions,
                )
            )  # fmt: skip
    return found


def toml(paths: list[DrawnPath]) -> str:
    """The population as the tables of an experiment file."""
    return "\n".join(path.toml() for path in paths)


def _strata(draw: random.Random, count: int) -> list[float]:
    """One uniform draw from each of `count` equal strata, in random order."""
    values = [(index + draw.random()) / count for index in range(count)]
    draw.shuffle(values)
    return values


def _uniform(limits: tuple[float, float], u: float) -> float:
    return limits[0] + (limits[1] - limits[0]) * u


def _log_uniform(limits: tuple[float, float], u: float) -> float:
    return limits[0] * math.exp(u * math.log(limits[1] / limits[0]))


def _base_rtt(u: float) -> float:
    normal = NormalDist()
    sigma = math.log(RTT_90_MS / MEDIAN_RTT_MS) / normal.inv_cdf(0.9)
    drawn = MEDIAN_RTT_MS * math.exp(sigma * normal.inv_cdf(u))
    return min(max(drawn, RTT_LIMITS_MS[0]), RTT_LIMITS_MS[1])


def _reductions(draw: random.Random) -> tuple[tuple[float, float, float], ...]:
    found = []
    for start in range(0, DURATION_S, REDUCTION_EVERY_S):
        length = _uniform(REDUCED_S, draw.random())
        # Between 1 s and the end of its interval less its length: two never touch.
        begin = start + _uniform((1.0, REDUCTION_EVERY_S - length - 1.0), draw.random())
        found.append(
            (round(begin, 1), round(begin + length, 1), _uniform(REDUCED_TO, draw.random()))
        )
    return tuple(found)


if __name__ == "__main__":
    print(toml(population()), end="")  # noqa: T201 (what it is for)
