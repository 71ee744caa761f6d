//! Periods of 20 ms whose waits have no noise, so that each number follows from those of the module's head.

use super::*;

/// What the link carries, bytes per second, and what comes of that in a period.
const LINK: f64 = 2.5e6;

struct Periods {
    law: LinkRate,
    now: Instant,
    round: Duration,
}

impl Periods {
    fn new() -> Self {
        Self { law: LinkRate::default(), now: Instant::ZERO, round: ROUND }
    }

    /// This part of what the link carries comes, and packets wait for so many milliseconds.
    fn end(&mut self, part: f64, wait: impl Into<Option<f64>>) {
        self.now += Duration::from_millis(20);
        let wait = wait.into().map(|wait| Duration::from_secs_f64(wait * 1e-3));
        let came = Bytes::new((part * LINK * 0.02).round() as u64);
        self.law.end_period(self.now, came, wait, self.round);
    }

    /// As many of these.
    fn end_all(&mut self, count: usize, part: f64, wait: f64) {
        (0..count).for_each(|_| self.end(part, wait));
    }

    /// Of what the link carries.
    fn rate(&self) -> f64 {
        self.law.rate.unwrap_or(f64::NAN) / LINK
    }

    fn capacity(&self) -> f64 {
        self.law.capacity.unwrap_or(f64::NAN) / LINK
    }

    /// Packets have waited for 5 ms in seven periods, and have drained in the eighth.
    fn known() -> Self {
        let mut periods = Self::new();
        periods.end_all(7, 1.0, 5.0);
        periods.end(0.94, 0.0);
        expect(periods.capacity(), 1.0);
        periods
    }
}

#[track_caller]
fn expect(told: f64, expected: f64) {
    assert!((told - expected).abs() < 1e-4, "{told} and not {expected}");
}

#[test]
fn the_cut_is_what_waits_of_100_ms_and_5_percent_more_each_100_ms() {
    for (wait, round, first) in
        [(5.0, 30, 0.05), (10.0, 50, 0.1), (10.0, 51, 10.0 / 102.0), (10.0, 100, 0.05)]
    {
        let mut periods = Periods::new();
        periods.round = Duration::from_millis(round);
        periods.end_all(2, 1.0, wait);
        assert_eq!(periods.law.rate(), None, "what came in less than 40 ms");
        for age in [0.04, 0.06, 0.08, 0.1] {
            periods.end(1.0, wait);
            expect(periods.capacity(), 1.0);
            expect(periods.rate(), 1.0 - first - 0.5 * age);
        }
        let told = periods.law.rate().map(Rate::as_bps_f64);
        assert!(told.is_some_and(|told| (told - periods.rate() * LINK * 8.0).abs() < 2.0));
    }
}

#[test]
fn a_cut_is_of_2_to_50_percent() {
    let mut periods = Periods::new();
    periods.end_all(3, 1.0, 47.0);
    expect(periods.rate(), 0.51);
    periods.end(1.0, 48.0);
    expect(periods.rate(), 0.5);
    // Two RTTs of 10 s: a wait of 5 ms is nothing of them, and 20 ms are 1 %.
    let mut periods = Periods::known();
    periods.round = Duration::from_secs(10);
    periods.end(1.0, 5.0);
    expect(periods.rate(), 0.98);
}

#[test]
fn what_waits_counts_from_the_target_on() {
    // 2 ms while nothing is known; then 1 ms and two packets of 1514 B, of a link of 2.5 MB/s.
    for (wait, waits) in [(1.99, false), (2.0, true)] {
        let mut periods = Periods::new();
        periods.end_all(3, 1.0, wait);
        assert_eq!(periods.law.rate().is_some(), waits, "{wait} ms");
    }
    let target = 1.0 + 3_028.0 / LINK * 1e3;
    for (wait, waits) in [(target - 0.001, false), (target + 0.001, true)] {
        let mut periods = Periods::known();
        periods.end(0.94, wait);
        assert_eq!(periods.law.standing.is_some(), waits, "{wait} ms");
    }
}

#[test]
fn two_packets_count_as_100_ms_at_most() {
    // 20 kB/s: they would take 151 ms.
    let mut periods = Periods::new();
    periods.end_all(3, 0.008, 200.0);
    expect(periods.law.target().as_millis_f64(), 101.0);
}

#[test]
fn a_link_is_used_up_to_98_percent_and_after_half_a_second_to_1_percent_more() {
    let mut periods = Periods::known();
    // Packets waited last at 140 ms. What comes is 0.94 of the link, which is 0.9 of the rate until that is 1.044 of it.
    let mut rises = Vec::new();
    let mut rate = periods.rate();
    expect(rate, 0.98);
    for _ in 0..100 {
        periods.end(0.94, 0.0);
        let risen = periods.rate() / rate;
        if risen > 1.0 + 1e-9 {
            rises.push((periods.now.as_nanos() / 1_000_000, risen));
            rate = periods.rate();
        }
    }
    // An RTT and 40 ms are four periods. Above the link, what is 0.97 % more makes the target of 2.2112 ms wait in 228 ms, which are
    // with these 70 ms 15 periods, and 2.99 % more in 74 ms, which are with them 8.
    let expected = [(640, 1.01), (720, 1.01), (800, 1.01), (1_100, 1.02), (1_260, 1.04)];
    assert_eq!(rises.len(), expected.len(), "{rises:?}");
    for ((at, risen), (expected_at, expected)) in rises.into_iter().zip(expected) {
        assert_eq!(at, expected_at);
        expect(risen, expected);
    }
    assert!(periods.law.growth.abs() < 1e-9, "it begins anew after half a second without use");
}

#[test]
fn a_rate_that_is_not_used_does_not_rise() {
    // 0.9 of 0.98 is 0.882.
    for (part, rises) in [(0.881, false), (0.883, true)] {
        let mut periods = Periods::known();
        periods.end_all(3, part, 0.0);
        periods.law.used = false;
        periods.end_all(30, part, 0.0);
        assert_eq!(periods.rate() > 0.981, rises, "{part}");
    }
}

#[test]
fn a_shaper_is_filled_by_nine_tenths_over_a_round_trip_and_40_ms() {
    let mut periods = Periods::new();
    periods.end_all(10, 1.0, 0.0);
    let fills = |periods: &Periods, part: f64, round| {
        let rate = Rate::from_bps_f64(part * LINK * 8.0);
        periods.law.fills(periods.now, rate, Duration::from_millis(round))
    };
    assert!(fills(&periods, 1.11, 30) && !fills(&periods, 1.112, 30));
    // Three periods of nothing are all of 60 ms, and half of 120 ms.
    (0..3).for_each(|_| periods.end(0.0, 0.0));
    assert!(!fills(&periods, 0.01, 20));
    assert!(fills(&periods, 0.55, 80) && !fills(&periods, 0.56, 80));
}

/// What comes follows the shaper, and packets seem to wait as before.
fn tried(round: i64, follows: bool, waits: [f64; 2]) -> Option<i64> {
    let mut periods = Periods::new();
    periods.round = Duration::from_millis(round);
    let mut part = 1.0;
    for period in 0..200 {
        periods.end(part, if period < 10 { waits[0] } else { waits[1] });
        if follows && periods.law.rate.is_some() {
            part = periods.rate();
        }
        if period > 2 && periods.law.standing.is_none() {
            assert_eq!(periods.law.rate(), None, "as before");
            assert!(periods.law.wait() < Duration::from_millis(1));
            return Some(periods.now.as_nanos() / 1_000_000);
        }
    }
    None
}

#[test]
fn a_wait_that_stays_while_what_comes_follows_is_no_queue_after_600_ms_or_four_round_trips() {
    // Packets seem to wait since 20 ms.
    assert_eq!(tried(30, true, [5.0, 5.0]), Some(620));
    assert_eq!(tried(200, true, [300.0, 300.0]), Some(820));
    // What does not follow is tried four times as long.
    assert_eq!(tried(30, false, [5.0, 5.0]), Some(2_420));
    assert_eq!(tried(200, false, [5.0, 5.0]), Some(3_220));
}

#[test]
fn a_wait_of_which_half_has_drained_is_a_queue() {
    assert_eq!(tried(30, true, [9.0, 4.5]), None);
    assert_eq!(tried(30, false, [9.0, 4.5]), None);
}

#[test]
fn a_path_that_is_longer_leaves_the_rate_as_it_was_before() {
    let mut periods = Periods::known();
    let before = periods.rate();
    let mut part = 0.94;
    for _ in 0..40 {
        periods.end(part, 5.0);
        part = periods.rate().min(0.94);
        if periods.law.standing.is_none() {
            break;
        }
    }
    expect(periods.rate(), before);
    expect(periods.capacity(), 1.0);
}

#[test]
fn a_lower_capacity_counts_after_100_ms_or_where_packets_wait_20_ms() {
    let counts_after = |wait: f64| {
        let mut periods = Periods::known();
        periods.end(1.0, wait);
        (1..=20).find(|_| {
            periods.end(0.5, wait);
            periods.capacity() < 0.9
        })
    };
    // What comes counts from the second period on: 40 ms are two, 100 ms are five.
    assert_eq!(counts_after(19.9), Some(5));
    assert_eq!(counts_after(20.0), Some(2));
}

#[test]
fn a_capacity_that_is_lower_is_believed_below_95_percent_of_the_shaper() {
    // At 5 ms the rate is 1 - 0.05 - 0.5 age of the known capacity.
    let after_100_ms = |part: f64| {
        let mut periods = Periods::known();
        periods.end_all(6, part, 5.0);
        periods.capacity()
    };
    // The rate before the sixth is 1 - 0.05 - 0.04.
    expect(after_100_ms(0.95 * 0.91 + 0.001), 1.0);
    expect(after_100_ms(0.95 * 0.91 - 0.001), 0.95 * 0.91 - 0.001);
}

#[test]
fn a_higher_capacity_counts_at_once() {
    let mut periods = Periods::known();
    periods.end_all(3, 1.2, 5.0);
    expect(periods.capacity(), 1.2);
}

#[test]
fn what_came_while_nobody_told_counts_for_300_ms() {
    for (untold, known) in [(14, true), (15, false)] {
        let mut periods = Periods::new();
        periods.end(1.0, 5.0);
        (0..untold).for_each(|_| periods.end(1.0, None));
        periods.end(1.0, 5.0);
        assert_eq!(periods.law.rate().is_some(), known, "{untold} periods");
    }
}

#[test]
fn a_capacity_is_of_200_ms_of_which_half_is_taken_off_where_it_is_full() {
    let mut periods = Periods::new();
    periods.end_all(10, 1.0, 20.0);
    let span = |periods: &Periods| periods.law.standing.map(|standing| standing.came.span);
    assert_eq!(span(&periods), Some(Duration::from_millis(180)));
    periods.end(1.0, 20.0);
    assert_eq!(span(&periods), Some(Duration::from_millis(100)));
    // One period of a fourth is 20 ms beside 100 ms of the whole.
    periods.end(0.25, 20.0);
    let came = periods.law.standing.map_or(0.0, |standing| standing.came.bytes);
    expect(came / LINK, 0.1 + 0.005);
}

#[test]
fn a_queue_that_has_drained_shows_what_the_link_carries() {
    // Twice the target of 2.2112 ms, in which the 0.2112 ms of two packets count once; what came then was 0.93 of the capacity, which is no
    // less than 0.95 of the shaper's.
    for (wait, periods_of_it, capacity) in [(4.2, 7, 1.0), (4.22, 7, 0.93), (4.22, 5, 1.0)] {
        let mut periods = Periods::known();
        periods.end_all(periods_of_it, 0.93, wait);
        expect(periods.capacity(), 1.0);
        periods.end(0.5, 0.0);
        expect(periods.capacity(), capacity);
    }
}

#[test]
fn where_nothing_can_wait_the_floor_rises() {
    // What waits is below the target, and 0.93 of the capacity comes over 70 ms, or less.
    for (part, rises) in [(0.935, false), (0.925, true)] {
        let mut periods = Periods::known();
        periods.law.floor = Floor::default();
        periods.end_all(10, part, 1.6);
        let before = periods.law.wait().as_millis_f64();
        periods.end(part, 1.6);
        let expected = if rises { before * 15.0 / 16.0 } else { 1.6 };
        expect(periods.law.wait().as_millis_f64(), expected);
    }
}

/// Moments of 40 ms that differ by half of the larger, in which packets wait.
#[test]
fn the_variation_is_a_mean_of_sixteen_moments_without_two_packets_and_4_percent() {
    let mut periods = Periods::new();
    // More than half of what waited first has drained, so it is a queue.
    periods.end_all(2, 1.0, 120.0);
    let mut differs = 0.0;
    for moment in 1..40 {
        periods.end_all(2, if moment % 2 == 0 { 1.0 } else { 0.5 }, 50.0);
        let part = 0.5 - 3_028.0 / 0.04 / LINK;
        differs += (part - differs) / 16.0;
        expect(periods.law.variation(), (differs - 0.04_f64).max(0.0));
        expect(periods.law.calm(), 1.0 + 10.0 * (differs - 0.04_f64).max(0.0));
        let target =
            periods.law.quiet_target() + Duration::from_millis(100).mul_f64(differs - 0.04);
        if differs > 0.04 {
            expect(periods.law.target().as_millis_f64(), target.as_millis_f64());
        }
    }
}

#[test]
fn moments_in_which_nothing_waits_say_nothing_of_the_variation() {
    let mut periods = Periods::new();
    for part in [1.0, 0.5].into_iter().cycle().take(40) {
        periods.end_all(2, part, 0.0);
    }
    expect(periods.law.differs, 0.0);
    // Nor does a moment of which nobody told for more than 300 ms.
    for part in [1.0, 0.5].into_iter().cycle().take(40) {
        periods.end(part, 50.0);
        (0..15).for_each(|_| periods.end(part, None));
    }
    expect(periods.law.differs, 0.0);
}

#[test]
fn what_comes_in_a_moment_shows_what_the_link_carries_less_two_packets() {
    let mut periods = Periods::known();
    periods.end(1.5, 0.0);
    let shown = 1.5 - 3_028.0 / 0.02 / LINK;
    expect(periods.capacity(), shown);
    expect(periods.rate(), 0.98 * shown);
    assert!(periods.law.exceeded);
    // No more than is known shows nothing.
    let mut periods = Periods::known();
    periods.end(1.0, 0.0);
    assert!(!periods.law.exceeded);
}

/// The rises from half a second on, of which each is told when it comes, while these waits follow each other.
fn rises(waits: &[f64], count: usize) -> Vec<(i64, f64)> {
    let mut periods = Periods::known();
    let mut rises = Vec::new();
    let mut rate = periods.rate();
    for wait in waits.iter().cycle().take(100) {
        periods.end(0.94, *wait);
        let risen = periods.rate() / rate;
        rate = periods.rate();
        if risen > 1.0 + 1e-9 {
            rises.push((periods.now.as_nanos() / 1_000_000, (risen * 1e4).round() / 1e4));
        }
        if rises.len() >= count {
            break;
        }
    }
    rises
}

#[test]
fn rises_become_larger_where_less_waits_than_half_of_the_target() {
    // Which is of 2.2112 ms. Above the link, two percent more come where nothing waits, and one where something does.
    for (wait, fourth) in [(1.1, 1.02), (1.11, 1.01)] {
        let factors = rises(&[wait], 4).into_iter().map(|(_, factor)| factor);
        assert_eq!(factors.collect::<Vec<_>>(), [1.01, 1.01, 1.01, fourth], "{wait} ms");
    }
}

/// Waits that differ by 0.8 ms: the margin of their mean, three times 0.8 ms, is more than half of the target.
#[test]
fn where_jitter_hides_the_target_rises_become_larger_just_below_the_link_and_nothing_is_awaited() {
    // The third leaves from 0.9997 of the link, which is above 0.995 of it. The next comes after a round trip and 40 ms.
    let expected = [(640, 1.01), (720, 1.01), (800, 1.02), (880, 1.04)];
    assert_eq!(rises(&[0.0, 0.8], 4), expected);
}

#[test]
fn on_a_link_that_varies_cuts_are_less_and_rates_higher() {
    // 34 % are 0.3 above those of one change, so all is calmer by 1 + 10 times 0.3.
    let mut periods = Periods::known();
    periods.law.differs = 0.34;
    periods.end(0.94, 0.0);
    expect(periods.rate(), 0.98 * 1.3);
    let mut periods = Periods::known();
    periods.law.differs = 0.34;
    // More than 30 ms and the target.
    periods.end(1.0, 40.0);
    expect(periods.rate(), 1.0 - 0.4 / 4.0);
}

#[test]
fn on_a_link_that_varies_the_rate_rises_sooner() {
    // Calmer by 1.4: 500 ms are 357 ms, since packets waited last at 140 ms.
    let mut periods = Periods::known();
    periods.law.differs = 0.08;
    periods.end(0.94, 0.0);
    let rate = periods.rate();
    expect(rate, 0.98 * 1.04);
    // The period that ends at 180 ms is over.
    let rises = (1..100).find(|_| {
        periods.end(0.94, 0.0);
        periods.rate() > rate * 1.005
    });
    assert_eq!(rises.map(|number| 180 + 20 * number), Some(500));
    expect(periods.rate(), rate * 1.01);
}

#[test]
fn a_moment_of_which_nobody_told_for_300_ms_says_something_of_the_variation() {
    let mut periods = Periods::new();
    for part in [1.0, 0.5] {
        (0..14).for_each(|_| periods.end(part, None));
        periods.end(part, 50.0);
    }
    expect(periods.law.differs, (0.5 - 3_028.0 / 0.3 / LINK) / 16.0);
}
