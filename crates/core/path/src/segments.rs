//! A capacity that changes at stated times: the rates in force from a time on, and what they carry.

use gameway_units::{Bytes, Duration, Instant, Rate};

const NANOBITS_PER_BYTE: u128 = 8_000_000_000;

/// The step in force at `now`.
pub fn index_at(steps: &[(Instant, Rate)], now: Instant) -> usize {
    steps.partition_point(|(at, _)| *at <= now).saturating_sub(1)
}

/// The rates in force from a time on, one after the other, each with when it ends.
#[derive(Debug, Clone)]
pub struct Segments<'a> {
    steps: &'a [(Instant, Rate)],
    /// How long until the steps begin anew, and how often they did.
    round: Option<(Duration, i64)>,
    index: usize,
    at: Instant,
}

impl<'a> Segments<'a> {
    /// Of steps of which the last one holds for ever.
    pub fn once(steps: &'a [(Instant, Rate)], at: Instant) -> Self {
        Self { steps, round: None, index: index_at(steps, at), at }
    }

    /// Of steps that begin anew after each `period`.
    pub fn repeating(steps: &'a [(Instant, Rate)], period: Duration, at: Instant) -> Self {
        let (rounds, rest) = (
            at.as_nanos().div_euclid(period.as_nanos()),
            at.as_nanos().rem_euclid(period.as_nanos()),
        );
        let index = index_at(steps, Instant::from_nanos(rest));
        Self { steps, round: Some((period, rounds)), index, at }
    }

    /// The rate in force, and when it ends.
    fn current(&self) -> (Rate, Option<Instant>) {
        let begun = self.round.map_or(Duration::ZERO, |(period, rounds)| period * rounds);
        let next = self.steps.get(self.index + 1).map(|(next, _)| *next);
        let end = next.or_else(|| self.round.map(|(period, _)| Instant::ZERO + period));
        (self.steps[self.index].1, end.map(|end| end + begun))
    }

    /// Goes on to the rate that begins at `end`.
    fn advance(&mut self, end: Instant) {
        self.at = end;
        self.index += 1;
        if let Some((_, rounds)) = &mut self.round
            && self.index == self.steps.len()
        {
            self.index = 0;
            *rounds += 1;
        }
    }

    /// When the last bit of `size` has left that begins to leave now.
    pub fn transmit(self, size: Bytes) -> Instant {
        self.transmit_nanobits(nanobits(size))
    }

    /// The same of an amount in nanobits (bits times nanoseconds).
    pub fn transmit_nanobits(mut self, mut left: u128) -> Instant {
        loop {
            let (rate, end) = self.current();
            let rate = u128::from(rate.as_bps());
            let Some(end) = end else { return self.at + nanos(left.div_ceil(rate)) };
            let carried = rate * (end - self.at).as_nanos() as u128;
            if carried >= left {
                return self.at + nanos(left.div_ceil(rate));
            }
            left -= carried;
            self.advance(end);
        }
    }

    /// What can leave until `to`, rounded down.
    pub fn carried_until(self, to: Instant) -> Bytes {
        whole_bytes(self.nanobits_until(to))
    }

    /// The same in bits times nanoseconds.
    pub fn nanobits_until(mut self, to: Instant) -> u128 {
        let mut nanobits: u128 = 0;
        while self.at < to {
            let (rate, end) = self.current();
            let until = end.map_or(to, |end| end.min(to));
            nanobits += u128::from(rate.as_bps()) * (until - self.at).as_nanos() as u128;
            self.advance(until);
            if end != Some(until) {
                break;
            }
        }
        nanobits
    }
}

/// A size in bits times nanoseconds, in which rates of whole b/s are exact.
pub fn nanobits(size: Bytes) -> u128 {
    u128::from(size.get()) * NANOBITS_PER_BYTE
}

/// The way back, rounded down.
pub fn whole_bytes(nanobits: u128) -> Bytes {
    Bytes::new(u64::try_from(nanobits / NANOBITS_PER_BYTE).unwrap_or(u64::MAX))
}

fn nanos(count: u128) -> Duration {
    Duration::from_nanos(i64::try_from(count).unwrap_or(i64::MAX))
}
