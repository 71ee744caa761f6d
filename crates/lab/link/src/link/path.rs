//! The path between the two devices: the simulator's network, told the time.
//!
//! Sans-IO: [`LivePath::arrive`] takes a packet, [`LivePath::advance`] lets happen all that is due, each thing at its own
//! time however late the call, and gives the packets that have arrived with the time at which they were due. Every
//! flow has a line of its own either way, as in the simulator, and so has all that is of no flow.

use super::flows::Flows;
use super::packet::{LinkRegistry, Packet};
use super::pool::{Pool, SLOT_BYTES};
use super::wire;
use gameway_events::{SinkError, SummaryRecord};
use gameway_experiment::build::{self, NetworkParts, PathChange, Routes};
use gameway_experiment::spec::PathSpec;
use gameway_experiment::{Attached, HomeGateway, Recorder, RunError};
use gameway_path::{Fate, Link, Network, Observer, Passage, Slot, Transmitted};
use gameway_units::{Bytes, Duration, Instant, Rate};
use std::collections::VecDeque;
use std::sync::Arc;

/// The number of the path's own bottleneck.
const PATH: usize = 0;

/// A packet that has reached an end of the path.
#[derive(Debug, Clone, Copy)]
pub struct Arrived {
    /// When.
    pub due: Instant,
    /// The packet.
    pub packet: Packet,
}

/// All that is told of packets: the sink and the gateway, and the owner of their bytes.
struct Watch {
    attached: Attached,
    pool: Pool,
    waits: Waits,
}

/// How long packets waited at the path's own bottleneck since somebody asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Waits {
    /// Packets that left it.
    pub packets: u64,
    /// The sum of their queueing delays.
    pub sum_ns: i64,
    /// The longest of them.
    pub max_ns: i64,
}

impl Waits {
    fn add(&mut self, delay: Duration) {
        self.packets += 1;
        self.sum_ns += delay.as_nanos();
        self.max_ns = self.max_ns.max(delay.as_nanos());
    }
}

impl Observer<Packet> for Watch {
    fn sent(&mut self, packet: &Packet) {
        self.attached.recorder.sent(packet);
    }

    /// The gateway reads a packet's bytes, and may lower the window that is there.
    fn passes_gateway(&mut self, now: Instant, passage: Passage, packet: &mut Packet) {
        let Some(gateway) = self.attached.gateway() else { return };
        let Packet { header, size, slot, tcp, echo, quic, .. } = *packet;
        let bytes = self.pool.bytes(slot);
        let mut segment = tcp.and_then(|at| wire::segment(bytes, header, size, at));
        let seen = gameway_gateway::Packet::new(header, size, segment.as_mut());
        let mut seen = seen.with_echo(echo).with_quic(quic);
        let changed = gateway.on_packet(now, passage, &mut seen);
        if let (true, Some(at), Some(segment)) = (changed, tcp, segment) {
            wire::set_window(bytes, at, segment.window);
        }
    }

    fn queue_is(&mut self, now: Instant, hop: usize, bytes: Bytes) {
        self.attached.recorder.queue_is(hop, now, bytes);
    }

    fn transmitted(&mut self, hop: usize, guarded: bool, done: &Transmitted<Packet>) {
        if hop == PATH {
            self.waits.add(done.queueing_delay());
        }
        if guarded {
            self.attached.departed(done);
        }
    }

    fn left_home(&mut self, now: Instant, size: Bytes) {
        self.attached.left_home(now, size);
    }

    fn forwarded(&mut self, packet: &Packet) {
        self.attached.recorder.forwarded(packet);
    }

    /// The same packet with bytes of its own.
    fn copied(&mut self, packet: &Packet) -> Option<Packet> {
        let slot = self.pool.take()?;
        let length = packet.size.get() as usize;
        let mut bytes = [0; SLOT_BYTES];
        bytes[..length].copy_from_slice(&self.pool.bytes(packet.slot)[..length]);
        self.pool.bytes(slot)[..length].copy_from_slice(&bytes[..length]);
        Some(Packet { slot, ..*packet })
    }

    fn fate(&mut self, packet: &Packet, fate: Fate) {
        self.attached.recorder.fate(packet, fate);
        if matches!(fate, Fate::Dropped { .. } | Fate::Lost { .. }) {
            self.pool.give(packet.slot);
        }
    }

    fn arrived(&mut self, packet: &Packet) {
        self.attached.recorder.arrived(packet);
    }
}

/// See the module's head.
pub struct LivePath {
    network: Network<Packet>,
    watch: Watch,
    seed: u64,
    flows: Flows,
    /// The path as it is now.
    spec: PathSpec,
    /// What its specification says that it becomes, in order.
    changes: VecDeque<PathChange>,
    /// What its specification can name.
    registry: Arc<LinkRegistry>,
    /// Why one of these could not be made: checks do not foresee it.
    refused: Option<RunError>,
}

impl std::fmt::Debug for LivePath {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let events = self.watch.attached.events;
        formatter.debug_struct("LivePath").field("events", &events).finish_non_exhaustive()
    }
}

impl LivePath {
    /// The path of this specification, which has been checked, in a run of this seed that lasts so long at most.
    ///
    /// # Errors
    /// If a trace cannot be read, or a part cannot be built.
    pub fn new(
        path: &PathSpec,
        (seed, lasts): (u64, Duration),
        flows: &Flows,
        recorder: Recorder,
        registry: Arc<LinkRegistry>,
    ) -> Result<Self, RunError> {
        let routes = Routes::new(path);
        let stalls = build::stalls(path, seed, lasts);
        let (ways, stalls) = (flows.ways(), stalls.as_ref());
        let parts = NetworkParts { registry: &registry, path, seed, stalls, flows: &ways };
        let mut network = parts.network(&routes, build::links(path)?)?;
        let (interval, flow_of) = (flows.observe_interval(), flows.by_header());
        let gateway = HomeGateway::of_path(registry.known(), path, interval, flow_of)?;
        let attached = Attached::new(recorder, gateway, (path, seed), &mut network);
        let (pool, waits) = (Pool::default(), Waits::default());
        let watch = Watch { attached, pool, waits };
        let changes = build::changes(path)?.into();
        let (flows, spec) = (flows.clone(), path.clone());
        Ok(Self { network, watch, seed, flows, spec, changes, registry, refused: None })
    }

    /// From `now` on it is this path, which has been checked, with the links that differ; all that is due by then must
    /// have happened.
    ///
    /// # Errors
    /// If the path cannot become this one; then it stays as it is.
    pub fn change(
        &mut self,
        now: Instant,
        path: PathSpec,
        links: Vec<Option<Link>>,
    ) -> Result<(), RunError> {
        let Self { network, watch, seed, flows, spec, registry, .. } = self;
        let ways = flows.ways();
        let (interval, flow_of) = (flows.observe_interval(), flows.by_header());
        let gateway = HomeGateway::of_path(registry.known(), &path, interval, flow_of)?;
        let parts = NetworkParts { registry, path: &path, seed: *seed, stalls: None, flows: &ways };
        let names = Routes::new(&path).names();
        parts.change((spec, now), (&names, links), network, watch)?;
        watch.attached.change((now, *seed), (spec, &path), gateway, network);
        *spec = path;
        Ok(())
    }

    /// Its own bottleneck now: capacity, bytes that wait, and how long the packet has waited that came first of these.
    #[must_use]
    pub fn bottleneck(&self, now: Instant) -> (Rate, Bytes, Duration) {
        let network = &self.network;
        let waited = network.oldest().map_or(Duration::ZERO, |came| now - came);
        (network.link(PATH).nominal_capacity(now), network.queued_bytes(), waited)
    }

    /// How long packets waited there since this was last asked.
    pub fn waits(&mut self) -> Waits {
        std::mem::take(&mut self.watch.waits)
    }

    /// When something happens next.
    #[must_use]
    pub fn next_deadline(&self) -> Instant {
        let change = self.changes.front().map_or(Instant::MAX, |change| change.at);
        self.network.next().1.min(change)
    }

    /// Whether nobody can take what is told, or a change of the path could not be made.
    pub fn has_failed(&mut self) -> bool {
        self.refused.is_some() || self.recorder().has_failed()
    }

    /// Why a change of the path could not be made, if it was so.
    pub const fn refused(&mut self) -> Option<RunError> {
        self.refused.take()
    }

    /// The bytes of all packets inside.
    pub const fn pool(&mut self) -> &mut Pool {
        &mut self.watch.pool
    }

    /// What counts packets and tells of them.
    pub const fn recorder(&mut self) -> &mut Recorder {
        &mut self.watch.attached.recorder
    }

    /// Lets happen all that is due by `now` and before the run's end; what has arrived goes to `arrived`, in order.
    pub fn advance(&mut self, now: Instant, arrived: &mut Vec<Arrived>) {
        let now = now.min(self.watch.attached.recorder.end());
        while self.changes.front().is_some_and(|change| change.at <= now)
            && let Some(PathChange { at, path, links }) = self.changes.pop_front()
        {
            // As a change that is asked for: what is due at the same time happens before it.
            self.pass(at, arrived);
            if let Err(error) = self.change(at, path, links) {
                self.changes.clear();
                self.refused = Some(error);
            }
        }
        self.pass(now, arrived);
    }

    /// Lets packets pass until `now`.
    fn pass(&mut self, now: Instant, arrived: &mut Vec<Arrived>) {
        let Self { network, watch, .. } = self;
        loop {
            let (slot, due) = network.next();
            if due > now {
                return;
            }
            watch.attached.events += 1;
            match slot {
                Slot::Recorder => watch.attached.tick(due, network),
                Slot::Hop(hop) => network.on_hop(hop, due, watch),
                Slot::Line(flow, returning) => {
                    let packet = network.pop_arrived(flow, returning, due, watch);
                    arrived.extend(packet.map(|packet| Arrived { due, packet }));
                }
                Slot::Gateway => watch.attached.on_gateway(due, network),
                // The ends are programs, and come by themselves.
                Slot::Server(_) | Slot::Client(_) => network.set(slot, None),
            }
        }
    }

    /// The run ends: what is open is told.
    pub fn end(&mut self, now: Instant) {
        let recorder = self.recorder();
        if recorder.next_deadline() > recorder.end() {
            // A driver that woke up late has already come to the end.
            return;
        }
        recorder.end_at(now);
        self.watch.attached.tick(now, &mut self.network);
    }

    /// Has what happened until now written down.
    pub fn keep(&mut self, now: Instant) {
        let so_far = self.watch.attached.summary((now - Instant::ZERO, self.seed), &self.network);
        self.recorder().keep(&so_far);
    }

    /// Closes all tables and gives the totals.
    ///
    /// # Errors
    /// If a table cannot be written.
    pub fn finish(self, now: Instant) -> Result<SummaryRecord, SinkError> {
        let attached = self.watch.attached;
        let summary = attached.summary((now - Instant::ZERO, self.seed), &self.network);
        attached.recorder.finish(&summary)?;
        Ok(summary)
    }

    /// A packet comes to the path; all that is due before must have happened. What comes after the run's end, while
    /// a driver still reads, is none of the run's.
    pub fn arrive(&mut self, now: Instant, mut packet: Packet) {
        let Self { network, watch, .. } = self;
        if now > watch.attached.recorder.end() {
            watch.pool.give(packet.slot);
            return;
        }
        packet.traffic = watch.attached.recognise(now, &packet, network);
        network.send(now, packet, watch);
    }
}

#[cfg(test)]
#[path = "path_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "change_tests.rs"]
mod change_tests;
