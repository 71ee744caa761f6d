//! The simulated network: flows through bottlenecks, driven by the agenda.
//!
//! ```text
//! server ──► path ──► further hops ──► loss, copies ──► forward line ──► client
//!    ▲                                                                     │
//!    └─── return line ◄── loss, copies ◄── the way back's bottleneck ◄─────┘
//! ```
//!
//! Which bottlenecks a flow passes, and in which direction its data goes, is its own [`Way`]s' business;
//! most set-ups have one bottleneck, and a way back with none. A Wi-Fi medium is one bottleneck with one slot,
//! on the way down as on the way up.
//!
//! Deterministic: virtual time only, ties by slot, no hash order, one random stream for each part.

use crate::agenda::Agenda;
use crate::flow::FlowEnds;
use crate::hop::Hop;
use crate::packet::Packet;
use crate::segments;
use gameway_events::TableError;
use gameway_experiment::{Fate, HomeGateway, Recognition, Recorder};
use gameway_gateway::Passage;
use gameway_gateway::classifier::Direction;
use gameway_path::{DelayLine, Dropped, Header, Impairments, Stalls, Transmitted};
use gameway_units::Instant;

const RECORDER: usize = 0;
const FIRST_HOP: usize = 1;
/// The path's own bottleneck, where the home gateway stands.
const PATH: usize = 0;
/// Slots of each flow, in this order; behind the last flow's comes the gateway's.
const SERVER: usize = 0;
const FORWARD: usize = 1;
const CLIENT: usize = 2;
const RETURN: usize = 3;
const SLOTS_PER_FLOW: usize = 4;

/// Ports from which clients open connections (RFC 6335 section 6), after the first.
pub const CLIENT_PORTS: u16 = u16::MAX - FIRST_CLIENT_PORT;
/// See [`CLIENT_PORTS`].
pub const FIRST_CLIENT_PORT: u16 = 49_152;

/// From one end of a flow to the other.
pub struct Way {
    /// The bottlenecks on it, by number.
    pub hops: Vec<usize>,
    /// What impairs packets behind them, by number.
    pub impairments: usize,
    /// Propagation.
    pub line: DelayLine<Packet>,
}

/// A flow and its ways.
pub struct Flow {
    /// Both ends.
    pub ends: Box<dyn FlowEnds>,
    /// Of what goes down in its first connection.
    pub header: Header,
    /// Whether its data goes up: then its server stands in the home.
    pub upwards: bool,
    /// Times in which its ends do nothing by themselves: where they run on the machine that forwards.
    pub stalls: Option<Stalls>,
    /// From server to client.
    pub forward: Way,
    /// From client to server.
    pub back: Way,
}

impl Flow {
    /// Where a packet goes.
    fn direction(&self, packet: &Packet) -> Direction {
        if packet.returning == self.upwards { Direction::Down } else { Direction::Up }
    }

    fn held(&self, due: Instant) -> Instant {
        self.stalls.as_ref().map_or(due, |stalls| stalls.held(due))
    }

    /// Whether what comes down passes the gateway.
    fn passes_gateway(&self) -> bool {
        self.way(self.upwards).hops.contains(&PATH)
    }

    fn way(&self, returning: bool) -> &Way {
        if returning { &self.back } else { &self.forward }
    }

    fn way_mut(&mut self, returning: bool) -> &mut Way {
        if returning { &mut self.back } else { &mut self.forward }
    }

    /// The header of a packet; the client has a port of its own for each connection.
    fn header_of(&self, packet: &Packet) -> Header {
        let mut header = self.header;
        let port = &mut header.destination.port;
        // Echoes have no ports, and one connection.
        if let Some(first) = port.checked_sub(FIRST_CLIENT_PORT) {
            let most = u32::from(CLIENT_PORTS);
            let number = (u32::from(first) + packet.connection % most) % most;
            *port = FIRST_CLIENT_PORT + number as u16;
        }
        match self.direction(packet) {
            Direction::Down => header,
            Direction::Up => header.reversed(),
        }
    }
}

/// See the module's head.
pub struct Network {
    agenda: Agenda,
    hops: Vec<Hop>,
    /// Down and up.
    impairments: [Impairments; 2],
    flows: Vec<Flow>,
    /// What tells games from others, if anything does.
    recognition: Option<Recognition>,
    gateway: Option<HomeGateway>,
    /// The result tables.
    pub recorder: Recorder,
    /// Events processed so far.
    pub events: u64,
}

impl Network {
    /// A network at time zero.
    pub fn new(
        hops: Vec<Hop>,
        impairments: [Impairments; 2],
        flows: Vec<Flow>,
        gateway: Option<HomeGateway>,
        recorder: Recorder,
    ) -> Self {
        let mut agenda = Agenda::new(FIRST_HOP + hops.len() + flows.len() * SLOTS_PER_FLOW + 1);
        agenda.set(RECORDER, Some(recorder.next_deadline()));
        let mut network = Self {
            agenda,
            hops,
            impairments,
            flows,
            gateway,
            recognition: None,
            recorder,
            events: 0,
        };
        network.refresh_gateway();
        for flow in 0..network.flows.len() {
            network.refresh_ends(flow);
        }
        network
    }

    /// Lets a gateway in front of the path's bottleneck tell games from other flows.
    pub fn recognise(&mut self, recognition: Recognition) {
        self.recognition = Some(recognition);
    }

    /// Runs until `end` and writes what is then still open.
    ///
    /// # Errors
    /// If a table cannot be written.
    pub fn run_until(&mut self, end: Instant) -> Result<(), TableError> {
        loop {
            let (slot, now) = self.agenda.next();
            if now >= end {
                break;
            }
            self.events += 1;
            self.dispatch(slot, now)?;
        }
        self.tick(end)?;
        for flow in &mut self.flows {
            flow.ends.finish(&mut self.recorder)?;
        }
        Ok(())
    }

    fn tick(&mut self, now: Instant) -> Result<(), TableError> {
        let links: Vec<_> = self.hops.iter().map(|hop| (hop.link(), hop.meter(now))).collect();
        self.recorder.tick(now, &links)
    }

    fn dispatch(&mut self, slot: usize, now: Instant) -> Result<(), TableError> {
        if slot == RECORDER {
            self.tick(now)?;
            self.agenda.set(RECORDER, Some(self.recorder.next_deadline()));
            return Ok(());
        }
        match (slot - FIRST_HOP).checked_sub(self.hops.len()) {
            None => self.on_transmitted(slot - FIRST_HOP, now),
            Some(part) if part == self.flows.len() * SLOTS_PER_FLOW => self.on_gateway(now),
            Some(part) => self.on_flow(part / SLOTS_PER_FLOW, part % SLOTS_PER_FLOW, now),
        }
    }

    fn on_gateway(&mut self, now: Instant) -> Result<(), TableError> {
        if let Some(gateway) = &mut self.gateway {
            gateway.on_deadline(now, self.hops[PATH].oldest(), &mut self.recorder)?;
        }
        self.refresh_gateway();
        Ok(())
    }

    fn refresh_gateway(&mut self) {
        let due = self.gateway.as_ref().map(HomeGateway::next_deadline);
        self.set(self.flows.len(), 0, due);
    }

    fn on_flow(&mut self, flow: usize, part: usize, now: Instant) -> Result<(), TableError> {
        let Flow { ends, forward, back, .. } = &mut self.flows[flow];
        let log = &mut self.recorder;
        match part {
            SERVER => ends.on_server_deadline(now, log)?,
            CLIENT => ends.on_client_deadline(now, log)?,
            FORWARD => {
                if let Some(packet) = forward.line.pop(now) {
                    log.received(packet.flow, packet.size);
                    ends.on_arrival(now, &packet, log)?;
                }
                let due = forward.line.next_deadline();
                self.set(flow, FORWARD, due);
            }
            _ => {
                if let Some(packet) = back.line.pop(now) {
                    log.returned(!back.hops.is_empty());
                    ends.on_return(now, &packet, log)?;
                }
                let due = back.line.next_deadline();
                self.set(flow, RETURN, due);
            }
        }
        self.send_back(flow, now)?;
        if part == FORWARD {
            // Data does not make a server send: what it answers to comes back to it.
            self.refresh_client(flow);
            return Ok(());
        }
        self.transmit(flow, now)?;
        self.refresh_ends(flow);
        Ok(())
    }

    /// Lets the flow's server send what it may.
    fn transmit(&mut self, flow: usize, now: Instant) -> Result<(), TableError> {
        while let Some(packet) = self.flows[flow].ends.poll_transmit(now) {
            self.recorder.sent(packet.flow, packet.size);
            self.enter(flow, packet, now)?;
        }
        Ok(())
    }

    /// Lets the flow's client send what it may.
    fn send_back(&mut self, flow: usize, now: Instant) -> Result<(), TableError> {
        while let Some(packet) = self.flows[flow].ends.poll_return(now) {
            let counted = !self.flows[flow].back.hops.is_empty();
            self.recorder.sent_back(packet.flow, packet.size, counted);
            self.enter(flow, packet, now)?;
        }
        Ok(())
    }

    /// A packet leaves its end: it gets its headers, and what the gateway takes its flow for. The bottleneck
    /// that it comes to first is the gateway's, either way.
    fn enter(&mut self, flow: usize, mut packet: Packet, now: Instant) -> Result<(), TableError> {
        let from = &self.flows[flow];
        packet.came = now;
        packet.header = from.header_of(&packet);
        if let Some(recognition) = &mut self.recognition
            && from.passes_gateway()
        {
            let direction = from.direction(&packet);
            packet.traffic = recognition.see(now, &packet, direction, &mut self.recorder)?;
        }
        self.pass_on(flow, packet, now)
    }

    /// A packet comes to the next bottleneck of its way, or has passed them all.
    fn pass_on(&mut self, flow: usize, mut packet: Packet, now: Instant) -> Result<(), TableError> {
        let next = usize::from(packet.hops_passed);
        let hops = &self.flows[flow].way(packet.returning).hops;
        let hop = hops.get(next).copied();
        if let Some(gateway) = &mut self.gateway {
            let guarded = hops.contains(&PATH) && self.hops[PATH].guards(&packet);
            match (hop, guarded) {
                (Some(PATH), true) => segments::pass(gateway, now, Passage::Queue, &mut packet),
                (None, false) => segments::pass(gateway, now, Passage::Beside, &mut packet),
                _ => {}
            }
        }
        let Some(hop) = hop else {
            return self.propagate(flow, packet, now);
        };
        if let Some(dropped) = self.hops[hop].arrive(now, packet) {
            self.on_dropped(&dropped)?;
        }
        self.drain_dropped(hop)?;
        self.recorder.queue_is(hop, now, self.hops[hop].queued_bytes());
        self.agenda.set(FIRST_HOP + hop, self.hops[hop].next_deadline());
        Ok(())
    }

    fn on_dropped(&mut self, dropped: &Dropped<Packet>) -> Result<(), TableError> {
        let packet = &dropped.packet;
        self.recorder.dropped(packet);
        self.recorder.packet(packet, Fate::Dropped)?;
        self.flows[usize::from(packet.flow.0)].ends.on_gone(packet, &mut self.recorder)
    }

    /// Packets that the queue dropped when it chose the next one to send.
    fn drain_dropped(&mut self, hop: usize) -> Result<(), TableError> {
        while let Some(dropped) = self.hops[hop].poll_dropped() {
            self.on_dropped(&dropped)?;
        }
        Ok(())
    }

    fn on_transmitted(&mut self, hop: usize, now: Instant) -> Result<(), TableError> {
        let mut next = self.hops[hop].on_deadline(now);
        while let Some(done) = next {
            if let Some(gateway) = &mut self.gateway
                && hop == PATH
                && self.hops[PATH].guards(&done.packet)
            {
                gateway.on_departure(now, done.packet.size, done.queueing_delay());
            }
            self.leave(done)?;
            next = self.hops[hop].poll_transmitted();
        }
        self.drain_dropped(hop)?;
        self.recorder.queue_is(hop, now, self.hops[hop].queued_bytes());
        self.agenda.set(FIRST_HOP + hop, self.hops[hop].next_deadline());
        Ok(())
    }

    fn leave(&mut self, done: Transmitted<Packet>) -> Result<(), TableError> {
        let waited = done.packet.waited + done.queueing_delay();
        let hops_passed = done.packet.hops_passed + 1;
        let packet = Packet { waited, hops_passed, ..done.packet };
        self.pass_on(usize::from(packet.flow.0), packet, done.finished)
    }

    /// A packet has passed all bottlenecks of its way.
    fn propagate(
        &mut self,
        flow: usize,
        packet: Packet,
        departed: Instant,
    ) -> Result<(), TableError> {
        let Way { hops, impairments, .. } = self.flows[flow].way(packet.returning);
        let (counted, number) = (!hops.is_empty() || !packet.returning, *impairments);
        if counted {
            self.recorder.forwarded(&packet);
        }
        if !packet.returning {
            self.flows[flow].ends.on_forwarded(&packet, packet.waited);
        }
        if self.impairments[number].loses_next() {
            if counted {
                self.recorder.lost(&packet);
                self.recorder.packet(&packet, Fate::Lost { departed })?;
            }
            return self.flows[flow].ends.on_gone(&packet, &mut self.recorder);
        }
        let is_twice = self.impairments[number].duplicates_next();
        let arrived = self.travel(flow, number, packet, departed);
        if counted {
            self.recorder.packet(&packet, Fate::Delivered { departed, arrived })?;
        }
        if is_twice {
            let copy = Packet { is_copy: true, ..packet };
            let arrived = self.travel(flow, number, copy, departed);
            if counted {
                self.recorder.duplicated(&copy);
                self.recorder.packet(&copy, Fate::Copied { departed, arrived })?;
            }
        }
        Ok(())
    }

    /// A packet, or a copy, sets out for the other end; when it arrives.
    fn travel(&mut self, flow: usize, number: usize, packet: Packet, departed: Instant) -> Instant {
        let displacement = self.impairments[number].displaces_next();
        let way = self.flows[flow].way_mut(packet.returning);
        let arrived = way.line.push_displaced(departed, packet, displacement);
        let due = way.line.next_deadline();
        self.set(flow, if packet.returning { RETURN } else { FORWARD }, due);
        arrived
    }

    fn set(&mut self, flow: usize, part: usize, deadline: Option<Instant>) {
        let slot = FIRST_HOP + self.hops.len() + flow * SLOTS_PER_FLOW + part;
        self.agenda.set(slot, deadline);
    }

    fn refresh_client(&mut self, flow: usize) {
        let client = self.flows[flow].ends.client_deadline();
        self.set(flow, CLIENT, client.map(|due| self.flows[flow].held(due)));
    }

    fn refresh_ends(&mut self, flow: usize) {
        let server = self.flows[flow].ends.server_deadline();
        self.set(flow, SERVER, server.map(|due| self.flows[flow].held(due)));
        self.refresh_client(flow);
    }

    /// Packets inside bottlenecks now.
    pub fn queued(&self) -> u64 {
        self.hops.iter().map(Hop::packets_inside).sum()
    }

    /// Packets between the bottlenecks of their way and its end now.
    pub fn under_way(&self) -> u64 {
        let forward = self.flows.iter().map(|flow| flow.forward.line.len());
        let congested = self.flows.iter().filter(|flow| !flow.back.hops.is_empty());
        forward.chain(congested.map(|flow| flow.back.line.len())).map(|count| count as u64).sum()
    }
}
