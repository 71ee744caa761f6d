"""Opinion score of a game stream by ITU-T G.1072 (01/2020).

Model: each impairment is a penalty on a 0..100 scale (video coding, transmission, temporal video
quality, frame loss, delay); a weighted sum of them is taken from 100, and the rest is mapped to a
mean opinion score between 1.3 and 4.64. Two classes describe the game: its sensitivity to delay
and frame loss, and how hard its picture is to encode. The default of the standard is high / high.

Deviation: frame loss is measured here as the share of frames that were not shown, as the standard
prefers; its planning formula for a loss rate of packets is `planned_frame_loss_percent`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

MAX_RATING = 100.0
MIN_MOS = 1.3
MAX_MOS = 4.64

# Ranges in which the model is defined; inputs outside are brought to the nearer end.
BITRATE_MBPS = (0.3, 50.0)
FRAME_RATE = (10.0, 60.0)
DELAY_MS = (0.0, 400.0)

# Below this delay the planning mode takes every loss to be repaired in time.
REPAIRED_IN_TIME_MS = 16.0

FULL_HD_PIXELS = 1920 * 1080

# Weights of the impairments in the overall rating R.
WEIGHT_CODING = 0.788
WEIGHT_TRANSMISSION = 0.896
WEIGHT_TEMPORAL = 0.227
WEIGHT_FRAMES = 0.625
WEIGHT_DELAY = 0.848


class GameClass(StrEnum):
    """How sensitive a game is to delay and loss, or how complex its picture is."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


@dataclass(frozen=True)
class StreamQuality:
    """What a player got, as the model takes it."""

    bitrate_mbps: float
    """Encoded video, Mb/s."""
    frame_rate: float
    """Encoded frames per second."""
    delay_ms: float
    """Round trip from control to picture that the network and its queues add, ms."""
    frame_loss_percent: float
    """Encoded frames that were never shown, percent."""
    slice_loss: float = 0.0
    """Share (0..1) of packets whose loss shows as a broken picture; 0 if frames are all or none."""
    pixels: int = FULL_HD_PIXELS
    """Pixels of one frame."""


@dataclass(frozen=True)
class Impairments:
    """The terms of the model, each 0 (none) to about 80 (unbearable)."""

    coding: float
    transmission: float
    temporal: float
    frames: float
    delay: float

    @property
    def rating(self) -> float:
        """The overall rating R, 0..100."""
        penalty = (
            WEIGHT_CODING * self.coding
            + WEIGHT_TRANSMISSION * self.transmission
            + WEIGHT_TEMPORAL * self.temporal
            + WEIGHT_FRAMES * self.frames
            + WEIGHT_DELAY * self.delay
        )
        return _clip(100.0 - penalty, 0.0, 100.0)


@dataclass(frozen=True)
class OpinionScore:
    """The overall score and, for each term, the score if it were the only impairment."""

    overall: float
    coding: float
    transmission: float
    temporal: float
    frames: float
    delay: float


@dataclass(frozen=True)
class _FrameTerm:
    """`a + b fr^2 + c fr + e ln(FLR + 1)`, clipped to 0..limit."""

    a: float
    b: float
    c: float
    e: float
    limit: float

    def at(self, frame_rate: float, loss_percent: float) -> float:
        raw = self.a + self.b * frame_rate**2 + self.c * frame_rate
        return _clip(raw + self.e * math.log(loss_percent + 1.0), 0.0, self.limit)


@dataclass(frozen=True)
class _DelayTerm:
    """`a / (1 + exp(b - c d)) + e`, clipped to 0..68.98."""

    a: float
    b: float
    c: float
    e: float

    def at(self, delay_ms: float) -> float:
        raw = self.a / (1.0 + math.exp(self.b - self.c * delay_ms)) + self.e
        return _clip(raw, 0.0, 68.98)


_FRAMES = {
    GameClass.LOW: _FrameTerm(23.43, 0.008574, -0.9253, 5.855, 68.98),
    GameClass.HIGH: _FrameTerm(54.71, 0.02589, -2.485, 9.306, 68.98),
}
_TEMPORAL = {
    GameClass.LOW: _FrameTerm(29.13, 0.01344, -1.283, 6.724, 61.29),
    GameClass.HIGH: _FrameTerm(47.03, 0.01747, -1.823, 10.7, 61.29),
}
_DELAY = {
    GameClass.LOW: _DelayTerm(47.97, 2.097, 0.01073, -4.567),
    GameClass.HIGH: _DelayTerm(90.0, 1.191, 0.009775, -18.73),
}

# c0..c13 of the video coding and transmission terms; c10 weighs burstiness, which is 0 here.
_CODING = {
    GameClass.LOW: (
        52.5052380, -28.0170325, -2.68405109, 5.46647668, 12.4214486, -28.0191642, 0.215799183,
        19.7091683, 3358.30546, 28.3699150, 4.60029723e-4, 0.0234972977, 1.64739513e-3,
        0.0895913579,
    ),
    GameClass.MEDIUM: (
        37.9882097, -13.7207634, 8.57836656, 3.26581290, 6.83275916, -127.997288, 0.479594798,
        0.612878511, 1.39396166e-3, 56.2892863, 4.6e-4, 4.75669545e-3, 0.0581327058, 2.38014343,
    ),
    GameClass.HIGH: (
        47.7463038, -12.0699723, 9.05167501, 3.41919377, 7.62306351, -167.837954, 0.0760332685,
        1.57176227, 3.68595885, 74.0570804, 4.59999348e-4, 4.06000335e-3, 2.58892015e-8,
        0.868406685,
    ),
}  # fmt: skip


def impairments(
    quality: StreamQuality,
    interaction: GameClass = GameClass.HIGH,
    video: GameClass = GameClass.HIGH,
) -> Impairments:
    """The five terms for a game of the two classes (medium and high interact alike)."""
    sensitivity = GameClass.LOW if interaction is GameClass.LOW else GameClass.HIGH
    frame_rate = _clip(quality.frame_rate, *FRAME_RATE)
    loss = _clip(quality.frame_loss_percent, 0.0, 100.0)
    coding = _coding(quality, frame_rate, video)
    return Impairments(
        coding=coding,
        transmission=_transmission(coding, _clip(quality.slice_loss, 0.0, 1.0), video),
        temporal=_TEMPORAL[sensitivity].at(frame_rate, loss),
        frames=_FRAMES[sensitivity].at(frame_rate, loss),
        delay=_DELAY[sensitivity].at(_clip(quality.delay_ms, *DELAY_MS)),
    )


def opinion_score(
    quality: StreamQuality,
    interaction: GameClass = GameClass.HIGH,
    video: GameClass = GameClass.HIGH,
) -> OpinionScore:
    """The mean opinion score, 1.3..4.64, and the score of each term alone."""
    terms = impairments(quality, interaction, video)
    return OpinionScore(
        overall=mos_of_rating(terms.rating),
        coding=mos_of_rating(100.0 - terms.coding),
        transmission=mos_of_rating(100.0 - terms.transmission),
        temporal=mos_of_rating(100.0 - terms.temporal),
        frames=mos_of_rating(100.0 - terms.frames),
        delay=mos_of_rating(100.0 - terms.delay),
    )


def mos_of_rating(rating: float) -> float:
    """The opinion score of a rating R of 0..100."""
    if rating <= 0.0:
        return MIN_MOS
    if rating >= MAX_RATING:
        return MAX_MOS
    score = MIN_MOS + 3.34 * rating / 100.0
    score += 7e-6 * rating * (rating - 60.0) * (100.0 - rating)
    return _clip(score, MIN_MOS, MAX_MOS)


def planned_frame_loss_percent(
    packet_loss_percent: float, delay_ms: float, frame_rate: float, bitrate_mbps: float
) -> float:
    """The planning mode: percent of frames lost that a packet loss (percent) leads to."""
    if delay_ms < REPAIRED_IN_TIME_MS:
        return 0.0
    sensitivity = 0.08526 + 0.00073 * frame_rate + 1.425e-4 * bitrate_mbps * frame_rate
    exponent = sensitivity * (0.09656 * delay_ms - 1.5) * packet_loss_percent
    return 100.0 * (1.0 - math.exp(-exponent))


def _coding(quality: StreamQuality, frame_rate: float, video: GameClass) -> float:
    c = _CODING[video]
    bitrate = _clip(quality.bitrate_mbps, *BITRATE_MBPS)
    bits_per_pixel = bitrate * 1e6 / (quality.pixels * frame_rate)
    complexity = c[4] * math.exp(c[5] * bits_per_pixel) + c[6]
    raw = c[0] * math.exp(c[1] * bits_per_pixel) + c[2] * complexity + c[3]
    return _clip(min(raw, 65.0), 0.0, 78.78)


def _transmission(coding: float, slice_loss: float, video: GameClass) -> float:
    if slice_loss == 0.0:
        return 0.0
    c = _CODING[video]
    magnitude = (c[9] - coding) * slice_loss / (coding * c[11] + slice_loss)
    effect = c[12] * math.exp(c[13] * magnitude) - c[12]
    return c[7] * math.log(c[8] * effect + 1.0)


def _clip(value: float, low: float, high: float) -> float:
    return min(max(value, low), high)
