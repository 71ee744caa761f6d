//! PIE: proportional-integral controller enhanced (RFC 8033).
//!
//! Model: every `update_interval` the drop probability changes by `alpha (delay - target) + beta (delay -
//! previous delay)`, scaled down while it is small, so that a loop with many flows (large p) is fast and one with
//! few (small p) is stable. An arriving packet is dropped, or marked, with that probability. Bursts shorter than
//! the allowance, and queues that are short anyway, are left alone.
//!
//! | constant | value | unit | origin |
//! |---|---|---|---|
//! | `target` | 15 | ms | section 4.2, `QDELAY_REF` |
//! | `update_interval` | 15 | ms | section 4.2, `T_UPDATE` |
//! | `alpha`, `beta` | 0.125, 1.25 | Hz | section 4.2 |
//! | gain ladder | 2048, 512, 128, 32, 8, 2, 1 | p below 1e-6, 1e-5, ... 0.1, above | section 4.2 |
//! | `burst_allowance` | 150 | ms | section 4.4, `MAX_BURST` |
//! | least p to drop a short queue | 0.2 | | section 4.1; short: delay below target / 2 |
//! | least backlog to drop | 2 × 1500 | B | section 4.1 with Linux's packet size (MTU) |
//! | `mark_below` | 10 | % | section 5.1 |
//! | largest step up at p of 10 % and more | 2 | % | section 5.5 |
//! | decay per update of an empty queue | 0.98 | | section 4.2 |
//! | step on top above 250 ms | 2 | % | Linux `sch_pie` |
//!
//! | deviation | why |
//! |---|---|
//! | the delay is how long the head packet has waited, instead of backlog / departure rate | section 4.3 allows time stamps; it needs no rate, which on a varying link is wrong just when it matters |
//! | updates are caught up at packets, [`super::pi`] | no timer; the outcome is that of a timer |
//! | always on; drops are independent | switching itself off (section 5.3) and de-randomized drops (section 5.4) are optional |

use super::discipline::{Discipline, SizeOption};
use super::pi::{Gains, Updates, head_delay};
use super::{Backlog, Dequeued, DropReason, Dropped, Limit, Queue};
use crate::{PathPacket, uniform};
use gameway_units::declared::Configuration;
use gameway_units::{Bytes, Duration, Ecn, Instant, Ratio};
use rand_xoshiro::Xoshiro256PlusPlus;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

const MIN_BACKLOG: Bytes = Bytes::new(2 * 1500);
const SHORT_QUEUE_BELOW: f64 = 0.2;
const LARGE: f64 = 0.1;
const MAX_STEP: f64 = 0.02;
const HIGH_DELAY: Duration = Duration::from_millis(250);
const HIGH_DELAY_STEP: f64 = 0.02;
const DECAY: f64 = 0.98;

/// By how much a step is divided while the probability is below a bound.
const LADDER: [(f64, f64); 6] =
    [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (1e-1, 2.0)];

/// What can be set; the defaults are the RFC's.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PieConfig {
    /// the queueing delay it aims at
    #[schemars(extend("x-min" = "1 ms", "x-max" = "1 h"))]
    pub target: Duration,
    /// how often the probability is computed; alpha and beta are for this interval
    #[schemars(extend("x-min" = "1 ms", "x-max" = "1 h"))]
    pub update_interval: Duration,
    /// Hz: what a second above the target adds to the probability per update
    #[schemars(range(min = 0.0, max = 1e3))]
    pub alpha: f64,
    /// Hz: what a second more than at the update before adds to it
    #[schemars(range(min = 0.0, max = 1e3))]
    pub beta: f64,
    /// how long after a quiet time nothing is dropped early
    #[schemars(extend("x-min" = "0 s", "x-max" = "1 h"))]
    pub burst_allowance: Duration,
    /// ECN-capable packets are marked, not dropped, below this probability; 0 % never marks
    #[schemars(extend("x-min" = "0 %", "x-max" = "100 %"))]
    pub mark_below: Ratio,
}

impl Default for PieConfig {
    fn default() -> Self {
        Self {
            target: Duration::from_millis(15),
            update_interval: Duration::from_millis(15),
            alpha: 0.125,
            beta: 1.25,
            burst_allowance: Duration::from_millis(150),
            mark_below: Ratio::from_ppm(100_000),
        }
    }
}

impl Configuration for PieConfig {
    const NAME: &'static str = "pie";
    const SUMMARY: &'static str =
        "drops or marks at random so that the queueing delay settles at a target";
    const SOURCE: &'static str = "RFC 8033";
}

impl Discipline for PieConfig {
    const SIZE: SizeOption =
        SizeOption { default: Some("2 bdp"), summary: "what may wait, as for drop-tail" };

    fn build<P: PathPacket + 'static>(
        self,
        limit: Limit,
        random: Xoshiro256PlusPlus,
    ) -> Box<dyn Queue<P>> {
        Box::new(Pie::new(self, limit, random))
    }
}

/// The controller: all that an update reads and writes.
#[derive(Debug, Clone, Copy)]
struct Control {
    config: PieConfig,
    probability: f64,
    delay: Duration,
    allowance: Duration,
}

impl Control {
    fn new(config: PieConfig) -> Self {
        let allowance = config.burst_allowance;
        Self { config, probability: 0.0, delay: Duration::ZERO, allowance }
    }

    /// Section 4.2, with the delay now.
    fn update(&mut self, delay: Duration) {
        let previous = std::mem::replace(&mut self.delay, delay);
        self.probability += self.step(delay, previous);
        if delay == Duration::ZERO && previous == Duration::ZERO {
            self.probability *= DECAY;
        }
        self.probability = self.probability.clamp(0.0, 1.0);
        self.spend_allowance(delay, previous);
    }

    fn step(&self, delay: Duration, previous: Duration) -> f64 {
        let PieConfig { target, alpha, beta, .. } = self.config;
        let mut step = Gains { target, alpha, beta }.change(delay, previous) / self.divisor();
        if self.probability >= LARGE {
            step = step.min(MAX_STEP);
        }
        if delay > HIGH_DELAY {
            step += HIGH_DELAY_STEP;
        }
        step
    }

    fn divisor(&self) -> f64 {
        let rung = LADDER.iter().find(|(below, _)| self.probability < *below);
        rung.map_or(1.0, |(_, divisor)| *divisor)
    }

    /// Section 4.4: the allowance runs out with time and comes back when congestion is over.
    fn spend_allowance(&mut self, delay: Duration, previous: Duration) {
        self.allowance = (self.allowance - self.config.update_interval).max(Duration::ZERO);
        let short = self.config.target / 2;
        if self.probability <= 0.0 && delay < short && previous < short {
            self.allowance = self.config.burst_allowance;
        }
    }

    /// Section 4.1: whether chance decides at all.
    fn is_congested(&self, backlog: Bytes) -> bool {
        let short = self.delay < self.config.target / 2 && self.probability < SHORT_QUEUE_BELOW;
        self.allowance <= Duration::ZERO && !short && backlog > MIN_BACKLOG
    }
}

/// The queue; see the module's head.
#[derive(Debug)]
pub struct Pie<P> {
    control: Control,
    updates: Updates,
    limit: Limit,
    random: Xoshiro256PlusPlus,
    waiting: VecDeque<Dequeued<P>>,
    bytes: Bytes,
}

impl<P: PathPacket> Pie<P> {
    /// An empty queue of that size.
    #[must_use]
    pub fn new(config: PieConfig, limit: Limit, random: Xoshiro256PlusPlus) -> Self {
        Self {
            control: Control::new(config),
            updates: Updates::every(config.update_interval),
            limit,
            random,
            waiting: VecDeque::new(),
            bytes: Bytes::ZERO,
        }
    }

    /// The probability of a drop or mark as of the last update.
    #[must_use]
    pub fn probability(&self) -> f64 {
        self.control.probability
    }

    fn catch_up(&mut self, now: Instant) {
        for at in self.updates.due(now) {
            self.control.update(head_delay(self.waiting.front(), at));
        }
    }

    fn signals(&mut self) -> bool {
        self.control.is_congested(self.bytes)
            && uniform(&mut self.random) < self.control.probability
    }

    /// Section 5.1: a mark does for a drop as long as congestion is moderate.
    fn may_mark(&self, packet: &P) -> bool {
        packet.ecn().is_capable()
            && self.control.probability < self.control.config.mark_below.as_f64()
    }

    fn verdict(&mut self, packet: &mut P) -> Option<DropReason> {
        if !self.backlog().with(packet.wire_size()).is_within(self.limit) {
            return Some(DropReason::Overflow);
        }
        if !self.signals() {
            return None;
        }
        if !self.may_mark(packet) {
            return Some(DropReason::Early);
        }
        packet.set_ecn(Ecn::Ce);
        None
    }
}

impl<P: PathPacket> Queue<P> for Pie<P> {
    fn enqueue(&mut self, now: Instant, packet: P, dropped: &mut Vec<Dropped<P>>) {
        self.admit(now, Dequeued { packet, enqueued: now }, dropped);
    }

    fn admit(&mut self, now: Instant, mut waiting: Dequeued<P>, dropped: &mut Vec<Dropped<P>>) {
        self.catch_up(now);
        if let Some(reason) = self.verdict(&mut waiting.packet) {
            return dropped.push(Dropped::waiting(waiting, reason));
        }
        self.bytes += waiting.packet.wire_size();
        self.waiting.push_back(waiting);
    }

    fn dequeue(&mut self, now: Instant, _dropped: &mut Vec<Dropped<P>>) -> Option<Dequeued<P>> {
        self.catch_up(now);
        let next = self.waiting.pop_front()?;
        self.bytes -= next.packet.wire_size();
        Some(next)
    }

    fn drain(&mut self, into: &mut Vec<Dequeued<P>>) {
        self.bytes = Bytes::ZERO;
        into.extend(self.waiting.drain(..));
    }

    fn backlog(&self) -> Backlog {
        Backlog { bytes: self.bytes, packets: self.waiting.len() as u64 }
    }

    fn oldest(&self) -> Option<Instant> {
        self.waiting.front().map(|head| head.enqueued)
    }

    fn set_limit(&mut self, limit: Limit) {
        self.limit = limit;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FlowId;
    use crate::queue::test_packet::Packet;
    use rand_core::SeedableRng;

    /// Each rung divides the same step; above the ladder, a step up is capped and one down is not.
    #[test]
    fn the_ladder_and_the_cap() {
        let step = |probability, delay, previous| {
            let control = Control { probability, ..Control::new(PieConfig::default()) };
            control.step(Duration::from_millis(delay), Duration::from_millis(previous))
        };
        // 0.125 * 0.085 + 1.25 * 0.05
        let whole = 0.073_125;
        let rungs = [
            (0.0, 2048.0),
            (1e-6, 512.0),
            (1e-5, 128.0),
            (1e-4, 32.0),
            (1e-3, 8.0),
            (1e-2, 2.0),
            (0.099, 2.0),
        ];
        for (probability, divisor) in rungs {
            assert!((step(probability, 100, 50) - whole / divisor).abs() < 1e-15);
        }
        assert!((step(0.1, 100, 50) - 0.02).abs() < 1e-15);
        assert!((step(0.1, 50, 100) - (0.125 * 0.035 - 1.25 * 0.05)).abs() < 1e-15);
        assert!((step(0.1, 251, 250) - 0.04).abs() < 1e-15, "more above 250 ms");
        assert!((step(0.5, 15, 15)).abs() < 1e-15, "on target and steady: nothing");
    }

    /// Section 4.4, with the target of 15 ms: the allowance is spent with time, and given back when nothing is dropped
    /// and this delay and the one before are below half the target.
    #[test]
    fn the_allowance_runs_out_and_comes_back() {
        let mut control = Control::new(PieConfig::default());
        let spent = (0..12).map(|_| {
            control.update(Duration::from_millis(20));
            control.allowance
        });
        let left = [135, 120, 105, 90, 75, 60, 45, 30, 15, 0, 0, 0];
        assert!(spent.eq(left.map(Duration::from_millis)), "15 ms of 150 ms in each interval");
        let after = |probability, micros: [i64; 2]| {
            let [previous, delay] = micros.map(Duration::from_micros);
            let mut control = Control { probability, allowance: Duration::ZERO, ..control };
            control.spend_allowance(delay, previous);
            control.allowance
        };
        let (whole, none) = (Duration::from_millis(150), Duration::ZERO);
        assert_eq!(after(0.0, [7499, 7499]), whole);
        assert_eq!(after(0.0, [7500, 0]), none, "the delay before was half the target");
        assert_eq!(after(0.0, [0, 7500]), none, "the delay now is");
        assert_eq!(after(1e-9, [0, 0]), none, "there is still a probability");
    }

    #[test]
    fn what_is_left_alone() {
        let congested = |probability, micros, allowance, backlog| {
            let control = Control {
                probability,
                delay: Duration::from_micros(micros),
                allowance: Duration::from_millis(allowance),
                ..Control::new(PieConfig::default())
            };
            control.is_congested(Bytes::new(backlog))
        };
        assert!(congested(0.19, 7500, 0, 3001));
        assert!(congested(0.2, 7499, 0, 3001));
        assert!(!congested(0.19, 7499, 0, 3001), "a short queue");
        assert!(!congested(0.9, 20_000, 0, 3000), "two packets");
        assert!(!congested(0.9, 20_000, 1, 3001), "a burst");
    }

    /// Section 5.1: below 10 % what is ECN-capable is marked; from there on it is dropped as all else.
    #[test]
    fn marks_do_for_drops_below_the_bound_and_not_at_it() {
        let may_mark = |probability, ecn| {
            let random = Xoshiro256PlusPlus::seed_from_u64(1);
            let mut pie = Pie::new(PieConfig::default(), Limit::Packets(9), random);
            pie.control.probability = probability;
            pie.may_mark(&Packet(FlowId(0), ecn))
        };
        assert!(may_mark(0.099, Ecn::Ect0) && may_mark(0.099, Ecn::Ect1));
        assert!(!may_mark(0.1, Ecn::Ect0));
        assert!(!may_mark(0.099, Ecn::NotEct));
    }
}
