//! DualPI2: two queues coupled by one controller (RFC 9332, appendix A; Linux `sch_dualpi2`).
//!
//! Model: ECT(1) and CE go to the low-latency queue (L), all else to the classic one (C). A proportional-integral
//! controller of the delay moves a base probability p'. Classic packets are dropped or marked with p_C = p'^2, as
//! Reno's rate goes with 1 / sqrt(p); L packets are marked with p_CL = k p', as a scalable rate goes with 1 / p, or
//! with what L's own short queue asks for if that is more. So flows in both get about the same, while L, which the
//! scheduler prefers, stays short. Where p_CL reaches 1, marks are no longer believed: both queues drop.
//!
//! | constant | value | unit | origin |
//! |---|---|---|---|
//! | `target` | 15 | ms | appendix A.1 |
//! | `update_interval` | 16 | ms | appendix A.1: the lesser of target and RTT_max / 3; rounded as in Linux |
//! | `alpha`, `beta` | 0.16, 3.2 | Hz | appendix A.1: 0.1 Tupdate / RTT_max², 0.3 / RTT_max of 100 ms; as in Linux |
//! | `coupling` (k) | 2 | | appendix A.1 |
//! | `max_classic` (p_Cmax) | 25 | % | appendix A.1: 1 / k² |
//! | ramp | 800 to 1200 | µs | appendix A.1, with more than one packet in L |
//! | step (option) | 1 | ms | Linux |
//! | weight of C | 10 | % | Linux; the RFC leaves it to the scheduler |
//! | first credit | 1500 B × (weight of C − weight of L) | | Linux: the first packets in contention are of L |
//! | time shift (option) | 30 | ms | ours: two targets |
//!
//! | deviation | why |
//! |---|---|
//! | alpha already includes Tupdate: it does not change with `update_interval` | as in the RFC and in Linux |
//! | updates are caught up at packets, [`super::pi`] | no timer; the outcome is that of a timer |
//! | p' is held within 0 and 1 | the pseudo-code leaves the bounds out; as in Linux |
//! | a packet that fits is taken | the pseudo-code asks for room for an MTU |
//! | the limit is the experiment's `size` | the RFC has 250 ms at the link's rate, Linux 10 000 packets |
//! | early drops are made when a packet leaves | as in the RFC and, by default, in Linux |

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

/// The packet for which Linux's first credit is reckoned.
const MTU: i64 = 1500;

/// How the low-latency queue marks by its own delay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LowLatencyMarking {
    /// None up to `ramp_from`, all from `ramp_range` more on, linear between; none while the packet is alone (RFC 9332 appendix A.1).
    Ramp,
    /// All that waited longer than `step_above` (Linux).
    Step,
}

/// The delay that is held at the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DelayInput {
    /// The longer of both queues' (RFC 9332 appendix A.2; Linux).
    Both,
    /// The classic queue's (RFC 9332 appendix A.1); overload of L alone then ends at the limit.
    Classic,
}

/// Which queue sends next while both have something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scheduler {
    /// Each gets its share of the bytes: `classic_weight`.
    Weighted,
    /// The packet that came first, counting low-latency packets as if they had come `time_shift` earlier.
    TimeShifted,
}

/// How a probability becomes decisions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Decision {
    /// Probabilities are added up, and each whole is a yes: evenly spaced (RFC).
    Recurring,
    /// Each is drawn on its own (Linux).
    Random,
}

/// What can be set; the defaults are the RFC's.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct DualPi2Config {
    /// the queueing delay that the classic queue is held at
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
    /// marking probability of L4S packets over the square root of that of classic ones
    #[schemars(range(min = 0.0, max = 1e3))]
    pub coupling: f64,
    /// classic packets are marked up to this probability; from it on all are dropped instead
    #[schemars(extend("x-min" = "0 %", "x-max" = "100 %"))]
    pub max_classic: Ratio,
    /// how the low-latency queue marks by itself: "ramp" (RFC) or "step" (Linux)
    pub marking: LowLatencyMarking,
    /// with marking "step": L4S packets that waited longer than this are marked
    #[schemars(extend("x-min" = "0 s", "x-max" = "1 h"))]
    pub step_above: Duration,
    /// with marking "ramp": the delay above which L4S packets begin to be marked
    #[schemars(extend("x-min" = "0 s", "x-max" = "1 h"))]
    pub ramp_from: Duration,
    /// with marking "ramp": how much further all are
    #[schemars(extend("x-min" = "0 s", "x-max" = "1 h"))]
    pub ramp_range: Duration,
    /// the delay that is held at the target: the longer of "both" queues (RFC A.2, Linux) or that of the "classic" one (RFC A.1)
    pub delay_input: DelayInput,
    /// "weighted" round robin or "time-shifted" first in, first out
    pub scheduler: Scheduler,
    /// with scheduler "weighted": the classic queue's share while both are busy
    #[schemars(extend("x-min" = "0 %", "x-max" = "100 %"))]
    pub classic_weight: Ratio,
    /// with scheduler "time-shifted": how much longer a classic packet waits
    #[schemars(extend("x-min" = "0 s", "x-max" = "1 h"))]
    pub time_shift: Duration,
    /// how a probability becomes marks: "recurring" evenly (RFC) or at "random" (Linux)
    pub decision: Decision,
}

impl Default for DualPi2Config {
    fn default() -> Self {
        Self {
            target: Duration::from_millis(15),
            update_interval: Duration::from_millis(16),
            alpha: 0.16,
            beta: 3.2,
            coupling: 2.0,
            max_classic: Ratio::from_ppm(250_000),
            marking: LowLatencyMarking::Ramp,
            step_above: Duration::from_millis(1),
            ramp_from: Duration::from_micros(800),
            ramp_range: Duration::from_micros(400),
            delay_input: DelayInput::Both,
            scheduler: Scheduler::Weighted,
            classic_weight: Ratio::from_ppm(100_000),
            time_shift: Duration::from_millis(30),
            decision: Decision::Recurring,
        }
    }
}

impl DualPi2Config {
    /// As Linux has it: a step of 1 ms, and random decisions.
    #[must_use]
    pub fn linux() -> Self {
        Self { marking: LowLatencyMarking::Step, decision: Decision::Random, ..Self::default() }
    }
}

impl Configuration for DualPi2Config {
    const NAME: &'static str = "dual-pi2";
    const SUMMARY: &'static str =
        "a low-latency and a classic queue, coupled so that L4S and classic flows share fairly";
    const SOURCE: &'static str = "RFC 9332, appendix A; Linux sch_dualpi2";
}

impl Discipline for DualPi2Config {
    const SIZE: SizeOption = SizeOption {
        default: Some("2 bdp"),
        summary: "what may wait in both queues together, as for drop-tail",
    };

    fn build<P: PathPacket + 'static>(
        self,
        limit: Limit,
        random: Xoshiro256PlusPlus,
    ) -> Box<dyn Queue<P>> {
        Box::new(DualPi2::new(self, limit, random))
    }
}

/// One of the two queues.
#[derive(Debug)]
struct Lane<P> {
    waiting: VecDeque<Dequeued<P>>,
    bytes: Bytes,
    /// The sum of [`Decision::Recurring`].
    sum: f64,
}

impl<P: PathPacket> Lane<P> {
    fn new() -> Self {
        Self { waiting: VecDeque::new(), bytes: Bytes::ZERO, sum: 0.0 }
    }

    fn push(&mut self, next: Dequeued<P>) {
        self.bytes += next.packet.wire_size();
        self.waiting.push_back(next);
    }

    fn pop(&mut self) -> Option<Dequeued<P>> {
        let next = self.waiting.pop_front()?;
        self.bytes -= next.packet.wire_size();
        Some(next)
    }

    /// Whether a thing of this probability comes to pass; at most one whole is added at a time.
    fn decide(&mut self, probability: f64, how: Decision, random: &mut Xoshiro256PlusPlus) -> bool {
        if how == Decision::Random {
            return uniform(random) < probability;
        }
        self.sum += probability.min(1.0);
        let whole = self.sum > 1.0;
        if whole {
            self.sum -= 1.0;
        }
        whole
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    LowLatency,
    Classic,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Pass,
    Mark,
    Drop,
}

/// The queue; see the module's head.
#[derive(Debug)]
pub struct DualPi2<P> {
    config: DualPi2Config,
    updates: Updates,
    limit: Limit,
    random: Xoshiro256PlusPlus,
    low_latency: Lane<P>,
    classic: Lane<P>,
    /// The base probability p'.
    base: f64,
    delay: Duration,
    /// What C is owed, in bytes times parts per million: above zero it is its turn.
    credit: i64,
}

impl<P: PathPacket> DualPi2<P> {
    /// An empty queue; the limit is for both sides together.
    #[must_use]
    pub fn new(config: DualPi2Config, limit: Limit, random: Xoshiro256PlusPlus) -> Self {
        Self {
            config,
            updates: Updates::every(config.update_interval),
            limit,
            random,
            low_latency: Lane::new(),
            classic: Lane::new(),
            base: 0.0,
            delay: Duration::ZERO,
            credit: first_credit(&config),
        }
    }

    /// The probability that a classic packet is dropped or marked, as of the last update.
    #[must_use]
    pub fn classic_probability(&self) -> f64 {
        self.base * self.base
    }

    /// The probability that the coupling marks a low-latency packet, as of the last update; may exceed 1.
    #[must_use]
    pub fn coupled_probability(&self) -> f64 {
        self.config.coupling * self.base
    }

    fn catch_up(&mut self, now: Instant) {
        for at in self.updates.due(now) {
            self.update(at);
        }
    }

    fn update(&mut self, at: Instant) {
        let classic = head_delay(self.classic.waiting.front(), at);
        let delay = match self.config.delay_input {
            DelayInput::Both => classic.max(head_delay(self.low_latency.waiting.front(), at)),
            DelayInput::Classic => classic,
        };
        let DualPi2Config { target, alpha, beta, .. } = self.config;
        let change = Gains { target, alpha, beta }.change(delay, self.delay);
        self.base = (self.base + change).clamp(0.0, 1.0);
        self.delay = delay;
    }

    fn choose(&self) -> Option<Side> {
        match (self.low_latency.waiting.front(), self.classic.waiting.front()) {
            (None, None) => None,
            (Some(_), None) => Some(Side::LowLatency),
            (None, Some(_)) => Some(Side::Classic),
            (Some(low_latency), Some(classic)) => Some(self.contend(low_latency, classic)),
        }
    }

    fn contend(&self, low_latency: &Dequeued<P>, classic: &Dequeued<P>) -> Side {
        let low_latency_first = match self.config.scheduler {
            Scheduler::Weighted => self.credit <= 0,
            Scheduler::TimeShifted => {
                low_latency.enqueued.saturating_sub(self.config.time_shift) <= classic.enqueued
            }
        };
        if low_latency_first { Side::LowLatency } else { Side::Classic }
    }

    /// Only what is sent while the other side waits counts; what is dropped takes no time of the link.
    fn account(&mut self, side: Side, size: Bytes) {
        if self.config.scheduler != Scheduler::Weighted {
            return;
        }
        let size = i64::try_from(size.get()).unwrap_or(MTU);
        let classic = ppm(self.config.classic_weight);
        match side {
            Side::LowLatency if !self.classic.waiting.is_empty() => self.credit += size * classic,
            Side::Classic if !self.low_latency.waiting.is_empty() => {
                self.credit -= size * (1_000_000 - classic);
            }
            _ => {}
        }
    }

    fn judge(&mut self, side: Side, next: &Dequeued<P>, now: Instant) -> Fate {
        match side {
            Side::LowLatency => self.judge_low_latency(now.saturating_since(next.enqueued)),
            Side::Classic => self.judge_classic(next.packet.ecn()),
        }
    }

    /// Appendix A.2: marks alone say it while they can say more; then classic drops, and marks on the rest.
    fn judge_low_latency(&mut self, waited: Duration) -> Fate {
        let coupled = self.coupled_probability();
        let (how, dropped) = (self.config.decision, self.classic_probability());
        let saturated = coupled >= 1.0;
        let native = if saturated { 0.0 } else { self.native_probability(waited) };
        if saturated && self.low_latency.decide(dropped, how, &mut self.random) {
            return Fate::Drop;
        }
        let marked = self.low_latency.decide(native.max(coupled), how, &mut self.random);
        if marked { Fate::Mark } else { Fate::Pass }
    }

    fn native_probability(&self, waited: Duration) -> f64 {
        let DualPi2Config { marking, step_above, ramp_from, ramp_range, .. } = self.config;
        match marking {
            // Alone: what it waited for has left, and a mark would tell of the link's speed.
            LowLatencyMarking::Ramp if self.low_latency.waiting.is_empty() => 0.0,
            LowLatencyMarking::Ramp if waited <= ramp_from => 0.0,
            LowLatencyMarking::Ramp if waited < ramp_from + ramp_range => {
                (waited - ramp_from) / ramp_range
            }
            LowLatencyMarking::Ramp => 1.0,
            LowLatencyMarking::Step => f64::from(u8::from(waited > step_above)),
        }
    }

    fn judge_classic(&mut self, ecn: Ecn) -> Fate {
        let probability = self.classic_probability();
        if !self.classic.decide(probability, self.config.decision, &mut self.random) {
            return Fate::Pass;
        }
        let overloaded = probability >= self.config.max_classic.as_f64();
        if ecn.is_capable() && !overloaded { Fate::Mark } else { Fate::Drop }
    }

    fn lane(&mut self, side: Side) -> &mut Lane<P> {
        match side {
            Side::LowLatency => &mut self.low_latency,
            Side::Classic => &mut self.classic,
        }
    }

    /// The next packet if it is not dropped; `Err` names the one that was.
    fn send(&mut self, side: Side, now: Instant) -> Option<Result<Dequeued<P>, Dropped<P>>> {
        let mut next = self.lane(side).pop()?;
        match self.judge(side, &next, now) {
            Fate::Drop => return Some(Err(Dropped::waiting(next, DropReason::Early))),
            Fate::Mark => next.packet.set_ecn(Ecn::Ce),
            Fate::Pass => {}
        }
        self.account(side, next.packet.wire_size());
        Some(Ok(next))
    }
}

fn ppm(share: Ratio) -> i64 {
    i64::try_from(share.as_ppm()).unwrap_or(i64::MAX).min(1_000_000)
}

fn first_credit(config: &DualPi2Config) -> i64 {
    match config.scheduler {
        Scheduler::Weighted => MTU * (2 * ppm(config.classic_weight) - 1_000_000),
        Scheduler::TimeShifted => 0,
    }
}

impl<P: PathPacket> Queue<P> for DualPi2<P> {
    fn enqueue(&mut self, now: Instant, packet: P, dropped: &mut Vec<Dropped<P>>) {
        self.admit(now, Dequeued { packet, enqueued: now }, dropped);
    }

    fn admit(&mut self, now: Instant, waiting: Dequeued<P>, dropped: &mut Vec<Dropped<P>>) {
        self.catch_up(now);
        if !self.backlog().with(waiting.packet.wire_size()).is_within(self.limit) {
            return dropped.push(Dropped::waiting(waiting, DropReason::Overflow));
        }
        let side = match waiting.packet.ecn() {
            Ecn::Ect1 | Ecn::Ce => Side::LowLatency,
            Ecn::NotEct | Ecn::Ect0 => Side::Classic,
        };
        self.lane(side).push(waiting);
    }

    fn dequeue(&mut self, now: Instant, dropped: &mut Vec<Dropped<P>>) -> Option<Dequeued<P>> {
        self.catch_up(now);
        while let Some(side) = self.choose() {
            match self.send(side, now)? {
                Ok(next) => return Some(next),
                Err(drop) => dropped.push(drop),
            }
        }
        self.credit = first_credit(&self.config);
        None
    }

    fn drain(&mut self, into: &mut Vec<Dequeued<P>>) {
        for side in [Side::LowLatency, Side::Classic] {
            into.extend(std::iter::from_fn(|| self.lane(side).pop()));
        }
    }

    fn backlog(&self) -> Backlog {
        let packets = self.low_latency.waiting.len() + self.classic.waiting.len();
        Backlog { bytes: self.low_latency.bytes + self.classic.bytes, packets: packets as u64 }
    }

    fn oldest(&self) -> Option<Instant> {
        let heads = [self.low_latency.waiting.front(), self.classic.waiting.front()];
        heads.into_iter().flatten().map(|head| head.enqueued).min()
    }

    fn set_limit(&mut self, limit: Limit) {
        self.limit = limit;
    }
}
