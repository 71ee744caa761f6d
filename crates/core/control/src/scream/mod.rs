//! SCReAM version 2: self-clocked rate adaptation for multimedia.
//!
//! Source: draft-ietf-ccwg-rfc8298bis-screamv2, working group version -00, read in the editors' copy at commit 00d8f51;
//! Ericsson's C++ (`ScreamV2Tx`, 0208f59 of November 2025 and its state of March 2026) and libwebrtc (`scream_v2`) for facts
//! where the draft is silent. The code is ours.
//!
//! Model: a reference window says how many bytes should be in flight (`reference_window`); loss, marks
//! (`l4s_alpha`) and queueing delay (`queue_delay`) cut it, acknowledged bytes make it grow. The target
//! bitrate is the window per round trip, less some (`media`); up to 1.5 to 3 windows may be in flight
//! (`in_flight`), the more the calmer the delay is.
//!
//! Two sets of rules, by the option `version`; `version` (the module) has their differences in a table. The draft's is the
//! default: it is the specification, its versions have numbers and dates, and libwebrtc follows it. The reference is what
//! Ericsson's programs do; these change without a number. Beside others it matters: in the four conditions of
//! `experiments/ecgp` with steady frames the programs of 30 June 2026 send 21.6, 25.9, 31.4 and 3.3 Mb/s, `reference`
//! 21.4, 22.8, 35.3 and 3.4 and `draft` 13.2, 14.2, 36.3 and 3.4.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | virtual RTT | 25 ms | draft, C++ |
//! | queue delay target | 60 ms (option) | draft, and the C++'s test tool; its library: 100 ms |
//! | least window overhead | 1.5 | draft, C++ |
//! | near the largest bitrate (reference) | 0.95 of it | C++ |
//! | feedback interval (draft) | 5 ms | between the draft's limits: each 16 packets (8 ms at 25 Mb/s), at most 40 ms |
//!
//! | Deviation | Why |
//! |---|---|
//! | Begins at the start bitrate: the window is what that needs at 50 ms, then at the first RTT measured | the draft begins with the least window, the C++ with 100 ms of the start bitrate, and the lab gives every controller a start |
//! | RTT without the receiver's holding time, a sample per report | the report interval is not the path's; a slow RTT would let the target lag behind the queue |
//! | At the largest bitrate, and where the RTT is shorter than the report interval, the send window is that of an RTT of both | without the holding time the RTT does not say how late a report is: on loopback a frame of 40 Mb/s took 14.7 ms instead of 11.1, and 9.9 with 1.5 times the bitrate in place of the draft's 1.5 to 3 |
//! | What counts as lost is the session's judgement | the lab's sessions share one reordering rule |
//! | Reacts to reports only; in silence the window closes and reopens after 0.5 s | as draft and C++ |
//! | One stream, no priorities, no frame skipping | the draft leaves both to the application |
//! | Reference: a report within a frame comes 10 ms after the oldest unreported packet, not with each 32nd packet | the session's reports at the end of frames; at 20 to 35 Mb/s it is the same |
//! | Reference: loss and classic marks keep what the options say, the draft's values | the C++'s library and its test tool differ: `reference_window` |
//! | Reference: bytes are those of the wire, not of RTP | one unit for all controllers |
//! | Reference: what changed after March 2026 is not in it (since 30 April the smoothed RTT is slower while little is in flight) | not available to us |
//!
//! More tables are in the modules.

mod drain;
mod exchange;
mod in_flight;
mod inflection;
mod l4s_alpha;
mod media;
mod queue_delay;
mod reference_window;
mod round_trip;
mod segment;
mod version;

use crate::{
    ControllerAlgorithm, FeedbackBatch, FeedbackStyle, FrameSent, Notice, RateController,
    RateLimits, SentPacket, SequenceNumber, Target,
};
use drain::Drain;
pub use exchange::ScreamRule;
use gameway_units::declared::{Configuration, on_off};
use gameway_units::{Bytes, Duration, Ecn, Instant, Rate};
use in_flight::InFlight;
pub use l4s_alpha::AlphaFilter;
use l4s_alpha::L4sAlpha;
use media::MediaRate;
use queue_delay::QueueDelay;
pub use reference_window::EcnMode;
use reference_window::{PathState, ReferenceWindow, Settings};
use round_trip::RoundTrip;
use schemars::JsonSchema;
use segment::LargestPacket;
use serde::{Deserialize, Serialize};
use version::Rules;
pub use version::ScreamVersion;

const VIRTUAL_RTT: Duration = Duration::from_millis(25);
const MIN_OVERHEAD: f64 = 1.5;
const NEAR_LARGEST: f64 = 0.95;

/// Constants that can be set.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ScreamOptions {
    /// whose rules: draft, reference (Ericsson's programs)
    pub version: ScreamVersion,
    /// one rule is the other version's, to see what it does
    #[schemars(extend("x-none" = "none"))]
    pub exchanged: Option<ScreamRule>,
    /// how to read congestion marks
    pub ecn: EcnMode,
    /// reactions to queueing delay begin at half of this
    #[schemars(extend("x-min" = "1 ms", "x-max" = "10 s"))]
    pub queue_delay_target: Duration,
    /// share of the window kept after a loss
    #[schemars(range(min = 0.1, max = 1.0))]
    pub loss_beta: f64,
    /// share of the window kept after a classic mark
    #[schemars(range(min = 0.1, max = 1.0))]
    pub ecn_beta: f64,
    /// average of the share of marks: fast-attack (draft), symmetric (DCTCP)
    pub alpha_filter: AlphaFilter,
    /// grow and back off less while the delay varies (optional in the draft)
    #[serde(with = "on_off")]
    #[schemars(with = "on_off::Switch")]
    pub variation_damping: bool,
    /// packets leave at least at this multiple of the target, where the version's pacing is slower
    #[schemars(range(min = 1.0, max = 100.0))]
    pub min_pacing_factor: f64,
}

impl Default for ScreamOptions {
    fn default() -> Self {
        Self {
            version: ScreamVersion::default(),
            exchanged: None,
            ecn: EcnMode::L4s,
            queue_delay_target: Duration::from_millis(60),
            loss_beta: 0.7,
            ecn_beta: 0.8,
            alpha_filter: AlphaFilter::default(),
            variation_damping: true,
            min_pacing_factor: 1.0,
        }
    }
}

impl Configuration for ScreamOptions {
    const NAME: &'static str = "scream";
    const SUMMARY: &'static str =
        "SCReAM version 2: a window cut by loss, marks (L4S) and queueing delay";
    const SOURCE: &'static str = "draft-ietf-ccwg-rfc8298bis-screamv2; Ericsson's C++";
}

impl ControllerAlgorithm for ScreamOptions {
    fn build(self, limits: RateLimits) -> Box<dyn RateController> {
        Box::new(Scream::new(self, limits))
    }
}

/// What a report adds up to.
#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    received: u64,
    marked: u64,
    lost: bool,
    acknowledged_unmarked: f64,
    newest_one_way: Option<Duration>,
}

/// See the module.
#[derive(Debug, Clone)]
pub struct Scream {
    options: ScreamOptions,
    rules: Rules,
    in_flight: InFlight,
    queue_delay: QueueDelay,
    alpha: L4sAlpha,
    window: ReferenceWindow,
    media: MediaRate,
    round_trip: RoundTrip,
    max_packet: LargestPacket,
    drain: Drain,
    max_acknowledged: Option<SequenceNumber>,
}

impl Scream {
    /// With `options`, for a stream with `limits`.
    #[must_use]
    pub fn new(options: ScreamOptions, limits: RateLimits) -> Self {
        let rules = exchange::rules(options.version, options.exchanged);
        let media = MediaRate::new(rules.media, options.min_pacing_factor, limits);
        let settings = Settings {
            ecn: options.ecn,
            loss_beta: options.loss_beta,
            ecn_beta: options.ecn_beta,
            delay_target_secs: options.queue_delay_target.as_secs_f64().max(1e-6),
        };
        let round_trip = RoundTrip::new(rules.rtt_twice);
        let first = media.window_for_start(round_trip.smoothed());
        Self {
            options,
            rules,
            in_flight: InFlight::new(rules.in_flight_round),
            queue_delay: QueueDelay::new(rules.delay),
            alpha: L4sAlpha::new(
                options.alpha_filter,
                rules.first_alpha,
                rules.alpha_keeps_schedule,
            ),
            window: ReferenceWindow::new(rules.window, settings, first),
            media,
            round_trip,
            max_packet: LargestPacket::default(),
            drain: Drain::default(),
            max_acknowledged: None,
        }
    }

    /// Counts a report. Acknowledged is all that the highest number received has moved past, lost
    /// packets included, as the draft wants it.
    fn tally(&mut self, now: Instant, batch: &FeedbackBatch<'_>) -> Tally {
        let mut tally = Tally::default();
        let before = self.max_acknowledged;
        let received = batch.reports.iter().filter(|report| report.arrival.is_some());
        self.max_acknowledged = before.max(received.map(|r| r.packet.sequence).max());
        for report in batch.reports {
            let marked = report.arrival.is_some() && report.ecn == Ecn::Ce;
            let sequence = Some(report.packet.sequence);
            if sequence > before && sequence <= self.max_acknowledged && !self.heeds(marked) {
                tally.acknowledged_unmarked += report.packet.size.as_f64();
            }
            tally.lost |= report.arrival.is_none();
            let Some(arrival) = report.arrival else { continue };
            tally.received += 1;
            tally.marked += u64::from(marked);
            let one_way = arrival.one_way_delay_since(report.packet.sent);
            self.queue_delay.on_packet(now, report.packet.sent, arrival);
            tally.newest_one_way = Some(one_way);
        }
        tally
    }

    /// Whether a mark is there and not ignored.
    fn heeds(&self, marked: bool) -> bool {
        marked && self.options.ecn != EcnMode::Off
    }

    fn smoothed_rtt(&self) -> Duration {
        self.round_trip.smoothed()
    }

    fn variation_headroom(&self) -> f64 {
        if self.options.variation_damping { self.queue_delay.headroom() } else { 1.0 }
    }

    fn path_state(&self) -> PathState {
        PathState {
            smoothed_rtt: self.smoothed_rtt(),
            delay_secs: self.queue_delay.current_secs(),
            average_delay_secs: self.queue_delay.average_secs(),
            variation_headroom: self.variation_headroom(),
            l4s_alpha: self.alpha.get(),
            drains_already: self.alpha.all_marked() && self.round_trip.falls(),
            max_in_flight_before: self.in_flight.max_of_previous_round().map(Bytes::as_f64),
            max_in_flight: self.in_flight.max_of_two_rounds().as_f64(),
            at_largest_bitrate: self.media.at_largest(),
        }
    }

    /// More than the reference window may be in flight, so that uneven frames need not wait.
    fn overhead(&self) -> f64 {
        MIN_OVERHEAD + (self.rules.max_overhead - MIN_OVERHEAD) * self.queue_delay.headroom()
    }

    /// Near the largest bitrate the window must not run ahead of what is in flight.
    fn bound_window(&mut self) {
        if self.rules.window.bounded_at_largest && self.media.share_of_largest() > NEAR_LARGEST {
            let used = self.in_flight.max_of_late().as_f64();
            self.window.bound(used.max(self.media.window_for_largest(self.smoothed_rtt())));
        }
    }

    fn drain_queue(&mut self, now: Instant) {
        if !self.rules.drains {
            return;
        }
        let target = self.options.queue_delay_target.as_secs_f64();
        let minima = self.queue_delay.minima_secs();
        if self.drain.on_report(now, minima, target, self.smoothed_rtt()) {
            self.queue_delay.forget_base();
        }
    }

    fn target_bitrate(&self) -> Rate {
        let halved = self.media.target().mul_f64(self.drain.share());
        if self.drain.share() < 1.0 { self.media.clamp(halved) } else { self.media.target() }
    }

    fn send_window(&self) -> Bytes {
        let segments = self.rules.overhead_segments * self.window.segment();
        let allowed = Bytes::from_f64(self.window.bytes() * self.overhead() + segments);
        allowed.max(self.room_between_reports()).saturating_add(self.in_flight.written_off())
    }

    /// What may be in flight at the largest bitrate by the round trip that the draft measures, which has the time until a
    /// report in it, where that is the longer part of it.
    fn room_between_reports(&self) -> Bytes {
        let interval = self.rules.report_interval.unwrap_or(self.media.frame_interval());
        let rtt = self.smoothed_rtt();
        if rtt >= interval || self.media.share_of_largest() <= NEAR_LARGEST {
            return Bytes::ZERO;
        }
        let on_average = self.media.bytes_at_largest(rtt.saturating_add(interval));
        Bytes::from_f64(self.overhead() * on_average)
    }
}

impl RateController for Scream {
    fn name(&self) -> &'static str {
        "scream"
    }

    fn feedback_style(&self) -> FeedbackStyle {
        self.rules.report_interval.map_or(FeedbackStyle::PerFrame, FeedbackStyle::Interval)
    }

    fn on_notice(&mut self, _now: Instant, notice: &Notice) {
        if let Notice::FrameInterval(interval) = notice {
            self.media.set_frame_interval(*interval);
        }
    }

    fn ecn(&self) -> Ecn {
        match self.options.ecn {
            EcnMode::Off => Ecn::NotEct,
            EcnMode::Classic => Ecn::Ect0,
            EcnMode::L4s => Ecn::Ect1,
        }
    }

    fn sends_in_parts(&self) -> bool {
        true
    }

    fn on_frame(&mut self, now: Instant, frame: &FrameSent) {
        self.media.on_frame(now, frame);
    }

    fn on_sent(&mut self, now: Instant, packet: &SentPacket) {
        self.in_flight.on_sent(now, packet.size);
        let (largest, anew) = self.max_packet.on_sent(now, packet.size.as_f64());
        self.window.on_segment(largest, anew);
        self.media.on_sent(packet);
    }

    fn on_feedback(&mut self, now: Instant, batch: &FeedbackBatch<'_>) {
        if batch.reports.is_empty() {
            return;
        }
        let tally = self.tally(now, batch);
        if let Some(sample) = batch.round_trip_time(now) {
            self.window.scale(self.round_trip.on_sample(now, sample));
        }
        let smoothed_rtt = self.smoothed_rtt();
        self.in_flight.on_report(now, batch.in_flight, smoothed_rtt);
        if let Some(newest) = tally.newest_one_way {
            let ratio = self.window.segment_ratio();
            self.queue_delay.on_report(now, newest, smoothed_rtt, ratio);
        }
        self.alpha.on_report(now, smoothed_rtt, tally.received, tally.marked);
        let path = self.path_state();
        self.window.note(now, tally.lost, tally.marked > 0, &path);
        self.window.react(now, &path);
        self.window.grow(now, tally.acknowledged_unmarked, &path);
        self.bound_window();
        self.media.update(&self.window, smoothed_rtt);
        self.drain_queue(now);
    }

    fn on_timer(&mut self, now: Instant) {
        self.in_flight.on_timer(now);
    }

    fn next_timer(&self) -> Option<Instant> {
        self.in_flight.next_timer()
    }

    fn target(&self) -> Target {
        Target::new(self.target_bitrate(), self.media.pacing())
            .with_window(Some(self.send_window()))
    }

    fn observe(&self, sink: &mut dyn FnMut(&str, f64)) {
        sink("target_bps", self.target_bitrate().as_bps_f64());
        sink("reference_window_bytes", self.window.bytes());
        sink("inflection_window_bytes", self.window.inflection());
        sink("send_window_bytes", self.send_window().as_f64());
        sink("in_flight_bytes", self.in_flight.bytes().as_f64());
        sink("smoothed_rtt_ms", self.smoothed_rtt().as_millis_f64());
        sink("queue_delay_ms", self.queue_delay.current_secs() * 1e3);
        sink("average_queue_delay_ms", self.queue_delay.average_secs() * 1e3);
        sink("delay_headroom", self.queue_delay.headroom());
        sink("l4s_alpha", self.alpha.get());
        sink("wait_adjustment", self.media.wait_adjustment());
        sink("frame_excess", self.media.frame_excess());
        sink("drain_share", self.drain.share());
    }
}

#[cfg(test)]
mod tests;
