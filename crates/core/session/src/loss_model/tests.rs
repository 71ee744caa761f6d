//! The chain against closed forms, and the estimate against chains that are known.

use super::*;
use gameway_control::{FrameId, SentPacket, SequenceNumber};
use gameway_testbed::Random;
use gameway_units::{Bytes, Instant, ReceiverInstant};

fn distribution(model: LossModel, packets: usize) -> Vec<f64> {
    let mut chain = Chain::new(&model, packets + 1);
    (0..packets).for_each(|_| chain.step(&model));
    chain.losses()
}

/// A number times itself, so often.
fn power(base: f64, exponent: u32) -> f64 {
    (0..exponent).fold(1.0, |product, _| product * base)
}

/// The probability that exactly `lost` of `packets` packets are lost, each independently with probability `loss`.
pub(crate) fn binomial(packets: u32, lost: u32, loss: f64) -> f64 {
    let choose =
        (0..lost).fold(1.0, |all, index| all * f64::from(packets - index) / f64::from(index + 1));
    choose * power(loss, lost) * power(1.0 - loss, packets - lost)
}

#[test]
fn independent_losses_are_binomial() {
    for (packets, loss) in [(1, 0.3), (20, 0.05), (40, 0.2)] {
        let chain = distribution(LossModel { loss, again: loss }, packets as usize);
        let formula: Vec<f64> = (0..=packets).map(|lost| binomial(packets, lost, loss)).collect();
        let off = chain.iter().zip(&formula).map(|(one, other)| (one - other).abs());
        assert!(off.fold(0.0, f64::max) < 1e-12, "{packets} {loss}");
    }
}

#[test]
fn bursts_have_the_same_mean_and_more_frames_without_loss() {
    let (loss, packets) = (0.05, 20);
    for again in [0.05, 0.5, 2.0 / 3.0] {
        let lost = distribution(LossModel { loss, again }, packets);
        let mean: f64 = lost.iter().enumerate().map(|(count, chance)| count as f64 * chance).sum();
        assert!((mean - loss * packets as f64).abs() < 1e-12, "{again}: {mean}");
        // No packet is lost if the first is not, and no burst begins behind it.
        let begins = loss * (1.0 - again) / (1.0 - loss);
        let none = (1.0 - loss) * power(1.0 - begins, packets as u32 - 1);
        assert!((lost[0] - none).abs() < 1e-12, "{again}: {} and {none}", lost[0]);
    }
}

#[test]
fn the_greatest_number_stands_for_all_beyond() {
    let model = LossModel { loss: 0.4, again: 0.7 };
    let all = distribution(model, 30);
    let mut few = Chain::new(&model, 4);
    (0..30).for_each(|_| few.step(&model));
    let beyond: f64 = all[3..].iter().sum();
    assert!((few.losses()[3] - beyond).abs() < 1e-12);
    assert!((few.losses()[..3].iter().zip(&all).all(|(one, other)| (one - other).abs() < 1e-12)));
}

/// That a packet was received or lost.
pub(crate) fn report(number: u64, lost: bool) -> PacketReport {
    let sent =
        SentPacket::new(SequenceNumber(number), Instant::ZERO, FrameId(0), Bytes::new(1_000));
    PacketReport::new(sent, (!lost).then_some(ReceiverInstant::ZERO))
}

/// Tells of packets of a chain, what is lost three packets late, as the history of the sender does.
fn told(loss: f64, again: f64, packets: u64) -> LossModel {
    let (mut estimate, mut random, mut lost) = (LossEstimate::default(), Random::new(1), false);
    let mut late: VecDeque<u64> = VecDeque::new();
    for number in 0..packets {
        let begins = loss * (1.0 - again) / (1.0 - loss);
        lost = random.chance(if lost { again } else { begins });
        let due = late.front().is_some_and(|first| first + 3 <= number);
        let overtaken = if due { late.pop_front() } else { None };
        let now = if lost {
            late.push_back(number);
            None
        } else {
            Some(report(number, false))
        };
        let reports: Vec<_> =
            overtaken.map(|one| report(one, true)).into_iter().chain(now).collect();
        estimate.on_reports(&reports);
    }
    estimate.model()
}

#[test]
fn losses_and_bursts_are_found() {
    for (loss, again) in [(0.01, 0.01), (0.05, 0.05), (0.02, 2.0 / 3.0), (0.1, 0.5)] {
        let model = told(loss, again, 40_000);
        assert!((model.loss / loss - 1.0).abs() < 0.4, "{loss}: {model:?}");
        assert!((model.again - again).abs() < 0.1, "{again}: {model:?}");
    }
}

#[test]
fn without_losses_little_is_expected_and_less_and_less() {
    let before = LossEstimate::default().model();
    assert!((before.loss - 0.001).abs() < 1e-12 && (before.again - before.loss).abs() < 1e-12);
    let after = told(0.0, 0.0, 5_000);
    assert!(after.loss < 0.0002, "{after:?}");
}

/// Each packet fades by a 5000th with each that follows, each loss whose follower is known by a 200th.
#[test]
fn counts_fade_packet_by_packet_and_loss_by_loss() {
    let mut estimate = LossEstimate::default();
    let fates = [(0, false), (1, true), (2, true), (3, false)];
    estimate.on_reports(&fates.map(|(number, lost)| report(number, lost)));
    let (kept, of_losses) = (1.0 - 1.0 / 5_000.0, 1.0 - 1.0 / 200.0);
    let packets = 1.0 + kept + kept * kept + kept * kept * kept;
    let loss = (kept + kept * kept + 0.5) / (packets + 500.0);
    // Two losses have a follower, and that of the first, which has faded once, was lost.
    let again = (of_losses + 2.0 * loss) / (1.0 + of_losses + 2.0);
    let model = estimate.model();
    assert!((model.loss - loss).abs() < 1e-12, "{model:?} and not {loss}");
    assert!((model.again - again).abs() < 1e-12, "{model:?} and not {again}");
}

#[test]
fn what_came_after_all_is_no_loss() {
    let mut estimate = LossEstimate::default();
    estimate
        .on_reports(&(0..1_000).map(|number| report(number, number % 10 == 0)).collect::<Vec<_>>());
    let before = estimate.model().loss;
    estimate.on_reports(&(0..50).map(|number| report(number * 20, false)).collect::<Vec<_>>());
    let after = estimate.model().loss;
    assert!((after / before - 0.5).abs() < 0.05, "{before} and {after}");
    // That one is lost which is known to be is no news.
    estimate.on_reports(&[report(10, true)]);
    assert!((estimate.model().loss - after).abs() < 1e-12);
}

/// The history forgets a packet that is under way where more are than it keeps.
#[test]
fn a_packet_of_which_nothing_is_told_is_waited_for_as_long_as_the_history_has_it() {
    let mut estimate = LossEstimate::default();
    let told = |numbers: std::ops::Range<u64>| -> Vec<PacketReport> {
        numbers.map(|number| report(number, number.is_multiple_of(10))).collect()
    };
    let end = MAX_PACKETS as u64;
    estimate.on_reports(&told(1..end));
    assert!(estimate.model().loss < 0.002, "{:?}", estimate.model());
    estimate.on_reports(&told(end..end + 1));
    assert!((estimate.model().loss - 0.1).abs() < 0.02, "{:?}", estimate.model());
    assert!(estimate.known.is_empty());
}

#[test]
fn rounding_raises_a_share_by_an_eighth_at_most() {
    for loss in [1e-4, 0.0013, 0.049, 0.51] {
        let model = LossModel { loss, again: loss }.rounded();
        assert!((1.0..=1.125).contains(&(model.loss / loss)), "{model:?}");
        assert_eq!(model, model.rounded());
    }
    // 1.6, 1, 1.06 and 1.125 times a power of two, up to eighths.
    for (share, rounded) in [(0.1, 0.101_562_5), (0.5, 0.5), (0.53, 0.5625), (0.5625, 0.5625)] {
        let model = LossModel { loss: share, again: share }.rounded();
        assert!((model.loss - rounded).abs() < 1e-12 && (model.again - rounded).abs() < 1e-12);
    }
    let largest = LossModel { loss: 0.9, again: 1.0 }.rounded();
    assert_eq!((largest.loss, largest.again), (0.75, 0.75));
}
