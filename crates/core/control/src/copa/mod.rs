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
//! | late bytes are taken off | over 4 frames | ours: over one, x264 loses 2 % to targets that tremble |
//! | what the window lacks is added | over 2 frames | ours: an encoder follows a rise one frame late |
//! | velocity doubles | each round trip, after 4 in one direction | mvfst's `checkAndUpdateDirection`; section 2.1 has 3, see below |
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
//! | The velocity doubles after 4 round trips in one direction, not 3 | the standing round trip is known half a round trip late, so that a window at rest rises for three round trips and falls for three: one more disturbance, and the velocity doubles on and never stops. From bandwidth-delay products of 280 packets on the flow rested or swung by chance. mvfst has 4 where it compares the standing round trip, and 3 where it compares the newest (`Copa.cpp`, commit 00e67c1) |
//! | The window at most doubles or halves in a round trip | the bound of the paper's own slow start; velocity alone has none |
//! | The window stays between what the least and the most bitrate need for a round trip, a frame and a report | the stream can neither stop nor use more |
//! | A window that allows the most bitrate holds back no part of a frame | where the base round trip is near zero the window rests at 1/delta packets, and reports each 5 ms would let ten packets pass in that time: on loopback 41 of 60 frames a second at 40 Mb/s. The paper's sender hears of each packet |
//! | What the pacer holds beyond an even schedule is taken off the next frames | window / smoothed round trip alone leaves a queue at the sender as it is, and a frame cannot be encoded twice |
//! | What the window lacks is added to the next frames | the paper's sender always fills its window. Window / smoothed round trip fills a grown window a round trip later; the law sees no queue meanwhile, and the velocity doubles on: above 280 packets of bandwidth and delay the window swung between half and twice of that (`tests/all/copa.rs` has both, beside a model of the paper's sender) |
//! | After a silence: slow start from the least window, and no window until something arrives | what is in flight is unknown then; a window full of lost packets would stay closed |
//! | In default mode loss matters beyond 0.3 (`reduce_on_loss`) | section 2.2 has loss in competitive mode alone, and so has mvfst's `Copa`; the authors' program genericCC has this; `reduce_on_loss = "off"` is the paper |
//! | A queue that was not nearly empty for 8 s is drained (`probe_rtt`) | as published, a queue that never empties becomes the path after 10 s, and the greatest rate is sent for good: at 2 Mb/s with 100 ms of queue 0.9 of it is lost. mvfst's `Copa2` drains, too; `probe_rtt = "off"` is the paper |

mod delta;
mod held;
mod probe_rtt;
mod reduce_on_loss;
mod round_trip;
mod window;

use crate::{
    ControllerAlgorithm, FeedbackBatch, FeedbackStyle, FrameSent, Notice, Pacing, PacketReport,
    RateController, RateLimits, SentPacket, Target,
};
use delta::Delta;
use gameway_units::declared::{Configuration, on_off};
use gameway_units::{Bytes, Duration, Instant, Rate};
use held::Held;
use probe_rtt::ProbeRtt;
use reduce_on_loss::ReduceOnLoss;
use round_trip::RoundTrips;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use window::{PACKET_BYTES, Window};

const FEEDBACK_INTERVAL: Duration = Duration::from_millis(5);
const PACING_GAIN: f64 = 2.0;
const SILENCE: Duration = Duration::from_secs(1);
const SILENT_ROUND_TRIPS: i64 = 2;
/// What is late is taken off over this many frames.
const LATE_FRAMES: i64 = 4;
/// What the window lacks is added over this many.
const LACKING_FRAMES: i64 = 2;
/// A sample beyond this is a clock that jumped.
const MAX_ROUND_TRIP: Duration = Duration::from_secs(60);

/// What becomes of delta while the queue never empties.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// It stays.
    #[default]
    Default,
    /// It gets smaller, so that others' queue is met by one of its own (section 2.2).
    Competitive,
}

/// Constants that can be set.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CopaOptions {
    /// weight of delay: about 1/delta packets stand in the queue
    #[schemars(range(min = 0.001, max = 1.0))]
    pub delta: f64,
    /// default: delta is constant; competitive: 1/delta grows while the queue never empties
    pub mode: Mode,
    /// least window for a round trip where the queue was not empty for 8 s (mvfst's Copa2); off: as published
    #[serde(with = "on_off")]
    #[schemars(with = "on_off::Switch")]
    pub probe_rtt: bool,
    /// smaller window where more than 0.3 of the packets are lost (genericCC); off: as published
    #[serde(with = "on_off")]
    #[schemars(with = "on_off::Switch")]
    pub reduce_on_loss: bool,
}

impl Default for CopaOptions {
    fn default() -> Self {
        Self { delta: 0.1, mode: Mode::Default, probe_rtt: true, reduce_on_loss: true }
    }
}

impl Configuration for CopaOptions {
    const NAME: &'static str = "copa";
    const SUMMARY: &'static str =
        "keeps about 1/delta packets in the queue, paced at twice the window's rate";
    const SOURCE: &'static str = "Arun and Balakrishnan, Copa, NSDI 2018";
}

impl ControllerAlgorithm for CopaOptions {
    fn build(self, limits: RateLimits) -> Box<dyn RateController> {
        Box::new(Copa::new(self, limits))
    }
}

/// See the module.
#[derive(Debug, Clone)]
pub struct Copa {
    limits: RateLimits,
    trips: RoundTrips,
    delta: Delta,
    window: Window,
    held: Held,
    probe: ProbeRtt,
    reduce_on_loss: Option<ReduceOnLoss>,
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
            delta: Delta::new(options.delta, options.mode == Mode::Competitive),
            window: Window::new(),
            held: Held::default(),
            probe: ProbeRtt::new(options.probe_rtt),
            reduce_on_loss: options.reduce_on_loss.then(ReduceOnLoss::default),
            last_heard: None,
            silent: false,
            next_check: None,
        }
    }

    fn on_received(&mut self, at: Instant, sample: Duration, size: Bytes) {
        let first = self.trips.smoothed().is_none();
        self.trips.insert(at, sample);
        self.delta.on_sample(at, &self.trips);
        self.probe.on_sample(at, &self.trips);
        if self.probe.is_draining() {
            return;
        }
        let smoothed = self.trips.smoothed().unwrap_or(sample);
        let queue = self.trips.standing_queue().as_secs_f64();
        let standing = self.trips.standing().as_secs_f64();
        // window/standing < 1/(delta queue), without a division by a queue of zero.
        let delta = self.delta.get();
        let below = self.window.packets() * delta * queue <= standing;
        // A peer has no say in sizes, but a share beyond a few packets would break the step's bound.
        let share = (size.as_f64() / PACKET_BYTES).min(2.0);
        self.window.on_acknowledged(at, share, below, delta, smoothed);
        let packets = |rate| (self.needed(rate, smoothed) / PACKET_BYTES).max(1.0);
        let min = packets(if first { self.limits.start } else { self.limits.min });
        self.window.clamp(min, packets(self.limits.max));
    }

    /// Bytes that are in flight or not yet reported at this rate, at most.
    fn needed(&self, rate: Rate, round_trip: Duration) -> f64 {
        let span = round_trip + self.limits.frame_interval + FEEDBACK_INTERVAL;
        rate.as_bps_f64() * span.as_secs_f64() / 8.0
    }

    fn silence(&self) -> Duration {
        let trips = self.trips.smoothed().unwrap_or(Duration::ZERO) * SILENT_ROUND_TRIPS;
        trips.max(SILENCE)
    }

    fn window_bits(&self) -> f64 {
        self.window.packets() * PACKET_BYTES * 8.0
    }

    fn window_size(&self) -> Bytes {
        let window = Bytes::from_f64(self.window.packets() * PACKET_BYTES);
        let RateLimits { min, max, .. } = self.limits;
        if self.probe.is_draining() {
            let held = (min * self.trips.min()).max(Bytes::new(2 * PACKET_BYTES as u64));
            return window.min(held);
        }
        let smoothed = self.trips.smoothed().unwrap_or(Duration::ZERO);
        if self.window_bits() < max.as_bps_f64() * smoothed.as_secs_f64() {
            return window;
        }
        window.max(Bytes::from_f64(self.needed(max, smoothed)))
    }

    fn reduce_on_loss(&mut self, now: Instant, reports: &[PacketReport]) {
        let Some(smoothed) = self.trips.smoothed() else { return };
        let Some(reduce) = &mut self.reduce_on_loss else { return };
        reports.iter().for_each(|report| reduce.count(report.arrival.is_none()));
        if let Some(factor) = reduce.factor(now, smoothed) {
            self.window.reduce(factor);
        }
    }

    fn bitrate(&self) -> Rate {
        let Some(smoothed) = self.trips.smoothed() else {
            return self.limits.clamp(self.limits.start);
        };
        if self.silent || self.probe.is_draining() {
            return self.limits.clamp(self.limits.min);
        }
        let rate = Rate::from_bps_f64(self.window_bits() / smoothed.as_secs_f64());
        let (interval, held) = (self.limits.frame_interval, &self.held);
        let lacking = held.lacking(self.window_size()) / (interval * LACKING_FRAMES);
        let late = held.late() / (interval * LATE_FRAMES);
        self.limits.clamp((rate + lacking).saturating_sub(late))
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
    let sane = !held.is_negative() && trip > Duration::ZERO && trip <= MAX_ROUND_TRIP;
    sane.then_some((at, trip))
}

impl RateController for Copa {
    fn name(&self) -> &'static str {
        "copa"
    }

    fn feedback_style(&self) -> FeedbackStyle {
        FeedbackStyle::Interval(FEEDBACK_INTERVAL)
    }

    fn on_notice(&mut self, _now: Instant, notice: &Notice) {
        if let Notice::FrameInterval(interval) = notice {
            self.limits.frame_interval = *interval;
        }
    }

    fn sends_in_parts(&self) -> bool {
        true
    }

    fn on_frame(&mut self, now: Instant, frame: &FrameSent) {
        self.held.on_frame(now, frame, self.limits.frame_interval);
    }

    fn on_sent(&mut self, now: Instant, packet: &SentPacket) {
        self.held.on_sent(now, packet, self.limits.frame_interval);
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
        self.reduce_on_loss(now, batch.reports);
        self.held.on_feedback(now, batch.in_flight, self.limits.frame_interval);
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
        Target::new(self.bitrate(), Pacing::Rate(self.pacing_rate()))
            .with_window(known.then_some(self.window_size()))
    }

    fn observe(&self, sink: &mut dyn FnMut(&str, f64)) {
        let smoothed = self.trips.smoothed().unwrap_or(Duration::ZERO);
        sink("target_bps", self.bitrate().as_bps_f64());
        sink("pacing_bps", self.pacing_rate().as_bps_f64());
        sink("window_bytes", self.window.packets() * PACKET_BYTES);
        sink("smoothed_rtt_ms", smoothed.as_millis_f64());
        sink("min_rtt_ms", self.trips.min().as_millis_f64());
        sink("standing_queue_ms", self.trips.standing_queue().as_millis_f64());
        sink("velocity", self.window.velocity());
        sink("delta", self.delta.get());
        sink("competitive", f64::from(u8::from(self.delta.is_competitive())));
        sink("probe_rtt", f64::from(u8::from(self.probe.is_draining())));
        sink("slow_start", f64::from(u8::from(self.window.in_slow_start())));
        sink("late_bytes", self.held.late().as_f64());
    }
}

#[cfg(test)]
mod tests;
