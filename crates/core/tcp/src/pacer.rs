//! Spreads segments over time at the rate that the congestion control asks, a few at once.
//!
//! Source: Linux `net/ipv4/tcp_output.c`: `tcp_update_skb_after_send` (pacing), `tcp_tso_autosize` (bursts).
//! Model: what is handed down at once is a burst of as many segments as the rate sends in 1/1024 s; over
//! short paths more. A burst moves the earliest time of the next by its payload over the rate; one that left
//! late earns back up to half of its own spacing. The first bursts are not paced.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | time of a burst, least | 1/1024 s, 2 segments | `sk_pacing_shift` 10, `tcp_min_tso_segs` |
//! | largest burst | 65,536 bytes | `GSO_LEGACY_MAX_SIZE` |
//! | a path is short | that size is halved for each 512 us of its smallest RTT | `tcp_tso_rtt_log` 9 |
//! | unpaced | bursts that end within the first 9 segments | `tcp_update_skb_after_send`: below 10, this one counted |

use gameway_units::{Bytes, Duration, Instant, Rate};

const UNPACED_SEGMENTS: u32 = 9;
const MAX_BURST: u64 = 65_536;
/// Halves the largest burst once per 2^9 us of RTT.
const RTT_SHIFT: u32 = 9;

/// How much a paced sender hands down at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Burst {
    /// As many segments as the rate sends in this time.
    pub time: Duration,
    /// The least number of segments.
    pub min_segments: u32,
}

impl Burst {
    /// Linux by default.
    pub const LINUX: Self =
        Self { time: Duration::from_nanos(1_000_000_000 / 1024), min_segments: 2 };

    /// Segments of a burst at `rate` over a path of `min_rtt`.
    #[must_use]
    pub fn segments(self, rate: Rate, segment_size: u32, min_rtt: Option<Duration>) -> u32 {
        let micros = min_rtt.map_or(i64::MAX, |rtt| rtt.as_nanos() / 1000);
        let short = u32::try_from(micros >> RTT_SHIFT)
            .ok()
            .and_then(|shift| MAX_BURST.checked_shr(shift))
            .unwrap_or(0);
        let bytes = ((rate * self.time).get() + short).min(MAX_BURST);
        let segments = bytes / u64::from(segment_size.max(1));
        u32::try_from(segments).unwrap_or(u32::MAX).max(self.min_segments)
    }
}

/// The clock of departures.
#[derive(Debug, Clone, Copy, Default)]
pub struct Pacer {
    next: Instant,
    segments: u32,
    /// Whether the present burst is paced, and what it earned by being late.
    paced: bool,
    credit: Duration,
}

impl Pacer {
    /// The earliest departure of the next burst.
    #[must_use]
    pub fn next(&self) -> Instant {
        self.next
    }

    /// A burst of `segments` segments begins to leave.
    pub fn on_burst(&mut self, now: Instant, segments: u32) {
        self.paced = self.segments.saturating_add(segments) > UNPACED_SEGMENTS;
        self.credit = now.saturating_since(self.next);
        self.next = self.next.max(now);
    }

    /// A segment of the burst leaves.
    pub fn on_sent(&mut self, payload: u32, rate: Option<Rate>) {
        self.segments = self.segments.saturating_add(1);
        let Some(rate) = rate.filter(|rate| *rate > Rate::ZERO && self.paced) else { return };
        let spacing = rate.time_for(Bytes::new(u64::from(payload)));
        let earned = self.credit.min(spacing / 2);
        self.credit -= earned;
        self.next = self.next.saturating_add(spacing - earned);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn us(micros: i64) -> Duration {
        Duration::from_micros(micros)
    }

    /// A pacer past its unpaced segments, at 1 us per byte.
    fn started() -> (Pacer, Option<Rate>) {
        let rate = Some(Rate::from_mbps(8));
        let mut pacer = Pacer::default();
        (0..9).for_each(|_| burst(&mut pacer, Instant::ZERO, 1, rate));
        assert_eq!(pacer.next(), Instant::ZERO);
        (pacer, rate)
    }

    fn burst(pacer: &mut Pacer, now: Instant, segments: u32, rate: Option<Rate>) {
        pacer.on_burst(now, segments);
        (0..segments).for_each(|_| pacer.on_sent(1000, rate));
    }

    #[test]
    fn spacing_and_credit() {
        let (mut pacer, rate) = started();
        burst(&mut pacer, Instant::ZERO, 1, rate);
        assert_eq!(pacer.next(), Instant::ZERO + us(1000));
        let late = pacer.next() + us(300);
        burst(&mut pacer, late, 1, rate);
        assert_eq!(pacer.next(), late + us(700));
        let very_late = pacer.next() + Duration::from_secs(1);
        burst(&mut pacer, very_late, 1, rate);
        assert_eq!(pacer.next(), very_late + us(500));
    }

    #[test]
    fn a_burst_moves_the_next_by_all_of_it() {
        let (mut pacer, rate) = started();
        burst(&mut pacer, Instant::ZERO, 2, rate);
        assert_eq!(pacer.next(), Instant::ZERO + us(2000));
        // Late by more than half of its spacing: earns half of the whole burst.
        let late = pacer.next() + us(1500);
        burst(&mut pacer, late, 2, rate);
        assert_eq!(pacer.next(), late + us(1000));
        // Late by less: the first segment earns half of its spacing, the second what is left.
        let late = pacer.next() + us(700);
        burst(&mut pacer, late, 2, rate);
        assert_eq!(pacer.next(), late + us(500 + 800));
        burst(&mut pacer, late + us(1300), 1, Some(Rate::ZERO));
        assert_eq!(pacer.next(), late + us(1300), "no rate is no pace");
    }

    #[test]
    fn without_a_rate_the_next_may_leave_when_the_last_did() {
        let (mut pacer, _) = started();
        burst(&mut pacer, Instant::ZERO + us(500), 2, None);
        assert_eq!(pacer.next(), Instant::ZERO + us(500));
    }

    /// By hand from `tcp_tso_autosize`: 25 Mb/s / 1024 is 3051 bytes.
    #[test]
    fn bursts_as_linux_sizes_them() {
        let size = |mbps, rtt| Burst::LINUX.segments(Rate::from_mbps(mbps), 1448, Some(us(rtt)));
        assert_eq!(size(1, 20_000), 2);
        assert_eq!(size(25, 20_000), 2);
        assert_eq!(size(100, 20_000), 8);
        assert_eq!(size(100_000, 20_000), 45);
        // 2 ms is 3 x 512 us and more: 65,536 / 8 bytes on top.
        assert_eq!(size(25, 2_000), 7);
        assert_eq!(Burst::LINUX.segments(Rate::from_mbps(25), 1448, None), 2);
    }
}
