//! Network-Assisted Dynamic Adaptation (NADA).
//!
//! Source: RFC 8698, sections 4 and 5; where it leaves a choice, the authors' simulation (ns3-rmcat).
//!
//! Model: queueing delay, loss and marking add up to one congestion signal in milliseconds. Without queue
//! and loss the rate grows to a multiple of what arrives (accelerated ramp-up); else a proportional-
//! integral rule steers the signal to `PRIO XREF RMAX / rate` (gradual update), so that flows with the
//! same signal share by priority. Under recent loss long queueing delays count less (warping), so that the
//! flow does not starve beside loss-based traffic. A shaping buffer smooths what the encoder puts out.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | PRIO | 1, option `priority` | RFC 8698, Figure 3 |
//! | RMIN, RMAX | limits of the stream | Figure 3: of the application |
//! | XREF | 10 ms, option `xref` | Figure 3 |
//! | KAPPA, ETA | 0.5, 2 | Figure 3 |
//! | TAU | 500 ms | Figure 3 |
//! | DELTA | 100 ms | Figure 3 |
//! | LOGWIN, taps, loss intervals | see `statistics` | Figure 3, section 5.1 |
//! | QEPS | 10 ms, option `qeps` | Figure 3 |
//! | DFILT | 120 ms | Figure 3 |
//! | `GAMMA_MAX` | 0.5 | Figure 3 |
//! | QBOUND | 50 ms | Figure 3 |
//! | MULTILOSS | 7 | Figure 3 |
//! | QTH, LAMBDA | 50 ms, 0.5 | Figure 3 |
//! | PLRREF, PMRREF | 0.01, 0.01 | Figure 3 |
//! | DLOSS, DMARK | 10 ms, 2 ms | Figure 3 |
//! | ALPHA | 0.1 | Figure 3 |
//! | `BETA_S`, `BETA_V` | 0.1, 0.1 | Figure 3 |
//! | FPS | 1 / frame interval | Figure 3: of the video |
//! | XMAX | 500 ms | ns3-rmcat; the RFC sets no bound |
//! | shortest time between updates | 0.9 DELTA | ours: a report that is a little early is not skipped |
//! | longest delta | TAU | ours |
//!
//! | Deviation | Why |
//! |---|---|
//! | The receiver's part (x, ramp-up mode, receiving rate) is computed here, from reports of single packets | our feedback carries packets; the values are the same, half a round trip later |
//! | LOGWIN is counted in sending times, as in ns3-rmcat | a lost packet has no other |
//! | x is at most 500 ms | a loss ratio of 1 gives 100 s: the fall of x afterwards would lift the rate to RMAX at once |
//! | delta is at most TAU | after an outage of seconds one step of the integral would be the whole rate |
//! | XREF stays 10 ms although RMAX is high | it is the RFC's; the standing queue is `XREF RMAX / rate`: 25 ms at 20 of 50 Mb/s |
//! | A packet taken for lost that comes late counts as one more packet | the loss was acted on |
//! | Reports at other intervals than DELTA are gathered until DELTA has passed | the constants are made for it |
//! | Option `min_pacing_factor`: the shaping buffer sends faster than the target | section 5.2.2 spreads a frame over its interval, so that its last packet comes 16 ms after its first; 1, the default, is the RFC |
//! | The shaping buffer is the pacer; its length is reckoned from frames encoded and packets sent | the controller does not own it |
//!
//! A level of QTH or more holds only until something is lost: warped delays fall as the queue grows, and the
//! flow cycles into the buffer and back every five seconds (`tests/all/nada.rs`). So `PRIO XREF RMAX / rate`
//! should stay below 50 ms too.
//!
//! For games one wants a smaller `xref`, but `XREF RMAX / rate` must stay above QEPS, also at the highest
//! rate: below it the flow never rests, since each time that the queue is under QEPS for LOGWIN it ramps up
//! by about a fifth and builds a queue of up to QBOUND. So lower `qeps` with `xref`, as `xref` = `qeps`.

mod statistics;

use crate::{
    ControllerAlgorithm, FeedbackBatch, FeedbackStyle, FrameId, FrameSent, Notice, Pacing,
    PacketKind, RateController, RateLimits, SentPacket, Target,
};
use gameway_units::declared::Configuration;
use gameway_units::{Bytes, Duration, Instant, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use statistics::Statistics;

const KAPPA: f64 = 0.5;
const ETA: f64 = 2.0;
const TAU_MS: f64 = 500.0;
const DELTA: Duration = Duration::from_millis(100);
const DFILT: Duration = Duration::from_millis(120);
const GAMMA_MAX: f64 = 0.5;
const QBOUND_MS: f64 = 50.0;
const MULTILOSS: f64 = 7.0;
const QTH_MS: f64 = 50.0;
const LAMBDA: f64 = 0.5;
const PLRREF: f64 = 0.01;
const PMRREF: f64 = 0.01;
const DLOSS_MS: f64 = 10.0;
const DMARK_MS: f64 = 2.0;
const ALPHA: f64 = 0.1;
const BETA_S: f64 = 0.1;
const BETA_V: f64 = 0.1;
const XMAX_MS: f64 = 500.0;

/// Constants that can be set.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NadaOptions {
    /// reference congestion level: the queue stands at xref * max_bitrate / rate
    #[schemars(extend("x-min" = "0.1 ms", "x-max" = "1 s"))]
    pub xref: Duration,
    /// ramp up only while all queueing delays are below this, which should be at most xref
    #[schemars(extend("x-min" = "0.1 ms", "x-max" = "1 s"))]
    pub qeps: Duration,
    /// weight among NADA flows that share a link
    #[schemars(range(min = 0.01, max = 100.0))]
    pub priority: f64,
    /// packets leave at least at this multiple of the reference rate; at 1 the shaping buffer spreads a frame over its interval (the RFC)
    #[schemars(range(min = 1.0, max = 100.0))]
    pub min_pacing_factor: f64,
}

impl Default for NadaOptions {
    fn default() -> Self {
        let ms = Duration::from_millis(10);
        Self { xref: ms, qeps: ms, priority: 1.0, min_pacing_factor: 1.0 }
    }
}

/// Equation 1: the delay as it counts while losses are recent.
fn warped(delay_ms: f64) -> f64 {
    if delay_ms < QTH_MS {
        return delay_ms;
    }
    QTH_MS * libm::exp(-LAMBDA * (delay_ms - QTH_MS) / QTH_MS)
}

/// The delay, warped for MULTILOSS mean intervals after a loss event and blended back over one more.
/// `intervals` are the packets since the last event and the mean between events.
fn delay_signal(delay_ms: f64, intervals: Option<(f64, f64)>) -> f64 {
    let Some((since, mean)) = intervals else { return delay_ms };
    let expired = ((since - MULTILOSS * mean) / mean).clamp(0.0, 1.0);
    expired * delay_ms + (1.0 - expired) * warped(delay_ms)
}

/// Equation 2: delay, marking and loss in one number.
fn congestion_signal(delay_ms: f64, marking_ratio: f64, loss_ratio: f64) -> f64 {
    let (marking, loss) = (marking_ratio / PMRREF, loss_ratio / PLRREF);
    (delay_ms + DMARK_MS * marking * marking + DLOSS_MS * loss * loss).min(XMAX_MS)
}

/// Equations 3 and 4.
fn accelerated_ramp_up(reference: f64, receiving: f64, rtt: Duration) -> f64 {
    let reaction = rtt.saturating_add(DELTA).saturating_add(DFILT);
    let gamma = GAMMA_MAX.min(QBOUND_MS / reaction.as_millis_f64());
    reference.max((1.0 + gamma) * receiving)
}

/// Equations 5 to 7; `level_rate` is PRIO XREF RMAX in ms bit/s.
fn gradual_update(reference: f64, x: f64, x_before: f64, delta_ms: f64, level_rate: f64) -> f64 {
    let offset = x - level_rate / reference;
    let difference = x - x_before;
    let integral = KAPPA * (delta_ms / TAU_MS) * (offset / TAU_MS);
    let proportional = KAPPA * ETA * (difference / TAU_MS);
    reference - integral * reference - proportional * reference
}

impl Configuration for NadaOptions {
    const NAME: &'static str = "nada";
    const SUMMARY: &'static str =
        "RFC 8698: steers queueing delay, loss and marking to one level that falls with the rate";
    const SOURCE: &'static str = "RFC 8698";
}

impl ControllerAlgorithm for NadaOptions {
    fn build(self, limits: RateLimits) -> Box<dyn RateController> {
        Box::new(Nada::new(self, limits))
    }
}

/// See the module.
#[derive(Debug, Clone)]
pub struct Nada {
    limits: RateLimits,
    qeps: Duration,
    /// PRIO XREF RMAX in ms bit/s.
    level_rate: f64,
    frames_per_second: f64,
    min_pacing_factor: f64,
    statistics: Statistics,
    /// The reference rate in bit/s, within the limits.
    reference: f64,
    /// The congestion signal at the last update, in ms.
    signal: f64,
    loss_ratio: f64,
    marking_ratio: f64,
    rtt: Duration,
    ramping_up: bool,
    last_update: Option<Instant>,
    /// What waits in the shaping buffer.
    buffer: Bytes,
    newest_frame: FrameId,
    /// Of a frame that is still being encoded.
    sent_ahead: Bytes,
}

impl Nada {
    /// A controller for a stream with these limits.
    #[must_use]
    pub fn new(options: NadaOptions, limits: RateLimits) -> Self {
        let max = limits.clamp(limits.max).as_bps_f64();
        let frame_interval = limits.frame_interval.max(Duration::from_micros(1));
        Self {
            limits,
            qeps: options.qeps,
            level_rate: options.priority * options.xref.as_millis_f64() * max,
            frames_per_second: 1.0 / frame_interval.as_secs_f64(),
            min_pacing_factor: options.min_pacing_factor,
            statistics: Statistics::new(),
            reference: limits.clamp(limits.start).as_bps_f64().max(1.0),
            signal: 0.0,
            loss_ratio: 0.0,
            marking_ratio: 0.0,
            rtt: Duration::ZERO,
            ramping_up: true,
            last_update: None,
            buffer: Bytes::ZERO,
            newest_frame: FrameId(0),
            sent_ahead: Bytes::ZERO,
        }
    }

    /// The receiver's part of a report (section 4.2).
    fn summarize(&mut self) {
        let instantaneous = self.statistics.loss_ratio();
        self.loss_ratio += ALPHA * (instantaneous - self.loss_ratio);
        self.marking_ratio += ALPHA * (self.statistics.marking_ratio() - self.marking_ratio);
        let built_up = self.statistics.max_queue_delay().is_none_or(|queue| queue >= self.qeps);
        self.ramping_up = instantaneous == 0.0 && !built_up;
    }

    /// The sender's part (section 4.3).
    fn update(&mut self, delta: Duration) {
        let Some(queue) = self.statistics.queue_delay() else { return };
        let delay = delay_signal(queue.as_millis_f64(), self.statistics.loss_intervals());
        let before = self.signal;
        self.signal = congestion_signal(delay, self.marking_ratio, self.loss_ratio);
        let rate = if self.ramping_up {
            let receiving = self.statistics.receiving_rate().unwrap_or_default().as_bps_f64();
            accelerated_ramp_up(self.reference, receiving, self.rtt)
        } else {
            let delta = delta.as_millis_f64().min(TAU_MS);
            gradual_update(self.reference, self.signal, before, delta, self.level_rate)
        };
        self.reference = self.limits.clamp(Rate::from_bps_f64(rate)).as_bps_f64().max(1.0);
    }

    /// What the shaping buffer would be as a bitrate if a frame were as long (section 5.2).
    fn buffer_rate(&self) -> f64 {
        self.buffer.as_f64() * 8.0 * self.frames_per_second
    }
}

impl RateController for Nada {
    fn name(&self) -> &'static str {
        "nada"
    }

    fn feedback_style(&self) -> FeedbackStyle {
        FeedbackStyle::Interval(DELTA)
    }

    fn on_notice(&mut self, _now: Instant, notice: &Notice) {
        if let Notice::FrameInterval(interval) = notice {
            self.frames_per_second = 1.0 / (*interval).max(Duration::from_micros(1)).as_secs_f64();
        }
    }

    fn sends_in_parts(&self) -> bool {
        true
    }

    fn on_frame(&mut self, _now: Instant, frame: &FrameSent) {
        let ahead = std::mem::take(&mut self.sent_ahead);
        self.buffer = self.buffer.saturating_add(frame.size.saturating_sub(ahead));
        self.newest_frame = frame.frame;
    }

    fn on_sent(&mut self, _now: Instant, packet: &SentPacket) {
        if !matches!(packet.kind, PacketKind::Media | PacketKind::Repair) {
            return;
        }
        if packet.frame > self.newest_frame {
            self.sent_ahead = self.sent_ahead.saturating_add(packet.size);
            return;
        }
        let emptied = packet.last_of_frame && packet.frame >= self.newest_frame;
        let left = self.buffer.saturating_sub(packet.size);
        self.buffer = if emptied { Bytes::ZERO } else { left };
    }

    fn on_feedback(&mut self, now: Instant, batch: &FeedbackBatch<'_>) {
        if batch.reports.is_empty() {
            return;
        }
        for report in batch.reports {
            self.statistics.on_packet(now, report);
        }
        self.rtt = batch.round_trip_time(now).unwrap_or(self.rtt);
        let last = *self.last_update.get_or_insert(now.saturating_sub(DELTA));
        let delta = now.saturating_since(last);
        // A clock that went back starts anew.
        if delta < DELTA.mul_f64(0.9) && !delta.is_negative() {
            return;
        }
        self.last_update = Some(now);
        self.summarize();
        self.update(delta.max(Duration::ZERO));
    }

    fn on_timer(&mut self, _now: Instant) {}

    fn next_timer(&self) -> Option<Instant> {
        None
    }

    fn target(&self) -> Target {
        let waiting = self.buffer_rate();
        let video = Rate::from_bps_f64((self.reference - BETA_V * waiting).max(0.0));
        let sending = Rate::from_bps_f64(self.reference + BETA_S * waiting);
        let bitrate = self.limits.clamp(video);
        // Of the reference rate: what waits lowers the picture's, and must not slow down what waits.
        let reference = self.limits.clamp(Rate::from_bps_f64(self.reference));
        let pace = self.limits.clamp(sending).max(reference.mul_f64(self.min_pacing_factor));
        Target::new(bitrate, Pacing::Rate(pace))
    }

    fn observe(&self, sink: &mut dyn FnMut(&str, f64)) {
        sink("target_bps", self.target().bitrate.as_bps_f64());
        sink("reference_bps", self.reference);
        sink("congestion_signal_ms", self.signal);
        let queue = self.statistics.queue_delay().unwrap_or_default();
        sink("queue_delay_ms", queue.as_millis_f64());
        let receiving = self.statistics.receiving_rate().unwrap_or_default();
        sink("receiving_bps", receiving.as_bps_f64());
        sink("loss_ratio", self.loss_ratio);
        sink("marking_ratio", self.marking_ratio);
        sink("accelerated_ramp_up", f64::from(u8::from(self.ramping_up)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PacketReport, SequenceNumber};
    use gameway_units::{Ecn, ReceiverInstant};

    fn near(value: f64, expected: f64) -> bool {
        (value - expected).abs() <= 1e-9 * expected.abs().max(1.0)
    }

    #[test]
    fn long_delays_shrink_exponentially_beyond_the_threshold() {
        assert!(near(warped(49.0), 49.0));
        assert!(near(warped(50.0), 50.0));
        // 50 exp(-0.5) and 50 exp(-1)
        assert!(near(warped(100.0), 30.326_532_985_631_67));
        assert!(near(warped(150.0), 18.393_972_058_572_118));
    }

    #[test]
    fn warping_lasts_seven_mean_intervals_and_fades_over_one() {
        assert!(near(delay_signal(100.0, None), 100.0));
        let at = |since: f64| delay_signal(100.0, Some((since, 10.0)));
        assert!(near(at(1.0), 30.326_532_985_631_67));
        assert!(near(at(70.0), 30.326_532_985_631_67));
        assert!(near(at(75.0), 65.163_266_492_815_83)); // half of each
        assert!(near(at(80.0), 100.0));
        assert!(near(at(1e6), 100.0));
    }

    #[test]
    fn the_signal_adds_squares_of_marking_and_loss() {
        assert!(near(congestion_signal(12.0, 0.0, 0.0), 12.0));
        // 12 + 2 * 2^2 + 10 * 3^2
        assert!(near(congestion_signal(12.0, 0.02, 0.03), 110.0));
        assert!(near(congestion_signal(12.0, 0.0, 1.0), XMAX_MS));
    }

    #[test]
    fn ramp_up_is_bounded_by_the_queue_that_it_may_cause() {
        let ms = Duration::from_millis;
        // 50 / (30 + 100 + 120) = 0.2
        assert!(near(accelerated_ramp_up(1e6, 2e6, ms(30)), 2.4e6));
        assert!(near(accelerated_ramp_up(3e6, 2e6, ms(30)), 3e6));
        // 50 / (280 + 220) = 0.1; the bound of 0.5 needs a reaction time under 100 ms and never binds here
        assert!(near(accelerated_ramp_up(1e6, 2e6, ms(280)), 2.2e6));
    }

    #[test]
    fn gradual_update_by_hand() {
        // r = 20 Mb/s, XREF RMAX / r = 10 * 50 / 20 = 25 ms; x = 35 after 30; delta 100 ms:
        // 0.5 * 0.2 * 10/500 = 0.002; 1 * 5/500 = 0.01; r = 20 * (1 - 0.012) = 19.76
        assert!(near(gradual_update(20e6, 35.0, 30.0, 100.0, 10.0 * 50e6), 19.76e6));
        // At the level and without change it stays.
        assert!(near(gradual_update(20e6, 25.0, 25.0, 100.0, 10.0 * 50e6), 20e6));
        // Below: 0.5 * 0.2 * -25/500 = -0.005; -25/500 = -0.05; r = 20 * 1.055
        assert!(near(gradual_update(20e6, 0.0, 25.0, 100.0, 10.0 * 50e6), 21.1e6));
    }

    fn nada() -> Nada {
        with(NadaOptions::default())
    }

    fn with(options: NadaOptions) -> Nada {
        let limits = RateLimits {
            min: Rate::from_mbps(1),
            max: Rate::from_mbps(50),
            start: Rate::from_mbps(10),
            frame_interval: Duration::from_millis(20),
        };
        Nada::new(options, limits)
    }

    #[test]
    fn the_shaping_buffer_slows_the_encoder_and_speeds_the_pacer() {
        for (min_pacing_factor, kbps) in [(1.0, 11_000), (1.2, 12_000), (2.5, 25_000)] {
            let mut nada = with(NadaOptions { min_pacing_factor, ..NadaOptions::default() });
            // 25000 bytes at 50 frames a second are 10 Mb/s; a tenth of that is 1 Mb/s.
            let target = nada.target().bitrate;
            let frame = FrameId(0);
            let sent = FrameSent::new(frame, target, Bytes::new(25_000), 20);
            nada.on_frame(Instant::ZERO, &sent);
            assert_eq!(nada.target().bitrate, Rate::from_mbps(9));
            assert_eq!(nada.target().pacing, Pacing::Rate(Rate::from_kbps(kbps)));
        }
    }

    fn at(millis: i64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    fn packet(frame: u64, size: u64) -> SentPacket {
        SentPacket::new(SequenceNumber(0), at(0), FrameId(frame), Bytes::new(size))
    }

    /// Packets of a frame that is still being encoded are in no frame that was told of.
    #[test]
    fn the_shaping_buffer_has_what_is_encoded_and_has_not_left() {
        let mut nada = nada();
        let frame = |nada: &mut Nada, number: u64, size: u64| {
            let frame = FrameSent::new(FrameId(number), Rate::ZERO, Bytes::new(size), 20);
            nada.on_frame(at(0), &frame);
            nada.buffer.get()
        };
        let sent = |nada: &mut Nada, packet: SentPacket| {
            nada.on_sent(at(0), &packet);
            nada.buffer.get()
        };
        assert_eq!(frame(&mut nada, 0, 25_000), 25_000);
        assert_eq!(sent(&mut nada, packet(0, 1_000)), 24_000);
        assert_eq!(sent(&mut nada, packet(0, 48).with_kind(PacketKind::Padding)), 24_000);
        assert_eq!(sent(&mut nada, packet(1, 5_000)), 24_000);
        assert_eq!(frame(&mut nada, 1, 20_000), 39_000);
        // The end of an older frame empties nothing but itself, that of the newest everything.
        assert_eq!(sent(&mut nada, packet(0, 1_000).with_last_of_frame(true)), 38_000);
        assert_eq!(sent(&mut nada, packet(1, 1_000).with_last_of_frame(true)), 0);
    }

    /// A report on ten packets, `lost` of them lost and one marked, which waited `queue` milliseconds in the queue.
    fn report(nada: &mut Nada, now: i64, lost: usize, queue: i64) {
        let clock = |millis: i64| ReceiverInstant::from_nanos(at(millis).as_nanos());
        let reports: Vec<_> = (0..10)
            .map(|index| {
                let packet = SentPacket { sent: at(now - 30 + index as i64), ..packet(0, 1_000) };
                let arrival = clock(now - 20 + index as i64 + queue);
                let report = PacketReport::new(packet, (index >= lost).then_some(arrival));
                if index == 9 { report.with_ecn(Ecn::Ce) } else { report }
            })
            .collect();
        nada.on_feedback(at(now), &FeedbackBatch::new(&reports, clock(now), Bytes::ZERO));
    }

    /// Section 5.1: the ratios are smoothed with a weight of a tenth.
    #[test]
    fn ratios_of_loss_and_marking_are_smoothed_by_a_tenth() {
        let mut nada = nada();
        report(&mut nada, 100, 5, 0);
        assert!(near(nada.loss_ratio, 0.05) && near(nada.marking_ratio, 0.1 * 0.2));
        assert!(!nada.ramping_up);
        report(&mut nada, 1_100, 0, 0);
        assert!(near(nada.loss_ratio, 0.9 * 0.05));
        assert!(near(nada.marking_ratio, 0.9 * 0.02 + 0.1 * 0.1));
        // Nothing was lost in the last half second, and no queue was as long as QEPS.
        assert!(nada.ramping_up);
        report(&mut nada, 2_100, 0, 9);
        assert!(nada.ramping_up);
        report(&mut nada, 3_100, 0, 10);
        assert!(!nada.ramping_up);
    }

    #[test]
    fn it_updates_each_tenth_of_a_second_and_anew_where_the_clock_goes_back() {
        let mut nada = nada();
        for (now, updated) in
            [(1_000, 1_000), (1_089, 1_000), (1_090, 1_090), (300, 300), (389, 300)]
        {
            report(&mut nada, now, 0, 0);
            assert_eq!(nada.last_update, Some(at(updated)), "{now}");
        }
    }
}
