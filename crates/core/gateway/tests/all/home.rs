//! A home for tests: servers, a gateway with a drop-tail queue in front of the home's link, clients near it.
//!
//! Model: server, delay, gateway and queue, link, a short delay, client; what comes back passes the gateway
//! without a queue. A game sends UDP at a constant rate all the time. Deterministic.

use gameway_gateway::{Flags, Gateway, Packet, Passage, Segment as Wire, Timestamps};
use gameway_path::{
    Bottleneck, DropTail, Dscp, Endpoint, FlowId, Header, Link, PathPacket, Protocol,
};
use gameway_tcp::{
    Application, ReceiveWindow, Receiver, ReceiverConfig, Segment, Sender, SenderConfig,
};
use gameway_testbed::{Agenda, Ends, Onward, Path, Testbed, percentile};
use gameway_units::{Bytes, Duration, Ecn, Instant, QueueSize, Rate};
use std::net::{IpAddr, Ipv4Addr};

/// From the gateway to each client.
pub const NEAR: Duration = Duration::from_millis(2);

pub fn seconds(count: f64) -> Duration {
    Duration::from_secs_f64(count)
}

pub fn at(count: f64) -> Instant {
    Instant::ZERO + seconds(count)
}

/// A packet in the gateway's queue.
#[derive(Debug, Clone, Copy)]
struct Queued {
    flow: usize,
    size: Bytes,
    /// `None`: of the game.
    segment: Option<Segment>,
}

impl PathPacket for Queued {
    fn wire_size(&self) -> Bytes {
        self.size
    }
    fn flow(&self) -> FlowId {
        FlowId(self.flow as u16)
    }
    fn header(&self) -> Header {
        Header::numbered(self.flow as u16)
    }
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }
    fn set_ecn(&mut self, _ecn: Ecn) {}
}

/// A download, and what a test may change of it.
pub struct Download {
    pub algorithm: &'static str,
    pub start: f64,
    /// The application stops writing.
    pub stop: Option<f64>,
    /// Both ends are gone without a word.
    pub vanish: Option<f64>,
    pub rtt: Duration,
    pub receive_buffer: u64,
    pub rate_limit: Option<Rate>,
}

impl Default for Download {
    fn default() -> Self {
        Self {
            algorithm: "cubic",
            start: 0.0,
            stop: None,
            vanish: None,
            rtt: Duration::from_millis(80),
            receive_buffer: 6 << 20,
            rate_limit: None,
        }
    }
}

struct Flow {
    download: Download,
    sender: Sender,
    receiver: Receiver,
    stopped: bool,
    now: Instant,
}

fn header_of(flow: usize) -> Header {
    let host = |network: [u8; 3], port| Endpoint {
        address: IpAddr::V4(Ipv4Addr::new(network[0], network[1], network[2], 10 + flow as u8)),
        port,
    };
    Header {
        source: host([198, 18, 0], 443),
        destination: host([192, 168, 0], 50_000),
        protocol: Protocol::Tcp,
        dscp: Dscp(0),
    }
}

impl Flow {
    fn new(number: usize, download: Download) -> Self {
        let application = Application {
            rate_limit: download.rate_limit,
            // A smooth writer: iperf's 128 KiB at 1 Mb/s would be a burst each second.
            block: Bytes::new(1448),
            ..Application::default()
        };
        let config = SenderConfig { application, ..SenderConfig::default() };
        let congestion =
            gameway_tcp::build(download.algorithm, config.segment_size, 7 + number as u64).unwrap();
        let buffer = Bytes::new(download.receive_buffer);
        let receive = ReceiverConfig {
            receive_window: ReceiveWindow::Fixed(buffer),
            ..ReceiverConfig::default()
        };
        Self {
            sender: Sender::new(config, congestion),
            receiver: Receiver::new(receive, at(download.start)),
            stopped: false,
            now: Instant::ZERO,
            download,
        }
    }

    fn is_there(&self, now: Instant) -> bool {
        now >= at(self.download.start) && self.download.vanish.is_none_or(|gone| now < at(gone))
    }
}

impl Ends for Flow {
    type Down = Segment;
    type Up = Segment;

    fn on_down(&mut self, now: Instant, segment: Segment) {
        self.now = now;
        if self.is_there(now) {
            self.receiver.on_segment(now, &segment);
        }
    }
    fn on_up(&mut self, now: Instant, segment: Segment) {
        self.now = now;
        if self.is_there(now) {
            self.sender.on_segment(now, &segment);
        }
    }
    fn next_deadline(&self) -> Option<Instant> {
        let start = at(self.download.start);
        if self.now < start || self.now == Instant::ZERO {
            return Some(start.max(Instant::from_nanos(1)));
        }
        let stop = self.download.stop.filter(|_| !self.stopped).map(at);
        let due = [self.sender.next_deadline(), self.receiver.next_deadline(), stop];
        let due = Instant::first_of(due).filter(|_| self.is_there(self.now));
        due.map(|due| due.max(self.now))
    }
    fn on_deadline(&mut self, now: Instant) {
        self.now = now;
        if !self.stopped && self.download.stop.is_some_and(|stop| now >= at(stop)) {
            self.stopped = true;
            self.sender.stop(now);
        }
        self.sender.on_deadline(now);
        self.receiver.on_deadline(now);
    }
    fn poll_down(&mut self, now: Instant) -> Option<Segment> {
        if self.is_there(now) { self.sender.poll_transmit(now) } else { None }
    }
    fn poll_up(&mut self, now: Instant) -> Option<Segment> {
        if self.is_there(now) { self.receiver.poll_transmit(now) } else { None }
    }
}

/// How a flow looks from the gateway.
struct Seen {
    header: Header,
    /// The first numbers of server and client.
    initial: [u32; 2],
    /// From the server to the gateway.
    far: Duration,
}

impl Seen {
    fn new(number: usize, download: &Download) -> Self {
        Self {
            header: header_of(number),
            // The numbers of the data wrap within a second or two.
            initial: [u32::MAX - 2_000_000, 5_000 + number as u32],
            far: download.rtt / 2 - NEAR,
        }
    }

    /// The segment as on the wire; `down`: from the server.
    fn wire(&self, segment: &Segment, down: bool) -> Wire {
        let (own, others) = if down { (0, 1) } else { (1, 0) };
        let number = |offset: u64, side: usize| {
            let behind_syn = (offset as u32).wrapping_add(self.initial[side]);
            behind_syn.wrapping_add(u32::from(!segment.flags.syn))
        };
        let ticks = |time: Instant| (time.as_nanos() / 1_000_000) as u32;
        Wire {
            header: if down { self.header } else { self.header.reversed() },
            flags: Flags {
                syn: segment.flags.syn,
                ack: segment.flags.ack,
                fin: segment.flags.fin,
                rst: false,
            },
            sequence: number(segment.sequence, own),
            acknowledgment: (segment.acknowledgment as u32)
                .wrapping_add(self.initial[others])
                .wrapping_add(1),
            length: segment.length,
            window: segment.window,
            window_scale: segment.flags.syn.then_some(segment.window_scale),
            timestamps: Some(Timestamps {
                value: ticks(segment.timestamp_value),
                echo: ticks(segment.timestamp_echo),
            }),
        }
    }
}

/// What comes to the gateway.
enum Arrival {
    Game,
    Down(usize, Segment),
    Up(usize, Segment),
}

/// The gateway with its queue, and the delays on both sides of it.
pub struct Access {
    gateway: Option<Box<dyn Gateway>>,
    /// Before this time the gateway sees nothing.
    pub attached: Instant,
    /// Whether the wire form has timestamps.
    pub timestamps: bool,
    flows: Vec<Seen>,
    link: Bottleneck<Queued, DropTail<Queued>>,
    arrivals: Agenda<Arrival>,
    game: (Bytes, Duration),
    /// When game packets came to the queue, and how long they waited, in ms.
    waits: Vec<(f64, f64)>,
}

impl Access {
    /// The window of a segment that passes, as the gateway leaves it.
    fn pass(
        &mut self,
        now: Instant,
        flow: usize,
        size: Bytes,
        segment: Option<&Segment>,
        down: bool,
    ) -> u16 {
        let mut wire = segment.map(|segment| self.flows[flow].wire(segment, down));
        if let Some(wire) = wire.as_mut().filter(|_| !self.timestamps) {
            wire.timestamps = None;
        }
        let before = wire;
        if let Some(gateway) = self.gateway.as_mut().filter(|_| now >= self.attached) {
            let udp = Header { protocol: Protocol::Udp, ..header_of(200) };
            let header = wire.map_or(udp, |wire| wire.header);
            let passage = if down { Passage::Queue } else { Passage::Beside };
            gateway.on_packet(now, passage, &mut Packet::new(header, size, wire.as_mut()));
        }
        let window = wire.map_or(0, |wire| wire.window);
        let unchanged = before.zip(wire).is_none_or(|(before, after)| {
            assert!(after.window <= before.window, "a window was raised");
            before == Wire { window: before.window, ..after }
        });
        assert!(unchanged, "more than a window was changed");
        window
    }

    fn enqueue(&mut self, now: Instant, packet: Queued) {
        self.pass(now, packet.flow, packet.size, packet.segment.as_ref(), true);
        self.link.arrive(now, packet);
        self.link.drain_dropped().for_each(drop);
    }

    fn on_link(&mut self, now: Instant, onward: &mut Onward<Segment, Segment>) {
        let Some(done) = self.link.on_deadline(now) else { return };
        let waited = done.queueing_delay();
        if let Some(gateway) = self.gateway.as_mut().filter(|_| now >= self.attached) {
            gateway.on_departure(done.started, done.packet.size, waited);
        }
        match done.packet.segment {
            None => self.waits.push((done.enqueued.as_secs_f64(), waited.as_millis_f64())),
            Some(segment) => onward.down(done.packet.flow, NEAR, segment),
        }
    }

    fn on_arrival(
        &mut self,
        now: Instant,
        arrival: Arrival,
        onward: &mut Onward<Segment, Segment>,
    ) {
        match arrival {
            Arrival::Game => {
                let (size, gap) = self.game;
                self.enqueue(now, Queued { flow: usize::MAX, size, segment: None });
                self.arrivals.schedule(now + gap, Arrival::Game);
            }
            Arrival::Down(flow, segment) => {
                let size = segment.wire_size();
                self.enqueue(now, Queued { flow, size, segment: Some(segment) });
            }
            Arrival::Up(flow, mut segment) => {
                segment.window = self.pass(now, flow, segment.wire_size(), Some(&segment), false);
                onward.up(flow, self.flows[flow].far, segment);
            }
        }
    }
}

impl Path<Segment, Segment> for Access {
    fn down(
        &mut self,
        now: Instant,
        flow: usize,
        segment: Segment,
        _: &mut Onward<Segment, Segment>,
    ) {
        self.arrivals.schedule(now + self.flows[flow].far, Arrival::Down(flow, segment));
    }
    fn up(
        &mut self,
        now: Instant,
        flow: usize,
        segment: Segment,
        _: &mut Onward<Segment, Segment>,
    ) {
        self.arrivals.schedule(now + NEAR, Arrival::Up(flow, segment));
    }
    fn next_deadline(&self) -> Option<Instant> {
        let gateway = self.gateway.as_ref().map(|one| one.next_deadline());
        Instant::first_of([self.link.next_deadline(), gateway, self.arrivals.next()])
    }
    fn on_deadline(&mut self, now: Instant, onward: &mut Onward<Segment, Segment>) {
        if self.link.next_deadline().is_some_and(|due| due <= now) {
            self.on_link(now, onward);
        } else if let Some(gateway) = self.gateway.as_mut().filter(|one| one.next_deadline() <= now)
        {
            gateway.on_deadline(now, self.link.oldest());
        } else if let Some(arrival) = self.arrivals.pop(now) {
            self.on_arrival(now, arrival, onward);
        }
    }
}

/// See the module's head.
pub struct Home {
    testbed: Testbed<Flow, Access>,
    /// Payload received, at each tenth of a second, of each flow.
    received: Vec<Vec<u64>>,
}

impl Home {
    /// 20 Mb/s, 250 packets, the game of Unreal Tournament III (table II: 947 B each 1.2 ms).
    pub fn new(downloads: Vec<Download>, gateway: Option<Box<dyn Gateway>>) -> Self {
        let link = Link::constant(Rate::from_mbps(20)).expect("above zero");
        let size = QueueSize::Packets(250);
        let mut access = Access {
            gateway,
            attached: Instant::ZERO,
            timestamps: true,
            flows: downloads.iter().enumerate().map(|(n, one)| Seen::new(n, one)).collect(),
            link: Bottleneck::new(link, size, Duration::from_millis(80), DropTail::new),
            arrivals: Agenda::default(),
            game: (Bytes::new(947), Duration::from_micros(1200)),
            waits: Vec::new(),
        };
        access.arrivals.schedule(Instant::ZERO, Arrival::Game);
        let flows = downloads.into_iter().enumerate().map(|(n, one)| Flow::new(n, one)).collect();
        Self { testbed: Testbed::new(access, flows), received: Vec::new() }
    }

    pub fn path(&mut self) -> &mut Access {
        &mut self.testbed.path
    }

    /// When game packets came to the queue, and how long they waited, in ms.
    pub fn waits(&self) -> &[(f64, f64)] {
        &self.testbed.path.waits
    }

    pub fn run_until(&mut self, end: f64) {
        while at(self.received.len() as f64 / 10.0) <= at(end) {
            self.testbed.run_until(at(self.received.len() as f64 / 10.0));
            let flows = self.testbed.flows.iter();
            self.received.push(flows.map(|flow| flow.receiver.received().get()).collect());
        }
        self.testbed.run_until(at(end));
    }

    /// Payload of a flow from one time to another, Mb/s.
    pub fn goodput(&self, flow: usize, from: f64, to: f64) -> f64 {
        let at = |time: f64| self.received[(time * 10.0).round() as usize][flow];
        (at(to) - at(from)) as f64 * 8e-6 / (to - from)
    }

    /// Of all flows.
    pub fn total(&self, from: f64, to: f64) -> f64 {
        (0..self.testbed.flows.len()).map(|flow| self.goodput(flow, from, to)).sum()
    }

    /// The wait of the game's packets that a share of them (0.98) does not exceed, ms.
    pub fn wait(&self, share: f64, from: f64, to: f64) -> f64 {
        let within = self.waits().iter().filter(|(at, _)| (from..to).contains(at));
        percentile(within.map(|(_, wait)| *wait), share)
    }
}
