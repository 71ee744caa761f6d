//! The target bitrate and the pacing rate that follow from the reference window.
//!
//! Source: draft-ietf-ccwg-rfc8298bis-screamv2, "Media Rate Control" and "Packet Pacing" (read in the
//! editors' copy at 00d8f51).
//!
//! Model: target = window / smoothed RTT, less for a window of few segments, for headers, and divided by
//! 1.2 plus two corrections made at each frame: an integral of how long the oldest packet of earlier
//! frames has waited beyond a quarter of the frame interval, and an average of how much frames exceed
//! their nominal size. Packets are paced at 1.5 times the target, and up to 6 times near the largest
//! bitrate, where the link is taken for uncongested.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | divisor, integral gain, largest integral | 1.2, 1/16, 0.5 | draft |
//! | frame excess: gain, largest | 1/64, 0.2 | draft |
//! | small window: from, largest | 0.1, 0.2 | draft |
//! | packet overhead | 20 B | draft, C++ |
//! | pacing: headroom, least | 1.5, 50 kb/s before headroom | draft, C++ |
//! | relaxed pacing: from, most | 0.8 of the largest bitrate, 4 | draft; C++: 5 |
//!
//! | Deviation | Why |
//! |---|---|
//! | The overhead factor stays although the target counts wire bytes | as printed; 2 % |
//! | How long packets wait is known from frames and departures | the pacer is the session's |

use super::reference_window::{ReferenceWindow, SEGMENT};
use crate::{FrameId, FrameSent, PacketKind, RateLimits, SentPacket};
use gameway_units::{Duration, Instant, Rate};
use std::collections::VecDeque;

const DIVISOR: f64 = 1.2;
const WAIT_GAIN: f64 = 1.0 / 16.0;
const MOST_WAIT_ADJUSTMENT: f64 = 0.5;
const EXCESS_GAIN: f64 = 1.0 / 64.0;
const MOST_EXCESS: f64 = 0.2;
const PACKET_OVERHEAD: f64 = 20.0;
const PACING_HEADROOM: f64 = 1.5;
const LEAST_PACED_BPS: f64 = 50_000.0;
const RELAXED_PACING_FROM: f64 = 0.8;
const MOST_RELAXED_PACING: f64 = 4.0;
/// Frames that may wait; older ones are forgotten, they stand for a wait beyond any bound.
const MOST_WAITING: usize = 256;

/// See the module.
#[derive(Debug, Clone)]
pub(super) struct MediaRate {
    limits: RateLimits,
    frame_secs: f64,
    target: Rate,
    wait_adjustment: f64,
    frame_excess: f64,
    /// Frames not fully sent, oldest first, and since when.
    waiting: VecDeque<(FrameId, Instant)>,
}

impl MediaRate {
    pub(super) fn new(limits: RateLimits) -> Self {
        let frame_interval = limits.frame_interval.max(Duration::from_millis(1));
        Self {
            limits,
            frame_secs: frame_interval.as_secs_f64(),
            target: limits.clamp(limits.start),
            wait_adjustment: 0.0,
            frame_excess: 0.0,
            waiting: VecDeque::with_capacity(MOST_WAITING),
        }
    }

    pub(super) fn target(&self) -> Rate {
        self.target
    }

    pub(super) fn at_largest(&self) -> bool {
        self.target >= self.limits.max
    }

    pub(super) fn wait_adjustment(&self) -> f64 {
        self.wait_adjustment
    }

    pub(super) fn frame_excess(&self) -> f64 {
        self.frame_excess
    }

    pub(super) fn on_frame(&mut self, now: Instant, frame: &FrameSent) {
        let oldest = self.waiting.front().map_or(now, |(_, since)| *since);
        let waited = now.saturating_since(oldest).as_secs_f64();
        let error = (waited - self.frame_secs / 4.0) / self.frame_secs;
        self.wait_adjustment =
            (self.wait_adjustment + WAIT_GAIN * error).clamp(0.0, MOST_WAIT_ADJUSTMENT);
        let nominal = (self.target.as_bps_f64() * self.frame_secs / 8.0).max(1.0);
        let excess = ((frame.size.as_f64() - nominal) / nominal).max(0.0);
        self.frame_excess =
            (self.frame_excess + EXCESS_GAIN * (excess - self.frame_excess)).min(MOST_EXCESS);
        if self.waiting.len() == MOST_WAITING {
            self.waiting.pop_front();
        }
        self.waiting.push_back((frame.frame, now));
    }

    pub(super) fn on_sent(&mut self, packet: &SentPacket) {
        if !matches!(packet.kind, PacketKind::Media | PacketKind::Repair) {
            return;
        }
        let done = |frame: FrameId| {
            frame < packet.frame || (frame == packet.frame && packet.last_of_frame)
        };
        while self.waiting.front().is_some_and(|(frame, _)| done(*frame)) {
            self.waiting.pop_front();
        }
    }

    /// The window's rate times this is the target.
    fn share(&self, segment_ratio: f64) -> f64 {
        let small_window = 1.0 - (segment_ratio - 0.1).clamp(0.0, 0.2);
        let headers = SEGMENT / (SEGMENT + PACKET_OVERHEAD);
        small_window * headers / (DIVISOR + self.wait_adjustment + self.frame_excess)
    }

    pub(super) fn update(&mut self, window: &ReferenceWindow, smoothed_rtt: Duration) {
        let rate = window.bytes() * 8.0 / smoothed_rtt.as_secs_f64();
        let target = rate * self.share(window.segment_ratio());
        self.target = self.limits.clamp(Rate::from_bps_f64(target));
    }

    /// The window, in bytes, that gives the start bitrate at that round-trip time.
    pub(super) fn window_for_start(&self, rtt: Duration) -> f64 {
        let bytes = self.target.as_bps_f64() / 8.0 * rtt.as_secs_f64();
        let first = bytes / self.share(0.0);
        bytes / self.share((SEGMENT / first.max(1.0)).min(1.0))
    }

    pub(super) fn pacing_rate(&self) -> Rate {
        let target = self.target.as_bps_f64();
        let share_of_largest = target / self.limits.max.as_bps_f64().max(1.0);
        let beyond = (share_of_largest - RELAXED_PACING_FROM) / (1.0 - RELAXED_PACING_FROM);
        let slow_down = (1.0 - beyond).clamp(1.0 / MOST_RELAXED_PACING, 1.0);
        Rate::from_bps_f64(target.max(LEAST_PACED_BPS) * PACING_HEADROOM / slow_down)
    }
}

#[cfg(test)]
mod tests;
