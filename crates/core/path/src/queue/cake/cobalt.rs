//! COBALT: CoDel and BLUE side by side, one of each for every queue (Linux, `sch_cake.c`, `cobalt_*`).
//!
//! Model: CoDel's law, told by one schedule. The first packet that waits longer than the target sets the next
//! signal an interval ahead, or to the next packet where the queue was at rest for more than an interval before;
//! from then on each signal raises `count` and the next is due interval / √count later, one signal for a
//! departure. While packets wait less, or nothing waits, `count` falls again by the
//! same schedule, so that a rate of signals found once fades instead of being forgotten. BLUE drops at random,
//! marks or not, with a share that grows when the queue overflows and shrinks when it is found empty: it is
//! there for flows that do not listen.
//!
//! A stream of frames is signalled to although its queue empties between them. The end of each frame waits more than the
//! target, and a spell that begins sets the next signal anew, so that `count` fades only when a signal is due between two
//! frames. Once some longer spell has raised `count`, it stays where interval / √count is about a frame interval: (100 /
//! 16.7)² = 36 of 60 frames/s. CoDel leaves a spell for good there. Linux 6.1 does the same: of the packets of a GCC stream
//! beside CUBIC on 25 Mb/s, which leave at the same times, its `sch_cake` drops 367 in 15 s, and this module 337.
//!
//! | constant | value | unit | origin |
//! |---|---|---|---|
//! | BLUE's step up | 1/256 | | `cake_set_rate`, at an overflow, at most once a target |
//! | BLUE's step down | 1/4096 | | `cake_set_rate`, at an empty queue, at most once a target |
//! | least wait | 4 | packet times | `cobalt_should_drop`: waits of less are never too long |
//! | least wait for each bulk flow | 2 | packet times | likewise, in `ingress` mode |
//!
//! | deviation | why |
//! |---|---|
//! | interval / √count is the IEEE quotient, cut to 1 ns | the same on every machine; Linux takes a Newton step in 32 bits |
//! | the first spell of a queue waits an interval where a packet that did not wait too long has left just before | Linux starts with a reciprocal root of zero, so that a queue's first spell ever signals at its second packet; its own comment says an interval, and a router is rarely just booted |

use crate::PathPacket;
use crate::queue::Dequeued;
use gameway_units::{Duration, Instant};
use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// 1/256 in units of 2⁻³².
const STEP_UP: u32 = 1 << 24;
/// 1/4096 in units of 2⁻³².
const STEP_DOWN: u32 = 1 << 20;
/// A wait is not too long before this number of full packets could have been sent.
const MIN_WAIT: i64 = 4;
/// The same in `ingress` mode, for each bulk flow.
const MIN_WAIT_PER_FLOW: i64 = 2;

/// What the queues of a tin have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CobaltParameters {
    /// The wait that packets may have for good.
    pub(super) target: Duration,
    /// For how long they may wait more.
    pub(super) interval: Duration,
    /// How long a full packet takes at the tin's rate.
    pub(super) packet_time: Duration,
    /// Whether ECN-capable packets are marked instead of dropped.
    pub(super) ecn: bool,
}

impl CobaltParameters {
    fn is_too_long(&self, wait: Duration, bulk: u32) -> bool {
        wait > self.target
            && wait > self.packet_time * MIN_WAIT
            && wait > self.packet_time * MIN_WAIT_PER_FLOW * i64::from(bulk)
    }

    /// How long after a signal the next is due.
    fn spacing(&self, count: u32) -> Duration {
        let nanos = self.interval.as_nanos() as f64 / f64::from(count.max(1)).sqrt();
        Duration::from_nanos(nanos as i64)
    }
}

/// What is remembered of one queue.
#[derive(Debug, Clone, Default)]
pub(super) struct Cobalt {
    /// Signals of this spell, less what has faded since.
    count: u32,
    /// When the next signal is due or the next fades; of a queue at rest, until when it was active.
    drop_next: Instant,
    /// Whether packets wait too long.
    dropping: bool,
    /// BLUE's share in units of 2⁻³².
    drop_share: u32,
    /// When that last changed.
    share_changed: Option<Instant>,
}

impl Cobalt {
    /// Judges a packet that leaves now. It is marked where that will do; `true` says that it must be dropped. `bulk`
    /// flows share the tin, where that counts.
    pub(super) fn judge<P: PathPacket>(
        &mut self,
        parameters: &CobaltParameters,
        now: Instant,
        head: &mut Dequeued<P>,
        bulk: u32,
        random: &mut Xoshiro256PlusPlus,
    ) -> bool {
        let mut behind = now > self.drop_next;
        let due = self.count > 0 && now >= self.drop_next;
        self.note(parameters, now, parameters.is_too_long(now - head.enqueued, bulk));
        let mut drop = false;
        if due && self.dropping {
            drop = !(parameters.ecn && head.packet.mark());
            self.count = self.count.saturating_add(1);
            self.schedule(parameters);
            behind = now > self.drop_next;
        } else if due {
            self.fade(parameters, now);
            behind = false;
        }
        // Marks are not for who does not listen.
        drop |= self.drop_share > 0 && ((random.next_u64() >> 32) as u32) < self.drop_share;
        if self.count == 0 {
            self.drop_next = now.saturating_add(parameters.interval);
        } else if behind && !drop {
            // What is overdue is not made up for by marks in a row.
            self.drop_next = now;
        }
        drop
    }

    fn note(&mut self, parameters: &CobaltParameters, now: Instant, too_long: bool) {
        if too_long && !self.dropping {
            self.drop_next = now.saturating_add(parameters.spacing(self.count));
        }
        if too_long {
            self.count = self.count.max(1);
        }
        self.dropping = too_long;
    }

    /// Takes back all that has faded by now.
    fn fade(&mut self, parameters: &CobaltParameters, now: Instant) {
        while self.count > 0 && now >= self.drop_next {
            self.count -= 1;
            self.schedule(parameters);
        }
    }

    fn schedule(&mut self, parameters: &CobaltParameters) {
        self.drop_next = self.drop_next.saturating_add(parameters.spacing(self.count));
    }

    /// A packet of the queue had to go for want of room.
    pub(super) fn overflowed(&mut self, parameters: &CobaltParameters, now: Instant) {
        if self.may_change_share(parameters, now) {
            self.drop_share = self.drop_share.saturating_add(STEP_UP);
            self.share_changed = Some(now);
        }
        self.dropping = true;
        self.drop_next = now;
        self.count = self.count.max(1);
    }

    /// The queue had its turn and nothing to send.
    pub(super) fn was_empty(&mut self, parameters: &CobaltParameters, now: Instant) {
        if self.drop_share > 0 && self.may_change_share(parameters, now) {
            self.drop_share = self.drop_share.saturating_sub(STEP_DOWN);
            self.share_changed = Some(now);
        }
        self.dropping = false;
        if self.count > 0 && now >= self.drop_next {
            self.count -= 1;
            self.schedule(parameters);
        }
    }

    fn may_change_share(&self, parameters: &CobaltParameters, now: Instant) -> bool {
        self.share_changed.is_none_or(|last| now - last > parameters.target)
    }

    /// Whether nothing is left to fade.
    pub(super) fn is_at_rest(&self, now: Instant) -> bool {
        self.drop_share == 0 && self.count == 0 && now >= self.drop_next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FlowId;
    use crate::queue::test_packet::Packet;
    use gameway_units::Ecn;
    use rand_core::SeedableRng;

    const PARAMETERS: CobaltParameters = CobaltParameters {
        target: Duration::from_millis(5),
        interval: Duration::from_millis(100),
        packet_time: Duration::ZERO,
        ecn: true,
    };

    #[derive(Debug, PartialEq)]
    enum Fate {
        Passed,
        Marked,
        Dropped,
    }
    use Fate::{Dropped, Marked, Passed};

    struct Bench {
        cobalt: Cobalt,
        parameters: CobaltParameters,
        random: Xoshiro256PlusPlus,
    }

    impl Bench {
        /// A queue of which a packet has just left without a wait, at 0 ms.
        fn new(parameters: CobaltParameters) -> Self {
            let random = Xoshiro256PlusPlus::seed_from_u64(3);
            let mut bench = Self { cobalt: Cobalt::default(), parameters, random };
            assert_eq!(bench.leave(0, 0, Ecn::NotEct), Passed);
            bench
        }

        /// A packet leaves at `nanos`, in ns, after a wait of `wait` ms.
        fn leave(&mut self, nanos: i64, wait: i64, ecn: Ecn) -> Fate {
            let now = Instant::from_nanos(nanos);
            let enqueued = now.saturating_sub(Duration::from_millis(wait));
            let mut head = Dequeued { packet: Packet(FlowId(0), ecn), enqueued };
            if self.cobalt.judge(&self.parameters, now, &mut head, 0, &mut self.random) {
                return Dropped;
            }
            if head.packet.1 == ecn { Passed } else { Marked }
        }

        /// A signal is given then, and none the nanosecond before.
        fn expect(&mut self, nanos: i64, ecn: Ecn, fate: Fate) {
            assert_eq!(self.leave(nanos - 1, 6, ecn), Passed, "before {nanos}");
            assert_eq!(self.leave(nanos, 6, ecn), fate, "{nanos}");
        }

        fn drop_next(&self) -> i64 {
            self.cobalt.drop_next.as_nanos()
        }
    }

    const MS: i64 = 1_000_000;
    /// 100 ms / √2, √3 and √4: kept as whole nanoseconds.
    const STEPS: [i64; 3] = [70_710_678, 57_735_026, 50_000_000];

    #[test]
    fn signals_are_an_interval_by_the_root_of_their_number_apart() {
        for (ecn, fate) in [(Ecn::Ect0, Marked), (Ecn::NotEct, Dropped)] {
            let mut bench = Bench::new(PARAMETERS);
            assert_eq!(bench.leave(10 * MS, 6, ecn), Passed);
            assert_eq!((bench.cobalt.count, bench.drop_next()), (1, 110 * MS));
            let mut due = 110 * MS;
            for (number, step) in (2..).zip(STEPS) {
                bench.expect(due, ecn, if fate == Marked { Marked } else { Dropped });
                due += step;
                assert_eq!((bench.cobalt.count, bench.drop_next()), (number, due));
            }
        }
    }

    #[test]
    fn a_wait_of_the_target_or_of_four_packets_is_not_too_long() {
        let mut bench = Bench::new(PARAMETERS);
        assert_eq!(bench.leave(10 * MS, 5, Ecn::Ect0), Passed);
        assert!(!bench.cobalt.dropping);
        let slow = CobaltParameters { packet_time: Duration::from_millis(2), ..PARAMETERS };
        for (wait, too_long) in [(8, false), (9, true)] {
            let mut bench = Bench::new(slow);
            bench.leave(10 * MS, wait, Ecn::Ect0);
            assert_eq!(bench.cobalt.dropping, too_long, "{wait}");
        }
        // Where bulk flows count, two packets of each: 12 ms for three.
        let is_too_long = |millis| slow.is_too_long(Duration::from_millis(millis), 3);
        assert!(!is_too_long(12) && is_too_long(13));
    }

    #[test]
    fn count_fades_as_it_grew() {
        let mut bench = Bench::new(PARAMETERS);
        bench.leave(10 * MS, 6, Ecn::Ect0);
        let dues = [110 * MS, 110 * MS + STEPS[0], 110 * MS + STEPS[0] + STEPS[1]];
        for due in dues {
            bench.expect(due, Ecn::Ect0, Marked);
        }
        let mut due = bench.drop_next();
        // Count is 4; packets wait less. Nothing fades before the next signal would have been due.
        assert_eq!(bench.leave(due - 1, 0, Ecn::Ect0), Passed);
        assert_eq!(bench.cobalt.count, 4);
        for (count, step) in [(3, STEPS[1]), (2, STEPS[0]), (1, 100 * MS)] {
            assert_eq!(bench.leave(due, 0, Ecn::Ect0), Passed);
            due += step;
            assert_eq!((bench.cobalt.count, bench.drop_next()), (count, due));
        }
        // A new spell resumes: an interval by the root of what has not faded.
        let mut resumed = Bench { cobalt: bench.cobalt.clone(), ..Bench::new(PARAMETERS) };
        resumed.cobalt.count = 4;
        resumed.leave(due - MS, 6, Ecn::Ect0);
        assert_eq!(resumed.drop_next(), due - MS + STEPS[2]);
        // At last nothing is left but an interval of activity.
        bench.leave(due, 0, Ecn::Ect0);
        assert_eq!((bench.cobalt.count, bench.drop_next()), (0, due + 100 * MS));
        assert!(!bench.cobalt.is_at_rest(Instant::from_nanos(due + 99 * MS)));
        assert!(bench.cobalt.is_at_rest(Instant::from_nanos(due + 100 * MS)));
    }

    #[test]
    fn all_that_faded_in_a_long_silence_goes_at_once() {
        let mut bench = Bench::new(PARAMETERS);
        bench.leave(10 * MS, 6, Ecn::Ect0);
        bench.expect(110 * MS, Ecn::Ect0, Marked);
        bench.cobalt.count = 50;
        assert_eq!(bench.leave(5000 * MS, 0, Ecn::Ect0), Passed);
        assert_eq!((bench.cobalt.count, bench.drop_next()), (0, 5100 * MS));
    }

    #[test]
    fn overdue_drops_are_made_up_for_and_overdue_marks_are_not() {
        let late = |ecn| {
            let mut bench = Bench::new(PARAMETERS);
            bench.leave(10 * MS, 6, ecn);
            (0..100).filter(|_| bench.leave(1000 * MS, 6, ecn) != Passed).count()
        };
        // All that were due by then.
        let (mut due, mut drops) = (110.0, 0);
        while due <= 1000.0 {
            drops += 1;
            due += 100.0 / f64::from(drops + 1).sqrt();
        }
        assert_eq!(late(Ecn::NotEct), drops as usize);
        // One that was overdue, and one that is due now.
        assert_eq!(late(Ecn::Ect1), 2);
    }

    #[test]
    fn without_ecn_all_are_dropped_and_ce_counts_as_marked() {
        let mut bench = Bench::new(CobaltParameters { ecn: false, ..PARAMETERS });
        bench.leave(10 * MS, 6, Ecn::Ect0);
        bench.expect(110 * MS, Ecn::Ect0, Dropped);
        let mut bench = Bench::new(PARAMETERS);
        bench.leave(10 * MS, 6, Ecn::Ce);
        bench.expect(110 * MS, Ecn::Ce, Passed);
        assert_eq!(bench.cobalt.count, 2);
    }

    #[test]
    fn an_empty_queue_takes_back_one_signal_when_the_next_was_due() {
        let mut bench = Bench::new(PARAMETERS);
        bench.leave(10 * MS, 6, Ecn::Ect0);
        bench.expect(110 * MS, Ecn::Ect0, Marked);
        let due = bench.drop_next();
        bench.cobalt.was_empty(&PARAMETERS, Instant::from_nanos(due - 1));
        assert_eq!((bench.cobalt.count, bench.cobalt.dropping), (2, false));
        bench.cobalt.was_empty(&PARAMETERS, Instant::from_nanos(due));
        assert_eq!((bench.cobalt.count, bench.drop_next()), (1, due + 100 * MS));
        bench.cobalt.was_empty(&PARAMETERS, Instant::from_nanos(due + 100 * MS));
        assert_eq!((bench.cobalt.count, bench.drop_next()), (0, due + 200 * MS));
    }

    #[test]
    fn blue_goes_up_at_overflows_and_down_at_empty_queues_once_a_target() {
        let mut cobalt = Cobalt::default();
        let at = |micros| Instant::ZERO + Duration::from_micros(micros);
        let mut up = |micros| {
            cobalt.overflowed(&PARAMETERS, at(micros));
            cobalt.drop_share
        };
        let shares = [0, 1, 5000, 5001, 10_001, 10_002].map(&mut up);
        assert_eq!(shares.map(|share| share >> 24), [1, 1, 1, 2, 2, 3]);
        assert_eq!(cobalt.count, 1);
        let mut down = |micros| {
            cobalt.was_empty(&PARAMETERS, at(micros));
            cobalt.drop_share
        };
        let full = 3 << 24;
        assert_eq!(
            [15_002, 15_003, 20_003, 20_004].map(&mut down),
            [full, full - (1 << 20), full - (1 << 20), full - (2 << 20)]
        );
        // 46 steps of a sixteenth are left.
        let left = (0..100).map(|step| down(30_000 + step * 5001)).position(|share| share == 0);
        assert_eq!(left, Some(45));
        (0..300).for_each(|step| cobalt.overflowed(&PARAMETERS, at(1_000_000 + step * 5001)));
        assert_eq!(cobalt.drop_share, u32::MAX);
    }

    #[test]
    fn blue_drops_its_share_ecn_or_not() {
        let mut bench = Bench::new(PARAMETERS);
        bench.cobalt.drop_share = 1 << 30;
        let dropped = (1..=10_000).filter(|at| bench.leave(at * 1000, 0, Ecn::Ect0) == Dropped);
        let dropped = dropped.count();
        assert!((2280..=2720).contains(&dropped), "a quarter, five deviations of 43: {dropped}");
        let mut bench = Bench::new(PARAMETERS);
        assert!((1..=10_000).all(|at| bench.leave(at * 1000, 0, Ecn::Ect0) == Passed));
    }

    /// Only what changes the share sets the time before which it does not change again.
    #[test]
    fn an_empty_queue_without_a_share_does_not_hold_back_the_next_step_up() {
        let mut cobalt = Cobalt::default();
        cobalt.was_empty(&PARAMETERS, Instant::from_nanos(10 * MS));
        cobalt.overflowed(&PARAMETERS, Instant::from_nanos(11 * MS));
        assert_eq!(cobalt.drop_share, STEP_UP);
    }

    #[test]
    fn a_queue_is_at_rest_when_its_count_its_share_and_its_activity_are_gone() {
        let now = Instant::from_nanos(MS);
        let rests = |count, drop_share, nanos| {
            let drop_next = Instant::from_nanos(nanos);
            Cobalt { count, drop_share, drop_next, ..Cobalt::default() }.is_at_rest(now)
        };
        assert!(rests(0, 0, MS));
        assert!(!rests(1, 0, MS) && !rests(0, 1, MS) && !rests(0, 0, MS + 1));
    }

    /// As in Linux, where `drop_next` of a queue at rest is the end of its activity: who comes after it is behind.
    #[test]
    fn after_more_than_an_interval_of_rest_the_second_packet_that_waits_too_long_is_signalled() {
        let signalled_at = |first: i64| {
            let mut bench = Bench::new(PARAMETERS);
            assert_eq!(bench.leave(first, 6, Ecn::Ect0), Passed);
            bench.drop_next()
        };
        // The packet at 0 ms was the end of activity at 100 ms.
        assert_eq!(signalled_at(100 * MS), 200 * MS);
        assert_eq!(signalled_at(100 * MS + 1), 100 * MS + 1);
    }
}
