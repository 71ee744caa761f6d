//! Propagation delay with jitter that never reorders.

use crate::uniform;
use gameway_units::{Duration, Instant};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::VecDeque;

/// Extra delay drawn anew for each packet: normal with the given mean and deviation, cut at zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Jitter {
    /// Mean of the normal distribution before it is cut.
    pub mean: Duration,
    /// Its standard deviation.
    pub deviation: Duration,
}

impl Jitter {
    /// One draw, by Box and Muller's transform.
    fn draw(&self, random: &mut Xoshiro256PlusPlus) -> Duration {
        let radius = (-2.0 * libm::log(1.0 - uniform(random))).sqrt();
        let normal = radius * libm::cos(std::f64::consts::TAU * uniform(random));
        (self.mean + self.deviation.mul_f64(normal)).max(Duration::ZERO)
    }
}

/// Packets under way. Each arrives after the propagation delay plus its jitter, but not before the one
/// ahead of it: jitter squeezes and stretches, it does not reorder.
#[derive(Debug)]
pub struct DelayLine<P> {
    delay: Duration,
    jitter: Option<(Jitter, Xoshiro256PlusPlus)>,
    under_way: VecDeque<(Instant, P)>,
}

impl<P> DelayLine<P> {
    /// A line of constant delay.
    #[must_use]
    pub fn new(delay: Duration) -> Self {
        Self { delay, jitter: None, under_way: VecDeque::new() }
    }

    /// The same with jitter.
    #[must_use]
    pub fn with_jitter(mut self, jitter: Jitter, random: Xoshiro256PlusPlus) -> Self {
        self.jitter = Some((jitter, random));
        self
    }

    /// Takes a packet that has left the link, and says when it will arrive.
    pub fn push(&mut self, now: Instant, packet: P) -> Instant {
        let extra = match &mut self.jitter {
            Some((jitter, random)) => jitter.draw(random),
            None => Duration::ZERO,
        };
        let due = now + self.delay + extra;
        let due = self.under_way.back().map_or(due, |(ahead, _)| due.max(*ahead));
        self.under_way.push_back((due, packet));
        due
    }

    /// When the next packet arrives.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        self.under_way.front().map(|(due, _)| *due)
    }

    /// The next packet that has arrived by `now`.
    pub fn pop(&mut self, now: Instant) -> Option<P> {
        let (due, _) = self.under_way.front()?;
        if *due > now {
            return None;
        }
        self.under_way.pop_front().map(|(_, packet)| packet)
    }

    /// How many packets are under way.
    #[must_use]
    pub fn len(&self) -> usize {
        self.under_way.len()
    }

    /// Whether none is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.under_way.is_empty()
    }
}
