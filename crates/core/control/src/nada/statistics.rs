//! What NADA's receiver measures (RFC 8698, sections 4.2 and 5.1), from reports of single packets.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | LOGWIN | 500 ms | RFC 8698, Figure 3 |
//! | taps of the minimum filter | 15 packets | RFC 8698, section 5.1.1 |
//! | window of the baseline delay | 10 min | ours: the RFC says a relatively long period |
//! | loss intervals in the mean | 8, weights 1, 1, 1, 1, 0.8, 0.6, 0.4, 0.2 | RFC 5348, section 5.4 |
//! | packets in the window at most | 16384 | ours: bounds memory |
//!
//! | Deviation | Why |
//! |---|---|
//! | A baseline delay by which a packet would have been under way for longer than since it was sent is forgotten | the RFC says nothing of clocks that jump: for ten minutes the empty path would look full |

use crate::PacketReport;
use crate::filter::{BaseDelay, WindowedMin};
use gameway_units::{Bytes, Duration, Ecn, Instant, Rate, ReceiverInstant};
use std::collections::VecDeque;

const LOGWIN: Duration = Duration::from_millis(500);
const TAPS: usize = 15;
const BASE_WINDOW: Duration = Duration::from_secs(600);
const WINDOW_PACKETS: usize = 16_384;
const INTERVALS: usize = 8;
const WEIGHTS: [f64; INTERVALS] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];

/// A packet of the window.
#[derive(Debug, Clone, Copy)]
struct Logged {
    /// When it was sent, but never before the packet logged before it.
    sent: Instant,
    size: Bytes,
    arrival: Option<ReceiverInstant>,
    marked: bool,
}

/// Numbers of packets between loss events, as in TFRC; losses in a row are one event.
#[derive(Debug, Clone, Default)]
struct LossIntervals {
    /// Packets since the last loss event began, it included; `None` before the first loss.
    open: Option<u64>,
    /// Closed intervals, newest first; only the first `closed` count.
    lengths: [f64; INTERVALS],
    closed: usize,
    /// Whether the packet before was lost.
    losing: bool,
}

impl LossIntervals {
    fn on_packet(&mut self, lost: bool) {
        if lost && !self.losing {
            self.close();
        } else if let Some(open) = &mut self.open {
            *open = open.saturating_add(1);
        }
        self.losing = lost;
    }

    fn close(&mut self) {
        if let Some(open) = self.open {
            self.lengths.rotate_right(1);
            self.lengths[0] = open as f64;
            self.closed = (self.closed + 1).min(INTERVALS);
        }
        self.open = Some(1);
    }

    /// Packets since the last loss event, and the mean interval between events.
    fn current_and_mean(&self) -> Option<(f64, f64)> {
        let open = self.open? as f64;
        let closed = &self.lengths[..self.closed];
        if closed.is_empty() {
            return Some((open, open));
        }
        let with_open = std::iter::once(&open).chain(closed).zip(WEIGHTS);
        let (mut sum_open, mut sum_closed, mut weights) = (0.0, 0.0, 0.0);
        for ((length, newer), weight) in closed.iter().zip(with_open.map(|(l, _)| l)).zip(WEIGHTS) {
            sum_closed += weight * length;
            sum_open += weight * newer;
            weights += weight;
        }
        Some((open, sum_closed.max(sum_open) / weights))
    }
}

/// See the module.
#[derive(Debug, Clone)]
pub(super) struct Statistics {
    window: VecDeque<Logged>,
    received: u64,
    received_bytes: Bytes,
    marked: u64,
    base: BaseDelay,
    /// Least negated one-way delay of the window: the greatest delay.
    greatest: WindowedMin,
    /// Newest one-way delays; only the first `tapped` count until it is full.
    taps: [Duration; TAPS],
    tapped: usize,
    intervals: LossIntervals,
}

impl Statistics {
    pub(super) fn new() -> Self {
        Self {
            window: VecDeque::with_capacity(2_048),
            received: 0,
            received_bytes: Bytes::ZERO,
            marked: 0,
            base: BaseDelay::new(BASE_WINDOW),
            greatest: WindowedMin::new(LOGWIN),
            taps: [Duration::ZERO; TAPS],
            tapped: 0,
            intervals: LossIntervals::default(),
        }
    }

    /// A report that comes at `now`.
    pub(super) fn on_packet(&mut self, now: Instant, report: &PacketReport) {
        let newest = self.window.back().map_or(report.packet.sent, |logged| logged.sent);
        let sent = report.packet.sent.max(newest);
        let marked = report.arrival.is_some() && report.ecn == Ecn::Ce;
        self.log(Logged { sent, size: report.packet.size, arrival: report.arrival, marked });
        self.intervals.on_packet(report.arrival.is_none());
        if let Some(arrival) = report.arrival {
            let delay = arrival.one_way_delay_since(report.packet.sent);
            self.base.insert(now, report.packet.sent, arrival);
            self.greatest.insert(sent, Duration::ZERO.saturating_sub(delay));
            self.taps[self.tapped % TAPS] = delay;
            // Past the first round only the remainder matters: no overflow, and "full" stays true.
            self.tapped = if self.tapped + 1 == 2 * TAPS { TAPS } else { self.tapped + 1 };
        }
    }

    fn log(&mut self, logged: Logged) {
        self.window.push_back(logged);
        self.count(&logged, true);
        while let Some(oldest) = self.window.front().copied() {
            let old = logged.sent.saturating_since(oldest.sent) > LOGWIN;
            if !old && self.window.len() <= WINDOW_PACKETS {
                break;
            }
            self.window.pop_front();
            self.count(&oldest, false);
        }
    }

    fn count(&mut self, logged: &Logged, enters: bool) {
        // Huge sizes would saturate the sum and leave it wrong for ever.
        let size = Bytes::new(logged.size.get().min(1 << 32));
        let (received, marked) = (u64::from(logged.arrival.is_some()), u64::from(logged.marked));
        if enters {
            self.received += received;
            self.marked += marked;
            self.received_bytes += if received == 1 { size } else { Bytes::ZERO };
        } else {
            self.received -= received;
            self.marked -= marked;
            let size = if received == 1 { size } else { Bytes::ZERO };
            self.received_bytes = self.received_bytes.saturating_sub(size);
        }
    }

    /// The queueing delay: the least of the last 15 delays over the baseline.
    pub(super) fn queue_delay(&self) -> Option<Duration> {
        let min = self.taps[..self.tapped.min(TAPS)].iter().min()?;
        Some(min.saturating_sub(self.base.get()?).max(Duration::ZERO))
    }

    /// The longest queueing delay of the window, unfiltered.
    pub(super) fn max_queue_delay(&self) -> Option<Duration> {
        let greatest = Duration::ZERO.saturating_sub(self.greatest.get()?);
        Some(greatest.saturating_sub(self.base.get()?))
    }

    /// Share of the window's packets that were lost.
    pub(super) fn loss_ratio(&self) -> f64 {
        let all = self.window.len() as f64;
        if all > 0.0 { (all - self.received as f64) / all } else { 0.0 }
    }

    /// Share of the window's received packets that were marked.
    pub(super) fn marking_ratio(&self) -> f64 {
        if self.received > 0 { self.marked as f64 / self.received as f64 } else { 0.0 }
    }

    /// Rate at which the window's packets arrived: all bytes but the first packet's, over the time from
    /// the first to the last arrival.
    pub(super) fn receiving_rate(&self) -> Option<Rate> {
        let first = self.window.iter().find(|logged| logged.arrival.is_some())?;
        let last = self.window.iter().rev().find_map(|logged| logged.arrival)?;
        let span = last.saturating_since(first.arrival?).as_secs_f64();
        let bits = self.received_bytes.saturating_sub(first.size).as_f64() * 8.0;
        (span > 0.0).then(|| Rate::from_bps_f64(bits / span))
    }

    /// Packets since the last loss event, and the mean interval between events.
    pub(super) fn loss_intervals(&self) -> Option<(f64, f64)> {
        self.intervals.current_and_mean()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FrameId, SentPacket, SequenceNumber};

    /// Sent at `sent` ms, arrived with this one-way delay in ms.
    fn report(sent: i64, delay: Option<i64>) -> PacketReport {
        let packet = SentPacket::new(
            SequenceNumber(sent as u64),
            Instant::ZERO + Duration::from_millis(sent),
            FrameId(0),
            Bytes::new(1_000),
        );
        let arrival =
            delay.map(|delay| ReceiverInstant::from_nanos((5_000 + sent + delay) * 1_000_000));
        PacketReport::new(packet, arrival)
    }

    /// Reported a second after it was sent.
    fn feed(statistics: &mut Statistics, report: PacketReport) {
        statistics.on_packet(report.packet.sent + Duration::from_secs(1), &report);
    }

    fn near(value: f64, expected: f64) -> bool {
        (value - expected).abs() < 1e-9
    }

    #[test]
    fn queue_delay_is_the_least_of_fifteen_over_the_baseline() {
        let mut statistics = Statistics::new();
        assert_eq!(statistics.queue_delay(), None);
        feed(&mut statistics, report(0, Some(10)));
        for index in 1..15 {
            feed(&mut statistics, report(index, Some(30 + index)));
        }
        assert_eq!(statistics.queue_delay(), Some(Duration::ZERO));
        // The sixteenth pushes out the first: the least is now 31, the baseline still 10.
        feed(&mut statistics, report(15, Some(60)));
        assert_eq!(statistics.queue_delay(), Some(Duration::from_millis(21)));
        assert_eq!(statistics.max_queue_delay(), Some(Duration::from_millis(50)));
        for index in 16..60 {
            feed(&mut statistics, report(index, Some(40)));
        }
        assert_eq!(statistics.queue_delay(), Some(Duration::from_millis(30)));
    }

    #[test]
    fn ratios_and_rate_are_those_of_the_last_half_second() {
        let mut statistics = Statistics::new();
        for index in 0..200 {
            // A packet each 10 ms; every fifth is lost during the first second.
            let lost = index < 100 && index % 5 == 0;
            let ecn = if index % 10 == 1 { Ecn::Ce } else { Ecn::Ect0 };
            let report = report(index * 10, (!lost).then_some(10));
            feed(&mut statistics, report.with_ecn(ecn));
            if index == 99 {
                // 490 to 990 ms: 51 packets, ten lost; five of 41 marked.
                assert!(near(statistics.loss_ratio(), 10.0 / 51.0));
                assert!(near(statistics.marking_ratio(), 5.0 / 41.0));
                // 40 packets of 1000 bytes in the 500 ms after the first.
                assert_eq!(statistics.receiving_rate(), Some(Rate::from_kbps(640)));
            }
        }
        assert!(near(statistics.loss_ratio(), 0.0));
        assert_eq!(statistics.receiving_rate(), Some(Rate::from_kbps(800)));
    }

    #[test]
    fn loss_intervals_are_the_weighted_mean_of_tfrc() {
        let mut intervals = LossIntervals::default();
        let mut feed = |received: usize, lost: usize| {
            (0..received).for_each(|_| intervals.on_packet(false));
            (0..lost).for_each(|_| intervals.on_packet(true));
            intervals.current_and_mean()
        };
        assert_eq!(feed(50, 0), None);
        assert_eq!(feed(0, 1), Some((1.0, 1.0)));
        // An event of two packets in a row, 10 after the first: closed intervals 10.
        assert_eq!(feed(9, 2), Some((2.0, 10.0)));
        assert_eq!(feed(18, 1), Some((1.0, 15.0))); // closed 20, 10
        // Open 40 counts once it raises the mean: (40 + 20) / 2.
        assert_eq!(feed(39, 0), Some((40.0, 30.0)));
        // Ten more events at 6: what is older than eight intervals is forgotten.
        (0..10).for_each(|_| _ = feed(5, 1));
        let (current, mean) = feed(0, 0).unwrap_or_default();
        assert!(near(current, 1.0) && near(mean, 6.0), "{mean}");
    }

    #[test]
    fn the_intervals_between_losses_are_those_of_the_reports() {
        let mut statistics = Statistics::new();
        assert_eq!(statistics.loss_intervals(), None);
        for index in 0..=10 {
            feed(&mut statistics, report(index, (index % 10 != 0).then_some(10)));
        }
        assert_eq!(statistics.loss_intervals(), Some((1.0, 10.0)));
    }
}
