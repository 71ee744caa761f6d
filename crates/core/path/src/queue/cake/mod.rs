//! CAKE, Common Applications Kept Enhanced: shaper, tins, fair queues and COBALT in one (Linux,
//! `net/sched/sch_cake.c` at commit 0280f429dc21, with the host counts as commit 737d4d91d35b mended them in
//! January 2025; Høiland-Jørgensen, Täht and Morton, "Piece of CAKE", arXiv 1804.07617v2, 2018; tc-cake(8)).
//!
//! Model: [`shaper`] says when a packet may leave, so that it waits here and not in a device below. Of the
//! tins ([`diffserv`]) the last that is below its threshold goes first, else the one that is closest to it;
//! without a bandwidth tins take turns by weight. In a tin, flows have queues by a set-associative hash
//! ([`ways`]) and take turns ([`tin`]) that flows of one host share ([`hosts`]), and each queue has a COBALT
//! ([`cobalt`]). What exceeds the limit costs the longest queue its oldest packet ([`longest`]). On request needless
//! acknowledgements are dropped ([`ack_filter`]), code points are cleared behind the tins (`wash`), and what is
//! dropped counts as what is sent, because it came through the link that is shaped for (`ingress`).
//!
//! | constant | value | unit | origin |
//! |---|---|---|---|
//! | queues | 1024, in sets of 8 | | `CAKE_QUEUES`, `CAKE_SET_WAYS` |
//! | rtt (interval) | 100 | ms | `cake_init` |
//! | target | rtt / 20, at least 1 us | | tc, `q_cake.c`; 5 ms in `cake_init` |
//! | a tin's target | at least 1.5 packet times | | `cake_set_rate`; its interval grows as much, to two targets at least |
//! | packet time | of 1514 B at the tin's threshold | | `psched_mtu` on Ethernet |
//! | a flow's quantum | rate / 4096 s, 300 to 1514 | B | `cake_set_rate` |
//! | limit | 4 rtts at the bandwidth, at least 4 MiB; at most 10240 packets of 1514 B | | `cake_reconfigure`; tc-cake(8) shows 5000000b at 100 Mb/s |
//!
//! | deviation | why |
//! |---|---|
//! | lengths and the limit are bytes on the wire with the IP header | packets here have no link header and no kernel memory; Linux counts `truesize` (about 1.5 times) in the limit, and the 14 B of Ethernet unless a word or `overhead` is given |
//! | no `autorate-ingress`, `fwmark`, `nat`, `split-gso` | it guesses a capacity that an experiment knows; there are no firewall marks; addresses are not rewritten; packets are never merged |
//! | `ecn` can be off | to see what marks do; Linux always marks |
//! | hosts' addresses are hashed only when a flow gets a queue | as good, and less work for a packet |
//! | a quantum is divided exactly before the lot | Linux multiplies by 65535 / load |

mod ack_filter;
mod cobalt;
mod diffserv;
mod framing;
mod hosts;
mod lists;
mod longest;
mod round_trip;
mod shaper;
mod tin;
mod ways;

pub use ack_filter::AckFilter;
pub use diffserv::Diffserv;
pub(super) use framing::in_cells;
pub use framing::{Cells, Framing, FramingError};
pub use hosts::Isolation;

use super::discipline::{Discipline, SizeOption};
use super::hash::HeaderHash;
use super::store::Store;
use super::{Backlog, Dequeued, DropReason, Dropped, Limit, Queue};
use crate::{Dscp, PathPacket};
use gameway_units::declared::{Configuration, on_off};
use gameway_units::{Bytes, Duration, Instant, QueueSize, Rate, SignedBytes};
use longest::Longest;
use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shaper::Shaper;
use tin::Tin;
use ways::PLACES;

/// The target is this part of the rtt.
const TARGET_PART: i64 = 20;
/// The limit is what the bandwidth carries in this number of RTTs.
const LIMIT_RTTS: i64 = 4;
/// Least limit.
const MIN_LIMIT: Bytes = Bytes::new(4 << 20);
/// Greatest limit: 10 240 packets of 1514 B.
const MAX_LIMIT: Bytes = Bytes::new(10_240 * 1514);

/// What can be set; with the words of tc-cake(8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CakeConfig {
    /// the rate at which packets leave; above the capacity of the link the queue still waits here, but only the link holds
    /// packets back
    #[schemars(extend("x-min" = "512 b/s", "x-max" = "1000 Gb/s", "x-none" = "unlimited"))]
    pub bandwidth: Option<Rate>,
    /// COBALT's interval, a long round trip; its target is a twentieth; or datacentre (100 us), lan (1 ms), metro (10 ms),
    /// regional (30 ms), internet (100 ms), oceanic (300 ms), satellite (1 s), interplanetary (1000 s)
    #[serde(deserialize_with = "round_trip::deserialize")]
    #[schemars(with = "Duration", extend("x-min" = "1 us", "x-max" = "1 h"))]
    pub rtt: Duration,
    /// what shares the link fairly
    pub isolation: Isolation,
    /// tins: diffserv3 (bulk, best effort, voice), diffserv4 (video too), diffserv8, precedence (eight by the upper three bits)
    /// or besteffort (one)
    pub diffserv: Diffserv,
    /// overhead, mpu and cells by tc's words, several with spaces between them: raw, conservative, ethernet, ether-vlan, docsis,
    /// pppoe-ptm, bridged-ptm, pppoa-vcmux, pppoa-llc, pppoe-vcmux, pppoe-llcsnap, bridged-vcmux, bridged-llcsnap, ipoa-vcmux,
    /// ipoa-llcsnap, via-ethernet; overhead, mpu and cells, if given, take the place of what they say
    #[serde(skip_serializing, deserialize_with = "framing::deserialize")]
    #[schemars(with = "String", extend("default" = "raw"))]
    pub framing: Framing,
    /// bytes that a packet is longer on the link that the bandwidth is of
    #[schemars(extend("x-min" = "-64 B", "x-max" = "256 B", "x-none" = "as framing says"))]
    pub overhead: Option<SignedBytes>,
    /// least length of a packet there
    #[schemars(extend("x-min" = "0 B", "x-max" = "256 B", "x-none" = "as framing says"))]
    pub mpu: Option<Bytes>,
    /// what packets are cut into there
    #[schemars(extend("x-none" = "as framing says"))]
    pub cells: Option<Cells>,
    /// off, on (of two acknowledgements that a later one makes needless one is dropped) or aggressive (also a single one)
    pub ack_filter: AckFilter,
    /// on: what is dropped counts in the bandwidth, as it has come through the link already
    #[serde(with = "on_off")]
    #[schemars(with = "on_off::Switch")]
    pub ingress: bool,
    /// on: DSCPs are cleared when the tin is chosen; ECN is kept
    #[serde(with = "on_off")]
    #[schemars(with = "on_off::Switch")]
    pub wash: bool,
    /// ECN-capable packets are marked instead of dropped (on) or not (off)
    #[serde(with = "on_off")]
    #[schemars(with = "on_off::Switch")]
    pub ecn: bool,
}

impl Configuration for CakeConfig {
    const NAME: &'static str = "cake";
    const SUMMARY: &'static str =
        "a shaper, tins by DSCP, a queue per flow with turns shared by host, and COBALT in each";
    const SOURCE: &'static str = "Linux, sch_cake.c; arXiv 1804.07617";
}

impl Discipline for CakeConfig {
    const SIZE: SizeOption = SizeOption {
        default: None,
        summary: "what may wait in all queues, as of drop-tail; more costs the longest queue its oldest packet; if not \
                  given 4 rtt at the bandwidth, 4 MiB to 15.5 MB",
    };

    fn default_size(&self) -> QueueSize {
        QueueSize::Bytes(self.limit())
    }

    fn build<P: PathPacket + 'static>(
        self,
        limit: Limit,
        random: Xoshiro256PlusPlus,
    ) -> Box<dyn Queue<P>> {
        Box::new(Cake::new(self, limit, random))
    }
}

impl CakeConfig {
    /// What may wait if an experiment does not say.
    #[must_use]
    pub fn limit(&self) -> Bytes {
        let span = Duration::from_nanos(self.rtt.as_nanos().saturating_mul(LIMIT_RTTS));
        let wanted = self.bandwidth.map_or(MAX_LIMIT, |rate| rate * span);
        wanted.clamp(MIN_LIMIT, MAX_LIMIT)
    }

    /// What the words say, but for what is given by itself.
    fn framing(&self) -> Framing {
        Framing {
            overhead: self.overhead.unwrap_or(self.framing.overhead),
            min: self.mpu.unwrap_or(self.framing.min),
            cells: self.cells.unwrap_or(self.framing.cells),
        }
    }

    fn target(&self) -> Duration {
        (self.rtt / TARGET_PART).max(Duration::from_micros(1))
    }
}

impl Default for CakeConfig {
    fn default() -> Self {
        Self {
            bandwidth: None,
            rtt: Duration::from_millis(100),
            isolation: Isolation::default(),
            diffserv: Diffserv::default(),
            framing: Framing::default(),
            overhead: None,
            mpu: None,
            cells: None,
            ack_filter: AckFilter::default(),
            ingress: false,
            wash: false,
            ecn: true,
        }
    }
}

/// The queue; see the module's head.
#[derive(Debug)]
pub struct Cake<P> {
    isolation: Isolation,
    diffserv: Diffserv,
    framing: Framing,
    ack_filter: AckFilter,
    ingress: bool,
    wash: bool,
    shaper: Option<Shaper>,
    /// Of each tin's COBALT: `rtt`, target, and whether it marks.
    times: (Duration, Duration, bool),
    limit: Limit,
    hash: HeaderHash,
    random: Xoshiro256PlusPlus,
    tins: Vec<Tin>,
    /// Whose turn it is without a shaper.
    current: usize,
    store: Store<P>,
    longest: Longest,
    backlog: Backlog,
}

impl<P: PathPacket> Cake<P> {
    /// Empty queues that hold `limit` together; `random` seeds the hashes and is BLUE's.
    #[must_use]
    pub fn new(config: CakeConfig, limit: Limit, mut random: Xoshiro256PlusPlus) -> Self {
        let CakeConfig { bandwidth, rtt, isolation, diffserv, .. } = config;
        let times = (rtt, config.target(), config.ecn);
        let shares = diffserv.shares().iter();
        let tins: Vec<Tin> =
            shares.map(|share| Tin::new(bandwidth, *share, isolation, times)).collect();
        Self {
            isolation,
            diffserv,
            framing: config.framing(),
            ack_filter: config.ack_filter,
            ingress: config.ingress,
            wash: config.wash,
            shaper: bandwidth.map(Shaper::new),
            times,
            limit,
            hash: HeaderHash::new(random.next_u64()),
            random,
            longest: Longest::new((tins.len() * PLACES) as u16),
            tins,
            current: 0,
            store: Store::new(),
            backlog: Backlog::default(),
        }
    }

    /// Clocks do not fall behind while there is nothing to send.
    fn awaken(&mut self, tin: usize, now: Instant) {
        if self.tins[tin].packets == 0 {
            self.tins[tin].threshold.awaken(now);
        }
        if let Some(shaper) = self.shaper.as_mut().filter(|_| self.backlog.packets == 0) {
            shaper.awaken(now);
        }
    }

    fn append(&mut self, tin: usize, queue: usize, packet: Dequeued<P>) {
        self.backlog = self.backlog.with(packet.packet.wire_size());
        let Tin { flows, packets, .. } = &mut self.tins[tin];
        *packets += 1;
        self.store.append(&mut flows[queue].chain, packet);
        self.longest.set(tin * PLACES + queue, flows[queue].chain.backlog());
    }

    fn pop(&mut self, tin: usize, queue: usize) -> Option<Dequeued<P>> {
        self.take(tin, queue, 0)
    }

    /// Removes the packet of a queue that has `place` packets before it.
    fn take(&mut self, tin: usize, queue: usize, place: usize) -> Option<Dequeued<P>> {
        let Tin { flows, packets, .. } = &mut self.tins[tin];
        let packet = self.store.remove(&mut flows[queue].chain, place)?;
        *packets -= 1;
        self.longest.set(tin * PLACES + queue, flows[queue].chain.backlog());
        self.backlog = self.backlog.without(packet.packet.wire_size());
        Some(packet)
    }

    /// Drops the oldest packet of the longest queue.
    fn drop_one(&mut self, now: Instant, dropped: &mut Vec<Dropped<P>>) {
        let longest = self.longest.longest();
        let (tin, queue) = (longest / PLACES, longest % PLACES);
        let Some(oldest) = self.pop(tin, queue) else { return };
        let Tin { flows, cobalt, .. } = &mut self.tins[tin];
        flows[queue].cobalt.overflowed(cobalt, now);
        self.charge_dropped(tin, now, oldest.packet.wire_size());
        dropped.push(Dropped::waiting(oldest, DropReason::Overflow));
    }

    /// Drops an acknowledgement that the newest packet of a queue, not yet in it, makes needless.
    fn drop_needless(
        &mut self,
        (tin, queue): (usize, usize),
        now: Instant,
        newest: &P,
        dropped: &mut Vec<Dropped<P>>,
    ) {
        let chain = &self.tins[tin].flows[queue].chain;
        let needless = self.ack_filter.needless(self.store.iter(chain), newest);
        let Some(place) = needless else { return };
        let Some(old) = self.take(tin, queue, place) else { return };
        self.charge_dropped(tin, now, old.packet.wire_size());
        dropped.push(Dropped::waiting(old, DropReason::Needless));
    }

    /// The tin that goes first; there is one that is active.
    fn choose(&mut self, now: Instant) -> usize {
        if self.shaper.is_none() {
            return self.choose_by_weight();
        }
        let mut best = (Duration::MAX, 0);
        for (index, tin) in self.tins.iter().enumerate().filter(|(_, tin)| tin.is_active()) {
            let wait = tin.threshold.next() - now;
            if wait <= Duration::ZERO || wait <= best.0 {
                best = (wait, index);
            }
        }
        best.1
    }

    fn choose_by_weight(&mut self) -> usize {
        loop {
            let tin = &mut self.tins[self.current];
            if tin.deficit >= 0 && tin.is_active() {
                return self.current;
            }
            if tin.deficit <= 0 {
                tin.deficit += tin.weight;
            }
            self.current = (self.current + 1) % self.tins.len();
        }
    }

    /// The next packet of a tin; `None` once a queue is found empty.
    fn serve(
        &mut self,
        tin: usize,
        first: &mut bool,
        now: Instant,
        dropped: &mut Vec<Dropped<P>>,
    ) -> Option<Dequeued<P>> {
        loop {
            let queue = self.tins[tin].turn(*first, &mut self.random)?;
            *first = false;
            match self.pass(tin, queue, now, dropped) {
                Turn::Packet(next) => {
                    self.charge(tin, queue, now, next.packet.wire_size());
                    return Some(next);
                }
                Turn::Empty => {
                    self.tins[tin].found_empty(queue, now);
                    return None;
                }
                Turn::Dropped => {}
            }
        }
    }

    /// The next packet of a queue that its COBALT lets pass; the last of a queue always does. In `ingress` mode a
    /// dropped one has cost the queue some of its turn, and the next is chosen anew.
    fn pass(
        &mut self,
        tin: usize,
        queue: usize,
        now: Instant,
        dropped: &mut Vec<Dropped<P>>,
    ) -> Turn<P> {
        loop {
            let Some(mut head) = self.pop(tin, queue) else { return Turn::Empty };
            let Tin { flows, cobalt, bulk, .. } = &mut self.tins[tin];
            let flow = &mut flows[queue];
            let bulk = if self.ingress { *bulk } else { 0 };
            if !flow.cobalt.judge(cobalt, now, &mut head, bulk, &mut self.random)
                || flow.chain.is_empty()
            {
                return Turn::Packet(head);
            }
            let size = head.packet.wire_size();
            dropped.push(Dropped::waiting(head, DropReason::Early));
            if self.ingress {
                let length = self.framing.length(size);
                self.charge_dropped(tin, now, size);
                self.tins[tin].charge_turn(queue, length);
                self.tins[tin].deficit -= length.get() as i64;
                return Turn::Dropped;
            }
        }
    }

    fn charge(&mut self, tin: usize, queue: usize, now: Instant, size: Bytes) {
        let length = self.framing.length(size);
        self.tins[tin].charge_turn(queue, length);
        self.tins[tin].threshold.charge_at_most_one_ahead(now, length);
        match &mut self.shaper {
            Some(shaper) => shaper.charge(length),
            None => self.tins[tin].deficit -= length.get() as i64,
        }
        self.longest.departed();
    }

    /// What is dropped counts in `ingress` mode.
    fn charge_dropped(&mut self, tin: usize, now: Instant, size: Bytes) {
        let Some(shaper) = self.shaper.as_mut().filter(|_| self.ingress) else { return };
        let length = self.framing.length(size);
        self.tins[tin].threshold.charge_at_most_one_ahead(now, length);
        shaper.charge_dropped(length);
    }
}

/// What the turn of a queue gave.
enum Turn<P> {
    Packet(Dequeued<P>),
    Empty,
    Dropped,
}

impl<P: PathPacket> Queue<P> for Cake<P> {
    fn enqueue(&mut self, now: Instant, packet: P, dropped: &mut Vec<Dropped<P>>) {
        self.admit(now, Dequeued { packet, enqueued: now }, dropped);
    }

    fn admit(&mut self, now: Instant, mut waiting: Dequeued<P>, dropped: &mut Vec<Dropped<P>>) {
        let packet = &mut waiting.packet;
        let header = packet.header();
        let tin = self.diffserv.tin(header.dscp);
        if self.wash {
            packet.set_dscp(Dscp(0));
        }
        let key = self.isolation.key(self.hash, &header);
        let queue = key.map_or(0, |key| self.tins[tin].queue_of(key, self.hash, &header));
        self.awaken(tin, now);
        if self.ack_filter != AckFilter::Off {
            self.drop_needless((tin, queue), now, &waiting.packet, dropped);
        }
        self.append(tin, queue, waiting);
        self.tins[tin].came(queue, &mut self.random);
        while !self.backlog.is_within(self.limit) {
            self.drop_one(now, dropped);
        }
    }

    fn dequeue(&mut self, now: Instant, dropped: &mut Vec<Dropped<P>>) -> Option<Dequeued<P>> {
        if self.next_release(now).is_some() {
            return None;
        }
        let mut first = true;
        while self.backlog.packets > 0 {
            let tin = self.choose(now);
            if let Some(next) = self.serve(tin, &mut first, now, dropped) {
                return Some(next);
            }
        }
        None
    }

    fn drain(&mut self, into: &mut Vec<Dequeued<P>>) {
        for (tin, queue) in
            (0..self.tins.len()).flat_map(|tin| (0..PLACES).map(move |queue| (tin, queue)))
        {
            into.extend(std::iter::from_fn(|| self.pop(tin, queue)));
        }
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }

    /// Looks at every queue: for a gateway that asks now and then.
    fn oldest(&self) -> Option<Instant> {
        let flows = self.tins.iter().flat_map(|tin| &tin.flows);
        flows.filter_map(|flow| self.store.oldest(&flow.chain)).min()
    }

    fn set_limit(&mut self, limit: Limit) {
        self.limit = limit;
    }

    fn next_release(&self, now: Instant) -> Option<Instant> {
        let next = self.shaper.as_ref()?.next();
        (self.backlog.packets > 0 && next > now).then_some(next)
    }

    fn rate(&self) -> Option<Rate> {
        self.shaper.as_ref().map(Shaper::rate)
    }

    /// As `cake_reconfigure` does, but for the limit, which an experiment has given.
    fn set_rate(&mut self, _now: Instant, rate: Rate) {
        let Some(shaper) = &mut self.shaper else { return };
        shaper.set_rate(rate);
        for (tin, share) in self.tins.iter_mut().zip(self.diffserv.shares()) {
            tin.set_rate(Some(rate), *share, self.times);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_an_experiment_file_are_read() {
        let text = r#"{ "framing": "pppoe-ptm ether-vlan", "rtt": "regional" }"#;
        let read: CakeConfig = serde_json::from_str(text).unwrap();
        let framing = "pppoe-ptm ether-vlan".parse().unwrap();
        let rtt = Duration::from_millis(30);
        assert_eq!(read, CakeConfig { framing, rtt, ..CakeConfig::default() });
        assert!(serde_json::from_str::<CakeConfig>(r#"{ "framing": "pppoe" }"#).is_err());
        assert!(serde_json::from_str::<CakeConfig>(r#"{ "rtt": "moon" }"#).is_err());
    }

    #[test]
    fn the_limit_is_four_round_trips_within_bounds() {
        let limit = |mbps: u64, millis| {
            let bandwidth = (mbps > 0).then(|| Rate::from_mbps(mbps));
            let rtt = Duration::from_millis(millis);
            CakeConfig { bandwidth, rtt, ..CakeConfig::default() }.limit().get()
        };
        assert_eq!(limit(10, 100), 4 << 20);
        assert_eq!(limit(100, 100), 5_000_000);
        assert_eq!(limit(1000, 100), 15_503_360);
        assert_eq!(limit(0, 100), 15_503_360);
    }
}
