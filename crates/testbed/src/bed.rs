//! The driver: flows, the path that they share, and time.

use crate::Agenda;
use gameway_units::{Duration, Instant};
use std::ops::{Deref, DerefMut};

/// More turns at one point of time are a loop without end.
const MAX_TURNS: u32 = 100_000;

/// Both ends of a flow, which talk through packets only.
pub trait Ends {
    /// What the server sends.
    type Down;
    /// What the client sends.
    type Up;

    /// A packet arrives at the client.
    fn on_down(&mut self, now: Instant, packet: Self::Down);

    /// A packet arrives at the server.
    fn on_up(&mut self, now: Instant, packet: Self::Up);

    /// When either end wants to be called without a packet.
    fn next_deadline(&self) -> Option<Instant>;

    /// The deadline has come.
    fn on_deadline(&mut self, now: Instant);

    /// What the server sends next, if it may send now.
    fn poll_down(&mut self, now: Instant) -> Option<Self::Down>;

    /// What the client sends next.
    fn poll_up(&mut self, now: Instant) -> Option<Self::Up>;
}

/// What lies between the ends of all flows.
pub trait Path<D, U> {
    /// A server sends a packet.
    fn down(&mut self, now: Instant, flow: usize, packet: D, onward: &mut Onward<D, U>);

    /// A client sends a packet.
    fn up(&mut self, now: Instant, flow: usize, packet: U, onward: &mut Onward<D, U>);

    /// When the path wants to be called without a packet.
    fn next_deadline(&self) -> Option<Instant> {
        None
    }

    /// The deadline has come.
    fn on_deadline(&mut self, _now: Instant, _onward: &mut Onward<D, U>) {}
}

enum Packet<D, U> {
    Down(D),
    Up(U),
}

/// Takes what a path passes on.
pub struct Onward<D, U> {
    now: Instant,
    arrivals: Agenda<(usize, Packet<D, U>)>,
}

impl<D, U> Onward<D, U> {
    /// To the client of a flow, where it arrives after a delay.
    pub fn down(&mut self, flow: usize, delay: Duration, packet: D) {
        self.arrivals.schedule(self.now + delay, (flow, Packet::Down(packet)));
    }

    /// To the server of a flow.
    pub fn up(&mut self, flow: usize, delay: Duration, packet: U) {
        self.arrivals.schedule(self.now + delay, (flow, Packet::Up(packet)));
    }
}

/// Flows, the path that they share, and what is under way.
pub struct Testbed<E: Ends, P> {
    /// What time it is.
    pub now: Instant,
    /// The flows.
    pub flows: Vec<E>,
    /// What lies between their ends.
    pub path: P,
    onward: Onward<E::Down, E::Up>,
    deadlines: Vec<Option<Instant>>,
    turns: u32,
}

/// Most tests have one flow: what is asked of the testbed and is not its own is asked of the first.
impl<E: Ends, P> Deref for Testbed<E, P> {
    type Target = E;
    fn deref(&self) -> &E {
        &self.flows[0]
    }
}

impl<E: Ends, P> DerefMut for Testbed<E, P> {
    fn deref_mut(&mut self) -> &mut E {
        &mut self.flows[0]
    }
}

impl<E: Ends, P: Path<E::Down, E::Up>> Testbed<E, P> {
    /// At time zero, with nothing under way.
    pub fn new(path: P, flows: Vec<E>) -> Self {
        Self {
            now: Instant::ZERO,
            flows,
            path,
            onward: Onward { now: Instant::ZERO, arrivals: Agenda::default() },
            deadlines: Vec::new(),
            turns: 0,
        }
    }

    /// Polls all flows: after something was done to one from outside.
    pub fn pump(&mut self) {
        self.onward.now = self.now;
        self.deadlines.resize(self.flows.len(), None);
        (0..self.flows.len()).for_each(|flow| self.poll(flow));
    }

    fn poll(&mut self, index: usize) {
        let flow = &mut self.flows[index];
        while let Some(packet) = flow.poll_down(self.now) {
            self.path.down(self.now, index, packet, &mut self.onward);
        }
        while let Some(packet) = flow.poll_up(self.now) {
            self.path.up(self.now, index, packet, &mut self.onward);
        }
        self.deadlines[index] = flow.next_deadline();
    }

    /// Does what is due next, if that is not after `end`; else it is `end` now, and the answer is `false`.
    pub fn step(&mut self, end: Instant) -> bool {
        if self.deadlines.len() < self.flows.len() {
            self.pump();
        }
        let path = self.path.next_deadline();
        let arrival = self.onward.arrivals.next();
        let ends = self.deadlines.iter().copied().flatten().min();
        let next = [path, arrival, ends].into_iter().flatten().min();
        let Some(next) = next.filter(|next| *next <= end) else {
            (self.now, self.turns) = (end, 0);
            return false;
        };
        assert!(next >= self.now, "{next} is a deadline of the past at {}", self.now);
        self.turns = if next == self.now { self.turns + 1 } else { 0 };
        assert!(self.turns < MAX_TURNS, "time stands still at {next}");
        (self.now, self.onward.now) = (next, next);
        if path == Some(next) {
            self.path.on_deadline(next, &mut self.onward);
        } else if let Some((flow, packet)) = self.onward.arrivals.pop(next) {
            match packet {
                Packet::Down(packet) => self.flows[flow].on_down(next, packet),
                Packet::Up(packet) => self.flows[flow].on_up(next, packet),
            }
            self.poll(flow);
        } else {
            for flow in 0..self.flows.len() {
                if self.deadlines[flow].is_some_and(|due| due <= next) {
                    self.flows[flow].on_deadline(next);
                    self.poll(flow);
                }
            }
        }
        true
    }

    /// Lets time pass until `end`.
    pub fn run_until(&mut self, end: Instant) {
        self.pump();
        while self.step(end) {}
    }

    /// Lets so much time pass.
    pub fn run_for(&mut self, span: Duration) {
        self.run_until(self.now + span);
    }
}
