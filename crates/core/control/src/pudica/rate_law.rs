//! The long-term laws: multiplicative increase, and simultaneous additive increase and multiplicative
//! decrease (Pudica 4.2 eq. 7 to 10).

use super::options::PudicaOptions;
use super::readings::{AdditiveTerm, LogBase, TauReset};
use gameway_units::{Duration, Instant, Rate};

/// Section 4.2: tau is cleared each five seconds.
const TAU_PERIOD: Duration = Duration::from_secs(5);
/// The logarithm's argument is the bitrate in Mb/s; below this it is held, so that it stays positive.
const MIN_LOGARITHM_MBPS: f64 = 2.0;
/// Where the paper's MI would divide by nothing; frames spread at the greatest pace multiplier give more.
const MIN_RATIO: f64 = 0.05;

/// MI (eq. 7, 8): the bitrate that brings the ratio a step nearer to `(1 + alpha) / 2`.
pub(super) fn multiplicative_increase(options: &PudicaOptions, bitrate: Rate, ratio: f64) -> Rate {
    let ratio = ratio.max(MIN_RATIO);
    let step = options.gamma_mi * ((1.0 + options.alpha) / 2.0 - ratio) / ratio;
    bitrate.mul_f64(1.0 + step)
}

/// AI-MD (eq. 9, 10): the bitrate plus the bounded step `I - gamma_MD B`.
pub(super) fn additive_and_multiplicative(
    options: &PudicaOptions,
    bitrate: Rate,
    b_max: Rate,
    tau: u32,
) -> Rate {
    let cap = options.a_cap.as_mbps_f64().min(options.a_cap_share * bitrate.as_mbps_f64());
    let step_mbps =
        additive_term_mbps(options, bitrate, b_max, tau) - options.gamma_md * bitrate.as_mbps_f64();
    Rate::from_bps_f64(bitrate.as_bps_f64() + step_mbps.clamp(-cap, cap) * 1e6)
}

/// `I` of eq. 10 in Mb/s: `(B_max + 2 tau / log B) gamma_MD / 2`.
fn additive_term_mbps(options: &PudicaOptions, bitrate: Rate, b_max: Rate, tau: u32) -> f64 {
    let mbps = bitrate.as_mbps_f64().max(MIN_LOGARITHM_MBPS);
    let logarithm = match options.log_base {
        LogBase::Natural => libm::log(mbps),
        LogBase::Two => libm::log2(mbps),
        LogBase::Ten => libm::log10(mbps),
    };
    let growth = match options.ai_term {
        AdditiveTerm::Linear => 2.0 * f64::from(tau),
        AdditiveTerm::Exponential => libm::exp2(f64::from(tau.min(1_000))),
    };
    (b_max.as_mbps_f64() + growth / logarithm) * options.gamma_md / 2.0
}

/// Tau: frames received since the smoothed ratio was last above one, or since the last period began.
#[derive(Debug, Clone)]
pub(super) struct Tau {
    reset: TauReset,
    frames: u32,
    period_start: Option<Instant>,
}

impl Tau {
    pub(super) fn new(reset: TauReset) -> Self {
        Self { reset, frames: 0, period_start: None }
    }

    pub(super) fn frames(&self) -> u32 {
        self.frames
    }

    /// A frame was received while the smoothed ratio was `ratio`.
    pub(super) fn on_frame(&mut self, now: Instant, ratio: f64) {
        self.frames = self.frames.saturating_add(1);
        let over = self.period_start.is_none_or(|s| now.saturating_since(s) >= TAU_PERIOD);
        if over {
            self.period_start = Some(self.period_of(now));
        }
        if over || ratio > 1.0 {
            self.frames = 0;
        }
    }

    fn period_of(&self, now: Instant) -> Instant {
        let since = now.as_nanos().rem_euclid(TAU_PERIOD.as_nanos());
        match self.reset {
            TauReset::Own => now,
            TauReset::Aligned => now.saturating_sub(Duration::from_nanos(since)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mbps(rate: Rate) -> f64 {
        rate.as_mbps_f64()
    }

    #[test]
    fn mi_settles_at_the_middle_of_alpha_and_one() {
        let options = PudicaOptions::default();
        let capacity = 20.0;
        let mut bitrate = Rate::from_mbps(2);
        for _ in 0..60 {
            bitrate = multiplicative_increase(&options, bitrate, mbps(bitrate) / capacity);
        }
        assert!((mbps(bitrate) / capacity - 0.925).abs() < 1e-6, "{bitrate}");
    }

    #[test]
    fn the_first_step_of_mi_by_hand() {
        let options = PudicaOptions::default();
        let next = multiplicative_increase(&options, Rate::from_mbps(10), 0.5);
        assert_eq!(next, Rate::from_bps(12_550_000)); // 1 + 0.3 (0.925 - 0.5) / 0.5 = 1.255
    }

    #[test]
    fn ai_md_rests_where_the_sheet_says() {
        // A = 0 at tau = (B - B_max / 2) ln B: 45 Mb/s after 76.1 frames, 30 Mb/s after 17.0.
        let options = PudicaOptions::default();
        let step = |bitrate: u64, tau: u32| {
            let rate = Rate::from_mbps(bitrate);
            mbps(additive_and_multiplicative(&options, rate, Rate::from_mbps(50), tau)) - mbps(rate)
        };
        assert!(step(45, 76) < 0.0 && step(45, 77) > 0.0);
        assert!(step(30, 17) < 0.0 && step(30, 18) > 0.0);
        assert!((step(20, 0) - 0.25).abs() < 1e-9);
    }

    #[test]
    fn steps_are_bounded_both_ways() {
        let options = PudicaOptions::default();
        let (b_max, at) = (Rate::from_mbps(50), Rate::from_mbps(50));
        let down = additive_and_multiplicative(&options, at, b_max, 0);
        let up = additive_and_multiplicative(&options, at, b_max, 10_000);
        assert_eq!((down, up), (Rate::from_mbps(49), Rate::from_mbps(51)));
    }

    #[test]
    fn the_bound_may_be_a_share_of_the_bitrate() {
        let options = PudicaOptions { a_cap_share: 0.02, ..PudicaOptions::default() };
        let (b_max, at) = (Rate::from_mbps(50), Rate::from_mbps(40));
        let up = additive_and_multiplicative(&options, at, b_max, 10_000);
        assert_eq!(up, Rate::from_kbps(40_800));
    }

    #[test]
    fn two_flows_of_ai_md_approach_fairness() {
        // Appendix C: the multiplicative part takes more from the larger flow at each common step.
        let options = PudicaOptions::default();
        let b_max = Rate::from_mbps(50);
        let (mut small, mut large) = (Rate::from_mbps(4), Rate::from_mbps(16));
        let before = mbps(large) - mbps(small);
        for _ in 0..60 {
            small = additive_and_multiplicative(&options, small, b_max, 0);
            large = additive_and_multiplicative(&options, large, b_max, 0);
        }
        let after = mbps(large) - mbps(small);
        assert!(after > 0.0 && after < before / 10.0, "{before} {after}");
    }

    #[test]
    fn tau_is_cleared_by_congestion_and_by_time() {
        let mut tau = Tau::new(TauReset::Own);
        let at = |millis: i64| Instant::ZERO + Duration::from_millis(millis);
        tau.on_frame(at(0), 0.9);
        for frame in 1..=10 {
            tau.on_frame(at(frame * 16), 0.9);
        }
        assert_eq!(tau.frames(), 10);
        tau.on_frame(at(176), 1.0);
        assert_eq!(tau.frames(), 11);
        tau.on_frame(at(200), 1.01);
        assert_eq!(tau.frames(), 0);
        tau.on_frame(at(4_999), 0.9);
        assert_eq!(tau.frames(), 1);
        tau.on_frame(at(5_000), 0.9);
        assert_eq!(tau.frames(), 0);
    }

    #[test]
    fn a_period_of_its_own_begins_with_its_first_frame() {
        let mut tau = Tau::new(TauReset::Own);
        let at = |millis: i64| Instant::ZERO + Duration::from_millis(millis);
        for (millis, frames) in [(3_000, 0), (5_000, 1), (7_999, 2), (8_000, 0)] {
            tau.on_frame(at(millis), 0.9);
            assert_eq!(tau.frames(), frames, "{millis}");
        }
    }

    #[test]
    fn aligned_periods_begin_at_multiples_of_five_seconds() {
        let mut tau = Tau::new(TauReset::Aligned);
        let at = |millis: i64| Instant::ZERO + Duration::from_millis(millis);
        tau.on_frame(at(3_000), 0.9);
        tau.on_frame(at(4_000), 0.9);
        assert_eq!(tau.frames(), 1);
        tau.on_frame(at(5_000), 0.9);
        assert_eq!(tau.frames(), 0);
    }
}
