//! Google Congestion Control (GCC), the sender side as in libwebrtc.
//!
//! Source: libwebrtc `modules/congestion_controller/goog_cc`: branch m128 (`branch-heads/6613`), and where the modules say so
//! what has been the default since, read in m138 (`branch-heads/7204`), in the main branch of 2025 (`likelihood` names the
//! commits) and at the head of 2026 (facts and constants; the code is ours); draft-ietf-rmcat-gcc-02, whose Kalman filter
//! libwebrtc has replaced by a trend line.
//! `tests/chromium` has all of it beside Chromium's, live. The likelihood estimator, the application limit and the occasions for
//! probes are also held against libwebrtc's own cases and closed forms.
//!
//! Model: the trend of one-way delay over groups of packets says normal, overuse or underuse
//! (`trendline`); a rate grows, shrinks or holds accordingly (`aimd`), by what arrives (`throughput`) and by the round
//! trips of RTCP (`round_trips`); loss bounds it (`loss`, `likelihood`); short trains of packets find free capacity fast
//! (`probing`), most of all where the application sends less than it might (`application_limit`). The pacer sends at 2.5
//! times the rate.
//!
//! `loss = "threshold"` with `throughput = "bayesian"` is the older pair, of which the draft describes the first.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | pacing factor | 2.5 | `goog_cc_network_control` (m128) |
//! | process interval | 25 ms | the same |
//! | probe result at least | 0.85 of acknowledged, or the present rate | the same |
//! | stream timeout | 2 s | `delay_based_bwe` |
//! | feedback interval | 50 ms | transport-wide feedback of libwebrtc: 50 to 250 ms |
//!
//! | Deviation | Why |
//! |---|---|
//! | No congestion window, no pushback | off by default upstream |
//! | Figures of loss each second from reports on packets, not from RTCP's | they count in the first second only |
//! | A frame is spread at the pacing factor; video in libwebrtc has 1.1, of which 40 ms leave in one burst, so that a frame leaves at once | a short queue does not hold a burst; `pacing_factor` = 1.1 with `pacing_burst` = 40 ms sends so |
//! | Times in nanoseconds, not milliseconds | as newer builds |
//! | Sending times are exact, and packets of one time are no group for that alone | libwebrtc's are in milliseconds; `sending_clock` = 1 ms is as there (`inter_arrival`) |
//! | Probe packets count for delay and acknowledged rate | as upstream |
//! | Option `loss_recovery` | see below; off, as upstream, and on in `gameway host` |
//!
//! After a path that lost much upstream comes back slowly, and so does this: 25 Mb/s that were 1 Mb/s for 10 s. The fall is seen
//! as overuse once, while 7 Mb/s still arrive, which then pass for the capacity. From there on loss limits the rate, nothing is
//! overused, and the capacity is forgotten neither by less that arrives (this is looked at when there is overuse) nor by time. So
//! when loss no longer limits, the rate is 7 Mb/s and grows by half a packet per response time (40 kb/s per s). No probe
//! is sent: the application does not limit, and a drop is too old after 5 s. `loss_recovery` forgets such a capacity while loss
//! limits, and sends a train at twice the estimate when it ends, as `probing` does where the application limits: 90 % of the
//! rate before is there after 8 s in place of 44.5 (`coming_back` of the simulator's tests), most of which the loss-based rate takes. 5 % of
//! random loss for 10 s lower the rate neither way.

mod acknowledged;
mod aimd;
mod application_limit;
mod inter_arrival;
mod likelihood;
mod loss;
mod probing;
mod robust;
mod round_trips;
#[cfg(test)]
mod tests;
mod throughput;
mod trendline;

use crate::{
    ControllerAlgorithm, FeedbackBatch, FeedbackStyle, FrameSent, Notice, Pacing, PacketReport,
    RateController, RateLimits, SentPacket, Target,
};
use aimd::AimdRate;
use application_limit::ApplicationLimit;
use gameway_units::declared::{Configuration, on_off};
use gameway_units::{Duration, Instant, Rate};
use inter_arrival::InterArrival;
use likelihood::LossState;
use loss::LossRate;
pub use loss::LossRule;
use probing::{Occasions, ProbeController, ProbeEstimator};
use round_trips::RoundTrips;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
pub use throughput::Estimator;
use throughput::Throughput;
use trendline::{Trendline, Usage};

const FEEDBACK_INTERVAL: Duration = Duration::from_millis(50);
const PROCESS_INTERVAL: Duration = Duration::from_millis(25);
const STREAM_TIMEOUT: Duration = Duration::from_secs(2);
const PROBE_DROP_FRACTION: f64 = 0.85;

/// Constants that can be set.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct GccOptions {
    /// packets leave at this multiple of the target
    #[schemars(range(min = 1.0, max = 100.0))]
    pub pacing_factor: f64,
    /// packets leave at once until they have taken longer than this at that pace; libwebrtc has 40 ms, with a factor of 1.1 for
    /// video
    #[schemars(extend("x-min" = "0 s", "x-max" = "1 s"))]
    pub pacing_burst: Duration,
    /// sending times are read by a clock of these steps, and packets of one reading are one group; 0: they are exact; libwebrtc has
    /// 1 ms
    #[schemars(extend("x-min" = "0 s", "x-max" = "1 s"))]
    pub sending_clock: Duration,
    /// share of the acknowledged rate kept at overuse
    #[schemars(range(min = 0.1, max = 1.0))]
    pub backoff: f64,
    /// what loss does: the bandwidth that explains it best limits the rate (likelihood), or thresholds of 2 % and 10 % do, as
    /// libwebrtc had it up to 2023 (threshold)
    pub loss: LossRule,
    /// what arrives is measured over a second (robust), or by the estimator that libwebrtc had with the loss thresholds
    /// (bayesian)
    pub throughput: Estimator,
    /// probe at 3 and 6 times the start rate, then further
    #[serde(with = "on_off")]
    #[schemars(with = "on_off::Switch")]
    pub startup_probing: bool,
    /// while the stream sends less than two thirds of its target, probe at twice that every 5 s
    #[serde(with = "on_off")]
    #[schemars(with = "on_off::Switch")]
    pub application_limited_probing: bool,
    /// probe at 0.85 of the rate before any large drop, not only while the stream sends less than it might
    #[serde(with = "on_off")]
    #[schemars(with = "on_off::Switch")]
    pub recovery_probing: bool,
    /// where loss limits the rate below the capacity seen at overuse, forget that, and probe when loss no longer limits; libwebrtc
    /// does neither
    #[serde(with = "on_off")]
    #[schemars(with = "on_off::Switch")]
    pub loss_recovery: bool,
}

impl Default for GccOptions {
    fn default() -> Self {
        Self {
            pacing_factor: 2.5,
            pacing_burst: Duration::ZERO,
            sending_clock: Duration::ZERO,
            backoff: 0.85,
            loss: LossRule::default(),
            throughput: Estimator::default(),
            startup_probing: true,
            application_limited_probing: true,
            recovery_probing: false,
            loss_recovery: false,
        }
    }
}

impl Configuration for GccOptions {
    const NAME: &'static str = "gcc";
    const SUMMARY: &'static str =
        "Google Congestion Control: trend of one-way delay, loss, and bandwidth probes";
    const SOURCE: &'static str = "libwebrtc goog_cc (m128 and main branch of 2025); draft-ietf-rmcat-gcc-02; Carlucci et al. 2017";
}

impl ControllerAlgorithm for GccOptions {
    fn build(self, limits: RateLimits) -> Box<dyn RateController> {
        Box::new(Gcc::new(self, limits))
    }
}

/// See the module.
#[derive(Debug, Clone)]
pub struct Gcc {
    options: GccOptions,
    limits: RateLimits,
    inter_arrival: InterArrival,
    trendline: Trendline,
    acknowledged: Throughput,
    aimd: AimdRate,
    loss: LossRate,
    application_limit: ApplicationLimit,
    probes: ProbeController,
    probe_estimator: ProbeEstimator,
    last_feedback: Option<Instant>,
    next_process: Option<Instant>,
    round_trips: RoundTrips,
    /// Received packets of a batch in order of arrival: kept for its memory.
    sorted: Vec<PacketReport>,
}

impl Gcc {
    /// A controller for a stream with these limits.
    #[must_use]
    pub fn new(options: GccOptions, limits: RateLimits) -> Self {
        let start = limits.clamp(limits.start);
        let occasions = Occasions {
            start: options.startup_probing,
            periodic: options.application_limited_probing,
            any_recovery: options.recovery_probing,
        };
        Self {
            options,
            limits,
            inter_arrival: InterArrival::new(options.sending_clock),
            trendline: Trendline::new(),
            acknowledged: Throughput::new(options.throughput),
            aimd: AimdRate::new(start, limits.min, options.backoff),
            loss: LossRate::new(options.loss, limits),
            application_limit: ApplicationLimit::new(start),
            probes: ProbeController::new(start, limits.max, occasions),
            probe_estimator: ProbeEstimator::new(),
            last_feedback: None,
            next_process: None,
            round_trips: RoundTrips::default(),
            sorted: Vec::with_capacity(256),
        }
    }

    fn bitrate(&self) -> Rate {
        self.limits.clamp(self.loss.rate())
    }

    fn sort_by_arrival(&mut self, batch: &FeedbackBatch<'_>) {
        self.sorted.clear();
        self.sorted.extend(batch.reports.iter().filter(|report| report.arrival.is_some()));
        self.sorted.sort_unstable_by_key(|report| (report.arrival, report.packet.sequence));
    }

    /// The shortest round trip that the batch shows, without the time for which packets waited for the newest: whether
    /// the path is dead is told by it.
    fn propagation(&self, now: Instant) -> Option<Duration> {
        let newest = self.sorted.last()?.arrival?;
        let of = |report: &PacketReport| {
            let waited = newest.saturating_since(report.arrival?);
            let elapsed = now.saturating_since(report.packet.sent);
            Some(elapsed.saturating_sub(waited).max(Duration::ZERO))
        };
        self.sorted.iter().filter_map(of).min()
    }

    fn set_round_trip(&mut self, round_trip: Duration) {
        self.aimd.set_rtt(round_trip);
        self.loss.set_rtt(round_trip);
    }

    /// Runs the delay detector over the batch; whether it went from underuse to normal, and what probe
    /// trains found.
    fn detect(&mut self, now: Instant) -> (bool, Option<Rate>) {
        if self.sorted.is_empty() {
            return (false, None);
        }
        let timed_out =
            self.last_feedback.is_none_or(|last| now.saturating_since(last) > STREAM_TIMEOUT);
        if timed_out {
            self.inter_arrival = InterArrival::new(self.options.sending_clock);
            self.trendline = Trendline::new();
        }
        self.last_feedback = Some(now);
        let (mut recovered, mut probed) = (false, None);
        for report in &self.sorted {
            let Some(arrival) = report.arrival else { continue };
            self.acknowledged.on_packet(report.packet.sent, arrival, report.packet.size);
            if report.packet.probe_cluster.is_some() {
                probed = self.probe_estimator.on_packet(report).or(probed);
            }
            let delta = self.inter_arrival.on_packet(now, report.packet.sent, arrival);
            if let Some(delta) = delta {
                let before = self.trendline.usage();
                self.trendline.on_group(&delta);
                recovered |= before == Usage::Under && self.trendline.usage() == Usage::Normal;
            }
        }
        (recovered, probed)
    }

    /// The delay-based rate after this batch; whether a probe set it.
    fn update_delay_based(&mut self, now: Instant, probed: Option<Rate>) -> bool {
        let acknowledged = self.acknowledged.estimate();
        let usage = self.trendline.usage();
        if usage == Usage::Over {
            if self.aimd.may_decrease(now, acknowledged) {
                match acknowledged {
                    Some(_) => self.aimd.update(now, usage, acknowledged),
                    None => self.aimd.halve(now),
                }
            }
            return false;
        }
        let Some(probed) = probed else {
            self.aimd.update(now, usage, acknowledged);
            return false;
        };
        // A probe that found less than what arrives anyway must not lower the rate below that.
        let floor = acknowledged
            .map_or(Rate::ZERO, |rate| rate.mul_f64(PROBE_DROP_FRACTION).min(self.aimd.rate()));
        self.aimd.set_estimate(now, probed.max(floor));
        true
    }

    fn pacing(&self, bitrate: Rate) -> Pacing {
        let rate = bitrate.mul_f64(self.options.pacing_factor);
        match self.options.pacing_burst {
            Duration::ZERO => Pacing::Rate(rate),
            interval => Pacing::Bursts { rate, interval },
        }
    }

    fn is_limited_by_loss(&self) -> bool {
        self.loss.state() != LossState::DelayBased
    }

    fn offer_estimate(&mut self, now: Instant) {
        let allowed = self.trendline.usage() == Usage::Normal
            && !self.loss.is_silent()
            && self.loss.state() == LossState::DelayBased;
        let estimate = self.bitrate();
        self.application_limit.set_estimate(estimate);
        self.probes.on_estimate(now, estimate, allowed, &mut self.probe_estimator);
    }
}

impl RateController for Gcc {
    fn name(&self) -> &'static str {
        "gcc"
    }

    fn feedback_style(&self) -> FeedbackStyle {
        FeedbackStyle::Interval(FEEDBACK_INTERVAL)
    }

    fn sends_in_parts(&self) -> bool {
        true
    }

    fn on_frame(&mut self, now: Instant, _frame: &FrameSent) {
        self.next_process.get_or_insert(now.saturating_add(PROCESS_INTERVAL));
        self.probes.begin(now, &mut self.probe_estimator);
    }

    fn on_sent(&mut self, now: Instant, packet: &SentPacket) {
        self.loss.on_sent(now);
        self.application_limit.on_sent(now, packet.size);
        self.probes.on_sent(packet);
    }

    fn on_feedback(&mut self, now: Instant, batch: &FeedbackBatch<'_>) {
        if batch.reports.is_empty() {
            return;
        }
        self.sort_by_arrival(batch);
        let reported = batch.reports.len() as u64;
        let lost = reported - self.sorted.len() as u64;
        if let Some(round_trip) = self.round_trips.on_feedback(now, batch) {
            self.set_round_trip(round_trip);
        }
        if !self.sorted.is_empty() {
            self.loss.on_feedback(now, self.propagation(now));
        }
        self.loss.on_packets(now, lost, reported);
        let limited = self.application_limit.since();
        self.probes.set_application_limited(now, limited);
        let (recovered, probed) = self.detect(now);
        if !self.sorted.is_empty() {
            if self.update_delay_based(now, probed) {
                self.loss.set_from_probe(self.aimd.rate());
            }
            self.loss.set_delay_based(self.aimd.rate());
        }
        let acknowledged = self.acknowledged.estimate();
        let was_limited_by_loss = self.is_limited_by_loss();
        self.loss.on_reports(now, batch.reports, acknowledged, limited.is_some());
        self.offer_estimate(now);
        if self.options.loss_recovery {
            if self.is_limited_by_loss() {
                self.aimd.on_limited_by_loss();
            } else if was_limited_by_loss {
                self.probes.on_loss_ended(now, &mut self.probe_estimator);
            }
        }
        if recovered && self.trendline.usage() != Usage::Over {
            self.probes.on_recovered(now, &mut self.probe_estimator);
        }
    }

    fn on_notice(&mut self, _now: Instant, notice: &Notice) {
        if let Notice::RoundTrip(round_trip) = notice {
            let round_trip = self.round_trips.on_rtcp(*round_trip);
            self.set_round_trip(round_trip);
        }
    }

    fn on_timer(&mut self, now: Instant) {
        if self.next_process.is_some_and(|next| next > now) {
            return;
        }
        self.next_process = Some(now.saturating_add(PROCESS_INTERVAL));
        self.loss.update(now);
        self.probes.set_application_limited(now, self.application_limit.since());
        self.probes.on_timer(now, &mut self.probe_estimator);
        self.offer_estimate(now);
    }

    fn next_timer(&self) -> Option<Instant> {
        self.next_process
    }

    fn target(&self) -> Target {
        let bitrate = self.bitrate();
        Target::new(bitrate, self.pacing(bitrate))
            .asking(|requests| requests.probe_cluster = self.probes.cluster())
    }

    fn observe(&self, sink: &mut dyn FnMut(&str, f64)) {
        let usage = match self.trendline.usage() {
            Usage::Normal => 0.0,
            Usage::Over => 1.0,
            Usage::Under => -1.0,
        };
        let acknowledged = self.acknowledged.estimate().map_or(0.0, Rate::as_bps_f64);
        sink("target_bps", self.bitrate().as_bps_f64());
        sink("delay_target_bps", self.aimd.rate().as_bps_f64());
        sink("loss_target_bps", self.loss.rate().as_bps_f64());
        sink("acknowledged_bps", acknowledged);
        sink("link_capacity_bps", self.aimd.capacity_bps());
        sink("trendline_slope", self.trendline.slope());
        sink("modified_trend_ms", self.trendline.modified_trend_ms());
        sink("threshold_ms", self.trendline.threshold_ms());
        sink("usage", usage);
        let (mean_loss, inherent_loss) = self.loss.mean_and_inherent();
        sink("loss_ratio", self.loss.loss());
        sink("mean_loss_ratio", mean_loss);
        sink("inherent_loss_ratio", inherent_loss);
        let state = match self.loss.state() {
            LossState::DelayBased => 0.0,
            LossState::Increasing => 1.0,
            LossState::Decreasing => -1.0,
        };
        sink("loss_state", state);
        sink("application_limited", f64::from(self.application_limit.since().is_some()));
        sink("rtcp_rtt_ms", self.aimd.rtt().as_millis_f64());
    }
}
