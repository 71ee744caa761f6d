//! ACK frames, and when a receiver sends them.
//!
//! Source: RFC 9000 sections 13.2, 19.3 and 18.2; draft-ietf-quic-ack-frequency-11 sections 4 and 6.
//! Model: a frame has the ranges of packet numbers that have arrived, the newest first, how long the newest one
//! waited for the ACK, and how many packets came with each ECN mark.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | packets that elicit an ACK | 2 | RFC 9000 section 13.2.2 |
//! | largest delay | 25 ms | RFC 9000 section 18.2 |
//! | unit of the delay in a frame | 8 us | RFC 9000 section 18.2 (exponent 3) |
//!
//! | Deviation | Why |
//! |---|---|
//! | what the frame ACK_FREQUENCY asks for holds from the first packet, and its reordering threshold is 1 | it is sent once, at the beginning; 1 is RFC 9000's rule |

use gameway_tcp::shared::Run;
use gameway_units::Duration;

/// How many bytes a variable-length integer takes (RFC 9000 section 16).
pub(crate) const fn integer_size(value: u64) -> u32 {
    match value {
        0..=63 => 1,
        64..=16_383 => 2,
        16_384..=1_073_741_823 => 4,
        _ => 8,
    }
}

/// 2^ack_delay_exponent.
const DELAY_UNIT_MICROS: i64 = 8;
/// Type, and no more than a byte for the count of ranges.
const FRAME_TYPE: u32 = 1;

/// When the receiver acknowledges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AckPolicy {
    /// After this number of packets; other than 2 is what the extension for ACK frequency asks for.
    pub packets: u32,
    /// At the latest so long after a packet.
    pub max_delay: Duration,
}

impl Default for AckPolicy {
    /// RFC 9000.
    fn default() -> Self {
        Self { packets: 2, max_delay: Duration::from_millis(25) }
    }
}

/// Packets by their ECN field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EcnCounts {
    /// With ECT(0).
    pub ect0: u64,
    /// With ECT(1).
    pub ect1: u64,
    /// With a mark.
    pub ce: u64,
}

impl EcnCounts {
    pub(crate) const fn total(self) -> u64 {
        self.ect0.saturating_add(self.ect1).saturating_add(self.ce)
    }
}

/// What has arrived.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AckFrame {
    /// Ranges of packet numbers, first and one after the last, the newest range first.
    pub ranges: Vec<Run>,
    /// How long the newest packet waited for the ACK, in whole units.
    pub delay: Duration,
    /// Marks since the connection began, if a packet was ECN-capable.
    pub ecn: Option<EcnCounts>,
}

impl AckFrame {
    pub(crate) fn new(ranges: Vec<Run>, waited: Duration, ecn: EcnCounts) -> Self {
        let units = waited.as_nanos() / 1_000 / DELAY_UNIT_MICROS;
        let delay = Duration::from_micros(units * DELAY_UNIT_MICROS);
        Self { ranges, delay, ecn: (ecn.total() > 0).then_some(ecn) }
    }

    /// The newest packet number.
    #[must_use]
    pub fn largest(&self) -> Option<u64> {
        let &(start, end) = self.ranges.first()?;
        (start < end).then_some(end.saturating_sub(1))
    }

    /// Its bytes (RFC 9000 section 19.3).
    pub(crate) fn size(&self) -> u32 {
        let delay = (self.delay.as_nanos() / 1_000 / DELAY_UNIT_MICROS).unsigned_abs();
        let first = self.ranges.first().map_or(0, |run| run.1.saturating_sub(run.0 + 1));
        let count = self.ranges.len().saturating_sub(1) as u64;
        let rest: u32 = self.ranges.windows(2).map(|pair| range_size(pair[0], pair[1])).sum();
        let marks =
            self.ecn.map_or(0, |ecn| [ecn.ect0, ecn.ect1, ecn.ce].map(integer_size).iter().sum());
        let head = [self.largest().unwrap_or(0), delay, count, first].map(integer_size);
        FRAME_TYPE + head.iter().sum::<u32>() + rest + marks
    }
}

/// Gap and length of a range below another one.
fn range_size(above: Run, below: Run) -> u32 {
    let gap = above.0.saturating_sub(below.1 + 1);
    let length = below.1.saturating_sub(below.0 + 1);
    integer_size(gap) + integer_size(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9000 table 4.
    #[test]
    fn integers_are_as_long_as_the_rfc_says() {
        let sizes = [0, 63, 64, 16_383, 16_384, (1 << 30) - 1, 1 << 30].map(integer_size);
        assert_eq!(sizes, [1, 1, 2, 2, 4, 4, 8]);
    }

    /// By hand: type 1, largest 2 (99), delay 2 (1,000 us are 125 units), count 1, first range 1 (9), then gap 1 and
    /// length 2 (79 is above 63), and three counts of 1, 1 and 2 B.
    #[test]
    fn a_frame_is_as_large_as_its_integers() {
        let ranges = vec![(90, 100), (5, 85)];
        let plain =
            AckFrame::new(ranges.clone(), Duration::from_micros(1_003), EcnCounts::default());
        assert_eq!((plain.delay, plain.ecn), (Duration::from_micros(1_000), None));
        assert_eq!((plain.largest(), plain.size()), (Some(99), 1 + 2 + 2 + 1 + 1 + 1 + 2));
        let marked = AckFrame::new(ranges, Duration::ZERO, EcnCounts { ect0: 1, ect1: 0, ce: 64 });
        assert_eq!(marked.size(), 1 + 2 + 1 + 1 + 1 + 3 + 4);
        assert_eq!(AckFrame::default().largest(), None);
        assert_eq!(AckFrame { ranges: vec![(5, 5)], ..AckFrame::default() }.largest(), None);
    }

    /// Lengths and gap of 63 have one byte each, and 64 would have two; 400 us are 50 units. The largest, 263, has two.
    #[test]
    fn lengths_and_gaps_are_less_by_one_than_what_they_count() {
        let ranges = vec![(200, 264), (72, 136)];
        let frame = AckFrame::new(ranges, Duration::from_micros(400), EcnCounts::default());
        assert_eq!(frame.size(), 1 + 2 + 1 + 1 + 1 + 1 + 1);
    }
}
