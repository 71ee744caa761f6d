//! CoDel: drops from the head while packets have waited too long for too long (RFC 8289, January 2018).
//!
//! Model: first in, first out. Each packet is judged when it leaves. Once every packet of an interval
//! has waited at least the target, one is dropped, and the next ones at times that close up as
//! interval / √count, count being the drops since; the first packet that waited less ends it. A spell
//! that follows soon after another takes up at the count by which the last one had grown. With `ecn`, a
//! packet that is ECN-capable is marked where another would be dropped.
//!
//! | constant | value | unit | origin |
//! |---|---|---|---|
//! | target | 5 | ms | sections 4 and 5.3; 5 to 10 % of the interval |
//! | interval | 100 | ms | sections 4 and 5.3; a worst-case round trip of most paths |
//! | re-entry | 16 | intervals | section 5.5 |
//! | MTU | 1500 | B | section 5.6 (`maxpacket`), here with the IP header and without the link's |
//! | limit | 1000 | packets | Linux, `sch_codel.c`; the RFC leaves it to the device |
//!
//! | deviation | why |
//! |---|---|
//! | interval / √count is the integer square root, rounded down to 1 ns | exact and the same everywhere; Linux approximates it by Newton steps |
//! | one mark per departure, with the next mark scheduled as after a drop | the RFC has no code for marks; as Linux |
//! | a packet that comes with CE already passes as marked | it carries the signal; as Linux |
//! | `ecn` is on by default | the packet's own field decides; Linux has it off here and on in FQ-CoDel |
//! | a packet that does not fit is dropped at the tail | not part of the algorithm; as Linux |

use super::discipline::{Discipline, SizeOption};
use super::{Backlog, Dequeued, DropReason, Dropped, Limit, Queue};
use crate::PathPacket;
use gameway_units::declared::{Configuration, on_off};
use gameway_units::{Bytes, Duration, Instant};
use rand_xoshiro::Xoshiro256PlusPlus;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// A backlog of no more than this never makes CoDel drop: it is what keeps the link busy.
const MTU: Bytes = Bytes::new(1500);
/// Intervals after the last due drop within which a new dropping state resumes the rate of the last one.
const RESUME_INTERVALS: i64 = 16;

/// What can be set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CodelConfig {
    /// the wait that packets may have for good
    #[schemars(extend("x-min" = "0 s", "x-max" = "1 h"))]
    pub target: Duration,
    /// for how long packets may wait more than the target: a long round trip
    #[schemars(extend("x-min" = "1 ms", "x-max" = "1 h"))]
    pub interval: Duration,
    /// ECN-capable packets are marked instead of dropped (on) or not (off)
    #[serde(with = "on_off")]
    #[schemars(with = "on_off::Switch")]
    pub ecn: bool,
}

impl CodelConfig {
    /// Marks `packet`, or says that it must be dropped instead.
    fn mark<P: PathPacket>(&self, packet: &mut P) -> bool {
        self.ecn && packet.mark()
    }

    /// The control law: how long after a signal the next is due when it will be the `count`-th.
    fn spacing(&self, count: u32) -> Duration {
        let interval = u128::from(self.interval.as_nanos().max(0).unsigned_abs());
        let nanos = (interval * interval / u128::from(count.max(1))).isqrt();
        Duration::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX))
    }
}

impl Default for CodelConfig {
    fn default() -> Self {
        Self { target: Duration::from_millis(5), interval: Duration::from_millis(100), ecn: true }
    }
}

impl Configuration for CodelConfig {
    const NAME: &'static str = "codel";
    const SUMMARY: &'static str =
        "first in, first out; drops or marks ever faster while packets wait longer than a target";
    const SOURCE: &'static str = "RFC 8289";
}

impl Discipline for CodelConfig {
    const SIZE: SizeOption = SizeOption {
        default: Some("1000 packets"),
        summary: "what may wait, as of drop-tail; what does not fit is dropped",
    };

    fn build<P: PathPacket + 'static>(
        self,
        limit: Limit,
        _random: Xoshiro256PlusPlus,
    ) -> Box<dyn Queue<P>> {
        Box::new(Codel::new(self, limit))
    }
}

/// What CoDel takes its packets from, in the order in which they came.
pub(super) trait Fifo<P> {
    /// Takes the packet at the head.
    fn pop(&mut self) -> Option<Dequeued<P>>;
    /// Bytes that wait.
    fn bytes(&self) -> Bytes;
}

/// What CoDel remembers of one queue.
#[derive(Debug, Clone, Default)]
pub(super) struct CodelState {
    /// When the wait will have been above the target for an interval, if it stays there.
    first_above: Option<Instant>,
    /// Whether it drops or marks.
    dropping: bool,
    /// When the next signal is due, or was when the spell ended.
    drop_next: Instant,
    /// Signals of this spell, those it resumed from included.
    count: u32,
    /// `count` at the start of the spell.
    count_at_entry: u32,
}

impl CodelState {
    /// The next packet of `fifo` that is to be sent; what is dropped on the way goes to `dropped`. Gives
    /// `None` of an empty queue only, since the last MTU is never dropped.
    pub(super) fn dequeue<P: PathPacket>(
        &mut self,
        config: &CodelConfig,
        now: Instant,
        fifo: &mut impl Fifo<P>,
        dropped: &mut Vec<Dropped<P>>,
    ) -> Option<Dequeued<P>> {
        let (mut head, mut standing) = self.take(config, now, fifo)?;
        if !self.dropping && standing {
            self.enter(config, now);
            if config.mark(&mut head.packet) {
                return Some(head);
            }
            dropped.push(Dropped::waiting(head, DropReason::Early));
            return self.take(config, now, fifo).map(|(next, _)| next);
        }
        self.dropping = standing;
        // A loop, because many can be due at once after a link has stood still.
        while self.dropping && now >= self.drop_next {
            self.count = self.count.saturating_add(1);
            if config.mark(&mut head.packet) {
                self.schedule(config, self.drop_next);
                return Some(head);
            }
            dropped.push(Dropped::waiting(head, DropReason::Early));
            (head, standing) = self.take(config, now, fifo)?;
            self.dropping = standing;
            if standing {
                self.schedule(config, self.drop_next);
            }
        }
        Some(head)
    }

    /// The packet at the head, and whether the queue stands: this and all others of the last interval
    /// waited too long.
    fn take<P>(
        &mut self,
        config: &CodelConfig,
        now: Instant,
        fifo: &mut impl Fifo<P>,
    ) -> Option<(Dequeued<P>, bool)> {
        let Some(head) = fifo.pop() else {
            self.first_above = None;
            self.dropping = false;
            return None;
        };
        if now - head.enqueued < config.target || fifo.bytes() <= MTU {
            self.first_above = None;
            return Some((head, false));
        }
        let standing = self.first_above.is_some_and(|due| now >= due);
        self.first_above.get_or_insert(now.saturating_add(config.interval));
        Some((head, standing))
    }

    /// Starts a spell of signals, the first of them now.
    fn enter(&mut self, config: &CodelConfig, now: Instant) {
        let grown = self.count - self.count_at_entry;
        let memory = config.interval.as_nanos().saturating_mul(RESUME_INTERVALS);
        let soon = (now - self.drop_next).as_nanos() < memory;
        self.count = if grown > 1 && soon { grown } else { 1 };
        self.count_at_entry = self.count;
        self.dropping = true;
        self.schedule(config, now);
    }

    fn schedule(&mut self, config: &CodelConfig, last: Instant) {
        self.drop_next = last.saturating_add(config.spacing(self.count));
    }
}

/// Packets in order of arrival.
#[derive(Debug)]
struct Waiting<P> {
    packets: VecDeque<Dequeued<P>>,
    backlog: Backlog,
}

impl<P: PathPacket> Fifo<P> for Waiting<P> {
    fn pop(&mut self) -> Option<Dequeued<P>> {
        let head = self.packets.pop_front()?;
        self.backlog = self.backlog.without(head.packet.wire_size());
        Some(head)
    }

    fn bytes(&self) -> Bytes {
        self.backlog.bytes
    }
}

/// The queue; see the module's head.
#[derive(Debug)]
pub struct Codel<P> {
    config: CodelConfig,
    limit: Limit,
    waiting: Waiting<P>,
    state: CodelState,
}

impl<P> Codel<P> {
    /// An empty queue of that size.
    #[must_use]
    pub fn new(config: CodelConfig, limit: Limit) -> Self {
        let waiting = Waiting { packets: VecDeque::new(), backlog: Backlog::default() };
        Self { config, limit, waiting, state: CodelState::default() }
    }
}

impl<P: PathPacket> Queue<P> for Codel<P> {
    fn enqueue(&mut self, now: Instant, packet: P, dropped: &mut Vec<Dropped<P>>) {
        let backlog = self.waiting.backlog.with(packet.wire_size());
        if !backlog.is_within(self.limit) {
            return dropped.push(Dropped::on_arrival(now, packet, DropReason::Overflow));
        }
        self.waiting.backlog = backlog;
        self.waiting.packets.push_back(Dequeued { packet, enqueued: now });
    }

    fn dequeue(&mut self, now: Instant, dropped: &mut Vec<Dropped<P>>) -> Option<Dequeued<P>> {
        self.state.dequeue(&self.config, now, &mut self.waiting, dropped)
    }

    fn drain(&mut self, into: &mut Vec<Dequeued<P>>) {
        into.extend(std::iter::from_fn(|| self.waiting.pop()));
    }

    fn backlog(&self) -> Backlog {
        self.waiting.backlog
    }

    fn oldest(&self) -> Option<Instant> {
        self.waiting.packets.front().map(|head| head.enqueued)
    }

    fn set_limit(&mut self, limit: Limit) {
        self.limit = limit;
    }
}
