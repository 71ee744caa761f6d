//! The driver: packets from either device into the path, and out of it when they are due.
//!
//! One thread, which waits until something is due or a device has a packet. A late wake-up changes no due time:
//! [`LivePath::advance`] replays what should have happened, and how late each packet was is counted. What
//! comes is stamped with the time at which it is read.

use super::background::Background;
use super::capture::Capture;
use super::config::LinkConfig;
use super::control::{Control, PendingRequest, Request, Response, Status};
use super::flows::Flows;
use super::packet::LinkRegistry;
use super::path::{Arrived, LivePath};
use super::pcapng::Passed;
use super::wire;
use crate::tun::Tun;
use gameway_events::{
    EventRecord, Files, FurtherTables, Name, ResultTables, RunEvent, Sink, SinkError, SummaryRecord,
};
use gameway_experiment::build::Routes;
use gameway_experiment::{Recorder, RunError};
use gameway_path::Direction;
use gameway_runtime::clock::{self, Clock};
use gameway_runtime::lateness::{Lateness, LatenessSummary};
use gameway_runtime::stop::Stop;
use gameway_units::{Duration, Ecn, Instant};
use rustix::event::{PollFd, PollFlags};
use rustix::fd::AsFd;
use std::io;
use std::sync::Arc;

/// Packets that are read from a device before the path is looked at again: 32 full ones are half a millisecond
/// at 500 Mb/s, and take a tenth of it.
const BATCH: usize = 32;
/// From one wake-up to the next it is at least so long: to set a timer and be woken costs several microseconds
/// (tens in a virtual machine), more than a packet does. Packets are late by no more than this for it.
const MODERATION: Duration = Duration::from_micros(50);
/// How long the driver sleeps at most: so soon it sees that it was asked to stop.
const MAX_SLEEP: Duration = Duration::from_millis(100);
/// Name of the part in tables.
const PART: &str = "link";

/// Why a link stopped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LinkError {
    /// Its configuration cannot be done.
    #[error(transparent)]
    Run(#[from] RunError),
    /// What happened cannot be kept.
    #[error(transparent)]
    Sink(#[from] SinkError),
    /// A device or the clock failed.
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// What else there is to say of a link that has ended.
#[derive(Debug, Clone)]
pub struct LinkReport {
    /// The totals.
    pub summary: SummaryRecord,
    /// How late packets were.
    pub lateness: LatenessSummary,
    /// What went wrong, each with how often.
    pub counts: Counts,
}

/// Things that do not happen on a machine that is fast enough.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets of no flow.
    pub others: u64,
    /// What was read and is no whole IP packet.
    pub malformed: u64,
    /// Packets that the kernel dropped in front of a device: its queue was full.
    pub dropped_by_kernel: u64,
    /// Packets that the kernel did not take.
    pub refused_by_kernel: u64,
    /// Packets that found no room in memory.
    pub no_room: u64,
    /// Packets that passed an end of the path and are not in the capture.
    pub not_captured: u64,
}

impl Counts {
    /// Names as in the table of events.
    #[must_use]
    pub const fn named(&self) -> [(&'static str, u64); 6] {
        [
            ("other_packets", self.others),
            ("malformed_packets", self.malformed),
            ("dropped_by_kernel", self.dropped_by_kernel),
            ("refused_by_kernel", self.refused_by_kernel),
            ("no_room", self.no_room),
            ("not_captured", self.not_captured),
        ]
    }
}

/// A link at work.
#[derive(Debug)]
pub struct Relay {
    clock: Clock,
    end: Instant,
    path: LivePath,
    flows: Flows,
    /// Where packets of either direction come from: the server's and the client's.
    devices: [Tun; 2],
    lateness: Lateness,
    capture: Capture,
    counts: Counts,
    /// What the kernel had dropped before.
    dropped_before: u64,
    arrived: Vec<Arrived>,
    /// When the driver was last woken by a packet or by what was due.
    woken: Instant,
    /// Who changes the path while it runs.
    control: Option<Control>,
    /// How often what happened is written down, and when next.
    keep: Option<(Duration, Instant)>,
}

impl Relay {
    /// Attaches to the devices and opens the tables.
    ///
    /// # Errors
    /// If the configuration cannot be done, or a device or a table cannot be had.
    pub fn new(config: &LinkConfig) -> Result<Self, LinkError> {
        let files = config.keep_interval.map_or(Files::Whole, |_| Files::Pieces);
        let packets = config.record.packets;
        let further = FurtherTables { packets, lateness: true, files, ..FurtherTables::default() };
        let tables = Box::new(ResultTables::of_run(&config.folder, further)?);
        Self::with(config, Box::new(Background::new(tables)), LinkRegistry::standard())
    }

    /// Attaches to the devices. `sink` is told what happens, in place of tables; queues and gateways are those of
    /// `registry`. It is told by the thread that moves packets: one that writes files belongs into a [`Background`].
    ///
    /// # Errors
    /// If the configuration cannot be done, or a device cannot be had.
    pub fn with(
        config: &LinkConfig,
        sink: Box<dyn Sink>,
        registry: LinkRegistry,
    ) -> Result<Self, LinkError> {
        config.check(&registry)?;
        let registry = Arc::new(registry);
        let end = Instant::ZERO + config.lasts();
        let interval = config.record.controller_interval;
        let flows = Flows::new(config.flows.clone(), interval);
        let names: Vec<Name> = flows.names().collect();
        let links = Routes::new(&config.path).names();
        let recorder = Recorder::new(sink, names, links, end, &config.record);
        let run = (config.seed, config.lasts());
        let path = LivePath::new(&config.path, run, &flows, recorder, Arc::clone(&registry))?;
        let attach =
            |one: &super::config::DeviceConfig| Tun::attach(one.namespace.as_deref(), &one.device);
        let mut devices = [attach(&config.server)?, attach(&config.client)?];
        let dropped_before = dropped(&mut devices)?;
        let clock = config.clock();
        let pcap = config.pcap.as_ref().map(|file| config.folder.join(file));
        Ok(Self {
            clock,
            end,
            path,
            flows,
            devices,
            lateness: Lateness::new(PART),
            capture: Capture::create(pcap.as_deref(), clock.epoch_since_1970_ns())?,
            counts: Counts::default(),
            dropped_before,
            arrived: Vec::new(),
            woken: clock.now(),
            control: config
                .control
                .as_deref()
                .map(|file| Control::new(file, config, registry))
                .transpose()?,
            keep: config.keep_interval.map(|interval| (interval, Instant::ZERO + interval)),
        })
    }

    /// Carries packets until the end or until it is asked to stop, and writes what happened.
    ///
    /// # Errors
    /// If a device fails or a table cannot be written.
    pub fn run(mut self, stop: &Stop) -> Result<LinkReport, LinkError> {
        // Of each direction: whether its device has packets.
        let mut waiting = [true; 2];
        let mut now = self.clock.now();
        while now < self.end && !stop.is_asked() && !self.path.has_failed() {
            self.deliver(now)?;
            self.answer();
            for direction in Direction::ALL {
                if waiting[direction.index()] {
                    waiting[direction.index()] = self.read(direction)?;
                }
            }
            if waiting == [false; 2] {
                waiting = self.wait()?;
            }
            now = self.clock.now();
        }
        let end = now.min(self.end);
        self.finish(end)
    }

    /// Does what was asked by the control, if something was.
    fn answer(&mut self) {
        let Some(PendingRequest { what, answer }) = self.control.as_ref().and_then(Control::asked)
        else {
            return;
        };
        let now = self.clock.now().max(Instant::ZERO);
        self.path.advance(now, &mut self.arrived);
        let done = match what {
            Request::Status => Response::Status(Status::of(&mut self.path, now)),
            Request::Change(change) => {
                let (path, links) = *change;
                match self.path.change(now, path, links) {
                    Ok(()) => Response::Changed(now),
                    Err(error) => Response::Refused(error),
                }
            }
        };
        // Who asked may have gone.
        let _ = answer.send(done);
    }

    /// Hands out all that is due by `now`.
    fn deliver(&mut self, now: Instant) -> Result<(), LinkError> {
        let mut arrived = std::mem::take(&mut self.arrived);
        self.path.advance(now, &mut arrived);
        self.lateness.wake_up();
        for Arrived { due, packet } in arrived.drain(..) {
            let bytes = self.path.pool().bytes(packet.slot);
            let bytes = &mut bytes[..packet.size.get() as usize];
            if packet.ecn == Ecn::Ce {
                wire::mark(bytes);
            }
            wire::set_dscp(bytes, packet.header.dscp);
            let out = 1 - packet.direction.index();
            let handed_over = self.clock.now();
            self.lateness.add(due, handed_over);
            // The kernel refuses what it cannot take now, as an interface does; the link goes on.
            match self.devices[out].write(bytes) {
                Ok(()) => self.capture.add(handed_over, out, Passed::Out, bytes),
                Err(_) => self.counts.refused_by_kernel += 1,
            }
            self.path.pool().give(packet.slot);
        }
        self.arrived = arrived;
        let recorder = self.path.recorder();
        self.lateness.tick(now, &mut |record| recorder.tell(RunEvent::Lateness(record)));
        if let Some((interval, next)) = &mut self.keep
            && now >= *next
        {
            *next = now + *interval;
            self.path.keep(now);
        }
        Ok(())
    }

    /// Reads what goes this way, a batch at most; whether there may be more.
    fn read(&mut self, direction: Direction) -> Result<bool, LinkError> {
        for _ in 0..BATCH {
            let Some(slot) = self.path.pool().take() else {
                self.counts.no_room += 1;
                return Ok(false);
            };
            let bytes = self.path.pool().bytes(slot);
            let Some(length) = self.devices[direction.index()].read(bytes)? else {
                self.path.pool().give(slot);
                return Ok(false);
            };
            let bytes = &mut bytes[..length];
            let now = self.clock.now();
            self.capture.add(now, direction.index(), Passed::In, bytes);
            if now < Instant::ZERO {
                // Before the run, while its parts find each other, the link is a wire.
                let out = 1 - direction.index();
                match self.devices[out].write(bytes) {
                    Ok(()) => self.capture.add(now, out, Passed::Out, bytes),
                    Err(_) => self.counts.refused_by_kernel += 1,
                }
                self.path.pool().give(slot);
                continue;
            }
            let Some(parsed) = wire::parse(bytes) else {
                self.counts.malformed += 1;
                self.path.pool().give(slot);
                continue;
            };
            let packet = self.flows.packet(direction, slot, bytes, &parsed);
            // What was due before this packet came happens before it.
            self.path.advance(now, &mut self.arrived);
            self.path.arrive(now, packet);
        }
        Ok(true)
    }

    /// Sleeps until something is due or a device has packets; which have.
    fn wait(&mut self) -> Result<[bool; 2], LinkError> {
        let now = self.clock.now();
        let since = now - self.woken;
        if since < MODERATION {
            clock::sleep(MODERATION - since);
            return Ok([true; 2]);
        }
        let due = self.path.next_deadline().min(self.end);
        let max = if self.arrived.is_empty() { due - now } else { Duration::ZERO };
        let [server, client] = &self.devices;
        // Without a control there is nothing more to wait for; the first device stands for it.
        let control = self.control.as_ref().map_or(server.as_fd(), Control::as_fd);
        let mut ready = [server.as_fd(), client.as_fd(), control]
            .map(|one| PollFd::from_borrowed_fd(one, PollFlags::IN));
        let count = if self.control.is_some() { 3 } else { 2 };
        clock::wait(&mut ready[..count], max.min(MAX_SLEEP))?;
        self.woken = self.clock.now();
        let [server, client, _] = ready.map(|one| !one.revents().is_empty());
        Ok([server, client])
    }

    fn finish(mut self, now: Instant) -> Result<LinkReport, LinkError> {
        self.path.end(now);
        if let Some(error) = self.path.refused() {
            return Err(error.into());
        }
        self.counts.others = self.flows.others();
        self.counts.dropped_by_kernel =
            dropped(&mut self.devices)?.saturating_sub(self.dropped_before);
        let recorder = self.path.recorder();
        let lateness =
            self.lateness.finish(&mut |record| recorder.tell(RunEvent::Lateness(record)));
        self.counts.not_captured = self.capture.finish(now)?;
        let counts = self.counts;
        let mut figures: Vec<(&str, f64)> =
            counts.named().map(|(name, count)| (name, count as f64)).into();
        figures.push(("lateness_max_ns", lateness.max.as_nanos() as f64));
        for (event, value) in figures {
            let (flow, event) = (PART.into(), event.into());
            let record = EventRecord { time_ns: now.as_nanos(), flow, event, value };
            self.path.recorder().tell(RunEvent::Flow(record));
        }
        let summary = self.path.finish(now)?;
        Ok(LinkReport { summary, lateness, counts })
    }
}

fn dropped(devices: &mut [Tun; 2]) -> io::Result<u64> {
    let [server, client] = devices;
    Ok(server.dropped_by_kernel()? + client.dropped_by_kernel()?)
}
