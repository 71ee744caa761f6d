//! Long-term bandwidth: finds a token-bucket policer and keeps to its rate.
//!
//! Source: Linux `net/ipv4/tcp_bbr.c`, `bbr_lt_bw_sampling` and what it calls.
//! Model: between two bursts of loss, over 4 to 16 rounds with at least 20 % lost, the delivered
//! rate is what a policer lets through. If two such intervals in a row agree, their mean is used as
//! the bandwidth, without probing, for 48 rounds.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | interval | 4 to 16 rounds | `bbr_lt_intvl_min_rtts`, four times that |
//! | loss | 50/256 of the delivered data | `bbr_lt_loss_thresh` |
//! | agreement | within 1/8, or 4 kb/s | `bbr_lt_bw_ratio`, `bbr_lt_bw_diff` |
//! | use | 48 rounds | `bbr_lt_bw_max_rtts` |

use gameway_units::{Duration, Instant};

const MIN_ROUNDS: u32 = 4;
const MAX_ROUNDS: u32 = 16;
const LOSS_SHARE: f64 = 50.0 / 256.0;
const AGREEMENT: f64 = 1.0 / 8.0;
const AGREEMENT_BYTES_PER_SEC: f64 = 4000.0 / 8.0;
const ROUNDS_IN_USE: u32 = 48;
const MIN_INTERVAL: Duration = Duration::from_millis(1);

/// What a sample told about loss.
#[derive(Debug, Clone, Copy)]
pub(super) struct Loss {
    pub(super) now: Instant,
    pub(super) newly_lost: u64,
    pub(super) total_lost: u64,
    pub(super) total_delivered: u64,
    pub(super) app_limited: bool,
    pub(super) round_starts: bool,
    pub(super) probing: bool,
}

/// The detector.
#[derive(Debug, Clone, Default)]
pub(super) struct LongTermRate {
    sampling: bool,
    in_use: bool,
    rate: Option<f64>,
    rounds: u32,
    start: Instant,
    lost_at_start: u64,
    delivered_at_start: u64,
}

impl LongTermRate {
    pub(super) fn rate_in_use(&self) -> Option<f64> {
        self.rate.filter(|_| self.in_use)
    }

    /// Digests a sample; `true` when the rate has been used long enough and probing must resume.
    pub(super) fn on_sample(&mut self, loss: &Loss) -> bool {
        if self.in_use {
            return self.count_use(loss);
        }
        if !self.sampling {
            if loss.newly_lost > 0 {
                self.start_interval(loss);
                self.sampling = true;
            }
            return false;
        }
        if loss.app_limited {
            *self = Self::default();
            return false;
        }
        self.rounds += u32::from(loss.round_starts);
        if self.rounds > MAX_ROUNDS {
            *self = Self::default();
        } else if self.rounds >= MIN_ROUNDS && loss.newly_lost > 0 {
            self.finish_interval(loss);
        }
        false
    }

    fn count_use(&mut self, loss: &Loss) -> bool {
        if !(loss.probing && loss.round_starts) {
            return false;
        }
        self.rounds += 1;
        let over = self.rounds >= ROUNDS_IN_USE;
        if over {
            *self = Self::default();
        }
        over
    }

    fn start_interval(&mut self, loss: &Loss) {
        self.start = loss.now;
        self.lost_at_start = loss.total_lost;
        self.delivered_at_start = loss.total_delivered;
        self.rounds = 0;
    }

    fn finish_interval(&mut self, loss: &Loss) {
        let lost = loss.total_lost.saturating_sub(self.lost_at_start) as f64;
        let delivered = loss.total_delivered.saturating_sub(self.delivered_at_start) as f64;
        let span = loss.now - self.start;
        if delivered <= 0.0 || lost < LOSS_SHARE * delivered || span < MIN_INTERVAL {
            return;
        }
        let rate = delivered / span.as_secs_f64();
        match self.rate {
            Some(before) if agree(rate, before) => {
                self.rate = Some((rate + before) / 2.0);
                self.in_use = true;
                self.rounds = 0;
            }
            _ => {
                self.rate = Some(rate);
                self.start_interval(loss);
            }
        }
    }
}

fn agree(rate: f64, before: f64) -> bool {
    let difference = (rate - before).abs();
    difference <= AGREEMENT * before || difference <= AGREEMENT_BYTES_PER_SEC
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds of 10 ms that deliver 10 kB each and lose `lost` of every fourth round.
    fn feed(long_term: &mut LongTermRate, rounds: u64, lost: u64) {
        for round in 1..=rounds {
            let bursts = round / 4;
            long_term.on_sample(&Loss {
                now: Instant::from_nanos(round as i64 * 10_000_000),
                newly_lost: if round % 4 == 0 { lost } else { 0 },
                total_lost: bursts * lost,
                total_delivered: round * 10_000,
                app_limited: false,
                round_starts: true,
                probing: true,
            });
        }
    }

    #[test]
    fn a_policer_is_found_after_two_equal_intervals() {
        let mut long_term = LongTermRate::default();
        feed(&mut long_term, 11, 10_000);
        assert_eq!(long_term.rate_in_use(), None);
        feed(&mut long_term, 12, 10_000);
        let mut fresh = LongTermRate::default();
        feed(&mut fresh, 12, 10_000);
        let rate = fresh.rate_in_use().unwrap_or_default();
        assert!((rate - 1e6).abs() < 1e3, "{rate}");
        feed(&mut fresh, 48, 0);
        assert_eq!(fresh.rate_in_use(), None);
    }

    #[test]
    fn light_loss_is_no_policer() {
        let mut long_term = LongTermRate::default();
        feed(&mut long_term, 100, 5_000);
        assert_eq!(long_term.rate_in_use(), None);
    }

    /// An interval of `rounds` rounds of 10 ms, with a loss before it and one at its end; the rate that it is taken for.
    fn interval(rounds: u32, delivered: u64, lost: u64, app_limited: bool) -> (LongTermRate, bool) {
        let mut long_term = LongTermRate::default();
        let loss = |round: u32, newly_lost: u64| Loss {
            now: Instant::from_nanos(i64::from(round) * 10_000_000),
            newly_lost,
            total_lost: if round > 0 { newly_lost } else { 0 },
            total_delivered: if round == rounds { delivered } else { 0 },
            app_limited: app_limited && round == 1,
            round_starts: true,
            probing: true,
        };
        long_term.on_sample(&loss(0, 1));
        (1..rounds).for_each(|round| assert!(!long_term.on_sample(&loss(round, 0))));
        long_term.on_sample(&loss(rounds, lost));
        let found = long_term.rate.is_some();
        (long_term, found)
    }

    /// `bbr_lt_intvl_min_rtts` and its fourfold; `bbr_lt_loss_thresh`, 50 of 256.
    #[test]
    fn an_interval_has_four_to_sixteen_rounds_and_a_fifth_lost() {
        for (rounds, found) in [(3, false), (4, true), (16, true), (17, false)] {
            assert_eq!(interval(rounds, 256_000, 50_000, false).1, found, "{rounds} rounds");
        }
        assert!(!interval(8, 256_000, 49_999, false).1);
        assert!(!interval(8, 0, 50_000, false).1, "nothing was delivered");
        assert!(!interval(8, 256_000, 50_000, true).1, "the application was the limit");
        let (long_term, _) = interval(8, 256_000, 50_000, false);
        assert!((long_term.rate.unwrap_or_default() - 256_000.0 / 0.08).abs() < 1.0);
        assert_eq!((long_term.rounds, long_term.delivered_at_start), (0, 256_000));
    }

    /// `bbr_lt_bw_max_rtts`: 48 rounds of probing, and then anew; two intervals that do not agree tell nothing.
    #[test]
    fn a_rate_is_used_for_48_rounds_of_probing() {
        let round = |now: i64, probing, round_starts| Loss {
            now: Instant::from_nanos(now),
            newly_lost: 0,
            total_lost: 0,
            total_delivered: 0,
            app_limited: false,
            round_starts,
            probing,
        };
        let mut used = LongTermRate::default();
        feed(&mut used, 12, 10_000);
        for (probing, starts) in [(false, true), (true, false)] {
            (0..100).for_each(|now| assert!(!used.on_sample(&round(now, probing, starts))));
        }
        let over: Vec<bool> = (0..48).map(|now| used.on_sample(&round(now, true, true))).collect();
        assert_eq!(over.iter().position(|over| *over), Some(47));
        assert_eq!(used.rate_in_use(), None);

        let mut other = interval(4, 40_000, 20_000, false).0;
        for number in 5..=8 {
            other.on_sample(&Loss {
                newly_lost: if number == 8 { 20_000 } else { 0 },
                total_lost: 40_000,
                total_delivered: 100_000,
                ..round(number * 10_000_000, true, true)
            });
        }
        assert_eq!(other.rate_in_use(), None, "1 MB/s, and then 1.5");
        assert!((other.rate.unwrap_or_default() - 1.5e6).abs() < 1.0);
    }

    /// Within an eighth of the one before, or 4 kb/s.
    #[test]
    fn intervals_agree_within_an_eighth_or_four_kilobits() {
        assert!(agree(1.125e6, 1e6) && !agree(1.126e6, 1e6));
        assert!(agree(0.875e6, 1e6) && !agree(0.874e6, 1e6));
        assert!(agree(1500.0, 1000.0) && !agree(1501.0, 1000.0));
    }
}
