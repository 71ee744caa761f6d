//! Two downloads whose windows change gently, as in mode `both`: of 50 ms, and of equal rates. A third in between is silent.

use super::*;

const RTT: f64 = 0.05;

struct Gentle(ByHand<Voap, 3>);

impl Gentle {
    /// Both have 20 segments in the periods in which they come under control, in which packets wait 30 ms and this comes.
    fn take(left: u64) -> Self {
        let config = VoapConfig {
            step: Step::Fill,
            newcomers: Newcomers::Admitted,
            fairness: Fairness::Rates,
            ..VoapConfig::default()
        };
        let mut gentle = Self(ByHand::new(Voap::new(config).gently()));
        gentle.period([20, 20], 30, left);
        gentle
    }

    fn period(&mut self, [first, second]: [u32; 2], wait: i64, left: u64) {
        let now = self.0.at(10);
        self.0.gateway.on_departure(now, Bytes::new(left), millis(wait));
        self.0.period([first, 0, second]);
    }

    fn states(&self) -> [Control; 2] {
        [1, 3].map(|flow| {
            let mut data = self.0.gateway.flows().directions();
            let port = gameway_path::Header::numbered(flow).source;
            data.find(|(header, _)| header.source == port).expect("it is known").1.state
        })
    }

    #[track_caller]
    fn expect(&self, windows: [f64; 2]) {
        for (state, expected) in self.states().into_iter().zip(windows) {
            assert!(state.is_active());
            let window = state.window();
            assert!((window - expected).abs() < 1e-3, "{window} and not {expected}");
        }
    }
}

/// What waits above 15 ms and two segments is cut at once, as where windows do not change gently.
fn cut(left: u64) -> f64 {
    let rate = left as f64 / 0.2;
    segments(20.0) - (rate * 0.015 - segments(2.0)) / 2.0
}

#[test]
fn windows_grow_together_by_a_sixteenth_or_by_3_ms_of_the_link() {
    // 450 kB/s, of which 3 ms are 1350 B; and 1.2 MB/s, of which they are 3600 B, while a sixteenth of the windows is less.
    for (left, is_part) in [(90_000, true), (240_000, false)] {
        let mut gentle = Gentle::take(left);
        let before = cut(left);
        gentle.expect([before; 2]);
        gentle.period([30, 30], 2, left);
        let (part, time) = (before * 2.0 / 16.0, left as f64 / 0.2 * 0.003);
        assert_eq!(part > time, is_part, "{part} and {time}");
        gentle.expect([before + part.max(time) / 2.0; 2]);
    }
}

/// The multiples of the golden ratio: 0, 0.618, of which the nearest whole number is 1.
#[test]
fn windows_that_are_told_differ_by_up_to_half_a_segment() {
    let gentle = Gentle::take(90_000);
    let told = gentle.states().map(|state| state.wanted().unwrap_or(0) as f64);
    let window = cut(90_000);
    for (told, part) in told.into_iter().zip([0.0, 0.618_034 - 1.0]) {
        let expected = window + part * segments(1.0);
        assert!((told - expected).abs() <= 1.0, "{told} and not {expected}");
    }
}

/// The link carries 1 MB/s, and packets wait 10 ms, so that the windows of both come down to what they use.
#[test]
fn what_others_leave_is_given_once() {
    let left = 200_000;
    let mut gentle = Gentle::take(left);
    gentle.expect([cut(left); 2]);
    gentle.period([10, 10], 10, left);
    let use_of_both = 2.0 * segments(10.0);
    let free = 1e6 * RTT - use_of_both;
    // Four times the use of the first would be more. The second has twice its use, which is more than its share.
    assert!(free > 0.0 && segments(40.0) > segments(10.0) + free);
    gentle.expect([segments(10.0) + free, segments(10.0)]);
}

#[test]
fn a_window_that_becomes_smaller_takes_nothing_of_what_others_leave() {
    let left = 200_000;
    let mut gentle = Gentle::take(left);
    // At 2 ms they grow by 3 ms of 1 MB/s.
    let grown = cut(left) + 1e6 * 0.003 / 2.0;
    let free = 1e6 * RTT - 2.0 * grown;
    gentle.period([2, 5], 2, left);
    // Four times the use of the second would be more than that.
    assert!(free > 0.0 && segments(8.0) < grown && segments(20.0) > grown + free);
    gentle.expect([segments(8.0), grown + free]);
}

/// A round trip of 150 ms: half of it has passed when the period ends in which nothing waits.
#[test]
fn windows_grow_once_nothing_waited_for_half_a_round_trip() {
    let config =
        VoapConfig { step: Step::Fill, fairness: Fairness::Rates, ..VoapConfig::default() };
    let mut home = Home(ByHand::new(Voap::new(config).gently()));
    // What is cut in the second still waits in the third.
    (0..3).for_each(|_| home.period([0, 20], 30, 90_000));
    let window = |home: &Home| home.windows()[1].expect("it is under control");
    let before = window(&home);
    home.period([0, 30], 2, 90_000);
    // A sixteenth of its window, or 3 ms of 450 kB/s.
    let more = (before / 16.0).max(450_000.0 * 0.003);
    assert!((window(&home) - before - more).abs() < 1e-3, "{} after {before}", window(&home));
}

#[test]
fn a_share_that_is_limited_is_four_times_its_use_up_to_what_others_leave() {
    // 3 MB/s; of 30 ms 14.03 are in excess.
    let left = 600_000;
    let window = cut(left);
    let (rate, given) = (3e6, 2.0 * window / RTT);
    assert!(rate - given > segments(16.0) / RTT);
    let mut gentle = Gentle::take(left);
    gentle.expect([window; 2]);
    // Packets wait 10 ms, so that nothing grows: the second uses 1 segment of its window.
    gentle.period([20, 4], 10, left);
    let states = gentle.states();
    assert!((states[1].window() - segments(16.0)).abs() < 1e-3, "{:?}", states[1]);
}

#[test]
fn a_share_is_twice_its_use_where_others_leave_nothing() {
    // 450 kB/s: the windows of 27 kB in 50 ms are more than that.
    let mut gentle = Gentle::take(90_000);
    gentle.period([20, 4], 10, 90_000);
    let limited = segments(8.0);
    let states = gentle.states();
    assert!((states[1].window() - limited).abs() < 1e-3, "{:?}", states[1]);
}

/// Half of 150 ms are two periods of 50 ms.
#[test]
fn windows_grow_once_packets_have_waited_less_than_alpha_for_half_a_round_trip_after_a_cut_too() {
    let config = VoapConfig { step: Step::Fill, period: millis(50), ..VoapConfig::default() };
    let mut home = Home(ByHand::with_period(Voap::new(config).gently(), 50));
    let sum = |home: &Home| home.windows().into_iter().flatten().sum::<f64>();
    [10, 10, 10, 10, 10, 10, 30].into_iter().for_each(|wait| home.period([20, 20], wait, 60_000));
    // In 50 ms the first has 20 segments, in 150 ms the second 60. Of 1.2 MB/s 15 ms less two segments are in excess.
    let cut = sum(&home);
    assert!((cut - segments(80.0) + 18_000.0 - segments(2.0)).abs() < 1e-3, "{cut}");
    home.period([20, 20], 2, 60_000);
    assert!((sum(&home) - cut).abs() < 1e-3, "{} after {cut}: at once", sum(&home));
    home.period([20, 20], 2, 60_000);
    assert!(sum(&home) > cut + segments(1.0), "{} after {cut}", sum(&home));
}
