//! Plans against closed forms, and against all policies of a small case.

use super::*;
use crate::loss_model::tests::binomial;
use proptest::prelude::*;

fn independent(loss: f64) -> LossModel {
    LossModel { loss, again: loss }
}

fn situation(loss: f64, packets: usize, rounds: usize) -> Situation {
    Situation {
        model: independent(loss),
        packets,
        rounds,
        code: RepairCode::AnyForAny,
        late: 0.001,
    }
}

/// With what probability more than `repair` of `packets` are lost.
fn more_than(repair: u32, packets: u32, loss: f64) -> f64 {
    1.0 - (0..=repair).map(|lost| binomial(packets, lost, loss)).sum::<f64>()
}

#[test]
fn without_rounds_it_is_the_least_repair_that_meets_the_goal() {
    for (loss, packets) in [(0.001, 20), (0.01, 20), (0.05, 20), (0.05, 40), (0.02, 100)] {
        let plan = RepairPlan::new(&situation(loss, packets, 0));
        let late = |repair: usize| more_than(repair as u32, packets as u32, loss);
        let min = (0..=packets).find(|repair| late(*repair) <= 0.001).unwrap();
        assert_eq!(plan.safe.first, min, "{loss} {packets}");
        assert!((plan.safe.late - late(min)).abs() < 1e-9, "{loss} {packets}");
        if let Some((frugal, share)) = &plan.frugal {
            let mean = share * frugal.late + (1.0 - share) * plan.safe.late;
            assert!(frugal.first < min && (mean - 0.001).abs() < 1e-9, "{loss} {packets}: {mean}");
        }
    }
}

#[test]
fn with_time_enough_nothing_is_sent_beforehand() {
    for loss in [0.005, 0.01, 0.02, 0.05] {
        let plan = RepairPlan::new(&situation(loss, 25, 4));
        assert_eq!(plan.safe.first, 0, "{loss}");
        assert_eq!(plan.safe.copies(4, 3), 1, "{loss}");
        // Each lost packet is sent again until it arrives.
        let again = 25.0 * loss / (1.0 - loss);
        assert!(
            (0.99..1.1).contains(&(plan.safe.cost / again)),
            "{loss}: {}",
            plan.safe.cost / again
        );
    }
}

#[test]
fn in_the_last_round_there_are_copies() {
    let plan = RepairPlan::new(&situation(0.05, 25, 1));
    assert_eq!(plan.safe.copies(0, 1), 1, "it is too late in any case");
    assert!((2..=3).contains(&plan.safe.copies(1, 1)), "{:?}", plan.safe);
    // Three times what is lost at most, and repair alone would be five times.
    assert!((1.0..3.0).contains(&(plan.safe.cost / (25.0 * 0.05))), "{}", plan.safe.cost);
    assert!(RepairPlan::new(&situation(0.05, 25, 0)).safe.cost > 4.0 * 25.0 * 0.05);
}

#[test]
fn a_receiver_that_cannot_use_repair_packets_gets_copies_alone() {
    let plan = RepairPlan::new(&Situation { code: RepairCode::None, ..situation(0.1, 25, 1) });
    assert_eq!(plan.safe.first, 0);
    assert!(plan.safe.copies(1, 2) >= 3, "{:?}", plan.safe);
    assert!(plan.safe.late <= 0.001);
}

/// The cost and the share of late frames if a frame of two packets has `first` of repair and one round of `one` copies of one
/// missing packet, `two` of each of two.
fn by_hand(loss: f64, first: u32, (one, two): (u8, u8)) -> (f64, f64) {
    let lost = |count: u32| if count <= 2 { binomial(2, count, loss) } else { 0.0 };
    let all_lost = |copies: u8| binomial(u32::from(copies), u32::from(copies), loss);
    let (need_one, need_two) = (lost(first + 1), lost(first + 2));
    let cost = f64::from(first) + need_one * f64::from(one) + need_two * 2.0 * f64::from(two);
    let late = need_one * all_lost(one) + need_two * all_lost(two) * (2.0 - all_lost(two));
    (cost, late)
}

#[test]
fn no_policy_of_a_small_case_is_cheaper() {
    for loss in [0.02, 0.1, 0.2] {
        for late in [0.0003, 0.001, 0.01] {
            let plan = RepairPlan::new(&Situation { late, ..situation(loss, 2, 1) });
            let all = (0..=1).flat_map(|first| {
                (1..=MAX_COPIES).flat_map(move |one| {
                    (1..=MAX_COPIES).map(move |two| by_hand(loss, first, (one, two)))
                })
            });
            let cheapest = all.filter(|(_, of_it)| *of_it <= late).map(|(cost, _)| cost);
            let cheapest = cheapest.fold(f64::INFINITY, f64::min);
            let mixed = match &plan.frugal {
                Some((frugal, share)) => share * frugal.cost + (1.0 - share) * plan.safe.cost,
                None => plan.safe.cost,
            };
            assert!(mixed <= cheapest + 1e-9, "{loss} {late}: {mixed} and {cheapest}");
            assert!(plan.safe.late <= late, "{loss} {late}");
        }
    }
}

#[test]
fn losses_of_independent_trials_are_binomial() {
    let mut failures = vec![1.0];
    for trials in 1..=12_u32 {
        one_more(&mut failures, 0.3);
        let all = (0..=trials).map(|lost| binomial(trials, lost, 0.3));
        assert_eq!(failures.len() as u32, trials + 1);
        assert!(failures.iter().zip(all).all(|(one, other)| (one - other).abs() < 1e-12));
    }
}

#[test]
fn as_many_missing_packets_are_told_apart_as_make_a_hundredth_of_the_late_frames() {
    for (loss, packets) in [(0.001, 20), (0.01, 20), (0.05, 20), (0.1, 60)] {
        let missing = missing_by_repair(&situation(loss, packets, 1));
        let beyond = |count: u32| more_than(count, packets as u32, loss);
        let min = (1..).find(|count| beyond(*count) < 0.001 * NEGLIGIBLE).expect("there is one");
        // None, and so many.
        assert!(missing.iter().all(|chances| chances.len() as u32 == min + 1), "{loss} {packets}");
        // Those beyond stand as that many.
        assert!(missing.iter().all(|chances| (chances.iter().sum::<f64>() - 1.0).abs() < 1e-9));
        assert_eq!(missing.len(), packets.div_ceil(3) + 1, "by repair packets: none to a third");
    }
    let many = missing_by_repair(&situation(0.5, 200, 1));
    assert!(many.len() == 65 && many.iter().all(|chances| chances.len() == 65), "64 at most");
}

#[test]
fn a_plan_for_few_rounds_does_with_more_as_with_its_first() {
    let policy = RepairPlan::new(&situation(0.05, 25, 1)).safe;
    let copies = [0, 1, 2, 9].map(|rounds| policy.copies(rounds, 1));
    assert!(copies[0] == 1 && copies[1] >= 2, "{copies:?}");
    assert_eq!(copies[1..], [copies[1]; 3]);
    assert_eq!(policy.copies(1, 1_000), policy.copies(1, policy.copies[1].len() - 1));
}

#[test]
fn frames_take_turns_as_the_plan_says() {
    let plan = RepairPlan::new(&situation(0.02, 25, 1));
    let (frugal, share) = plan.frugal.as_ref().expect("the goal lies between two policies");
    let turns = (0..10_000).filter(|frame| plan.of(FrameId(*frame)) == frugal).count();
    assert!((0.001..0.999).contains(share) && (turns as f64 - share * 1e4).abs() <= 1.0, "{turns}");
    assert!((0..10_000).all(|frame| [frugal, &plan.safe].contains(&plan.of(FrameId(frame)))));
}

#[test]
fn turns_are_spread_evenly() {
    let turns = |share| (0..100).filter(|frame| takes_turn(FrameId(*frame), share)).count();
    assert_eq!([0.0, 0.25, 0.5, 0.9].map(turns), [0, 25, 50, 90]);
    let in_a_row = (0..99)
        .filter(|frame| takes_turn(FrameId(*frame), 0.5) && takes_turn(FrameId(frame + 1), 0.5));
    assert_eq!(in_a_row.count(), 0);
    takes_turn(FrameId(u64::MAX), 0.5);
}

/// Parity of groups needs more packets than a code in which any packet stands in for any, and reaches its bounds sooner.
#[test]
fn parity_of_groups_meets_the_goal_with_more_packets() {
    let of = |code, loss, packets| {
        RepairPlan::new(&Situation { code, ..situation(loss, packets, 0) }).safe
    };
    let groups = of(RepairCode::Interleaved, 0.005, 20);
    let any = of(RepairCode::AnyForAny, 0.005, 20);
    assert!(groups.late <= 0.001 && any.late <= 0.001, "{groups:?} {any:?}");
    assert!(any.first < groups.first && groups.first <= 7, "{groups:?} {any:?}");
    // 33 % are lost of frames without parity: at 2 %, 0.7 % with a third of parity, all that is allowed.
    let groups = of(RepairCode::Interleaved, 0.02, 20);
    assert_eq!(groups.first, 7);
    assert!((0.006..0.009).contains(&groups.late), "{groups:?}");
    // Where there is time to ask, parity would spare nothing.
    let plan = |code| RepairPlan::new(&Situation { code, ..situation(0.02, 20, 1) });
    assert_eq!(plan(RepairCode::Interleaved), plan(RepairCode::None));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    /// Whatever is lost, a plan exists; more time makes it no dearer, and it meets the goal or does all that it may.
    #[test]
    fn every_situation_has_a_plan(
        loss in 0.0_f64..0.75,
        again in 0.0_f64..0.75,
        packets in 1_usize..400,
        late in 0.0001_f64..0.5,
        code in prop::sample::select(vec![
            RepairCode::None, RepairCode::Interleaved, RepairCode::AnyForAny,
        ]),
    ) {
        let model = LossModel { loss, again: again.max(loss) };
        let of = |rounds| RepairPlan::new(&Situation { model, packets, rounds, code, late }).safe;
        let plans = [0, 1, 2, 4].map(of);
        for plan in &plans {
            prop_assert!((-1e-9..=1.0 + 1e-9).contains(&plan.late) && plan.cost >= -1e-6);
            prop_assert!(plan.first <= usize::from(code != RepairCode::None) * packets.div_ceil(3));
        }
        if plans[0].late <= late {
            prop_assert!(plans[3].late <= late, "{} with rounds", plans[3].late);
        }
    }
}
