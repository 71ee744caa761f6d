//! The distributed coordination function of IEEE 802.11 (DCF, and EDCA's best effort).
//!
//! Model: a node that has something to send waits until the medium was idle for an interframe space, then
//! counts idle slots down from a number drawn from 0..=CW, and sends when it reaches zero; counting stops
//! while the medium is busy. Nodes that reach zero in one slot collide. After a frame in vain CW + 1 doubles
//! up to its greatest value; after success, or when the packet is given up, it is the least again. A draw
//! follows every frame, also with nothing left to send; who then comes to an idle medium with nothing left to
//! count sends at once, and who comes to a busy one draws.
//!
//! No slot is stepped through: slots are numbered on, each node keeps the number at which its count ends, and
//! the next transmission is the least of these.
//!
//! Sources: IEEE 802.11-2016, 10.3.3 and 10.3.4.2 to 10.3.4.4 (DCF), 10.22.2 (EDCA), 10.24 (block
//! acknowledgement); Bianchi, Performance Analysis of the IEEE 802.11 Distributed Coordination Function,
//! IEEE JSAC 18(3), 2000; Tinnirello, Bianchi and Xiao, Refinements on IEEE 802.11 Distributed Coordination
//! Function Modeling Approaches, IEEE TVT 59(3), 2010 (which node may use the slot behind a busy one).
//!
//! Queueing delay is from a packet's arrival until the MAC takes it up, as in an interface queue: back-off,
//! retries and transmission of the packet in hand are service. A single packet is taken up when the one
//! before it is done; the rest of an aggregate when it is sent.
//!
//! | deviation | why |
//! |---|---|
//! | all nodes hear each other, nobody hears two at once; damage is independent from packet to packet | one home |
//! | acknowledgements and RTS are never damaged by the channel | they are short and slow |
//! | behind a collision or a damaged frame all wait EIFS, the sender too | its acknowledgement timeout and an interframe space are 15 to 20 us shorter; one grid of slots keeps collisions exact |
//! | who finds the medium idle sends at the next slot of that grid | at most 9 us later |
//! | one failure count per packet, also behind RTS | the long retry limit of 4 for frames behind RTS is not there |
//! | access points count as stations do: cw_max 1023 for best effort, not 63 (dot11QAPEDCATable, as hostapd has it) | one set of numbers |
//! | aggregates are made in the order of the queue, but of one that knows stations ([`crate::Airtime`]) | most access points of old have one queue for all |
//! | a receiver waits for ever for the packet that is missing | it is sent again at once, and given up at the latest with its last attempt |

use super::config::{Countdown, WifiConfig};
use super::error::WifiError;
use super::node::{Frame, Node};
use super::rates::DataRate;
use super::timing::Timing;
use crate::{Dropped, FlowId, PathPacket, Queue, Transmitted, uniform};
use gameway_units::{Bytes, Duration, Instant};
use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::{BTreeMap, VecDeque};
use std::vec::Drain;

/// Number of the access point.
const ACCESS_POINT: usize = 0;

/// What the medium does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Air {
    /// Nothing; slots count from then on.
    Idle { from: Instant },
    /// Frames are sent; the last bit of the longest leaves then.
    Sending { until: Instant },
    /// The receiver acknowledges.
    Acknowledging { until: Instant },
}

fn station_of(stations: &[usize], FlowId(flow): FlowId) -> usize {
    stations.get(usize::from(flow)).copied().unwrap_or(usize::from(flow))
}

/// A channel, its access point (node 0) and its stations, each with a queue.
///
/// To be called in the order of time: before anything arrives, what was due by then.
#[derive(Debug)]
pub struct Medium<P, Q> {
    /// That of all stations but those of `rates`.
    timing: Timing,
    /// Of stations with rates of their own.
    rates: BTreeMap<usize, Timing>,
    nodes: Vec<Node<P, Q>>,
    /// Of each flow, the station that has its client.
    stations: Vec<usize>,
    random: Xoshiro256PlusPlus,
    air: Air,
    /// Number of the slot that begins when an idle medium counts again.
    slot: u64,
    /// The slot in which the next frame leaves.
    next_access: Option<u64>,
    /// When the first shaper lets a packet go.
    release: Option<Instant>,
    /// Who sends, with what, since when.
    senders: Vec<(usize, Frame)>,
    began: Instant,
    delivered: VecDeque<Transmitted<P>>,
    /// By queues or for good, and not told yet.
    dropped: Vec<Dropped<P>>,
    /// Of the exchanges that have ended.
    airtime: Duration,
}

impl<P: PathPacket, Q: Queue<P>> Medium<P, Q> {
    /// A medium with these queues: the access point's, and one for each station.
    ///
    /// # Errors
    /// What of `config` cannot be.
    pub fn new(
        config: WifiConfig,
        queues: impl IntoIterator<Item = Q>,
        random: Xoshiro256PlusPlus,
    ) -> Result<Self, WifiError> {
        config.check()?;
        let timing = Timing::new(config);
        let nodes = queues.into_iter().map(|queue| Node::new(queue, config.cw_min)).collect();
        let from = Instant::ZERO + timing.ifs();
        Ok(Self {
            timing,
            rates: BTreeMap::new(),
            nodes,
            stations: Vec::new(),
            random,
            air: Air::Idle { from },
            slot: 0,
            next_access: None,
            release: None,
            senders: Vec::new(),
            began: Instant::ZERO,
            delivered: VecDeque::new(),
            dropped: Vec::new(),
            airtime: Duration::ZERO,
        })
    }

    /// The same with these stations of the flows, in their order; those of other flows are numbered as the flows are.
    #[must_use]
    pub fn with_stations(mut self, stations: Vec<usize>) -> Self {
        self.stations = stations;
        self
    }

    /// The same where what goes to a station and comes from it has another rate than the medium's.
    ///
    /// # Errors
    /// If the standard has no such rate, or the medium's aggregates cannot be of its generation.
    pub fn with_rate(mut self, station: usize, data: DataRate) -> Result<Self, WifiError> {
        let config = WifiConfig { data, ..*self.timing.config() };
        config.check()?;
        self.rates.insert(station, Timing::new(config));
        Ok(self)
    }

    /// The times between the access point and a station.
    fn timing_of(&self, station: usize) -> &Timing {
        self.rates.get(&station).unwrap_or(&self.timing)
    }

    /// The station that has the client of a flow.
    #[must_use]
    pub fn station_of(&self, flow: FlowId) -> usize {
        station_of(&self.stations, flow)
    }

    /// A packet comes to `node`: to the access point for a station, to a station for the access point.
    pub fn arrive(&mut self, now: Instant, node: usize, packet: P) {
        self.nodes[node].queue.enqueue(now, packet, &mut self.dropped);
        self.take_up(now, node);
    }

    /// A node whose hand is empty takes up a packet, and begins to contend.
    fn take_up(&mut self, now: Instant, index: usize) {
        let node = &mut self.nodes[index];
        if node.contends() {
            return;
        }
        let shaped = node.release.is_some();
        node.take_up(now, &mut self.dropped);
        if shaped || node.release.is_some() {
            self.release = self.nodes.iter().filter_map(|node| node.release).min();
        }
        if self.nodes[index].contends() {
            self.begin_to_contend(now, index);
        }
    }

    fn begin_to_contend(&mut self, now: Instant, index: usize) {
        match self.air {
            Air::Idle { from } => {
                let expires = self.nodes[index].expires.max(self.slot_at(from, now));
                self.nodes[index].expires = expires;
                self.next_access = Some(self.next_access.map_or(expires, |next| next.min(expires)));
            }
            // A count that has not ended goes on.
            _ if self.nodes[index].expires > self.slot => {}
            _ => self.draw(index),
        }
    }

    /// The first slot that begins at `now` or later, of a medium that counts since `from`.
    fn slot_at(&self, from: Instant, now: Instant) -> u64 {
        let span = (now - from).as_nanos().max(0).unsigned_abs();
        self.slot + span.div_ceil(self.timing.config().slot.as_nanos().unsigned_abs().max(1))
    }

    fn draw(&mut self, index: usize) {
        let count = u64::from(self.nodes[index].window) + 1;
        // The bias of this multiplication is below 2^-17 for the windows that are allowed.
        let drawn = ((self.random.next_u64() >> 32) * count) >> 32;
        self.nodes[index].expires = self.slot + drawn;
    }

    /// When something happens next if nothing arrives.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        let due = match self.air {
            Air::Idle { from } => self.next_access.map(|slot| self.start_of(from, slot)),
            Air::Sending { until } | Air::Acknowledging { until } => Some(until),
        };
        match (due, self.release) {
            (Some(due), Some(release)) => Some(due.min(release)),
            (due, release) => due.or(release),
        }
    }

    fn start_of(&self, from: Instant, slot: u64) -> Instant {
        from + self.timing.config().slot * (slot - self.slot) as i64
    }

    /// Does what is due by `now`, one step: a shaper's packet is taken up, frames leave, arrive or are
    /// acknowledged. Then [`Self::poll_delivered`] and [`Self::drain_dropped`] may have something.
    pub fn on_deadline(&mut self, now: Instant) {
        if let Some(release) = self.release.filter(|release| *release <= now) {
            self.on_release(release);
            return;
        }
        match self.air {
            Air::Idle { from } => {
                let next = self.next_access.map(|slot| (slot, self.start_of(from, slot)));
                if let Some((slot, at)) = next.filter(|(_, at)| *at <= now) {
                    self.send(at, slot);
                }
            }
            Air::Sending { until } if until <= now => self.on_sent(until),
            Air::Acknowledging { until } if until <= now => self.conclude(until, true),
            _ => {}
        }
    }

    fn on_release(&mut self, now: Instant) {
        for index in 0..self.nodes.len() {
            if self.nodes[index].release.is_some_and(|release| release <= now) {
                self.take_up(now, index);
            }
        }
    }

    /// All whose count ends with this slot send.
    fn send(&mut self, now: Instant, slot: u64) {
        let counted = self.timing.config().countdown == Countdown::Counted;
        self.slot = slot + u64::from(counted);
        self.next_access = None;
        self.began = now;
        self.senders.clear();
        for (index, node) in self.nodes.iter_mut().enumerate() {
            if node.expires == slot && node.contends() {
                node.reconsider(now);
                let station = |packet: &P| station_of(&self.stations, packet.flow());
                let same = |one: &P, other: &P| {
                    // Whatever a station sends, the access point receives.
                    index != ACCESS_POINT || station(one) == station(other)
                };
                let receiver = node.first().filter(|_| index == ACCESS_POINT).map(station);
                let peer = receiver.unwrap_or(index);
                let timing = self.rates.get(&peer).unwrap_or(&self.timing);
                let (psdu, packets) = node.assemble(now, timing, same, &mut self.dropped);
                self.senders.push((index, Frame { psdu, packets, peer }));
            }
        }
        let alone = self.senders.len() == 1;
        let until = if alone { self.fly(now) } else { self.collide(now) };
        for position in 0..self.senders.len() {
            let (index, Frame { psdu, packets, peer }) = self.senders[position];
            let timing = self.rates.get(&peer).unwrap_or(&self.timing);
            let airtime = if alone { timing.exchange(psdu, packets) } else { timing.exposed(psdu) };
            self.nodes[index].tell_airtime(airtime);
        }
        self.air = Air::Sending { until };
    }

    /// When the longest of the frames that collide has left.
    fn collide(&self, now: Instant) -> Instant {
        let exposed = self.senders.iter().map(|(_, frame)| {
            let timing = self.timing_of(frame.peer);
            timing.exposed(frame.psdu)
        });
        now + exposed.max().unwrap_or(Duration::ZERO)
    }

    /// When the data frame of the only sender has left.
    fn fly(&mut self, now: Instant) -> Instant {
        let Frame { psdu, peer, .. } = self.senders[0].1;
        let timing = self.timing_of(peer);
        now + timing.reservation(psdu) + timing.data_frame(psdu)
    }

    /// The data frames have left: one alone arrives, as far as the channel does not damage it.
    fn on_sent(&mut self, now: Instant) {
        let arrived = self.senders.len() == 1 && self.receive(now);
        if arrived {
            let packets = self.senders[0].1.packets;
            self.air = Air::Acknowledging { until: now + self.timing.acknowledgement(packets) };
        } else {
            self.conclude(now, false);
        }
    }

    fn receive(&mut self, now: Instant) -> bool {
        let error_rate = self.timing.config().error_rate.as_f64();
        let random = &mut self.random;
        let node = &mut self.nodes[self.senders[0].0];
        let whole = node.arrives(|| error_rate > 0.0 && uniform(random) < error_rate);
        self.deliver(now, self.senders[0].0);
        whole
    }

    fn deliver(&mut self, now: Instant, index: usize) {
        while let Some(done) = self.nodes[index].pop_delivered(now) {
            self.delivered.push_back(done);
        }
    }

    /// The medium is idle again; everyone who sent draws anew.
    fn conclude(&mut self, now: Instant, acknowledged: bool) {
        self.airtime += now - self.began;
        let pause = if acknowledged { self.timing.ifs() } else { self.timing.eifs() };
        self.air = Air::Idle { from: now + pause };
        for position in 0..self.senders.len() {
            let index = self.senders[position].0;
            self.conclude_of(now, index, acknowledged);
        }
        let counting = self.nodes.iter().filter(|node| node.contends());
        self.next_access = counting.map(|node| node.expires.max(self.slot)).min();
    }

    fn conclude_of(&mut self, now: Instant, index: usize, acknowledged: bool) {
        let WifiConfig { cw_min, cw_max, attempts, .. } = *self.timing.config();
        let node = &mut self.nodes[index];
        let given_up = node.landed(attempts, &mut self.dropped);
        let done = acknowledged || given_up;
        node.window = if done { cw_min } else { (2 * node.window + 1).min(cw_max) };
        if given_up {
            // What the receiver held behind the packet that is given up.
            self.deliver(now, index);
        }
        self.draw(index);
        self.take_up(now, index);
    }

    /// The next packet that has arrived, in order; to be called until there is none.
    pub fn poll_delivered(&mut self) -> Option<Transmitted<P>> {
        self.delivered.pop_front()
    }

    /// Whether [`Self::drain_dropped`] has something.
    #[inline]
    #[must_use]
    pub const fn has_dropped(&self) -> bool {
        !self.dropped.is_empty()
    }

    /// The packets that queues dropped or that were given up since the last call.
    #[inline]
    pub fn drain_dropped(&mut self) -> Drain<'_, Dropped<P>> {
        self.dropped.drain(..)
    }

    /// Bytes that wait at a node, without those that its MAC has taken up.
    #[must_use]
    pub fn queued_bytes(&self, node: usize) -> Bytes {
        self.nodes[node].queue.backlog().bytes
    }

    /// When the packet came that waits longest at a node, without those that its MAC has taken up.
    #[must_use]
    pub fn oldest(&self, node: usize) -> Option<Instant> {
        self.nodes[node].queue.oldest()
    }

    /// Packets that wait, or are on their way and not yet polled.
    #[must_use]
    pub fn packets_inside(&self) -> u64 {
        self.nodes.iter().map(Node::packets_inside).sum::<u64>() + self.delivered.len() as u64
    }

    /// Time before `now` in which frames and acknowledgements were sent, with the pauses inside an exchange.
    #[must_use]
    pub fn airtime(&self, now: Instant) -> Duration {
        match self.air {
            Air::Idle { .. } => self.airtime,
            Air::Sending { .. } | Air::Acknowledging { .. } => self.airtime + (now - self.began),
        }
    }

    /// The times of this medium.
    #[must_use]
    pub const fn timing(&self) -> &Timing {
        &self.timing
    }
}
