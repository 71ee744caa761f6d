//! The target bitrate and the pacing rate that follow from the reference window.
//!
//! Source: draft-ietf-ccwg-rfc8298bis-screamv2, "Media Rate Control" and "Packet Pacing" (read in the
//! editors' copy at 00d8f51).
//!
//! Model: target = window / smoothed RTT, less for a window of few segments, for headers, and divided by
//! 1.2 plus two corrections made at each frame: an integral of how long the oldest packet of earlier
//! frames has waited beyond a quarter of the frame interval, and an average of how much frames exceed
//! their nominal size. Packets are paced at 1.5 times the target, and up to 6 times near the largest
//! bitrate, where the link is taken for uncongested. The reference divides by 1.1 and corrects nothing; it
//! paces at 1.5 times the target or, if more, the frames' mean bitrate of 200 ms, and a frame above its nominal size, with what still
//! waits, faster in proportion, by 1.5 at most ([`super::version`]).
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | integral gain, largest integral | 1/16, 0.5 | draft |
//! | frame excess: gain, largest | 1/64, 0.2 | draft |
//! | small window: from, largest | 0.1, 0.2 | draft, C++ |
//! | packet overhead | 20 B | draft, C++ |
//! | pacing: headroom, least | 1.5, 50 kb/s before headroom | draft, C++ |
//! | relaxed pacing: from, most | 0.8 of the largest bitrate, 4 | draft; C++: 5, off unless asked for |
//! | pacing: least multiple of the target | option `min_pacing_factor`, 1: as the version has it | ours |
//! | pacing by size: most | 1.5 | C++ (`-adaptivepaceheadroom`) |
//! | mean bitrate of frames | 200 ms | C++ (`rateRtpHist`: 4 of 50 ms) |
//!
//! | Deviation | Why |
//! |---|---|
//! | The overhead factor stays although the target counts wire bytes | as printed; 2 % |
//! | How long packets wait is known from frames and departures | the pacer is the session's |
//! | Reference: no packet that waits longer than 200 ms is thrown away | what a frame loses is the session's decision |

use super::reference_window::ReferenceWindow;
use super::version::MediaRules;
use crate::{FrameId, FrameSent, Pacing, PacketKind, RateLimits, SentPacket};
use gameway_units::{Duration, Instant, Rate};
use std::collections::VecDeque;

const WAIT_GAIN: f64 = 1.0 / 16.0;
const MAX_WAIT_ADJUSTMENT: f64 = 0.5;
const EXCESS_GAIN: f64 = 1.0 / 64.0;
const MAX_EXCESS: f64 = 0.2;
const PACKET_OVERHEAD: f64 = 20.0;
const PACING_HEADROOM: f64 = 1.5;
const MIN_PACED_BPS: f64 = 50_000.0;
const RELAXED_PACING_FROM: f64 = 0.8;
const MAX_RELAXED_PACING: f64 = 4.0;
const MAX_SIZE_PACING: f64 = 1.5;
/// Over how long the bitrate of frames is averaged.
const AVERAGED_SECS: f64 = 0.2;
/// As many at 1000 frames a second, the most that an experiment may ask for.
const AVERAGED_FRAMES: usize = 200;
const NOMINAL_SEGMENT: f64 = 1_000.0;
/// Frames that may wait; older ones are forgotten, they stand for a wait beyond any bound.
const MAX_WAITING: usize = 256;

/// See the module.
#[derive(Debug, Clone)]
pub(super) struct MediaRate {
    rules: MediaRules,
    /// Packets leave at least at this multiple of the target.
    min_pacing_factor: f64,
    limits: RateLimits,
    frame_secs: f64,
    target: Rate,
    pacing: Rate,
    wait_adjustment: f64,
    frame_excess: f64,
    /// Frames not fully sent, oldest first, and since when.
    waiting: VecDeque<(FrameId, Instant)>,
    /// Bytes of frames that have not left; below zero while a frame leaves in parts.
    waiting_bytes: f64,
    /// Sizes of the latest frames.
    latest: VecDeque<f64>,
    /// How much faster than the target the newest frame is paced for its size.
    size_pacing: f64,
}

impl MediaRate {
    pub(super) fn new(rules: MediaRules, min_pacing_factor: f64, limits: RateLimits) -> Self {
        let frame_interval = limits.frame_interval.max(Duration::from_millis(1));
        let target = limits.clamp(limits.start);
        let mut made = Self {
            rules,
            min_pacing_factor,
            limits,
            frame_secs: frame_interval.as_secs_f64(),
            target,
            pacing: target,
            waiting_bytes: 0.0,
            latest: VecDeque::with_capacity(AVERAGED_FRAMES),
            size_pacing: 1.0,
            wait_adjustment: 0.0,
            frame_excess: 0.0,
            waiting: VecDeque::with_capacity(MAX_WAITING),
        };
        made.pacing = made.paced();
        made
    }

    pub(super) fn target(&self) -> Rate {
        self.target
    }

    pub(super) fn clamp(&self, rate: Rate) -> Rate {
        self.limits.clamp(rate)
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
            (self.wait_adjustment + WAIT_GAIN * error).clamp(0.0, MAX_WAIT_ADJUSTMENT);
        let nominal = (self.target.as_bps_f64() * self.frame_secs / 8.0).max(1.0);
        let excess = ((frame.size.as_f64() - nominal) / nominal).max(0.0);
        self.frame_excess =
            (self.frame_excess + EXCESS_GAIN * (excess - self.frame_excess)).min(MAX_EXCESS);
        if self.waiting.len() == MAX_WAITING {
            self.waiting.pop_front();
        }
        self.waiting.push_back((frame.frame, now));
        self.waiting_bytes += frame.size.as_f64();
        let largest = self.waiting_bytes.max(frame.size.as_f64());
        self.size_pacing = (largest / nominal).clamp(1.0, MAX_SIZE_PACING);
        let averaged = (AVERAGED_SECS / self.frame_secs) as usize;
        self.latest.truncate(averaged.clamp(1, AVERAGED_FRAMES) - 1);
        self.latest.push_front(frame.size.as_f64());
    }

    pub(super) fn on_sent(&mut self, packet: &SentPacket) {
        if !matches!(packet.kind, PacketKind::Media | PacketKind::Repair) {
            return;
        }
        self.waiting_bytes -= packet.size.as_f64();
        let done = |frame: FrameId| {
            frame < packet.frame || (frame == packet.frame && packet.last_of_frame)
        };
        while self.waiting.front().is_some_and(|(frame, _)| done(*frame)) {
            self.waiting.pop_front();
        }
    }

    /// The window's rate times this is the target.
    fn share(&self, segment: f64, segment_ratio: f64) -> f64 {
        let small_window = 1.0 - (segment_ratio - 0.1).clamp(0.0, 0.2);
        let headers = segment / (segment + PACKET_OVERHEAD);
        let (wait, excess) = if self.rules.corrected {
            (self.wait_adjustment, self.frame_excess)
        } else {
            (0.0, 0.0)
        };
        small_window * headers / (self.rules.divisor + wait + excess)
    }

    fn reckoned_rtt(&self, smoothed_rtt: Duration) -> f64 {
        smoothed_rtt.saturating_add(self.rules.rtt_margin).min(self.rules.max_rtt).as_secs_f64()
    }

    pub(super) fn update(&mut self, window: &ReferenceWindow, smoothed_rtt: Duration) {
        let rate = window.bytes() * 8.0 / self.reckoned_rtt(smoothed_rtt);
        let target = rate * self.share(window.segment(), window.segment_ratio());
        self.target = self.limits.clamp(Rate::from_bps_f64(target));
        self.pacing = self.paced();
    }

    /// The window, in bytes, that gives the start bitrate at that round-trip time.
    pub(super) fn window_for_start(&self, rtt: Duration) -> f64 {
        let bytes = self.target.as_bps_f64() / 8.0 * self.reckoned_rtt(rtt);
        let first = bytes / self.share(NOMINAL_SEGMENT, 0.0);
        bytes / self.share(NOMINAL_SEGMENT, (NOMINAL_SEGMENT / first.max(1.0)).min(1.0))
    }

    /// What the largest bitrate needs in flight, with the headroom of pacing.
    pub(super) fn window_for_largest(&self, rtt: Duration) -> f64 {
        PACING_HEADROOM * self.bytes_at_largest(rtt)
    }

    /// What the largest bitrate has in flight on average.
    pub(super) fn bytes_at_largest(&self, rtt: Duration) -> f64 {
        let rtt = rtt.saturating_add(self.rules.rtt_margin).as_secs_f64();
        self.limits.max.as_bps_f64() / 8.0 * rtt
    }

    /// Frames come at this interval from now on.
    pub(super) fn set_frame_interval(&mut self, interval: Duration) {
        self.limits.frame_interval = interval;
        self.frame_secs = interval.max(Duration::from_millis(1)).as_secs_f64();
    }

    pub(super) fn frame_interval(&self) -> Duration {
        self.limits.frame_interval
    }

    /// How near the target is to the largest bitrate.
    pub(super) fn share_of_largest(&self) -> f64 {
        self.target.as_bps_f64() / self.limits.max.as_bps_f64().max(1.0)
    }

    pub(super) fn pacing(&self) -> Pacing {
        match self.rules.burst {
            Duration::ZERO => Pacing::Rate(self.pacing),
            interval => Pacing::Bursts { rate: self.pacing, interval },
        }
    }

    fn paced(&self) -> Rate {
        let bps = if self.rules.paces_by_size { self.paced_by_size() } else { self.relaxed() };
        Rate::from_bps_f64(bps).max(self.target.mul_f64(self.min_pacing_factor))
    }

    fn relaxed(&self) -> f64 {
        let beyond = (self.share_of_largest() - RELAXED_PACING_FROM) / (1.0 - RELAXED_PACING_FROM);
        let slow_down = (1.0 - beyond).clamp(1.0 / MAX_RELAXED_PACING, 1.0);
        self.target.as_bps_f64().max(MIN_PACED_BPS) * PACING_HEADROOM / slow_down
    }

    fn paced_by_size(&self) -> f64 {
        let frames = self.latest.len().max(1) as f64;
        let produced = self.latest.iter().sum::<f64>() * 8.0 / (frames * self.frame_secs);
        let rate = self.target.as_bps_f64().max(produced);
        (PACING_HEADROOM * self.size_pacing * rate).max(MIN_PACED_BPS)
    }
}

#[cfg(test)]
mod tests;
