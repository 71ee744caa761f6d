//! A queue with drop tail in front of a link.

use gameway_units::{Bytes, Duration, Instant, Rate};
use std::collections::VecDeque;

/// A queue, counted in bytes with the packet that is being sent, and its link.
///
/// What finds no room is dropped. A link of rate zero drops what arrives and what waits.
#[derive(Debug, Clone)]
pub struct DropTail<P> {
    /// The rate of the link from each time on.
    rates: Vec<(Instant, Rate)>,
    /// What the queue holds.
    pub limit: Bytes,
    queue: VecDeque<Waiting<P>>,
    backlog: Bytes,
    /// When the transmission of the first packet began, and when it ends.
    sending: Option<(Instant, Instant)>,
    since: Instant,
    transmitted: Bytes,
    max_backlog: Bytes,
    /// Integral of the backlog over time, in byte-nanoseconds.
    area: u128,
    area_until: Instant,
}

#[derive(Debug, Clone)]
struct Waiting<P> {
    packet: P,
    size: Bytes,
    arrived: Instant,
}

/// A packet that has been sent.
#[derive(Debug, Clone)]
pub struct Departed<P> {
    /// The packet.
    pub packet: P,
    /// Its size.
    pub size: Bytes,
    /// When it came to the queue.
    pub arrived: Instant,
    /// When its transmission began.
    pub started: Instant,
    /// When its transmission ended.
    pub finished: Instant,
}

impl<P> Departed<P> {
    /// How long it waited for the link.
    pub fn waited(&self) -> Duration {
        self.started - self.arrived
    }
}

impl<P> DropTail<P> {
    /// Of a link with a constant rate.
    pub fn new(rate: Rate, limit: Bytes) -> Self {
        Self {
            rates: vec![(Instant::ZERO, rate)],
            limit,
            queue: VecDeque::new(),
            backlog: Bytes::ZERO,
            sending: None,
            since: Instant::ZERO,
            transmitted: Bytes::ZERO,
            max_backlog: Bytes::ZERO,
            area: 0,
            area_until: Instant::ZERO,
        }
    }

    /// The rate of the link changes at a time, which is later than all that were named before.
    pub fn set_rate(&mut self, from: Instant, rate: Rate) {
        self.rates.retain(|(at, _)| *at < from);
        self.rates.push((from, rate));
    }

    /// The rate at a time.
    pub fn rate(&self, now: Instant) -> Rate {
        self.rates.iter().rev().find(|(from, _)| *from <= now).map_or(Rate::ZERO, |one| one.1)
    }

    /// Bytes in the queue, with the packet that is being sent.
    pub const fn backlog(&self) -> Bytes {
        self.backlog
    }

    /// A packet comes to the queue; whether there is room for it.
    pub fn arrive(&mut self, now: Instant, size: Bytes, packet: P) -> bool {
        if self.rate(now) == Rate::ZERO || self.backlog + size > self.limit {
            return false;
        }
        self.set_backlog(now, self.backlog + size);
        self.queue.push_back(Waiting { packet, size, arrived: now });
        self.start(now);
        true
    }

    /// When the packet that is being sent has been sent.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.sending.map(|(_, end)| end)
    }

    /// The packet that has been sent now, if any.
    pub fn on_deadline(&mut self, now: Instant) -> Option<Departed<P>> {
        let (started, finished) = self.sending.take_if(|(_, end)| *end <= now)?;
        let Waiting { packet, size, arrived } = self.queue.pop_front()?;
        self.set_backlog(now, self.backlog - size);
        self.transmitted += size;
        self.start(finished);
        Some(Departed { packet, size, arrived, started, finished })
    }

    fn start(&mut self, now: Instant) {
        let rate = self.rate(now);
        if rate == Rate::ZERO {
            self.queue.clear();
            self.set_backlog(now, Bytes::ZERO);
        }
        if let (None, Some(first)) = (self.sending, self.queue.front()) {
            self.sending = Some((now, now + rate.time_for(first.size)));
        }
    }

    fn set_backlog(&mut self, now: Instant, backlog: Bytes) {
        self.area = self.area_at(now);
        self.area_until = now;
        self.backlog = backlog;
        self.max_backlog = self.max_backlog.max(backlog);
    }

    fn area_at(&self, now: Instant) -> u128 {
        let span = (now - self.area_until).as_nanos() as u128;
        self.area + span * u128::from(self.backlog.get())
    }

    /// Forgets what was measured.
    pub fn restart_measurement(&mut self, now: Instant) {
        (self.since, self.area, self.area_until) = (now, 0, now);
        (self.transmitted, self.max_backlog) = (Bytes::ZERO, self.backlog);
    }

    /// What was sent since the measurement began.
    pub const fn transmitted(&self) -> Bytes {
        self.transmitted
    }

    /// The same as a share of what the link could have sent at its rate of now.
    pub fn utilization(&self, now: Instant) -> f64 {
        self.transmitted.as_f64() / (self.rate(now) * (now - self.since)).as_f64()
    }

    /// The mean backlog over time since the measurement began, in bytes.
    pub fn mean_backlog(&self, now: Instant) -> f64 {
        self.area_at(now) as f64 / (now - self.since).as_nanos() as f64
    }

    /// The largest backlog since then.
    pub const fn max_backlog(&self) -> Bytes {
        self.max_backlog
    }
}
