//! A tin: its flows' queues, served in turn by DRR++ (Linux, `sch_cake.c`, `cake_dequeue` and `cake_enqueue`).
//!
//! Model: a flow that begins to hold packets is sparse and comes first until its quantum is spent; then it is
//! bulk and takes turns. One that is found empty at its turn leaves; until its COBALT is at rest it is kept
//! aside, where one of its kind is looked at with each departure.

use super::cobalt::{Cobalt, CobaltParameters};
use super::diffserv::Share;
use super::hosts::{HostPair, Hosts, Isolation};
use super::lists::{List, Lists};
use super::shaper::Clock;
use super::ways::{PLACES, Ways};
use crate::Header;
use crate::queue::hash::HeaderHash;
use crate::queue::store::Chain;
use gameway_units::{Bytes, Duration, Instant, Rate};
use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// A full packet on Ethernet.
const MTU: Bytes = Bytes::new(1514);
/// Least quantum of a flow, in bytes.
const MIN_QUANTUM: u64 = 300;
/// A flow's quantum is what the tin's rate carries in 1/4096 s.
const QUANTUM_SHIFT: u32 = 12;
/// No tin's rate is reckoned with less: 64 B/s.
const MIN_RATE: Rate = Rate::from_bps(512);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum State {
    /// In no list.
    #[default]
    Idle,
    /// New.
    Sparse,
    /// Came to owe bytes while it was empty: takes turns, but is not counted as bulk.
    SparseWaiting,
    /// Takes turns.
    Bulk,
    /// Empty and kept aside.
    Decaying,
}

/// One queue.
#[derive(Debug, Clone, Default)]
pub(super) struct Flow {
    pub(super) chain: Chain,
    pub(super) cobalt: Cobalt,
    /// Bytes that it may still send in its turn.
    deficit: i64,
    hosts: HostPair,
    state: State,
}

/// See the module's head.
#[derive(Debug)]
pub(super) struct Tin {
    pub(super) flows: Vec<Flow>,
    pub(super) cobalt: CobaltParameters,
    pub(super) threshold: Clock,
    ways: Ways,
    hosts: Hosts,
    lists: Lists,
    quantum: i64,
    /// Flows that are sparse or bulk.
    active: u32,
    /// Flows that are bulk.
    pub(super) bulk: u32,
    /// Packets that wait.
    pub(super) packets: u64,
    /// Bytes of a turn of the tin, and what is left of it; used without a bandwidth.
    pub(super) weight: i64,
    pub(super) deficit: i64,
}

/// What a tin's COBALT is set to: `rtt` and `target` for a fast one, longer where a packet takes long.
fn cobalt(
    rate: Option<Rate>,
    rtt: Duration,
    target_of_all: Duration,
    ecn: bool,
) -> CobaltParameters {
    let packet_time = rate.map_or(Duration::ZERO, |rate| rate.time_for(MTU));
    let target = target_of_all.max(packet_time * 3 / 2);
    let interval = (rtt + target - target_of_all).max(target * 2);
    CobaltParameters { target, interval, packet_time, ecn }
}

impl Tin {
    /// An empty tin that has this share of the bandwidth.
    pub(super) fn new(
        bandwidth: Option<Rate>,
        share: Share,
        isolation: Isolation,
        (rtt, target, ecn): (Duration, Duration, bool),
    ) -> Self {
        let mut tin = Self {
            flows: vec![Flow::default(); PLACES],
            cobalt: cobalt(None, rtt, target, ecn),
            threshold: Clock::new(Rate::MAX),
            ways: Ways::new(),
            hosts: Hosts::new(isolation),
            lists: Lists::new(PLACES as u16),
            quantum: MTU.get() as i64,
            active: 0,
            bulk: 0,
            packets: 0,
            weight: share.weight,
            deficit: 0,
        };
        tin.set_rate(bandwidth, share, (rtt, target, ecn));
        tin
    }

    /// It has this share of the bandwidth from now on.
    pub(super) fn set_rate(
        &mut self,
        bandwidth: Option<Rate>,
        share: Share,
        (rtt, target, ecn): (Duration, Duration, bool),
    ) {
        let rate = bandwidth.map(|all| share.of(all).max(MIN_RATE));
        let quantum = rate.map_or(MTU.get(), |rate| {
            ((rate.as_bps() / 8) >> QUANTUM_SHIFT).clamp(MIN_QUANTUM, MTU.get())
        });
        self.cobalt = cobalt(rate, rtt, target, ecn);
        self.threshold.set_rate(rate.unwrap_or(Rate::MAX));
        self.quantum = quantum as i64;
    }

    /// Whether a flow may have packets.
    pub(super) const fn is_active(&self) -> bool {
        self.active > 0
    }

    /// The queue of a packet with this key and header.
    pub(super) fn queue_of(&mut self, key: u64, hash: HeaderHash, header: &Header) -> usize {
        let (queue, own) = self.ways.place(key, |place| self.flows[place].state != State::Idle);
        let flow = &mut self.flows[queue];
        if !own || flow.state == State::Idle {
            if flow.state == State::Bulk {
                self.hosts.discount(flow.hosts);
            }
            flow.hosts = self.hosts.find(hash, header);
            if flow.state == State::Bulk {
                self.hosts.count(flow.hosts);
            }
        }
        queue
    }

    /// A packet has come to a queue.
    pub(super) fn came(&mut self, queue: usize, random: &mut Xoshiro256PlusPlus) {
        match self.flows[queue].state {
            State::Idle | State::Decaying => {
                self.active += 1;
                self.lists.move_to_end(List::New, queue);
                self.flows[queue].deficit = self.quantum_of(queue, random);
                self.flows[queue].state = State::Sparse;
            }
            State::SparseWaiting => self.become_bulk(queue),
            State::Sparse | State::Bulk => {}
        }
    }

    fn become_bulk(&mut self, queue: usize) {
        let flow = &mut self.flows[queue];
        flow.state = State::Bulk;
        self.bulk += 1;
        self.hosts.count(flow.hosts);
    }

    /// Its part of its host's turn; what division leaves over is given out by lot.
    fn quantum_of(&self, queue: usize, random: &mut Xoshiro256PlusPlus) -> i64 {
        let load = i64::from(self.hosts.load(self.flows[queue].hosts));
        if load == 1 {
            return self.quantum;
        }
        let lot = (random.next_u64() >> 48) as i64;
        ((self.quantum << 16) / load + lot) >> 16
    }

    /// Whose turn it is: a queue that may send. At the first look one that is kept aside comes before all.
    pub(super) fn turn(&mut self, first: bool, random: &mut Xoshiro256PlusPlus) -> Option<usize> {
        let aside = self.lists.first(List::Decaying).filter(|_| first);
        if aside.is_some() {
            return aside;
        }
        loop {
            let new = self.lists.first(List::New);
            let queue = new.or_else(|| self.lists.first(List::Old))?;
            if self.flows[queue].deficit > 0 {
                return Some(queue);
            }
            self.pass(queue, random);
        }
    }

    /// Ends the turn of a queue that has nothing left of it.
    fn pass(&mut self, queue: usize, random: &mut Xoshiro256PlusPlus) {
        let flow = &mut self.flows[queue];
        if flow.state == State::Sparse {
            if flow.chain.is_empty() {
                flow.state = State::SparseWaiting;
            } else {
                self.become_bulk(queue);
            }
        }
        let quantum = self.quantum_of(queue, random);
        self.flows[queue].deficit += quantum;
        self.lists.move_to_end(List::Old, queue);
    }

    /// A queue had its turn and was empty.
    pub(super) fn found_empty(&mut self, queue: usize, now: Instant) {
        let flow = &mut self.flows[queue];
        flow.cobalt.was_empty(&self.cobalt, now);
        if flow.state != State::Decaying {
            self.active -= 1;
        }
        if flow.state == State::Bulk {
            self.bulk -= 1;
            self.hosts.discount(flow.hosts);
        }
        if flow.cobalt.is_at_rest(now) {
            flow.state = State::Idle;
            self.lists.remove(queue);
        } else {
            flow.state = State::Decaying;
            self.lists.move_to_end(List::Decaying, queue);
        }
    }

    /// A packet of a queue is sent, or dropped where that counts as much.
    pub(super) fn charge_turn(&mut self, queue: usize, length: Bytes) {
        self.flows[queue].deficit -= length.get() as i64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Diffserv;
    use rand_core::SeedableRng;

    fn tin(bandwidth: Option<Rate>, number: usize) -> Tin {
        let share = Diffserv::Three.shares()[number];
        let times = (Duration::from_millis(100), Duration::from_millis(5), true);
        Tin::new(bandwidth, share, Isolation::Triple, times)
    }

    /// The queue of a bulk flow of this number, between a pair of hosts.
    fn bulk_of(tin: &mut Tin, host: u8, number: u64) -> usize {
        let mut header = Header::numbered(0);
        header.source.address = [192, 0, 2, host].into();
        header.destination.address = [198, 51, 100, host].into();
        let random = &mut Xoshiro256PlusPlus::seed_from_u64(1);
        // All of one home, which has eight places.
        let queue = tin.queue_of(PLACES as u64 * (number + 1), HeaderHash::new(1), &header);
        tin.came(queue, random);
        if tin.flows[queue].state == State::Sparse {
            tin.become_bulk(queue);
        }
        queue
    }

    #[test]
    fn a_queue_that_flows_share_counts_for_the_host_of_the_last() {
        let mut tin = tin(None, 0);
        let queues: Vec<usize> = (0..8).map(|number| bulk_of(&mut tin, 1, number)).collect();
        assert_eq!((tin.bulk, tin.hosts.load(tin.flows[queues[0]].hosts)), (8, 8));
        // The ninth, of another host, finds no place of its own.
        let shared = bulk_of(&mut tin, 2, 8);
        assert!(queues.contains(&shared));
        let other = queues.iter().find(|queue| **queue != shared).copied().unwrap();
        let loads = |tin: &Tin| [shared, other].map(|queue| tin.hosts.load(tin.flows[queue].hosts));
        assert_eq!((tin.bulk, loads(&tin)), (8, [1, 7]));
        // A packet more of a flow that has its queue changes nothing.
        let _ = bulk_of(&mut tin, 2, 8);
        assert_eq!((tin.bulk, loads(&tin)), (8, [1, 7]));
        // Who is found empty counts no more.
        tin.found_empty(other, Instant::ZERO);
        assert_eq!((tin.bulk, tin.active), (7, 7));
        let third = queues.iter().find(|queue| ![shared, other].contains(queue)).copied().unwrap();
        assert_eq!(tin.hosts.load(tin.flows[third].hosts), 6);
    }

    /// A flow that was idle counts for its host again, whose place another host has by now.
    #[test]
    fn a_flow_that_comes_back_does_not_count_for_who_took_its_place() {
        let share = Diffserv::Three.shares()[0];
        let times = (Duration::from_millis(100), Duration::from_millis(5), true);
        let mut tin = Tin::new(None, share, Isolation::DualSource, times);
        let hash = HeaderHash::new(1);
        let from = |host: u32| {
            let mut header = Header::numbered(0);
            header.source.address = host.to_be_bytes().into();
            header
        };
        let place = |host: u32| hash.source(&from(host)) % PLACES as u64;
        let other = (1..).find(|host| place(*host) == place(0)).unwrap();
        let mut load = |key, host| {
            let queue = tin.queue_of(key, hash, &from(host));
            tin.came(queue, &mut Xoshiro256PlusPlus::seed_from_u64(1));
            tin.become_bulk(queue);
            let load = tin.hosts.load(tin.flows[queue].hosts);
            if key == 1 {
                tin.found_empty(queue, Instant::ZERO);
            }
            load
        };
        assert_eq!([load(1, 0), load(2, other), load(1, 0)], [1, 1, 1]);
        assert_eq!(load(3, other), 2);
    }

    #[test]
    fn a_host_with_eight_flows_gives_each_an_eighth_of_a_quantum_in_the_mean() {
        let mut tin = tin(None, 0);
        let queues: Vec<usize> = (0..8).map(|number| bulk_of(&mut tin, 1, number)).collect();
        let random = &mut Xoshiro256PlusPlus::seed_from_u64(3);
        let draws: Vec<i64> = (0..4000).map(|_| tin.quantum_of(queues[0], random)).collect();
        assert!(draws.iter().all(|draw| [189, 190].contains(draw)));
        let mean = draws.iter().sum::<i64>() as f64 / 4000.0;
        assert!((mean - 1514.0 / 8.0).abs() < 0.03, "{mean}");
    }

    /// tc-cake(8) shows these three at 100 Mb/s.
    #[test]
    fn quanta_are_as_tc_shows_them() {
        let quanta = [0, 1, 2].map(|number| tin(Some(Rate::from_mbps(100)), number).quantum);
        assert_eq!(quanta, [1514, 300, 762]);
        assert_eq!([0, 1, 2].map(|number| tin(None, number).quantum), [1514; 3]);
    }

    #[test]
    fn a_slow_tin_has_a_longer_target_and_interval() {
        let times = |rate: Rate| {
            let CobaltParameters { target, interval, packet_time, .. } = tin(Some(rate), 0).cobalt;
            [target, interval, packet_time].map(Duration::as_nanos)
        };
        // 1514 B take 121.12 us at 100 Mb/s: the defaults hold.
        assert_eq!(times(Rate::from_mbps(100)), [5_000_000, 100_000_000, 121_120]);
        // 12.112 ms, half as much more, and the interval grows by as much as the target.
        assert_eq!(times(Rate::from_mbps(1)), [18_168_000, 113_168_000, 12_112_000]);
        // 121.12 ms: two targets are more than that.
        assert_eq!(times(Rate::from_kbps(100)), [181_680_000, 363_360_000, 121_120_000]);
        // Voice has a quarter, bulk a sixteenth, without a bandwidth there is nothing to wait for.
        let target = |bandwidth, number| tin(bandwidth, number).cobalt.target.as_nanos();
        assert_eq!(target(Some(Rate::from_mbps(1)), 2), 72_672_000);
        assert_eq!(target(Some(Rate::from_mbps(1)), 1), 290_688_000);
        assert_eq!(target(None, 1), 5_000_000);
    }
}
