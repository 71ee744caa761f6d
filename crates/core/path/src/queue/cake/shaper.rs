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

#[cfg(test)]
mod tests {
    use super::*;

    /// At 12 Mb/s 1500 B take 1 ms.
    const RATE: Rate = Rate::from_bps(12_000_000);
    const PACKET: Bytes = Bytes::new(1500);

    fn micros(count: i64) -> Instant {
        Instant::ZERO + Duration::from_micros(count)
    }

    /// `failsafe_next_packet` moves by half as much more, and only for what leaves.
    #[test]
    fn drops_hold_packets_back_no_longer_than_the_second_clock() {
        let mut shaper = Shaper::new(RATE);
        shaper.charge(PACKET);
        assert_eq!(shaper.next(), micros(1000));
        assert_eq!(shaper.charge_dropped(PACKET), Duration::from_millis(1));
        assert_eq!(shaper.next(), micros(1500));
    }

    /// `cake_enqueue`: only a clock that has fallen behind is set to now, and then both are.
    #[test]
    fn an_idle_shaper_saves_nothing_up() {
        let after = |now| {
            let mut shaper = Shaper::new(RATE);
            shaper.charge(PACKET);
            shaper.awaken(micros(now));
            (shaper.next, shaper.failsafe)
        };
        assert_eq!(after(999), (micros(1000), micros(1500)));
        assert_eq!(after(1000), (micros(1000), micros(1500)), "it is not behind");
        assert_eq!(after(1001), (micros(1001), micros(1001)));
    }

    /// A tin that is behind keeps what it has saved up; one that is ahead is a packet ahead at most.
    #[test]
    fn a_tin_owes_one_packet_at_most() {
        let after = |next, now| {
            let mut clock = Clock::new(RATE);
            clock.next = micros(next);
            clock.charge_at_most_one_ahead(micros(now), PACKET);
            clock.next()
        };
        assert_eq!(after(0, 5000), micros(1000));
        assert_eq!(after(4999, 5000), micros(5999));
        assert_eq!(after(5000, 5000), micros(6000));
        assert_eq!(after(5500, 5000), micros(6000));
        assert_eq!(after(9000, 5000), micros(9000));
    }
}
