//! The loss-based rate, by thresholds or by the likelihood estimator, and the backoff when feedback stays away.
//!
//! Source: libwebrtc `send_side_bandwidth_estimation` (m128; main branch of 2025, commit 0b51f0288ec1 of the mirror that
//! `likelihood` names); draft-ietf-rmcat-gcc-02 section 6 (thresholds).
//!
//! Model: never above the delay-based rate. By thresholds: up to 2 % lost: at most 8 % above the least rate of the last second; up
//! to 10 %: hold; above: times (1 - loss / 2), at most once per 300 ms + RTT. With the estimator the thresholds count until
//! it has enough observations, from then on its rate.
//!
//! | Constant | Value |
//! |---|---|
//! | low and high loss | 2 %, 10 % |
//! | increase | 1.08 of the least of the last 1 s, + 1 kb/s |
//! | decrease | 1 - loss / 2, not before 300 ms + RTT and new loss figures |
//! | loss figures | `loss_share`; valid for 6 s |
//! | start phase | 2 s without loss follow the delay-based rate at once |
//! | round trip above 3 s (no feedback) | times 0.8 each second, down to 5 kb/s |

use super::likelihood::{LossLikelihood, LossState};
use crate::loss_share::{GROWTH, GROWTH_MARGIN_BPS, HIGH_LOSS, LOW_LOSS, LossShare};
use crate::{PacketReport, RateLimits};
use gameway_units::{Duration, Instant, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

const INCREASE_WINDOW: Duration = Duration::from_secs(1);
const DECREASE_INTERVAL: Duration = Duration::from_millis(300);
const LOSS_VALID: Duration = Duration::from_secs(6);
const START_PHASE: Duration = Duration::from_secs(2);
const RTT_LIMIT: Duration = Duration::from_secs(3);
const RTT_BACKOFF: f64 = 0.8;
const RTT_BACKOFF_INTERVAL: Duration = Duration::from_secs(1);

/// How loss limits the rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LossRule {
    /// By the bandwidth that explains the losses best.
    #[default]
    Likelihood,
    /// By thresholds of 2 % and 10 %.
    Threshold,
}

/// See the module.
#[derive(Debug, Clone)]
pub(super) struct LossRate {
    limits: RateLimits,
    likelihood: Option<LossLikelihood>,
    rate: Rate,
    /// `None` until the delay-based rate is known, and after a probe has set the rate.
    delay_based: Option<Rate>,
    /// Of RTCP's reports.
    rtt: Duration,
    /// The shortest of the last report on packets.
    propagation: Duration,
    share: LossShare,
    loss: f64,
    last_loss: Option<Instant>,
    first_report: Option<Instant>,
    last_decrease: Option<Instant>,
    decreased_for_this_loss: bool,
    /// Least rates of the last second: oldest first, growing.
    history: VecDeque<(Instant, Rate)>,
    last_feedback: Option<Instant>,
    last_sent: Option<Instant>,
}

impl LossRate {
    pub(super) fn new(rule: LossRule, limits: RateLimits) -> Self {
        let likelihood = (rule == LossRule::Likelihood).then(|| LossLikelihood::new(limits));
        Self {
            limits,
            likelihood,
            rate: limits.clamp(limits.start),
            delay_based: None,
            rtt: Duration::ZERO,
            propagation: Duration::ZERO,
            share: LossShare::default(),
            loss: 0.0,
            last_loss: None,
            first_report: None,
            last_decrease: None,
            decreased_for_this_loss: false,
            history: VecDeque::with_capacity(64),
            last_feedback: None,
            last_sent: None,
        }
    }

    pub(super) fn rate(&self) -> Rate {
        self.rate
    }

    pub(super) fn loss(&self) -> f64 {
        self.loss
    }

    /// Whether loss keeps the rate below the delay-based one, by the likelihood estimator.
    pub(super) fn state(&self) -> LossState {
        self.likelihood.as_ref().map_or(LossState::DelayBased, LossLikelihood::state)
    }

    /// By the likelihood estimator: the mean loss, and what of it is the path's own.
    pub(super) fn mean_and_inherent(&self) -> (f64, f64) {
        let both = |one: &LossLikelihood| (one.mean_loss(), one.inherent_loss());
        self.likelihood.as_ref().map_or((self.loss, 0.0), both)
    }

    pub(super) fn on_sent(&mut self, now: Instant) {
        self.last_sent = Some(now);
        // Who never hears of what it sends learns that, too.
        self.last_feedback.get_or_insert(now);
    }

    pub(super) fn set_rtt(&mut self, rtt: Duration) {
        self.rtt = rtt;
    }

    /// Feedback came; the shortest round trip in it.
    pub(super) fn on_feedback(&mut self, now: Instant, propagation: Option<Duration>) {
        self.last_feedback = Some(now);
        self.propagation = propagation.unwrap_or(self.propagation);
    }

    /// Counts packets reported; figures are made once a second.
    pub(super) fn on_packets(&mut self, now: Instant, lost: u64, reported: u64) {
        self.first_report.get_or_insert(now);
        let Some(share) = self.share.on_packets(now, lost, reported) else { return };
        self.loss = share;
        self.decreased_for_this_loss = false;
        self.last_loss = Some(now);
        self.update(now);
    }

    /// A report came, after which the delay-based rate was set.
    pub(super) fn on_reports(
        &mut self,
        now: Instant,
        reports: &[PacketReport],
        acknowledged: Option<Rate>,
        application_limited: bool,
    ) {
        let Some(likelihood) = &mut self.likelihood else { return };
        if let Some(rate) = acknowledged {
            likelihood.set_acknowledged(rate);
        }
        likelihood.on_feedback(reports, self.delay_based, application_limited);
        self.update(now);
    }

    /// The delay-based rate is a bound.
    pub(super) fn set_delay_based(&mut self, rate: Rate) {
        self.delay_based = Some(rate);
        self.set(self.rate);
    }

    /// A probe found this rate: take it at once.
    pub(super) fn set_from_probe(&mut self, rate: Rate) {
        self.delay_based = None;
        self.set(rate);
        self.history.clear();
    }

    /// Call every 25 ms or so.
    pub(super) fn update(&mut self, now: Instant) {
        if self.rtt_backoff(now) {
            return;
        }
        let likeliest = self.likelihood.as_ref().and_then(LossLikelihood::rate);
        if likeliest.is_none() && self.in_start_phase(now) && self.loss <= 0.0 {
            let followed = self.delay_based.map_or(self.rate, |rate| rate.max(self.rate));
            if followed != self.rate {
                self.history.clear();
                self.set(followed);
                return;
            }
        }
        self.note_history(now);
        if let Some(rate) = likeliest.filter(|_| self.last_loss.is_some()) {
            self.set(rate);
            return;
        }
        let valid = self.last_loss.is_some_and(|last| now.saturating_since(last) < LOSS_VALID);
        if !valid {
            return;
        }
        if self.loss <= LOW_LOSS {
            let min = self.history.front().map_or(self.rate, |(_, rate)| *rate);
            let raised = min.as_bps_f64() * GROWTH + GROWTH_MARGIN_BPS;
            self.set(Rate::from_bps_f64(raised));
        } else if self.loss > HIGH_LOSS {
            self.decrease(now);
        }
    }

    fn decrease(&mut self, now: Instant) {
        let interval = DECREASE_INTERVAL.saturating_add(self.rtt);
        let waited = self.last_decrease.is_none_or(|last| now.saturating_since(last) >= interval);
        if waited && !self.decreased_for_this_loss {
            self.last_decrease = Some(now);
            self.decreased_for_this_loss = true;
            self.set(self.rate.mul_f64(1.0 - 0.5 * self.loss));
        }
    }

    /// Whether no feedback has come for so long that the path must be taken for dead.
    pub(super) fn is_silent(&self) -> bool {
        let (Some(feedback), Some(sent)) = (self.last_feedback, self.last_sent) else {
            return false;
        };
        // Time in which nothing was sent does not count: no feedback was to be expected.
        let silent = sent.saturating_since(feedback).max(Duration::ZERO);
        silent.saturating_add(self.propagation) > RTT_LIMIT
    }

    fn rtt_backoff(&mut self, now: Instant) -> bool {
        if !self.is_silent() {
            return false;
        }
        let waited =
            self.last_decrease.is_none_or(|l| now.saturating_since(l) >= RTT_BACKOFF_INTERVAL);
        if waited && self.rate > self.limits.min {
            self.last_decrease = Some(now);
            self.set(self.rate.mul_f64(RTT_BACKOFF));
        }
        true
    }

    fn in_start_phase(&self, now: Instant) -> bool {
        self.first_report.is_none_or(|first| now.saturating_since(first) < START_PHASE)
    }

    fn note_history(&mut self, now: Instant) {
        let old = |time: Instant| now.saturating_since(time) > INCREASE_WINDOW;
        while self.history.front().is_some_and(|(time, _)| old(*time)) {
            self.history.pop_front();
        }
        while self.history.back().is_some_and(|(_, rate)| *rate >= self.rate) {
            self.history.pop_back();
        }
        self.history.push_back((now, self.rate));
        if self.history.len() > 1_024 {
            self.history.pop_front(); // a clock that jumped back
        }
    }

    fn set(&mut self, rate: Rate) {
        let bounded = self.delay_based.map_or(rate, |bound| rate.min(bound));
        self.rate = self.limits.clamp(bounded);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    /// Runs ten seconds with this share of 1000 packets a second lost, and gives the rate after each
    /// second.
    fn run(lost_per_second: u64) -> Vec<f64> {
        let mut loss = LossRate::new(
            LossRule::Threshold,
            RateLimits {
                min: Rate::from_kbps(100),
                max: Rate::from_mbps(50),
                start: Rate::from_mbps(10),
                frame_interval: Duration::from_millis(16),
            },
        );
        loss.set_delay_based(Rate::from_mbps(40));
        let mut rates = Vec::new();
        // Past the start phase before anything is lost.
        loss.first_report = Some(at(0));
        for step in 100..500 {
            let now = at(step * 25);
            loss.on_feedback(now, Some(Duration::from_millis(50)));
            loss.on_sent(now);
            let lost = if step % 40 == 0 { lost_per_second } else { 0 };
            loss.on_packets(now, lost, 25);
            loss.update(now);
            if step % 40 == 39 {
                rates.push(loss.rate().as_mbps_f64());
            }
        }
        rates
    }

    #[test]
    fn little_loss_grows_by_eight_percent_a_second() {
        let rates = run(10);
        let growth = rates.last().copied().unwrap_or(0.0) / rates.first().copied().unwrap_or(1.0);
        let seconds = rates.len() as f64 - 1.0;
        let per_second = libm::pow(growth, 1.0 / seconds);
        assert!((1.07..1.09).contains(&per_second), "{per_second} {rates:?}");
    }

    #[test]
    fn some_loss_holds() {
        let rates = run(50);
        // The first second has no loss figure above the threshold yet.
        assert!(rates[2..].windows(2).all(|pair| (pair[0] - pair[1]).abs() < 1e-9), "{rates:?}");
    }

    #[test]
    fn much_loss_lowers_by_half_of_its_share_each_second() {
        let rates = run(200);
        for pair in rates[3..].windows(2) {
            let kept = pair[1] / pair[0];
            assert!((0.89..0.91).contains(&kept), "{kept} {rates:?}");
        }
    }

    /// By thresholds, of at most 50 Mb/s.
    fn made(min: u64, start: u64) -> LossRate {
        let limits = RateLimits {
            min: Rate::from_mbps(min),
            max: Rate::from_mbps(50),
            start: Rate::from_mbps(start),
            frame_interval: Duration::from_millis(16),
        };
        LossRate::new(LossRule::Threshold, limits)
    }

    /// At 10 Mb/s of at most 40, with the start phase behind it.
    fn at_ten() -> LossRate {
        let mut loss = made(2, 10);
        loss.on_packets(at(0), 0, 0);
        loss.set_delay_based(Rate::from_mbps(40));
        loss
    }

    #[test]
    fn silence_lowers_it_each_second_down_to_the_minimum() {
        let mut loss = made(2, 20);
        loss.on_feedback(at(0), Some(Duration::from_millis(20)));
        let mut changes = Vec::new();
        for now in (0..20_000).step_by(20) {
            let before = loss.rate();
            loss.on_sent(at(now));
            loss.update(at(now));
            if loss.rate() < before {
                changes.push((now, loss.rate().as_bps() / 1_000));
            }
        }
        // Silent for more than 3 s less the round trip.
        assert_eq!(changes[..3], [(3_000, 16_000), (4_000, 12_800), (5_000, 10_240)]);
        assert_eq!((changes.len(), loss.rate()), (11, Rate::from_mbps(2)));
    }

    #[test]
    fn in_its_first_two_seconds_without_loss_it_follows_the_delay_based_rate() {
        for (millis, lost, followed) in [(1_999, 0, true), (2_000, 0, false), (1_999, 5, false)] {
            let mut loss = made(2, 10);
            loss.on_packets(at(0), lost, 100);
            loss.set_delay_based(Rate::from_mbps(20));
            loss.update(at(millis));
            assert_eq!(loss.rate() == Rate::from_mbps(20), followed, "{millis} {}", loss.rate());
        }
    }

    #[test]
    fn it_grows_over_the_least_of_the_last_second_for_six_seconds_after_a_figure() {
        let mut loss = at_ten();
        loss.on_packets(at(3_000), 0, 100);
        assert_eq!(loss.rate(), Rate::from_bps(10_801_000));
        loss.update(at(3_900));
        assert_eq!(loss.rate(), Rate::from_bps(10_801_000));
        loss.update(at(4_500));
        assert_eq!(loss.rate(), Rate::from_bps(11_666_080));
        let mut late = loss.clone();
        loss.update(at(8_999));
        assert_eq!(loss.rate(), Rate::from_bps(12_600_366));
        late.update(at(9_000));
        assert_eq!(late.rate(), Rate::from_bps(11_666_080));
    }

    #[test]
    fn up_to_a_tenth_lost_it_holds() {
        for (lost, kbps) in [(3, 10_000), (10, 10_000), (11, 9_450)] {
            let mut loss = at_ten();
            loss.on_packets(at(3_000), lost, 100);
            assert_eq!(loss.rate(), Rate::from_kbps(kbps));
            assert_eq!(loss.mean_and_inherent(), (loss.loss(), 0.0));
            assert!((loss.loss() - lost as f64 / 100.0).abs() < 1e-9, "{}", loss.loss());
        }
    }

    #[test]
    fn a_decrease_comes_300_ms_and_a_round_trip_after_the_last_and_once_for_each_figure() {
        let mut loss = at_ten();
        loss.set_rtt(Duration::from_secs(1));
        for (now, lost, mbps) in [(3_000, 20, 9.0), (4_001, 20, 9.0)] {
            loss.on_packets(at(now), lost, 100);
            assert!((loss.rate().as_mbps_f64() - mbps).abs() < 1e-3, "{now} {}", loss.rate());
        }
        for (now, mbps) in [(4_299, 9.0), (4_300, 8.1), (5_700, 8.1)] {
            loss.update(at(now));
            assert!((loss.rate().as_mbps_f64() - mbps).abs() < 1e-3, "{now} {}", loss.rate());
        }
    }

    #[test]
    fn what_a_probe_found_counts_at_once() {
        let mut loss = at_ten();
        loss.set_delay_based(Rate::from_mbps(12));
        loss.set_from_probe(Rate::from_mbps(30));
        assert_eq!(loss.rate(), Rate::from_mbps(30));
        loss.set_delay_based(Rate::from_mbps(20));
        assert_eq!(loss.rate(), Rate::from_mbps(20));
    }
}
