//! A home for tests: servers, a gateway with a drop-tail queue in front of the home's link, clients near it.
//!
//! Model: server, delay, gateway and queue, link, a short delay, client; what comes back passes the gateway
//! without a queue. A game sends UDP at a constant rate all the time. Deterministic.

#![allow(dead_code, reason = "not every test file needs all of it")]

use gameway_gateway::{Flags, Gateway, Packet, Passage, Segment as Wire, Timestamps};
use gameway_path::{
    Bottleneck, DropTail, Dscp, Endpoint, FlowId, Header, Link, PathPacket, Protocol,
};
use gameway_tcp::{
    Application, ReceiveWindow, Receiver, ReceiverConfig, Segment, Sender, SenderConfig,
};
use gameway_units::{Bytes, Duration, Ecn, Instant, QueueSize, Rate};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

pub const MSS: f64 = 1448.0;
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
pub struct Queued {
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

#[derive(Debug, Clone, Copy)]
enum Event {
    Game,
    ToGateway(usize, Segment),
    ToClient(usize, Segment),
    FromClient(usize, Segment),
    ToServer(usize, Segment),
    Wake(usize),
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
    far: Duration,
    header: Header,
    initial: [u32; 2],
    stopped: bool,
    awake_at: Option<Instant>,
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
            far: download.rtt / 2 - NEAR,
            header: header_of(number),
            // The numbers of the data wrap within a second or two.
            initial: [u32::MAX - 2_000_000, 5_000 + number as u32],
            stopped: false,
            awake_at: None,
            download,
        }
    }

    fn is_there(&self, now: Instant) -> bool {
        now >= at(self.download.start) && self.download.vanish.is_none_or(|gone| now < at(gone))
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

/// See the module's head.
pub struct Home {
    pub now: Instant,
    pub gateway: Option<Box<dyn Gateway>>,
    /// Before this time the gateway sees nothing.
    pub attached: Instant,
    /// Whether the wire form has timestamps.
    pub timestamps: bool,
    flows: Vec<Flow>,
    link: Bottleneck<Queued, DropTail<Queued>>,
    events: BTreeMap<(Instant, u64), Event>,
    order: u64,
    game: Option<(Bytes, Duration)>,
    /// When game packets came to the queue, and how long they waited, in ms.
    pub waits: Vec<(f64, f64)>,
    /// Payload received, at each tenth of a second, of each flow.
    pub received: Vec<Vec<u64>>,
    pub dropped: u64,
}

impl Home {
    /// 20 Mb/s, 250 packets, the game of Unreal Tournament III (table II: 947 B each 1.2 ms).
    pub fn new(downloads: Vec<Download>, gateway: Option<Box<dyn Gateway>>) -> Self {
        Self::with_capacity(Rate::from_mbps(20), downloads, gateway)
    }

    pub fn with_capacity(
        capacity: Rate,
        downloads: Vec<Download>,
        gateway: Option<Box<dyn Gateway>>,
    ) -> Self {
        let link = Link::constant(capacity).expect("above zero");
        let size = QueueSize::Packets(250);
        let mut home = Self {
            now: Instant::ZERO,
            gateway,
            attached: Instant::ZERO,
            timestamps: true,
            flows: Vec::new(),
            link: Bottleneck::new(link, size, Duration::from_millis(80), DropTail::new),
            events: BTreeMap::new(),
            order: 0,
            game: Some((Bytes::new(947), Duration::from_micros(1200))),
            waits: Vec::new(),
            received: Vec::new(),
            dropped: 0,
        };
        home.schedule(Instant::ZERO, Event::Game);
        for download in downloads {
            let number = home.flows.len();
            home.schedule(at(download.start), Event::Wake(number));
            for time in [download.stop, download.vanish].into_iter().flatten() {
                home.schedule(at(time), Event::Wake(number));
            }
            home.flows.push(Flow::new(number, download));
        }
        home
    }

    pub fn without_game(mut self) -> Self {
        self.game = None;
        self
    }

    fn schedule(&mut self, at: Instant, event: Event) {
        self.order += 1;
        self.events.insert((at, self.order), event);
    }

    pub fn sender(&self, flow: usize) -> &Sender {
        &self.flows[flow].sender
    }

    /// The window of a segment that passes, as the gateway leaves it.
    fn pass(&mut self, flow: usize, size: Bytes, segment: Option<&Segment>, down: bool) -> u16 {
        let mut wire = segment.map(|segment| self.flows[flow].wire(segment, down));
        if let Some(wire) = wire.as_mut().filter(|_| !self.timestamps) {
            wire.timestamps = None;
        }
        let before = wire;
        if let Some(gateway) = self.gateway.as_mut().filter(|_| self.now >= self.attached) {
            let udp = Header { protocol: Protocol::Udp, ..header_of(200) };
            let header = wire.map_or(udp, |wire| wire.header);
            let passage = if down { Passage::Queue } else { Passage::Beside };
            gateway.on_packet(self.now, passage, &mut Packet::new(header, size, wire.as_mut()));
        }
        let window = wire.map_or(0, |wire| wire.window);
        let unchanged = before.zip(wire).is_none_or(|(before, after)| {
            assert!(after.window <= before.window, "a window was raised");
            before == Wire { window: before.window, ..after }
        });
        assert!(unchanged, "more than a window was changed");
        window
    }

    fn enqueue(&mut self, packet: Queued) {
        self.pass(packet.flow, packet.size, packet.segment.as_ref(), true);
        self.link.arrive(self.now, packet);
        self.dropped += self.link.drain_dropped().count() as u64;
    }

    fn on_event(&mut self, event: Event) {
        match event {
            Event::Game => {
                let Some((size, gap)) = self.game else { return };
                self.enqueue(Queued { flow: usize::MAX, size, segment: None });
                self.schedule(self.now + gap, Event::Game);
            }
            Event::ToGateway(flow, segment) => {
                let size = segment.wire_size();
                self.enqueue(Queued { flow, size, segment: Some(segment) });
            }
            Event::ToClient(flow, segment) => {
                if self.flows[flow].is_there(self.now) {
                    self.flows[flow].receiver.on_segment(self.now, &segment);
                }
                self.pump(flow);
            }
            Event::FromClient(flow, mut segment) => {
                segment.window = self.pass(flow, segment.wire_size(), Some(&segment), false);
                self.schedule(self.now + self.flows[flow].far, Event::ToServer(flow, segment));
            }
            Event::ToServer(flow, segment) => {
                if self.flows[flow].is_there(self.now) {
                    self.flows[flow].sender.on_segment(self.now, &segment);
                }
                self.pump(flow);
            }
            Event::Wake(flow) => {
                self.flows[flow].awake_at.take_if(|due| *due <= self.now);
                self.flows[flow].sender.on_deadline(self.now);
                self.flows[flow].receiver.on_deadline(self.now);
                self.pump(flow);
            }
        }
    }

    fn pump(&mut self, number: usize) {
        let now = self.now;
        let mut sent = Vec::new();
        let flow = &mut self.flows[number];
        if !flow.is_there(now) {
            return;
        }
        if !flow.stopped && flow.download.stop.is_some_and(|stop| now >= at(stop)) {
            flow.stopped = true;
            flow.sender.stop(now);
        }
        while let Some(segment) = flow.sender.poll_transmit(now) {
            sent.push((now + flow.far, Event::ToGateway(number, segment)));
        }
        while let Some(segment) = flow.receiver.poll_transmit(now) {
            sent.push((now + NEAR, Event::FromClient(number, segment)));
        }
        let deadlines = [flow.sender.next_deadline(), flow.receiver.next_deadline()];
        let due = deadlines.into_iter().flatten().min().map(|due| due.max(now));
        if let Some(due) = due.filter(|due| flow.awake_at.is_none_or(|awake| *due < awake)) {
            flow.awake_at = Some(due);
            sent.push((due, Event::Wake(number)));
        }
        for (time, event) in sent {
            self.schedule(time, event);
        }
    }

    fn on_link(&mut self, due: Instant) {
        let Some(done) = self.link.on_deadline(due) else { return };
        let waited = done.queueing_delay();
        if let Some(gateway) = self.gateway.as_mut().filter(|_| self.now >= self.attached) {
            gateway.on_departure(done.started, done.packet.size, waited);
        }
        match done.packet.segment {
            None => self.waits.push((done.enqueued.as_secs_f64(), waited.as_millis_f64())),
            Some(segment) => {
                self.schedule(self.now + NEAR, Event::ToClient(done.packet.flow, segment));
            }
        }
    }

    pub fn run_until(&mut self, end: f64) {
        let end = at(end);
        loop {
            let event = self.events.first_key_value().map_or(Instant::MAX, |(key, _)| key.0);
            let link = self.link.next_deadline().unwrap_or(Instant::MAX);
            let gateway = self.gateway.as_ref().map_or(Instant::MAX, |one| one.next_deadline());
            let next = event.min(link).min(gateway);
            if next > end {
                break;
            }
            self.now = next;
            self.note_received();
            if link == next {
                self.on_link(next);
            } else if gateway == next {
                let oldest = self.link.oldest();
                self.gateway.as_mut().expect("it is due").on_deadline(next, oldest);
            } else if let Some((_, event)) = self.events.pop_first() {
                self.on_event(event);
            }
        }
        self.now = end;
        self.note_received();
    }

    fn note_received(&mut self) {
        while self.now >= at(self.received.len() as f64 / 10.0) {
            let now = self.flows.iter().map(|flow| flow.receiver.received().get()).collect();
            self.received.push(now);
        }
    }

    /// Payload of a flow from one time to another, Mb/s.
    pub fn goodput(&self, flow: usize, from: f64, to: f64) -> f64 {
        let at = |time: f64| self.received[(time * 10.0).round() as usize][flow];
        (at(to) - at(from)) as f64 * 8e-6 / (to - from)
    }

    /// Of all flows.
    pub fn total(&self, from: f64, to: f64) -> f64 {
        (0..self.flows.len()).map(|flow| self.goodput(flow, from, to)).sum()
    }

    /// The wait of the game's packets that a share of them (0.98) does not exceed, ms.
    pub fn wait(&self, share: f64, from: f64, to: f64) -> f64 {
        let within = self.waits.iter().filter(|(at, _)| (from..to).contains(at));
        let mut waits: Vec<f64> = within.map(|(_, wait)| *wait).collect();
        waits.sort_by(f64::total_cmp);
        let index = (waits.len() as f64 * share).ceil() as usize;
        waits[index.saturating_sub(1).min(waits.len() - 1)]
    }
}
