//! Pudica: frame-level congestion control with a queue that is nearly empty between frames.
//!
//! Source: Wang et al., "Pudica: Toward Near-Zero Queuing Delay in Congestion Control for Cloud Gaming",
//! NSDI 2024, sections 4.1 to 4.3 and Appendix B.
//!
//! Model: the packets of a frame, sent a little faster than the bottleneck carries them, keep it busy for
//! a share R of the frame interval L; R = (D - D_min) / L, corrected by what a few probe packets meet in
//! the rest of the interval. The smoothed ratio R~ steers the bitrate: MI up to alpha, above it additive
//! increase and multiplicative decrease in one step. A single frame above one lowers the next frame;
//! three in a row set the bitrate below the receiving rate until the queue is gone.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | alpha, gamma_MI, gamma_MD, gamma_p | 0.85, 0.3, 0.05, 1.25 | 4.1, 4.2 |
//! | probes per frame | 4 | 4.1 |
//! | window of R~ | 200 ms | 4.2 |
//! | fallback zeta | 15 % | 4.3 |
//! | window of D_min | 10 s | 4.1 |
//! | drain time, frames above one | 200 ms, 3 | 4.3 |
//! | reset of tau | 5 s | 4.2 |
//! | bound of the AI-MD step | 1 Mb/s | ours; the paper bounds it without a value |
//! | step of AI/MD (`additive_only`) | 250 kb/s | ours: `I - gamma_MD B` at 20 Mb/s and tau = 0 |
//! | bound of rho | 10 | ours; beyond it a frame is a burst |
//! | margin of the next delay | 5 ms | ours; the paper gives no threshold |
//!
//! Variants of section 5.5, Appendix G and Figure 7 are tabled at the head of `options`.
//!
//! | Open in the paper | Reading here | Option |
//! |---|---|---|
//! | glyph in the AI term | tau, linear | `ai_term` |
//! | base of log | e, argument in Mb/s, at least 2 | `log_base` |
//! | B_max of the AI term | the stream's greatest bitrate | `b_max` |
//! | bound of the step | absolute, not in proportion to B | `a_cap`, `a_cap_share` |
//! | which R pulls fallback, drain, recovery | that of the frame alone, by the estimate of `bur` | `trigger` |
//! | AI-MD at R~ > 1 | goes on with tau = 0 | `above_one` |
//! | cadence of AI-MD | as MI, one step per feedback | `ai_cadence` |
//! | tau | counts received frames; its 5 s count from the stream's start | `tau_reset` |
//! | B_k | target of frame k | `frame_bitrate` |
//! | B / B_k with cross-traffic | as printed, though it scales the others' share too | `scale` |
//! | normaliser of the weights | all samples (printed: N_packet) | |
//! | D_min after the receiver's clock jumped | forgotten if a packet would have been under way for longer than since it was sent | |
//! | packets of D_min | all, also probes, which a slow link delays less | `min_delay` |
//! | which R drives rho | corrected R of the newest final frame | `pace_ratio`, `max_pace` |
//! | next delay | oldest frame later than least RTT + L + report delay + margin; once for each frame | `fallback`, `next_delay_margin` |
//! | three frames | consecutive; one at or below one starts the count anew | |
//! | data to drain | everything in flight | `drain_volume` |
//! | bitrate of a drain | computed at each congested frame, at most that before | `drain_target` |
//! | receiving rate | from the first packet of the first frame above one to the newest arrival | |
//! | recovery | at most the bitrate before the drain | `recovery` |
//! | smoothing and AI-MD while draining | samples are taken, steps are not | |
//! | loss | no rule of its own: section 6 leaves it to further work; see `bur` for D of a frame with losses | `reduce_on_loss` |
//!
//! Where something else keeps the queue full for more than the 10 s of D_min, that passes for the empty path, R is small, and MI
//! goes on to the largest bitrate: 72 % is lost for good beside a flow that fills the link. `reduce_on_loss` bounds the
//! bitrate there (`loss_bound`); it is off, as the law is published without, and on in `gameway host`.
//!
//! The same window makes a path that becomes longer pass for a queue; the option `longer_path` sees it sooner (`standing`).
//!
//! A browser's page tells of each frame, 60 ms before the report on its packets ([`Notice::FrameReceived`]).
//! That is enough for eq. 1 and the fallback of one frame, and is used for these; draining needs the bytes received, and the
//! long-term laws need probes, so that both wait for the packets.
//!
//! What the other readings do is tabled at the head of `readings`.

mod bur;
mod estimate;
mod options;
mod rate_law;
mod readings;
mod short_term;
mod smoothing;
mod standing;

pub use options::PudicaOptions;
pub use readings::{
    AboveOne, AdditiveTerm, Bur, Cadence, DrainTarget, DrainVolume, FrameBitrate, LogBase,
    MinDelay, Pace, PaceRatio, Recovery, TauReset, Trigger,
};

use crate::filter::{BaseDelay, WindowedMin};
use crate::loss_bound::LossBound;
use crate::{
    ControllerAlgorithm, FeedbackBatch, FeedbackStyle, FrameId, FrameReceived, FrameSent, Notice,
    Pacing, PacketKind, RateController, RateLimits, SentPacket, Target,
};
use bur::{FrameInFlight, Frames, MAX_PROBES, Progress};
use estimate::Estimate;
use gameway_units::{Duration, Instant, Rate, ReceiverInstant};
use rate_law::Tau;
use short_term::{Captured, Draining, Fallback, Reaction, Situation};
use smoothing::SmoothedRatio;
use standing::Standing;

/// Section 4.1.
const MIN_DELAY_WINDOW: Duration = Duration::from_secs(10);
/// The pace multiplier that a burst counts as.
const BURST_PACE: f64 = 1_000.0;
/// A receiver that holds reports for longer is broken or lies.
const MAX_REPORT_DELAY: Duration = Duration::from_secs(1);

/// When the next step of the bitrate may be taken (section 4.2: not before feedback of the last one).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gate {
    Open,
    /// No frame has been encoded with the new bitrate yet.
    UntilEncoded,
    /// Feedback of this frame is awaited.
    UntilFeedback(FrameId),
}

impl ControllerAlgorithm for PudicaOptions {
    fn build(self, limits: RateLimits) -> Box<dyn RateController> {
        Box::new(Pudica::new(self, limits))
    }
}

/// See the module.
#[derive(Debug, Clone)]
pub struct Pudica {
    options: PudicaOptions,
    limits: RateLimits,
    bitrate: Rate,
    pace_multiplier: f64,
    gate: Gate,
    captured: Option<Captured>,
    frames: Frames,
    estimate: Estimate,
    /// Least one-way delay, with the clocks' offset.
    min_delay: BaseDelay,
    min_rtt: WindowedMin,
    /// Negative of how long the receiver takes to report a frame: a minimum gives the longest.
    report_delay: WindowedMin,
    latest_arrival: ReceiverInstant,
    smoothed: SmoothedRatio,
    tau: Tau,
    fallback: Fallback,
    /// The newest frame above one that was told of ahead of its packets: it has had its fallback.
    told_ahead: Option<FrameId>,
    draining: Draining,
    standing: Standing,
    loss_bound: LossBound,
    /// For the log.
    ratio: f64,
    /// The frame of the corrected ratio.
    newest_final: FrameId,
    corrected_ratio: f64,
    smoothed_ratio: f64,
}

impl Pudica {
    /// With the constants and readings of `options`.
    #[must_use]
    pub fn new(options: PudicaOptions, limits: RateLimits) -> Self {
        let frame_interval = limits.frame_interval.max(Duration::from_nanos(1));
        let limits = RateLimits { frame_interval, ..limits };
        // Nothing but Pudica's own estimate has a use for probes.
        let max_probes = if options.bur == Bur::Pudica { MAX_PROBES as u32 } else { 0 };
        let probes = options.probes.min(max_probes);
        let options = PudicaOptions { probes, pace: estimate::pace(&options), ..options };
        Self {
            options,
            limits,
            bitrate: limits.clamp(options.hold.unwrap_or(limits.start)),
            pace_multiplier: match options.pace {
                Pace::Multiplier(multiplier) => multiplier.max(1.0),
                Pace::Burst => BURST_PACE,
                // Nothing is known of the path: the slowest pace.
                Pace::Adaptive | Pace::Native => options.gamma_p.max(1.0),
            },
            gate: Gate::Open,
            captured: None,
            frames: Frames::new(frame_interval),
            estimate: Estimate::new(options.bur, &limits),
            min_delay: BaseDelay::new(MIN_DELAY_WINDOW),
            min_rtt: WindowedMin::new(MIN_DELAY_WINDOW),
            report_delay: WindowedMin::new(MIN_DELAY_WINDOW),
            latest_arrival: ReceiverInstant::from_nanos(i64::MIN),
            smoothed: SmoothedRatio::new(options.window, options.scale),
            tau: Tau::new(options.tau_reset),
            fallback: Fallback::default(),
            told_ahead: None,
            draining: Draining::default(),
            standing: Standing::default(),
            loss_bound: LossBound::new(options.reduce_on_loss),
            ratio: 0.0,
            newest_final: FrameId::default(),
            corrected_ratio: 0.0,
            smoothed_ratio: 0.0,
        }
    }

    fn frame_interval(&self) -> Duration {
        self.limits.frame_interval
    }

    /// Section 4.1: T = (1 - 1/rho) L / (N + 1).
    fn probe_gap(&self) -> Duration {
        let rest = 1.0 - 1.0 / self.pace_multiplier;
        self.frame_interval().mul_f64(rest) / (i64::from(self.options.probes) + 1)
    }

    /// A frame's last packet has arrived: the ratio of the frame alone.
    fn on_complete(&mut self, frame: &FrameInFlight, batch: &FeedbackBatch<'_>) {
        let ratio = self.ratio_of(frame);
        self.ratio = ratio.unwrap_or(self.ratio);
        let pulls = match self.options.trigger {
            Trigger::Uncorrected => ratio,
            Trigger::Own => self.own_ratio_of(frame),
            Trigger::Corrected => None,
        };
        if let Some(ratio) = pulls {
            self.react(frame, ratio, batch);
        }
    }

    /// A frame's probes have been heard of too: the corrected ratio, and the long-term laws.
    fn on_final(&mut self, now: Instant, frame: &FrameInFlight, batch: &FeedbackBatch<'_>) {
        let Some(ratio) = self.ratio_of(frame) else { return };
        let min_delay = self.min_delay.get().unwrap_or(Duration::ZERO);
        let corrected = ratio + frame.correction(min_delay);
        (self.newest_final, self.corrected_ratio) = (frame.frame, corrected);
        if self.options.pace == Pace::Adaptive {
            self.pace_multiplier = self.pace_for(match self.options.pace_ratio {
                PaceRatio::Corrected => corrected,
                PaceRatio::Uncorrected => ratio,
            });
        }
        self.smoothed.insert(now, corrected, self.bitrate_of(frame));
        if self.options.trigger == Trigger::Corrected {
            self.react(frame, corrected, batch);
        }
        self.step(now, frame.frame);
    }

    fn ratio_of(&self, frame: &FrameInFlight) -> Option<f64> {
        if self.options.bur == Bur::Pudica {
            return self.own_ratio_of(frame);
        }
        let bandwidth = self.estimate.bandwidth(frame.frame)?;
        Some(estimate::ratio(self.bitrate_of(frame), bandwidth, self.options.pace))
    }

    fn own_ratio_of(&self, frame: &FrameInFlight) -> Option<f64> {
        frame.ratio(self.min_delay.get()?)
    }

    fn bitrate_of(&self, frame: &FrameInFlight) -> Rate {
        match self.options.frame_bitrate {
            FrameBitrate::Target => frame.target,
            FrameBitrate::Actual => frame.bitrate(),
        }
    }

    /// Eq. 2, bounded.
    fn pace_for(&self, ratio: f64) -> f64 {
        let max = self.options.max_pace.max(1.0);
        (self.options.gamma_p / ratio.min(1.0)).min(max).max(1.0)
    }

    fn react(&mut self, frame: &FrameInFlight, ratio: f64, batch: &FeedbackBatch<'_>) {
        let situation = Situation {
            bitrate: self.bitrate,
            in_flight: batch.in_flight,
            min_rtt: self.min_rtt.get().unwrap_or(Duration::ZERO),
            received_bytes: self.frames.received_bytes(),
            latest_arrival: self.latest_arrival,
        };
        let (options, limits) = (self.options, self.limits);
        match self.draining.on_ratio(&options, &limits, frame, ratio, &situation) {
            Reaction::None => {}
            Reaction::Fallback => {
                let had = self.told_ahead.is_some_and(|told| frame.frame <= told);
                if self.options.fallback && !had {
                    self.request_fallback();
                }
            }
            Reaction::Drain(bitrate) | Reaction::Recover(bitrate) => self.set_bitrate(bitrate),
        }
    }

    /// The long-term laws of section 4.2.
    fn step(&mut self, now: Instant, frame: FrameId) {
        let Some(smoothed) = self.smoothed.value(self.bitrate) else { return };
        self.smoothed_ratio = smoothed;
        self.tau.on_frame(now, smoothed);
        if self.draining.active() {
            return;
        }
        let gated = !self.gate_passed(frame);
        let bitrate = if smoothed <= self.options.alpha {
            (!gated)
                .then(|| rate_law::multiplicative_increase(&self.options, self.bitrate, smoothed))
        } else {
            let wait = gated && self.options.ai_cadence == Cadence::Gated;
            if wait { None } else { self.fairness_step(smoothed) }
        };
        if let Some(bitrate) = bitrate {
            self.set_bitrate(bitrate);
        }
    }

    fn fairness_step(&self, smoothed: f64) -> Option<Rate> {
        if self.options.additive_only {
            let raised = self.bitrate.as_bps().saturating_add(self.options.additive_step.as_bps());
            return (smoothed <= 1.0).then_some(Rate::from_bps(raised));
        }
        if smoothed > 1.0 && self.options.above_one == AboveOne::Hold {
            return None;
        }
        let b_max = self.options.b_max.unwrap_or(self.limits.max);
        let tau = self.tau.frames();
        Some(rate_law::additive_and_multiplicative(&self.options, self.bitrate, b_max, tau))
    }

    fn pacing(&self) -> Pacing {
        match self.options.pace {
            Pace::Burst => Pacing::Burst,
            Pace::Native => self.estimate.pacing_rate().map_or(Pacing::Burst, Pacing::Rate),
            Pace::Adaptive | Pace::Multiplier(_) => Pacing::FrameMultiplier(self.pace_multiplier),
        }
    }

    fn gate_passed(&self, frame: FrameId) -> bool {
        match self.gate {
            Gate::Open => true,
            Gate::UntilEncoded => false,
            Gate::UntilFeedback(awaited) => frame >= awaited,
        }
    }

    fn set_bitrate(&mut self, bitrate: Rate) {
        if self.options.hold.is_none() {
            self.bitrate = self.limits.clamp(bitrate);
            self.gate = Gate::UntilEncoded;
            self.captured.iter_mut().for_each(|captured| captured.has_bitrate = false);
        }
    }

    /// The next frame is to be lowered: the one that is being encoded was asked for before.
    fn request_fallback(&mut self) {
        self.fallback.request();
        self.captured.iter_mut().for_each(|captured| captured.is_lowered = false);
    }

    fn captured_now(&self) -> Captured {
        let is_lowered = self.fallback.pending();
        Captured { has_bitrate: !is_lowered, is_lowered }
    }

    fn note_times(&mut self, now: Instant, batch: &FeedbackBatch<'_>) {
        if let Some(rtt) = batch.round_trip_time(now) {
            self.min_rtt.insert(now, rtt);
            self.estimate.on_round_trip(rtt);
        }
        let mut newest = None;
        for report in batch.reports {
            self.frames.record(report);
            self.estimate.on_report(report);
            let Some(arrival) = report.arrival else { continue };
            newest = newest.max(Some(arrival));
            let counts = matches!(report.packet.kind, PacketKind::Media | PacketKind::Repair)
                || self.options.min_delay == MinDelay::AnyPacket;
            if counts {
                self.min_delay.insert(now, report.packet.sent, arrival);
            }
            if report.packet.last_of_frame {
                let held = batch.generated.saturating_since(arrival);
                let held = held.max(Duration::ZERO).min(MAX_REPORT_DELAY);
                self.report_delay.insert(now, -held);
            }
        }
        // That of this report, not of all: a clock that jumped back must not stop it.
        self.latest_arrival = newest.unwrap_or(self.latest_arrival);
    }

    /// When the oldest unacknowledged frame becomes late, and which it is.
    fn next_delay_deadline(&self) -> Option<(FrameId, Instant)> {
        if !self.options.fallback || self.options.hold.is_some() {
            return None;
        }
        let oldest = self.frames.oldest_unacknowledged();
        let report_delay = -self.report_delay.get().unwrap_or(Duration::ZERO);
        let min_rtt = self.min_rtt.get();
        let allowed = self
            .frame_interval()
            .saturating_add(report_delay)
            .saturating_add(self.options.next_delay_margin);
        let deadline = self.fallback.deadline(oldest, min_rtt, allowed);
        Some((oldest?.0, deadline?))
    }

    fn on_frame_received(&mut self, received: &FrameReceived) {
        let Some(frame) = self.frames.on_received(received) else { return };
        let judges = self.options.bur == Bur::Pudica && self.options.trigger != Trigger::Corrected;
        let above_one = self.own_ratio_of(&frame).is_some_and(|ratio| ratio > 1.0);
        if judges && above_one && self.options.fallback && !self.draining.active() {
            self.told_ahead = self.told_ahead.max(Some(frame.frame));
            self.request_fallback();
        }
    }
}

impl RateController for Pudica {
    fn name(&self) -> &'static str {
        "pudica"
    }

    fn feedback_style(&self) -> FeedbackStyle {
        FeedbackStyle::PerFrame
    }

    /// The ratios of SQP and Salsify are those of trains.
    fn sends_in_parts(&self) -> bool {
        self.options.bur == Bur::Pudica
    }

    fn on_frame(&mut self, _now: Instant, frame: &FrameSent) {
        let captured = self.captured.take().unwrap_or_else(|| self.captured_now());
        if self.gate == Gate::UntilEncoded && captured.has_bitrate {
            self.gate = Gate::UntilFeedback(frame.frame);
        }
        if captured.is_lowered {
            self.fallback.served();
        }
        self.estimate.on_frame(frame);
        self.frames.on_frame(frame, self.options.probes, self.probe_gap());
    }

    fn on_sent(&mut self, _now: Instant, packet: &SentPacket) {
        let spread = self.frame_interval().mul_f64(1.0 / self.pace_multiplier);
        self.frames.on_sent(packet, spread);
    }

    fn on_feedback(&mut self, now: Instant, batch: &FeedbackBatch<'_>) {
        self.note_times(now, batch);
        while let Some(progress) = self.frames.progress() {
            match progress {
                Progress::Complete(frame) => {
                    self.on_complete(&frame, batch);
                    self.look_for_longer_path(now, &frame, batch);
                }
                Progress::Final(frame) => self.on_final(now, &frame, batch),
            }
        }
        self.loss_bound.on_feedback(now, batch, self.bitrate);
    }

    fn on_notice(&mut self, _now: Instant, notice: &Notice) {
        match notice {
            Notice::Captured => self.captured = Some(self.captured_now()),
            Notice::FrameReceived(received) => self.on_frame_received(received),
            Notice::FrameInterval(interval) => {
                self.limits.frame_interval = self.frames.set_interval(*interval);
                self.estimate.set_frame_interval(self.limits.frame_interval);
            }
            Notice::RoundTrip(_) => {}
        }
    }

    fn on_timer(&mut self, now: Instant) {
        if let Some((frame, deadline)) = self.next_delay_deadline()
            && deadline <= now
        {
            self.fallback.on_late(frame);
            self.request_fallback();
        }
    }

    fn next_timer(&self) -> Option<Instant> {
        self.next_delay_deadline().map(|(_, deadline)| deadline)
    }

    fn target(&self) -> Target {
        let lowered = self.fallback.pending() && !self.draining.active();
        let lowered = lowered && self.options.hold.is_none();
        let factor = if lowered { 1.0 - self.options.zeta } else { 1.0 };
        let bitrate = self.loss_bound.limit(self.bitrate).mul_f64(factor);
        Target::new(self.limits.clamp(bitrate), self.pacing())
            .asking(|requests| requests.probes_per_frame = self.options.probes)
    }

    fn observe(&self, sink: &mut dyn FnMut(&str, f64)) {
        sink("target_bps", self.loss_bound.limit(self.bitrate).as_bps_f64());
        sink("bur", self.ratio);
        sink("bur_corrected", self.corrected_ratio);
        sink("bur_frame", self.newest_final.0 as f64);
        sink("bur_smoothed", self.smoothed_ratio);
        sink("estimate_bps", self.estimate.newest());
        sink("pace_multiplier", self.pace_multiplier);
        sink("tau_frames", f64::from(self.tau.frames()));
        sink("draining", f64::from(u8::from(self.draining.active())));
        sink("fallback", f64::from(u8::from(self.fallback.pending())));
        sink("receiving_rate_bps", self.draining.receiving_rate().as_bps_f64());
        let min_rtt = self.min_rtt.get().unwrap_or(Duration::ZERO);
        sink("min_rtt_ms", min_rtt.as_millis_f64());
    }
}

#[cfg(test)]
mod tests;
