"""Makes a cellular capacity trace in Mahimahi's format, from a stochastic model and a seed.

    make_trace.py make --out cellular.trace
    make_trace.py describe cellular.trace OTHER.trace ...

A trace has one line for each opportunity to deliver 1500 bytes: the whole millisecond at which it
comes. It repeats after its last line. The model is described in README.md, its constants below.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
from dataclasses import dataclass, fields
from itertools import pairwise
from pathlib import Path
from statistics import NormalDist, fmean, pstdev
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

OPPORTUNITY_BITS = 1500 * 8
MILLISECONDS_PER_SECOND = 1000
BIN_MS = 100
# A fall is counted only from a capacity that a game stream could have used.
FALL_FROM_BITS_PER_S = 1_000_000


@dataclass(frozen=True)
class Model:
    """The constants of the capacity process; README.md says where each comes from."""

    duration_ms: int = 100_000
    # Median of the capacity outside outages, and its bounds.
    median_bits_per_s: int = 18_000_000
    min_bits_per_s: int = 2_000_000
    max_bits_per_s: int = 45_000_000
    # Shadowing and cell load: slow, seconds.
    slow_log_deviation: float = 0.55
    slow_time_constant_ms: float = 3000.0
    # Multipath fading after link adaptation: fast, about a tenth of a second at walking speed.
    fast_log_deviation: float = 0.30
    fast_time_constant_ms: float = 120.0
    # Outages: handover and deep fades.
    outage_bits_per_s: int = 300_000
    mean_outage_ms: float = 250.0
    mean_time_between_outages_ms: float = 3500.0
    # The cell's scheduler serves this terminal for a few subframes of 1 ms, then others.
    served_share: float = 0.3
    mean_service_ms: float = 1.5


class Generator:
    """Draws from `random.Random.random`, the one method whose sequence Python guarantees."""

    def __init__(self, seed: int) -> None:
        """Start the sequence that `seed` stands for."""
        self._random = random.Random(seed)  # noqa: S311 -- a model, not a secret
        self._normal = NormalDist()

    def normal(self) -> float:
        """Draw from the standard normal distribution, by inversion."""
        uniform = self._random.random()
        # inv_cdf takes no 0; random() can return it, once in 2^53 draws.
        return self._normal.inv_cdf(uniform or 2**-54)

    def happens(self, probability: float) -> bool:
        """Draw whether an event of this probability happens."""
        return self._random.random() < probability


class OrnsteinUhlenbeck:
    """A stationary process with a standard deviation and an exponential autocorrelation."""

    def __init__(self, deviation: float, time_constant_ms: float, draw: Generator) -> None:
        """Start from the stationary distribution, so that a trace needs no warm-up."""
        self._keep = math.exp(-1 / time_constant_ms)
        # The exact step: it keeps the deviation whatever the time constant.
        self._step_deviation = deviation * math.sqrt(1 - self._keep**2)
        self._draw = draw
        self.value = deviation * draw.normal()

    def advance_1_ms(self) -> float:
        """Go one millisecond on and return the new value."""
        self.value = self._keep * self.value + self._step_deviation * self._draw.normal()
        return self.value


class OnOff:
    """A two-state Markov chain, stepped in milliseconds."""

    def __init__(self, mean_on_ms: float, mean_off_ms: float, draw: Generator) -> None:
        """Start in the off state."""
        self._leave_on = 1 / mean_on_ms
        self._leave_off = 1 / mean_off_ms
        self._draw = draw
        self.on = False

    def advance_1_ms(self) -> bool:
        """Go one millisecond on and return whether the state is on."""
        if self._draw.happens(self._leave_on if self.on else self._leave_off):
            self.on = not self.on
        return self.on


def capacities_bits_per_s(model: Model, draw: Generator) -> Iterator[int]:
    """Yield the capacity of each millisecond, before the scheduler cuts it into bursts."""
    slow = OrnsteinUhlenbeck(model.slow_log_deviation, model.slow_time_constant_ms, draw)
    fast = OrnsteinUhlenbeck(model.fast_log_deviation, model.fast_time_constant_ms, draw)
    outage = OnOff(model.mean_outage_ms, model.mean_time_between_outages_ms, draw)
    for _ in range(model.duration_ms):
        log_gain = slow.advance_1_ms() + fast.advance_1_ms()
        capacity = round(model.median_bits_per_s * math.exp(log_gain))
        bounded = min(max(capacity, model.min_bits_per_s), model.max_bits_per_s)
        yield model.outage_bits_per_s if outage.advance_1_ms() else bounded


def opportunities_ms(model: Model, seed: int) -> list[int]:
    """Return the millisecond of each delivery opportunity, in order, from 1 to the duration."""
    draw = Generator(seed)
    mean_pause_ms = model.mean_service_ms * (1 - model.served_share) / model.served_share
    service = OnOff(model.mean_service_ms, mean_pause_ms, draw)
    credit_bits = 0
    opportunities = []
    for millisecond, capacity in enumerate(capacities_bits_per_s(model, draw), start=1):
        if not service.advance_1_ms():
            continue
        credit_bits += round(capacity / model.served_share) // MILLISECONDS_PER_SECOND
        count, credit_bits = divmod(credit_bits, OPPORTUNITY_BITS)
        opportunities += [millisecond] * count
    # The last line is the period after which the trace repeats.
    if not opportunities or opportunities[-1] != model.duration_ms:
        opportunities.append(model.duration_ms)
    return opportunities


def trace_text(model: Model, seed: int) -> str:
    """Return the trace as the bytes of its file, one line for each opportunity."""
    return "".join(f"{millisecond}\n" for millisecond in opportunities_ms(model, seed))


@dataclass(frozen=True)
class TraceStatistics:
    """What a trace is compared by; rates are means over bins of 100 ms unless said otherwise."""

    duration_s: float
    mean_mbit_per_s: float
    p05_mbit_per_s: float
    p50_mbit_per_s: float
    p95_mbit_per_s: float
    max_mbit_per_s: float
    variation_10_ms: float
    variation_100_ms: float
    variation_1_s: float
    autocorrelation_100_ms: float
    autocorrelation_1_s: float
    autocorrelation_5_s: float
    falls_over_half_within_100_ms: float
    share_below_1_mbit_per_s: float
    mean_outage_ms: float
    max_outage_ms: float


def read_opportunities(path: Path) -> list[int]:
    """Read a trace in Mahimahi's format."""
    try:
        opportunities = [int(line) for line in path.read_text().split()]
    except ValueError as error:
        sys.exit(f"{path}: {error}: each line must be a whole number of milliseconds")
    if not opportunities or opportunities != sorted(opportunities):
        sys.exit(f"{path}: lines must be in rising order, and at least one")
    return opportunities


def binned_mbit_per_s(opportunities: Sequence[int], bin_ms: int) -> list[float]:
    """Return the mean rate of each whole bin; a trace's first millisecond is 1."""
    counts = [0] * (opportunities[-1] // bin_ms)
    for millisecond in opportunities:
        index = (max(millisecond, 1) - 1) // bin_ms
        if index < len(counts):
            counts[index] += 1
    return [count * OPPORTUNITY_BITS / bin_ms / 1000 for count in counts]


def quantile(values: Sequence[float], share: float) -> float:
    """Return the value below which this share of the values lies."""
    return sorted(values)[round(share * (len(values) - 1))]


def variation(values: Sequence[float]) -> float:
    """Return the coefficient of variation."""
    return pstdev(values) / fmean(values)


def autocorrelation(values: Sequence[float], lag: int) -> float:
    """Return the correlation of the values with themselves `lag` places later."""
    mean = fmean(values)
    centred = [value - mean for value in values]
    products = (a * b for a, b in zip(centred, centred[lag:], strict=False))
    return fmean(products) / fmean(value * value for value in centred)


def falls_over_half(rates_mbit_per_s: Sequence[float]) -> float:
    """Return how often the rate of a usable bin is more than halved in the next one."""
    usable = [
        (earlier, later)
        for earlier, later in pairwise(rates_mbit_per_s)
        if earlier > FALL_FROM_BITS_PER_S / 1e6
    ]
    return fmean(later < earlier / 2 for earlier, later in usable)


def outage_lengths_ms(rates_mbit_per_s: Sequence[float]) -> list[int]:
    """Return the length of each run of bins below 1 Mb/s."""
    lengths = [0]
    for rate in rates_mbit_per_s:
        if rate < 1:
            lengths[-1] += BIN_MS
        elif lengths[-1]:
            lengths.append(0)
    return [length for length in lengths if length]


def statistics_of(opportunities: Sequence[int]) -> TraceStatistics:
    """Measure a trace."""
    rates = binned_mbit_per_s(opportunities, BIN_MS)
    outages = outage_lengths_ms(rates)
    return TraceStatistics(
        duration_s=opportunities[-1] / MILLISECONDS_PER_SECOND,
        mean_mbit_per_s=fmean(rates),
        p05_mbit_per_s=quantile(rates, 0.05),
        p50_mbit_per_s=quantile(rates, 0.5),
        p95_mbit_per_s=quantile(rates, 0.95),
        max_mbit_per_s=max(rates),
        variation_10_ms=variation(binned_mbit_per_s(opportunities, 10)),
        variation_100_ms=variation(rates),
        variation_1_s=variation(binned_mbit_per_s(opportunities, 1000)),
        autocorrelation_100_ms=autocorrelation(rates, 1),
        autocorrelation_1_s=autocorrelation(rates, 10),
        autocorrelation_5_s=autocorrelation(rates, 50),
        falls_over_half_within_100_ms=falls_over_half(rates),
        share_below_1_mbit_per_s=fmean(rate < 1 for rate in rates),
        mean_outage_ms=fmean(outages) if outages else 0.0,
        max_outage_ms=float(max(outages, default=0)),
    )


def describe(paths: Sequence[Path]) -> str:
    """Return a Markdown table with a column for each trace."""
    measured = [statistics_of(read_opportunities(path)) for path in paths]
    lines = [
        "| statistic | " + " | ".join(f"`{path.name}`" for path in paths) + " |",
        "|---|" + "---:|" * len(paths),
    ]
    for field in fields(TraceStatistics):
        cells = (f"{getattr(statistics, field.name):.3g}" for statistics in measured)
        lines.append(f"| {field.name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def parser() -> argparse.ArgumentParser:
    """Describe the command line."""
    top = argparse.ArgumentParser(description="Makes and describes cellular capacity traces.")
    steps = top.add_subparsers(dest="step", required=True, metavar="STEP")
    make = steps.add_parser("make", help="make a trace from a seed")
    make.add_argument("--out", type=Path, required=True, help="the trace file to write")
    make.add_argument("--seed", type=int, default=1)
    make.add_argument("--duration", type=int, default=Model.duration_ms // 1000, metavar="SECONDS")
    table = steps.add_parser("describe", help="print the statistics of traces as a table")
    table.add_argument("traces", type=Path, nargs="+")
    return top


def main() -> None:
    """Run the step that the command line names."""
    arguments = parser().parse_args()
    if arguments.step == "describe":
        print(describe(arguments.traces))
        return
    if arguments.duration < 1:
        sys.exit(f"--duration: {arguments.duration}: give a whole number of seconds above zero")
    model = Model(duration_ms=arguments.duration * MILLISECONDS_PER_SECOND)
    arguments.out.write_text(trace_text(model, arguments.seed))


if __name__ == "__main__":
    main()
