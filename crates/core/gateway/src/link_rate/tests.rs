//! The law with a fluid that fills a link, and period by period.

use super::*;

mod closed_forms;

const ROUND: Duration = Duration::from_millis(30);

/// A link in front of a shaper: a fluid that its senders fill to the shaper's rate an RTT later.
struct Fluid {
    law: LinkRate,
    /// Bytes per second, and bytes that wait in front.
    link: f64,
    waiting: f64,
    /// What the shaper had in the last periods: senders follow.
    rates: Vec<f64>,
    /// What is measured beside what waits, of each period in turn.
    beside: Vec<f64>,
    now: Instant,
    period: usize,
}

impl Fluid {
    fn new(link: f64) -> Self {
        let law = LinkRate::default();
        let (rates, beside) = (vec![1.5 * link; 2], vec![0.0]);
        Self { law, link, waiting: 0.0, rates, beside, now: Instant::ZERO, period: 0 }
    }

    /// Runs `periods` periods of 20 ms; gives the longest wait in milliseconds and what came, of the link.
    fn play(&mut self, periods: usize) -> (f64, f64) {
        let (mut longest, mut total) = (0.0_f64, 0.0);
        for _ in 0..periods {
            let sent = self.rates.remove(0).min(1.5 * self.link) * 0.02;
            let came = (self.waiting + sent).min(self.link * 0.02);
            self.waiting += sent - came;
            let wait = Duration::from_secs_f64(self.waiting / self.link);
            self.now += Duration::from_millis(20);
            let beside = self.beside[self.period % self.beside.len()];
            self.period += 1;
            let measured = wait + Duration::from_secs_f64(beside * 1e-3);
            self.law.end_period(self.now, Bytes::new(came as u64), Some(measured), ROUND);
            self.rates.push(self.law.rate.unwrap_or(1.5 * self.link));
            (longest, total) = (longest.max(wait.as_millis_f64()), total + came);
        }
        (longest, total / (periods as f64 * 0.02 * self.link))
    }
}

#[test]
fn a_link_is_used_and_its_queue_stays_short() {
    for link in [2.5e5, 2.5e6, 2.5e7] {
        let mut fluid = Fluid::new(link);
        fluid.play(100);
        let (longest, used) = fluid.play(500);
        let pair = 3028.0 / link * 1e3;
        assert!((1.0..6.0 + pair).contains(&longest), "{link}: {longest} ms");
        assert!((0.97..1.0).contains(&used), "{link}: {used}");
    }
}

#[test]
fn a_link_that_halves_is_followed_at_once_and_one_that_doubles_within_two_seconds() {
    let mut fluid = Fluid::new(2.5e6);
    fluid.play(200);
    fluid.link = 1.25e6;
    let (longest, _) = fluid.play(50);
    assert!((10.0..80.0).contains(&longest), "{longest} ms");
    let (longest, used) = fluid.play(100);
    assert!(longest < 6.0 && used > 0.96, "{longest} ms, {used}");
    fluid.link = 2.5e6;
    fluid.play(100);
    let (longest, used) = fluid.play(100);
    assert!(longest < 10.0 && used > 0.95, "{longest} ms, {used}");
}

#[test]
fn a_path_that_becomes_longer_is_no_queue() {
    let mut fluid = Fluid::new(2.5e6);
    fluid.play(200);
    fluid.beside = vec![25.0];
    fluid.play(100);
    let (longest, used) = fluid.play(100);
    assert!((0.5..6.0).contains(&longest) && used > 0.97, "{longest} ms, {used}");
    assert!(fluid.law.wait() < Duration::from_millis(5), "{}", fluid.law.wait());
    // Nor is one that becomes shorter again.
    fluid.beside = vec![0.0];
    fluid.play(100);
    let (longest, used) = fluid.play(100);
    assert!((0.5..8.0).contains(&longest) && used > 0.97, "{longest} ms, {used}");
}

#[test]
fn jitter_is_no_queue_and_a_queue_is_found_in_it() {
    let mut fluid = Fluid::new(2.5e6);
    let draws = (0..97).map(|n| f64::from(n * 37 % 97) / 97.0 * 18.0);
    fluid.beside = draws.collect();
    fluid.play(400);
    let (longest, used) = fluid.play(400);
    assert!((0.5..40.0).contains(&longest) && used > 0.95, "{longest} ms, {used}");
    fluid.link = 1.25e6;
    fluid.play(100);
    let (longest, used) = fluid.play(200);
    assert!((0.5..40.0).contains(&longest) && used > 0.95, "{longest} ms, {used}");
}

/// Packets wait 20 ms now and then, and what comes differs from moment to moment, or does not.
#[test]
fn where_a_link_varies_more_may_wait() {
    let mut law = LinkRate::default();
    let mut now = Instant::ZERO;
    let mut play = |law: &mut LinkRate, came: [u64; 2]| {
        for period in 0..400 {
            now += Duration::from_millis(20);
            let wait = if period % 20 < 16 { 20 } else { 0 };
            let (came, wait) = (Bytes::new(came[period / 2 % 2]), Duration::from_millis(wait));
            law.end_period(now, came, Some(wait), ROUND);
        }
        (law.variation(), law.target().as_millis_f64())
    };
    let (variation, target) = play(&mut law, [75_000, 25_000]);
    assert!((0.3..0.7).contains(&variation) && target > 30.0, "{variation}, {target} ms");
    let (variation, target) = play(&mut law, [50_000, 50_000]);
    assert!(variation < 0.01 && target < 5.0, "{variation}, {target} ms");
}

#[test]
fn nothing_is_shaped_before_packets_have_waited_and_nothing_changes_unless_somebody_tells() {
    let mut law = LinkRate::default();
    let mut now = Instant::ZERO;
    let mut period = |law: &mut LinkRate, wait| {
        now += Duration::from_millis(20);
        law.end_period(now, Bytes::new(50_000), wait, ROUND);
        law.rate().map(Rate::as_bps)
    };
    assert!((0..100).all(|_| period(&mut law, Some(Duration::ZERO)).is_none()));
    let waits = Some(Duration::from_millis(5));
    let known = (0..6).map(|_| period(&mut law, waits)).last().flatten();
    assert!(known.is_some_and(|rate| (17_000_000..19_700_000).contains(&rate)), "{known:?}");
    assert!((0..100).all(|_| period(&mut law, None) == known));
}

/// Periods of 20 ms in turn: what comes in each, of what a link of 50 Mb/s carries, and what waits, in milliseconds.
struct Played {
    law: LinkRate,
    now: Instant,
}

impl Played {
    const FULL: f64 = 6.25e6;

    fn new() -> Self {
        Self { law: LinkRate::default(), now: Instant::ZERO }
    }

    fn play(&mut self, count: usize, periods: &[(f64, Option<i64>)]) {
        for (part, wait) in periods.iter().cycle().take(count) {
            self.now += Duration::from_millis(20);
            let came = Bytes::new((part * 0.02 * Self::FULL) as u64);
            self.law.end_period(self.now, came, wait.map(Duration::from_millis), ROUND);
        }
    }

    /// What the link is known to carry, of what it does.
    fn known(&self) -> f64 {
        self.law.capacity.unwrap_or(0.0) / Self::FULL
    }

    fn rate(&self) -> f64 {
        self.law.rate.unwrap_or(0.0) / Self::FULL
    }
}

/// Each waits for itself, and nothing comes until the next.
#[test]
fn flights_of_a_slow_start_say_no_less_than_what_came_in_a_moment_of_them() {
    let mut played = Played::new();
    played.play(7, &[(1.0, Some(9)), (0.0, None)]);
    assert!((0.95..1.0).contains(&played.known()), "{}", played.known());
}

#[test]
fn a_flight_that_does_not_wait_shows_what_the_link_carries_and_rises_are_quick_from_then_on() {
    let mut played = Played::new();
    played.play(20, &[(0.5, Some(5))]);
    played.play(20, &[(0.48, Some(0))]);
    assert!((0.48..0.52).contains(&played.rate()), "{}", played.rate());
    played.play(1, &[(0.8, Some(0))]);
    assert!((0.74..0.8).contains(&played.rate()), "{}", played.rate());
    // By 1, 2 and 4 percent, until senders do not use it.
    let before = played.rate();
    played.play(30, &[(0.72, Some(0))]);
    assert!((1.06..1.08).contains(&(played.rate() / before)), "{} after {before}", played.rate());
}

#[test]
fn a_link_that_slows_down_while_packets_wait_is_known_to_have_done_so() {
    let mut played = Played::new();
    played.play(10, &[(1.0, Some(10))]);
    assert!((0.95..1.05).contains(&played.known()), "{}", played.known());
    played.play(30, &[(0.4, Some(40))]);
    assert!((0.35..0.6).contains(&played.known()), "{}", played.known());
}

#[test]
fn what_jitter_bunches_in_a_moment_is_no_link_that_carries_more() {
    let mut played = Played::new();
    played.play(20, &[(0.5, Some(10))]);
    played.play(100, &[(0.3, Some(0)), (0.7, Some(12)), (0.2, Some(6)), (0.6, Some(0))]);
    assert!((0.4..0.6).contains(&played.known()), "{}", played.known());
}
