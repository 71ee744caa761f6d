//! The network: flows through bottlenecks, whatever the clock.
//!
//! ```text
//! server ──► hops in front ──► path ──► hops behind ──► loss, copies ──► forward line ──► client
//!    ▲                                                                                      │
//!    └────────── return line ◄── loss, copies ◄── the way back's bottleneck ◄── way out ────┘
//! ```
//!
//! Which bottlenecks a flow passes, and in which direction its data goes, is its own [`Way`]s' business;
//! most set-ups have one bottleneck, and a way back with none. A Wi-Fi medium is one bottleneck with one slot,
//! on the way down as on the way up. A home gateway stands in front of the path, and of a bottleneck on the way out if there is one.
//!
//! Sans-IO: a driver asks [`Network::next`] what is due first, does it or lets the network do it, and hands
//! [`Network::send`] what ends send. It may keep virtual time or read a clock: each thing happens at its own time,
//! however late the call. An [`Observer`] is told. Ties go by slot, there is no hash order, and each part has
//! one random stream, so that a run is the same on every machine.

mod agenda;
mod hop;
mod observer;

pub use hop::{AnyQueue, Hop, Wifi};
pub use observer::{Fate, Journey, NetworkPacket, Observer, Passage};

use crate::{DelayLine, Dropped, HopChange, Impairments, Link, Meter, Transmitted};
use agenda::Agenda;
use gameway_units::{Bytes, Instant, Rate};

/// The path's own bottleneck, where a home gateway stands.
const PATH: usize = 0;
const RECORDER: usize = 0;
const FIRST_HOP: usize = 1;
/// Slots of each flow, in this order; behind the last flow's comes the gateway's.
const SERVER: usize = 0;
const FORWARD: usize = 1;
const CLIENT: usize = 2;
const RETURN: usize = 3;
const SLOTS_PER_FLOW: usize = 4;

/// Which way something goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// Into the home, where clients are.
    Down,
    /// Out of it.
    Up,
}

impl Direction {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Down, Self::Up];

    /// Its place among two.
    #[must_use]
    pub const fn index(self) -> usize {
        match self {
            Self::Down => 0,
            Self::Up => 1,
        }
    }

    /// The other.
    #[must_use]
    pub const fn reversed(self) -> Self {
        match self {
            Self::Down => Self::Up,
            Self::Up => Self::Down,
        }
    }
}

/// From one end of a flow to the other.
pub struct Way<P> {
    direction: Direction,
    /// The bottlenecks on it, by number.
    hops: Vec<usize>,
    /// Propagation.
    line: DelayLine<P>,
    /// Whether it leads through the queue of a home gateway.
    guarded: bool,
    /// Whether it leads through the one for what the home sends.
    leads_out: bool,
}

impl<P> Way<P> {
    /// A way through these bottlenecks, by number, and then along this line.
    #[must_use]
    pub const fn new(direction: Direction, hops: Vec<usize>, line: DelayLine<P>) -> Self {
        Self { direction, hops, line, guarded: false, leads_out: false }
    }

    /// Whether the path's own bottleneck, in front of which a home gateway stands, is on it.
    fn passes_path(&self) -> bool {
        self.hops.contains(&PATH)
    }
}

/// What can be due. Recorder, servers, clients and gateway are the driver's; the network keeps their turn, so that
/// ties are the same with every driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slot {
    /// What writes tables.
    Recorder,
    /// The bottleneck of this number: for [`Network::on_hop`].
    Hop(usize),
    /// The end of this flow that sends its data.
    Server(usize),
    /// The end that receives it.
    Client(usize),
    /// A packet of this flow arrives, of those that go back or of the others: for [`Network::pop_arrived`].
    Line(usize, bool),
    /// The home gateway.
    Gateway,
}

/// See the module's head.
pub struct Network<P> {
    agenda: Agenda,
    /// Number of the first flow's first slot.
    first_of_flows: usize,
    hops: Vec<Hop<P>>,
    /// The bottleneck in which a home gateway has what the home sends wait, if it is there.
    out: Option<usize>,
    /// Down and up.
    impairments: [Impairments; 2],
    /// Of each flow: with its data, and back.
    ways: Vec<[Way<P>; 2]>,
}

impl<P: NetworkPacket> Network<P> {
    /// A network at time zero: these bottlenecks, what happens to packets behind them down and up, and of each flow
    /// the way of its data and the way back.
    pub fn new(
        hops: Vec<Hop<P>>,
        impairments: [Impairments; 2],
        mut ways: Vec<[Way<P>; 2]>,
    ) -> Self {
        for way in ways.iter_mut().flatten() {
            way.guarded = way.passes_path() && hops[PATH].guards(way.direction);
        }
        let first_of_flows = FIRST_HOP + hops.len();
        let agenda = Agenda::new(first_of_flows + ways.len() * SLOTS_PER_FLOW + 1);
        Self { agenda, first_of_flows, hops, out: None, impairments, ways }
    }

    /// The same with the bottleneck, by number, in which a home gateway has what the home sends wait: it sees what goes up
    /// where that comes to this one, and else where it leaves the last.
    #[must_use]
    pub fn with_way_out(mut self, out: Option<usize>) -> Self {
        self.out = out;
        for way in self.ways.iter_mut().flatten() {
            way.leads_out = out.is_some_and(|out| way.hops.contains(&out));
        }
        self
    }

    /// What is due first, and when.
    #[inline]
    #[must_use]
    pub fn next(&self) -> (Slot, Instant) {
        let (slot, now) = self.agenda.next();
        (self.slot(slot), now)
    }

    #[inline]
    fn slot(&self, number: usize) -> Slot {
        if number == RECORDER {
            return Slot::Recorder;
        }
        let Some(part) = number.checked_sub(self.first_of_flows) else {
            return Slot::Hop(number - FIRST_HOP);
        };
        let flow = part / SLOTS_PER_FLOW;
        match part % SLOTS_PER_FLOW {
            _ if flow == self.ways.len() => Slot::Gateway,
            SERVER => Slot::Server(flow),
            FORWARD => Slot::Line(flow, false),
            CLIENT => Slot::Client(flow),
            _ => Slot::Line(flow, true),
        }
    }

    /// Always in line: where the kind of slot is known, which is everywhere but here, two additions are left.
    #[inline(always)]
    fn number(&self, slot: Slot) -> usize {
        let of_flow = |flow, part| self.first_of_flows + flow * SLOTS_PER_FLOW + part;
        match slot {
            Slot::Recorder => RECORDER,
            Slot::Hop(hop) => FIRST_HOP + hop,
            Slot::Server(flow) => of_flow(flow, SERVER),
            Slot::Line(flow, false) => of_flow(flow, FORWARD),
            Slot::Client(flow) => of_flow(flow, CLIENT),
            Slot::Line(flow, true) => of_flow(flow, RETURN),
            Slot::Gateway => of_flow(self.ways.len(), 0),
        }
    }

    /// Sets when something is due; `None` for never.
    #[inline]
    pub fn set(&mut self, slot: Slot, deadline: Option<Instant>) {
        self.agenda.set(self.number(slot), deadline);
    }

    #[inline]
    fn way(&self, packet: &P) -> &Way<P> {
        &self.ways[usize::from(packet.flow().0)][usize::from(packet.journey().returning)]
    }

    /// Where a packet goes.
    #[inline]
    pub fn direction(&self, packet: &P) -> Direction {
        self.way(packet).direction
    }

    /// Whether what a flow gets into the home passes the path's own bottleneck.
    #[must_use]
    pub fn passes_gateway(&self, flow: usize) -> bool {
        let ways = &self.ways[flow];
        ways.iter().any(|way| way.direction == Direction::Down && way.passes_path())
    }

    /// An end sends a packet, of which the flow and `returning` are set; all that is due before must have happened.
    pub fn send<O: Observer<P>>(&mut self, now: Instant, mut packet: P, observer: &mut O) {
        let has_hops = !self.way(&packet).hops.is_empty();
        let journey = packet.journey_mut();
        journey.came = now;
        journey.counted = has_hops || !journey.returning;
        observer.sent(&packet);
        self.pass_on(now, packet, observer);
    }

    /// A packet comes to the next bottleneck of its way, or has passed them all.
    fn pass_on<O: Observer<P>>(&mut self, now: Instant, mut packet: P, observer: &mut O) {
        let way = self.way(&packet);
        let (guarded, leads_out, direction) = (way.guarded, way.leads_out, way.direction);
        let hop = way.hops.get(usize::from(packet.journey().hops_passed)).copied();
        match hop {
            Some(PATH) if guarded => observer.passes_gateway(now, Passage::Queue, &mut packet),
            Some(_) if leads_out && hop == self.out => {
                observer.passes_gateway(now, Passage::Beside, &mut packet);
            }
            None if !(guarded || leads_out) => {
                observer.passes_gateway(now, Passage::Beside, &mut packet);
            }
            _ => {}
        }
        let Some(hop) = hop else {
            return self.propagate(now, packet, observer);
        };
        self.hops[hop].arrive(now, direction, packet);
        self.settle(hop, now, observer);
    }

    /// A bottleneck has changed: packets that were dropped are told.
    fn settle<O: Observer<P>>(&mut self, hop: usize, now: Instant, observer: &mut O) {
        let settled = &mut self.hops[hop];
        if settled.has_dropped() {
            for Dropped { packet, reason, .. } in settled.drain_dropped() {
                observer.fate(&packet, Fate::Dropped { reason });
            }
        }
        observer.queue_is(now, hop, settled.queued_bytes());
        self.agenda.set(FIRST_HOP + hop, settled.next_deadline());
    }

    /// A bottleneck is due: what has left it goes on.
    pub fn on_hop<O: Observer<P>>(&mut self, hop: usize, now: Instant, observer: &mut O) {
        let mut next = self.hops[hop].on_deadline(now);
        while let Some(done) = next {
            observer.transmitted(hop, hop == PATH && self.way(&done.packet).guarded, &done);
            if self.out == Some(hop) {
                observer.left_home(done.finished, done.packet.wire_size());
            }
            self.leave(done, observer);
            next = self.hops[hop].poll_transmitted();
        }
        self.settle(hop, now, observer);
    }

    fn leave<O: Observer<P>>(&mut self, done: Transmitted<P>, observer: &mut O) {
        let waited = done.queueing_delay();
        let mut packet = done.packet;
        let journey = packet.journey_mut();
        journey.waited += waited;
        journey.hops_passed += 1;
        self.pass_on(done.finished, packet, observer);
    }

    /// A packet has passed all bottlenecks of its way.
    fn propagate<O: Observer<P>>(&mut self, departed: Instant, packet: P, observer: &mut O) {
        observer.forwarded(&packet);
        let direction = self.direction(&packet);
        let impairments = &mut self.impairments[direction.index()];
        if impairments.loses_next() {
            return observer.fate(&packet, Fate::Lost { departed });
        }
        let is_twice = impairments.duplicates_next();
        let copy = if is_twice { observer.copied(&packet) } else { None };
        self.travel(packet, observer, departed, |arrived| Fate::Delivered { departed, arrived });
        if let Some(mut copy) = copy {
            copy.journey_mut().is_copy = true;
            self.travel(copy, observer, departed, |arrived| Fate::Copied { departed, arrived });
        }
    }

    /// A packet, or a copy, sets out for the other end.
    fn travel<O: Observer<P>>(
        &mut self,
        packet: P,
        observer: &mut O,
        departed: Instant,
        fate: impl Fn(Instant) -> Fate,
    ) {
        let (flow, returning) = (usize::from(packet.flow().0), packet.journey().returning);
        let way = &mut self.ways[flow][usize::from(returning)];
        let displacement = self.impairments[way.direction.index()].displaces_next();
        let arrived = way.line.arrival(departed, displacement);
        observer.fate(&packet, fate(arrived));
        way.line.insert(arrived, packet);
        let due = way.line.next_deadline();
        self.set(Slot::Line(flow, returning), due);
    }

    /// The packet of a flow that arrives now.
    pub fn pop_arrived<O: Observer<P>>(
        &mut self,
        flow: usize,
        returning: bool,
        now: Instant,
        observer: &mut O,
    ) -> Option<P> {
        let line = &mut self.ways[flow][usize::from(returning)].line;
        let packet = line.pop(now);
        let due = line.next_deadline();
        self.set(Slot::Line(flow, returning), due);
        if let Some(packet) = &packet {
            observer.arrived(packet);
        }
        packet
    }

    /// A bottleneck is another one from `now` on, in what is given; all that is due by then must have happened.
    pub fn change_hop<O: Observer<P>>(
        &mut self,
        hop: usize,
        now: Instant,
        change: HopChange<AnyQueue<P>>,
        observer: &mut O,
    ) {
        self.hops[hop].change(now, change);
        self.settle(hop, now, observer);
    }

    /// The bottleneck in which a home gateway has packets wait that go this way.
    const fn of_gateway(&self, direction: Direction) -> Option<usize> {
        match direction {
            Direction::Down => Some(PATH),
            Direction::Up => self.out,
        }
    }

    /// The rate of the shaper that a home gateway has this way, if there is one.
    #[must_use]
    pub fn shaped_rate(&self, direction: Direction) -> Option<Rate> {
        self.hops[self.of_gateway(direction)?].shaped_rate()
    }

    /// The shaper that a home gateway has this way has this rate from `now` on; without one nothing happens.
    pub fn set_shaped_rate(&mut self, now: Instant, direction: Direction, rate: Rate) {
        let Some(hop) = self.of_gateway(direction) else { return };
        self.hops[hop].set_shaped_rate(now, rate);
        self.agenda.set(FIRST_HOP + hop, self.hops[hop].next_deadline());
    }

    /// What happens to packets behind the bottlenecks this way, to be changed.
    pub const fn impairments(&mut self, direction: Direction) -> &mut Impairments {
        &mut self.impairments[direction.index()]
    }

    /// The propagation of a flow's data, or of what comes back, to be changed.
    pub fn line(&mut self, flow: usize, returning: bool) -> &mut DelayLine<P> {
        &mut self.ways[flow][usize::from(returning)].line
    }

    /// The link of a bottleneck.
    #[must_use]
    pub fn link(&self, hop: usize) -> &Link {
        self.hops[hop].link()
    }

    /// Bytes that wait where a home gateway stands.
    #[must_use]
    pub fn queued_bytes(&self) -> Bytes {
        self.hops[PATH].queued_bytes()
    }

    /// Of each bottleneck: its link, and what it did before `now`.
    #[must_use]
    pub fn meters(&self, now: Instant) -> Vec<(&Link, Meter)> {
        self.hops.iter().map(|hop| (hop.link(), hop.meter(now))).collect()
    }

    /// When the packet came that waits longest where a home gateway stands.
    #[must_use]
    pub fn oldest(&self) -> Option<Instant> {
        self.hops[PATH].oldest()
    }

    /// Packets inside bottlenecks now.
    #[must_use]
    pub fn queued(&self) -> u64 {
        self.hops.iter().map(Hop::packets_inside).sum()
    }

    /// All packets in it now, whether totals count them or not.
    #[must_use]
    pub fn inside(&self) -> u64 {
        let lines = self.ways.iter().flatten().map(|way| way.line.len() as u64);
        self.queued() + lines.sum::<u64>()
    }

    /// Packets between the bottlenecks of their way and its end now, of those that totals count.
    #[must_use]
    pub fn under_way(&self) -> u64 {
        let lines = self.ways.iter().flatten().flat_map(|way| way.line.iter());
        lines.filter(|packet| packet.journey().counted).count() as u64
    }
}
