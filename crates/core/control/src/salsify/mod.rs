//! The rate part of Salsify: each frame may be as large as the path will take within a set delay.
//!
//! Source: Fouladi, Emmons, Orbay, Wu, Wahby and Winstein, "Salsify: Low-Latency Network Video through
//! Tighter Integration between a Video Codec and a Transport Protocol", NSDI 2018, section 3.2
//! (transport); constants from its code, alfalfa (facts only); the delay D as the baseline of Wang et al.,
//! Pudica, NSDI 2024 had it.
//!
//! Model: the receiver averages the gap between packets, less the sender's pauses between frames
//! (`arrival_gap`). D/gap packets are what the path delivers within D; less those in flight, that is the
//! budget of the next frame. Frames leave in packets a fifth of the gap apart, so the gap that comes back
//! is that of the link, not of the sender. No window, no reaction to loss as such; beside a flow that fills the queue whatever
//! happens, gaps are short and most is lost. The option `reduce_on_loss` bounds the bitrate then (`loss_bound`).
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | weight of a gap | 0.1 | alfalfa |
//! | D | frame interval + least round trip (`delay = "auto"`); the paper and alfalfa have 100 ms | Pudica's baseline |
//! | window of the least round trip | the stream's life | ours: the queue may never empty, and what is forgotten of the empty path would be added to D, then to the queue |
//! | packets leave | a fifth of the gap apart, at most 2 ms | alfalfa |
//! | packet | 1248 B | 1200 B of payload and 48 B of headers; alfalfa has 1400 B |
//! | feedback interval | 5 ms | alfalfa acknowledges each packet; see the third deviation |
//! | first gap | a packet at the start rate | ours |
//!
//! | Deviation | Why |
//! |---|---|
//! | The budget is given as a bitrate, budget over frame interval, within the stream's limits | the trait's unit; a frame of a game cannot be skipped, so a budget of zero is the least bitrate |
//! | No floor of 0.5 ms between packets | it would hold the stream below 22 Mb/s |
//! | What is in flight is projected from the last report to the next frame: less what leaves at one packet a gap | packets that arrived but wait for a report of every 5 ms would count as in flight |
//! | Bytes and fractions, not whole packets | rounding down costs up to a packet a frame: 3 % at 20 Mb/s |
//! | The least round trip stands for Pudica's D_min | one-way delays need equal clocks, and a packet counts as in flight until its report is back |
//! | A pause is subtracted at the first packet of a frame that arrives, not only at the frame's first | a lost first packet would make a pause of the sender look like a slow link |
//! | No recovery mode of the encoder after loss | that is the codec's part |

pub(crate) mod arrival_gap;

use crate::loss_bound::LossBound;
use crate::{
    ControllerAlgorithm, FeedbackBatch, FeedbackStyle, FrameSent, Notice, Pacing, PacketKind,
    RateController, RateLimits, SentPacket, Target,
};
use arrival_gap::{ArrivalGap, PACKET};
use gameway_units::declared::{Configuration, on_off};
use gameway_units::{Bytes, Duration, Instant, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const FEEDBACK_INTERVAL: Duration = Duration::from_millis(5);
/// A round trip beyond this is a clock that jumped.
const MAX_ROUND_TRIP: Duration = Duration::from_secs(60);

/// Constants that can be set.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SalsifyOptions {
    /// what is in flight may take this long to arrive (100 ms in Salsify); auto: frame interval and least round trip, as in
    /// Pudica
    #[schemars(extend("x-min" = "1 ms", "x-max" = "1 s", "x-none" = "auto"))]
    pub delay: Option<Duration>,
    /// a bound as GCC's loss-based rate once more than a tenth is lost; not in the paper
    #[serde(with = "on_off")]
    #[schemars(with = "on_off::Switch")]
    pub reduce_on_loss: bool,
}

impl Configuration for SalsifyOptions {
    const NAME: &'static str = "salsify";
    const SUMMARY: &'static str =
        "budget of the next frame from the gaps between arrivals; queues up to a set delay";
    const SOURCE: &'static str = "Fouladi et al., Salsify, NSDI 2018; its code, alfalfa";
}

impl ControllerAlgorithm for SalsifyOptions {
    fn build(self, limits: RateLimits) -> Box<dyn RateController> {
        Box::new(Salsify::new(self, limits))
    }
}

/// See the module.
#[derive(Debug, Clone)]
pub struct Salsify {
    options: SalsifyOptions,
    limits: RateLimits,
    gap: ArrivalGap,
    min_round_trip: Option<Duration>,
    /// Sent and not reported.
    in_flight: Bytes,
    /// Encoded and not sent.
    waiting: Bytes,
    newest_frame: Option<(u64, Instant)>,
    /// What will be in flight when the next frame comes, in packets.
    projected: f64,
    loss_bound: LossBound,
}

impl Salsify {
    /// A controller for a stream with these limits.
    #[must_use]
    pub fn new(options: SalsifyOptions, limits: RateLimits) -> Self {
        Self {
            options,
            limits,
            gap: ArrivalGap::of_rate(limits.clamp(limits.start)),
            min_round_trip: None,
            in_flight: Bytes::ZERO,
            waiting: Bytes::ZERO,
            newest_frame: None,
            projected: 0.0,
            loss_bound: LossBound::new(options.reduce_on_loss),
        }
    }

    /// D; `None` while nothing is known of the path.
    fn delay(&self) -> Option<Duration> {
        let min = self.min_round_trip?;
        Some(self.options.delay.unwrap_or(self.limits.frame_interval + min))
    }

    /// Packets that the next frame may have.
    fn budget(&self) -> Option<f64> {
        Some((self.delay()?.as_secs_f64() / self.gap.secs() - self.projected).max(0.0))
    }

    fn bitrate(&self) -> Rate {
        let Some(packets) = self.budget() else { return self.limits.clamp(self.limits.start) };
        let bits = packets * PACKET.as_f64() * 8.0;
        let interval = self.limits.frame_interval.as_secs_f64();
        self.limits.clamp(Rate::from_bps_f64(bits / interval))
    }

    fn project(&mut self, now: Instant) {
        let since = self.newest_frame.map_or(Duration::ZERO, |(_, at)| now.saturating_since(at));
        let left = self.limits.frame_interval.saturating_sub(since);
        let left = left.max(Duration::ZERO).min(self.limits.frame_interval).as_secs_f64();
        let unreported = self.in_flight.saturating_add(self.waiting).as_f64() / PACKET.as_f64();
        self.projected = (unreported - left / self.gap.secs()).max(0.0);
    }
}

impl RateController for Salsify {
    fn name(&self) -> &'static str {
        "salsify"
    }

    fn feedback_style(&self) -> FeedbackStyle {
        FeedbackStyle::Interval(FEEDBACK_INTERVAL)
    }

    fn on_notice(&mut self, _now: Instant, notice: &Notice) {
        if let Notice::FrameInterval(interval) = notice {
            self.limits.frame_interval = *interval;
        }
    }

    fn on_frame(&mut self, now: Instant, frame: &FrameSent) {
        self.newest_frame = Some((frame.frame.0, now));
        self.waiting = self.waiting.saturating_add(frame.size);
        self.project(now);
    }

    fn on_sent(&mut self, now: Instant, packet: &SentPacket) {
        self.in_flight = self.in_flight.saturating_add(packet.size);
        if matches!(packet.kind, PacketKind::Media | PacketKind::Repair) {
            self.waiting = self.waiting.saturating_sub(packet.size);
            let newest = self.newest_frame.is_some_and(|(frame, _)| frame == packet.frame.0);
            if newest && packet.last_of_frame {
                self.waiting = Bytes::ZERO;
            }
        }
        self.project(now);
    }

    fn on_feedback(&mut self, now: Instant, batch: &FeedbackBatch<'_>) {
        for report in batch.reports {
            let Some(arrival) = report.arrival else { continue };
            self.gap.on_packet(&report.packet, arrival);
            let held = batch.generated.saturating_since(arrival);
            let trip = now.saturating_sub(held).saturating_since(report.packet.sent);
            if !held.is_negative() && trip > Duration::ZERO && trip <= MAX_ROUND_TRIP {
                let min = self.min_round_trip.map_or(trip, |min| min.min(trip));
                self.min_round_trip = Some(min);
            }
        }
        self.in_flight = batch.in_flight;
        self.project(now);
        self.loss_bound.on_feedback(now, batch, self.bitrate());
    }

    fn on_timer(&mut self, _now: Instant) {}

    fn next_timer(&self) -> Option<Instant> {
        None
    }

    fn target(&self) -> Target {
        let bitrate = self.limits.clamp(self.loss_bound.limit(self.bitrate()));
        Target::new(bitrate, Pacing::Rate(self.gap.pacing_rate()))
            .asking(|requests| requests.bounds_frame = true)
    }

    fn observe(&self, sink: &mut dyn FnMut(&str, f64)) {
        let min = self.min_round_trip.unwrap_or(Duration::ZERO);
        sink("target_bps", self.target().bitrate.as_bps_f64());
        sink("pacing_bps", self.gap.pacing_rate().as_bps_f64());
        sink("arrival_gap_us", self.gap.secs() * 1e6);
        sink("min_rtt_ms", min.as_millis_f64());
        sink("delay_ms", self.delay().unwrap_or(Duration::ZERO).as_millis_f64());
        sink("projected_packets", self.projected);
        sink("budget_packets", self.budget().unwrap_or(0.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FrameId, PacketReport, SequenceNumber};
    use gameway_units::ReceiverInstant;
    use gameway_units::declared::{self, OptionError, Options};

    fn limits() -> RateLimits {
        RateLimits {
            min: Rate::from_mbps(1),
            max: Rate::from_mbps(50),
            start: Rate::from_mbps(5),
            frame_interval: Duration::from_millis(16),
        }
    }

    fn options(delay: &str) -> Result<Salsify, OptionError> {
        let options = Options::from_iter([("delay".to_owned(), delay.into())]);
        declared::read(&options).map(|options| Salsify::new(options, limits()))
    }

    /// A hundred packets 1 ms apart, reported at the end with `in_flight` packets of a frame that came
    /// 16 ms ago; the way takes 10 ms there and 10 ms back.
    fn steady(mut salsify: Salsify, in_flight: u64) -> Salsify {
        let reports: Vec<_> = (0..100)
            .map(|index| {
                PacketReport::new(
                    SentPacket::new(
                        SequenceNumber(index),
                        Instant::ZERO + Duration::from_millis(index as i64),
                        FrameId(0),
                        PACKET,
                    )
                    .with_first_of_frame(index == 0),
                    Some(ReceiverInstant::from_nanos((index as i64 + 10) * 1_000_000)),
                )
            })
            .collect();
        let generated = ReceiverInstant::from_nanos(109_000_000);
        salsify.newest_frame = Some((0, Instant::ZERO + Duration::from_millis(103)));
        let batch = FeedbackBatch::new(&reports, generated, PACKET * in_flight);
        salsify.on_feedback(Instant::ZERO + Duration::from_millis(119), &batch);
        salsify
    }

    #[test]
    fn the_budget_is_what_arrives_within_the_delay_less_what_is_in_flight() {
        for (delay, packets) in [("auto", 36.0), ("100 ms", 100.0)] {
            let budget = |in_flight| {
                let salsify = options(delay).map(|salsify| steady(salsify, in_flight));
                salsify.ok().and_then(|salsify| salsify.budget()).unwrap_or_default()
            };
            assert!((budget(0) - packets).abs() < 0.01, "{delay} {}", budget(0));
            let bitrate = options(delay).map(|salsify| steady(salsify, 10).bitrate());
            let expected = ((packets - 10.0) * 1_248.0 * 8.0 / 16e3).min(50.0);
            let bitrate = bitrate.map_or(0.0, Rate::as_mbps_f64);
            assert!((bitrate - expected).abs() < 0.01, "{delay} {bitrate}");
            assert!((budget(20) - packets + 20.0).abs() < 0.01);
            assert!(budget(101).abs() < 1e-9);
        }
    }

    #[test]
    fn packets_leave_a_fifth_of_the_gap_apart_and_at_most_two_milliseconds() {
        let Ok(mut salsify) = options("auto") else { panic!("the default is allowed") };
        salsify = steady(salsify, 0);
        let space = salsify.gap.pacing_rate().time_for(PACKET).as_millis_f64();
        assert!((space - 0.2).abs() < 1e-3, "{space}");
        salsify.gap = ArrivalGap::new(Duration::from_secs(1));
        let space = salsify.gap.pacing_rate().time_for(PACKET).as_millis_f64();
        assert!((space - 2.0).abs() < 1e-3, "{space}");
    }

    #[test]
    fn a_delay_is_a_word_or_a_duration() {
        assert!(options("auto").is_ok() && options("50 ms").is_ok());
        assert!(options("50").is_err() && options("2 s").is_err() && options("often").is_err());
    }

    fn at(millis: i64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    fn packet(frame: u64, packets: u64) -> SentPacket {
        SentPacket::new(SequenceNumber(0), at(0), FrameId(frame), PACKET * packets)
    }

    /// The link carries a packet a millisecond, and the next frame comes 16 ms after this one.
    #[test]
    fn projected_is_what_has_not_arrived_less_what_the_link_carries_until_the_next_frame() {
        let mut salsify = steady(Salsify::new(SalsifyOptions::default(), limits()), 0);
        let frame = |number| FrameSent::new(FrameId(number), Rate::ZERO, PACKET * 40, 40);
        let near = |salsify: &Salsify, expected: f64| {
            assert!((salsify.projected - expected).abs() < 0.01, "{}", salsify.projected);
        };
        salsify.on_frame(at(200), &frame(1));
        near(&salsify, 24.0);
        salsify.on_sent(at(204), &packet(1, 1));
        near(&salsify, 28.0);
        salsify.on_frame(at(216), &frame(2));
        near(&salsify, 64.0);
        // With an older frame's last packet others still wait, with the newest one's nothing.
        salsify.on_sent(at(216), &packet(1, 1).with_last_of_frame(true));
        near(&salsify, 64.0);
        salsify.on_sent(at(216), &packet(2, 1));
        near(&salsify, 64.0);
        salsify.on_sent(at(232), &packet(2, 1).with_last_of_frame(true));
        near(&salsify, 4.0);
    }

    #[test]
    fn a_round_trip_is_without_the_receivers_time_and_between_nothing_and_a_minute() {
        let of = |held: i64, now: i64| {
            let mut salsify = Salsify::new(SalsifyOptions::default(), limits());
            let arrival = ReceiverInstant::from_nanos(9_000_000_000);
            let reports = [PacketReport::new(packet(0, 1), Some(arrival))];
            let generated = arrival + Duration::from_millis(held);
            salsify.on_feedback(at(now), &FeedbackBatch::new(&reports, generated, Bytes::ZERO));
            salsify.min_round_trip
        };
        assert_eq!(of(5, 25), Some(Duration::from_millis(20)));
        assert_eq!((of(-1, 25), of(25, 25), of(26, 25)), (None, None, None));
        assert_eq!((of(0, 60_000), of(0, 60_001)), (Some(MAX_ROUND_TRIP), None));
    }
}
