//! FQ-CoDel: a queue per flow, served in turn, each kept short by CoDel (RFC 8290, January 2018).
//!
//! Model: a flow is hashed to one of many queues. Queues take turns by deficit round robin, so that each
//! that always has packets gets the same bytes; one that just began to hold some comes before those that
//! held some for a round, so that a sparse flow does not wait for bulk. Each queue has a CoDel of its own
//! ([`super::codel`]). When all together exceed the limit, the one with most bytes loses its oldest.
//!
//! | constant | value | unit | origin |
//! |---|---|---|---|
//! | queues | 1024 | | section 5.2 |
//! | quantum | 1514 | B | section 5.2, an Ethernet frame; packets here are without its header |
//! | limit | 10240 | packets | section 5.2 |
//! | batch | 64, at most half of the queue | packets | section 4.1 |
//! | target, interval | 5, 100 | ms | section 5.2; as CoDel |
//! | most queues | 65536 | | flows are numbered in 16 bits; also Linux's most |
//!
//! | deviation | why |
//! |---|---|
//! | the 5-tuple is hashed by SplitMix64's mixer ([`super::hash`]), not by Jenkins's | as even, and a few nanoseconds |
//! | a queue with nothing left of its quantum passes its turn | the RFC (section 4.2) says less than nothing; as Linux |
//! | of a batch, the first packet is the arrival's verdict and the rest are polled | an arrival can name one dropped packet only; all are out of the backlog at once |
//! | batches repeat until the rest is within the limit | with a limit in bytes one may not do |
//! | CoDel spares the last MTU of each queue | section 4.2 gives each queue its own CoDel; Linux spares the last MTU of all queues together |
//! | a batch does not raise CoDel's count | not in the RFC; Linux does so |

use super::codel::{CodelState, Fifo};
use super::discipline::{Discipline, SizeOption};
use super::hash::HeaderHash;
use super::store::{Chain, Store};
use super::{Backlog, Dequeued, DropReason, Dropped, Limit, Queue};
use crate::{CodelConfig, PathPacket};
use gameway_units::declared::Configuration;
use gameway_units::{Bytes, Instant};
use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Most packets dropped at once from the fattest queue.
const BATCH: u64 = 64;
/// As many queues as there can be flows.
const MAX_QUEUES: usize = 1 << 16;

/// What can be set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct FqCodelConfig {
    /// Of the CoDel in each queue.
    #[serde(flatten)]
    pub codel: CodelConfig,
    /// queues that flows are hashed to
    #[schemars(range(min = 1, max = 65536))]
    pub flows: usize,
    /// bytes that each queue may send in its turn
    #[schemars(extend("x-min" = "1 B", "x-max" = "1 GB"))]
    pub quantum: Bytes,
}

impl Configuration for FqCodelConfig {
    const NAME: &'static str = "fq-codel";
    const SUMMARY: &'static str =
        "a queue per flow, served in turn by bytes, each with CoDel; sparse flows go first";
    const SOURCE: &'static str = "RFC 8290";
}

impl Discipline for FqCodelConfig {
    const SIZE: SizeOption = SizeOption {
        default: Some("10240 packets"),
        summary: "what may wait in all queues, as of drop-tail; more costs the fattest queue its oldest packets",
    };

    fn build<P: PathPacket + 'static>(
        self,
        limit: Limit,
        random: Xoshiro256PlusPlus,
    ) -> Box<dyn Queue<P>> {
        Box::new(FqCodel::new(self, limit, random))
    }
}

impl Default for FqCodelConfig {
    fn default() -> Self {
        Self { codel: CodelConfig::default(), flows: 1024, quantum: Bytes::new(1514) }
    }
}

#[derive(Debug, Clone, Default)]
struct FlowQueue {
    chain: Chain,
    codel: CodelState,
    /// Bytes that it may still send in its turn.
    deficit: i64,
    /// Whether it is in one of the lists; it can be there and be empty.
    scheduled: bool,
}

/// One queue's packets as CoDel sees them.
struct Head<'a, P> {
    chain: &'a mut Chain,
    store: &'a mut Store<P>,
    total: &'a mut Backlog,
}

impl<P: PathPacket> Fifo<P> for Head<'_, P> {
    fn pop(&mut self) -> Option<Dequeued<P>> {
        let packet = self.store.pop(self.chain)?;
        *self.total = self.total.without(packet.packet.wire_size());
        Some(packet)
    }

    fn bytes(&self) -> Bytes {
        self.chain.backlog().bytes
    }
}

/// The queue; see the module's head.
#[derive(Debug)]
pub struct FqCodel<P> {
    codel: CodelConfig,
    quantum: i64,
    limit: Limit,
    hash: HeaderHash,
    store: Store<P>,
    queues: Vec<FlowQueue>,
    /// Queues that began to hold packets less than a turn ago.
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    backlog: Backlog,
}

impl<P: PathPacket> FqCodel<P> {
    /// Empty queues that hold `limit` together; `random` seeds the hash of flows.
    #[must_use]
    pub fn new(config: FqCodelConfig, limit: Limit, mut random: Xoshiro256PlusPlus) -> Self {
        let flows = config.flows.clamp(1, MAX_QUEUES);
        Self {
            codel: config.codel,
            quantum: i64::try_from(config.quantum.get()).unwrap_or(i64::MAX).max(1),
            limit,
            hash: HeaderHash::new(random.next_u64()),
            store: Store::new(),
            queues: vec![FlowQueue::default(); flows],
            new: VecDeque::new(),
            old: VecDeque::new(),
            backlog: Backlog::default(),
        }
    }

    fn queue_of(&self, packet: &P) -> usize {
        (self.hash.flow(&packet.header()) % self.queues.len() as u64) as usize
    }

    fn append(&mut self, index: usize, packet: Dequeued<P>) {
        self.backlog = self.backlog.with(packet.packet.wire_size());
        self.store.append(&mut self.queues[index].chain, packet);
    }

    /// A queue that was in no list becomes a new one, with a full quantum.
    fn schedule(&mut self, index: usize) {
        let queue = &mut self.queues[index];
        if !queue.scheduled {
            queue.scheduled = true;
            queue.deficit = self.quantum;
            self.new.push_back(index);
        }
    }

    fn pop(&mut self, index: usize) -> Option<Dequeued<P>> {
        let chain = &mut self.queues[index].chain;
        Head { chain, store: &mut self.store, total: &mut self.backlog }.pop()
    }

    /// The queue with most bytes; between equals the one with more packets, so that it holds one.
    fn fattest(&self) -> Option<usize> {
        let size = |&&index: &&usize| {
            let Backlog { bytes, packets } = self.queues[index].chain.backlog();
            (bytes, packets)
        };
        self.new.iter().chain(&self.old).max_by_key(size).copied()
    }

    /// Drops a batch from the head of the fattest queue; finding it costs more than dropping.
    pub(super) fn drop_batch(&mut self, dropped: &mut Vec<Dropped<P>>) {
        let Some(index) = self.fattest() else { return };
        let batch = (self.queues[index].chain.backlog().packets / 2).clamp(1, BATCH);
        for _ in 0..batch {
            let oldest = self.pop(index);
            dropped.extend(oldest.map(|oldest| Dropped::waiting(oldest, DropReason::Overflow)));
        }
    }

    /// Whose turn it is, and whether it is a new queue.
    fn turn(&self) -> Option<(usize, bool)> {
        let new = self.new.front().map(|&index| (index, true));
        new.or_else(|| self.old.front().map(|&index| (index, false)))
    }

    /// Ends the turn: the queue becomes the last of the old ones.
    fn pass_turn(&mut self, is_new: bool) {
        let list = if is_new { &mut self.new } else { &mut self.old };
        if let Some(index) = list.pop_front() {
            self.old.push_back(index);
        }
    }
}

impl<P: PathPacket> Queue<P> for FqCodel<P> {
    fn enqueue(&mut self, now: Instant, packet: P, dropped: &mut Vec<Dropped<P>>) {
        let index = self.queue_of(&packet);
        self.append(index, Dequeued { packet, enqueued: now });
        self.schedule(index);
        while !self.backlog.is_within(self.limit) {
            self.drop_batch(dropped);
        }
    }

    fn dequeue(&mut self, now: Instant, dropped: &mut Vec<Dropped<P>>) -> Option<Dequeued<P>> {
        while let Some((index, is_new)) = self.turn() {
            let queue = &mut self.queues[index];
            if queue.deficit <= 0 {
                queue.deficit += self.quantum;
                self.pass_turn(is_new);
                continue;
            }
            let FlowQueue { chain, codel, .. } = queue;
            let mut head = Head { chain, store: &mut self.store, total: &mut self.backlog };
            if let Some(next) = codel.dequeue(&self.codel, now, &mut head, dropped) {
                let size = i64::try_from(next.packet.wire_size().get()).unwrap_or(i64::MAX);
                queue.deficit = queue.deficit.saturating_sub(size);
                return Some(next);
            }
            if is_new {
                // It would come first again with its next packet; now the old ones have their turn before.
                self.pass_turn(is_new);
            } else {
                queue.scheduled = false;
                self.old.pop_front();
            }
        }
        None
    }

    fn drain(&mut self, into: &mut Vec<Dequeued<P>>) {
        for index in 0..self.queues.len() {
            into.extend(std::iter::from_fn(|| self.pop(index)));
        }
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn oldest(&self) -> Option<Instant> {
        let heads = self.new.iter().chain(&self.old);
        heads.filter_map(|&index| self.store.oldest(&self.queues[index].chain)).min()
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
    use gameway_units::Ecn;
    use rand_core::SeedableRng;

    #[test]
    fn memory_follows_the_most_that_waited_at_once() {
        let random = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut queue = FqCodel::new(FqCodelConfig::default(), Limit::Packets(50), random);
        // Each flow in turn fills all that may wait, in a queue of its own, and overflows.
        for flow in 0..200 {
            for _ in 0..60 {
                queue.enqueue(Instant::ZERO, Packet(FlowId(flow), Ecn::NotEct), &mut Vec::new());
            }
            while queue.dequeue(Instant::ZERO, &mut Vec::new()).is_some() {}
        }
        assert_eq!(queue.store.slots(), 51, "the limit and the packet that exceeds it");
        assert!(queue.new.is_empty() && queue.old.is_empty());
    }
}
