"""The catalogue of metrics: name, unit, definition and source of each column."""

from __future__ import annotations

from dataclasses import dataclass

from gameway.metrics import limits

SCOPES = {
    "run": "the whole run",
    "alone": "before the competitor starts (the whole run where none does)",
    "competing": "while the competitor is there",
}

_XU = "Xu and Claypool 2022"
_PUDICA = "Wang et al. 2024 (Pudica)"
_GRAFF = "Graff et al. 2025"
_RFC = "RFC 8868, 3"
_MOS = "ITU-T G.1072 (01/2020)"


@dataclass(frozen=True)
class Metric:
    """One metric of the tables."""

    name: str
    unit: str
    definition: str
    source: str
    scoped: bool = True
    """True: taken in each scope; its columns are called `<scope>_<name>`."""
    higher_is_better: bool | None = None
    """None where neither direction is good in itself."""

    @property
    def label(self) -> str:
        """The name in words with the unit, for axes and headings."""
        words = _LABELS.get(self.name) or self.name.removesuffix(_ENDING.get(self.unit, ""))
        plain = self.unit in {"1", "MOS"}
        return words.replace("_", " ") + ("" if plain else f" ({self.unit})")

    @property
    def columns(self) -> list[str]:
        """The columns of this metric in the table of runs."""
        return [f"{scope}_{self.name}" for scope in SCOPES] if self.scoped else [self.name]


def _competition() -> list[Metric]:
    return [
        Metric("base_rtt_ms", "ms", "round-trip time of the stream's empty path, without sending "
               "times; with `base_rtt_spread` each run has its own", "experiment file",
               scoped=False),
        Metric("original_mbps", "Mb/s", "mean bitrate in the 60 s before the competitor starts",
               f"{_XU}, 4.2", scoped=False),
        Metric("adjusted_mbps", "Mb/s", "mean bitrate in the last 60 s of the competition",
               f"{_XU}, 4.2", scoped=False),
        Metric("game_mbps", "Mb/s", "mean bitrate of the stream from 35 s after the competitor's "
               "start to its stop", f"{_XU}, 4.1", scoped=False),
        Metric("competitor_mbps", "Mb/s", "mean bitrate of a competing flow in the same window",
               f"{_XU}, 4.1", scoped=False),
        Metric("bitrate_difference_ratio", "1", "(stream - competing flow) / capacity in the same "
               "window: 0 is an equal share, -1 the competitor has all, +1 the stream has all",
               f"{_XU}, Figure 3", scoped=False),
        Metric("jain_index", "1", "Jain's index over the bitrates of all streams and competitors "
               "in the part of the same window (the whole run where only streams compete) in "
               "which all streams are there",
               "Jain et al. 1984", scoped=False, higher_is_better=True),
        Metric("response_s", "s", "from the competitor's start until the bitrate is within one "
               "standard deviation of the adjusted mean; null = never, NaN = no competitor",
               f"{_XU}, 4.2", scoped=False, higher_is_better=False),
        Metric("recovery_s", "s", "from the competitor's stop until the bitrate is within one "
               "standard deviation of the original mean; null = never, NaN = no competitor",
               f"{_XU}, 4.2", scoped=False, higher_is_better=False),
        Metric("convergence_s", "s", "from the stream's start until its bitrate stays for 2 s "
               "within 20 % of its mean over the last third of its time; null = never, NaN = too "
               "short a time", f"{_RFC}; definition ours", scoped=False, higher_is_better=False),
    ]  # fmt: skip


def _network() -> list[Metric]:
    shares = [
        Metric(f"queue_over_{limit}ms_percent", "%", "share of the stream's forwarded packets "
               f"whose queueing delay at the bottleneck was {limit} ms or more", _GRAFF,
               higher_is_better=False)
        for limit in limits.DELAY_MS
    ]  # fmt: skip
    return [
        Metric("bitrate_mbps", "Mb/s", "wire bytes of the stream that reached the client",
               f"{_XU}, 4.1", higher_is_better=True),
        Metric("bitrate_sd_mbps", "Mb/s", "standard deviation of the stream's bitrates of 0.5 s",
               f"{_RFC} (rate variation)", higher_is_better=False),
        Metric("streams_jain_index", "1", "Jain's index over the mean bitrates of the streams that "
               "go the same way, while all of them are there", "Jain et al. 1984",
               higher_is_better=True),
        Metric("streams_rate_ratio", "1", "largest over smallest of the same bitrates; by the "
               "guideline of the RFC at most 3 where priorities and RTTs are alike", _RFC,
               higher_is_better=False),
        Metric("feedback_overhead_percent", "%", "bytes that the client of the stream sent back, "
               "of those that the stream sent", _RFC, higher_is_better=False),
        Metric("loss_percent", "%", "packets of the stream dropped by the queue or lost on the "
               "path, of those sent", f"{_XU}, Tables 4 and 5", higher_is_better=False),
        Metric("rtt_mean_ms", "ms", "mean round-trip time of the pings", f"{_XU}, Tables 2 and 3",
               higher_is_better=False),
        Metric("rtt_sd_ms", "ms", "standard deviation of the round-trip times of the pings",
               f"{_XU}, Tables 2 and 3", higher_is_better=False),
        Metric("queue_delay_mean_ms", "ms", "mean queueing delay of the stream's packets at the "
               "bottleneck", _GRAFF, higher_is_better=False),
        *shares,
        Metric("link_utilization_percent", "%", "bytes that the stream's bottleneck carried for "
               "all flows, of those it could have carried", _PUDICA, higher_is_better=True),
    ]  # fmt: skip


def _frames() -> list[Metric]:
    stalls = [
        Metric(f"stall_{limit}ms_percent", "%", f"frames with a frame delay over {limit} ms or "
               "never shown", f"{_PUDICA}, 2.3", higher_is_better=False)
        for limit in limits.STALL_MS
    ]  # fmt: skip
    delay = "frame delay (first packet sent to last needed packet received) of complete frames"
    queue = "queueing delay that the first packet of a frame met at the bottleneck"
    tails = [
        Metric(f"{name}_p{p}_ms", "ms", f"{p}th percentile of the {text}", _PUDICA,
               higher_is_better=False)
        for name, text in (("frame_delay", delay), ("first_packet_queue", queue))
        for p in (50, 95, 99)
    ]  # fmt: skip
    return [
        Metric("displayed_fps", "f/s", "frames shown per second", f"{_XU}, Table 6",
               higher_is_better=True),
        Metric("never_shown_percent", "%", "captured frames that were never shown", _MOS,
               higher_is_better=False),
        Metric("encoded_mbps", "Mb/s", "encoded video, without headers and repair", _MOS,
               higher_is_better=True),
        Metric("picture_percent", "%", "pixels of the frames captured, of those of the source; "
               "less where the size follows the bitrate (`ladder`)", "ours", higher_is_better=True),
        Metric("picture_changes", "1", "how often size or frame rate changed with the bitrate",
               "ours", higher_is_better=False),
        Metric("target_met_percent", "%", "share of frames at which the wire bytes of the last "
               "second are within 5 % of what the controller's targets granted", "ours",
               higher_is_better=True),
        Metric("sender_wait_ms", "ms", "mean time from capture of a frame to its first packet "
               "leaving the sender", _PUDICA, higher_is_better=False),
        Metric("frame_delay_mean_ms", "ms", f"mean {delay}", _PUDICA, higher_is_better=False),
        *tails,
        *stalls,
    ]  # fmt: skip


def _opinion() -> list[Metric]:
    whole = "opinion score, 1.3 (bad) to 4.64 (excellent)"
    alone = "opinion score if {} were the only impairment"
    terms = (
        ("mos", f"{whole}, game and video class high (the default)"),
        ("mos_medium", f"{whole}, both classes medium"),
        ("mos_low", f"{whole}, both classes low"),
        ("mos_planning", f"{whole}, frame loss planned from packet loss instead of measured"),
        ("mos_coding", alone.format("video coding")),
        ("mos_transmission", alone.format("broken pictures")),
        ("mos_temporal", alone.format("the unsteadiness of the picture")),
        ("mos_frames", alone.format("the effect of missing frames on control")),
        ("mos_delay", alone.format("delay")),
    )
    return [Metric(name, "MOS", text, _MOS, higher_is_better=True) for name, text in terms]


_ENDING = {"Mb/s": "_mbps", "%": "_percent", "ms": "_ms", "s": "_s", "f/s": "_fps"}
_LABELS = {
    "rtt_mean_ms": "round-trip time",
    "rtt_sd_ms": "deviation of the round-trip time",
    "loss_percent": "packet loss",
    "displayed_fps": "displayed frame rate",
    "target_met_percent": "target met",
    "picture_percent": "size of the picture",
    "picture_changes": "changes of size and frame rate",
    "never_shown_percent": "frames never shown",
    "queue_delay_mean_ms": "mean queueing delay",
    "frame_delay_mean_ms": "mean frame delay",
    "jain_index": "Jain's index",
    "streams_jain_index": "Jain's index of the streams",
    "bitrate_sd_mbps": "deviation of the bitrate",
    "convergence_s": "convergence time",
    "mos": "opinion score",
    "mos_medium": "opinion score, medium classes",
    "mos_low": "opinion score, low classes",
    "mos_planning": "opinion score, planning mode",
}
_LABELS |= {f"stall_{ms}ms_percent": f"stalls over {ms} ms" for ms in limits.STALL_MS}
_LABELS |= {f"queue_over_{ms}ms_percent": f"packets queued {ms} ms" for ms in limits.DELAY_MS}
_LABELS |= {f"frame_delay_p{p}_ms": f"frame delay, p{p}" for p in (50, 95, 99)}
_LABELS |= {f"first_packet_queue_p{p}_ms": f"first packet's queue, p{p}" for p in (50, 95, 99)}
_LABELS |= {
    f"mos_{term}": f"opinion score of {term} alone"
    for term in ("coding", "transmission", "temporal", "frames", "delay")
}

METRICS: list[Metric] = [*_competition(), *_network(), *_frames(), *_opinion()]
# Metrics of a condition (all its runs together) that a single run does not have.
CONDITION_METRICS: list[Metric] = [
    Metric("adaptiveness", "1", "(1 - C/C_max)/2 + (1 - E/E_max)/2 with response C and recovery E "
           "of the mean bitrate over runs; maxima over all that is compared; a never counts as the "
           "length of its window", f"{_XU}, 4.4", scoped=False, higher_is_better=True),
    Metric("adaptiveness_per_run", "1", "mean of the same over the response and recovery of each "
           "run", f"{_XU}, 4.4", scoped=False, higher_is_better=True),
]  # fmt: skip

_DASH = "Xu and Claypool, Game Streaming vs DASH"
# Metrics of a video, of the time in which its player is open: see `gameway.metrics.videos`.
VIDEO_METRICS: list[Metric] = [
    Metric("media_throughput_mbps", "Mb/s", "media that came, without headers", f"{_DASH}, IV-A",
           scoped=False, higher_is_better=True),
    Metric("quality_level", "1", "mean level of the segments displayed, 1 the lowest",
           f"{_DASH}, Table I", scoped=False, higher_is_better=True),
    Metric("quality_mbps", "Mb/s", "mean bitrate of their levels", f"{_DASH}, Table I",
           scoped=False, higher_is_better=True),
    Metric("quality_switches", "1", "segments displayed at another level than the one before",
           f"{_DASH}, V", scoped=False, higher_is_better=False),
    Metric("interruptions", "1", "how often the picture halted for lack of data, once it played",
           f"{_DASH}, V", scoped=False, higher_is_better=False),
    Metric("interrupted_s", "s", "for how long in all", f"{_DASH}, V", scoped=False,
           higher_is_better=False),
    Metric("startup_s", "s", "from opening the video to the first picture; NaN = none came",
           "ours", scoped=False, higher_is_better=False),
    Metric("buffer_mean_s", "s", "mean of what was buffered, at the times of the table controller",
           "ours", scoped=False, higher_is_better=None),
    Metric("media_in_vain_percent", "%", "media that was replaced, too late, abandoned or timed "
           "out, of that which came", "ours", scoped=False, higher_is_better=False),
]  # fmt: skip

BY_NAME: dict[str, Metric] = {metric.name: metric for metric in [*METRICS, *CONDITION_METRICS]}


def metric_columns() -> list[str]:
    """All metric columns of the table of runs, in order."""
    return [column for metric in METRICS for column in metric.columns]


def metric_of_column(column: str) -> Metric:
    """The metric that a column of the table of runs belongs to."""
    if column in BY_NAME:
        return BY_NAME[column]
    return BY_NAME[column.split("_", 1)[1]]
