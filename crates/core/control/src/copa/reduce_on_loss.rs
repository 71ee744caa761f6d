//! A smaller window where much is lost: what the authors' own program has and the paper does not.
//!
//! Source: genericCC (`venkatarun95/genericCC`, `estimators.cc`, `ReduceOnLoss`, and `markoviancc.cc`), by the authors of
//! Copa, NSDI 2018: where more than 0.3 of more than 20 packets in 2 round trips were lost, the window is multiplied by 0.7.
//! Here it becomes what arrived of it, if that is less: against steps of 1/delta packets a round trip 0.7 alone leaves more
//! than half lost at 2 Mb/s.

use gameway_units::{Duration, Instant};

const MAX_LOST: f64 = 0.3;
const FACTOR: f64 = 0.7;
const MIN_PACKETS: u32 = 20;
const ROUND_TRIPS: i64 = 2;

/// See the module.
#[derive(Debug, Clone, Default)]
pub(super) struct ReduceOnLoss {
    packets: u32,
    lost: u32,
    since: Option<Instant>,
}

impl ReduceOnLoss {
    /// What became of a packet.
    pub(super) fn count(&mut self, lost: bool) {
        self.packets = self.packets.saturating_add(1);
        self.lost = self.lost.saturating_add(u32::from(lost));
    }

    /// By what the window is to be multiplied now, if by anything.
    pub(super) fn factor(&mut self, now: Instant, smoothed: Duration) -> Option<f64> {
        let since = *self.since.get_or_insert(now);
        if now.saturating_since(since) <= smoothed * ROUND_TRIPS || self.packets <= MIN_PACKETS {
            return None;
        }
        let share = f64::from(self.lost) / f64::from(self.packets);
        *self = Self { since: Some(now), ..Self::default() };
        (share > MAX_LOST).then_some(FACTOR.min(1.0 - share))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn factor(packets: u32, lost: u32, millis: i64) -> Option<f64> {
        let mut reduce = ReduceOnLoss::default();
        let rtt = Duration::from_millis(20);
        assert_eq!(reduce.factor(Instant::ZERO, rtt), None);
        (0..packets).for_each(|packet| reduce.count(packet < lost));
        reduce.factor(Instant::ZERO + Duration::from_millis(millis), rtt)
    }

    #[test]
    fn more_than_three_tenths_lost_in_two_round_trips_reduce_it() {
        assert_eq!(factor(100, 30, 41), None);
        assert_eq!((factor(100, 31, 40), factor(20, 15, 41)), (None, None));
        let mut reduce = ReduceOnLoss { since: Some(Instant::ZERO), ..ReduceOnLoss::default() };
        let rtt = Duration::from_millis(20);
        for millis in [41, 82] {
            (0..100).for_each(|_| reduce.count(true));
            let now = Instant::ZERO + Duration::from_millis(millis);
            assert!(reduce.factor(now, rtt).is_some(), "{millis}");
        }
        assert!(factor(100, 31, 41).is_some_and(|factor| (factor - 0.69).abs() < 1e-12));
        assert!(factor(1_000, 301, 41).is_some_and(|factor| (factor - 0.699).abs() < 1e-12));
        assert!(factor(100, 93, 41).is_some_and(|factor| (factor - 0.07).abs() < 1e-12));
    }
}
