//! One class: its two buckets and what they let it do.

use super::config::{HtbClass, LEVELS, PRIORITIES};
use super::ring::Ring;
use gameway_units::{Bytes, Duration, Instant, Rate};

/// Linux: `mbuffer`.
const MAX_TIME: Duration = Duration::from_secs(60);
const NANOSECOND: Duration = Duration::from_nanos(1);

/// What a class may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Above its ceiling: wait.
    CannotSend,
    /// Above its rate: send if its parent lends.
    MayBorrow,
    /// Send.
    CanSend,
}

/// A token bucket, in time at its rate.
#[derive(Debug)]
struct Bucket {
    rate: Rate,
    depth: Duration,
    tokens: Duration,
}

impl Bucket {
    fn full(rate: Rate, burst: Bytes) -> Self {
        let depth = rate.time_for(burst);
        Self { rate, depth, tokens: depth }
    }

    /// The tokens, which are times, stay (`htb_change_class`).
    fn change(&mut self, rate: Rate, burst: Bytes) {
        (self.rate, self.depth) = (rate, rate.time_for(burst));
    }

    fn charge(&mut self, size: Bytes, elapsed: Duration) {
        let filled = self.tokens.saturating_add(elapsed).min(self.depth);
        let tokens = filled.saturating_sub(self.rate.time_for(size));
        self.tokens = tokens.max(NANOSECOND - MAX_TIME);
    }
}

/// A class; leaves and inner ones alike.
#[derive(Debug)]
pub struct Class {
    pub parent: Option<usize>,
    pub level: usize,
    pub priority: usize,
    quantum: i64,
    /// Bytes that a leaf may still send in its turn, at each level from which it borrows.
    deficit: [i64; LEVELS],
    rate: Bucket,
    ceil: Bucket,
    /// When the tokens were reckoned.
    updated: Instant,
    pub mode: Mode,
    /// The priorities at which it, or a class below it that would borrow from it, has packets.
    pub active: u8,
    /// Children that would borrow from it, by priority.
    pub feeds: [Ring; PRIORITIES],
    /// When its mode may change.
    pub event: Option<Instant>,
}

impl Class {
    pub fn new(config: &HtbClass, parent: Option<usize>, level: usize) -> Self {
        Self {
            parent,
            level,
            priority: usize::from(config.priority),
            quantum: i64::try_from(config.quantum.get()).unwrap_or(i64::MAX),
            deficit: [0; LEVELS],
            rate: Bucket::full(config.rate, config.burst),
            ceil: Bucket::full(config.ceil, config.cburst),
            updated: Instant::ZERO,
            mode: Mode::CanSend,
            active: 0,
            feeds: [Ring::default(); PRIORITIES],
            event: None,
        }
    }

    /// It has this rate and this ceiling from now on; bursts and quantum stay.
    pub fn set_rates(&mut self, config: &HtbClass) {
        self.rate.change(config.rate, config.burst);
        self.ceil.change(config.ceil, config.cburst);
    }

    /// Time since the tokens were reckoned, as far as it counts.
    pub fn elapsed(&self, now: Instant) -> Duration {
        (now - self.updated).min(MAX_TIME)
    }

    /// Pays for a packet: always of the ceiling, and of the rate if it `lends` (to itself, in a leaf).
    pub fn charge(&mut self, size: Bytes, lends: bool, now: Instant) {
        let elapsed = self.elapsed(now);
        if lends {
            self.rate.charge(size, elapsed);
        } else {
            self.rate.tokens = self.rate.tokens.saturating_add(elapsed);
        }
        self.ceil.charge(size, elapsed);
        self.updated = now;
    }

    /// Its mode `elapsed` after the tokens were reckoned, and how long until that may change.
    pub fn mode_after(&self, elapsed: Duration) -> (Mode, Duration) {
        let ceil = self.ceil.tokens.saturating_add(elapsed);
        let rate = self.rate.tokens.saturating_add(elapsed);
        if ceil.is_negative() {
            (Mode::CannotSend, -ceil)
        } else if rate.is_negative() {
            (Mode::MayBorrow, -rate)
        } else {
            (Mode::CanSend, Duration::ZERO)
        }
    }

    /// Takes what a leaf sent from its turn at that level; whether the turn is over.
    pub fn spend(&mut self, level: usize, size: Bytes) -> bool {
        let deficit = &mut self.deficit[level];
        *deficit = deficit.saturating_sub(i64::try_from(size.get()).unwrap_or(i64::MAX));
        let is_over = *deficit < 0;
        if is_over {
            *deficit = deficit.saturating_add(self.quantum);
        }
        is_over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Deficit round robin (Shreedhar and Varghese, 1995): what a turn leaves or takes too much is the next one's.
    #[test]
    fn a_turn_is_a_quantum_whatever_the_size_of_packets() {
        for (size, quantum) in [(600, 1500), (1500, 1500), (1499, 1500), (1500, 600), (9000, 1500)]
        {
            let config = HtbClass {
                quantum: Bytes::new(quantum),
                ..HtbClass::new("class", Rate::from_mbps(1))
            };
            let mut class = Class::new(&config, None, 0);
            let packets = 3000;
            let turns = (0..packets).filter(|_| class.spend(0, Bytes::new(size))).count() as u64;
            let expected = (size * packets / quantum).min(packets);
            assert!(turns.abs_diff(expected) <= 1, "{turns} of {expected} turns of {size} B");
            assert_eq!(class.deficit[1..], [0; LEVELS - 1], "each level has turns of its own");
        }
    }

    /// A turn ends below zero (`htb_dequeue_tree`): three packets of 500 B are a quantum of 1500 B.
    #[test]
    fn a_turn_that_is_used_up_exactly_goes_on() {
        let quantum = Bytes::new(1500);
        let config = HtbClass { quantum, ..HtbClass::new("class", Rate::from_mbps(1)) };
        let mut class = Class::new(&config, None, 0);
        let ends = [0; 8].map(|_| class.spend(0, Bytes::new(500)));
        assert_eq!(ends, [true, false, false, true, false, false, true, false]);
    }
}
