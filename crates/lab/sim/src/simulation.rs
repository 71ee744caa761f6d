//! The simulation: the ends of flows and the network between them, in virtual time.
//!
//! [`Network`] carries packets and keeps everyone's turn; here are the ends, which it knows nothing of, and what
//! they are told of their packets. Deterministic: virtual time only, ties by slot, no hash order, one random stream
//! for each part.

use crate::flow::FlowEnds;
use crate::packet::Packet;
use crate::segments;
use gameway_events::Name;
use gameway_experiment::build::NetworkParts;
use gameway_experiment::spec::PathSpec;
use gameway_experiment::{Attached, HomeGateway, RunError};
use gameway_path::{
    Direction, Fate, Header, Link, Network, NetworkPacket, Observer, Passage, Slot, Stalls,
    Transmitted,
};
use gameway_units::{Bytes, Instant};

/// Ports from which clients open connections (RFC 6335 section 6), after the first.
pub const CLIENT_PORTS: u16 = u16::MAX - FIRST_CLIENT_PORT;
/// See [`CLIENT_PORTS`].
pub const FIRST_CLIENT_PORT: u16 = 49_152;

/// A flow.
pub struct Flow {
    /// Both ends.
    pub ends: Box<dyn FlowEnds>,
    /// Of what goes down in its first connection.
    pub header: Header,
    /// Times in which its ends do nothing by themselves: where they run on the machine that forwards.
    pub stalls: Option<Stalls>,
}

impl Flow {
    fn held(&self, due: Instant) -> Instant {
        self.stalls.as_ref().map_or(due, |stalls| stalls.held(due))
    }

    /// The header of a packet that goes this way; the client has a port of its own for each connection.
    fn header_of(&self, packet: &Packet, direction: Direction) -> Header {
        let mut header = self.header;
        let port = &mut header.destination.port;
        // Echoes have no ports, and one connection.
        if let Some(first) = port.checked_sub(FIRST_CLIENT_PORT) {
            let max = u32::from(CLIENT_PORTS);
            let number = (u32::from(first) + packet.connection % max) % max;
            *port = FIRST_CLIENT_PORT + number as u16;
        }
        match direction {
            Direction::Down => header,
            Direction::Up => header.reversed(),
        }
    }
}

/// The flows, and what is attached to the network: all that is told of packets.
struct Watch {
    flows: Vec<Flow>,
    attached: Attached,
}

impl Observer<Box<Packet>> for Watch {
    fn sent(&mut self, packet: &Box<Packet>) {
        self.attached.recorder.sent(&**packet);
    }

    fn passes_gateway(&mut self, now: Instant, passage: Passage, packet: &mut Box<Packet>) {
        if let Some(gateway) = self.attached.gateway() {
            segments::pass(gateway, now, passage, packet);
        }
    }

    fn queue_is(&mut self, now: Instant, hop: usize, bytes: Bytes) {
        self.attached.recorder.queue_is(hop, now, bytes);
    }

    fn transmitted(&mut self, _hop: usize, guarded: bool, done: &Transmitted<Box<Packet>>) {
        if guarded {
            self.attached.departed(done);
        }
    }

    fn left_home(&mut self, now: Instant, size: Bytes) {
        self.attached.left_home(now, size);
    }

    fn forwarded(&mut self, packet: &Box<Packet>) {
        self.attached.recorder.forwarded(&**packet);
        let journey = packet.journey();
        if !journey.returning {
            self.flows[usize::from(packet.flow.0)].ends.on_forwarded(packet, journey.waited);
        }
    }

    fn copied(&mut self, packet: &Box<Packet>) -> Option<Box<Packet>> {
        Some(packet.clone())
    }

    fn fate(&mut self, packet: &Box<Packet>, fate: Fate) {
        let log = &mut self.attached.recorder;
        log.fate(&**packet, fate);
        if matches!(fate, Fate::Dropped { .. } | Fate::Lost { .. }) {
            self.flows[usize::from(packet.flow.0)].ends.on_gone(packet, log);
        }
    }

    fn arrived(&mut self, packet: &Box<Packet>) {
        self.attached.recorder.arrived(&**packet);
    }
}

/// See the module's head.
pub struct Simulation {
    network: Network<Box<Packet>>,
    watch: Watch,
    /// Of packets that arrived, kept for their memory.
    #[expect(clippy::vec_box, reason = "the boxes are what is kept")]
    spare: Vec<Box<Packet>>,
}

impl Simulation {
    /// A simulation at time zero.
    pub fn new(network: Network<Box<Packet>>, flows: Vec<Flow>, attached: Attached) -> Self {
        let watch = Watch { flows, attached };
        let mut simulation = Self { network, watch, spare: Vec::new() };
        for flow in 0..simulation.watch.flows.len() {
            simulation.refresh_ends(flow);
        }
        simulation
    }

    /// Runs while what comes next is `before` that time; whether anybody can still take what it tells.
    ///
    /// # Errors
    /// Once it `is_over`, which is asked after each event.
    pub fn run_before(
        &mut self,
        before: Instant,
        is_over: &impl Fn() -> bool,
    ) -> Result<bool, RunError> {
        loop {
            let (slot, now) = self.network.next();
            if now >= before {
                return Ok(true);
            }
            self.watch.attached.events += 1;
            self.dispatch(slot, now);
            if is_over() {
                return Err(RunError::Ended { at: now });
            }
            if slot == Slot::Recorder && self.watch.attached.recorder.has_failed() {
                return Ok(false);
            }
        }
    }

    /// From `now` on the path `before` is that of `parts`, with this gateway; all that is due by then has happened.
    ///
    /// # Errors
    /// If it cannot become so.
    pub fn change(
        &mut self,
        (before, now): (&PathSpec, Instant),
        parts: &NetworkParts<'_, Box<Packet>>,
        links: (&[Name], Vec<Option<Link>>),
        gateway: Option<HomeGateway>,
    ) -> Result<(), RunError> {
        let Self { network, watch, .. } = self;
        parts.change((before, now), links, network, watch)?;
        watch.attached.change((now, parts.seed), (before, parts.path), gateway, network);
        Ok(())
    }

    /// The run ends: tells what is then still open, and gives the network and what was attached.
    pub fn finish(mut self, end: Instant) -> (Network<Box<Packet>>, Attached) {
        let Watch { mut flows, mut attached } = self.watch;
        attached.tick(end, &mut self.network);
        for flow in &mut flows {
            flow.ends.finish(&mut attached.recorder);
        }
        (self.network, attached)
    }

    fn dispatch(&mut self, slot: Slot, now: Instant) {
        let Self { network, watch, .. } = self;
        match slot {
            Slot::Recorder => watch.attached.tick(now, network),
            Slot::Gateway => watch.attached.on_gateway(now, network),
            Slot::Hop(hop) => network.on_hop(hop, now, watch),
            Slot::Server(flow) => {
                let log = &mut watch.attached.recorder;
                watch.flows[flow].ends.on_server_deadline(now, log);
                self.let_send(flow, now);
            }
            Slot::Client(flow) => {
                let log = &mut watch.attached.recorder;
                watch.flows[flow].ends.on_client_deadline(now, log);
                self.let_send(flow, now);
            }
            Slot::Line(flow, returning) => self.on_arrival(flow, returning, now),
        }
    }

    fn on_arrival(&mut self, flow: usize, returning: bool, now: Instant) {
        let packet = self.network.pop_arrived(flow, returning, now, &mut self.watch);
        let ends = &mut self.watch.flows[flow].ends;
        let log = &mut self.watch.attached.recorder;
        match &packet {
            Some(packet) if returning => ends.on_return(now, packet, log),
            Some(packet) => ends.on_arrival(now, packet, log),
            None => {}
        }
        self.spare.extend(packet);
        if returning {
            return self.let_send(flow, now);
        }
        // Data does not make a server send: what it answers to comes back to it.
        self.send_back(flow, now);
        self.refresh_client(flow);
    }

    /// Lets the flow's ends send what they may.
    fn let_send(&mut self, flow: usize, now: Instant) {
        self.send_back(flow, now);
        while let Some(packet) = self.watch.flows[flow].ends.poll_transmit(now) {
            self.send(flow, packet, now);
        }
        self.refresh_ends(flow);
    }

    /// Lets the flow's client send what it may.
    fn send_back(&mut self, flow: usize, now: Instant) {
        while let Some(packet) = self.watch.flows[flow].ends.poll_return(now) {
            self.send(flow, packet, now);
        }
    }

    /// A packet leaves its end: it gets its headers, and what the gateway takes its flow for. The bottleneck
    /// that it comes to first is the gateway's, either way.
    fn send(&mut self, flow: usize, packet: Packet, now: Instant) {
        let Self { network, watch, spare } = self;
        let mut packet = match spare.pop() {
            Some(mut memory) => {
                *memory = packet;
                memory
            }
            None => Box::new(packet),
        };
        packet.header = watch.flows[flow].header_of(&packet, network.direction(&packet));
        packet.traffic = watch.attached.recognise(now, &packet, network);
        network.send(now, packet, watch);
    }

    fn refresh_client(&mut self, flow: usize) {
        let of = &self.watch.flows[flow];
        let due = of.ends.client_deadline().map(|due| of.held(due));
        self.network.set(Slot::Client(flow), due);
    }

    fn refresh_ends(&mut self, flow: usize) {
        let of = &self.watch.flows[flow];
        let due = of.ends.server_deadline().map(|due| of.held(due));
        self.network.set(Slot::Server(flow), due);
        self.refresh_client(flow);
    }
}
