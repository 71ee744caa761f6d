//! The likelihood loss estimator: which bandwidth explains best what was lost.
//!
//! Source: libwebrtc `loss_based_bwe_v2` (`LossBasedBweV2`), main branch of 2025 as mirrored in
//! `github.com/JumpingYang001/webrtc`, commit 068e6ba6962b, its cases in `loss_based_bwe_v2_test`, commit 0b51f0288ec1,
//! between the branches m137 and m139 (facts and constants; the code is ours).
//!
//! Model: a channel has a bandwidth and an inherent loss. Of what is sent within the bandwidth the inherent share is lost, and all
//! that is above the bandwidth besides. Each 250 ms, some bandwidths are tried (a little more and less than the present one,
//! what arrives, the delay-based rate), each with the inherent loss that fits it, up to a bound that falls with the bandwidth;
//! the likeliest is taken, with a preference for high ones. The result is at most the delay-based rate and at least what
//! arrives. So at steady random loss p it comes to rest at 100 kb/s / (p - 0.05), where p is above that, and is the
//! delay-based rate where it is below.
//!
//! ```text
//!               loss lowers it                        grew above what it held
//! delay-based ────────────────► decreasing (holds) ───────────────────────► increasing
//!      ▲                            │    ▲          2 s without growth          │
//!      └────────── not below the delay-based rate ◄─────────────────────────────┘
//! ```
//!
//! | Constant | Value |
//! |---|---|
//! | observation; how many; first result after | 250 ms of sending; 15; 3 |
//! | weight of an observation | 0.9 to the power of its age |
//! | bandwidths tried | 1.02, 1, 0.95 of the present; acknowledged; delay-based if higher |
//! | inherent loss: start, least, most | 0.01; 0.001; 0.05 + 100 kb/s / bandwidth |
//! | step of Newton's method | 0.75, once |
//! | preference for high rates, per kB | 0.0002 per kb/s + 0.02 ln(1 + kb/s); against them above 20 % loss, smoothed by 0.002 |
//! | at most | 100 kb/s / (loss - 0.05) above 5 % mean loss |
//! | at least | acknowledged |
//! | growth while limited by loss | to 1.5 of acknowledged, 1.2 if that is below 1.3 of the held rate; to 1.3 in 300 ms |
//! | hold after a decrease | 300 ms, twice as long each time, at most 60 s |
//! | increasing without growth | 2 s |
//! | burst: rate at the spike | 2 of the median |
//!
//! | Deviation | Why |
//! |---|---|
//! | No padding while it increases | a `Target` asks for none; an encoder fills its target |
//! | No reset for a new route | a stream has one |
//! | Times in nanoseconds, rates in bits per second | upstream compares kilobits in the preference |

mod observations;
#[cfg(test)]
mod tests;

use crate::{PacketReport, RateLimits};
use gameway_units::{Duration, Instant, Rate};
use observations::Observations;

/// What the cases of upstream vary.
#[derive(Debug, Clone, Copy)]
struct Constants {
    window: usize,
    min_observations: u64,
    observation: Duration,
    weight_by_age: f64,
    factors: [f64; 3],
    /// A mean loss above this is answered by a bound, which is `bound_balance` over the excess.
    bound_offset: f64,
    bound_balance: Rate,
    preference: (f64, f64),
    preferred_below: f64,
    preference_smoothing: f64,
    not_above_mean_loss: bool,
    growth: f64,
    growth_in_hold: f64,
    growth_in_window: f64,
    min_of_acknowledged: f64,
    hold_growth: f64,
    increasing: Duration,
    burst: f64,
}

const TODAY: Constants = Constants {
    window: 15,
    min_observations: 3,
    observation: Duration::from_millis(250),
    weight_by_age: 0.9,
    factors: [1.02, 1.0, 0.95],
    bound_offset: 0.05,
    bound_balance: Rate::from_kbps(100),
    preference: (0.000_2, 0.02),
    preferred_below: 0.2,
    preference_smoothing: 0.002,
    not_above_mean_loss: true,
    growth: 1.5,
    growth_in_hold: 1.2,
    growth_in_window: 1.3,
    min_of_acknowledged: 1.0,
    hold_growth: 2.0,
    increasing: Duration::from_secs(2),
    burst: 2.0,
};
const START_INHERENT_LOSS: f64 = 0.01;
const MIN_INHERENT_LOSS: f64 = 0.001;
const INHERENT_LOSS_OFFSET: f64 = 0.05;
const INHERENT_LOSS_BALANCE_BPS: f64 = 100_000.0;
const NEWTON_STEP: f64 = 0.75;
const HELD_BELOW: f64 = 1.3;
const GROWTH_WINDOW: Duration = Duration::from_millis(300);
const FIRST_HOLD: Duration = Duration::from_millis(300);
const MAX_HOLD: Duration = Duration::from_secs(60);
const MIN_WINDOW_LIMIT: Rate = Rate::from_kbps(5);

/// Whether loss limits the rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LossState {
    /// It does not.
    DelayBased,
    /// It does, and the rate grows.
    Increasing,
    /// It does, and the rate does not grow.
    Decreasing,
}

#[derive(Debug, Clone, Copy)]
struct Channel {
    bandwidth: Rate,
    inherent_loss: f64,
}

impl Channel {
    /// The same with an inherent loss that a channel of this bandwidth may have.
    fn feasible(self) -> Self {
        let bits = self.bandwidth.as_bps_f64().max(1.0);
        let max = (INHERENT_LOSS_OFFSET + INHERENT_LOSS_BALANCE_BPS / bits).min(1.0);
        Self { inherent_loss: self.inherent_loss.max(MIN_INHERENT_LOSS).min(max), ..self }
    }
}

/// After a decrease the rate stays for a while, so as not to lose at once again.
#[derive(Debug, Clone, Copy)]
struct Hold {
    until: Option<Instant>,
    /// Of the next one.
    duration: Duration,
    rate: Option<Rate>,
}

impl Hold {
    const NONE: Self = Self { until: None, duration: FIRST_HOLD, rate: None };
}

/// See the module.
#[derive(Debug, Clone)]
pub(super) struct LossLikelihood {
    constants: Constants,
    limits: RateLimits,
    observations: Observations,
    acknowledged: Option<Rate>,
    delay_based: Option<Rate>,
    channel: Option<Channel>,
    rate: Rate,
    state: LossState,
    hold: Hold,
    /// The greatest rate since it began to increase, and when that was reached.
    increased: Option<(Rate, Instant)>,
    /// When it was limited by loss, and what it may grow to within 300 ms of that.
    window: Option<(Instant, Rate)>,
}

impl LossLikelihood {
    pub(super) fn new(limits: RateLimits) -> Self {
        Self::with_constants(limits, TODAY)
    }

    fn with_constants(limits: RateLimits, constants: Constants) -> Self {
        Self {
            constants,
            limits,
            observations: Observations::new(constants),
            acknowledged: None,
            delay_based: None,
            channel: None,
            rate: Rate::ZERO,
            state: LossState::DelayBased,
            hold: Hold::NONE,
            increased: None,
            window: None,
        }
    }

    /// The rate that loss allows; `None` before there are enough observations.
    pub(super) fn rate(&self) -> Option<Rate> {
        let enough = self.observations.count() >= self.constants.min_observations;
        self.channel.filter(|_| enough).map(|_| self.rate)
    }

    pub(super) fn state(&self) -> LossState {
        self.rate().map_or(LossState::DelayBased, |_| self.state)
    }

    pub(super) fn inherent_loss(&self) -> f64 {
        self.channel.map_or(0.0, |channel| channel.inherent_loss)
    }

    pub(super) fn mean_loss(&self) -> f64 {
        self.observations.mean_loss()
    }

    pub(super) fn set_acknowledged(&mut self, rate: Rate) {
        self.acknowledged = Some(rate);
    }

    /// A report came. `delay_based` bounds the rate; `None` if it is not known.
    pub(super) fn on_feedback(
        &mut self,
        reports: &[PacketReport],
        delay_based: Option<Rate>,
        application_limited: bool,
    ) {
        self.delay_based = delay_based;
        if !self.observations.on_reports(reports) {
            return;
        }
        let Some(now) = self.observations.end() else { return };
        if let (None, Some(bandwidth)) = (self.channel, delay_based) {
            self.begin(bandwidth);
        }
        let Some(present) = self.channel else { return };
        let best = self.best(now, &present, application_limited);
        let best = Channel { bandwidth: self.allowed_growth(&present, &best), ..best };
        let bounded = self.bounded(best.bandwidth);
        self.channel = Some(if bounded < best.bandwidth {
            Channel { bandwidth: bounded, inherent_loss: 0.0 }
        } else {
            Channel { bandwidth: best.bandwidth.max(self.min_rate()), ..best }
        });
        if self.holds(now, bounded) {
            return;
        }
        self.state = self.next_state(now, bounded);
        self.rate = bounded;
        self.open_window(now);
    }

    fn begin(&mut self, bandwidth: Rate) {
        let inherent_loss = self.channel.map_or(START_INHERENT_LOSS, |one| one.inherent_loss);
        self.channel = Some(Channel { bandwidth, inherent_loss });
        self.rate = bandwidth;
        self.state = LossState::DelayBased;
    }

    fn is_limited(&self) -> bool {
        self.state != LossState::DelayBased
    }

    fn is_below_delay_based(&self, rate: Rate) -> bool {
        self.delay_based.is_none_or(|bound| rate < bound)
    }

    /// The likeliest of the channels that are tried.
    fn best(&self, now: Instant, present: &Channel, application_limited: bool) -> Channel {
        let factors = self.constants.factors.map(|f| Some(present.bandwidth.mul_f64(f)));
        // What an application that is limited by itself sends says little of the path.
        let lately = self.increased.is_some_and(|(_, at)| self.increases_since(now, at));
        let acknowledged = self.acknowledged.filter(|_| !application_limited || lately);
        let higher = self.delay_based.filter(|rate| *rate > present.bandwidth);
        let limit = self.window.filter(|_| self.is_limited()).map(|(_, limit)| limit);
        let max = limit.unwrap_or(self.limits.max).max(present.bandwidth);
        let mut best = (f64::NEG_INFINITY, *present);
        for bandwidth in factors.into_iter().chain([acknowledged, higher]).flatten() {
            let tried = Channel { bandwidth: bandwidth.min(max), ..*present }.feasible();
            let step = NEWTON_STEP * self.observations.newton_step(&tried);
            let tried = Channel { inherent_loss: tried.inherent_loss + step, ..tried }.feasible();
            let objective = self.observations.objective(&tried);
            if objective > best.0 {
                best = (objective, tried);
            }
        }
        best.1
    }

    /// How far the bandwidth may grow.
    fn allowed_growth(&self, present: &Channel, best: &Channel) -> Rate {
        let mut rate = best.bandwidth;
        let inherent = self.mean_loss() <= best.inherent_loss;
        if self.constants.not_above_mean_loss && !inherent {
            rate = rate.min(present.bandwidth);
        }
        if !self.is_limited() {
            return rate;
        }
        let Some(acknowledged) = self.acknowledged.filter(|_| self.grows(present.bandwidth, rate))
        else {
            return rate;
        };
        let held = self.hold.rate.is_some_and(|held| acknowledged < held.mul_f64(HELD_BELOW));
        let factor = if held { self.constants.growth_in_hold } else { self.constants.growth };
        rate = rate.min(acknowledged.mul_f64(factor)).max(present.bandwidth);
        if self.state == LossState::Decreasing && rate == present.bandwidth {
            rate = Rate::from_bps(rate.as_bps().saturating_add(1)); // that it counts as growth
        }
        rate
    }

    fn grows(&self, from: Rate, to: Rate) -> bool {
        let still = from == to && self.state == LossState::Increasing;
        self.is_limited() && (from < to || still)
    }

    fn min_rate(&self) -> Rate {
        let share = self.constants.min_of_acknowledged;
        self.acknowledged.map_or(Rate::ZERO, |rate| rate.mul_f64(share)).max(self.limits.min)
    }

    /// At most the rate that the mean loss allows and the delay-based rate, and at least the rate that arrives.
    fn bounded(&self, bandwidth: Rate) -> Rate {
        let excess = self.mean_loss() - self.constants.bound_offset;
        let max = if excess > 0.0 {
            self.constants.bound_balance.mul_f64(1.0 / excess)
        } else {
            self.limits.max
        };
        let max = self.delay_based.map_or(max, |bound| bound.min(max));
        bandwidth.min(max).max(self.min_rate())
    }

    /// Whether it stays at most at the rate after the last decrease.
    fn holds(&mut self, now: Instant, bounded: Rate) -> bool {
        let held = self.state == LossState::Decreasing
            && self.hold.until.is_some_and(|until| until > now)
            && self.is_below_delay_based(bounded);
        if held {
            let min = self.min_rate();
            self.hold.rate = self.hold.rate.map(|rate| rate.max(min));
            self.rate = self.hold.rate.map_or(bounded, |rate| rate.min(bounded));
        }
        held
    }

    fn next_state(&mut self, now: Instant, bounded: Rate) -> LossState {
        let limited = self.is_below_delay_based(bounded) && bounded < self.limits.max;
        if limited && self.grows(self.rate, bounded) && self.may_increase(now, bounded) {
            if self.increased.is_none_or(|(rate, _)| bounded > rate) {
                self.increased = Some((bounded, now));
            }
            return LossState::Increasing;
        }
        self.increased = None;
        if !limited {
            self.hold = Hold::NONE;
            return LossState::DelayBased;
        }
        if self.state != LossState::Decreasing {
            let duration = self.hold.duration;
            self.hold = Hold {
                until: Some(now.saturating_add(duration)),
                duration: duration.mul_f64(self.constants.hold_growth).min(MAX_HOLD),
                rate: Some(bounded),
            };
        }
        LossState::Decreasing
    }

    fn may_increase(&self, now: Instant, bounded: Rate) -> bool {
        let new =
            self.increased.is_none_or(|(rate, at)| rate < bounded || self.increases_since(now, at));
        self.state != LossState::Increasing || new
    }

    fn increases_since(&self, now: Instant, at: Instant) -> bool {
        at.saturating_add(self.constants.increasing) >= now
    }

    fn open_window(&mut self, now: Instant) {
        let over = self.window.is_none_or(|(since, _)| since.saturating_add(GROWTH_WINDOW) < now);
        let Some(channel) = self.channel.filter(|_| self.is_limited() && over) else { return };
        let limit = channel.bandwidth.mul_f64(self.constants.growth_in_window);
        self.window = Some((now, limit.max(MIN_WINDOW_LIMIT)));
    }
}
