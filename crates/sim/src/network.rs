//! The simulated network: flows around one bottleneck, driven by the agenda.
//!
//! ```text
//! server ──poll──► Bottleneck ──► Loss ──► forward line ──► client
//!    ▲                                                        │
//!    └──────────────────── return line ◄──────────────────────┘
//! ```
//!
//! Deterministic: virtual time only, ties by slot, no hash order, one random stream for each part.

use crate::agenda::Agenda;
use crate::flow::FlowEnds;
use crate::packet::Packet;
use crate::recorder::{Fate, Recorder};
use gameway_events::TableError;
use gameway_path::{Bottleneck, DelayLine, DropTail, Dropped, Loss, PathPacket, Transmitted};
use gameway_units::Instant;

const RECORDER: usize = 0;
const BOTTLENECK: usize = 1;
const FIRST_FLOW: usize = 2;
/// Slots of each flow, in this order.
const SERVER: usize = 0;
const FORWARD: usize = 1;
const CLIENT: usize = 2;
const RETURN: usize = 3;
const SLOTS_PER_FLOW: usize = 4;

/// A flow and its line towards the client.
pub struct Flow {
    /// Both ends.
    pub ends: Box<dyn FlowEnds>,
    /// Propagation towards the client.
    pub forward: DelayLine<Packet>,
}

/// See the module's head.
pub struct Network {
    agenda: Agenda,
    bottleneck: Bottleneck<Packet, DropTail<Packet>>,
    loss: Option<Loss>,
    flows: Vec<Flow>,
    /// The result tables.
    pub recorder: Recorder,
    /// Events processed so far.
    pub events: u64,
}

impl Network {
    /// A network at time zero.
    pub fn new(
        bottleneck: Bottleneck<Packet, DropTail<Packet>>,
        loss: Option<Loss>,
        flows: Vec<Flow>,
        recorder: Recorder,
    ) -> Self {
        let mut agenda = Agenda::new(FIRST_FLOW + flows.len() * SLOTS_PER_FLOW);
        agenda.set(RECORDER, Some(recorder.next_deadline()));
        let mut network = Self { agenda, bottleneck, loss, flows, recorder, events: 0 };
        for flow in 0..network.flows.len() {
            network.refresh_ends(flow);
        }
        network
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
        self.recorder.tick(end, self.bottleneck.link())?;
        for flow in &mut self.flows {
            flow.ends.finish(&mut self.recorder)?;
        }
        Ok(())
    }

    fn dispatch(&mut self, slot: usize, now: Instant) -> Result<(), TableError> {
        match slot {
            RECORDER => {
                self.recorder.tick(now, self.bottleneck.link())?;
                self.agenda.set(RECORDER, Some(self.recorder.next_deadline()));
                Ok(())
            }
            BOTTLENECK => self.on_transmitted(now),
            _ => {
                let flow = (slot - FIRST_FLOW) / SLOTS_PER_FLOW;
                self.on_flow(flow, (slot - FIRST_FLOW) % SLOTS_PER_FLOW, now)
            }
        }
    }

    fn on_flow(&mut self, flow: usize, part: usize, now: Instant) -> Result<(), TableError> {
        let ends = &mut self.flows[flow].ends;
        match part {
            SERVER => ends.on_server_deadline(now, &mut self.recorder)?,
            CLIENT => ends.on_client_deadline(now, &mut self.recorder)?,
            RETURN => ends.on_return(now, &mut self.recorder)?,
            _ => return self.on_arrival(flow, now),
        }
        self.transmit(flow, now)?;
        self.refresh_ends(flow);
        Ok(())
    }

    fn on_arrival(&mut self, flow: usize, now: Instant) -> Result<(), TableError> {
        let Flow { ends, forward } = &mut self.flows[flow];
        if let Some(packet) = forward.pop(now) {
            self.recorder.received(packet.flow, packet.size);
            ends.on_arrival(now, &packet, &mut self.recorder)?;
        }
        let forward = forward.next_deadline();
        self.set(flow, FORWARD, forward);
        self.refresh_client(flow);
        Ok(())
    }

    /// Lets the flow's server send what it may.
    fn transmit(&mut self, flow: usize, now: Instant) -> Result<(), TableError> {
        while let Some(packet) = self.flows[flow].ends.poll_transmit(now) {
            self.recorder.sent(packet.flow, packet.size);
            if let Some(dropped) = self.bottleneck.arrive(now, packet) {
                self.on_dropped(&dropped)?;
            }
            self.drain_dropped()?;
            self.recorder.queue_is(now, self.bottleneck.queued_bytes());
        }
        self.agenda.set(BOTTLENECK, self.bottleneck.next_deadline());
        Ok(())
    }

    fn on_dropped(&mut self, dropped: &Dropped<Packet>) -> Result<(), TableError> {
        let flow = dropped.packet.flow();
        self.recorder.dropped(flow);
        self.recorder.packet(&dropped.packet, dropped.enqueued, Fate::Dropped)?;
        self.flows[usize::from(flow.0)].ends.on_gone(&dropped.packet, &mut self.recorder)
    }

    /// Packets that the queue dropped when it chose the next one to send.
    fn drain_dropped(&mut self) -> Result<(), TableError> {
        while let Some(dropped) = self.bottleneck.poll_dropped() {
            self.on_dropped(&dropped)?;
        }
        Ok(())
    }

    fn on_transmitted(&mut self, now: Instant) -> Result<(), TableError> {
        if let Some(done) = self.bottleneck.on_deadline(now) {
            let packet = done.packet;
            let flow = usize::from(packet.flow.0);
            let (queueing, busy) = (done.queueing_delay(), done.finished - done.started);
            self.recorder.forwarded(packet.flow, packet.size, queueing, busy);
            self.recorder.queue_is(now, self.bottleneck.queued_bytes());
            self.flows[flow].ends.on_forwarded(&packet, queueing);
            self.drain_dropped()?;
            self.propagate(flow, &done)?;
        }
        self.agenda.set(BOTTLENECK, self.bottleneck.next_deadline());
        Ok(())
    }

    fn propagate(&mut self, flow: usize, done: &Transmitted<Packet>) -> Result<(), TableError> {
        let (packet, waited, departed) = (done.packet, done.queueing_delay(), done.finished);
        if self.loss.as_mut().is_some_and(Loss::loses_next) {
            self.recorder.lost(packet.flow);
            self.recorder.packet(&packet, done.enqueued, Fate::Lost { waited, departed })?;
            return self.flows[flow].ends.on_gone(&packet, &mut self.recorder);
        }
        let forward = &mut self.flows[flow].forward;
        let arrived = forward.push(departed, packet);
        let due = forward.next_deadline();
        self.set(flow, FORWARD, due);
        let fate = Fate::Delivered { waited, departed, arrived };
        self.recorder.packet(&packet, done.enqueued, fate)
    }

    fn set(&mut self, flow: usize, part: usize, deadline: Option<Instant>) {
        self.agenda.set(FIRST_FLOW + flow * SLOTS_PER_FLOW + part, deadline);
    }

    fn refresh_client(&mut self, flow: usize) {
        let ends = &self.flows[flow].ends;
        let (client, back) = (ends.client_deadline(), ends.return_deadline());
        self.set(flow, CLIENT, client);
        self.set(flow, RETURN, back);
    }

    fn refresh_ends(&mut self, flow: usize) {
        let server = self.flows[flow].ends.server_deadline();
        self.set(flow, SERVER, server);
        self.refresh_client(flow);
    }

    /// Packets inside the bottleneck now.
    pub fn queued(&self) -> u64 {
        self.bottleneck.packets_inside()
    }

    /// Packets between bottleneck and client now.
    pub fn under_way(&self) -> u64 {
        self.flows.iter().map(|flow| flow.forward.len() as u64).sum()
    }
}
