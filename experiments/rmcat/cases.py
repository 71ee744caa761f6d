"""The test cases: what each is expected to show, and how that is judged.

Sources: RFC 8867, sections 5.1 to 5.8, 6.1 to 6.3; RFC 8869, section 3.1. The expectations are in
our words.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gameway.metrics import network
from gameway.metrics.quantities import megabits_per_second
from gameway.metrics.source import rows_of_link

from .criteria import OURS, RFC_8868, Criterion
from .observed import FULL

if TYPE_CHECKING:
    from .observed import Observed

    Twin = Observed | None

FAIREST, UNFAIREST = 1.0, 3.0


@dataclass(frozen=True)
class Case:
    """One test case."""

    id: str
    title: str
    expected: str
    criteria: tuple[Criterion, ...]
    rfc: int = 8867
    twin: str = ""
    """A factor of which one value makes the run that another is compared with."""
    twin_value: str | None = None
    """That value; None where the factor is absent."""
    beside: str = ""
    """What is said of the case beside the expectation."""


def max_ratio(rates: list[float]) -> float:
    """The greatest of some rates over the least."""
    return max(rates) / min(rates) if min(rates) > 0.0 else math.inf


def _over_twin(value: float, twin: float, slack: float = 0.0) -> float:
    """A figure over that of the twin; nothing over nothing is one."""
    return (value + slack) / (twin + slack) if twin + slack > 0.0 else math.nan


USE = Criterion(
    "use", "%", "Media carry at least 75 % of what they could, in the settled part of each phase.",
    OURS, lambda run, _: run.used_by_phase(), min_value=75.0,
)  # fmt: skip
USE_TOGETHER = Criterion(
    "use", "%", "While all flows are there, media carry at least 75 % of what they could.",
    OURS, lambda run, _: run.used_together(), min_value=75.0,
)  # fmt: skip
VARIATION = Criterion(
    "variation", "%", "In the settled part of each phase, the rates of 0.5 s vary (standard "
    "deviation over mean) by at most 20 %.",
    OURS, lambda run, _: [max(run.variations_percent())], max_value=20.0,
)  # fmt: skip
DELAY = Criterion(
    "delay", "ms", "95 of 100 media packets wait at most 100 ms in queues.",
    OURS, lambda run, _: [run.delay_p95_ms()], max_value=100.0,
)  # fmt: skip
LOSS = Criterion(
    "loss", "%", "At most 1 % of the media packets are lost.",
    OURS, lambda run, _: [run.loss_percent()], max_value=1.0,
)  # fmt: skip
SHARE = Criterion(
    "share", "", "While all are there, the greatest rate is at most three times the least.",
    RFC_8868, lambda run, _: [max_ratio(run.shares())], max_value=UNFAIREST,
)  # fmt: skip


def _kept(run: Observed, twin: Twin) -> list[float]:
    """The forward stream's rate, percent of that in the twin run."""
    if twin is None:
        return [math.nan]
    rates = [one.rate(one.media[0], one.whole) for one in (run, twin)]
    return [FULL * rates[0] / rates[1]]


def _forward_delay(run: Observed, _: Twin) -> list[float]:
    return [run.delay_p95_ms(run.media[:1])]


def _tcp_ratio(run: Observed, _: Twin) -> list[float]:
    tcp = run.tcp_mbps()
    return [sum(run.shares()) / tcp if tcp > 0.0 else math.inf]


def _weight(run: Observed, _: Twin) -> list[float]:
    first, *others = run.shares()
    return [first / (sum(others) / len(others))]


def _twin_weight(_: Observed, twin: Twin) -> list[float]:
    return [math.nan] if twin is None else _weight(twin, None)


def _use_of_links(run: Observed, _: Twin) -> list[float]:
    """What is carried over the two bottlenecks, percent of their capacity."""
    part = run.together()
    found = []
    for name in ("path", "last"):
        rows = rows_of_link(run.link, name)
        found.append(network.link_utilization_percent(rows, part))
    return found


def _min_of_fair(run: Observed, _: Twin) -> list[float]:
    """Each flow's rate over its max-min fair share of the two bottlenecks."""
    part = run.together()
    first, last = (run.could_mbps(name, run.media, part) for name in ("path", "last"))
    max_mbps = megabits_per_second(run.media[0]["max_bitrate"])
    both = min(first / 2.0, last / 2.0, max_mbps)
    fair = [both, min(first - both, max_mbps), min(last - both, max_mbps)]
    return [rate / share for rate, share in zip(run.shares(), fair, strict=True)]


def _use_kept(run: Observed, twin: Twin) -> list[float]:
    if twin is None:
        return [math.nan]
    return [_over_twin(sum(run.shares()), sum(twin.shares()))]


def _delay_kept(run: Observed, twin: Twin) -> list[float]:
    # Below a millisecond, a ratio says nothing.
    return [math.nan] if twin is None else [
        _over_twin(run.delay_p95_ms(), twin.delay_p95_ms(), slack=1.0)
    ]  # fmt: skip


def _loss_kept(run: Observed, twin: Twin) -> list[float]:
    return [math.nan] if twin is None else [run.loss_percent() - twin.loss_percent()]


def _share_kept(run: Observed, twin: Twin) -> list[float]:
    if twin is None or len(run.media) == 1:
        return [FAIREST]
    # Shares that are within the guideline are good enough.
    return [max_ratio(run.shares()) / max(max_ratio(twin.shares()), UNFAIREST)]


KEPT = Criterion(
    "kept", "%", "The forward flow has at least 80 % of its rate in the twin run, whose way back "
    "is not congested.", OURS, _kept, min_value=80.0,
)  # fmt: skip
FORWARD_DELAY = Criterion(
    "delay", "ms", "95 of 100 packets of the forward flow wait at most 100 ms.",
    OURS, _forward_delay, max_value=100.0,
)  # fmt: skip
FLOOR = Criterion(
    "floor", "%", "The flow has at least its least bitrate (90 %, for loss and encoder's noise).",
    OURS, lambda run, _: [run.floor_percent()], min_value=90.0,
)  # fmt: skip
TCP_RATIO = Criterion(
    "media/TCP", "", "The rate of the flow over that of the TCP.", "", _tcp_ratio,
)  # fmt: skip
NOT_FOR_LONG = Criterion(
    "below floor", "s", "No flow stays below its least bitrate (90 %) for longer than 5 s.",
    OURS, lambda run, _: [run.below_floor_s()], max_value=5.0,
)  # fmt: skip
WEIGHT = Criterion(
    "weight", "", "The first flow has about twice the rate of the others: 1.5 to 2.5 times.",
    OURS, _weight, min_value=1.5, max_value=2.5,
)  # fmt: skip
NO_WEIGHT = Criterion(
    "without", "", "With equal weights it has as much as the others: 0.75 to 1.33 times.",
    OURS, _twin_weight, min_value=0.75, max_value=4.0 / 3.0,
)  # fmt: skip
USE_OF_LINKS = Criterion(
    "use", "%", "Each of the two bottlenecks is used by at least 75 %.",
    OURS, _use_of_links, min_value=75.0,
)  # fmt: skip
NOT_STARVED = Criterion(
    "of fair", "", "Each flow has at least a third of its max-min fair share.",
    RFC_8868, _min_of_fair, min_value=1.0 / UNFAIREST,
)  # fmt: skip
NOT_WORSE = (
    Criterion("use", "", "With marks, media carry at least 0.9 times as much as without.",
              OURS, _use_kept, min_value=0.9),
    Criterion("delay", "", "The 95th percentile of the queueing delay is at most 1.1 times as "
              "long.", OURS, _delay_kept, max_value=1.1),
    Criterion("loss", "points", "Loss grows by at most 0.1 points.", OURS, _loss_kept,
              max_value=0.1),
    Criterion("share", "", "The greatest rate over the least is at most 1.1 times as great, or 1.1 "
              "times three.", OURS, _share_kept, max_value=1.1),
)  # fmt: skip

LOW = (DELAY, LOSS)
CASES = (
    Case(
        "5.1", "Variable capacity, one flow",
        "It finds the capacity, follows it, and does not oscillate near it.",
        (USE, VARIATION, *LOW),
    ),
    Case(
        "5.2", "Variable capacity, two flows",
        "Both have their most where there is room, and share and follow the capacity where not.",
        (USE, VARIATION, SHARE, *LOW),
    ),
    Case(
        "5.3", "Congested feedback, media both ways",
        "A congested way back does little to the flow forwards.",
        (KEPT, FORWARD_DELAY, LOSS), twin="back_capacity",
    ),
    Case(
        "5.4", "Three flows of the same algorithm",
        "They share fairly with little delay and loss; the third saturates the link.",
        (USE_TOGETHER, SHARE, *LOW),
    ),
    Case(
        "5.5", "Round-trip time fairness",
        "Five flows with round-trip times of 20 to 300 ms converge to a fair share.",
        (USE_TOGETHER, SHARE, *LOW),
    ),
    Case(
        "5.6", "A long TCP",
        "The flow does not collapse; at worst it keeps its least bitrate.",
        (FLOOR, TCP_RATIO),
        beside="Delay and loss are what the TCP makes of the queue. A fair share is not expected; "
        "how much the flow has beside the TCP is told.",
    ),
    Case(
        "5.7", "Short TCPs",
        "The flows are not below their least bitrate for long, and recover after each TCP.",
        (NOT_FOR_LONG, USE_TOGETHER, SHARE, LOSS),
    ),
    Case(
        "5.8", "Pause and resume",
        "The others take the room of the flow that pauses; then the old shares return.",
        (USE, SHARE, *LOW), beside="The second phase (40 to 60 s) is that of two flows.",
    ),
    Case(
        "6.1", "Priorities",
        "A flow of twice the weight has about twice the rate.",
        (WEIGHT, NO_WEIGHT, *LOW), twin="media-1_controller", twin_value="nada",
        beside="Only NADA has a weight (its option priority). At the RFC's capacity, the flow's "
        "greatest bitrate allows 1.5 times; at 2.5 times the reference capacity, twice.",
    ),
    Case(
        "6.3", "Two bottlenecks",
        "Both are used, and nobody starves: neither the flow through both nor the others.",
        (USE_OF_LINKS, NOT_STARVED, *LOW),
    ),
    Case("3.1-a", "One flow upwards", "As 5.1 with a constant capacity.",
         (USE, VARIATION, *LOW), rfc=8869),
    Case("3.1-b", "One flow each way", "Neither harms the other.", (USE, VARIATION, *LOW),
         rfc=8869),
    Case("3.1-c", "One flow each way, CBR upwards until 60 s",
         "The flow upwards takes what the CBR leaves, and all of it afterwards.",
         (USE, VARIATION, *LOW), rfc=8869),
    Case("3.1-d", "One flow each way, CBR upwards from 60 s",
         "The flow upwards gives way to the CBR.", (USE, VARIATION, *LOW), rfc=8869),
    Case("3.1-e", "One flow and a TCP upwards", "As 5.6.", (FLOOR, TCP_RATIO), rfc=8869),
)  # fmt: skip
