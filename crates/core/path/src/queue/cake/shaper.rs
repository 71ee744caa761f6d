//! The shaper: packets leave no faster than the bandwidth, counted as the link below will frame them.
//!
//! Model: a clock that runs ahead. Each packet moves the time of the next by what it takes at the bandwidth,
//! and while that time lies ahead nothing leaves; it falls back to now only when packets come to an empty
//! queue. So nothing is saved up while the queue is empty, and a departure that was late is made up for
//! (Linux, `sch_cake.c`, `cake_advance_shaper`). A tin has such a clock at its threshold, which holds nothing
//! back but says on which side of the threshold the tin is.
//!
//! In `ingress` mode dropped packets move the clock too, since they came through the link below. A second clock,
//! which only packets that leave move, by half as much more, bounds what that may cost: packets leave when either
//! has come (`failsafe_next_packet`).

use gameway_units::{Bytes, Duration, Instant, Rate};

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

    pub(super) const fn set_rate(&mut self, rate: Rate) {
        self.rate = rate;
    }

    /// A packet comes while none of those that are counted waits.
    pub(super) fn awaken(&mut self, now: Instant) {
        self.next = self.next.max(now);
    }

    /// When the next packet may leave; of a tin, until when it is above its threshold.
    pub(super) const fn next(&self) -> Instant {
        self.next
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

/// See the module's head.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shaper {
    rate: Rate,
    next: Instant,
    failsafe: Instant,
}

impl Shaper {
    pub(super) const fn new(rate: Rate) -> Self {
        Self { rate, next: Instant::ZERO, failsafe: Instant::ZERO }
    }

    pub(super) const fn rate(&self) -> Rate {
        self.rate
    }

    /// What left before is paid for.
    pub(super) const fn set_rate(&mut self, rate: Rate) {
        self.rate = rate;
    }

    /// A packet comes while none waits.
    pub(super) fn awaken(&mut self, now: Instant) {
        if self.next < now {
            (self.next, self.failsafe) = (now, now);
        }
    }

    /// When the next packet may leave.
    pub(super) fn next(&self) -> Instant {
        self.next.min(self.failsafe)
    }

    /// A packet leaves.
    pub(super) fn charge(&mut self, length: Bytes) {
        let time = self.charge_dropped(length);
        self.failsafe = self.failsafe.saturating_add(time + time / 2);
    }

    /// A packet that came through the link is dropped; how long it took there.
    pub(super) fn charge_dropped(&mut self, length: Bytes) -> Duration {
        let time = self.rate.time_for(length);
        self.next = self.next.saturating_add(time);
        time
    }
}
