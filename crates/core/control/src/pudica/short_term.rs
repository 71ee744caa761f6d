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
        let max = if options.recovery == Recovery::Bounded { before } else { Rate::MAX };
        Reaction::Recover(limits.clamp(rate.min(max)))
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

#[cfg(test)]
mod tests {
    use super::super::bur::{Frames, Progress};
    use super::*;
    use crate::{FrameSent, PacketReport, SentPacket, SequenceNumber};

    fn clock(millis: i64) -> ReceiverInstant {
        ReceiverInstant::ZERO + Duration::from_millis(millis)
    }

    fn at(millis: i64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    /// A frame of one packet of 1000 bytes that arrived then.
    fn frame(millis: i64) -> FrameInFlight {
        let (id, size) = (FrameId(0), Bytes::new(1_000));
        let mut frames = Frames::new(Duration::from_millis(16));
        frames.on_frame(&FrameSent::new(id, Rate::from_mbps(20), size, 1), 0, Duration::ZERO);
        let packet = SentPacket::new(SequenceNumber(0), at(0), id, size).with_last_of_frame(true);
        frames.record(&PacketReport::new(packet, Some(clock(millis))));
        let Some(Progress::Complete(frame)) = frames.progress() else { panic!("not complete") };
        frame
    }

    fn limits() -> RateLimits {
        RateLimits {
            min: Rate::from_mbps(1),
            max: Rate::from_mbps(50),
            start: Rate::from_mbps(5),
            frame_interval: Duration::from_millis(16),
        }
    }

    /// At 20 Mb/s, with 12.5 kB in flight and a minimum RTT of 10 ms: `kilobytes` kB have arrived by `millis`.
    fn situation(millis: i64, kilobytes: u64) -> Situation {
        Situation {
            bitrate: Rate::from_mbps(20),
            in_flight: Bytes::new(12_500),
            min_rtt: Duration::from_millis(10),
            received_bytes: Bytes::new(1_000 * kilobytes),
            latest_arrival: clock(millis),
        }
    }

    /// Three frames above one, the first of which arrived with the first kilobyte at 100 ms; 10 Mb/s arrive from then on.
    fn congested(draining: &mut Draining, options: &PudicaOptions) -> [Reaction; 3] {
        [(100, 1), (116, 21), (132, 41)].map(|(millis, kilobytes)| {
            let now = situation(millis, kilobytes);
            draining.on_ratio(options, &limits(), &frame(100), 1.01, &now)
        })
    }

    fn judge(
        draining: &mut Draining,
        options: &PudicaOptions,
        ratio: f64,
        now: &Situation,
    ) -> Reaction {
        draining.on_ratio(options, &limits(), &frame(100), ratio, now)
    }

    const MBPS: fn(u64) -> Rate = Rate::from_mbps;

    /// Eq. 11: alpha times the receiving rate, less what empties the queue within 200 ms: 8.5 Mb/s less 0.5.
    #[test]
    fn the_third_frame_above_one_drains_the_queue() {
        let (mut draining, options) = (Draining::default(), PudicaOptions::default());
        let reactions = congested(&mut draining, &options);
        assert_eq!(reactions, [Reaction::Fallback, Reaction::Fallback, Reaction::Drain(MBPS(8))]);
        assert!(draining.active());
        assert_eq!(draining.receiving_rate(), MBPS(10));
        // Anew at each further one, at most what was before; a frame at one is not above it.
        let now = situation(148, 301);
        assert_eq!(judge(&mut draining, &options, 1.01, &now), Reaction::Drain(MBPS(20)));
        let recovered = judge(&mut draining, &options, 1.0, &now);
        assert_eq!((recovered, draining.active()), (Reaction::Recover(MBPS(20)), false));
    }

    #[test]
    fn a_frame_at_one_begins_the_count_anew() {
        let (mut draining, options) = (Draining::default(), PudicaOptions::default());
        for _ in 0..3 {
            for ratio in [1.01, 1.01, 1.0] {
                let now = situation(116, 21);
                let expected = if ratio > 1.0 { Reaction::Fallback } else { Reaction::None };
                assert_eq!(judge(&mut draining, &options, ratio, &now), expected);
            }
        }
    }

    #[test]
    fn recovery_is_to_the_receiving_rate_and_by_default_not_above_the_bitrate_before() {
        for (recovery, rate) in [(Recovery::Bounded, MBPS(20)), (Recovery::Unbounded, MBPS(40))] {
            let mut draining = Draining::default();
            let options = PudicaOptions { recovery, ..PudicaOptions::default() };
            congested(&mut draining, &options);
            // 240 kB in 48 ms.
            let now = situation(148, 241);
            assert_eq!(judge(&mut draining, &options, 0.9, &now), Reaction::Recover(rate));
            assert_eq!(judge(&mut draining, &options, 0.9, &now), Reaction::None);
        }
    }

    #[test]
    fn the_options_say_what_is_drained_how_often_and_whether() {
        let with = |change: fn(&mut PudicaOptions)| {
            let (mut draining, mut options) = (Draining::default(), PudicaOptions::default());
            change(&mut options);
            let third = congested(&mut draining, &options)[2];
            (third, judge(&mut draining, &options, 1.01, &situation(148, 61)))
        };
        // All in flight is what 10 Mb/s carry in 10 ms: nothing is above that.
        let above_bdp = with(|options| options.drain_volume = DrainVolume::AboveBdp);
        assert_eq!(above_bdp.0, Reaction::Drain(Rate::from_kbps(8_500)));
        let once = with(|options| options.drain_target = DrainTarget::Once);
        assert_eq!(once, (Reaction::Drain(MBPS(8)), Reaction::None));
        let off = with(|options| options.draining = false);
        assert_eq!(off, (Reaction::Fallback, Reaction::Fallback));
    }

    #[test]
    fn where_nothing_has_arrived_since_nothing_can_be_drained() {
        let (mut draining, options) = (Draining::default(), PudicaOptions::default());
        for _ in 0..4 {
            let reaction = judge(&mut draining, &options, 1.01, &situation(116, 1));
            assert_eq!((reaction, draining.active()), (Reaction::Fallback, false));
        }
    }

    #[test]
    fn a_frame_is_late_once_beyond_the_least_round_trip_and_what_is_allowed() {
        let (rtt, allowed) = (Some(Duration::from_millis(20)), Duration::from_millis(21));
        let mut fallback = Fallback::default();
        let oldest = |frame: u64| Some((FrameId(frame), at(100)));
        assert_eq!(fallback.deadline(None, rtt, allowed), None);
        assert_eq!(fallback.deadline(oldest(7), None, allowed), None);
        assert_eq!(fallback.deadline(oldest(7), rtt, allowed), Some(at(141)));
        fallback.on_late(FrameId(7));
        assert!(fallback.pending());
        assert_eq!(fallback.deadline(oldest(7), rtt, allowed), None);
        assert_eq!(fallback.deadline(oldest(8), rtt, allowed), Some(at(141)));
        fallback.served();
        assert!(!fallback.pending());
    }
}
