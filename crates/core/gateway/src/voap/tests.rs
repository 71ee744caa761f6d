//! The algorithms of the paper, period by period, in closed form.

use super::*;
use crate::by_hand::{ByHand, MSS};

mod filling;
mod gently;
mod shares;
mod tried;

fn millis(count: i64) -> Duration {
    Duration::from_millis(count)
}

fn segments(count: f64) -> f64 {
    count * f64::from(MSS)
}

struct Home(ByHand<Voap>);

impl Home {
    fn new(config: VoapConfig) -> Self {
        Self(ByHand::new(Voap::new(config)))
    }

    fn of_paper() -> Self {
        Self::new(VoapConfig::default())
    }

    /// A period with bursts of these numbers of segments, the longest wait, and what left the queue.
    fn period(&mut self, bursts: [u32; 2], wait: i64, left: u64) {
        let now = self.0.at(10);
        self.0.gateway.on_departure(now, Bytes::new(left), millis(wait));
        self.0.gateway.on_departure(now, Bytes::ZERO, millis(wait / 2));
        self.0.period(bursts);
    }

    /// Both flows come under control with these windows, before the step and the sharing of that period.
    fn take(bursts: [u32; 2], config: VoapConfig, left: u64) -> Self {
        let mut home = Self::new(config);
        home.period(bursts, 30, left);
        assert_eq!(home.windows(), [None; 2], "in slow start");
        home.period(bursts, 30, left);
        home
    }

    /// The windows under control, in bytes.
    fn windows(&self) -> [Option<f64>; 2] {
        self.states().map(|state| state.is_active().then_some(state.window()))
    }

    fn estimates(&self) -> [Option<f64>; 2] {
        self.states().map(|state| state.estimate())
    }

    fn states(&self) -> [Control; 2] {
        let of = |flow| {
            let mut data = self.0.gateway.flows().directions();
            let port = gameway_path::Header::numbered(flow).source;
            data.find(|(header, _)| header.source == port).expect("it is known").1.state
        };
        [of(1), of(2)]
    }

    #[track_caller]
    fn expect(&self, windows: [f64; 2]) {
        for (window, expected) in self.windows().into_iter().zip(windows) {
            let window = window.expect("it is under control");
            assert!((window - expected).abs() < 1e-3, "{window} and not {expected}");
        }
    }
}

/// Algorithms 1 and 3: both give up a segment, then each moves halfway to the mean.
#[test]
fn above_beta_flows_come_under_control_give_up_a_segment_and_share() {
    let mut home = Home::take([20, 10], VoapConfig::default(), 0);
    // 19 and 9, whose mean is 14.
    home.expect([segments(16.5), segments(11.5)]);
    assert_eq!(home.estimates(), [Some(segments(20.0)), Some(segments(10.0))]);
    assert_eq!(home.0.gateway.measured(), millis(30));
    let told = home.0.period([20, 10]);
    assert_eq!(told, [16.5, 11.5].map(|count| segments(count) as u16));
}

#[test]
fn the_bounds_themselves_count_as_between_them() {
    for (wait, below_alpha_or_above_beta) in [(4, true), (5, false), (15, false), (16, true)] {
        let mut home = Home::take([10, 10], VoapConfig::default(), 0);
        home.expect([segments(9.0); 2]);
        home.period([10, 10], wait, 0);
        let change = if wait < 5 { 1.0 } else { -1.0 };
        let expected = if below_alpha_or_above_beta { 9.0 + change } else { 9.0 };
        home.expect([segments(expected); 2]);
    }
}

#[test]
fn the_oldest_in_the_queue_counts_as_what_left_it() {
    let mut voap = Voap::new(VoapConfig::default());
    let due = voap.next_deadline();
    voap.on_departure(due, Bytes::ZERO, millis(7));
    voap.on_deadline(due - millis(1), None);
    assert_eq!((voap.measured(), voap.next_deadline()), (Duration::ZERO, due), "not yet");
    voap.on_deadline(due, Some(due - millis(6)));
    assert_eq!((voap.measured(), voap.next_deadline()), (millis(7), due + millis(200)));
    voap.on_deadline(due + millis(200), Some(due));
    assert_eq!(voap.measured(), millis(200));
    voap.on_deadline(due + millis(400), None);
    assert_eq!(voap.measured(), Duration::ZERO);
}

/// Algorithm 4: who does not use its share keeps 10 %, or three segments, more than it uses; the rest goes to the other.
#[test]
fn what_a_flow_does_not_use_goes_to_who_could_use_more() {
    let mut home = Home::take([20, 10], VoapConfig::default(), 0);
    // The windows come down to what is used, 16.5 and 10: the share is 13.25. Ten and two segments, rounded up, are less.
    home.period([20, 10], 10, 0);
    let (split, limited) = (segments(13.25), segments(12.0) + 1.0);
    home.expect([2.0 * split - limited, limited]);
    // A segment more each; then the same.
    home.period([20, 10], 2, 0);
    let split = split + segments(1.0);
    home.expect([2.0 * split - limited, limited]);
    // 10 % of 40 segments are more than two: the share is 51 segments, of which 44 are kept.
    let mut home = Home::take([64, 60], VoapConfig::default(), 0);
    home.expect([segments(62.0), segments(60.0)]);
    home.period([64, 40], 10, 0);
    home.expect([segments(58.0), segments(44.0)]);
}

#[test]
fn who_uses_its_window_or_more_than_its_share_could_use_more() {
    // 9 and 59, half way to 34: 21.5 and 46.5.
    let taken = || Home::take([10, 60], VoapConfig::default(), 0);
    let limited = |used: f64| segments(used + 2.0) + 1.0;
    let mut home = taken();
    home.period([10, 40], 10, 0);
    // The share is 25: the second does not use its window, but more than that.
    home.expect([limited(10.0), segments(50.0) - limited(10.0)]);
    // A window is used when less than a segment of it is left.
    for (burst, could_use_more) in [(11, false), (12, true)] {
        let mut home = taken();
        home.period([10, 60], 10, 0);
        let second = segments(56.5) - limited(10.0);
        home.expect([limited(10.0), second]);
        home.period([burst, 60], 10, 0);
        let used = f64::from(burst);
        let total = segments(used) + second;
        if could_use_more {
            let moved = |window| f64::midpoint(window, total / 2.0);
            home.expect([moved(segments(used)), moved(second)]);
        } else {
            home.expect([limited(used), total - limited(used)]);
        }
    }
}

#[test]
fn those_who_could_use_more_share_equally_what_is_left() {
    let mut home = ByHand::<Voap, 3>::new(Voap::new(VoapConfig::default()));
    // In the third period one uses five: it has the share of its use, two segments more, rounded up.
    for (wait, last) in [(30, 30), (30, 30), (10, 5)] {
        let now = home.at(10);
        home.gateway.on_departure(now, Bytes::ZERO, millis(wait));
        home.period([30, 30, last]);
    }
    let limited = segments(7.0) + 1.0;
    // The others had 29 segments each.
    let total = segments(29.0 + 29.0 + 5.0);
    let each = ((total - limited) / 2.0) as u16;
    let told = home.period([30, 30, 5]);
    assert_eq!(told, [each, each, limited as u16]);
}

#[test]
fn without_redistribution_all_move_halfway_to_the_mean() {
    let config = VoapConfig { redistribution: false, ..VoapConfig::default() };
    let mut home = Home::take([20, 10], config, 0);
    home.expect([segments(16.5), segments(11.5)]);
    home.period([20, 4], 10, 0);
    // 16.5 and 4: the mean is 10.25.
    home.expect([segments(13.375), segments(7.125)]);
}

#[test]
fn two_segments_are_the_least() {
    let mut home = Home::take([3, 3], VoapConfig::default(), 0);
    (0..5).for_each(|_| home.period([3, 3], 30, 0));
    home.expect([segments(2.0); 2]);
}

#[test]
fn growth_by_more_than_a_quarter_is_slow_start_and_left_alone() {
    for (second, controlled) in [(10, true), (11, false)] {
        let mut home = Home::of_paper();
        home.period([8, 0], 30, 0);
        home.period([second, 0], 30, 0);
        assert_eq!(home.windows()[0].is_some(), controlled, "8, then {second}");
    }
    // Nor is anything taken under control below beta.
    let mut home = Home::of_paper();
    (0..5).for_each(|_| home.period([8, 8], 15, 0));
    assert_eq!(home.windows(), [None; 2]);
}

#[test]
fn the_share_of_a_flow_that_ends_is_handed_on_or_lost() {
    let after = |leftover| {
        let mut home = Home::take([20, 20], VoapConfig { leftover, ..VoapConfig::default() }, 0);
        home.expect([segments(19.0); 2]);
        home.period([0, 20], 10, 0);
        let first = home.windows()[1].unwrap();
        home.period([0, 40], 10, 0);
        (first, home.windows()[1].unwrap())
    };
    // It keeps two segments, rounded up, for the last time.
    let handed_on = segments(38.0) - segments(2.0) - 1.0;
    assert_eq!(after(Leftover::HandedOn), (handed_on, handed_on));
    assert_eq!(after(Leftover::Lost), (segments(19.0), segments(19.0)));
}

#[test]
fn a_flow_has_ended_when_it_is_silent_for_a_period_and_two_round_trips() {
    // Of 200 ms or 300 ms, since 50 ms before the period in which it sent ended.
    for (flow, periods) in [(0, 1), (1, 2)] {
        let mut home = Home::take([20, 20], VoapConfig::default(), 0);
        let bursts = |silent| if flow == 0 { [silent, 40] } else { [40, silent] };
        for _ in 0..periods {
            assert_eq!(home.estimates()[flow], Some(segments(20.0)));
            home.period(bursts(0), 10, 0);
        }
        assert_eq!(home.estimates()[flow], Some(0.0));
        home.period(bursts(0), 10, 0);
        home.period(bursts(10), 10, 0);
        assert_eq!(home.estimates()[flow], Some(segments(10.0)), "it sends again");
        assert!(home.windows()[flow].is_some());
    }
}

#[test]
fn an_estimate_is_the_largest_of_its_memory() {
    for (memory, periods) in
        [(0, 1), (199, 1), (200, 1), (400, 2), (1_000, 5), (3_200, 16), (9_000, 45)]
    {
        let memory = millis(memory);
        let mut home = Home::new(VoapConfig { memory, ..VoapConfig::default() });
        home.period([20, 0], 0, 0);
        let mut kept = 1;
        while home.estimates()[0] == Some(segments(20.0)) {
            home.period([5, 0], 0, 0);
            kept += 1;
        }
        assert_eq!((kept - 1, home.estimates()[0]), (periods, Some(segments(5.0))), "{memory}");
    }
}

#[test]
fn by_backlog_the_excess_is_given_up_in_proportion_and_waited_for() {
    let config = VoapConfig { step: Step::Backlog, ..VoapConfig::default() };
    // 30 ms of 450 kB/s are 15 ms above beta: 6750 B, which 20 and 10 segments give up together.
    let mut home = Home::take([20, 10], config, 90_000);
    let (a, b) = (segments(20.0) - 4_500.0, segments(10.0) - 2_250.0);
    let split = f64::midpoint(a, b);
    home.expect([f64::midpoint(a, split), f64::midpoint(b, split)]);
    // Two round trips of 150 ms and the queue's 30 ms: the period that begins 360 ms later is the first to count again.
    for (wait, settled) in [(30, false), (30, false), (30, true), (30, false)] {
        let before: f64 = home.windows().into_iter().flatten().sum();
        home.period([20, 10], wait, 90_000);
        let after: f64 = home.windows().into_iter().flatten().sum();
        let cut = if settled { 6_750.0 } else { 0.0 };
        assert!((before - after - cut).abs() < 1e-3, "{before} to {after}");
    }
}

#[test]
fn by_backlog_flows_grow_by_what_fits_below_beta_and_by_a_segment_at_most() {
    // At 2 ms, 13 ms more fit: of 450 kB/s 5850 B, of 100 kB/s 1300 B.
    for (left, each) in [(90_000, segments(1.0)), (20_000, 650.0)] {
        let config = VoapConfig { step: Step::Backlog, ..VoapConfig::default() };
        let mut home = Home::take([20, 20], config, 0);
        home.expect([segments(20.0); 2]);
        home.period([20, 20], 2, left);
        home.expect([segments(20.0) + each; 2]);
    }
}

/// What two segments take, times the rate of the link.
const PAIR: f64 = 2.0 * MSS as f64;

#[test]
fn by_fill_flows_grow_by_all_that_fits_below_beta_and_wait_until_it_is_seen() {
    let config = VoapConfig { step: Step::Fill, ..VoapConfig::default() };
    let mut home = Home::take([20, 20], config, 90_000);
    // 15 ms of 450 kB/s less what two segments take are in excess.
    let mut expected = segments(20.0) - (6_750.0 - PAIR) / 2.0;
    home.expect([expected; 2]);
    // At 2 ms what was cut has had its effect: 13 ms and two segments fit, of which each has a half; then nothing for a round
    // trip of 152 ms.
    for grows in [true, false, true] {
        home.period([26, 26], 2, 90_000);
        expected += if grows { f64::midpoint(5_850.0, PAIR) } else { 0.0 };
        home.expect([expected; 2]);
    }
    // Where next to nothing comes, each grows by a segment: two would take longer than any queue here.
    Home::take([20, 20], config, 100).expect([segments(21.0); 2]);
}

#[test]
fn by_fill_the_excess_of_what_comes_now_is_cut_once_and_while_the_queue_drains_nothing_is() {
    let config = VoapConfig { step: Step::Fill, ..VoapConfig::default() };
    let mut home = Home::take([20, 20], config, 90_000);
    let cut = segments(20.0) - (6_750.0 - PAIR) / 2.0;
    home.expect([cut; 2]);
    for _ in 0..2 {
        home.period([20, 20], 300, 90_000);
        home.expect([cut; 2]);
    }
    // Settled; but it drains by more than a quarter of the period.
    home.period([20, 20], 240, 90_000);
    home.expect([cut; 2]);
    // It drains by less: 185 ms less two segments are in excess, of a link that has half of what it had.
    home.period([20, 20], 200, 45_000);
    home.expect([cut - (41_625.0 - PAIR) / 2.0; 2]);
}

#[test]
fn by_fill_a_flow_that_was_silent_begins_anew() {
    let config = VoapConfig { step: Step::Fill, ..VoapConfig::default() };
    let mut home = Home::take([20, 20], config, 90_000);
    for _ in 0..4 {
        home.period([0, 20], 15, 90_000);
    }
    assert_eq!(home.estimates()[0], Some(0.0));
    for wait in [15, 15, 2, 2] {
        home.period([2, 20], wait, 90_000);
        assert!(home.windows()[0].is_some_and(|window| window >= segments(2.0)), "{wait} ms");
    }
}

#[test]
fn a_queue_that_stood_for_ten_seconds_is_emptied_once() {
    let config = VoapConfig { step: Step::Fill, ..VoapConfig::default() };
    let mut home = Home::take([20, 20], config, 90_000);
    let sum = |home: &Home| home.windows().into_iter().flatten().sum::<f64>();
    let mut cuts = Vec::new();
    for second in 0..32 {
        for _ in 0..5 {
            let before = sum(&home);
            home.period([20, 20], 15, 90_000);
            let cut = before - sum(&home);
            // What waits and 2 ms, of 450 kB/s, and two segments.
            if cut > 1.0 {
                assert!((cut - 7_650.0 - PAIR).abs() < 1e-2, "{cut}");
                cuts.push(second);
            }
        }
    }
    assert_eq!(cuts, [9, 19, 29]);
}

#[test]
fn a_queue_that_was_to_be_emptied_while_nothing_came_does_not_keep_windows_small() {
    let config = VoapConfig { step: Step::Fill, ..VoapConfig::default() };
    let mut home = Home::take([20, 20], config, 0);
    for _ in 0..55 {
        home.period([20, 20], 15, 0);
    }
    let sum = |home: &Home| home.windows().into_iter().flatten().sum::<f64>();
    let before = sum(&home);
    for _ in 0..4 {
        home.period([26, 26], 2, 90_000);
    }
    assert!(sum(&home) > before + segments(2.0), "{before} and {}", sum(&home));
}

#[test]
fn a_newcomer_is_admitted_with_what_is_free_while_the_link_was_full_lately() {
    let admitted =
        VoapConfig { step: Step::Fill, newcomers: Newcomers::Admitted, ..VoapConfig::default() };
    let left_alone = VoapConfig { newcomers: Newcomers::LeftAlone, ..admitted };
    let second = |config, idle: u32| {
        let mut home = Home::new(config);
        for _ in 0..4 {
            home.period([20, 0], 10, 90_000);
        }
        for _ in 0..idle {
            home.period([0, 0], 0, 0);
        }
        home.0.period([0, 40])[1]
    };
    // 450 kB/s less what the first is given, which is nothing, as it was never in excess: times 150 ms and beta.
    let whole = 450_000.0 * 0.165;
    assert!(whole > f64::from(u16::MAX));
    assert_eq!(second(left_alone, 0), u16::MAX);
    let full = |left: u64, first: u32| {
        let mut home = Home::new(admitted);
        for _ in 0..4 {
            home.period([first, 0], 20, left);
        }
        home.0.period([first, 8])[1]
    };
    // The first has 20 segments in 50 ms and beta, which is more than 100 kB/s: ten segments are the least.
    assert_eq!(u32::from(full(20_000, 20)), 10 * MSS);
    assert_eq!(second(admitted, 60), u16::MAX, "twelve seconds later the link may be another");
}

#[test]
fn what_is_free_is_what_the_windows_of_others_do_not_give_away() {
    let config =
        VoapConfig { step: Step::Fill, newcomers: Newcomers::Admitted, ..VoapConfig::default() };
    let mut home = Home::new(config);
    // The round trips of both are known before the link is full, of which 200 kB/s come.
    home.period([4, 4], 0, 0);
    (0..2).for_each(|_| home.period([4, 0], 0, 0));
    home.period([4, 0], 30, 40_000);
    let first = home.windows()[0].expect("it is under control");
    // Each in its round trip and beta; more than the ten segments of a newcomer.
    let free = (200_000.0 - first / 0.065) * 0.165;
    assert!(first > segments(2.0) && free > segments(11.0), "{first} and {free}");
    assert_eq!(home.0.period([4, 4])[1], free as u16);
}

#[test]
fn what_starts_over_has_nothing_under_control_and_no_estimate_of_before() {
    let mut home = Home::take([20, 10], VoapConfig::default(), 90_000);
    home.0.gateway.start_over();
    assert_eq!((home.windows(), home.estimates()), ([None; 2], [None; 2]));
    let mut limits = 0;
    home.0.gateway.limits(&mut |_| limits += 1);
    assert_eq!(limits, 0);
    // It comes under control as at first, once there is an estimate that is not of slow start.
    let periods = (1..5).find(|_| {
        home.period([20, 10], 30, 90_000);
        home.windows().iter().all(Option::is_some)
    });
    assert_eq!(periods, Some(3));
}

#[test]
fn rates_are_windows_over_round_trips() {
    let config = VoapConfig { fairness: Fairness::Rates, ..VoapConfig::default() };
    let home = Home::take([21, 31], config, 0);
    // 20 and 30 segments in 50 and 150 ms: 400 and 200 a second, 300 in the mean: 15 and 45.
    home.expect([segments(17.5), segments(37.5)]);
}

#[test]
fn unused_rates_are_handed_on_as_rates() {
    let config = VoapConfig { fairness: Fairness::Rates, ..VoapConfig::default() };
    let mut home = Home::take([21, 31], config, 0);
    home.period([21, 10], 10, 0);
    // 17.5 and 10 segments: 350 and 66.7 a second, 208.3 in the mean, which for the second is 31.25 segments; it keeps 12
    // and a byte.
    let limited = segments(12.0) + 1.0;
    let total = segments(17.5) / 0.05 + segments(10.0) / 0.15;
    home.expect([(total - limited / 0.15) * 0.05, limited]);
}

#[test]
fn it_logs_what_it_knows_of_each_flow_that_it_guards() {
    let mut home = Home::of_paper();
    let log = home.0.observed();
    assert_eq!(log, [(None, "queue_delay_max_ms", 0.0)], "no data has passed its queue");
    home.period([20, 0], 30, 0);
    home.period([20, 0], 31, 0);
    let expected = [
        (None, "queue_delay_max_ms", 31.0),
        (Some(0), "voap_active", 1.0),
        (Some(0), "advertised_window_bytes", segments(19.0)),
        (Some(0), "estimated_cwnd_bytes", segments(20.0)),
    ];
    assert_eq!(home.0.observed(), expected);
    home.period([20, 10], 10, 0);
    let of_second: Vec<_> = home.0.observed().into_iter().filter(|one| one.0 == Some(1)).collect();
    let estimate = segments(10.0);
    assert_eq!(
        of_second,
        [(Some(1), "voap_active", 0.0), (Some(1), "estimated_cwnd_bytes", estimate)]
    );
}

#[test]
fn beta_below_alpha_is_refused() {
    let config = |alpha, beta| VoapConfig {
        alpha: millis(alpha),
        beta: millis(beta),
        ..VoapConfig::default()
    };
    assert!(config(5, 5).check().is_ok());
    let error = config(5, 4).check().unwrap_err();
    assert_eq!(error.option.as_deref(), Some("beta"));
}
