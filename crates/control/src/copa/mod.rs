//! Copa: as much as keeps about 1/delta packets of each flow in the queue.
//!
//! Source: Arun and Balakrishnan, "Copa: Practical Delay-Based Congestion Control for the Internet",
//! NSDI 2018, sections 2.1 (target rate, velocity, slow start) and 2.2 (mode switch); as a controller of
//! video configured as the baseline of Wang et al., Pudica, NSDI 2024: delta 0.1, no mode switch,
//! bitrate = window / smoothed round-trip time.
//!
//! Model: the standing queue d is the least round trip of the last half round trip less the least of 10 s
//! (`round_trip`). The rate wanted is 1/(delta d) packets per second; window/standing round trip below it
//! grows the window, above it shrinks it, by v/(delta window) packets for each packet acknowledged, with
//! a velocity v that doubles while the direction holds (`window`). Packets are paced at twice
//! window/standing round trip. In competitive mode 1/delta rises and falls as a TCP's window (`delta`).
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | delta | 0.1 per packet | Pudica's baseline; the paper has 0.5 |
//! | window of the least round trip | 10 s | section 2.1 |
//! | window of the standing round trip | half a smoothed round trip | section 2.1 |
//! | smoothing | time constant of one round trip | RFC 6298 and RFC 7323 appendix G, see below |
//! | late bytes are taken off | over 4 frames | ours: over one, the loop through the path's delay swings |
//! | velocity doubles | each round trip, after 3 in one direction | section 2.1 |
//! | pacing | 2 window / standing round trip | section 2.1 |
//! | nearly empty | d < 0.1 of the longest queue of 4 round trips, within 5 round trips | section 2.2 |
//! | first window | 10 packets, or the start rate for a round trip | RFC 6928; the stream's limits |
//! | packet | 1248 B | 1200 B of payload and 48 B of headers |
//! | feedback interval | 5 ms | the paper has an acknowledgement for each packet; 5 ms is a quarter of a short round trip, and the holding time is taken out of every sample |
//! | silence | 1 s, or 2 round trips | RFC 6298 section 2.4 |
//!
//! | Deviation | Why |
//! |---|---|
//! | An acknowledgement counts by its bytes | the last packet of a frame is small |
//! | The round trip is smoothed over time, with a time constant of itself, not by 1/8 per sample | by packets, the bitrate would follow the queue's rise and fall within each frame |
//! | A wanted direction opposite to that of a velocity above 1 resets it at once | a doubled velocity would be spent in the wrong direction for up to a round trip; mvfst does the same |
//! | The window at most doubles or halves in a round trip | the bound of the paper's own slow start; velocity alone has none |
//! | The window stays between what the least and the most bitrate need for a round trip, a frame and a report | the stream can neither stop nor use more |
//! | What the pacer holds beyond an even schedule is taken off the next frames | window / smoothed round trip alone leaves a queue at the sender as it is, and a frame cannot be encoded twice |
//! | After a silence: slow start from the least window, and no window until something arrives | what is in flight is unknown then; a window full of lost packets would stay closed |
//! | Loss matters in competitive mode only | section 2.2; other builds back off in both |

mod delta;
mod round_trip;
mod window;

use crate::catalogue::{OptionError, OptionSpec, OptionValues};
use crate::{
    FeedbackBatch, FeedbackStyle, FrameSent, Pacing, PacketKind, PacketReport, RateController,
    RateLimits, SentPacket, Target,
};
use delta::Delta;
use gameway_units::{Bytes, Duration, Instant, Rate};
use round_trip::RoundTrips;
use window::{PACKET_BYTES, Window};

const FEEDBACK_INTERVAL: Duration = Duration::from_millis(5);
const PACING_GAIN: f64 = 2.0;
const SILENCE: Duration = Duration::from_secs(1);
const SILENT_ROUND_TRIPS: i64 = 2;
/// What is late is taken off over this many frames.
const LATE_FRAMES: i64 = 4;
/// A sample beyond this is a clock that jumped.
const LONGEST_ROUND_TRIP: Duration = Duration::from_secs(60);

/// Options of [`Copa`].
pub const OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        name: "delta",
        default: "0.1",
        summary: "weight of delay: about 1/delta packets stand in the queue; 0.001 to 1",
    },
    OptionSpec {
        name: "mode",
        default: "default",
        summary: "default: delta is constant; competitive: 1/delta grows while the queue never empties",
    },
];

/// Constants that can be set.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CopaOptions {
    /// Weight of delay: about 1/delta packets stand in the queue.
    pub delta: f64,
    /// Whether a queue that never empties makes delta smaller.
    pub mode_switch: bool,
}

impl Default for CopaOptions {
    fn default() -> Self {
        Self { delta: 0.1, mode_switch: false }
    }
}

/// See the module.
#[derive(Debug, Clone)]
pub struct Copa {
    limits: RateLimits,
    trips: RoundTrips,
    delta: Delta,
    window: Window,
    backlog: Backlog,
    last_heard: Option<Instant>,
    silent: bool,
    next_check: Option<Instant>,
}

impl Copa {
    /// A controller for a stream with these limits.
    #[must_use]
    pub fn new(options: CopaOptions, limits: RateLimits) -> Self {
        Self {
            limits,
            trips: RoundTrips::new(),
            delta: Delta::new(options.delta, options.mode_switch),
            window: Window::new(),
            backlog: Backlog::default(),
            last_heard: None,
            silent: false,
            next_check: None,
        }
    }

    /// From options given as text.
    ///
    /// # Errors
    /// If a name or a value is not allowed.
    pub fn from_options(
        options: &[(String, String)],
        limits: RateLimits,
    ) -> Result<Self, OptionError> {
        let values = OptionValues::new("copa", OPTIONS, options)?;
        let options = CopaOptions {
            delta: values.number("delta", 0.001, 1.0)?,
            mode_switch: values.choice("mode", &[("default", false), ("competitive", true)])?,
        };
        Ok(Self::new(options, limits))
    }

    fn on_received(&mut self, at: Instant, sample: Duration, size: Bytes) {
        let first = self.trips.smoothed().is_none();
        self.trips.insert(at, sample);
        self.delta.on_sample(at, &self.trips);
        let smoothed = self.trips.smoothed().unwrap_or(sample);
        let queue = self.trips.standing_queue().as_secs_f64();
        let standing = self.trips.standing().as_secs_f64();
        // window/standing < 1/(delta queue), without a division by a queue of zero.
        let delta = self.delta.get();
        let below = self.window.packets() * delta * queue <= standing;
        // A peer has no say in sizes, but a share beyond a few packets would break the step's bound.
        let share = (size.as_f64() / PACKET_BYTES).min(2.0);
        self.window.on_acknowledged(at, share, below, delta, smoothed);
        let needed = |rate: Rate, span: Duration| rate.as_bps_f64() * span.as_secs_f64() / 8.0;
        let span = smoothed + self.limits.frame_interval + FEEDBACK_INTERVAL;
        let least = if first { self.limits.start } else { self.limits.min };
        let most = needed(self.limits.max, span) / PACKET_BYTES;
        self.window.clamp((needed(least, span) / PACKET_BYTES).max(1.0), most.max(1.0));
    }

    fn silence(&self) -> Duration {
        let trips = self.trips.smoothed().unwrap_or(Duration::ZERO) * SILENT_ROUND_TRIPS;
        trips.max(SILENCE)
    }

    fn window_bits(&self) -> f64 {
        self.window.packets() * PACKET_BYTES * 8.0
    }

    fn bitrate(&self) -> Rate {
        let Some(smoothed) = self.trips.smoothed() else {
            return self.limits.clamp(self.limits.start);
        };
        if self.silent {
            return self.limits.clamp(self.limits.min);
        }
        let rate = Rate::from_bps_f64(self.window_bits() / smoothed.as_secs_f64());
        self.limits.clamp(
            rate.saturating_sub(self.backlog.late / (self.limits.frame_interval * LATE_FRAMES)),
        )
    }

    fn pacing_rate(&self) -> Rate {
        let standing = self.trips.standing().as_secs_f64();
        if self.silent || standing <= 0.0 {
            return self.bitrate().mul_f64(PACING_GAIN);
        }
        Rate::from_bps_f64(PACING_GAIN * self.window_bits() / standing)
    }
}

/// The round-trip time of a packet without the receiver's holding time, and the time at which an
/// acknowledgement sent at once would have come.
fn sample(
    now: Instant,
    batch: &FeedbackBatch<'_>,
    report: &PacketReport,
) -> Option<(Instant, Duration)> {
    let held = batch.generated.saturating_since(report.arrival?);
    let at = now.saturating_sub(held);
    let trip = at.saturating_since(report.packet.sent);
    let sane = !held.is_negative() && trip > Duration::ZERO && trip <= LONGEST_ROUND_TRIP;
    sane.then_some((at, trip))
}

/// What the pacer holds, and how much of it is late.
#[derive(Debug, Clone, Default)]
struct Backlog {
    waiting: Bytes,
    /// What left of a frame that is still being encoded.
    sent_ahead: Bytes,
    /// The newest frame: when it came and its size.
    newest: Option<FrameSent>,
    since: Instant,
    /// What waits beyond an even spread of the newest frame over the frame interval.
    late: Bytes,
}

impl Backlog {
    fn on_frame(&mut self, now: Instant, frame: &FrameSent, interval: Duration) {
        (self.newest, self.since) = (Some(*frame), now);
        let ahead = std::mem::take(&mut self.sent_ahead);
        self.waiting = self.waiting.saturating_add(frame.size.saturating_sub(ahead));
        self.update(now, interval);
    }

    fn on_sent(&mut self, now: Instant, packet: &SentPacket, interval: Duration) {
        if !matches!(packet.kind, PacketKind::Media | PacketKind::Repair) {
            return;
        }
        if self.newest.is_some_and(|newest| packet.frame > newest.frame) {
            self.sent_ahead = self.sent_ahead.saturating_add(packet.size);
            return;
        }
        self.waiting = self.waiting.saturating_sub(packet.size);
        let newest = self.newest.is_some_and(|newest| newest.frame == packet.frame);
        if newest && packet.last_of_frame {
            self.waiting = Bytes::ZERO;
        }
        self.update(now, interval);
    }

    fn update(&mut self, now: Instant, interval: Duration) {
        let left = (1.0 - now.saturating_since(self.since) / interval).clamp(0.0, 1.0);
        let size = self.newest.map_or(0.0, |frame| frame.size.as_f64());
        self.late = self.waiting.saturating_sub(Bytes::from_f64(size * left));
    }
}

impl RateController for Copa {
    fn name(&self) -> &'static str {
        "copa"
    }

    fn feedback_style(&self) -> FeedbackStyle {
        FeedbackStyle::Interval(FEEDBACK_INTERVAL)
    }

    fn sends_in_parts(&self) -> bool {
        true
    }

    fn on_frame(&mut self, now: Instant, frame: &FrameSent) {
        self.backlog.on_frame(now, frame, self.limits.frame_interval);
    }

    fn on_sent(&mut self, now: Instant, packet: &SentPacket) {
        self.backlog.on_sent(now, packet, self.limits.frame_interval);
        self.next_check.get_or_insert(now.saturating_add(SILENCE));
    }

    fn on_feedback(&mut self, now: Instant, batch: &FeedbackBatch<'_>) {
        let mut lost = false;
        for report in batch.reports {
            lost |= report.arrival.is_none();
            let Some((at, trip)) = sample(now, batch, report) else { continue };
            (self.last_heard, self.silent) = (Some(now), false);
            self.on_received(at, trip, report.packet.size);
        }
        if let (true, Some(smoothed)) = (lost, self.trips.smoothed()) {
            self.delta.on_loss(now, smoothed);
        }
        self.backlog.update(now, self.limits.frame_interval);
    }

    fn on_timer(&mut self, now: Instant) {
        if self.next_check.is_none_or(|next| next > now) {
            return;
        }
        let due = self.last_heard.map(|heard| heard.saturating_add(self.silence()));
        if let Some(due) = due.filter(|due| *due > now) {
            self.next_check = Some(due);
            return;
        }
        self.silent = true;
        self.window.restart();
        self.next_check = Some(now.saturating_add(self.silence()));
    }

    fn next_timer(&self) -> Option<Instant> {
        self.next_check
    }

    fn target(&self) -> Target {
        let known = !self.silent && self.trips.smoothed().is_some();
        let window = Bytes::from_f64(self.window.packets() * PACKET_BYTES);
        Target {
            window: known.then_some(window),
            ..Target::new(self.bitrate(), Pacing::Rate(self.pacing_rate()))
        }
    }

    fn observe(&self, sink: &mut dyn FnMut(&'static str, f64)) {
        let smoothed = self.trips.smoothed().unwrap_or(Duration::ZERO);
        sink("target_bps", self.bitrate().as_bps_f64());
        sink("pacing_bps", self.pacing_rate().as_bps_f64());
        sink("window_bytes", self.window.packets() * PACKET_BYTES);
        sink("smoothed_rtt_ms", smoothed.as_millis_f64());
        sink("least_rtt_ms", self.trips.least().as_millis_f64());
        sink("standing_queue_ms", self.trips.standing_queue().as_millis_f64());
        sink("velocity", self.window.velocity());
        sink("delta", self.delta.get());
        sink("competitive", f64::from(u8::from(self.delta.is_competitive())));
        sink("slow_start", f64::from(u8::from(self.window.in_slow_start())));
        sink("late_bytes", self.backlog.late.as_f64());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FrameId;

    const INTERVAL: Duration = Duration::from_millis(16);

    fn at(millis: i64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    fn frame(number: u64, size: u64) -> FrameSent {
        let size = Bytes::new(size);
        FrameSent { frame: FrameId(number), target: Rate::ZERO, size, packets: 16 }
    }

    /// Sixteen packets of a frame of 16 kB have one millisecond each before they are late.
    #[test]
    fn late_is_what_waits_beyond_an_even_schedule() {
        let mut backlog = Backlog::default();
        backlog.on_frame(at(0), &frame(0, 16_000), INTERVAL);
        assert_eq!(backlog.late, Bytes::ZERO);
        backlog.update(at(4), INTERVAL);
        assert_eq!(backlog.late, Bytes::new(4_000));
        backlog.on_frame(at(16), &frame(1, 8_000), INTERVAL);
        assert_eq!(backlog.late, Bytes::new(16_000));
        backlog.update(at(60), INTERVAL);
        assert_eq!(backlog.late, Bytes::new(24_000));
    }

    #[test]
    fn a_second_of_silence_opens_the_window_at_the_least_rate() {
        let limits = RateLimits {
            min: Rate::from_mbps(1),
            max: Rate::from_mbps(50),
            start: Rate::from_mbps(5),
            frame_interval: INTERVAL,
        };
        let mut copa = Copa::new(CopaOptions::default(), limits);
        assert_eq!((copa.target().bitrate, copa.target().window), (limits.start, None));
        copa.on_received(at(20), Duration::from_millis(20), Bytes::new(1_248));
        copa.last_heard = Some(at(20));
        copa.next_check = Some(at(1_000));
        assert!(copa.target().window.is_some());
        copa.on_timer(at(1_000));
        assert!(copa.target().window.is_some());
        assert_eq!(copa.next_timer(), Some(at(1_020)));
        copa.on_timer(at(1_020));
        assert_eq!((copa.target().bitrate, copa.target().window), (limits.min, None));
    }
}
