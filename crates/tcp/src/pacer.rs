//! Spreads segments over time at the rate that the congestion control asks.
//!
//! Source: Linux `net/ipv4/tcp_output.c`, `tcp_update_skb_after_send`.
//! Model: each segment moves the earliest time of the next by its payload over the rate; a segment
//! that left late earns back up to half of its own spacing. The first ten segments are not paced.

use gameway_units::{Bytes, Instant, Rate};

const UNPACED_SEGMENTS: u32 = 10;

/// The clock of departures.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Pacer {
    next: Instant,
    segments: u32,
}

impl Pacer {
    /// The earliest departure of the next segment.
    pub(crate) fn next(&self) -> Instant {
        self.next
    }

    pub(crate) fn on_sent(&mut self, now: Instant, payload: u32, rate: Option<Rate>) {
        self.segments = self.segments.saturating_add(1);
        let Some(rate) = rate.filter(|rate| *rate > Rate::ZERO) else { return };
        if self.segments <= UNPACED_SEGMENTS {
            self.next = now;
            return;
        }
        let spacing = rate.time_for(Bytes::new(u64::from(payload)));
        let credit = now.saturating_since(self.next).min(spacing / 2);
        self.next = now.saturating_add(spacing - credit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gameway_units::Duration;

    #[test]
    fn spacing_and_credit() {
        let rate = Some(Rate::from_mbps(8)); // 1 µs per byte
        let mut pacer = Pacer::default();
        (0..10).for_each(|_| pacer.on_sent(Instant::ZERO, 1000, rate));
        assert_eq!(pacer.next(), Instant::ZERO);
        pacer.on_sent(Instant::ZERO, 1000, rate);
        assert_eq!(pacer.next(), Instant::ZERO + Duration::from_millis(1));
        let late = pacer.next() + Duration::from_micros(300);
        pacer.on_sent(late, 1000, rate);
        assert_eq!(pacer.next(), late + Duration::from_micros(700));
        let very_late = pacer.next() + Duration::from_secs(1);
        pacer.on_sent(very_late, 1000, rate);
        assert_eq!(pacer.next(), very_late + Duration::from_micros(500));
    }
}
