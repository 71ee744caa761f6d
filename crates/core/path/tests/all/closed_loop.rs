//! Model sources in a closed loop around a bottleneck: what a queue's controller settles at.
//!
//! A source keeps `window` packets in flight and learns each packet's fate one base RTT after it left the
//! bottleneck or was dropped. Reno adds a packet per round trip and halves at most once per round trip. The
//! scalable source gives up half a packet per mark: in equilibrium p W = 2 (1 - p).

use crate::support::Packet;
use gameway_path::{Bottleneck, DropReason, Limit, Link, Queue};
use gameway_testbed::{Ends, Onward, Path, Testbed};
use gameway_units::{Duration, Ecn, Instant, QueueSize, Rate};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Law {
    Reno,
    Scalable,
    /// Sends a packet each `rtt`, whatever becomes of it.
    Deaf,
}

#[derive(Debug, Clone, Copy)]
pub struct Source {
    pub law: Law,
    pub ecn: Ecn,
    pub rtt: Duration,
    pub window: f64,
}

/// What the sender is told of a packet.
#[derive(Debug, Clone, Copy)]
pub enum Fate {
    Delivered,
    Marked,
    Lost,
}

/// What came of a source after the warm-up.
#[derive(Debug, Clone, Default)]
pub struct Record {
    pub delays_millis: Vec<f64>,
    pub marked: u64,
    pub dropped: u64,
    pub overflows: u64,
}

impl Record {
    pub fn delivered(&self) -> u64 {
        self.delays_millis.len() as u64
    }
    pub fn mean_delay(&self) -> f64 {
        self.delays_millis.iter().sum::<f64>() / self.delays_millis.len() as f64
    }
    /// The share of delays that are not above this.
    pub fn share_within(&self, millis: f64) -> f64 {
        let within = self.delays_millis.iter().filter(|delay| **delay <= millis).count();
        within as f64 / self.delays_millis.len() as f64
    }
    /// The share of packets that were marked or dropped.
    pub fn signalled(&self) -> f64 {
        (self.marked + self.dropped) as f64 / (self.delivered() + self.dropped) as f64
    }
}

pub struct Sender {
    source: Source,
    flow: u16,
    window: f64,
    in_flight: u64,
    next: u64,
    recovered_from: u64,
    started: bool,
    /// When it may send without being told of a packet.
    wake: Option<Instant>,
}

impl Sender {
    fn halve(&mut self, number: u64) {
        if number >= self.recovered_from {
            self.window /= 2.0;
            self.recovered_from = self.next;
        }
    }
}

impl Ends for Sender {
    type Down = Packet;
    type Up = (u64, Fate);

    fn on_down(&mut self, _now: Instant, _packet: Packet) {}

    fn on_up(&mut self, _now: Instant, (number, fate): (u64, Fate)) {
        self.in_flight -= 1;
        match (self.source.law, fate) {
            (Law::Scalable, Fate::Marked) => self.window -= 0.5,
            (_, Fate::Delivered) => self.window += 1.0 / self.window,
            (_, Fate::Marked | Fate::Lost) => self.halve(number),
        }
        self.window = self.window.max(2.0);
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.wake
    }

    fn on_deadline(&mut self, now: Instant) {
        (self.in_flight, self.started) = (0, true);
        self.wake = (self.source.law == Law::Deaf).then(|| now + self.source.rtt);
    }

    fn poll_down(&mut self, _now: Instant) -> Option<Packet> {
        if !self.started || self.in_flight as f64 >= self.window.floor() {
            return None;
        }
        let packet = Packet::new(self.flow, self.next, 1500).with_ecn(self.source.ecn);
        self.next += 1;
        self.in_flight += 1;
        Some(packet)
    }

    fn poll_up(&mut self, _now: Instant) -> Option<(u64, Fate)> {
        None
    }
}

/// The bottleneck with the queue under test. Its clients are silent: it tells the senders itself.
pub struct Observed<Q> {
    path: Bottleneck<Packet, Q>,
    sources: Vec<Source>,
    warm_up: Instant,
    records: Vec<Record>,
}

type News = Onward<Packet, (u64, Fate)>;

impl<Q: Queue<Packet>> Observed<Q> {
    fn collect_drops(&mut self, now: Instant, news: &mut News) {
        let dropped: Vec<_> = self.path.drain_dropped().collect();
        for drop in dropped {
            if now >= self.warm_up {
                let record = &mut self.records[usize::from(drop.packet.flow)];
                record.dropped += 1;
                record.overflows += u64::from(drop.reason == DropReason::Overflow);
            }
            self.tell(drop.packet, Fate::Lost, news);
        }
    }

    fn tell(&self, packet: Packet, fate: Fate, news: &mut News) {
        let flow = usize::from(packet.flow);
        let Source { law, rtt, .. } = self.sources[flow];
        if law != Law::Deaf {
            // The flow decides which of those comes first that are told at the same time.
            let order = Duration::from_nanos(flow as i64);
            news.up(flow, rtt + order, (packet.number, fate));
        }
    }
}

impl<Q: Queue<Packet>> Path<Packet, (u64, Fate)> for Observed<Q> {
    fn down(&mut self, now: Instant, _flow: usize, packet: Packet, news: &mut News) {
        self.path.arrive(now, packet);
        self.collect_drops(now, news);
    }

    fn up(&mut self, _: Instant, _: usize, _: (u64, Fate), _: &mut News) {}

    fn next_deadline(&self) -> Option<Instant> {
        self.path.next_deadline()
    }

    fn on_deadline(&mut self, now: Instant, news: &mut News) {
        while let Some(done) = self.path.on_deadline(now) {
            let packet = done.packet;
            let marked = packet.ecn == Ecn::Ce;
            if done.finished >= self.warm_up {
                let record = &mut self.records[usize::from(packet.flow)];
                record.delays_millis.push(done.queueing_delay().as_millis_f64());
                record.marked += u64::from(marked);
            }
            self.tell(packet, if marked { Fate::Marked } else { Fate::Delivered }, news);
        }
        self.collect_drops(now, news);
    }
}

/// The mean delay of all packets, ms.
pub fn mean_of(records: &[Record]) -> f64 {
    let delays: Vec<f64> =
        records.iter().flat_map(|record| record.delays_millis.iter().copied()).collect();
    delays.iter().sum::<f64>() / delays.len() as f64
}

/// Runs sources through a bottleneck for 80 s, and gives what came of each after the first 20 s.
pub fn settle<Q: Queue<Packet>>(
    rate: Rate,
    size: QueueSize,
    sources: &[Source],
    queue: impl FnOnce(Limit) -> Q,
) -> Vec<Record> {
    let link = Link::constant(rate).unwrap();
    let observed = Observed {
        path: Bottleneck::new(link, size, Duration::from_millis(20), queue),
        sources: sources.to_vec(),
        warm_up: Instant::ZERO + Duration::from_secs(20),
        records: vec![Record::default(); sources.len()],
    };
    let sender = |(flow, &source): (usize, &Source)| Sender {
        source,
        flow: flow as u16,
        window: source.window,
        in_flight: 0,
        next: 0,
        recovered_from: 0,
        started: false,
        // Not all at once.
        wake: Some(Instant::ZERO + Duration::from_micros(137) * flow as i64),
    };
    let senders = sources.iter().enumerate().map(sender).collect();
    let mut testbed = Testbed::new(observed, senders);
    testbed.run_until(Instant::ZERO + Duration::from_secs(80));
    testbed.path.records
}
