//! The smoothed share of packets that the network marked.
//!
//! Source: draft-ietf-ccwg-rfc8298bis-screamv2, "Receiving ECN-CE for L4S" (read in the editors' copy at
//! 00d8f51); the shape is DCTCP's (RFC 8257 section 3.3).
//!
//! Model: count packets delivered and marked; every min(10 ms, smoothed RTT) a share comes of it. A share
//! at or above the average pulls it up with gain 1/8; a lower one only lets it decay by 1/128.
//! So marks of which most intervals see none count for more than they are: the window rests where alpha
//! stands for two marks per round trip, which evenly spread marks reach at about one, and those at the
//! ends of frames at about a half (`tests/scream.rs`).
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | gain up, gain down | 1/8, 1/128 | draft and Ericsson's C++ |
//! | update interval | 10 ms, or the smoothed RTT if shorter | the same |
//! | start | 0 | draft (C++: 0.1) |
//!
//! No deviations from the draft: packets are counted, not bytes, as it asks.

use gameway_units::{Duration, Instant};

const GAIN_UP: f64 = 1.0 / 8.0;
const GAIN_DOWN: f64 = 1.0 / 128.0;
const UPDATE_INTERVAL: Duration = Duration::from_millis(10);

/// See the module.
#[derive(Debug, Clone, Default)]
pub(super) struct L4sAlpha {
    alpha: f64,
    delivered: u64,
    marked: u64,
    last_update: Option<Instant>,
}

impl L4sAlpha {
    pub(super) fn get(&self) -> f64 {
        self.alpha
    }

    /// Counts the packets of a report, `marked` of the `delivered`.
    pub(super) fn on_report(
        &mut self,
        now: Instant,
        smoothed_rtt: Duration,
        delivered: u64,
        marked: u64,
    ) {
        self.delivered += delivered;
        self.marked += marked;
        let interval = UPDATE_INTERVAL.min(smoothed_rtt);
        let waited = self.last_update.is_none_or(|last| now.saturating_since(last) >= interval);
        if !waited || self.delivered == 0 {
            return;
        }
        let share = self.marked as f64 / self.delivered as f64;
        self.alpha = if share >= self.alpha {
            self.alpha + GAIN_UP * (share - self.alpha)
        } else {
            self.alpha * (1.0 - GAIN_DOWN)
        };
        (self.delivered, self.marked) = (0, 0);
        self.last_update = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(40);

    fn at(millis: i64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    fn close(left: f64, right: f64) {
        assert!((left - right).abs() < 1e-12, "{left} {right}");
    }

    #[test]
    fn it_rises_by_an_eighth_and_decays_by_a_128th() {
        let mut alpha = L4sAlpha::default();
        alpha.on_report(at(0), RTT, 10, 5);
        close(alpha.get(), 0.0625);
        alpha.on_report(at(10), RTT, 10, 5);
        close(alpha.get(), 0.0625 + (0.5 - 0.0625) / 8.0);
        let high = alpha.get();
        // A lower share decays it all the same, however much lower it is.
        alpha.on_report(at(20), RTT, 100, 1);
        close(alpha.get(), high * 127.0 / 128.0);
    }

    #[test]
    fn counts_gather_until_the_interval_is_over() {
        let mut alpha = L4sAlpha::default();
        alpha.on_report(at(0), RTT, 1, 0);
        alpha.on_report(at(4), RTT, 6, 0);
        alpha.on_report(at(9), RTT, 1, 1);
        close(alpha.get(), 0.0);
        alpha.on_report(at(10), RTT, 1, 1);
        close(alpha.get(), 0.25 / 8.0);
        // A round trip shorter than 10 ms shortens the interval.
        alpha.on_report(at(14), Duration::from_millis(4), 1, 1);
        assert!(alpha.get() > 0.15);
    }

    #[test]
    fn nothing_delivered_says_nothing() {
        let mut alpha = L4sAlpha::default();
        alpha.on_report(at(0), RTT, 1, 1);
        alpha.on_report(at(100), RTT, 0, 0);
        close(alpha.get(), 0.125);
    }
}
