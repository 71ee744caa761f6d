//! The path between the two devices: the simulator's queues, links, losses and delays, told the time.
//!
//! ```text
//! server ──► path ──► further hops ──► loss, copies ──► lines ──► client
//!    ▲                                                              │
//!    └──── lines ◄──── loss, copies ◄──── the way back's bottleneck ┘
//! ```
//!
//! Sans-IO: [`LivePath::arrive`] takes a packet, [`LivePath::advance`] lets happen all that is due, each thing at its own
//! time however late the call, and gives the packets that have arrived with the time at which they were due. Every
//! flow has a line of its own either way, as in the simulator, and so has all that is of no flow.

use super::flows::Flows;
use super::packet::{Direction, Packet};
use super::packet_log::PacketLog;
use super::pool::{Pool, SLOT_BYTES};
use super::wire;
use gameway_events::{Name, TableError};
use gameway_experiment::build::{self, BACK_QUEUE, Routes};
use gameway_experiment::spec::{ClassifierSpec, PathSpec, QueueSpec};
use gameway_experiment::{Fate, HomeGateway, Recognition, Recorder, RunError, random};
use gameway_gateway::{Passage, classifier};
use gameway_path::{Bottleneck, DelayLine, Dropped, Impairments, Link, Queue, Transmitted};
use gameway_units::{Duration, Instant};

type Hop = Bottleneck<Packet, Box<dyn Queue<Packet>>>;

/// The path's own bottleneck, where the home gateway stands.
const PATH: usize = 0;

/// A packet that has reached an end of the path.
#[derive(Debug, Clone, Copy)]
pub struct Arrived {
    /// When.
    pub due: Instant,
    /// The packet.
    pub packet: Packet,
}

/// What wants to act.
#[derive(Debug, Clone, Copy)]
enum Part {
    Recorder,
    Hop(usize),
    Line(usize, Direction),
    Gateway,
}

/// See the module's head.
pub struct LivePath {
    hops: Vec<Hop>,
    /// The bottlenecks down and up, by number.
    ways: [Vec<usize>; 2],
    impairments: [Impairments; 2],
    /// Of each flow and of what is of none: down and up.
    lines: Vec<[DelayLine<Packet>; 2]>,
    recognition: Option<Recognition>,
    gateway: Option<HomeGateway>,
    /// The result tables.
    pub recorder: Recorder,
    packet_log: PacketLog,
    /// The bytes of all packets inside.
    pub pool: Pool,
    /// Things that happened.
    pub events: u64,
}

impl std::fmt::Debug for LivePath {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("LivePath").field("events", &self.events).finish_non_exhaustive()
    }
}

impl LivePath {
    /// The path of this specification, which has been checked.
    ///
    /// # Errors
    /// If a trace cannot be read, or a part cannot be built.
    pub fn new(
        path: &PathSpec,
        seed: u64,
        flows: &Flows,
        recorder: Recorder,
        packet_log: PacketLog,
    ) -> Result<Self, RunError> {
        let routes = Routes::new(path);
        let names = routes.names();
        let congested = path.back.as_ref().is_some_and(|back| back.capacity.is_some());
        let towards_clients = names.len() - usize::from(congested);
        let classified = path.classifier == ClassifierSpec::Behaviour;
        Ok(Self {
            hops: hops(path, &names, seed)?,
            ways: [(0..towards_clients).collect(), (towards_clients..names.len()).collect()],
            impairments: build::impairments(path, seed),
            lines: flows.line_names().map(|flow| lines(path, seed, flow)).collect(),
            recognition: classified
                .then(|| Recognition::new(random::number(seed, "path/classifier"))),
            gateway: flows.gateway(path),
            recorder,
            packet_log,
            pool: Pool::default(),
            events: 0,
        })
    }

    /// What acts next, and when; ties in the order of the simulator.
    fn next(&self) -> (Instant, Part) {
        let mut first = (self.recorder.next_deadline(), Part::Recorder);
        let mut see = |due: Option<Instant>, part| {
            if let Some(due) = due.filter(|due| *due < first.0) {
                first = (due, part);
            }
        };
        for (number, hop) in self.hops.iter().enumerate() {
            see(hop.next_deadline(), Part::Hop(number));
        }
        for (flow, lines) in self.lines.iter().enumerate() {
            for direction in Direction::ALL {
                see(lines[direction.index()].next_deadline(), Part::Line(flow, direction));
            }
        }
        see(self.gateway.as_ref().map(HomeGateway::next_deadline), Part::Gateway);
        first
    }

    /// When something happens next.
    #[must_use]
    pub fn next_deadline(&self) -> Instant {
        self.next().0
    }

    /// Lets happen all that is due by `now` and before the run's end; what has arrived goes to `arrived`, in order.
    ///
    /// # Errors
    /// If a table cannot be written.
    pub fn advance(&mut self, now: Instant, arrived: &mut Vec<Arrived>) -> Result<(), TableError> {
        let now = now.min(self.recorder.end());
        loop {
            let (due, part) = self.next();
            if due > now {
                return Ok(());
            }
            self.events += 1;
            match part {
                Part::Recorder => self.tick(due)?,
                Part::Hop(number) => self.on_transmitted(number, due)?,
                Part::Line(flow, direction) => {
                    let line = &mut self.lines[flow][direction.index()];
                    if let Some(packet) = line.pop(due) {
                        self.count_arrival(&packet);
                        arrived.push(Arrived { due, packet });
                    }
                }
                Part::Gateway => {
                    if let Some(gateway) = &mut self.gateway {
                        gateway.on_deadline(due, self.hops[PATH].oldest(), &mut self.recorder)?;
                    }
                }
            }
        }
    }

    fn tick(&mut self, now: Instant) -> Result<(), TableError> {
        let links: Vec<_> = self.hops.iter().map(|hop| (hop.link(), hop.meter(now))).collect();
        self.recorder.tick(now, &links)
    }

    /// The run ends: what is open is written.
    ///
    /// # Errors
    /// If a table cannot be written.
    pub fn end(&mut self, now: Instant) -> Result<(), TableError> {
        if self.recorder.next_deadline() > self.recorder.end() {
            // A driver that woke up late has already come to the end.
            return Ok(());
        }
        self.recorder.end_at(now);
        self.tick(now)
    }

    /// Closes all tables and gives the totals.
    ///
    /// # Errors
    /// If a table cannot be written.
    pub fn finish(
        self,
        now: Instant,
        seed: u64,
    ) -> Result<gameway_events::SummaryRecord, TableError> {
        let totals = &self.recorder.totals;
        let summary = gameway_events::SummaryRecord {
            duration_ns: now.as_nanos(),
            seed,
            arrived_packets: totals.arrived,
            forwarded_packets: totals.forwarded,
            dropped_packets: totals.dropped,
            queued_packets: self.hops.iter().map(Bottleneck::packets_inside).sum(),
            lost_packets: totals.lost,
            duplicated_packets: totals.duplicated,
            delivered_packets: totals.delivered,
            under_way_packets: self.under_way(),
            events_processed: self.events,
        };
        self.packet_log.finish()?;
        self.recorder.finish(&summary)?;
        Ok(summary)
    }

    /// Packets in lines whose way the totals count.
    fn under_way(&self) -> u64 {
        let lines = self.lines.iter().flatten();
        lines.flat_map(DelayLine::iter).filter(|packet| self.counts(packet)).count() as u64
    }

    /// Whether totals count a packet: data always, and what is sent back where it passes a bottleneck.
    fn counts(&self, packet: &Packet) -> bool {
        !packet.returning || !self.ways[packet.direction.index()].is_empty()
    }

    fn count_arrival(&mut self, packet: &Packet) {
        if packet.returning {
            self.recorder.returned(self.counts(packet));
        } else {
            self.recorder.received(packet.flow, packet.size);
        }
    }

    /// A packet comes to the path; all that is due before must have happened. What comes after the run's end, while
    /// a driver still reads, is none of the run's.
    ///
    /// # Errors
    /// If a table cannot be written.
    pub fn arrive(&mut self, now: Instant, mut packet: Packet) -> Result<(), TableError> {
        if now > self.recorder.end() {
            self.pool.give(packet.slot);
            return Ok(());
        }
        packet.came = now;
        if packet.returning {
            self.recorder.sent_back(packet.flow, packet.size, self.counts(&packet));
        } else {
            self.recorder.sent(packet.flow, packet.size);
        }
        if let Some(recognition) = &mut self.recognition {
            let direction = match packet.direction {
                Direction::Down => classifier::Direction::Down,
                Direction::Up => classifier::Direction::Up,
            };
            packet.traffic = recognition.see(now, &packet, direction, &mut self.recorder)?;
        }
        self.pass_on(now, packet)
    }

    /// A packet comes to the next bottleneck of its way, or has passed them all.
    fn pass_on(&mut self, now: Instant, packet: Packet) -> Result<(), TableError> {
        let way = &self.ways[packet.direction.index()];
        let hop = way.get(usize::from(packet.hops_passed)).copied();
        match (hop, packet.direction) {
            (Some(PATH), Direction::Down) => self.pass_gateway(now, Passage::Queue, &packet),
            (None, Direction::Up) => self.pass_gateway(now, Passage::Beside, &packet),
            _ => {}
        }
        let Some(hop) = hop else { return self.propagate(now, packet) };
        if let Some(dropped) = self.hops[hop].arrive(now, packet) {
            self.on_dropped(&dropped)?;
        }
        self.drain_dropped(hop)?;
        self.recorder.queue_is(hop, now, self.hops[hop].queued_bytes());
        Ok(())
    }

    /// The gateway reads a packet's bytes, and may lower the window that is there.
    fn pass_gateway(&mut self, now: Instant, passage: Passage, packet: &Packet) {
        let Some(gateway) = &mut self.gateway else { return };
        let Packet { header, size, slot, tcp, .. } = *packet;
        let bytes = self.pool.bytes(slot);
        let mut segment = tcp.and_then(|at| wire::segment(bytes, header, size, at));
        let mut seen = gameway_gateway::Packet { header, size, segment: segment.as_mut() };
        let changed = gateway.on_packet(now, passage, &mut seen);
        if let (true, Some(at), Some(segment)) = (changed, tcp, segment) {
            wire::set_window(bytes, at, segment.window);
        }
    }

    fn on_dropped(&mut self, dropped: &Dropped<Packet>) -> Result<(), TableError> {
        let packet = &dropped.packet;
        self.recorder.dropped(packet);
        self.packet_log.add(packet, Fate::Dropped);
        self.pool.give(packet.slot);
        Ok(())
    }

    fn drain_dropped(&mut self, hop: usize) -> Result<(), TableError> {
        while let Some(dropped) = self.hops[hop].poll_dropped() {
            self.on_dropped(&dropped)?;
        }
        Ok(())
    }

    fn on_transmitted(&mut self, hop: usize, now: Instant) -> Result<(), TableError> {
        if let Some(done) = self.hops[hop].on_deadline(now) {
            if let Some(gateway) = self.gateway.as_mut().filter(|_| hop == PATH) {
                gateway.on_departure(now, done.packet.size, done.queueing_delay());
            }
            self.leave(done)?;
        }
        self.drain_dropped(hop)?;
        self.recorder.queue_is(hop, now, self.hops[hop].queued_bytes());
        Ok(())
    }

    fn leave(&mut self, done: Transmitted<Packet>) -> Result<(), TableError> {
        let waited = done.packet.waited + done.queueing_delay();
        let hops_passed = done.packet.hops_passed + 1;
        self.pass_on(done.finished, Packet { waited, hops_passed, ..done.packet })
    }

    /// A packet has passed all bottlenecks of its way.
    fn propagate(&mut self, departed: Instant, packet: Packet) -> Result<(), TableError> {
        let counted = self.counts(&packet);
        let way = packet.direction.index();
        if counted {
            self.recorder.forwarded(&packet);
        }
        if self.impairments[way].loses_next() {
            if counted {
                self.recorder.lost(&packet);
                self.packet_log.add(&packet, Fate::Lost { departed });
            }
            self.pool.give(packet.slot);
            return Ok(());
        }
        let copy = if self.impairments[way].duplicates_next() { self.copy(&packet) } else { None };
        let arrived = self.travel(departed, packet);
        if counted {
            self.packet_log.add(&packet, Fate::Delivered { departed, arrived });
        }
        if let Some(copy) = copy {
            let arrived = self.travel(departed, copy);
            if counted {
                self.recorder.duplicated(&copy);
                self.packet_log.add(&copy, Fate::Copied { departed, arrived });
            }
        }
        Ok(())
    }

    /// The same packet with bytes of its own; `None` if there is no room for them.
    fn copy(&mut self, packet: &Packet) -> Option<Packet> {
        let slot = self.pool.take()?;
        let length = packet.size.get() as usize;
        let mut bytes = [0; SLOT_BYTES];
        bytes[..length].copy_from_slice(&self.pool.bytes(packet.slot)[..length]);
        self.pool.bytes(slot)[..length].copy_from_slice(&bytes[..length]);
        Some(Packet { slot, ..*packet })
    }

    /// A packet, or a copy, sets out for the other end; when it arrives.
    fn travel(&mut self, departed: Instant, packet: Packet) -> Instant {
        let way = packet.direction.index();
        let displacement = self.impairments[way].displaces_next();
        let line = &mut self.lines[usize::from(packet.flow.0)][way];
        line.push_displaced(departed, packet, displacement)
    }
}

fn hops(path: &PathSpec, names: &[Name], seed: u64) -> Result<Vec<Hop>, RunError> {
    let further = path.hop.iter().map(|hop| &hop.queue);
    let back = path.back.iter().map(|back| back.queue.as_ref().unwrap_or(&BACK_QUEUE));
    let queues = std::iter::once(&path.queue).chain(further).chain(back);
    let parts = build::links(path)?.into_iter().zip(queues).zip(names);
    let hop = |((link, queue), name): ((Link, &QueueSpec), &Name)| {
        let (size, base_rtt) = (build::size(queue), path.nominal_rtt());
        Bottleneck::try_new(link, size, base_rtt, |limit| {
            build::queue(queue, limit, base_rtt, seed, name)
        })
    };
    parts.map(hop).collect()
}

/// Propagation of a flow down and up, with the jitter that is there: drawn as the simulator draws it.
fn lines(path: &PathSpec, seed: u64, flow: &str) -> [DelayLine<Packet>; 2] {
    let down: Duration = path.forward_delay.map_or(path.base_rtt.0 / 2, |text| text.0);
    let back = path.back.as_ref().and_then(|back| back.jitter.as_ref());
    let line = |delay, jitter: Option<_>, part: &str| {
        let line = DelayLine::new(delay);
        match jitter {
            Some(spec) => {
                let random = random::stream(seed, &format!("{flow}/{part}"));
                line.with_jitter(build::jitter(spec), random)
            }
            None => line,
        }
    };
    [line(down, path.jitter.as_ref(), "jitter"), line(path.base_rtt.0 - down, back, "back-jitter")]
}

#[cfg(test)]
#[path = "path_tests.rs"]
mod tests;
