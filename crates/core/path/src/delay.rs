//! Propagation delay with jitter that never reorders, and packets that are put elsewhere on purpose.
//!
//! | deviation | why |
//! |---|---|
//! | packets that jitter squeezes arrive together, where RFC 8868 section 4.5 keeps their serialization at the slowest link between them | a line does not know the links before it; at 20 Mb/s the difference is 0.5 ms a packet |

use crate::{Displacement, MeasuredDelays, Stalls, uniform};
use gameway_units::{Duration, Instant};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::VecDeque;

/// How the one-way delay varies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Jitter {
    /// Extra delay drawn anew for each packet: normal, cut at zero.
    Normal {
        /// Mean of the normal distribution before it is cut.
        mean: Duration,
        /// Its standard deviation.
        deviation: Duration,
    },
    /// Extra delay drawn anew for each packet: the absolute value of a normal of mean zero, truncated at
    /// three deviations (RFC 8868 section 4.5.2).
    HalfNormal {
        /// Standard deviation of the normal.
        deviation: Duration,
    },
    /// What would arrive within `delay` after a multiple of `interval` arrives at the end of that time,
    /// in one burst (Wang et al. 2024, Appendix F).
    Periodic {
        /// How long arrivals are held.
        delay: Duration,
        /// From the begin of one such time to the next.
        interval: Duration,
    },
    /// Extra delay drawn anew for each packet from a measured histogram.
    Histogram(MeasuredDelays),
}

impl Jitter {
    /// When a packet arrives that would arrive at `due` without jitter.
    fn arrival(&self, due: Instant, random: &mut Xoshiro256PlusPlus) -> Instant {
        match *self {
            Self::Normal { mean, deviation } => {
                due + (mean + deviation.mul_f64(normal(random))).max(Duration::ZERO)
            }
            Self::HalfNormal { deviation } => due + deviation.mul_f64(truncated(random).abs()),
            Self::Periodic { delay, interval } => {
                let phase = due.as_nanos().rem_euclid(interval.as_nanos().max(1));
                due + (delay - Duration::from_nanos(phase)).max(Duration::ZERO)
            }
            Self::Histogram(ref histogram) => due + histogram.draw(random),
        }
    }
}

/// A standard normal draw, by Box and Muller's transform.
fn normal(random: &mut Xoshiro256PlusPlus) -> f64 {
    let radius = (-2.0 * libm::log(1.0 - uniform(random))).sqrt();
    radius * libm::cos(std::f64::consts::TAU * uniform(random))
}

/// A standard normal draw within three deviations; one in 370 is drawn anew.
fn truncated(random: &mut Xoshiro256PlusPlus) -> f64 {
    loop {
        let draw = normal(random);
        if draw.abs() <= 3.0 {
            return draw;
        }
    }
}

/// Packets under way. Each arrives after the propagation delay plus its jitter, but not before the one
/// ahead of it: jitter squeezes and stretches, it does not reorder. Packets that are displaced neither wait for
/// others nor make them wait.
#[derive(Debug)]
pub struct DelayLine<P> {
    delay: Duration,
    jitter: Option<(Jitter, Xoshiro256PlusPlus)>,
    stalls: Option<Stalls>,
    /// When the last packet arrives that is in its place.
    in_place: Instant,
    /// The next to arrive first.
    under_way: VecDeque<(Instant, P)>,
}

impl<P> DelayLine<P> {
    /// A line of constant delay.
    #[must_use]
    pub fn new(delay: Duration) -> Self {
        Self {
            delay,
            jitter: None,
            stalls: None,
            in_place: Instant::ZERO,
            under_way: VecDeque::new(),
        }
    }

    /// The same with jitter.
    #[must_use]
    pub fn with_jitter(mut self, jitter: Jitter, random: Xoshiro256PlusPlus) -> Self {
        self.jitter = Some((jitter, random));
        self
    }

    /// The same with times in which nothing arrives.
    #[must_use]
    pub fn with_stalls(mut self, stalls: Stalls) -> Self {
        self.stalls = Some(stalls);
        self
    }

    /// Packets that leave the link from now on are delayed so. Those under way arrive as they would have, and none
    /// arrives before one ahead of it.
    pub const fn set_delay(&mut self, delay: Duration) {
        self.delay = delay;
    }

    /// The same of the jitter. Where there was some, the next numbers of the same sequence are drawn, else `random`'s.
    pub fn set_jitter(&mut self, jitter: Option<Jitter>, random: Xoshiro256PlusPlus) {
        let random = self.jitter.take().map_or(random, |(_, random)| random);
        self.jitter = jitter.map(|jitter| (jitter, random));
    }

    /// Takes a packet that has left the link, and says when it will arrive.
    pub fn push(&mut self, now: Instant, packet: P) -> Instant {
        self.push_displaced(now, packet, Displacement::None)
    }

    /// The same of one that may be put before or behind others.
    pub fn push_displaced(
        &mut self,
        now: Instant,
        packet: P,
        displacement: Displacement,
    ) -> Instant {
        let due = self.arrival(now, displacement);
        self.insert(due, packet);
        due
    }

    /// When a packet that leaves the link now arrives; to be asked once for each, and then [`Self::insert`].
    pub(crate) fn arrival(&mut self, now: Instant, displacement: Displacement) -> Instant {
        let due = now + self.delay;
        let due = self.stalls.as_ref().map_or(due, |stalls| stalls.held(due));
        let due = match &mut self.jitter {
            Some((jitter, random)) => jitter.arrival(due, random),
            None => due,
        };
        match displacement {
            Displacement::None => {
                self.in_place = due.max(self.in_place);
                self.in_place
            }
            Displacement::AtOnce => now,
            Displacement::Earlier(by) => (due - by).max(now),
            Displacement::Later(by) => due + by,
        }
    }

    /// Takes a packet that arrives then.
    pub(crate) fn insert(&mut self, due: Instant, packet: P) {
        match self.under_way.back() {
            Some((last, _)) if *last > due => {
                let place = self.under_way.partition_point(|(at, _)| *at <= due);
                self.under_way.insert(place, (due, packet));
            }
            _ => self.under_way.push_back((due, packet)),
        }
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

    /// The packets that are under way, the next to arrive first.
    pub fn iter(&self) -> impl Iterator<Item = &P> {
        self.under_way.iter().map(|(_, packet)| packet)
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

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::SeedableRng;

    fn millis(count: i64) -> Instant {
        Instant::ZERO + Duration::from_millis(count)
    }

    #[test]
    fn what_is_displaced_arrives_in_its_new_place_and_moves_nobody_else() {
        use Displacement::{AtOnce, Earlier, Later, None};
        let by = Duration::from_millis;
        let mut line = DelayLine::new(by(10));
        // Sent in each of these milliseconds: of equal arrivals the one that was sent first is first.
        let sent = [None, Later(by(5)), None, Earlier(by(3)), Earlier(by(100)), AtOnce];
        let due = sent.into_iter().enumerate();
        let due: Vec<Instant> = due
            .map(|(number, to)| line.push_displaced(millis(number as i64), number, to))
            .collect();
        assert_eq!(due, [10, 16, 12, 10, 4, 5].map(millis));
        assert_eq!(line.iter().copied().collect::<Vec<_>>(), [4, 5, 0, 3, 2, 1]);
        for (left, (at, number)) in
            [(4, 4), (5, 5), (10, 0), (10, 3), (12, 2), (16, 1)].iter().enumerate()
        {
            assert_eq!((line.len(), line.is_empty()), (6 - left, false));
            assert_eq!(line.next_deadline(), Some(millis(*at)));
            assert_eq!(line.pop(millis(*at) - Duration::from_nanos(1)), Option::None, "not yet");
            assert_eq!(line.pop(millis(*at)), Some(*number));
        }
        assert_eq!((line.len(), line.is_empty(), line.next_deadline()), (0, true, Option::None));
        // The displaced one was not in its place, so the next is not held behind it.
        assert_eq!(line.push(millis(6), 6), millis(16));
    }

    /// Of a normal distribution 68.3 % lie within one deviation, 95.4 % within two, and half on each side.
    #[test]
    fn normal_jitter_is_normal_and_cut_at_zero() {
        let delays = |mean: i64| -> Vec<f64> {
            let (mean, deviation) = (Duration::from_millis(mean), Duration::from_millis(5));
            let random = Xoshiro256PlusPlus::seed_from_u64(3);
            let mut line = DelayLine::new(Duration::ZERO)
                .with_jitter(Jitter::Normal { mean, deviation }, random);
            let sent = (0..20_000).map(|number| millis(100 * number));
            sent.map(|now| (line.push(now, ()) - now).as_millis_f64()).collect()
        };
        let share = |of: &[f64], holds: &dyn Fn(f64) -> bool| {
            of.iter().filter(|delay| holds(**delay)).count() as f64 / of.len() as f64
        };
        let around = delays(40);
        let within =
            |deviations: f64| share(&around, &|delay| (delay - 40.0).abs() < deviations * 5.0);
        assert!((0.67..0.695).contains(&within(1.0)), "{}", within(1.0));
        assert!((0.948..0.96).contains(&within(2.0)), "{}", within(2.0));
        let below = share(&around, &|delay| delay < 40.0);
        assert!((0.49..0.51).contains(&below), "{below}");
        let none = share(&delays(0), &|delay| delay <= 0.0);
        assert!((0.49..0.51).contains(&none), "a mean of zero cuts half of them: {none}");
    }

    #[test]
    fn a_delay_that_becomes_shorter_lets_nobody_overtake() {
        let mut line = DelayLine::new(Duration::from_millis(20));
        assert_eq!(line.push(millis(0), ()), millis(20));
        line.set_delay(Duration::from_millis(5));
        let due = [1, 14, 15, 16].map(|now| line.push(millis(now), ()));
        assert_eq!(due, [20, 20, 20, 21].map(millis));
    }

    #[test]
    fn another_jitter_goes_on_in_the_random_numbers_of_the_one_before() {
        let random = Xoshiro256PlusPlus::seed_from_u64;
        let jitter = |millis| Jitter::HalfNormal { deviation: Duration::from_millis(millis) };
        let next = |line: &mut DelayLine<()>, from: i64| {
            [0, 1, 2].map(|second| {
                let now = millis(1000 * (from + second));
                (line.push(now, ()) - now).as_nanos()
            })
        };
        let line = || DelayLine::new(Duration::ZERO).with_jitter(jitter(1), random(3));
        let mut same = line();
        let (early, late) = (next(&mut same, 0), next(&mut same, 3));
        let mut other = line();
        assert_eq!(next(&mut other, 0), early);
        other.set_jitter(Some(jitter(2)), random(4));
        for (one, twice) in late.iter().zip(next(&mut other, 3)) {
            assert!((2 * one).abs_diff(twice) <= 1, "twice the deviation: {twice} of {one}");
        }
        other.set_jitter(None, random(4));
        assert_eq!(next(&mut other, 6), [0; 3]);
        // Where there was none, it begins with the numbers that are given.
        other.set_jitter(Some(jitter(1)), random(3));
        assert_eq!(next(&mut other, 9), early);
    }
}
