//! Model sources in a closed loop around a bottleneck: what a queue's controller settles at.
//!
//! A source keeps `window` packets in flight and learns each packet's fate one base RTT after it left the
//! bottleneck or was dropped. Reno adds a packet per round trip and halves at most once per round trip. The
//! scalable source gives up half a packet per mark: in equilibrium p W = 2 (1 - p).

#![allow(dead_code, reason = "each test uses what it needs")]

use crate::support::Packet;
use gameway_path::{Bottleneck, DropReason, Limit, Link, Queue};
use gameway_units::{Duration, Ecn, Instant, QueueSize, Rate};
use std::collections::BTreeMap;

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

#[derive(Debug, Clone, Copy)]
enum Fate {
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

struct Sender {
    source: Source,
    window: f64,
    in_flight: u64,
    next: u64,
    recovered_from: u64,
}

impl Sender {
    fn learn(&mut self, number: u64, fate: Fate) {
        self.in_flight -= 1;
        match (self.source.law, fate) {
            (Law::Deaf, _) => return,
            (Law::Scalable, Fate::Marked) => self.window -= 0.5,
            (_, Fate::Delivered) => self.window += 1.0 / self.window,
            (_, Fate::Marked | Fate::Lost) => self.halve(number),
        }
        self.window = self.window.max(2.0);
    }

    fn halve(&mut self, number: u64) {
        if number >= self.recovered_from {
            self.window /= 2.0;
            self.recovered_from = self.next;
        }
    }
}

pub struct Loop<Q> {
    path: Bottleneck<Packet, Q>,
    senders: Vec<Sender>,
    fates: BTreeMap<(Instant, u16, u64), Fate>,
    warm_up: Instant,
    records: Vec<Record>,
}

impl<Q: Queue<Packet>> Loop<Q> {
    pub fn new(
        rate: Rate,
        size: QueueSize,
        sources: &[Source],
        queue: impl FnOnce(Limit) -> Q,
    ) -> Self {
        let link = Link::constant(rate).unwrap();
        let sender = |&source: &Source| Sender {
            source,
            window: source.window,
            in_flight: 0,
            next: 0,
            recovered_from: 0,
        };
        Self {
            path: Bottleneck::new(link, size, Duration::from_millis(20), queue),
            senders: sources.iter().map(sender).collect(),
            fates: BTreeMap::new(),
            warm_up: Instant::ZERO,
            records: vec![Record::default(); sources.len()],
        }
    }

    /// Runs and gives what came of each source after the warm-up.
    pub fn run(mut self, warm_up: Duration, until: Duration) -> Vec<Record> {
        self.warm_up = Instant::ZERO + warm_up;
        let end = Instant::ZERO + until;
        for flow in 0..self.senders.len() {
            // Not all at once.
            self.send(Instant::ZERO + Duration::from_micros(137) * flow as i64, flow);
        }
        while let Some(now) = self.next_event().filter(|now| *now <= end) {
            self.leave(now);
            while let Some(entry) = self.fates.first_entry().filter(|entry| entry.key().0 <= now) {
                let ((_, flow, number), fate) = entry.remove_entry();
                self.senders[usize::from(flow)].learn(number, fate);
                self.send(now, usize::from(flow));
            }
        }
        self.records
    }

    fn next_event(&self) -> Option<Instant> {
        let told = self.fates.first_key_value().map(|((at, _, _), _)| *at);
        [self.path.next_deadline(), told].into_iter().flatten().min()
    }

    fn leave(&mut self, now: Instant) {
        while let Some(done) = self.path.on_deadline(now) {
            let packet = done.packet;
            let marked = packet.ecn == Ecn::Ce;
            if done.finished >= self.warm_up {
                let record = &mut self.records[usize::from(packet.flow)];
                record.delays_millis.push(done.queueing_delay().as_millis_f64());
                record.marked += u64::from(marked);
            }
            let fate = if marked { Fate::Marked } else { Fate::Delivered };
            self.tell(done.finished, packet, fate);
        }
        self.collect_drops(now);
    }

    fn collect_drops(&mut self, now: Instant) {
        let dropped: Vec<_> = self.path.drain_dropped().collect();
        for drop in dropped {
            self.lose(now, drop.packet, drop.reason);
        }
    }

    fn lose(&mut self, now: Instant, packet: Packet, reason: DropReason) {
        if now >= self.warm_up {
            let record = &mut self.records[usize::from(packet.flow)];
            record.dropped += 1;
            record.overflows += u64::from(reason == DropReason::Overflow);
        }
        self.tell(now, packet, Fate::Lost);
    }

    fn tell(&mut self, at: Instant, packet: Packet, fate: Fate) {
        let source = self.senders[usize::from(packet.flow)].source;
        if source.law == Law::Deaf {
            return;
        }
        let at = at + source.rtt;
        self.fates.insert((at, packet.flow, packet.number), fate);
    }

    fn send(&mut self, now: Instant, flow: usize) {
        while (self.senders[flow].in_flight as f64) < self.senders[flow].window.floor() {
            let sender = &mut self.senders[flow];
            let (number, ecn) = (sender.next, sender.source.ecn);
            sender.next += 1;
            sender.in_flight += 1;
            let packet = Packet::new(flow as u16, number, 1500).with_ecn(ecn);
            if sender.source.law == Law::Deaf {
                let next = now + sender.source.rtt;
                self.fates.insert((next, packet.flow, number), Fate::Delivered);
            }
            self.path.arrive(now, packet);
            self.collect_drops(now);
        }
    }
}
