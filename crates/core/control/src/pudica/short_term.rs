//! The short-term rules: temporary fallback, active queue draining, one-step recovery
//! (Pudica, section 4.3).

use super::bur::FrameInFlight;
use super::options::PudicaOptions;
use super::readings::{DrainTarget, DrainVolume, Recovery};
use crate::{FrameId, RateLimits};
use gameway_units::{Bytes, Duration, Instant, Rate, ReceiverInstant};

/// Section 4.3: three frames in a row above one are congestion.
const CONGESTED_FRAMES: u32 = 3;
/// Section 4.3: the time within which the queue shall be empty.
const DRAIN_TIME_SECS: f64 = 0.2;

/// What the frame that is being encoded was asked for with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Captured {
    /// The newest bitrate, not lowered.
    pub(super) has_bitrate: bool,
    /// What all requests for a fallback called for.
    pub(super) is_lowered: bool,
}

/// Lowers a single frame.
#[derive(Debug, Clone, Default)]
pub(super) struct Fallback {
    /// The next frame is to be lowered.
    pending: bool,
    /// The newest frame whose next delay has called for a fallback: once for each.
    late_frame: Option<FrameId>,
}

impl Fallback {
    pub(super) fn pending(&self) -> bool {
        self.pending
    }

    /// A frame above one.
    pub(super) fn request(&mut self) {
        self.pending = true;
    }

    /// A frame was encoded.
    pub(super) fn served(&mut self) {
        self.pending = false;
    }

    /// When the oldest unacknowledged frame becomes late: when its feedback is overdue even if it had
    /// kept the link busy for a whole frame interval. That is a ratio above one, seen without feedback.
    /// `allowed` is what it may take beyond the least round trip.
    pub(super) fn deadline(
        &self,
        oldest: Option<(FrameId, Instant)>,
        min_rtt: Option<Duration>,
        allowed: Duration,
    ) -> Option<Instant> {
        let (frame, sent) = oldest?;
        if self.late_frame.is_some_and(|late| frame <= late) {
            return None;
        }
        Some(sent.saturating_add(min_rtt?.saturating_add(allowed)))
    }

    /// The next delay of `frame` is large.
    pub(super) fn on_late(&mut self, frame: FrameId) {
        self.late_frame = Some(frame);
        self.pending = true;
    }
}

/// Where the receiving rate is counted from: just after the first packet of the first congested frame.
#[derive(Debug, Clone, Copy)]
struct Onset {
    time: ReceiverInstant,
    received_bytes: Bytes,
}

/// What the newest frame calls for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Reaction {
    /// Nothing.
    None,
    /// Lower the next frame.
    Fallback,
    /// Set this bitrate to empty the queue.
    Drain(Rate),
    /// The queue is empty: set this bitrate.
    Recover(Rate),
}

/// What is known when a frame is judged.
#[derive(Debug, Clone, Copy)]
pub(super) struct Situation {
    pub(super) bitrate: Rate,
    pub(super) in_flight: Bytes,
    pub(super) min_rtt: Duration,
    /// All bytes received so far, and when the newest came.
    pub(super) received_bytes: Bytes,
    pub(super) latest_arrival: ReceiverInstant,
}

/// Watches for congestion that lasts, and empties the queue.
#[derive(Debug, Clone, Default)]
pub(super) struct Draining {
    congested_frames: u32,
    onset: Option<Onset>,
    /// The bitrate before the drain, while one is under way.
    before: Option<Rate>,
    receiving_rate: Rate,
}

impl Draining {
    pub(super) fn active(&self) -> bool {
        self.before.is_some()
    }

    pub(super) fn receiving_rate(&self) -> Rate {
        self.receiving_rate
    }

    /// Judges a frame by its ratio.
    pub(super) fn on_ratio(
        &mut self,
        options: &PudicaOptions,
        limits: &RateLimits,
        frame: &FrameInFlight,
        ratio: f64,
        now: &Situation,
    ) -> Reaction {
        if ratio > 1.0 {
            self.on_congested(options, limits, frame, now)
        } else {
            self.on_uncongested(options, limits, now)
        }
    }

    fn on_congested(
        &mut self,
        options: &PudicaOptions,
        limits: &RateLimits,
        frame: &FrameInFlight,
        now: &Situation,
    ) -> Reaction {
        self.congested_frames = self.congested_frames.saturating_add(1);
        if self.onset.is_none() {
            self.onset =
                frame.first_arrival.map(|(time, received_bytes)| Onset { time, received_bytes });
        }
        if !options.draining || self.congested_frames < CONGESTED_FRAMES {
            return if self.active() { Reaction::None } else { Reaction::Fallback };
        }
        if self.active() && options.drain_target == DrainTarget::Once {
            return Reaction::None;
        }
        let Some(rate) = self.measure(now) else { return Reaction::Fallback };
        let before = *self.before.get_or_insert(now.bitrate);
        let draining = drain_rate(options, rate, now);
        let bitrate = rate.mul_f64(options.alpha).saturating_sub(draining).min(before);
        Reaction::Drain(limits.clamp(bitrate))
    }

    fn on_uncongested(
        &mut self,
        options: &PudicaOptions,
        limits: &RateLimits,
        now: &Situation,
    ) -> Reaction {
        self.congested_frames = 0;
        let rate = self.measure(now);
        self.onset = None;
        let Some(before) = self.before.take() else { return Reaction::None };
        let rate = rate.unwrap_or(self.receiving_rate);
        let most = if options.recovery == Recovery::Bounded { before } else { Rate::MAX };
        Reaction::Recover(limits.clamp(rate.min(most)))
    }

    /// The mean receiving rate from the onset of congestion until now.
    fn measure(&mut self, now: &Situation) -> Option<Rate> {
        let onset = self.onset?;
        let span = now.latest_arrival.saturating_since(onset.time);
        let rate = now.received_bytes.saturating_sub(onset.received_bytes) / span;
        if rate > Rate::ZERO {
            self.receiving_rate = rate;
        }
        (rate > Rate::ZERO).then_some(rate)
    }
}

/// Eq. 11, second term: the rate that empties the queue within 200 ms.
fn drain_rate(options: &PudicaOptions, receiving_rate: Rate, now: &Situation) -> Rate {
    let queued = match options.drain_volume {
        DrainVolume::InFlight => now.in_flight,
        DrainVolume::AboveBdp => now.in_flight.saturating_sub(receiving_rate * now.min_rtt),
    };
    Rate::from_bps_f64(queued.as_f64() * 8.0 / DRAIN_TIME_SECS)
}
