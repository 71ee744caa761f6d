//! A node of a Wi-Fi medium: what waits, what its MAC has taken up, and its back-off.

use super::timing::Timing;
use crate::{Dequeued, DropReason, Dropped, PathPacket, Queue, Transmitted};
use gameway_units::{Bytes, Duration, Instant};
use std::collections::VecDeque;

/// A packet that the MAC has taken up.
#[derive(Debug)]
struct Taken<P> {
    packet: P,
    enqueued: Instant,
    /// When the MAC took it up: its queueing delay ends then.
    taken: Instant,
    /// How often it was sent in vain.
    failures: u32,
    /// It is part of the frame on the air.
    flying: bool,
    /// The receiver has it, and holds it until it has those before it.
    received: bool,
}

/// See the module's head.
#[derive(Debug)]
pub(super) struct Node<P, Q> {
    pub queue: Q,
    /// In order, to one receiver; at most as many as a frame may have.
    hand: VecDeque<Taken<P>>,
    /// What the queue gave although it goes to another receiver than what is in hand.
    aside: Option<Dequeued<P>>,
    /// The slot, counted since the start, in which the back-off ends.
    pub expires: u64,
    /// The contention window.
    pub window: u32,
    /// When a shaper lets the next packet go.
    pub release: Option<Instant>,
}

/// The frame that a node sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Frame {
    pub psdu: Bytes,
    pub packets: usize,
    /// The station at the other end, if that is not the access point.
    pub peer: usize,
}

impl<P: PathPacket, Q: Queue<P>> Node<P, Q> {
    pub fn new(queue: Q, window: u32) -> Self {
        let (hand, aside) = (VecDeque::new(), None);
        Self { queue, hand, aside, expires: 0, window, release: None }
    }

    /// Whether it has something to send.
    pub fn contends(&self) -> bool {
        !self.hand.is_empty()
    }

    /// The packet in hand gives way to a more urgent one, if it was never sent: then it is the only one.
    pub fn reconsider(&mut self, now: Instant) {
        if self.hand.front().is_none_or(|first| first.failures > 0) {
            return;
        }
        let Some(first) = self.hand.pop_front() else { return };
        let Taken { packet, enqueued, .. } = first;
        self.hand.push_front(match self.queue.exchange(Dequeued { packet, enqueued }) {
            Ok(next) => taken(now, next),
            Err(Dequeued { packet, .. }) => Taken { packet, ..first },
        });
    }

    /// The first of the packets in hand.
    pub fn first(&self) -> Option<&P> {
        self.hand.front().map(|taken| &taken.packet)
    }

    /// Packets that wait or are in hand.
    pub fn packets_inside(&self) -> u64 {
        let outside = self.hand.len() + usize::from(self.aside.is_some());
        self.queue.backlog().packets + outside as u64
    }

    /// Takes up a packet if none is in hand.
    pub fn take_up(&mut self, now: Instant, dropped: &mut Vec<Dropped<P>>) {
        if self.contends() {
            return;
        }
        let next = self.aside.take().or_else(|| self.queue.dequeue(now, dropped));
        self.release = match next {
            Some(next) => {
                self.hand.push_back(taken(now, next));
                None
            }
            None => self.queue.next_release(now),
        };
    }

    /// Makes the frame that is sent now: what the receiver does not have, and what else there is for it.
    /// `same_receiver` says whether two packets go to one receiver. Gives its size with all headers and its packets.
    pub fn assemble(
        &mut self,
        now: Instant,
        timing: &Timing,
        same_receiver: impl Fn(&P, &P) -> bool,
        dropped: &mut Vec<Dropped<P>>,
    ) -> (Bytes, usize) {
        let max = timing.config().aggregation.packets;
        let mut bytes = Bytes::ZERO;
        let mut packets = 0;
        // Together they are no more than the frame that was sent before.
        for taken in self.hand.iter_mut().filter(|taken| !taken.received) {
            taken.flying = true;
            bytes += timing.aggregated(taken.packet.wire_size());
            packets += 1;
        }
        while self.hand.len() < max {
            let room = timing.room(bytes);
            let first = self.hand.front().map(|first| &first.packet);
            let next = match (self.aside.take(), first) {
                (None, Some(first)) => self.queue.dequeue_beside(now, first, room, dropped),
                (aside, _) => aside,
            };
            let Some(next) = next else { break };
            let with = bytes + timing.aggregated(next.packet.wire_size());
            let fits = with <= timing.max_bytes();
            if !fits
                || !self.hand.front().is_some_and(|own| same_receiver(&own.packet, &next.packet))
            {
                self.aside = Some(next);
                break;
            }
            self.hand.push_back(Taken { flying: true, ..taken(now, next) });
            (bytes, packets) = (with, packets + 1);
        }
        let psdu = if packets == 1 { timing.alone(self.flying_size()) } else { bytes };
        (psdu, packets)
    }

    /// The queue is told what the frame takes.
    pub fn tell_airtime(&mut self, airtime: Duration) {
        let bytes = self.flying_size();
        if let Some(first) = self.hand.front() {
            self.queue.on_airtime(&first.packet, bytes, airtime);
        }
    }

    /// Bytes of the packets on the air, without headers of the MAC.
    fn flying_size(&self) -> Bytes {
        let flying = self.hand.iter().filter(|taken| taken.flying);
        flying.map(|taken| taken.packet.wire_size()).fold(Bytes::ZERO, |sum, size| sum + size)
    }

    /// The frame has arrived but for the packets that `damaged` picks. Whether any was whole.
    pub fn arrives(&mut self, mut damaged: impl FnMut() -> bool) -> bool {
        let mut any = false;
        for taken in self.hand.iter_mut().filter(|taken| taken.flying) {
            taken.received = !damaged();
            any |= taken.received;
        }
        any
    }

    /// The next packet that the receiver passes on: those before it have arrived or been given up.
    pub fn pop_delivered(&mut self, now: Instant) -> Option<Transmitted<P>> {
        self.hand.front().filter(|first| first.received)?;
        let Taken { packet, enqueued, taken, .. } = self.hand.pop_front()?;
        Some(Transmitted { packet, enqueued, started: taken, finished: now })
    }

    /// The frame has been on the air; packets that were sent in vain `attempts` times are given up. Whether
    /// any was.
    pub fn landed(&mut self, attempts: u32, dropped: &mut Vec<Dropped<P>>) -> bool {
        for taken in self.hand.iter_mut().filter(|taken| taken.flying) {
            taken.failures += u32::from(!taken.received);
            taken.flying = false;
        }
        let before = dropped.len();
        let given_up = |taken: &Taken<P>| !taken.received && taken.failures >= attempts;
        while let Some(place) = self.hand.iter().position(given_up) {
            let gone = self.hand.remove(place).map(|Taken { packet, enqueued, .. }| Dropped {
                packet,
                enqueued,
                reason: DropReason::RetryLimit,
            });
            dropped.extend(gone);
        }
        dropped.len() > before
    }
}

fn taken<P>(now: Instant, next: Dequeued<P>) -> Taken<P> {
    let Dequeued { packet, enqueued } = next;
    Taken { packet, enqueued, taken: now, failures: 0, flying: false, received: false }
}
