//! The smoothed share of packets that the network marked.
//!
//! Source: draft-ietf-ccwg-rfc8298bis-screamv2, "Receiving ECN-CE for L4S" (read in the editors' copy at
//! 00d8f51); the shape is DCTCP's (RFC 8257 section 3.3).
//!
//! Model: count packets delivered and marked; every min(10 ms, smoothed RTT) a share comes of it. A share
//! at or above the average pulls it up with gain 1/8; a lower one only lets it decay by 1/128.
//!
//! Where that rests, at a round trip of 25 ms, with mu marks per round trip, lambda = mu 10/25 per interval
//! and a = alpha times the packets of an interval (`tests/all/scream.rs` holds it to all of this):
//!
//! - The window: growth is a segment per 25 ms, a reaction takes alpha / 2, so alpha times the window summed
//!   over reactions is two packets. With r reactions per round trip, `a = 0.8 / r`. A reaction needs a mark
//!   and 25 ms since the last: evenly spread marks give `r = min(1, mu)`, random ones
//!   `r = 1 / (1 + exp(-mu) / mu)`.
//! - A symmetric filter holds alpha at the share of marks, `a = lambda`, so `mu r = 2`: mu = 2 for even
//!   marks, 2.115 for random ones. These are the two marks per round trip for which L4S is designed.
//! - The draft's filter rests where `16 E[(k - a)+] = a P(k < a)`, k marks in an interval. For even marks
//!   k is 0 or 1 and `16 lambda (1 - a) = a (1 - lambda)`: mu = 0.89, a = 0.9. For random (Poisson) ones:
//!   mu = 1.0, a = 1.1.
//!
//! So about one real mark per round trip stands for two: the filter is meant so, since fast up and slow down is
//! steadier behind high marking thresholds. Marks in bursts (a step threshold, or the ends of frames)
//! stand for more still. Ericsson's code has it since 4 November 2025, before that a symmetric one of 1/16 (5c842c7) or 1/32.
//! The draft has it from -05 of the individual versions to -01 of the working group's (6 July 2026); the editors' copy of
//! October 2026, on the way to -02, has a symmetric one of 1/16 again. Of libwebrtc there are copies with either.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | gain up, gain down | 1/8, 1/128 | draft, Ericsson's C++, libwebrtc |
//! | gain of the symmetric filter (an option) | 1/16 | editors' copy of October 2026; DCTCP, RFC 8257 section 3.3 |
//! | update interval | 10 ms, or the smoothed RTT if shorter | the same |
//! | start | 0 | draft (C++: 0.1) |
//!
//! | Deviation | Why |
//! |---|---|
//! | Draft: an update is due an interval after the last was due, not after it was made | reports come every 5 ms: with any jitter half of the second ones after an update are a microsecond early, and the update would wait for a third. On 50 Mb/s beside CUBIC in a DualPI2 that alone gave 16 in place of 14 Mb/s |
//!
//! Packets are counted, not bytes, as the draft asks.

use gameway_units::{Duration, Instant};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const GAIN_UP: f64 = 1.0 / 8.0;
const GAIN_DOWN: f64 = 1.0 / 128.0;
const GAIN_DCTCP: f64 = 1.0 / 16.0;
const UPDATE_INTERVAL: Duration = Duration::from_millis(10);

/// How shares become an average.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AlphaFilter {
    /// Up by an eighth of the difference, down by a 128th of itself (the draft).
    #[default]
    FastAttack,
    /// By a sixteenth of the difference either way (DCTCP).
    Symmetric,
}

/// See the module.
#[derive(Debug, Clone, Default)]
pub(super) struct L4sAlpha {
    filter: AlphaFilter,
    /// An update is due an interval after the last one was due, not after it was made.
    keeps_schedule: bool,
    alpha: f64,
    /// The share of the last update.
    share: f64,
    delivered: u64,
    marked: u64,
    last_due: Option<Instant>,
}

impl L4sAlpha {
    pub(super) fn new(filter: AlphaFilter, first: f64, keeps_schedule: bool) -> Self {
        Self { filter, alpha: first, keeps_schedule, ..Self::default() }
    }

    /// Whether all packets of the last update were marked.
    pub(super) fn all_marked(&self) -> bool {
        self.share >= 1.0
    }

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
        let due = self.last_due.map_or(now, |last| last.saturating_add(interval));
        if now < due || self.delivered == 0 {
            return;
        }
        let share = self.marked as f64 / self.delivered as f64;
        self.alpha = match self.filter {
            AlphaFilter::Symmetric => self.alpha + GAIN_DCTCP * (share - self.alpha),
            AlphaFilter::FastAttack if share >= self.alpha => {
                self.alpha + GAIN_UP * (share - self.alpha)
            }
            AlphaFilter::FastAttack => self.alpha * (1.0 - GAIN_DOWN),
        };
        self.share = share;
        (self.delivered, self.marked) = (0, 0);
        // Behind by more than an interval, it begins anew.
        let on_time = self.keeps_schedule && now < due.saturating_add(interval);
        self.last_due = Some(if on_time { due } else { now });
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
        let mut alpha = L4sAlpha::new(AlphaFilter::FastAttack, 0.0, true);
        alpha.on_report(at(0), RTT, 10, 5);
        close(alpha.get(), 0.0625);
        alpha.on_report(at(10), RTT, 10, 5);
        close(alpha.get(), 0.0625 + (0.5 - 0.0625) / 8.0);
        let high = alpha.get();
        // A lower share decays it all the same, however much lower it is.
        alpha.on_report(at(20), RTT, 100, 1);
        close(alpha.get(), high * 127.0 / 128.0);
    }

    /// Where a report is a little early, the next one is the first that an interval since the last update lets through.
    #[test]
    fn jitter_of_reports_makes_updates_rarer_unless_they_keep_a_schedule() {
        for (keeps_schedule, expected) in [(true, 98.5..=100.5), (false, 65.5..=67.0)] {
            let mut alpha = L4sAlpha::new(AlphaFilter::FastAttack, 0.0, keeps_schedule);
            alpha.on_report(at(0), RTT, 1, 1);
            for report in 1..=200 {
                let early = Duration::from_micros([0, 100, 50][report as usize % 3]);
                alpha.on_report(at(5 * report) - early, RTT, 1, 0);
            }
            let updates = libm::log(alpha.get() * 8.0) / libm::log(127.0 / 128.0);
            assert!(expected.contains(&updates), "{updates} in a second");
        }
    }

    #[test]
    fn counts_gather_until_the_interval_is_over() {
        let mut alpha = L4sAlpha::new(AlphaFilter::FastAttack, 0.0, true);
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
        let mut alpha = L4sAlpha::new(AlphaFilter::FastAttack, 0.0, true);
        alpha.on_report(at(0), RTT, 1, 1);
        alpha.on_report(at(100), RTT, 0, 0);
        close(alpha.get(), 0.125);
    }

    #[test]
    fn the_symmetric_filter_moves_by_a_sixteenth_either_way() {
        let mut alpha = L4sAlpha::new(AlphaFilter::Symmetric, 0.0, true);
        alpha.on_report(at(0), RTT, 10, 5);
        close(alpha.get(), 0.5 / 16.0);
        alpha.on_report(at(10), RTT, 10, 5);
        close(alpha.get(), 0.5 / 16.0 * 15.0 / 16.0 + 0.5 / 16.0);
        let high = alpha.get();
        alpha.on_report(at(20), RTT, 10, 0);
        close(alpha.get(), high * 15.0 / 16.0);
    }

    #[test]
    fn it_tells_whether_all_of_the_last_update_were_marked() {
        let mut alpha = L4sAlpha::new(AlphaFilter::FastAttack, 0.0, true);
        for (time, marked, all) in [(0, 9, false), (10, 10, true), (15, 0, true), (20, 10, false)] {
            alpha.on_report(at(time), RTT, 10, marked);
            assert_eq!(alpha.all_marked(), all, "{time}");
        }
    }
}
