//! The shaper: packets leave no faster than the bandwidth, counted as the link below will frame them.
//!
//! Model: a clock that runs ahead. Each packet moves the time of the next by what it takes at the bandwidth,
//! and while that time lies ahead nothing leaves; it falls back to now only when packets come to an empty
//! queue. So nothing is saved up while the queue is empty, and a departure that was late is made up for
//! (Linux, `sch_cake.c`, `cake_advance_shaper`). A tin has such a clock at its threshold, which holds nothing
//! back but says on which side of the threshold the tin is.

use gameway_units::{Bytes, Instant, Rate};

/// Cells or blocks in which the link below carries packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Cells {
    /// Neither.
    #[default]
    None,
    /// ATM: 48 B of payload in each cell of 53 B, the last one filled up.
    Atm,
    /// PTM (64b/65b): a byte for every 64 B or part of it.
    Ptm,
}

/// How long a packet is on the link below, which the bandwidth is counted on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Framing {
    /// Bytes that each packet is longer there.
    pub overhead: Bytes,
    /// The least length of a frame.
    pub least: Bytes,
    /// What frames are cut into.
    pub cells: Cells,
}

impl Framing {
    pub(super) fn length(&self, size: Bytes) -> Bytes {
        let frame = size.saturating_add(self.overhead).max(self.least);
        match self.cells {
            Cells::None => frame,
            Cells::Atm => Bytes::new(frame.get().div_ceil(48).saturating_mul(53)),
            Cells::Ptm => frame.saturating_add(Bytes::new(frame.get().div_ceil(64))),
        }
    }
}

/// A clock that runs ahead.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clock {
    rate: Rate,
    next: Instant,
}

impl Clock {
    pub(super) const fn new(rate: Rate) -> Self {
        Self { rate, next: Instant::ZERO }
    }

    /// A packet comes while none of those that are counted waits.
    pub(super) fn awaken(&mut self, now: Instant) {
        self.next = self.next.max(now);
    }

    /// When the next packet may leave; of a tin, until when it is above its threshold.
    pub(super) const fn next(&self) -> Instant {
        self.next
    }

    /// A packet leaves, of those that the shaper holds back.
    pub(super) fn charge(&mut self, length: Bytes) {
        self.next = self.next.saturating_add(self.rate.time_for(length));
    }

    /// A packet of a tin leaves. One packet ahead at most: who had more than its share while others had
    /// nothing to send owes nothing.
    pub(super) fn charge_at_most_one_ahead(&mut self, now: Instant, length: Bytes) {
        let time = self.rate.time_for(length);
        let ahead = now.saturating_add(time);
        if self.next < now {
            self.next = self.next.saturating_add(time);
        } else if self.next < ahead {
            self.next = ahead;
        }
    }
}
