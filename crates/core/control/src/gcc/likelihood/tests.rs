//! The cases of `loss_based_bwe_v2_test` (see the module), and what a channel with steady loss comes to.

use super::*;
use crate::{FrameId, SentPacket, SequenceNumber};
use gameway_units::{Bytes, ReceiverInstant};

const SIZE: u64 = 15_000;

/// A packet: when it is sent in milliseconds, its size, whether it arrives.
type Fate = (i64, u64, bool);

fn received(at: i64) -> Vec<Fate> {
    vec![(at, SIZE, true), (at + 250, SIZE, true)]
}

fn half_lost(at: i64) -> Vec<Fate> {
    vec![(at, SIZE, true), (at + 250, SIZE, false)]
}

fn all_lost(at: i64, packets: i64) -> Vec<Fate> {
    let early = (0..packets - 1).map(|index| (at + 10 * index, SIZE, false));
    early.chain([(at + 250, SIZE, false)]).collect()
}

/// Nine packets arrive, and one of this size does not.
fn tenth_lost(at: i64, size: u64) -> Vec<Fate> {
    let early = (0..9).map(|index| (at + 250 * index, SIZE, true));
    early.chain([(at + 2_250, size, false)]).collect()
}

struct Case {
    one: LossLikelihood,
    next: u64,
    delay_based: Option<Rate>,
    limited: bool,
}

impl Case {
    /// It begins with 600 kb/s, has two observations, and the first gives a rate.
    fn short(change: impl FnOnce(&mut Constants)) -> Self {
        let mut constants = Constants { window: 2, min_observations: 1, ..TODAY };
        change(&mut constants);
        Self::between(10, 1_000_000, constants).begun(600)
    }

    fn between(min_kbps: u64, max_kbps: u64, constants: Constants) -> Self {
        let limits = RateLimits {
            min: Rate::from_kbps(min_kbps),
            max: Rate::from_kbps(max_kbps),
            start: Rate::from_kbps(600),
            frame_interval: Duration::from_millis(16),
        };
        let one = LossLikelihood::with_constants(limits, constants);
        Self { one, next: 0, delay_based: None, limited: false }
    }

    fn begun(mut self, kbps: u64) -> Self {
        self.one.begin(Rate::from_kbps(kbps));
        self
    }

    fn below(mut self, delay_based_kbps: u64) -> Self {
        self.delay_based = Some(Rate::from_kbps(delay_based_kbps));
        self
    }

    fn application_limited(mut self) -> Self {
        self.limited = true;
        self
    }

    fn acknowledge(&mut self, rate: Rate) -> &mut Self {
        self.one.set_acknowledged(rate);
        self
    }

    fn numbered(&mut self, fates: &[Fate]) -> Vec<PacketReport> {
        let numbers = self.next..;
        self.next += fates.len() as u64;
        numbers.zip(fates).map(|(number, fate)| report(number, *fate)).collect()
    }

    fn hear(&mut self, fates: &[Fate]) -> &mut Self {
        let reports = self.numbered(fates);
        self.one.on_feedback(&reports, self.delay_based, self.limited);
        self
    }

    fn rate(&self) -> Rate {
        self.one.rate().unwrap_or(Rate::ZERO)
    }

    fn kbps(&self) -> f64 {
        self.rate().as_bps_f64() / 1e3
    }

    /// Everything arrives from then on, until the state is this; when it was sent.
    fn recover(&mut self, mut at: i64, state: LossState) -> i64 {
        let begun = at;
        while self.one.state() != state {
            self.hear(&received(at));
            at += 250;
            assert!(at < begun + 120_000, "never {state:?}");
        }
        at
    }
}

fn report(number: u64, (millis, size, arrives): Fate) -> PacketReport {
    let sent = Instant::ZERO + Duration::from_millis(millis);
    let packet = SentPacket::new(SequenceNumber(number), sent, FrameId(0), Bytes::new(size));
    let arrival = ReceiverInstant::from_nanos((millis + 250) * 1_000_000);
    PacketReport::new(packet, arrives.then_some(arrival))
}

#[test]
fn a_rate_needs_a_start_and_a_whole_observation() {
    let mut unknown = Case::between(10, 1_000, Constants { min_observations: 1, ..TODAY });
    assert_eq!(unknown.hear(&received(0)).one.rate(), None);
    let mut brief = Case::short(|_| {});
    assert_eq!(brief.hear(&[(0, SIZE, true), (249, SIZE, true)]).one.rate(), None);
    assert!(brief.hear(&[(250, SIZE, true)]).one.rate().is_some());
    let mut third = Case::between(10, 1_000_000, TODAY).begun(600).below(5_000);
    for (at, known) in [(0, false), (250, false), (500, true)] {
        assert_eq!(third.hear(&received(at)).one.rate().is_some(), known, "{at}");
    }
}

#[test]
fn without_loss_it_grows_by_the_largest_factor_and_to_the_delay_based_rate_at_once() {
    let mut free = Case::short(|constants| constants.factors = [1.1, 1.0, 0.95]);
    assert_eq!(free.hear(&received(0)).rate(), Rate::from_kbps(660));
    let mut bounded = Case::short(|_| {}).below(5_000);
    for at in [0, 500] {
        assert_eq!(bounded.hear(&received(at)).rate(), Rate::from_kbps(5_000));
    }
    assert_eq!(bounded.one.state(), LossState::DelayBased);
    bounded.delay_based = Some(Rate::from_kbps(500));
    assert_eq!(bounded.hear(&received(1_000)).rate(), Rate::from_kbps(500));
}

#[test]
fn what_is_known_already_changes_nothing() {
    let mut case = Case::short(|_| {});
    let before = case.acknowledge(Rate::from_kbps(300)).hear(&received(0)).rate();
    assert_eq!(case.hear(&received(0)).rate(), before);
    // One millisecond short of an observation.
    assert_eq!(case.hear(&[(300, SIZE, true), (499, SIZE, true)]).rate(), before);
    assert_ne!(case.hear(&[(1_000, SIZE, true)]).rate(), before);
}

/// 90 kb/s over 1 - 0.1.
#[test]
fn the_bound_is_its_balance_over_the_excess_of_loss() {
    let mut case = Case::short(|constants| {
        constants.bound_offset = 0.1;
        constants.bound_balance = Rate::from_kbps(90);
    });
    assert_eq!(case.hear(&all_lost(0, 2)).rate(), Rate::from_kbps(100));
    // 10 kb/s over 0.1 - 0.05.
    let mut tenth = Case::short(|constants| {
        constants.factors = [1.0; 3];
        constants.bound_balance = Rate::from_kbps(10);
    });
    tenth.acknowledge(Rate::from_kbps(100)).hear(&tenth_lost(0, SIZE));
    assert!((tenth.kbps() - 200.0).abs() < 0.01, "{}", tenth.kbps());
    assert_eq!(tenth.one.state(), LossState::Decreasing);
}

#[test]
fn bytes_are_counted_not_packets() {
    let mut case = Case::short(|_| {}).begun(500);
    case.hear(&tenth_lost(0, 20 * SIZE));
    assert_eq!(case.one.state(), LossState::Decreasing);
    // 300 of 435 kB: 100 kb/s over 0.69 - 0.05.
    assert!((case.kbps() - 156.3).abs() < 0.1, "{}", case.kbps());
}

#[test]
fn loss_lowers_it_to_what_arrives_but_not_below_and_not_if_the_application_limits() {
    let lost = |case: Case, kbps: u64| {
        let mut case = case;
        case.acknowledge(Rate::from_kbps(kbps)).hear(&all_lost(0, 2)).kbps()
    };
    let usual = lost(Case::short(|_| {}).below(5_000), 100);
    assert!((usual - 100.0).abs() < 1e-6, "{usual}");
    let limited = lost(Case::short(|_| {}).below(5_000).application_limited(), 100);
    assert!(limited > 100.0 && limited < 600.0, "{limited}");
    assert!((lost(Case::short(|_| {}), 500) - 500.0).abs() < 1e-6);
    let unbounded = lost(Case::short(|constants| constants.min_of_acknowledged = 0.0), 500);
    assert!(unbounded < 500.0, "{unbounded}");
}

/// The held rate is 100 kb/s, and so is what arrives: 1.2 of that.
#[test]
fn after_a_decrease_it_grows_to_a_little_more_than_what_it_held() {
    let mut case = Case::short(|_| {}).below(5_000);
    let lowest = case.acknowledge(Rate::from_kbps(100)).hear(&all_lost(0, 2)).rate();
    case.recover(500, LossState::Increasing);
    assert_eq!(case.rate(), lowest.mul_f64(1.2));
}

fn without_bound(constants: &mut Constants) {
    constants.preferred_below = 0.99;
    constants.growth = 1.2;
    constants.bound_balance = Rate::from_mbps(10);
}

#[test]
fn growth_is_to_a_share_more_than_what_arrives_and_does_not_fall_with_it() {
    let mut case = Case::short(without_bound).below(5_000);
    let lowest = case.acknowledge(Rate::from_kbps(300)).hear(&all_lost(0, 2)).rate();
    assert_eq!(case.one.state(), LossState::Decreasing);
    assert!(lowest < Rate::from_kbps(600));
    let arrives = lowest.mul_f64(0.9);
    let at = case.acknowledge(arrives).recover(250, LossState::Increasing);
    assert_eq!(case.rate(), arrives.mul_f64(1.2));
    assert_eq!(case.hear(&received(at)).rate(), arrives.mul_f64(1.2));
}

#[test]
fn where_half_arrives_it_grows_by_the_least_there_is() {
    let mut case = Case::short(without_bound).below(5_000);
    let lowest = case.acknowledge(Rate::from_kbps(300)).hear(&all_lost(0, 2)).rate();
    case.acknowledge(lowest.mul_f64(0.5)).recover(250, LossState::Increasing);
    assert_eq!(case.rate(), lowest + Rate::from_bps(1));
}

fn leaping(constants: &mut Constants) {
    constants.factors = [100.0, 1.0, 0.5];
    constants.bound_balance = Rate::from_mbps(10);
    constants.growth_in_window = 100.0;
}

#[test]
fn the_state_is_delay_based_once_that_rate_is_reached_and_never_without_one() {
    let mut case = Case::short(leaping).below(600);
    case.one.observations =
        Observations::new(Constants { not_above_mean_loss: false, ..case.one.constants });
    case.one.constants.not_above_mean_loss = false;
    case.acknowledge(Rate::from_kbps(300)).hear(&all_lost(0, 2));
    assert_eq!(case.one.state(), LossState::Decreasing);
    case.acknowledge(Rate::from_kbps(600));
    for at in [250, 500] {
        assert_eq!(case.hear(&received(at)).one.state(), LossState::DelayBased);
    }
    let mut without = Case::short(leaping);
    without.hear(&all_lost(0, 2));
    assert_eq!(without.one.state(), LossState::Decreasing);
    without.acknowledge(Rate::from_kbps(600)).hear(&received(250));
    assert_ne!(without.one.state(), LossState::DelayBased);
}

#[test]
fn it_does_not_grow_while_more_is_lost_than_the_path_loses_itself() {
    let mut case = Case::short(|constants| constants.factors = [1.2; 3]);
    case.hear(&tenth_lost(0, SIZE)).hear(&tenth_lost(250, SIZE));
    assert_eq!(case.rate(), Rate::from_kbps(600));
}

#[test]
fn high_rates_are_preferred_below_a_threshold_of_loss_and_low_ones_above() {
    let after = |threshold: f64, not_above_mean_loss: bool| {
        let mut case = Case::short(|constants| {
            constants.preferred_below = threshold;
            constants.not_above_mean_loss = not_above_mean_loss;
        })
        .below(5_000);
        case.hear(&tenth_lost(0, SIZE)).hear(&tenth_lost(250, SIZE)).kbps()
    };
    assert!(after(0.2, false) > 600.0);
    assert!(after(0.05, true) < 600.0);
}

#[test]
fn at_the_largest_bitrate_loss_does_not_limit() {
    let mut case = Case::short(|_| {}).below(2_000);
    case.one = LossLikelihood::with_constants(
        RateLimits { max: Rate::from_mbps(1), ..case.one.limits },
        case.one.constants,
    );
    case.hear(&received(0));
    assert_eq!((case.rate(), case.one.state()), (Rate::from_mbps(1), LossState::DelayBased));
    case.hear(&half_lost(250));
    assert_eq!(case.one.state(), LossState::Decreasing);
    assert!(case.rate() < Rate::from_mbps(1));
    case.recover(500, LossState::DelayBased);
    assert_eq!(case.rate(), Rate::from_mbps(1));
}

#[test]
fn what_arrives_may_raise_it() {
    let mut case = Case::short(|constants| {
        constants.factors = [1.0; 3];
        constants.min_of_acknowledged = 10.0;
    })
    .begun(500);
    case.acknowledge(Rate::from_kbps(1)).hear(&half_lost(0));
    assert_eq!(case.one.state(), LossState::Decreasing);
    case.acknowledge(Rate::from_kbps(200)).hear(&half_lost(500));
    assert_eq!((case.rate(), case.one.state()), (Rate::from_mbps(2), LossState::Increasing));
}

#[test]
fn after_much_loss_it_grows_slowly_from_the_bound() {
    let mut case = Case::short(|constants| constants.increasing = Duration::from_secs(1))
        .begun(2_500)
        .application_limited();
    let lowest = case.hear(&half_lost(0)).kbps();
    assert_eq!(case.one.state(), LossState::Decreasing);
    case.hear(&received(250)).hear(&received(500));
    assert_eq!(case.one.state(), LossState::Increasing);
    assert!((case.kbps() - lowest).abs() <= 100.0, "{lowest} {}", case.kbps());
}

#[test]
fn what_arrives_counts_under_an_application_limit_while_it_increases() {
    let mut case = Case::short(|constants| {
        constants.increasing = Duration::from_secs(1);
        constants.bound_balance = Rate::from_mbps(10);
    })
    .begun(1_000)
    .application_limited();
    let mut at = 0;
    while case.one.state() != LossState::Decreasing {
        case.hear(&all_lost(at, 2));
        at += 250;
        assert!(at < 60_000);
    }
    at = case.recover(at, LossState::Increasing);
    assert!(case.kbps() > 900.0, "{}", case.kbps());
    case.acknowledge(Rate::from_kbps(100)).hear(&all_lost(at, 2));
    assert_eq!((case.rate(), case.one.state()), (Rate::from_kbps(100), LossState::Decreasing));
}

#[test]
fn increasing_ends_when_nothing_has_grown_for_its_time() {
    let mut case = Case::short(|constants| {
        constants.increasing = Duration::from_secs(1);
        constants.growth = 2.0;
    })
    .begun(2_500);
    case.acknowledge(Rate::from_kbps(51)).hear(&half_lost(0));
    assert_eq!((case.rate(), case.one.state()), (Rate::from_kbps(51), LossState::Decreasing));
    case.acknowledge(Rate::from_kbps(26));
    let begun = case.recover(250, LossState::Increasing);
    let ended = case.recover(begun, LossState::Decreasing);
    assert_eq!(ended - 250 - begun, 1_000);
}

#[test]
fn increasing_goes_on_for_its_time_after_the_last_growth() {
    let mut case = Case::short(|constants| {
        constants.increasing = Duration::from_secs(1);
        constants.factors = [1.5, 1.0, 0.95];
    })
    .begun(2_500);
    case.acknowledge(Rate::from_kbps(51)).hear(&half_lost(0));
    let mut at = case.acknowledge(Rate::from_kbps(45)).recover(250, LossState::Increasing);
    for kbps in [50, 55, 60] {
        case.acknowledge(Rate::from_kbps(kbps)).hear(&received(at));
        assert_eq!((case.kbps() as u64, case.one.state()), (kbps * 6 / 5, LossState::Increasing));
        at += 750;
    }
    let last = at - 500;
    assert_eq!(case.recover(at, LossState::Decreasing) - 250 - last, 1_000);
}

#[test]
fn what_arrives_bounds_growth_only_where_loss_limits() {
    let mut free = Case::short(|_| {}).below(5_000);
    free.acknowledge(Rate::from_kbps(300)).hear(&received(0));
    assert_eq!((free.rate(), free.one.state()), (Rate::from_mbps(5), LossState::DelayBased));
}

#[test]
fn what_is_held_is_not_below_what_arrives() {
    let mut case = Case::short(|constants| constants.hold_growth = 10.0).begun(2_500);
    case.hear(&half_lost(0));
    assert_eq!(case.one.state(), LossState::Decreasing);
    case.acknowledge(Rate::from_mbps(1)).hear(&half_lost(250));
    assert_eq!((case.rate(), case.one.state()), (Rate::from_mbps(1), LossState::Decreasing));
}

#[test]
fn it_recovers_from_what_arrives() {
    let mut case = Case::short(|_| {}).begun(2_500);
    assert!(case.hear(&all_lost(0, 2)).rate() < Rate::from_mbps(1));
    case.acknowledge(Rate::from_mbps(1)).hear(&all_lost(250, 2));
    assert_eq!(case.rate(), Rate::from_mbps(1));
    case.hear(&received(500)).hear(&received(750));
    assert!(case.rate() > Rate::from_mbps(1));
}

#[test]
fn a_hold_ends_when_the_delay_based_rate_is_reached() {
    let mut case = Case::short(|_| {}).begun(2_500);
    let held = case.hear(&half_lost(0)).rate();
    case.delay_based = Some(held + Rate::from_kbps(10));
    case.hear(&received(250)).hear(&received(500));
    assert_eq!(case.one.state(), LossState::DelayBased);
    assert_eq!(case.rate(), held + Rate::from_kbps(10));
}

fn five_observations() -> Case {
    let constants = Constants { window: 5, ..TODAY };
    let mut case = Case::between(10, 1_000_000, constants).begun(500).below(500);
    for index in 0..5 {
        case.hear(&received(250 * index));
    }
    case
}

#[test]
fn one_spike_of_loss_is_left_out_and_a_second_is_not() {
    let mut case = five_observations();
    case.hear(&all_lost(1_250, 2)).hear(&received(1_500));
    assert_eq!((case.rate(), case.one.state()), (Rate::from_kbps(500), LossState::DelayBased));
    case.hear(&all_lost(1_750, 2));
    assert_eq!(case.one.state(), LossState::Decreasing);
    assert!(case.rate() < Rate::from_kbps(500));
}

#[test]
fn a_spike_counts_if_it_came_with_a_burst() {
    let mut case = five_observations();
    case.hear(&all_lost(1_250, 5));
    assert_eq!(case.one.state(), LossState::Decreasing);
    assert!(case.rate() <= Rate::from_kbps(500));
}

#[test]
fn a_reordered_packet_is_not_lost() {
    let after = |second_comes_later: bool| {
        let mut case = Case::short(|_| {}).begun(2_500).below(2_500);
        let first = [(1, (0, SIZE, true)), (2, (0, SIZE, false)), (3, (0, SIZE, true))];
        let late = [(2, (0, SIZE, second_comes_later)), (4, (250, SIZE, true))];
        for part in [&first[..], &late[..]] {
            let reports: Vec<_> =
                part.iter().map(|(number, fate)| report(*number, *fate)).collect();
            case.one.on_feedback(&reports, case.delay_based, false);
        }
        case.rate()
    };
    assert_eq!(after(true), Rate::from_kbps(2_500));
    assert!(after(false) < Rate::from_kbps(2_500));
}

/// A stream that sends what it gets over a channel that loses this share: Mb/s after a minute, of at most 20, and the
/// inherent loss.
fn at_rest(share: f64) -> (f64, f64) {
    let mut case = Case::between(100, 50_000, TODAY).below(20_000);
    let mut rate = Rate::from_mbps(20);
    for step in 0..240 {
        let bytes = (rate * Duration::from_millis(250)).as_f64();
        let lost = (bytes * share) as u64;
        case.acknowledge(rate.mul_f64(1.0 - share));
        case.hear(&[
            (step * 250 + 125, bytes as u64 - lost, true),
            (step * 250 + 250, lost, false),
        ]);
        rate = case.one.rate().unwrap_or(rate);
    }
    (rate.as_mbps_f64(), case.one.inherent_loss())
}

#[test]
fn steady_loss_up_to_a_twentieth_costs_nothing() {
    for share in [0.0, 0.005, 0.02, 0.05] {
        let (rate, inherent) = at_rest(share);
        assert!((rate - 20.0).abs() < 1e-6, "{share}: {rate}");
        // The path's own, but for the rest that one step of Newton's method leaves.
        assert!((0.7 * share..=share + 1e-9).contains(&inherent), "{share}: {inherent}");
    }
}

#[test]
fn steady_loss_above_a_twentieth_ends_at_its_closed_form() {
    for share in [0.06, 0.07, 0.1, 0.2] {
        let (rate, expected) = (at_rest(share).0, 0.1 / (share - 0.05));
        assert!((rate / expected - 1.0).abs() < 0.02, "{share}: {rate} {expected}");
    }
}
