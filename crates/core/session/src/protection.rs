//! What is sent beyond the media, so that the stated share of frames is whole in time: the plan for now.
//!
//! # Model
//! A frame is in time if it is whole at most the deadline later than it would have been without losses. A round of sending again
//! makes it later by the time after which an answer is overdue, and each further round by the time after which the receiver has asked
//! again. So there are as many rounds as fit into the deadline; [`RepairPlan`] says what is best done with them. What is late already
//! is still sent again, since a frame that is given up costs a key frame.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | deadline, unless given | 100 ms, at least 1.5 rounds | frame delay at which players call the game frozen (Pudica, section 2); where not even one round fits, repair packets alone cost five times what is lost |
//! | copies in the last round before a frame is given up | 2 | few frames come to that, and a key frame has the bytes of several |
//! | frame sizes told apart | an eighth of a power of two | a plan is made anew when the frames change by more |

use crate::loss_model::LossEstimate;
use crate::repair_code::RepairCode;
use crate::repair_plan::{MAX_COPIES, MAX_ROUNDS, RepairPlan, Situation};
use crate::repair_time::RoundTrip;
use gameway_control::{FrameId, PacketReport};
use gameway_units::{Duration, Ratio, RepairGoal};

const DEADLINE: Duration = Duration::from_millis(100);
const LAST_COPIES: u8 = 2;

/// See the module's head.
#[derive(Debug)]
pub(crate) struct Protection {
    losses: LossEstimate,
    /// The share of frames that may be late.
    late: f64,
    deadline: Option<Duration>,
    code: RepairCode,
    plan: Option<(Situation, RepairPlan)>,
}

/// How packets that are asked for are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ResendPlan {
    /// How often each.
    pub(crate) copies: u8,
    /// How much later than the first the last one may leave.
    pub(crate) within: Duration,
}

impl Protection {
    /// For a stream with this goal, and a receiver that can do this with repair packets.
    pub(crate) fn new(goal: RepairGoal, code: RepairCode) -> Self {
        let late = 1.0 - goal.share.as_f64().min(1.0);
        Self { losses: LossEstimate::default(), late, deadline: goal.deadline, code, plan: None }
    }

    /// Packets were told of.
    pub(crate) fn on_reports(&mut self, reports: &[PacketReport]) {
        self.losses.on_reports(reports);
    }

    /// Repair packets per media packet for a frame that may have about `packets` packets, repair packets included. `round_trip` is
    /// given if lost packets are sent again.
    pub(crate) fn share(
        &mut self,
        frame: FrameId,
        packets: usize,
        round_trip: Option<RoundTrip>,
    ) -> Ratio {
        let packets = rounded(packets);
        let rounds = round_trip.map_or(0, |round_trip| self.rounds_from_first(round_trip));
        let Self { late, code, .. } = *self;
        let model = self.losses.model().rounded();
        let situation = Situation { model, packets, rounds, code, late };
        let plan = match &mut self.plan {
            Some((known, plan)) if *known == situation => plan,
            plan => &mut plan.insert((situation, RepairPlan::new(&situation))).1,
        };
        // Repair packets are a share of the media packets, rounded up: half a packet less rounds to the nearest.
        let first = plan.of(frame).first;
        let media = packets.saturating_sub(first).max(1);
        Ratio::from_ppm((first as u64 * 2).saturating_sub(1) * 500_000 / media as u64)
    }

    /// The number of copies of an audio packet, which no receiver asks for again: the fewest with which the packet and all copies
    /// are lost in no more than the share of frames that may be late. They are so far apart that they are lost independently.
    pub(crate) fn audio_copies(&self) -> usize {
        let loss = self.losses.model().loss;
        let mut all_lost = loss;
        let mut copies = 0;
        while all_lost > self.late && copies + 1 < usize::from(MAX_COPIES) {
            all_lost *= loss;
            copies += 1;
        }
        copies
    }

    /// How to send `missing` lost packets of a frame again, which were first sent `age` ago.
    pub(crate) fn again(
        &self,
        frame: FrameId,
        missing: usize,
        round_trip: RoundTrip,
        age: Duration,
    ) -> ResendPlan {
        let each = round_trip.repeated_request();
        let Some((_, plan)) = self.plan.as_ref().filter(|_| age <= self.deadline(round_trip))
        else {
            let left = (round_trip.patience() - age).max(Duration::ZERO);
            let copies = if left < each { LAST_COPIES } else { 1 };
            return ResendPlan { copies, within: left / 2 };
        };
        let rounds = self.rounds(round_trip, age);
        let left = self.deadline(round_trip) - age - each * rounds as i64;
        let copies = plan.of(frame).copies(rounds + 1, missing);
        ResendPlan { copies, within: left.max(Duration::ZERO) }
    }

    fn deadline(&self, round_trip: RoundTrip) -> Duration {
        self.deadline.unwrap_or_else(|| DEADLINE.max(round_trip.overdue() * 3 / 2))
    }

    /// How many rounds fit before the deadline of a packet that leaves now. It is asked for as soon as it is missed.
    fn rounds_from_first(&self, round_trip: RoundTrip) -> usize {
        let first = round_trip.overdue();
        if first > self.deadline(round_trip) {
            return 0;
        }
        (1 + self.rounds(round_trip, first)).min(MAX_ROUNDS)
    }

    /// How many further rounds fit between the deadline and this age of a packet that is sent again now.
    fn rounds(&self, round_trip: RoundTrip, age: Duration) -> usize {
        let left = (self.deadline(round_trip) - age).max(Duration::ZERO);
        let each = round_trip.repeated_request().max(Duration::from_nanos(1));
        usize::try_from(left.as_nanos() / each.as_nanos()).unwrap_or(0).min(MAX_ROUNDS)
    }
}

fn rounded(packets: usize) -> usize {
    let step = (packets.next_power_of_two() / 8).max(1);
    ((packets + step / 2) / step * step).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss_model::tests::report;
    use gameway_media::repair_packets;
    use gameway_units::Repair;

    fn protection(deadline: Option<Duration>) -> Protection {
        let goal = Repair::Adaptive(RepairGoal { deadline, ..RepairGoal::default() }).goal();
        Protection::new(goal.expect("a goal"), RepairCode::AnyForAny)
    }

    fn round_trip(millis: i64) -> RoundTrip {
        let mut round_trip = RoundTrip::default();
        (0..100).for_each(|_| round_trip.on_sample(Duration::from_millis(millis)));
        round_trip
    }

    #[test]
    fn there_are_as_many_rounds_as_the_deadline_has_time_for() {
        let rounds = |deadline: Option<i64>, millis| {
            let protection = protection(deadline.map(Duration::from_millis));
            protection.rounds_from_first(round_trip(millis))
        };
        // An answer is overdue 2 ms behind a steady round trip.
        assert_eq!(
            [5, 20, 30, 60, 100, 300].map(|millis| rounds(None, millis)),
            [4, 4, 3, 1, 1, 1]
        );
        assert_eq!([20, 60, 100].map(|millis| rounds(Some(60), millis)), [2, 0, 0]);
    }

    /// The first round takes a round trip, of which the answer is overdue after 22 ms; each further one 20 ms more.
    #[test]
    fn a_receiver_that_is_slow_to_ask_again_has_fewer_rounds_and_more_copies() {
        let mut protection = protection(None);
        let reports = (0..20_000).map(|number| report(number, number % 20 == 0));
        protection.on_reports(&reports.collect::<Vec<_>>());
        let mut slow = RoundTrip::new(Duration::from_millis(20));
        (0..100).for_each(|_| slow.on_sample(Duration::from_millis(20)));
        let quick = round_trip(20);
        assert_eq!([quick, slow].map(|it| protection.rounds_from_first(it)), [4, 2]);
        let mut copies = |round_trip, millis: i64| {
            protection.share(FrameId(0), 25, Some(round_trip));
            protection.again(FrameId(0), 1, round_trip, Duration::from_millis(millis)).copies
        };
        assert_eq!([22, 64].map(|age| copies(quick, age)), [1, 1]);
        assert_eq!(copies(slow, 22), 1);
        assert!((2..=3).contains(&copies(slow, 64)), "{}", copies(slow, 64));
    }

    #[test]
    fn copies_are_for_the_last_round_and_nothing_is_done_for_what_is_late() {
        let mut protection = protection(None);
        let reports = (0..20_000).map(|number| report(number, number % 20 == 0));
        protection.on_reports(&reports.collect::<Vec<_>>());
        let far = round_trip(100);
        protection.share(FrameId(0), 25, Some(far));
        let again = |age| protection.again(FrameId(0), 1, far, Duration::from_millis(age));
        let last = again(105);
        assert!(
            (2..=3).contains(&last.copies) && last.within == Duration::from_millis(48),
            "{last:?}"
        );
        // Late, and there is time for another round until the frame is given up at 300 ms; then there is none.
        assert_eq!(again(155).copies, 1);
        assert_eq!(again(200), ResendPlan { copies: 2, within: Duration::from_millis(50) });
        // With time for more, one is enough.
        let near = round_trip(20);
        protection.share(FrameId(0), 25, Some(near));
        let first = protection.again(FrameId(0), 1, near, Duration::from_millis(25));
        // Three rounds of 22 ms fit into what is left of 100 ms.
        assert_eq!(first, ResendPlan { copies: 1, within: Duration::from_millis(9) });
    }

    #[test]
    fn a_packet_is_late_beyond_the_deadline_and_in_its_last_round_where_no_answer_can_come() {
        let mut protection = protection(None);
        let reports = (0..20_000).map(|number| report(number, number % 20 == 0));
        protection.on_reports(&reports.collect::<Vec<_>>());
        let far = round_trip(100);
        protection.share(FrameId(0), 25, Some(far));
        let again = |age| protection.again(FrameId(0), 1, far, Duration::from_millis(age));
        // The deadline is one and a half rounds of 102 ms, and patience ends at 300 ms.
        let at_deadline = again(153);
        assert!(at_deadline.copies >= 2 && at_deadline.within == Duration::ZERO, "{at_deadline:?}");
        assert_eq!(again(154), ResendPlan { copies: 1, within: Duration::from_millis(73) });
        assert_eq!(again(198).copies, 1, "an answer can just come");
        assert_eq!(again(199).copies, 2);
        assert_eq!(again(400), ResendPlan { copies: 2, within: Duration::ZERO });
    }

    #[test]
    fn a_frame_has_the_repair_packets_of_its_plan() {
        let mut protection = protection(None);
        let reports = (0..20_000).map(|number| report(number, number % 20 == 0));
        protection.on_reports(&reports.collect::<Vec<_>>());
        let model = protection.losses.model().rounded();
        let mut seen = Vec::new();
        for packets in [1_usize, 2, 5, 10, 20, 40, 96] {
            let Protection { late, code, .. } = protection;
            let plan = RepairPlan::new(&Situation { model, packets, rounds: 0, code, late });
            for frame in (0..20).map(FrameId) {
                let first = plan.of(frame).first;
                let media = packets.saturating_sub(first).max(1);
                let repair = repair_packets(media as u64, protection.share(frame, packets, None));
                assert_eq!(repair, first as u64, "{packets}");
                seen.push(repair);
            }
        }
        assert!(seen.iter().any(|packets| *packets >= 8) && seen.contains(&1), "{seen:?}");
        // With time for rounds there is none, and so has a frame of the same size later.
        let near = Some(round_trip(5));
        let shares = [near, None, near].map(|time| protection.share(FrameId(0), 20, time));
        assert!(shares[0] == Ratio::ZERO && shares[1] > Ratio::ZERO && shares[2] == Ratio::ZERO);
    }

    #[test]
    fn audio_packets_have_as_many_copies_as_make_the_loss_of_all_rare() {
        let copies = |loss: u64| {
            let mut protection = protection(None);
            let reports = (0..20_000).map(|number| report(number, number % 1_000 < loss));
            protection.on_reports(&reports.collect::<Vec<_>>());
            protection.audio_copies()
        };
        assert_eq!([0, 2, 20, 50, 200, 500].map(copies), [0, 1, 1, 2, 3, 3]);
    }

    #[test]
    fn sizes_of_frames_are_told_apart_by_an_eighth() {
        assert_eq!([1, 7, 8, 9, 16, 17, 33, 100].map(rounded), [1, 7, 8, 10, 16, 16, 32, 96]);
        assert!(
            (1..2_000)
                .all(|packets| (rounded(packets) as f64 / packets as f64 - 1.0).abs() <= 0.125)
        );
    }
}
